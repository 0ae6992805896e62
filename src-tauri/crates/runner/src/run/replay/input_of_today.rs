//! Compares a recorded input with the current input schema, which may refuse or change it in a live run.
//!
//! The log has the result of the recorded schema. A schema that converts values may refuse its own results, so only
//! certain differences count.

use engine::callable::{Issue, SchemaRef};
use engine::data::Data;
use engine::event::{Event, EventKind, Recorded};
use engine::path::ROOT;
use engine::views::fork_edits::edited_input;
use serde_json::{Value, json};

use super::comparison::divergence;
use crate::views::Divergence;

/// Returns how the result of the current schema differs from the recorded input. `is_today` tests whether a hash is
/// that of the current code.
pub(super) fn input_of_today(
    schema: &SchemaRef,
    is_today: impl Fn(&str) -> bool,
    events: &[Event],
) -> Option<Divergence> {
    let first = events.first()?;
    let EventKind::RequestStarted { code_hash, input, trigger: None, forked_from: None, .. } = &first.kind else {
        return None;
    };
    // An input that was edited in a fork was not parsed.
    if is_today(code_hash) || edited_input(events).is_some() {
        return None;
    }
    let input = match input {
        Recorded::Value(value) => Data::from(value.clone()),
        Recorded::Undefined => Data::UNDEFINED,
        Recorded::Of(_) => return None,
    };
    let found = match schema.parse(&input) {
        Ok(parsed) if parsed == input => return None,
        Ok(parsed) => {
            let is_stable = schema.parse(&parsed).is_ok_and(|again| again == parsed);
            is_stable.then(|| json!({ "input": parsed.to_json() }))?
        }
        Err(issues) => {
            let converts = schema.converts() || schema.describe() != schema.describe_accepted();
            (!converts).then(|| json!({ "error": refusal(&issues) }))?
        }
    };
    Some(divergence(first.seq, ROOT, json!({ "input": input.to_json() }), found))
}

fn refusal(issues: &[Issue]) -> Value {
    let shown = issues.iter().map(|issue| {
        if issue.path.is_empty() { issue.message.clone() } else { format!("{}: {}", issue.path, issue.message) }
    });
    let message = format!("the action refuses the recorded input: {}", shown.collect::<Vec<_>>().join("; "));
    json!({ "name": "ValidationError", "message": message, "code": "validation_error" })
}
