//! A block's effects: the clock, random values, pauses, `fetch` and `runOnce`.
//!
//! Each is recorded with the block and its ordinal of that kind, so that a replay can return the recorded result.
//! Secrets are not recorded; see [`redaction`](crate::model::redaction).

use std::future::Future;

use futures_util::future::{Either, select};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Context;
use crate::execution::record::cache::Pause;
use crate::execution::record::effect_log::RecordedEffect;
use crate::execution::run::OnceAnswer;
use crate::execution::run::frame::OpenOnce;
use crate::model::effects::{EffectKind, FetchCall, FetchReply, ModelDelta, SyncEffect};
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Seq};

impl Context {
    /// Returns whether the request has a result of `ctx.runOnce` with this key.
    pub fn has_once(&self, key: &str) -> bool {
        self.once_answer(key).is_some()
    }

    /// Returns the result of an earlier `ctx.runOnce` of this request with this key, if there is one. A recorded result
    /// settles in recorded order.
    pub async fn once(&self, key: &str) -> Option<Value> {
        let answer = self.once_answer(key)?;
        if let Some(settled) = answer.settled {
            self.run.wait_for_turn(settled).await;
        }
        Some(answer.value)
    }

    /// Returns the result with this key, which is redacted if it is from the log.
    fn once_answer(&self, key: &str) -> Option<OnceAnswer> {
        let known = self.run.once.borrow();
        known.get(key).or_else(|| known.get(&*self.run.effects.redaction().key(key))).cloned()
    }

    /// Starts a `ctx.runOnce`. Returns when the start is committed: only then may the author's function run, so that
    /// the log shows that it may have happened even if the process dies. The result goes to
    /// [`end_once`](Self::end_once).
    pub async fn begin_once(&self, key: &str) -> Result<EffectStart, FlowError> {
        self.stop_if_only_planned().await;
        let begun = self.begin(EffectKind::Once, Some(key.into())).await?;
        let open = OpenOnce { ordinal: begun.ordinal, sent: None };
        self.frame.open_onces.borrow_mut().insert(key.to_owned(), open);
        Ok(begun)
    }

    /// Ends a `ctx.runOnce`. Its result is a step boundary, and every later call with the key returns it. A failure is
    /// recorded but not kept: the next call with the key runs the function again.
    pub async fn end_once(
        &self,
        begun: EffectStart,
        key: String,
        answer: Result<Value, FlowError>,
    ) -> Result<(), FlowError> {
        let EffectStart { ordinal, seq } = begun;
        let dispatch = self.frame.open_onces.borrow_mut().remove(&key).and_then(|once| once.sent);
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => {
                self.effect_finished(EffectKind::Once, ordinal, Some(seq), Err(error), false);
                self.wait_to_settle_once(ordinal).await;
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
            dispatch,
        };
        let kept = self.run.recorder.boundary(Some(&self.frame.path), self.frame.attempt, event).await;
        let kept = kept.map_err(|error| FlowError::storage(error.to_string()))?;
        if let Some(call) = &self.call {
            call.note_answer(kept);
        }
        self.run.once.borrow_mut().insert(key, OnceAnswer { value: answer, settled: None });
        self.wait_to_settle_once(ordinal).await;
        Ok(())
    }

    /// Waits for the turn of a result of this run.
    async fn wait_to_settle_once(&self, ordinal: u32) {
        match &self.run.effect_log {
            Some(effect_log) => {
                match effect_log.effect(&self.frame.path, self.frame.attempt, EffectKind::Once, ordinal) {
                    Some(recorded) => effect_log.wait_until_due(&recorded).await,
                    None => effect_log.wait_behind_log().await,
                }
            }
            None => self.wait_behind_log().await,
        }
    }

    /// Passes on a delta that an author's own model streams. Without a listener it is dropped, because the final reply
    /// contains the whole text again.
    pub fn stream_delta(&self, delta: ModelDelta) {
        let listener = self.frame.listener.borrow().clone();
        if let Some(listener) = listener {
            listener(delta);
        }
    }

    /// Returns a clock or random value, as an effect.
    pub fn sync_effect(&self, effect: SyncEffect) -> Value {
        self.record_sync_effect(effect.kind(), || self.run.effects.sync_effect(effect))
    }

    /// The clock, as an effect.
    pub fn now(&self) -> i64 {
        let now = self.record_sync_effect(EffectKind::Clock, || self.run.effects.now_ms().into());
        now.as_i64().unwrap_or_default()
    }

    /// A random number, as an effect.
    pub fn random(&self) -> f64 {
        let number = self.record_sync_effect(EffectKind::Random, || self.run.effects.random().into());
        number.as_f64().unwrap_or_default()
    }

    /// A UUID, as an effect.
    pub fn uuid(&self) -> String {
        let id = self.record_sync_effect(EffectKind::Uuid, || self.run.effects.uuid().into());
        id.as_str().map(str::to_owned).unwrap_or_default()
    }

    /// A pause, as an effect. A pause that was started before a resume keeps its end: only the rest is waited for.
    pub async fn sleep(&self, ms: u64) {
        self.pause(ms, false).await;
    }

    /// Like [`sleep`](Self::sleep). A request that waits only for idle pauses ends without them.
    pub async fn pause(&self, ms: u64, is_idle: bool) {
        let ordinal = self.ordinal(EffectKind::Sleep.as_str());
        if let Some(done) = self.take_earlier(EffectKind::Sleep, ordinal, Some(&ms.into())) {
            // A pause does not fail.
            let _ = self.hand_over(EffectKind::Sleep, ordinal, done).await;
            return;
        }
        let kept = self.run.replay_cache.pause(&self.frame.path, ordinal).filter(|pause| pause.ms == ms);
        if let Some((pause, ended)) = kept.and_then(|pause| Some((pause, pause.ended?)))
            && self.run.effect_log.is_none()
        {
            self.run.wait_for_turn((0, ended)).await;
            self.effect_finished(EffectKind::Sleep, ordinal, Some(pause.started), Ok(Value::Null), true);
            return;
        }
        self.stop_if_only_planned().await;
        let started = match kept {
            Some(pause) => pause.started,
            None => self.effect_started(EffectKind::Sleep, ordinal, Some(ms.into())),
        };
        match &self.run.effect_log {
            Some(effect_log) => {
                match effect_log.effect(&self.frame.path, self.frame.attempt, EffectKind::Sleep, ordinal) {
                    Some(recorded) => effect_log.wait_until_due(&recorded).await,
                    // Not recorded: the end of a pause that outlived its block, or a new pause. Neither ever ends.
                    None => {
                        effect_log.note_missing(&self.frame.path, self.frame.attempt, EffectKind::Sleep, ordinal);
                        std::future::pending().await
                    }
                }
            }
            None => {
                let end = |pause: &Pause| pause.since.saturating_add_unsigned(ms);
                let left = kept.as_ref().map(|pause| end(pause).saturating_sub(self.run.effects.now_ms()));
                // Limited to `ms`, in case the clock was set back.
                let left = left.map_or(ms, |left| u64::try_from(left).unwrap_or(0).min(ms));
                let effects = &self.run.effects;
                if is_idle {
                    effects.sleep_idly(left).await
                } else {
                    effects.sleep(left).await
                }
                self.wait_behind_log().await;
            }
        }
        self.effect_finished(EffectKind::Sleep, ordinal, Some(started), Ok(Value::Null), false);
    }

    /// An HTTP exchange, as an effect. It is cancelled when `stop` completes: the author's `AbortSignal`.
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
            let recorded = self.await_recorded_effect(EffectKind::Fetch, ordinal, &request).await?;
            let answer = recorded.error.map_or(Ok(recorded.result), Err);
            self.note_effect_started(EffectKind::Fetch, ordinal, Some(&request));
            self.note_effect_finished((EffectKind::Fetch, ordinal), None, recorded.seq, answer.clone());
            return crate::model::json::from_value(answer?).map_err(|error| FlowError::plain(error.to_string()));
        }
        self.stop_if_only_planned().await;
        let EffectStart { seq, .. } = self.begin_numbered(EffectKind::Fetch, ordinal, Some(request)).await?;
        let answer = match select(self.run.effects.fetch(call), stop).await {
            Either::Left((answer, _)) => answer.map_err(|error| redaction.error(error)),
            // This cancels the exchange, not the request.
            Either::Right(_) => Err(aborted_by_author()),
        };
        let result = answer.as_ref().map(|reply| serde_json::to_value(reply).unwrap_or_default());
        self.effect_finished(EffectKind::Fetch, ordinal, Some(seq), result.map_err(Clone::clone), false);
        answer
    }

    /// In a replay: waits until a recorded asynchronous effect is due, and returns it. A call whose request differs
    /// from the recorded one aborts the replay as diverged.
    pub(crate) async fn await_recorded_effect(
        &self,
        effect: EffectKind,
        ordinal: u32,
        request: &Value,
    ) -> Result<RecordedEffect, FlowError> {
        let Some(effect_log) = self.run.effect_log.clone() else { return Err(FlowError::plain("no replay")) };
        let (path, attempt) = (&self.frame.path, self.frame.attempt);
        let Some(recorded) = effect_log.effect(path, attempt, effect, ordinal) else {
            if effect_log.note_missing(path, attempt, effect, ordinal) {
                self.diverge();
                return Err(FlowError::aborted());
            }
            return std::future::pending().await;
        };
        let recorded = effect_log.check_request(path, effect, recorded, request).inspect_err(|_| self.diverge())?;
        effect_log.wait_until_due(&recorded).await;
        Ok(recorded)
    }

    /// Returns the result of a synchronous effect: of an earlier attempt, from the log, or from `ask`; and records it.
    fn record_sync_effect(&self, effect: EffectKind, ask: impl FnOnce() -> Value) -> Value {
        let ordinal = self.ordinal(effect.as_str());
        let nth = self.call.as_ref().map_or(ordinal, |call| call.next_effect_ordinal(effect));
        if let Some(done) = self.take_earlier(effect, ordinal, None) {
            return self.hand_over_at_once(effect, ordinal, done).unwrap_or_default();
        }
        let function = self.call.as_ref().map(|call| call.name.as_str());
        let known = self.run.replay_cache.sync_effect(&self.frame.path, function, effect, nth);
        let is_known = self.run.effect_log.is_none() && known.is_some();
        let result = match &self.run.effect_log {
            Some(effect_log) => match effect_log.effect(&self.frame.path, self.frame.attempt, effect, ordinal) {
                Some(recorded) => recorded.result,
                None => {
                    if effect_log.note_missing(&self.frame.path, self.frame.attempt, effect, ordinal) {
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

    /// Aborts a replay that asks for an effect that was not recorded.
    pub(crate) fn diverge(&self) {
        self.run.abort.set();
    }

    /// Records the start of an effect that leaves the process. Returns when the start and all events before it are
    /// committed; only then may the effect run, so that the log shows that it may have happened even if the process
    /// dies.
    pub(crate) async fn begin(&self, effect: EffectKind, request: Option<Value>) -> Result<EffectStart, FlowError> {
        let ordinal = self.ordinal(effect.as_str());
        self.begin_numbered(effect, ordinal, request).await
    }

    /// Like [`begin`](Self::begin), for an effect that already has its ordinal.
    pub(crate) async fn begin_numbered(
        &self,
        effect: EffectKind,
        ordinal: u32,
        request: Option<Value>,
    ) -> Result<EffectStart, FlowError> {
        self.note_effect_started(effect, ordinal, request.as_ref());
        let kind = EventKind::EffectStarted { effect, ordinal, request: self.as_stored(effect, request) };
        let (seq, committed) = self.run.recorder.announce(Some(&self.frame.path), self.frame.attempt, kind);
        self.add_to_call(seq);
        committed.await.map_err(|error| FlowError::storage(error.to_string()))?;
        Ok(EffectStart { ordinal, seq })
    }

    /// Replaces messages of a model call that are in an earlier call by references to that call.
    fn as_stored(&self, effect: EffectKind, request: Option<Value>) -> Option<Value> {
        let next = self.run.recorder.last() + 1;
        match effect {
            EffectKind::Model => request.map(|request| self.run.stored_messages.borrow_mut().store(next, request)),
            _ => request,
        }
    }

    /// Records the start of an effect that stays in the process or comes from a replay's effect log. Does not wait for
    /// a commit.
    pub(crate) fn effect_started(&self, effect: EffectKind, ordinal: u32, request: Option<Value>) -> Seq {
        self.note_effect_started(effect, ordinal, request.as_ref());
        let request = self.as_stored(effect, request);
        self.record(EventKind::EffectStarted { effect, ordinal, request })
    }

    /// Records the end of an effect; `started` is the event of its start, if it has one.
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
        // Only the record is redacted; the flow gets the original result.
        if effect == EffectKind::Fetch {
            self.run.effects.redaction().exchange(&mut result);
        }
        let (request, dispatch) = (None, None);
        let finished =
            EventKind::EffectFinished { effect, ordinal, started, request, result, error, memoized, dispatch };
        let finished = self.record(finished);
        if let Some(answer) = known {
            self.note_effect_finished((effect, ordinal), started, finished, answer);
        }
    }

    /// Returns the ordinal that this block's next effect of a kind will get.
    pub(crate) fn peek(&self, effect: &str) -> u32 {
        if let Some(number) = self.call.as_ref().and_then(|call| call.ordinals.peek(effect)) {
            return number;
        }
        self.frame.ordinals.borrow().get(effect).copied().unwrap_or(0)
    }

    /// Takes the ordinal of this block's next effect of a kind, counted from 0.
    pub fn ordinal(&self, effect: &str) -> u32 {
        let new = || self.frame.next_ordinal(effect.to_owned());
        match &self.call {
            Some(call) => call.ordinals.count(effect, new),
            None => new(),
        }
    }
}

/// The recorded start of an effect.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct EffectStart {
    /// Its ordinal among the effects of its kind in its block.
    pub ordinal: u32,
    /// The `effect_started` event.
    pub seq: Seq,
}

fn aborted_by_author() -> FlowError {
    FlowError::new("AbortError", "This operation was aborted")
}
