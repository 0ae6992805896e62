//! The JSON Schema that the answer to a question must fit.
//!
//! A flow describes a zod schema as JSON Schema, for forms and to refuse an answer before the request is resumed. The
//! zod schema itself has the last word, so a part that it alone can decide accepts every value here. Nothing is
//! fetched: a reference to another document is an error.

use jsonschema::{Draft, ValidationError, Validator};
use serde_json::{Map, Value};

/// On the part of a described schema that changes a value before it checks it, as `z.coerce` does.
const CONVERTS: &str = "x-converts";
/// What holds values instead of schemas.
const OF_VALUES: [&str; 5] = ["const", "enum", "default", "examples", "example"];

/// A compiled schema of answers.
#[derive(Debug)]
pub struct AnswerSchema {
    /// Checks answers.
    pub validator: Validator,
    /// The patterns that cannot be checked here, because only JavaScript has regular expressions of this form.
    pub unchecked: Vec<String>,
}

impl AnswerSchema {
    /// Compiles a schema. A schema without `$schema` is of the newest draft, else of draft 7, else of draft 4. The
    /// error says what is wrong and where.
    pub fn new(schema: &Value) -> Result<AnswerSchema, String> {
        let schema = checkable(schema);
        match compile(&schema) {
            Ok(validator) => Ok(AnswerSchema { validator, unchecked: Vec::new() }),
            Err(error) => {
                let (mut rest, mut unchecked) = (schema, Vec::new());
                leave_out_patterns(&mut rest, &mut unchecked);
                match compile(&rest) {
                    Ok(validator) if !unchecked.is_empty() => Ok(AnswerSchema { validator, unchecked }),
                    _ => Err(error),
                }
            }
        }
    }
}

fn compile(schema: &Value) -> Result<Validator, String> {
    let build = |draft| jsonschema::options().with_draft(draft).build(schema);
    let built = match schema.get("$schema") {
        Some(_) => jsonschema::options().build(schema),
        None => build(Draft::Draft202012)
            .or_else(|error| build(Draft::Draft7).or_else(|_| build(Draft::Draft4)).map_err(|_| error)),
    };
    built.map_err(|error| described(&error))
}

fn described(error: &ValidationError<'_>) -> String {
    let place = error.instance_path().to_string();
    let segments: Vec<String> =
        place.split('/').skip(1).map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect();
    let place = if segments.is_empty() { String::new() } else { format!("{}: ", segments.join(".")) };
    let text = error.to_string();
    match text.split_once(" is not present in a registry") {
        Some((resource, _)) => format!("{place}{resource} is another document, and nothing is fetched"),
        None => format!("it is not a valid JSON Schema: {place}{text}"),
    }
}

/// Returns a schema in which what only the flow can decide accepts every value.
pub fn checkable(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) if fields.get(CONVERTS) == Some(&Value::Bool(true)) => Value::Object(Map::new()),
        other => each_part(other, checkable),
    }
}

/// Returns a schema as earlier versions described it.
pub(super) fn as_before(schema: &Value) -> Value {
    let mut before = each_part(schema, as_before);
    if let Some(fields) = before.as_object_mut() {
        fields.remove(CONVERTS);
        if fields.contains_key("properties") {
            fields.remove("additionalProperties");
        }
    }
    before
}

fn each_part(schema: &Value, change: fn(&Value) -> Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let part = |(name, part): (&String, &Value)| {
                let is_values = OF_VALUES.contains(&&**name);
                (name.clone(), if is_values { part.clone() } else { change(part) })
            };
            Value::Object(fields.iter().map(part).collect())
        }
        Value::Array(parts) => Value::Array(parts.iter().map(change).collect()),
        other => other.clone(),
    }
}

/// Removes the patterns that do not compile here.
fn leave_out_patterns(schema: &mut Value, left_out: &mut Vec<String>) {
    let compiles = |pattern: &str| compile(&serde_json::json!({ "pattern": pattern })).is_ok();
    match schema {
        Value::Object(fields) => {
            let pattern = fields.get("pattern").and_then(Value::as_str).filter(|pattern| !compiles(pattern));
            if let Some(pattern) = pattern.map(str::to_owned) {
                fields.remove("pattern");
                left_out.push(pattern);
            }
            if let Some(Value::Object(patterns)) = fields.get_mut("patternProperties") {
                left_out.extend(patterns.keys().filter(|pattern| !compiles(pattern)).cloned());
                patterns.retain(|pattern, _| compiles(pattern));
            }
            let parts = fields.iter_mut().filter(|(name, _)| !OF_VALUES.contains(&&***name));
            parts.for_each(|(_, part)| leave_out_patterns(part, left_out));
        }
        Value::Array(parts) => parts.iter_mut().for_each(|part| leave_out_patterns(part, left_out)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_schema_is_refused_with_its_place() {
        for schema in [
            json!({ "type": "bogus" }),
            json!({ "$ref": "#/nope" }),
            json!({ "$ref": "http://example.com/x.json" }),
            json!({ "properties": { "a": { "type": "number", "required": true } } }),
        ] {
            assert!(AnswerSchema::new(&schema).is_err(), "{schema}");
        }
        let error = AnswerSchema::new(&json!({ "properties": { "a": { "type": "bogus" } } }))
            .map(|_| ())
            .expect_err("no schema");
        assert!(error.contains("properties.a.type"), "{error}");
    }

    #[test]
    fn a_schema_of_an_older_draft_is_checked_by_it() {
        let schema = json!({ "properties": { "a": { "type": "number", "minimum": 0, "exclusiveMinimum": true } } });
        let checked = AnswerSchema::new(&schema).expect("a schema");
        assert!(checked.validator.is_valid(&json!({ "a": 1 })) && !checked.validator.is_valid(&json!({ "a": 0 })));
    }

    #[test]
    fn a_pattern_that_only_javascript_has_is_left_out_alone() {
        let pattern = "^(?<$y>a)$";
        let schema = json!({ "type": "object", "properties": { "n": { "type": "string", "pattern": pattern } } });
        let checked = AnswerSchema::new(&schema).expect("a schema");
        assert_eq!(checked.unchecked, [pattern]);
        assert!(checked.validator.is_valid(&json!({ "n": "b" })) && !checked.validator.is_valid(&json!({ "n": 5 })));
    }

    #[test]
    fn what_a_flow_converts_is_for_the_flow_to_decide() {
        let schema = json!({ "properties": { "n": { "type": "number", "x-converts": true } }, "required": ["n"] });
        let checked = AnswerSchema::new(&schema).expect("a schema");
        assert!(checked.validator.is_valid(&json!({ "n": "5" })) && !checked.validator.is_valid(&json!({})));
        assert_eq!(as_before(&schema), json!({ "properties": { "n": { "type": "number" } }, "required": ["n"] }));
    }
}
