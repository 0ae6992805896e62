//! Parsing of a block's input and output with its schemas (SEMANTICS §2.3).
//!
//! The parsed data flows on, with defaults and transforms applied. Must not decide when a value is checked.

use crate::model::callable::{Issue, SchemaRef};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::step_value::StepValue;

/// Parses a value. It keeps its origin if parsing changed nothing.
pub fn parse(schema: &SchemaRef, value: StepValue, block: &str, side: &str) -> Result<StepValue, FlowError> {
    checked(schema.parse(&value.data), value, block, side)
}

/// Returns what a schema made of a value.
fn checked(
    parsed: Result<Data, Vec<Issue>>,
    value: StepValue,
    block: &str,
    side: &str,
) -> Result<StepValue, FlowError> {
    match parsed {
        Ok(parsed) => Ok(keep(value, parsed)),
        Err(issues) => {
            let words = first_issue(&issues);
            let mut error = FlowError::plain(format!("Block \"{block}\" {side} validation failed{words}"));
            error.details = Some(Issue::list(&issues));
            Err(error)
        }
    }
}

/// As [`parse`], of what a block gets: a schema that has parsed the value on its way does not parse it again. `known`
/// is what it made of the value, if a layer around the block has asked it.
pub(crate) fn parse_input(
    schema: &SchemaRef,
    value: StepValue,
    block: &str,
    known: Option<Result<Data, Vec<Issue>>>,
) -> Result<StepValue, FlowError> {
    if value.parsed_by.has(schema) {
        return Ok(value);
    }
    let known = known.unwrap_or_else(|| schema.parse(&value.data));
    let mut parsed = checked(known, value, block, "input")?;
    parsed.parsed_by.add(schema);
    Ok(parsed)
}

pub(crate) fn keep(value: StepValue, parsed: Data) -> StepValue {
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
