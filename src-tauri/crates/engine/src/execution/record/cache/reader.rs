//! Builds the replay cache: one pass over a log, from its first event to its last.
//!
//! Must not answer what a resume takes: the cache does.

mod gone;

use std::collections::BTreeSet;
use std::sync::Arc;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use serde_json::Value;

use super::common_part::CommonPart;
use super::open_block::{OpenBlock, Status};
use super::pauses::Pauses;
use super::recorded_items::RecordedItems;
use super::shared_writes::RecordedWrites;
use super::suspensions::RecordedSuspensions;
use super::unfinished::Resumptions;
use super::{
    Attempt, PendingWrite, RecordedBlock, RecordedCallback, RecordedModelCall, ReplayCache, SharedStateOwner,
    SharedWrite, UnfinishedBlock, failures,
};
use crate::model::data::Data;
use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::{BlockKind, Event, EventKind, Outcome, Seq};
use crate::model::identity::{InstanceId, StateOwner};
use crate::model::path::{self, background_task, with_ancestors};
use crate::model::scope::ScopeKind;
use crate::model::suspension::Resolved;
use crate::views::Events;
use crate::views::detached::Detached;
use crate::views::fork_edits::{edited_input, edited_steps};
use crate::views::model_requests::Requests;
use crate::views::replay_order::ReplayOrder;

/// Builds the cache, reading a log from its first event to its last.
struct LogReader<'e> {
    view: Events<'e>,
    common: CommonPart,
    replay_cache: ReplayCache,
    requests: Requests,
    open: HashMap<Attempt, OpenBlock>,
    resumptions: Resumptions,
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
            common: CommonPart::default(),
            replay_cache: ReplayCache::default(),
            requests: Requests::default(),
            open: HashMap::default(),
            resumptions: Resumptions::default(),
            detached: Detached::default(),
            last_parent: None,
            status: Status::default(),
            writes: RecordedWrites::default(),
            paths: BTreeSet::new(),
        };
        events.iter().for_each(|event| reader.read(event));
        reader.interrupt();
        let LogReader { mut replay_cache, writes, status, .. } = reader;
        replay_cache.waiting.end();
        replay_cache.status_line = status.0.map(|(_, text)| text);
        answers.iter().for_each(|answer| replay_cache.suspensions.answer(&answer.id, Some(answer), None));
        let writes = writes.in_order(|by| replay_cache.has_ended_in(by));
        for SharedWrite { owner, write, .. } in writes.into_iter().filter(|write| is_wanted(&write.by.0)) {
            replay_cache.pending.get_mut().entry(owner).or_default().push_back(write);
        }
        replay_cache
    }

    /// Returns whether the block ended in this run.
    fn has_ended_in(&self, (path, run): &Attempt) -> bool {
        self.finished.get(path).is_some_and(|done| done.run == *run)
    }

    /// Reads what a replay takes from a log: answers to suspensions, and the edits of a fork. It runs the rest again,
    /// the attempts in this order.
    pub(crate) fn for_replay(events: &[Event], order: &ReplayOrder) -> ReplayCache {
        let mut replay_cache = ReplayCache::default();
        let edited = edited_steps(events);
        if let Some(seq) = edited_input(events) {
            let common = events.partition_point(|event| event.seq < seq);
            replay_cache = ReplayCache {
                attempts: HashMap::default(),
                calls: HashMap::default(),
                pauses: Pauses::default(),
                exchanges: Default::default(),
                ..ReplayCache::read(&events[..common], &[])
            };
        } else if !edited.is_empty() {
            let is_edited = |path: &str| with_ancestors(path).any(|around| edited.contains(around));
            let all = ReplayCache::read_at(events, &[], is_edited);
            (replay_cache.finished, replay_cache.pending, replay_cache.has_only_edits) =
                (all.finished, all.pending, true);
            replay_cache.finished.retain(|path, _| edited.contains(path));
        }
        replay_cache.suspensions = RecordedSuspensions::of_replay(events, order);
        replay_cache
    }
}

impl LogReader<'_> {
    fn read(&mut self, event: &Event) {
        self.requests.read(event);
        self.replay_cache.waiting.read(event);
        if self.common.ends_before(event) {
            // A fork runs them again: it may have edits.
            self.replay_cache.waiting.forget();
            let ReplayCache { unfinished, suspensions, .. } = &mut self.replay_cache;
            let is_open = |path: &str| self.open.keys().any(|(open, _)| **open == *path);
            suspensions.forget_answers(|path| unfinished.contains_key(path) || is_open(path));
        }
        if let (true, Some(path)) = (self.detached.read(event), &event.path) {
            self.discard_below(path);
        }
        let is_detached = event.path.as_deref().is_some_and(|path| self.detached.has(path, event.attempt));
        let replay_cache = &mut self.replay_cache;
        let Some(path) = &event.path else {
            match &event.kind {
                EventKind::RequestStarted { .. } | EventKind::InputEdited { .. } => replay_cache.input = event.seq,
                EventKind::RequestResumed { .. } => self.interrupt(),
                EventKind::ItemAdded { item } if item.item_type == "step_error" => {
                    replay_cache
                        .reported_failures
                        .extend(item.payload.get("path").and_then(Value::as_str).map(Arc::from));
                }
                EventKind::RequestFinished { error: Some(error), .. } => {
                    replay_cache.forget_failures(error);
                    self.forget_end_hooks();
                }
                EventKind::SuspensionResolved(resolved) => {
                    replay_cache.suspensions.answer(&resolved.id, Some(resolved), Some((event.at, event.seq)))
                }
                EventKind::SuspensionReopened { id } => replay_cache.suspensions.answer(id, None, None),
                _ => {}
            }
            return;
        };
        if is_detached {
            self.read_detached(path.clone(), event);
            return;
        }
        let key = (path.clone(), self.resumptions.run(path, event));
        replay_cache.pauses.read(&key, event);
        if let EventKind::ItemAdded { .. }
        | EventKind::ItemUpdated { .. }
        | EventKind::ItemDone { .. }
        | EventKind::EffectStarted { .. }
        | EventKind::EffectFinished { .. } = &event.kind
            && let Some(open) = self.open.get_mut(&key)
        {
            open.begun.items.read(event);
        }
        match &event.kind {
            EventKind::BlockStarted { name, block, input, fingerprint, parent, .. } => {
                replay_cache.follow_parent(path, parent.as_ref(), &mut self.last_parent);
                if !self.paths.contains(path) {
                    self.paths.insert(path.clone());
                }
                let input = Data::from(self.view.value(input).cloned());
                let (name, kind, fingerprint) = (name.clone(), *block, fingerprint.clone());
                let (run, has_failed, own, items) = (key.1, false, None, RecordedItems::default());
                let parent = parent.clone();
                let begun = UnfinishedBlock { run, name, kind, fingerprint, input, parent, has_failed, own, items };
                self.open.insert(key, OpenBlock::new(begun));
                replay_cache.unfinished.remove(path);
                replay_cache.suspended.remove(path);
                replay_cache.waiting.remove(path);
                let next = replay_cache.attempts.entry(path.clone()).or_insert(0);
                *next = (*next).max(event.attempt + 1);
                // Of the innermost task: a task may start tasks of its own, end, and leave them under way.
                let chain = background_task(path).and_then(path::parent);
                replay_cache.with_background_work.extend(chain.into_iter().flat_map(with_ancestors).map(Arc::from));
            }
            EventKind::BlockResumed { fingerprint, .. } => {
                replay_cache.goes_on(path, event.attempt);
                let Some(begun) = replay_cache.unfinished.remove(path) else { return };
                let fingerprint = fingerprint.clone().or(begun.fingerprint.clone());
                let mut begun = UnfinishedBlock { run: key.1, fingerprint, has_failed: false, ..begun };
                begun.items.begin_run();
                self.open.insert(key, OpenBlock::new(begun));
                replay_cache.suspended.remove(path);
                replay_cache.waiting.remove(path);
            }
            EventKind::StateInitialized { scope, state, .. } if !scope.kind.is_durable() => {
                // Each time that it goes on it has another one, with what had been written by then.
                if let Some(open) = self.open.get_mut(&key) {
                    open.begun.own.get_or_insert_with(|| state.clone());
                }
            }
            EventKind::StateChanged { scope, operation, version, .. } if !scope.kind.is_durable() => {
                let shared = match scope.kind {
                    ScopeKind::Request => SharedStateOwner::Request,
                    _ => match StateOwner::parse(&scope.id) {
                        Some(owner) => SharedStateOwner::Of(owner.instance.path.to_owned()),
                        None => return,
                    },
                };
                if let Some(open) = self.open.get_mut(&key) {
                    let write = PendingWrite { seq: event.seq, operation: operation.clone(), version: *version };
                    open.changes.push((shared, write));
                }
            }
            EventKind::CallbackReturned { callback, fingerprint, returned, events, superseded, memoized, .. } => {
                let Some(open) = self.open.get_mut(&key) else { return };
                open.changes.retain(|(_, write)| !superseded.contains(&write.seq));
                let own: HashSet<Seq> = events.iter().copied().collect();
                open.sync_effects.retain(|(seq, ..)| !own.contains(seq));
                replay_cache.exchanges.settle(path, |seq| own.contains(&seq));
                let done = open.changes.extract_if(.., |(_, write)| own.contains(&write.seq));
                // These repeat writes of an earlier event, which counts instead.
                if *memoized {
                    done.for_each(drop);
                    return;
                }
                self.writes.keep(done.map(|(owner, write)| SharedWrite { by: key.clone(), owner, write }));
                self.status.settle(open.status.take_if(|(seq, _)| own.contains(seq)));
                replay_cache.calls.get_mut(path).into_iter().for_each(|calls| calls.take_out(|seq| own.contains(&seq)));
                let (fingerprint, returned) = (fingerprint.clone(), returned.clone());
                let done = RecordedCallback { fingerprint, returned, ended: event.seq };
                replay_cache.functions.entry(path.clone()).or_default().insert(callback.clone(), done);
            }
            EventKind::OutputEdited { output } => {
                if let Some(done) = replay_cache.finished.get_mut(path) {
                    done.result = Ok(Data::from(self.view.value(output).cloned()));
                    (done.seq, done.is_edited) = (event.seq, true);
                }
            }
            EventKind::StateEdited { of, operation } => {
                let owner = of.clone().map_or(SharedStateOwner::Request, SharedStateOwner::Of);
                // Ordered as if the step itself had written it.
                let seq = replay_cache.finished.get(path).map_or(event.seq, |done| done.ended);
                let write = PendingWrite { seq, operation: operation.clone(), version: 0 };
                self.writes.keep([SharedWrite { by: key, owner, write }]);
            }
            EventKind::ReactionsDue { callback, reactions } => {
                let due = (event.attempt, reactions.clone());
                replay_cache.due.entry(path.clone()).or_default().insert(callback.clone(), due);
            }
            EventKind::RouteDecided { route } => drop(replay_cache.routes.insert(path.clone(), route.clone())),
            EventKind::EffectFinished { effect: EffectKind::Model, ordinal, result, error, .. } => {
                let answer = match error {
                    Some(error) => Err(error.clone()),
                    None => crate::model::json::from_value(result.clone()).map_err(|error| {
                        let seq = event.seq;
                        FlowError::storage(format!(
                            "the recorded reply of a model (event {seq}) cannot be read: {error}"
                        ))
                    }),
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
            EventKind::EffectFinished { effect: EffectKind::Fetch, .. }
                if self.open.get(&key).is_some_and(|of| self.common.keeps_exchanges(of.begun.kind)) =>
            {
                replay_cache.exchanges.add(path, event, self.view);
            }
            EventKind::Suspended(request) => {
                replay_cache.suspensions.ask(path, event.seq, request, None);
                if let Some(open) = self.open.get_mut(&key) {
                    open.suspended_in.insert(request.callback.clone());
                }
            }
            EventKind::Drift { text, callback, fingerprint, .. } => {
                replay_cache.drift_texts.insert(text.clone());
                replay_cache.learn_source(path, callback.as_deref(), fingerprint.as_ref());
            }
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
            EventKind::BlockFinished { outcome, output, error, caught, memoized, returned_error, .. } => {
                let Some(mut open) = self.open.remove(&key) else { return };
                // Without an error it is not retried: it waits until the code fits the log.
                let is_parked = *outcome == Outcome::Abandoned && error.is_none();
                if (is_parked || matches!(outcome, Outcome::Suspended | Outcome::Failed)) && !memoized {
                    open.begun.has_failed = *outcome == Outcome::Failed;
                    replay_cache.unfinished.insert(path.clone(), open.begun.clone());
                }
                if *outcome == Outcome::Failed && open.begun.kind != BlockKind::Sequencer {
                    replay_cache.failed.insert(InstanceId { path, attempt: event.attempt }.to_string().into());
                }
                if *outcome == Outcome::Suspended {
                    replay_cache.suspended.insert(path.clone());
                    replay_cache.waiting.add(path, event.seq);
                    replay_cache
                        .sync_effects
                        .extend(open.sync_effects().map(|sync_effects| (path.clone(), sync_effects)));
                    return;
                }
                let runs_again = *outcome == Outcome::Failed && caught.is_none();
                if !runs_again && (*outcome != Outcome::Abandoned || error.is_some()) {
                    replay_cache.exchanges.forget(path);
                }
                // This repeats an earlier end, which counts instead.
                if *memoized {
                    replay_cache.finished.get_mut(path).into_iter().for_each(|done| done.is_edited = false);
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
                let OpenBlock {
                    begun: UnfinishedBlock { name, kind, fingerprint, input, .. }, changes, status, ..
                } = open;
                // A failure that nobody caught runs again, and puts its text there again.
                if result.is_ok() || caught.is_some() {
                    self.status.settle(status);
                }
                replay_cache.failed_tries.forget(path);
                let by = |(owner, write)| SharedWrite { by: key.clone(), owner, write };
                self.writes.settle(path, changes.into_iter().map(by));
                let (seq, ended, run) = (event.seq, event.seq, key.1);
                let done = RecordedBlock {
                    name,
                    kind,
                    fingerprint,
                    input,
                    result,
                    caught: *caught,
                    returned_error: *returned_error,
                    seq,
                    ended,
                    is_edited: false,
                    run,
                };
                replay_cache.finished.insert(path.clone(), done);
            }
            _ => {}
        }
    }
}
