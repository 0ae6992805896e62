//! Which messages the model calls of a request hold already, so that none is stored twice.
//!
//! Models are told the whole conversation with every call. Each call's event holds what is new, and refers to
//! the newest call that holds the rest: so the log of a loop grows with what was said, not with its square.
//! [`crate::views::model_requests`] makes requests whole again.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Seq};
use crate::views::model_requests::Reference;

/// A message's text, told apart from every other.
type Mark = [u8; 32];

/// One call whose messages may be referred to.
#[derive(Debug)]
struct Call {
    messages: Vec<Option<Mark>>,
    /// How many messages have it as the newest call that holds them; one with none is forgotten.
    newest_of: usize,
}

/// What the model calls of a request hold.
#[derive(Debug, Default)]
pub(crate) struct StoredMessages {
    calls: HashMap<Seq, Call>,
    /// The newest call that holds a message, and where.
    places: HashMap<Mark, (Seq, usize)>,
    newest: Option<Seq>,
}

impl StoredMessages {
    /// What the calls of a log hold.
    pub(crate) fn of(events: &[Event]) -> Self {
        let mut held = StoredMessages::default();
        for event in events {
            if let EventKind::EffectStarted { effect: EffectKind::Model, request: Some(request), .. } = &event.kind {
                let marks = held.marks(request);
                held.keep(event.seq, marks);
            }
        }
        held
    }

    /// The request as it is stored by the event of this number, which holds its messages from now on.
    pub(crate) fn store(&mut self, seq: Seq, mut request: Value) -> Value {
        let marks = self.marks(&request);
        if let Some(messages) = request.get_mut("messages").and_then(Value::as_array_mut) {
            *messages = self.refer(std::mem::take(messages), &marks);
        }
        self.keep(seq, marks);
        request
    }

    /// What the messages of a request are known by, references followed.
    fn marks(&self, request: &Value) -> Vec<Option<Mark>> {
        let mut marks = Vec::new();
        for entry in request.get("messages").and_then(Value::as_array).into_iter().flatten() {
            match Reference::read(entry) {
                Some(Reference { of, at, count }) => {
                    let held = self.calls.get(&of).and_then(|call| call.messages.get(at..at.checked_add(count)?));
                    // What is not known here is not referred to, and what follows it only by its text.
                    match held {
                        Some(held) => marks.extend(held),
                        None => marks.push(None),
                    }
                }
                None => marks.push(Some(*blake3::hash(entry.to_string().as_bytes()).as_bytes())),
            }
        }
        marks
    }

    fn refer(&self, messages: Vec<Value>, marks: &[Option<Mark>]) -> Vec<Value> {
        let mut stored = Vec::new();
        let mut next = 0;
        for (at, message) in messages.into_iter().enumerate() {
            if at < next {
                continue;
            }
            let places = self.newest.map(|newest| (newest, at)).into_iter();
            let places = places.chain(marks[at].and_then(|mark| self.places.get(&mark).copied()));
            let runs = places.map(|(of, from)| (self.run(of, from, &marks[at..]), of, from));
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

    /// How many messages in a row a call holds from a place on.
    fn run(&self, of: Seq, from: usize, marks: &[Option<Mark>]) -> usize {
        let held = self.calls.get(&of).and_then(|call| call.messages.get(from..)).unwrap_or_default();
        held.iter().zip(marks).take_while(|(held, wanted)| held.is_some() && held == wanted).count()
    }

    fn keep(&mut self, seq: Seq, messages: Vec<Option<Mark>>) {
        let mut newest_of = 0;
        for (at, mark) in messages.iter().enumerate() {
            let Some(mark) = mark else { continue };
            match self.places.insert(*mark, (seq, at)) {
                Some((before, _)) if before == seq => {}
                before => {
                    newest_of += 1;
                    before.into_iter().for_each(|(before, _)| self.let_go(before));
                }
            }
        }
        if newest_of > 0 {
            self.newest = Some(seq);
            self.calls.insert(seq, Call { messages, newest_of });
        }
    }

    fn let_go(&mut self, call: Seq) {
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
    fn what_is_stored_is_whole_again_when_it_is_read() {
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
            // As when the request is taken up again in between.
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
    fn a_loop_grows_with_what_is_said() {
        let mut held = StoredMessages::default();
        let (mut messages, mut bytes) = (vec![said("begin")], Vec::new());
        for step in 0..200 {
            let stored = held.store(step + 1, request(&messages));
            bytes.push(stored.to_string().len());
            messages.extend([said(&format!("asks {step:03}")), said(&format!("answers {step:03}"))]);
        }
        assert!(bytes.iter().all(|size| *size < 200), "{bytes:?}");
        assert_eq!(held.calls.len(), 1, "what is referred to no more is forgotten");
    }
}
