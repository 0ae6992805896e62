//! Parsing of a sequencer's output with its schema (SEMANTICS §2.3).

use crate::execution::context::Context;
use crate::execution::schema_check::{first_issue, keep};
use crate::model::callable::{Issue, SchemaRef};
use crate::model::error::FlowError;
use crate::model::step_value::StepValue;

/// `lastStepName` of an error, as long as no operation has changed the sequencer's state.
const INITIAL: &str = "__initial__";

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
