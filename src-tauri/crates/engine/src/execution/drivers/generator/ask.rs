//! One model call: which model is called, retries and fallbacks, recording, and token usage.
//!
//! A list of models is a fallback group: each is tried twice before the next (SEMANTICS §6.2).

use std::cell::Cell;
use std::rc::Rc;

use serde_json::Value;

use super::edited::{edited_model, with_edited_options};
use super::instance;
use super::step_messages::StepMessages;
use crate::execution::ctx::{Context, EffectStart};
use crate::execution::step::callback;
use crate::model::callable::{Arg, Returned};
use crate::model::data::Data;
use crate::model::effects::{EffectKind, Effects, Listener, ModelCall, ModelDelta, ModelReply};
use crate::model::error::FlowError;
use crate::model::event::{DriftKind, EventKind};
use crate::model::flow::{Body, Generator, Model, ModelInstance, ValueOrCall};
use crate::views::model_requests::AskedWith;

/// How often each model of a fallback group is tried, and the pauses between.
const FALLBACK_ATTEMPTS: u32 = 2;
const FALLBACK_DELAY_MS: u64 = 1_000;
const FALLBACK_MAX_DELAY_MS: u64 = 10_000;

/// The model of a generator, once it is known.
pub enum ChosenModel {
    Named(Vec<String>),
    Instance(Rc<ModelInstance>),
}

impl ChosenModel {
    /// Returns whether it is a named model, not the author's own code.
    pub(super) fn is_named(&self) -> bool {
        matches!(self, ChosenModel::Named(_))
    }

    /// Returns whether the model can be called for each step of the loop. Otherwise it is called once, and its tool
    /// calls are only reported.
    pub(super) fn answers_steps(&self) -> bool {
        match self {
            ChosenModel::Named(_) => true,
            ChosenModel::Instance(instance) => instance.answers_steps(),
        }
    }
}

/// Returns the model of a generator for this run.
pub(super) async fn choose(cx: &Context, generator: &Generator, input: &Data) -> Result<ChosenModel, FlowError> {
    if let Some(model) = edited_model(cx, &cx.frame.block.name) {
        return Ok(ChosenModel::Named(vec![model]));
    }
    resolve(cx, "model", &generator.model, input).await
}

/// Returns the model that a setting names. If the setting is a function, its call is recorded as `callback`.
pub(super) async fn resolve(
    cx: &Context,
    callback: &str,
    model: &Model,
    input: &Data,
) -> Result<ChosenModel, FlowError> {
    match model {
        Model::Instance(instance) => Ok(ChosenModel::Instance(instance.clone())),
        Model::Named(ValueOrCall::Fixed(value)) => named(cx, value),
        Model::Named(ValueOrCall::Call(call)) => {
            match callback::call(cx, callback, call, vec![Arg::Data(input.clone())]).await? {
                Returned::Model(instance) => Ok(ChosenModel::Instance(instance)),
                other => named(cx, &other.into_data()?.to_json()),
            }
        }
    }
}

fn named(cx: &Context, value: &Value) -> Result<ChosenModel, FlowError> {
    let name = &cx.frame.block.name;
    let wrong = |what: String| {
        Err(FlowError::plain(format!(
            "Generator \"{name}\": a model is a name like \"gpt-5-mini\", a list of names, or an object with a modelId \
             and a generate function, not {what}"
        )))
    };
    match value {
        Value::String(model) if !model.trim().is_empty() => Ok(ChosenModel::Named(vec![model.clone()])),
        Value::Array(models) if models.is_empty() => wrong("an empty list".to_owned()),
        Value::Array(models) => {
            let names: Vec<String> = models.iter().filter_map(model_name).collect();
            if names.len() == models.len() { Ok(ChosenModel::Named(names)) } else { wrong(value.to_string()) }
        }
        other => match model_name(other) {
            Some(model) => Ok(ChosenModel::Named(vec![model])),
            None => wrong(other.to_string()),
        },
    }
}

/// Returns a model's name: the value itself, or `model` of the `{ model, preferProvider }` of `selectModel`.
fn model_name(value: &Value) -> Option<String> {
    value.as_str().or_else(|| value.get("model")?.as_str()).map(str::to_owned)
}

/// Calls the models in order until one replies, or returns the last failure. Returns the name of the model that
/// replied, as the flow wrote it, and its reply.
pub async fn ask(
    cx: &Context,
    chosen: &ChosenModel,
    call: ModelCall,
    listener: Option<Listener>,
) -> Result<(String, ModelReply), FlowError> {
    ask_step(cx, chosen, call, &StepMessages::default(), listener).await
}

/// As [`ask`], for a step of a loop. The messages of the call end with those of the earlier steps.
pub(super) async fn ask_step(
    cx: &Context,
    chosen: &ChosenModel,
    call: ModelCall,
    steps: &StepMessages,
    listener: Option<Listener>,
) -> Result<(String, ModelReply), FlowError> {
    let edited = edited_model(cx, &call.generator).map(|model| ChosenModel::Named(vec![model]));
    let call = with_edited_options(cx, call);
    match edited.as_ref().unwrap_or(chosen) {
        ChosenModel::Instance(instance) => {
            let call = ModelCall { model: instance.id.clone(), ..call };
            let answer = match take_from_log(cx, &call, None).await {
                Some(answer) if cx.run.effect_log.is_none() => {
                    crate::execution::step::callback::skip_recorded_call(cx, instance::FUNCTION);
                    answer
                }
                _ => {
                    // The author's code runs here; what it fetches is recorded as effects of its own.
                    let begun = note_beginning(cx, &call);
                    if cx.run.only_plans {
                        return Err(FlowError::suspended());
                    }
                    let answer = instance::ask(cx, instance, &call, steps, listener).await;
                    record(cx, &call, begun, answer, None)
                }
            };
            answer.map(|reply| (call.model, reply))
        }
        ChosenModel::Named(models) => {
            let attempts = if models.len() > 1 { FALLBACK_ATTEMPTS } else { 1 };
            let mut failure = FlowError::plain("no model answered");
            for (at, model) in models.iter().enumerate() {
                for attempt in 0..attempts {
                    let call = ModelCall { model: model.clone(), ..call.clone() };
                    let recalled = match take_from_earlier_attempt(cx, &call, listener.as_ref()).await {
                        None => take_from_log(cx, &call, listener.as_ref()).await,
                        answer => answer,
                    };
                    let is_recalled = recalled.is_some();
                    let answer = match recalled {
                        Some(answer) => answer,
                        None if cx.run.effect_log.is_some() => take_from_effect_log(cx, &call, listener.as_ref()).await,
                        None if cx.run.only_plans => {
                            note_beginning(cx, &call);
                            return Err(FlowError::suspended());
                        }
                        None => {
                            let begun = begin(cx, &call).await?;
                            let heard = FirstPiece::new(cx);
                            let answer = cx.run.effects.model(call.clone(), heard.listener(listener.clone())).await;
                            record(cx, &call, begun, answer, heard.after_ms())
                        }
                    };
                    match answer {
                        Ok(reply) => return Ok((call.model, reply)),
                        Err(error) if cx.run.abort.is_set() => return Err(error),
                        Err(error) => failure = error,
                    }
                    // Retrying does not help; the next model may. An agent's side has waited long enough for a model
                    // that says nothing.
                    let is_silent = failure.name == "TimeoutError" && matches!(cx.frame.block.body, Body::Agent(..));
                    if !failure.retryable || is_silent {
                        break;
                    }
                    let is_last = at + 1 == models.len() && attempt + 1 == attempts;
                    if !is_last && !is_recalled && attempt + 1 < attempts {
                        let pause = (FALLBACK_DELAY_MS << attempt).min(FALLBACK_MAX_DELAY_MS);
                        cx.run.effects.sleep(pause).await;
                    }
                }
            }
            Err(failure)
        }
    }
}

/// Takes the reply to this call from the log, if the block received it before a resume: the model is not called
/// again. A listener gets the reply as deltas, because the items of the earlier attempt no longer count.
async fn take_from_log(
    cx: &Context,
    call: &ModelCall,
    listener: Option<&Listener>,
) -> Option<Result<ModelReply, FlowError>> {
    let done = cx.run.replay_cache.call(&cx.frame.path, cx.peek(EffectKind::Model.as_str()))?;
    if done.asked.as_ref().map(AskedWith::whole) != Some(public_request(cx, call)) {
        // A handler that now asks something else makes a new call.
        if !cx.frame.block.asks_models_itself() {
            return None;
        }
        let text = format!(
            "drift: {} asks its model something else than when it ran; the recorded answer is used",
            cx.frame.path
        );
        cx.record(EventKind::drift(DriftKind::ModelCall, text));
    }
    let ordinal = cx.ordinal(EffectKind::Model.as_str());
    if !cx.frame.block.asks_models_itself() {
        // A handler may wait for several results at once.
        cx.run.wait_for_turn((0, done.ended)).await;
    }
    stream_reply(listener, &done.answer);
    let result = done.answer.as_ref().map(|reply| serde_json::to_value(reply).unwrap_or_default());
    cx.effect_finished(EffectKind::Model, ordinal, done.held_by, result.map_err(Clone::clone), true);
    Some(done.answer.clone())
}

/// Takes the reply that an earlier attempt of the block got for this call, if a conflict made the block run again.
async fn take_from_earlier_attempt(
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
    stream_reply(listener, &answer);
    Some(answer)
}

/// In a replay: takes the reply from the effect log.
async fn take_from_effect_log(
    cx: &Context,
    call: &ModelCall,
    listener: Option<&Listener>,
) -> Result<ModelReply, FlowError> {
    let recorded = cx
        .await_recorded_effect(EffectKind::Model, cx.peek(EffectKind::Model.as_str()), &public_request(cx, call))
        .await?;
    let answer = match recorded.error {
        Some(error) => Err(error),
        None => crate::model::json::from_value(recorded.result).map_err(|error| FlowError::plain(error.to_string())),
    };
    stream_reply(listener, &answer);
    let begun = note_beginning(cx, call);
    record(cx, call, begun, answer, None)
}

/// Passes a complete reply to a listener, as deltas.
fn stream_reply(listener: Option<&Listener>, answer: &Result<ModelReply, FlowError>) {
    if let (Some(listener), Ok(reply)) = (listener, answer) {
        reply.reasoning.iter().for_each(|text| listener(ModelDelta::Reasoning(text.clone())));
        reply.text.iter().for_each(|text| listener(ModelDelta::Text(text.clone())));
    }
}

/// Returns the call as it is recorded. Provider options may contain secrets: their headers are left out, and the rest
/// is redacted. A prompt may contain known ones.
fn public_request(cx: &Context, call: &ModelCall) -> Value {
    let mut request = serde_json::to_value(call).unwrap_or_default();
    cx.run.effects.redaction().known(&mut request);
    if let Some(options) = request.get_mut("providerOptions").filter(|options| !options.is_null()) {
        options.as_object_mut().and_then(|fields| fields.shift_remove("headers"));
        cx.run.effects.redaction().value(options);
    }
    request
}

/// Records the start of a call. For a real model, returns when that is committed: only then may the call be sent.
async fn begin(cx: &Context, call: &ModelCall) -> Result<EffectStart, FlowError> {
    if cx.run.start.mock.is_some() {
        return Ok(note_beginning(cx, call));
    }
    cx.begin(EffectKind::Model, Some(public_request(cx, call))).await
}

/// Records the start of a call that sends nothing outside; does not wait for a commit.
fn note_beginning(cx: &Context, call: &ModelCall) -> EffectStart {
    let ordinal = cx.ordinal(EffectKind::Model.as_str());
    EffectStart { ordinal, seq: cx.effect_started(EffectKind::Model, ordinal, Some(public_request(cx, call))) }
}

fn record(
    cx: &Context,
    call: &ModelCall,
    EffectStart { ordinal, seq }: EffectStart,
    answer: Result<ModelReply, FlowError>,
    first_piece_ms: Option<i64>,
) -> Result<ModelReply, FlowError> {
    let answer = answer.map_err(|error| cx.run.effects.redaction().error(error));
    if let Ok(reply) = &answer {
        cx.run.usage.borrow_mut().add(&call.model, reply.usage.as_ref());
    }
    let mut result = answer.as_ref().map(|reply| serde_json::to_value(reply).unwrap_or_default());
    if let (Ok(Value::Object(fields)), Some(ms)) = (&mut result, first_piece_ms) {
        // Not every generator has items that would tell.
        fields.insert("firstTokenMs".to_owned(), ms.into());
    }
    cx.effect_finished(EffectKind::Model, ordinal, Some(seq), result.map_err(Clone::clone), false);
    answer
}

/// Notes when the first piece of an answer comes.
struct FirstPiece {
    effects: Rc<dyn Effects>,
    began: i64,
    came: Rc<Cell<Option<i64>>>,
}

impl FirstPiece {
    fn new(cx: &Context) -> Self {
        let effects = cx.run.effects.clone();
        FirstPiece { began: effects.now_ms(), effects, came: Rc::default() }
    }

    /// Returns the listener that hears the answer; none where nobody listens.
    fn listener(&self, listener: Option<Listener>) -> Option<Listener> {
        let (effects, came) = (self.effects.clone(), self.came.clone());
        let heard = move |inner: Listener| -> Listener {
            Rc::new(move |delta| {
                if came.get().is_none() {
                    came.set(Some(effects.now_ms()));
                }
                inner(delta);
            })
        };
        listener.map(heard)
    }

    fn after_ms(&self) -> Option<i64> {
        self.came.get().map(|came| (came - self.began).max(0))
    }
}
