//! The file that carries sessions and requests from one machine to another.
//!
//! ```text
//! flowglass export 6          what it is, and its format
//! <BLAKE3 of the rest, in hexadecimal>
//! <lines of JSON, compressed by zstd>
//! ```
//!
//! The first line of JSON is a [`Label`], each further one a [`Line`]. A file is checked completely before it is used.
//! Must not know what the lines mean.

mod body;

use std::collections::HashMap;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::sync::Arc;

use engine::event::upgrade::Upgrade;
use engine::event::{EventKind, KINDS, Seq};
use engine::scope::ScopeKey;
use indexmap::IndexMap;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::core::config::{FILE, Limits};
use crate::core::fault::Fault;
use crate::core::ordinary_files;
use crate::core::unfinished_files::UnfinishedFile;
use body::Unreadable;

/// The start of every file, before its format.
const NAME: &str = "flowglass export ";
/// The newest format, with expectations of requests, which older versions cannot read.
const FORMAT: u32 = 6;
/// The format of a file without expectations, but with annotations of sessions.
const WITH_SESSIONS_ANNOTATED: u32 = 5;
/// The format of a file that has only annotations of requests.
const WITH_REQUESTS_ANNOTATED: u32 = 4;
/// The format of a file without all these.
const PLAIN_FORMAT: u32 = 3;
/// The newest format whose events have the old names.
const OLD_WORDS: u32 = 1;
/// How many levels a line has around a value: the event, its record, and wrappers of chains.
pub(crate) const ENVELOPE_DEPTH: usize = 64;
/// The compression level. A small file is more important than speed.
const LEVEL: i32 = 9;

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Label {
    /// The view that it has: `all`, `client` or `history`.
    pub(crate) view: String,
    /// The version that wrote it.
    pub(crate) flowglass: String,
    /// How many lines follow.
    pub(crate) lines: u64,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Line {
    /// The current state of a record.
    Record {
        scope: ScopeKey,
        version: u64,
        #[serde(deserialize_with = "engine::json::exact")]
        state: Map<String, Value>,
    },
    /// The code of a bundle that ran.
    Code {
        hash: String,
        #[serde(deserialize_with = "engine::json::exact")]
        code: Value,
    },
    /// The next event of a request.
    Event {
        request: Arc<str>,
        seq: Seq,
        at: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<Arc<str>>,
        attempt: u32,
        #[serde(serialize_with = "with_kind")]
        event: Box<EventKind>,
    },
    /// A tag, a note or a title that a person gave a request.
    Annotation {
        request: Arc<str>,
        at: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        kind: String,
        value: String,
    },
    /// A tag, a note or a title that a person gave a session.
    SessionAnnotation {
        session: Arc<str>,
        at: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        kind: String,
        value: String,
    },
    /// The expectation of a request for which a person accepted differences.
    Expectation {
        request: String,
        #[serde(deserialize_with = "engine::json::exact")]
        body: Value,
    },
    /// The parts of a request that an audience may see.
    Request {
        #[serde(deserialize_with = "engine::json::exact")]
        request: Value,
    },
    /// An item that an audience sees.
    Item {
        #[serde(deserialize_with = "engine::json::exact")]
        item: Value,
    },
}

/// Writes a file under a temporary name and then renames it, so that it is never incomplete. Without `replace`, a file
/// that was created there in the meantime stays. Returns its size.
pub(crate) fn write((file, replace): (&Path, bool), view: &str, lines: &[Line]) -> Result<u64, Fault> {
    let label =
        Label { view: view.to_owned(), flowglass: env!("CARGO_PKG_VERSION").to_owned(), lines: lines.len() as u64 };
    let mut body = zstd::Encoder::new(Vec::new(), LEVEL)?;
    let mut line = |text: Result<String, serde_json::Error>| -> Result<(), Fault> {
        Ok(writeln!(body, "{}", text.map_err(Fault::internal)?)?)
    };
    line(serde_json::to_string(&label))?;
    for one in lines {
        line(serde_json::to_string(one))?;
    }
    let body = body.finish()?;
    let needs = |line: &Line| match line {
        Line::Expectation { .. } => FORMAT,
        Line::SessionAnnotation { .. } => WITH_SESSIONS_ANNOTATED,
        Line::Annotation { .. } => WITH_REQUESTS_ANNOTATED,
        _ => PLAIN_FORMAT,
    };
    let format = lines.iter().map(needs).max().unwrap_or(PLAIN_FORMAT);
    let mut bytes = format!("{NAME}{format}\n{}\n", blake3::hash(&body).to_hex()).into_bytes();
    bytes.extend(body);
    put(file, replace, &bytes)?;
    Ok(bytes.len() as u64)
}

/// Writes a complete file or nothing, and creates its folder if only that is missing. Without `replace`, a file that
/// was created there in the meantime stays.
pub(crate) fn put(file: &Path, replace: bool, bytes: &[u8]) -> Result<(), Fault> {
    make_folder(file);
    put_whole(file, replace, bytes).map_err(|error| {
        Fault::invalid(format!(
            "{} cannot be written ({error}): name a file in a folder that is there and writable",
            file.display()
        ))
    })
}

/// Replaces the content of an existing file, completely or not at all. Links to it and its permissions stay.
pub(crate) fn put_in_place(file: &Path, bytes: &[u8]) -> Result<(), Fault> {
    let target = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let permissions = std::fs::metadata(&target).ok().map(|about| about.permissions());
    put_file(&target, true, bytes, permissions)
        .map_err(|error| Fault::invalid(format!("{} cannot be written ({error}); it is as it was", file.display())))
}

/// Makes the folder of a file, if it is missing.
pub(crate) fn make_folder(file: &Path) {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        // If this fails, the write fails, too, and says why.
        let _ = std::fs::create_dir(folder);
    }
}

fn put_whole(file: &Path, replace: bool, bytes: &[u8]) -> std::io::Result<()> {
    put_file(file, replace, bytes, None)
}

fn put_file(
    file: &Path,
    replace: bool,
    bytes: &[u8],
    permissions: Option<std::fs::Permissions>,
) -> std::io::Result<()> {
    if file.is_dir() {
        return Err(std::io::Error::new(std::io::ErrorKind::IsADirectory, "it is a folder"));
    }
    let mut part = UnfinishedFile::beside(file)?;
    part.file.write_all(bytes)?;
    if let Some(permissions) = permissions {
        part.file.set_permissions(permissions)?;
    }
    part.file.sync_all()?;
    if replace {
        return std::fs::rename(&part.path, file);
    }
    match std::fs::hard_link(&part.path, file) {
        // The file system has no hard links.
        Err(error) if error.kind() != ErrorKind::AlreadyExists && !file.exists() => std::fs::rename(&part.path, file),
        linked => linked,
    }
}

/// Reads a file, and checks that it is a complete export of a known format.
pub(crate) fn read(file: &Path, limits: &Limits) -> Result<(Label, Vec<Line>), Fault> {
    let shown = file.display();
    let too_large = |what: &str| Fault::refused(format!("{shown} is too large ({what}); nothing was imported"));
    let most = limits.import_bytes;
    let bytes = match std::fs::File::open(file).and_then(|file| ordinary_files::read_to(file, most)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
            return Err(too_large(&format!("{error}, which is what limits.importBytes in {FILE} allows")));
        }
        Err(error) => return Err(Fault::invalid(format!("{shown} cannot be read: {error}"))),
    };
    let damaged = |what: &str| {
        Fault::refused(format!("{shown} is damaged ({what}); nothing was imported. Export it again, or copy it again"))
    };
    let Some(rest) = bytes.strip_prefix(NAME.as_bytes()) else {
        return Err(Fault::refused(format!("{shown} is not an export of Flowglass; nothing was imported")));
    };
    let (format, rest) = cut(rest).ok_or_else(|| damaged("it ends too early"))?;
    let format: u32 = format.parse().map_err(|_| damaged("its format is not a number"))?;
    if format > FORMAT {
        return Err(Fault::refused(format!(
            "{shown} has format {format}, newer than format {FORMAT} of this Flowglass: update Flowglass to import it"
        )));
    }
    let (sum, body) = cut(rest).ok_or_else(|| damaged("it ends too early"))?;
    if blake3::hash(body).to_hex().as_str() != sum {
        return Err(damaged("its content does not fit its checksum"));
    }
    let unreadable = |error: Unreadable| match error {
        Unreadable::Damaged(what) => damaged(&what),
        Unreadable::TooLarge(what) => too_large(&what),
    };
    let count = body::count(body, limits).map_err(unreadable)?;
    let mut lines = body::lines(body).map_err(unreadable)?;
    let depth = limits.depth + ENVELOPE_DEPTH;
    let first = lines.next().unwrap_or_else(|| Ok(String::new())).map_err(unreadable)?;
    let label: Label = parse(&first, depth).map_err(|error| damaged(&error))?;
    if count.saturating_sub(1) != label.lines {
        return Err(damaged(&format!("it has {} lines of {}", count.saturating_sub(1), label.lines)));
    }
    let lines = match format {
        ..=OLD_WORDS => {
            let lines: Vec<String> = lines.collect::<Result<_, _>>().map_err(unreadable)?;
            upgraded(&lines, depth).map_err(|error| damaged(&error))?
        }
        _ => {
            let mut read = Vec::new();
            for line in lines {
                let line = known_or_not(&line.map_err(unreadable)?, depth);
                read.push(line.map_err(|error| damaged(&format!("line {}: {error}", read.len() + 2)))?);
            }
            read
        }
    };
    Ok((label, lines))
}

fn parse<T: serde::de::DeserializeOwned>(line: &str, depth: usize) -> Result<T, String> {
    engine::json::from_json_within(line, depth).map_err(|error| error.to_string())
}

/// An event's kind and fields, also of a kind that this version does not know.
pub(crate) fn with_kind<S: Serializer>(event: &EventKind, serializer: S) -> Result<S::Ok, S::Error> {
    let EventKind::Unknown { name, fields } = event else { return event.serialize(serializer) };
    let mut map = serializer.serialize_map(Some(fields.len() + 1))?;
    map.serialize_entry("kind", name)?;
    for (name, field) in fields {
        map.serialize_entry(name, field)?;
    }
    map.end()
}

/// A line, whose event may be of a kind that this version does not know.
fn known_or_not(line: &str, depth: usize) -> Result<Line, String> {
    #[derive(Deserialize)]
    struct AnyLine {
        event: AnyEvent,
    }
    #[derive(Deserialize)]
    struct AnyEvent {
        request: Arc<str>,
        seq: Seq,
        at: i64,
        path: Option<Arc<str>>,
        attempt: u32,
        #[serde(deserialize_with = "engine::json::exact")]
        event: Map<String, Value>,
    }
    parse(line, depth).or_else(|error: String| {
        let Ok(AnyLine { event }) = parse(line, depth) else { return Err(error) };
        let AnyEvent { request, seq, at, path, attempt, event: mut fields } = event;
        match fields.shift_remove("kind") {
            Some(Value::String(name)) if !KINDS.contains(&&*name) => {
                let event = Box::new(EventKind::Unknown { name, fields });
                Ok(Line::Event { request, seq, at, path, attempt, event })
            }
            _ => Err(error),
        }
    })
}

/// Reads the lines of an export whose events have the names of an older format.
fn upgraded(lines: &[String], depth: usize) -> Result<Vec<Line>, String> {
    #[derive(Deserialize)]
    struct OldLine {
        event: Option<OldEvent>,
    }
    #[derive(Deserialize)]
    struct OldEvent {
        request: Arc<str>,
        seq: Seq,
        at: i64,
        path: Option<Arc<str>>,
        attempt: u32,
        event: IndexMap<String, Box<RawValue>>,
    }
    let mut upgrades: HashMap<Arc<str>, Upgrade> = HashMap::new();
    let mut parsed = Vec::new();
    for line in lines {
        let Some(mut old) = serde_json::from_str::<OldLine>(line).map_err(|error| error.to_string())?.event else {
            parsed.push(Err(parse(line, depth)?));
            continue;
        };
        let kind = old.event.shift_remove("kind").ok_or("an event has no kind")?;
        let kind: String = serde_json::from_str(kind.get()).map_err(|error| error.to_string())?;
        let body = serde_json::to_string(&old.event).map_err(|error| error.to_string())?;
        let upgrade = upgrades.entry(old.request.clone()).or_default();
        upgrade.survey(&kind, old.path.as_deref(), &body);
        parsed.push(Ok((old, kind, body)));
    }
    let line = |parsed: Result<(OldEvent, String, String), Line>| {
        let (old, kind, body) = match parsed {
            Ok(event) => event,
            Err(line) => return Ok(line),
        };
        let upgrade = upgrades.entry(old.request.clone()).or_default();
        let (kind, body) = upgrade.event(&kind, old.path.as_deref(), &body).unwrap_or((kind, body));
        let comma = if body == "{}" { "" } else { "," };
        let event = parse(&format!("{{\"kind\":\"{kind}\"{comma}{}", &body[1..]), depth)?;
        let OldEvent { request, seq, at, path, attempt, .. } = old;
        Ok(Line::Event { request, seq, at, path, attempt, event })
    };
    parsed.into_iter().map(line).collect()
}

/// Splits off the first line of text.
fn cut(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((std::str::from_utf8(&bytes[..end]).ok()?, &bytes[end + 1..]))
}
