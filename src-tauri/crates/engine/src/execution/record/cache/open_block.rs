//! A block that has not ended yet, while the log is read.

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use serde_json::Value;

use super::{EffectSource, PendingWrite, SharedStateOwner, UnfinishedBlock};
use crate::model::effects::EffectKind;
use crate::model::event::Seq;

/// A block that has not ended yet, while the log is read.
pub(super) struct OpenBlock {
    pub(super) begun: UnfinishedBlock,
    pub(super) changes: Vec<(SharedStateOwner, PendingWrite)>,
    /// Clock and random values, except those of callbacks that have returned.
    pub(super) sync_effects: Vec<(Seq, EffectKind, Value)>,
    /// The callbacks that suspended; `None` for the body.
    pub(super) suspended_in: HashSet<Option<String>>,
    /// The last text that it put into the status slot.
    pub(super) status: Option<(Seq, String)>,
}

impl OpenBlock {
    pub(super) fn new(begun: UnfinishedBlock) -> OpenBlock {
        let (changes, sync_effects, suspended_in) = (Vec::new(), Vec::new(), HashSet::default());
        OpenBlock { begun, changes, sync_effects, suspended_in, status: None }
    }

    /// Returns the clock and random values of what suspended; `None` unless that is exactly one callback or the body.
    pub(super) fn sync_effects(&mut self) -> Option<HashMap<EffectSource, Vec<Value>>> {
        let mut sources = std::mem::take(&mut self.suspended_in).into_iter();
        let (Some(source), None) = (sources.next(), sources.next()) else { return None };
        let mut found: HashMap<EffectSource, Vec<Value>> = HashMap::default();
        for (_, kind, value) in std::mem::take(&mut self.sync_effects) {
            found.entry((source.clone(), kind)).or_default().push(value);
        }
        Some(found)
    }
}

/// The newest text of the status slot that an ended block or a returned callback put there. What an attempt that was
/// cut off put there is not restored: its block puts it there again.
#[derive(Default)]
pub(super) struct Status(pub(super) Option<(Seq, String)>);

impl Status {
    pub(super) fn settle(&mut self, status: Option<(Seq, String)>) {
        if status.as_ref().map(|(seq, _)| *seq) > self.0.as_ref().map(|(seq, _)| *seq) {
            self.0 = status;
        }
    }
}
