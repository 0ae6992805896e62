//! The state at an instant, scope by scope, and the differences between two instants, in pages.

use std::sync::Arc;

use serde_json::Value;

use super::cache::Instant;
use super::cut::cut_agent;
use super::measured::Room;
use crate::core::fault::Fault;
use crate::views::*;
use crate::workspace::{At, Workspace};

const MAX_SCOPES: u64 = 200;
const MAX_CHANGES: u64 = 200;
/// The scope under which the `FlowState` of an agent is read.
const FLOW_STATE: &str = "flowState";

/// The names of a scope, before its value is packed.
pub(super) struct ScopeName {
    pub(super) id: String,
    scope: &'static str,
    name: Option<String>,
    version: Option<u64>,
}

/// Takes a state apart into its scopes, in the order in which they are shown, each with its value; with what is left.
pub(super) fn scopes(mut state: StateView) -> (StateView, Vec<(ScopeName, Value)>) {
    let mut found = Vec::new();
    let versions = std::mem::take(&mut state.versions);
    let mut add = |scope: &'static str, name: Option<String>, value: Value| {
        let id = name.as_ref().map_or_else(|| scope.to_owned(), |name| format!("{scope} {name}"));
        let version = versions.get(name.as_deref().unwrap_or(scope)).copied();
        found.push((ScopeName { id, scope, name, version }, value));
    };
    let fixed = [
        ("request", state.request.take()),
        ("session", state.session.take()),
        ("user", state.user.take()),
        ("project", state.project.take()),
    ];
    for (scope, value) in fixed {
        if let Some(Json(value)) = value {
            add(scope, None, value);
        }
    }
    for (name, Json(value)) in std::mem::take(&mut state.sequencers) {
        add("sequencer", Some(name), value);
    }
    for (name, Json(mut value)) in std::mem::take(&mut state.resources) {
        if let (Value::Object(fields), Some(text)) = (&mut value, state.contents.remove(&name)) {
            fields.insert("$content".to_owned(), Value::String(text));
        }
        add("resource", Some(name), value);
    }
    if let Some(Json(value)) = state.flow_state.take() {
        add(FLOW_STATE, None, value);
    }
    // The inputs of ticks show it in the window.
    state.call_state = None;
    state.call_instances.clear();
    (state, found)
}

impl Workspace {
    /// The scopes of an instant, from one on.
    pub fn state_scopes(&self, request: &str, query: &ScopesQuery) -> Result<ScopesPage, Fault> {
        if query.limit > MAX_SCOPES || query.also.len() as u64 > MAX_SCOPES {
            return Err(Fault::invalid(format!("at most {MAX_SCOPES} scopes are read at once")));
        }
        let instant = self.instant(request, query.seq)?;
        let mut room = Room::new();
        let address =
            |id: &str| PayloadAddress::State { request: request.to_owned(), seq: query.seq, scope: id.to_owned() };
        let total = instant.scopes.len() as u64;
        if query.offset > total {
            return Err(Fault::invalid(format!("an offset of {}: there are {total} scopes", query.offset)));
        }
        let mut head = instant.head.clone();
        let asked = query.offset..query.offset.saturating_add(query.limit);
        for (at, scope) in (0..).zip(&instant.scopes) {
            if asked.contains(&at) || query.also.contains(&scope.id) {
                let value = self.fit(&scope.value, &mut room, || address(&scope.id))?;
                head.scopes.push(ScopeParts { value, ..scope.clone() });
            }
        }
        if let Some(flow_state) = &instant.head.flow_state {
            head.flow_state = Some(self.fit(flow_state, &mut room, || address(FLOW_STATE))?);
        }
        Ok(head)
    }

    /// What an instant holds, made once for all questions about it.
    fn instant(&self, request: &str, seq: u64) -> Result<Arc<Instant>, Fault> {
        let version = self.version_of(request)?;
        if let Some(known) = self.payloads.instants().get(&version, &seq) {
            return Ok(known);
        }
        let (rest, found) = scopes(self.state_at(request, Some(&At::Seq(seq)))?);
        let mut packed = Vec::with_capacity(found.len());
        let mut flow_state = None;
        for (name, value) in found {
            let ScopeName { id, scope, name, version } = name;
            let at = || PayloadAddress::State { request: request.to_owned(), seq, scope: id.clone() };
            let value = self.pack_alone(value, at)?;
            if scope == FLOW_STATE {
                flow_state = Some(value);
            } else {
                packed.push(ScopeParts { id, scope: scope.to_owned(), name, version, value });
            }
        }
        let total = packed.len() as u64;
        let agent = rest.agent.map(cut_agent);
        let head = ScopesPage { seq, at: rest.at, total, scopes: Vec::new(), agent, flow_state };
        let instant = Arc::new(Instant { head, scopes: packed });
        self.payloads.instants().put(version, seq, instant.clone());
        Ok(instant)
    }

    /// A page of the differences between two instants: of all scopes, or of the `FlowState` of an agent.
    pub fn diff_page(
        &self,
        request: &str,
        (from, to): (u64, u64),
        is_flow: bool,
        (offset, limit): (u64, u64),
    ) -> Result<ChangePage, Fault> {
        if limit > MAX_CHANGES {
            return Err(Fault::invalid(format!("a limit of {limit}: at most {MAX_CHANGES} differences at once")));
        }
        let (version, span) = (self.version_of(request)?, (from, to, is_flow));
        let known = self.payloads.changes().get(&version, &span);
        let all = match known {
            Some(known) => known,
            None => {
                let mut all = Vec::new();
                for (n, change) in (0..).zip(self.all_changes(request, from, to, is_flow)?) {
                    all.push(
                        self.change_parts(change, |value, old| self.pack_alone(value, || side(request, span, n, old)))?,
                    );
                }
                let all = Arc::new(all);
                self.payloads.changes().put(version, span, all.clone());
                all
            }
        };
        let total = all.len() as u64;
        if offset > total {
            return Err(Fault::invalid(format!("an offset of {offset}: there are {total} differences")));
        }
        let mut room = Room::new();
        let mut changes = Vec::new();
        let page = (0..).zip(all.iter()).skip(usize::try_from(offset).unwrap_or(usize::MAX));
        for (n, change) in page.take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            let mut fitted = change.clone();
            for (value, old) in [(&mut fitted.old, true), (&mut fitted.new, false)] {
                if let Some(packed) = value {
                    *packed = self.fit(packed, &mut room, || side(request, span, n, old))?;
                }
            }
            changes.push(fitted);
        }
        Ok(ChangePage { total, changes })
    }

    pub(super) fn all_changes(&self, request: &str, from: u64, to: u64, is_flow: bool) -> Result<Vec<Change>, Fault> {
        if is_flow {
            return self.flow_state_diff(request, from, to);
        }
        self.diff(request, Some(&At::Seq(from)), Some(&At::Seq(to)), None)
    }

    /// A change with both of its values packed; `pack` is told whether a value is the one before.
    pub(super) fn change_parts(
        &self,
        change: Change,
        mut pack: impl FnMut(Value, bool) -> Result<Payload, Fault>,
    ) -> Result<ChangeParts, Fault> {
        Ok(ChangeParts {
            scope: change.scope,
            instance_id: change.instance_id,
            path: change.path,
            kind: change.kind,
            old: change.old.map(|Json(value)| pack(value, true)).transpose()?,
            new: change.new.map(|Json(value)| pack(value, false)).transpose()?,
            seq: change.seq,
            by: change.by,
        })
    }
}

fn side(request: &str, (from, to, flow): (u64, u64, bool), n: u64, old: bool) -> PayloadAddress {
    PayloadAddress::Change { request: request.to_owned(), from, to, n, flow, old }
}
