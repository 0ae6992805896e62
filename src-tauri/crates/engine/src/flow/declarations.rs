//! Whether what a flow declares of its scopes can hold together.

use indexmap::IndexMap;
use serde_json::Value;

use super::Flow;
use crate::error::FlowError;
use crate::scope::ScopeKind;

/// Refuses declarations of one scope's field that cannot both hold (authoring, difference 3):
/// a value that satisfies one type can never satisfy the other.
pub fn check_declarations(flow: &Flow) -> Result<(), FlowError> {
    let mut known: IndexMap<(ScopeKind, String), (String, Value)> = IndexMap::new();
    for declaration in &flow.declarations {
        let described = declaration.schema.describe();
        let Some(properties) = described.get("properties").and_then(Value::as_object) else { continue };
        for (field, shape) in properties {
            let key = (declaration.scope, field.clone());
            let Some((owner, other)) = known.get(&key) else {
                known.insert(key, (declaration.owner.clone(), shape.clone()));
                continue;
            };
            let (one, two) = (types(other), types(shape));
            if !one.is_empty() && !two.is_empty() && one.iter().all(|kind| !two.contains(kind)) {
                let scope = declaration.scope.as_str();
                let mut error = FlowError::new(
                    "SchemaConflictError",
                    format!(
                        "{scope} state field \"{field}\" is declared as {} by {owner} and as {} by {}",
                        one.join(" or "),
                        two.join(" or "),
                        declaration.owner
                    ),
                );
                error.code = Some("schema_conflict".to_owned());
                error.details = Some(serde_json::json!({
                    "scope": scope,
                    "field": field,
                    "blocks": [owner, declaration.owner],
                    "types": [other, shape],
                }));
                return Err(error);
            }
        }
    }
    Ok(())
}

/// The JSON types a described schema lets through; empty means any.
fn types(shape: &Value) -> Vec<&str> {
    if let Some(kind) = shape.get("type").and_then(Value::as_str) {
        return vec![if kind == "integer" { "number" } else { kind }];
    }
    if let Some(constant) = shape.get("const") {
        return vec![json_type(constant)];
    }
    let Some(options) = shape.get("anyOf").and_then(Value::as_array) else { return Vec::new() };
    let mut all = Vec::new();
    for option in options {
        let kinds = types(option);
        if kinds.is_empty() {
            return Vec::new();
        }
        all.extend(kinds);
    }
    all
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
