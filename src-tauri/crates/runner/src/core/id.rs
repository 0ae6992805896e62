//! What a session, a request, a user or a project may be called, at every door.
//!
//! Ids stand in tables, in paths of state and in file names of other people's scripts, so they are short and hold
//! nothing that acts on a terminal.

use crate::core::fault::Fault;

/// How many bytes of UTF-8 an id may have.
pub(crate) const LONGEST_ID: usize = 512;

/// Refuses an id that nobody can read. `what` names the kind of thing, as in `session id`.
pub(crate) fn check(what: &str, id: &str) -> Result<(), Fault> {
    if let Some(wrong) = wrong(id) {
        return Err(Fault::invalid(format!("{what} \"{}\" {wrong}", shown(id))));
    }
    Ok(())
}

/// What is wrong with an id, if anything is.
pub(crate) fn wrong(id: &str) -> Option<String> {
    if id.trim().is_empty() {
        return Some("must not be empty".to_owned());
    }
    if id.len() > LONGEST_ID {
        return Some(format!("has {} bytes; an id has at most {LONGEST_ID}", id.len()));
    }
    let wrong = id.chars().find(|letter| letter.is_control() || turns_text(*letter) || is_unseen(*letter))?;
    let kind = if is_unseen(wrong) { "invisible" } else { "control" };
    Some(format!("holds the {kind} character U+{:04X}; an id has none", u32::from(wrong)))
}

/// Whether a character is not seen, so that two ids look equal. Those that join letters of scripts and of emoji are.
fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2028}' | '\u{2029}' | '\u{2060}'..='\u{2064}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether a character changes the direction in which the text around it is shown, so that an id reads as another one.
pub(crate) fn turns_text(letter: char) -> bool {
    matches!(letter, '\u{200e}' | '\u{200f}' | '\u{61c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Refuses the id of a user or a project that reads like the copy which a fork has of one (ARCHITECTURE §5.7).
pub(crate) fn check_owner(what: &str, id: &str) -> Result<(), Fault> {
    check(what, id)?;
    if id.contains("~fork_") {
        return Err(Fault::invalid(format!("{what} \"{}\" must not contain \"~fork_\": forks use it", shown(id))));
    }
    Ok(())
}

/// The beginning of an id, with nothing in it that acts on a terminal.
fn shown(id: &str) -> String {
    let mut head: String = id.chars().take(40).flat_map(char::escape_debug).collect();
    if id.chars().count() > 40 {
        head.push('…');
    }
    head
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_short_and_plain() {
        assert!(check("session id", "s 1/ä~🦀").is_ok());
        assert!(check("session id", &"x".repeat(LONGEST_ID)).is_ok());
        for (id, says) in [
            ("", "must not be empty"),
            (" \t", "must not be empty"),
            (&*"ä".repeat(300), "has 600 bytes"),
            ("a\u{1b}[2J", "U+001B"),
            ("a\nb", "U+000A"),
            ("a\u{9b}b", "U+009B"),
            ("a\u{202e}b", "control character U+202E"),
            ("a\u{200b}b", "invisible character U+200B"),
            ("a\u{e0041}b", "invisible character U+E0041"),
        ] {
            let fault = wrong(id).unwrap_or_default();
            assert!(fault.contains(says), "{id:?}: {fault}");
        }
    }
}
