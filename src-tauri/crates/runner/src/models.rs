//! Real models: who answers a generator's model string, and every way in which that can fail.
//!
//! Keys come from the environment only, go to their server only, and are taken out of everything
//! that is handed back.

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
    /// Whether addresses of `flowglass.json` may get keys.
    trust: bool,
    limits: config::Limits,
    provider: OnceCell<Provider>,
}

impl Models {
    pub(crate) fn new(named: BTreeMap<String, config::Model>, trust: bool, limits: config::Limits) -> Self {
        Models { named, trust, limits, provider: OnceCell::new() }
    }

    /// Answers one call. A listener makes the answer stream.
    pub(crate) async fn answer(&self, call: ModelCall, listener: Option<Listener>) -> Result<ModelReply, FlowError> {
        let mut target = target::find(&call, &self.named, |name| std::env::var(name).ok())?;
        let provider = self.provider.get_or_try_init(|| async { Provider::new(self.limits) }).await;
        let provider = provider.map_err(|failure| failure.into_error(&target))?;
        let own = provider.address(&target).await.map_err(|failure| failure.into_error(&target))?;
        target.settle(own, self.trust)?;
        let key = Rc::new(target.key.iter().collect::<Secrets>());
        let quiet = listener.map(|listener| Rc::new(Quiet::new(listener, key.clone())));
        let heard = quiet.clone().map(|quiet| Rc::new(move |delta| quiet.hear(delta)) as Listener);
        let (model, began) = (call.model.clone(), Instant::now());
        let answer = provider.answer(&target, call, heard).await;
        let ms = began.elapsed().as_millis() as u64;
        tracing::debug!(?model, ms, is_answered = answer.is_ok(), "model asked");
        if let Some(quiet) = quiet {
            quiet.end();
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

/// A listener that never hears the key, wherever the pieces are cut.
struct Quiet {
    listener: Listener,
    key: Rc<Secrets>,
    text: RefCell<Stream>,
    reasoning: RefCell<Stream>,
}

impl Quiet {
    fn new(listener: Listener, key: Rc<Secrets>) -> Quiet {
        Quiet { listener, key, text: RefCell::default(), reasoning: RefCell::default() }
    }

    fn hear(&self, delta: ModelDelta) {
        match delta {
            ModelDelta::Text(text) => {
                self.end_reasoning();
                let text = self.text.borrow_mut().next(&self.key, &text);
                self.tell(ModelDelta::Text, text);
            }
            ModelDelta::Reasoning(text) => {
                self.end_text();
                let text = self.reasoning.borrow_mut().next(&self.key, &text);
                self.tell(ModelDelta::Reasoning, text);
            }
        }
    }

    fn end(&self) {
        self.end_reasoning();
        self.end_text();
    }

    fn end_text(&self) {
        let held = self.text.borrow_mut().end(&self.key);
        self.tell(ModelDelta::Text, held);
    }

    fn end_reasoning(&self) {
        let held = self.reasoning.borrow_mut().end(&self.key);
        self.tell(ModelDelta::Reasoning, held);
    }

    fn tell(&self, delta: fn(String) -> ModelDelta, text: String) {
        if !text.is_empty() {
            (self.listener)(delta(text));
        }
    }
}

/// What a key is taken out of: a server may repeat what it was sent.
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
