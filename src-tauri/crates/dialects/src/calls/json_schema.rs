//! Checks Calls and outputs with the JSON Schemas that authors register.
//!
//! All keywords of JSON Schema are checked, because an unchecked one would accept values that its author forbids. A
//! schema is compiled once for each solution. Nothing is fetched: a schema that refers to another document is invalid.

use jsonschema::error::{TypeKind, ValidationErrorKind};
use jsonschema::{Draft, ValidationError, Validator};
use serde_json::Value;

/// How many problems of one value are named.
const MAX_NAMED: usize = 10;

/// A compiled schema.
#[derive(Debug)]
pub(super) struct Schema(Validator);

/// A violation of a schema.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Issue {
    /// Where: property names and indices.
    pub(super) place: Vec<String>,
    /// `expected string, got 5`.
    pub(super) what: String,
    /// Whether it is about which fields exist, so that no value below the place can resolve it.
    pub(super) is_of_shape: bool,
}

impl Issue {
    /// Returns whether it is about the value of a property, or about a part of it.
    pub(super) fn is_about(&self, property: &str) -> bool {
        self.place.first().is_some_and(|first| first == property) && !(self.is_of_shape && self.place.len() == 1)
    }
}

impl std::fmt::Display for Issue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.place.is_empty() {
            return f.write_str(&self.what);
        }
        write!(f, "{}: {}", self.place.join("."), self.what)
    }
}

impl Schema {
    /// Compiles a schema, or returns why it is invalid. A schema without a draft is read as the newest draft, or else
    /// as draft 7, which has another form of tuples.
    pub(super) fn new(schema: &Value) -> Result<Schema, String> {
        let build = |draft| jsonschema::options().with_draft(draft).build(schema);
        let built = match schema.get("$schema") {
            Some(_) => jsonschema::options().build(schema),
            None => build(Draft::Draft202012).or_else(|error| build(Draft::Draft7).map_err(|_| error)),
        };
        built.map(Schema).map_err(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { String::new() } else { format!("{}: ", dotted(&place).join(".")) };
            format!("it is not a JSON Schema: {place}{error}")
        })
    }

    /// Returns the violations of a value.
    pub(super) fn issues(&self, value: &Value) -> Vec<Issue> {
        self.0.iter_errors(value).flat_map(|error| issues_of(&error)).collect()
    }
}

/// Returns the violations of a value as one text; `None` if it is valid.
pub(super) fn misfit(schema: &Value, value: &Value) -> Option<String> {
    match Schema::new(schema) {
        Ok(schema) => Some(schema.issues(value)).filter(|found| !found.is_empty()).map(|found| told(&found)),
        Err(why) => Some(format!("the schema cannot be used, because {why}")),
    }
}

/// Returns issues as one text.
pub(super) fn told(issues: &[Issue]) -> String {
    let mut all: Vec<String> = issues.iter().take(MAX_NAMED).map(Issue::to_string).collect();
    all.extend((issues.len() > MAX_NAMED).then(|| format!("and {} more", issues.len() - MAX_NAMED)));
    all.join("; ")
}

fn dotted(pointer: &str) -> Vec<String> {
    let segments = pointer.split('/').skip(1);
    segments.map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect()
}

fn issues_of(error: &ValidationError<'_>) -> Vec<Issue> {
    let place = dotted(&error.instance_path().to_string());
    // Whether a conditional schema applies depends on values.
    let path = error.evaluation_path().to_string();
    let is_certain = !["/then/", "/else/", "/dependentSchemas/"].iter().any(|word| path.contains(word));
    let value = || clipped(error.instance());
    let below = |name: &str, what: String| {
        let place = place.iter().map(String::as_str).chain([name]).map(str::to_owned).collect();
        Issue { place, what, is_of_shape: is_certain }
    };
    let here = |what: String| vec![Issue { place: place.clone(), what, is_of_shape: false }];
    let length = |value: &Value| match value {
        Value::String(text) => text.chars().count().to_string(),
        Value::Array(items) => items.len().to_string(),
        Value::Object(fields) => fields.len().to_string(),
        other => other.to_string(),
    };
    let got = || length(error.instance());
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![below(property.as_str().unwrap_or_default(), "is missing".to_owned())]
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().map(|name| below(name, "is not a property of the schema".to_owned())).collect()
        }
        ValidationErrorKind::FalseSchema => here("is not allowed".to_owned()),
        ValidationErrorKind::Constant { expected_value } => here(format!("expected {expected_value}, got {}", value())),
        ValidationErrorKind::Enum { options } => {
            let choices: Vec<String> = options.as_array().into_iter().flatten().map(Value::to_string).collect();
            here(format!("expected one of {}, got {}", choices.join(", "), value()))
        }
        ValidationErrorKind::Type { kind } => {
            let types: Vec<String> = match kind {
                TypeKind::Single(one) => vec![one.to_string()],
                TypeKind::Multiple(several) => several.iter().map(|one| one.to_string()).collect(),
            };
            here(format!("expected {}, got {}", types.join(" or "), value()))
        }
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            here(format!("{} fits 0 of the {} choices", value(), context.len()))
        }
        ValidationErrorKind::OneOfMultipleValid { context } => {
            let fitting = context.iter().filter(|errors| errors.is_empty()).count();
            here(format!("{} fits {fitting} of the {} choices", value(), context.len()))
        }
        ValidationErrorKind::MinItems { limit } => here(format!("expected at least {limit} entries, got {}", got())),
        ValidationErrorKind::MaxItems { limit } => here(format!("expected at most {limit} entries, got {}", got())),
        ValidationErrorKind::MinLength { limit } => {
            here(format!("expected at least {limit} characters, got {}", got()))
        }
        ValidationErrorKind::MaxLength { limit } => here(format!("expected at most {limit} characters, got {}", got())),
        ValidationErrorKind::Minimum { limit } => here(format!("expected at least {limit}, got {}", got())),
        ValidationErrorKind::Maximum { limit } => here(format!("expected at most {limit}, got {}", got())),
        ValidationErrorKind::ExclusiveMinimum { limit } => here(format!("{} is not above {limit}", value())),
        ValidationErrorKind::ExclusiveMaximum { limit } => here(format!("{} is not below {limit}", value())),
        ValidationErrorKind::Pattern { pattern } => here(format!("{} does not match {pattern}", value())),
        ValidationErrorKind::UniqueItems => here(format!("{} has an entry twice", value())),
        ValidationErrorKind::Not { .. } => here(format!("{} is what the schema excludes", value())),
        _ => here(clip(&error.to_string(), 200)),
    }
}

fn clipped(value: &Value) -> String {
    clip(&value.to_string(), 80)
}

fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn violations_are_reported_with_their_places() {
        let tool = json!({
            "type": "object",
            "properties": {
                "to": { "type": "object", "properties": { "id": { "type": "string", "maxLength": 3 } } },
                "amount": { "type": "number", "minimum": 1, "exclusiveMaximum": 10, "multipleOf": 0.5 },
                "tags": { "type": "array", "items": { "enum": ["a", "b"] }, "maxItems": 2 },
                "either": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "user": { "pattern": "^u_[0-9]+$" },
                "list": { "uniqueItems": true },
                "other": { "not": { "const": 1 } },
                "same": { "$ref": "#/properties/user" },
            },
            "patternProperties": { "^x_": { "type": "number" } },
            "required": ["to"],
            "additionalProperties": false,
        });
        let schema = Schema::new(&tool).expect("it is a schema");
        for (value, expected) in [
            (json!({ "to": {} }), vec![]),
            (json!({}), vec!["to: is missing"]),
            (json!({ "to": { "id": 5 } }), vec!["to.id: expected string, got 5"]),
            (json!({ "to": { "id": "long" } }), vec!["to.id: expected at most 3 characters, got 4"]),
            (json!({ "to": {}, "amount": 0 }), vec!["amount: expected at least 1, got 0"]),
            (json!({ "to": {}, "amount": 10 }), vec!["amount: 10 is not below 10"]),
            (json!({ "to": {}, "amount": 1.2 }), vec!["amount: 1.2 is not a multiple of 0.5"]),
            (json!({ "to": {}, "tags": ["a", "c"] }), vec!["tags.1: expected one of \"a\", \"b\", got \"c\""]),
            (json!({ "to": {}, "tags": ["a", "a", "b"] }), vec!["tags: expected at most 2 entries, got 3"]),
            (json!({ "to": {}, "either": null }), vec![]),
            (json!({ "to": {}, "either": 1 }), vec!["either: 1 fits 0 of the 2 choices"]),
            (json!({ "to": {}, "more": 1 }), vec!["more: is not a property of the schema"]),
            (json!({ "to": {}, "user": "EVIL" }), vec!["user: \"EVIL\" does not match ^u_[0-9]+$"]),
            (json!({ "to": {}, "list": [1, 1] }), vec!["list: [1,1] has an entry twice"]),
            (json!({ "to": {}, "other": 1 }), vec!["other: 1 is what the schema excludes"]),
            (json!({ "to": {}, "same": "EVIL" }), vec!["same: \"EVIL\" does not match ^u_[0-9]+$"]),
            (json!({ "to": {}, "x_1": "a" }), vec!["x_1: expected number, got \"a\""]),
            (json!([]), vec!["expected object, got []"]),
        ] {
            let found: Vec<String> = schema.issues(&value).iter().map(Issue::to_string).collect();
            assert_eq!(found, expected, "{value}");
        }
    }

    #[test]
    fn tuples_of_both_drafts_are_checked_and_invalid_schemas_are_reported() {
        for tuple in [json!({ "items": [{ "const": 1 }] }), json!({ "prefixItems": [{ "const": 1 }] })] {
            assert_eq!(misfit(&tuple, &json!([2])), Some("0: expected 1, got 2".to_owned()), "{tuple}");
        }
        for schema in [json!({ "pattern": "(" }), json!({ "type": 5 }), json!({ "$ref": "http://localhost/x" })] {
            assert!(misfit(&schema, &json!("a")).is_some_and(|text| text.contains("not a JSON Schema")), "{schema}");
        }
    }
}
