//! Recorded times of events, for a replay: an item keeps the time at which it was added, and a journal entry the id and
//! the time of its first write.
//!
//! Times are found by attempt, kind and number. Must not order events: it restores only their times.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::model::event::{Event, EventKind, Seq};
use crate::model::item::{ItemStatus, NewItem};
use crate::views::Events;
use crate::views::items::items_of_request;
use crate::views::replay_order::ReplayOrder;

/// The path and attempt of a block and the kind of its event. For a question and its answer, the question's id replaces
/// the path.
type Key = (Arc<str>, u32, Discriminant<EventKind>);

/// The time of one event.
struct EventTime {
    at: i64,
    /// The time fields that the engine sets in an item or a journal entry.
    fields: Option<Box<Map<String, Value>>>,
}

/// The times of the events of one key, oldest first. Most keys have one.
#[derive(Default)]
struct Times {
    first: Option<EventTime>,
    rest: VecDeque<EventTime>,
}

/// The recorded times that the replay has not used yet.
#[derive(Default)]
pub(crate) struct EventTimes(RefCell<HashMap<Key, Times>>);

impl EventTimes {
    /// Reads a log. Events up to `own` belong to the request's origin and are skipped.
    pub(crate) fn of(events: &[Event], order: &ReplayOrder, own: Seq) -> EventTimes {
        let mut times: HashMap<Key, Times> = HashMap::new();
        let mut add = |key: Key, time: EventTime| {
            let of_key = times.entry(key).or_default();
            match &of_key.first {
                None => of_key.first = Some(time),
                Some(_) => of_key.rest.push_back(time),
            }
        };
        let mut began: HashSet<&str> = HashSet::new();
        for event in events.iter().filter(|event| event.seq > own) {
            let kind = discriminant(&event.kind);
            let time = |fields| EventTime { at: event.at, fields };
            if let Some(id) = question_of(&event.kind) {
                add((id.into(), 0, kind), time(None));
                continue;
            }
            let Some(path) = event.path.as_ref().filter(|_| has_visible_time(&event.kind)) else { continue };
            let is_begin = matches!(event.kind, EventKind::BlockStarted { .. });
            if is_begin {
                began.insert(path);
            }
            let grows = matches!(&event.kind, EventKind::ItemAdded { item } if item.status == ItemStatus::InProgress);
            let place = if !began.contains(&**path) {
                // An event before any block: the user's message.
                Some(0)
            } else if (is_begin || grows) && order.goes_on(path, event.attempt) {
                // All runs of one attempt share its beginning and its items.
                Some(order.place_of_question(event))
            } else {
                order.place_to_end(event)
            };
            if let Some(place) = place {
                add((path.clone(), place as u32, kind), time(fields_of(&event.kind)));
            }
        }
        for (event, item) in items_of_request(Events::new(events)).into_iter().filter(|(event, _)| event.seq > own) {
            let key = (Arc::from(""), 0, discriminant(&EventKind::ItemAdded { item }));
            add(key, EventTime { at: event.at, fields: None });
        }
        EventTimes(RefCell::new(times))
    }

    /// Returns the recorded time of an event of the replay, and restores the time fields of an item. `None`
    /// if the log has no such event.
    pub(crate) fn restore(&self, path: Option<&Arc<str>>, attempt: u32, kind: &mut EventKind) -> Option<i64> {
        let key = match question_of(kind) {
            Some(id) => (id.into(), 0, discriminant(kind)),
            None if has_visible_time(kind) && !matches!(kind, EventKind::JournalAppended { .. }) => {
                (path.cloned().unwrap_or_default(), attempt, discriminant(kind))
            }
            None => return None,
        };
        let time = self.take(&key)?;
        let set = match kind {
            EventKind::ItemAdded { item: NewItem { payload, .. } } | EventKind::ItemDone { patch: payload, .. } => {
                Some(payload)
            }
            _ => None,
        };
        if let (Some(set), Some(fields)) = (set, time.fields) {
            for (name, value) in *fields {
                if let Some(known) = set.get_mut(&name) {
                    *known = value;
                }
            }
        }
        Some(time.at)
    }

    /// Takes the `id` and the `ts` of the next journal entry of an attempt; empty if the log has none.
    pub(crate) fn next_journal_entry(&self, path: &Arc<str>, attempt: u32) -> Map<String, Value> {
        let kind = discriminant(&EventKind::JournalAppended { entry: Value::Null });
        let time = self.take(&(path.clone(), attempt, kind));
        time.and_then(|time| time.fields).map(|fields| *fields).unwrap_or_default()
    }

    fn take(&self, key: &Key) -> Option<EventTime> {
        let mut times = self.0.borrow_mut();
        let of_key = times.get_mut(key)?;
        let next = of_key.rest.pop_front();
        let is_last = next.is_none();
        let time = std::mem::replace(&mut of_key.first, next);
        if is_last {
            times.remove(key);
        }
        time
    }
}

/// Returns the id of the question that an event asks or answers.
fn question_of(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::Suspended(asked) => Some(&asked.id),
        EventKind::SuspensionResolved(resolved) => Some(&resolved.id),
        _ => None,
    }
}

/// Returns whether a flow can see the time of an event, in an item or in the journal.
fn has_visible_time(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::BlockStarted { .. }
            | EventKind::BlockFinished { .. }
            | EventKind::ItemAdded { .. }
            | EventKind::ItemDone { .. }
            | EventKind::JournalAppended { .. }
            | EventKind::RouteDecided { .. }
            | EventKind::StateChanged { .. }
            | EventKind::StateInitialized { .. }
    )
}

/// Returns the time fields that the engine sets in an event: in a growing item, and in a journal entry.
fn fields_of(kind: &EventKind) -> Option<Box<Map<String, Value>>> {
    let (all, names): (_, &[&str]) = match kind {
        EventKind::ItemAdded { item } if item.status == ItemStatus::InProgress => (&item.payload, &["startedAt"]),
        EventKind::ItemDone { patch, .. } => (patch, &["completedAt", "duration"]),
        EventKind::JournalAppended { entry } => (entry.as_object()?, &["id", "ts"]),
        _ => return None,
    };
    let found = names.iter().filter_map(|name| Some(((*name).to_owned(), all.get(*name)?.clone())));
    let found: Map<String, Value> = found.collect();
    (!found.is_empty()).then(|| Box::new(found))
}
