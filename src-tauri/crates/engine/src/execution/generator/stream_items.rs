//! What a generator says, as items while it says it (SEMANTICS §6.6).
//!
//! One reasoning item and one message item for the whole run, however many steps it takes. Both are
//! in progress while the model speaks and done when the answer has been checked. A generator
//! without an identity speaks to nobody: its text is gathered and leaves no item.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Map, Value, json};

use crate::execution::context::{Context, EmitOptions};
use crate::model::effects::{Listener, ModelDelta, ModelReply};
use crate::model::event::{EventKind, Seq};
use crate::model::flow::Generator;
use crate::model::item::{ItemStatus, NewItem};

/// What was said so far.
#[derive(Default)]
struct Streamed {
    text: String,
    reasoning: String,
    /// Text and reasoning of the running step, to compare with its reply.
    step_text: String,
    step_reasoning: String,
    message: Option<Seq>,
    reasoning_item: Option<Seq>,
}

/// A generator's voice.
pub(super) struct StreamItems {
    cx: Context,
    /// Absent for a generator without an identity.
    identity: Option<EmitOptions>,
    streamed: RefCell<Streamed>,
}

impl StreamItems {
    pub(super) fn new(cx: &Context, generator: &Generator) -> Rc<StreamItems> {
        Rc::new(StreamItems { cx: cx.clone(), identity: identity(cx, generator), streamed: RefCell::default() })
    }

    /// Hears a model. What comes is an item at once.
    pub(super) fn listener(self: &Rc<Self>) -> Listener {
        let speech = self.clone();
        Rc::new(move |delta| speech.hear(delta))
    }

    /// A new model call begins.
    pub(super) fn begin_step(&self) {
        let mut streamed = self.streamed.borrow_mut();
        streamed.step_text.clear();
        streamed.step_reasoning.clear();
    }

    fn hear(&self, delta: ModelDelta) {
        match delta {
            ModelDelta::Text(text) if !text.is_empty() => self.hear_text(&text),
            ModelDelta::Reasoning(text) if !text.is_empty() => self.hear_reasoning(&text),
            ModelDelta::Text(_) | ModelDelta::Reasoning(_) => {}
        }
    }

    fn hear_text(&self, text: &str) {
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
                let content = json!({ "role": "assistant", "content": [{ "type": "output_text", "text": "" }] });
                let of = self.add("message", content);
                streamed.message = Some(of);
                of
            }
        };
        drop(streamed);
        self.cx.record(EventKind::ItemDelta { of, text: piece });
    }

    fn hear_reasoning(&self, text: &str) {
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
        self.cx.record(EventKind::ItemDelta { of, text: piece });
    }

    /// Thinking ends where speaking begins; later thinking is a new item.
    fn close_reasoning(&self) {
        let (of, text) = {
            let mut streamed = self.streamed.borrow_mut();
            let Some(of) = streamed.reasoning_item.take() else { return };
            (of, std::mem::take(&mut streamed.reasoning))
        };
        let patch = fields(json!({ "summary": [{ "type": "reasoning_text", "text": text }] }));
        self.cx.record(EventKind::ItemDone { of, status: ItemStatus::Completed, patch });
    }

    /// Hears what a reply holds and the listener was not told: models need not stream.
    pub(super) fn catch_up(&self, reply: &ModelReply) {
        let (text, reasoning) = {
            let streamed = self.streamed.borrow();
            let rest = |whole: &Option<String>, heard: &str| {
                whole.as_deref().and_then(|whole| whole.strip_prefix(heard)).map(str::to_owned)
            };
            (rest(&reply.text, &streamed.step_text), rest(&reply.reasoning, &streamed.step_reasoning))
        };
        reasoning.into_iter().for_each(|text| self.hear(ModelDelta::Reasoning(text)));
        text.into_iter().for_each(|text| self.hear(ModelDelta::Text(text)));
    }

    /// All text so far.
    pub(super) fn text(&self) -> String {
        self.streamed.borrow().text.clone()
    }

    /// The answer was checked: what was said is done.
    pub(super) fn finish(&self, answer: &Value, model: &Value, sources: &[Value]) {
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
            Some(of) => {
                let patch = fields(json!({ "content": content, "model": model }));
                self.cx.record(EventKind::ItemDone { of, status: ItemStatus::Completed, patch });
            }
            None => {
                let payload = json!({ "role": "assistant", "content": content, "model": model });
                self.cx.emit("message", payload, false, identity.clone());
            }
        }
    }

    fn add(&self, item_type: &str, payload: Value) -> Seq {
        let identity = self.identity.clone().unwrap_or_default();
        let item = NewItem {
            agent_type: identity.agent_type,
            agent_name: identity.agent_name,
            item_visibility: identity.item_visibility,
            ..NewItem::plain(item_type, ItemStatus::InProgress, fields(payload))
        };
        self.cx.record(EventKind::ItemAdded { item })
    }
}

/// Who a generator speaks as; nobody without `agentType` and `itemVisibility`.
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
