//! What an earlier part of a request already did: a resume takes it from here instead of doing it again.
//!
//! Keyed by logical path (SEMANTICS §10.2). A finished block gives its recorded output, or fails with
//! its recorded error where that was caught, and its changes of shared state come into force again;
//! whatever was in flight runs again from its top. It must not decide whether code fits: another name
//! or kind at a path is drift, and that stops the resume.

mod failures;
mod forgotten;
mod numbers;
mod pauses;
mod questions;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use serde_json::Value;

use crate::model::data::Data;
use crate::model::effects::{EffectKind, ModelReply};
use crate::model::error::FlowError;
use crate::model::event::{Answer, BlockKind, CaughtBy, Event, EventKind, Outcome, Seq};
use crate::model::flow::Block;
use crate::model::identity::{InstanceId, StateOwner};
use crate::model::operation::Operation;
use crate::model::path::{beside, is_inside, with_ancestors};
use crate::model::scope::ScopeKind;
use crate::model::suspension::Resolved;
use crate::views::detached::Detached;
use crate::views::model_requests::{AskedWith, Requests};
use crate::views::{Events, edited, edited_input};
use numbers::Numbered;
use pauses::Pauses;
pub(crate) use questions::PendingQuestion;
use questions::Questions;

pub(crate) use pauses::Pause;

/// A block that ended.
pub(crate) struct Finished {
    pub(crate) name: Arc<str>,
    pub(crate) kind: BlockKind,
    pub(crate) fingerprint: Option<Arc<str>>,
    pub(crate) input: Data,
    pub(crate) result: Result<Data, FlowError>,
    /// Who caught the failure, where it failed.
    pub(crate) caught: Option<CaughtBy>,
    /// The event that holds the output.
    pub(crate) seq: Seq,
    /// The event that ended it.
    pub(crate) ended: Seq,
    attempt: u32,
}

/// A function of a block that left evidence or writes.
pub(crate) struct Function {
    pub(crate) fingerprint: Option<Arc<str>>,
    pub(crate) returned: Option<Answer>,
    /// The event that says so.
    pub(crate) ended: Seq,
}

/// A model call that was answered.
pub(crate) struct Call {
    /// What was asked, where the log has it.
    pub(crate) asked: Option<AskedWith>,
    /// The event that holds it.
    pub(crate) held_by: Option<Seq>,
    pub(crate) answer: Result<ModelReply, FlowError>,
}

/// Shared state by what outlives an attempt: its path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Shared {
    Request,
    Of(String),
}

/// Changes of one shared state that are not in force again yet, in the order they were made, and by whom.
type Pending = VecDeque<(Seq, Arc<str>, Operation)>;

/// What the log has of a block that is about to run.
pub(crate) enum Found<'m> {
    /// Nothing that counts: it runs.
    Nothing,
    /// It ended, and is not run again.
    Finished(&'m Finished),
    /// It ended, but work beside its chain may not have: its chain is gone through again, and every
    /// block of it that ended gives what it gave.
    HasBackgroundWork(&'m Finished),
}

/// One execution of a path.
type Attempt = (Arc<str>, u32);

/// All that earlier parts of a request did.
#[derive(Default)]
pub(crate) struct ReplayCache {
    finished: HashMap<Arc<str>, Finished>,
    functions: HashMap<Arc<str>, HashMap<String, Function>>,
    routes: HashMap<Arc<str>, String>,
    calls: HashMap<Arc<str>, Numbered<Call>>,
    pauses: Pauses,
    /// What was asked of somebody outside.
    pub(crate) questions: Questions,
    /// What counts of the changes of shared state, by whose it is.
    pending: RefCell<HashMap<Shared, Pending>>,
    /// Whether it has edited steps alone, in the midst of what is done again.
    pub(crate) is_of_edits: bool,
    /// Blocks with work beside their chain.
    unsettled: HashSet<Arc<str>>,
    /// What the clock and chance said to blocks before they waited for an answer: by path, by the function
    /// that asked, where it was not the body, and by kind, in order.
    instants: HashMap<Arc<str>, HashMap<Asker, Vec<Value>>>,
    /// What drift events said.
    said: HashSet<String>,
    /// Failures of which a `step_error` item tells.
    shown_failures: HashSet<Arc<str>>,
    /// The instances of blocks, not of chains, that failed.
    failed: HashSet<Arc<str>>,
    /// Blocks whose own rescue took their failure on, with the newest block that it was.
    handed_on: HashMap<Arc<str>, Arc<str>>,
    /// The block around every block that ever ran.
    parents: HashMap<Arc<str>, Arc<str>>,
    /// Blocks whose newest attempt waited for an answer.
    waited: HashSet<Arc<str>>,
    /// The next attempt of every path that ever ran.
    pub(crate) attempts: HashMap<Arc<str>, u32>,
    /// Whether the user's message is in the log.
    pub(crate) has_greeting: bool,
    /// The event that holds the request's input.
    pub(crate) input: Seq,
    /// Attempts that have come to nothing since the log was read: nothing that it has of them counts any more.
    forgotten: RefCell<HashSet<Arc<str>>>,
}

/// Which function of a block asked the clock or chance, and what kind of question that was.
type Asker = (Option<String>, EffectKind);

/// A block that has not ended so far in the log.
struct Open {
    name: Arc<str>,
    kind: BlockKind,
    fingerprint: Option<Arc<str>>,
    input: Data,
    changes: Vec<(Seq, Shared, Operation)>,
    /// What the clock and chance said, but to functions that have returned.
    instants: Vec<(Seq, EffectKind, Value)>,
    /// The functions that wait for an answer; nothing for the body.
    asking: HashSet<Option<String>>,
}

impl Open {
    /// What the clock and chance said to what waits for an answer; nothing where that is not known.
    fn instants(self) -> Option<HashMap<Asker, Vec<Value>>> {
        let mut askers = self.asking.into_iter();
        let (Some(asker), None) = (askers.next(), askers.next()) else { return None };
        let mut found: HashMap<Asker, Vec<Value>> = HashMap::new();
        for (_, kind, value) in self.instants {
            found.entry((asker.clone(), kind)).or_default().push(value);
        }
        Some(found)
    }
}

/// A change that a block which ended made: in which attempt, where in the log, whose and what.
type Settled = (Attempt, Seq, Shared, Operation);

/// Reads a log from its first event to its last.
struct Reader<'e> {
    view: Events<'e>,
    replay_cache: ReplayCache,
    requests: Requests,
    open: HashMap<Attempt, Open>,
    detached: Detached,
    settled: Vec<Settled>,
    /// What stays whatever becomes of the attempt: what functions did that had returned, what ended inside an
    /// attempt that was tried again, and what a fork has besides.
    kept: Vec<Settled>,
}

impl ReplayCache {
    /// `answers` were given since the last event.
    pub(crate) fn read(events: &[Event], answers: &[Resolved]) -> ReplayCache {
        ReplayCache::read_at(events, answers, |_| true)
    }

    /// As [`read`](Self::read), with what was changed of shared state at some paths alone.
    fn read_at(events: &[Event], answers: &[Resolved], is_wanted: impl Fn(&str) -> bool) -> ReplayCache {
        let view = Events::new(events);
        let mut reader = Reader {
            view,
            replay_cache: ReplayCache::default(),
            requests: Requests::default(),
            open: HashMap::new(),
            detached: Detached::default(),
            settled: Vec::new(),
            kept: Vec::new(),
        };
        events.iter().for_each(|event| reader.read(event));
        let Reader { mut replay_cache, settled, mut kept, .. } = reader;
        answers.iter().for_each(|answer| replay_cache.questions.answer(&answer.id, Some(answer)));
        kept.extend(settled.into_iter().filter(|(by, ..)| replay_cache.has_ended_in(by)));
        kept.sort_by_key(|(_, seq, ..)| *seq);
        for ((path, _), seq, shared, change) in kept.into_iter().filter(|((path, _), ..)| is_wanted(path)) {
            replay_cache.pending.get_mut().entry(shared).or_default().push_back((seq, path, change));
        }
        replay_cache
    }

    /// Whether an attempt is the one in which its block ended.
    fn has_ended_in(&self, (path, attempt): &Attempt) -> bool {
        self.finished.get(path).is_some_and(|done| done.attempt == *attempt)
    }

    /// The end of the last work beside a chain that has ended.
    pub(crate) fn end_of_work(&self, chain: &str) -> Option<Seq> {
        let of_chain = |path: &Arc<str>| beside(path) == Some(chain) && !self.is_forgotten(path, false);
        self.finished.iter().filter(|(path, _)| of_chain(path)).map(|(_, done)| done.ended).max()
    }

    /// Takes the next change of a shared state that was made up to an event.
    pub(crate) fn next_change(&self, shared: &Shared, until: Seq) -> Option<Operation> {
        let mut pending = self.pending.borrow_mut();
        let changes = pending.get_mut(shared)?;
        changes.pop_front_if(|(seq, ..)| *seq <= until).map(|(.., change)| change)
    }

    /// Only what was answered from outside, and what a fork has instead: a replay does everything else again.
    pub(crate) fn of_answers(events: &[Event]) -> ReplayCache {
        let mut replay_cache = ReplayCache::default();
        let edited = edited(events);
        if let Some(seq) = edited_input(events) {
            let common = events.partition_point(|event| event.seq < seq);
            replay_cache = ReplayCache {
                attempts: HashMap::new(),
                calls: HashMap::new(),
                pauses: Pauses::default(),
                ..ReplayCache::read(&events[..common], &[])
            };
        } else if !edited.is_empty() {
            let is_edited = |path: &str| with_ancestors(path).any(|around| edited.contains(around));
            let all = ReplayCache::read_at(events, &[], is_edited);
            (replay_cache.finished, replay_cache.pending, replay_cache.is_of_edits) = (all.finished, all.pending, true);
            replay_cache.finished.retain(|path, _| edited.contains(path));
        }
        for event in events {
            match (&event.kind, &event.path) {
                (EventKind::Suspended(asking), Some(path)) => replay_cache.questions.ask(path, event.seq, asking),
                (EventKind::SuspensionResolved(resolved), _) => {
                    replay_cache.questions.answer(&resolved.id, Some(resolved))
                }
                (EventKind::SuspensionReopened { id }, _) => replay_cache.questions.answer(id, None),
                _ => {}
            }
        }
        replay_cache
    }

    /// What the log has at a path, if the block that stands there today is the same one.
    pub(crate) fn find(&self, path: &str, block: &Block) -> Result<Found<'_>, FlowError> {
        let Some(done) = self.ended(path) else { return Ok(Found::Nothing) };
        if done.name != block.name || done.kind != block.kind() {
            let recorded = format!("{} \"{}\"", done.kind.as_str(), done.name);
            let found = format!("{} \"{}\"", block.kind().as_str(), block.name);
            return Err(drift(path, &format!("finished {recorded}"), &found, (&recorded, &found)));
        }
        if block.only_runs_others() && done.result.is_ok() && self.unsettled.contains(path) {
            Ok(Found::HasBackgroundWork(done))
        } else {
            Ok(Found::Finished(done))
        }
    }

    /// Refuses a route that is not the one the router took before.
    pub(crate) fn check_route(&self, path: &str, route: &str) -> Result<(), FlowError> {
        match self.routes.get(path).filter(|_| !self.is_forgotten(path, true)) {
            Some(taken) if taken != route => {
                let (recorded, found) = (format!("route \"{taken}\""), format!("route \"{route}\""));
                Err(drift(path, &format!("decision for {recorded}"), &found, (&recorded, &found)))
            }
            _ => Ok(()),
        }
    }

    /// What a function of a block returned.
    pub(crate) fn function(&self, path: &str, function: &str) -> Option<&Function> {
        self.functions.get(path)?.get(function).filter(|_| !self.is_forgotten(path, true))
    }

    /// What a model answered to a block's call of this number.
    pub(crate) fn call(&self, path: &str, ordinal: u32) -> Option<&Call> {
        self.calls.get(path)?.get(ordinal).filter(|_| !self.is_forgotten(path, true))
    }

    /// The pause that a block began with this number, where it keeps its end.
    pub(crate) fn pause(&self, path: &str, ordinal: u32) -> Option<Pause> {
        self.pauses.find(path, ordinal).filter(|_| !self.is_forgotten(path, true))
    }

    /// When a block ended, by the order of the log, and whether well; one that was rescued ended with
    /// its rescue.
    pub(crate) fn end_of(&self, path: &str) -> Option<(Seq, bool)> {
        let rescue = format!("{path}/rescue:");
        let is_rescue = |other: &str| other.strip_prefix(&rescue).is_some_and(|rest| !rest.contains('/'));
        let done = self.ended(path)?;
        let rescue = match &done.result {
            Ok(_) => None,
            Err(_) => self.finished.iter().find(|(other, _)| is_rescue(other)).map(|(_, done)| done),
        };
        let done = rescue.unwrap_or(done);
        Some((done.ended, done.result.is_ok()))
    }

    /// Whether the newest attempt of a block waited for an answer.
    pub(crate) fn has_waited(&self, path: &str) -> bool {
        self.waited.contains(path) && !self.is_forgotten(path, true)
    }

    /// Whether the failure of a block was told already.
    pub(crate) fn has_reported(&self, path: &str) -> bool {
        self.shown_failures.contains(path) && !self.is_forgotten(path, true)
    }

    /// What the clock or chance said to a block, or to a function of it, before it waited for an answer. It
    /// shows the same when it asks again, and the answer is one to that.
    pub(crate) fn instant(&self, path: &str, function: Option<&str>, kind: EffectKind, nth: u32) -> Option<Value> {
        let asker = (function.map(str::to_owned), kind);
        self.instants.get(path)?.get(&asker)?.get(nth as usize).cloned()
    }

    /// Whether a drift event said this before.
    pub(crate) fn has_said(&self, text: &str) -> bool {
        self.said.contains(text)
    }
}

impl Reader<'_> {
    /// An attempt at a path came to nothing. What blocks inside had written to state around it stays, as what
    /// they committed to records does.
    fn forget_below(&mut self, path: &str) {
        let ended = self.settled.extract_if(.., |((by, _), ..)| is_inside(by, path));
        self.kept.extend(ended.filter(|(by, ..)| self.replay_cache.has_ended_in(by)));
        self.kept.retain(|(_, _, shared, _)| !shared.is_inside(path));
        self.replay_cache.forget_below(path);
    }

    /// What an execution that is left behind does: only that it ran counts.
    fn read_left(&mut self, (path, attempt): Attempt, event: &Event) {
        if matches!(event.kind, EventKind::BlockStarted { .. }) {
            let next = self.replay_cache.attempts.entry(path).or_insert(0);
            *next = (*next).max(attempt + 1);
        }
    }

    fn read(&mut self, event: &Event) {
        self.requests.read(event);
        if let (true, Some(path)) = (self.detached.read(event), &event.path) {
            self.forget_below(path);
        }
        let is_left = event.path.as_deref().is_some_and(|path| self.detached.has(path, event.attempt));
        let replay_cache = &mut self.replay_cache;
        let Some(path) = &event.path else {
            match &event.kind {
                EventKind::RequestStarted { .. } | EventKind::InputEdited { .. } => replay_cache.input = event.seq,
                EventKind::RequestResumed { .. } => self.open.clear(),
                EventKind::ItemAdded { item } if item.item_type == "step_error" => {
                    replay_cache.shown_failures.extend(item.payload.get("path").and_then(Value::as_str).map(Arc::from));
                }
                EventKind::RequestFinished { error: Some(error), .. } => replay_cache.forget_failures(error),
                EventKind::SuspensionResolved(resolved) => replay_cache.questions.answer(&resolved.id, Some(resolved)),
                EventKind::SuspensionReopened { id } => replay_cache.questions.answer(id, None),
                _ => {}
            }
            return;
        };
        let key = (path.clone(), event.attempt);
        if is_left {
            self.read_left(key, event);
            return;
        }
        replay_cache.pauses.read(path, event);
        match &event.kind {
            EventKind::BlockStarted { name, block, input, fingerprint, parent, .. } => {
                replay_cache.follow_parent(path, parent.as_ref());
                let input = Data::from(self.view.value(input).cloned());
                let (name, kind, fingerprint) = (name.clone(), *block, fingerprint.clone());
                let (changes, instants, asking) = (Vec::new(), Vec::new(), HashSet::new());
                self.open.insert(key, Open { name, kind, fingerprint, input, changes, instants, asking });
                replay_cache.waited.remove(path);
                let next = replay_cache.attempts.entry(path.clone()).or_insert(0);
                *next = (*next).max(event.attempt + 1);
                replay_cache.unsettled.extend(beside(path).into_iter().flat_map(with_ancestors).map(Arc::from));
            }
            EventKind::StateChanged { scope, operation, .. } if !scope.kind.is_durable() => {
                let shared = match scope.kind {
                    ScopeKind::Request => Shared::Request,
                    _ => match StateOwner::parse(&scope.id) {
                        Some(owner) => Shared::Of(owner.instance.path.to_owned()),
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
                open.instants.retain(|(seq, ..)| !own.contains(seq));
                let done = open.changes.extract_if(.., |(seq, ..)| own.contains(seq));
                // What was only brought into force again is known from where it happened.
                if *memoized {
                    done.for_each(drop);
                    return;
                }
                self.kept.extend(done.map(|(seq, shared, change)| (key.clone(), seq, shared, change)));
                replay_cache.calls.get_mut(path).into_iter().for_each(|calls| calls.take_out(|seq| own.contains(&seq)));
                let (fingerprint, returned) = (fingerprint.clone(), returned.clone());
                let done = Function { fingerprint, returned, ended: event.seq };
                replay_cache.functions.entry(path.clone()).or_default().insert(callback.clone(), done);
            }
            EventKind::OutputEdited { output } => {
                if let Some(done) = replay_cache.finished.get_mut(path) {
                    done.result = Ok(Data::from(self.view.value(output).cloned()));
                    done.seq = event.seq;
                }
            }
            EventKind::StateEdited { of, operation } => {
                let shared = of.clone().map_or(Shared::Request, Shared::Of);
                // As if the step had also written this.
                let at = replay_cache.finished.get(path).map_or(event.seq, |done| done.ended);
                self.kept.push((key, at, shared, operation.clone()));
            }
            EventKind::RouteDecided { route } => drop(replay_cache.routes.insert(path.clone(), route.clone())),
            EventKind::EffectFinished { effect: EffectKind::Model, ordinal, result, error, .. } => {
                let answer = match error {
                    Some(error) => Err(error.clone()),
                    None => Ok(crate::model::json::from_value(result.clone()).unwrap_or_default()),
                };
                let (held_by, asked) = self.requests.asked(event).unzip();
                let call = Call { asked: asked.cloned(), held_by, answer };
                replay_cache.calls.entry(path.clone()).or_default().insert(&key, *ordinal, event.seq, call);
            }
            EventKind::EffectFinished {
                effect: effect @ (EffectKind::Clock | EffectKind::Random | EffectKind::Uuid),
                result,
                ..
            } => {
                if let Some(open) = self.open.get_mut(&key) {
                    open.instants.push((event.seq, *effect, result.clone()));
                }
            }
            EventKind::Suspended(asking) => {
                replay_cache.questions.ask(path, event.seq, asking);
                if let Some(open) = self.open.get_mut(&key) {
                    open.asking.insert(asking.callback.clone());
                }
            }
            EventKind::Drift { text, .. } => drop(replay_cache.said.insert(text.clone())),
            EventKind::ItemAdded { item } => match item.item_type.as_str() {
                "step_error" => {
                    replay_cache.shown_failures.extend(item.payload.get("path").and_then(Value::as_str).map(Arc::from));
                }
                "message" if replay_cache.attempts.is_empty() => replay_cache.has_greeting = true,
                _ => {}
            },
            EventKind::BlockFinished { outcome, output, error, caught, memoized, .. } => {
                let Some(open) = self.open.remove(&key) else { return };
                if *outcome == Outcome::Failed && open.kind != BlockKind::Sequencer {
                    replay_cache.failed.insert(InstanceId { path, attempt: event.attempt }.to_string().into());
                }
                if *outcome == Outcome::Suspended {
                    replay_cache.waited.insert(path.clone());
                    replay_cache.instants.extend(open.instants().map(|instants| (path.clone(), instants)));
                    return;
                }
                // What was taken from the log is known from where it happened.
                if *memoized {
                    return;
                }
                let result = match (outcome, error) {
                    (Outcome::Completed, _) => {
                        Ok(Data::from(output.as_ref().and_then(|output| self.view.value(output)).cloned()))
                    }
                    (Outcome::Failed, Some(error)) if !error.is_abort() && error.name != "StorageError" => {
                        Err(error.clone())
                    }
                    (Outcome::Abandoned, Some(_)) => return self.forget_below(path),
                    _ => return,
                };
                let Open { name, kind, fingerprint, input, changes, .. } = open;
                let by = |(seq, shared, change)| (key.clone(), seq, shared, change);
                self.settled.extend(changes.into_iter().map(by));
                let (seq, ended, attempt) = (event.seq, event.seq, event.attempt);
                let caught = *caught;
                let done = Finished { name, kind, fingerprint, input, result, caught, seq, ended, attempt };
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
