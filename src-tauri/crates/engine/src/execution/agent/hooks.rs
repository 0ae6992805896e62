//! Hooks of agents: in the author's order, each with what the one before gave (SEMANTICS §16.6).
//!
//! A hook that throws is logged and passed over, so the last good value goes on. Must not be asked to stop a run: what
//! may, says so by its answer.

use std::rc::Rc;

use serde_json::Value;

use crate::execution::callback;
use crate::execution::context::Context;
use crate::model::callable::Arg;
use crate::model::error::FlowError;
use crate::model::flow::{AgentDefinitions, AgentHook};

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
    mut value: Value,
    args: impl Fn(&Value) -> Vec<Value>,
) -> Result<Value, FlowError> {
    for (at, (_, function)) in of.hooks.iter().filter(|(kind, _)| *kind == hook).enumerate() {
        let given = args(&value).into_iter().map(|arg| Arg::Data(arg.into())).collect();
        let role = format!("{}.{at}", hook.as_str());
        match answer(callback::call(cx, &role, function, given).await) {
            Ok(Answer::Kept) => {}
            Ok(Answer::Value(next)) => value = next,
            Err(error) if on_failure == OnFailure::Fail || ends_run(&error) => return Err(error),
            Err(error) => cx.log("error", format!("hook {}: {}: {}", hook.as_str(), error.name, error.message)),
        }
    }
    Ok(value)
}

fn answer(returned: Result<crate::model::callable::Returned, FlowError>) -> Result<Answer, FlowError> {
    Ok(match returned?.into_data()?.to_option() {
        None => Answer::Kept,
        Some(value) => Answer::Value(value),
    })
}

/// Whether no hook and no tool of an agent may answer an error: the request cannot go on.
pub(super) fn ends_run(error: &FlowError) -> bool {
    error.is_uncatchable() || error.name == "LimitError"
}
