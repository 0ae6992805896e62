//! One model call: which model, how often it is tried, what it answered, what it used.
//!
//! A list of models is a fallback group: each is tried twice before the next (core-semantics §6.2).

use std::rc::Rc;

use serde_json::{Value, json};

use crate::callable::{Arg, Returned};
use crate::context::Context;
use crate::data::Data;
use crate::effects::{Listener, ModelCall, ModelDelta, ModelReply, ToolCall};
use crate::error::FlowError;
use crate::event::EventKind;
use crate::flow::{Body, Generator, Model, ModelInstance, Text};

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
    /// Whether the model answers steps; else it answers once and its tool calls are reported only.
    pub(super) fn answers_steps(&self) -> bool {
        match self {
            Chosen::Named(_) => true,
            Chosen::Instance(instance) => instance.step.is_some(),
        }
    }
}

/// The model of a generator for this run.
pub(super) async fn choose(cx: &Context, generator: &Generator, input: &Data) -> Result<Chosen, FlowError> {
    match &generator.model {
        Model::Instance(instance) => Ok(Chosen::Instance(instance.clone())),
        Model::Named(Text::Fixed(value)) => named(cx, value),
        Model::Named(Text::Call(call)) => {
            match crate::unit::call(cx, "model", call, vec![Arg::Data(input.clone())]).await? {
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
                _ if cx.run.tape.is_some() => record(cx, &call, ask_instance(cx, instance, &call).await, false),
                Some(answer) => answer,
                None => record(cx, &call, ask_instance(cx, instance, &call).await, false),
            };
            answer.map(|reply| (call.model, reply))
        }
        Chosen::Named(models) => {
            let attempts = if models.len() > 1 { FALLBACK_ATTEMPTS } else { 1 };
            let mut failure = FlowError::plain("no model answered");
            for (at, model) in models.iter().enumerate() {
                for attempt in 0..attempts {
                    let call = ModelCall { model: model.clone(), ..call.clone() };
                    let recalled = recall(cx, &call, listener.as_ref());
                    let is_recalled = recalled.is_some();
                    let answer = match recalled {
                        Some(answer) => answer,
                        None if cx.run.tape.is_some() => replayed(cx, &call, listener.as_ref()).await,
                        None => {
                            let answer = cx.run.effects.model(call.clone(), listener.clone()).await;
                            record(cx, &call, answer, false)
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
    let done = cx.run.memo.call(&cx.frame.path, cx.peek("model"))?;
    let request = told(call);
    if done.request != request {
        // A handler that asks something else now is not asking what was answered.
        if !matches!(cx.frame.block.body, Body::Generator(_)) {
            return None;
        }
        let text = format!(
            "drift: {} asks its model something else than when it ran; the recorded answer is used",
            cx.frame.path
        );
        cx.record(EventKind::Noted { text });
    }
    tell(listener, &done.answer);
    Some(record(cx, call, done.answer.clone(), true))
}

/// What the tape of a replay has for this call; a call that asks something else is not on it.
async fn replayed(cx: &Context, call: &ModelCall, listener: Option<&Listener>) -> Result<ModelReply, FlowError> {
    let taped = cx.taped("model", cx.peek("model"), &told(call)).await?;
    let answer = match taped.error {
        Some(error) => Err(error),
        None => serde_json::from_value(taped.result).map_err(|error| FlowError::plain(error.to_string())),
    };
    tell(listener, &answer);
    record(cx, call, answer, false)
}

/// Lets a listener hear an answer that is there already.
fn tell(listener: Option<&Listener>, answer: &Result<ModelReply, FlowError>) {
    if let (Some(listener), Ok(reply)) = (listener, answer) {
        reply.reasoning.iter().for_each(|text| listener(ModelDelta::Reasoning(text.clone())));
        reply.text.iter().for_each(|text| listener(ModelDelta::Text(text.clone())));
    }
}

/// The call as it is recorded. Headers may carry secrets, and no look at a run needs them.
fn told(call: &ModelCall) -> Value {
    let mut request = serde_json::to_value(call).unwrap_or_default();
    if let Some(options) = request.get_mut("providerOptions").and_then(Value::as_object_mut) {
        options.shift_remove("headers");
    }
    request
}

fn record(
    cx: &Context,
    call: &ModelCall,
    answer: Result<ModelReply, FlowError>,
    recalled: bool,
) -> Result<ModelReply, FlowError> {
    let request = told(call);
    let ordinal = cx.ordinal("model");
    let (result, error) = match &answer {
        Ok(reply) => (serde_json::to_value(reply).unwrap_or_default(), None),
        Err(error) => (Value::Null, Some(error.clone())),
    };
    if let Ok(reply) = &answer
        && !recalled
    {
        cx.run.usage.borrow_mut().add(&call.model, reply.usage.as_ref());
    }
    let (effect, request) = ("model".to_owned(), Some(request));
    cx.record(EventKind::EffectRecorded { effect, ordinal, request, result, error, recalled });
    answer
}

/// Calls an author's own model.
async fn ask_instance(cx: &Context, instance: &ModelInstance, call: &ModelCall) -> Result<ModelReply, FlowError> {
    let function = instance.step.as_ref().or(instance.whole.as_ref());
    let Some(function) = function else {
        return Err(FlowError::plain(format!("model \"{}\" has no generate function", instance.id)));
    };
    let mut options = json!({
        "messages": call.messages,
        "tools": call.tools,
        "outputSchema": call.output_schema,
        "maxTokens": call.max_tokens,
        "providerOptions": call.provider_options,
        "stepNumber": call.step,
    });
    if let Value::Object(fields) = &mut options {
        fields.retain(|_, value| !value.is_null());
    }
    let answer =
        crate::unit::call(cx, "generate", function, vec![Arg::Data(options.into())]).await?.into_data()?.to_json();
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let calls = answer["toolCalls"].as_array().cloned().unwrap_or_default();
    Ok(ModelReply {
        text: text("text"),
        reasoning: text("reasoning"),
        tool_calls: calls
            .iter()
            .enumerate()
            .map(|(n, call_of)| ToolCall {
                id: call_of["toolCallId"].as_str().map_or_else(|| format!("call_{}_{n}", call.step), str::to_owned),
                name: call_of["toolName"].as_str().or(call_of["name"].as_str()).unwrap_or_default().to_owned(),
                args: call_of.get("args").cloned().unwrap_or_default(),
            })
            .collect(),
        structured_output: answer.get("structuredOutput").filter(|value| !value.is_null()).cloned(),
        usage: answer.get("usage").filter(|value| !value.is_null()).cloned(),
        model: Some(instance.id.clone()),
        finish_reason: text("finishReason"),
        sources: answer["sources"].as_array().cloned().unwrap_or_default(),
    })
}
