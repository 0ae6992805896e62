//! The states of a request's scopes as steps: what a page makes the state of any instant from.
//!
//! The file grows with what was written, never with the number of events times the size of a state.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use engine::event::{Event, ForkedFrom, RequestStatus, Seq};
use engine::identity::StateOwner;
use engine::resource::record::EXISTS;
use engine::scope::{ScopeKey, ScopeKind};
use serde_json::{Value, json};

use super::track::Track;
use crate::core::fault::Fault;
use crate::views::RequestRow;
use crate::workspace::Workspace;
use crate::workspace::instances::is_of_block;
use crate::workspace::records::instance_of;
use crate::workspace::writers::StateEdit;

impl Workspace {
    /// The states that a request has or had, in the order in which they are shown. `events` is its whole log.
    pub(super) fn tracks(&self, row: &RequestRow, events: &[Event]) -> Result<Vec<Track>, Fault> {
        let paths: HashMap<Seq, &Arc<str>> =
            events.iter().filter_map(|event| Some((event.seq, event.path.as_ref()?))).collect();
        let last = row.last_seq;
        let scopes = self.store.scopes_of(&row.id).map_err(Fault::internal)?;
        let forked = row.forked_from.as_ref().map_or(0, |from| from.seq);
        let mut tracks: Vec<Track> = scopes.iter().map(|scope| Track::new(scope.clone())).collect();
        // What a fork carries over is there from its first own event on.
        let carried = match &row.forked_from {
            Some(from) => scopes.iter().map(|scope| self.carried(scope, row, from)).collect::<Result<Vec<_>, _>>()?,
            None => Vec::new(),
        };
        // The newest state of each before a fork leaves its request: what that one had then counts, in its own words.
        let mut before: HashMap<usize, (u64, engine::state::State)> = HashMap::new();
        let visit = |at: usize, step: store::StateStep<'_>| {
            if step.seq > last {
                return;
            }
            let track = &mut tracks[at];
            let begins = step.is_change && track.begins.is_none();
            if begins {
                track.begins = Some(step.seq.max(if forked > 0 { forked + 1 } else { 0 }));
            }
            if forked > 0 && step.seq <= forked {
                // The state of a block stays that of the other request until the fork goes on with the block.
                if step.is_change || !is_of_block(&track.scope) {
                    before.insert(at, (step.version, step.state.clone()));
                }
                return;
            }
            if let Some(edits) = carried.get(at).and_then(|carried| carried.edits_if_recorded_with(step.seq)) {
                before.remove(&at);
                track.begins = Some(forked + 1);
                track.begin_fork((forked + 1, step.version), edits, step.state);
                return;
            }
            if let Some((version, state)) = before.remove(&at) {
                track.reset((forked + 1, version), &state);
            }
            if begins && forked > 0 && is_of_block(&track.scope) {
                track.reset((step.seq, step.version), step.state);
            } else {
                track.step((step.seq, step.version), step.state, step.operation);
            }
            match (step.operation, step.write) {
                (Some(operation), Some(write)) => {
                    track.written(write, operation, paths.get(&write).map(|path| &***path));
                }
                (Some(_), None) => track.written_by_another(),
                (None, _) => {}
            }
        };
        self.store.state_steps(&row.id, &scopes, visit).map_err(Fault::internal)?;
        for (at, (version, state)) in before {
            tracks[at].reset((forked + 1, version), &state);
        }
        if row.status == RequestStatus::Interrupted {
            for track in &mut tracks {
                let at_rest = self.store.state_at_rest(&track.scope, &row.id, row.last_seq).map_err(Fault::internal)?;
                track.step((row.last_seq, at_rest.version), &at_rest.state, None);
            }
        }
        if let Some(from) = &row.forked_from {
            tracks = self.with_those_of_origin(row, from, tracks)?;
        }
        supersede(&mut tracks);
        Ok(tracks)
    }

    /// How a scope of a fork begins.
    fn carried(&self, scope: &ScopeKey, row: &RequestRow, from: &ForkedFrom) -> Result<Carried, Fault> {
        let with = self.recorded_with(scope, row, from)?;
        let edits = if with.is_some() { self.edits_at_beginning(scope, &row.id, from)? } else { Vec::new() };
        Ok(Carried { with, edits })
    }

    /// Puts the steps of the request that a fork leaves before the fork's own.
    fn with_those_of_origin(&self, row: &RequestRow, from: &ForkedFrom, own: Vec<Track>) -> Result<Vec<Track>, Fault> {
        let forked = from.seq;
        let edited = self.edited_blocks(&row.id, from)?;
        let is_edited = |scope: &ScopeKey| match StateOwner::parse(&scope.id).filter(|_| is_of_block(scope)) {
            Some(owner) => edited.contains(owner.instance.path),
            None => scope.kind == ScopeKind::Request,
        };
        let (origin, events) = self.log_of(&from.request_id)?;
        let mut all = Vec::new();
        let mut own: Vec<Option<Track>> = own.into_iter().map(Some).collect();
        for mut track in self.tracks(&origin, &events)? {
            track.steps.retain(|(seq, _)| *seq <= forked);
            track.until = track.until.filter(|seq| *seq <= forked);
            track.begins = track.begins.filter(|seq| *seq <= forked);
            track.scope = self.counterpart(&track.scope, &origin.id, &row.id)?;
            let known = own.iter_mut().find(|one| one.as_ref().is_some_and(|one| one.scope == track.scope));
            if let Some(known) = known.and_then(Option::take) {
                track.steps.extend(known.steps);
                track.begins = track.begins.or(known.begins);
                track.until = None;
            } else if track.scope.kind.is_durable() {
                track.until = Some(forked + 1);
            } else if is_edited(&track.scope) {
                // The fork has not recorded it.
                let edits = self.edits_at_beginning(&track.scope, &row.id, from)?;
                if let Some(edit) = edits.last() {
                    track.begin_fork((forked + 1, track.version()), &edits, &edit.new);
                }
            }
            all.push(track);
        }
        all.extend(own.into_iter().flatten());
        all.sort_by_key(|track| track.scope.kind);
        Ok(all)
    }
}

/// How a scope of a fork begins.
struct Carried {
    /// The event of the fork that records the state.
    with: Option<Seq>,
    /// The edits in it.
    edits: Vec<StateEdit>,
}

impl Carried {
    fn edits_if_recorded_with(&self, seq: Seq) -> Option<&[StateEdit]> {
        (self.with == Some(seq)).then_some(&self.edits)
    }
}

/// Of the executions of one block, a later one that has begun takes the place of those before it.
fn supersede(tracks: &mut [Track]) {
    let mut places: BTreeMap<(ScopeKind, String), Vec<(u32, usize)>> = BTreeMap::new();
    for (at, track) in tracks.iter().enumerate().filter(|(_, track)| is_of_block(&track.scope)) {
        let Some(owner) = StateOwner::parse(&track.scope.id) else { continue };
        let place = (track.scope.kind, owner.instance.path.to_owned());
        places.entry(place).or_default().push((owner.instance.attempt, at));
    }
    for mut attempts in places.into_values() {
        attempts.sort_unstable();
        let mut next: Option<Seq> = None;
        for (_, at) in attempts.into_iter().rev() {
            let track = &mut tracks[at];
            track.until = [track.until, next].into_iter().flatten().min();
            next = [next, track.begins].into_iter().flatten().min();
        }
    }
}

/// What a page reads of a track.
pub(super) fn document(track: Track) -> Value {
    let ScopeKey { kind, id } = &track.scope;
    let steps: Vec<Value> = track.steps.into_iter().map(|(_, step)| Value::Object(step)).collect();
    let mut document = json!({
        "kind": kind.as_str(), "id": &**id, "name": instance_of(&track.scope),
        "begins": track.begins, "until": track.until, "steps": steps,
    });
    if *kind == ScopeKind::Resource {
        document["exists"] = EXISTS.into();
    }
    document
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::{Map, Value};

    use super::*;
    use crate::run::synthetic::{Shape, Synthetic};
    use crate::workspace::{At, OpenOptions};

    /// The state that the steps of a track make, as of an event.
    fn made(track: &Track, seq: Seq) -> Map<String, Value> {
        let mut state: Map<String, Value> = Map::new();
        let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
        for (_, step) in track.steps.iter().filter(|(at, _)| *at <= seq) {
            if step.contains_key("z") {
                state.clear();
            }
            for field in step.get("r").and_then(Value::as_array).into_iter().flatten() {
                state.shift_remove(field.as_str().unwrap());
            }
            state.extend(object(step.get("f")));
            for (field, entries) in object(step.get("p")) {
                state[&field].as_array_mut().unwrap().extend(entries.as_array().unwrap().clone());
            }
            for (field, keys) in object(step.get("k")) {
                state[&field].as_object_mut().unwrap().extend(object(Some(&keys)));
            }
            for (field, keys) in object(step.get("d")) {
                keys.as_array().unwrap().iter().for_each(|key| {
                    state[&field].as_object_mut().unwrap().shift_remove(key.as_str().unwrap());
                });
            }
        }
        state
    }

    #[test]
    fn steps_make_the_state_of_every_instant() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
        let wanted = Synthetic { events: 1_500, requests: 1, seed: 2, shape: Shape::Mixed, rate: None, at_once: 0 };
        let id = workspace.synthesize(&wanted).unwrap().requests.remove(0);
        let (row, events) = workspace.log_of(&id).unwrap();
        let tracks = workspace.tracks(&row, &events).unwrap();
        let mut steps = 0;
        for seq in (1..=row.last_seq).step_by(7) {
            let known = workspace.state_at(&id, Some(&At::Seq(seq))).unwrap();
            for track in &tracks {
                let is_there = track.until.is_none_or(|until| seq < until)
                    && (!is_of_block(&track.scope) || track.begins.is_some_and(|begins| begins <= seq));
                let shown = match track.scope.kind {
                    ScopeKind::Request => known.request.clone(),
                    ScopeKind::Session => known.session.clone(),
                    ScopeKind::User => known.user.clone(),
                    ScopeKind::Project => known.project.clone(),
                    ScopeKind::Resource => continue,
                    _ => known.sequencers.get(&*track.scope.id).cloned(),
                };
                assert_eq!(shown.is_some(), is_there, "{:?} at {seq}", track.scope);
                if let Some(shown) = shown {
                    assert_eq!(shown.0, Value::Object(made(track, seq)), "{:?} at {seq}", track.scope);
                }
            }
            steps += tracks.len();
        }
        assert!(steps > 300, "{steps}");
        // What is written grows with what was done.
        let written: usize = tracks.into_iter().map(|track| document(track).to_string().len()).sum();
        let log: usize = events.iter().map(|event| serde_json::to_string(&event.kind).unwrap().len()).sum();
        assert!(written < 2 * log, "{written} bytes of a log of {log}");
    }
}
