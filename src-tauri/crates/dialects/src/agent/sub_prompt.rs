//! A prompt that a model called as a tool: one model call and its tools, with a `FlowState` of its own whose
//! `rootState` is the execution's (SEMANTICS §16.4).

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};

use super::state::FlowState;
use super::step::{self, Said, Step};
use super::tool_result::ToolResult;
use engine::context::Context;
use engine::data::Data;
use engine::driver::parse_by_schema;
use engine::error::FlowError;
use engine::flow::{AgentDefinitions, AgentPart, Body, Side};
use engine::frame::Frame;
use engine::step_value::StepValue;

/// Prompts call prompts at most this deep: one that calls itself has no end.
const DEEPEST: usize = 16;

/// Runs a sub-prompt. Returns what its call comes to.
pub(super) async fn run(
    cx: &Context,
    of: &Rc<AgentDefinitions>,
    name: &Arc<str>,
    input: &Data,
) -> Result<StepValue, FlowError> {
    let flow = FlowState::own(cx)?;
    let input = input.to_json();
    let prompt = of.prompts.get(&**name).ok_or_else(|| FlowError::plain(format!("Prompt not found: {name}")))?;
    let around: Vec<String> = cx.frame.chain().filter_map(|frame| prompt_of(&frame)).collect();
    if around.len() > DEEPEST + 1 {
        let text =
            format!("Prompt \"{name}\" is called deeper than {DEEPEST} prompts: one that calls itself has no end");
        return Ok(StepValue::new(ToolResult::failed(text).0.into()));
    }
    let mut arguments = input["arguments"].clone();
    if let Some(schema) = &prompt.required_schema {
        let given = StepValue::new(arguments.into());
        arguments = parse_by_schema(schema, given, name, "input")?.data.to_json();
    }
    let path: Vec<&String> = around.iter().rev().collect();
    let said = input["initUserMessageProperty"].as_str().and_then(|property| arguments[property].as_str());
    let given = said.map(|text| {
        json!({ "id": flow.message_id(&format!("{}#given", cx.frame.path)), "role": "user", "content": text,
            "created_at": flow.next_created_at(), "status": "completed", "depth": path.len() - 1 })
    });
    flow.begin(json!({
        "flowId": format!("prompt-{}", input["callId"].as_str().unwrap_or_default()),
        "parentMessageId": input["messageId"],
        "depth": path.len() - 1,
        "promptPath": path,
        "includesChat": prompt.include_chat,
        "arguments": arguments,
        "extraMessages": given_around(cx).into_iter().chain(given).collect::<Vec<Value>>(),
    }))
    .await?;
    let step = Step { flow: &flow, of, prompt, side: Side::A, settings: None, number: 0 };
    let said = step::run(&step).await?;
    flow.patch(json!({ "turnCount": 1, "stopped": true, "stoppedBy": "a" })).await?;
    Ok(StepValue::new(result(&said, &input).0.into()))
}

/// The messages that the sub-prompt around was given: those that it calls know them, too.
fn given_around(cx: &Context) -> Vec<Value> {
    let is_sub_prompt = |frame: &Rc<Frame>| matches!(frame.block.body, Body::Agent(AgentPart::SubPrompt(..), ..));
    let around = cx.frame.chain().skip(1).find(is_sub_prompt);
    let state = around.and_then(|frame| Some(frame.own.as_ref()?.read().1));
    state.and_then(|state| state.get("extraMessages")?.as_array().cloned()).unwrap_or_default()
}

/// The prompt that a block speaks for, of turns and sub-prompts.
fn prompt_of(frame: &Rc<Frame>) -> Option<String> {
    match &frame.block.body {
        Body::Agent(AgentPart::Turn(..) | AgentPart::SubPrompt(..), ..) => Some(frame.block.name.to_string()),
        _ => None,
    }
}

/// Its text and its tool calls as the result of the call.
fn result(said: &Said, input: &Value) -> ToolResult {
    let name = |call: &Value| call["function"]["name"].as_str().unwrap_or_default().to_owned();
    let failed: Vec<String> = said
        .results
        .iter()
        .filter(|(_, result)| !result.is_success())
        .map(|(call, result)| format!("- {}: {}", name(call), result.error()))
        .collect();
    if !failed.is_empty() {
        let mut text = format!("Sub-prompt failed with {} error(s):\n{}", failed.len(), failed.join("\n"));
        let ran: Vec<String> =
            said.results.iter().filter(|(_, result)| result.is_success()).map(|(call, _)| name(call)).collect();
        if !ran.is_empty() {
            text = format!("{text}\nOther tools run: {}", ran.join(", "));
        }
        return ToolResult::failed(text);
    }
    let mut parts = Vec::new();
    if input["includeTextResponse"] != false && !said.text.trim().is_empty() {
        parts.push(said.text.clone());
    }
    if input["includeToolCalls"] != false && !said.results.is_empty() {
        let told = said.results.iter().map(|(call, result)| {
            let arguments = call["function"]["arguments"].as_str().unwrap_or("{}");
            format!("Tool Call: {}({arguments})\nTool Response: {}", name(call), result.content())
        });
        parts.push(format!("Tool Executions:\n{}", told.collect::<Vec<_>>().join("\n")));
    }
    if parts.is_empty() {
        return ToolResult::succeeded("Prompt executed successfully");
    }
    ToolResult::succeeded(parts.join("\n\n"))
}
