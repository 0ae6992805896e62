//! The driver of agents whose model answers with Calls (SEMANTICS §17).
//!
//! The agent's block runs a child for every tick: one model call, then the Calls of its solution, each a block of its
//! own. A delegate is the same loop with a context of its own. The agent depends only on the outputs of its ticks, so
//! that a resume that takes ticks from the log continues after them. Only `scoping` decides what a Call may see.

mod blocks;
mod call;
mod confirm;
mod json_schema;
mod layers;
mod messages;
mod order;
mod plan;
mod problem;
mod references;
mod request;
mod results;
mod scoping;
mod solution;
mod state;
mod tick;
mod tools;

use std::rc::Rc;

use engine::callable::Invocation;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use serde_json::{Value, json};

use engine::context::Context;
use engine::data::Data;
use engine::driver::{resolve_data, run_block};
use engine::effects::INCOMPLETE_SCRIPT;
use engine::error::FlowError;
use engine::flow::{CallAgent, CallPart};
use engine::path::join;
use engine::step_value::StepValue;
use problem::{Kind, problem};

pub use blocks::agent as block;
pub use call::plan_with_arguments;
pub use state::{message as state_message, of_context as state_of};
pub use tools::fault as tool_fault;

/// How many consecutive answers may be invalid solutions or have an invalid output before the agent fails.
const MAX_REFUSED: u32 = 3;

/// Runs the body of an agent's block.
fn run(part: &CallPart, input: &Data, invocation: Invocation) -> LocalBoxFuture<'static, Result<StepValue, FlowError>> {
    let (cx, part, input) = (Context::of(&invocation), part.clone(), input.clone());
    async move { run_part(&cx, &part, &input).await }.boxed_local()
}

async fn run_part(cx: &Context, part: &CallPart, input: &Data) -> Result<StepValue, FlowError> {
    match part {
        CallPart::Agent(of) => {
            let context = resolve_data(cx, "context", &of.context, input).await?;
            let context = messages::checked(&format!("agent \"{}\"", of.name), context)?;
            let output = Loop { of, name: &of.name, schema: of.schema.as_ref(), depth: 0 }.run(cx, context).await?;
            Ok(StepValue::new(output.into()))
        }
        CallPart::Delegate(of, name) => {
            let input = input.to_json();
            let depth = number(&input, "depth");
            let context = messages::checked(&format!("delegate \"{name}\""), input["context"].clone().into())?;
            let schema = of.registered.delegates.get(&**name).and_then(|delegate| delegate.schema.as_ref());
            let output = Loop { of, name, schema, depth }.run(cx, context).await?;
            Ok(StepValue::new(output.into()))
        }
        CallPart::Tick(of) => tick::run(cx, of, &input.to_json()).await,
        CallPart::Request(of) => request::run(cx, of, &input.to_json()).await,
        CallPart::Call(of, _) => call::run(cx, of, &input.to_json()).await,
    }
}

/// Returns whether a mock script has no answer. This is an error for the script's author, not for the model.
fn is_script_incomplete(error: &FlowError) -> bool {
    error.code.as_deref() == Some(INCOMPLETE_SCRIPT)
}

/// Returns the text about a failed Call that a message reports, if it reports one.
fn failure(message: &Value) -> Option<String> {
    let data = message.get("data").filter(|_| messages::kind(message) == messages::ERROR)?;
    let tool = data["call"]["_tool"].as_str().unwrap_or("?");
    Some(format!("the call of \"{tool}\" failed: {}", data["error"]["message"].as_str()?))
}

/// Returns the text about an invalid output of the agent itself, not of a Call, if a message reports one.
fn misfit(message: &Value) -> Option<&str> {
    let data =
        message.get("data").filter(|data| messages::kind(message) == messages::ERROR && data.get("call").is_none());
    let error = data?.get("error")?;
    error["message"].as_str().filter(|_| error["name"] == "CallOutputError")
}

/// Returns a number that the driver wrote into an input.
fn number(input: &Value, name: &str) -> u32 {
    input[name].as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default()
}

/// The loop of an agent or of a delegate.
struct Loop<'a> {
    of: &'a Rc<CallAgent>,
    name: &'a str,
    schema: Option<&'a Value>,
    /// The number of delegates around it.
    depth: u32,
}

impl Loop<'_> {
    /// Runs ticks until a solution has no Calls, and returns the output of that solution.
    async fn run(&self, cx: &Context, mut context: Vec<Value>) -> Result<Value, FlowError> {
        let mut refused: Option<(u32, FlowError)> = None;
        let mut failed: Option<String> = None;
        for tick in 0..self.of.max_ticks {
            let path = join(&cx.frame.path, &format!("tick[{tick}]"));
            let mut input = json!({ "name": self.name, "tick": tick, "depth": self.depth, "context": context });
            if let Some(schema) = self.schema {
                input["schema"] = schema.clone();
            }
            let ran = run_block(
                cx.run.clone(),
                blocks::tick(self.of),
                Some(cx.frame.clone()),
                path.clone(),
                StepValue::new(input.into()),
            );
            let ended = match (ran.await, refused.take()) {
                // The script has no answer to the correction, so the error to be corrected is more useful.
                (Err(error), Some((_, first))) if is_script_incomplete(&error) => {
                    return Err(FlowError { message: format!("{}; {}", first.message, error.message), ..first });
                }
                (Err(error), None) if is_script_incomplete(&error) && failed.is_some() => {
                    let failed = failed.unwrap_or_default();
                    return Err(FlowError { message: format!("{}; before it {failed}", error.message), ..error });
                }
                (ended, before) => {
                    refused = before;
                    ended?.data.to_json()
                }
            };
            let added = ended["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
            failed = added.iter().find_map(failure);
            context.extend(added.iter().cloned());
            if ended["done"] == true {
                return Ok(ended["output"].clone());
            }
            let no_solution = ended["refused"].as_str().map(|what| (Kind::Solution, "answered no solution: ", what));
            let misfit = added.iter().find_map(misfit).map(|what| (Kind::Output, "cannot end: ", what));
            refused = no_solution.or(misfit).map(|(kind, how, what)| {
                let count = refused.take().map_or(0, |(count, _)| count) + 1;
                (count, problem(kind, format!("the model of \"{}\" {how}{what}", self.name)))
            });
            if let Some((count, error)) = &refused
                && *count >= MAX_REFUSED
            {
                return Err(error.clone());
            }
        }
        let text = format!(
            "\"{}\" made {} ticks and its model still answers with calls; set maxTicks to allow more",
            self.name, self.of.max_ticks
        );
        Err(problem(Kind::Limit, text))
    }
}
