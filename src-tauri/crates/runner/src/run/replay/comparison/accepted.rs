//! What a request is expected to do if all that differs is accepted.

use std::collections::BTreeMap;

use engine::path::ROOT;
use engine::views::trace::Did;
use serde_json::Value;

use super::{Expectation, FORM, FORM_OF_TODAY, Trace, first_difference, without_abort};

/// What differs between two traces, as far as the first one came.
pub(super) fn changes(was: &Trace, is: &Trace, has_ended: bool) -> Expectation {
    let mut changes = BTreeMap::new();
    for (path, was) in was {
        match is.get(path) {
            Some(is) if first_difference(path, without_abort(was), is).is_some() || is.len() > was.len() => {
                changes.insert(path.clone(), all(is));
            }
            Some(_) => {}
            None => drop(changes.insert(path.clone(), None)),
        }
    }
    for (path, did) in is.iter().filter(|(path, _)| has_ended && !was.contains_key(*path)) {
        changes.insert(path.clone(), all(did));
    }
    Expectation(changes)
}

/// Adds what the action's root block does: a request ends as that does.
pub(super) fn add_end(changes: &mut Expectation, is: &Trace) {
    if let Some(did) = is.get(ROOT) {
        changes.0.insert(ROOT.into(), all(did));
    }
}

/// What a block did, as it is stored.
fn all(did: &[Did]) -> Option<Vec<Value>> {
    let mut all: Vec<Value> = did.iter().map(|did| did.what.clone()).collect();
    if let Some(first) = all.first_mut().and_then(Value::as_object_mut) {
        first.insert(FORM.to_owned(), FORM_OF_TODAY.into());
    }
    Some(all)
}
