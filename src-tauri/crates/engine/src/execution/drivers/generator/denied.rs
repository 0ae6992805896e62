//! Tool calls that a person refused: the model is told so and goes on, as after any other result (SEMANTICS §6.7).

use serde_json::{Value, json};

use crate::model::error::FlowError;

/// Returns what a refused call comes to, with the reason and the name that were given; `None` if it failed otherwise.
pub(super) fn output(tool: &str, error: &FlowError) -> Option<Value> {
    if !is_of(error, "SuspensionRejectedError") {
        return None;
    }
    let mut output = json!({ "denied": true, "message": format!("The call of \"{tool}\" was declined") });
    for (field, given) in [("reason", "rejectionData"), ("by", "rejectedBy")] {
        let told = error.details.as_ref().and_then(|details| details.get(given)).filter(|value| !value.is_null());
        if let Some(value) = told {
            output[field] = value.clone();
        }
    }
    Some(output)
}

/// Returns whether an error is what somebody answered, or did not answer in time: no other try changes that.
pub(super) fn is_answer(error: &FlowError) -> bool {
    is_of(error, "SuspensionRejectedError") || is_of(error, "SuspensionTimeoutError")
}

fn is_of(error: &FlowError, class: &str) -> bool {
    error.classes.iter().any(|one| one == class)
}
