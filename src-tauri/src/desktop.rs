//! What the window has of the desktop that it stands on: a menu, a place on the screen, notifications, and files that
//! are dropped on it. What is to be done about any of these the page decides: it is told as one kind of message.

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

/// Something that a person did outside of the page.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub(crate) enum DesktopEvent {
    /// Chose a command of the page's table in the menu.
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

/// Where the page hears of it.
#[derive(Default)]
pub(crate) struct Desktop {
    page: Mutex<Option<Channel<DesktopEvent>>>,
    pub(crate) menu: menu::MenuItems,
}

impl Desktop {
    /// A page that wants to hear; only the newest does, because one that was reloaded is gone.
    pub(crate) fn watch(&self, channel: Channel<DesktopEvent>) {
        *lock(&self.page) = Some(channel);
    }
}

/// Tells the page, if there is one yet.
pub(crate) fn tell(app: &AppHandle, event: DesktopEvent) {
    let desktop = app.state::<Desktop>();
    let page = lock(&desktop.page).clone();
    if let Some(Err(error)) = page.map(|page| page.send(event)) {
        tracing::warn!(%error, "the page does not hear the desktop");
    }
}
