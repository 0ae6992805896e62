//! Real models: who answers a generator's model string, and every way in which that can fail.
//!
//! Keys come from the environment only, go to their server only, and are taken out of everything
//! that is handed back.

mod failure;
mod provider;
mod target;
mod words;

use std::collections::BTreeMap;
use std::rc::Rc;

use engine::effects::{Listener, ModelCall, ModelDelta, ModelReply};
use engine::error::FlowError;
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::config;
use provider::Provider;

/// The models of one request.
pub(crate) struct Models {
    named: BTreeMap<String, config::Model>,
    /// Whether addresses of `flowglass.json` may get keys.
    trust: bool,
    provider: OnceCell<Provider>,
}

impl Models {
    pub(crate) fn new(named: BTreeMap<String, config::Model>, trust: bool) -> Self {
        Models { named, trust, provider: OnceCell::new() }
    }

    /// Answers one call. A listener makes the answer stream.
    pub(crate) async fn answer(&self, call: ModelCall, listener: Option<Listener>) -> Result<ModelReply, FlowError> {
        let mut target = target::find(&call, &self.named, |name| std::env::var(name).ok())?;
        let provider = self.provider.get_or_try_init(|| async { Provider::new() }).await;
        let provider = provider.map_err(|failure| failure.into_error(&target))?;
        let own = provider.address(&target).await.map_err(|failure| failure.into_error(&target))?;
        target.settle(own, self.trust)?;
        let listener = listener.map(|listener| quiet(listener, target.key.clone()));
        match provider.answer(&target, call, listener).await {
            Ok(mut reply) => {
                reply.hide(target.key.as_deref());
                Ok(reply)
            }
            Err(failure) => {
                let mut error = failure.into_error(&target);
                error.hide(target.key.as_deref());
                Err(error)
            }
        }
    }
}

/// A listener that never hears the key.
fn quiet(listener: Listener, key: Option<String>) -> Listener {
    Rc::new(move |delta| {
        listener(match delta {
            ModelDelta::Text(mut text) => {
                text.hide(key.as_deref());
                ModelDelta::Text(text)
            }
            ModelDelta::Reasoning(mut text) => {
                text.hide(key.as_deref());
                ModelDelta::Reasoning(text)
            }
        });
    })
}

/// What a key is taken out of: a server may repeat what it was sent.
trait Hide {
    fn hide(&mut self, key: Option<&str>);
}

impl Hide for String {
    fn hide(&mut self, key: Option<&str>) {
        if let Some(key) = key.filter(|key| !key.is_empty() && self.contains(*key)) {
            *self = self.replace(key, "[redacted]");
        }
    }
}

impl Hide for Value {
    fn hide(&mut self, key: Option<&str>) {
        match self {
            Value::String(text) => text.hide(key),
            Value::Array(items) => items.iter_mut().for_each(|item| item.hide(key)),
            Value::Object(fields) => fields.values_mut().for_each(|field| field.hide(key)),
            _ => {}
        }
    }
}

impl Hide for ModelReply {
    fn hide(&mut self, key: Option<&str>) {
        let texts = [&mut self.text, &mut self.reasoning, &mut self.model, &mut self.finish_reason];
        texts.into_iter().flatten().for_each(|text| text.hide(key));
        self.tool_calls.iter_mut().for_each(|call| call.args.hide(key));
        self.structured_output.iter_mut().chain(&mut self.sources).for_each(|value| value.hide(key));
    }
}

impl Hide for FlowError {
    fn hide(&mut self, key: Option<&str>) {
        self.message.hide(key);
        self.details.iter_mut().for_each(|details| details.hide(key));
    }
}

#[cfg(test)]
mod tests;
