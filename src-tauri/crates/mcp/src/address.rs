//! The addresses of recorded values: `flowglass://request/ID/…`. A long value is read in ranges of its text.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Characters that are escaped in a part of an address: all except letters, digits and these.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b':').remove(b'[').remove(b']');

/// A part of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Its input.
    Input,
    /// Its output.
    Output,
    /// Its error, with details and stack.
    Error,
    /// The span of a block of a received trace.
    Span,
    /// The messages and parameters of a model call, counted from 0.
    Prompt(usize),
    /// The answer of a model call.
    Reply(usize),
    /// The request of another effect, such as a fetch or `runOnce`.
    Asked(usize),
    /// The result of that effect.
    Answered(usize),
}

/// The location of a recorded value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// The input of a request.
    Input(String),
    /// The output of a request.
    Output(String),
    /// A part of an execution of a block.
    Block { request: String, path: String, attempt: Option<u32>, part: Part },
    /// The state of all scopes after an event.
    State { request: String, seq: u64 },
    /// An item.
    Item { request: String, id: String },
    /// An event as it was recorded.
    Event { request: String, seq: u64 },
    /// A file as it was when the request ran.
    Source { request: String, file: String },
}

/// An address and a range of the value's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) address: Address,
    /// A JSON pointer into the value.
    pub(crate) pointer: String,
    /// The first byte.
    pub(crate) from: usize,
    /// The byte after the last one.
    pub(crate) to: Option<usize>,
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let request = |id: &str| format!("flowglass://request/{}", encoded(id));
        match self {
            Address::Input(id) => write!(out, "{}/input", request(id)),
            Address::Output(id) => write!(out, "{}/output", request(id)),
            Address::Block { request: id, path, attempt, part } => {
                let attempt = attempt.map(|attempt| format!("%23{attempt}")).unwrap_or_default();
                write!(out, "{}/block/{}{attempt}/", request(id), encoded(path))?;
                match part {
                    Part::Input => write!(out, "input"),
                    Part::Output => write!(out, "output"),
                    Part::Error => write!(out, "error"),
                    Part::Span => write!(out, "span"),
                    Part::Prompt(n) => write!(out, "prompt/{n}"),
                    Part::Reply(n) => write!(out, "reply/{n}"),
                    Part::Asked(n) => write!(out, "asked/{n}"),
                    Part::Answered(n) => write!(out, "answered/{n}"),
                }
            }
            Address::State { request: id, seq } => write!(out, "{}/state/{seq}", request(id)),
            Address::Item { request: id, id: item } => write!(out, "{}/item/{}", request(id), encoded(item)),
            Address::Event { request: id, seq } => write!(out, "{}/event/{seq}", request(id)),
            Address::Source { request: id, file } => write!(out, "{}/source/{}", request(id), encoded(file)),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.address)?;
        let mut sign = '?';
        if !self.pointer.is_empty() {
            write!(out, "{sign}pointer={}", encoded(&self.pointer))?;
            sign = '&';
        }
        if self.from > 0 {
            write!(out, "{sign}from={}", self.from)?;
            sign = '&';
        }
        if let Some(to) = self.to {
            write!(out, "{sign}to={to}")?;
        }
        Ok(())
    }
}

/// The forms of addresses, for error messages.
pub(crate) const FORMS: &str = "flowglass://request/ID/input, /output, /block/PATH%23ATTEMPT/input, …/output, …/error, \
     …/span, …/prompt/N, …/reply/N, …/asked/N, …/answered/N, /state/SEQ, /item/ID, /event/SEQ or /source/FILE, each \
     with ?pointer=/JSON/POINTER&from=BYTE&to=BYTE";

impl Range {
    /// Parses an address. Returns `None` if it has none of the forms in [`FORMS`].
    pub(crate) fn parse(uri: &str) -> Option<Range> {
        let rest = uri.strip_prefix("flowglass://request/")?;
        let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
        let parts: Vec<String> = path.split('/').map(decoded).collect::<Option<_>>()?;
        let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let address = match &texts[..] {
            [id, "input"] => Address::Input((*id).to_owned()),
            [id, "output"] => Address::Output((*id).to_owned()),
            [id, "block", block, part @ ..] => {
                let (path, attempt) = match block.rsplit_once('#') {
                    Some((path, attempt)) => (path, Some(attempt.parse().ok()?)),
                    None => (*block, None),
                };
                let part = match part {
                    ["input"] => Part::Input,
                    ["output"] => Part::Output,
                    ["error"] => Part::Error,
                    ["span"] => Part::Span,
                    ["prompt", n] => Part::Prompt(n.parse().ok()?),
                    ["reply", n] => Part::Reply(n.parse().ok()?),
                    ["asked", n] => Part::Asked(n.parse().ok()?),
                    ["answered", n] => Part::Answered(n.parse().ok()?),
                    _ => return None,
                };
                Address::Block { request: (*id).to_owned(), path: path.to_owned(), attempt, part }
            }
            [id, "state", seq] => Address::State { request: (*id).to_owned(), seq: seq.parse().ok()? },
            [id, "item", item] => Address::Item { request: (*id).to_owned(), id: (*item).to_owned() },
            [id, "event", seq] => Address::Event { request: (*id).to_owned(), seq: seq.parse().ok()? },
            [id, "source", file] => Address::Source { request: (*id).to_owned(), file: (*file).to_owned() },
            _ => return None,
        };
        let mut range = Range { address, pointer: String::new(), from: 0, to: None };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=')? {
                ("pointer", pointer) => range.pointer = decoded(pointer)?,
                ("from", from) => range.from = from.parse().ok()?,
                ("to", to) => range.to = Some(to.parse().ok()?),
                _ => return None,
            }
        }
        Some(range)
    }
}

fn encoded(text: &str) -> impl fmt::Display {
    utf8_percent_encode(text, ESCAPED)
}

fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}
