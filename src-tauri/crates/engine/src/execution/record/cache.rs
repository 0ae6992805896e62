//! The replay cache: the recorded results that a resume takes from the log instead of running code again.
//!
//! Keyed by logical path (SEMANTICS §10.2). A block that ended returns its recorded output, or its recorded error if
//! that was caught, and its writes to shared state are applied again; a block that was running starts from its top.
//! Must not decide whether changed code fits: another name or kind at a path is drift, which stops the resume.

mod common_part;
mod discarded;
pub(crate) mod exchanges;
mod failures;
mod numbers;
mod open_block;
mod pauses;
mod reader;
pub(crate) mod recorded_items;
mod shared_writes;
mod suspensions;
mod tries;
mod unfinished;
mod waiting;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use serde_json::Value;

use crate::model::data::Data;
use crate::model::effects::{EffectKind, ModelReply};
use crate::model::error::FlowError;
use crate::model::event::{BlockKind, CaughtBy, RecordedReturn, Seq};
use crate::model::flow::Block;
use crate::model::operation::Operation;
use crate::model::resource::due::DueReaction;
use crate::model::suspension::SuspensionRequest;
use crate::views::model_requests::AskedWith;
use numbers::Numbered;
use pauses::Pauses;
pub(crate) use suspensions::OpenQuestion;
pub use suspensions::RecordedSuspension;
use suspensions::RecordedSuspensions;
pub(crate) use unfinished::UnfinishedBlock;

pub(crate) use pauses::Pause;

/// A block that ended, as recorded.
pub(crate) struct RecordedBlock {
    pub(crate) name: Arc<str>,
    pub(crate) kind: BlockKind,
    pub(crate) fingerprint: Option<Arc<str>>,
    pub(crate) input: Data,
    pub(crate) result: Result<Data, Box<FlowError>>,
    /// Who caught the failure, where it failed.
    pub(crate) caught: Option<CaughtBy>,
    /// Whether it is the call of an agent's tool that returned an error.
    pub(crate) returned_error: bool,
    /// The event that holds the output.
    pub(crate) seq: Seq,
    /// The event that ended it.
    pub(crate) ended: Seq,
    /// Whether a fork gave it another output, and no attempt with that output is recorded.
    pub(crate) is_edited: bool,
    run: BlockRun,
}

impl RecordedBlock {
    /// Returns which attempt of its path it is.
    pub(crate) fn attempt(&self) -> u32 {
        self.run.attempt
    }
}

/// A callback that returned, as recorded.
pub(crate) struct RecordedCallback {
    pub(crate) fingerprint: Option<Arc<str>>,
    pub(crate) returned: Option<RecordedReturn>,
    /// Its `callback_returned` event.
    pub(crate) ended: Seq,
}

/// A model call that ended, as recorded.
pub(crate) struct RecordedModelCall {
    /// The request, if the log has it.
    pub(crate) asked: Option<AskedWith>,
    /// The event that holds the request.
    pub(crate) held_by: Option<Seq>,
    /// The event that ended it.
    pub(crate) ended: Seq,
    pub(crate) answer: Result<ModelReply, FlowError>,
}

/// One shared state, by its owner's path. It names the state of every attempt of that path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SharedStateOwner {
    Request,
    Of(String),
}

/// Recorded writes to one shared state that a resume has not applied yet, in order.
type PendingWrites = VecDeque<PendingWrite>;

/// A recorded write to a shared state.
#[derive(Clone, Debug)]
pub(crate) struct PendingWrite {
    /// The event that counts for its order.
    seq: Seq,
    pub(crate) operation: Operation,
    /// The version after it, as recorded; 0 for an edit of a fork.
    pub(crate) version: u64,
}

/// What the log has of a block that is about to run.
pub(crate) enum CacheLookup<'m> {
    /// No recorded end: the block runs.
    Nothing,
    /// It ended: its recorded result is used.
    Ended(&'m RecordedBlock),
    /// It ended, but background work inside it may not have. Its chain runs again to reach that work; every block in it
    /// that ended returns its recorded result.
    HasBackgroundWork(&'m RecordedBlock),
}

/// One uninterrupted run of an attempt: which attempt of its path, and how often it had been resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct BlockRun {
    attempt: u32,
    resumed: u32,
}

/// One run of a path.
type Attempt = (Arc<str>, BlockRun);

/// A write to shared state: by whom, to which state, and what.
struct SharedWrite {
    by: Attempt,
    owner: SharedStateOwner,
    write: PendingWrite,
}

/// The recorded results of a request.
#[derive(Default)]
pub(crate) struct ReplayCache {
    finished: HashMap<Arc<str>, RecordedBlock>,
    functions: HashMap<Arc<str>, HashMap<String, RecordedCallback>>,
    routes: HashMap<Arc<str>, String>,
    /// The reactions that were due after a block or a callback of it, with the attempt.
    due: discarded::Due,
    calls: HashMap<Arc<str>, Numbered<RecordedModelCall>>,
    pauses: Pauses,
    /// Its suspensions, answered or not.
    pub(crate) suspensions: RecordedSuspensions,
    /// The writes to shared state that are still to be applied.
    pending: RefCell<BTreeMap<SharedStateOwner, PendingWrites>>,
    /// Whether it holds only the edited steps of a fork, in a replay that runs all others again.
    pub(crate) has_only_edits: bool,
    /// Blocks that have started background work, and their ancestors.
    with_background_work: HashSet<Arc<str>>,
    /// Clock and random values that blocks got before they suspended, in order: by path, callback (`None` for the body)
    /// and kind.
    sync_effects: HashMap<Arc<str>, HashMap<EffectSource, Vec<Value>>>,
    /// HTTP exchanges that functions made whose return the log cannot hold.
    pub(crate) exchanges: exchanges::Exchanges,
    /// The texts of drift events.
    drift_texts: HashSet<String>,
    /// The paths of failures that have a `step_error` item.
    reported_failures: HashSet<Arc<str>>,
    /// The instances that failed, of blocks other than sequencers.
    failed: HashSet<Arc<str>>,
    /// The handlers of rescues that ran.
    rescues: failures::Rescues,
    /// The parent of every path that ever ran.
    parents: HashMap<Arc<str>, Arc<str>>,
    /// Blocks whose newest attempt began and did not complete.
    unfinished: HashMap<Arc<str>, UnfinishedBlock>,
    /// Blocks whose newest attempt suspended.
    suspended: HashSet<Arc<str>>,
    /// Those of them that a resume need not run again before they have an answer.
    waiting: waiting::Waiting,
    /// The next attempt of every path that ever ran.
    pub(crate) attempts: HashMap<Arc<str>, u32>,
    /// The tries of a block that have failed since it last ended.
    failed_tries: tries::FailedTries,
    /// The text of the status slot, as the blocks that ended left it.
    pub(crate) status_line: Option<String>,
    /// Whether the log has the item that `userMessage` made.
    pub(crate) has_user_message: bool,
    /// The event that holds the request's input.
    pub(crate) input: Seq,
    /// Paths whose attempt was discarded since the log was read: their recorded results are no longer used.
    discarded: RefCell<HashSet<Arc<str>>>,
}

/// Which callback of a block (`None` for the body) got a clock or random value, and its kind.
type EffectSource = (Option<String>, EffectKind);

impl ReplayCache {
    /// Returns what the log has at a path. Fails with `ReplayDriftError` if today's block has another name or kind.
    pub(crate) fn find(&self, path: &str, block: &Block) -> Result<CacheLookup<'_>, FlowError> {
        let Some(done) = self.ended(path) else { return Ok(CacheLookup::Nothing) };
        if done.name != block.name || done.kind != block.kind() {
            let recorded = format!("{} \"{}\"", done.kind.as_str(), done.name);
            let found = format!("{} \"{}\"", block.kind().as_str(), block.name);
            return Err(drift(path, &format!("finished {recorded}"), &found, (&recorded, &found)));
        }
        if block.only_runs_others() && done.result.is_ok() && self.with_background_work.contains(path) {
            Ok(CacheLookup::HasBackgroundWork(done))
        } else {
            Ok(CacheLookup::Ended(done))
        }
    }

    /// Returns the reactions that are due after a block that ended, or after a callback that returned.
    pub(crate) fn due(&self, path: &Arc<str>, callback: Option<&str>) -> Vec<DueReaction> {
        let of_path = self.due.get(path);
        let Some((attempt, due)) = of_path.and_then(|due| due.get(&callback.map(str::to_owned))) else {
            return Vec::new();
        };
        let is_of_end = callback.is_some() || self.finished.get(path).is_some_and(|done| done.attempt() == *attempt);
        if is_of_end { due.clone() } else { Vec::new() }
    }

    /// Fails with `ReplayDriftError` if the router chose another route before.
    pub(crate) fn check_route(&self, path: &str, route: &str) -> Result<(), FlowError> {
        match self.routes.get(path).filter(|_| !self.is_discarded(path, true)) {
            Some(taken) if taken != route => {
                let (recorded, found) = (format!("route \"{taken}\""), format!("route \"{route}\""));
                Err(drift(path, &format!("decision for {recorded}"), &found, (&recorded, &found)))
            }
            _ => Ok(()),
        }
    }

    /// Returns a recorded callback of a block, by its name.
    pub(crate) fn callback(&self, path: &str, function: &str) -> Option<&RecordedCallback> {
        self.functions.get(path)?.get(function).filter(|_| !self.is_discarded(path, true))
    }

    /// Returns a block's recorded model call of this ordinal.
    pub(crate) fn call(&self, path: &str, ordinal: u32) -> Option<&RecordedModelCall> {
        self.calls.get(path)?.get(ordinal).filter(|_| !self.is_discarded(path, true))
    }

    /// Returns a block's pause of this ordinal, if it keeps its end.
    pub(crate) fn pause(&self, path: &str, ordinal: u32) -> Option<Pause> {
        self.pauses.find(path, ordinal).filter(|_| !self.is_discarded(path, true))
    }

    /// Notes the newest source of what has ended: a block, or a callback of it.
    fn learn_source(&mut self, path: &str, callback: Option<&str>, fingerprint: Option<&Arc<str>>) {
        let of_block = self.finished.get_mut(path).map(|done| &mut done.fingerprint);
        let known = match callback {
            None => of_block,
            Some(name) => {
                self.functions.get_mut(path).and_then(|known| known.get_mut(name)).map(|done| &mut done.fingerprint)
            }
        };
        if let (Some(known), Some(_)) = (known, fingerprint) {
            *known = fingerprint.cloned();
        }
    }

    /// Returns the event that ended a block, and whether it succeeded. A failure that a handler of the block takes is
    /// no end yet: that of the handler counts.
    pub(crate) fn end_of(&self, path: &str, block: &Block) -> Option<(Seq, bool)> {
        let done = self.ended(path)?;
        let Err(error) = &done.result else { return Some((done.ended, true)) };
        match block.handler_after(error) {
            Some(handler) => self.end_of(&handler.path(path), &handler.block),
            None => Some((done.ended, false)),
        }
    }

    /// Returns whether the newest attempt of a block suspended, or that of the handler that takes its failure.
    pub(crate) fn has_suspended(&self, path: &str, block: &Block) -> bool {
        let failure = || self.ended(path)?.result.as_ref().err();
        let handler = || block.handler_after(failure()?);
        let is_waiting = self.suspended.contains(path) && !self.is_discarded(path, true);
        is_waiting || handler().is_some_and(|handler| self.has_suspended(&handler.path(path), &handler.block))
    }

    /// Returns whether the failure of a block has a `step_error` item.
    pub(crate) fn has_reported(&self, path: &str) -> bool {
        self.reported_failures.contains(path) && !self.is_discarded(path, true)
    }

    /// Returns the nth clock or random value that a block, or a callback of it, got before it suspended. With the same
    /// values it asks the same question again, so that the answer to it fits.
    pub(crate) fn sync_effect(&self, path: &str, function: Option<&str>, kind: EffectKind, nth: u32) -> Option<Value> {
        let source = (function.map(str::to_owned), kind);
        self.sync_effects.get(path)?.get(&source)?.get(nth as usize).cloned()
    }

    /// Returns the suspension that an attempt of a block asks for now.
    pub(crate) fn suspension(
        &self,
        path: &str,
        attempt: u32,
        asked: &SuspensionRequest,
    ) -> Option<&RecordedSuspension> {
        if self.suspensions.are_of_replay() {
            return self.suspensions.find_in_replay(path, asked, attempt);
        }
        self.suspensions.find(path, asked, self.is_discarded(path, true))
    }

    /// Returns the suspension that the body of a block asked for in the newest try, by its ordinal.
    pub(crate) fn own_suspension(&self, path: &str, ordinal: u32) -> Option<&RecordedSuspension> {
        let newest = self.suspensions.of_number(path, None, ordinal).last()?;
        let is_own = || !newest.is_of_earlier_try && !self.is_discarded(path, true);
        (self.suspensions.are_of_replay() || is_own()).then_some(newest)
    }

    /// Returns whether a drift event with this text was recorded before.
    pub(crate) fn has_drift_text(&self, text: &str) -> bool {
        self.drift_texts.contains(text)
    }
}

fn drift(path: &str, recorded: &str, found: &str, details: (&str, &str)) -> FlowError {
    let mut error = FlowError::new(
        "ReplayDriftError",
        format!("at {path} the log has a {recorded}, but the flow now has {found}; change it back, or run anew"),
    );
    error.classes.insert(1, "FlowError".to_owned());
    error.code = Some("replay_drift".to_owned());
    error.details = Some(serde_json::json!({ "path": path, "recorded": details.0, "found": details.1 }));
    error
}
