//! A generator: messages in, model calls and tools in turns, a checked answer and its items out.
//!
//! The loop is ours: one model call a step, then the tools it asked for, until it asks for none
//! (SEMANTICS §6.4). What a model answered is recorded as an effect.

mod answer;
pub(crate) mod answers;
mod ask;
mod instance;
mod messages;
pub(crate) mod stored_messages;
mod stream_items;
mod tools;

use serde_json::{Value, json};

use crate::execution::block::text;
use crate::execution::callback;
use crate::execution::context::Context;
use crate::execution::step_value::StepValue;
use crate::model::callable::Arg;
use crate::model::data::Data;
use crate::model::effects::{Message, ModelCall, ModelReply, ToolCall};
use crate::model::error::FlowError;
use crate::model::flow::{Block, Generator};
use stream_items::StreamItems;

/// Runs a generator on its input.
pub async fn generate(
    cx: &Context,
    block: &Block,
    generator: &Generator,
    input: &Data,
) -> Result<StepValue, FlowError> {
    let chosen = ask::choose(cx, generator, input).await?;
    let start = tools::offered(cx, generator, input, None).await?;
    let conversation = messages::conversation(cx, generator, input).await?;
    let speech = StreamItems::new(cx, generator);
    // Text is shown while it comes where somebody may be watching: an agent, or a loop with tools.
    let streams = !generator.structured && (stream_items::identity(cx, generator).is_some() || !start.is_empty());
    let mut turns: Vec<Message> = Vec::new();
    let mut steps: Vec<Value> = Vec::new();
    let mut last = ModelReply::default();
    let mut requested = String::new();
    let mut sources = Vec::new();
    for step in 0..generator.max_iterations {
        if cx.run.abort.is_set() {
            return Err(FlowError::aborted());
        }
        let offered = tools::offered(cx, generator, input, (step > 0).then_some(&start)).await?;
        let offered = if step == 0 { start.clone() } else { offered };
        let mut all = messages::system(cx, generator, &offered, input).await?;
        all.extend(conversation.iter().cloned());
        all.extend(turns.iter().cloned());
        let call = ModelCall {
            generator: block.name.to_string(),
            model: String::new(),
            messages: all,
            tools: offered.iter().map(|tool| tool.offer.clone()).collect(),
            output_schema: match &block.output_schema {
                Some(schema) if generator.structured => Some(schema.describe()),
                _ => None,
            },
            step,
            max_tokens: generator.max_tokens,
            provider_options: match &generator.provider_options {
                Some(options) => Some(text(cx, "providerOptions", options, input).await?),
                None => None,
            },
            coerces: false,
        };
        speech.begin_step();
        let listens = if chosen.is_named() { !generator.structured } else { streams };
        let listener = listens.then(|| speech.listener());
        (requested, last) = ask::ask(cx, &chosen, call, listener).await?;
        if !generator.structured {
            speech.catch_up(&last);
        }
        sources.append(&mut last.sources);
        tools::report_executed(cx, generator, &offered, &last);
        let wants_tools = last.tool_calls.iter().any(|call| !call.provider_executed);
        if !wants_tools || !generator.run_tools || !chosen.answers_steps() {
            break;
        }
        // The last step's tools run too: what the model asked for happened.
        turns.extend(tools::run_calls(cx, generator, &offered, step, &last).await?);
        if should_stop(cx, generator, &mut steps, step, &last).await? {
            break;
        }
    }
    let answer = if streams && (last.structured_output.is_none() || !speech.text().is_empty()) {
        answer::check_text(cx, &speech.text())?
    } else {
        let candidate = candidate(&last, &speech, generator);
        if candidate == Data::UNDEFINED {
            let steps = generator.max_iterations;
            return Err(FlowError::plain(format!(
                "Generator \"{}\" did not produce output after {steps} step(s)",
                block.name
            )));
        }
        answer::fit(cx, generator, candidate).await?
    };
    let actual = last.model.as_ref().unwrap_or(&requested);
    let model = json!({ "requested": requested, "actual": actual });
    *cx.frame.model.borrow_mut() = Some(model.clone());
    speech.finish(&answer.to_json(), &model, &sources);
    Ok(StepValue::new(answer))
}

/// One model call of a block that is no generator.
pub async fn call(cx: &Context, call: ModelCall) -> Result<ModelReply, FlowError> {
    let chosen = ask::Chosen::Named(vec![call.model.clone()]);
    ask::ask(cx, &chosen, call, None).await.map(|(_, reply)| reply)
}

/// What the model answered: structured, or the text of all its steps.
fn candidate(last: &ModelReply, speech: &StreamItems, generator: &Generator) -> Data {
    match (&last.structured_output, &last.text) {
        (Some(value), _) => value.clone().into(),
        (None, Some(text)) if generator.structured => Value::String(text.clone()).into(),
        (None, Some(_)) => Value::String(speech.text()).into(),
        (None, None) => Data::UNDEFINED,
    }
}

/// Whether `loop.stopWhen` ends the loop after this step.
async fn should_stop(
    cx: &Context,
    generator: &Generator,
    steps: &mut Vec<Value>,
    step: u32,
    reply: &ModelReply,
) -> Result<bool, FlowError> {
    let Some(stop) = &generator.stop_when else { return Ok(false) };
    let calls: Vec<Value> = reply.tool_calls.iter().map(ToolCall::to_public_json).collect();
    steps.push(json!({ "stepNumber": step, "text": reply.text, "toolCalls": calls }));
    let seen = json!({ "stepNumber": step, "text": reply.text, "toolCalls": calls, "steps": steps });
    Ok(callback::call(cx, "stopWhen", stop, vec![Arg::Data(seen.into())]).await?.into_data()?.is_truthy())
}
