//! What only `ctx.session` has: a journal, the items of earlier requests, and metadata (SEMANTICS §7.7).

use serde_json::{Map, Value};

use super::Context;
use crate::model::effects::Message;
use crate::model::error::FlowError;
use crate::model::event::EventKind;
use crate::model::log::{NoteKind, RequestEvents};
use crate::views::history::Query;
use crate::views::items::{Audience, Item, items};
use crate::views::retention::Past;
use crate::views::{Events, history};

impl Context {
    /// `ctx.session.appendJournal`.
    pub fn append_journal(&self, entry: Map<String, Value>) -> Value {
        let now = self.run.effects.now_ms();
        let mut whole = Map::new();
        let ordinal = self.ordinal("journal");
        let tail = blake3::hash(format!("{}{}{ordinal}", self.caller().request, self.frame.instance).as_bytes());
        whole.insert("id".to_owned(), format!("journal_{now}_{}", &tail.to_hex()[..6]).into());
        whole.insert("ts".to_owned(), now.into());
        if let Some(effect_log) = &self.run.effect_log {
            whole.extend(effect_log.next_journal_entry(&self.frame.path, self.frame.attempt));
        }
        whole.extend(entry);
        let entry = Value::Object(whole);
        self.run.note(&self.frame, NoteKind::Journal, entry.clone());
        self.record(EventKind::JournalAppended { entry: entry.clone() });
        entry
    }

    /// `ctx.session.getJournal`: the newest `limit` entries, oldest first among them; `offset`
    /// counts back from the newest (SEMANTICS §7.7).
    pub fn journal(&self, limit: Option<usize>, offset: usize) -> Result<Vec<Value>, FlowError> {
        let newest = limit.unwrap_or(usize::MAX).saturating_add(offset);
        let mut entries = self.notes(NoteKind::Journal, newest)?;
        entries.truncate(entries.len().saturating_sub(offset));
        Ok(entries)
    }

    /// `ctx.session.items.all`, `client` and `selectForContext`: the items of completed earlier
    /// requests, then of this one so far.
    pub fn session_items(&self, audience: Audience, query: &Value) -> Result<Value, FlowError> {
        let query = self.query(query)?;
        let (turns, live) = self.turns()?;
        let items = history::select(turns, live, audience, &query);
        Ok(items.iter().map(seen).collect())
    }

    /// The items of this request so far, as `ctx.response.getItems` and conditions on them get them.
    pub fn request_items(&self) -> Result<Vec<Value>, FlowError> {
        self.note_shared_read();
        Ok(self.own_items()?.iter().map(seen).collect())
    }

    fn own_items(&self) -> Result<Vec<Item>, FlowError> {
        self.show_earlier_items();
        let own = self.run.recorder.items().map_err(|error| FlowError::storage(error.to_string()))?;
        Ok(items(&self.caller().request, Events::new(&own), true))
    }

    /// `ctx.session.items.history`: the same conversation as messages for a model.
    pub fn session_history(&self, query: &Value) -> Result<Vec<Message>, FlowError> {
        let query = self.query(query)?;
        let (turns, live) = self.turns()?;
        Ok(history::messages(&turns, &live, &query))
    }

    fn query(&self, query: &Value) -> Result<Query, FlowError> {
        Query::parse(query).map_err(|message| FlowError::validation(format!("ctx.session.items: {message}"), None))
    }

    /// Returns the items of each earlier request that the session's retention keeps, and those of this request so far.
    fn turns(&self) -> Result<(Vec<Vec<Item>>, Vec<Item>), FlowError> {
        self.note_shared_read();
        let run = &self.run;
        let earlier = run
            .log
            .session_events(&run.start.session, &run.request, run.flow.settings.history_turns)
            .map_err(|error| FlowError::storage(error.to_string()))?;
        // Transient items are not kept for later requests.
        let lasting = |(request, events): &RequestEvents| {
            let mut turn = items(request, Events::new(events), false);
            turn.retain(|item| !item.transient);
            turn
        };
        let mut turns: Vec<_> = earlier.iter().map(lasting).collect();
        if let Some(retention) = &run.flow.settings.retention {
            let past: Vec<_> =
                turns.iter().zip(&earlier).map(|(turn, (_, events))| Past::of(events, turn.len())).collect();
            let caller = self.caller();
            let began = if caller.request == run.request { run.began_at } else { caller.began_at };
            let gone = retention.evicts(&past, began);
            turns.drain(..gone);
        }
        Ok((turns, self.own_items()?))
    }

    /// `ctx.session.setMetadata`.
    pub fn set_metadata(&self, metadata: Value) {
        self.run.note(&self.frame, NoteKind::Metadata, metadata.clone());
        self.record(EventKind::MetadataSet { metadata });
    }

    /// `ctx.session.metadata`: the newest value of each field; the objects of field `metadata` are merged.
    pub fn metadata(&self) -> Result<Value, FlowError> {
        let mut all = Map::new();
        for set in self.notes(NoteKind::Metadata, usize::MAX)? {
            let Value::Object(fields) = set else { continue };
            for (name, value) in fields {
                match (all.get_mut(&name), value) {
                    (Some(Value::Object(bag)), Value::Object(more)) if name == "metadata" => bag.extend(more),
                    (_, value) => drop(all.insert(name, value)),
                }
            }
        }
        Ok(Value::Object(all))
    }

    /// Returns the `newest` of the session's journal entries or metadata so far: of its other requests, then of this
    /// one.
    fn notes(&self, kind: NoteKind, newest: usize) -> Result<Vec<Value>, FlowError> {
        self.note_shared_read();
        let own = self.run.notes.borrow();
        let own = own.iter().rev().filter(|note| note.kind == kind).take(newest).map(|note| note.value.clone());
        let mut own: Vec<Value> = own.collect();
        own.reverse();
        let earlier = newest - own.len();
        if earlier == 0 {
            return Ok(own);
        }
        let notes = self.run.log.notes(&self.run.start.session, &self.run.request, kind, earlier);
        let mut notes = notes.map_err(|error| FlowError::storage(error.to_string()))?;
        notes.extend(own);
        Ok(notes)
    }
}

/// Returns an item as a flow gets it: with a short `payload` besides its fields.
fn seen(item: &Item) -> Value {
    let mut seen = serde_json::to_value(item).unwrap_or_default();
    seen["payload"] = history::payload(item);
    seen
}
