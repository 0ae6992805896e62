//! Parsing of a block's input and output with its schemas (SEMANTICS §2.3).
//!
//! The parsed data flows on, with defaults and transforms applied. Must not decide when a value is checked.

use crate::execution::context::Context;
use crate::model::callable::{Issue, SchemaRef};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::step_value::StepValue;

/// `lastStepName` of an error, as long as no operation has changed the sequencer's state.
const INITIAL: &str = "__initial__";

/// Parses a value. It keeps its origin if parsing changed nothing.
pub fn parse(schema: &SchemaRef, value: StepValue, block: &str, side: &str) -> Result<StepValue, FlowError> {
    match schema.parse(&value.data) {
        Ok(parsed) => Ok(keep(value, parsed)),
        Err(issues) => {
            let words = first_issue(&issues);
            let mut error = FlowError::plain(format!("Block \"{block}\" {side} validation failed{words}"));
            error.details = Some(Issue::list(&issues));
            Err(error)
        }
    }
}

/// Parses the output of a sequencer, once, whichever way the chain ended. Fails with `SequencerOutputSchemaError`.
pub(crate) async fn parse_sequencer_output(
    cx: &Context,
    schema: &SchemaRef,
    value: StepValue,
) -> Result<StepValue, FlowError> {
    match schema.parse_async(&value.data, cx.invocation()).await {
        Ok(parsed) => Ok(keep(value, parsed)),
        Err(issues) => {
            let (sequencer, words) = (&*cx.frame.block.name, first_issue(&issues));
            let mut error = FlowError::new(
                "SequencerOutputSchemaError",
                format!("Sequencer \"{sequencer}\" output validation failed{words}"),
            );
            error.code = Some("sequencer_output_schema_error".to_owned());
            error.classes.insert(1, "FlowError".to_owned());
            error.details = Some(serde_json::json!({
                "sequencerName": sequencer,
                "lastStepName": cx.frame.last_step.borrow().as_deref().unwrap_or(INITIAL),
                "rawOutput": value.data.to_json(),
                "issues": Issue::list(&issues),
            }));
            Err(error)
        }
    }
}

fn keep(value: StepValue, parsed: Data) -> StepValue {
    if parsed == value.data { value } else { StepValue::new(parsed) }
}

/// Describes the first issue: ` at "place": what is wrong`.
pub(crate) fn first_issue(issues: &[Issue]) -> String {
    match issues.first() {
        Some(issue) if !issue.path.is_empty() => format!(" at \"{}\": {}", issue.path, issue.message),
        Some(issue) => format!(": {}", issue.message),
        None => ": invalid".to_owned(),
    }
}
