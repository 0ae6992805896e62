//! Deduplication of the messages of model calls in the log.
//!
//! Every call sends the whole conversation. Its event stores only the messages that no earlier call stored, and refers
//! to the newest call that holds the others: the log of a loop grows linearly with the conversation, not quadratically.
//! [`crate::views::model_requests`] resolves the references.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Seq};
use crate::views::model_requests::Reference;

/// The hash of a message's JSON text.
type MessageHash = [u8; 32];

/// One call whose messages may be referred to.
#[derive(Debug)]
struct Call {
    messages: Vec<Option<MessageHash>>,
    /// The number of messages for which it is the newest call that holds them. At 0 it is removed.
    newest_of: usize,
}

/// The messages that the model calls of a request have stored.
#[derive(Debug, Default)]
pub struct StoredMessages {
    calls: HashMap<Seq, Call>,
    /// The newest call that holds a message, and the message's index there.
    places: HashMap<MessageHash, (Seq, usize)>,
    newest: Option<Seq>,
}

impl StoredMessages {
    /// Reads the model calls of a log.
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut held = StoredMessages::default();
        for event in events {
            if let EventKind::EffectStarted { effect: EffectKind::Model, request: Some(request), .. } = &event.kind {
                let hashes = held.hashes(request);
                held.keep(event.seq, hashes);
            }
        }
        held
    }

    /// Returns the request as event `seq` stores it, with references; later requests may refer to that event.
    pub fn store(&mut self, seq: Seq, mut request: Value) -> Value {
        let hashes = self.hashes(&request);
        if let Some(messages) = request.get_mut("messages").and_then(Value::as_array_mut) {
            *messages = self.refer(std::mem::take(messages), &hashes);
        }
        self.keep(seq, hashes);
        request
    }

    /// Returns the hashes of a request's messages, with references resolved; `None` for an unknown one.
    fn hashes(&self, request: &Value) -> Vec<Option<MessageHash>> {
        let mut hashes = Vec::new();
        for entry in request.get("messages").and_then(Value::as_array).into_iter().flatten() {
            match Reference::read(entry) {
                Some(Reference { of, at, count }) => {
                    let held = self.calls.get(&of).and_then(|call| call.messages.get(at..at.checked_add(count)?));
                    // An unknown reference has no hash, so nothing refers to it.
                    match held {
                        Some(held) => hashes.extend(held),
                        None => hashes.push(None),
                    }
                }
                None => hashes.push(Some(*blake3::hash(entry.to_string().as_bytes()).as_bytes())),
            }
        }
        hashes
    }

    fn refer(&self, messages: Vec<Value>, hashes: &[Option<MessageHash>]) -> Vec<Value> {
        let mut stored = Vec::new();
        let mut next = 0;
        for (at, message) in messages.into_iter().enumerate() {
            if at < next {
                continue;
            }
            let places = self.newest.map(|newest| (newest, at)).into_iter();
            let places = places.chain(hashes[at].and_then(|hash| self.places.get(&hash).copied()));
            let runs = places.map(|(of, from)| (self.run(of, from, &hashes[at..]), of, from));
            match runs.max_by_key(|(count, ..)| *count).filter(|(count, ..)| *count > 0) {
                Some((count, of, from)) => {
                    next = at + count;
                    stored.push(json!(Reference { of, at: from, count }));
                }
                None => stored.push(message),
            }
        }
        stored
    }

    /// Returns how many of these messages in a row a call holds from an index on.
    fn run(&self, of: Seq, from: usize, hashes: &[Option<MessageHash>]) -> usize {
        let held = self.calls.get(&of).and_then(|call| call.messages.get(from..)).unwrap_or_default();
        held.iter().zip(hashes).take_while(|(held, wanted)| held.is_some() && held == wanted).count()
    }

    fn keep(&mut self, seq: Seq, messages: Vec<Option<MessageHash>>) {
        let mut newest_of = 0;
        for (at, hash) in messages.iter().enumerate() {
            let Some(hash) = hash else { continue };
            match self.places.insert(*hash, (seq, at)) {
                Some((before, _)) if before == seq => {}
                before => {
                    newest_of += 1;
                    before.into_iter().for_each(|(before, _)| self.release(before));
                }
            }
        }
        if newest_of > 0 {
            self.newest = Some(seq);
            self.calls.insert(seq, Call { messages, newest_of });
        }
    }

    fn release(&mut self, call: Seq) {
        if let Some(known) = self.calls.get_mut(&call) {
            known.newest_of -= 1;
            if known.newest_of == 0 {
                self.calls.remove(&call);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::model_requests::Requests;

    fn event(seq: Seq, request: Value) -> Event {
        let kind = EventKind::EffectStarted { effect: EffectKind::Model, ordinal: 0, request: Some(request) };
        Event { seq, at: 0, path: Some("root".into()), attempt: 0, kind }
    }

    fn request(messages: &[Value]) -> Value {
        json!({ "generator": "g", "model": "m", "messages": messages, "step": 0 })
    }

    fn said(text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    #[test]
    fn stored_requests_are_read_completely() {
        let reference = json!({ "of": 1, "at": 0 });
        let odd = json!({ "role": "user", "content": reference });
        let calls = [
            vec![said("a"), said("b"), odd.clone()],
            vec![said("a"), said("b"), odd.clone(), said("c")],
            vec![said("new"), said("b"), odd.clone(), said("c"), said("b")],
            vec![said("a"), said("a"), said("b"), said("d")],
            vec![],
            vec![said("a"), said("b"), odd, said("c"), said("d")],
        ];
        let mut events = Vec::new();
        for (at, messages) in calls.iter().enumerate() {
            // As after a resume in between.
            let mut held = StoredMessages::of(&events);
            let stored = held.store(at as Seq + 1, request(messages));
            events.push(event(at as Seq + 1, stored));
        }
        let requests = Requests::of(&events);
        for (at, messages) in calls.iter().enumerate() {
            let whole = requests.held_by(at as Seq + 1).map(|asked| asked.whole());
            assert_eq!(whole, Some(request(messages)), "call {at}");
            assert_eq!(
                requests.resolve(&events[at]).map(|event| event.seq),
                (at > 0 && at != 4).then_some(events[at].seq)
            );
        }
        let texts: String = events.iter().map(|event| json!(event.kind).to_string()).collect();
        assert_eq!(texts.matches("\"content\":\"c\"").count(), 1, "{texts}");
        assert!(texts.contains(r#"{"of":1,"at":0,"count":3}"#), "{texts}");
    }

    #[test]
    fn the_log_of_a_loop_grows_linearly() {
        let mut held = StoredMessages::default();
        let (mut messages, mut bytes) = (vec![said("begin")], Vec::new());
        for step in 0..200 {
            let stored = held.store(step + 1, request(&messages));
            bytes.push(stored.to_string().len());
            messages.extend([said(&format!("asks {step:03}")), said(&format!("answers {step:03}"))]);
        }
        assert!(bytes.iter().all(|size| *size < 200), "{bytes:?}");
        assert_eq!(held.calls.len(), 1, "calls without references are removed");
    }
}
