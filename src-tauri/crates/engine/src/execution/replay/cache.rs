//! The replay cache: the recorded results that a resume takes from the log instead of running code again.
//!
//! Keyed by logical path (SEMANTICS §10.2). A block that ended returns its recorded output, or its recorded error if
//! that was caught, and its writes to shared state are applied again; a block that was running starts from its top.
//! Must not decide whether changed code fits: another name or kind at a path is drift, which stops the resume.

mod discarded;
mod failures;
mod numbers;
mod pauses;
mod shared_writes;
mod suspensions;
mod tries;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Included};
use std::sync::Arc;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use serde_json::Value;

use crate::model::data::Data;
use crate::model::effects::{EffectKind, ModelReply};
use crate::model::error::FlowError;
use crate::model::event::{BlockKind, CaughtBy, Event, EventKind, Outcome, RecordedReturn, Seq};
use crate::model::flow::Block;
use crate::model::identity::{InstanceId, StateOwner};
use crate::model::operation::Operation;
use crate::model::path::{self, background_task, range_inside, with_ancestors};
use crate::model::resource::reaction::DueReaction;
use crate::model::scope::ScopeKind;
use crate::model::suspension::Resolved;
use crate::views::detached::Detached;
use crate::views::model_requests::{AskedWith, Requests};
use crate::views::{Events, edited, edited_input};
use numbers::Numbered;
use pauses::Pauses;
use shared_writes::RecordedWrites;
pub(crate) use suspensions::RecordedSuspension;
use suspensions::RecordedSuspensions;

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
    /// The event that holds the output.
    pub(crate) seq: Seq,
    /// The event that ended it.
    pub(crate) ended: Seq,
    attempt: u32,
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

/// Recorded writes to one shared state that a resume has not applied yet, in order: the event, the writer's path, and
/// the operation.
type PendingWrites = VecDeque<(Seq, Arc<str>, Operation)>;

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

/// One execution of a path: the path, and the attempt.
type Attempt = (Arc<str>, u32);

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
    /// Blocks whose newest attempt suspended.
    suspended: HashSet<Arc<str>>,
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

/// A block that has not ended yet, while the log is read.
struct OpenBlock {
    name: Arc<str>,
    kind: BlockKind,
    fingerprint: Option<Arc<str>>,
    input: Data,
    changes: Vec<(Seq, SharedStateOwner, Operation)>,
    /// Clock and random values, except those of callbacks that have returned.
    sync_effects: Vec<(Seq, EffectKind, Value)>,
    /// The callbacks that suspended; `None` for the body.
    suspended_in: HashSet<Option<String>>,
    /// The last text that it put into the status slot.
    status: Option<(Seq, String)>,
}

impl OpenBlock {
    /// Returns the clock and random values of what suspended; `None` unless that is exactly one callback or the body.
    fn sync_effects(self) -> Option<HashMap<EffectSource, Vec<Value>>> {
        let mut sources = self.suspended_in.into_iter();
        let (Some(source), None) = (sources.next(), sources.next()) else { return None };
        let mut found: HashMap<EffectSource, Vec<Value>> = HashMap::default();
        for (_, kind, value) in self.sync_effects {
            found.entry((source.clone(), kind)).or_default().push(value);
        }
        Some(found)
    }
}

/// A write to shared state: by which attempt, by which event, to which state, and the operation.
type SharedWrite = (Attempt, Seq, SharedStateOwner, Operation);

/// The newest text of the status slot that an ended block or a returned callback put there. What an attempt that was
/// cut off put there is not restored: its block puts it there again.
#[derive(Default)]
struct Status(Option<(Seq, String)>);

impl Status {
    fn settle(&mut self, status: Option<(Seq, String)>) {
        if status.as_ref().map(|(seq, _)| *seq) > self.0.as_ref().map(|(seq, _)| *seq) {
            self.0 = status;
        }
    }
}

/// Builds the cache, reading a log from its first event to its last.
struct LogReader<'e> {
    view: Events<'e>,
    replay_cache: ReplayCache,
    requests: Requests,
    open: HashMap<Attempt, OpenBlock>,
    detached: Detached,
    last_parent: failures::LastParent,
    status: Status,
    writes: RecordedWrites,
    /// Every path that has started, in order, so that the paths inside one are a range.
    paths: BTreeSet<Arc<str>>,
}

impl ReplayCache {
    /// Reads a log. `answers` were given since the last event.
    pub(crate) fn read(events: &[Event], answers: &[Resolved]) -> ReplayCache {
        ReplayCache::read_at(events, answers, |_| true)
    }

    /// As [`read`](Self::read), with only the shared state writes of some paths.
    fn read_at(events: &[Event], answers: &[Resolved], is_wanted: impl Fn(&str) -> bool) -> ReplayCache {
        let view = Events::new(events);
        let mut reader = LogReader {
            view,
            replay_cache: ReplayCache::default(),
            requests: Requests::default(),
            open: HashMap::default(),
            detached: Detached::default(),
            last_parent: None,
            status: Status::default(),
            writes: RecordedWrites::default(),
            paths: BTreeSet::new(),
        };
        events.iter().for_each(|event| reader.read(event));
        let LogReader { mut replay_cache, writes, status, .. } = reader;
        replay_cache.status_line = status.0.map(|(_, text)| text);
        answers.iter().for_each(|answer| replay_cache.suspensions.answer(&answer.id, Some(answer), None));
        let writes = writes.in_order(|by| replay_cache.has_ended_in(by));
        for ((path, _), seq, shared, change) in writes.into_iter().filter(|((path, _), ..)| is_wanted(path)) {
            replay_cache.pending.get_mut().entry(shared).or_default().push_back((seq, path, change));
        }
        replay_cache
    }

    /// Returns whether the block ended in this attempt.
    fn has_ended_in(&self, (path, attempt): &Attempt) -> bool {
        self.finished.get(path).is_some_and(|done| done.attempt == *attempt)
    }

    /// Reads what a replay takes from a log: answers to suspensions, and the edits of a fork. It runs the rest again.
    pub(crate) fn for_replay(events: &[Event]) -> ReplayCache {
        let mut replay_cache = ReplayCache::default();
        let edited = edited(events);
        if let Some(seq) = edited_input(events) {
            let common = events.partition_point(|event| event.seq < seq);
            replay_cache = ReplayCache {
                attempts: HashMap::default(),
                calls: HashMap::default(),
                pauses: Pauses::default(),
                ..ReplayCache::read(&events[..common], &[])
            };
        } else if !edited.is_empty() {
            let is_edited = |path: &str| with_ancestors(path).any(|around| edited.contains(around));
            let all = ReplayCache::read_at(events, &[], is_edited);
            (replay_cache.finished, replay_cache.pending, replay_cache.has_only_edits) =
                (all.finished, all.pending, true);
            replay_cache.finished.retain(|path, _| edited.contains(path));
        }
        for event in events {
            match (&event.kind, &event.path) {
                (EventKind::Suspended(request), Some(path)) => replay_cache.suspensions.ask(path, event.seq, request),
                (EventKind::SuspensionResolved(resolved), _) => {
                    replay_cache.suspensions.answer(&resolved.id, Some(resolved), Some((event.at, event.seq)))
                }
                (EventKind::SuspensionReopened { id }, _) => replay_cache.suspensions.answer(id, None, None),
                _ => {}
            }
        }
        replay_cache
    }

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
        let is_of_end = callback.is_some() || self.finished.get(path).is_some_and(|done| done.attempt == *attempt);
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

    /// Returns the event that ended a block, and whether it succeeded; for a rescued one those of its rescue.
    pub(crate) fn end_of(&self, path: &str) -> Option<(Seq, bool)> {
        let done = self.ended(path)?;
        if done.result.is_ok() {
            return Some((done.ended, true));
        }
        let done = self.rescue_of(path).and_then(|rescue| self.ended(rescue)).unwrap_or(done);
        Some((done.ended, done.result.is_ok()))
    }

    /// Returns whether the newest attempt of a block suspended.
    pub(crate) fn has_suspended(&self, path: &str) -> bool {
        self.suspended.contains(path) && !self.is_discarded(path, true)
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

    /// Returns whether a drift event with this text was recorded before.
    pub(crate) fn has_drift_text(&self, text: &str) -> bool {
        self.drift_texts.contains(text)
    }
}

impl LogReader<'_> {
    /// Discards an attempt at a path. Writes that blocks inside it made to state outside are kept, like their commits
    /// to durable records.
    fn discard_below(&mut self, path: &Arc<str>) {
        let range = range_inside(path);
        let inside = self.paths.range::<str, _>((Included(&*range.start), Excluded(&*range.end)));
        let inside: Vec<Arc<str>> = inside.cloned().collect();
        self.writes.discard_below(path, &inside, |by| self.replay_cache.has_ended_in(by));
        self.replay_cache.discard_below(path, &inside);
    }

    /// Reads an event of a detached execution (see [`Detached`]): only its attempt is counted.
    fn read_detached(&mut self, (path, attempt): Attempt, event: &Event) {
        if matches!(event.kind, EventKind::BlockStarted { .. }) {
            let next = self.replay_cache.attempts.entry(path).or_insert(0);
            *next = (*next).max(attempt + 1);
        }
    }

    fn read(&mut self, event: &Event) {
        self.requests.read(event);
        if let (true, Some(path)) = (self.detached.read(event), &event.path) {
            self.discard_below(path);
        }
        let is_detached = event.path.as_deref().is_some_and(|path| self.detached.has(path, event.attempt));
        let replay_cache = &mut self.replay_cache;
        let Some(path) = &event.path else {
            match &event.kind {
                EventKind::RequestStarted { .. } | EventKind::InputEdited { .. } => replay_cache.input = event.seq,
                EventKind::RequestResumed { .. } => self.open.clear(),
                EventKind::ItemAdded { item } if item.item_type == "step_error" => {
                    replay_cache
                        .reported_failures
                        .extend(item.payload.get("path").and_then(Value::as_str).map(Arc::from));
                }
                EventKind::RequestFinished { error: Some(error), .. } => replay_cache.forget_failures(error),
                EventKind::SuspensionResolved(resolved) => {
                    replay_cache.suspensions.answer(&resolved.id, Some(resolved), Some((event.at, event.seq)))
                }
                EventKind::SuspensionReopened { id } => replay_cache.suspensions.answer(id, None, None),
                _ => {}
            }
            return;
        };
        let key = (path.clone(), event.attempt);
        if is_detached {
            self.read_detached(key, event);
            return;
        }
        replay_cache.pauses.read(path, event);
        match &event.kind {
            EventKind::BlockStarted { name, block, input, fingerprint, parent, .. } => {
                replay_cache.follow_parent(path, parent.as_ref(), &mut self.last_parent);
                if !self.paths.contains(path) {
                    self.paths.insert(path.clone());
                }
                let input = Data::from(self.view.value(input).cloned());
                let (name, kind, fingerprint) = (name.clone(), *block, fingerprint.clone());
                let (changes, sync_effects, suspended_in) = (Vec::new(), Vec::new(), HashSet::default());
                let status = None;
                self.open.insert(
                    key,
                    OpenBlock { name, kind, fingerprint, input, changes, sync_effects, suspended_in, status },
                );
                replay_cache.suspended.remove(path);
                let next = replay_cache.attempts.entry(path.clone()).or_insert(0);
                *next = (*next).max(event.attempt + 1);
                // Of the innermost task: a task may start tasks of its own, end, and leave them under way.
                let chain = background_task(path).and_then(path::parent);
                replay_cache.with_background_work.extend(chain.into_iter().flat_map(with_ancestors).map(Arc::from));
            }
            EventKind::StateChanged { scope, operation, .. } if !scope.kind.is_durable() => {
                let shared = match scope.kind {
                    ScopeKind::Request => SharedStateOwner::Request,
                    _ => match StateOwner::parse(&scope.id) {
                        Some(owner) => SharedStateOwner::Of(owner.instance.path.to_owned()),
                        None => return,
                    },
                };
                if let Some(open) = self.open.get_mut(&key) {
                    open.changes.push((event.seq, shared, operation.clone()));
                }
            }
            EventKind::CallbackReturned { callback, fingerprint, returned, events, superseded, memoized, .. } => {
                let Some(open) = self.open.get_mut(&key) else { return };
                open.changes.retain(|(seq, ..)| !superseded.contains(seq));
                let own: HashSet<Seq> = events.iter().copied().collect();
                open.sync_effects.retain(|(seq, ..)| !own.contains(seq));
                let done = open.changes.extract_if(.., |(seq, ..)| own.contains(seq));
                // These repeat writes of an earlier event, which counts instead.
                if *memoized {
                    done.for_each(drop);
                    return;
                }
                self.writes.keep(done.map(|(seq, shared, change)| (key.clone(), seq, shared, change)));
                self.status.settle(open.status.take_if(|(seq, _)| own.contains(seq)));
                replay_cache.calls.get_mut(path).into_iter().for_each(|calls| calls.take_out(|seq| own.contains(&seq)));
                let (fingerprint, returned) = (fingerprint.clone(), returned.clone());
                let done = RecordedCallback { fingerprint, returned, ended: event.seq };
                replay_cache.functions.entry(path.clone()).or_default().insert(callback.clone(), done);
            }
            EventKind::OutputEdited { output } => {
                if let Some(done) = replay_cache.finished.get_mut(path) {
                    done.result = Ok(Data::from(self.view.value(output).cloned()));
                    done.seq = event.seq;
                }
            }
            EventKind::StateEdited { of, operation } => {
                let shared = of.clone().map_or(SharedStateOwner::Request, SharedStateOwner::Of);
                // Ordered as if the step itself had written it.
                let at = replay_cache.finished.get(path).map_or(event.seq, |done| done.ended);
                self.writes.keep([(key, at, shared, operation.clone())]);
            }
            EventKind::ReactionsDue { callback, reactions } => {
                let due = (event.attempt, reactions.clone());
                replay_cache.due.entry(path.clone()).or_default().insert(callback.clone(), due);
            }
            EventKind::RouteDecided { route } => drop(replay_cache.routes.insert(path.clone(), route.clone())),
            EventKind::EffectFinished { effect: EffectKind::Model, ordinal, result, error, .. } => {
                let answer = match error {
                    Some(error) => Err(error.clone()),
                    None => Ok(crate::model::json::from_value(result.clone()).unwrap_or_default()),
                };
                let (held_by, asked) = self.requests.asked(event).unzip();
                let call = RecordedModelCall { asked: asked.cloned(), held_by, ended: event.seq, answer };
                replay_cache.calls.entry(path.clone()).or_default().insert(&key, *ordinal, event.seq, call);
            }
            EventKind::EffectFinished {
                effect: effect @ (EffectKind::Clock | EffectKind::Random | EffectKind::Uuid),
                result,
                ..
            } => {
                if let Some(open) = self.open.get_mut(&key) {
                    open.sync_effects.push((event.seq, *effect, result.clone()));
                }
            }
            EventKind::Suspended(request) => {
                replay_cache.suspensions.ask(path, event.seq, request);
                if let Some(open) = self.open.get_mut(&key) {
                    open.suspended_in.insert(request.callback.clone());
                }
            }
            EventKind::Drift { text, .. } => drop(replay_cache.drift_texts.insert(text.clone())),
            EventKind::ItemAdded { item } => match item.item_type.as_str() {
                "step_error" => {
                    replay_cache
                        .reported_failures
                        .extend(item.payload.get("path").and_then(Value::as_str).map(Arc::from));
                }
                "message" if replay_cache.attempts.is_empty() => replay_cache.has_user_message = true,
                "status" => {
                    let text = item.payload.get("message").and_then(Value::as_str);
                    if let (Some(text), Some(open)) = (text, self.open.get_mut(&key)) {
                        open.status = Some((event.seq, text.to_owned()));
                    }
                }
                _ => {}
            },
            EventKind::BlockFinished { outcome, output, error, caught, memoized, .. } => {
                let Some(open) = self.open.remove(&key) else { return };
                if *outcome == Outcome::Failed && open.kind != BlockKind::Sequencer {
                    replay_cache.failed.insert(InstanceId { path, attempt: event.attempt }.to_string().into());
                }
                if *outcome == Outcome::Suspended {
                    replay_cache.suspended.insert(path.clone());
                    replay_cache
                        .sync_effects
                        .extend(open.sync_effects().map(|sync_effects| (path.clone(), sync_effects)));
                    return;
                }
                // This repeats an earlier end, which counts instead.
                if *memoized {
                    return;
                }
                let result = match (outcome, error) {
                    (Outcome::Completed, _) => {
                        Ok(Data::from(output.as_ref().and_then(|output| self.view.value(output)).cloned()))
                    }
                    (Outcome::Failed, Some(error)) if !error.is_abort() && error.name != "StorageError" => {
                        Err(Box::new(error.clone()))
                    }
                    (Outcome::Abandoned, Some(error)) => {
                        self.status.settle(open.status);
                        self.discard_below(path);
                        self.replay_cache.failed_tries.add(path, error);
                        return;
                    }
                    _ => return,
                };
                let OpenBlock { name, kind, fingerprint, input, changes, status, .. } = open;
                self.status.settle(status);
                replay_cache.failed_tries.forget(path);
                let by = |(seq, shared, change)| (key.clone(), seq, shared, change);
                self.writes.settle(path, changes.into_iter().map(by));
                let (seq, ended, attempt) = (event.seq, event.seq, event.attempt);
                let caught = *caught;
                let done = RecordedBlock { name, kind, fingerprint, input, result, caught, seq, ended, attempt };
                replay_cache.finished.insert(path.clone(), done);
            }
            _ => {}
        }
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
