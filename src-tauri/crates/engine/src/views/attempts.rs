//! The one reducer of attempts: how every execution of a path stands, and which of its events count.
//!
//! An attempt that was cut off by a crash, or that waited for an answer, ran again from its top; so did one that was
//! tried again. What its callbacks did that had returned counts all the same, because a resume does not call them
//! again. Every view and the store go by this (SEMANTICS §5); nothing else may decide it.

use std::collections::{HashMap, HashSet};

use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::views::items::rules::is_told_failure;

/// What an event means for the writes of attempts to shared memory. What a callback wrote that has returned
/// stays in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its attempt begins.
    Begins,
    /// Its attempt begins because the one before it had failed: what that one did no longer counts.
    Replaces,
    /// Its attempt goes on after an interruption: what it did before no longer counts.
    GoesOn,
    /// Its attempt completed, and what it did counts.
    Counts,
    /// Its attempt failed. What it did counts, unless a resume runs it again.
    Failed,
    /// Its attempt ended without effect: it is tried again, it waits for an answer, or it was stopped.
    RolledBack,
    /// So did every attempt that has not ended: the request is taken up again, or has ended.
    AllRolledBack,
}

/// What an event means for attempts, if it means anything.
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

/// Whether an attempt ended with a failure after which it was tried again.
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

/// How an execution stands at the end of the events that were read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stands {
    /// It has not ended, and its process may still run it.
    Running,
    /// It was running when its process died, or when the request ended.
    CutOff,
    /// It waits for an answer.
    Waiting,
    /// It waited for an answer, and its path began again, or the request ended.
    Waited,
    /// It ended by itself, with an output or an error. One that was stopped is `stopped`.
    Ended { outcome: Outcome, stopped: bool },
}

/// What is known of one execution.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'e> {
    /// Its `block_started`.
    pub started: &'e Event,
    /// Its `block_finished`.
    pub finished: Option<Seq>,
    /// How it stands.
    pub stands: Stands,
    /// Whether a resume took it from the log.
    pub memoized: bool,
    /// Whether it was running when the request was taken up again, or ended.
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
    /// Whether what the execution wrote to shared memory comes to nothing; while it runs that is open.
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

    /// Whether the execution has ended, or will never.
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
    /// How each stands now.
    attempts: HashMap<AttemptKey<'e>, Attempt<'e>>,
    /// How those that went on after an interruption stood before, with the event by which they went on.
    before: HashMap<AttemptKey<'e>, Vec<(Seq, Attempt<'e>)>>,
    /// The items with which a later run of their attempt went on, by the event of that run: they are its own.
    carried: HashMap<Seq, Seq>,
    /// What callbacks did that had returned.
    kept: HashSet<Seq>,
    /// What a resume brought into force again, from the log.
    repeated: HashSet<Seq>,
    /// What calls of callbacks did that were called again.
    superseded: HashSet<Seq>,
}

impl<'e> Ends<'e> {
    /// Reads events from the first of a request on.
    pub fn read(events: &'e [Event]) -> Self {
        let mut ends = Ends::default();
        // Those of `attempts` that have not ended, and by path the newest that waits. A resume lets it wait until its
        // path begins again.
        let (mut running, mut waiting) = (HashSet::new(), HashMap::new());
        for event in events {
            match (&event.kind, event.path.as_deref()) {
                (EventKind::RequestResumed { .. }, None) => {
                    ends.stand(running.drain(), Stands::CutOff);
                }
                (EventKind::RequestFinished { .. }, None) => {
                    // Whoever waited then waits no more. What ran may still be heard of: its process has not ended.
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

    /// One execution, if it began.
    pub fn attempt<'s>(&'s self, path: &'s str, attempt: u32) -> Option<&'s Attempt<'e>> {
        let attempts: &'s HashMap<AttemptKey<'s>, Attempt<'e>> = &self.attempts;
        attempts.get(&(path, attempt))
    }

    /// The execution that an event belongs to, if it belongs to one that began. Of one that went on after an
    /// interruption, how it stood before, if the event came before.
    pub fn of<'s>(&'s self, event: &'s Event) -> Option<&'s Attempt<'e>> {
        let path = event.path.as_deref()?;
        self.earlier(event).or_else(|| self.attempt(path, event.attempt))
    }

    /// How the execution of an event stood that went on after an interruption, if the event came before.
    fn earlier<'s>(&'s self, event: &'s Event) -> Option<&'s Attempt<'e>> {
        if self.before.is_empty() {
            return None;
        }
        let before: &'s HashMap<AttemptKey<'s>, Vec<(Seq, Attempt<'e>)>> = &self.before;
        let earlier = before.get(&(event.path.as_deref()?, event.attempt))?;
        let seq = self.carried.get(&event.seq).copied().unwrap_or(event.seq);
        earlier.iter().find(|(goes_on, _)| seq < *goes_on).map(|(_, attempt)| attempt)
    }

    /// Whether an execution did something in vain before it went on: it was cut off or waited, and neither had the
    /// callback returned that did it, nor was it the telling of a failure.
    pub(super) fn is_in_vain(&self, event: &Event) -> bool {
        let stays = || self.is_kept(event) || is_told_failure(&event.kind);
        self.earlier(event).is_some_and(|run| run.stands.is_rolled_back(run.was_cut, false)) && !stays()
    }

    /// Whether the execution of an event went on after it, as the same instance.
    pub(super) fn went_on(&self, event: &Event) -> bool {
        self.earlier(event).is_some()
    }

    /// Whether an event is what a callback did that has returned.
    pub fn is_kept(&self, event: &Event) -> bool {
        self.kept.contains(&event.seq)
    }

    /// Whether a resume brought this into force again.
    pub fn is_repeated(&self, event: &Event) -> bool {
        self.repeated.contains(&event.seq)
    }

    /// Whether a call of a callback did this that was called again.
    pub fn is_superseded(&self, event: &Event) -> bool {
        self.superseded.contains(&event.seq)
    }

    /// Whether an event is part of an attempt that a resume took from the log. What follows the end of such an
    /// attempt is new: a failure is told, or rescued, only then.
    pub fn is_taken_from_log(&self, event: &Event) -> bool {
        let end = self.of(event).filter(|attempt| attempt.memoized).and_then(|attempt| attempt.finished);
        end.is_some_and(|end| event.seq <= end)
    }

    /// Whether an event is a write to shared memory that is without effect: one of an attempt that was rolled back,
    /// or, of a request that nobody runs, of an attempt that has not ended.
    pub fn is_rolled_back(&self, event: &Event, live: bool) -> bool {
        let is_shared = matches!(&event.kind, EventKind::StateChanged { scope, .. } if !scope.kind.is_durable());
        let Some(attempt) = self.of(event).filter(|_| is_shared) else { return false };
        if self.is_superseded(event) {
            return true;
        }
        attempt.is_rolled_back(live) && !self.is_kept(event) && !self.is_repeated(event)
    }
}

/// The events of a request that say something of its session and count: those of blocks that ended, and those of
/// callbacks that returned, unless their block was tried again.
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

/// The event with which a block at a path first finished in the newest of its attempts that count: not where a
/// resume took that from the log. Where none counts, its newest end of any kind.
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
