//! Finds secrets in a text by their values, in any encoding in which a server or a flow may repeat them.
//!
//! Each character may be percent-encoded or escaped as in JSON. The whole value may be hexadecimal or base64, also as a
//! part of longer base64. A value of fewer than four characters would match by chance inside other texts, so it is only
//! redacted if it is the whole text.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::REDACTED;

/// The shortest base64 that is searched for: shorter ones would match by chance.
const SHORTEST_BASE64: usize = 8;

/// The shortest value that is searched for within longer texts, in characters.
const SHORTEST_VALUE: usize = 4;

/// Values that must not be recorded.
#[derive(Clone)]
pub struct Secrets {
    /// The forms to search for: each value, its hexadecimal digits and its base64.
    forms: Vec<Form>,
    /// Values that are only redacted if they are the whole text.
    short: Vec<Form>,
    /// Whether a form may begin with this byte, by its number.
    begins: [bool; 256],
}

impl Default for Secrets {
    fn default() -> Self {
        Secrets { forms: Vec::new(), short: Vec::new(), begins: [false; 256] }
    }
}

/// The bytes of a value in one encoding.
#[derive(Clone)]
struct Form {
    bytes: Vec<u8>,
    /// The name of the value.
    name: Arc<str>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} forms of secrets", self.forms.len())
    }
}

impl<S: AsRef<str>> FromIterator<S> for Secrets {
    fn from_iter<I: IntoIterator<Item = S>>(values: I) -> Self {
        Secrets::named(values.into_iter().map(|value| ("", value)))
    }
}

impl Secrets {
    /// Creates it from values with their names. The names are not secret.
    pub fn named<N: AsRef<str>, S: AsRef<str>>(values: impl IntoIterator<Item = (N, S)>) -> Secrets {
        let mut secrets = Secrets::default();
        for (name, value) in values {
            let (name, value): (Arc<str>, &str) = (name.as_ref().into(), value.as_ref());
            let form = |bytes: Vec<u8>| Form { bytes, name: name.clone() };
            match value.chars().count() {
                0 => {}
                count if count < SHORTEST_VALUE => secrets.short.push(form(value.into())),
                _ => {
                    let mut forms = vec![value.as_bytes().to_vec()];
                    forms.extend(in_hexadecimal(value.as_bytes()));
                    forms.extend((0..3).flat_map(|before| in_base64(value.as_bytes(), before)));
                    secrets.forms.extend(forms.into_iter().map(form));
                }
            }
        }
        // The longest first, so that it is replaced as a whole.
        secrets.forms.sort_by(|a, b| b.bytes.len().cmp(&a.bytes.len()).then_with(|| a.bytes.cmp(&b.bytes)));
        secrets.forms.dedup_by(|a, b| a.bytes == b.bytes);
        for form in &secrets.forms {
            secrets.begins[usize::from(form.bytes[0])] = true;
            for encoded in b"%\\+" {
                secrets.begins[usize::from(*encoded)] = true;
            }
        }
        secrets
    }
}

/// Returns the hexadecimal digits of a value, in both cases.
fn in_hexadecimal(value: &[u8]) -> [Vec<u8>; 2] {
    let lower: String = value.iter().map(|byte| format!("{byte:02x}")).collect();
    [lower.to_ascii_uppercase().into_bytes(), lower.into_bytes()]
}

/// Returns the base64 digits, in both alphabets, that a value certainly has after `before` (modulo 3) other bytes.
fn in_base64(value: &[u8], before: usize) -> Vec<Vec<u8>> {
    let mut bytes = vec![0; before];
    bytes.extend(value);
    let certain = (before * 8).div_ceil(6)..bytes.len() * 8 / 6;
    let encoded = [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)];
    let forms = encoded.iter().filter_map(|text| text.as_bytes().get(certain.clone()));
    forms.filter(|form| form.len() >= SHORTEST_BASE64).map(<[u8]>::to_vec).collect()
}

/// The result of a search for a form at a place.
enum Found {
    No,
    /// The text ends before the form does.
    Part,
    /// The form is there, and ends here.
    Whole(usize),
}

impl Secrets {
    /// Returns whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.forms.is_empty() && self.short.is_empty()
    }

    /// Returns the redacted text; `None` if there is nothing to redact.
    pub fn hidden(&self, text: &str) -> Option<String> {
        self.replaced(text, |_| Cow::Borrowed(REDACTED))
    }

    /// Like [`hidden`](Self::hidden), but with the names of the values, so that different texts stay different.
    pub fn hidden_by_name(&self, text: &str) -> Option<String> {
        self.replaced(text, |name| match name {
            "" => Cow::Borrowed(REDACTED),
            name => Cow::Owned(format!("[redacted {name}]")),
        })
    }

    /// Returns the name of the first value in a text.
    pub fn first_in(&self, text: &str) -> Option<Arc<str>> {
        if let Some(short) = self.short_as(text) {
            return Some(short.name.clone());
        }
        let bytes = text.as_bytes();
        let has = |at: usize, form: &&Form| matches!(find(bytes, at, &form.bytes), Found::Whole(_));
        let places = (0..bytes.len()).filter(|at| self.begins[usize::from(bytes[*at])]);
        places.filter_map(|at| self.forms.iter().find(|form| has(at, form))).map(|form| form.name.clone()).next()
    }

    fn short_as(&self, text: &str) -> Option<&Form> {
        self.short.iter().find(|form| form.bytes == text.as_bytes())
    }

    fn replaced(&self, text: &str, by: impl Fn(&str) -> Cow<'static, str>) -> Option<String> {
        if let Some(short) = self.short_as(text) {
            return Some(by(&short.name).into_owned());
        }
        let mut hidden = String::new();
        let end = self.hide(text, true, &mut hidden, by);
        debug_assert_eq!(end, text.len());
        (hidden != text).then_some(hidden)
    }

    /// Appends the redacted text to `hidden`. Unless `is_last`, stops before a secret that may be incomplete. Returns
    /// how much of the text was used.
    fn hide(&self, text: &str, is_last: bool, hidden: &mut String, by: impl Fn(&str) -> Cow<'static, str>) -> usize {
        let bytes = text.as_bytes();
        let (mut at, mut plain) = (0, 0);
        'places: while at < bytes.len() {
            if !self.begins[usize::from(bytes[at])] {
                at += 1;
                continue;
            }
            for form in &self.forms {
                match find(bytes, at, &form.bytes) {
                    Found::Whole(end) => {
                        hidden.push_str(&text[plain..at]);
                        hidden.push_str(&by(&form.name));
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

/// The mark of a place where a text was cut.
const CUT: char = '…';

impl Secrets {
    /// Returns the text without parts of values at the places where it was cut; `None` if there are no such parts.
    /// `is_cut` tells whether it was cut at its end without a mark.
    pub fn hidden_at_cuts(&self, text: &str, is_cut: bool) -> Option<String> {
        if self.forms.is_empty() || !(is_cut || text.contains(CUT)) {
            return None;
        }
        let last = text.matches(CUT).count();
        let mut hidden = String::new();
        for (at, mut piece) in text.split(CUT).enumerate() {
            if at > 0 {
                hidden.push(CUT);
                if let Some(rest) = self.longest(|end| piece.strip_prefix(end), |form, len| &form[form.len() - len..]) {
                    hidden.push_str(REDACTED);
                    piece = rest;
                }
            }
            if at == last && !is_cut {
                hidden.push_str(piece);
                continue;
            }
            // A quoted text was cut inside the quotes.
            let (inner, quote) = piece.strip_suffix('"').map_or((piece, ""), |inner| (inner, "\""));
            match self.longest(|begin| inner.strip_suffix(begin), |form, len| &form[..len]) {
                Some(rest) => hidden.extend([rest, REDACTED, quote]),
                None => hidden.push_str(piece),
            }
        }
        (hidden != text).then_some(hidden)
    }

    /// Returns the shortest result of `strip`, which removes parts of values.
    fn longest<'t>(
        &self,
        strip: impl Fn(&str) -> Option<&'t str>,
        part: impl Fn(&[u8], usize) -> &[u8],
    ) -> Option<&'t str> {
        let of_form = |form: &Form| {
            let lengths = (SHORTEST_VALUE..form.bytes.len()).rev();
            lengths.filter_map(|len| strip(std::str::from_utf8(part(&form.bytes, len)).ok()?)).next()
        };
        self.forms.iter().filter_map(of_form).min_by_key(|rest| rest.len())
    }
}

/// Searches for a form at a place, in any encoding of its characters.
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

/// The longest encoding of one character that is recognized, in bytes: several backslashes or `%25`, and the digits.
const LONGEST_LETTER: usize = 12;

/// Decodes a character that is percent-encoded or escaped, perhaps several times. Returns it and where it ends.
fn written(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let rest = &bytes[at..bytes.len().min(at + LONGEST_LETTER)];
    let number = |digits: &[u8]| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    if rest[0] == b'%' {
        let mut from = 1;
        // `%25` is a percent sign; followed by two hexadecimal digits it belongs to a character that was encoded twice.
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

/// Redacts a text that arrives in pieces, also secrets that span several pieces.
#[derive(Debug, Default)]
pub struct Stream {
    /// The end of the text so far, where it may be the beginning of a secret.
    held: String,
}

impl Stream {
    /// Adds a piece. Returns what can be shown now, redacted.
    pub fn next(&mut self, secrets: &Secrets, piece: &str) -> String {
        if secrets.is_empty() {
            return piece.to_owned();
        }
        self.held.push_str(piece);
        let mut shown = String::new();
        let end = secrets.hide(&self.held, false, &mut shown, |_| Cow::Borrowed(REDACTED));
        self.held.drain(..end);
        shown
    }

    /// Returns the rest, redacted, when no more pieces come.
    pub fn end(&mut self, secrets: &Secrets) -> String {
        let held = std::mem::take(&mut self.held);
        secrets.hidden(&held).unwrap_or(held)
    }
}
