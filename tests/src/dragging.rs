//! Drops a file on a window as another program does, by the messages of the X protocol for drag and drop (XDND).
//!
//! There is no pointer and no picture: the messages alone say what is dropped, and where.

use std::ffi::{CString, c_char, c_int, c_long, c_uchar};
use std::path::Path;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use x11_dl::xlib::{
    AnyPropertyType, Atom, ClientMessage, ClientMessageData, CurrentTime, Display, False, PropModeReplace,
    SelectionNotify, SelectionRequest, Window, XEvent, Xlib,
};

/// Longer than any answer takes.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);
/// The version of the protocol that is spoken.
const VERSION: c_long = 5;

/// Drops a file on the middle of the window with this title, and waits until it was taken.
pub fn drop_file(display: &str, title: &str, file: &Path) -> Result<(), String> {
    let xlib = Xlib::open().map_err(|error| format!("the libraries of X cannot be loaded: {error}"))?;
    let name = CString::new(display).map_err(|error| error.to_string())?;
    // SAFETY: the name ends with a zero, and what is returned is looked at before it is used.
    let display = unsafe { (xlib.XOpenDisplay)(name.as_ptr()) };
    if display.is_null() {
        return Err("the display does not answer".to_owned());
    }
    // SAFETY: the display is open, here and in all that follows.
    let (root, window) = unsafe {
        let root = (xlib.XDefaultRootWindow)(display);
        (root, (xlib.XCreateSimpleWindow)(display, root, 0, 0, 1, 1, 0, 0, 0))
    };
    let source = Source { xlib: &xlib, display, window, root };
    let found = source.window_of(root, title).ok_or_else(|| format!("no window is called {title:?}"));
    let result = found.and_then(|target| source.drop_on(target, &format!("file://{}\r\n", escaped(file))));
    // SAFETY: nothing of the display is used after this.
    unsafe { (xlib.XCloseDisplay)(display) };
    result
}

/// A path as an address has it.
fn escaped(file: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let bytes = file.to_str().unwrap_or_default().bytes();
    bytes.map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The program that something is dragged from.
struct Source<'x> {
    xlib: &'x Xlib,
    display: *mut Display,
    window: Window,
    root: Window,
}

impl Source<'_> {
    fn atom(&self, name: &str) -> Atom {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: the name ends with a zero.
        unsafe { (self.xlib.XInternAtom)(self.display, name.as_ptr(), False) }
    }

    /// A property of a window as bytes; empty where it has none.
    fn property(&self, window: Window, name: &str) -> Vec<u8> {
        let (mut kind, mut format, mut count, mut rest, mut data) = (0, 0, 0, 0, null_mut::<c_uchar>());
        // SAFETY: all that is written to lives here; what is returned is freed.
        unsafe {
            let (atom, any) = (self.atom(name), AnyPropertyType as Atom);
            (self.xlib.XGetWindowProperty)(
                self.display,
                window,
                atom,
                0,
                1_024,
                False,
                any,
                &mut kind,
                &mut format,
                &mut count,
                &mut rest,
                &mut data,
            );
            if data.is_null() {
                return Vec::new();
            }
            // Of other formats it is only asked whether they are there.
            let length = if format == 8 { count as usize } else { usize::from(count > 0) };
            let bytes = std::slice::from_raw_parts(data, length).to_vec();
            (self.xlib.XFree)(data.cast());
            bytes
        }
    }

    /// The window with a title that takes what is dropped, wherever in the tree of windows it is.
    fn window_of(&self, around: Window, title: &str) -> Option<Window> {
        let (mut root, mut parent, mut children, mut count) = (0, 0, null_mut::<Window>(), 0);
        // SAFETY: all that is written to lives here; the list is as long as is said, and freed.
        let inside = unsafe {
            (self.xlib.XQueryTree)(self.display, around, &mut root, &mut parent, &mut children, &mut count);
            if children.is_null() {
                return None;
            }
            let inside = std::slice::from_raw_parts(children, count as usize).to_vec();
            (self.xlib.XFree)(children.cast());
            inside
        };
        let is_it = |window: &Window| {
            !self.property(*window, "XdndAware").is_empty()
                && self.property(*window, "_NET_WM_NAME") == title.as_bytes()
        };
        inside.iter().copied().find(is_it).or_else(|| inside.into_iter().find_map(|one| self.window_of(one, title)))
    }

    fn send(&self, target: Window, kind: &str, data: [c_long; 5]) {
        // SAFETY: an event of zeros is one, and its kind says which part of it is used.
        unsafe {
            let mut event: XEvent = std::mem::zeroed();
            event.client_message.type_ = ClientMessage;
            event.client_message.window = target;
            event.client_message.message_type = self.atom(kind);
            event.client_message.format = 32;
            let mut all = ClientMessageData::new();
            for (at, value) in data.into_iter().enumerate() {
                all.as_longs_mut()[at] = value;
            }
            event.client_message.data = all;
            (self.xlib.XSendEvent)(self.display, target, False, 0, &mut event);
            (self.xlib.XFlush)(self.display);
        }
    }

    /// The middle of a window, on the screen.
    fn middle(&self, target: Window) -> c_long {
        // SAFETY: all that is written to lives here.
        unsafe {
            let (mut root, mut x, mut y, mut width, mut height, mut border, mut depth) = (0, 0, 0, 0, 0, 0, 0);
            let xlib = self.xlib;
            (xlib.XGetGeometry)(
                self.display,
                target,
                &mut root,
                &mut x,
                &mut y,
                &mut width,
                &mut height,
                &mut border,
                &mut depth,
            );
            let (mut left, mut top, mut child) = (0, 0, 0);
            (xlib.XTranslateCoordinates)(self.display, target, self.root, 0, 0, &mut left, &mut top, &mut child);
            let (across, down) = (left + (width / 2) as c_int, top + (height / 2) as c_int);
            (c_long::from(across) << 16) | c_long::from(down)
        }
    }

    fn drop_on(&self, target: Window, address: &str) -> Result<(), String> {
        let (own, list, copy) = (self.window as c_long, self.atom("text/uri-list"), self.atom("XdndActionCopy"));
        let (selection, status, finished) =
            (self.atom("XdndSelection"), self.atom("XdndStatus"), self.atom("XdndFinished"));
        // SAFETY: the window is ours.
        unsafe { (self.xlib.XSetSelectionOwner)(self.display, selection, self.window, CurrentTime) };
        let place = self.middle(target);
        self.send(target, "XdndEnter", [own, VERSION << 24, list as c_long, 0, 0]);
        // The target asks what it is before it says whether it takes it, so it is told until it does.
        let end = Instant::now() + WAIT_TIMEOUT;
        let mut told: Option<Instant> = None;
        let mut is_dropped = false;
        while Instant::now() < end {
            if !is_dropped && told.is_none_or(|told| told.elapsed() > Duration::from_millis(100)) {
                self.send(target, "XdndPosition", [own, 0, place, CurrentTime as c_long, copy as c_long]);
                told = Some(Instant::now());
            }
            let Some(event) = self.next() else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            // SAFETY: the kind of an event says which part of it is there.
            unsafe {
                if event.get_type() == SelectionRequest {
                    self.answer(&event, address);
                } else if event.get_type() == ClientMessage {
                    let message = event.client_message;
                    if message.message_type == finished {
                        return Ok(());
                    }
                    if message.message_type == status && message.data.get_long(1) & 1 == 1 && !is_dropped {
                        is_dropped = true;
                        self.send(target, "XdndDrop", [own, 0, CurrentTime as c_long, 0, 0]);
                    }
                }
            }
        }
        Err(format!("the window does not take it (dropped: {is_dropped})"))
    }

    /// The next event, if one came.
    fn next(&self) -> Option<XEvent> {
        // SAFETY: an event is only asked for where one is.
        unsafe {
            if (self.xlib.XPending)(self.display) == 0 {
                return None;
            }
            let mut event: XEvent = std::mem::zeroed();
            (self.xlib.XNextEvent)(self.display, &mut event);
            Some(event)
        }
    }

    /// Gives somebody what is dropped.
    fn answer(&self, event: &XEvent, address: &str) {
        // SAFETY: it is such an event, and the bytes live here.
        unsafe {
            let asked = event.selection_request;
            let (bytes, length): (*const c_char, c_int) = (address.as_ptr().cast(), address.len() as c_int);
            (self.xlib.XChangeProperty)(
                self.display,
                asked.requestor,
                asked.property,
                asked.target,
                8,
                PropModeReplace,
                bytes.cast(),
                length,
            );
            let mut answer: XEvent = std::mem::zeroed();
            answer.selection.type_ = SelectionNotify;
            answer.selection.requestor = asked.requestor;
            answer.selection.selection = asked.selection;
            answer.selection.target = asked.target;
            answer.selection.property = asked.property;
            answer.selection.time = asked.time;
            (self.xlib.XSendEvent)(self.display, asked.requestor, False, 0, &mut answer);
            (self.xlib.XFlush)(self.display);
        }
    }
}
