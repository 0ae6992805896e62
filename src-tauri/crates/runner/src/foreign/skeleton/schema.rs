//! JSON Schemas of tools as code of zod.

use std::fmt::Write;

use serde_json::Value;

use super::flow::literal;

/// Deeper values are any.
const MAX_DEPTH: usize = 12;

/// The zod schema of a JSON Schema, which takes all `given` values: where one of them does not fit, any value does.
pub(super) fn zod(schema: &Value, given: &[&Value], depth: usize) -> String {
    let code = if depth > MAX_DEPTH { any() } else { of_type(schema, given, depth) };
    match schema["description"].as_str() {
        Some(words) if depth > 1 => format!("{code}.describe({})", literal(&words.into())),
        _ => code,
    }
}

fn any() -> String {
    "z.any()".to_owned()
}

fn of_type(schema: &Value, given: &[&Value], depth: usize) -> String {
    if let Some((inner, given)) = nullable(schema, given) {
        return format!("{}.nullable()", zod(&inner, &given, depth + 1));
    }
    if let Some(values) = schema["enum"].as_array() {
        let are_texts = !values.is_empty() && values.iter().all(Value::is_string);
        return if are_texts && given.iter().all(|value| values.contains(value)) {
            format!("z.enum({})", one_line(values))
        } else {
            any()
        };
    }
    let all = |fits: fn(&Value) -> bool, code: &str| {
        if given.iter().all(|value| fits(value)) { code.to_owned() } else { any() }
    };
    match schema["type"].as_str() {
        Some("string") => all(Value::is_string, "z.string()"),
        Some("boolean") => all(Value::is_boolean, "z.boolean()"),
        Some("integer") => all(|value| value.is_i64() || value.is_u64(), "z.number().int()"),
        Some("number") => all(Value::is_number, "z.number()"),
        Some("array") if given.iter().all(|value| value.is_array()) => {
            let items: Vec<&Value> = given.iter().filter_map(|value| value.as_array()).flatten().collect();
            format!("z.array({})", zod(&schema["items"], &items, depth + 1))
        }
        Some("object") if given.iter().all(|value| value.is_object()) => object(schema, given, depth),
        _ => any(),
    }
}

fn object(schema: &Value, given: &[&Value], depth: usize) -> String {
    let indent = "  ".repeat(depth);
    let mut fields = String::new();
    let properties = schema["properties"].as_object();
    for (name, of_field) in properties.into_iter().flatten() {
        let values: Vec<&Value> = given.iter().filter_map(|value| value.get(name)).collect();
        let is_required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
        let optional = if is_required && values.len() == given.len() { "" } else { ".optional()" };
        let code = zod(of_field, &values, depth + 1);
        let _ = write!(fields, "\n{indent}  {}: {code}{optional},", literal(&name.as_str().into()));
    }
    let is_known = |name: &String| properties.is_some_and(|known| known.contains_key(name));
    let are_known = given.iter().filter_map(|value| value.as_object()).all(|fields| fields.keys().all(is_known));
    let rest = if schema["additionalProperties"] == false && are_known { "" } else { ".passthrough()" };
    let end = if fields.is_empty() { String::new() } else { format!("\n{indent}") };
    format!("z.object({{{fields}{end}}}){rest}")
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
