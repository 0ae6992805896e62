//! The lines of a `.run` file between the first one and its long values: records, events, and what is expected.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind, RequestStatus, Seq};
use engine::json::from_value;
use engine::scope::ScopeKey;
use serde::Deserialize;
use serde_json::{Map, Value};
use store::BundleRecord;

use super::event_fields::kind;
use super::long_values::Placed;
use super::{Lines, RunLabel};
use crate::core::config::Limits;
use crate::run::replay::comparison::Expectation;
use crate::workspace::export_format;

/// A line that is no label and no long value.
#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Line {
    Record {
        record: ScopeKey,
        #[serde(deserialize_with = "engine::json::exact")]
        state: Map<String, Value>,
        version: u64,
    },
    Event {
        at: i64,
        #[serde(default)]
        attempt: u32,
        #[serde(deserialize_with = "engine::json::exact")]
        event: Map<String, Value>,
        #[serde(default)]
        path: Option<Arc<str>>,
        #[serde(default)]
        request: Option<Arc<str>>,
        seq: Seq,
    },
    Expected {
        #[serde(deserialize_with = "engine::json::exact")]
        did: Value,
        expected: Arc<str>,
    },
}

/// What was read of the lines above the long values.
#[derive(Default)]
pub(super) struct Parsed {
    pub(super) pieces: Vec<BundleRecord>,
    pub(super) expectation: Expectation,
    pub(super) lines: Lines,
    /// The last event of each request.
    last: HashMap<Arc<str>, Seq>,
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
    ) -> Result<(), String> {
        let value: Value = parse_line(line, limits.depth + export_format::ENVELOPE_DEPTH)?;
        let value = placed.put_into(value)?;
        if let Some(unknown) = unknown_of_line(&value) {
            return Err(unknown);
        }
        match from_value::<Line>(value).map_err(|_| format!("this is none of {LINES}"))? {
            Line::Record { record, state, version } => {
                if let Some(first) = self.lines.records.insert((record.clone(), version), number) {
                    return Err(format!(
                        "version {version} of the record of {record} is in line {first} already: remove one of them"
                    ));
                }
                self.pieces.push(BundleRecord::Record { scope: record, version, state });
            }
            Line::Event { at, attempt, event, path, request, seq } => {
                let request = request.unwrap_or_else(|| label.request.as_str().into());
                follows(&mut self.last, &request, seq)?;
                self.lines.events.insert((request.clone(), seq), number);
                let event = Box::new(Event { seq, at, path, attempt, kind: kind(event)? });
                self.pieces.push(BundleRecord::Event { request, event });
                self.events += 1;
            }
            Line::Expected { did, expected } => {
                let did = Expectation::read_did_of_file(did)?;
                if self.expectation.0.contains_key(&expected) {
                    return Err(format!("what is expected of \"{expected}\" is in the file twice"));
                }
                self.expectation.0.insert(expected, did);
            }
        }
        Ok(())
    }

    /// Checks all of it against the first line.
    pub(super) fn check(&self, label: &RunLabel) -> Result<(), String> {
        if self.events != label.events {
            return Err(format!("the file is to have {} events, and {} are there", label.events, self.events));
        }
        if !self.last.contains_key(label.request.as_str()) {
            return Err(format!("the file is of request \"{}\", and no event of it is there", label.request));
        }
        fits(label, &self.pieces)
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

/// Checks that the first line says of the request what its events say; only its flow may have been renamed since. A
/// request that failed and was resumed has ended twice: the last end counts.
fn fits(label: &RunLabel, pieces: &[BundleRecord]) -> Result<(), String> {
    let (mut began, mut ended) = (None, None);
    for piece in pieces {
        match piece {
            BundleRecord::Event { request, event } if **request == *label.request => match &event.kind {
                EventKind::RequestStarted { action, .. } => began = Some(&**action),
                EventKind::RequestFinished { status, .. } => ended = Some(status.as_str()),
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
    for (name, said, is) in [("action", &label.action, began), ("status", &label.status, ended)] {
        if let Some(is) = is.filter(|is| is != said) {
            return Err(format!("the {name} is \"{said}\" here, and \"{is}\" in the events of the request"));
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

/// Checks the number of an event: each request counts its events from 1, and a fork goes on from where it branched off.
fn follows(last: &mut HashMap<Arc<str>, Seq>, request: &Arc<str>, seq: Seq) -> Result<(), String> {
    let before = last.insert(request.clone(), seq).unwrap_or(0);
    let goes_on = before == 1 && seq > 1;
    if seq != before + 1 && !goes_on {
        return Err(format!("event {} of request \"{request}\" is expected here, and this is event {seq}", before + 1));
    }
    Ok(())
}
