//! Notes the effects of the running function, so that it gets the same results if a conflict makes it run again.

use std::rc::Rc;

use serde_json::Value;

use super::Context;
use crate::execution::record::prior_attempt::{AttemptEffects, FinishedEffect};
use crate::model::effects::EffectKind;
use crate::model::error::FlowError;
use crate::model::event::Seq;

impl Context {
    /// Returns the effects of the running function, if a conflict can make it run again: a handler or a callback.
    fn attempt_effects(&self) -> Option<Rc<AttemptEffects>> {
        match &self.call {
            Some(call) => Some(call.effects.clone()),
            None => self.frame.block.is_one_function().then(|| self.frame.effects.borrow().clone()),
        }
    }

    /// Notes that an effect of this attempt started.
    pub(crate) fn note_effect_started(&self, kind: EffectKind, ordinal: u32, request: Option<&Value>) {
        if let Some(effects) = self.attempt_effects() {
            effects.begin(kind, ordinal, request);
        }
    }

    /// Notes that an effect of this attempt ended, with event `finished`.
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

    /// Returns whether a later attempt may reuse this attempt's effects.
    pub(crate) fn notes_effects(&self) -> bool {
        self.attempt_effects().is_some()
    }

    /// Takes the result that an earlier attempt of this function got for an equal request, if there is one. The caller
    /// passes it to [`hand_over`](Self::hand_over).
    pub(crate) fn take_earlier(
        &self,
        kind: EffectKind,
        ordinal: u32,
        request: Option<&Value>,
    ) -> Option<FinishedEffect> {
        self.attempt_effects().filter(|effects| effects.has_earlier())?.take(kind, ordinal, request)
    }

    /// Like [`take_earlier`](Self::take_earlier), for an asynchronous effect: waits for its end if an earlier attempt
    /// has started it.
    pub(crate) async fn await_earlier(
        &self,
        kind: EffectKind,
        ordinal: u32,
        request: &Value,
    ) -> Option<FinishedEffect> {
        let effects = self.attempt_effects().filter(|effects| effects.has_earlier())?;
        effects.take_or_wait(kind, ordinal, request).await
    }

    /// Records an effect with the result of an earlier attempt, and returns that result in the original order of
    /// results.
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

    /// Like [`hand_over`](Self::hand_over), for a synchronous effect.
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
