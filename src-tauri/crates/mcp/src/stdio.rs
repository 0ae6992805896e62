//! Reads and writes messages on standard input and output, one per line, and validates them before the library.
//!
//! An invalid message is answered with an error, with its id if there is one and the names of wrong parameters. The
//! last message needs no line break, and calls from before the end of the input are answered. A batch of the protocol
//! 2025-03-26 is answered with one list. Before the first request is accepted, notifications and responses are ignored,
//! because they would end the library's server. Must not depend on tools.

mod output;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, JsonRpcMessage};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader, Stdin};

use self::output::Output;
use crate::checked::{Wrong, message, unreadable};

/// The maximum size of a message.
const MOST_BYTES: usize = 16 << 20;
/// How long open calls may run after the input has ended, before their requests are aborted. A client kills the
/// process two seconds after it has closed the input.
const GRACE: Duration = Duration::from_secs(1);
/// The version of the protocol that has batches.
const WITH_BATCHES: &str = "2025-03-26";

/// Standard input and output.
pub(crate) struct Lines {
    input: BufReader<Stdin>,
    /// The line so far, so that a cancelled read can continue.
    line: Vec<u8>,
    is_too_long: bool,
    has_ended: bool,
    /// Messages of a batch that were not passed to the library yet.
    waiting: VecDeque<RxJsonRpcMessage<RoleServer>>,
    output: Arc<Output>,
    handshake: Handshake,
    stop: Box<dyn Fn() + Send + Sync>,
}

/// The state of the handshake with a client.
#[derive(Default)]
enum Handshake {
    /// No request that can begin the exchange was passed on yet.
    #[default]
    Open,
    /// The request with this id (as JSON) was passed on. It begins the exchange unless its answer is an error.
    Begun(String),
    /// The server reads every kind of message.
    Done,
}

impl Lines {
    /// `stop` aborts the requests of open calls; it is called if the calls have not ended some time after the input.
    pub(crate) fn new(stop: impl Fn() + Send + Sync + 'static) -> Lines {
        Lines {
            input: BufReader::new(tokio::io::stdin()),
            line: Vec::new(),
            is_too_long: false,
            has_ended: false,
            waiting: VecDeque::new(),
            output: Arc::default(),
            handshake: Handshake::default(),
            stop: Box::new(stop),
        }
    }

    /// Whether a message may be passed to the server now. During the handshake it answers each request before the next
    /// message.
    fn is_readable(&mut self, message: &RxJsonRpcMessage<RoleServer>) -> bool {
        if let Handshake::Begun(id) = &self.handshake {
            let was_refused = self.output.was_refused(id);
            self.handshake = if was_refused { Handshake::Open } else { Handshake::Done };
        }
        if matches!(self.handshake, Handshake::Done) {
            return true;
        }
        let JsonRpcMessage::Request(request) = message else { return false };
        let is_probe = matches!(request.request, ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_));
        if !is_probe {
            self.handshake = Handshake::Begun(json!(request.id).to_string());
        }
        true
    }

    /// Reads until the end of a line or of the input.
    async fn read_line(&mut self) -> io::Result<()> {
        loop {
            let read = self.input.fill_buf().await?;
            if read.is_empty() {
                self.has_ended = true;
                return Ok(());
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |end| end + 1);
            self.is_too_long |= self.line.len() + taken > MOST_BYTES;
            if self.is_too_long {
                self.line.clear();
            } else {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.input.consume(taken);
            if end.is_some() {
                return Ok(());
            }
        }
    }

    /// Parses a line into messages to pass on, and answers errors.
    fn take(&mut self) {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) {
            self.output.refuse(&Wrong::unreadable(format!("a message is longer than {MOST_BYTES} bytes")));
            return;
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let line = line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line);
        match serde_json::from_slice::<Value>(line) {
            Ok(Value::Array(all)) => self.take_batch(all),
            Ok(one) => match message(one) {
                Ok(one) => match self.output.expect(&one) {
                    Ok(()) => self.waiting.push_back(one),
                    Err(wrong) => self.output.refuse(&wrong),
                },
                Err(wrong) => self.output.refuse(&wrong),
            },
            Err(error) => self.output.refuse(&unreadable(line, &error)),
        }
    }

    fn take_batch(&mut self, all: Vec<Value>) {
        if self.output.version().as_deref() != Some(WITH_BATCHES) {
            let text = format!("only the protocol {WITH_BATCHES} allows a list of messages: send one message per line");
            self.output.refuse(&Wrong::request(None, text));
            return;
        }
        if all.is_empty() {
            self.output.refuse(&Wrong::request(None, "the list of messages is empty".to_owned()));
            return;
        }
        let (mut messages, mut answers) = (Vec::new(), Vec::new());
        for one in all {
            match message(one).and_then(|one| self.output.expect(&one).map(|()| one)) {
                Ok(one) => messages.push(one),
                Err(wrong) => answers.push(wrong.answer()),
            }
        }
        self.output.expect_list(&messages, answers);
        self.waiting.extend(messages);
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let output = self.output.clone();
        async move { output.send(json!(item)).await }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(next) = self.waiting.pop_front() {
                if self.is_readable(&next) {
                    return Some(next);
                }
                continue;
            }
            if self.has_ended {
                let finished = tokio::time::timeout(GRACE, self.output.finished()).await;
                // The library waits longer for open calls than the client does.
                if finished.is_err() {
                    (self.stop)();
                }
                return None;
            }
            // A read error counts as the end of the input.
            self.has_ended |= self.read_line().await.is_err();
            self.take();
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
