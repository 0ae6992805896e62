//! Whether a value in the input of a request may be a default of the action's schema: the log has the input after it
//! was parsed, and not what was given.
//!
//! The schema is that of today's code. Must not fail a question: without the code, nothing is known of defaults.

use serde_json::Value;

use super::pointer;
use super::spot::Spot;
use crate::workspace::Workspace;

impl Workspace {
    /// Whether today's input schema has the value of a spot in the input of its request as a default there.
    pub(super) fn may_be_default(&self, spot: &Spot) -> bool {
        let row = &spot.log.row;
        let Some(value) = spot.value() else { return false };
        let flow = self.with_catalogue(|catalogue| catalogue.find(&row.flow));
        let Ok(flow) = flow else { return false };
        let action = flow.flow.actions.iter().find(|action| *action.name == *row.action);
        let schema = action.and_then(|action| action.input_schema.as_ref());
        schema.is_some_and(|schema| has_default(schema, &pointer::segments(&spot.pointer), &value))
    }
}

/// Whether a schema has a value as the default at a place, or in the default of a place around it.
fn has_default(schema: &Value, place: &[String], value: &Value) -> bool {
    let within = schema.get("default").is_some_and(|default| {
        let mut rest = String::new();
        place.iter().for_each(|segment| pointer::push(&mut rest, segment));
        pointer::find(default, &rest).is_ok_and(|there| there == value)
    });
    let inner = || {
        let (first, rest) = place.split_first()?;
        let schemas = [schema.get("properties").and_then(|all| all.get(first)), schema.get("additionalProperties")];
        let items = schema.get("items").filter(|_| first.bytes().all(|byte| byte.is_ascii_digit()));
        let found = schemas.into_iter().flatten().chain(items).any(|schema| has_default(schema, rest, value));
        found.then_some(())
    };
    let of_one = || {
        let lists = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|name| schema.get(name)?.as_array());
        lists.flatten().any(|schema| has_default(schema, place, value))
    };
    within || inner().is_some() || of_one()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_default_is_found_at_its_place_and_around_it() {
        let schema = json!({ "type": "object", "properties": {
            "city": { "type": "string", "default": "Reykjavik" },
            "to": { "anyOf": [{ "type": "object", "default": { "zip": 1 } }, { "type": "null" }] },
            "list": { "items": { "properties": { "n": { "default": 7 } } } },
        } });
        let has = |place: &str, value: Value| has_default(&schema, &pointer::segments(place), &value);
        assert!(has("/city", json!("Reykjavik")) && has("/to/zip", json!(1)) && has("/list/3/n", json!(7)));
        assert!(!has("/city", json!("Paris")) && !has("", json!("Reykjavik")) && !has("/list/x/n", json!(7)));
    }
}
