//! The only reducer of attempts: the state of every execution of a path, and which of its events count.
//!
//! An attempt that a crash cut off, that waited for an answer or that was retried runs again from its start. What its
//! returned callbacks did still counts, because a resume does not call them again. All views and the store use this
//! module (SEMANTICS §5); nothing else may decide it.

use std::collections::{HashMap, HashSet};

use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::views::items::rules::is_told_failure;

/// What an event means for the writes of attempts to shared memory. The writes of returned callbacks always stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its attempt begins.
    Begins,
    /// Its attempt begins because the previous one failed: what that one did no longer counts.
    Replaces,
    /// Its attempt continues after an interruption: what it did before no longer counts.
    GoesOn,
    /// Its attempt completed, and what it did counts.
    Counts,
    /// Its attempt failed. What it did counts, unless a resume runs it again.
    Failed,
    /// Its attempt ended without effect: it is tried again, it waits for an answer, or it was stopped.
    RolledBack,
    /// The request is resumed or has ended, so every attempt that has not ended is rolled back.
    AllRolledBack,
}

/// What an event means for attempts; `None` if it means nothing.
pub fn verdict(kind: &EventKind) -> Option<Verdict> {
    match kind {
        EventKind::BlockStarted { replaces_failed: true, .. } => Some(Verdict::Replaces),
        EventKind::BlockStarted { .. } => Some(Verdict::Begins),
        EventKind::BlockResumed { .. } => Some(Verdict::GoesOn),
        EventKind::BlockFinished { outcome, error, .. } => Some(end(*outcome, error.as_ref())),
        EventKind::RequestResumed { .. } | EventKind::RequestFinished { .. } => Some(Verdict::AllRolledBack),
        _ => None,
    }
}

/// Whether an attempt failed and was then retried.
pub fn is_tried_again(kind: &EventKind) -> bool {
    matches!(kind, EventKind::BlockFinished { outcome: Outcome::Abandoned, error: Some(_), .. })
}

/// What the end of an attempt means.
pub fn end(outcome: Outcome, error: Option<&FlowError>) -> Verdict {
    match outcome {
        Outcome::Failed if error.is_some_and(FlowError::is_abort) => Verdict::RolledBack,
        Outcome::Completed => Verdict::Counts,
        Outcome::Failed => Verdict::Failed,
        Outcome::Suspended | Outcome::Abandoned => Verdict::RolledBack,
    }
}

/// One execution of a path: its path, and its number.
pub type AttemptKey<'e> = (&'e str, u32);

/// The state of an execution at the end of the events that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It has not ended, and its process may still run it.
    Running,
    /// It was running when its process died, or when the request ended.
    CutOff,
    /// It waits for an answer.
    Waiting,
    /// It waited for an answer until its path began again or the request ended.
    Waited,
    /// It ended with an output or an error. `stopped` tells whether it was stopped from outside.
    Ended { outcome: Outcome, stopped: bool },
}

/// One execution of a path.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'e> {
    /// Its `block_started`.
    pub started: &'e Event,
    /// Its `block_finished`.
    pub finished: Option<Seq>,
    /// Its state.
    pub stands: Stands,
    /// Whether a resume took it from the log.
    pub memoized: bool,
    /// Whether it was running when the request was resumed or ended.
    pub(super) was_cut: bool,
    /// Whether it failed, and a resume ran it again.
    pub(super) runs_again: bool,
}

impl<'e> Attempt<'e> {
    fn begun(started: &'e Event) -> Attempt<'e> {
        let (finished, stands) = (None, Stands::Running);
        Attempt { started, finished, stands, memoized: false, was_cut: false, runs_again: false }
    }

    fn is_rolled_back(&self, live: bool) -> bool {
        self.runs_again || self.stands.is_rolled_back(self.was_cut, live)
    }
}

impl Stands {
    /// Whether the execution's writes to shared memory are rolled back. This is not yet decided while it runs.
    pub(super) fn is_rolled_back(self, was_cut: bool, live: bool) -> bool {
        if was_cut {
            return true;
        }
        match self {
            Stands::Running => !live,
            Stands::CutOff | Stands::Waiting | Stands::Waited => true,
            Stands::Ended { outcome, stopped } => stopped || !matches!(outcome, Outcome::Completed | Outcome::Failed),
        }
    }

    /// Whether the execution has ended, or can never end.
    pub(super) fn has_ended(self, live: bool) -> bool {
        match self {
            Stands::Running => !live,
            Stands::Waiting => false,
            Stands::CutOff | Stands::Waited | Stands::Ended { .. } => true,
        }
    }
}

/// Every execution of a request, from one pass over its events.
#[derive(Debug, Default)]
pub struct Ends<'e> {
    /// The current state of each.
    attempts: HashMap<AttemptKey<'e>, Attempt<'e>>,
    /// Of executions that continued after interruptions: their states before, each with the event of the continuation.
    before: HashMap<AttemptKey<'e>, Vec<(Seq, Attempt<'e>)>>,
    /// Items that a later run of their attempt continued, with the event of that run, to which they now belong.
    carried: HashMap<Seq, Seq>,
    /// Events of callbacks that returned.
    kept: HashSet<Seq>,
    /// Events that a resume re-applied from the log.
    repeated: HashSet<Seq>,
    /// Events of calls of callbacks that were called again.
    superseded: HashSet<Seq>,
}

impl<'e> Ends<'e> {
    /// Reads events from the first of a request on.
    pub fn read(events: &'e [Event]) -> Self {
        let mut ends = Ends::default();
        // The attempts that have not ended, and for each path the newest that waits. After a resume it waits on until
        // its path begins again.
        let (mut running, mut waiting) = (HashSet::new(), HashMap::new());
        for event in events {
            match (&event.kind, event.path.as_deref()) {
                (EventKind::RequestResumed { .. }, None) => {
                    ends.stand(running.drain(), Stands::CutOff);
                }
                (EventKind::RequestFinished { .. }, None) => {
                    // Waiting attempts wait no longer. Running ones may still record events: their process goes on.
                    ends.stand(waiting.drain(), Stands::Waited);
                    for key in &running {
                        ends.attempts.entry(*key).and_modify(|attempt| attempt.was_cut = true);
                    }
                }
                (EventKind::BlockStarted { replaces_failed, .. }, Some(path)) => {
                    let key = (path, event.attempt);
                    ends.stand(waiting.remove_entry(path).into_iter(), Stands::Waited);
                    let before = event.attempt.checked_sub(1).map(|before| (path, before));
                    if let Some(before) = before.filter(|_| *replaces_failed) {
                        ends.attempts.entry(before).and_modify(|attempt| attempt.runs_again = true);
                    }
                    ends.attempts.insert(key, Attempt::begun(event));
                    running.insert(key);
                }
                (EventKind::BlockResumed { .. }, Some(path)) => {
                    let key = (path, event.attempt);
                    ends.stand(waiting.remove_entry(path).into_iter(), Stands::Waited);
                    let Some(attempt) = ends.attempts.get_mut(&key) else { continue };
                    let goes_on = Attempt::begun(attempt.started);
                    let mut before = std::mem::replace(attempt, goes_on);
                    before.runs_again = matches!(before.stands, Stands::Ended { .. });
                    ends.before.entry(key).or_default().push((event.seq, before));
                    running.insert(key);
                }
                (EventKind::BlockFinished { outcome, error, memoized, .. }, Some(path)) => {
                    let key = (path, event.attempt);
                    running.remove(&key);
                    let stopped = end(*outcome, error.as_ref()) == Verdict::RolledBack && *outcome == Outcome::Failed;
                    if *outcome == Outcome::Suspended {
                        let before = waiting.insert(path, event.attempt).map(|before| (path, before));
                        ends.stand(before.into_iter(), Stands::Waited);
                    }
                    if let Some(attempt) = ends.attempts.get_mut(&key) {
                        attempt.finished = Some(event.seq);
                        attempt.memoized = *memoized;
                        attempt.stands = match outcome {
                            Outcome::Suspended => Stands::Waiting,
                            outcome => Stands::Ended { outcome: *outcome, stopped },
                        };
                    }
                }
                (EventKind::ItemUpdated { of, .. }, Some(path)) if !ends.before.is_empty() => {
                    let runs = ends.before.get(&(path, event.attempt));
                    let is_earlier = runs.and_then(|runs| runs.last()).is_some_and(|(goes_on, _)| of < goes_on);
                    let added = events.binary_search_by_key(of, |event| event.seq).ok().map(|at| &events[at]);
                    let is_own = |added: &Event| (&added.path, added.attempt) == (&event.path, event.attempt);
                    if is_earlier && added.is_some_and(is_own) {
                        ends.carried.insert(*of, event.seq);
                    }
                }
                (EventKind::CallbackReturned { events, memoized: true, .. }, _) => ends.repeated.extend(events),
                (EventKind::CallbackReturned { events, superseded, .. }, _) => {
                    ends.kept.extend(events);
                    ends.superseded.extend(superseded);
                }
                _ => {}
            }
        }
        ends
    }

    fn stand(&mut self, keys: impl Iterator<Item = AttemptKey<'e>>, stands: Stands) {
        for key in keys {
            self.attempts.entry(key).and_modify(|attempt| attempt.stands = stands);
        }
    }

    /// Returns an execution, if it began.
    pub fn attempt<'s>(&'s self, path: &'s str, attempt: u32) -> Option<&'s Attempt<'e>> {
        let attempts: &'s HashMap<AttemptKey<'s>, Attempt<'e>> = &self.attempts;
        attempts.get(&(path, attempt))
    }

    /// Returns the execution that an event belongs to, if that began. If it continued after an interruption later than
    /// the event, returns its state before the interruption.
    pub fn of<'s>(&'s self, event: &'s Event) -> Option<&'s Attempt<'e>> {
        let path = event.path.as_deref()?;
        self.earlier(event).or_else(|| self.attempt(path, event.attempt))
    }

    /// Returns the state of an event's execution before an interruption after which it continued, if the event is
    /// older.
    fn earlier<'s>(&'s self, event: &'s Event) -> Option<&'s Attempt<'e>> {
        if self.before.is_empty() {
            return None;
        }
        let before: &'s HashMap<AttemptKey<'s>, Vec<(Seq, Attempt<'e>)>> = &self.before;
        let earlier = before.get(&(event.path.as_deref()?, event.attempt))?;
        let seq = self.carried.get(&event.seq).copied().unwrap_or(event.seq);
        earlier.iter().find(|(goes_on, _)| seq < *goes_on).map(|(_, attempt)| attempt)
    }

    /// Whether an event is without effect because its execution was then cut off or waited. Events of returned
    /// callbacks and reports of failures keep their effect.
    pub(super) fn is_in_vain(&self, event: &Event) -> bool {
        let stays = || self.is_kept(event) || is_told_failure(&event.kind);
        self.earlier(event).is_some_and(|run| run.stands.is_rolled_back(run.was_cut, false)) && !stays()
    }

    /// Whether the execution of an event was later continued as the same instance.
    pub(super) fn went_on(&self, event: &Event) -> bool {
        self.earlier(event).is_some()
    }

    /// Whether an event belongs to a callback that returned.
    pub fn is_kept(&self, event: &Event) -> bool {
        self.kept.contains(&event.seq)
    }

    /// Whether a resume re-applied an event.
    pub fn is_repeated(&self, event: &Event) -> bool {
        self.repeated.contains(&event.seq)
    }

    /// Whether an event belongs to a call of a callback that was called again.
    pub fn is_superseded(&self, event: &Event) -> bool {
        self.superseded.contains(&event.seq)
    }

    /// Whether an event is part of an attempt that a resume took from the log. Events after the end of such an attempt
    /// are new, for example the report or the rescue of its failure.
    pub fn is_taken_from_log(&self, event: &Event) -> bool {
        let end = self.of(event).filter(|attempt| attempt.memoized).and_then(|attempt| attempt.finished);
        end.is_some_and(|end| event.seq <= end)
    }

    /// Whether an event is a write to shared memory without effect: its attempt was rolled back, or has not ended and
    /// no process runs the request.
    pub fn is_rolled_back(&self, event: &Event, live: bool) -> bool {
        let is_shared = matches!(&event.kind, EventKind::StateChanged { scope, .. } if !scope.kind.is_durable());
        let Some(attempt) = self.of(event).filter(|_| is_shared) else { return false };
        if self.is_superseded(event) {
            return true;
        }
        attempt.is_rolled_back(live) && !self.is_kept(event) && !self.is_repeated(event)
    }
}

/// The events of a request that count for its session: those of blocks that ended, and those of callbacks that
/// returned, unless their block was retried.
pub(crate) fn counting(events: &[Event]) -> impl Iterator<Item = &Event> {
    let ends = Ends::read(events);
    events.iter().filter(move |event| match ends.of(event).map(|attempt| attempt.stands) {
        Some(Stands::Ended { outcome, .. }) => outcome != Outcome::Abandoned,
        _ => ends.is_kept(event),
    })
}

/// The writes to shared memory that are without effect at the end of these events.
pub fn rolled_back(events: &[Event], live: bool) -> HashSet<Seq> {
    let ends = Ends::read(events);
    events.iter().filter(|event| ends.is_rolled_back(event, live)).map(|event| event.seq).collect()
}

/// The event with which the newest attempt that counts first finished at a path, and not the one by which a resume took
/// it from the log. If no attempt counts, the newest end of any kind.
pub fn first_end(events: &[Event], path: &str) -> Option<Seq> {
    let ends = events.iter().rev().filter(|event| event.path.as_deref() == Some(path));
    let mut ends = ends.filter_map(|event| match &event.kind {
        EventKind::BlockFinished { outcome, error, memoized: false, .. } => {
            Some((event.seq, end(*outcome, error.as_ref())))
        }
        _ => None,
    });
    let counts = |verdict| matches!(verdict, Verdict::Counts | Verdict::Failed);
    let newest = ends.next()?;
    if counts(newest.1) {
        return Some(newest.0);
    }
    Some(ends.find(|(_, verdict)| counts(*verdict)).unwrap_or(newest).0)
}
