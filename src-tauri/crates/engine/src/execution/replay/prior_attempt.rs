//! What the tries of an author's function got from outside, for the try that a conflict makes necessary.
//!
//! A conflict makes a body run again (ARCHITECTURE §3.3). What its earlier tries asked for happened, and is in the
//! log: the body gets the answers from here, and nothing is asked twice. Answers are handed over in the order
//! in which they first came, so that a race between two of them has the same winner. It must not outlive the
//! tries of one conflict: what a retry after a failure asks for is live (ARCHITECTURE §3.3).

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::task::{Poll, Waker};

use serde_json::Value;

use crate::execution::context::Context;
use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::Seq;
use crate::model::operation::equal;

/// How often an answer lets everything else go on before it is handed over: whoever asks for one that came
/// before it has asked by then.
const PAUSES: u32 = 4;

/// An effect that ended.
#[derive(Clone, Debug)]
pub(crate) struct FinishedEffect {
    request: Option<Value>,
    started: Option<Seq>,
    finished: Seq,
    answer: Result<Value, FlowError>,
}

type Number = (EffectKind, u32);

/// The effects of one try, and of those before it.
#[derive(Default)]
pub(crate) struct AttemptEffects {
    /// What was asked by effects that have not ended.
    requests: RefCell<HashMap<Number, Value>>,
    finished: RefCell<HashMap<Number, FinishedEffect>>,
    /// The try that a conflict made this one necessary for. What that one had asked for and ends only now
    /// is found there as well.
    earlier: RefCell<Option<Rc<AttemptEffects>>>,
    /// Answers on their way to this try, by the events that first held them.
    on_their_way: RefCell<BTreeSet<Seq>>,
    /// Later tries that wait for an answer to this one.
    waiting: RefCell<Vec<Waker>>,
    is_over: Cell<bool>,
}

impl AttemptEffects {
    /// The effects of a try that a conflict makes necessary.
    pub(crate) fn after(earlier: Rc<AttemptEffects>) -> Rc<AttemptEffects> {
        Rc::new(AttemptEffects { earlier: RefCell::new(Some(earlier)), ..AttemptEffects::default() })
    }

    /// Forgets everything: no further try follows.
    pub(crate) fn end(&self) {
        self.is_over.set(true);
        self.requests.take();
        self.finished.take();
        self.earlier.take().into_iter().for_each(|earlier| earlier.end());
    }

    /// Notes that an effect began.
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

    /// Takes what an earlier try got for this request: under the same number, or under another where the
    /// body asks in another order.
    fn take(&self, kind: EffectKind, ordinal: u32, request: Option<&Value>) -> Option<FinishedEffect> {
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

    /// The tries before this one, newest first.
    fn earlier_tries(&self) -> Vec<Rc<AttemptEffects>> {
        let earlier = self.earlier.borrow().clone();
        std::iter::successors(earlier, |earlier| earlier.earlier.borrow().clone()).collect()
    }

    /// As [`take`](Self::take). What an earlier try has asked for and nobody has answered yet is waited for:
    /// it is under way, and must not be asked a second time.
    async fn take_or_wait(&self, kind: EffectKind, ordinal: u32, request: &Value) -> Option<FinishedEffect> {
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

    fn has_earlier(&self) -> bool {
        self.earlier.borrow().is_some()
    }

    /// Completes when no answer that first came before this one is still on its way.
    async fn wait_for_order(&self, finished: Seq) {
        self.on_their_way.borrow_mut().insert(finished);
        let mut pauses = 0;
        std::future::poll_fn(|cx| {
            if self.on_their_way.borrow().first() == Some(&finished) {
                pauses += 1;
                if pauses > PAUSES {
                    return Poll::Ready(());
                }
            } else {
                pauses = 0;
            }
            cx.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        self.on_their_way.borrow_mut().remove(&finished);
    }
}

impl Context {
    /// What the function that runs has got so far, where a conflict can make it run again: a handler, or a
    /// function whose calls are counted one by one.
    fn attempt_effects(&self) -> Option<Rc<AttemptEffects>> {
        match &self.call {
            Some(call) => Some(call.effects.clone()),
            None => self.frame.block.is_one_function().then(|| self.frame.effects.borrow().clone()),
        }
    }

    /// Notes that an effect of this try began.
    pub(crate) fn note_effect_started(&self, kind: EffectKind, ordinal: u32, request: Option<&Value>) {
        if let Some(effects) = self.attempt_effects() {
            effects.begin(kind, ordinal, request);
        }
    }

    /// Notes that an effect of this try ended, with event `finished`.
    pub(crate) fn note_effect_finished(
        &self,
        effect: (EffectKind, u32),
        started: Option<Seq>,
        finished: Seq,
        answer: Result<Value, FlowError>,
    ) {
        if let Some(effects) = self.attempt_effects() {
            effects.finish(effect, started, finished, answer);
        }
    }

    /// Whether what it gets may be asked for by a later try.
    pub(crate) fn notes_effects(&self) -> bool {
        self.attempt_effects().is_some()
    }

    /// Takes what an earlier try of this function got for the same request, if it is there.
    /// [`hand_over`](Self::hand_over) answers with it.
    pub(crate) fn take_earlier(
        &self,
        kind: EffectKind,
        ordinal: u32,
        request: Option<&Value>,
    ) -> Option<FinishedEffect> {
        self.attempt_effects().filter(|effects| effects.has_earlier())?.take(kind, ordinal, request)
    }

    /// As [`take_earlier`](Self::take_earlier), of what leaves the process and takes time: where an earlier try has
    /// begun it and it has not ended, its end is waited for.
    pub(crate) async fn await_earlier(
        &self,
        kind: EffectKind,
        ordinal: u32,
        request: &Value,
    ) -> Option<FinishedEffect> {
        let effects = self.attempt_effects().filter(|effects| effects.has_earlier())?;
        effects.take_or_wait(kind, ordinal, request).await
    }

    /// Answers an effect with what an earlier try got, when its moment has come, and records that.
    pub(crate) async fn hand_over(
        &self,
        kind: EffectKind,
        ordinal: u32,
        done: FinishedEffect,
    ) -> Result<Value, FlowError> {
        if let Some(effects) = self.attempt_effects() {
            effects.wait_for_order(done.finished).await;
        }
        self.hand_over_at_once(kind, ordinal, done)
    }

    /// As [`hand_over`](Self::hand_over), of what takes no time.
    pub(crate) fn hand_over_at_once(
        &self,
        kind: EffectKind,
        ordinal: u32,
        done: FinishedEffect,
    ) -> Result<Value, FlowError> {
        let FinishedEffect { request, started, answer, .. } = done;
        self.note_effect_started(kind, ordinal, request.as_ref());
        self.effect_finished(kind, ordinal, started, answer.clone(), true);
        answer
    }
}

/// The numbers that the effects of a superseded call had, for the call that follows it: what it asks for takes
/// its place in the log.
#[derive(Default)]
pub(crate) struct Numbers {
    /// Those of this call, in order.
    used: RefCell<Vec<(String, u32)>>,
    spare: RefCell<HashMap<String, BTreeSet<u32>>>,
}

impl Numbers {
    /// The numbers of a call that follows a superseded one.
    pub(crate) fn after(superseded: &Numbers) -> Numbers {
        let mut spare = superseded.spare.take();
        for (of, number) in superseded.used.take() {
            spare.entry(of).or_default().insert(number);
        }
        Numbers { used: RefCell::default(), spare: RefCell::new(spare) }
    }

    /// The next number that is free, if there is one.
    pub(crate) fn peek(&self, of: &str) -> Option<u32> {
        self.spare.borrow().get(of)?.first().copied()
    }

    /// Counts: a free number, else a new one.
    pub(crate) fn count(&self, of: &str, new: impl FnOnce() -> u32) -> u32 {
        let spare = self.spare.borrow_mut().get_mut(of).and_then(BTreeSet::pop_first);
        let number = spare.unwrap_or_else(new);
        self.used.borrow_mut().push((of.to_owned(), number));
        number
    }

    /// Gives back the last numbers that stayed free, so that what follows is counted as if the superseded
    /// calls had not been.
    pub(crate) fn give_back(&self, counters: &mut HashMap<String, u32>) {
        for (of, numbers) in self.spare.take() {
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
        let count = |numbers: &Numbers, counters: &mut HashMap<String, u32>| {
            numbers.count("fetch", || {
                let next = counters.entry("fetch".to_owned()).or_default();
                *next += 1;
                *next - 1
            })
        };
        let first = Numbers::default();
        assert_eq!([(); 3].map(|()| count(&first, &mut counters)), [5, 6, 7]);
        let second = Numbers::after(&first);
        assert_eq!((second.peek("fetch"), count(&second, &mut counters)), (Some(5), 5));
        second.give_back(&mut counters);
        assert_eq!(counters["fetch"], 6);
    }
}
