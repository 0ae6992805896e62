//! Text on a person's terminal. Flows make texts, so control characters in them are never passed on. Must not know what
//! a command prints.

use std::borrow::Cow;
use std::fmt::Write as _;

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

/// Writes a line to stderr, beside the result.
pub(crate) fn tell(line: &str) {
    eprintln!("{}", harmless(line));
}
