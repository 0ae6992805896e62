//! The recorded effects of a request, which a replay uses instead of real ones (ARCHITECTURE §5.8).
//!
//! A replay looks up an effect by the block's path, its attempt, the kind and the ordinal. Asynchronous effects
//! complete in recorded order, each only when the request can make no other progress, so that concurrent blocks
//! interleave as recorded. The clock is that of the recording. Must never run a real effect: an effect that is not in
//! this log is the point at which the replay diverges.

mod callers;
mod missing;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value};

use crate::execution::record::block_order::BlockOrder;
use crate::execution::record::earlier_items::EarlierItems;
use crate::execution::record::event_times::EventTimes;
use crate::execution::record::kept_parts::KeptParts;
use crate::execution::record::position::Position;
use crate::execution::record::turns::Turns;
use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::{DriftKind, Event, EventKind, KeptPart, Seq};
use crate::model::log::Record;
use crate::model::path::{is_called, parent};
use crate::model::scope::ScopeKey;
use crate::model::suspension::SuspensionRequest;

pub use super::replayed_question::ReplayedQuestion;
use crate::views::fork_edits::edited_input;
use crate::views::model_requests::{AskedWith, Requests};
use crate::views::replay_order::ReplayOrder;
use callers::{called, callers};
pub use missing::Missing;

/// One recorded effect.
#[derive(Clone, Debug)]
pub(crate) struct RecordedEffect {
    pub(crate) seq: Seq,
    /// When it settled. If a resume reused it, the position of the original result.
    settled: Position,
    pub(crate) request: Option<AskedWith>,
    pub(crate) result: Value,
    pub(crate) error: Option<FlowError>,
}

/// The effects of one attempt, by kind and ordinal.
type Effects = HashMap<EffectKind, BTreeMap<u32, RecordedEffect>>;

/// Returns the key of a callback in [`SeenRecords`], where it replaces the block's path.
pub fn callback_key(path: &str, callback: &str) -> Arc<str> {
    format!("{path}\u{0}{callback}").into()
}

/// Returns the key in [`SeenRecords`] of the records after a step whose output a fork edited.
pub fn edit_key(path: &str) -> Arc<str> {
    callback_key(path, "")
}

/// The durable records, written by other requests, that blocks read: by path and attempt.
pub type SeenRecords = HashMap<(Arc<str>, u32), Vec<(ScopeKey, Record)>>;

/// The effects of a recorded request, and the state of its replay: its time, and its waiting futures.
pub struct EffectLog {
    attempts: HashMap<Arc<str>, Vec<Effects>>,
    /// When callbacks returned: by path, attempt and name.
    returned: HashMap<(Arc<str>, usize, String), Position>,
    /// The blocks whose functions called other blocks or `runOnce`, and so may wait for several results at once.
    callers: HashSet<Arc<str>>,
    /// The paths of the blocks that models called.
    called: HashSet<Arc<str>>,
    /// The records that other requests had written, as blocks read them.
    seen: RefCell<SeenRecords>,
    /// The parts of other requests that a fork reuses.
    kept_parts: KeptParts,
    /// When blocks started and ended.
    block_order: BlockOrder,
    /// Attempts that had not ended when the recording ended.
    unfinished: HashSet<(Arc<str>, u32)>,
    /// Effects that were started and did not end while their block ran: the block did not await them.
    unawaited: HashSet<(Arc<str>, u32, EffectKind, u32)>,
    /// How often the request had been resumed when an attempt started; absent for 0.
    resume_counts: HashMap<(Arc<str>, u32), u32>,
    /// The attempts at which the count of a block's tries restarted at 0, because a resume ran a failed block again.
    rounds: HashSet<(Arc<str>, u32)>,
    /// When attempts started that ran after a resume, before which other requests of the session may have run.
    started: HashMap<(Arc<str>, u32), i64>,
    /// The futures that wait to become due.
    turns: Turns,
    now: Arc<AtomicI64>,
    timers: Cell<Seq>,
    /// The first effect that the replay requested and that is not in the log.
    missing: RefCell<Option<Missing>>,
    /// Items of attempts before the ones that count.
    pub(crate) earlier_items: EarlierItems,
    /// The times of the recorded events.
    event_times: EventTimes,
    /// The questions that the replay asked.
    questions: RefCell<Vec<ReplayedQuestion>>,
}

impl EffectLog {
    /// Returns the part of another request in which a block ended, or one of its callbacks returned.
    pub(crate) fn kept_part(&self, path: &Arc<str>, attempt: u32, callback: Option<&str>) -> Option<&KeptPart> {
        self.kept_parts.part(path, attempt, callback)
    }

    /// Reads the effects of a log. `seen` are the records that other requests had written, as blocks read them.
    pub fn new(events: &[Event], seen: SeenRecords) -> Rc<EffectLog> {
        let (counting, requests) = (ReplayOrder::read(events), Requests::of(events));
        let mut attempts: HashMap<Arc<str>, Vec<Effects>> = HashMap::new();
        let own = edited_input(events).unwrap_or(0);
        let unfinished = counting.unfinished().map(|(path, nth)| (path, nth as u32)).collect();
        let rounds = counting.rounds().map(|(path, nth)| (path, nth as u32)).collect();
        let (mut resumes, mut resume_counts, mut started) = (0, HashMap::new(), HashMap::new());
        for event in events {
            match (&event.kind, &event.path) {
                (EventKind::RequestResumed { .. }, _) => resumes += 1,
                (EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. }, Some(path)) if resumes > 0 => {
                    let of = counting.place(event).map(|nth| (path.clone(), nth as u32));
                    started.extend(of.clone().map(|of| (of, event.at)));
                    resume_counts.extend(of.map(|of| (of, resumes)));
                }
                _ => {}
            }
        }
        let (mut returned, mut return_times) = (HashMap::new(), HashMap::new());
        for event in events.iter().filter(|event| event.seq > own) {
            let (EventKind::CallbackReturned { callback, memoized, .. }, Some(path)) = (&event.kind, &event.path)
            else {
                continue;
            };
            // The time of the real call, not of a resume that reused it.
            let happened: &mut Position = return_times.entry((path, callback)).or_insert((event.at, event.seq));
            if !memoized {
                *happened = (event.at, event.seq);
            }
            if let Some(nth) = counting.place_to_end(event) {
                returned.insert((path.clone(), nth, callback.clone()), *happened);
            }
        }
        // A memoized call keeps the request of the original call, because the resume's own request may differ.
        let mut kept: HashMap<(&Arc<str>, usize, EffectKind), u32> = HashMap::new();
        let mut first_asked: HashMap<(&Arc<str>, EffectKind, u32), Option<&AskedWith>> = HashMap::new();
        // With the part of the request (counted by resumes), because a conflict repeats effects within one part.
        let mut first_settled: HashMap<(&Arc<str>, EffectKind, u32), (u32, Position)> = HashMap::new();
        let (mut part, mut part_began) = (0, 0);
        // For each calling block, the ends of called blocks that were tried once, in order.
        let (mut called_ends, mut tries): (HashMap<&str, Vec<Seq>>, HashMap<&str, u32>) = Default::default();
        // The blocks whose model request changed on a resume, and which reused the recorded answer.
        let mut drifted: HashSet<&str> = HashSet::new();
        for event in events {
            match (&event.kind, event.path.as_deref()) {
                (EventKind::RequestResumed { .. }, _) => {
                    (part, part_began) = (part + 1, event.seq);
                    drifted.clear();
                }
                (EventKind::Drift { drift: DriftKind::ModelCall, .. }, Some(path)) => drop(drifted.insert(path)),
                (EventKind::BlockStarted { .. }, Some(path)) if is_called(path) => *tries.entry(path).or_default() += 1,
                (EventKind::BlockFinished { memoized: false, .. }, Some(path)) if tries.get(path) == Some(&1) => {
                    called_ends.entry(parent(path).unwrap_or_default()).or_default().push(event.seq);
                }
                _ => {}
            }
            let (EventKind::EffectFinished { effect, ordinal, result, error, memoized, .. }, Some(path)) =
                (&event.kind, &event.path)
            else {
                continue;
            };
            let (asked, request) = ((path, *effect, *ordinal), requests.asked(event).map(|(_, request)| request));
            let request = if *memoized { first_asked.get(&asked).copied().unwrap_or(request) } else { request };
            first_asked.insert(asked, request);
            let mut settled = (event.at, event.seq);
            match first_settled.get(&asked) {
                // A pause, or a result before a called block that the resume reused, settles at its original position.
                // Other effects settle where the resume reused them.
                Some((before, first)) if *memoized && *before < part => {
                    let ends = called_ends.get(path.as_ref()).map(Vec::as_slice).unwrap_or_default();
                    let next = ends.get(ends.partition_point(|end| *end <= first.1));
                    if *effect == EffectKind::Sleep || next.is_some_and(|end| *end < part_began) {
                        settled = *first;
                    } else {
                        first_settled.insert(asked, (part, settled));
                    }
                }
                _ => drop(first_settled.insert(asked, (part, settled))),
            }
            let Some(nth) = counting.place_to_end(event).filter(|_| event.seq > own) else { continue };
            let of_path = attempts.entry(path.clone()).or_default();
            of_path.resize_with(of_path.len().max(nth + 1), HashMap::new);
            // Effects of returned callbacks of an interrupted attempt come before those of the attempt after it.
            let before = kept.entry((path, nth, *effect)).or_insert(0);
            let number = if counting.is_cut(event) && counting.place(event).is_some() {
                std::mem::replace(before, *before + 1)
            } else {
                *before + ordinal
            };
            let is_drifted = *memoized && *effect == EffectKind::Model && drifted.contains(&**path);
            let recorded = RecordedEffect {
                seq: event.seq,
                settled,
                request: request.filter(|_| !is_drifted).cloned(),
                result: result.clone(),
                error: error.clone(),
            };
            of_path[nth].entry(*effect).or_default().insert(number, recorded);
        }
        let unawaited = events.iter().filter_map(|event| {
            let EventKind::EffectStarted { effect, ordinal, .. } = &event.kind else { return None };
            let (path, nth) = (event.path.clone()?, counting.place_to_end(event)?);
            let ended = attempts.get(&path).and_then(|of_path| of_path.get(nth)).and_then(|of| of.get(effect));
            let has_ended = ended.is_some_and(|numbers| numbers.contains_key(ordinal));
            (!has_ended).then_some((path, nth as u32, *effect, *ordinal))
        });
        let unawaited = unawaited.collect();
        Rc::new(EffectLog {
            unawaited,
            attempts,
            returned,
            kept_parts: KeptParts::of(events, &counting),
            block_order: BlockOrder::of(events, &counting, own),
            callers: callers(events),
            called: called(events),
            earlier_items: EarlierItems::of(events, &counting, own),
            event_times: EventTimes::of(events, &counting, own),
            resume_counts,
            unfinished,
            rounds,
            seen: RefCell::new(seen),
            turns: Turns::default(),
            // The minimum: the events that a fork shares with another request are older than its first event.
            now: Arc::new(events.iter().map(|event| event.at).min().unwrap_or(0).into()),
            started,
            timers: Cell::new(Seq::MAX / 2),
            missing: RefCell::default(),
            questions: RefCell::default(),
        })
    }

    /// Returns the time of the recording, in milliseconds since the epoch.
    pub fn now(&self) -> i64 {
        self.now.load(Ordering::Relaxed)
    }

    /// A shared handle to the time of the recording.
    pub fn clock(&self) -> Arc<AtomicI64> {
        self.now.clone()
    }

    /// A pause of the engine itself (not of a flow), in the recording's time.
    pub fn timer(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        self.timers.set(self.timers.get() + 1);
        self.turns.wait((self.now().saturating_add_unsigned(ms), self.timers.get()))
    }

    /// Completes the next awaited effect or timer. Returns whether there was one.
    pub fn advance(&self) -> bool {
        // Futures without a position come last and do not change the time.
        self.turns.next(|(at, _)| {
            if at != i64::MAX {
                self.now.fetch_max(at, Ordering::Relaxed);
            }
        })
    }

    /// Returns the first requested effect that is not in the log.
    pub fn missing(&self) -> Option<Missing> {
        self.missing.borrow().clone()
    }

    /// Returns the questions that the replay asked, in the order in which it asked them.
    pub fn questions(&self) -> Vec<ReplayedQuestion> {
        self.questions.borrow().clone()
    }

    /// Records a question of the replay. Attempt `place` asked the same question in the recording.
    pub(crate) fn note_question(&self, path: &Arc<str>, place: u32, asked: &SuspensionRequest, is_answered: bool) {
        let (path, asking) = (path.clone(), asked.clone());
        self.questions.borrow_mut().push(ReplayedQuestion { path, place, asking, is_answered });
    }

    /// Returns the recorded time of an attempt's event that creates an item, and restores the item's recorded times.
    /// `None` if the log has no such event.
    pub fn event_time(&self, path: Option<&Arc<str>>, attempt: u32, kind: &mut EventKind) -> Option<i64> {
        self.event_times.restore(path, attempt, kind)
    }

    /// Returns the `id` and the `ts` of the next journal entry of an attempt; empty if the log has none.
    pub(crate) fn next_journal_entry(&self, path: &Arc<str>, attempt: u32) -> Map<String, Value> {
        self.event_times.next_journal_entry(path, attempt)
    }

    /// Returns a recorded effect of an attempt, by kind and ordinal.
    pub(crate) fn effect(
        &self,
        path: &Arc<str>,
        attempt: u32,
        effect: EffectKind,
        ordinal: u32,
    ) -> Option<RecordedEffect> {
        let of_attempt = self.attempts.get(path).and_then(|attempts| attempts.get(attempt as usize));
        of_attempt.and_then(|effects| effects.get(&effect)).and_then(|all| all.get(&ordinal)).cloned()
    }

    /// Waits until an attempt may start: returns at once, unless it ran again after a crash or an abort.
    pub(crate) async fn wait_for_recorded_start(&self, path: &Arc<str>, attempt: u32) {
        if let Some(due) = self.block_order.start(path, attempt) {
            self.turns.wait(due).await;
        }
        if let Some(at) = self.started.get(&(path.clone(), attempt)) {
            self.now.fetch_max(*at, Ordering::Relaxed);
        }
    }

    /// Waits until an attempt may end. Returns at once if no blocks of the request ran in parallel.
    pub(crate) async fn wait_for_recorded_end(&self, path: &Arc<str>, attempt: u32) {
        if let Some(due) = self.block_order.end(path, attempt) {
            self.turns.wait(due).await;
        }
    }

    /// Returns whether an attempt of a Call completed.
    pub(crate) fn has_completed(&self, path: &Arc<str>, attempt: u32) -> bool {
        self.block_order.has_completed(path, attempt)
    }

    /// Returns how often the request had been resumed when an attempt started.
    pub(crate) fn resumes(&self, path: &Arc<str>, attempt: u32) -> u32 {
        self.resume_counts.get(&(path.clone(), attempt)).copied().unwrap_or(0)
    }

    /// Returns whether the count of a block's tries restarts at 0 at an attempt.
    pub(crate) fn begins_round(&self, path: &Arc<str>, attempt: u32) -> bool {
        !self.rounds.is_empty() && self.rounds.contains(&(path.clone(), attempt))
    }

    /// Returns a future that completes when a callback of an attempt is due to return; `None` if it did not return.
    pub(crate) fn returned(
        &self,
        path: &Arc<str>,
        attempt: u32,
        function: &str,
    ) -> Option<LocalBoxFuture<'static, ()>> {
        let due = self.returned.get(&(path.clone(), attempt as usize, function.to_owned()))?;
        Some(self.turns.wait(*due))
    }

    /// Returns a future that completes when the effect is due.
    pub(crate) fn wait_until_due(&self, effect: &RecordedEffect) -> LocalBoxFuture<'static, ()> {
        self.turns.wait(effect.settled)
    }

    /// Returns whether a function of a block called other blocks or `runOnce`.
    pub(crate) fn calls_others(&self, path: &str) -> bool {
        self.callers.contains(path)
    }

    /// Returns whether a model called a block at a path.
    pub(crate) fn has_called(&self, path: &str) -> bool {
        self.called.contains(path)
    }

    /// Returns a future that completes when an attempt is due to end; if it has no recorded end, after the whole log.
    pub(crate) fn wait_until_ended(&self, path: &Arc<str>, attempt: u32) -> LocalBoxFuture<'static, ()> {
        match self.block_order.end_of_called(path, attempt) {
            Some(due) => self.turns.wait(due),
            None => self.turns.wait_behind_log(),
        }
    }

    /// Returns a future that completes after the whole log.
    pub(crate) fn wait_behind_log(&self) -> LocalBoxFuture<'static, ()> {
        self.turns.wait_behind_log()
    }

    /// Returns a future that completes at a position of the log.
    pub(crate) fn wait_for(&self, position: Position) -> LocalBoxFuture<'static, ()> {
        self.turns.wait(position)
    }

    /// Takes the records of other requests that an attempt read; for resources at the first read.
    pub(crate) fn seen(
        &self,
        path: &Arc<str>,
        attempt: u32,
        is_wanted: impl Fn(&ScopeKey) -> bool,
    ) -> Vec<(ScopeKey, Record)> {
        let mut seen = self.seen.borrow_mut();
        let Some(all) = seen.get_mut(&(path.clone(), attempt)) else { return Vec::new() };
        all.extract_if(.., |(scope, _)| is_wanted(scope)).collect()
    }
}
