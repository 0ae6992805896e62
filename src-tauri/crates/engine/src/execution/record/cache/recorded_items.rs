//! Items that a block added in progress: its container, texts of models, tool calls.
//!
//! A block that continues after an interruption shows them again from its start. It reuses the items in the log, so
//! that they keep their ids and places. Must not decide whether a block continues.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value};

use crate::model::effects::EffectKind;
use crate::model::event::{Event, EventKind, Seq};
use crate::model::item::{ItemStatus, NewItem};

/// An item that was added in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedItem {
    /// The event that added it.
    pub(crate) seq: Seq,
    /// When it was added, milliseconds since the epoch.
    pub(crate) at: i64,
    /// Whether it is final: it is done, and no model call that a resume repeats was open then.
    pub(crate) is_done: bool,
    /// The hash of a tool call's recorded fields, which no delta changes.
    pub(crate) call: Option<u64>,
}

impl RecordedItem {
    /// Returns whether the log has these fields of the item already.
    pub(crate) fn has(&self, payload: &Map<String, Value>) -> bool {
        self.is_done || self.call.is_some() && self.call == call_hash(payload)
    }
}

/// The items of one attempt, by kind, in the order in which a run shows them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordedItems {
    known: HashMap<String, Vec<RecordedItem>>,
    /// Where each is in `known`.
    places: HashMap<Seq, (String, usize)>,
    /// How many of each kind the newest run has shown.
    shown: HashMap<String, usize>,
    /// The model calls of the newest run that have not ended, by the events of their starts.
    open_calls: HashSet<Seq>,
    /// Items that were done while a model call was open.
    done_in_open_call: Vec<Seq>,
}

impl RecordedItems {
    /// Begins a run, which shows all items again.
    pub(crate) fn begin_run(&mut self) {
        self.shown.clear();
        self.open_calls.clear();
        self.done_in_open_call.clear();
    }

    /// Reads an event of the newest run.
    pub(super) fn read(&mut self, event: &Event) {
        match &event.kind {
            EventKind::ItemAdded { item } if item.status == ItemStatus::InProgress => {
                let label = label(item);
                let shown = self.shown.entry(label.clone()).or_default();
                let known = self.known.entry(label.clone()).or_default();
                // A run of an earlier version, or a run with other items, adds a new item.
                known.truncate(*shown);
                self.places.insert(event.seq, (label, *shown));
                *shown += 1;
                let call = call_hash(&item.payload);
                known.push(RecordedItem { seq: event.seq, at: event.at, is_done: false, call });
            }
            EventKind::ItemUpdated { of, patch } => {
                if let Some((label, place)) = self.places.get(of) {
                    let shown = self.shown.entry(label.clone()).or_default();
                    *shown = (*shown).max(place + 1);
                    let item = self.known.get_mut(label).and_then(|known| known.get_mut(*place));
                    item.filter(|_| !patch.is_empty()).into_iter().for_each(|item| item.call = call_hash(patch));
                }
            }
            EventKind::ItemDone { of, .. } if self.open_calls.is_empty() => self.end(*of),
            EventKind::ItemDone { of, .. } => self.done_in_open_call.push(*of),
            EventKind::EffectStarted { effect: EffectKind::Model, .. } => drop(self.open_calls.insert(event.seq)),
            EventKind::EffectFinished { effect: EffectKind::Model, started: Some(started), .. } => {
                self.open_calls.remove(started);
                if self.open_calls.is_empty() {
                    std::mem::take(&mut self.done_in_open_call).into_iter().for_each(|of| self.end(of));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, of: Seq) {
        let place = self.places.get(&of);
        let item = place.and_then(|(label, place)| self.known.get_mut(label)?.get_mut(*place));
        item.filter(|item| item.seq == of).into_iter().for_each(|item| item.is_done = true);
    }

    /// Takes the next item of this kind, which a run shows again.
    pub(crate) fn next(&mut self, item: &NewItem) -> Option<RecordedItem> {
        if self.known.is_empty() {
            return None;
        }
        let label = label(item);
        let shown = self.shown.entry(label.clone()).or_default();
        *shown += 1;
        self.known.get(&label)?.get(*shown - 1).copied()
    }
}

/// A hash of the fields of a tool call; `None` if they are those of another item.
fn call_hash(payload: &Map<String, Value>) -> Option<u64> {
    payload.get("toolCall")?;
    let mut hasher = DefaultHasher::new();
    serde_json::to_string(payload).ok()?.hash(&mut hasher);
    Some(hasher.finish())
}

/// The kind of an item; for a tool call also the id of the call, because calls run concurrently.
fn label(item: &NewItem) -> String {
    let call = item.payload.get("toolCall").and_then(|call| call["callId"].as_str()).unwrap_or_default();
    format!("{} {call}", item.item_type)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(item_type: &str) -> NewItem {
        NewItem::plain(item_type, ItemStatus::InProgress, Map::new())
    }

    fn read(items: &mut RecordedItems, seq: Seq, kind: EventKind) {
        items.read(&Event { seq, at: 0, path: Some("root".into()), attempt: 0, kind });
    }

    fn added(items: &mut RecordedItems, seq: Seq, item_type: &str) {
        read(items, seq, EventKind::ItemAdded { item: item(item_type) });
    }

    #[test]
    fn a_run_reuses_the_items_of_the_previous_run() {
        let mut items = RecordedItems::default();
        added(&mut items, 3, "container");
        added(&mut items, 5, "reasoning");
        read(&mut items, 6, EventKind::ItemDone { of: 5, status: ItemStatus::Completed, patch: Map::new() });
        added(&mut items, 7, "reasoning");
        items.begin_run();
        let next = |items: &mut RecordedItems, item_type: &str| items.next(&item(item_type)).map(|item| item.seq);
        let mut goes_on = items.clone();
        assert_eq!(goes_on.next(&item("reasoning")), Some(RecordedItem { seq: 5, at: 0, is_done: true, call: None }));
        assert_eq!(next(&mut goes_on, "reasoning"), Some(7));
        assert_eq!(next(&mut goes_on, "reasoning"), None);
        assert_eq!(next(&mut goes_on, "container"), Some(3));
        assert_eq!(next(&mut goes_on, "message"), None);
        // The next run finds the same items, and those that this run has added.
        read(&mut items, 9, EventKind::ItemUpdated { of: 3, patch: Map::new() });
        read(&mut items, 10, EventKind::ItemUpdated { of: 5, patch: Map::new() });
        added(&mut items, 11, "reasoning");
        items.begin_run();
        assert_eq!(
            ["container", "reasoning", "reasoning"].map(|kind| next(&mut items, kind)),
            [Some(3), Some(5), Some(11)]
        );
    }

    /// A resume calls the model again, and its new text must be shown.
    #[test]
    fn an_item_is_done_when_the_model_call_that_made_it_has_ended() {
        let started = || EventKind::EffectStarted { effect: EffectKind::Model, ordinal: 0, request: None };
        let done = |of| EventKind::ItemDone { of, status: ItemStatus::Completed, patch: Map::new() };
        let mut items = RecordedItems::default();
        read(&mut items, 3, started());
        added(&mut items, 4, "reasoning");
        read(&mut items, 5, done(4));
        let is_done = |items: &RecordedItems| {
            let mut next_run = items.clone();
            next_run.begin_run();
            next_run.next(&item("reasoning")).map(|item| item.is_done)
        };
        assert_eq!(is_done(&items), Some(false));
        items.begin_run();
        read(&mut items, 9, started());
        read(&mut items, 10, EventKind::ItemUpdated { of: 4, patch: Map::new() });
        read(&mut items, 11, done(4));
        assert_eq!(is_done(&items), Some(false));
        let ended = EventKind::EffectFinished {
            effect: EffectKind::Model,
            ordinal: 0,
            started: Some(9),
            request: None,
            result: Value::Null,
            error: None,
            memoized: false,
            dispatch: None,
        };
        read(&mut items, 12, ended);
        assert_eq!(is_done(&items), Some(true));
    }

    #[test]
    fn the_log_has_the_fields_of_a_call_that_waits_until_others_are_written() {
        let call = |args: &str| {
            let payload = json!({ "toolCall": { "callId": "c", "arguments": args } });
            payload.as_object().cloned().unwrap_or_default()
        };
        let (first, other) = (call("1"), call("2"));
        let of_call = |payload: &Map<String, Value>| NewItem {
            payload: payload.clone(),
            ..NewItem::plain("block_tool_output", ItemStatus::InProgress, Map::new())
        };
        let mut items = RecordedItems::default();
        read(&mut items, 3, EventKind::ItemAdded { item: of_call(&first) });
        let has = |items: &RecordedItems, payload: &Map<String, Value>| {
            let mut next_run = items.clone();
            next_run.begin_run();
            next_run.next(&of_call(payload)).is_some_and(|item| item.has(payload))
        };
        assert!(has(&items, &first) && !has(&items, &other));
        items.begin_run();
        read(&mut items, 5, EventKind::ItemUpdated { of: 3, patch: Map::new() });
        assert!(has(&items, &first));
        items.begin_run();
        read(&mut items, 7, EventKind::ItemUpdated { of: 3, patch: other.clone() });
        assert!(!has(&items, &first) && has(&items, &other));
        // Texts that grew never count as equal.
        added(&mut items, 9, "message");
        items.begin_run();
        assert!(!items.next(&item("message")).is_some_and(|item| item.has(&Map::new())));
    }

    #[test]
    fn a_run_of_an_earlier_version_replaces_the_items_of_the_previous_run() {
        let mut items = RecordedItems::default();
        added(&mut items, 3, "container");
        items.begin_run();
        added(&mut items, 8, "container");
        items.begin_run();
        assert_eq!(items.next(&item("container")).map(|item| item.seq), Some(8));
    }
}
