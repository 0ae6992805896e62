//! The changes of one scope's state during a request, step by step, as a page reads them.
//!
//! A step says what an operation did to which fields, so that a list that is pushed to a thousand times is not written
//! a thousand times. The fields of a step, each optional: `s` the event, `v` the version, `z` that the state is
//! replaced, `f` fields with their values, `p` values pushed to fields, `k` and `d` keys of fields that are set and
//! deleted, `r` fields that are removed, `w` the event of the write, `o` the operation's name (`edit` for the edit of a
//! fork), `b` the block's path, `x` that another request wrote it.

use std::collections::HashMap;

use engine::event::Seq;
use engine::operation::Operation;
use engine::scope::ScopeKey;
use engine::state::State;
use serde_json::{Map, Value, json};

use crate::views::WriteRow;
use crate::workspace::writers::StateEdit;

/// The known type of a field before the next step.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    List,
    Record,
    Other,
}

/// The steps of one scope.
pub(super) struct Track {
    pub(super) scope: ScopeKey,
    /// The event with which it began, if it has.
    pub(super) begins: Option<Seq>,
    /// The event from which on it no longer exists.
    pub(super) until: Option<Seq>,
    pub(super) steps: Vec<(Seq, Map<String, Value>)>,
    shapes: HashMap<String, Shape>,
    /// The hashes of set values, for fields that were not partly changed since.
    set: HashMap<String, blake3::Hash>,
}

impl Track {
    pub(super) fn new(scope: ScopeKey) -> Track {
        Track { scope, begins: None, until: None, steps: Vec::new(), shapes: HashMap::new(), set: HashMap::new() }
    }

    /// Adds a step by its operation. Without an operation, or if it sets everything, the state after it is compared.
    pub(super) fn step(&mut self, (seq, version): (Seq, u64), state: &State, operation: Option<&Operation>) {
        let mut step = self.begin(seq, version);
        match operation {
            None | Some(Operation::Set { .. }) => self.compare(state, &mut step),
            Some(operation) => self.operate(state, operation, &mut step),
        }
        self.steps.push((seq, step));
    }

    /// Adds a step that replaces the whole state.
    pub(super) fn reset(&mut self, (seq, version): (Seq, u64), state: &State) {
        let mut step = self.begin(seq, version);
        step.insert("z".to_owned(), 1.into());
        (self.shapes, self.set) = (HashMap::new(), HashMap::new());
        self.compare(state, &mut step);
        self.steps.push((seq, step));
    }

    /// Adds the first steps of a fork: the state of its original request, the edits, and the state that the fork
    /// recorded.
    pub(super) fn begin_fork(&mut self, (seq, version): (Seq, u64), edits: &[StateEdit], recorded: &State) {
        match edits.first() {
            None => self.reset((seq, version), recorded),
            Some(first) => {
                self.reset((seq, version), &first.old);
                for edit in edits {
                    self.step((seq, version), &edit.new, None);
                    self.edited(edit);
                }
                self.step((seq, version), recorded, None);
            }
        }
    }

    /// The version after the newest step.
    pub(super) fn version(&self) -> u64 {
        let newest = self.steps.last().and_then(|(_, step)| step.get("v")?.as_u64());
        newest.unwrap_or(0)
    }

    /// Notes that another request made the newest step.
    pub(super) fn written_by_another(&mut self) {
        if let Some((_, step)) = self.steps.last_mut() {
            step.insert("x".to_owned(), 1.into());
        }
    }

    /// Notes who made the newest step.
    pub(super) fn written(&mut self, write: Seq, operation: &Operation, path: Option<&str>) {
        if let Some((_, step)) = self.steps.last_mut() {
            step.insert("w".to_owned(), write.into());
            step.insert("o".to_owned(), operation.name().into());
            step.extend(path.map(|path| ("b".to_owned(), path.into())));
        }
    }

    /// Notes that an edit of a fork made the newest step, if the step changed anything.
    fn edited(&mut self, edit: &StateEdit) {
        let is_change = |(_, step): &(Seq, Map<String, Value>)| step.contains_key("f") || step.contains_key("r");
        match self.steps.last_mut().filter(|step| is_change(step)) {
            Some((_, step)) => {
                step.insert("w".to_owned(), edit.event.seq.into());
                step.insert("o".to_owned(), WriteRow::EDIT.into());
            }
            None => drop(self.steps.pop()),
        }
    }

    fn begin(&self, seq: Seq, version: u64) -> Map<String, Value> {
        let mut step = Map::new();
        step.insert("s".to_owned(), seq.into());
        step.insert("v".to_owned(), version.into());
        step
    }

    fn operate(&mut self, state: &State, operation: &Operation, step: &mut Map<String, Value>) {
        let shape = |track: &Track, field: &str| track.shapes.get(field).copied();
        let mut part =
            |name: &str, field: &str, what: Value| drop(step.insert(name.to_owned(), json!({ field: what })));
        match operation {
            Operation::Push { field, value } if shape(self, field) == Some(Shape::List) => {
                part("p", field, json!([value]));
                self.set.remove(field);
            }
            Operation::SetRecord { field, key, value } if shape(self, field) == Some(Shape::Record) => {
                part("k", field, json!({ key: value }));
                self.set.remove(field);
            }
            Operation::DeleteRecord { field, key } if shape(self, field) == Some(Shape::Record) => {
                part("d", field, json!([key]));
                self.set.remove(field);
            }
            Operation::Patch { fields } | Operation::Atomic { fields } => {
                self.put(state, fields.keys().map(String::as_str), step);
            }
            Operation::Increment { by } => self.put(state, by.keys().map(String::as_str), step),
            Operation::Update { field, .. }
            | Operation::Push { field, .. }
            | Operation::SetRecord { field, .. }
            | Operation::DeleteRecord { field, .. } => self.put(state, std::iter::once(field.as_str()), step),
            Operation::Set { .. } => self.compare(state, step),
        }
    }

    fn compare(&mut self, state: &State, step: &mut Map<String, Value>) {
        let gone: Vec<String> = self.shapes.keys().filter(|field| !state.has(field)).cloned().collect();
        for field in &gone {
            self.shapes.remove(field);
            self.set.remove(field);
        }
        if !gone.is_empty() {
            step.insert("r".to_owned(), json!(gone));
        }
        let names: Vec<String> = state.names().map(str::to_owned).collect();
        self.put(state, names.iter().map(String::as_str), step);
    }

    /// Writes the values of fields that are not known to be unchanged.
    fn put<'f>(&mut self, state: &State, fields: impl Iterator<Item = &'f str>, step: &mut Map<String, Value>) {
        let mut put = Map::new();
        for field in fields {
            let Some(value) = state.get(field) else { continue };
            let hash = blake3::hash(value.to_string().as_bytes());
            if self.set.insert(field.to_owned(), hash) != Some(hash) {
                put.insert(field.to_owned(), (**value).clone());
            }
            let shape = match &**value {
                Value::Array(_) => Shape::List,
                Value::Object(_) => Shape::Record,
                _ => Shape::Other,
            };
            self.shapes.insert(field.to_owned(), shape);
        }
        if !put.is_empty() {
            step.insert("f".to_owned(), Value::Object(put));
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::scope::ScopeKind;

    use super::*;

    #[test]
    fn steps_have_the_changes_of_their_operations() {
        let mut track = Track::new(ScopeKey::new(ScopeKind::Session, "s"));
        let mut state = State::recorded(&json!({ "list": [1], "kept": "x" }));
        track.step((0, 0), &state, None);
        let mut apply = |seq: Seq, operation: Value| {
            let operation: Operation = serde_json::from_value(operation).expect("it is one");
            operation.apply(&mut state);
            track.step((seq, seq), &state, Some(&operation));
            Value::Object(track.steps.last().expect("it was added").1.clone())
        };
        let pushed = apply(1, json!({ "op": "push", "field": "list", "value": 2 }));
        assert_eq!(pushed, json!({ "s": 1, "v": 1, "p": { "list": [2] } }));
        let key = json!({ "op": "set_record", "field": "names", "key": "a", "value": true });
        assert_eq!(apply(2, key)["f"], json!({ "names": { "a": true } }));
        let key = json!({ "op": "set_record", "field": "names", "key": "b", "value": false });
        assert_eq!(apply(3, key)["k"], json!({ "names": { "b": false } }));
        let set = apply(4, json!({ "op": "set", "state": { "kept": "x", "n": 1 } }));
        assert_eq!(set["f"], json!({ "n": 1 }));
        assert_eq!(set["r"].as_array().map(Vec::len), Some(2));
    }
}
