//! The real outside of a request: the system's clock and chance, models, and the network.

use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelReply};
use engine::error::FlowError;
use futures_util::future::LocalBoxFuture;

use crate::config::Config;
use crate::fetch::Pages;
use crate::mock::MockModels;
use crate::models::Models;
use crate::progress::Awaited;

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// What a request gets from this machine.
pub(crate) struct World {
    models: Rc<Source>,
    pages: Rc<Pages>,
    awaited: Awaited,
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
            None => Source::Real(Models::new(config.models.clone(), trust)),
        };
        World { models: Rc::new(models), pages: Rc::new(Pages::new(&config.fetch.allow)), awaited: Awaited::default() }
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

    fn random(&self) -> f64 {
        // 53 random bits of a version 4 UUID: exactly what a double can hold.
        (uuid::Uuid::new_v4().as_u128() >> 75) as f64 / (1_u64 << 53) as f64
    }

    fn uuid(&self) -> String {
        uuid::Uuid::new_v4().to_string()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        self.awaited.count(tokio::time::sleep(Duration::from_millis(ms)))
    }

    fn model(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
    ) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>> {
        let models = self.models.clone();
        self.awaited.count(async move {
            match &*models {
                Source::Mock(mock) => mock.answer(&call, listener).await,
                Source::Real(models) => models.answer(call, listener).await,
            }
        })
    }

    fn fetch(&self, call: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>> {
        let pages = self.pages.clone();
        self.awaited.count(async move { pages.fetch(call).await })
    }
}
