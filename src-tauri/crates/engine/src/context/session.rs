//! What only a session offers: its journal, its items, its metadata (seed 000).

use serde_json::{Map, Value};

use super::Context;
use crate::error::FlowError;
use crate::event::EventKind;
use crate::item::canonical_item_type;
use crate::log::RequestEvents;
use crate::views::items::{Audience, Item, items};
use crate::views::{Events, history};

impl Context {
    /// `ctx.session.appendJournal`.
    pub fn append_journal(&self, entry: Map<String, Value>) -> Value {
        let now = self.run.effects.now_ms();
        let mut whole = Map::new();
        let ordinal = self.ordinal("journal");
        let tail = blake3::hash(format!("{}{}{ordinal}", self.run.request, self.frame.instance).as_bytes());
        whole.insert("id".to_owned(), format!("journal_{now}_{}", &tail.to_hex()[..6]).into());
        whole.insert("ts".to_owned(), now.into());
        whole.extend(entry);
        let entry = Value::Object(whole);
        self.run.journal.borrow_mut().push(entry.clone());
        self.record(EventKind::JournalAppended { entry: entry.clone() });
        entry
    }

    /// `ctx.session.getJournal`: the newest `limit` entries, oldest first among them; `offset`
    /// counts back from the newest (authoring, difference 7).
    pub fn journal(&self, limit: Option<usize>, offset: usize) -> Result<Vec<Value>, FlowError> {
        let earlier = self.earlier()?;
        let mut entries: Vec<Value> = earlier
            .iter()
            .flat_map(|(_, events)| events)
            .filter_map(|event| match &event.kind {
                EventKind::JournalAppended { entry } => Some(entry.clone()),
                _ => None,
            })
            .collect();
        entries.extend(self.run.journal.borrow().iter().cloned());
        let end = entries.len().saturating_sub(offset);
        let start = end.saturating_sub(limit.unwrap_or(usize::MAX));
        Ok(entries[start..end].to_vec())
    }

    /// `ctx.session.items.*`: the items of completed earlier requests, then of this one so far.
    pub fn session_items(&self, audience: Audience, query: &Value) -> Result<Value, FlowError> {
        let mut all: Vec<Item> = Vec::new();
        for (request, events) in self.earlier()? {
            all.extend(items(&request, Events::new(&events), true));
        }
        let own = self.run.recorder.items();
        all.extend(items(&self.run.request, Events::new(&own), true));
        let with_transient = query["includeTransient"].as_bool().unwrap_or(false);
        let types: Option<Vec<&str>> = query["itemTypes"]
            .as_array()
            .map(|types| types.iter().filter_map(Value::as_str).map(canonical_item_type).collect());
        all.retain(|item| {
            (with_transient || !item.transient)
                && audience.sees(item)
                && types.as_ref().is_none_or(|types| types.contains(&item.item_type.as_str()))
        });
        if let Some(limit) = query["limit"].as_u64() {
            all.drain(..all.len().saturating_sub(limit as usize));
        }
        if audience == Audience::History {
            let messages: Vec<_> = all.iter().filter_map(history::message).collect();
            return serde_json::to_value(messages).map_err(|error| FlowError::plain(error.to_string()));
        }
        serde_json::to_value(all).map_err(|error| FlowError::plain(error.to_string()))
    }

    /// The committed events of the session's completed earlier requests, oldest first.
    pub(crate) fn earlier(&self) -> Result<Vec<RequestEvents>, FlowError> {
        self.run
            .log
            .session_events(&self.run.asked.session, &self.run.request)
            .map_err(|error| FlowError::storage(error.to_string()))
    }

    /// `ctx.session.setMetadata`.
    pub fn set_metadata(&self, metadata: Value) {
        self.record(EventKind::MetadataSet { metadata });
    }
}
