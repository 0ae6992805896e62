//! The model call of a tick. Recorded, retried and taken from the log as a generator's is.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};

use super::{messages, number, tools};
use engine::context::Context;
use engine::driver::{ChosenModel, ask};
use engine::effects::ModelCall;
use engine::error::FlowError;
use engine::flow::CallAgent;
use engine::step_value::StepValue;

/// Asks the model, and returns its answer as it is: whether it is a solution is for the tick to say.
pub(super) async fn run(cx: &Context, of: &Rc<CallAgent>, input: &Value) -> Result<StepValue, FlowError> {
    let context: Vec<Value> = input["context"].as_array().cloned().unwrap_or_default();
    let offered = tools::offered(&context, &of.registered)?;
    let call = ModelCall {
        generator: cx.frame.block.name.to_string(),
        model: String::new(),
        messages: messages::rendered(&context),
        tools: Vec::new(),
        output_schema: Some(tools::solution_schema(&offered, input.get("schema"))),
        step: number(input, "tick"),
        max_tokens: None,
        provider_options: None,
        defined_models: BTreeMap::new(),
        coerces: false,
    };
    let (requested, reply) = ask(cx, &ChosenModel::Named(of.models.clone()), call, None).await?;
    let actual = reply.model.as_ref().unwrap_or(&requested);
    cx.frame.answered_by(json!({ "requested": requested, "actual": actual }));
    let answer = match (&reply.structured_output, &reply.text) {
        (Some(Value::String(text)), _) | (None, Some(text)) => parsed(text, cx.run.effects.depth()),
        (Some(value), _) => value.clone(),
        (None, None) => Value::Null,
    };
    Ok(StepValue::new(answer.into()))
}

/// Returns the JSON of a text, also of one in a fence; the text itself if it is not JSON.
fn parsed(text: &str, depth: usize) -> Value {
    let bare = text.trim().trim_start_matches("```json").trim_start_matches("```").trim_end_matches("```");
    engine::json::parse_within(bare, depth).unwrap_or_else(|_| Value::String(text.to_owned()))
}
