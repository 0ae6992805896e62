//! The events that a fork has of its own before it goes on.

use engine::event::{Event, EventKind, ForkedFrom, KeptPart, Recorded, ScopeCommit, Seq};
use engine::flow::Flow;
use engine::log::Record;
use engine::request::StartRequest;
use engine::scope::ScopeKey;

use super::edits::{Set, Whose, check, declared};
use crate::core::fault::Fault;
use crate::effects::outside::now_ms;
use crate::workspace::experiment::AnsweredBeside;

pub(super) fn started(
    asked: &StartRequest,
    input: Recorded,
    flow: &Flow,
    (from, kept): (&ForkedFrom, Vec<KeptPart>),
    parses_once: bool,
) -> Event {
    let kind = EventKind::RequestStarted {
        flow: flow.kind.to_string(),
        action: asked.action.clone(),
        session: asked.session.clone(),
        user: asked.user.clone(),
        project: asked.project.clone(),
        ephemeral: false,
        mock: asked.mock.clone(),
        code_hash: flow.code_hash.clone(),
        input,
        retry_of: None,
        trigger: asked.trigger.clone(),
        dispatched_by: asked.dispatched_by.clone(),
        owner: asked.owner.clone(),
        claim: None,
        forked_from: Some(from.clone()),
        kept,
        retention: flow.settings.retention,
        cleanup_checkpoints: flow.settings.cleanup_checkpoints,
        isolated: asked.isolated.kinds.clone(),
        user_by_org: asked.isolated.user_by_org,
        parses_once,
        time_zone: asked.time_zone.clone(),
        foreign: None,
    };
    Event { seq: 1, at: now_ms(), path: None, attempt: 0, kind }
}

/// The events of a fork that are its own before it goes on.
pub(super) struct Draft {
    pub(super) seq: Seq,
    pub(super) events: Vec<Event>,
}

impl Draft {
    pub(super) fn push(&mut self, path: Option<std::sync::Arc<str>>, attempt: u32, kind: EventKind) -> Seq {
        self.seq += 1;
        self.events.push(Event { seq: self.seq, at: now_ms(), path, attempt, kind });
        self.seq
    }

    /// What blocks in flight have been answered, as if that had been before the fork.
    pub(super) fn answered(&mut self, answered: &[AnsweredBeside]) {
        for AnsweredBeside { path, attempt, request, ended } in answered {
            let EventKind::EffectFinished { effect, ordinal, started, result, error, dispatch, .. } = ended.clone()
            else {
                continue;
            };
            let started = match request {
                Some(request) => {
                    let asked = EventKind::EffectStarted { effect, ordinal, request: Some(request.clone()) };
                    Some(self.push(Some(path.clone()), *attempt, asked))
                }
                None => started,
            };
            let (request, memoized) = (None, true);
            let ended =
                EventKind::EffectFinished { effect, ordinal, started, request, result, error, memoized, dispatch };
            self.push(Some(path.clone()), *attempt, ended);
        }
    }

    /// The first state of the fork's records, edits included. Refused where a schema of today refuses it.
    pub(super) fn records(&mut self, records: Vec<(ScopeKey, Record)>, sets: &[Set], flow: &Flow) -> Result<(), Fault> {
        let mut commits = Vec::new();
        for (scope, Record { state, mut version }) in records {
            let mut state = (*state).clone();
            for set in sets.iter().filter(|set| set.whose == Whose::Durable(scope.kind)) {
                for (field, value) in set.patch(&state)? {
                    check(&set.text, declared(flow, scope.kind), &field, &value)?;
                    state.set(&field, std::sync::Arc::new(value));
                    version += 1;
                }
            }
            if state.is_empty() && version == 0 {
                continue;
            }
            let first = EventKind::StateInitialized { scope: scope.clone(), state: state.to_json(), durable: true };
            let seq = self.push(None, 0, first);
            commits.push(ScopeCommit { scope, from: 0, version, operations: vec![seq], rebased: Vec::new() });
        }
        if !commits.is_empty() {
            self.push(None, 0, EventKind::Committed { commits });
        }
        Ok(())
    }
}
