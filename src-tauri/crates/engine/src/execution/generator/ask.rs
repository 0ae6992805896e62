//! One model call: which model, how often it is tried, what it answered, what it used.
//!
//! A list of models is a fallback group: each is tried twice before the next (SEMANTICS §6.2).

use std::rc::Rc;

use serde_json::Value;

use super::instance;
use crate::execution::callback;
use crate::execution::context::{Begun, Context};
use crate::model::callable::{Arg, Returned};
use crate::model::data::Data;
use crate::model::effects::{EffectKind, Listener, ModelCall, ModelDelta, ModelReply};
use crate::model::error::FlowError;
use crate::model::event::{DriftKind, EventKind};
use crate::model::flow::{Generator, Model, ModelInstance, Text};
use crate::views::model_requests::AskedWith;

/// How often each model of a fallback group is tried, and the pauses between.
const FALLBACK_ATTEMPTS: u32 = 2;
const FALLBACK_DELAY_MS: u64 = 1_000;
const FALLBACK_LONGEST_MS: u64 = 10_000;

/// Who answers, once it is known.
pub(super) enum Chosen {
    Named(Vec<String>),
    Instance(Rc<ModelInstance>),
}

impl Chosen {
    /// Whether it is asked by its name: then it streams wherever it may.
    pub(super) fn is_named(&self) -> bool {
        matches!(self, Chosen::Named(_))
    }

    /// Whether the model answers steps; else it answers once and its tool calls are reported only.
    pub(super) fn answers_steps(&self) -> bool {
        match self {
            Chosen::Named(_) => true,
            Chosen::Instance(instance) => instance.answers_steps(),
        }
    }
}

/// The model of a generator for this run.
pub(super) async fn choose(cx: &Context, generator: &Generator, input: &Data) -> Result<Chosen, FlowError> {
    match &generator.model {
        Model::Instance(instance) => Ok(Chosen::Instance(instance.clone())),
        Model::Named(Text::Fixed(value)) => named(cx, value),
        Model::Named(Text::Call(call)) => {
            match callback::call(cx, "model", call, vec![Arg::Data(input.clone())]).await? {
                Returned::Model(instance) => Ok(Chosen::Instance(instance)),
                other => named(cx, &other.into_data()?.to_json()),
            }
        }
    }
}

fn named(cx: &Context, value: &Value) -> Result<Chosen, FlowError> {
    let name = &cx.frame.block.name;
    let wrong = |what: String| {
        Err(FlowError::plain(format!(
            "Generator \"{name}\": a model is a name like \"gpt-5-mini\", a list of names, or an object with a modelId \
             and a generate function, not {what}"
        )))
    };
    match value {
        Value::String(model) if !model.trim().is_empty() => Ok(Chosen::Named(vec![model.clone()])),
        Value::Array(models) if models.is_empty() => wrong("an empty list".to_owned()),
        Value::Array(models) => {
            let names: Vec<String> = models.iter().filter_map(model_name).collect();
            if names.len() == models.len() { Ok(Chosen::Named(names)) } else { wrong(value.to_string()) }
        }
        other => match model_name(other) {
            Some(model) => Ok(Chosen::Named(vec![model])),
            None => wrong(other.to_string()),
        },
    }
}

/// A name, or the `{ model, preferProvider }` of `selectModel`.
fn model_name(value: &Value) -> Option<String> {
    value.as_str().or_else(|| value.get("model")?.as_str()).map(str::to_owned)
}

/// Asks until somebody answers; the last failure counts. Answers which model was asked in the end,
/// in the flow's words, and its reply.
pub(super) async fn ask(
    cx: &Context,
    chosen: &Chosen,
    call: ModelCall,
    listener: Option<Listener>,
) -> Result<(String, ModelReply), FlowError> {
    match chosen {
        Chosen::Instance(instance) => {
            let call = ModelCall { model: instance.id.clone(), ..call };
            let answer = match recall(cx, &call, None) {
                Some(answer) if cx.run.effect_log.is_none() => {
                    crate::execution::callback::pass(cx, instance::FUNCTION);
                    answer
                }
                _ => {
                    // What leaves the process is what its code asks for, not the call of its code.
                    let begun = note_beginning(cx, &call);
                    let answer = instance::ask(cx, instance, &call, listener).await;
                    record(cx, &call, begun, answer)
                }
            };
            answer.map(|reply| (call.model, reply))
        }
        Chosen::Named(models) => {
            let attempts = if models.len() > 1 { FALLBACK_ATTEMPTS } else { 1 };
            let mut failure = FlowError::plain("no model answered");
            for (at, model) in models.iter().enumerate() {
                for attempt in 0..attempts {
                    let call = ModelCall { model: model.clone(), ..call.clone() };
                    let recalled = match of_earlier_try(cx, &call, listener.as_ref()).await {
                        None => recall(cx, &call, listener.as_ref()),
                        answer => answer,
                    };
                    let is_recalled = recalled.is_some();
                    let answer = match recalled {
                        Some(answer) => answer,
                        None if cx.run.effect_log.is_some() => replayed(cx, &call, listener.as_ref()).await,
                        None => {
                            let begun = begin(cx, &call).await?;
                            let answer = cx.run.effects.model(call.clone(), listener.clone()).await;
                            record(cx, &call, begun, answer)
                        }
                    };
                    match answer {
                        Ok(reply) => return Ok((call.model, reply)),
                        Err(error) if cx.run.abort.is_set() => return Err(error),
                        Err(error) => failure = error,
                    }
                    // A model that is not there does not come back by waiting.
                    if !failure.retryable {
                        break;
                    }
                    let is_last = at + 1 == models.len() && attempt + 1 == attempts;
                    if !is_last && !is_recalled && attempt + 1 < attempts {
                        let pause = (FALLBACK_DELAY_MS << attempt).min(FALLBACK_LONGEST_MS);
                        cx.run.effects.sleep(pause).await;
                    }
                }
            }
            Err(failure)
        }
    }
}

/// What the log has for this call of the block, if an earlier part of the request got as far. Nothing is
/// asked twice; a listener hears it again, because the items of the earlier part came to nothing.
fn recall(cx: &Context, call: &ModelCall, listener: Option<&Listener>) -> Option<Result<ModelReply, FlowError>> {
    let done = cx.run.replay_cache.call(&cx.frame.path, cx.peek(EffectKind::Model.as_str()))?;
    if done.asked.as_ref().map(AskedWith::whole) != Some(public_request(cx, call)) {
        // A handler that asks something else now is not asking what was answered.
        if !cx.frame.block.asks_models_itself() {
            return None;
        }
        let text = format!(
            "drift: {} asks its model something else than when it ran; the recorded answer is used",
            cx.frame.path
        );
        cx.record(EventKind::Drift { drift: DriftKind::ModelCall, text });
    }
    tell(listener, &done.answer);
    let ordinal = cx.ordinal(EffectKind::Model.as_str());
    let result = done.answer.as_ref().map(|reply| serde_json::to_value(reply).unwrap_or_default());
    cx.effect_finished(EffectKind::Model, ordinal, done.held_by, result.map_err(Clone::clone), true);
    Some(done.answer.clone())
}

/// What an earlier try of the block got for this call, where a conflict has made it run again.
async fn of_earlier_try(
    cx: &Context,
    call: &ModelCall,
    listener: Option<&Listener>,
) -> Option<Result<ModelReply, FlowError>> {
    let kind = EffectKind::Model;
    let done = cx.await_earlier(kind, cx.peek(kind.as_str()), &public_request(cx, call)).await?;
    let ordinal = cx.ordinal(kind.as_str());
    let answer = cx.hand_over(kind, ordinal, done).await;
    let answer = answer
        .and_then(|reply| crate::model::json::from_value(reply).map_err(|error| FlowError::plain(error.to_string())));
    tell(listener, &answer);
    Some(answer)
}

/// What the effect log of a replay has for this call; a call that asks something else is not on it.
async fn replayed(cx: &Context, call: &ModelCall, listener: Option<&Listener>) -> Result<ModelReply, FlowError> {
    let taped = cx.taped(EffectKind::Model, cx.peek(EffectKind::Model.as_str()), &public_request(cx, call)).await?;
    let answer = match taped.error {
        Some(error) => Err(error),
        None => crate::model::json::from_value(taped.result).map_err(|error| FlowError::plain(error.to_string())),
    };
    tell(listener, &answer);
    let begun = note_beginning(cx, call);
    record(cx, call, begun, answer)
}

/// Lets a listener hear an answer that is there already.
fn tell(listener: Option<&Listener>, answer: &Result<ModelReply, FlowError>) {
    if let (Some(listener), Ok(reply)) = (listener, answer) {
        reply.reasoning.iter().for_each(|text| listener(ModelDelta::Reasoning(text.clone())));
        reply.text.iter().for_each(|text| listener(ModelDelta::Text(text.clone())));
    }
}

/// The call as it is recorded. Options may carry secrets, and no look at a run needs their headers.
fn public_request(cx: &Context, call: &ModelCall) -> Value {
    let mut request = serde_json::to_value(call).unwrap_or_default();
    if let Some(options) = request.get_mut("providerOptions").filter(|options| !options.is_null()) {
        options.as_object_mut().and_then(|fields| fields.shift_remove("headers"));
        cx.run.effects.redaction().value(options);
    }
    request
}

/// Records that a call begins. A call of a model outside goes out when that is committed.
async fn begin(cx: &Context, call: &ModelCall) -> Result<Begun, FlowError> {
    if cx.run.asked.mock.is_some() {
        return Ok(note_beginning(cx, call));
    }
    cx.begin(EffectKind::Model, Some(public_request(cx, call))).await
}

/// Records that a call begins which asks nobody outside.
fn note_beginning(cx: &Context, call: &ModelCall) -> Begun {
    let ordinal = cx.ordinal(EffectKind::Model.as_str());
    Begun { ordinal, seq: cx.effect_started(EffectKind::Model, ordinal, Some(public_request(cx, call))) }
}

fn record(
    cx: &Context,
    call: &ModelCall,
    Begun { ordinal, seq }: Begun,
    answer: Result<ModelReply, FlowError>,
) -> Result<ModelReply, FlowError> {
    let answer = answer.map_err(|error| cx.run.effects.redaction().error(error));
    if let Ok(reply) = &answer {
        cx.run.usage.borrow_mut().add(&call.model, reply.usage.as_ref());
    }
    let result = answer.as_ref().map(|reply| serde_json::to_value(reply).unwrap_or_default());
    cx.effect_finished(EffectKind::Model, ordinal, Some(seq), result.map_err(Clone::clone), false);
    answer
}
