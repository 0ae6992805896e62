//! Drops a file on a window as another program does, by the messages of the X protocol for drag and drop (XDND).
//!
//! There is no pointer and no picture: the messages alone say what is dropped, and where.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{
    Atom, AtomEnum, ClientMessageEvent, ConnectionExt as _, CreateWindowAux, EventMask, PropMode,
    SELECTION_NOTIFY_EVENT, SelectionNotifyEvent, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;
use x11rb::{COPY_DEPTH_FROM_PARENT, CURRENT_TIME};

/// Longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(20);
/// The version of the protocol that is spoken.
const VERSION: u32 = 5;

/// Drops a file on the middle of the window with this title, and waits until it was taken.
pub fn drop_file(display: &str, title: &str, file: &Path) -> Result<()> {
    let (connection, screen) = x11rb::connect(Some(display)).context("the display does not answer")?;
    let root = connection.setup().roots[screen].root;
    let source = Source::new(&connection, root)?;
    let target = source.window_of(root, title)?.with_context(|| format!("no window is called {title:?}"))?;
    source.drop_on(target, &format!("file://{}\r\n", escaped(file)))
}

/// A path as an address has it.
fn escaped(file: &Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let bytes = file.to_str().unwrap_or_default().bytes();
    bytes.map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// The program that something is dragged from.
struct Source<'c> {
    connection: &'c RustConnection,
    window: Window,
    root: Window,
}

impl<'c> Source<'c> {
    fn new(connection: &'c RustConnection, root: Window) -> Result<Source<'c>> {
        let window = connection.generate_id()?;
        let class = WindowClass::INPUT_OUTPUT;
        let more = CreateWindowAux::new();
        connection.create_window(COPY_DEPTH_FROM_PARENT, window, root, 0, 0, 1, 1, 0, class, 0, &more)?.check()?;
        Ok(Source { connection, window, root })
    }

    fn atom(&self, name: &str) -> Result<Atom> {
        Ok(self.connection.intern_atom(false, name.as_bytes())?.reply()?.atom)
    }

    /// The window with a title that takes what is dropped, wherever in the tree of windows it is.
    fn window_of(&self, around: Window, title: &str) -> Result<Option<Window>> {
        let (name, aware) = (self.atom("_NET_WM_NAME")?, self.atom("XdndAware")?);
        for window in self.connection.query_tree(around)?.reply()?.children {
            let read = |property| self.connection.get_property(false, window, property, AtomEnum::ANY, 0, 1_024);
            let is_aware = read(aware)?.reply().is_ok_and(|found| found.value_len > 0);
            if is_aware && read(name)?.reply().is_ok_and(|found| found.value == title.as_bytes()) {
                return Ok(Some(window));
            }
            if let Some(found) = self.window_of(window, title)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn send(&self, target: Window, kind: &str, data: [u32; 5]) -> Result<()> {
        let message = ClientMessageEvent::new(32, target, self.atom(kind)?, data);
        self.connection.send_event(false, target, EventMask::NO_EVENT, message)?.check()?;
        Ok(())
    }

    fn drop_on(&self, target: Window, address: &str) -> Result<()> {
        let (list, copy, selection) =
            (self.atom("text/uri-list")?, self.atom("XdndActionCopy")?, self.atom("XdndSelection")?);
        self.connection.set_selection_owner(self.window, selection, CURRENT_TIME)?.check()?;
        let size = self.connection.get_geometry(target)?.reply()?;
        let at = self.connection.translate_coordinates(target, self.root, 0, 0)?.reply()?;
        let middle = |from: i16, length: u16| (i32::from(from) + i32::from(length) / 2) as u32;
        let place = middle(at.dst_x, size.width) << 16 | middle(at.dst_y, size.height);
        self.send(target, "XdndEnter", [self.window, VERSION << 24, list, 0, 0])?;
        // The target asks what it is before it says whether it takes it, so it is told until it does.
        let end = Instant::now() + PATIENCE;
        let mut told = Instant::now() - PATIENCE;
        let (status, finished) = (self.atom("XdndStatus")?, self.atom("XdndFinished")?);
        let mut is_dropped = false;
        while Instant::now() < end {
            if !is_dropped && told.elapsed() > Duration::from_millis(100) {
                self.send(target, "XdndPosition", [self.window, 0, place, CURRENT_TIME, copy])?;
                told = Instant::now();
            }
            let Some(event) = self.connection.poll_for_event()? else {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            };
            match event {
                Event::SelectionRequest(asked) => {
                    self.connection.change_property8(
                        PropMode::REPLACE,
                        asked.requestor,
                        asked.property,
                        asked.target,
                        address.as_bytes(),
                    )?;
                    let answer = SelectionNotifyEvent {
                        response_type: SELECTION_NOTIFY_EVENT,
                        sequence: 0,
                        time: asked.time,
                        requestor: asked.requestor,
                        selection: asked.selection,
                        target: asked.target,
                        property: asked.property,
                    };
                    self.connection.send_event(false, asked.requestor, EventMask::NO_EVENT, answer)?.check()?;
                }
                Event::ClientMessage(message) if message.type_ == status && !is_dropped => {
                    if message.data.as_data32()[1] & 1 == 1 {
                        is_dropped = true;
                        self.send(target, "XdndDrop", [self.window, 0, CURRENT_TIME, 0, 0])?;
                    }
                }
                Event::ClientMessage(message) if message.type_ == finished => return Ok(()),
                _ => {}
            }
        }
        bail!("the window does not take it (dropped: {is_dropped})")
    }
}
