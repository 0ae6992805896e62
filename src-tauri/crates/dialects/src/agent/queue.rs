//! The tool queue: calls one after another, in the order they came (SEMANTICS §16.4).
//!
//! Calls of the model stand behind those that were queued before it answered; what a tool queues stands behind all of
//! them. A queued call may name any tool of the file; a model only what it was offered.

use serde_json::{Value, json};

use super::hooks::{OnFailure, chain, ends_run};
use super::step::{NO_ANSWER, Step};
use super::tool_result::ToolResult;
use super::{blocks, handoff, messages};
use engine::driver::BlockRole;
use engine::driver::parse_by_schema;
use engine::driver::run_block_as;
use engine::driver::{begin_tool_call, edited_tool_call, end_tool_call};
use engine::error::FlowError;
use engine::flow::{AgentHook, PromptTool, ToolIdentity};
use engine::path::{Numbering, encode, join};
use engine::step_value::StepValue;

/// What ran, and what of it was queued by tools and hooks.
type Ran = (Vec<(Value, ToolResult)>, Vec<Value>);

/// How many calls one model call runs at most: a tool that queues itself has no end.
const MOST_CALLS: u32 = 500;

/// Runs the calls of a model, and whatever is queued meanwhile.
pub(super) async fn run(
    step: &Step<'_>,
    message: &str,
    calls: Vec<Value>,
    allowed: &[PromptTool],
) -> Result<Ran, FlowError> {
    let flow = step.flow;
    let root = flow.root_of()?;
    let (mut results, mut queued) = (Vec::new(), Vec::new());
    let mut queue = waiting(flow.get("sequence"));
    let own: Vec<Value> = calls.iter().map(|call| call["id"].clone()).collect();
    queue.extend(calls);
    if queue.is_empty() {
        return Ok((results, queued));
    }
    let mut prompts = Numbering::default();
    for index in 0_u32.. {
        if flow.is_stopped() || root.is_stopped() {
            queue.clear();
        }
        if queue.is_empty() {
            break;
        }
        let call = queue.remove(0);
        if index == MOST_CALLS {
            return Err(FlowError {
                code: Some("limit_exceeded".to_owned()),
                ..FlowError::new(
                    "LimitError",
                    format!(
                        "{MOST_CALLS} tools ran after one answer of \"{}\", and {} still waits: tools that queue tools \
                         have to end",
                        step.prompt.name, call["function"]["name"]
                    ),
                )
            });
        }
        flow.set("sequence", json!({ "queue": queue, "isHandling": true })).await?;
        root.set("running", json!({ "call": call, "index": index, "message": message })).await?;
        if !own.contains(&call["id"]) {
            queued.push(call.clone());
        }
        let running = Running { step, message, allowed, call: &call, index };
        let result = running.run(&mut prompts).await?;
        results.extend(result.map(|result| (call.clone(), result)));
        // Tools write to the queue as to any field.
        queue = waiting(flow.get("sequence"));
    }
    root.set("running", Value::Null).await?;
    flow.set("sequence", json!({ "queue": [], "isHandling": false })).await?;
    Ok((results, queued))
}

fn waiting(sequence: Value) -> Vec<Value> {
    sequence["queue"].as_array().cloned().unwrap_or_default()
}

/// One call.
struct Running<'a> {
    step: &'a Step<'a>,
    /// The message that holds the model's calls.
    message: &'a str,
    allowed: &'a [PromptTool],
    call: &'a Value,
    index: u32,
}

impl Running<'_> {
    fn name(&self) -> &str {
        self.call["function"]["name"].as_str().unwrap_or_default()
    }

    /// Runs it, and stores its result. Returns `None` where a hook took the call out of the conversation.
    async fn run(&self, prompts: &mut Numbering) -> Result<Option<ToolResult>, FlowError> {
        let (step, cx) = (self.step, &self.step.flow.cx);
        let args = self.arguments();
        let id = self.call["id"].as_str().unwrap_or_default();
        let shown = args.as_ref().map_or_else(|_| self.call["function"]["arguments"].clone(), Clone::clone);
        let identity = step.identity();
        let who =
            ToolIdentity { agent_type: identity.agent_type, item_visibility: None, agent_name: identity.agent_name };
        let item = begin_tool_call(cx, self.name(), id, self.name(), &shown, &who);
        let mut path = None;
        let ended = match args {
            Err(text) => self.row(shown.clone(), Err(FlowError::plain(text))).await,
            Ok(args) => self.execute(prompts, args, &mut path).await,
        };
        let (result, error) = match ended {
            Ok(result) => (result, None),
            Err(error) if ends_run(&error) => return Err(error),
            Err(error) => (ToolResult::of_error(&error, is_of_arguments(&error)), Some(error)),
        };
        let given = result.clone();
        let result = if self.is_known() { self.through_hooks(result).await? } else { Some(result) };
        if let Some(left_out) = result.as_ref().and_then(ToolResult::left_out) {
            let name = self.name();
            cx.log("warn", format!("tool {name}: {left_out} of its result are not kept: messages have texts only"));
        }
        let told = result.clone().unwrap_or_else(|| ToolResult::failed("a hook took this call out"));
        let output = serde_json::Map::from_iter([("output".to_owned(), told.0.clone())]);
        // The message has the reason of a hook that changed the result; the item has the same one.
        let is_changed = result.as_ref().is_some_and(|result| *result != given);
        let failure = error.filter(|_| !is_changed).unwrap_or_else(|| told.to_error());
        let edited = path.and_then(|path| self.edited_arguments(&path));
        let edited = edited.map(|edited| edited_tool_call(cx, self.name(), id, self.name(), (&shown, &edited)));
        end_tool_call(cx, item, if told.is_success() { Ok(output) } else { Err(&failure) }, edited);
        match &result {
            Some(result) => self.store(result).await?,
            None => self.take_out().await?,
        }
        Ok(result)
    }

    /// Its arguments, or what is wrong with them.
    fn arguments(&self) -> Result<Value, String> {
        let text = self.call["function"]["arguments"].as_str().unwrap_or("{}");
        let text = if text.trim().is_empty() { "{}" } else { text };
        engine::data::parse(text).map_err(|error| format!("Tool arguments are not JSON: {error}"))
    }

    /// Returns the arguments that a fork gives the block at a path in place of the model's.
    fn edited_arguments(&self, path: &str) -> Option<Value> {
        let input = self.step.flow.cx.run.edited_input(path)?.to_json();
        // The input of a sub-prompt holds its arguments.
        Some(if self.step.of.tools.contains_key(self.name()) { input } else { input["arguments"].clone() })
    }

    /// Whether there is something that it may call.
    fn is_known(&self) -> bool {
        let of = self.step.of;
        let (name, is_queued) = (self.name(), self.call["forceAllow"] == true);
        let exists = of.tools.contains_key(name) || of.prompts.contains_key(name) || of.agents.contains_key(name);
        exists && (is_queued || self.allowed.iter().any(|tool| tool.name == name))
    }

    /// Calls what it names. `at` gets the path of the block that runs.
    async fn execute(
        &self,
        prompts: &mut Numbering,
        args: Value,
        at: &mut Option<String>,
    ) -> Result<ToolResult, FlowError> {
        let (of, cx, name) = (self.step.of, &self.step.flow.cx, self.name());
        if name == NO_ANSWER {
            let text = "The model answered with neither text nor tool calls.";
            return self.row(args, Err(FlowError::plain(text))).await;
        }
        if !self.is_known() {
            return self.row(args, Err(FlowError::plain(format!("Tool not found: {name}")))).await;
        }
        if let Some(block) = of.tools.get(name) {
            let path = join(&cx.frame.path, &format!("tool:{}[0.{}]", encode(name), self.index));
            *at = Some(path.to_string());
            let (run, parent, input) = (cx.run.clone(), Some(cx.frame.clone()), StepValue::new(args.into()));
            let ended =
                run_block_as(run, block.clone(), parent, path, input, BlockRole::Tool(Default::default())).await?;
            return Ok(ToolResult::of_returned(ended.data.to_json()));
        }
        if of.prompts.contains_key(name) {
            let path = join(&cx.frame.path, &prompts.number(format!("prompt:{}", encode(name))));
            *at = Some(path.to_string());
            let plain = plain_tool(name.to_owned());
            let settings = self.allowed.iter().find(|tool| tool.name == name).unwrap_or(&plain);
            let input = json!({
                "arguments": args,
                "callId": self.call["id"],
                "messageId": self.result_id(),
                "initUserMessageProperty": settings.init_user_message_property,
                "includeTextResponse": settings.include_text_response,
                "includeToolCalls": settings.include_tool_calls,
            });
            let block = blocks::sub_prompt(of, &name.into());
            let (run, parent, input) = (cx.run.clone(), Some(cx.frame.clone()), StepValue::new(input.into()));
            let ended = run_block_as(run, block, parent, path, input, BlockRole::Tool(Default::default())).await?;
            return Ok(ToolResult::of_returned(ended.data.to_json()));
        }
        let schema = of.agents.get(name).and_then(|agent| handoff::schema_of(of, agent));
        let args =
            match schema.map(|schema| parse_by_schema(schema, StepValue::new(args.clone().into()), name, "input")) {
                Some(Ok(parsed)) => parsed.data.to_json(),
                Some(Err(error)) => return self.row(args, Err(error)).await,
                None => args,
            };
        let settings = self.allowed.iter().find(|tool| tool.name == name);
        let property = settings.and_then(|tool| tool.init_user_message_property.as_deref());
        let message = property.map_or(Value::Null, |property| args[property].clone());
        let result = self.row(args.clone(), Ok(ToolResult::succeeded("Handoff complete").0)).await?;
        let root = self.step.flow.root_of()?;
        root.set("pendingHandoff", json!({ "agent": name, "arguments": args, "message": message })).await?;
        Ok(result)
    }

    /// Runs a block that only ends as this call did, so that timelines have a row of a call that runs none. A replay of
    /// a log from before there were such blocks has none either.
    async fn row(&self, args: Value, ended: Result<Value, FlowError>) -> Result<ToolResult, FlowError> {
        let (cx, name) = (&self.step.flow.cx, self.name());
        let of = self.step.of;
        let is_handoff = self.is_known() && !of.tools.contains_key(name) && !of.prompts.contains_key(name);
        let word = if is_handoff { "handoff" } else { "tool" };
        let path = join(&cx.frame.path, &format!("{word}:{}[0.{}]", encode(name), self.index));
        if !cx.has_block_of_call(&path) {
            return ended.map(ToolResult);
        }
        let (run, parent, input) = (cx.run.clone(), Some(cx.frame.clone()), StepValue::new(args.into()));
        let block = blocks::ended(name, ended);
        let ended = run_block_as(run, block, parent, path, input, BlockRole::Tool(Default::default())).await?;
        Ok(ToolResult::of_returned(ended.data.to_json()))
    }

    /// The id of the message that will hold the result.
    fn result_id(&self) -> String {
        self.step.flow.message_id(&format!("{}#{}", self.step.flow.cx.frame.path, self.index))
    }

    /// What the hooks make of the result; `None` where one takes the call out of the conversation.
    async fn through_hooks(&self, result: ToolResult) -> Result<Option<ToolResult>, FlowError> {
        let hook = if result.is_success() { AgentHook::AfterToolCallSuccess } else { AgentHook::AfterToolCallFailure };
        let args = |result: &Value| vec![self.call.clone(), result.clone()];
        let made = chain(&self.step.flow.cx, self.step.of, hook, OnFailure::Log, result.0.clone(), args).await?;
        Ok(match made {
            Value::Null => None,
            made @ Value::Object(_) => Some(ToolResult::of_returned(made)),
            _ => Some(result),
        })
    }

    async fn store(&self, result: &ToolResult) -> Result<(), FlowError> {
        let step = self.step;
        let mut row = step.row(&self.result_id(), "completed", self.content(result).into());
        row.insert("role".to_owned(), "tool".into());
        row.insert("name".to_owned(), self.name().into());
        row.insert("tool_call_id".to_owned(), self.call["id"].clone());
        row.insert("tool_status".to_owned(), if result.is_success() { "success" } else { "error" }.into());
        if let Some(property) = self.session_property().filter(|_| result.is_success()) {
            let args = self.arguments().unwrap_or_default();
            if let Some(text) = args[property].as_str() {
                row.insert("content".to_owned(), text.into());
            }
        }
        messages::create(step.flow, step.of, row, OnFailure::Log).await.map(drop)
    }

    /// The content of the message that holds a result. An error of a sub-prompt is its message.
    fn content(&self, result: &ToolResult) -> String {
        let is_prompt = !self.step.of.tools.contains_key(self.name()) && self.step.of.prompts.contains_key(self.name());
        let tells_errors =
            self.allowed.iter().find(|tool| tool.name == self.name()).is_none_or(|tool| tool.include_errors);
        if is_prompt && tells_errors && !result.is_success() {
            return format!("Error: {}", result.error());
        }
        result.content()
    }

    /// The argument that becomes the content of the message, of a tool that ends the conversation.
    fn session_property(&self) -> Option<&str> {
        let settings = self.step.settings?;
        let tools = settings.end_conversation_tool.iter().chain(&settings.session_fail);
        tools.into_iter().find(|tool| tool.name == self.name())?.message_property.as_deref()
    }

    /// Takes the call out of its message, and the message out of the thread where it was all it had.
    async fn take_out(&self) -> Result<(), FlowError> {
        let flow = self.step.flow;
        let Some(mut row) = flow.message(self.message) else { return Ok(()) };
        let mut calls = super::history::calls_of(&row);
        let before = calls.len();
        calls.retain(|call| call["id"] != self.call["id"]);
        if calls.len() == before {
            return Ok(());
        }
        let is_blank = row["content"].as_str().is_none_or(|text| text.trim().is_empty());
        if calls.is_empty() && is_blank {
            return flow.remove_message(self.message).await;
        }
        row["tool_calls"] = if calls.is_empty() { Value::Null } else { Value::Array(calls).to_string().into() };
        flow.put_message(self.message, row).await
    }
}

/// Whether a tool never ran because its schema refuses the arguments.
fn is_of_arguments(error: &FlowError) -> bool {
    error.message.contains("input validation failed") && error.details.as_ref().is_some_and(Value::is_array)
}

/// A tool without settings of its own.
pub(super) fn plain_tool(name: String) -> PromptTool {
    PromptTool {
        name,
        init_user_message_property: None,
        include_text_response: true,
        include_tool_calls: true,
        include_errors: true,
    }
}
