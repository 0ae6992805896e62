//! Shows the record of a scope in a view, under the name of the scope.

use std::sync::Arc;

use engine::log::Record;
use engine::resource::record::{self, Address};
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::Value;

use crate::views::{Json, StateView};

/// Puts a record into the view at its scope. A resource that does not exist is left out.
pub(super) fn put_record(view: &mut StateView, scope: &ScopeKey, record: Record) {
    let version = record.version;
    let mut name = scope.kind.as_str().to_owned();
    if scope.kind == ScopeKind::Resource {
        if record::shown(&record.state).is_none() {
            return;
        }
        name = instance_of(scope).unwrap_or_default();
        // Two collections may have a path in common.
        if view.resources.contains_key(&name) {
            name = scope.id.to_string();
        }
        view.resources.insert(name.clone(), Json(record::fields(&record.state).to_json()));
        if let Some(text) = record::content(&record.state) {
            view.contents.insert(name.clone(), text.to_owned());
        }
    } else {
        let state = Json(Arc::unwrap_or_clone(record.state).into_json());
        match scope.kind {
            ScopeKind::Request => view.request = Some(state),
            ScopeKind::Session => view.session = Some(state),
            ScopeKind::User => view.user = Some(state),
            ScopeKind::Project => view.project = Some(state),
            _ => {
                name = scope.id.to_string();
                view.sequencers.insert(name.clone(), state);
            }
        }
    }
    view.versions.insert(name, version);
}

/// The state of a record for comparisons. A resource's text is under `$content`.
pub(super) fn shown(scope: &ScopeKey, record: Record) -> Option<Value> {
    match scope.kind {
        ScopeKind::Resource => record::shown(&record.state),
        _ => Some(Arc::unwrap_or_clone(record.state).into_json()),
    }
}

/// Distinguishes scopes of one kind: a block's instance, or `<scope>/<path>` of a resource.
pub(super) fn instance_of(scope: &ScopeKey) -> Option<String> {
    match scope.kind {
        ScopeKind::Sequencer | ScopeKind::Block => Some(scope.id.to_string()),
        ScopeKind::Resource => {
            Some(Address::parse(&scope.id).and_then(|found| found.shown()).unwrap_or_else(|| scope.id.to_string()))
        }
        _ => None,
    }
}
