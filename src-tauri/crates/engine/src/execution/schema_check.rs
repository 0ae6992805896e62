//! What schemas let into a block and out of it (SEMANTICS §2.3).
//!
//! Parsed data goes on, with its defaults and transforms. Must not decide when a value is checked.

use crate::execution::context::Context;
use crate::execution::step_value::StepValue;
use crate::model::callable::{Issue, SchemaRef};
use crate::model::data::Data;
use crate::model::error::FlowError;

/// What a sequencer's last step is called while no operation has changed its state.
const INITIAL: &str = "__initial__";

/// The value parsed by the schema; it keeps its origin when parsing changed nothing.
pub(crate) fn parse(schema: &SchemaRef, value: StepValue, block: &str, side: &str) -> Result<StepValue, FlowError> {
    match schema.parse(&value.data) {
        Ok(parsed) => Ok(keep(value, parsed)),
        Err(issues) => {
            let words = words(&issues);
            let mut error = FlowError::plain(format!("Block \"{block}\" {side} validation failed{words}"));
            error.details = Some(Issue::list(&issues));
            Err(error)
        }
    }
}

/// A sequencer's declared output schema, checked once, whichever way the chain ended.
pub(crate) async fn leave(cx: &Context, schema: &SchemaRef, value: StepValue) -> Result<StepValue, FlowError> {
    match schema.parse_async(&value.data, cx.invocation()).await {
        Ok(parsed) => Ok(keep(value, parsed)),
        Err(issues) => {
            let (sequencer, words) = (&*cx.frame.block.name, words(&issues));
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

/// ` at "place": what is wrong`, of the first issue.
fn words(issues: &[Issue]) -> String {
    match issues.first() {
        Some(issue) if !issue.path.is_empty() => format!(" at \"{}\": {}", issue.path, issue.message),
        Some(issue) => format!(": {}", issue.message),
        None => ": invalid".to_owned(),
    }
}
