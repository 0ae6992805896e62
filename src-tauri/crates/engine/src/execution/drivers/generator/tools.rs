//! Tool calls of a generator's model (SEMANTICS §6.7).
//!
//! A call runs the tool's block. A failure does not fail the generator: the model gets the error as the result. Every
//! call is one `block_tool_output` item, in progress while it runs.

use std::rc::Rc;

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::step_messages::{StepMessages, ToolOutcome};
use super::stream_items::{fields, identity};
use super::tool_tries::run_with_retries;
use super::{cached_call, denied};
use crate::execution::ctx::{Context, EmitOptions};
use crate::execution::drivers::tool;
use crate::execution::run::role::BlockRole;
use crate::execution::step::block::run_block_as;
use crate::execution::step::callback;
use crate::model::callable::{Arg, Returned};
use crate::model::data::Data;
use crate::model::effects::{ModelReply, ToolCall, ToolOffer};
use crate::model::error::FlowError;
use crate::model::flow::{Block, Generator, Hook, ToolIdentity};
use crate::model::path::{encode, join};
use crate::model::step_value::StepValue;
use crate::views::history::tool_alias;

/// A block that the model may call.
#[derive(Clone)]
pub(super) struct Tool {
    pub(super) offer: ToolOffer,
    pub(super) block: Rc<Block>,
}

/// Returns the tools of a step. `start` are those of the first step; a later step can only have some of them.
pub(super) async fn offered(
    cx: &Context,
    generator: &Generator,
    input: &Data,
    start: Option<&[Tool]>,
) -> Result<Vec<Tool>, FlowError> {
    if let (Some(start), None) = (start, &generator.tools_call) {
        return Ok(start.to_vec());
    }
    let mut blocks = generator.tools.clone();
    if let Some(call) = &generator.tools_call {
        match callback::call(cx, "tools", call, vec![Arg::Data(input.clone())]).await? {
            Returned::Block(block) => blocks.push(block),
            Returned::Blocks(more) => blocks.extend(more),
            Returned::Data(data) if data.as_value().is_none_or(|v| v.as_array().is_some_and(Vec::is_empty)) => {}
            Returned::Data(_) | Returned::Model(_) => {
                return Err(FlowError::plain(format!(
                    "Generator \"{}\": tools must be a list of blocks",
                    cx.frame.block.name
                )));
            }
        }
    }
    if let Some(start) = start {
        let wanted = |tool: &&Tool| blocks.iter().any(|block| block.name == tool.block.name);
        return Ok(start.iter().filter(wanted).cloned().collect());
    }
    let mut tools: Vec<Tool> = Vec::new();
    for block in blocks {
        match tools.iter().find(|tool| tool.block.name == block.name) {
            Some(tool) if Rc::ptr_eq(&tool.block, &block) => continue,
            Some(_) => {
                return Err(FlowError::plain(format!(
                    "Generator \"{}\" has two tools named \"{}\". Tool names must be unique within a generator.",
                    cx.frame.block.name, block.name
                )));
            }
            None => {}
        }
        let plain = tool_alias(&block.name);
        let mut name = plain.clone();
        let mut count = 1;
        while tools.iter().any(|tool| tool.offer.name == name) {
            count += 1;
            name = format!("{plain}_{count}");
        }
        let parameters = block
            .called_block()
            .input_schema
            .as_ref()
            .map_or_else(|| json!({ "type": "object", "properties": {} }), |schema| schema.describe());
        tools.push(Tool { offer: ToolOffer { name, description: block.description.clone(), parameters }, block });
    }
    Ok(tools)
}

/// Emits items for the tool calls that the provider has run itself.
pub(super) fn report_executed(cx: &Context, generator: &Generator, tools: &[Tool], reply: &ModelReply) {
    let who = tool_identity(cx, generator);
    for call in reply.tool_calls.iter().filter(|call| call.provider_executed) {
        let name = find(tools, call).map_or(call.name.as_str(), |tool| &tool.block.name);
        let item = tool::begin(cx, name, &call.id, &call.name, &call.args, &who);
        let result_fields = json!({ "output": call.result, "providerExecuted": true });
        tool::end(cx, item, Ok(fields(result_fields)), None);
    }
}

fn find<'t>(tools: &'t [Tool], call: &ToolCall) -> Option<&'t Tool> {
    tools.iter().find(|tool| tool.offer.name == call.name || *tool.block.name == *call.name)
}

/// Runs the calls of one step, which was offered `tools`; `start` are those of the first step. Returns the messages for
/// the model: its calls, then the results in the order of the calls.
pub(super) async fn run_calls(
    cx: &Context,
    generator: &Generator,
    (tools, start): (&[Tool], &[Tool]),
    step: u32,
    reply: &ModelReply,
) -> Result<StepMessages, FlowError> {
    let status = cx.run.status_line.borrow().clone();
    let wanted = || reply.tool_calls.iter().enumerate().filter(|(_, call)| !call.provider_executed);
    let runs = wanted().map(|(n, call)| run_call(cx, generator, (tools, start), step, n, call));
    let results = if generator.tool_settings.serial {
        let mut results = Vec::new();
        for run in runs {
            results.push(run.await);
        }
        results
    } else {
        if wanted().count() > 1 {
            cx.run.expect_concurrent_blocks();
        }
        join_all(runs).await
    };
    // Restores the status line from before the tools.
    if *cx.run.status_line.borrow() != status && status.is_some() {
        cx.emit_status(status, Default::default(), EmitOptions::default());
    }
    let mut settled = Vec::new();
    for ((_, call), result) in wanted().zip(results) {
        let outcome = match result {
            Ok(answered) => ToolOutcome::Answer(answered),
            Err(error) if ends_generator(&error) => return Err(error),
            Err(error) => ToolOutcome::Failure(error.message),
        };
        settled.push((call, outcome));
    }
    Ok(StepMessages::after(reply, settled))
}

/// Returns whether an error ends the generator instead of being reported to the model.
pub(super) fn ends_generator(error: &FlowError) -> bool {
    error.is_uncatchable() || error.name == "LimitError"
}

/// Runs one call, with its item. A tool that this step does not have any more is named as the one that it was.
async fn run_call(
    cx: &Context,
    generator: &Generator,
    (tools, start): (&[Tool], &[Tool]),
    step: u32,
    n: usize,
    call: &ToolCall,
) -> Result<Answered, FlowError> {
    let known = find(tools, call);
    let name = known.or_else(|| find(start, call)).map_or(call.name.as_str(), |tool| &tool.block.name);
    let who = tool_identity(cx, generator);
    let item = tool::begin(cx, name, &call.id, &call.name, &call.args, &who);
    let result = match known {
        None => Err(FlowError::plain(format!("Model called unknown tool \"{name}\""))),
        Some(tool) => match call.check_numbers() {
            Ok(()) => answer(cx, generator, tool, step, n, call).await,
            Err(error) => Err(error),
        },
    };
    let result = result.or_else(|error: FlowError| {
        let output = denied::output(name, &error).ok_or(error)?;
        Ok::<_, FlowError>(Answered { output, for_model: None, cached: None, is_denied: true })
    });
    // A suspended call has not ended: its item stays in progress.
    if let Err(error) = &result
        && error.is_suspension()
    {
        return Err(FlowError::suspended());
    }
    let edited = known.and_then(|tool| edited_arguments(cx, &place_of(tool, step, n)));
    let edited = edited.map(|edited| tool::edited_call(cx, name, &call.id, &call.name, (&call.args, &edited)));
    let result_fields = result.as_ref().map(|answered| {
        let mut result_fields = json!({ "output": answered.output });
        if let Some(age) = answered.cached {
            result_fields["cached"] = true.into();
            result_fields["cacheAgeMs"] = age.into();
        }
        if let Some(seen) = &answered.for_model {
            result_fields["modelOutput"] = seen.clone();
        }
        if answered.is_denied {
            result_fields["denied"] = true.into();
        }
        fields(result_fields)
    });
    tool::end(cx, item, result_fields, edited);
    result
}

/// Returns the name of a call within its generator: the last segment of its path, after `tool:`.
fn place_of(tool: &Tool, step: u32, n: usize) -> String {
    format!("{}[{step}.{n}]", encode(&tool.block.name))
}

/// Returns the arguments that a person put in place of the model's, if one did: with an answer, or in a fork.
fn edited_arguments(cx: &Context, place: &str) -> Option<Value> {
    let path = join(&cx.frame.path, &format!("tool:{place}"));
    let now = cx.run.live_questions.edited_arguments(&path);
    let answered = now.or_else(|| cx.run.replay_cache.suspensions.edited_arguments(&path).cloned());
    answered.or_else(|| cx.run.edited_input(&path).map(Data::to_json))
}

/// Returns the identity of a generator's tool items: the generator's own.
fn tool_identity(cx: &Context, generator: &Generator) -> ToolIdentity {
    let who = identity(cx, generator).unwrap_or_default();
    ToolIdentity { agent_type: who.agent_type, item_visibility: who.item_visibility, agent_name: who.agent_name }
}

/// The output of a call.
pub(super) struct Answered {
    pub(super) output: Value,
    /// What the model gets instead (`mapModelOutput`).
    pub(super) for_model: Option<Value>,
    /// The age in milliseconds of an output from the cache.
    cached: Option<i64>,
    /// Whether a person refused the call: the model is told so, and goes on.
    is_denied: bool,
}

async fn answer(
    cx: &Context,
    generator: &Generator,
    tool: &Tool,
    step: u32,
    n: usize,
    call: &ToolCall,
) -> Result<Answered, FlowError> {
    let settings = &generator.tool_settings;
    let name = &tool.block.name;
    let place = place_of(tool, step, n);
    let happened = |more: Value| {
        let mut all = json!({ "toolName": &**name, "input": call.args });
        if let (Value::Object(all), Value::Object(more)) = (&mut all, more) {
            all.extend(more);
        }
        all
    };
    let path = join(&cx.frame.path, &format!("tool:{place}"));
    // An earlier answer to the model's arguments is no answer to those of a fork.
    let cached = match cx.run.edited_input(&path) {
        Some(_) => None,
        None => cached_call::place_of(cx, &tool.block, &place, &call.args).await?,
    };
    let key = cached.as_ref().map(|cached| &cached.key);
    let mutex = key.and_then(|key| cx.run.tool_cache.borrow_mut().mutex(key, &path));
    let _guard = match (&mutex, key) {
        (Some(mutex), Some(key)) => {
            let guard = mutex.lock().await;
            cx.run.tool_cache.borrow_mut().begin(key, &path);
            Some(guard)
        }
        _ => None,
    };
    if let Some((output, age)) = key.and_then(|key| cx.run.tool_cache.borrow().get(key, &*cx.run.effects)) {
        let for_model = for_model(cx, tool, &place, &output).await?;
        hook(cx, &settings.on_started, &place, "onToolStarted", || happened(json!({ "cached": true }))).await?;
        hook(cx, &settings.on_completed, &place, "onToolCompleted", || {
            happened(json!({ "output": output, "cached": true }))
        })
        .await?;
        return Ok(Answered { output, for_model, cached: Some(age), is_denied: false });
    }
    cx.emit_status(Some(format!("Using {name}…")), Default::default(), EmitOptions::default());
    let work = async {
        let edited =
            || cx.run.edited_input(&path).map_or_else(|| json!({}), |input| json!({ "input": input.to_json() }));
        hook(cx, &settings.on_started, &place, "onToolStarted", || happened(edited())).await?;
        let output = run_with_retries(cx, generator, tool, &place, call).await?.data.to_json();
        let happened = || match edited_arguments(cx, &place) {
            Some(edited) => happened(json!({ "output": output, "input": edited })),
            None => happened(json!({ "output": output })),
        };
        hook(cx, &settings.on_completed, &place, "onToolCompleted", happened).await?;
        Ok(output)
    };
    match work.await {
        Ok(output) => {
            // The output of other arguments is no answer to these.
            let cached = cached.filter(|_| edited_arguments(cx, &place).is_none());
            if let (Some(cached_call::Place { key, ttl_ms }), Some(cache)) = (cached, &tool.block.cache) {
                let keep = match &cache.keep_if {
                    Some(keep) => {
                        let args = vec![Arg::Data(output.clone().into()), Arg::Data(call.args.clone().into())];
                        callback::call(cx, &format!("keepIf {place}"), keep, args).await?.into_data()?.is_truthy()
                    }
                    None => true,
                };
                if keep {
                    cx.run.tool_cache.borrow_mut().put(key, &output, cx.run.effects.now_ms(), ttl_ms);
                }
            }
            let for_model = for_model(cx, tool, &place, &output).await?;
            Ok(Answered { output, for_model, cached: None, is_denied: false })
        }
        Err(error) => {
            let error: FlowError = error;
            if !ends_generator(&error) {
                hook(cx, &settings.on_errored, &place, "onToolErrored", || {
                    let error = json!({ "error": error.to_public_json() });
                    match edited_arguments(cx, &place) {
                        Some(edited) => happened(json!({ "error": error["error"], "input": edited })),
                        None => happened(error),
                    }
                })
                .await?;
            }
            Err(error)
        }
    }
}

async fn for_model(cx: &Context, tool: &Tool, place: &str, output: &Value) -> Result<Option<Value>, FlowError> {
    let Some(map) = &tool.block.map_model_output else { return Ok(None) };
    let args = vec![Arg::Data(output.clone().into())];
    Ok(Some(callback::call(cx, &format!("mapModelOutput {place}"), map, args).await?.into_data()?.to_json()))
}

async fn hook(
    cx: &Context,
    hook: &Option<Hook>,
    place: &str,
    event: &str,
    happened: impl FnOnce() -> Value,
) -> Result<(), FlowError> {
    match hook {
        None => Ok(()),
        Some(Hook::Call(call)) => {
            callback::call(cx, &format!("{event} {place}"), call, vec![Arg::Data(happened().into())]).await.map(drop)
        }
        Some(Hook::Block(block)) => {
            let path = join(&cx.frame.path, &format!("{event}:{place}"));
            let input = StepValue::new(happened().into());
            let parent = Some(cx.frame.clone());
            run_block_as(cx.run.clone(), block.clone(), parent, path, input, BlockRole::Tool(Default::default()))
                .await
                .map(drop)
        }
    }
}
