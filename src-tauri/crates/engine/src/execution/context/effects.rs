//! What a block gets from outside the engine: the clock, chance, pauses, and pages of the network.
//!
//! Each is recorded with the block and its ordinal of that kind, so that a replay can answer it.
//! Secrets do not enter the record; see [`redaction`](crate::model::redaction).

use std::future::Future;

use futures_util::future::{Either, select};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Context;
use crate::execution::replay::cache::Pause;
use crate::execution::replay::effect_log::RecordedEffect;
use crate::model::effects::{EffectKind, FetchCall, FetchReply, Instant, ModelDelta};
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Seq};

impl Context {
    /// What an earlier `ctx.runOnce` of this request answered under a key.
    pub fn once(&self, key: &str) -> Option<Value> {
        self.run.once.borrow().get(key).cloned()
    }

    /// An author's own effect under a key begins. The log says so before it can happen: if nothing more is
    /// heard of it, it may have happened. Answers what [`end_once`](Self::end_once) needs.
    pub async fn begin_once(&self, key: &str) -> Result<Begun, FlowError> {
        self.begin(EffectKind::Once, Some(key.into())).await
    }

    /// Keeps what it came to; an answer is in the log before anybody gets it. A failure is no answer: whoever
    /// asks next tries again.
    pub async fn end_once(&self, begun: Begun, key: String, answer: Result<Value, FlowError>) -> Result<(), FlowError> {
        let Begun { ordinal, seq } = begun;
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.effect_finished(EffectKind::Once, ordinal, Some(seq), Err(error), false);
                return Ok(());
            }
        };
        let event = EventKind::EffectFinished {
            effect: EffectKind::Once,
            ordinal,
            started: Some(seq),
            request: None,
            result: answer.clone(),
            error: None,
            memoized: false,
        };
        let kept = self.run.recorder.commit(Some(&self.frame.path), self.frame.attempt, event).await;
        kept.map_err(|error| FlowError::storage(error.to_string()))?;
        self.run.once.borrow_mut().insert(key, answer);
        Ok(())
    }

    /// An author's own model says something while it answers. Where nobody listens it is not lost: the
    /// answer holds all of it again.
    pub fn say(&self, delta: ModelDelta) {
        let listener = self.frame.listener.borrow().clone();
        if let Some(listener) = listener {
            listener(delta);
        }
    }

    /// A look at a clock or chance, as an effect.
    pub fn draw(&self, instant: Instant) -> Value {
        self.instant(instant.kind(), || self.run.effects.instant(instant))
    }

    /// The clock, as an effect.
    pub fn now(&self) -> i64 {
        let now = self.instant(EffectKind::Clock, || self.run.effects.now_ms().into());
        now.as_i64().unwrap_or_default()
    }

    /// A random number, as an effect.
    pub fn random(&self) -> f64 {
        let number = self.instant(EffectKind::Random, || self.run.effects.random().into());
        number.as_f64().unwrap_or_default()
    }

    /// A UUID, as an effect.
    pub fn uuid(&self) -> String {
        let id = self.instant(EffectKind::Uuid, || self.run.effects.uuid().into());
        id.as_str().map(str::to_owned).unwrap_or_default()
    }

    /// A pause, as an effect. One that an earlier part of the request had begun keeps its end: only what is
    /// left of it is waited for.
    pub async fn sleep(&self, ms: u64) {
        let ordinal = self.ordinal(EffectKind::Sleep.as_str());
        if let Some(done) = self.take_earlier(EffectKind::Sleep, ordinal, Some(&ms.into())) {
            // A pause does not fail.
            let _ = self.hand_over(EffectKind::Sleep, ordinal, done).await;
            return;
        }
        let kept = self.run.replay_cache.pause(&self.frame.path, ordinal).filter(|pause| pause.ms == ms);
        let started = match kept {
            Some(pause) => pause.started,
            None => self.effect_started(EffectKind::Sleep, ordinal, Some(ms.into())),
        };
        match &self.run.effect_log {
            Some(effect_log) => {
                match effect_log.effect(&self.frame.path, self.frame.attempt, EffectKind::Sleep, ordinal) {
                    Some(taped) => effect_log.turn(&taped).await,
                    // One that outlived its block was not recorded.
                    None => std::future::pending().await,
                }
            }
            None => {
                let end = |pause: &Pause| pause.since.saturating_add_unsigned(ms);
                let left = kept.as_ref().map(|pause| end(pause).saturating_sub(self.run.effects.now_ms()));
                // A clock that was set back makes no pause longer than it was.
                let left = left.map_or(ms, |left| u64::try_from(left).unwrap_or(0).min(ms));
                self.run.effects.sleep(left).await;
            }
        }
        self.effect_finished(EffectKind::Sleep, ordinal, Some(started), Ok(Value::Null), false);
    }

    /// An HTTP exchange, as an effect. It is given up when `stop` completes: the author's signal.
    pub async fn fetch(&self, call: FetchCall, stop: impl Future<Output = ()>) -> Result<FetchReply, FlowError> {
        let ordinal = self.ordinal(EffectKind::Fetch.as_str());
        let redaction = self.run.effects.redaction();
        let mut request = serde_json::to_value(&call).unwrap_or_default();
        redaction.exchange(&mut request);
        let mut stop = Box::pin(stop);
        let earlier = match select(Box::pin(self.await_earlier(EffectKind::Fetch, ordinal, &request)), &mut stop).await
        {
            Either::Left((earlier, _)) => earlier,
            Either::Right(_) => return Err(aborted_by_author()),
        };
        if let Some(done) = earlier {
            let result = self.hand_over(EffectKind::Fetch, ordinal, done).await?;
            return crate::model::json::from_value(result).map_err(|error| FlowError::plain(error.to_string()));
        }
        if self.run.effect_log.is_some() {
            let taped = self.taped(EffectKind::Fetch, ordinal, &request).await?;
            let answer = taped.error.map_or(Ok(taped.result), Err);
            self.note_effect_started(EffectKind::Fetch, ordinal, Some(&request));
            self.note_effect_finished((EffectKind::Fetch, ordinal), None, taped.seq, answer.clone());
            return crate::model::json::from_value(answer?).map_err(|error| FlowError::plain(error.to_string()));
        }
        let Begun { seq, .. } = self.begin_numbered(EffectKind::Fetch, ordinal, Some(request)).await?;
        let answer = match select(self.run.effects.fetch(call), stop).await {
            Either::Left((answer, _)) => answer.map_err(|error| redaction.error(error)),
            // Not the abort of the request: only this exchange ends, and the author may go on.
            Either::Right(_) => Err(aborted_by_author()),
        };
        let result = answer.as_ref().map(|reply| serde_json::to_value(reply).unwrap_or_default());
        self.effect_finished(EffectKind::Fetch, ordinal, Some(seq), result.map_err(Clone::clone), false);
        answer
    }

    /// What the effect log of a replay has for a call that takes time, when its moment has come. A call that asks
    /// something else than the recorded one is not on it.
    pub(crate) async fn taped(
        &self,
        effect: EffectKind,
        ordinal: u32,
        request: &Value,
    ) -> Result<RecordedEffect, FlowError> {
        let Some(effect_log) = self.run.effect_log.clone() else { return Err(FlowError::plain("no replay")) };
        let (path, attempt) = (&self.frame.path, self.frame.attempt);
        let Some(taped) = effect_log.effect(path, attempt, effect, ordinal) else {
            if effect_log.miss(path, attempt, effect, ordinal) {
                self.diverge();
                return Err(FlowError::aborted());
            }
            return std::future::pending().await;
        };
        let taped = effect_log.same(path, effect, taped, request).inspect_err(|_| self.diverge())?;
        effect_log.turn(&taped).await;
        Ok(taped)
    }

    /// What the outside, or the effect log of a replay, answers at once.
    fn instant(&self, effect: EffectKind, ask: impl FnOnce() -> Value) -> Value {
        let ordinal = self.ordinal(effect.as_str());
        let nth = self.call.as_ref().map_or(ordinal, |call| call.number_instant(effect));
        if let Some(done) = self.take_earlier(effect, ordinal, None) {
            return self.hand_over_at_once(effect, ordinal, done).unwrap_or_default();
        }
        let function = self.call.as_ref().map(|call| call.function.as_str());
        let known = self.run.replay_cache.instant(&self.frame.path, function, effect, nth);
        let is_known = self.run.effect_log.is_none() && known.is_some();
        let result = match &self.run.effect_log {
            Some(effect_log) => match effect_log.effect(&self.frame.path, self.frame.attempt, effect, ordinal) {
                Some(taped) => taped.result,
                None => {
                    if effect_log.miss(&self.frame.path, self.frame.attempt, effect, ordinal) {
                        self.diverge();
                    }
                    ask()
                }
            },
            None => known.unwrap_or_else(ask),
        };
        self.effect_finished(effect, ordinal, None, Ok(result.clone()), is_known);
        result
    }

    /// Ends a replay that asks for something that was not recorded.
    pub(crate) fn diverge(&self) {
        self.run.abort.set();
    }

    /// Records that an effect begins which leaves the process. It may do so when this returns: then the log
    /// keeps that it may have happened, whatever becomes of the process, and all that led to it.
    pub(crate) async fn begin(&self, effect: EffectKind, request: Option<Value>) -> Result<Begun, FlowError> {
        let ordinal = self.ordinal(effect.as_str());
        self.begin_numbered(effect, ordinal, request).await
    }

    /// As [`begin`](Self::begin), of an effect that has its number already.
    pub(crate) async fn begin_numbered(
        &self,
        effect: EffectKind,
        ordinal: u32,
        request: Option<Value>,
    ) -> Result<Begun, FlowError> {
        self.note_effect_started(effect, ordinal, request.as_ref());
        let kind = EventKind::EffectStarted { effect, ordinal, request: self.as_stored(effect, request) };
        let (seq, committed) = self.run.recorder.announce(Some(&self.frame.path), self.frame.attempt, kind);
        self.did(seq);
        committed.await.map_err(|error| FlowError::storage(error.to_string()))?;
        Ok(Begun { ordinal, seq })
    }

    /// What a model is told again stands where it was told first.
    fn as_stored(&self, effect: EffectKind, request: Option<Value>) -> Option<Value> {
        let next = self.run.recorder.last() + 1;
        match effect {
            EffectKind::Model => request.map(|request| self.run.held.borrow_mut().store(next, request)),
            _ => request,
        }
    }

    /// Records that an effect begins that does not leave the process, or happens only on an effect log.
    pub(crate) fn effect_started(&self, effect: EffectKind, ordinal: u32, request: Option<Value>) -> Seq {
        self.note_effect_started(effect, ordinal, request.as_ref());
        let request = self.as_stored(effect, request);
        self.record(EventKind::EffectStarted { effect, ordinal, request })
    }

    /// Records what came of an effect; `started` is the event of its beginning, where it has one.
    pub(crate) fn effect_finished(
        &self,
        effect: EffectKind,
        ordinal: u32,
        started: Option<Seq>,
        answer: Result<Value, FlowError>,
        memoized: bool,
    ) {
        let known = self.notes_effects().then(|| answer.clone());
        let (mut result, error) = match answer {
            Ok(result) => (result, None),
            Err(error) => (Value::Null, Some(error)),
        };
        // The flow has it as it came.
        if effect == EffectKind::Fetch {
            self.run.effects.redaction().exchange(&mut result);
        }
        let request = None;
        let finished =
            self.record(EventKind::EffectFinished { effect, ordinal, started, request, result, error, memoized });
        if let Some(answer) = known {
            self.note_effect_finished((effect, ordinal), started, finished, answer);
        }
    }

    /// The number that this block's next effect of a kind will have.
    pub(crate) fn peek(&self, effect: &str) -> u32 {
        if let Some(number) = self.call.as_ref().and_then(|call| call.numbers.peek(effect)) {
            return number;
        }
        self.frame.ordinals.borrow().get(effect).copied().unwrap_or(0)
    }

    /// Counts this block's effects of one kind, from 0.
    pub fn ordinal(&self, effect: &str) -> u32 {
        let new = || {
            let mut ordinals = self.frame.ordinals.borrow_mut();
            let count = ordinals.entry(effect.to_owned()).or_insert(0);
            *count += 1;
            *count - 1
        };
        match &self.call {
            Some(call) => call.numbers.count(effect, new),
            None => new(),
        }
    }
}

/// The beginning of an effect in the log.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Begun {
    /// Which effect of its kind it is in its block.
    pub ordinal: u32,
    /// The event.
    pub seq: Seq,
}

fn aborted_by_author() -> FlowError {
    FlowError::new("AbortError", "This operation was aborted")
}
