//! How the log shows a call of a hook: that it began, and what it made of the value that it got (SEMANTICS §16.6).
//!
//! A hook gets whole conversations at every turn, so a value that it left as it was is recorded only if it is short.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

use super::hooks::Answer;
use engine::context::Context;
use engine::error::FlowError;
use engine::event::{EventKind, Recorded};
use engine::flow::AgentHook;
use engine::operation::equal;
use engine::path::join;

/// The longest value, in bytes of JSON, that is recorded although the hook did not change it.
const MAX_UNCHANGED_BYTES: usize = 4_096;

/// Records that a hook is called. Returns the path of the call.
pub(super) fn started(cx: &Context, hook: AgentHook) -> Arc<str> {
    // Of the block, also for a hook that another hook's call leads to.
    let number = cx.frame.next_ordinal(format!("hook {}", hook.as_str()));
    let path: Arc<str> = join(&cx.frame.path, &format!("hook:{}[{number}]", hook.as_str())).into();
    let parent = cx.frame.instance.clone();
    cx.run.recorder.record(Some(&path), cx.frame.attempt, EventKind::HookStarted { hook, parent });
    path
}

/// Records what a hook made of a value.
pub(super) fn returned(cx: &Context, path: &Arc<str>, value: &Value, answered: &Result<Answer, FlowError>) {
    let (before, after, error) = match answered {
        Ok(Answer::Value(next)) if !equal(value, next) => {
            let (before, after) = differing(value, next);
            (Some(before), Some(after), None)
        }
        Ok(_) => (short(value), None, None),
        Err(error) => (short(value), None, Some(error.clone())),
    };
    let (before, after) = (before.map(Recorded::Value), after.map(Recorded::Value));
    cx.run.recorder.record(Some(path), cx.frame.attempt, EventKind::HookReturned { before, after, error });
}

fn short(value: &Value) -> Option<Value> {
    (!value.is_null() && value.to_string().len() <= MAX_UNCHANGED_BYTES).then(|| value.clone())
}

/// Two values, or of two lists the entries that only one of them has.
fn differing(before: &Value, after: &Value) -> (Value, Value) {
    let (Value::Array(old), Value::Array(new)) = (before, after) else { return (before.clone(), after.clone()) };
    let texts = |list: &[Value]| list.iter().map(Value::to_string).collect::<HashSet<String>>();
    let without = |list: &[Value], known: &HashSet<String>| -> Vec<Value> {
        list.iter().filter(|entry| !known.contains(&entry.to_string())).cloned().collect()
    };
    let (gone, came) = (without(old, &texts(new)), without(new, &texts(old)));
    if gone.is_empty() && came.is_empty() {
        // Another order.
        return (before.clone(), after.clone());
    }
    (gone.into(), came.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_lists_what_differs_is_shown() {
        let (a, b, c) = (json!({ "id": 1 }), json!({ "id": 2 }), json!({ "id": 2, "content": "x" }));
        assert_eq!(differing(&json!([a, b]), &json!([a])), (json!([b]), json!([])));
        assert_eq!(differing(&json!([a, b]), &json!([a, c])), (json!([b]), json!([c])));
        assert_eq!(differing(&json!([a, b]), &json!([b, a])), (json!([a, b]), json!([b, a])));
        assert_eq!(differing(&json!("x"), &json!("y")), (json!("x"), json!("y")));
    }
}
