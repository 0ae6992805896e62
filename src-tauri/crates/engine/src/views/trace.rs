//! View: what every block of a request did, in a form in which two runs can be compared (SEMANTICS §10.7).
//!
//! Ids, times and what differs by the order in which paths met are left out. Only the last attempt that
//! counts is told of each path.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::replay_order::ReplayOrder;
use super::{Events, edited, edited_input};
use crate::model::event::{Event, EventKind, Recorded, Seq};
use crate::model::item::ItemStatus;
use crate::model::path::is_at_or_inside;

/// Fields that tell of time or of place in the log, wherever an item or a note has them.
const VOLATILE: [&str; 8] =
    ["startedAt", "completedAt", "duration", "ts", "id", "expiresAt", "cacheAgeMs", "blockInstanceId"];

/// One thing a block did.
#[derive(Clone, Debug, PartialEq)]
pub struct Did {
    /// The event.
    pub seq: Seq,
    /// What, in a form for people and programs.
    pub what: Value,
    /// The call of a tool that it tells of: calls run beside each other, and their order is that of paths.
    call: Option<String>,
}

impl Did {
    /// What a block is expected to do at the place of an event.
    pub fn expected(seq: Seq, what: Value) -> Did {
        Did { seq, what, call: None }
    }
}

/// What the blocks of a request did, by path, in order of their ends; a block that never ended is absent.
pub fn trace(events: &[Event]) -> IndexMap<Arc<str>, Vec<Did>> {
    let (view, attempts, edited) = (Events::new(events), ReplayOrder::read(events), edited(events));
    let mut open: IndexMap<Arc<str>, Vec<Did>> = IndexMap::new();
    let mut ended: IndexMap<Arc<str>, Vec<Did>> = IndexMap::new();
    // What functions did in attempts that were cut off.
    let mut cut: HashMap<Seq, Did> = HashMap::new();
    let mut functions: HashMap<(Arc<str>, &str), Vec<Did>> = HashMap::new();
    let mut calls: HashMap<Seq, String> = HashMap::new();
    let mut resumed: HashMap<(Arc<str>, u32), Resumed> = HashMap::new();
    let own = edited_input(events).unwrap_or(0);
    for event in events.iter().filter(|event| event.seq > own) {
        let Some(path) = &event.path else { continue };
        // What a fork has instead of what a block did is not done again.
        if edited.iter().any(|edited| is_at_or_inside(path, edited)) {
            continue;
        }
        let counts = attempts.place(event).is_some_and(|place| attempts.last(path) == Some(place));
        let is_cut = attempts.is_cut(event);
        if attempts.goes_on(path, event.attempt) {
            let resumed = resumed.entry((path.clone(), event.attempt)).or_default();
            resumed.read(view, event);
            if let EventKind::CallbackReturned { callback, events, memoized: false, .. } = &event.kind {
                functions.insert((path.clone(), callback.as_str()), resumed.of(events));
            }
            if counts && matches!(event.kind, EventKind::BlockFinished { .. }) {
                ended.insert(path.clone(), resumed.done());
            }
            continue;
        }
        if let EventKind::CallbackReturned { callback, events, memoized, .. } = &event.kind {
            let key = (path.clone(), callback.as_str());
            if is_cut && !memoized {
                functions.insert(key, events.iter().filter_map(|seq| cut.remove(seq)).collect());
            } else if counts && *memoized {
                // What it did before the cut stands where it would have been called.
                open.entry(path.clone()).or_default().extend(functions.remove(&key).unwrap_or_default());
            }
            continue;
        }
        let Some(what) = what(view, event).filter(|_| counts) else { continue };
        let call = call_of(event, &calls);
        calls.extend(call.clone().map(|call| (event.seq, call)));
        let did = Did { seq: event.seq, what, call };
        if is_cut {
            cut.insert(event.seq, did);
            continue;
        }
        let done = open.entry(path.clone()).or_default();
        match &event.kind {
            EventKind::BlockFinished { .. } => {
                done.sort_by(|one, other| one.call.cmp(&other.call));
                done.push(did);
                if let Some(done) = open.shift_remove(path) {
                    ended.insert(path.clone(), done);
                }
            }
            _ => done.push(did),
        }
    }
    ended
}

/// The call of a tool that an event tells of. `calls` are those of earlier events.
fn call_of(event: &Event, calls: &HashMap<Seq, String>) -> Option<String> {
    match &event.kind {
        EventKind::ItemAdded { item } => item.payload.get("toolCall")?["callId"].as_str().map(str::to_owned),
        EventKind::ItemDone { of, .. } => calls.get(of).cloned(),
        _ => None,
    }
}

/// What a block did that went on after interruptions, in the order in which it would have done it without them.
#[derive(Default)]
struct Resumed {
    did: Vec<Done>,
    /// The place in `did` of what each event tells.
    places: HashMap<Seq, usize>,
    run: u32,
    /// Where the newest run has come to.
    at: usize,
    begin: Option<Value>,
    calls: HashMap<Seq, String>,
}

struct Done {
    did: Did,
    /// Whether a callback did it that returned.
    is_kept: bool,
    /// In which run of the attempt it was done last.
    run: u32,
}

impl Resumed {
    fn read(&mut self, view: Events<'_>, event: &Event) {
        if let EventKind::CallbackReturned { events, memoized: false, .. } = &event.kind {
            for place in events.iter().filter_map(|seq| self.places.get(seq)) {
                self.did[*place].is_kept = true;
            }
            return;
        }
        let what = match &event.kind {
            EventKind::BlockResumed { .. } => {
                (self.run, self.at) = (self.run + 1, 0);
                self.begin.clone()
            }
            // What fails, and goes on then, has not come to its end.
            _ => what(view, event),
        };
        let Some(what) = what else { return };
        if matches!(event.kind, EventKind::BlockStarted { .. }) {
            self.begin = Some(what.clone());
        }
        let call = call_of(event, &self.calls);
        self.calls.extend(call.clone().map(|call| (event.seq, call)));
        let did = Did { seq: event.seq, what, call };
        // A run does again what the run before it did outside callbacks.
        let is_again = |known: &Done| !known.is_kept && known.run < self.run && known.did.what == did.what;
        let again = self.did.iter().skip(self.at).position(is_again);
        let done = Done { did, is_kept: false, run: self.run };
        match again {
            Some(ahead) => {
                self.at += ahead;
                self.did[self.at] = done;
            }
            None => {
                self.at = self.did.len();
                self.did.push(done);
            }
        }
        self.places.insert(event.seq, self.at);
        self.at += 1;
    }

    /// What these events tell.
    fn of(&self, events: &[Seq]) -> Vec<Did> {
        events.iter().filter_map(|seq| Some(self.did[*self.places.get(seq)?].did.clone())).collect()
    }

    /// What it did by the end of its newest run.
    fn done(&self) -> Vec<Did> {
        let counts = |done: &&Done| done.is_kept || done.run == self.run;
        let mut done: Vec<Did> = self.did.iter().filter(counts).map(|done| done.did.clone()).collect();
        // Its end comes last.
        let before = done.len().saturating_sub(1);
        done[..before].sort_by(|one, other| one.call.cmp(&other.call));
        done
    }
}

fn what(events: Events<'_>, event: &Event) -> Option<Value> {
    let value = |recorded: &'_ Recorded| match recorded {
        Recorded::Value(value) => Some(value.clone()),
        Recorded::Undefined => None,
        Recorded::Of(seq) => events.value(&Recorded::Of(*seq)).cloned(),
    };
    Some(match &event.kind {
        EventKind::BlockStarted { name, block, input, .. } => {
            json!({ "block": &**name, "kind": block.as_str(), "input": value(input) })
        }
        EventKind::BlockInput { input } => json!({ "input": value(input) }),
        EventKind::StateChanged { scope, operation, .. } => {
            json!({
                "state": scope.kind.as_str(), "operation": operation.name(),
                "path": operation.path(), "delta": operation.delta(),
            })
        }
        // That a block failed is told by the block; who hears of it, and when, may be another after a resume.
        EventKind::ItemAdded { item } if item.item_type == "step_error" => return None,
        EventKind::ItemAdded { item } if item.status == ItemStatus::InProgress => {
            json!({ "item": item.item_type, "begins": true })
        }
        EventKind::ItemAdded { item } => {
            json!({ "item": item.item_type, "payload": still(Value::Object(item.payload.clone())) })
        }
        EventKind::ItemDone { patch, status, .. } => {
            json!({ "item": status, "payload": still(Value::Object(patch.clone())) })
        }
        EventKind::RouteDecided { route } => json!({ "route": route }),
        EventKind::JournalAppended { entry } => json!({ "journal": still(entry.clone()) }),
        EventKind::MetadataSet { metadata } => json!({ "metadata": metadata }),
        EventKind::BlockFinished { output: Some(output), .. } => json!({ "output": value(output) }),
        EventKind::BlockFinished { error: Some(error), .. } => {
            json!({ "error": { "name": error.name, "message": error.message, "code": error.code } })
        }
        EventKind::BlockFinished { .. } => json!({ "output": null }),
        _ => return None,
    })
}

/// A value without what tells of time and place.
fn still(value: Value) -> Value {
    match value {
        Value::Object(mut fields) => {
            fields.retain(|name, _| !VOLATILE.contains(&name.as_str()));
            fields.into_iter().map(|(name, value)| (name, still(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(still).collect(),
        other => other,
    }
}
