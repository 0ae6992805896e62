//! What a fork changes, as a person writes it: `session.topic`, `sequencer[root/step:plan].steps[0]`.
//!
//! It says which place is meant and whether a value may stand there; putting it there is the fork's.

use engine::callable::SchemaRef;
use engine::event::{Event, EventKind, ModelEdit};
use engine::flow::Flow;
use engine::operation::Operation;
use engine::path::ROOT;
use engine::scope::ScopeKind;
use engine::state::State;
use engine::views::flow_state::{is_execution, refuses_edit};
use engine::views::place::Place;
use serde_json::{Map, Value};

use crate::core::fault::Fault;
use crate::run::plan::SetField;
use crate::workspace::At;

/// What a fork changes.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    /// The input of the block at which the request is forked; of the action, if that is its beginning.
    pub input: Option<Value>,
    /// What the step gave.
    pub output: Option<Value>,
    /// Places in state, `session.topic` or `sequencer[root/step:plan].steps[0]`, and what is there now.
    pub set: Vec<(String, Value)>,
    /// What a generator asks otherwise from there on.
    pub model: Option<ModelEdit>,
}

/// Which input a fork has instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum InputOf {
    /// The action's.
    Action,
    /// That of the block at this path.
    Block(std::sync::Arc<str>),
}

impl InputOf {
    /// Decides whose input `--input` edits. Refuses an input that was read before the fork begins.
    pub(super) fn of(at: &At, events: &[Event], edits: &Edits) -> Result<Option<InputOf>, Fault> {
        if edits.input.is_none() {
            return Ok(None);
        }
        let has_ended = |seq: u64| {
            let mut until = events.iter().take_while(|event| event.seq <= seq);
            until.any(|event| matches!(event.kind, EventKind::BlockFinished { .. }))
        };
        match at {
            At::Path(path) if path != ROOT => {
                if edits.output.is_some() {
                    return Err(Fault::invalid(format!(
                        "--input and --output: with another input {path} runs, so its output cannot be given"
                    )));
                }
                Ok(Some(InputOf::Block(path.as_str().into())))
            }
            At::Seq(seq) if has_ended(*seq) => Err(Fault::invalid(format!(
                "--input: nothing would read it, because blocks have run by event {seq}; edit the action's input with \
                 --at 0, or that of a block with --at PATH"
            ))),
            _ => Ok(Some(InputOf::Action)),
        }
    }
}

/// A value in some state.
pub(super) struct Set {
    pub(super) text: String,
    pub(super) whose: Whose,
    pub(super) place: Place,
    pub(super) value: Value,
}

/// An edit of shared memory, as a block would have made it.
pub(super) struct Shared {
    pub(super) text: String,
    /// The block whose state it is, by path; of the request itself where it is absent.
    pub(super) of: Option<String>,
    /// That block's name.
    pub(super) block: Option<String>,
    pub(super) operation: Operation,
}

#[derive(PartialEq)]
pub(super) enum Whose {
    /// A record of its own: session, user, project.
    Durable(ScopeKind),
    Request,
    /// A sequencer or another block with state, by its path.
    Block(String),
}

impl Set {
    /// `names` says what else may stand there.
    pub(super) fn parse(text: &str, value: Value, names: &str) -> Result<Set, Fault> {
        let wrong = |what: &str| Fault::invalid(format!("--set {text}: {what}"));
        let words = &format!(
            "begin with session, user, project, request, sequencer[PATH] or block[PATH], then a field: \
             session.topic{names}"
        );
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

    /// The field of a declared state that it changes. The states of blocks are declared by their blocks.
    pub(super) fn field(&self) -> Option<SetField> {
        let scope = match &self.whose {
            Whose::Durable(kind) => *kind,
            Whose::Request => ScopeKind::Request,
            Whose::Block(_) => return None,
        };
        Some(SetField { text: self.text.clone(), scope, field: self.place.field()?.to_owned() })
    }

    /// Shared memory can be changed where it is made again: after a step, in a block around it.
    pub(super) fn check_step(&self, step: Option<&Event>) -> Result<(), Fault> {
        let path = match (&self.whose, step) {
            (Whose::Durable(_), _) => return Ok(()),
            (_, None) => {
                return Err(Fault::invalid(format!("--set {}: no step has finished there", self.text)));
            }
            (Whose::Request, _) => return Ok(()),
            (Whose::Block(path), Some(step)) => (path, step.path.as_deref().unwrap_or_default()),
        };
        if path.1.strip_prefix(path.0.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
            Ok(())
        } else {
            Err(Fault::invalid(format!(
                "--set {}: {} is not around the step {} that the fork goes on from",
                self.text, path.0, path.1
            )))
        }
    }

    /// Refuses a field of an agent's state that nothing reads, and a value that it cannot have.
    pub(super) fn check_flow_state(&self, state: &State, fields: &Map<String, Value>) -> Result<(), Fault> {
        let is_of_agent = state.to_json().as_object().is_some_and(is_execution);
        let old = |field: &str| state.get(field).map_or(Value::Null, |value| (**value).clone());
        let mut why =
            fields.iter().filter(|_| is_of_agent).filter_map(|(field, value)| refuses_edit(field, &old(field), value));
        why.next().map_or(Ok(()), |why| Err(Fault::invalid(format!("--set {}: {why}", self.text))))
    }

    /// The top-level field that it changes, as it is afterwards.
    pub(super) fn patch(&self, state: &State) -> Result<Map<String, Value>, Fault> {
        let mut all = state.to_json();
        if !self.place.put(&mut all, self.value.clone()) {
            return Err(Fault::invalid(format!("--set {}: there is no such place in the state", self.text)));
        }
        let field = self.place.field().unwrap_or_default().to_owned();
        let value = all.get(&field).cloned().unwrap_or_default();
        Ok(Map::from_iter([(field, value)]))
    }
}

impl Shared {
    pub(super) fn check(&self, flow: &Flow) -> Result<(), Fault> {
        let Operation::Patch { fields } = &self.operation else { return Ok(()) };
        for (field, value) in fields {
            match &self.block {
                None => check(&self.text, declared(flow, ScopeKind::Request), field, value)?,
                Some(name) => {
                    let schemas = flow.blocks().into_iter().filter(|block| *block.name == **name);
                    check(&self.text, schemas.filter_map(|block| block.state_schema.clone()), field, value)?;
                }
            }
        }
        Ok(())
    }
}

pub(super) fn declared(flow: &Flow, kind: ScopeKind) -> impl Iterator<Item = SchemaRef> {
    flow.declarations.iter().filter(move |declared| declared.scope == kind).map(|declared| declared.schema.clone())
}

/// Holds a field's new value against every schema that knows the field.
pub(super) fn check(
    text: &str,
    schemas: impl Iterator<Item = SchemaRef>,
    field: &str,
    value: &Value,
) -> Result<(), Fault> {
    for schema in schemas {
        let knows = schema.fields().is_some_and(|fields| fields.iter().any(|known| known.name == field));
        if knows && let Err(issues) = schema.check_field(field, value) {
            let what = issues.first().map(|issue| issue.message.clone()).unwrap_or_default();
            return Err(Fault::invalid(format!("--set {text}: {what}")));
        }
    }
    Ok(())
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
