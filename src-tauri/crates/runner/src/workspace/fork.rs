//! Forking: a request goes on from one of its finished steps, in a session of its own, with edits.
//!
//! The fork has the events up to that step in common with the request it comes from. Its session, user
//! and project begin as copies of what they were then, so that no experiment writes to the real ones
//! (ARCHITECTURE §5.7). What was in flight at that step runs again.

mod agents;
mod draft;
mod edits;
mod point;
mod states;

use std::collections::HashSet;
use std::sync::Arc;

use engine::event::{Event, EventKind, ForkedFrom, Outcome, Recorded, RequestStatus, Seq};
use engine::flow::Flow;
use engine::operation::Operation;
use engine::request::{StartRequest, parses_once};
use engine::scope::ScopeKind;
use engine::state::State;
use serde_json::Value;

use super::experiment::{AnsweredBeside, caller_of_hook, nearest};
use super::resume::Next;
use super::{At, Mock, Workspace, new_request};
use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::models::mock_script::MockScript;
use crate::run::plan::SetField;
use crate::run::{Opening, PriorEvents, Running};
use draft::{Draft, started};
use edits::{InputOf, Set, Shared, Whose};

pub use edits::Edits;
pub(super) use point::ForkPoint;
use point::Leaves;

/// A fork that is about to begin.
pub(super) struct NewFork {
    /// The id of the new request.
    pub(super) id: String,
    /// Its code.
    pub(super) loaded_flow: Arc<LoadedFlow>,
    /// Where it leaves its request.
    pub(super) point: Arc<ForkPoint>,
    /// What blocks that were in flight there have asked of the outside, with the answers.
    pub(super) answered: Arc<Vec<AnsweredBeside>>,
}

/// The mock script of a fork, if its models are mocked, and where the script came from.
pub(super) type MockOf = (Option<MockScript>, Option<String>);

impl Workspace {
    /// Goes on from a finished step of a request as a new request, in a new session.
    pub fn fork(&self, request: &str, at: &At, edits: Edits, mock: &Mock) -> Result<Running, Fault> {
        self.check_writable()?;
        let (next, _) = self.forking(request, at, edits, mock)?;
        self.begin_next(next)
    }

    /// The fields of declared states that edits set, of those that can be read as such.
    pub(super) fn set_fields(&self, request: &str, edits: &Edits) -> Vec<SetField> {
        let field = |(text, value): &(String, Value)| {
            Set::parse(&self.address_in(request, text).ok()?, value.clone(), "").ok()?.field()
        };
        edits.set.iter().filter_map(field).collect()
    }

    /// What a fork runs, and the last event that it has in common with its request.
    pub(super) fn forking(&self, request: &str, at: &At, edits: Edits, mock: &Mock) -> Result<(Next, Seq), Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?;
        let point = Arc::new(self.fork_point(row, Arc::new(events), None, at, &edits)?);
        let mock = self.mock_of_fork(&point, mock, &loaded_flow)?;
        let seq = point.leaves.seq;
        let fork = NewFork { id: new_request(), loaded_flow, point, answered: Arc::default() };
        Ok((self.forking_as(fork, edits, mock)?, seq))
    }

    /// Who answers the models of a fork.
    pub(super) fn mock_of_fork(&self, point: &ForkPoint, mock: &Mock, flow: &LoadedFlow) -> Result<MockOf, Fault> {
        let file = &flow.bundle.file;
        self.mock_of(&self.mode(mock, point.origin.as_deref(), file), file)
    }

    /// As [`forking`](Self::forking), from a known point, with given code and under a given id. Reads nothing that
    /// forks from the same point share.
    pub(super) fn forking_as(
        &self,
        NewFork { id, loaded_flow, point, answered }: NewFork,
        edits: Edits,
        (script, mock): MockOf,
    ) -> Result<Next, Fault> {
        let ForkPoint { row, leaves, input_of, agents: of_agents, .. } = &*point;
        let request = row.id.as_str();
        let (of_calls, set): (Vec<_>, Vec<_>) =
            edits.set.into_iter().partition(|(text, _)| of_agents.is_of_calls(text));
        let step_path = leaves.step.as_ref().and_then(|step| step.path.as_deref());
        let output = match (edits.output, of_calls.is_empty()) {
            (output, true) => output,
            (output, false) => Some(of_agents.with_state(step_path, output, &of_calls)?),
        };
        if let (Some(output), Some(path)) = (&output, step_path) {
            of_agents.check_output(path, output)?;
        }
        let names = of_agents.names();
        let parse =
            |(text, value): &(String, Value)| Set::parse(&self.address_in(request, text)?, value.clone(), &names);
        let sets = set.iter().map(parse).collect::<Result<Vec<_>, Fault>>()?;
        for set in &sets {
            set.check_step(leaves.step.as_ref())?;
            if row.project_id.is_none() && set.whose == Whose::Durable(ScopeKind::Project) {
                return Err(Fault::invalid(format!("--set {}: request \"{request}\" has no project", set.text)));
            }
        }
        let session: std::sync::Arc<str> = format!("fork_{}", crate::effects::outside::new_id().simple()).into();
        let block_input = match input_of {
            Some(InputOf::Block(path)) => {
                let input = edits.input.clone().map(|input| of_agents.input(path, input)).transpose()?;
                input.map(|input| (path.clone(), input))
            }
            _ => None,
        };
        let action_input = edits.input.filter(|_| *input_of == Some(InputOf::Action));
        let is_edited = action_input.is_some();
        let asked = StartRequest {
            request: id.into(),
            session: session.clone(),
            fork: Some(session),
            ephemeral: false,
            input: action_input.or_else(|| point.given.clone()).into(),
            mock,
            retry_of: None,
            claim: None,
            ..point.parent.clone()
        };
        let records = point.records_of(&asked);
        let shared = self.shared_at(&point, &sets)?;
        let step = leaves.step.as_ref().map(|step| (step.path.clone(), step.attempt));
        let forked_from = ForkedFrom { request_id: request.to_owned(), seq: leaves.seq };
        let (first, kept) = (point.first.clone(), point.kept.clone());
        let needs_block = match (input_of, &output) {
            (Some(InputOf::Block(path)), _) => Some(path.clone()),
            (_, Some(_)) => step.as_ref().and_then(|(path, _)| path.clone()),
            _ => None,
        };
        // Blocks that go on keep the rule they began with. A new input of the action starts all blocks again.
        let parses_once = is_edited || parses_once(&point.events);
        let opening: Opening = Box::new(move |asked: &StartRequest, flow: &Flow| {
            let first = started(asked, first, flow, (&forked_from, kept), parses_once);
            let mut draft = Draft { seq: forked_from.seq, events: vec![first] };
            draft.records(records, &sets, flow)?;
            draft.answered(&answered);
            if let (Some((path, attempt)), Some(output)) = (&step, output) {
                let kind = EventKind::OutputEdited { output: Recorded::Value(output) };
                draft.push(path.clone(), *attempt, kind);
            }
            for edit in shared {
                edit.check(flow)?;
                let (path, attempt) = step.clone().unwrap_or_default();
                draft.push(path, attempt, EventKind::StateEdited { of: edit.of, operation: edit.operation });
            }
            if let Some((path, input)) = block_input {
                let input = input.whole(&path, flow)?;
                draft.push(Some(path), 0, EventKind::InputEdited { input: Recorded::Value(input) });
            }
            if let Some(edit) = edits.model {
                draft.push(None, 0, EventKind::ModelEdited(edit));
            }
            // Last: what came before it is not done again by a replay.
            if is_edited {
                draft.push(None, 0, EventKind::InputEdited { input: Recorded::inline(&asked.input) });
            }
            draft.push(None, 0, EventKind::RequestStatus { status: RequestStatus::Interrupted });
            Ok(draft.events)
        });
        let before = PriorEvents {
            events: point.events.clone(),
            prior_status: RequestStatus::Interrupted,
            answers: Vec::new(),
            is_parsed: !is_edited,
            needs_block,
            opening: Some(opening),
        };
        Ok(Next { loaded_flow, asked, script, before, calls: None })
    }

    /// The edits of the request's own state, and of blocks around the step, as operations.
    fn shared_at(&self, point: &ForkPoint, sets: &[Set]) -> Result<Vec<Shared>, Fault> {
        let mut edits = Vec::new();
        for set in sets {
            let (of, block, state) = match &set.whose {
                Whose::Durable(_) => continue,
                Whose::Request => (None, None, self.shared_states(point)?.request.clone()),
                Whose::Block(path) => match self.shared_states(point)?.blocks.get(path) {
                    Some((name, state)) => (Some(path.clone()), Some(name.clone()), Some(state.clone())),
                    None => {
                        return Err(Fault::invalid(format!("--set {}: that block has no state of its own", set.text)));
                    }
                },
            };
            let state = State::from(state.unwrap_or_default());
            let fields = set.patch(&state)?;
            set.check_flow_state(&state, &fields)?;
            edits.push(Shared { text: set.text.clone(), of, block, operation: Operation::Patch { fields } });
        }
        Ok(edits)
    }
}

/// The finished step that a fork goes on from: the newest at or before an event, or the last at a path that
/// was run and not taken from the log.
fn leaves(request: &str, events: &[Event], at: &At, has_output: bool) -> Result<Leaves, Fault> {
    let newest = |is_it: &dyn Fn(&Event) -> bool| events.iter().rev().find(|event| has_ended(event) && is_it(event));
    // What a resume took from the log ended before that.
    let newest_own = |is_it: &dyn Fn(&Event) -> bool| newest(&|event| !is_memoized(event) && is_it(event));
    let mut edited_until = 0;
    let mut until = match at {
        At::Seq(seq) => *seq,
        At::Path(path) => {
            let there = newest_own(&|event| event.path.as_deref() == Some(path))
                .ok_or_else(|| no_block(request, events, path, "finished"))?;
            match &there.kind {
                // A step that failed is tried again, from where its failure began, unless somebody says what
                // it gave.
                EventKind::BlockFinished { error: Some(error), .. } if !has_output => {
                    let origin =
                        newest_own(&|event| event.seq <= there.seq && event.path.as_deref() == error.path.as_deref());
                    origin.unwrap_or(there).seq - 1
                }
                _ => {
                    edited_until = end_of_edits(events, there.seq);
                    there.seq
                }
            }
        }
    };
    let last = events.last().map_or(0, |event| event.seq);
    if until > last {
        return Err(Fault::not_found(format!("request \"{request}\" has {last} events, not {until}")));
    }
    until = until.max(1);
    match newest(&|event| event.seq <= until) {
        Some(step) => Ok(Leaves { seq: step.seq.max(edited_until), step: Some(step.clone()) }),
        None if has_output => Err(Fault::invalid("--output: no step has finished there, so there is none to edit")),
        // Nothing but the beginning is common.
        None => {
            let begins = |event: &&Event| event.seq <= until && event.path.is_none();
            Ok(Leaves { seq: events.iter().rev().find(begins).map_or(1, |event| event.seq), step: None })
        }
    }
}

/// The event before the newest execution of a block that was not taken from the log.
fn before_block(request: &str, events: &[Event], path: &str) -> Result<Seq, Fault> {
    let taken: HashSet<u32> = of_path(events, path).filter(|event| is_memoized(event)).map(|e| e.attempt).collect();
    let begins = |event: &&Event| matches!(event.kind, EventKind::BlockStarted { .. });
    let own = of_path(events, path).rev().filter(begins).find(|event| !taken.contains(&event.attempt));
    own.map(|event| event.seq - 1).ok_or_else(|| no_block(request, events, path, "began"))
}

/// The refusal of a path at which no block finished, or began. It names what can be used in its place.
fn no_block(request: &str, events: &[Event], path: &str, what: &str) -> Fault {
    match caller_of_hook(events, path) {
        Some((around, before)) => Fault::invalid(format!(
            "{path} is a call of a hook, which is a part of its block and no step of its own: leave after the block \
             with --at {around}, or before it, so that it runs its hooks again, with --at {before}"
        )),
        None => {
            let nearest = nearest(events, path);
            Fault::not_found(format!("no block {what} at path \"{path}\" in request \"{request}\"{nearest}"))
        }
    }
}

fn of_path<'e>(events: &'e [Event], path: &str) -> impl DoubleEndedIterator<Item = &'e Event> {
    events.iter().filter(move |event| event.path.as_deref() == Some(path))
}

fn has_ended(event: &Event) -> bool {
    matches!(&event.kind, EventKind::BlockFinished { outcome: Outcome::Completed | Outcome::Failed, .. })
}

/// The last event of what a fork has instead, where it left its request at this event: that step is the one
/// with its edits.
fn end_of_edits(events: &[Event], step: Seq) -> Seq {
    let is_fork_there = events.first().is_some_and(
        |event| matches!(&event.kind, EventKind::RequestStarted { forked_from: Some(from), .. } if from.seq == step),
    );
    let goes_on = |event: &&Event| event.seq > step && matches!(event.kind, EventKind::RequestResumed { .. });
    if !is_fork_there {
        return 0;
    }
    events.iter().find(goes_on).or(events.last()).map_or(0, |event| event.seq - 1)
}

fn is_memoized(event: &Event) -> bool {
    matches!(event.kind, EventKind::BlockFinished { memoized: true, .. })
}
