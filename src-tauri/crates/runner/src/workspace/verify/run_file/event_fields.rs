//! The fields of an event in a `.run` file: one that no event has is named, wherever it stands, because it is a fault
//! of the hand that wrote it.
//!
//! Must not look into values of a flow: there any field may stand, and reading keeps it.

use engine::event::EventKind;
use engine::json::from_value;
use serde_json::{Map, Value, json};

use crate::workspace::export_format;

/// The kind and the fields of an event. A kind that nobody knows is a fault of the hand that wrote it: a newer version
/// with other kinds has a newer format.
pub(super) fn kind(fields: Map<String, Value>) -> Result<EventKind, String> {
    let name = fields.get("kind").and_then(Value::as_str).ok_or("an event needs its \"kind\"")?.to_owned();
    if !engine::event::KINDS.contains(&&*name) {
        return Err(format!("there is no event \"{name}\": one of {}", engine::event::KINDS.join(", ")));
    }
    let given = Value::Object(fields);
    let (shape, light) = (Shape::of(&given), has_long_text(&given).then(|| without_long_texts(&given)));
    let kind: EventKind = from_value(given).map_err(|error| format!("this is no {name} event: {error}"))?;
    // Fields are compared with those of the event as it is written, for which a long text would be copied.
    let light = light.and_then(|light| from_value(light).ok());
    let light = light.as_ref().unwrap_or(&kind);
    let Ok(written) = export_format::with_kind(light, serde_json::value::Serializer) else { return Ok(kind) };
    let mut left_out = Vec::new();
    shape.left_out(&written, &mut Vec::new(), &mut left_out);
    match left_out.into_iter().find(|place| is_unknown(&written, place)) {
        Some(place) => Err(format!("a {name} event has no field \"{}\"", shown(&place))),
        None => Ok(kind),
    }
}

/// How many bytes a text has that is copied.
const LONG_TEXT: usize = 4 << 10;

fn has_long_text(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() > LONG_TEXT,
        Value::Array(items) => items.iter().any(has_long_text),
        Value::Object(fields) => fields.values().any(has_long_text),
        _ => false,
    }
}

/// A value with the same fields, whose long texts are empty.
fn without_long_texts(value: &Value) -> Value {
    match value {
        Value::String(text) if text.len() > LONG_TEXT => Value::String(String::new()),
        Value::Array(items) => items.iter().map(without_long_texts).collect(),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, field)| (name.clone(), without_long_texts(field))).collect())
        }
        other => other.clone(),
    }
}

/// The fields of a value and of what is in it, without texts and numbers: a value may be long.
enum Shape {
    Leaf,
    Items(Vec<Shape>),
    Fields(Vec<(String, Shape)>),
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Field(String),
    Item(usize),
}

impl Shape {
    fn of(value: &Value) -> Shape {
        match value {
            Value::Array(items) => {
                let items: Vec<Shape> = items.iter().map(Shape::of).collect();
                if items.iter().all(|item| matches!(item, Shape::Leaf)) { Shape::Leaf } else { Shape::Items(items) }
            }
            Value::Object(fields) => {
                Shape::Fields(fields.iter().map(|(name, field)| (name.clone(), Shape::of(field))).collect())
            }
            _ => Shape::Leaf,
        }
    }

    /// The places that are not in what was read of the value, once that is written again.
    fn left_out(&self, written: &Value, at: &mut Vec<Step>, found: &mut Vec<Vec<Step>>) {
        match (self, written) {
            (Shape::Fields(fields), Value::Object(written)) => {
                for (name, shape) in fields {
                    at.push(Step::Field(name.clone()));
                    match written.get(name) {
                        Some(written) => shape.left_out(written, at, found),
                        None => found.push(at.clone()),
                    }
                    at.pop();
                }
            }
            (Shape::Items(items), Value::Array(written)) if items.len() == written.len() => {
                for (nth, (shape, written)) in items.iter().zip(written).enumerate() {
                    at.push(Step::Item(nth));
                    shape.left_out(written, at, found);
                    at.pop();
                }
            }
            _ => {}
        }
    }
}

/// Whether no event has a field at a place. A known one is left out, too, where it has the value that it would have
/// without being there; so it is tried with another value: that is refused, or not left out.
fn is_unknown(written: &Value, place: &[Step]) -> bool {
    let mut tried = written.clone();
    let Some((Step::Field(name), around)) = place.split_last() else { return false };
    let around = around.iter().try_fold(&mut tried, |value, step| match step {
        Step::Field(name) => value.get_mut(name),
        Step::Item(nth) => value.get_mut(*nth),
    });
    let Some(Value::Object(fields)) = around else { return false };
    fields.insert(name.clone(), json!([{ "unlike": "any" }]));
    let Ok(kind) = from_value::<EventKind>(tried) else { return false };
    let Ok(again) = export_format::with_kind(&kind, serde_json::value::Serializer) else { return false };
    let found = place.iter().try_fold(&again, |value, step| match step {
        Step::Field(name) => value.get(name),
        Step::Item(nth) => value.get(*nth),
    });
    found.is_none()
}

/// A place as people write it: `error.details`, `commits[0].scope`.
fn shown(place: &[Step]) -> String {
    let mut shown = String::new();
    for step in place {
        match step {
            Step::Field(name) if shown.is_empty() => shown.push_str(name),
            Step::Field(name) => shown.push_str(&format!(".{name}")),
            Step::Item(nth) => shown.push_str(&format!("[{nth}]")),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn read(event: Value) -> Result<EventKind, String> {
        kind(event.as_object().unwrap().clone())
    }

    #[test]
    fn a_field_that_no_event_has_is_named_wherever_it_stands() {
        let failed = |error: Value| json!({ "kind": "request_finished", "status": "failed", "error": error });
        let commit = |more: Value| {
            let mut commit = json!({ "scope": { "kind": "session", "id": "s" }, "from": 0, "version": 1,
                "operations": [2], "rebased": [] });
            commit.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            json!({ "kind": "committed", "commits": [commit] })
        };
        for (event, field) in [
            (json!({ "kind": "request_status", "status": "completed", "zz": 1 }), "zz"),
            (failed(json!({ "name": "Error", "message": "m", "zz": 1 })), "error.zz"),
            (commit(json!({ "zz": { "a": 1 } })), "commits[0].zz"),
            (commit(json!({ "scope": { "kind": "session", "id": "s", "zz": null } })), "commits[0].scope.zz"),
        ] {
            let told = read(event.clone()).unwrap_err();
            assert!(told.contains(&format!("has no field \"{field}\"")), "{event}: {told}");
        }
        // A field that has the value that it would have without being there.
        assert!(read(commit(json!({ "rebased": [] }))).is_ok());
        assert!(read(json!({ "kind": "request_finished", "status": "completed", "output": null })).is_ok());
    }

    #[test]
    fn a_long_text_is_read_and_not_copied_to_compare_fields() {
        let text = "x".repeat(LONG_TEXT + 1);
        let finished = |zz: Value| {
            json!({ "kind": "request_finished", "status": "completed", "output": { "value": [text, { "a": text }] } })
                .as_object()
                .unwrap()
                .clone()
                .into_iter()
                .chain(zz.as_object().unwrap().clone())
                .collect::<Map<_, _>>()
        };
        for long in [1, 2] {
            let value = json!({ "a": vec![text.as_str(); long], "b": 1 });
            assert!(has_long_text(&value) && without_long_texts(&value).to_string().len() < 40);
        }
        let EventKind::RequestFinished { output, .. } = kind(finished(json!({}))).unwrap() else { panic!() };
        assert_eq!(output, Some(engine::event::Recorded::Value(json!([text, { "a": text }]))));
        assert!(kind(finished(json!({ "zz": text }))).unwrap_err().contains("has no field \"zz\""));
    }

    #[test]
    fn a_value_of_a_flow_may_have_any_field() {
        let value = json!({ "zz": [{ "kind": "committed", "deep": { "zz": null } }], "$odd": {} });
        let finished = json!({ "kind": "request_finished", "status": "completed", "output": { "value": value } });
        let EventKind::RequestFinished { output: Some(output), .. } = read(finished).unwrap() else { panic!() };
        assert_eq!(output, engine::event::Recorded::Value(value));
        let details = json!({ "zz": 1, "more": [{ "zz": 2 }] });
        let error = json!({ "name": "Error", "message": "m", "details": details });
        assert!(read(json!({ "kind": "request_finished", "status": "failed", "error": error })).is_ok());
    }
}
