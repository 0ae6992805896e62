//! Where the window stood when it was last used. It opens there again, moved as far as it must to be on a screen whole:
//! a screen may be gone since, or smaller.
//!
//! What is remembered is written while the window is moved, not when it is closed, because a program may be killed.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use tauri::{AppHandle, PhysicalPosition, PhysicalSize, WebviewWindow, WindowEvent};
use tauri_plugin_window_state::{AppHandleExt, StateFlags};

use super::restored;

/// The window's size when it was never opened before, and the least it has, in pixels of the page.
pub(crate) const SIZE: (f64, f64) = (1440.0, 900.0);
pub(crate) const MIN_SIZE: (f64, f64) = (960.0, 600.0);

/// A window that is moved tells so at each step; it is written when it has rested so long.
const MOVE_SETTLE_TIME: Duration = Duration::from_millis(250);

/// What of the window is remembered.
fn what() -> StateFlags {
    StateFlags::SIZE | StateFlags::POSITION | StateFlags::MAXIMIZED
}

/// Restores what is remembered of a window when it is made.
pub(crate) fn plugin() -> tauri::plugin::TauriPlugin<tauri::Wry> {
    tauri_plugin_window_state::Builder::new().with_state_flags(what()).build()
}

/// Moves a window onto a screen, and remembers from now on where it is.
pub(crate) fn follow(app: &AppHandle, window: &WebviewWindow) -> tauri::Result<()> {
    let (sender, moves) = channel();
    window.on_window_event(move |event| hear(&sender, event));
    let (app, window) = (app.clone(), window.clone());
    let work = move || {
        // A window manager places it a moment after it was made; only then it is known where it is.
        std::thread::sleep(MOVE_SETTLE_TIME);
        let placed = window.clone();
        let asked = app.run_on_main_thread(move || {
            if let Err(error) = put_on_screen(&placed) {
                tracing::warn!(%error, "the window cannot be moved onto a screen");
            }
        });
        drop(window);
        if asked.is_ok() {
            remember(&app, &moves);
        }
    };
    std::thread::Builder::new().name("placement".to_owned()).spawn(work)?;
    Ok(())
}

fn hear(sender: &Sender<()>, event: &WindowEvent) {
    if matches!(event, WindowEvent::Moved(_) | WindowEvent::Resized(_)) {
        // The window is closing when nobody listens any more.
        let _ = sender.send(());
    }
}

fn remember(app: &AppHandle, moves: &Receiver<()>) {
    while moves.recv().is_ok() {
        loop {
            match moves.recv_timeout(MOVE_SETTLE_TIME) {
                Ok(()) => {}
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
        // On the window's own thread: the plugin asks that thread where the window is, and holds a lock meanwhile that
        // the thread wants when the window moves.
        let handle = app.clone();
        let asked = app.run_on_main_thread(move || {
            restored::keep_frame(&handle);
            // A second window is no reason for the first one to open elsewhere.
            if restored::is_first(&handle)
                && let Err(error) = handle.save_window_state(what())
            {
                tracing::warn!(%error, "where the window is cannot be remembered");
            }
        });
        if asked.is_err() {
            return;
        }
    }
}

fn put_on_screen(window: &WebviewWindow) -> tauri::Result<()> {
    let (at, size) = (window.outer_position()?, window.outer_size()?);
    let screens: Vec<Rectangle> =
        window.available_monitors()?.iter().map(|screen| Rectangle::of(*screen.position(), *screen.size())).collect();
    let now = Rectangle::of(at, size);
    let fitted = now.onto(&screens);
    if (fitted.width, fitted.height) != (now.width, now.height) {
        window.set_size(PhysicalSize::new(fitted.width, fitted.height))?;
    }
    if (fitted.x, fitted.y) != (now.x, now.y) {
        window.set_position(PhysicalPosition::new(fitted.x, fitted.y))?;
    }
    Ok(())
}

/// A part of the desktop, in its own pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rectangle {
    x: i32,
    y: i32,
    width: u32,
    height: u32,
}

impl Rectangle {
    fn of(at: PhysicalPosition<i32>, size: PhysicalSize<u32>) -> Rectangle {
        Rectangle { x: at.x, y: at.y, width: size.width, height: size.height }
    }

    /// How many pixels it shares with another one.
    fn shared(self, other: Rectangle) -> i64 {
        let along = |at: i32, length: u32, from: i32, room: u32| {
            let end = (i64::from(at) + i64::from(length)).min(i64::from(from) + i64::from(room));
            (end - i64::from(at.max(from))).max(0)
        };
        along(self.x, self.width, other.x, other.width) * along(self.y, self.height, other.y, other.height)
    }

    /// The same moved, and made smaller where it must be, onto the screen that shows most of it; onto the first one
    /// where none does. As it is where no screen is known.
    fn onto(self, screens: &[Rectangle]) -> Rectangle {
        let most = screens.iter().max_by_key(|screen| self.shared(**screen));
        let Some(screen) = most.filter(|screen| self.shared(**screen) > 0).or(screens.first()) else { return self };
        let fit = |at: i32, length: u32, from: i32, room: u32| {
            let length = length.min(room);
            let last = from.saturating_add_unsigned(room - length);
            (at.clamp(from, last), length)
        };
        let (x, width) = fit(self.x, self.width, screen.x, screen.width);
        let (y, height) = fit(self.y, self.height, screen.y, screen.height);
        Rectangle { x, y, width, height }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rectangle(x: i32, y: i32, width: u32, height: u32) -> Rectangle {
        Rectangle { x, y, width, height }
    }

    #[test]
    fn a_window_comes_back_onto_a_screen() {
        let screens = [rectangle(0, 0, 1920, 1080), rectangle(1920, 0, 1280, 1024)];
        let same = rectangle(100, 50, 1000, 700);
        assert_eq!(same.onto(&screens), same);
        // Its title bar was above the screen.
        assert_eq!(rectangle(100, -400, 1000, 700).onto(&screens), rectangle(100, 0, 1000, 700));
        // Most of it is on the second one.
        assert_eq!(rectangle(1800, 900, 1000, 700).onto(&screens), rectangle(1920, 324, 1000, 700));
        // The screen that it was on is gone.
        assert_eq!(rectangle(9000, 9000, 1000, 700).onto(&screens), rectangle(920, 380, 1000, 700));
        // It is larger than any.
        assert_eq!(rectangle(-50, 10, 4000, 3000).onto(&screens), rectangle(0, 0, 1920, 1080));
        assert_eq!(same.onto(&[]), same);
    }
}
