//! Secrets in a text by the names of their fields: in a URL, a form, JSON, or a text that quotes one of these.
//!
//! The text is scanned, not parsed, so it may be cut off, escaped or invalid. The time is linear in its length.

use std::borrow::Cow;
use std::ops::Range;

use super::{REDACTED, Redaction};

/// The longest name that is found, in bytes.
const LONGEST_NAME: usize = 200;

/// The longest header of a form part that is found, in bytes after `form-data`.
const LONGEST_HEAD: usize = 1_000;

/// Redacts the values of listed names in a text.
pub(super) fn hide<'t>(text: &'t str, redaction: &Redaction) -> Cow<'t, str> {
    let passes: [fn(&str, &Redaction) -> Vec<Secret>; 4] = [userinfo, fields, pairs, parts];
    let mut hidden = Cow::Borrowed(text);
    for pass in passes {
        let found = pass(&hidden, redaction);
        if !found.is_empty() {
            hidden = Cow::Owned(without(&hidden, found));
        }
    }
    hidden
}

/// A secret in a text.
struct Secret {
    place: Range<usize>,
    /// What is put on both sides of the replacement: quotes, for a JSON value that had none.
    quote: String,
}

impl From<Range<usize>> for Secret {
    fn from(place: Range<usize>) -> Self {
        Secret { place, quote: String::new() }
    }
}

fn without(text: &str, secrets: Vec<Secret>) -> String {
    let mut hidden = String::with_capacity(text.len());
    let mut at = 0;
    for Secret { place, quote } in secrets {
        hidden.push_str(&text[at..place.start]);
        hidden.extend([&quote, REDACTED, &quote]);
        at = place.end;
    }
    hidden.push_str(&text[at..]);
    hidden
}

/// Finds user names and passwords before the host of a URL.
fn userinfo(text: &str, _: &Redaction) -> Vec<Secret> {
    let ends = |c: char| matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '\\' | '`') || c.is_whitespace();
    let hosts = text.match_indices("://").map(|(at, slashes)| at + slashes.len());
    let secrets = hosts.filter_map(|start| {
        let authority = text[start..].split(ends).next().unwrap_or_default();
        authority.rfind('@').map(|at| start..start + at)
    });
    secrets.filter(|secret| !secret.is_empty()).map(Secret::from).collect()
}

/// Finds the values of listed JSON fields, also in JSON within a string of JSON.
fn fields(text: &str, redaction: &Redaction) -> Vec<Secret> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut done = 0;
    for (quote, _) in text.match_indices('"') {
        if quote < done {
            continue;
        }
        let after = skip_space(bytes, quote + 1);
        if bytes.get(after) != Some(&b':') || !is_listed_name(text, quote, redaction) {
            continue;
        }
        let start = skip_space(bytes, after + 1);
        // In JSON within a string, the quotes of name and value are escaped equally often.
        let escapes = bytes[..quote].iter().rev().take_while(|byte| **byte == b'\\').count();
        let (secret, end) = value(bytes, start, escapes);
        done = end;
        found.extend(secret);
    }
    found
}

/// Returns whether the name that ends before this quote is listed.
fn is_listed_name(text: &str, quote: usize, redaction: &Redaction) -> bool {
    let bytes = text.as_bytes();
    let from = quote.saturating_sub(LONGEST_NAME);
    let Some(open) = bytes[from..quote].iter().rposition(|byte| *byte == b'"') else { return false };
    let name = text.get(from + open + 1..quote).unwrap_or_default().trim_end_matches('\\');
    // A name may be escaped, too.
    let decoded = name.contains('\\').then(|| crate::model::json::parse(&format!("\"{name}\"")).ok()).flatten();
    redaction.is_listed(decoded.as_ref().and_then(|name| name.as_str()).unwrap_or(name))
}

/// Returns the secret of the value that begins at `start`, and where the value ends. `null`, `true` and `false` are no
/// secrets.
fn value(bytes: &[u8], start: usize, escapes: usize) -> (Option<Secret>, usize) {
    let quoted = |place: Range<usize>| Some(Secret { place, quote: format!("{}\"", "\\".repeat(escapes)) });
    let first = start + bytes.iter().skip(start).take_while(|byte| **byte == b'\\').count();
    match bytes.get(first) {
        Some(b'"') => {
            let end = string_end(bytes, first + 1, first - start);
            (Some(Secret::from(first + 1..end)).filter(|secret| !secret.place.is_empty()), end)
        }
        Some(b'[' | b'{') => {
            let end = bracket_end(bytes, first, escapes);
            (quoted(first..end), end)
        }
        _ => {
            let length = bytes.iter().skip(first).take_while(|byte| !b",}] \t\r\n\"\\".contains(byte)).count();
            let is_told = !matches!(&bytes[first..first + length], b"" | b"null" | b"true" | b"false");
            (quoted(first..first + length).filter(|_| is_told), first + length)
        }
    }
}

/// Returns the end of a string whose quotes are preceded by `escapes` backslashes: before those of its closing quote.
fn string_end(bytes: &[u8], from: usize, escapes: usize) -> usize {
    let mut backslashes = 0;
    for (at, byte) in bytes.iter().enumerate().skip(from) {
        match byte {
            b'\\' => backslashes += 1,
            // The text around it ends before it does.
            b'"' if backslashes < escapes => return at - backslashes,
            b'"' if (backslashes - escapes).is_multiple_of(2 * (escapes + 1)) => return at - escapes,
            _ => backslashes = 0,
        }
    }
    bytes.len()
}

/// Returns the end of a list or an object: after its closing bracket.
fn bracket_end(bytes: &[u8], from: usize, escapes: usize) -> usize {
    let (mut at, mut depth) = (from, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at + 1, escapes) + escapes,
            b'[' | b'{' => depth += 1,
            b']' | b'}' if depth == 1 => return at + 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// Finds the values of listed `name=value` pairs, in the query of a URL or in a form.
fn pairs(text: &str, redaction: &Redaction) -> Vec<Secret> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    for (equals, _) in text.match_indices('=') {
        let from = equals.saturating_sub(LONGEST_NAME);
        let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.%[]".contains(byte);
        let length = bytes[from..equals].iter().rev().take_while(|byte| is_name(byte)).count();
        let start = equals - length;
        let before = start.checked_sub(1).map(|at| bytes[at]);
        let is_parameter = matches!(before, Some(b'?' | b'&'));
        let is_alone = is_parameter || before.is_none_or(|byte| b"; \t\r\n\"'(,#>\\".contains(&byte));
        // An ampersand may be escaped (`\u0026`, `&amp;`).
        let name = text[start..equals].trim_start_matches("u0026");
        if !is_alone || name.is_empty() || !is_listed_parameter(name, is_parameter, redaction) {
            continue;
        }
        let is_value = |byte: &u8| !byte.is_ascii_whitespace() && !b"&;\"'<>#\\`".contains(byte);
        let end = equals + 1 + bytes[equals + 1..].iter().take_while(|byte| is_value(byte)).count();
        if end > equals + 1 && found.last().is_none_or(|last: &Secret| last.place.end <= equals) {
            found.push(Secret::from(equals + 1..end));
        }
    }
    found
}

/// Returns whether a parameter is listed; of `user[password]` the innermost name counts. `key` is listed only in a URL.
fn is_listed_parameter(name: &str, is_parameter: bool, redaction: &Redaction) -> bool {
    let decoded = percent_decoded(name);
    let inner = decoded.trim_end_matches(']').rsplit('[').next().unwrap_or(&decoded);
    redaction.is_listed(inner) || (is_parameter && inner.eq_ignore_ascii_case("key"))
}

fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let (mut decoded, mut at) = (Vec::new(), 0);
    while let Some(byte) = bytes.get(at) {
        let digits = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(*byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

/// Finds the values of parts of a `multipart/form-data` body with listed names.
fn parts(text: &str, redaction: &Redaction) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    for (at, mark) in text.match_indices("form-data") {
        let start = at + mark.len();
        if found.last().is_some_and(|last| start < last.place.end) {
            continue;
        }
        let rest = &text[start..];
        let blank = ["\r\n\r\n", "\n\n"].iter().filter_map(|line| Some((rest.find(line)?, line.len()))).min();
        let Some((blank, length)) = blank.filter(|(blank, _)| *blank <= LONGEST_HEAD) else { continue };
        if !part_name(&rest[..blank]).is_some_and(|name| redaction.is_listed(name)) {
            continue;
        }
        let from = start + blank + length;
        let value = &text[from..];
        let end = value.find("\r\n--").or_else(|| value.find("\n--")).unwrap_or(value.len());
        if end > 0 {
            found.push(Secret::from(from..from + end));
        }
    }
    found
}

/// Returns the name of a part, from what follows `form-data`: `; filename="x"; name="password"`, quoted or not.
fn part_name(parameters: &str) -> Option<&str> {
    let line = parameters.split(['\r', '\n']).next().unwrap_or_default();
    let mut all = line.split(';').map(str::trim);
    let value = all.find_map(|one| one.split_once('=').filter(|(key, _)| key.trim().eq_ignore_ascii_case("name")))?.1;
    Some(value.trim().trim_matches('"'))
}

fn skip_space(bytes: &[u8], from: usize) -> usize {
    from + bytes[from.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}
