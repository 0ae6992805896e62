//! The states that a flow shares with other flows, and whether two flows can share one (SEMANTICS §4.6).
//!
//! All flows that do not isolate them share the states and resources of users and projects. Must not know which flows
//! there are.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Flow;
use super::clash::clash;
use crate::model::resource::Shape;
use crate::model::scope::ScopeKind;

/// A declaration of a state that other flows may declare, too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SharedState {
    /// The user or the project.
    pub scope: ScopeKind,
    /// The `ref` of a resource, or the pattern of a collection; absent for the state of the scope.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource: Option<String>,
    /// Whether it is a collection.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_collection: bool,
    /// The JSON Schema of what it accepts.
    #[serde(deserialize_with = "crate::model::json::exact")]
    pub schema: Value,
}

/// A field that two flows declare so that no value is valid for both.
pub struct SharedClash {
    /// The field.
    pub field: String,
    /// The values that the first accepts.
    pub one: String,
    /// The values that the second accepts.
    pub two: String,
}

impl SharedState {
    /// Returns the fields that it declares, with the JSON Schema of each.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.schema["properties"].as_object().into_iter().flatten().map(|(name, shape)| (name.as_str(), shape))
    }
}

impl SharedClash {
    /// Returns the clash of two declarations of one field, if no value is valid for both.
    pub fn of(field: &str, one: &Value, two: &Value) -> Option<SharedClash> {
        let found = clash(one, two)?;
        Some(SharedClash { field: format!("{field}{}", found.path), one: found.one, two: found.two })
    }
}

/// Returns the states that a flow shares with others. `isolated` are the scopes that it does not share.
pub fn shared_states(flow: &Flow, isolated: &[ScopeKind]) -> Vec<SharedState> {
    let is_shared = |scope: ScopeKind| matches!(scope, ScopeKind::User | ScopeKind::Project);
    let declared = flow.declarations.iter().filter(|one| is_shared(one.scope) && !isolated.contains(&one.scope));
    let of_scopes = declared.map(|one| SharedState {
        scope: one.scope,
        resource: None,
        is_collection: false,
        schema: one.schema.describe_accepted(),
    });
    let resources = flow.resources.with(std::iter::empty());
    let resources = resources.into_iter().filter(|one| is_shared(one.scope) && !one.isolated);
    let of_resources = resources.filter_map(|one| {
        let (name, is_collection) = match &one.shape {
            Shape::Single(path) => (path.clone(), false),
            Shape::Collection(collection) => (collection.pattern.text().to_owned(), true),
        };
        let schema = one.schema.as_ref()?.describe_accepted();
        Some(SharedState { scope: one.scope, resource: Some(name), is_collection, schema })
    });
    of_scopes.chain(of_resources).collect()
}
