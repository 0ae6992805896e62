//! Whether a value can satisfy two schemas at once, as far as their JSON Schemas tell.
//!
//! Conservative: without a contradiction in the JSON Schemas there is no clash. One exception: two lists whose elements
//! contradict each other clash, although the empty list satisfies both.

use serde_json::Value;

/// A contradiction between two schemas.
pub(super) struct Clash {
    /// Where inside the value: `.a.b`, `[]`, or nothing for the value itself.
    pub(super) path: String,
    /// What the first demands there.
    pub(super) one: String,
    /// What the second demands there.
    pub(super) two: String,
}

/// Returns the contradiction between two JSON Schemas, if there is one.
pub(super) fn clash(one: &Value, two: &Value) -> Option<Clash> {
    let here = || Some(Clash { path: String::new(), one: describe(one), two: describe(two) });
    if let Some(parts) = one["allOf"].as_array() {
        return parts.iter().find_map(|part| clash(part, two));
    }
    if let Some(parts) = two["allOf"].as_array() {
        return parts.iter().find_map(|part| clash(one, part));
    }
    if let Some(options) = one["anyOf"].as_array() {
        return if options.iter().all(|option| clash(option, two).is_some()) { here() } else { None };
    }
    if let Some(options) = two["anyOf"].as_array() {
        return if options.iter().all(|option| clash(one, option).is_some()) { here() } else { None };
    }
    match (values(one), values(two)) {
        (Some(these), Some(those)) => {
            return if these.iter().any(|value| those.contains(value)) { None } else { here() };
        }
        (Some(these), None) => return if these.iter().any(|value| is_of_type(value, two)) { None } else { here() },
        (None, Some(those)) => return if those.iter().any(|value| is_of_type(value, one)) { None } else { here() },
        (None, None) => {}
    }
    let (a, b) = (type_of(one)?, type_of(two)?);
    if a != b {
        return here();
    }
    match a {
        "object" => objects(one, two),
        "array" => elements(one, two).map(|clash| Clash { path: format!("[]{}", clash.path), ..clash }),
        _ => None,
    }
}

/// Two objects clash in a property that one of them requires and whose two schemas clash.
fn objects(one: &Value, two: &Value) -> Option<Clash> {
    let properties = |shape: &Value| shape["properties"].as_object().cloned().unwrap_or_default();
    let needs =
        |shape: &Value, name: &str| shape["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let (these, those) = (properties(one), properties(two));
    let mut names: Vec<&String> = these.keys().collect();
    names.extend(those.keys().filter(|name| !these.contains_key(*name)));
    names.into_iter().filter(|name| needs(one, name) || needs(two, name)).find_map(|name| {
        // `additionalProperties` applies to a property that is not declared.
        let a = these.get(name).or_else(|| one.get("additionalProperties"))?;
        let b = those.get(name).or_else(|| two.get("additionalProperties"))?;
        clash(a, b).map(|clash| Clash { path: format!(".{name}{}", clash.path), ..clash })
    })
}

/// Lists clash in their elements, tuples in the elements that both have.
fn elements(one: &Value, two: &Value) -> Option<Clash> {
    match (one.get("items")?, two.get("items")?) {
        (Value::Array(these), Value::Array(those)) => these.iter().zip(those).find_map(|(a, b)| clash(a, b)),
        (Value::Array(these), rest) => these.iter().find_map(|a| clash(a, rest)),
        (rest, Value::Array(those)) => those.iter().find_map(|b| clash(rest, b)),
        (a, b) => clash(a, b),
    }
}

/// Returns the values that a schema accepts, if it lists them.
fn values(shape: &Value) -> Option<Vec<&Value>> {
    match (shape.get("const"), shape["enum"].as_array()) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(values)) => Some(values.iter().collect()),
        (None, None) => None,
    }
}

/// Returns the JSON type that a schema accepts; `None` if it names none.
fn type_of(shape: &Value) -> Option<&str> {
    let kind = shape.get("type")?.as_str()?;
    Some(if kind == "integer" { "number" } else { kind })
}

fn is_of_type(value: &Value, shape: &Value) -> bool {
    type_of(shape).is_none_or(|kind| kind == json_type(value))
}

/// Describes what a schema accepts.
fn describe(shape: &Value) -> String {
    if let Some(values) = values(shape) {
        return values.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" or ");
    }
    if let Some(options) = shape["anyOf"].as_array() {
        return options.iter().map(describe).collect::<Vec<_>>().join(" or ");
    }
    type_of(shape).unwrap_or("anything").to_owned()
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Where and over what the two clash; nothing where a value fits both.
    #[track_caller]
    fn check(one: Value, two: Value, expected: &str) {
        let tell = |one, two| clash(one, two).map(|c| format!("{}: {}, {}", c.path, c.one, c.two)).unwrap_or_default();
        assert_eq!(tell(&one, &two), expected, "{one} and {two}");
        assert_eq!(tell(&two, &one).is_empty(), expected.is_empty(), "the order does not matter: {one} and {two}");
    }

    #[test]
    fn types_and_values() {
        check(json!({ "type": "integer" }), json!({ "type": "number" }), "");
        check(json!({ "type": "string" }), json!({}), "");
        check(json!({ "type": "string" }), json!({ "type": "number" }), ": string, number");
        check(json!({ "type": "string", "enum": ["a", "b"] }), json!({ "type": "string", "enum": ["b"] }), "");
        check(json!({ "enum": ["a", "b"] }), json!({ "const": "c" }), ": \"a\" or \"b\", \"c\"");
        check(json!({ "type": "string", "enum": [0, 1] }), json!({ "type": "number" }), "");
        check(json!({ "const": 1 }), json!({ "type": "string" }), ": 1, string");
    }

    #[test]
    fn choices_fit_where_one_of_them_does() {
        let or_null = |kind: &str| json!({ "anyOf": [{ "type": kind }, { "type": "null" }] });
        check(or_null("string"), or_null("number"), "");
        check(or_null("string"), json!({ "type": "number" }), ": string or null, number");
        let both = json!({ "allOf": [{ "type": "object" }, { "type": "object", "properties": {} }] });
        check(both, json!({ "type": "array" }), ": object, array");
    }

    #[test]
    fn members_clash_where_one_side_needs_them() {
        let with = |kind: &str, required: Value| {
            let fields = json!({ "y": { "type": kind } });
            json!({ "type": "object", "properties": fields, "required": required })
        };
        check(with("number", json!(["y"])), with("string", json!([])), ".y: number, string");
        check(with("number", json!([])), with("string", json!([])), "");
        let record = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        check(with("number", json!(["y"])), record.clone(), ".y: number, string");
        check(with("number", json!([])), record, "");
    }

    #[test]
    fn elements_of_lists() {
        let list = |items: Value| json!({ "type": "array", "items": items });
        check(list(json!({ "type": "string" })), list(json!({ "type": "number" })), "[]: string, number");
        check(list(json!({})), list(json!({ "type": "number" })), "");
        let pair = json!([{ "type": "string" }, { "type": "number" }]);
        check(list(pair.clone()), list(json!([{ "type": "string" }])), "");
        check(list(pair), list(json!({ "type": "string" })), "[]: number, string");
    }
}
