//! Secrets in a text, by their values: as they are, or as somebody who repeats them may write them.
//!
//! A letter may be percent-encoded or escaped as JSON does it, each for itself; the whole may be in base64, also in
//! the middle of other bytes.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::REDACTED;

/// Shorter pieces of base64 are found everywhere.
const SHORTEST_BASE64: usize = 8;

/// Values that are in no record.
#[derive(Clone, Default)]
pub struct Secrets {
    /// Each in every form that it is looked for in.
    forms: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} forms of secrets", self.forms.len())
    }
}

impl<S: AsRef<str>> FromIterator<S> for Secrets {
    fn from_iter<I: IntoIterator<Item = S>>(values: I) -> Self {
        let mut forms: Vec<Vec<u8>> = Vec::new();
        for value in values.into_iter().filter(|value| !value.as_ref().is_empty()) {
            let bytes = value.as_ref().as_bytes();
            forms.push(bytes.to_vec());
            for before in 0..3 {
                forms.extend(in_base64(bytes, before));
            }
        }
        // A longer form is hidden whole.
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Secrets { forms }
    }
}

/// What is certain of the base64 of a value that stands after so many bytes, in both alphabets.
fn in_base64(value: &[u8], before: usize) -> Vec<Vec<u8>> {
    let mut bytes = vec![0; before];
    bytes.extend(value);
    let certain = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
    let encoded = [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)];
    let forms = encoded.iter().filter_map(|text| text.as_bytes().get(certain.clone()));
    forms.filter(|form| form.len() >= SHORTEST_BASE64).map(<[u8]>::to_vec).collect()
}

/// How a form goes on from a place of a text.
enum Found {
    No,
    /// The text ends before the form does.
    Part,
    /// It is there, up to here.
    Whole(usize),
}

impl Secrets {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// The text without them; `None` where they are not in it.
    pub fn hidden(&self, text: &str) -> Option<String> {
        let mut hidden = String::new();
        let end = self.hide(text, true, &mut hidden);
        debug_assert_eq!(end, text.len());
        (hidden != text).then_some(hidden)
    }

    /// Writes the text without them, up to where one may have begun that does not end here. Answers where.
    fn hide(&self, text: &str, is_last: bool, hidden: &mut String) -> usize {
        let bytes = text.as_bytes();
        let (mut at, mut plain) = (0, 0);
        'places: while at < bytes.len() {
            for form in &self.forms {
                match find(bytes, at, form) {
                    Found::Whole(end) => {
                        hidden.push_str(&text[plain..at]);
                        hidden.push_str(REDACTED);
                        (at, plain) = (end, end);
                        continue 'places;
                    }
                    Found::Part if !is_last => {
                        hidden.push_str(&text[plain..at]);
                        return at;
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        hidden.push_str(&text[plain..]);
        at
    }
}

/// Whether a form stands at a place, however its letters are written.
fn find(bytes: &[u8], mut at: usize, form: &[u8]) -> Found {
    for wanted in form {
        let Some(byte) = bytes.get(at) else { return Found::Part };
        if byte == wanted {
            at += 1;
            continue;
        }
        match byte {
            b'+' if *wanted == b' ' => at += 1,
            b'%' | b'\\' => match written(bytes, at) {
                Some((letter, end)) if letter == *wanted => at = end,
                Some(_) => return Found::No,
                None if bytes.len() - at < LONGEST_LETTER => return Found::Part,
                None => return Found::No,
            },
            _ => return Found::No,
        }
    }
    Found::Whole(at)
}

/// The longest way in which one letter is written: some backslashes, or `%25` again and again, and its digits.
const LONGEST_LETTER: usize = 12;

/// A letter that is percent-encoded or escaped, and where it ends. Both may have been done more than once.
fn written(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let rest = &bytes[at..bytes.len().min(at + LONGEST_LETTER)];
    let number = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    if rest[0] == b'%' {
        let mut from = 1;
        // `%25` is a percent sign, or one of an encoding that was encoded again: what follows tells.
        while rest[from..].starts_with(b"25") {
            let next = rest.get(from + 2..from + 4)?;
            if !next.iter().all(u8::is_ascii_hexdigit) {
                break;
            }
            from += 2;
        }
        return Some((number(rest.get(from..from + 2)?)?, at + from + 2));
    }
    let escapes = rest.iter().take_while(|byte| **byte == b'\\').count();
    match rest.get(escapes)? {
        b'u' => {
            let digits = rest.get(escapes + 1..escapes + 5)?.strip_prefix(b"00")?;
            Some((number(digits)?, at + escapes + 5))
        }
        other => Some((*other, at + escapes + 1)),
    }
}

/// A text that comes in pieces, without secrets that stand across them.
#[derive(Debug, Default)]
pub struct Stream {
    /// What may be the beginning of one.
    held: String,
}

impl Stream {
    /// The next piece: what of it, and of what was held, can be told.
    pub fn next(&mut self, secrets: &Secrets, piece: &str) -> String {
        if secrets.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        let mut shown = String::new();
        let end = secrets.hide(&self.held, false, &mut shown);
        self.held.drain(..end);
        shown
    }

    /// What is still held, when nothing more comes.
    pub fn end(&mut self, secrets: &Secrets) -> String {
        let held = std::mem::take(&mut self.held);
        secrets.hidden(&held).unwrap_or(held)
    }
}
