//! Notifications over the session's D-Bus, as freedesktop.org describes them, with what GTK speaks to it.
//!
//! Called on the window's own thread; nothing here waits. A desktop without a bus shows none, which the log tells.

use std::sync::Arc;

use gio::glib::Variant;
use gio::prelude::*;
use gio::{BusType, Cancellable, DBusCallFlags, DBusSignalFlags};
use tauri::AppHandle;

use super::notification::Notifier;

const SERVICE: &str = "org.freedesktop.Notifications";
const PATH: &str = "/org/freedesktop/Notifications";
/// The action that stands for a click on the notification itself.
const CLICK: &str = "default";
/// How long the desktop may take to answer, in milliseconds.
const CALL_TIMEOUT_MS: i32 = 5_000;

/// Asks the desktop to show a notification about a request.
pub(super) fn notify(notifier: Arc<Notifier>, request: String, title: &str, body: &str) {
    // Who says it, instead of which earlier one, its icon, its words, what can be done, more, and that the desktop
    // decides how long it is shown.
    let hints: std::collections::HashMap<String, Variant> =
        [("desktop-entry".to_owned(), "Flowglass".to_variant())].into();
    let words = ("Flowglass", 0_u32, "flowglass", title, body, vec![CLICK, "Open"], hints, -1_i32).to_variant();
    gio::bus_get(BusType::Session, Cancellable::NONE, move |connection| {
        let connection = match connection {
            Ok(connection) => connection,
            Err(error) => return tracing::warn!(%error, "there is no bus to show a notification over"),
        };
        let (flags, none) = (DBusCallFlags::NONE, Cancellable::NONE);
        let answered = move |answer: Result<Variant, gio::glib::Error>| match answer {
            Ok(answer) => {
                if let Some((number,)) = answer.get::<(u32,)>() {
                    notifier.shown(number, request);
                }
            }
            Err(error) => tracing::warn!(%error, "the desktop does not show a notification"),
        };
        connection.call(
            Some(SERVICE),
            PATH,
            SERVICE,
            "Notify",
            Some(&words),
            None,
            flags,
            CALL_TIMEOUT_MS,
            none,
            answered,
        );
    });
}

/// Hears clicks on notifications from now on.
pub(super) fn on_click(notifier: Arc<Notifier>, app: AppHandle) {
    gio::bus_get(BusType::Session, Cancellable::NONE, move |connection| {
        // Without a bus there are no notifications, which `notify` tells.
        let Ok(connection) = connection else { return };
        // A bus that ends must not end the program, as it would otherwise.
        connection.set_exit_on_close(false);
        let (name, flags) = (Some("ActionInvoked"), DBusSignalFlags::NONE);
        connection.signal_subscribe(None, Some(SERVICE), name, Some(PATH), None, flags, move |_, _, _, _, _, said| {
            if let Some((number, action)) = said.get::<(u32, String)>()
                && action == CLICK
            {
                notifier.clicked(&app, number);
            }
        });
        // It is heard for as long as the program runs; a connection that nobody holds is closed.
        std::mem::forget(connection);
    });
}
