//! What a model answered: the Calls and the output of a solution.

use serde_json::Value;

use super::messages::describe;

/// The most Calls of one solution.
const MAX_CALLS: usize = 1_000;

/// Returns the Calls and the output of an answer, or why it is no solution.
pub(super) fn read(answer: Value) -> Result<(Vec<Value>, Value), String> {
    let Value::Object(mut fields) = answer else {
        let what = describe(&answer);
        return Err(format!("a solution is {{ calls: […], output }}, not {what}"));
    };
    if !fields.contains_key("calls") && !fields.contains_key("output") {
        let known: Vec<&str> = fields.keys().take(5).map(String::as_str).collect();
        return Err(format!("a solution is {{ calls: […], output }}, and this has neither: {}", known.join(", ")));
    }
    let calls = match fields.shift_remove("calls") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(calls)) => calls,
        Some(other) => return Err(format!("calls is a list, not {}", describe(&other))),
    };
    if calls.len() > MAX_CALLS {
        return Err(format!("{} calls in one solution are more than {MAX_CALLS}", calls.len()));
    }
    Ok((calls, fields.shift_remove("output").unwrap_or_default()))
}
