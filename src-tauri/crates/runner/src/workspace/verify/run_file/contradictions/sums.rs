//! Checks the sums in increment events against the state that earlier events produce.
//!
//! A state becomes known by a record or by its first state. An operation continues it only if it made the next version,
//! because a block that saw another version makes other sums. After an event that may undo operations, no state is
//! known.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind};
use engine::operation::{Operation, equal};
use engine::scope::ScopeKey;
use engine::views::attempts::{Verdict, verdict};
use serde_json::{Map, Value};

/// The states that are known.
#[derive(Default)]
pub(super) struct Sums {
    states: HashMap<ScopeKey, Known>,
    /// How many requests run.
    running: usize,
}

/// A state at a version: its numbers.
struct Known {
    version: u64,
    /// The execution that writes it, if its writes are visible at once. With a second writer, undone writes are
    /// unknown.
    writer: Option<Writer>,
    fields: HashMap<String, Field>,
    /// The newest line about it.
    line: usize,
}

/// The path and the attempt of an execution.
type Writer = (Option<Arc<str>>, u32);

#[derive(Clone, Copy)]
enum Field {
    Number(f64),
    Other,
}

impl Field {
    fn of(value: &Value) -> Field {
        match value {
            // An increment reads null as 0.
            Value::Null => Field::Number(0.0),
            value => value.as_f64().map_or(Field::Other, Field::Number),
        }
    }
}

/// Returns whether operations before an event may be undone by it.
pub(super) fn may_undo(kind: &EventKind) -> bool {
    match kind {
        EventKind::CallbackReturned { superseded, memoized, .. } => *memoized || !superseded.is_empty(),
        EventKind::CommitRefused { .. } => true,
        kind => verdict(kind).is_some_and(|verdict| !matches!(verdict, Verdict::Begins | Verdict::Counts)),
    }
}

impl Sums {
    /// Reads a record: its state before the next event.
    pub(super) fn record(&mut self, scope: &ScopeKey, version: u64, state: &Map<String, Value>, line: usize) {
        if self.running > 0 {
            // A running block may have seen the previous state.
            self.states.remove(scope);
            return;
        }
        let fields = state.iter().map(|(name, value)| (name.clone(), Field::of(value))).collect();
        self.states.insert(scope.clone(), Known { version, writer: None, fields, line });
    }

    /// Checks an event against the known states, then applies it.
    pub(super) fn event(&mut self, event: &Event, line: usize) -> Result<(), String> {
        match &event.kind {
            EventKind::RequestStarted { .. } => self.running += 1,
            EventKind::RequestFinished { .. } => self.running = self.running.saturating_sub(1),
            EventKind::StateInitialized { scope, state, .. } => self.first_state(scope, state, line),
            EventKind::StateChanged { scope, operation, value, version } => {
                let writer = (event.path.clone(), event.attempt);
                return self.operation((scope, *version, line), operation, value.as_ref(), writer);
            }
            kind if may_undo(kind) => self.states.clear(),
            _ => {}
        }
        Ok(())
    }

    fn first_state(&mut self, scope: &ScopeKey, state: &Value, line: usize) {
        let fields = state.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), Field::of(value)));
        if !scope.kind.is_durable() {
            let known = Known { version: 0, writer: None, fields: fields.collect(), line };
            self.states.insert(scope.clone(), known);
        } else if let Some(known) = self.states.get_mut(scope) {
            // The defaults of fields that the record does not have.
            fields.for_each(|(name, field)| _ = known.fields.entry(name).or_insert(field));
            known.line = line;
        }
    }

    fn operation(
        &mut self,
        (scope, version, line): (&ScopeKey, u64, usize),
        operation: &Operation,
        value: Option<&Value>,
        writer: Writer,
    ) -> Result<(), String> {
        let is_continued = |known: &Known| {
            let is_same = scope.kind.is_durable() || known.writer.as_ref().is_none_or(|known| *known == writer);
            is_same && known.version + 1 == version && self.running < 2
        };
        if !self.states.get(scope).is_some_and(is_continued) {
            self.states.remove(scope);
            return Ok(());
        }
        let Some(known) = self.states.get_mut(scope) else { return Ok(()) };
        (known.version, known.writer) = (version, Some(writer));
        let before_line = std::mem::replace(&mut known.line, line);
        let mut put = |name: &str, value: &Value| _ = known.fields.insert(name.to_owned(), Field::of(value));
        match operation {
            Operation::Patch { fields } | Operation::Atomic { fields } => {
                fields.iter().for_each(|(name, value)| put(name, value));
            }
            Operation::Update { field, value } => put(field, value),
            Operation::Set { state } => {
                known.fields.clear();
                known.fields.extend(state.iter().map(|(name, value)| (name.clone(), Field::of(value))));
            }
            Operation::Push { field, .. }
            | Operation::SetRecord { field, .. }
            | Operation::DeleteRecord { field, .. } => _ = known.fields.insert(field.clone(), Field::Other),
            Operation::Increment { by } => {
                for (name, amount) in by {
                    let said = value.and_then(|sums| sums.get(name));
                    let before = known.fields.get(name).copied().unwrap_or(Field::Number(0.0));
                    let (Some(said), Field::Number(before)) = (said, before) else {
                        known.fields.insert(name.clone(), Field::Other);
                        continue;
                    };
                    let sum = engine::json::number(before + amount.as_f64().unwrap_or(0.0));
                    if !equal(&sum, said) {
                        return Err(format!(
                            "the sum of \"{name}\" is {said} in \"value\": it was {} before, and {amount} is added, so \
                             it is {sum}; line {before_line} is the last one about this state",
                            engine::json::number(before)
                        ));
                    }
                    known.fields.insert(name.clone(), Field::of(said));
                }
            }
        }
        Ok(())
    }
}
