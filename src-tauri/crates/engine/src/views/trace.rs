//! View: what every block of a request did, in a form in which two runs can be compared (SEMANTICS §10.7).
//!
//! Ids, times and what differs by the order in which paths met are left out. Only the last attempt that
//! counts is told of each path.

mod described;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::Value;

use super::Events;
use super::fork_edits::{edited_input, edited_steps};
use super::replay_order::ReplayOrder;
use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::item::ItemStatus;
use crate::model::path::is_at_or_inside;
use described::{as_before, what};

/// One thing a block did.
#[derive(Clone, Debug, PartialEq)]
pub struct Did {
    /// The event.
    pub seq: Seq,
    /// What, in a form for people and programs.
    pub what: Value,
    /// The call of a tool that it tells of: calls run beside each other, and their order is that of paths.
    call: Option<String>,
    /// The item that it is a part of: the parts of a text are one.
    part_of: Option<Seq>,
    /// Whether traces of earlier versions do not have it.
    is_new: bool,
}

impl Did {
    /// What a block is expected to do at the place of an event.
    pub fn expected(seq: Seq, what: Value) -> Did {
        Did { seq, what, call: None, part_of: None, is_new: false }
    }

    /// What earlier versions did not compare.
    pub fn added(seq: Seq, what: Value) -> Did {
        Did { is_new: true, ..Did::expected(seq, what) }
    }
}

/// What a block did in the form of earlier versions, in which what was accepted with them is stored.
pub fn as_stored_before(did: &[Did]) -> Vec<Did> {
    let known = did.iter().filter(|did| !did.is_new).cloned();
    known.map(|did| Did { what: as_before(did.what), ..did }).collect()
}

/// What the blocks of a request did, by path.
#[derive(Debug, Default)]
pub struct Traces {
    /// The blocks that ended, in the order of their ends.
    pub ended: IndexMap<Arc<str>, Vec<Did>>,
    /// The blocks that wait for an answer, to which they or blocks inside them asked a question: what they did so far.
    pub waiting: IndexMap<Arc<str>, Vec<Did>>,
}

/// The result in the last event, if it ends the request: its output or its error, as the end of a block tells them.
pub fn end_of_request(events: &[Event]) -> Option<Value> {
    described::end_of_request(Events::new(events), &events.last()?.kind)
}

/// What the blocks of a request did, by path, in order of their ends; a block that never ended is absent.
pub fn trace(events: &[Event]) -> IndexMap<Arc<str>, Vec<Did>> {
    traces(events).ended
}

/// What the blocks of a request did that ended, or that wait for an answer.
pub fn traces(events: &[Event]) -> Traces {
    let (view, attempts, edited) = (Events::new(events), ReplayOrder::read(events), edited_steps(events));
    let mut open: HashMap<Arc<str>, Vec<Did>> = HashMap::new();
    let Traces { mut ended, mut waiting } = Traces::default();
    // What those did that have not come to their end.
    let mut unfinished: HashMap<Arc<str>, Vec<Did>> = HashMap::new();
    let mut items = Items::default();
    // What functions did in attempts that were cut off.
    let mut cut: HashMap<Seq, Did> = HashMap::new();
    let mut functions: HashMap<(Arc<str>, &str), Vec<Did>> = HashMap::new();
    let mut calls: HashMap<Seq, String> = HashMap::new();
    let mut resumed: HashMap<(Arc<str>, u32), Resumed> = HashMap::new();
    let own = edited_input(events).unwrap_or(0);
    for event in events.iter().filter(|event| event.seq > own) {
        items.read(event);
        let Some(path) = &event.path else { continue };
        // What a fork has instead of what a block did is not done again.
        if edited.iter().any(|edited| is_at_or_inside(path, edited)) {
            continue;
        }
        let counts = attempts.place(event).is_some_and(|place| attempts.last(path) == Some(place));
        let is_cut = attempts.is_cut(event);
        let has_not_ended = attempts.is_of_unfinished(event);
        let suspends = matches!(event.kind, EventKind::BlockFinished { outcome: Outcome::Suspended, .. });
        if attempts.goes_on(path, event.attempt) {
            let resumed = resumed.entry((path.clone(), event.attempt)).or_default();
            resumed.read(view, &items, event);
            if let EventKind::CallbackReturned { callback, events, memoized: false, .. } = &event.kind {
                functions.insert((path.clone(), callback.as_str()), resumed.of(events));
            }
            if counts && matches!(event.kind, EventKind::BlockFinished { .. }) {
                ended.insert(path.clone(), resumed.done());
            }
            if has_not_ended && suspends {
                waiting.insert(path.clone(), resumed.so_far());
            }
            continue;
        }
        if let EventKind::CallbackReturned { callback, events, memoized, .. } = &event.kind {
            let key = (path.clone(), callback.as_str());
            if has_not_ended && *memoized {
                unfinished.entry(path.clone()).or_default().extend(functions.remove(&key).unwrap_or_default());
            } else if is_cut && !memoized {
                functions.insert(key, events.iter().filter_map(|seq| cut.remove(seq)).collect());
            } else if counts && *memoized {
                // What it did before the cut stands where it would have been called.
                open.entry(path.clone()).or_default().extend(functions.remove(&key).unwrap_or_default());
            }
            continue;
        }
        if has_not_ended && suspends {
            waiting.insert(path.clone(), in_order(unfinished.remove(path).unwrap_or_default()));
            continue;
        }
        let Some(what) = what(view, &items.types, event).filter(|_| counts || has_not_ended) else { continue };
        let call = call_of(event, &calls);
        calls.extend(call.clone().map(|call| (event.seq, call)));
        let did = items.did(event, what, call);
        if has_not_ended && !attempts.is_of_newest(event) {
            cut.insert(event.seq, did);
            continue;
        }
        if has_not_ended {
            cut.insert(event.seq, did.clone());
            unfinished.entry(path.clone()).or_default().push(did);
            continue;
        }
        if is_cut {
            cut.insert(event.seq, did);
            continue;
        }
        match &event.kind {
            EventKind::BlockFinished { error, .. } => {
                let mut done = open.remove(path).unwrap_or_default();
                if error.as_ref().is_some_and(FlowError::is_abort) {
                    items.leave_out_unfinished(&mut done);
                }
                let mut done = in_order(done);
                done.push(did);
                ended.insert(path.clone(), done);
            }
            _ => open.entry(path.clone()).or_default().push(did),
        }
    }
    for (path, said) in items.said_before {
        let of_block = ended.get_mut(&path).into_iter().chain(waiting.get_mut(&path));
        of_block.for_each(|did| drop(did.splice(0..0, said.iter().cloned())));
    }
    Traces { ended, waiting }
}

/// What a block did before its end, with the calls of tools by their names, and each growing text as one.
fn in_order(mut done: Vec<Did>) -> Vec<Did> {
    done.sort_by(|one, other| one.call.cmp(&other.call));
    let mut first_parts: HashMap<Seq, usize> = HashMap::new();
    let mut ordered: Vec<Did> = Vec::with_capacity(done.len());
    for did in done {
        let first = did.part_of.and_then(|of| first_parts.get(&of).copied());
        match first.and_then(|first| ordered.get_mut(first)) {
            Some(first) => described::grow(&mut first.what, &did.what),
            None => {
                first_parts.extend(did.part_of.map(|of| (of, ordered.len())));
                ordered.push(did);
            }
        }
    }
    ordered
}

/// What is known of items.
#[derive(Default)]
struct Items {
    /// The type of each that was whole when it was added. Others have their final form at their end.
    types: HashMap<Seq, String>,
    /// The paths of the blocks that began.
    began: HashSet<Arc<str>>,
    /// What was said before a block began: the user's message.
    said_before: IndexMap<Arc<str>, Vec<Did>>,
    /// Those that came to their end.
    done: HashSet<Seq>,
    was_resumed: bool,
}

impl Items {
    fn read(&mut self, event: &Event) {
        match (&event.kind, &event.path) {
            (EventKind::ItemDone { of, .. }, _) => drop(self.done.insert(*of)),
            (EventKind::BlockStarted { .. }, Some(path)) if !self.began.contains(path) => {
                self.began.insert(path.clone());
            }
            (EventKind::RequestResumed { .. }, _) => self.was_resumed = true,
            (EventKind::ItemAdded { item }, Some(path)) if item.status != ItemStatus::InProgress => {
                self.types.insert(event.seq, item.item_type.clone());
                if !self.began.contains(path) {
                    let said = Did::added(event.seq, described::item(item));
                    let known = self.said_before.entry(path.clone()).or_default();
                    // A request that was killed before its first block began says it again.
                    if !self.was_resumed || !known.iter().any(|known| known.what == said.what) {
                        known.push(said);
                    }
                }
            }
            _ => {}
        }
    }

    /// Takes out what an aborted block had begun to say: a replay has no answer of the model whose words these were.
    fn leave_out_unfinished(&self, did: &mut Vec<Did>) {
        did.retain(|one| {
            let begins = (one.what["begins"] == true).then_some(one.seq);
            begins.or(one.part_of).is_none_or(|of| self.done.contains(&of))
        });
    }

    fn did(&self, event: &Event, what: Value, call: Option<String>) -> Did {
        let part_of = match &event.kind {
            EventKind::ItemDelta { of, .. } => Some(*of),
            _ => None,
        };
        let is_new = matches!(event.kind, EventKind::ItemDelta { .. } | EventKind::ItemUpdated { .. });
        Did { seq: event.seq, what, call, part_of, is_new }
    }
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
    fn read(&mut self, view: Events<'_>, items: &Items, event: &Event) {
        if let EventKind::CallbackReturned { events, memoized: false, .. } = &event.kind {
            for place in events.iter().filter_map(|seq| self.places.get(seq)) {
                self.did[*place].is_kept = true;
            }
            return;
        }
        if let EventKind::ItemUpdated { of, .. } = &event.kind
            && let Some(place) = self.places.get(of).copied()
            && self.did[place].run < self.run
        {
            // It goes on with an item of an earlier run, behind what this run did before.
            if place >= self.at {
                self.did[place].run = self.run;
                self.at = place + 1;
            } else {
                let did = self.did[place].did.clone();
                self.did.push(Done { did, is_kept: false, run: self.run });
                self.at = self.did.len();
                self.places.insert(*of, self.at - 1);
            }
            return;
        }
        let what = match &event.kind {
            EventKind::BlockResumed { .. } => {
                (self.run, self.at) = (self.run + 1, 0);
                self.begin.clone()
            }
            // What fails, and goes on then, has not come to its end.
            _ => what(view, &items.types, event),
        };
        let Some(what) = what else { return };
        if matches!(event.kind, EventKind::BlockStarted { .. }) {
            self.begin = Some(what.clone());
        }
        let call = call_of(event, &self.calls);
        self.calls.extend(call.clone().map(|call| (event.seq, call)));
        let did = items.did(event, what, call);
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
        let mut done: Vec<Did> = self.of_newest_run().cloned().collect();
        // Its end comes last.
        let end = done.pop();
        in_order(done).into_iter().chain(end).collect()
    }

    /// What it did by the end of its newest run, in which it did not come to its end.
    fn so_far(&self) -> Vec<Did> {
        in_order(self.of_newest_run().cloned().collect())
    }

    fn of_newest_run(&self) -> impl Iterator<Item = &Did> {
        self.did.iter().filter(|done| done.is_kept || done.run == self.run).map(|done| &done.did)
    }
}
