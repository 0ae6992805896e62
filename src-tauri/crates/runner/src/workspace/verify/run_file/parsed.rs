//! The lines of a `.run` file between the first one and its long values: records, events, and what is expected.

use std::sync::Arc;

use engine::event::{Event, EventKind, RequestStatus, Seq};
use engine::json::from_value;
use engine::scope::ScopeKey;
use serde::Deserialize;
use serde_json::{Map, Value};
use store::BundleRecord;

use super::contradictions::Read;
use super::event_fields::kind;
use super::line_reader::LineFault;
use super::long_values::Placed;
use super::{Lines, RunLabel};
use crate::core::config::Limits;
use crate::run::replay::comparison::Expectation;
use crate::workspace::export_format;

/// The fields of a line with a record, without its state.
#[derive(Deserialize)]
struct RecordHead {
    record: ScopeKey,
    version: u64,
}

/// The fields of a line with an event, without that.
#[derive(Deserialize)]
struct EventHead {
    at: i64,
    #[serde(default)]
    attempt: u32,
    #[serde(default)]
    path: Option<Arc<str>>,
    #[serde(default)]
    request: Option<Arc<str>>,
    seq: Seq,
}

/// What was read of the lines above the long values.
#[derive(Default)]
pub(super) struct Parsed {
    pub(super) pieces: Vec<BundleRecord>,
    pub(super) expectation: Expectation,
    pub(super) lines: Lines,
    /// What later events are held against.
    read: Read,
    events: u64,
}

impl Parsed {
    /// Takes a line in, which is not empty.
    pub(super) fn line(
        &mut self,
        line: &str,
        number: usize,
        label: &RunLabel,
        placed: &Placed,
        limits: &Limits,
    ) -> Result<(), LineFault> {
        let value: Value = parse_line(line, limits.depth + export_format::ENVELOPE_DEPTH)?;
        let value = placed.put_into(value)?;
        if let Some(unknown) = unknown_of_line(&value) {
            return Err(unknown.into());
        }
        let none = || LineFault::from(format!("this is none of {LINES}"));
        let Value::Object(mut fields) = value else { return Err(none()) };
        // What may be long is moved, and the rest is read.
        if let Some(event) = fields.shift_remove("event") {
            let (Value::Object(event), Ok(head)) = (event, from_value(Value::Object(fields))) else {
                return Err(none());
            };
            self.event(head, event, number, label)
        } else if fields.contains_key("record") {
            let state = match fields.shift_remove("state") {
                Some(Value::Object(state)) => state,
                Some(_) => return Err("\"state\" of a record is an object with its fields".to_owned().into()),
                None => return Err(none()),
            };
            let Ok(head) = from_value(Value::Object(fields)) else { return Err(none()) };
            Ok(self.record(head, state, number)?)
        } else {
            match (fields.shift_remove("did"), fields.shift_remove("expected")) {
                (Some(did), Some(Value::String(path))) => Ok(self.expected(path.into(), did)?),
                _ => Err(none()),
            }
        }
    }

    fn record(&mut self, head: RecordHead, state: Map<String, Value>, number: usize) -> Result<(), String> {
        let RecordHead { record: scope, version } = head;
        if let Some(first) = self.lines.records.insert((scope.clone(), version), number) {
            return Err(format!(
                "version {version} of the record of {scope} is in line {first} already: remove one of them"
            ));
        }
        self.read.record(&scope, version, &state, number);
        self.pieces.push(BundleRecord::Record { scope, version, state });
        Ok(())
    }

    fn event(
        &mut self,
        head: EventHead,
        event: Map<String, Value>,
        number: usize,
        label: &RunLabel,
    ) -> Result<(), LineFault> {
        let EventHead { at, attempt, path, request, seq } = head;
        let request = request.unwrap_or_else(|| label.request.as_str().into());
        let event = Box::new(Event { seq, at, path, attempt, kind: kind(event)? });
        self.read.event(&request, &event, number)?;
        self.lines.events.insert((request.clone(), seq), number);
        self.pieces.push(BundleRecord::Event { request, event });
        self.events += 1;
        Ok(())
    }

    fn expected(&mut self, path: Arc<str>, did: Value) -> Result<(), String> {
        let did = Expectation::read_did_of_file(did)?;
        if self.expectation.0.contains_key(&path) {
            return Err(format!("what is expected of \"{path}\" is in the file twice"));
        }
        self.expectation.0.insert(path, did);
        Ok(())
    }

    /// Checks all of it against the first line.
    pub(super) fn check(&self, label: &RunLabel) -> Result<(), String> {
        if self.events != label.events {
            return Err(format!(
                "the file ends after event {}, but this line names {} events",
                self.events, label.events
            ));
        }
        if !self.read.has(&label.request) {
            return Err(format!("the file is of request \"{}\", and no event of it is there", label.request));
        }
        fits(label, &self.pieces, &self.lines)
    }
}

/// The fields of each kind of line, by the one that only this kind has.
const FIELDS: [(&str, &[&str]); 3] = [
    ("record", &["record", "state", "version"]),
    ("event", &["at", "attempt", "event", "path", "request", "seq"]),
    ("expected", &["did", "expected"]),
];

/// Names a field that a line does not have, or that the scope of a record does not have.
fn unknown_of_line(value: &Value) -> Option<String> {
    let fields = value.as_object()?;
    let (kind, known) = FIELDS.iter().find(|(kind, _)| fields.contains_key(*kind))?;
    if let Some(field) = fields.keys().find(|field| !known.contains(&field.as_str())) {
        return Some(format!("a line with \"{kind}\" has no field \"{field}\""));
    }
    let mut of_scope = fields.get("record")?.as_object()?.keys();
    let field = of_scope.find(|field| !["id", "kind"].contains(&field.as_str()))?;
    Some(format!("the record of a line has no field \"{field}\""))
}

/// Checks that the first line says of the request what its events say. A request that failed and was resumed has ended
/// twice: the last end counts.
fn fits(label: &RunLabel, pieces: &[BundleRecord], lines: &Lines) -> Result<(), String> {
    let (mut flow_began, mut began, mut ended) = (None, None, None);
    for piece in pieces {
        match piece {
            BundleRecord::Event { request, event } if **request == *label.request => match &event.kind {
                EventKind::RequestStarted { flow, action, .. } => {
                    (flow_began, began) = (Some((&**flow, event.seq)), Some((&**action, event.seq)));
                }
                EventKind::RequestFinished { status, .. } => ended = Some((status.as_str(), event.seq)),
                EventKind::RequestResumed { .. } => ended = None,
                _ => {}
            },
            _ => {}
        }
    }
    const WITHOUT_END: [RequestStatus; 4] =
        [RequestStatus::Queued, RequestStatus::InProgress, RequestStatus::Suspended, RequestStatus::Interrupted];
    if ended.is_none() && !WITHOUT_END.iter().any(|status| status.as_str() == label.status) {
        return Err(format!("the status is \"{}\" here, and the request has no end in its events", label.status));
    }
    let said = [("flow", &label.flow, flow_began), ("action", &label.action, began), ("status", &label.status, ended)];
    for (name, said, is) in said {
        if let Some((is, seq)) = is.filter(|(is, _)| is != said) {
            let line = lines.events.get(&(label.request.as_str().into(), seq)).map(|line| format!(" (line {line})"));
            return Err(format!(
                "the {name} is \"{said}\" here, and \"{is}\" in the events of the request{}: write the same in both",
                line.unwrap_or_default()
            ));
        }
    }
    Ok(())
}

/// What a line may be.
const LINES: &str = "a record {\"record\", \"state\", \"version\"}, an event {\"at\", \"event\", \"seq\"}, or what is \
                     expected {\"did\", \"expected\"}";

fn parse_line(line: &str, depth: usize) -> Result<Value, String> {
    engine::json::parse_within(line, depth).map_err(|error| format!("this is not JSON ({error})"))
}
