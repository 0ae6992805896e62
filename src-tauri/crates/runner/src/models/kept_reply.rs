//! Keeps the reply to a streaming request until the first event is read. A server may answer with one document instead,
//! which is then read from here, so that the call is not repeated and paid for twice.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The reply of a server so far.
#[derive(Default)]
pub(super) struct KeptReply(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    /// Whether an event was read; from then on nothing is kept.
    is_stream: bool,
    reply: WholeReply,
}

/// A complete reply: the head, in the library's form, and the body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct WholeReply {
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl KeptReply {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the head.
    pub(super) fn begin(&self, head: &str) {
        self.kept().reply.head = head.to_owned();
    }

    /// Keeps a piece of the body.
    pub(super) fn add(&self, piece: &[u8]) {
        let mut kept = self.kept();
        if !kept.is_stream {
            kept.reply.body.extend_from_slice(piece);
        }
    }

    /// Drops the reply and keeps nothing from now on, because an event of the stream was read.
    pub(super) fn drop_as_stream(&self) {
        let mut kept = self.kept();
        kept.is_stream = true;
        kept.reply.body = Vec::new();
    }

    /// The whole reply; `None` if it has no body that could be a document.
    pub(super) fn take(&self) -> Option<WholeReply> {
        let reply = std::mem::take(&mut self.kept().reply);
        (!reply.body.trim_ascii().is_empty()).then_some(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_kept_until_its_first_event_is_read() {
        let kept = KeptReply::default();
        kept.begin("HTTP/1.1 200 -");
        kept.add(b"{ \"a\":");
        kept.add(b" 1 }");
        let reply = WholeReply { head: "HTTP/1.1 200 -".to_owned(), body: b"{ \"a\": 1 }".to_vec() };
        assert_eq!(kept.take(), Some(reply));
        kept.add(b"data: 1\n\n");
        kept.drop_as_stream();
        kept.add(b"data: 2\n\n");
        assert_eq!(kept.take(), None);
        let empty = KeptReply::default();
        empty.add(b" \n");
        assert_eq!(empty.take(), None);
    }
}
