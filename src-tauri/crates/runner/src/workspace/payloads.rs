//! What the window reads of values, states and differences: small values whole, large ones in parts.
//!
//! A part is only ever read of what the same question on the command line would show: a reference leads back to that
//! question, and its hash says whether the answer is still the one that was shown. Must not open anything by its hash.

mod block;
mod cache;
mod cut;
mod find;
mod instants;
mod measured;
#[cfg(test)]
mod tests;

use std::fs::OpenOptions;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use store::EventQuery;

use self::cache::Version;
use self::measured::{MAX_INLINE_BYTES, Measured, Room, measure};
use super::{At, Workspace};
use crate::core::fault::Fault;
use crate::views::*;

pub(crate) use self::cache::PayloadCache;

/// What is read of a value at once: to be copied, and where all of it is needed.
const MAX_WHOLE_BYTES: u64 = 4 << 20;
/// How many events are read at once.
const MAX_EVENTS: u64 = 1_000;
/// A longer text is not looked for.
const MAX_WANTED: usize = 1_000;

impl Workspace {
    /// A part of a value.
    pub fn payload(&self, reference: &PayloadReference, query: &PayloadQuery) -> Result<PayloadPage, Fault> {
        self.measured(reference)?.page(query)
    }

    /// The places of a text in a value, from the hit with a number on.
    pub fn payload_find(&self, reference: &PayloadReference, text: &str, from: u64) -> Result<PayloadHits, Fault> {
        if text.is_empty() || text.len() > MAX_WANTED {
            return Err(Fault::invalid(format!("the text to find has {} bytes: 1 to {MAX_WANTED}", text.len())));
        }
        Ok(find::find(self.measured(reference)?.value(), text, from))
    }

    /// A value, or what stands at a JSON pointer in it, where that has at most 4 MB.
    pub fn payload_whole(&self, reference: &PayloadReference, path: &str) -> Result<Json, Fault> {
        self.measured(reference)?.whole(path, MAX_WHOLE_BYTES).map(Json)
    }

    /// Writes a value to a file: a text as it is, anything else as indented JSON. A relative path begins in the
    /// workspace's folder. An existing file is replaced once all is written, because the dialog that chose it asked.
    pub fn payload_save(&self, reference: &PayloadReference, path: &str, file: &str) -> Result<PayloadSaved, Fault> {
        let value = self.measured(reference)?;
        value.at(path)?;
        if file.trim().is_empty() || file.contains('\0') {
            return Err(Fault::invalid("the file to save to has no name: type a path, like notes/state.json"));
        }
        let full = self.dir.join(Path::new(file));
        let failed = |error: std::io::Error| Fault::refused(format!("{} cannot be written: {error}", full.display()));
        if full.is_dir() {
            return Err(Fault::refused(format!("{} is a folder: name a file in it", full.display())));
        }
        // In the same folder, so that the file can be renamed.
        let name = full.file_name().unwrap_or_default().to_string_lossy();
        let partial = full.with_file_name(format!(".{name}.{}.partial", crate::effects::outside::new_id().simple()));
        let written = (|| {
            let opened = OpenOptions::new().write(true).create_new(true).open(&partial).map_err(failed)?;
            let mut into = BufWriter::new(opened);
            value.write(path, &mut into)?;
            into.flush().map_err(failed)?;
            let bytes = into.get_ref().metadata().map_err(failed)?.len();
            drop(into);
            std::fs::rename(&partial, &full).map_err(failed)?;
            Ok(bytes)
        })();
        let bytes = written.inspect_err(|_: &Fault| {
            // It may not have been created.
            let _ = std::fs::remove_file(&partial);
        })?;
        Ok(PayloadSaved { file: full.display().to_string(), bytes })
    }

    /// Raw events as the window gets them, oldest first.
    pub fn event_parts(&self, request: &str, from: u64, limit: u64) -> Result<Vec<EventParts>, Fault> {
        if limit > MAX_EVENTS {
            return Err(Fault::invalid(format!("a limit of {limit}: at most {MAX_EVENTS} events are read at once")));
        }
        let query = EventQuery { from: Some(from), limit: Some(limit), ..EventQuery::default() };
        let mut room = Room::new();
        let parts = |row: EventRow| {
            let at = PayloadAddress::Event { request: request.to_owned(), seq: row.seq };
            let payload = self.pack(row.payload.0, &mut room, || at)?;
            let EventRow { seq, at, kind, path, instance_id, .. } = row;
            Ok(EventParts { seq, at, kind, path, instance_id, payload })
        };
        self.events(request, query)?.into_iter().map(parts).collect()
    }

    /// The value that a reference names.
    fn measured(&self, reference: &PayloadReference) -> Result<Arc<Measured>, Fault> {
        // What was deleted is gone, whatever is still in memory.
        self.request(reference.at.request())?;
        if let Some(found) = self.payloads.get(reference) {
            return Ok(found);
        }
        let measured = Arc::new(Measured::new(self.value_at(&reference.at)?)?);
        if measured.hash != reference.hash {
            let known: String = reference.hash.chars().take(12).collect();
            return Err(Fault::not_found(format!("the value {known}… is not there any more: look at its block again")));
        }
        self.payloads.put(reference.clone(), measured.clone());
        Ok(measured)
    }

    /// What stands at an address now, asked for as the command line asks for it.
    fn value_at(&self, at: &PayloadAddress) -> Result<Value, Fault> {
        let gone = |what: &str| Fault::not_found(format!("{what} is not there"));
        match at {
            PayloadAddress::Block { request, instance, part, n } => self.value_of_block(request, instance, *part, *n),
            PayloadAddress::Event { request, seq } => {
                let query = EventQuery { from: Some(*seq), to: Some(*seq), ..EventQuery::default() };
                let row = self.events(request, query)?.into_iter().next();
                row.map(|row| row.payload.0).ok_or_else(|| gone(&format!("event {seq} of request \"{request}\"")))
            }
            PayloadAddress::State { request, seq, scope } => {
                let (_, found) = instants::scopes(self.state_at(request, Some(&At::Seq(*seq)))?);
                let found = found.into_iter().find(|(one, _)| one.id == *scope);
                found
                    .map(|(_, value)| value)
                    .ok_or_else(|| gone(&format!("scope \"{scope}\" of \"{request}\" at {seq}")))
            }
            PayloadAddress::Change { request, from, to, n, flow, old } => {
                let changes = self.all_changes(request, *from, *to, *flow)?;
                let change = usize::try_from(*n).ok().and_then(|n| changes.into_iter().nth(n));
                let side = change.and_then(|change| if *old { change.old } else { change.new });
                side.map(|Json(value)| value).ok_or_else(|| gone(&format!("difference {n} of request \"{request}\"")))
            }
        }
    }

    /// A value as it travels: whole where it is small and there is room, else as a reference, with the value kept for
    /// the questions that follow.
    fn pack(&self, value: Value, room: &mut Room, at: impl FnOnce() -> PayloadAddress) -> Result<Payload, Fault> {
        let bytes = measure(&value, &mut std::collections::HashMap::new());
        if room.takes(bytes) { Ok(Payload::Inline(Json(value))) } else { self.refer(value, at()) }
    }

    /// As [`pack`](Self::pack), whatever else is in the answer: for what is kept and fitted when it is asked for.
    fn pack_alone(&self, value: Value, at: impl FnOnce() -> PayloadAddress) -> Result<Payload, Fault> {
        let bytes = measure(&value, &mut std::collections::HashMap::new());
        if bytes <= MAX_INLINE_BYTES { Ok(Payload::Inline(Json(value))) } else { self.refer(value, at()) }
    }

    /// A value that was packed alone, in an answer with others.
    fn fit(&self, payload: &Payload, room: &mut Room, at: impl FnOnce() -> PayloadAddress) -> Result<Payload, Fault> {
        match payload {
            Payload::Inline(Json(value)) => self.pack(value.clone(), room, at),
            Payload::Large(_) => Ok(payload.clone()),
        }
    }

    fn refer(&self, value: Value, at: PayloadAddress) -> Result<Payload, Fault> {
        let measured = Measured::new(value)?;
        let reference = PayloadReference { hash: measured.hash.clone(), at };
        let large = LargeValue { reference: Some(reference.clone()), ..measured.head() };
        self.payloads.put(reference, Arc::new(measured));
        Ok(Payload::Large(large))
    }

    /// Which state of a request an answer is made of: the same answer is right until this changes.
    pub(super) fn version_of(&self, request: &str) -> Result<Version, Fault> {
        let row = self.request(request)?;
        Ok((row.id, row.started_at, row.last_seq, row.status.as_str().to_owned()))
    }
}
