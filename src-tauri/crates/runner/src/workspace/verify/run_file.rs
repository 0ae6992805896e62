//! The `.run` file: a recorded run as text for a repository (ARCHITECTURE §8.12 has it byte by byte).
//!
//! ```text
//! {"action":"total","events":12,"flow":"cart","flowglass":"run","format":1,"request":"req_…","status":"completed"}
//! {"record":{"id":"…","kind":"session"},"state":{},"version":0}
//! {"at":1764000000000,"event":{"kind":"request_started",…},"seq":1}
//! {"did":[{"output":4}],"expected":"root/step:sum"}
//! {"text":1}
//!   the lines of a long text, each behind two spaces
//! {"value":2}
//! any other long value as JSON, on several lines
//! ```
//!
//! A long value stands where it belongs as `{"$long":2}`. The same run always gives the same bytes. Must not know the
//! database, nor what an event means.

mod field_order;
mod long_values;

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::event::{Event, EventKind, RequestStatus, Seq};
use engine::json::from_value;
use engine::scope::ScopeKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::{BundleRecord, Unfit};

use super::super::export_format;
use crate::core::config::{FILE, Limits};
use crate::core::fault::Fault;
use crate::core::ordinary_files;
use crate::run::replay::comparison::Expectation;
use crate::views::RequestRow;
use long_values::LongValues;

/// What the first line says of every such file.
const NAME: &str = "run";
/// The format this version writes, and the newest it reads.
const FORMAT: u32 = 1;

/// The first line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunLabel {
    /// The action that ran.
    pub(crate) action: String,
    /// How many events follow: a file that was cut off has fewer.
    events: u64,
    /// The flow's kind.
    pub(crate) flow: String,
    flowglass: String,
    format: u32,
    /// The request that the file is of; others are those that it saw.
    pub(crate) request: String,
    /// How it ended.
    pub(crate) status: String,
}

/// A recorded run that was read from a file, or is to be written into one.
#[derive(Debug)]
pub(crate) struct RunFile {
    pub(crate) label: RunLabel,
    /// What it saw, and its events, in the order of commits.
    pub(crate) pieces: Vec<BundleRecord>,
    /// What it is expected to do where that is not what its events say.
    pub(crate) expectation: Expectation,
    /// The line of each piece.
    pub(crate) lines: Lines,
    /// Where it was read from.
    pub(crate) source: Source,
}

/// The lines of events and records, counted from 1.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    events: HashMap<(Arc<str>, Seq), usize>,
    records: HashMap<(ScopeKey, u64), usize>,
}

impl Lines {
    /// The line of what does not fit, if it is of one.
    pub(crate) fn of(&self, unfit: &Unfit) -> Option<usize> {
        let event = unfit.event.as_ref().and_then(|event| self.events.get(event));
        event.or_else(|| self.records.get(unfit.record.as_ref()?)).copied()
    }
}

/// A file, and what was read from it.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    hash: blake3::Hash,
}

impl Source {
    /// Writes the file anew with another expectation: whole, or not at all. It is read again, so that a verdict that
    /// waits to be accepted does not hold all of it; what was changed meanwhile is not what the verdict is of.
    pub(crate) fn accept(&self, expectation: &Expectation, limits: &Limits) -> Result<(), Fault> {
        let mut read = RunFile::read(&self.file, limits)?;
        if read.source.hash != self.hash {
            let shown = self.file.display();
            return Err(Fault::refused(format!("{shown} was changed while it was verified: verify it again")));
        }
        read.expectation = expectation.clone();
        export_format::put_in_place(&self.file, read.text()?.as_bytes())
    }
}

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

impl RunFile {
    /// A run that is to be written. Pieces of code are left out: it is verified against the code of the day.
    pub(crate) fn new(row: &RequestRow, pieces: Vec<BundleRecord>, expectation: Expectation) -> RunFile {
        let events = pieces.iter().filter(|piece| matches!(piece, BundleRecord::Event { .. })).count() as u64;
        let label = RunLabel {
            action: row.action.clone(),
            events,
            flow: row.flow.clone(),
            flowglass: NAME.to_owned(),
            format: FORMAT,
            request: row.id.clone(),
            status: row.status.as_str().to_owned(),
        };
        let source = Source { file: PathBuf::new(), hash: blake3::hash(b"") };
        RunFile { label, pieces, expectation, lines: Lines::default(), source }
    }

    /// Its bytes.
    pub(crate) fn text(&self) -> Result<String, Fault> {
        let mut long = LongValues::default();
        let mut text = String::new();
        let mut line = |value: Value| {
            text.push_str(&value.to_string());
            text.push('\n');
        };
        line(serde_json::to_value(&self.label).map_err(Fault::internal)?);
        for piece in &self.pieces {
            match piece {
                BundleRecord::Code { .. } | BundleRecord::Annotation { .. } => {}
                BundleRecord::Record { scope, version, state } => {
                    let state = long.take_out_of(Value::Object(state.clone()));
                    let scope = field_order::by_name(json!(scope));
                    line(json!({ "record": scope, "state": state, "version": version }));
                }
                BundleRecord::Event { request, event } => line(self.event_line(request, event, &mut long)?),
            }
        }
        for (path, did) in &self.expectation.0 {
            line(json!({ "did": long.take_out_of(json!(did)), "expected": path }));
        }
        long.write(&mut text);
        Ok(text)
    }

    fn event_line(&self, request: &str, event: &Event, long: &mut LongValues) -> Result<Value, Fault> {
        let kind = export_format::with_kind(&event.kind, serde_json::value::Serializer).map_err(Fault::internal)?;
        let Value::Object(fields) = field_order::by_name(kind) else {
            return Err(Fault::internal("an event is no object"));
        };
        let fields = fields.into_iter().map(|(name, field)| (name, long.take_out_of(field)));
        let mut line = Map::new();
        line.insert("at".to_owned(), event.at.into());
        if event.attempt > 0 {
            line.insert("attempt".to_owned(), event.attempt.into());
        }
        line.insert("event".to_owned(), Value::Object(fields.collect()));
        line.extend(event.path.iter().map(|path| ("path".to_owned(), json!(path))));
        if *request != self.label.request {
            line.insert("request".to_owned(), request.into());
        }
        line.insert("seq".to_owned(), event.seq.into());
        Ok(Value::Object(line))
    }

    /// Reads a file. Whatever is wrong with it is told with its line.
    pub(crate) fn read(file: &Path, limits: &Limits) -> Result<RunFile, Fault> {
        let shown = file.display();
        let text = match ordinary_files::read_text(file, limits.import_bytes) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Err(Fault::refused(format!("{shown} is not there: `flowglass keep` writes such files")));
            }
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                return Err(Fault::refused(format!(
                    "{shown} is too large: {error}, which is what limits.importBytes in {FILE} allows"
                )));
            }
            Err(error) => return Err(Fault::refused(format!("{shown} cannot be read: {error}"))),
        };
        let at = |(line, what): (usize, String)| Fault::refused(format!("{shown}, line {line}: {what}"));
        RunFile::parse(&text, file, limits).map_err(at)
    }

    /// Reads the first line of a file.
    pub(crate) fn read_label(file: &Path) -> Result<RunLabel, Fault> {
        /// No first line is longer.
        const LONGEST: u64 = 64 << 10;
        let wrong = |what: String| Fault::refused(format!("{}: {what}", file.display()));
        let mut line = Vec::new();
        let opened = std::fs::File::open(file).map_err(|error| wrong(error.to_string()))?;
        let read = std::io::BufReader::new(opened.take(LONGEST)).read_until(b'\n', &mut line);
        read.map_err(|error| wrong(error.to_string()))?;
        label(&String::from_utf8_lossy(&line)).map_err(wrong)
    }

    /// An error is the number of a line, from 1, and what is wrong there.
    fn parse(text: &str, file: &Path, limits: &Limits) -> Result<RunFile, (usize, String)> {
        // An editor may have put a mark of the encoding there.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let label = label(text.lines().next().unwrap_or_default()).map_err(|what| (1, what))?;
        let (placed, rest) = long_values::read(text, limits)?;
        let (mut pieces, mut expectation) = (Vec::new(), Expectation::default());
        let mut last: HashMap<Arc<str>, Seq> = HashMap::new();
        let mut lines = Lines::default();
        for (number, line) in rest.into_iter().skip(1) {
            let wrong = |what: String| (number, what);
            let value: Value = parse_line(line, limits.depth + export_format::ENVELOPE_DEPTH).map_err(wrong)?;
            let value = placed.put_into(value).map_err(wrong)?;
            match from_value::<Line>(value) {
                Ok(Line::Record { record, state, version }) => {
                    if let Some(first) = lines.records.insert((record.clone(), version), number) {
                        return Err(wrong(format!(
                            "version {version} of the record of {record} is in line {first} already: remove one of them"
                        )));
                    }
                    pieces.push(BundleRecord::Record { scope: record, version, state });
                }
                Ok(Line::Event { at, attempt, event, path, request, seq }) => {
                    let request = request.unwrap_or_else(|| label.request.as_str().into());
                    follows(&mut last, &request, seq).map_err(wrong)?;
                    lines.events.insert((request.clone(), seq), number);
                    let kind = kind(event).map_err(wrong)?;
                    pieces
                        .push(BundleRecord::Event { request, event: Box::new(Event { seq, at, path, attempt, kind }) });
                }
                Ok(Line::Expected { did, expected }) => {
                    let did = Expectation::read_did_of_file(did).map_err(wrong)?;
                    if expectation.0.contains_key(&expected) {
                        return Err(wrong(format!("what is expected of \"{expected}\" is in the file twice")));
                    }
                    expectation.0.insert(expected, did);
                }
                Err(_) => return Err(wrong(format!("this is none of {LINES}"))),
            }
        }
        let events = pieces.iter().filter(|piece| matches!(piece, BundleRecord::Event { .. })).count() as u64;
        if events != label.events {
            return Err((1, format!("the file is to have {} events, and {events} are there", label.events)));
        }
        if !last.contains_key(label.request.as_str()) {
            return Err((1, format!("the file is of request \"{}\", and no event of it is there", label.request)));
        }
        fits(&label, &pieces).map_err(|what| (1, what))?;
        let source = Source { file: file.to_owned(), hash: blake3::hash(text.as_bytes()) };
        Ok(RunFile { label, pieces, expectation, lines, source })
    }
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

fn label(line: &str) -> Result<RunLabel, String> {
    let no_run =
        || "this is no .run file: it begins with {\"action\":…,\"flowglass\":\"run\",\"format\":1,…}".to_owned();
    let value: Value = serde_json::from_str(line).map_err(|_| no_run())?;
    if value["flowglass"] != NAME {
        return Err(no_run());
    }
    match value["format"].as_u64() {
        Some(format) if format > FORMAT.into() => Err(format!(
            "the file has format {format}, newer than format {FORMAT} of this Flowglass: update Flowglass to read it"
        )),
        Some(0) => Err(format!("there is no format 0: the first is 1, and this Flowglass writes format {FORMAT}")),
        Some(_) => from_value(value).map_err(|error| error.to_string()),
        None => Err("its format is not a number".to_owned()),
    }
}

fn parse_line(line: &str, depth: usize) -> Result<Value, String> {
    engine::json::parse_within(line, depth).map_err(|error| format!("this is not JSON ({error})"))
}

/// The kind and the fields of an event. A kind that nobody knows is a fault of the hand that wrote it: a newer version
/// with other kinds has a newer format.
fn kind(fields: Map<String, Value>) -> Result<EventKind, String> {
    let name = fields.get("kind").and_then(Value::as_str).ok_or("an event needs its \"kind\"")?.to_owned();
    if !engine::event::KINDS.contains(&&*name) {
        return Err(format!("there is no event \"{name}\": one of {}", engine::event::KINDS.join(", ")));
    }
    let read = |fields: &Map<String, Value>| from_value::<EventKind>(Value::Object(fields.clone()));
    let kind = read(&fields).map_err(|error| format!("this is no {name} event: {error}"))?;
    match unknown_field(&kind, fields, read) {
        Some(field) => Err(format!("a {name} event has no field \"{field}\"")),
        None => Ok(kind),
    }
}

/// A field that reading an event leaves out. A known one is left out, too, where it has the value that it would have
/// without being there; so each is tried with another value: that is refused, or not left out.
fn unknown_field<E>(
    kind: &EventKind,
    mut fields: Map<String, Value>,
    read: impl Fn(&Map<String, Value>) -> Result<EventKind, E>,
) -> Option<String> {
    let has = |kind: &EventKind, name: &str| {
        let written = export_format::with_kind(kind, serde_json::value::Serializer);
        written.is_ok_and(|written| written.get(name).is_some())
    };
    let written = export_format::with_kind(kind, serde_json::value::Serializer).ok()?;
    let left_out = fields.keys().filter(|name| written.get(*name).is_none()).cloned().collect::<Vec<_>>();
    left_out.into_iter().find(|name| {
        fields.insert(name.clone(), json!([{ "unlike": "any" }]));
        read(&fields).is_ok_and(|kind| !has(&kind, name))
    })
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

#[cfg(test)]
mod tests;
