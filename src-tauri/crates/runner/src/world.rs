//! The real outside of a request: the system's clock and chance, and models.

use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelDelta, ModelReply};
use engine::error::FlowError;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::mock::MockModels;

/// Milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// What a request gets from this machine.
pub(crate) struct World {
    /// Canned replies, where the run asked for them.
    pub(crate) mock: Option<Rc<MockModels>>,
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
        tokio::time::sleep(Duration::from_millis(ms)).boxed_local()
    }

    fn model(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
    ) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>> {
        let mock = self.mock.clone();
        async move {
            let Some(mock) = mock else { return Err(unconfigured(&call)) };
            let (wait, answer) = mock.answer(&call);
            if wait > 0 {
                tokio::time::sleep(Duration::from_millis(wait)).await;
            }
            if let (Some(listener), Ok(reply)) = (&listener, &answer) {
                reply.reasoning.iter().for_each(|text| listener(ModelDelta::Reasoning(text.clone())));
                reply.text.iter().for_each(|text| listener(ModelDelta::Text(text.clone())));
            }
            answer
        }
        .boxed_local()
    }

    fn fetch(&self, call: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>> {
        let error = FlowError::plain(format!("fetch of {} is refused", call.url));
        async move { Err(error) }.boxed_local()
    }
}

fn unconfigured(call: &ModelCall) -> FlowError {
    FlowError {
        code: Some("model_not_configured".to_owned()),
        ..FlowError::new(
            "ModelError",
            format!(
                "model \"{}\" of generator \"{}\" is not configured: add it to \"models\" in flowglass.json with the \
                 environment variable that holds its key (apiKeyEnv), or run with mocks (--mock)",
                call.model, call.generator
            ),
        )
    }
}
