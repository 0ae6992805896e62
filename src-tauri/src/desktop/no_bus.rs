//! Where there is no D-Bus nothing is told: no package is made for such systems.

use std::sync::Arc;

use tauri::AppHandle;

use super::notification::Notifier;

/// Shows nothing.
pub(super) fn notify(_: Arc<Notifier>, _: String, _: &str, _: &str) {}

/// Hears nothing.
pub(super) fn on_click(_: Arc<Notifier>, _: AppHandle) {}
