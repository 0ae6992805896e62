//! A flow's declarations of scopes' states: schemas, and defaults of fields.

use serde_json::{Map, Value};

use crate::model::callable::SchemaRef;
use crate::model::flow::Flow;
use crate::model::scope::ScopeKind;

/// Returns every declaration of a scope's state.
pub(crate) fn declared(flow: &Flow, kind: ScopeKind) -> Vec<SchemaRef> {
    flow.declarations.iter().filter(|d| d.scope == kind).map(|d| d.schema.clone()).collect()
}

/// Returns the defaults of all declared fields; the first declaration of a field wins.
pub(crate) fn defaults(schemas: &[SchemaRef]) -> Map<String, Value> {
    let mut all = Map::new();
    for schema in schemas {
        for field in schema.fields().unwrap_or_default() {
            if let Some(default) = &field.default
                && !all.contains_key(&field.name)
            {
                all.insert(field.name.clone(), default.clone());
            }
        }
    }
    all
}
