//! One Call: a person's approval, if it needs one, and then the Activity or delegate that makes its result.
//!
//! Its input is its plan, so the data that it sees was decided and recorded before. An Activity gets copies of the Call
//! and of the scoped data, and no `ctx`; a delegate gets its own context and then the scoped one.

use std::rc::Rc;

use serde_json::{Map, Value, json};

use super::plan::{ANONYMOUS, check, ready};
use super::problem::{Kind, problem};
use super::{blocks, messages, number, tools};
use engine::context::Context;
use engine::data::Data;
use engine::driver::run_block;
use engine::error::FlowError;
use engine::event::{EventKind, Recorded};
use engine::flow::{Block, CallAgent};
use engine::operation::equal;
use engine::path::{encode, join};
use engine::step_value::StepValue;
use engine::suspension::{Reply, Resolved, SuspendOptions, SuspensionStatus};

/// Runs a Call.
pub(super) async fn run(cx: &Context, of: &Rc<CallAgent>, input: &Value) -> Result<StepValue, FlowError> {
    if let Some(refused) = input.get("refused") {
        return Err(engine::json::from_value::<Refused>(refused.clone())
            .map_or_else(|error| FlowError::plain(error.to_string()), Refused::into_error));
    }
    let mut plan = input.clone();
    if plan["confirm"] == true {
        plan = approved(cx, of, plan).await?;
    }
    execute(cx, of, &plan).await
}

/// The error that a plan holds in place of what would run.
#[derive(serde::Deserialize)]
struct Refused {
    name: String,
    message: String,
    code: Option<String>,
}

impl Refused {
    fn into_error(self) -> FlowError {
        let classes = [self.name.as_str(), "FlowError", "Error"].map(str::to_owned).to_vec();
        FlowError { code: self.code, classes, ..FlowError::new(&self.name, self.message) }
    }
}

/// Asks a person, and returns the approved plan. An edited Call is checked and scoped again; if it would then see other
/// data than was shown, the person is asked again, so that only a plan that was shown runs.
async fn approved(cx: &Context, of: &Rc<CallAgent>, mut plan: Value) -> Result<Value, FlowError> {
    loop {
        let tool = plan["call"]["_tool"].as_str().unwrap_or_default().to_owned();
        let mut data = json!({ "call": plan["call"], "scoped": plan["scoped"], "role": plan["role"] });
        if let Some(delegate) = plan["delegate"].as_str() {
            // All messages if it is a request of its own, so that the person has read what the model will read.
            data["messages"] = if plan["activity"].is_string() {
                plan["messages"].clone()
            } else {
                context_of(of, delegate, &plan)?.into()
            };
        }
        let activity = plan["activity"].as_str().and_then(|name| of.registered.activities.get(name));
        let options = SuspendOptions {
            runs: activity.and_then(|block| block.fingerprint()),
            reason: "approval".to_owned(),
            message: Some(format!("The call of \"{tool}\" waits for your approval")),
            data: Some(data),
            allow: Some(vec![Reply::Approve, Reply::Reject, Reply::Submit]),
            ..SuspendOptions::default()
        };
        let answer = cx.frame.until_suspended(cx.suspend_at_once(options)).await?;
        match answer.resolution {
            SuspensionStatus::Approved if !answer.is_edit() => return Ok(plan),
            SuspensionStatus::Approved | SuspensionStatus::Submitted => {
                let next = edited(&answer).and_then(|edited| planned_anew(of, &plan, edited));
                let next = next.map_err(|error| refused_answer(&answer, &error))?;
                cx.record(EventKind::BlockInput { input: Recorded::inline(&Data::from(next.clone())) });
                let is_shown = ["scoped", "messages", "role", "activity", "delegate"]
                    .iter()
                    .all(|field| equal(&plan[*field], &next[*field]));
                plan = next;
                if is_shown {
                    return Ok(plan);
                }
            }
            _ => return Err(problem(Kind::Rejected, rejection(&tool, &answer))),
        }
    }
}

fn rejection(tool: &str, answer: &Resolved) -> String {
    let reason = match &answer.data {
        Some(Value::String(reason)) => Some(reason.clone()),
        Some(Value::Object(fields)) => {
            ["reason", "feedback", "message"].iter().find_map(|key| fields.get(*key)?.as_str().map(str::to_owned))
        }
        _ => None,
    };
    match (answer.resolution, reason, &answer.data) {
        (SuspensionStatus::Expired, ..) => format!("nobody answered in time whether \"{tool}\" may run"),
        (_, Some(reason), _) => format!("a person rejected the call of \"{tool}\": {reason}"),
        (_, None, Some(data)) if !data.is_null() => format!("a person rejected the call of \"{tool}\": {data}"),
        _ => format!("a person rejected the call of \"{tool}\""),
    }
}

/// The edited Call: the answer itself, or its `call`.
fn edited(answer: &Resolved) -> Result<Value, FlowError> {
    let data = answer.data.clone().unwrap_or_default();
    match data.get("call") {
        Some(call) if call.is_object() && data.get("_tool").is_none() => Ok(call.clone()),
        _ if data.is_object() => Ok(data),
        _ => Err(problem(Kind::Arguments, "an edited call is an object with _tool and its parameters")),
    }
}

/// The error of a Call that a person edited and that cannot run. The person sees it and the question stays open, as for
/// any invalid answer. The model is asked to correct only Calls that it wrote itself.
fn refused_answer(answer: &Resolved, error: &FlowError) -> FlowError {
    let text = format!("the answer to suspension {} is no call that can run: {}", answer.id, error.message);
    FlowError {
        code: Some("resume_data".to_owned()),
        details: Some(json!({ "suspensionId": answer.id, "name": error.name })),
        ..FlowError::new("FlowError", text)
    }
}

fn planned_anew(of: &CallAgent, plan: &Value, edited: Value) -> Result<Value, FlowError> {
    let context: Vec<Value> = plan["context"].as_array().cloned().unwrap_or_default();
    let tools = tools::offered(&context, &of.registered)?;
    let context_seen: Vec<&Value> = context.iter().collect();
    let checked = check(&edited, &tools, &of.registered)?;
    let mut next = ready(checked, &context_seen)?.to_json();
    if ["outputPath", "outputMethod", "instance"].iter().any(|kept| next.get(*kept) != plan.get(*kept)) {
        let text = "an edited call keeps its _outputPath, its _outputMethod and its _instance: other calls may wait \
            for its result";
        return Err(problem(Kind::Arguments, text));
    }
    for field in ["depth", "name", "confirm", "context"] {
        next[field] = plan[field].clone();
    }
    Ok(next)
}

/// Returns the plan of a Call with other arguments, checked and scoped like arguments that its model wrote. `tick` is
/// the recorded input of the Call's tick. Reserved properties (`_outputPath`, `_scopes`, …) stay unless the arguments
/// replace them.
pub fn plan_with_arguments(
    of: &CallAgent,
    plan: &Value,
    tick: &Value,
    arguments: Map<String, Value>,
) -> Result<Value, FlowError> {
    let mut known = plan.clone();
    if known["context"].is_null() {
        let lists = [&tick["context"], &plan["earlier"]];
        known["context"] = lists.into_iter().filter_map(Value::as_array).flatten().cloned().collect();
    }
    let own = plan["call"].as_object().into_iter().flatten();
    let mut call: Map<String, Value> =
        own.filter(|(key, _)| key.starts_with('_')).map(|(key, value)| (key.clone(), value.clone())).collect();
    call.extend(arguments);
    let mut next = planned_anew(of, &known, call.into())?;
    let Value::Object(fields) = &mut next else { return Ok(next) };
    for field in ["context", "confirm", "earlier", "moreEarlier"] {
        match plan.get(field) {
            Some(value) => drop(fields.insert(field.to_owned(), value.clone())),
            None => drop(fields.shift_remove(field)),
        }
    }
    Ok(next)
}

async fn execute(cx: &Context, of: &Rc<CallAgent>, plan: &Value) -> Result<StepValue, FlowError> {
    let text = |name: &str| plan[name].as_str().map(str::to_owned);
    let child = |block: Rc<Block>, segment: String, input: Value| {
        let path = join(&cx.frame.path, &segment);
        run_block(cx.run.clone(), block, Some(cx.frame.clone()), path, StepValue::new(input.into()))
    };
    if let Some(activity) = text("activity") {
        let block = of.registered.activities.get(&activity).cloned();
        let block = block.ok_or_else(|| problem(Kind::UnknownActivity, format!("no Activity \"{activity}\"")))?;
        let input = json!({ "call": plan["call"], "scoped": plan["scoped"] });
        return child(block, format!("activity:{}", encode(&activity)), input).await;
    }
    let Some(delegate) = text("delegate") else {
        return Ok(StepValue::new(plan["call"]["_output"].clone().into()));
    };
    let depth = number(plan, "depth") + 1;
    if depth > of.max_depth {
        let text = format!("delegates are nested deeper than {}; set maxDepth to allow more", of.max_depth);
        return Err(problem(Kind::Limit, text));
    }
    let input = json!({ "depth": depth, "context": context_of(of, &delegate, plan)? });
    child(blocks::delegate(of, &delegate), format!("delegate:{}", encode(&delegate)), input).await
}

/// Returns the context of a delegate: its own, the context scoped to the Call, and the Call's parameters.
fn context_of(of: &CallAgent, delegate: &str, plan: &Value) -> Result<Vec<Value>, FlowError> {
    let mut context = match of.registered.delegates.get(delegate) {
        Some(own) => own.context.clone(),
        None if delegate == ANONYMOUS => Vec::new(),
        None => return Err(problem(Kind::UnknownDelegate, format!("no delegate \"{delegate}\""))),
    };
    let own = context.len();
    context.extend(plan["messages"].as_array().into_iter().flatten().cloned());
    let parameters: Map<String, Value> = plan["call"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !key.starts_with('_'))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Ok(messages::with_parameters(context, own, parameters))
}
