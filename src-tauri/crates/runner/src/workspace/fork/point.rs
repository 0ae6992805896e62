//! Where forks leave a request: what is read of the request there, once for however many forks.
//!
//! Must not know how forks differ, besides what of a step they edit.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use engine::event::{Event, EventKind, KeptPart, Recorded, Seq};
use engine::identity::{InstanceId, StateOwner};
use engine::log::Record;
use engine::request::StartRequest;
use engine::resource::record;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::Events;
use engine::views::blocks::{BlockView, blocks};
use serde_json::{Map, Value};

use super::agents::AgentBlocks;
use super::edits::{Edits, InputOf};
use super::{before_block, leaves};
use crate::core::fault::Fault;
use crate::views::RequestRow;
use crate::workspace::{At, Workspace};

/// Where a fork leaves its request: the last common event, and the step that it ends with.
pub(super) struct Leaves {
    pub(super) seq: Seq,
    pub(super) step: Option<Event>,
}

/// Where forks leave a request.
pub(crate) struct ForkPoint {
    /// The request.
    pub(super) row: RequestRow,
    /// Its whole log.
    pub(super) events: Arc<Vec<Event>>,
    pub(super) leaves: Leaves,
    /// Which input the forks have instead.
    pub(super) input_of: Option<InputOf>,
    pub(super) agents: AgentBlocks,
    /// What the request was asked, and where its mock script came from.
    pub(super) parent: StartRequest,
    pub(super) origin: Option<String>,
    /// The input of the action, as it was recorded and as a value.
    pub(super) first: Recorded,
    pub(super) given: Option<Value>,
    pub(super) kept: Vec<KeptPart>,
    records: Vec<OwnerRecords>,
    /// Only edits of shared memory need them.
    states: OnceLock<Result<SharedStates, Fault>>,
}

/// The records of a session, a user or a project.
struct OwnerRecords {
    kind: ScopeKind,
    own: Record,
    /// Those of its resources, by what follows the name of their owner.
    resources: Vec<(String, Record)>,
}

/// The states that blocks of the request share.
pub(super) struct SharedStates {
    pub(super) request: Option<Map<String, Value>>,
    /// Of the newest execution at each path that has a state: the name of its block, and the state.
    pub(super) blocks: HashMap<String, (String, Map<String, Value>)>,
}

impl Workspace {
    /// Reads what forks at a place share. `cut` is the last event that both have in common, as if the request had been
    /// interrupted there: what was in flight goes on with the effects that it had. Without one it is the step that the
    /// forks go on from, and what was in flight runs again. Of the edits only counts which parts of a step they edit.
    pub(in crate::workspace) fn fork_point(
        &self,
        row: RequestRow,
        events: Arc<Vec<Event>>,
        cut: Option<Seq>,
        at: &At,
        edits: &Edits,
    ) -> Result<ForkPoint, Fault> {
        let request = row.id.as_str();
        let input_of = InputOf::of(at, &events, edits)?;
        let leaves = match &input_of {
            Some(InputOf::Action) => leaves(request, &events, &At::Seq(0), false)?,
            Some(InputOf::Block(path)) => {
                leaves(request, &events, &At::Seq(before_block(request, &events, path)?), false)?
            }
            None => leaves(request, &events, at, edits.output.is_some())?,
        };
        let leaves = Leaves { seq: cut.unwrap_or(leaves.seq).max(leaves.seq), ..leaves };
        let (parent, origin) = self.asked_before(&row, &events)?;
        let common = Events::new(&events[..events.partition_point(|event| event.seq <= leaves.seq)]);
        let first = common.iter().next().and_then(|event| match &event.kind {
            EventKind::RequestStarted { input, .. } => Some(input.clone()),
            _ => None,
        });
        let given = common.input().cloned();
        let kept = common.iter().next().map(|first| KeptPart::of_fork(first, request, leaves.seq)).unwrap_or_default();
        let records = self.owner_records(request, &parent, (leaves.seq, cut.is_some()))?;
        Ok(ForkPoint {
            agents: AgentBlocks::of(&events),
            leaves,
            input_of,
            parent,
            origin,
            first: first.unwrap_or(Recorded::Undefined),
            given,
            kept,
            records,
            states: OnceLock::new(),
            row,
            events,
        })
    }

    /// The records that were there; at rest, without what was in flight.
    fn owner_records(
        &self,
        request: &str,
        parent: &StartRequest,
        (seq, is_at_rest): (Seq, bool),
    ) -> Result<Vec<OwnerRecords>, Fault> {
        let mut found = Vec::new();
        for kind in [ScopeKind::Session, ScopeKind::User, ScopeKind::Project] {
            let (Some(key), Some(owner)) = (parent.durable_key(kind), parent.owner_key(kind)) else { continue };
            let read = |scope: ScopeKey| -> Result<Record, Fault> {
                let (of, scope, at) = self.original(request, scope, seq)?;
                let found = if is_at_rest {
                    self.store.state_at_rest(&scope, &of, at)
                } else {
                    self.store.state_at(&scope, &of, at)
                };
                found.map_err(Fault::internal)
            };
            let (own, prefix) = (read(key)?, record::prefix(&owner));
            let mut resources = Vec::new();
            for resource in self.store.resource_records_of(&owner).map_err(Fault::internal)? {
                let Some(rest) = resource.id.strip_prefix(&prefix).map(str::to_owned) else { continue };
                resources.push((rest, read(resource)?));
            }
            found.push(OwnerRecords { kind, own, resources });
        }
        Ok(found)
    }

    /// The states that blocks share there.
    pub(super) fn shared_states<'p>(&self, point: &'p ForkPoint) -> Result<&'p SharedStates, Fault> {
        point.states.get_or_init(|| self.read_states(point)).as_ref().map_err(Fault::clone)
    }

    fn read_states(&self, point: &ForkPoint) -> Result<SharedStates, Fault> {
        let ForkPoint { row, events, leaves, .. } = point;
        let view = self.state_at(&row.id, Some(&At::Seq(leaves.seq)))?;
        let all = blocks(Events::new(&events[..events.partition_point(|event| event.seq <= leaves.seq)]), true);
        let newest: HashMap<&str, &BlockView<'_>> = all.iter().map(|block| (&*block.path, block)).collect();
        let mut blocks = HashMap::new();
        for (id, state) in &view.sequencers {
            let Some(owner) = StateOwner::parse(id) else { continue };
            let InstanceId { path, attempt } = owner.instance;
            if let Some(block) = newest.get(path).filter(|block| block.attempt == attempt) {
                let state = state.0.as_object().cloned().unwrap_or_default();
                blocks.entry(path.to_owned()).or_insert_with(|| (block.name.to_string(), state));
            }
        }
        let request = view.request.as_ref().and_then(|state| state.0.as_object().cloned());
        Ok(SharedStates { request, blocks })
    }
}

impl ForkPoint {
    /// The records that a fork begins with, under the keys of its own.
    pub(super) fn records_of(&self, fork: &StartRequest) -> Vec<(ScopeKey, Record)> {
        let mut records = Vec::new();
        for OwnerRecords { kind, own, resources } in &self.records {
            let (Some(key), Some(owner)) = (fork.durable_key(*kind), fork.owner_key(*kind)) else { continue };
            let prefix = record::prefix(&owner);
            records.push((key, own.clone()));
            let copy = |rest: &str| ScopeKey::new(ScopeKind::Resource, format!("{prefix}{rest}"));
            records.extend(resources.iter().map(|(rest, record)| (copy(rest), record.clone())));
        }
        records
    }
}
