//! Translates the JSON Schema of a tool to zod code, and predicts the JSON Schema that the engine sends for that code.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::flow::literal;

/// Deeper values are any.
const MAX_DEPTH: usize = 12;

/// A schema of zod.
pub(super) struct Zod {
    /// Its code.
    pub(super) code: String,
    /// The JSON Schema that models get for it.
    pub(super) sent: Map<String, Value>,
    /// Whether a field with it may be left out.
    takes_nothing: bool,
}

/// The schema of a tool's parameters, which takes all `given` values.
pub(super) fn of_tool(parameters: Option<&Value>, given: &[&Value]) -> Zod {
    match parameters.filter(|schema| schema["type"] == "object") {
        Some(schema) => zod(schema, given, 1),
        None if given.iter().all(|given| given.is_object()) => object(&json!({}), given, 1),
        None => any(),
    }
}

/// The zod schema of a JSON Schema, which takes all `given` values: where one of them does not fit, any value does.
fn zod(schema: &Value, given: &[&Value], depth: usize) -> Zod {
    let mut made = if depth > MAX_DEPTH { any() } else { of_type(schema, given, depth) };
    if let Some(words) = schema["description"].as_str().filter(|words| depth > 1 && !words.is_empty()) {
        let _ = write!(made.code, ".describe({})", literal(&words.into()));
        made.sent.insert("description".to_owned(), words.into());
    }
    made
}

fn any() -> Zod {
    Zod { code: "z.any()".to_owned(), sent: Map::new(), takes_nothing: true }
}

fn plain(code: impl Into<String>, sent: Value) -> Zod {
    let sent = match sent {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    Zod { code: code.into(), sent, takes_nothing: false }
}

fn of_type(schema: &Value, given: &[&Value], depth: usize) -> Zod {
    if let Some((inner, given)) = nullable(schema, given) {
        let inner = zod(&inner, &given, depth + 1);
        let sent = json!({ "anyOf": [inner.sent, { "type": "null" }] });
        let mut made = Zod { takes_nothing: inner.takes_nothing, ..plain(inner.code + ".nullable()", sent) };
        // zod gives the description of the inner schema to the outer one.
        let words = inner.sent.get("description").cloned();
        made.sent.extend(words.map(|words| ("description".to_owned(), words)));
        return made;
    }
    if let Some(values) = schema["enum"].as_array() {
        let are_texts = !values.is_empty() && values.iter().all(Value::is_string);
        return if are_texts && given.iter().all(|value| values.contains(value)) {
            plain(format!("z.enum({})", one_line(values)), json!({ "type": "string", "enum": values }))
        } else {
            any()
        };
    }
    let kind = schema["type"].as_str();
    let all = |fits: fn(&Value) -> bool, code: &str| {
        if given.iter().all(|value| fits(value)) { plain(code, json!({ "type": kind })) } else { any() }
    };
    match kind {
        Some("string") => all(Value::is_string, "z.string()"),
        Some("boolean") => all(Value::is_boolean, "z.boolean()"),
        Some("integer") => all(|value| value.is_i64() || value.is_u64(), "z.number().int()"),
        Some("number") => all(Value::is_number, "z.number()"),
        Some("array") if given.iter().all(|value| value.is_array()) => {
            let items: Vec<&Value> = given.iter().filter_map(|value| value.as_array()).flatten().collect();
            let items = zod(&schema["items"], &items, depth + 1);
            plain(format!("z.array({})", items.code), json!({ "type": "array", "items": items.sent }))
        }
        Some("object") if given.iter().all(|value| value.is_object()) => object(schema, given, depth),
        _ => any(),
    }
}

fn object(schema: &Value, given: &[&Value], depth: usize) -> Zod {
    let indent = "  ".repeat(depth);
    let mut fields = String::new();
    let (mut sent, mut required) = (Map::new(), Vec::new());
    let properties = schema["properties"].as_object();
    for (name, of_field) in properties.into_iter().flatten() {
        let values: Vec<&Value> = given.iter().filter_map(|value| value.get(name)).collect();
        let is_required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let is_required = is_required && values.len() == given.len();
        let optional = if is_required { "" } else { ".optional()" };
        let field = zod(of_field, &values, depth + 1);
        let _ = write!(fields, "\n{indent}  {}: {}{optional},", literal(&name.as_str().into()), field.code);
        if is_required && !field.takes_nothing {
            required.push(name.as_str());
        }
        sent.insert(name.clone(), field.sent.into());
    }
    let is_known = |name: &String| properties.is_some_and(|known| known.contains_key(name));
    let are_known = given.iter().filter_map(|value| value.as_object()).all(|fields| fields.keys().all(is_known));
    let rest = if schema["additionalProperties"] == false && are_known { "" } else { ".passthrough()" };
    let end = if fields.is_empty() { String::new() } else { format!("\n{indent}") };
    let sent = json!({ "type": "object", "properties": sent });
    let mut made = plain(format!("z.object({{{fields}{end}}}){rest}"), sent);
    if !required.is_empty() {
        made.sent.insert("required".to_owned(), json!(required));
    }
    made
}

/// The schema and the values without null, if null is one of two possibilities.
fn nullable<'v>(schema: &Value, given: &[&'v Value]) -> Option<(Value, Vec<&'v Value>)> {
    let is_null = |one: &Value| one == "null" || one["type"] == "null";
    let list = schema["type"].as_array().or_else(|| schema["anyOf"].as_array())?;
    let [first, second] = &list[..] else { return None };
    let other = if is_null(first) { second } else { first };
    if is_null(first) == is_null(second) {
        return None;
    }
    let mut inner = if other.is_string() { schema.clone() } else { other.clone() };
    if other.is_string() {
        inner["type"] = other.clone();
    }
    Some((inner, given.iter().copied().filter(|value| !value.is_null()).collect()))
}

fn one_line(values: &[Value]) -> String {
    format!("[{}]", values.iter().map(literal).collect::<Vec<_>>().join(", "))
}

/// Adds the keywords that differ between the schema of the trace and the one that models get in a run.
pub(super) fn add_changed(schema: &Map<String, Value>, sent: &Map<String, Value>, changed: &mut BTreeSet<String>) {
    changed.extend(sent.keys().filter(|name| !schema.contains_key(*name)).cloned());
    for (name, before) in schema {
        let after = sent.get(name);
        let pairs: Option<Vec<(&Value, &Value)>> = match (name.as_str(), before, after) {
            ("properties", Value::Object(before), Some(Value::Object(after))) => {
                before.iter().map(|(name, one)| Some((one, after.get(name)?))).collect()
            }
            ("items", before, Some(after)) => Some(vec![(before, after)]),
            ("anyOf", Value::Array(before), Some(Value::Array(after))) if before.len() == after.len() => {
                Some(before.iter().zip(after).collect())
            }
            _ => None,
        };
        let is_same = match pairs {
            Some(pairs) => pairs.into_iter().all(|pair| match pair {
                (Value::Object(one), Value::Object(sent)) => {
                    add_changed(one, sent, changed);
                    true
                }
                (one, sent) => one == sent,
            }),
            None if name == "required" => names(Some(before)) == names(after),
            None => after == Some(before),
        };
        if !is_same {
            changed.insert(name.clone());
        }
    }
}

/// The names in a list, which may be missing.
fn names(list: Option<&Value>) -> BTreeSet<&str> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(schema: &Value) -> Vec<String> {
        let mut changed = BTreeSet::new();
        let fields = schema.as_object().expect("an object");
        add_changed(fields, &of_tool(Some(schema), &[]).sent, &mut changed);
        changed.into_iter().collect()
    }

    #[test]
    fn keywords_that_zod_does_not_keep_are_known() {
        let kept = json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "Which city" },
                "days": { "type": "array", "items": { "type": "integer" } },
                "unit": { "type": "string", "enum": ["c", "f"] },
                "near": { "anyOf": [{ "type": "number" }, { "type": "null" }] },
            },
            "required": ["days", "city"],
        });
        assert_eq!(changed(&kept), [""; 0]);
        let mut lost = kept;
        lost["additionalProperties"] = false.into();
        lost["$schema"] = "http://json-schema.org/draft-07/schema#".into();
        lost["properties"]["days"]["items"]["title"] = "Day".into();
        assert_eq!(changed(&lost), ["$schema", "additionalProperties", "title"]);
        assert_eq!(changed(&json!({ "type": "object" })), ["properties"]);
        let any = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] });
        assert_eq!(changed(&any), ["required"]);
        let list = json!({ "type": "object", "properties": { "a": { "type": ["string", "null"] } } });
        assert_eq!(changed(&list), ["anyOf", "type"]);
    }
}
