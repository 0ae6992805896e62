//! Whether the flows of a folder can share the states that they share: a user's, a project's, and resources of both
//! (SEMANTICS §4.6).
//!
//! The first flow by path keeps what it declares. Must not look at stored states.

use std::collections::BTreeMap;

use engine::flow::{SharedClash, SharedState};
use engine::scope::ScopeKind;
use script::{FlowDescription, LoadError, LoadErrorKind};

/// The state of a scope, or a resource of it.
type Place = (&'static str, Option<String>);

/// A flow, and its file in the workspace.
pub(super) type InFile<'f> = (&'f FlowDescription, &'f str);

/// Returns why each flow cannot stand beside the flows before it: it declares a shared state so that no value is valid
/// for it and for an earlier flow.
pub(super) fn clashes<'f>(flows: impl Iterator<Item = InFile<'f>>) -> Vec<Option<LoadError>> {
    // Equal schemas are compared once.
    let mut declared: BTreeMap<Place, Vec<(InFile<'f>, &'f SharedState)>> = BTreeMap::new();
    let mut found = Vec::new();
    for own in flows {
        let (flow, _) = own;
        let clash = flow.shared.iter().find_map(|two| {
            let others = declared.get(&place(two)).into_iter().flatten();
            let mut others = others.filter(|((other, _), _)| other.kind != flow.kind);
            others.find_map(|(other, one)| Some(error(*other, own, one, one.clash(two)?)))
        });
        if clash.is_none() {
            for shared in &flow.shared {
                let others = declared.entry(place(shared)).or_default();
                if !others.iter().any(|(_, other)| other.schema == shared.schema) {
                    others.push((own, shared));
                }
            }
        }
        found.push(clash);
    }
    found
}

fn place(shared: &SharedState) -> Place {
    (shared.scope.as_str(), shared.resource.clone())
}

fn error((one, first_file): InFile<'_>, (two, file): InFile<'_>, state: &SharedState, clash: SharedClash) -> LoadError {
    let scope = state.scope.as_str();
    let SharedClash { field, one: first, two: second } = clash;
    let (what, remedy) = match &state.resource {
        None => {
            let flag = if state.scope == ScopeKind::User { "isolateUserState" } else { "isolateProjectState" };
            let remedy = format!("Set {flag}: true on one of the flows to opt out of cross-flow sharing");
            (format!("{scope}.stateSchema"), remedy)
        }
        Some(name) => {
            let (kind, place) = if state.is_collection { ("collection", "pattern") } else { ("resource", "ref") };
            let remedy = format!(
                "Set flowIsolation: true on that {kind} in one of the flows to opt out of cross-flow sharing, give one \
                 a distinct {place}"
            );
            (format!("{scope}.resources.{name}"), remedy)
        }
    };
    let message = format!(
        "CrossFlowSchemaConflictError: Flows \"{}\" and \"{}\" declare incompatible {what} schemas \
         (incompatible-shape: field \"{field}\": {first} vs {second}). {remedy}, or reconcile the schemas. \
         \"{}\" is declared first, in {}",
        one.kind, two.kind, one.kind, first_file
    );
    LoadError::at(LoadErrorKind::Conflict, file, two.defined_at.clone(), message)
}
