//! The keyboard focus on a display without a window manager: the window below the pointer has the focus.

use std::ffi::CString;

use x11_dl::xlib::{CurrentTime, False, RevertToNone, Window, Xlib};

/// X's id for no window.
const NOBODY: Window = 0;

/// Takes the focus from every window, as if a person worked in another program.
pub fn take_focus_away(display: &str) -> Result<(), String> {
    let xlib = Xlib::open().map_err(|error| format!("the libraries of X cannot be loaded: {error}"))?;
    let name = CString::new(display).map_err(|error| error.to_string())?;
    // SAFETY: the name ends with a zero, and the result is checked before it is used.
    let display = unsafe { (xlib.XOpenDisplay)(name.as_ptr()) };
    if display.is_null() {
        return Err("the display does not answer".to_owned());
    }
    // SAFETY: the display is open, and nothing of it is used after it is closed.
    unsafe {
        (xlib.XSetInputFocus)(display, NOBODY, RevertToNone, CurrentTime);
        (xlib.XSync)(display, False);
        (xlib.XCloseDisplay)(display);
    }
    Ok(())
}
