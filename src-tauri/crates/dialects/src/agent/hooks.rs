//! Hooks of agents: in the author's order, each with what the one before gave (SEMANTICS §16.6).
//!
//! A hook that throws is logged and passed over, so the last good value goes on. Must not be asked to stop a run: what
//! may, says so by its answer.

use std::rc::Rc;

use serde_json::Value;

use super::hook_events;
use engine::callable::Arg;
use engine::context::Context;
use engine::driver::call_function;
use engine::error::FlowError;
use engine::flow::{AgentDefinitions, AgentHook};

/// What a hook does to the value it is given.
pub(super) enum Answer {
    /// It said nothing: the value stays.
    Kept,
    /// The value from here on. Null has a meaning of its own for some hooks.
    Value(Value),
}

/// What a failure of a hook does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// It is logged, and the value stays.
    Log,
    /// It is the caller's.
    Fail,
}

/// Calls every hook of a kind. `args` makes the arguments after the `FlowState` of the value so far.
pub(super) async fn chain(
    cx: &Context,
    of: &Rc<AgentDefinitions>,
    hook: AgentHook,
    on_failure: OnFailure,
    value: Value,
    args: impl Fn(&Value) -> Vec<Value>,
) -> Result<Value, FlowError> {
    chain_as(cx, of, (hook, hook.as_str()), on_failure, value, args).await
}

/// As [`chain`], at a place with a name of its own: what the log answers is found by it.
pub(super) async fn chain_as(
    cx: &Context,
    of: &Rc<AgentDefinitions>,
    (hook, place): (AgentHook, &str),
    on_failure: OnFailure,
    mut value: Value,
    args: impl Fn(&Value) -> Vec<Value>,
) -> Result<Value, FlowError> {
    for (at, (_, function)) in of.hooks.iter().filter(|(kind, _)| *kind == hook).enumerate() {
        let given = args(&value).into_iter().map(|arg| Arg::Data(arg.into())).collect();
        let role = format!("{place}.{at}");
        let path = hook_events::started(cx, hook);
        let answered = answer(call_function(cx, &role, function, given).await).and_then(|answer| match answer {
            Answer::Value(next) => checked(hook, &value, next).map(Answer::Value),
            Answer::Kept => Ok(Answer::Kept),
        });
        hook_events::returned(cx, &path, &value, &answered);
        match answered {
            Ok(Answer::Kept) => {}
            Ok(Answer::Value(next)) => value = next,
            Err(error) if error.name == "LimitError" => {
                // A hook that calls itself comes here once for each time: the outermost is named.
                let text = error.message.strip_prefix("hook ").and_then(|rest| rest.split_once(": "));
                let text = text.map_or(error.message.as_str(), |(_, text)| text);
                return Err(FlowError { message: format!("hook {}: {text}", hook.as_str()), ..error });
            }
            Err(error) if on_failure == OnFailure::Fail || ends_run(&error) => return Err(error),
            Err(error) => cx.log("error", format!("hook {}: {}: {}", hook.as_str(), error.name, error.message)),
        }
    }
    Ok(value)
}

fn answer(returned: Result<engine::callable::Returned, FlowError>) -> Result<Answer, FlowError> {
    Ok(match returned?.into_data()?.to_option() {
        None => Answer::Kept,
        Some(value) => Answer::Value(value),
    })
}

/// What a hook gave, where its place can take it. A message may be given in part: the rest of it stays.
fn checked(hook: AgentHook, old: &Value, given: Value) -> Result<Value, FlowError> {
    let needed = match hook {
        AgentHook::FilterMessages | AgentHook::PrefilterLlmHistory => {
            let is_list = given.as_array().is_some_and(|all| all.iter().all(|one| has_role(&one["role"])));
            (!is_list && !given["$blocked"].is_string()).then_some("a list of messages, each with its role")
        }
        AgentHook::BeforeCreateMessage | AgentHook::BeforeUpdateMessage => {
            let (role, content) = (given.get("role"), given.get("content"));
            let is_message = given.is_object()
                && role.is_none_or(has_role)
                && content.is_none_or(|content| content.is_string() || content.is_null());
            (!is_message).then_some("a message, whose content is a text or null")
        }
        AgentHook::AfterToolCallSuccess | AgentHook::AfterToolCallFailure => {
            let is_result = given.is_null() || given["status"] == "success" || given["status"] == "error";
            (!is_result).then_some("null or a result with status \"success\" or \"error\"")
        }
        // What these return has no meaning.
        AgentHook::AfterCreateMessage | AgentHook::AfterUpdateMessage => None,
    };
    if let Some(needed) = needed {
        let given: String = given.to_string().chars().take(100).collect();
        return Err(FlowError::validation(format!("{needed} is needed, not {given}"), None));
    }
    Ok(match (old, given) {
        (Value::Object(old), Value::Object(given)) if hook == AgentHook::BeforeCreateMessage => {
            let mut whole = old.clone();
            whole.extend(given);
            Value::Object(whole)
        }
        (_, given) => given,
    })
}

/// Whether a message can have this role.
pub(super) fn has_role(role: &Value) -> bool {
    matches!(role.as_str(), Some("system" | "user" | "assistant" | "tool"))
}

/// Whether no hook and no tool of an agent may answer an error: the request cannot go on.
pub(super) fn ends_run(error: &FlowError) -> bool {
    error.is_uncatchable() || error.name == "LimitError"
}
