//! The effects of an author's function, kept for the attempt that repeats it after a conflict.
//!
//! A conflict makes a body run again (ARCHITECTURE §3.3). The effects of its earlier attempts have happened and are in
//! the log, so the body gets their results from here instead of running them twice. Results are handed over in the
//! order in which they first arrived, so that a race between two of them has the same winner. Lives as long as
//! the attempts of one conflict; what a resume takes from the log lives as long as the request. A retry after a failure
//! must make its effects again (ARCHITECTURE §3.3).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::task::{Poll, Waker};

use serde_json::Value;

use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::Seq;
use crate::model::operation::equal;

/// How often a result yields before it is handed over, so that code which is about to ask for an earlier result has
/// done so by then.
const YIELDS_BEFORE_HAND_OVER: u32 = 4;

/// An effect that has ended.
#[derive(Clone, Debug)]
pub(crate) struct FinishedEffect {
    pub(crate) request: Option<Value>,
    pub(crate) started: Option<Seq>,
    pub(crate) finished: Seq,
    pub(crate) answer: Result<Value, FlowError>,
}

type Number = (EffectKind, u32);

/// The effects of one attempt, linked to those of the attempts before it.
#[derive(Default)]
pub(crate) struct AttemptEffects {
    /// The requests of effects that have not ended.
    requests: RefCell<HashMap<Number, Value>>,
    finished: RefCell<HashMap<Number, FinishedEffect>>,
    /// The attempt before this one. Its effects that end only now are found there, too.
    earlier: RefCell<Option<Rc<AttemptEffects>>>,
    /// Results that are being handed over to this attempt, by the events that first recorded them.
    handing_over: RefCell<BTreeSet<Seq>>,
    /// Later attempts that wait for the end of one of this attempt's effects.
    waiting: RefCell<Vec<Waker>>,
    is_over: Cell<bool>,
    /// Whether they are of the log, for as long as the request runs.
    is_kept: bool,
}

impl AttemptEffects {
    /// Returns the (empty) effects of the attempt after `earlier`.
    pub(crate) fn after(earlier: Rc<AttemptEffects>) -> Rc<AttemptEffects> {
        Rc::new(AttemptEffects { earlier: RefCell::new(Some(earlier)), ..AttemptEffects::default() })
    }

    /// Returns (no) effects of an attempt before the request was resumed: each answers one call of today.
    pub(crate) fn kept() -> Rc<AttemptEffects> {
        Rc::new(AttemptEffects { is_kept: true, ..AttemptEffects::default() })
    }

    /// Adds an effect of the log. One that an earlier resume took from there is in it once more, with the same begin.
    pub(crate) fn keep(&self, kind: EffectKind, ordinal: u32, done: FinishedEffect) {
        let begun = done.started;
        self.finished.borrow_mut().retain(|_, known| begun.is_none() || known.started != begun);
        self.finished.borrow_mut().insert((kind, ordinal), done);
    }

    /// Removes the effects that ended with certain events.
    pub(crate) fn drop_ended(&self, is_own: impl Fn(Seq) -> bool) {
        self.finished.borrow_mut().retain(|_, done| !is_own(done.finished));
    }

    /// Releases everything: no attempt follows that could use it.
    pub(crate) fn end(&self) {
        if self.is_kept {
            return;
        }
        self.is_over.set(true);
        self.requests.take();
        self.finished.take();
        self.earlier.take().into_iter().for_each(|earlier| earlier.end());
    }

    /// Notes that an effect started.
    pub(crate) fn begin(&self, kind: EffectKind, ordinal: u32, request: Option<&Value>) {
        if let Some(request) = request.filter(|_| !self.is_over.get()) {
            self.requests.borrow_mut().insert((kind, ordinal), request.clone());
        }
    }

    /// Notes that an effect ended with event `finished`.
    pub(crate) fn finish(
        &self,
        (kind, ordinal): (EffectKind, u32),
        started: Option<Seq>,
        finished: Seq,
        answer: Result<Value, FlowError>,
    ) {
        if self.is_over.get() {
            return;
        }
        let request = self.requests.borrow_mut().remove(&(kind, ordinal));
        let done = FinishedEffect { request, started, finished, answer };
        self.finished.borrow_mut().insert((kind, ordinal), done);
        self.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Takes the result that an earlier attempt got for an equal request: of the same ordinal, else of the lowest other
    /// one, because the body may ask in another order.
    pub(crate) fn take(&self, kind: EffectKind, ordinal: u32, request: Option<&Value>) -> Option<FinishedEffect> {
        let tries = self.earlier_tries();
        let is_same = |done: &FinishedEffect| match (&done.request, request) {
            (Some(recorded), Some(request)) => equal(recorded, request),
            (None, None) => true,
            _ => false,
        };
        let number = (kind, ordinal);
        let same_number = tries.iter().find(|earlier| earlier.finished.borrow().get(&number).is_some_and(is_same));
        if let Some(earlier) = same_number {
            return earlier.finished.borrow_mut().remove(&number);
        }
        request?;
        tries.iter().find_map(|earlier| {
            let mut finished = earlier.finished.borrow_mut();
            let same = finished.iter().filter(|((other, _), done)| *other == kind && is_same(done));
            let number = same.map(|(number, _)| *number).min_by_key(|(_, ordinal)| *ordinal)?;
            finished.remove(&number)
        })
    }

    /// Returns the attempts before this one, newest first.
    fn earlier_tries(&self) -> Vec<Rc<AttemptEffects>> {
        let earlier = self.earlier.borrow().clone();
        std::iter::successors(earlier, |earlier| earlier.earlier.borrow().clone()).collect()
    }

    /// As [`take`](Self::take), but waits for an equal effect that an earlier attempt has started and that has not
    /// ended.
    pub(crate) async fn take_or_wait(&self, kind: EffectKind, ordinal: u32, request: &Value) -> Option<FinishedEffect> {
        std::future::poll_fn(|cx| {
            if let Some(done) = self.take(kind, ordinal, Some(request)) {
                return Poll::Ready(Some(done));
            }
            let is_asked = |asked: &(&Number, &Value)| asked.0.0 == kind && equal(asked.1, request);
            let tries = self.earlier_tries();
            let Some(asking) =
                tries.iter().find(|earlier| earlier.requests.borrow().iter().any(|asked| is_asked(&asked)))
            else {
                return Poll::Ready(None);
            };
            let mut waiting = asking.waiting.borrow_mut();
            if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                waiting.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await
    }

    pub(crate) fn has_earlier(&self) -> bool {
        self.earlier.borrow().is_some()
    }

    /// Waits until no result that was recorded before event `finished` is still being handed over.
    pub(crate) async fn wait_for_order(&self, finished: Seq) {
        self.handing_over.borrow_mut().insert(finished);
        let mut yields = 0;
        std::future::poll_fn(|cx| {
            if self.handing_over.borrow().first() == Some(&finished) {
                yields += 1;
                if yields > YIELDS_BEFORE_HAND_OVER {
                    return Poll::Ready(());
                }
            } else {
                yields = 0;
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        self.handing_over.borrow_mut().remove(&finished);
    }
}

/// The ordinals that a superseded callback call used, so that the call that repeats it uses the same ones.
#[derive(Default)]
pub(crate) struct CallOrdinals {
    /// Those that this call has used, in order.
    used: RefCell<Vec<(String, u32)>>,
    free: RefCell<HashMap<String, BTreeSet<u32>>>,
}

impl CallOrdinals {
    /// Returns the ordinals for the call that repeats `superseded`.
    pub(crate) fn after(superseded: &CallOrdinals) -> CallOrdinals {
        let mut free = superseded.free.take();
        for (of, number) in superseded.used.take() {
            free.entry(of).or_default().insert(number);
        }
        CallOrdinals { used: RefCell::default(), free: RefCell::new(free) }
    }

    /// Returns the next free ordinal of a kind, if there is one.
    pub(crate) fn peek(&self, of: &str) -> Option<u32> {
        self.free.borrow().get(of)?.first().copied()
    }

    /// Takes the next free ordinal of a kind, else a new one.
    pub(crate) fn count(&self, of: &str, new: impl FnOnce() -> u32) -> u32 {
        let free = self.free.borrow_mut().get_mut(of).and_then(BTreeSet::pop_first);
        let number = free.unwrap_or_else(new);
        self.used.borrow_mut().push((of.to_owned(), number));
        number
    }

    /// Returns the highest unused ordinals to the block's counters, so that later effects are counted as if the
    /// superseded calls had not happened.
    pub(crate) fn give_back(&self, counters: &mut HashMap<String, u32>) {
        for (of, numbers) in self.free.take() {
            let Some(next) = counters.get_mut(&of) else { continue };
            for number in numbers.into_iter().rev() {
                if number + 1 != *next {
                    break;
                }
                *next = number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use serde_json::json;

    fn done(effects: &AttemptEffects, number: Number, request: Option<Value>, finished: Seq) {
        effects.begin(number.0, number.1, request.as_ref());
        effects.finish(number, None, finished, Ok(json!(finished)));
    }

    #[test]
    fn an_answer_is_taken_once_and_only_for_the_same_request() {
        let first = Rc::new(AttemptEffects::default());
        done(&first, (EffectKind::Fetch, 0), Some(json!("a")), 1);
        done(&first, (EffectKind::Fetch, 1), Some(json!("b")), 2);
        done(&first, (EffectKind::Clock, 0), None, 3);
        let second = AttemptEffects::after(first);
        let take = |kind, ordinal, request: Option<&str>| {
            second.take(kind, ordinal, request.map(Value::from).as_ref()).map(|done| done.finished)
        };
        assert_eq!(take(EffectKind::Fetch, 0, Some("c")), None);
        assert_eq!(take(EffectKind::Fetch, 0, Some("b")), Some(2));
        assert_eq!(take(EffectKind::Fetch, 1, Some("b")), None);
        assert_eq!(take(EffectKind::Fetch, 1, Some("a")), Some(1));
        assert_eq!(take(EffectKind::Clock, 1, None), None);
        assert_eq!(take(EffectKind::Clock, 0, None), Some(3));
    }

    #[test]
    fn what_is_under_way_is_waited_for() {
        let first = Rc::new(AttemptEffects::default());
        first.begin(EffectKind::Fetch, 0, Some(&json!("a")));
        let second = AttemptEffects::after(first.clone());
        let wait = |request: &'static str| {
            let second = second.clone();
            async move { second.take_or_wait(EffectKind::Fetch, 0, &json!(request)).await.map(|done| done.finished) }
        };
        assert_eq!(wait("b").now_or_never(), Some(None), "nobody has asked that");
        let mut waiting = Box::pin(wait("a"));
        assert_eq!((&mut waiting).now_or_never(), None);
        first.finish((EffectKind::Fetch, 0), None, 7, Ok(json!("answer")));
        assert_eq!(waiting.now_or_never(), Some(Some(7)));
        assert_eq!(wait("a").now_or_never(), Some(None), "it is taken once");
    }

    #[test]
    fn a_call_that_runs_again_has_the_numbers_of_the_one_before() {
        let mut counters = HashMap::from([("fetch".to_owned(), 5)]);
        let count = |numbers: &CallOrdinals, counters: &mut HashMap<String, u32>| {
            numbers.count("fetch", || {
                let next = counters.entry("fetch".to_owned()).or_default();
                *next += 1;
                *next - 1
            })
        };
        let first = CallOrdinals::default();
        assert_eq!([(); 3].map(|()| count(&first, &mut counters)), [5, 6, 7]);
        let second = CallOrdinals::after(&first);
        assert_eq!((second.peek("fetch"), count(&second, &mut counters)), (Some(5), 5));
        second.give_back(&mut counters);
        assert_eq!(counters["fetch"], 6);
    }
}
