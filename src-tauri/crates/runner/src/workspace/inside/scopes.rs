//! The state of every scope as a block sees it at one of its statements: what is in force, and what the execution has
//! written itself, which takes effect when the block ends.

use engine::event::{EventKind, RequestStatus};
use engine::identity::StateOwner;
use engine::state::State;
use engine::views::place::Place;
use serde_json::Value;

use super::super::{At, Workspace};
use crate::core::fault::Fault;
use crate::views::{Instant, Json, ScopeSeen};

impl Workspace {
    /// Returns the state of every scope that the block of an instant sees before its statement.
    pub fn scopes_seen(&self, request: &str, instant: &Instant) -> Result<Vec<ScopeSeen>, Fault> {
        let view = self.state_at(request, Some(&At::Seq(instant.seq)))?;
        let records =
            [("request", view.request), ("session", view.session), ("user", view.user), ("project", view.project)];
        let records = records.into_iter().filter_map(|(name, state)| Some((name.to_owned(), state?)));
        let blocks = view.sequencers.into_iter().map(|(instance, state)| {
            let path = StateOwner::parse(&instance).map(|owner| owner.instance.path.to_string());
            (format!("sequencer[{}]", path.unwrap_or(instance)), state)
        });
        let flow = view.flow_state.into_iter().map(|state| ("FlowState".to_owned(), state));
        let seen = |(scope, value): (String, Json)| ScopeSeen { scope, value, not_in_force: Vec::new() };
        let mut scopes: Vec<ScopeSeen> = records.chain(blocks).chain(flow).map(seen).collect();
        let is_live = self.request(request)?.status != RequestStatus::Interrupted;
        for key in self.store.scopes_of(request).map_err(Fault::internal)? {
            if !key.kind.is_durable() {
                continue;
            }
            let Some(scope) = scopes.iter_mut().find(|scope| scope.scope == key.kind.as_str()) else { continue };
            let writes = self.store.writes(&key, request, &Place::default(), is_live).map_err(Fault::internal)?;
            let mut state: Option<State> = None;
            for write in &writes {
                let event = &write.event;
                let is_pending = event.seq <= instant.seq && instant.seq < write.committed;
                let is_own = event.path.as_deref() == Some(&*instant.path) && event.attempt == instant.attempt;
                let EventKind::StateChanged { operation, .. } = &event.kind else { continue };
                if !is_pending || !is_own {
                    continue;
                }
                let state = state.get_or_insert_with(|| State::recorded(&scope.value.0));
                let touched: Vec<String> = operation.touched(state).into_iter().map(str::to_owned).collect();
                let is_new = |field: &String| !scope.not_in_force.contains(field);
                let fresh: Vec<String> = touched.into_iter().filter(is_new).collect();
                scope.not_in_force.extend(fresh);
                operation.apply(state);
            }
            if let Some(state) = state {
                scope.value = Json(state.to_json());
            }
        }
        scopes.retain(|scope| scope.scope != "request" || !is_empty(&scope.value.0));
        Ok(scopes)
    }
}

fn is_empty(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
}
