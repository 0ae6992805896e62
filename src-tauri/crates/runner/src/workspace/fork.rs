//! Forking: a request goes on from one of its finished steps, in a session of its own, with edits.
//!
//! The fork has the events up to that step in common with the request it comes from. Its session, user
//! and project begin as copies of what they were then, so that no experiment writes to the real ones
//! (decision 9). What was in flight at that step runs again.

use engine::event::{Event, EventKind, ForkedFrom, Outcome, Recorded, RequestStatus, ScopeCommit, Seq};
use engine::flow::Flow;
use engine::log::{Durability, Log};
use engine::operation::Operation;
use engine::request::Asked;
use engine::resource::record;
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use engine::views::place::Place;
use serde_json::{Map, Value};

use super::{At, Mock, Workspace, new_request};
use crate::fault::Fault;
use crate::run::{Before, Opening, Running};
use crate::world::now_ms;

/// What a fork changes.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    /// The action's input.
    pub input: Option<Value>,
    /// What the step gave.
    pub output: Option<Value>,
    /// Places in state, `session.topic` or `sequencer[root/step:plan].steps[0]`, and what is there now.
    pub set: Vec<(String, Value)>,
}

/// A value in some state.
struct Set {
    text: String,
    whose: Whose,
    place: Place,
    value: Value,
}

#[derive(PartialEq)]
enum Whose {
    /// A record of its own: session, user, project.
    Durable(ScopeKind),
    Request,
    /// A sequencer or another block with state, by its path.
    Block(String),
}

/// Where a fork leaves its request: the last common event, and the step that it ends with.
struct Leaves {
    seq: Seq,
    step: Option<Event>,
}

impl Workspace {
    /// Goes on from a finished step of a request as a new request, in a new session.
    pub fn fork(&self, request: &str, at: &At, edits: Edits, mock: &Mock) -> Result<Running, Fault> {
        let (row, events) = self.log_of(request)?;
        let leaves = leaves(&events, self.seq_at(request, Some(at))?, at, edits.output.is_some())?;
        let sets =
            edits.set.iter().map(|(text, value)| Set::parse(text, value.clone())).collect::<Result<Vec<_>, _>>()?;
        for set in &sets {
            set.check_step(leaves.step.as_ref())?;
            if row.project_id.is_none() && set.whose == Whose::Durable(ScopeKind::Project) {
                return Err(Fault::invalid(format!("--set {}: request \"{request}\" has no project", set.text)));
            }
        }
        let (asked, origin) = self.asked_before(&row, &events)?;
        let good = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?;
        let (script, mock) = self.mock_of(&self.mode(mock, origin.as_deref(), &good.bundle.file), &good.bundle.file)?;
        let session: std::sync::Arc<str> = format!("fork_{}", uuid::Uuid::now_v7().simple()).into();
        let is_parsed = edits.input.is_none();
        let parent = asked.clone();
        let asked = Asked {
            request: new_request().into(),
            session: session.clone(),
            fork: Some(session),
            ephemeral: false,
            input: edits.input.map_or(asked.input, |input| Some(input).into()),
            mock,
            retry_of: None,
            claim: None,
            ..asked
        };
        let records = self.records_at(request, &parent, &asked, leaves.seq)?;
        let shared = self.shared_at(request, leaves.seq, &sets)?;
        let step = leaves.step.as_ref().map(|step| (step.path.clone(), step.attempt));
        let forked_from = ForkedFrom { request_id: request.to_owned(), seq: leaves.seq };
        let (store, output) = (self.store.clone(), edits.output);
        let opening: Opening = Box::new(move |asked: &Asked, flow: &Flow| {
            let mut draft = Draft { seq: forked_from.seq, events: vec![started(asked, flow, &forked_from)] };
            draft.records(records, &sets, flow)?;
            if let (Some((path, attempt)), Some(output)) = (&step, output) {
                let kind = EventKind::OutputEdited { output: Recorded::Value(output) };
                draft.push(path.clone(), *attempt, kind);
            }
            for (of, operation) in shared {
                let (path, attempt) = step.clone().unwrap_or_default();
                draft.push(path, attempt, EventKind::StateEdited { of, operation });
            }
            draft.push(None, 0, EventKind::RequestStatus { status: RequestStatus::Interrupted });
            let id = asked.request.clone();
            let written = store.append(&id, draft.events, Durability::Committed);
            futures_executor::block_on(written)
                .map_err(|_| Fault::internal("the store is closed"))?
                .map_err(Fault::internal)?;
            store.events(&id, &store::EventQuery::default()).map_err(Fault::internal)
        });
        let before = Before {
            events,
            stood: RequestStatus::Interrupted,
            answers: Vec::new(),
            is_parsed,
            opening: Some(opening),
        };
        self.start(good, asked, script, before)
    }

    /// The records that a fork begins with: the keys of its own, and what was there.
    fn records_at(
        &self,
        request: &str,
        parent: &Asked,
        fork: &Asked,
        seq: Seq,
    ) -> Result<Vec<(ScopeKey, State)>, Fault> {
        let mut records = Vec::new();
        for kind in [ScopeKind::Session, ScopeKind::User, ScopeKind::Project] {
            let (Some(old), Some(new)) = (parent.durable_key(kind), fork.durable_key(kind)) else { continue };
            let (from, to) = (record::prefix(&old), record::prefix(&new));
            let mut scopes = vec![(old.clone(), new)];
            for resource in self.store.resource_records_of(&old).map_err(Fault::internal)? {
                let Some(rest) = resource.id.strip_prefix(&from) else { continue };
                let copy = ScopeKey::new(ScopeKind::Resource, format!("{to}{rest}"));
                scopes.push((resource.clone(), copy));
            }
            for (old, new) in scopes {
                let (of, old, at) = self.original(request, old, seq)?;
                let found = self.store.state_at(&old, &of, at).map_err(Fault::internal)?;
                records.push((new, (*found.state).clone()));
            }
        }
        Ok(records)
    }

    /// The edits of the request's own state, and of blocks around the step, as operations.
    fn shared_at(&self, request: &str, seq: Seq, sets: &[Set]) -> Result<Vec<(Option<String>, Operation)>, Fault> {
        let mut edits = Vec::new();
        for set in sets {
            let of = match &set.whose {
                Whose::Durable(_) => continue,
                Whose::Request => None,
                Whose::Block(path) => Some(path.clone()),
            };
            let scopes = self.store.scopes_of(request).map_err(Fault::internal)?;
            let scope = scopes.into_iter().rev().find(|scope| match &of {
                None => scope.kind == ScopeKind::Request,
                Some(path) => {
                    matches!(scope.kind, ScopeKind::Sequencer | ScopeKind::Block)
                        && path_of(&scope.id) == Some(path.as_str())
                }
            });
            let state = match scope {
                Some(scope) => self.store.state_at(&scope, request, seq).map_err(Fault::internal)?.state,
                None if of.is_none() => Default::default(),
                None => {
                    return Err(Fault::invalid(format!("--set {}: that block has no state of its own", set.text)));
                }
            };
            edits.push((of, Operation::Patch { fields: set.patch(&state)? }));
        }
        Ok(edits)
    }
}

/// The finished step that a fork goes on from: the newest at or before an event.
fn leaves(events: &[Event], seq: Seq, at: &At, has_output: bool) -> Result<Leaves, Fault> {
    let step = events.iter().rev().filter(|event| event.seq <= seq).find(|event| {
        matches!(&event.kind, EventKind::BlockFinished { outcome: Outcome::Completed | Outcome::Failed, .. })
    });
    match step {
        None if has_output => Err(Fault::invalid("--output: no step has finished there, so there is none to edit")),
        // Nothing but the request itself is common.
        None => Ok(Leaves { seq: 1, step: None }),
        // A step that failed is not taken for what it came to, unless somebody says what it gave.
        Some(failed) if matches!(failed.kind, EventKind::BlockFinished { error: Some(_), .. }) && !has_output => {
            match at {
                At::Path(_) => Ok(Leaves { seq: (failed.seq - 1).max(1), step: None }),
                At::Seq(_) => Ok(Leaves { seq: failed.seq, step: Some(failed.clone()) }),
            }
        }
        Some(step) => Ok(Leaves { seq: step.seq, step: Some(step.clone()) }),
    }
}

fn started(asked: &Asked, flow: &Flow, from: &ForkedFrom) -> Event {
    let kind = EventKind::RequestStarted {
        flow: flow.kind.to_string(),
        action: asked.action.clone(),
        session: asked.session.clone(),
        user: asked.user.clone(),
        project: asked.project.clone(),
        ephemeral: false,
        mock: asked.mock.clone(),
        code_hash: flow.code_hash.clone(),
        input: Recorded::inline(&asked.input),
        retry_of: None,
        owner: asked.owner.clone(),
        claim: None,
        forked_from: Some(from.clone()),
        retention: flow.settings.retention,
    };
    Event { seq: 1, at: now_ms(), path: None, attempt: 0, kind }
}

/// The events of a fork that are its own before it goes on.
struct Draft {
    seq: Seq,
    events: Vec<Event>,
}

impl Draft {
    fn push(&mut self, path: Option<std::sync::Arc<str>>, attempt: u32, kind: EventKind) -> Seq {
        self.seq += 1;
        self.events.push(Event { seq: self.seq, at: now_ms(), path, attempt, kind });
        self.seq
    }

    /// The first state of the fork's records, edits included. Refused where a schema of today refuses it.
    fn records(&mut self, records: Vec<(ScopeKey, State)>, sets: &[Set], flow: &Flow) -> Result<(), Fault> {
        let mut commits = Vec::new();
        for (scope, mut state) in records {
            for set in sets.iter().filter(|set| set.whose == Whose::Durable(scope.kind)) {
                for (field, value) in set.patch(&state)? {
                    set.check(flow, scope.kind, &field, &value)?;
                    state.set(&field, std::sync::Arc::new(value));
                }
            }
            if state.is_empty() {
                continue;
            }
            let first = EventKind::StateInitialized { scope: scope.clone(), state: state.to_json(), durable: true };
            let seq = self.push(None, 0, first);
            commits.push(ScopeCommit { scope, from: 0, version: 0, operations: vec![seq], rebased: Vec::new() });
        }
        if !commits.is_empty() {
            self.push(None, 0, EventKind::Committed { commits });
        }
        Ok(())
    }
}

impl Set {
    fn parse(text: &str, value: Value) -> Result<Set, Fault> {
        let wrong = |what: &str| Fault::invalid(format!("--set {text}: {what}"));
        let words =
            "begin with session, user, project, request, sequencer[PATH] or block[PATH], then a field: session.topic";
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let (scope, rest) = text.split_at(end);
        let (whose, rest) = match scope {
            "sequencer" | "block" => match bracketed(rest) {
                Some((path, rest)) => (Whose::Block(path.to_owned()), rest),
                None if scope == "sequencer" => (Whose::Block("root".to_owned()), rest),
                None => return Err(wrong(words)),
            },
            "request" => (Whose::Request, rest),
            _ => match ScopeKind::parse(scope) {
                Some(kind @ (ScopeKind::Session | ScopeKind::User | ScopeKind::Project)) => {
                    (Whose::Durable(kind), rest)
                }
                _ => return Err(wrong(words)),
            },
        };
        let place = Place::parse(rest.strip_prefix('.').unwrap_or(rest)).map_err(|what| wrong(&what))?;
        if place.field().is_none() {
            return Err(wrong("name a field, like session.topic"));
        }
        Ok(Set { text: text.to_owned(), whose, place, value })
    }

    /// Shared memory can be changed where it is made again: after a step, in a block around it.
    fn check_step(&self, step: Option<&Event>) -> Result<(), Fault> {
        let path = match (&self.whose, step) {
            (Whose::Durable(_), _) => return Ok(()),
            (_, None) => {
                return Err(Fault::invalid(format!("--set {}: no step has finished there", self.text)));
            }
            (Whose::Request, _) => return Ok(()),
            (Whose::Block(path), Some(step)) => (path, step.path.as_deref().unwrap_or_default()),
        };
        match path.1.strip_prefix(path.0.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            true => Ok(()),
            false => Err(Fault::invalid(format!(
                "--set {}: {} is not around the step {} that the fork goes on from",
                self.text, path.0, path.1
            ))),
        }
    }

    /// The top-level field that it changes, as it is afterwards.
    fn patch(&self, state: &State) -> Result<Map<String, Value>, Fault> {
        let mut all = state.to_json();
        if !self.place.put(&mut all, self.value.clone()) {
            return Err(Fault::invalid(format!("--set {}: there is no such place in the state", self.text)));
        }
        let field = self.place.field().unwrap_or_default().to_owned();
        let value = all.get(&field).cloned().unwrap_or_default();
        Ok(Map::from_iter([(field, value)]))
    }

    fn check(&self, flow: &Flow, kind: ScopeKind, field: &str, value: &Value) -> Result<(), Fault> {
        for declared in flow.declarations.iter().filter(|declared| declared.scope == kind) {
            let knows = declared.schema.fields().is_some_and(|fields| fields.iter().any(|known| known.name == field));
            if knows && let Err(issues) = declared.schema.check_field(field, value) {
                let what = issues.first().map(|issue| issue.message.clone()).unwrap_or_default();
                return Err(Fault::invalid(format!("--set {}: {what}", self.text)));
            }
        }
        Ok(())
    }
}

/// The path in a state's id `request:path:attempt`.
fn path_of(id: &str) -> Option<&str> {
    Some(id.split_once(':')?.1.rsplit_once(':')?.0)
}

/// `[PATH]rest`; a path may hold brackets itself.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('[')?;
    let mut depth = 1;
    for (at, c) in inner.char_indices() {
        depth += match c {
            '[' => 1,
            ']' => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some((&inner[..at], &inner[at + 1..]));
        }
    }
    None
}
