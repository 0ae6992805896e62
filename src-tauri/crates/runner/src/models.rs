//! Live models: the provider of a generator's model string, and every way in which a call can fail.
//!
//! Keys come from the environment only, are sent to their own server only, and are redacted in everything that is
//! returned.

mod failure;
mod kept_reply;
mod numbering;
mod provider;
mod relay;
pub(crate) mod target;
mod wire_format;

pub(crate) mod call_meter;
pub(crate) mod http;
pub(crate) mod mock_script;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

use engine::effects::{Listener, ModelCall, ModelDelta, ModelReply};
use engine::error::FlowError;
use engine::redaction::{Secrets, Stream};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::core::config;
use provider::Provider;

pub(crate) use provider::kind as provider_of;
pub(crate) use target::who_answers;

/// The models of one request.
pub(crate) struct Models {
    named: BTreeMap<String, config::Model>,
    /// Whether keys may be sent to addresses from `flowglass.json`.
    trust: bool,
    limits: config::Limits,
    provider: OnceCell<Provider>,
}

impl Models {
    pub(crate) fn new(named: BTreeMap<String, config::Model>, trust: bool, limits: config::Limits) -> Self {
        Models { named, trust, limits, provider: OnceCell::new() }
    }

    /// Answers one call, streaming the answer if there is a listener.
    pub(crate) async fn answer(&self, call: ModelCall, listener: Option<Listener>) -> Result<ModelReply, FlowError> {
        let mut target = target::find(&call, &self.named, |name| std::env::var(name).ok())?;
        let provider = self.provider.get_or_try_init(|| async { Provider::new(self.limits) }).await;
        let provider = provider.map_err(|failure| failure.into_error(&target))?;
        let own = provider.address(&target).await.map_err(|failure| failure.into_error(&target))?;
        target.settle(own, self.trust)?;
        let key = Rc::new(target.key.iter().collect::<Secrets>());
        let redacting = listener.map(|listener| Rc::new(RedactingListener::new(listener, key.clone())));
        let listener = redacting.clone().map(|redacting| Rc::new(move |delta| redacting.receive(delta)) as Listener);
        let (model, began) = (call.model.clone(), Instant::now());
        let answer = provider.answer(&target, call, listener).await;
        let ms = began.elapsed().as_millis() as u64;
        tracing::debug!(?model, ms, is_answered = answer.is_ok(), "model asked");
        if let Some(redacting) = redacting {
            redacting.end();
        }
        match answer {
            Ok(mut reply) => {
                reply.hide(&key);
                Ok(reply)
            }
            Err(failure) => {
                let mut error = failure.into_error(&target);
                error.hide(&key);
                Err(error)
            }
        }
    }
}

/// Redacts the key in a streamed answer, even where a piece ends in the middle of the key.
struct RedactingListener {
    listener: Listener,
    key: Rc<Secrets>,
    text: RefCell<Stream>,
    reasoning: RefCell<Stream>,
}

impl RedactingListener {
    fn new(listener: Listener, key: Rc<Secrets>) -> Self {
        RedactingListener { listener, key, text: RefCell::default(), reasoning: RefCell::default() }
    }

    fn receive(&self, delta: ModelDelta) {
        match delta {
            ModelDelta::Text(text) => {
                self.end_reasoning();
                let text = self.text.borrow_mut().next(&self.key, &text);
                self.forward(ModelDelta::Text, text);
            }
            ModelDelta::Reasoning(text) => {
                self.end_text();
                let text = self.reasoning.borrow_mut().next(&self.key, &text);
                self.forward(ModelDelta::Reasoning, text);
            }
        }
    }

    fn end(&self) {
        self.end_reasoning();
        self.end_text();
    }

    fn end_text(&self) {
        let held = self.text.borrow_mut().end(&self.key);
        self.forward(ModelDelta::Text, held);
    }

    fn end_reasoning(&self) {
        let held = self.reasoning.borrow_mut().end(&self.key);
        self.forward(ModelDelta::Reasoning, held);
    }

    fn forward(&self, delta: fn(String) -> ModelDelta, text: String) {
        if !text.is_empty() {
            (self.listener)(delta(text));
        }
    }
}

/// Redacts a key in a value, because a server may repeat the key in its answer.
trait Hide {
    fn hide(&mut self, key: &Secrets);
}

impl Hide for String {
    fn hide(&mut self, key: &Secrets) {
        if let Some(hidden) = key.hidden(self) {
            *self = hidden;
        }
    }
}

impl Hide for Value {
    fn hide(&mut self, key: &Secrets) {
        match self {
            Value::String(text) => text.hide(key),
            Value::Array(items) => items.iter_mut().for_each(|item| item.hide(key)),
            Value::Object(fields) => fields.values_mut().for_each(|field| field.hide(key)),
            _ => {}
        }
    }
}

impl Hide for ModelReply {
    fn hide(&mut self, key: &Secrets) {
        let texts = [&mut self.text, &mut self.reasoning, &mut self.model, &mut self.finish_reason];
        texts.into_iter().flatten().for_each(|text| text.hide(key));
        for call in &mut self.tool_calls {
            call.id.hide(key);
            call.name.hide(key);
            call.args.hide(key);
            call.result.iter_mut().for_each(|result| result.hide(key));
        }
        let values = self.structured_output.iter_mut().chain(&mut self.sources).chain(&mut self.response_messages);
        values.for_each(|value| value.hide(key));
    }
}

impl Hide for FlowError {
    fn hide(&mut self, key: &Secrets) {
        self.message.hide(key);
        self.details.iter_mut().chain(&mut self.object).for_each(|value| value.hide(key));
    }
}

#[cfg(test)]
mod tests;
