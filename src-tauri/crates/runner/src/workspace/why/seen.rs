//! Fields of states that a block saw before it made a value: of its own state, of the sequencers around it, of the
//! request, of the session, the user and the project, and of resources.
//!
//! Only fields of the same name are compared; the text of a resource has several names. Must not claim that the block
//! has read one of them.

use std::cmp::Reverse;

use engine::event::{BlockKind, Seq};
use engine::identity::StateOwner;
use engine::path::is_at_or_inside;
use serde_json::Value;

use super::causes::Cause;
use super::log::RequestLog;
use super::near::{field_of, named};
use super::own::CodeText;
use super::record::NO_EXECUTION;
use super::spot::{Spot, StateSpot, name_in};
use super::walk::{MAX_DEPTH, Walk, edge};
use super::writes::in_write;
use crate::core::fault::Fault;
use crate::views::{Json, StateView, WhyEdge, WhyKind, WhyPlace, WhySpot};
use crate::workspace::At;

/// A field of a state.
pub(super) enum Seen {
    State(StateSpot),
    /// The write of a resource that left it: a resource has no history by name.
    Resource(Spot),
}

impl Seen {
    pub(super) fn view(&self) -> WhySpot {
        match self {
            Seen::State(state) => state.view(),
            Seen::Resource(write) => write.view(),
        }
    }
}

impl Walk<'_> {
    /// The fields of the same name that equal a value, in the states that its block saw after an event; those of the
    /// nearest state first.
    pub(super) fn states_seen(&self, spot: &Spot, value: &Value, seq: Seq) -> Vec<Seen> {
        let record = spot.record();
        if record.execution == NO_EXECUTION || record.place == WhyPlace::Prompt {
            return Vec::new();
        }
        let (Some(name), Some(path)) = (field_of(spot), self.maker_of(spot).1) else { return Vec::new() };
        let log = &spot.log;
        // A request of another framework has no state.
        let Ok(mut view) = self.workspace.state_at(&log.row.id, Some(&At::Seq(seq))) else { return Vec::new() };
        let resources = std::mem::take(&mut view.resources);
        let contents = std::mem::take(&mut view.contents);
        let states = scopes_around(log, &path, view).into_iter().filter_map(|(scope, state)| {
            let pointer = named(&state, &name, value)?;
            let address = name_in(&scope, &pointer);
            Some(Seen::State(StateSpot { log: log.clone(), address, scope, pointer, seq, value: value.clone() }))
        });
        let resources = resources.into_iter().filter_map(|(scope, Json(state))| {
            let pointer = named(&state, &name, value)?;
            left_in(spot, &scope, seq, (&pointer, value)).map(Seen::Resource)
        });
        let text = value.as_str();
        let contents = contents.into_iter().filter_map(|(scope, content)| {
            let is_it = text == Some(&*content) && is_name_of_text(&name, &scope);
            let found = is_it.then(|| left_in(spot, &scope, seq, ("/$content", value)));
            found.flatten().map(Seen::Resource)
        });
        states.chain(resources).chain(contents).collect()
    }

    /// Adds that a state that the block saw has the same field, and explains it.
    pub(super) fn copied_from_state(
        &mut self,
        spot: &Spot,
        state: &Seen,
        (depth, code): (u32, Option<CodeText>),
        ties: Vec<WhySpot>,
    ) -> Result<(), Fault> {
        let others = ties.len() as u64;
        let state = match state {
            Seen::State(state) => state,
            Seen::Resource(write) => {
                let cause = Cause::tied(write.clone(), others, ties);
                return self.copied_or_code(spot, cause, (depth, Some("state_seen")), code);
            }
        };
        let by = code.and_then(|code| self.source_of(spot, code.at));
        let (of, operation) = (Some(state.view()), Some("state_seen".to_owned()));
        let others = Some(others).filter(|others| *others > 0);
        let copied = edge(WhyKind::Copied, depth, spot.view());
        let is_pushed = self.push(WhyEdge { of, operation, by, others, ties, ..copied });
        if depth >= MAX_DEPTH {
            self.truncated = true;
            return Ok(());
        }
        if is_pushed { self.explain_state(state, depth + 1) } else { Ok(()) }
    }
}

/// The states that the block at a path sees, the nearest first, by the names of their scopes.
fn scopes_around(log: &RequestLog, path: &str, view: StateView) -> Vec<(String, Value)> {
    let mut around: Vec<(String, u32, Value)> = Vec::new();
    for (id, Json(state)) in view.sequencers {
        let Some(owner) = StateOwner::parse(&id).map(|owner| owner.instance) else { continue };
        if is_at_or_inside(path, owner.path) {
            around.push((owner.path.to_owned(), owner.attempt, state));
        }
    }
    // Of several attempts, the newest one is there.
    around.sort_by_key(|(path, attempt, _)| Reverse((path.len(), *attempt)));
    around.dedup_by(|later, kept| later.0 == kept.0);
    let of_blocks = around.into_iter().map(|(path, attempt, state)| {
        let own = log.execution(&path, attempt).and_then(|at| log.executions.get(at as usize));
        let kind = if own.is_some_and(|own| own.kind == BlockKind::Sequencer) { "sequencer" } else { "block" };
        (format!("{kind}[{path}]"), state)
    });
    let records =
        [("request", view.request), ("session", view.session), ("user", view.user), ("project", view.project)];
    let records = records.into_iter().filter_map(|(scope, state)| Some((scope.to_owned(), state?.0)));
    of_blocks.chain(records).collect()
}

/// Whether a field has a name that the text of a resource has: that of the resource, or that of any text.
fn is_name_of_text(name: &str, scope: &str) -> bool {
    name == "content" || name == "text" || scope.rsplit('/').next() == Some(name)
}

/// The newest write up to an event that left a value at a place of a resource.
fn left_in(spot: &Spot, scope: &str, seq: Seq, (place, value): (&str, &Value)) -> Option<Spot> {
    let log = &spot.log;
    let end = log.records.partition_point(|record| record.seq <= seq);
    let is_state = |at: &usize| log.records[*at].place == WhyPlace::State && log.records[*at].counts;
    (0..end).rev().filter(is_state).find_map(|at| {
        let (name, _, has_history) = log.scope_of(&log.records[at])?;
        if has_history || name != scope {
            return None;
        }
        let write = in_write(log, at, place);
        (write.value().as_deref() == Some(value)).then_some(write)
    })
}
