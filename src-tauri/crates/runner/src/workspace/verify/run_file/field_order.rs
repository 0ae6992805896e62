//! The order of fields in a `.run` file: that of their names, so that a file does not depend on how a version of this
//! program declares its types.
//!
//! Values of a flow, and what it asked and got from outside, keep their order, because it means something there. Must
//! not know the kinds of events.

use serde_json::{Map, Value};

/// The fields of an event that hold an object of this program, or a list of such; any other one holds a value.
const OWN: [&str; 15] = [
    "claim",
    "commits",
    "dispatchedBy",
    "error",
    "forkedFrom",
    "item",
    "itemVisibility",
    "kept",
    "location",
    "operation",
    "reactions",
    "retention",
    "scope",
    "scopes",
    "versions",
];

/// Puts the fields of an object of this program, and of those inside it, into the order of their names.
pub(super) fn by_name(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
            fields.sort_by(|(one, _), (other, _)| one.cmp(other));
            let inside = |(name, field): (String, Value)| {
                let field = if OWN.contains(&&*name) { by_name(field) } else { field };
                (name, field)
            };
            Value::Object(fields.into_iter().map(inside).collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(by_name).collect()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_values_of_a_flow_keep_the_order_of_their_fields() {
        let event = json!({
            "kind": "state_changed",
            "scope": { "kind": "session", "id": "s" },
            "operation": { "op": "patch", "fields": { "z": 1, "a": { "kind": 1, "id": 2 } } },
            "commits": [{ "scope": { "kind": "user", "id": "u" }, "from": 0 }],
            "input": { "value": { "scope": { "kind": 1, "id": 2 } } },
        });
        let sorted = concat!(
            r#"{"commits":[{"from":0,"scope":{"id":"u","kind":"user"}}],"#,
            r#""input":{"value":{"scope":{"kind":1,"id":2}}},"kind":"state_changed","#,
            r#""operation":{"fields":{"z":1,"a":{"kind":1,"id":2}},"op":"patch"},"scope":{"id":"s","kind":"session"}}"#
        );
        assert_eq!(by_name(event).to_string(), sorted);
    }
}
