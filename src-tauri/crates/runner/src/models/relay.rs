//! A local proxy between the provider library and a server. It limits replies before the library buffers them.
//!
//! The library reads whole bodies, accepts lines of any length, and copies an unfinished line again for each piece. So
//! a server could use up all memory, or time quadratic in a line's length. The library's HTTP client cannot be
//! replaced, so it connects to this relay over one local connection with an unguessable path, and the relay connects to
//! the server. The relay forwards only complete events, and ends a reply that is too large; it changes nothing else. It
//! can also send an earlier reply of the server again.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::{Either, select};
use reqwest::{Client, Method, Response, Url};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::failure::{Failure, broken};
use super::kept_reply::{KeptReply, WholeReply};
use super::numbering::Numbering;
use crate::core::config::{FILE, Limits};
use crate::models::http;

/// The maximum size of the head of the library's request.
const MAX_HEAD_BYTES: usize = 64 << 10;

/// How long a connection of another local program may delay the relay.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an incomplete event is held back. A slower event is forwarded in pieces, so that the library's timeouts see
/// that the server is sending.
const MAX_EVENT_DELAY: Duration = Duration::from_secs(1);

/// The end of a chunked body.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Headers that apply to one connection only and are not forwarded.
const OF_THE_CONNECTION: [&str; 8] =
    ["connection", "content-length", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"];

/// One exchange with a server.
pub(super) struct Relay {
    listener: TcpListener,
    client: Client,
    /// Scheme, host and port of the server.
    server: Url,
    /// The start of the path of the library's request.
    secret: String,
    limits: Limits,
    source: ReplySource,
}

/// The source of a relay's reply.
pub(super) enum ReplySource {
    /// The server.
    Server,
    /// The server; its reply is kept if it is not a stream.
    KeptServer(Arc<KeptReply>),
    /// An earlier reply of the server. Nothing is sent to the server.
    Before(WholeReply),
}

/// A request of the library.
struct Asked {
    method: Method,
    url: Url,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Relay {
    /// Opens a relay to the server of this address.
    pub(super) async fn open(
        client: &Client,
        server: &Url,
        limits: Limits,
        source: ReplySource,
    ) -> Result<Relay, Failure> {
        http::check_clock(server).map_err(|error| Failure::Impossible(format!("cannot be asked: {error}")))?;
        let unusable = |error: std::io::Error| Failure::Impossible(format!("cannot be asked: no local port: {error}"));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(unusable)?;
        let secret = format!("/{}", uuid::Uuid::new_v4().simple());
        Ok(Relay { listener, client: client.clone(), server: server.clone(), secret, limits, source })
    }

    /// Returns the address of this relay that forwards to an address of the server.
    pub(super) fn address(&self, of: &Url) -> Result<String, Failure> {
        let port = self.listener.local_addr().map_err(|error| Failure::Impossible(error.to_string()))?.port();
        let query = of.query().map(|query| format!("?{query}")).unwrap_or_default();
        Ok(format!("http://127.0.0.1:{port}{}{}{query}", self.secret, of.path()))
    }

    /// Runs `work`, which uses the relay. If the relay ends a reply, its error replaces that of the library.
    pub(super) async fn carry<T>(self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        match select(pin!(work), pin!(self.serve())).await {
            Either::Left((result, _)) => result,
            Either::Right((Ok(()), work)) => work.await,
            Either::Right((Err(failure), work)) => {
                // Let the listener get what arrived before.
                let _ = work.await;
                Err(failure)
            }
        }
    }

    async fn serve(self) -> Result<(), Failure> {
        let (mut library, asked) = loop {
            let Ok((mut stream, _)) = self.listener.accept().await else { continue };
            let asked = tokio::time::timeout(HEAD_TIMEOUT, self.read(&mut stream)).await;
            if let Ok(Some(asked)) = asked {
                break (stream, asked);
            }
        };
        let Relay { listener, client, limits, source, .. } = self;
        // No other connection is accepted.
        drop(listener);
        let kept = match source {
            ReplySource::Server => None,
            ReplySource::KeptServer(kept) => Some(kept),
            ReplySource::Before(WholeReply { head, mut body }) => {
                let _ = library.write_all(head.as_bytes()).await;
                send(&mut library, &mut body).await;
                let _ = library.write_all(LAST_CHUNK).await;
                return Ok(());
            }
        };
        let mut request = client.request(asked.method, asked.url).body(asked.body);
        for (name, value) in asked.headers {
            request = request.header(name, value);
        }
        let response = request.send().await.map_err(|error| broken(&error))?;
        // Ignore errors of a library that has closed the connection.
        let head = head(&response);
        if let Some(kept) = &kept {
            kept.begin(&head);
        }
        let _ = library.write_all(head.as_bytes()).await;
        hand_on(response, &mut library, limits, kept.as_deref()).await
    }

    /// Reads the library's request; `None` if another program has connected.
    async fn read(&self, stream: &mut TcpStream) -> Option<Asked> {
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            if bytes.len() > MAX_HEAD_BYTES || stream.read_buf(&mut bytes).await.ok()? == 0 {
                return None;
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.lines();
        let mut first = lines.next()?.split(' ');
        let (method, path) = (Method::from_bytes(first.next()?.as_bytes()).ok()?, first.next()?);
        let url = self.server.join(path.strip_prefix(&self.secret)?).ok()?;
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers: Vec<_> = headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
        let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
        let length: usize = length.map_or(Some(0), |(_, length)| length.parse().ok())?;
        let mut body = bytes.split_off(end);
        while body.len() < length {
            if stream.read_buf(&mut body).await.ok()? == 0 {
                return None;
            }
        }
        let headers = headers.into_iter().filter(|(name, _)| is_handed_on(name)).collect();
        Some(Asked { method, url, headers, body })
    }
}

fn is_handed_on(header: &str) -> bool {
    !OF_THE_CONNECTION.iter().any(|own| header.eq_ignore_ascii_case(own))
}

fn head(response: &Response) -> String {
    let mut head = format!("HTTP/1.1 {} -\r\n", response.status().as_u16());
    for (name, value) in response.headers().iter().filter(|(name, _)| is_handed_on(name.as_str())) {
        if let Ok(value) = value.to_str() {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    head.push_str("connection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    head
}

/// Forwards the body, event by event. An error reply is cut at the limit without an error.
async fn hand_on(
    mut response: Response,
    library: &mut TcpStream,
    limits: Limits,
    kept: Option<&KeptReply>,
) -> Result<(), Failure> {
    let is_refusal = !response.status().is_success();
    let content_type = response.headers().get("content-type").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut events = Events::new(content_type);
    let mut numbering = Numbering::default();
    let mut held: Vec<u8> = Vec::new();
    let (mut total, mut since) = (0, Instant::now());
    loop {
        let chunk = match response.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(error) => {
                send(library, &mut held).await;
                return Err(broken(&error));
            }
        };
        if is_refusal {
            let left = limits.error_bytes.saturating_sub(held.len());
            held.extend_from_slice(&chunk[..chunk.len().min(left)]);
            if held.len() >= limits.error_bytes {
                break;
            }
            continue;
        }
        total += chunk.len();
        if total > limits.reply_bytes {
            return Err(too_large("a reply", limits.reply_bytes, "replyBytes"));
        }
        if let Err(number) = numbering.take(&chunk) {
            return Err(Failure::TooLarge(format!("answered with a part numbered {number}, which is too high")));
        }
        if let Some(kept) = kept {
            kept.add(&chunk);
        }
        events.take(&chunk);
        held.extend_from_slice(&chunk);
        if events.longest > limits.line_bytes {
            return Err(too_large("an event in its stream", limits.line_bytes, "lineBytes"));
        }
        let is_late = since.elapsed() > MAX_EVENT_DELAY;
        let begun = if is_late { 0 } else { events.begun.min(held.len()) };
        let rest = held.split_off(held.len() - begun);
        if !held.is_empty() {
            send(library, &mut held).await;
            since = Instant::now();
        }
        held = rest;
    }
    send(library, &mut held).await;
    let _ = library.write_all(LAST_CHUNK).await;
    Ok(())
}

/// Sends a piece of the body. Ignores a library that has closed the connection.
async fn send(library: &mut TcpStream, held: &mut Vec<u8>) {
    if held.is_empty() {
        return;
    }
    let mut chunk = format!("{:x}\r\n", held.len()).into_bytes();
    chunk.append(held);
    chunk.extend_from_slice(b"\r\n");
    let _ = library.write_all(&chunk).await;
}

fn too_large(what: &str, most: usize, limit: &str) -> Failure {
    Failure::TooLarge(format!(
        "answered with {what} of more than {most} bytes: limits.{limit} in {FILE} says how long it may be"
    ))
}

/// Finds the ends of events: blank lines in an event stream, ends of lines in other streams. A JSON document has no
/// events.
struct Events {
    kind: Framing,
    /// The number of bytes of the last event, which has not ended.
    begun: usize,
    /// The size of the longest event in bytes.
    longest: usize,
    line: usize,
    follows_return: bool,
}

enum Framing {
    BlankLines,
    Lines,
    Document,
}

impl Events {
    fn new(content_type: &str) -> Events {
        let kind = match content_type.split(';').next().unwrap_or_default().trim() {
            "text/event-stream" => Framing::BlankLines,
            "application/json" => Framing::Document,
            _ => Framing::Lines,
        };
        Events { kind, begun: 0, longest: 0, line: 0, follows_return: false }
    }

    fn take(&mut self, bytes: &[u8]) {
        if matches!(self.kind, Framing::Document) {
            self.begun += bytes.len();
            return;
        }
        for byte in bytes {
            let is_pair = *byte == b'\n' && self.follows_return;
            self.follows_return = *byte == b'\r';
            self.begun += 1;
            self.longest = self.longest.max(self.begun);
            if !matches!(byte, b'\n' | b'\r') {
                self.line += 1;
                continue;
            }
            let is_end = match self.kind {
                // In "\r\n", the second byte belongs to the line that the first one ended.
                Framing::BlankLines if is_pair => self.begun == 1,
                Framing::BlankLines => self.line == 0,
                _ => true,
            };
            if is_end {
                self.begun = 0;
            }
            self.line = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(content_type: &str, pieces: &[&str], begun: &[usize]) {
        let mut events = Events::new(content_type);
        let found: Vec<usize> = pieces
            .iter()
            .map(|piece| {
                events.take(piece.as_bytes());
                events.begun
            })
            .collect();
        assert_eq!(found, begun, "{pieces:?}");
    }

    #[test]
    fn an_event_ends_at_a_blank_line() {
        for end in ["\n", "\r", "\r\n"] {
            let text = format!("data: 1{end}{end}data: 2{end}id: 1{end}{end}: wait{end}");
            check("text/event-stream; charset=utf-8", &[&text], &[6 + end.len()]);
        }
        check("text/event-stream", &["data", ": 1\r", "\n\r", "\n", "x"], &[4, 8, 0, 0, 1]);
        check("application/x-ndjson", &["{}\n{", "}\n"], &[1, 0]);
        check("application/json", &["{\n\n", "}"], &[3, 4]);
    }
}
