//! What the command line writes: results to stdout, everything else to stderr. Flows make texts, so control characters
//! in them are never passed on. A failed write does not stop the program: nothing here panics or ends the
//! program. Must not know what a command prints.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How often a line of a terminal says how far something is.
const TOLD_EVERY: Duration = Duration::from_millis(200);

/// Why a part of the result was not written.
static LOST: OnceLock<String> = OnceLock::new();

/// Returns a text as a terminal may show it: a character that would ring the bell, move the cursor or turn letters
/// around is shown as its escape, which JSON reads as the same character.
pub(crate) fn harmless(text: &str) -> Cow<'_, str> {
    let acts = |c: char| match c {
        '\n' | '\t' => false,
        // Directions that reach beyond the letters between them.
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => c.is_control(),
    };
    if !text.contains(acts) {
        return text.into();
    }
    let mut shown = String::new();
    for c in text.replace("\r\n", "\n").chars() {
        if acts(c) {
            let _ = write!(shown, "\\u{:04x}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    shown.into()
}

/// Writes a line to stderr. A failed write is ignored.
pub(crate) fn tell(line: &str) {
    let _ = writeln!(stderr(), "{}", harmless(line));
}

/// Writes a part of the result to stdout. A closed pipe is no
/// failure; any other one is kept for [`lost`].
pub(crate) fn print(text: &str) {
    let mut stdout = stdout();
    if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
        && error.kind() != ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error.to_string());
    }
}

/// Writes help, or the version, as a result. On a terminal it has colors.
pub(crate) fn print_help(help: &clap::Error) {
    if stdout().is_terminal() {
        let _ = help.print();
    } else {
        print(&help.render().to_string());
    }
}

/// Why a part of the result could not be written, as on a full disk.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// A progress line on stderr: only on a terminal, and only if the work takes a while.
pub(crate) struct ProgressLine {
    told: Instant,
    is_begun: bool,
    is_shown: bool,
}

impl ProgressLine {
    /// Starts the time until it is written.
    pub(crate) fn new() -> ProgressLine {
        ProgressLine { told: Instant::now(), is_begun: false, is_shown: stderr().is_terminal() }
    }

    /// Writes the progress, unless it was just written.
    pub(crate) fn tell(&mut self, words: impl FnOnce() -> String) {
        if self.is_shown && self.told.elapsed() >= TOLD_EVERY {
            (self.told, self.is_begun) = (Instant::now(), true);
            let _ = write!(stderr(), "\r{}", words());
        }
    }

    /// Erases the line.
    pub(crate) fn end(&mut self) {
        if std::mem::take(&mut self.is_begun) {
            let _ = write!(stderr(), "\r\x1b[K");
        }
    }
}
