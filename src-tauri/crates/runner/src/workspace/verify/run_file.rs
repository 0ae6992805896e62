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

mod contradictions;
mod event_fields;
mod field_order;
mod line_reader;
mod long_values;
mod parsed;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use engine::event::{Event, Seq};
use engine::json::from_value;
use engine::scope::ScopeKey;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use store::{BundleRecord, Unfit};

use super::super::export_format;
use crate::core::config::{FILE, Limits};
use crate::core::fault::Fault;
use crate::core::ordinary_files;
use crate::run::batch::Cancel;
use crate::run::replay::comparison::Expectation;
use crate::views::RequestRow;
use line_reader::{LineReader, Wrong};
use long_values::{LongValues, NOT_COUNTED, Reading};
use parsed::Parsed;

/// How the names of such files end.
pub(super) const RUN_FILE_END: &str = ".run";
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
        let mut read = RunFile::read_whole(&self.file, limits)?;
        if read.source.hash != self.hash {
            let shown = self.file.display();
            return Err(Fault::refused(format!("{shown} was changed while it was verified: verify it again")));
        }
        read.expectation = expectation.clone();
        export_format::put_in_place(&self.file, read.text()?.as_bytes())
    }
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

    /// As [`read`](Self::read), which nobody cancels.
    pub(crate) fn read_whole(file: &Path, limits: &Limits) -> Result<RunFile, Fault> {
        let read = RunFile::read(file, limits, &Cancel::default())?;
        read.ok_or_else(|| Fault::internal("reading was cancelled"))
    }

    /// Reads a file. Whatever is wrong with it is told with its line. `None` if it was cancelled meanwhile.
    pub(crate) fn read(file: &Path, limits: &Limits, cancel: &Cancel) -> Result<Option<RunFile>, Fault> {
        let shown = file.display();
        let opened = match ordinary_files::open(file, limits.import_bytes) {
            Ok(opened) => opened,
            Err(_) if file.is_dir() => {
                let each = file.join("*.run");
                return Err(Fault::refused(format!("{shown} is a folder: name its files, like {}", each.display())));
            }
            // A shell hands on a pattern that no file has.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let is_pattern = file.to_string_lossy().contains(['*', '?']);
                let why = if is_pattern { "matches no file" } else { "is not there" };
                return Err(Fault::refused(format!("{shown} {why}: `flowglass keep` writes such files")));
            }
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                return Err(Fault::refused(format!(
                    "{shown} is too large: {error}, which is what limits.importBytes in {FILE} allows"
                )));
            }
            Err(error) => return Err(Fault::refused(format!("{shown} cannot be read: {error}"))),
        };
        let at = |(line, what): Wrong| Fault::refused(format!("{shown}, line {line}: {what}"));
        RunFile::parse(&mut BufReader::new(opened), file, limits, cancel).map_err(at)
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

    fn parse(
        text: &mut (impl BufRead + Seek),
        file: &Path,
        limits: &Limits,
        cancel: &Cancel,
    ) -> Result<Option<RunFile>, Wrong> {
        match RunFile::parse_once(text, file, limits, cancel, true) {
            // A hand has written a reference otherwise: then each gets a copy.
            Err((_, what)) if what == NOT_COUNTED => RunFile::parse_once(text, file, limits, cancel, false),
            other => other,
        }
    }

    /// Reads the file twice, because what is referred to stands below: first its long values, then the lines above.
    fn parse_once(
        text: &mut (impl BufRead + Seek),
        file: &Path,
        limits: &Limits,
        cancel: &Cancel,
        moves: bool,
    ) -> Result<Option<RunFile>, Wrong> {
        rewind(text)?;
        let mut reader = LineReader::new(&mut *text, limits.import_bytes);
        let first = reader.next()?.map(|(_, line)| label(line));
        let label = first.unwrap_or_else(|| label("")).map_err(|what| (1, what))?;
        let mut long = Reading::new(limits);
        let (mut above, mut hash_above) = (1, reader.hash());
        while let Some(line) = reader.next()? {
            if line.0 % LINES_BETWEEN_LOOKS == 0 && cancel.is_cancelled() {
                return Ok(None);
            }
            if !long.take(line)? {
                (above, hash_above) = (line.0, reader.hash());
            }
        }
        let (hash, placed) = (reader.hash(), long.end(moves)?);
        rewind(text)?;
        let mut reader = LineReader::new(&mut *text, limits.import_bytes);
        let mut read = Parsed::default();
        while let Some((number, line)) = reader.next()? {
            if number % LINES_BETWEEN_LOOKS == 0 && cancel.is_cancelled() {
                return Ok(None);
            }
            if number > 1 && !line.trim().is_empty() {
                let read_line = read.line(line, number, &label, &placed, limits);
                read_line.map_err(|fault| (fault.line.unwrap_or(number), fault.what))?;
            }
            if number == above {
                break;
            }
        }
        if reader.hash() != hash_above {
            return Err((1, "the file was changed while it was read: verify it again".to_owned()));
        }
        read.check(&label).map_err(|what| (1, what))?;
        let Parsed { pieces, expectation, lines, .. } = read;
        Ok(Some(RunFile { label, pieces, expectation, lines, source: Source { file: file.to_owned(), hash } }))
    }
}

/// How many lines are read before it is looked whether reading was cancelled.
const LINES_BETWEEN_LOOKS: usize = 256;

fn rewind(text: &mut impl Seek) -> Result<(), Wrong> {
    text.rewind().map_err(|error| (1, format!("it cannot be read: {error}")))
}

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

#[cfg(test)]
mod tests;
