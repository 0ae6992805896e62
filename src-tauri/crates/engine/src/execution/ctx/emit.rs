//! `ctx.emit`: items that an author's function emits.
//!
//! Emitting never waits and never fails: the event joins the next batch of the log. Each gives that event's number.

use serde_json::{Map, Value};

use super::Context;
use crate::execution::record::cache::recorded_items::RecordedItem;
use crate::model::event::{EventKind, Seq};
use crate::model::item::{AgentType, ItemStatus, NewItem, Visibility};

/// Options of the emit functions.
#[derive(Clone, Debug, Default)]
pub struct EmitOptions {
    /// `agentType`
    pub agent_type: Option<AgentType>,
    /// `itemVisibility`
    pub item_visibility: Option<Visibility>,
    /// `agentName`
    pub agent_name: Option<String>,
    /// `transient`, where given.
    pub transient: Option<bool>,
    /// `key` of a component.
    pub key: Option<String>,
}

impl Context {
    /// `ctx.emit.message`. `content` is a text or a list of parts.
    pub fn emit_message(&self, role: &str, content: Value, options: EmitOptions) -> Seq {
        let content = match content {
            Value::String(text) => serde_json::json!([{ "type": "output_text", "text": text }]),
            other => other,
        };
        let payload = serde_json::json!({ "role": role, "content": content });
        self.emit("message", payload, false, options)
    }

    /// `ctx.emit.component`.
    pub fn emit_component(&self, name: &str, data: Value, options: EmitOptions) -> Seq {
        self.emit("component", serde_json::json!({ "component": name, "data": data }), false, options)
    }

    /// What an author does with an item that was emitted: another `data` of a component or `content` of a message, each
    /// without a key.
    pub fn update_item(&self, of: Seq, field: &str, value: Value) {
        self.record(EventKind::ItemUpdated { of, patch: Map::from_iter([(field.to_owned(), value)]) });
    }

    /// More of the text at the end of a message that was emitted without a key.
    pub fn grow_item(&self, of: Seq, text: String) {
        self.record(EventKind::ItemDelta { of, text });
    }

    /// `ctx.emit.status`: one status line per request; the same text again is not recorded (SEMANTICS §7.6).
    pub fn emit_status(&self, message: Option<String>, signals: Map<String, Value>, options: EmitOptions) {
        {
            let mut slot = self.run.status_line.borrow_mut();
            match message {
                Some(message) if slot.as_deref() == Some(&*message) => return,
                Some(message) => *slot = Some(message),
                None => {}
            }
        }
        let mut payload = Map::new();
        payload.insert("message".to_owned(), self.run.status_line.borrow().clone().into());
        payload.extend(signals);
        self.emit("status", Value::Object(payload), true, options);
    }

    /// Adds an item that grows while its block runs. A block that goes on after an interruption goes on with the item
    /// that it had added: from its beginning, unless that was done. The update without fields says that it is the item
    /// of this run, too.
    pub(crate) fn begin_item(&self, item: NewItem) -> RecordedItem {
        if let Some(known) = self.frame.items_of_earlier_runs.borrow_mut().next(&item) {
            let patch = if known.has(&item.payload) { Map::new() } else { item.payload };
            self.record(EventKind::ItemUpdated { of: known.seq, patch });
            return known;
        }
        let at = self.run.effects.now_ms();
        RecordedItem { seq: self.record(EventKind::ItemAdded { item }), at, is_done: false, call: None }
    }

    /// Emits an item of any type, complete and done.
    pub fn emit(&self, item_type: &str, payload: Value, transient: bool, options: EmitOptions) -> Seq {
        let payload = match payload {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        let item = NewItem {
            key: options.key,
            transient: options.transient.unwrap_or(transient),
            agent_type: options.agent_type,
            agent_name: options.agent_name,
            item_visibility: options.item_visibility,
            ..NewItem::plain(item_type, ItemStatus::Completed, payload)
        };
        self.record(EventKind::ItemAdded { item })
    }
}
