//! View: the attempts of a request that a replay makes, and their order.
//!
//! A block that a resume took from the log is not a separate attempt. The work of an attempt that was cut off is done
//! by the next attempt.

mod passed_over;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::path::{ON_STEP_ERRORED, is_called, is_of_end_hook, parent, with_ancestors};
use passed_over::PassedOver;

/// One uninterrupted run of an attempt: the number of the attempt, and how often it had been resumed.
type Run = (u32, u32);

/// How a run of an attempt ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    /// By itself, with any outcome, including `abandoned` by a retry.
    Itself,
    /// Taken from the log.
    Memoized,
    /// It was cut off: the process died, or it waited for an answer.
    Cut,
    /// It did not end, and a retry began at its path, as after a time-out. A replay begins both.
    Left,
}

/// The attempts of a request that a replay makes.
pub struct ReplayOrder {
    ends: HashMap<(Arc<str>, Run), End>,
    began: HashMap<(Arc<str>, Run), Seq>,
    /// The newest run of every path.
    newest: HashMap<Arc<str>, Run>,
    /// The events with which attempts continued after interruptions, in order.
    resumed: HashMap<(Arc<str>, u32), Vec<Seq>>,
    kept: HashSet<Seq>,
    again: HashSet<Seq>,
    /// The runs that count, by path, in order; a replay makes them one after another.
    order: HashMap<Arc<str>, Vec<Run>>,
    /// The start events of attempts that ran again from the start after being cut off.
    again_from_top: HashSet<Seq>,
    /// The counting runs with which the tries of a block are counted from zero again, because a resume ran a failed
    /// block again.
    rounds: HashSet<(Arc<str>, Run)>,
    /// The paths whose next counting run will be one of `rounds`.
    begins_round: HashSet<Arc<str>>,
    /// The failed runs that a resume ran again.
    withdrawn: HashSet<(Arc<str>, Run)>,
    /// By path: the event with which a resume ran a failed block again.
    ran_again: HashMap<Arc<str>, Seq>,
    /// The branches that the newest round of their operation did not reach.
    passed_over: PassedOver,
}

impl ReplayOrder {
    /// Reads a log.
    pub fn read(events: &[Event]) -> Self {
        let mut all = ReplayOrder {
            ends: HashMap::new(),
            began: HashMap::new(),
            newest: HashMap::new(),
            resumed: HashMap::new(),
            kept: HashSet::new(),
            again: HashSet::new(),
            order: HashMap::new(),
            again_from_top: HashSet::new(),
            rounds: HashSet::new(),
            begins_round: HashSet::new(),
            withdrawn: HashSet::new(),
            ran_again: HashMap::new(),
            passed_over: PassedOver::default(),
        };
        // Failed attempts since the last resume, and those before it.
        let (mut open_failures, mut failed) = (HashSet::new(), HashSet::new());
        let (mut life, mut waiting) = (0, HashSet::new());
        // Whether a resume recorded reused blocks again. In this case no event names the failure that an attempt
        // replaces.
        let mut repeats = false;
        // The blocks of the hooks that ran at the newest end of the request.
        let (mut end_hooks, mut has_finished) = (HashSet::new(), false);
        for event in events {
            let Some(path) = &event.path else {
                match event.kind {
                    EventKind::RequestFinished { .. } => has_finished = true,
                    EventKind::RequestResumed { keeps_ended, .. } => {
                        failed.extend(open_failures.drain());
                        (life, repeats) = (event.seq, repeats || !keeps_ended);
                        if std::mem::take(&mut has_finished) {
                            // A replay reaches only the newest end.
                            end_hooks.drain().for_each(|path: Arc<str>| drop(all.order.remove(&path)));
                        }
                    }
                    _ => {}
                }
                continue;
            };
            if matches!(event.kind, EventKind::BlockResumed { .. }) {
                all.resumed.entry((path.clone(), event.attempt)).or_default().push(event.seq);
            }
            let run = all.run(event, path);
            let key = (path.clone(), run);
            match &event.kind {
                EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. } => {
                    all.began.insert(key.clone(), event.seq);
                    all.passed_over.begin(path);
                    if let Some(before) = all.replaced(event, path, run).filter(|before| failed.remove(before)) {
                        all.withdraw(before);
                        all.passed_over.run_again(path);
                        all.ran_again.insert(path.clone(), event.seq);
                    }
                    let before = all.newest.insert(path.clone(), run).map(|before| (path.clone(), before));
                    if let Some(before) = before
                        && !waiting.contains(&before)
                        && all.ends.get(&before) == Some(&End::Cut)
                        && all.began.get(&before).is_some_and(|began| *began > life)
                    {
                        all.order.entry(path.clone()).or_default().push(before.1);
                        all.ends.insert(before, End::Left);
                    }
                    all.ends.insert(key, End::Cut);
                }
                EventKind::BlockFinished { memoized: true, .. } => drop(all.ends.insert(key, End::Memoized)),
                // It waited, or another writer was faster: the next attempt begins from the start.
                EventKind::BlockFinished { outcome: Outcome::Suspended, .. }
                | EventKind::BlockFinished { outcome: Outcome::Abandoned, error: None, .. } => {
                    waiting.insert(key);
                }
                EventKind::BlockFinished { outcome, .. } => {
                    if is_of_end_hook(path) {
                        end_hooks.insert(path.clone());
                    }
                    let last = all.order.get(path).and_then(|order| order.last()).map(|last| (path.clone(), *last));
                    if let Some(last) = last.filter(|last| repeats && failed.remove(last)) {
                        all.withdraw(last);
                    }
                    if all.begins_round.remove(path) {
                        all.rounds.insert(key.clone());
                    }
                    let order = all.order.entry(path.clone()).or_default();
                    // A replay makes them in the order of their starts; one may end after the next one.
                    if let Err(at) = order.binary_search(&run) {
                        order.insert(at, run);
                    }
                    if *outcome == Outcome::Failed {
                        all.passed_over.fail(path);
                        open_failures.insert(key.clone());
                    }
                    all.ends.insert(key, End::Itself);
                }
                EventKind::CallbackReturned { events, memoized: true, .. } => all.again.extend(events),
                EventKind::CallbackReturned { events, superseded, .. } => {
                    all.kept.extend(events.iter().chain([&event.seq]));
                    all.again.extend(superseded);
                }
                _ => {}
            }
        }
        if repeats {
            all.withdraw_before_unfinished(&failed);
        }
        all.find_second_tries(events);
        all
    }

    /// The run of an attempt that an event belongs to.
    fn run(&self, event: &Event, path: &Arc<str>) -> Run {
        let resumed = if self.resumed.is_empty() { None } else { self.resumed.get(&(path.clone(), event.attempt)) };
        (event.attempt, resumed.map_or(0, |resumed| resumed.partition_point(|seq| *seq <= event.seq) as u32))
    }

    /// The failed run that a starting run replaces: the same attempt's run before it continued, or the newest run of
    /// the previous attempt.
    fn replaced(&self, event: &Event, path: &Arc<str>, (attempt, resumed): Run) -> Option<(Arc<str>, Run)> {
        let before = match event.kind {
            EventKind::BlockResumed { .. } => (attempt, resumed.checked_sub(1)?),
            EventKind::BlockStarted { replaces_failed: true, .. } => {
                let before = attempt.checked_sub(1)?;
                (before, self.resumed.get(&(path.clone(), before)).map_or(0, |resumed| resumed.len() as u32))
            }
            _ => return None,
        };
        Some((path.clone(), before))
    }

    /// Removes a failed run that a resume ran again, even if the new attempt was cut off. Earlier tries stay, because
    /// their inner blocks ran; tries are counted from zero again.
    fn withdraw(&mut self, (path, run): (Arc<str>, Run)) {
        if let Some(order) = self.order.get_mut(&path) {
            order.retain(|known| *known != run);
        }
        self.begins_round.insert(path.clone());
        self.withdrawn.insert((path.clone(), run));
        self.ends.insert((path, run), End::Cut);
    }

    /// The same for the newest unfinished attempts, if no event names the failure that they replace.
    fn withdraw_before_unfinished(&mut self, failed: &HashSet<(Arc<str>, Run)>) {
        let cut = self.newest.iter().filter(|(path, run)| self.is_unfinished(path, **run));
        let last = cut.filter_map(|(path, newest)| {
            let last = self.order.get(path)?.last().filter(|last| *last < newest)?;
            Some((path.clone(), *last))
        });
        let last: Vec<_> = last.filter(|last| failed.contains(last)).collect();
        last.into_iter().for_each(|last| self.withdraw(last));
    }

    /// A chain that is only passed through again is not a second try, because its finished blocks stay.
    fn find_second_tries(&mut self, events: &[Event]) {
        let (mut cut, mut chains) = (HashSet::new(), HashSet::new());
        for event in events {
            let Some(at) = &event.path else { continue };
            let path = &**at;
            match (&event.kind, self.ends.get(&(at.clone(), self.run(event, at)))) {
                (EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. }, Some(End::Cut)) => {
                    cut.insert(path);
                }
                (EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. }, Some(End::Itself))
                    if cut.contains(path) && !chains.contains(path) =>
                {
                    self.again_from_top.insert(event.seq);
                }
                // The same for one whose functions returned, because they are not called again.
                (EventKind::CallbackReturned { memoized: false, .. }, _) => drop(chains.insert(path)),
                (EventKind::BlockFinished { .. }, Some(End::Itself)) => {
                    chains.extend(with_ancestors(path).skip(1));
                }
                _ => {}
            }
        }
    }

    /// Whether a block began again with this event because it had been cut off. It then saw everything that had
    /// happened since.
    pub fn is_second_try(&self, event: &Event) -> bool {
        self.again_from_top.contains(&event.seq)
    }

    /// The index of the counting attempt of its path, from 0, that an event belongs to. Events of functions in an
    /// attempt that was cut off belong to the next counting attempt.
    pub fn place(&self, event: &Event) -> Option<usize> {
        if self.again.contains(&event.seq) { None } else { self.place_of_repeated(event) }
    }

    /// Like [`place`](Self::place), but also for events of a function that was called again after a conflict.
    pub fn place_of_repeated(&self, event: &Event) -> Option<usize> {
        let path = event.path.as_ref().filter(|path| !self.passed_over.has(path))?;
        let run = self.run(event, path);
        let key = (path.clone(), run);
        // An event before the start of its block, such as the user's message, belongs to the request.
        if self.began.get(&key).is_none_or(|began| event.seq < *began) {
            return None;
        }
        let order = self.order.get(path).map(Vec::as_slice).unwrap_or_default();
        match self.ends.get(&key) {
            Some(End::Itself | End::Left) => order.iter().position(|other| *other == run),
            Some(End::Cut) if self.kept.contains(&event.seq) => {
                order.iter().position(|other| *other > run).or(Some(order.len()))
            }
            _ => None,
        }
    }

    /// The index of the counting attempt of its path, from 0, that asks a recorded question. For an attempt that waited
    /// or was cut off, it is the next one.
    pub fn place_of_question(&self, event: &Event) -> usize {
        let Some(path) = &event.path else { return 0 };
        let run = self.run(event, path);
        self.order.get(path).map_or(0, |order| order.partition_point(|other| *other < run))
    }

    /// Blocks that a function ran before it failed, and `onStepErrored` hooks of failed blocks, if a resume ran the
    /// function or the block again. The resume reused those that it reached, without an event, so a replay may run them
    /// or not.
    pub fn may_be_left_out(&self) -> impl Iterator<Item = &Arc<str>> {
        let is_before = |called: &str| {
            let again = parent(called).and_then(|around| self.ran_again.get(around));
            let newest = self.newest.get_key_value(called).map(|(path, run)| (path.clone(), *run));
            let began = newest.and_then(|newest| self.began.get(&newest));
            again.zip(began).is_some_and(|(again, began)| began < again)
        };
        let is_hook = |path: &str| path.rsplit('/').next().is_some_and(|last| last.starts_with(ON_STEP_ERRORED));
        let may_be_silent = move |path: &str| (is_called(path) || is_hook(path)) && is_before(path);
        let begun = self.newest.keys().filter(|_| !self.ran_again.is_empty());
        begun.filter(move |path| with_ancestors(path).any(&may_be_silent))
    }

    /// Whether an event's attempt waited or was cut off, and the event belongs to no returned function of it, so that
    /// the next attempt makes it again.
    pub fn is_of_cut_try(&self, event: &Event) -> bool {
        self.is_cut(event) && !self.kept.contains(&event.seq)
    }

    /// Whether an event's attempt failed and a resume ran its block again, so that a replay does not make it.
    pub fn is_withdrawn(&self, event: &Event) -> bool {
        let withdrawn = |path: &Arc<str>| self.withdrawn.contains(&(path.clone(), self.run(event, path)));
        !self.withdrawn.is_empty() && event.path.as_ref().is_some_and(withdrawn)
    }

    /// The unfinished attempts of paths, each with the index that it would have.
    pub fn unfinished(&self) -> impl Iterator<Item = (Arc<str>, usize)> {
        let newest = self.newest.iter().filter(|(path, run)| self.is_unfinished(path, **run));
        let newest = newest.map(|(path, _)| (path.clone(), self.order.get(path).map_or(0, Vec::len)));
        let left = self.ends.iter().filter(|(_, end)| **end == End::Left);
        newest.chain(left.filter_map(|((path, run), _)| {
            Some((path.clone(), self.order.get(path)?.iter().position(|other| other == run)?))
        }))
    }

    /// The attempts with which tries are counted from zero again, because a resume ran a failed block again. Their
    /// indexes are those of [`place`](Self::place).
    pub fn rounds(&self) -> impl Iterator<Item = (Arc<str>, usize)> {
        let ended = self.rounds.iter().filter_map(|(path, run)| {
            Some((path.clone(), self.order.get(path)?.iter().position(|other| other == run)?))
        });
        let open = self.begins_round.iter();
        ended.chain(open.map(|path| (path.clone(), self.order.get(path).map_or(0, Vec::len))))
    }

    fn is_unfinished(&self, path: &Arc<str>, run: Run) -> bool {
        self.newest.get(path) == Some(&run) && self.ends.get(&(path.clone(), run)) == Some(&End::Cut)
    }

    /// Like [`place`](Self::place), but also for events of an unfinished attempt.
    pub fn place_to_end(&self, event: &Event) -> Option<usize> {
        let unfinished = event.path.as_ref().filter(|path| self.is_unfinished(path, self.run(event, path)));
        let of_unfinished = unfinished.map(|path| self.order.get(path).map_or(0, Vec::len));
        self.place(event).or(of_unfinished)
    }

    /// Whether an event belongs to the newest unfinished attempt of a path, or to a function of an earlier attempt
    /// whose result that attempt reuses.
    pub fn is_of_unfinished(&self, event: &Event) -> bool {
        let Some(path) = event.path.as_ref().filter(|path| !self.passed_over.has(path)) else { return false };
        let Some(newest) = self.newest.get(path).filter(|newest| self.is_unfinished(path, **newest)) else {
            return false;
        };
        let run = self.run(event, path);
        let key = (path.clone(), run);
        let is_before = self.began.get(&key).is_none_or(|began| event.seq < *began);
        let is_kept = || {
            let is_last = self.order.get(path).is_none_or(|order| order.iter().all(|other| *other < run));
            is_last && self.ends.get(&key) == Some(&End::Cut) && self.kept.contains(&event.seq)
        };
        let is_again = self.again.contains(&event.seq);
        !is_before && !is_again && (run == *newest || is_kept())
    }

    /// Whether an event belongs to the newest attempt of its path.
    pub fn is_of_newest(&self, event: &Event) -> bool {
        event.path.as_ref().is_some_and(|path| self.newest.get(path) == Some(&self.run(event, path)))
    }

    /// Whether an event's attempt was cut off, so that the next one takes its functions' results from the log.
    pub fn is_cut(&self, event: &Event) -> bool {
        let key = event.path.clone().map(|path| (path.clone(), self.run(event, &path)));
        key.is_some_and(|key| self.ends.get(&key) == Some(&End::Cut))
    }

    /// Whether an attempt continued after an interruption.
    pub fn goes_on(&self, path: &Arc<str>, attempt: u32) -> bool {
        !self.resumed.is_empty() && self.resumed.contains_key(&(path.clone(), attempt))
    }

    /// The index of the last counting attempt of a path, as for [`place`](Self::place).
    pub fn last(&self, path: &str) -> Option<usize> {
        self.order.get(path)?.len().checked_sub(1)
    }
}
