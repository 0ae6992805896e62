//! View: writes to durable records as they came into force.
//!
//! An event of such a write tells what its block saw. Where another writer came first, the commit that names
//! the event puts the operation onto a newer record, and tells the value and the version that came of it
//! (SEMANTICS §4.4). The stored event stays as it is: whoever shows it puts this over it.

use crate::model::event::{Event, EventKind, ScopeCommit};

/// Puts the value and the version over a write that this commit names, and leaves every other event alone.
pub fn put_in_force(event: &mut Event, commit: &ScopeCommit) {
    let EventKind::StateChanged { scope, value, version, .. } = &mut event.kind else { return };
    if *scope != commit.scope {
        return;
    }
    let Some((in_force, sums)) = commit.in_force(event.seq) else { return };
    *version = in_force;
    if let Some(sums) = sums {
        *value = Some(sums.clone());
    }
}

/// Whether an event is a write that a later commit decides about.
pub fn waits_for_commit(event: &Event) -> bool {
    matches!(&event.kind, EventKind::StateChanged { scope, .. } if scope.kind.is_durable())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::model::operation::Operation;
    use crate::model::scope::{ScopeKey, ScopeKind};

    #[test]
    fn a_write_has_the_value_and_the_version_of_its_commit() {
        let scope = ScopeKey::new(ScopeKind::Session, "s");
        let by = json!({ "n": 1 }).as_object().cloned().unwrap_or_default();
        let kind = EventKind::StateChanged {
            scope: scope.clone(),
            operation: Operation::Increment { by },
            value: Some(json!({ "n": 1 })),
            version: 1,
        };
        let mut event = Event { seq: 3, at: 0, path: None, attempt: 0, kind };
        // Event 2 fills in defaults, and makes no version.
        let rebased = vec![Value::Null, json!({ "n": 5 }), Value::Null];
        let commit = ScopeCommit { scope, from: 6, version: 8, operations: vec![2, 3, 4], rebased };
        put_in_force(&mut event, &commit);
        let EventKind::StateChanged { value, version, .. } = &event.kind else { unreachable!("it is one") };
        assert_eq!((value, *version), (&Some(json!({ "n": 5 })), 7));
    }
}
