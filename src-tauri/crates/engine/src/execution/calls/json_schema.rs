//! Checks Calls and outputs with the JSON Schemas that authors register.
//!
//! The part of JSON Schema that tools are written in; keywords beyond it are left to the model. References between
//! schemas are not followed.

use serde_json::Value;

use crate::model::operation::equal;

/// How deep schemas are followed.
const DEEPEST: usize = 64;

/// Returns what is wrong with a value: `to.id: expected string, got 5`.
pub(super) fn issues(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, "", 0, &mut found);
    found
}

/// As [`issues`], of one property.
pub(super) fn issues_at(schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    check(schema, value, place, 0, &mut found);
    found
}

fn check(schema: &Value, value: &Value, place: &str, depth: usize, found: &mut Vec<String>) {
    let Some(rules) = schema.as_object() else {
        if schema == &Value::Bool(false) {
            found.push(at(place, "is not allowed".to_owned()));
        }
        return;
    };
    if depth > DEEPEST {
        return;
    }
    if let Some(expected) = rules.get("const")
        && !equal(expected, value)
    {
        found.push(at(place, format!("expected {expected}, got {}", clipped(value))));
    }
    if let Some(Value::Array(choices)) = rules.get("enum")
        && !choices.iter().any(|choice| equal(choice, value))
    {
        let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
        found.push(at(place, format!("expected one of {}, got {}", choices.join(", "), clipped(value))));
    }
    let types: Vec<&str> = match rules.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_of(name, value)) {
        found.push(at(place, format!("expected {}, got {}", types.join(" or "), clipped(value))));
        return;
    }
    for (word, wants_one) in [("anyOf", false), ("oneOf", true)] {
        let Some(Value::Array(choices)) = rules.get(word) else { continue };
        let fitting = choices.iter().filter(|choice| {
            let mut inner = Vec::new();
            check(choice, value, place, depth + 1, &mut inner);
            inner.is_empty()
        });
        let fitting = fitting.count();
        if fitting == 0 || (wants_one && fitting > 1) {
            found.push(at(place, format!("{} fits {fitting} of the {} choices", clipped(value), choices.len())));
        }
    }
    if let Some(Value::Array(all)) = rules.get("allOf") {
        all.iter().for_each(|one| check(one, value, place, depth + 1, found));
    }
    match value {
        Value::Object(fields) => {
            for name in rules.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
            {
                if !fields.contains_key(name) {
                    found.push(at(&below(place, name), "is missing".to_owned()));
                }
            }
            let properties = rules.get("properties").and_then(Value::as_object);
            for (name, field) in fields {
                match properties.and_then(|properties| properties.get(name)) {
                    Some(own) => check(own, field, &below(place, name), depth + 1, found),
                    None => match rules.get("additionalProperties") {
                        Some(Value::Bool(false)) => {
                            found.push(at(&below(place, name), "is not a property of the schema".to_owned()));
                        }
                        Some(more) => check(more, field, &below(place, name), depth + 1, found),
                        None => {}
                    },
                }
            }
        }
        Value::Array(items) => {
            bounds(rules, ("minItems", "maxItems"), items.len() as f64, " entries", place, found);
            if let Some(each) = rules.get("items") {
                for (index, item) in items.iter().enumerate() {
                    check(each, item, &below(place, &index.to_string()), depth + 1, found);
                }
            }
        }
        Value::String(text) => {
            bounds(rules, ("minLength", "maxLength"), text.chars().count() as f64, " characters", place, found);
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or_default();
            bounds(rules, ("minimum", "maximum"), number, "", place, found);
            let limit = |word: &str| rules.get(word).and_then(Value::as_f64);
            if limit("exclusiveMinimum").is_some_and(|least| number <= least) {
                found.push(at(place, format!("{number} is not above {}", rules["exclusiveMinimum"])));
            }
            if limit("exclusiveMaximum").is_some_and(|most| number >= most) {
                found.push(at(place, format!("{number} is not below {}", rules["exclusiveMaximum"])));
            }
        }
        _ => {}
    }
}

fn bounds(
    rules: &serde_json::Map<String, Value>,
    (least, most): (&str, &str),
    count: f64,
    of: &str,
    place: &str,
    found: &mut Vec<String>,
) {
    let limit = |word: &str| rules.get(word).and_then(Value::as_f64);
    if let Some(least) = limit(least).filter(|least| count < *least) {
        found.push(at(place, format!("expected at least {least}{of}, got {count}")));
    }
    if let Some(most) = limit(most).filter(|most| count > *most) {
        found.push(at(place, format!("expected at most {most}{of}, got {count}")));
    }
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        _ => true,
    }
}

fn below(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") }
}

fn at(place: &str, what: String) -> String {
    if place.is_empty() { what } else { format!("{place}: {what}") }
}

fn clipped(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_does_not_fit_is_named_with_its_place() {
        let tool = json!({
            "type": "object",
            "properties": {
                "to": { "type": "object", "properties": { "id": { "type": "string", "maxLength": 3 } } },
                "amount": { "type": "number", "minimum": 1, "exclusiveMaximum": 10 },
                "tags": { "type": "array", "items": { "enum": ["a", "b"] }, "maxItems": 2 },
                "either": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
            "required": ["to"],
            "additionalProperties": false,
        });
        for (value, expected) in [
            (json!({ "to": {} }), vec![]),
            (json!({}), vec!["to: is missing"]),
            (json!({ "to": { "id": 5 } }), vec!["to.id: expected string, got 5"]),
            (json!({ "to": { "id": "long" } }), vec!["to.id: expected at most 3 characters, got 4"]),
            (json!({ "to": {}, "amount": 0 }), vec!["amount: expected at least 1, got 0"]),
            (json!({ "to": {}, "amount": 10 }), vec!["amount: 10 is not below 10"]),
            (json!({ "to": {}, "tags": ["a", "c"] }), vec!["tags.1: expected one of \"a\", \"b\", got \"c\""]),
            (json!({ "to": {}, "tags": ["a", "a", "b"] }), vec!["tags: expected at most 2 entries, got 3"]),
            (json!({ "to": {}, "either": null }), vec![]),
            (json!({ "to": {}, "either": 1 }), vec!["either: 1 fits 0 of the 2 choices"]),
            (json!({ "to": {}, "more": 1 }), vec!["more: is not a property of the schema"]),
            (json!([]), vec!["expected object, got []"]),
        ] {
            assert_eq!(issues(&tool, &value), expected, "{value}");
        }
    }
}
