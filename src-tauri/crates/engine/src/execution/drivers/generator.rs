//! The driver of generators: builds the messages, calls the model and the tools it asks for in a loop, and checks the
//! answer.
//!
//! Each step of the loop is one model call, then the tools it asked for; it ends when the model asks for none
//! (SEMANTICS §6.4). Each model call is recorded as an effect.

mod answer;
pub(crate) mod ask;
mod cached_call;
mod denied;
mod edited;
mod instance;
mod messages;
mod step_messages;
pub(crate) mod stream_items;
mod tool_tries;
mod tools;

pub use crate::execution::record::stored_messages;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::execution::ctx::Context;
use crate::execution::step::callback::{self, resolve_value};
use crate::model::callable::Arg;
use crate::model::data::Data;
use crate::model::effects::{Message, ModelCall, ModelReply, ToolCall};
use crate::model::error::FlowError;
use crate::model::flow::{Block, Generator};
use crate::model::step_value::StepValue;
use step_messages::StepMessages;
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
    let stream_items = StreamItems::new(cx, generator);
    // Text is streamed for a generator that emits messages, and for a loop with tools.
    let streams = !generator.structured && (stream_items::identity(cx, generator).is_some() || !start.is_empty());
    let mut step_messages = StepMessages::default();
    let mut steps: Vec<Value> = Vec::new();
    let mut last = ModelReply::default();
    let mut requested = String::new();
    let mut sources = Vec::new();
    let mut steps_taken = 0;
    let mut first_asked = json!({});
    for step in 0..generator.max_iterations {
        if cx.run.abort.is_set() {
            return Err(FlowError::aborted());
        }
        let offered = tools::offered(cx, generator, input, (step > 0).then_some(&start)).await?;
        let offered = if step == 0 { start.clone() } else { offered };
        let (prompt, mut all) = messages::system(cx, generator, &offered, input).await?;
        all.extend(conversation.iter().cloned());
        if step == 0 && generator.repair.call.is_some() {
            let messages: Vec<Value> = all.iter().map(Message::for_author).collect();
            first_asked = json!({ "prompt": prompt, "messages": messages });
        }
        all.extend(step_messages.recorded.iter().cloned());
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
                Some(options) => Some(resolve_value(cx, "providerOptions", options, input).await?),
                None => None,
            },
            defined_models: BTreeMap::new(),
            coerces: false,
        };
        stream_items.begin_step();
        let listens = if chosen.is_named() { !generator.structured } else { streams };
        let listener = listens.then(|| stream_items.listener());
        (requested, last) = ask::ask_step(cx, &chosen, call, &step_messages, listener).await?;
        steps_taken = step + 1;
        if !generator.structured {
            stream_items.emit_unstreamed(&last);
        }
        sources.append(&mut last.sources);
        tools::report_executed(cx, generator, &offered, &last);
        let wants_tools = last.tool_calls.iter().any(|call| !call.provider_executed);
        if !wants_tools && !last.awaits_provider() || !generator.run_tools || !chosen.answers_steps() {
            break;
        }
        // Tools run after the last step too: the model asked for them.
        step_messages.extend(tools::run_calls(cx, generator, (&offered, &start), step, &last).await?);
        if should_stop(cx, generator, &mut steps, step, &last).await? {
            break;
        }
    }
    // Only a structured answer can be null.
    last.structured_output = last.structured_output.take().filter(|value| generator.structured || !value.is_null());
    let answer = if streams && (last.structured_output.is_none() || !stream_items.text().is_empty()) {
        answer::check_text(cx, &stream_items.text())?
    } else {
        let candidate = candidate(&last, &stream_items, generator);
        let checked = match candidate.as_value() {
            None => None,
            Some(Value::Null) => answer::check_null(cx),
            Some(_) => {
                let to_repair = answer::ToRepair { input, model: &requested, first_asked };
                Some(answer::check_or_repair(cx, generator, candidate, to_repair).await?)
            }
        };
        let Some(answer) = checked else {
            return Err(FlowError::plain(format!(
                "Generator \"{}\" did not produce output after {steps_taken} step(s)",
                block.name
            )));
        };
        answer
    };
    let actual = last.model.as_ref().unwrap_or(&requested);
    let model = json!({ "requested": requested, "actual": actual });
    cx.frame.answered_by(model.clone());
    stream_items.finish(&answer.to_json(), &model, &sources);
    Ok(StepValue::new(answer))
}

/// Calls a model for a block that is not a generator.
pub async fn call(cx: &Context, call: ModelCall) -> Result<ModelReply, FlowError> {
    let chosen = ask::ChosenModel::Named(vec![call.model.clone()]);
    ask::ask(cx, &chosen, call, None).await.map(|(_, reply)| reply)
}

/// Returns the answer before it is checked: structured, or the text of all steps.
fn candidate(last: &ModelReply, stream_items: &StreamItems, generator: &Generator) -> Data {
    match (&last.structured_output, &last.text) {
        (Some(value), _) => value.clone().into(),
        (None, Some(text)) if generator.structured => Value::String(text.clone()).into(),
        (None, Some(_)) => Value::String(stream_items.text()).into(),
        (None, None) => Data::UNDEFINED,
    }
}

/// Returns whether `loop.stopWhen` ends the loop after this step.
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
