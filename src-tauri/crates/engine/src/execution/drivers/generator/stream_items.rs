//! The message and reasoning items of a generator, updated while the model streams (SEMANTICS §6.6).
//!
//! There is one message item for the whole run, however many steps it takes, and a reasoning item for each stretch of
//! reasoning. An item is in progress while the model streams; the message is done when the answer has been checked. A
//! generator without an identity (`agentType`, `itemVisibility`) emits no items: its text is only collected.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::execution::ctx::{Context, EmitOptions};
use crate::execution::record::cache::recorded_items::RecordedItem;
use crate::model::effects::{Listener, ModelDelta, ModelReply};
use crate::model::event::EventKind;
use crate::model::flow::Generator;
use crate::model::item::{ItemStatus, NewItem};

/// What the model has streamed so far.
#[derive(Default)]
struct Streamed {
    text: String,
    reasoning: String,
    /// Text and reasoning of the running step, to compare with its reply.
    step_text: String,
    step_reasoning: String,
    message: Option<RecordedItem>,
    reasoning_item: Option<RecordedItem>,
}

/// Emits a generator's items from the deltas of its model.
pub struct StreamItems {
    cx: Context,
    /// Absent for a generator without an identity.
    identity: Option<EmitOptions>,
    /// The role of the message item.
    role: &'static str,
    streamed: RefCell<Streamed>,
}

impl StreamItems {
    pub(super) fn new(cx: &Context, generator: &Generator) -> Rc<StreamItems> {
        StreamItems::speaking(cx, identity(cx, generator), "assistant")
    }

    /// The same for whoever speaks with this identity, as this role.
    pub fn speaking(cx: &Context, identity: Option<EmitOptions>, role: &'static str) -> Rc<StreamItems> {
        Rc::new(StreamItems { cx: cx.clone(), identity, role, streamed: RefCell::default() })
    }

    /// Returns a listener that emits each delta at once.
    pub fn listener(self: &Rc<Self>) -> Listener {
        let items = self.clone();
        Rc::new(move |delta| items.on_delta(delta))
    }

    /// Notes that a new model call starts.
    pub(super) fn begin_step(&self) {
        let mut streamed = self.streamed.borrow_mut();
        streamed.step_text.clear();
        streamed.step_reasoning.clear();
    }

    fn on_delta(&self, delta: ModelDelta) {
        match delta {
            ModelDelta::Text(text) if !text.is_empty() => self.on_text(&text),
            ModelDelta::Reasoning(text) if !text.is_empty() => self.on_reasoning(&text),
            ModelDelta::Text(_) | ModelDelta::Reasoning(_) => {}
        }
    }

    fn on_text(&self, text: &str) {
        self.close_reasoning();
        let mut streamed = self.streamed.borrow_mut();
        // Text of a later step opens with a blank line.
        let piece = if streamed.step_text.is_empty() && !streamed.text.is_empty() {
            format!("\n\n{text}")
        } else {
            text.to_owned()
        };
        streamed.step_text.push_str(text);
        streamed.text.push_str(&piece);
        if self.identity.is_none() {
            return;
        }
        let of = match streamed.message {
            Some(of) => of,
            None => {
                let content = json!({ "role": self.role, "content": [{ "type": "output_text", "text": "" }] });
                let of = self.add("message", content);
                streamed.message = Some(of);
                of
            }
        };
        drop(streamed);
        self.grow(of, piece);
    }

    fn on_reasoning(&self, text: &str) {
        let mut streamed = self.streamed.borrow_mut();
        let piece = if streamed.step_reasoning.is_empty() && !streamed.reasoning.is_empty() {
            format!("\n\n{text}")
        } else {
            text.to_owned()
        };
        streamed.step_reasoning.push_str(text);
        streamed.reasoning.push_str(&piece);
        if self.identity.is_none() {
            return;
        }
        let of = match streamed.reasoning_item {
            Some(of) => of,
            None => {
                let summary = json!({ "summary": [{ "type": "reasoning_text", "text": "" }] });
                let of = self.add("reasoning", summary);
                streamed.reasoning_item = Some(of);
                of
            }
        };
        drop(streamed);
        self.grow(of, piece);
    }

    /// Adds to the text of an item. One that an earlier run of the block had ended has the text already.
    fn grow(&self, item: RecordedItem, text: String) {
        if !item.is_done {
            self.cx.record(EventKind::ItemDelta { of: item.seq, text });
        }
    }

    /// Ends the reasoning item, when text follows it. Later reasoning is a new item.
    pub fn close_reasoning(&self) {
        let (of, text) = {
            let mut streamed = self.streamed.borrow_mut();
            let Some(of) = streamed.reasoning_item.take() else { return };
            (of, std::mem::take(&mut streamed.reasoning))
        };
        let patch = fields(json!({ "summary": [{ "type": "reasoning_text", "text": text }] }));
        self.cx.record(EventKind::ItemDone { of: of.seq, status: ItemStatus::Completed, patch });
    }

    /// Emits the rest of a reply that was not streamed: a model need not stream.
    pub fn emit_unstreamed(&self, reply: &ModelReply) {
        let (text, reasoning) = {
            let streamed = self.streamed.borrow();
            let rest = |whole: &Option<String>, streamed: &str| {
                whole.as_deref().and_then(|whole| whole.strip_prefix(streamed)).map(str::to_owned)
            };
            (rest(&reply.text, &streamed.step_text), rest(&reply.reasoning, &streamed.step_reasoning))
        };
        reasoning.into_iter().for_each(|text| self.on_delta(ModelDelta::Reasoning(text)));
        text.into_iter().for_each(|text| self.on_delta(ModelDelta::Text(text)));
    }

    /// Returns all text so far.
    pub(super) fn text(&self) -> String {
        self.streamed.borrow().text.clone()
    }

    /// Ends the items, after the answer has been checked.
    pub fn finish(&self, answer: &Value, model: &Value, sources: &[Value]) {
        self.close_reasoning();
        let Some(identity) = &self.identity else { return };
        for source in sources {
            let payload = json!({
                "sourceType": "url",
                "sourceId": source["id"].as_str().or(source["sourceId"].as_str()),
                "url": source["url"],
                "title": source["title"],
            });
            self.cx.emit("source", payload, false, identity.clone());
        }
        let text = match answer {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let content = json!([{ "type": "output_text", "text": text }]);
        let message = self.streamed.borrow_mut().message.take();
        match message {
            Some(RecordedItem { seq: of, .. }) => {
                let patch = fields(json!({ "content": content, "model": model }));
                self.cx.record(EventKind::ItemDone { of, status: ItemStatus::Completed, patch });
            }
            None => {
                let payload = json!({ "role": self.role, "content": content, "model": model });
                self.cx.emit("message", payload, false, identity.clone());
            }
        }
    }

    fn add(&self, item_type: &str, payload: Value) -> RecordedItem {
        let identity = self.identity.clone().unwrap_or_default();
        let item = NewItem {
            agent_type: identity.agent_type,
            agent_name: identity.agent_name,
            item_visibility: identity.item_visibility,
            ..NewItem::plain(item_type, ItemStatus::InProgress, fields(payload))
        };
        self.cx.begin_item(item)
    }
}

/// Returns the identity of a generator's items; `None` without `agentType` and `itemVisibility`.
pub(super) fn identity(cx: &Context, generator: &Generator) -> Option<EmitOptions> {
    if generator.agent_type.is_none() && generator.item_visibility.is_none() {
        return None;
    }
    Some(EmitOptions {
        agent_type: generator.agent_type,
        item_visibility: generator.item_visibility,
        agent_name: Some(generator.agent_name.clone().unwrap_or_else(|| cx.frame.block.name.to_string())),
        ..EmitOptions::default()
    })
}

pub(super) fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
