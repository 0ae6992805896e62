//! Writes messages to standard output, and tracks calls without an answer.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::Notify;

use crate::checked::Wrong;

/// Standard output.
#[derive(Default)]
pub(super) struct Output {
    /// Held while a line is written.
    writing: tokio::sync::Mutex<()>,
    state: Mutex<State>,
    /// Notified when an answer was written.
    written: Notify,
}

#[derive(Default)]
struct State {
    /// The ids of unanswered calls, as JSON.
    open: HashSet<String>,
    /// The number of answers that are not written yet.
    unwritten: usize,
    batches: Vec<Batch>,
    /// The version of the protocol that was agreed on.
    version: Option<String>,
    /// The id of the last request whose answer was an error, as JSON.
    refused: Option<String>,
}

/// A batch of messages, which is answered with one list.
struct Batch {
    open: HashSet<String>,
    answers: Vec<Value>,
}

impl Output {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of the protocol that was agreed on.
    pub(super) fn version(&self) -> Option<String> {
        self.state().version.clone()
    }

    /// Whether the last error was the answer to this request.
    pub(super) fn was_refused(&self, id: &str) -> bool {
        self.state().refused.as_deref() == Some(id)
    }

    /// Registers a message that will be answered. Refuses an id that is in use.
    pub(super) fn expect(&self, message: &RxJsonRpcMessage<RoleServer>) -> Result<(), Wrong> {
        let mut state = self.state();
        if let JsonRpcMessage::Request(request) = message {
            let id = json!(request.id);
            if !state.open.insert(id.to_string()) {
                let text = format!("id {id} is in use: its request is not answered yet; give each request its own id");
                return Err(Wrong::request(Some(id), text));
            }
        }
        // A cancelled call gets no answer.
        if let JsonRpcMessage::Notification(note) = message {
            let note = json!(note);
            if note["method"] == "notifications/cancelled" {
                state.open.remove(&note["params"]["requestId"].to_string());
            }
        }
        Ok(())
    }

    /// Registers a batch: these messages are answered with one list, which already contains `answers`.
    pub(super) fn expect_list(self: &Arc<Self>, messages: &[RxJsonRpcMessage<RoleServer>], answers: Vec<Value>) {
        let open: HashSet<String> = messages.iter().filter_map(id_of).collect();
        if open.is_empty() {
            if !answers.is_empty() {
                self.write_later(Value::Array(answers));
            }
            return;
        }
        self.state().batches.push(Batch { open, answers });
    }

    /// Answers an invalid message with an error.
    pub(super) fn refuse(self: &Arc<Self>, wrong: &Wrong) {
        self.write_later(wrong.answer());
    }

    /// Writes in a separate task, because cancelling a read must not cut a line.
    fn write_later(self: &Arc<Self>, answer: Value) {
        self.state().unwritten += 1;
        let output = self.clone();
        tokio::spawn(async move {
            // A failed write means that the client is gone.
            let _ = output.write(&answer).await;
            output.state().unwritten -= 1;
            output.written.notify_waiters();
        });
    }

    /// Writes a message, or keeps it for its batch.
    pub(super) async fn send(&self, message: Value) -> io::Result<()> {
        let id = message.get("method").is_none().then(|| message["id"].to_string());
        let (whole, is_awaited) = {
            let mut state = self.state();
            // Free the id before the client gets the answer, because the client may reuse it at once.
            let is_awaited = id.as_ref().is_some_and(|id| state.open.remove(id));
            state.unwritten += usize::from(is_awaited);
            if let Some(version) = message["result"]["protocolVersion"].as_str() {
                state.version = Some(version.to_owned());
            }
            if message.get("error").is_some() {
                state.refused.clone_from(&id);
            } else if state.refused == id {
                state.refused = None;
            }
            let whole = match id.as_ref().and_then(|id| state.batches.iter().position(|batch| batch.open.contains(id)))
            {
                Some(at) => {
                    let batch = &mut state.batches[at];
                    batch.open.remove(id.as_deref().unwrap_or_default());
                    batch.answers.push(message);
                    let is_whole = batch.open.is_empty();
                    is_whole.then(|| Value::Array(state.batches.swap_remove(at).answers))
                }
                None => Some(message),
            };
            (whole, is_awaited)
        };
        let written = match whole {
            Some(whole) => self.write(&whole).await,
            None => Ok(()),
        };
        if is_awaited {
            self.state().unwritten -= 1;
            self.written.notify_waiters();
        }
        written
    }

    async fn write(&self, message: &Value) -> io::Result<()> {
        let mut line = message.to_string();
        line.push('\n');
        let _writing = self.writing.lock().await;
        let mut out = tokio::io::stdout();
        out.write_all(line.as_bytes()).await?;
        out.flush().await
    }

    /// Waits until all calls are answered and the answers written.
    pub(super) async fn finished(&self) {
        loop {
            let mut written = std::pin::pin!(self.written.notified());
            written.as_mut().enable();
            {
                let state = self.state();
                if state.open.is_empty() && state.unwritten == 0 {
                    return;
                }
            }
            written.await;
        }
    }
}

fn id_of(message: &RxJsonRpcMessage<RoleServer>) -> Option<String> {
    match message {
        JsonRpcMessage::Request(request) => Some(json!(request.id).to_string()),
        _ => None,
    }
}
