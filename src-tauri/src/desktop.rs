//! The window's connection to the desktop: menu, position on the screen, notifications, and dropped files. The page
//! handles all of these events, which reach it as [`DesktopEvent`]s.

#[cfg(target_os = "linux")]
mod bus;
#[cfg(not(target_os = "linux"))]
#[path = "desktop/no_bus.rs"]
mod bus;
pub(crate) mod dropped;
pub(crate) mod menu;
pub(crate) mod notification;
pub(crate) mod placement;
pub(crate) mod restored;
mod windows;

use std::sync::Mutex;

use serde::Serialize;
use tauri::ipc::Channel;
use tauri::{AppHandle, Manager};

use crate::window::lock;

/// An action of the user outside the page.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum DesktopEvent {
    /// Chose one of the page's commands in the menu.
    Command {
        /// Its id.
        id: String,
    },
    /// Dropped a file on the window.
    Dropped {
        /// Where it is.
        file: String,
    },
    /// Clicked a notification about a request.
    Request {
        /// Which.
        request_id: String,
    },
}

/// The page's channel for desktop events, and the menu.
#[derive(Default)]
pub(crate) struct Desktop {
    page: Mutex<Option<Channel<DesktopEvent>>>,
    pub(crate) menu: menu::MenuItems,
}

impl Desktop {
    /// Sends events to this channel from now on. It replaces the previous one, whose page was reloaded.
    pub(crate) fn watch(&self, channel: Channel<DesktopEvent>) {
        *lock(&self.page) = Some(channel);
    }
}

/// Sends an event to the page, if it has subscribed.
pub(crate) fn tell(app: &AppHandle, event: DesktopEvent) {
    let desktop = app.state::<Desktop>();
    let page = lock(&desktop.page).clone();
    if let Some(Err(error)) = page.map(|page| page.send(event)) {
        tracing::warn!(%error, "cannot send a desktop event to the page");
    }
}
