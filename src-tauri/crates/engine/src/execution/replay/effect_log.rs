//! The effects of a recorded request, to be given to a replay in their order (ARCHITECTURE §5.8).
//!
//! A replay asks for an effect by the block's path, its attempt, the kind and the number. What takes
//! time is handed out in recorded order, and only when the request cannot move by itself any more: then
//! blocks that run beside each other meet as they met. Time itself is that of the recording. It must
//! never ask the real outside: what is not on the effect log is the divergence.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::{Map, Value, json};

use crate::execution::frame::Frame;
use crate::execution::request::{Run, defaults};
use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, Seq};
use crate::model::log::Record;
use crate::model::operation::equal;
use crate::model::scope::ScopeKey;
use crate::views::diff::diff;
use crate::views::edited_input;
use crate::views::model_requests::{AskedWith, Requests};
use crate::views::replay_order::ReplayOrder;

/// One effect.
#[derive(Clone, Debug)]
pub(crate) struct RecordedEffect {
    pub(crate) seq: Seq,
    at: i64,
    pub(crate) request: Option<AskedWith>,
    pub(crate) result: Value,
    pub(crate) error: Option<FlowError>,
}

/// What one attempt got from outside, by kind and number.
type Effects = HashMap<EffectKind, BTreeMap<u32, RecordedEffect>>;

/// What a callback of a block saw stands under the block's path and this.
pub fn of_callback(path: &str, callback: &str) -> Arc<str> {
    format!("{path}\u{0}{callback}").into()
}

/// What blocks saw of records that others had written: by path and attempt.
pub type Seen = HashMap<(Arc<str>, u32), Vec<(ScopeKey, Record)>>;

/// Where a replay is: the effects it may still get, and the time.
pub struct EffectLog {
    attempts: HashMap<Arc<str>, Vec<Effects>>,
    /// When functions returned.
    returned: HashMap<(Arc<str>, usize, String), (i64, Seq)>,
    /// What a block saw of durable records that others had written, by its first event.
    seen: RefCell<Seen>,
    /// When blocks began that had been cut off before.
    late: HashMap<(Arc<str>, u32), (i64, Seq)>,
    /// Attempts that had not come to their end when the recording ended.
    unfinished: HashSet<(Arc<str>, u32)>,
    /// Calls that began, and of which nothing more is heard while their block ran: nobody waited for them.
    unheard: HashSet<(Arc<str>, u32, EffectKind, u32)>,
    /// How often the request had been taken up when blocks began, where it had been.
    lives: HashMap<(Arc<str>, u32), u32>,
    /// What waits for its moment: at which time, in which order.
    waiting: RefCell<BTreeMap<(i64, Seq), oneshot::Sender<()>>>,
    now: Cell<i64>,
    timers: Cell<Seq>,
    /// The first thing that was asked for and is not here.
    missing: RefCell<Option<Missing>>,
}

/// An effect that the recording does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Missing {
    /// The block that asked.
    pub path: Arc<str>,
    /// What it asked for: in words, or what of the request is new.
    pub asked: Value,
    /// What was recorded in its place, as far as it differs, and the event.
    pub recorded: Option<(Seq, Value)>,
}

impl EffectLog {
    /// The effect log of a request. `seen` are records as blocks saw them when somebody else had written them.
    pub fn new(events: &[Event], seen: Seen) -> Rc<EffectLog> {
        let (counting, requests) = (ReplayOrder::read(events), Requests::of(events));
        let mut attempts: HashMap<Arc<str>, Vec<Effects>> = HashMap::new();
        let own = edited_input(events).unwrap_or(0);
        let unfinished = counting.unfinished().map(|(path, nth)| (path, nth as u32)).collect();
        let tries = events.iter().filter(|event| event.seq > own && counting.is_second_try(event));
        let late = tries
            .filter_map(|event| Some(((event.path.clone()?, counting.place(event)? as u32), (event.at, event.seq))));
        let late = late.collect();
        let (mut life, mut lives) = (0, HashMap::new());
        for event in events {
            match (&event.kind, &event.path) {
                (EventKind::RequestResumed { .. }, _) => life += 1,
                (EventKind::BlockStarted { .. }, Some(path)) if life > 0 => {
                    lives.extend(counting.place(event).map(|nth| ((path.clone(), nth as u32), life)));
                }
                _ => {}
            }
        }
        let (mut returned, mut moments) = (HashMap::new(), HashMap::new());
        for event in events.iter().filter(|event| event.seq > own) {
            let (EventKind::CallbackReturned { callback, memoized, .. }, Some(path)) = (&event.kind, &event.path)
            else {
                continue;
            };
            // It happened when it was not taken from the log.
            let happened: &mut (i64, Seq) = moments.entry((path, callback)).or_insert((event.at, event.seq));
            if !memoized {
                *happened = (event.at, event.seq);
            }
            if let Some(nth) = counting.place_to_end(event) {
                returned.insert((path.clone(), nth, callback.clone()), *happened);
            }
        }
        // A call that a resume answered from the log was made when others had not written yet.
        let mut kept: HashMap<(&Arc<str>, usize, EffectKind), u32> = HashMap::new();
        let mut first_asked: HashMap<(&Arc<str>, EffectKind, u32), Option<&AskedWith>> = HashMap::new();
        for event in events {
            let (EventKind::EffectFinished { effect, ordinal, result, error, memoized, .. }, Some(path)) =
                (&event.kind, &event.path)
            else {
                continue;
            };
            let (asked, request) = ((path, *effect, *ordinal), requests.asked(event).map(|(_, request)| request));
            let request = if *memoized { first_asked.get(&asked).copied().unwrap_or(request) } else { request };
            first_asked.insert(asked, request);
            let Some(nth) = counting.place_to_end(event).filter(|_| event.seq > own) else { continue };
            let of_path = attempts.entry(path.clone()).or_default();
            of_path.resize_with(of_path.len().max(nth + 1), HashMap::new);
            // What functions got in an attempt that was cut off comes before what the next attempt got.
            let before = kept.entry((path, nth, *effect)).or_insert(0);
            let number = if counting.is_cut(event) && counting.place(event).is_some() {
                std::mem::replace(before, *before + 1)
            } else {
                *before + ordinal
            };
            let taped = RecordedEffect {
                seq: event.seq,
                at: event.at,
                request: request.cloned(),
                result: result.clone(),
                error: error.clone(),
            };
            of_path[nth].entry(*effect).or_default().insert(number, taped);
        }
        let unheard = events.iter().filter_map(|event| {
            let EventKind::EffectStarted { effect, ordinal, .. } = &event.kind else { return None };
            let (path, nth) = (event.path.clone()?, counting.place_to_end(event)?);
            let heard = attempts.get(&path).and_then(|of_path| of_path.get(nth)).and_then(|of| of.get(effect));
            let is_heard = heard.is_some_and(|numbers| numbers.contains_key(ordinal));
            (!is_heard).then_some((path, nth as u32, *effect, *ordinal))
        });
        let unheard = unheard.collect();
        Rc::new(EffectLog {
            unheard,
            attempts,
            returned,
            late,
            lives,
            unfinished,
            seen: RefCell::new(seen),
            waiting: RefCell::default(),
            // What a fork has in common with another request happened before it began.
            now: Cell::new(events.iter().map(|event| event.at).min().unwrap_or(0)),
            timers: Cell::new(Seq::MAX / 2),
            missing: RefCell::default(),
        })
    }

    /// The time of the recording, milliseconds since the epoch.
    pub fn now(&self) -> i64 {
        self.now.get()
    }

    /// A pause of the engine's own, in the recording's time.
    pub fn timer(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        self.timers.set(self.timers.get() + 1);
        self.wait((self.now.get().saturating_add_unsigned(ms), self.timers.get()))
    }

    /// Lets the next thing happen that something waits for. Answers whether there was one.
    pub fn advance(&self) -> bool {
        loop {
            let Some(((at, _), waiter)) = self.waiting.borrow_mut().pop_first() else { return false };
            self.now.set(self.now.get().max(at));
            // Whoever gave up waiting meanwhile cannot be woken.
            if waiter.send(()).is_ok() {
                return true;
            }
        }
    }

    /// The first effect that was asked for in vain.
    pub fn missing(&self) -> Option<Missing> {
        self.missing.borrow().clone()
    }

    /// The effect of a kind that a block's attempt got with this number.
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

    /// Notes that an effect was asked for which is not here. Answers whether the replay has diverged: what
    /// had not ended when the recording did may ask for more.
    pub(crate) fn miss(&self, path: &Arc<str>, attempt: u32, effect: EffectKind, ordinal: u32) -> bool {
        let is_unheard = self.unheard.contains(&(path.clone(), attempt, effect, ordinal));
        if is_unheard || self.unfinished.contains(&(path.clone(), attempt)) {
            return false;
        }
        let nth = if attempt == 0 { String::new() } else { format!(" of attempt {}", attempt + 1) };
        let asked = json!(format!("{}, call {}{nth}", effect.as_str(), ordinal + 1));
        self.missing.borrow_mut().get_or_insert(Missing { path: path.clone(), asked, recorded: None });
        true
    }

    /// The effect, if it answers this request.
    pub(crate) fn same(
        &self,
        path: &Arc<str>,
        effect: EffectKind,
        taped: RecordedEffect,
        request: &Value,
    ) -> Result<RecordedEffect, FlowError> {
        match taped.request.as_ref().map(AskedWith::whole) {
            Some(recorded) if !equal(&recorded, request) => {
                let (was, is) = differing(&recorded, request);
                let recorded = Some((taped.seq, json!({ effect.as_str(): was })));
                let asked = json!({ effect.as_str(): is });
                self.missing.borrow_mut().get_or_insert(Missing { path: path.clone(), asked, recorded });
                Err(FlowError::aborted())
            }
            _ => Ok(taped),
        }
    }

    /// Completes when a block may begin: at once, but for one that began late because it had been cut off.
    pub(crate) async fn wait_for_commit_order(&self, path: &Arc<str>, attempt: u32) {
        if let Some(moment) = self.late.get(&(path.clone(), attempt)) {
            self.wait(*moment).await;
        }
    }

    /// How often the request had been taken up when a block began.
    pub(crate) fn life(&self, path: &Arc<str>, attempt: u32) -> u32 {
        self.lives.get(&(path.clone(), attempt)).copied().unwrap_or(0)
    }

    /// Completes when a function of a block's attempt returned; nothing where it did not.
    pub(crate) fn returned(
        &self,
        path: &Arc<str>,
        attempt: u32,
        function: &str,
    ) -> Option<LocalBoxFuture<'static, ()>> {
        let moment = self.returned.get(&(path.clone(), attempt as usize, function.to_owned()))?;
        Some(self.wait(*moment))
    }

    /// Completes when the effect has its turn.
    pub(crate) fn turn(&self, taped: &RecordedEffect) -> LocalBoxFuture<'static, ()> {
        self.wait((taped.at, taped.seq))
    }

    /// The records that a block finds changed by others when it begins; resources when it looks at them.
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

    fn wait(&self, moment: (i64, Seq)) -> LocalBoxFuture<'static, ()> {
        let (sender, receiver) = oneshot::channel();
        self.waiting.borrow_mut().insert(moment, sender);
        // A sender that is gone has no moment to come.
        async move {
            if receiver.await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        .boxed_local()
    }
}

impl Run {
    /// Waits, in a replay, until a block may begin, and forgets what the recording had forgotten by then.
    pub(crate) async fn wait_for_commit_order(&self, frame: &Rc<Frame>) {
        let Some(effect_log) = &self.effect_log else { return };
        effect_log.wait_for_commit_order(&frame.path, frame.attempt).await;
        // A chain that is gone through again begins in a later life than the steps that had ended.
        if frame.block.only_runs_others() {
            return;
        }
        let life = effect_log.life(&frame.path, frame.attempt);
        for own in frame.chain().filter_map(|frame| frame.own.clone()) {
            own.begin_life(life, &defaults(&own.schemas), self.next_stamp());
        }
    }
}

/// What two requests have that the other has not, by place.
fn differing(recorded: &Value, asked: &Value) -> (Value, Value) {
    let (mut was, mut is) = (Map::new(), Map::new());
    for difference in diff(Some(recorded), Some(asked)) {
        was.extend(difference.old.map(|old| (difference.path.clone(), old)));
        is.extend(difference.new.map(|new| (difference.path, new)));
    }
    (was.into(), is.into())
}
