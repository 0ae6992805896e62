//! Without D-Bus there are no notifications. No packages are made for such systems.

use std::sync::Arc;

use tauri::AppHandle;

use super::notification::Notifier;

/// Does nothing.
pub(super) fn notify(_: Arc<Notifier>, _: String, _: &str, _: &str) {}

/// Does nothing.
pub(super) fn on_click(_: Arc<Notifier>, _: AppHandle) {}
