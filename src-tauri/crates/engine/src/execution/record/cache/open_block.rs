//! Collects data of unfinished blocks while the log is read.

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
    /// The last text that it wrote to the status slot.
    pub(super) status: Option<(Seq, String)>,
}

impl OpenBlock {
    pub(super) fn new(begun: UnfinishedBlock) -> OpenBlock {
        let (changes, sync_effects, suspended_in) = (Vec::new(), Vec::new(), HashSet::default());
        OpenBlock { begun, changes, sync_effects, suspended_in, status: None }
    }

    /// Returns the clock and random values of the function that suspended; `None` unless exactly one (a callback or the
    /// body) did.
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

/// The newest text that an ended block or a returned callback wrote to the status slot. The text of an attempt that was
/// cut off is not restored, because its block writes it again.
#[derive(Default)]
pub(super) struct Status(pub(super) Option<(Seq, String)>);

impl Status {
    pub(super) fn settle(&mut self, status: Option<(Seq, String)>) {
        if status.as_ref().map(|(seq, _)| *seq) > self.0.as_ref().map(|(seq, _)| *seq) {
            self.0 = status;
        }
    }
}
