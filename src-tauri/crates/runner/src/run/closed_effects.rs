//! The outside of a run that reaches nothing: that of a replay and of a plan.
//!
//! Must not ask a model or the network. Time is that of the recording for a replay, and this machine's for a plan.

use std::rc::Rc;
use std::sync::Arc;

use engine::effect_log::EffectLog;
use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelReply, SyncEffect};
use engine::error::FlowError;
use engine::event::EventKind;
use engine::redaction::Redaction;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::Value;

use crate::core::config::Config;
use crate::effects::outside::{draw, now_ms};

/// Where clock and timers come from.
enum Time {
    /// From what was recorded.
    Recorded(Rc<EffectLog>),
    /// From this machine, whose timers are not waited for.
    Machine,
}

/// See the module.
pub(super) struct ClosedEffects {
    time: Time,
    redaction: Arc<Redaction>,
    env: Value,
    depth: usize,
}

impl ClosedEffects {
    /// The outside of a replay.
    pub(super) fn recorded(effect_log: Rc<EffectLog>, config: &Config) -> Rc<ClosedEffects> {
        ClosedEffects::new(Time::Recorded(effect_log), config)
    }

    /// The outside of a plan.
    pub(super) fn machine(config: &Config) -> Rc<ClosedEffects> {
        ClosedEffects::new(Time::Machine, config)
    }

    fn new(time: Time, config: &Config) -> Rc<ClosedEffects> {
        let (redaction, env, depth) = (Arc::new(config.redaction()), config.flow_env(), config.limits.depth);
        Rc::new(ClosedEffects { time, redaction, env, depth })
    }
}

impl Effects for ClosedEffects {
    fn now_ms(&self) -> i64 {
        match &self.time {
            Time::Recorded(effect_log) => effect_log.now(),
            Time::Machine => now_ms(),
        }
    }

    fn sync_effect(&self, effect: SyncEffect) -> Value {
        match (&self.time, effect) {
            (Time::Machine, effect) => draw(effect),
            // What the recording does not answer is a difference, whatever is given here.
            (_, SyncEffect::Clock | SyncEffect::PreciseClock) => self.now_ms().into(),
            (_, effect) => effect.placeholder(),
        }
    }

    fn event_time(&self, path: Option<&Arc<str>>, attempt: u32, kind: &mut EventKind) -> i64 {
        let recorded = match &self.time {
            Time::Recorded(effect_log) => effect_log.event_time(path, attempt, kind),
            Time::Machine => None,
        };
        recorded.unwrap_or_else(|| self.now_ms())
    }

    fn random(&self) -> f64 {
        0.0
    }

    fn uuid(&self) -> String {
        uuid::Uuid::nil().to_string()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        match &self.time {
            Time::Recorded(effect_log) => effect_log.timer(ms),
            Time::Machine => std::future::pending().boxed_local(),
        }
    }

    fn model(&self, _: ModelCall, _: Option<Listener>) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>> {
        async { Err(FlowError::plain("a replay and a plan ask no model")) }.boxed_local()
    }

    fn fetch(&self, _: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>> {
        async { Err(FlowError::plain("a replay and a plan fetch nothing")) }.boxed_local()
    }

    fn redaction(&self) -> Arc<Redaction> {
        self.redaction.clone()
    }

    fn env(&self) -> Value {
        self.env.clone()
    }

    fn depth(&self) -> usize {
        self.depth
    }
}
