//! Parsing of a block's output with its schema (SEMANTICS §2.3): the error of a sequencer names its last step.

use crate::execution::core::schema_check::{self, first_issue, keep};
use crate::execution::ctx::Context;
use crate::model::callable::{Issue, SchemaRef};
use crate::model::error::FlowError;
use crate::model::flow::Block;
use crate::model::step_value::StepValue;

/// `lastStepName` of an error, as long as no operation has changed the sequencer's state.
const INITIAL: &str = "__initial__";

/// Parses what a block's body returned with the block's `outputSchema`.
pub(crate) async fn parse_output(
    cx: &Context,
    block: &Block,
    schema: &SchemaRef,
    output: StepValue,
) -> Result<StepValue, FlowError> {
    if block.is_chain() {
        return parse_sequencer_output(cx, schema, output).await;
    }
    schema_check::parse(schema, output, &block.name, "output")
}

/// Parses the output of a sequencer, once, whichever way the chain ended. Fails with `SequencerOutputSchemaError`.
async fn parse_sequencer_output(cx: &Context, schema: &SchemaRef, value: StepValue) -> Result<StepValue, FlowError> {
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
