//! What models were asked, whole: the log holds each message of a request's model calls once.
//!
//! In the stored `effect_started` of a model call, a run of messages that an earlier model call of the request
//! holds already is a [reference](Reference) to that call's event. A message always has a `role` and a
//! reference never has one, so that no message of a flow can be taken for a reference. Must not decide what
//! is stored as a reference: that is for `execution`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Seq};

/// Messages that an earlier model call of the request holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// The `effect_started` event of that call.
    pub of: Seq,
    /// The place of the first of them among all of that call's messages, from 0.
    pub at: usize,
    /// How many there are, one after another.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: usize,
}

fn one() -> usize {
    1
}

fn is_one(count: &usize) -> bool {
    *count == 1
}

impl Reference {
    /// The reference that an entry of stored `messages` is, if it is one.
    pub fn read(entry: &Value) -> Option<Reference> {
        let fields = entry.as_object().filter(|fields| !fields.contains_key("role"))?;
        let number = |name: &str| fields.get(name).map(Value::as_u64);
        let (of, at) = (number("of")??, number("at")??);
        let count = match number("count") {
            Some(count) => count?,
            None => 1,
        };
        Some(Reference { of, at: usize::try_from(at).ok()?, count: usize::try_from(count).ok()? })
    }
}

/// What one effect was asked with. Copies share its texts.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedWith {
    /// The request, without the messages where it has some.
    rest: Arc<Value>,
    messages: Option<Arc<[Arc<Value>]>>,
}

impl AskedWith {
    /// The request of an effect that refers to nothing.
    fn plain(request: &Value) -> Self {
        AskedWith { rest: Arc::new(request.clone()), messages: None }
    }

    /// The whole request.
    pub fn whole(&self) -> Value {
        let mut whole = (*self.rest).clone();
        if let Some(messages) = &self.messages {
            whole["messages"] = messages.iter().map(|message| (**message).clone()).collect();
        }
        whole
    }

    /// One of the messages of a model call, from 0.
    pub fn message(&self, number: usize) -> Option<&Value> {
        self.messages.as_ref()?.get(number).map(|message| &**message)
    }
}

/// The requests of a log's effects, whole. Events are taken in in their order.
#[derive(Clone, Debug, Default)]
pub struct Requests(HashMap<Seq, AskedWith>);

impl Requests {
    /// Takes in all events of a log.
    pub fn of(events: &[Event]) -> Self {
        let mut requests = Requests::default();
        events.iter().for_each(|event| requests.read(event));
        requests
    }

    /// Takes in one event.
    pub fn read(&mut self, event: &Event) {
        let asked = match &event.kind {
            EventKind::EffectStarted { effect: EffectKind::Model, request: Some(request), .. } => self.join(request),
            EventKind::EffectStarted { request: Some(request), .. }
            | EventKind::EffectFinished { request: Some(request), .. } => AskedWith::plain(request),
            _ => return,
        };
        self.0.insert(event.seq, asked);
    }

    /// What the effect was asked with that an event began, or, in logs of older formats, ended.
    pub fn held_by(&self, seq: Seq) -> Option<&AskedWith> {
        self.0.get(&seq)
    }

    /// What an effect was asked with that began or ended with an event, and the event that holds it.
    pub fn asked(&self, event: &Event) -> Option<(Seq, &AskedWith)> {
        let held_by = match &event.kind {
            EventKind::EffectFinished { request: None, started, .. } => (*started)?,
            EventKind::EffectStarted { .. } | EventKind::EffectFinished { .. } => event.seq,
            _ => return None,
        };
        Some((held_by, self.held_by(held_by)?))
    }

    /// The same event with its request whole, where it is stored with references.
    pub fn resolve(&self, event: &Event) -> Option<Event> {
        if !refers(event) {
            return None;
        }
        let mut whole = event.clone();
        if let EventKind::EffectStarted { request, .. } = &mut whole.kind {
            *request = Some(self.held_by(event.seq)?.whole());
        }
        Some(whole)
    }

    fn join(&self, request: &Value) -> AskedWith {
        let Some(entries) = request.get("messages").and_then(Value::as_array) else { return AskedWith::plain(request) };
        let mut messages: Vec<Arc<Value>> = Vec::with_capacity(entries.len());
        for entry in entries {
            let held = Reference::read(entry).and_then(|reference| {
                let of = self.held_by(reference.of)?.messages.as_ref()?;
                of.get(reference.at..reference.at.checked_add(reference.count)?)
            });
            match held {
                Some(held) => messages.extend(held.iter().cloned()),
                // Also a reference to an event that is not among those taken in: it stays as it is.
                None => messages.push(Arc::new(entry.clone())),
            }
        }
        let mut rest = request.as_object().cloned().unwrap_or_default();
        rest.insert("messages".to_owned(), Value::Null);
        AskedWith { rest: Arc::new(rest.into()), messages: Some(messages.into()) }
    }
}

/// Whether an event says less than the whole: some messages of its request stand in other events.
pub fn refers(event: &Event) -> bool {
    let EventKind::EffectStarted { effect: EffectKind::Model, request: Some(request), .. } = &event.kind else {
        return false;
    };
    let mut messages = request.get("messages").and_then(Value::as_array).into_iter().flatten();
    messages.any(|entry| Reference::read(entry).is_some())
}

/// A request as it is stored, without its references.
pub(crate) fn own_part(request: &Value) -> Cow<'_, Value> {
    let messages = request.get("messages").and_then(Value::as_array);
    if !messages.into_iter().flatten().any(|entry| Reference::read(entry).is_some()) {
        return Cow::Borrowed(request);
    }
    let mut own = request.clone();
    if let Some(messages) = own.get_mut("messages").and_then(Value::as_array_mut) {
        messages.retain(|entry| Reference::read(entry).is_none());
    }
    Cow::Owned(own)
}
