//! Whether an input fits the schema of its action, before it is run.
//!
//! The schema as JSON says less than the code: what that converts is refused here. Must not be the last word.

use serde_json::Value;

use super::Workspace;
use crate::core::fault::Fault;

/// So many places that do not fit are named.
const MOST_NAMED: usize = 3;

impl Workspace {
    /// What of an input does not fit the JSON Schema of an action; `None` if all does, or if there is no schema.
    pub fn misfit(&self, flow: &str, action: &str, input: Option<&Value>) -> Result<Option<String>, Fault> {
        let loaded = self.with_catalogue(|catalogue| catalogue.find(flow))?;
        let action = loaded.flow.actions.iter().find(|known| known.name == action);
        let Some(schema) = action.and_then(|action| action.input_schema.as_ref()) else { return Ok(None) };
        // A schema that is none refuses nothing.
        let Ok(validator) = jsonschema::validator_for(schema) else { return Ok(None) };
        let nothing = Value::Object(serde_json::Map::new());
        let given = input.unwrap_or(&nothing);
        let misfits =
            validator.iter_errors(given).take(MOST_NAMED).map(|error| match error.instance_path().to_string() {
                place if place.is_empty() => error.to_string(),
                place => format!("{place}: {error}"),
            });
        let misfits: Vec<String> = misfits.collect();
        Ok((!misfits.is_empty()).then(|| misfits.join("; ")))
    }
}
