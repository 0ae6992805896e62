//! An HTTP server on this machine with the answers of a test, which records its requests.
//!
//! One scripted answer a request, in order. It speaks just enough HTTP/1.1 for that, so that a test
//! can also make it break its word: cut connections, hang, lie about types.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use serde_json::{Value, json};

/// One answer.
#[derive(Clone, Debug)]
pub struct Reply {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    /// Pieces after the body, each with a pause before it.
    pieces: Vec<Vec<u8>>,
    end: End,
    /// A chat completion in the other form, for a request that wants it streamed.
    streamed: Option<Box<Reply>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// As it should be.
    Whole,
    /// The connection closes before the answer is whole.
    Cut,
    /// Nothing more comes, and the connection stays open.
    Hang,
}

impl Reply {
    /// A body of some type.
    pub fn body(content_type: &str, body: impl Into<Vec<u8>>) -> Reply {
        let headers = vec![("content-type".to_owned(), content_type.to_owned())];
        Reply { status: 200, headers, body: body.into(), pieces: Vec::new(), end: End::Whole, streamed: None }
    }

    /// A JSON document.
    pub fn json(document: &Value) -> Reply {
        Reply::body("application/json", document.to_string())
    }

    /// A chat completion of one message, as an OpenAI-compatible server sends it: streamed or whole,
    /// as it is asked.
    pub fn message(message: Value, finish_reason: &str) -> Reply {
        let mut deltas = Vec::new();
        for (name, value) in message.as_object().into_iter().flatten() {
            match value {
                Value::String(text) if name == "content" => {
                    let (first, rest) = text.split_at(text.find(' ').unwrap_or(text.len()));
                    deltas.extend([first, rest].map(|piece| json!({ "content": piece })));
                }
                Value::Array(calls) if name == "tool_calls" => {
                    for (index, call) in calls.iter().enumerate() {
                        let mut call = call.clone();
                        call["index"] = index.into();
                        deltas.push(json!({ "tool_calls": [call] }));
                    }
                }
                _ => {}
            }
        }
        let streamed = Some(Box::new(Reply::stream(&deltas, finish_reason)));
        Reply { streamed, ..Reply::whole(message, finish_reason) }
    }

    /// A chat completion of one message, from a server that does not stream.
    pub fn whole(message: Value, finish_reason: &str) -> Reply {
        Reply::json(&json!({
            "id": "chatcmpl-1", "object": "chat.completion", "model": "test-model-2026",
            "choices": [{ "index": 0, "message": message, "finish_reason": finish_reason }],
            "usage": { "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18,
                       "prompt_tokens_details": { "cached_tokens": 4 } },
        }))
    }

    /// A chat completion of one text.
    pub fn text(text: &str) -> Reply {
        Reply::message(json!({ "role": "assistant", "content": text }), "stop")
    }

    /// A streamed chat completion: these deltas, then the end with its usage.
    pub fn stream(deltas: &[Value], finish_reason: &str) -> Reply {
        let mut reply = Reply::deltas(deltas);
        let usage = json!({ "prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18,
                            "prompt_tokens_details": { "cached_tokens": 4 } });
        let last = json!({ "index": 0, "delta": {}, "finish_reason": finish_reason });
        reply.pieces.push(frame(&json!({ "model": "test-model-2026", "choices": [last] })));
        reply.pieces.push(frame(&json!({ "model": "test-model-2026", "choices": [], "usage": usage })));
        reply.pieces.push(b"data: [DONE]\n\n".to_vec());
        reply
    }

    /// The beginning of a streamed chat completion, without an end.
    pub fn deltas(deltas: &[Value]) -> Reply {
        let mut reply = Reply::body("text/event-stream", "");
        reply.pieces = deltas
            .iter()
            .map(|delta| {
                let choice = json!({ "index": 0, "delta": delta, "finish_reason": null });
                frame(&json!({ "model": "test-model-2026", "choices": [choice] }))
            })
            .collect();
        reply
    }

    /// The same with another status.
    pub fn status(self, status: u16) -> Reply {
        Reply { status, ..self }
    }

    /// The same with one more header.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same, but the connection closes before it is whole.
    pub fn cut(self) -> Reply {
        Reply { end: End::Cut, ..self }
    }

    /// The same, but then nothing more comes.
    pub fn hang(self) -> Reply {
        Reply { end: End::Hang, ..self }
    }
}

fn frame(data: &Value) -> Vec<u8> {
    format!("data: {data}\n\n").into_bytes()
}

/// What the server was asked.
#[derive(Clone, Debug)]
pub struct Asked {
    /// `POST /v1/chat/completions`
    pub line: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
    pub body: Vec<u8>,
}

impl Asked {
    /// The body as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("not JSON: {error}\n{self:?}"))
    }

    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A running server; it ends with the value.
pub struct Server {
    port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    closed: mpsc::Receiver<()>,
    over: Arc<AtomicBool>,
}

impl Server {
    /// Starts one with its answers; a request beyond them gets 500.
    pub fn start(replies: impl IntoIterator<Item = Reply>) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let replies = Arc::new(Mutex::new(replies.into_iter().collect::<std::collections::VecDeque<_>>()));
        let (asked, over) = (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<AtomicBool>::default());
        let (gone, closed) = mpsc::channel();
        let (remembered, stopped) = (asked.clone(), over.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::Relaxed) {
                    return;
                }
                let (replies, asked, gone) = (replies.clone(), remembered.clone(), gone.clone());
                std::thread::spawn(move || {
                    let Some(request) = read(&stream) else { return };
                    let body = serde_json::from_slice::<Value>(&request.body).unwrap_or_default();
                    // The reply is taken before the request is recorded, so a recorded request has its reply.
                    let mut asked = asked.lock().expect("nobody panicked");
                    let reply = replies.lock().expect("nobody panicked").pop_front();
                    asked.push(request);
                    drop(asked);
                    let reply = reply.unwrap_or_else(|| Reply::body("text/plain", "no answer left").status(500));
                    let reply = match reply.streamed {
                        Some(streamed) if body["stream"] == true => *streamed,
                        streamed => Reply { streamed, ..reply },
                    };
                    // A client that went away is what some tests are about.
                    let _ = answer(stream, &reply, &gone);
                });
            }
        });
        Server { port, asked, closed, over }
    }

    /// Its address, without a slash at the end.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// `127.0.0.1:port`
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Everything it was asked, in order.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("nobody panicked").clone()
    }

    /// Waits until a client of a hanging answer has closed its connection.
    pub fn wait_for_close(&self, patience: Duration) -> bool {
        self.closed.recv_timeout(patience).is_ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for connections.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

pub(crate) fn read(stream: &TcpStream) -> Option<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse().ok());
    let mut body = vec![0; length.flatten().unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let line = line.trim_end().trim_end_matches(" HTTP/1.1").to_owned();
    Some(Asked { line, headers, body })
}

fn answer(mut stream: TcpStream, reply: &Reply, gone: &mpsc::Sender<()>) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Whatever\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    // A cut or hanging answer promises more than comes.
    let missing = if reply.end == End::Whole { 0 } else { 100 };
    let length = reply.body.len() + reply.pieces.iter().map(Vec::len).sum::<usize>() + missing;
    head.push_str(&format!("content-length: {length}\r\n\r\n"));
    stream.write_all(head.as_bytes())?;
    stream.write_all(&reply.body)?;
    for piece in &reply.pieces {
        std::thread::sleep(Duration::from_millis(10));
        stream.write_all(piece)?;
        stream.flush()?;
    }
    if reply.end == End::Hang {
        // Ends when the client closes.
        let _ = stream.read(&mut [0]);
        let _ = gone.send(());
    }
    stream.shutdown(Shutdown::Both)
}
