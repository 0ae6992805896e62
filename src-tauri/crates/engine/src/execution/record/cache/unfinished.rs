//! The blocks that had begun and not completed when the request was interrupted.
//!
//! A block that runs others goes on as the same instance (SEMANTICS §10.2), so a resume needs what the log has of its
//! beginning. Must not decide which blocks go on: `run` does.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::recorded_items::RecordedItems;
use super::{BlockRun, OpenQuestion, ReplayCache};
use crate::model::data::Data;
use crate::model::event::{BlockKind, Event, EventKind};
use crate::model::flow::Block;

/// The newest attempt of a block, which has begun and not completed.
#[derive(Clone, Debug)]
pub(crate) struct UnfinishedBlock {
    pub(super) run: BlockRun,
    pub(crate) name: Arc<str>,
    pub(crate) kind: BlockKind,
    pub(super) fingerprint: Option<Arc<str>>,
    pub(super) input: Data,
    /// The instance that ran it.
    pub(super) parent: Option<Arc<str>>,
    /// Whether it has failed.
    pub(crate) has_failed: bool,
    /// The initial value of its own state, as recorded.
    pub(crate) own: Option<Value>,
    /// The items that it added while they grew.
    pub(crate) items: RecordedItems,
}

impl UnfinishedBlock {
    /// Returns which attempt of its path it is.
    pub(crate) fn attempt(&self) -> u32 {
        self.run.attempt
    }
}

/// How often attempts were resumed, as the log is read. Most never are.
#[derive(Default)]
pub(super) struct Resumptions(HashMap<(Arc<str>, u32), u32>);

impl Resumptions {
    /// Returns the run of an attempt that an event belongs to. Events come in their order.
    pub(super) fn run(&mut self, path: &Arc<str>, event: &Event) -> BlockRun {
        let attempt = event.attempt;
        if matches!(event.kind, EventKind::BlockResumed { .. }) {
            *self.0.entry((path.clone(), attempt)).or_default() += 1;
        }
        let resumed =
            if self.0.is_empty() { 0 } else { self.0.get(&(path.clone(), attempt)).copied().unwrap_or_default() };
        BlockRun { attempt, resumed }
    }
}

impl ReplayCache {
    /// Returns the newest attempt of a path, if it began and did not complete, and was not discarded.
    pub(crate) fn unfinished(&self, path: &str) -> Option<&UnfinishedBlock> {
        self.unfinished.get(path).filter(|_| !self.is_discarded(path, true))
    }

    /// Returns the attempt of a block that still waits, with the questions of it and of the blocks inside it. `code` is
    /// the hash of the code of today, and `by` the instance that is about to run the block. Returns `None` if the block
    /// must run: it has a new answer, or it, its input or its code is another one.
    pub(crate) fn still_waiting(
        &self,
        path: &str,
        block: &Block,
        input: &Data,
        by: Option<&str>,
        code: &str,
    ) -> Option<(&UnfinishedBlock, Vec<OpenQuestion>)> {
        let ended = self.waiting.ended(path, code)?;
        let known = self.unfinished(path)?;
        let is_same = known.name == block.name && known.kind == block.kind() && known.parent.as_deref() == by;
        if !is_same || known.fingerprint != block.fingerprint() || known.input != *input {
            return None;
        }
        let questions = self.suspensions.unanswered_since(path, ended)?;
        (!questions.is_empty()).then_some((known, questions))
    }
}
