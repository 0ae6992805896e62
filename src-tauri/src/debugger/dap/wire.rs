//! Messages of the Debug Adapter Protocol on a stream: a header with the length, an empty line, and JSON.

use std::io::{BufRead, Read, Write};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The maximum size of a message.
const MAX_BYTES: u64 = 16 << 20;
/// The maximum length of a header line.
const MAX_HEADER: u64 = 8 << 10;

/// A request of the editor.
#[derive(Debug, Deserialize)]
pub(super) struct Request {
    pub(super) seq: i64,
    pub(super) command: String,
    #[serde(default, deserialize_with = "engine::json::exact")]
    pub(super) arguments: Value,
}

/// The answer to a request.
#[derive(Debug, Serialize)]
pub(super) struct Response {
    pub(super) request_seq: i64,
    pub(super) success: bool,
    pub(super) command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Value>,
}

/// An event that is sent to the editor.
#[derive(Debug, Serialize)]
pub(super) struct Event {
    pub(super) event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) body: Option<Value>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Content<'m> {
    Response(&'m Response),
    Event(&'m Event),
}

#[derive(Serialize)]
struct Message<'m> {
    seq: i64,
    #[serde(flatten)]
    content: Content<'m>,
}

/// What was read.
#[derive(Debug)]
pub(super) enum Incoming {
    Request(Request),
    /// Input that is not a request, and why.
    Garbage(String),
    /// The stream has ended.
    End,
}

/// Reads the next message. Other input is skipped up to the next header.
pub(super) fn read(input: &mut impl BufRead) -> std::io::Result<Incoming> {
    let mut length: Option<u64> = None;
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(MAX_HEADER).read_until(b'\n', &mut line)? == 0 {
            return Ok(Incoming::End);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if text.is_empty() {
            match length {
                Some(length) => return body(input, length),
                None => continue,
            }
        }
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        if name.eq_ignore_ascii_case("content-length") {
            match value.trim().parse() {
                Ok(bytes) => length = Some(bytes),
                Err(_) => return Ok(Incoming::Garbage(format!("\"{}\" is no length", short(value)))),
            }
        } else if !name.eq_ignore_ascii_case("content-type") {
            return Ok(Incoming::Garbage(format!(
                "a message begins with Content-Length, not with \"{}\"",
                short(text)
            )));
        }
    }
}

fn body(input: &mut impl BufRead, length: u64) -> std::io::Result<Incoming> {
    if length > MAX_BYTES {
        // The body is then read as headers until a valid one is found.
        return Ok(Incoming::Garbage(format!("a message of {length} bytes is too long; {MAX_BYTES} is the most")));
    }
    let mut bytes = Vec::new();
    if (input.by_ref().take(length).read_to_end(&mut bytes)? as u64) < length {
        return Ok(Incoming::End);
    }
    let message: Value = match serde_json::from_slice(&bytes) {
        Ok(message) => message,
        Err(error) => return Ok(Incoming::Garbage(format!("a message is not JSON: {error}"))),
    };
    if message.get("type").and_then(Value::as_str) != Some("request") {
        return Ok(Incoming::Garbage("a message is no request".to_owned()));
    }
    Ok(serde_json::from_value(message)
        .map_or_else(|error| Incoming::Garbage(format!("a request is not complete: {error}")), Incoming::Request))
}

fn short(text: &str) -> String {
    text.chars().take(60).collect::<String>().trim().to_owned()
}

/// Writes messages with their numbers.
pub(super) struct Writer<W> {
    out: W,
    seq: i64,
}

impl<W: Write> Writer<W> {
    pub(super) fn new(out: W) -> Writer<W> {
        Writer { out, seq: 0 }
    }

    pub(super) fn response(&mut self, response: &Response) -> std::io::Result<()> {
        self.write(Content::Response(response))
    }

    pub(super) fn event(&mut self, event: &Event) -> std::io::Result<()> {
        self.write(Content::Event(event))
    }

    fn write(&mut self, content: Content<'_>) -> std::io::Result<()> {
        self.seq += 1;
        let text = serde_json::to_string(&Message { seq: self.seq, content }).map_err(std::io::Error::other)?;
        write!(self.out, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Vec<String> {
        let mut input = std::io::BufReader::new(text);
        let mut found = Vec::new();
        loop {
            match read(&mut input).expect("memory can be read") {
                Incoming::Request(request) => found.push(request.command),
                Incoming::Garbage(why) => found.push(format!("! {why}")),
                Incoming::End => return found,
            }
        }
    }

    fn framed(text: &str) -> String {
        format!("Content-Length: {}\r\n\r\n{text}", text.len())
    }

    #[test]
    fn requests_are_found_between_garbage() {
        let good = framed(r#"{"seq":1,"type":"request","command":"threads"}"#);
        assert_eq!(all(good.as_bytes()), ["threads"]);
        let bad = format!("hello\r\n{good}{}{good}", framed("{"));
        let found = all(bad.as_bytes());
        assert_eq!((found.len(), found[1].as_str(), found[3].as_str()), (4, "threads", "threads"), "{found:?}");
        assert!(all(b"Content-Length: 99999999999\r\n\r\n")[0].starts_with("! a message of"));
        assert!(all(b"Content-Length: x\r\n\r\n")[0].starts_with("! \"x\" is no length"));
        assert!(all(framed("[]").as_bytes())[0].starts_with("! a message is no request"));
        assert!(all(framed(r#"{"type":"request"}"#).as_bytes())[0].starts_with("! a request is not complete"));
        assert_eq!(all(b"Content-Length: 10\r\n\r\n{}"), Vec::<String>::new());
        assert_eq!(all(&[0xff; 40])[0].chars().next(), Some('!'));
    }
}
