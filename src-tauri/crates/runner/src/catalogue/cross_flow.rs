//! Whether the flows of a folder can share the states that they share: a user's, a project's, and resources of both
//! (SEMANTICS §4.6).
//!
//! The first flow by path keeps what it declares. Must not look at stored states.

use std::collections::HashMap;

use engine::flow::{SharedClash, SharedState};
use engine::scope::ScopeKind;
use script::{FlowDescription, LoadError, LoadErrorKind};
use serde_json::Value;

/// The state of a scope, or a resource of it.
type Place<'f> = (&'static str, Option<&'f str>);

/// A flow, and its file in the workspace.
pub(super) type InFile<'f> = (&'f FlowDescription, &'f str);

/// A flow's declaration of a field, and where the field is among those of the flow's declaration.
struct Declared<'f> {
    by: InFile<'f>,
    /// The place of the flow among all flows, and that of the field in its declaration.
    order: (usize, usize),
    shape: &'f Value,
}

/// For each flow, returns its conflict with the shared state of an earlier flow, if there is one. A declaration of a
/// field is only compared with the different declarations of the same field.
pub(super) fn conflicts<'f>(flows: impl Iterator<Item = InFile<'f>>) -> Vec<Option<LoadError>> {
    let mut declared: HashMap<Place<'f>, HashMap<&'f str, Vec<Declared<'f>>>> = HashMap::new();
    let mut found = Vec::new();
    for (at, own) in flows.enumerate() {
        let (flow, _) = own;
        let conflict = flow.shared.iter().find_map(|two| {
            let fields = declared.get(&place(two))?;
            // Of several, the one with the earliest flow, and there in its first field.
            let clashes = two.fields().filter_map(|(field, shape)| {
                let others = fields.get(field)?.iter().filter(|one| one.by.0.kind != flow.kind);
                others.map(|one| (one, compared(field, one.shape, shape))).find_map(|(one, clash)| Some((one, clash?)))
            });
            let (one, clash) = clashes.min_by_key(|(one, _)| one.order)?;
            Some(error(one.by, own, two, clash))
        });
        if conflict.is_none() {
            for shared in &flow.shared {
                let fields = declared.entry(place(shared)).or_default();
                for (number, (field, shape)) in shared.fields().enumerate() {
                    let others = fields.entry(field).or_default();
                    if !others.iter().any(|other| other.shape == shape) {
                        others.push(Declared { by: own, order: (at, number), shape });
                    }
                }
            }
        }
        found.push(conflict);
    }
    found
}

fn compared(field: &str, one: &Value, two: &Value) -> Option<SharedClash> {
    #[cfg(test)]
    tests::COMPARED.set(tests::COMPARED.get() + 1);
    SharedClash::of(field, one, two)
}

fn place(shared: &SharedState) -> Place<'_> {
    (shared.scope.as_str(), shared.resource.as_deref())
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use serde_json::json;

    use super::*;

    thread_local! {
        /// How many pairs of declarations were compared.
        pub(super) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    fn flow(kind: &str, properties: Value) -> FlowDescription {
        let state = json!({ "scope": "user", "schema": { "type": "object", "properties": properties } });
        let flow = json!({ "kind": kind, "actions": [], "client": false, "countsOnOrg": false, "isolated": [],
            "shared": [state], "resolves": false, "warnings": [] });
        serde_json::from_value(flow).unwrap()
    }

    fn conflicts_of(flows: &[FlowDescription]) -> Vec<Option<String>> {
        let found = conflicts(flows.iter().map(|flow| (flow, "flow.ts")));
        found.into_iter().map(|conflict| conflict.map(|error| error.message)).collect()
    }

    #[test]
    fn a_conflict_is_with_the_earliest_flow_and_its_first_field() {
        let (text, number) = (json!({ "type": "string" }), json!({ "type": "number" }));
        let flows = [
            flow("a", json!({ "x": text, "y": text })),
            flow("b", json!({ "z": text })),
            flow("c", json!({ "z": number, "y": number, "x": number })),
            // A flow with a conflict declares nothing.
            flow("d", json!({ "z": text, "x": text })),
        ];
        let found = conflicts_of(&flows);
        assert_eq!((&found[0], &found[1], &found[3]), (&None, &None, &None));
        let message = found[2].as_ref().unwrap();
        assert!(message.contains("Flows \"a\" and \"c\"") && message.contains("field \"x\""), "{message}");
    }

    /// All flows share one field, and each has one of its own.
    #[test]
    fn twice_as_many_flows_take_twice_as_many_comparisons() {
        let compared = |number: usize| {
            let one = |at: usize| {
                let own = format!("own{at}");
                flow(&format!("flow{at}"), json!({ "all": { "type": "string" }, own: { "type": "string" } }))
            };
            let flows: Vec<FlowDescription> = (0..number).map(one).collect();
            COMPARED.set(0);
            assert!(conflicts_of(&flows).iter().all(Option::is_none));
            COMPARED.get()
        };
        assert_eq!((compared(100), compared(200)), (99, 199));
    }
}
