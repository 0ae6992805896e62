//! One model call of a prompt, and the tools it asked for (SEMANTICS §16.2).
//!
//! The same for a turn of a side and for a sub-prompt. What a turn comes to is decided in `stopping`.

use std::collections::HashSet;
use std::rc::Rc;

use serde_json::{Value, json};

use super::handoff;
use super::history::{self, Blocked};
use super::hooks::OnFailure;
use super::messages;
use super::queue::{self, plain_tool};
use super::state::FlowState;
use super::tool_result::ToolResult;
use engine::context::EmitOptions;
use engine::driver::StreamItems;
use engine::driver::{ChosenModel, ask};
use engine::effects::{Listener, ModelCall, ModelDelta, ModelReply, ToolOffer};
use engine::error::FlowError;
use engine::flow::{AgentDefinitions, AgentSide, Prompt, PromptTool, Side};
use engine::item::AgentType;
use engine::views::history::tool_alias;

/// Whose model call it is.
pub(super) struct Step<'a> {
    /// The `FlowState` of the turn's execution, or of the sub-prompt.
    pub(super) flow: &'a FlowState,
    pub(super) of: &'a Rc<AgentDefinitions>,
    pub(super) prompt: &'a Prompt,
    pub(super) side: Side,
    /// The settings of that side, of a turn.
    pub(super) settings: Option<&'a AgentSide>,
    pub(super) number: u64,
}

/// What came of it.
#[derive(Default)]
pub(super) struct Said {
    pub(super) message_id: String,
    pub(super) text: String,
    /// The calls that the model made.
    pub(super) calls: Vec<Value>,
    /// What every call came to that ran, also of tools that were queued.
    pub(super) results: Vec<(Value, ToolResult)>,
    /// The calls that tools and hooks queued.
    pub(super) queued: Vec<Value>,
    /// Whether a hook refused the call.
    pub(super) is_blocked: bool,
}

/// Makes the model call, stores what came of it, and runs the tools.
pub(super) async fn run(step: &Step<'_>) -> Result<Said, FlowError> {
    let (flow, of, cx) = (step.flow, step.of, &step.flow.cx);
    let id = flow.message_id(&cx.frame.path);
    let told = history::messages(flow, of, step.prompt, step.side).await?;
    let items = StreamItems::speaking(cx, Some(step.identity()), step.side.role());
    let told = match told {
        Ok(told) => told,
        Err(Blocked(reason)) => {
            let row = step.row(&id, "completed", reason.into());
            let row = messages::create(flow, of, row, OnFailure::Log).await?;
            // Hooks may have changed what is said.
            let text = row["content"].as_str().unwrap_or_default().to_owned();
            if !text.is_empty() {
                items.finish(&text.as_str().into(), &Value::Null, &[]);
            }
            return Ok(Said { message_id: id, text, is_blocked: true, ..Said::default() });
        }
    };
    messages::create(flow, of, step.row(&id, "pending", Value::Null), OnFailure::Log).await?;
    let allowed = step.allowed();
    let call = ModelCall {
        generator: step.prompt.name.to_string(),
        model: String::new(),
        messages: told,
        tools: allowed.iter().filter_map(|tool| offer(of, tool)).collect(),
        output_schema: None,
        step: step.number as u32,
        max_tokens: step.prompt.max_tokens,
        provider_options: step.options(&allowed),
        defined_models: of.models.clone(),
        coerces: false,
    };
    let chosen = ChosenModel::Named(step.prompt.models.clone());
    let (requested, reply) = match ask(cx, &chosen, call, Some(step.listener(&items))).await {
        Ok((requested, reply)) if step.prompt.excludes_reasoning => {
            (requested, ModelReply { reasoning: None, ..reply })
        }
        Ok(answered) => answered,
        Err(error) => {
            if !error.is_uncatchable() {
                messages::update(flow, of, &id, json!({ "status": "failed" })).await?;
                messages::persist(flow).await?;
            }
            return Err(error);
        }
    };
    items.emit_unstreamed(&reply);
    let calls = distinct(calls_of(&reply, &allowed), &flow.rows(), &id);
    let text = step.text_of(&reply, &calls);
    let calls = if calls.is_empty() && text.trim().is_empty() { vec![no_answer(&id)] } else { calls };
    let stored_calls = if calls.is_empty() { Value::Null } else { Value::Array(calls.clone()).to_string().into() };
    let content = if text.is_empty() { Value::Null } else { text.as_str().into() };
    let mut updates = json!({ "content": content, "tool_calls": stored_calls, "status": "completed" });
    if let Some(reasoning) = &reply.reasoning {
        updates["reasoning_content"] = reasoning.as_str().into();
    }
    let row = messages::answer(flow, of, &id, updates).await?;
    // Hooks may have changed what was said.
    let text = row["content"].as_str().unwrap_or_default().to_owned();
    if text.is_empty() {
        items.close_reasoning();
    } else {
        let model = json!({ "requested": requested, "actual": reply.model.as_ref().unwrap_or(&requested) });
        items.finish(&text.as_str().into(), &model, &reply.sources);
    }
    let (results, queued) = queue::run(step, &id, calls.clone(), &allowed).await?;
    Ok(Said { message_id: id, text, calls, results, queued, is_blocked: false })
}

/// The call that stands for an answer of nothing: it fails, and the model is asked again.
pub(super) const NO_ANSWER: &str = "invalid_assistant_response";

fn no_answer(id: &str) -> Value {
    let call = format!("call_{}", id.trim_start_matches("msg_"));
    json!({ "id": call, "type": "function", "function": { "name": NO_ANSWER, "arguments": "{}" } })
}

/// The model's calls in the form of the thread, under the names that the author gave.
fn calls_of(reply: &ModelReply, allowed: &[PromptTool]) -> Vec<Value> {
    let wanted = reply.tool_calls.iter().filter(|call| !call.provider_executed);
    let calls = wanted.map(|call| {
        let known = allowed.iter().find(|tool| tool.name == call.name || tool_alias(&tool.name) == call.name);
        let name = known.map_or(call.name.as_str(), |tool| &tool.name);
        let arguments = match &call.args {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            args => args.to_string(),
        };
        json!({ "id": call.id, "type": "function", "function": { "name": name, "arguments": arguments } })
    });
    calls.collect()
}

/// Results are known by the ids of their calls, and a model may use an id again: such a call gets another one. `rows`
/// are the messages of the thread. Only those before `message` count: a turn that runs again finds later ones, and has
/// to give its calls the ids that they had.
fn distinct(mut calls: Vec<Value>, rows: &[Value], message: &str) -> Vec<Value> {
    let used: HashSet<String> = rows
        .iter()
        .take_while(|row| row["id"] != message)
        .flat_map(history::calls_of)
        .filter_map(|call| call["id"].as_str().map(str::to_owned))
        .collect();
    let mut taken = HashSet::new();
    for call in &mut calls {
        let id = call["id"].as_str().unwrap_or_default().to_owned();
        let mut next = id.clone();
        let mut count = 1;
        while next.is_empty() || used.contains(&next) || !taken.insert(next.clone()) {
            next = format!("{id}_{}_{count}", message.trim_start_matches("msg_"));
            count += 1;
        }
        call["id"] = next.into();
    }
    calls
}

/// A tool, a prompt or an agent as a model is told of it.
fn offer(of: &AgentDefinitions, tool: &PromptTool) -> Option<ToolOffer> {
    let nothing = || json!({ "type": "object", "properties": {} });
    let (description, parameters) = if let Some(block) = of.tools.get(&tool.name) {
        (block.description.clone(), block.input_schema.as_ref().map_or_else(nothing, |schema| schema.describe()))
    } else if let Some(prompt) = of.prompts.get(&tool.name) {
        let schema = prompt.required_schema.as_ref();
        (prompt.tool_description.clone(), schema.map_or_else(nothing, |schema| schema.describe()))
    } else {
        let agent = of.agents.get(&tool.name)?;
        let schema = handoff::schema_of(of, agent);
        (agent.tool_description.clone(), schema.map_or_else(nothing, |schema| schema.describe()))
    };
    Some(ToolOffer { name: tool_alias(&tool.name), description, parameters })
}

impl Step<'_> {
    /// What its model may call: what the prompt lists, and the tools that end the side's turns or the conversation.
    fn allowed(&self) -> Vec<PromptTool> {
        let mut allowed = self.prompt.tools.clone();
        let settings = self.settings.into_iter();
        let ends = settings.flat_map(|side| {
            let sessions = side.end_conversation_tool.iter().chain(&side.session_fail).map(|tool| &tool.name);
            side.stop_tool.iter().chain(sessions).cloned()
        });
        for name in ends {
            if !allowed.iter().any(|tool| tool.name == name) {
                allowed.push(plain_tool(name));
            }
        }
        allowed
    }

    /// What its provider is told beside the messages. Providers refuse settings of tools where there are none.
    fn options(&self, allowed: &[PromptTool]) -> Option<Value> {
        let mut options = self.prompt.options.clone()?;
        if let Some(fields) = options.as_object_mut().filter(|_| allowed.is_empty()) {
            fields.retain(|name, _| name != "toolChoice" && name != "parallelToolCalls");
        }
        Some(options).filter(|options| options.as_object().is_none_or(|fields| !fields.is_empty()))
    }

    /// Hears the model, with or without its thoughts.
    fn listener(&self, items: &Rc<StreamItems>) -> Listener {
        let heard = items.listener();
        if !self.prompt.excludes_reasoning {
            return heard;
        }
        Rc::new(move |delta| match delta {
            ModelDelta::Reasoning(_) => {}
            ModelDelta::Text(_) => heard(delta),
        })
    }

    /// The text of the answer: the argument of the stop tool that the author named, or what the model said.
    fn text_of(&self, reply: &ModelReply, calls: &[Value]) -> String {
        let said = || reply.text.clone().unwrap_or_default();
        let Some(settings) = self.settings else { return said() };
        let (Some(tool), Some(property)) = (&settings.stop_tool, &settings.stop_tool_response_property) else {
            return said();
        };
        let stop = calls.iter().find(|call| call["function"]["name"] == **tool);
        let arguments = stop.and_then(|call| call["function"]["arguments"].as_str());
        let argument = arguments.and_then(|text| engine::data::parse(text).ok());
        argument.and_then(|args| args[property].as_str().map(str::to_owned)).unwrap_or_else(said)
    }

    /// Who speaks, on the items.
    pub(super) fn identity(&self) -> EmitOptions {
        let agent_type = if self.flow.is_child() { AgentType::Sub } else { AgentType::Primary };
        EmitOptions {
            agent_type: Some(agent_type),
            agent_name: Some(self.prompt.name.to_string()),
            ..EmitOptions::default()
        }
    }

    /// A message of this model call, or of one of its tools.
    pub(super) fn row(&self, id: &str, status: &str, content: Value) -> serde_json::Map<String, Value> {
        let mut row = messages::row(self.flow, id, self.side.role(), content);
        row.insert("status".to_owned(), status.into());
        row.insert("prompt".to_owned(), (&*self.prompt.name).into());
        if self.flow.is_child() {
            row.insert("depth".to_owned(), self.flow.get("depth"));
            row.insert("parent_id".to_owned(), self.flow.get("parentMessageId"));
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_gets_another_id_only_if_an_earlier_message_has_it() {
        let row = |id: &str, call: &str| json!({ "id": id, "tool_calls": json!([{ "id": call }]).to_string() });
        let rows = [row("msg_a", "call_1"), row("msg_b", "call_9"), row("msg_c", "call_2")];
        let calls = ["call_1", "call_2", "call_2", ""].map(|id| json!({ "id": id })).to_vec();
        let ids: Vec<Value> = distinct(calls, &rows, "msg_b").iter().map(|call| call["id"].clone()).collect();
        assert_eq!(ids, ["call_1_b_1", "call_2", "call_2_b_1", "_b_1"]);
    }
}
