//! The real outside of a request: the system's clock and chance, models, and the network.

use engine::event::Event;
use engine::loading::load_effects;
use script::LoadTime;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use engine::effects::{
    Dispatch, DispatchRefusal, Dispatched, Effects, FetchCall, FetchReply, Listener, ModelCall, ModelReply, SyncEffect,
};
use engine::error::FlowError;
use engine::redaction::Redaction;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::core::config::Config;
use crate::core::progress::Awaited;
use crate::effects::fetch::Pages;
use crate::models::Models;
use crate::models::call_meter::{MeteredCalls, SampleCalls};
use crate::models::mock_script::MockModels;

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// An id that sorts by when it was made; by chance alone where the clock stands before the epoch.
pub(crate) fn new_id() -> Uuid {
    if SystemTime::now() >= UNIX_EPOCH {
        return Uuid::now_v7();
    }
    let mut bytes = [0; 10];
    fill(&mut bytes);
    uuid::Builder::from_unix_timestamp_millis(0, &bytes).into_uuid()
}

/// What this machine answers at once.
pub(crate) fn draw(effect: SyncEffect) -> Value {
    match effect {
        SyncEffect::Clock => now_ms().into(),
        SyncEffect::PreciseClock => engine::json::number(precise_now_ms()),
        SyncEffect::Random => engine::json::number(random()),
        SyncEffect::Bytes(count) => {
            let mut bytes = vec![0; count];
            fill(&mut bytes);
            json!({ "base64": BASE64_STANDARD.encode(bytes) })
        }
        SyncEffect::Uuid => Uuid::new_v4().to_string().into(),
    }
}

/// Milliseconds since the epoch in thousandths, by a clock that never goes back while the process lives.
fn precise_now_ms() -> f64 {
    static START: LazyLock<(SystemTime, std::time::Instant)> =
        LazyLock::new(|| (SystemTime::now(), std::time::Instant::now()));
    let (wall, steady) = *START;
    let start = wall.duration_since(UNIX_EPOCH).unwrap_or_default();
    (start + steady.elapsed()).as_micros() as f64 / 1000.0
}

/// 53 random bits: exactly what a double in `[0, 1)` can hold.
fn random() -> f64 {
    let mut bytes = [0; 8];
    fill(&mut bytes);
    (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Fills with bytes of the operating system.
fn fill(bytes: &mut [u8]) {
    if getrandom::fill(bytes).is_err() {
        // Where the system has none, UUIDs have: 16 bytes each, of which the sixth and the eighth are not all random.
        for chunk in bytes.chunks_mut(6) {
            chunk.copy_from_slice(&Uuid::new_v4().as_bytes()[..chunk.len()]);
        }
    }
}

/// Starts what a dispatcher sends; blocks until that is accepted.
pub(crate) type Dispatcher = Arc<dyn Fn(Dispatch) -> Result<Dispatched, DispatchRefusal> + Send + Sync>;

/// What a request gets from this machine.
pub(crate) struct World {
    dispatcher: Option<Dispatcher>,
    models: Rc<Source>,
    pages: Rc<Pages>,
    awaited: Awaited,
    redaction: Arc<Redaction>,
    env: Value,
    depth: usize,
    metered: Option<Rc<MeteredCalls>>,
}

/// Who answers model calls.
enum Source {
    /// Canned replies, where the run asked for them.
    Mock(MockModels),
    Real(Models),
}

impl World {
    /// The outside of one request; `trust` as in [`Models`].
    pub(crate) fn new(mock: Option<MockModels>, config: &Config, trust: bool) -> Self {
        let models = match mock {
            Some(mock) => Source::Mock(mock),
            None => Source::Real(Models::new(config.models.clone(), trust, config.limits)),
        };
        World {
            dispatcher: None,
            models: Rc::new(models),
            pages: Rc::new(Pages::new(&config.fetch.allow, config.limits.reply_bytes)),
            awaited: Awaited::default(),
            redaction: Arc::new(config.redaction()),
            env: config.flow_env(),
            depth: config.limits.depth,
            metered: None,
        }
    }

    /// The same for a sample of an experiment: its model calls are counted, and answered once for all that share them.
    /// Replies of a mock script are not shared: each sample takes them in their order.
    pub(crate) fn metered(self, calls: SampleCalls) -> Self {
        let shares = matches!(*self.models, Source::Real(_));
        World { metered: Some(Rc::new(MeteredCalls::new(calls, shares, self.redaction.clone()))), ..self }
    }

    /// The same, where dispatchers send requests.
    pub(crate) fn sending(self, dispatcher: Dispatcher) -> Self {
        World { dispatcher: Some(dispatcher), ..self }
    }

    /// What the request waits for from outside.
    pub(crate) fn awaited(&self) -> Awaited {
        self.awaited.clone()
    }
}

impl Effects for World {
    fn now_ms(&self) -> i64 {
        now_ms()
    }

    fn sync_effect(&self, effect: SyncEffect) -> Value {
        draw(effect)
    }

    fn random(&self) -> f64 {
        random()
    }

    fn uuid(&self) -> String {
        Uuid::new_v4().to_string()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        self.awaited.count(tokio::time::sleep(Duration::from_millis(ms)))
    }

    fn sleep_idly(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(ms)))
    }

    fn hold(&self) -> LocalBoxFuture<'static, ()> {
        self.awaited.count(std::future::pending())
    }

    fn model(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
    ) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>> {
        let (models, metered) = (self.models.clone(), self.metered.clone());
        self.awaited.count(async move {
            let ask = async |call: ModelCall, listener| match &*models {
                Source::Mock(mock) => mock.answer(&call, listener).await,
                Source::Real(models) => models.answer(call, listener).await,
            };
            match metered {
                Some(metered) => metered.answer(call, listener, ask).await,
                None => ask(call, listener).await,
            }
        })
    }

    fn fetch(&self, call: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>> {
        let pages = self.pages.clone();
        self.awaited.count(async move { pages.fetch(call).await })
    }

    fn dispatch(&self, call: Dispatch) -> LocalBoxFuture<'static, Result<Dispatched, DispatchRefusal>> {
        let failed = |detail: String| DispatchRefusal { refused: "no-dispatch-operation".to_owned(), detail };
        let Some(dispatcher) = self.dispatcher.clone() else {
            return Box::pin(std::future::ready(Err(failed("nothing here starts requests".to_owned()))));
        };
        // What is started answers from a thread of its own, for which this one must not wait.
        let sent = tokio::task::spawn_blocking(move || dispatcher(call));
        self.awaited.count(async move { sent.await.unwrap_or_else(|error| Err(failed(error.to_string()))) })
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

/// For a file that is evaluated for a request with these events: what it drew before, then what is new. `env` is its
/// environment.
pub(crate) fn live(events: &[Event], env: Value) -> LoadTime {
    LoadTime::after(load_effects(events), draw).with_env(env)
}
