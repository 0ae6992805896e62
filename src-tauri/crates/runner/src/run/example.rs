//! An example input for a JSON Schema, with the required fields only. It is shown when the input is missing.
//!
//! Must not be used as an input: it ignores patterns, formats and refinements.

use serde_json::{Map, Value};

/// Deeper objects are left empty.
const MAX_DEPTH: usize = 4;

/// No longer example is shown.
const MAX_LENGTH: usize = 300;

/// Returns the example as JSON for a shell's single quotes; `None` if it is too long or has such a quote.
pub(crate) fn example(schema: &Value) -> Option<String> {
    let text = value(schema, 0).to_string();
    (text.len() <= MAX_LENGTH && !text.contains('\'')).then_some(text)
}

fn value(schema: &Value, depth: usize) -> Value {
    let first = |list: &str| schema[list].as_array().and_then(|list| list.first());
    if let Some(given) = schema.get("default").or(schema.get("const")).or(first("enum")) {
        return given.clone();
    }
    if let Some(one) = first("anyOf").or(first("oneOf")).or(first("allOf")) {
        return value(one, depth);
    }
    let named = schema["type"].as_str().or(first("type").and_then(Value::as_str));
    match named {
        Some("object") if depth < MAX_DEPTH => fields(schema, depth),
        Some("object") => Value::Object(Map::new()),
        Some("array") => Value::Array(Vec::new()),
        Some("number" | "integer") => schema.get("minimum").cloned().unwrap_or(1.into()),
        Some("boolean") => Value::Bool(true),
        Some("null") => Value::Null,
        _ => "…".into(),
    }
}

fn fields(schema: &Value, depth: usize) -> Value {
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let fields = required.map(|name| (name.to_owned(), value(&schema["properties"][name], depth + 1)));
    Value::Object(fields.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::example;

    #[test]
    fn an_example_has_the_required_fields() {
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "number", "minimum": 3 }));
        let object =
            |fields: Value, required: Value| json!({ "type": "object", "properties": fields, "required": required });
        let choice = json!({ "enum": ["low", "high"] });
        let cases = [
            (object(json!({ "by": number, "x": text }), json!(["by"])), Some(r#"{"by":3}"#)),
            (object(json!({ "a": text, "b": choice }), json!(["a", "b"])), Some(r#"{"a":"…","b":"low"}"#)),
            (json!({ "anyOf": [text, { "type": "null" }] }), Some("\"…\"")),
            (json!({}), Some("\"…\"")),
            (json!({ "const": "it's" }), None),
        ];
        for (schema, expected) in cases {
            assert_eq!(example(&schema).as_deref(), expected, "{schema}");
        }
    }
}
