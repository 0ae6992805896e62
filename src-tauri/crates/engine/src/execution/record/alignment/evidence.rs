//! What each version of the code recorded in the log of one request, for the comparison with the flow of today.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::assign::RecordedOperation;
use super::renumber::{self, split};
use crate::model::event::{BlockKind, Event, EventKind, Outcome, Seq};
use crate::model::flow::Block;
use crate::model::identity::InstanceId;
use crate::model::path::path_below;

/// What one version of the code recorded in the log of one request.
#[derive(Default)]
pub(super) struct Evidence {
    /// The blocks that began within each block.
    pub(super) children: HashMap<String, Vec<String>>,
    /// The blocks that began.
    pub(super) blocks: HashMap<String, RecordedStart>,
    /// The callbacks of each block that returned, by their names.
    pub(super) functions: HashMap<String, HashMap<String, ReturnedFunction>>,
}

/// A callback that returned.
pub(super) struct ReturnedFunction {
    first: Seq,
    /// The newest that is known.
    fingerprint: Arc<str>,
    /// Whether it returned by itself.
    has_run: bool,
    /// Whether a resume took the result from the log.
    was_memoized: bool,
}

/// Operations of a chain by group (the label without its number) and by number.
pub(super) type Operations = HashMap<String, BTreeMap<u32, RecordedOperation>>;

pub(super) struct RecordedStart {
    first: Seq,
    name: Arc<str>,
    pub(super) kind: BlockKind,
    /// The newest that is known.
    fingerprint: Option<Arc<str>>,
    has_ended: bool,
    times: u32,
    /// How many of these times a resume took the result from the log.
    times_memoized: u32,
}

impl RecordedStart {
    /// Returns whether it is a block that runs others, and another one than that of today.
    pub(super) fn is_another(&self, today: &Block) -> bool {
        self.kind != BlockKind::Handler && (self.kind != today.kind() || self.name != today.name)
    }
}

/// Whether a block below a chain is of no operation of it: a handler of its rescue, a block that a function of it has
/// run, or a reaction.
fn is_of_no_operation(rest: &str) -> bool {
    rest.split_once(':').is_some_and(|(word, _)| matches!(word, "rescue" | "run" | "react"))
}

impl Evidence {
    /// Reads an event.
    pub(super) fn read(&mut self, event: &Event) {
        let Some(path) = event.path.as_deref() else { return };
        match &event.kind {
            EventKind::BlockStarted { name, block, parent, fingerprint, .. } => {
                let parent = parent.as_deref().and_then(InstanceId::parse).map(|around| around.path);
                let began = self.blocks.entry(path.to_owned()).or_insert_with(|| {
                    if let Some(parent) = parent {
                        self.children.entry(parent.to_owned()).or_default().push(path.to_owned());
                    }
                    RecordedStart {
                        first: event.seq,
                        name: name.clone(),
                        kind: *block,
                        fingerprint: None,
                        has_ended: false,
                        times: 0,
                        times_memoized: 0,
                    }
                });
                began.times += 1;
                began.fingerprint = fingerprint.clone().or(began.fingerprint.take());
            }
            EventKind::BlockResumed { fingerprint, .. } => {
                if let Some(began) = self.blocks.get_mut(path) {
                    began.times += 1;
                    began.fingerprint = fingerprint.clone().or(began.fingerprint.take());
                }
            }
            EventKind::Drift { callback: None, fingerprint: Some(fingerprint), .. } => {
                if let Some(began) = self.blocks.get_mut(path) {
                    began.fingerprint = Some(fingerprint.clone());
                }
            }
            EventKind::Drift { callback: Some(name), fingerprint: Some(fingerprint), .. } => {
                if let Some(returned) = self.functions.get_mut(path).and_then(|of_block| of_block.get_mut(name)) {
                    returned.fingerprint = fingerprint.clone();
                }
            }
            EventKind::BlockFinished { memoized, outcome, .. } => {
                if let Some(began) = self.blocks.get_mut(path) {
                    began.times_memoized += u32::from(*memoized);
                    began.has_ended |= matches!(outcome, Outcome::Completed | Outcome::Failed);
                }
            }
            EventKind::CallbackReturned { callback, fingerprint: Some(fingerprint), memoized, .. } => {
                let of_block = self.functions.entry(path.to_owned()).or_default();
                let new = || {
                    let (first, fingerprint) = (event.seq, fingerprint.clone());
                    ReturnedFunction { first, fingerprint, has_run: false, was_memoized: false }
                };
                let returned = of_block.entry(callback.clone()).or_insert_with(new);
                returned.fingerprint.clone_from(fingerprint);
                returned.has_run |= !memoized;
                returned.was_memoized |= memoized;
            }
            _ => {}
        }
    }

    /// Returns what was recorded of the operations of a chain, by group and number.
    pub(super) fn operations(&self, chain: &str, groups: &HashSet<&str>) -> Operations {
        let mut found: HashMap<String, BTreeMap<u32, RecordedOperation>> = HashMap::new();
        for (callback, returned) in self.functions.get(chain).into_iter().flatten() {
            let Some((label, role)) = renumber::label_of(callback) else { continue };
            let label = split(label);
            let recorded = found.entry(label.head.to_owned()).or_default().entry(label.number).or_default();
            recorded.source.add_function(role, returned.fingerprint.clone());
            let times = [(returned.has_run, false), (returned.was_memoized, true)];
            for (_, is_memoized) in times.into_iter().filter(|(is_so, _)| *is_so) {
                recorded.add(returned.first, is_memoized, true);
            }
        }
        for child in self.children.get(chain).into_iter().flatten() {
            let Some(rest) = path_below(child, chain) else { continue };
            let began = &self.blocks[child];
            let Some(fingerprint) = &began.fingerprint else { continue };
            if is_of_no_operation(rest) {
                continue;
            }
            let Some((group, number, key)) = renumber::place_of(rest, |group| groups.contains(group)) else { continue };
            let recorded = found.entry(group).or_default().entry(number).or_default();
            recorded.source.set_block(key, began.name.clone(), fingerprint.clone());
            recorded.add(began.first, began.times_memoized >= began.times, began.has_ended);
        }
        found
    }
}
