//! The logs of foreign requests, kept up to date with the spans that arrive.
//!
//! A log is extended if new spans only add to its end, and replaced by a new log otherwise. This is decided by
//! comparing events, so that the order in which spans arrive does not matter. If another process writes the same
//! request, its log is read again, and the next log has the spans and log records of both.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use store::Store;

use super::portions::{Begin, Portions, measure};
use crate::core::fault::Fault;
use crate::foreign::decode::{TraceId, trace_hex};
use crate::foreign::packed::PackedSpan;
use crate::foreign::trace::Trace;

/// How often a log is read again because another process wrote it in the meantime.
const MAX_TRIES: usize = 8;

/// The logs of the traces that arrive.
pub(super) struct ForeignLogs {
    store: Arc<Store>,
    owner: String,
    known: HashMap<TraceId, Known>,
    has_replaced: bool,
}

/// What adding spans did.
#[derive(Debug, Default)]
pub(super) struct Added {
    /// The traces that have changed, in the order of their first spans.
    pub(super) changed: Vec<TraceId>,
    /// Spans that were not added, because the log of their trace cannot be read.
    pub(super) unread: Vec<(TraceId, PackedSpan)>,
    /// The reasons, one for each of these traces.
    pub(super) faults: Vec<Fault>,
}

struct Known {
    trace: Trace,
    /// The log's first event, which distinguishes it from other logs of its request.
    log: Option<i64>,
    /// Hashes of its events.
    written: Vec<u64>,
    /// The ids of spans that are newer than the log.
    unwritten: HashSet<u64>,
}

impl ForeignLogs {
    pub(super) fn new(store: Arc<Store>, owner: String) -> ForeignLogs {
        ForeignLogs { store, owner, known: HashMap::new(), has_replaced: false }
    }

    /// Adds spans. Those of a trace whose log cannot be read now are in the result.
    pub(super) fn add(&mut self, spans: Vec<(TraceId, PackedSpan)>) -> Added {
        let mut added = Added::default();
        let (mut is_changed, mut is_unread) = (HashSet::new(), HashMap::new());
        for (id, span) in spans {
            if !self.known.contains_key(&id) && !is_unread.contains_key(&id) {
                match self.read(id) {
                    Ok(known) => drop(self.known.insert(id, known)),
                    Err(fault) => {
                        // Spans of a refused trace can never be added, so do not retry them.
                        is_unread.insert(id, !matches!(fault, Fault::Refused { .. }));
                        added.faults.push(fault);
                    }
                }
            }
            let Some(known) = self.known.get_mut(&id) else {
                if is_unread.get(&id) == Some(&true) {
                    added.unread.push((id, span));
                }
                continue;
            };
            let of_span = span.id();
            if known.trace.add(span) {
                known.unwritten.insert(of_span);
                if is_changed.insert(id) {
                    added.changed.push(id);
                }
            }
        }
        added
    }

    /// Reads the stored log of a trace.
    fn read(&self, id: TraceId) -> Result<Known, Fault> {
        let request = trace_hex(id);
        let log = self.store.log_id(&request).map_err(Fault::internal)?;
        let none = Known { trace: Trace::new(id), log: None, written: Vec::new(), unwritten: HashSet::new() };
        if log.is_none() {
            return Ok(none);
        }
        let Some((row, events)) = self.store.log_of(&request).map_err(Fault::internal)? else { return Ok(none) };
        if row.emitter.is_none() {
            return Err(Fault::refused(format!("request id \"{request}\" is already in use by a run of a flow")));
        }
        Ok(Known {
            trace: Trace::of_log(id, &events),
            log,
            written: events.iter().map(|event| measure(event).hash).collect(),
            unwritten: HashSet::new(),
        })
    }

    /// Sorts traces by their start, so that their requests are listed in this order.
    pub(super) fn in_order(&self, mut all: Vec<TraceId>) -> Vec<TraceId> {
        all.sort_by_cached_key(|id| (self.known.get(id).map(|known| known.trace.began()), *id));
        all
    }

    /// Writes the log of a trace of which no more spans are expected.
    pub(super) fn write_settled(&mut self, id: TraceId) -> Result<(), Fault> {
        if let Some(known) = self.known.get_mut(&id) {
            known.trace.settle();
        }
        self.write(id)
    }

    /// Ends a trace of which no more spans are expected. Reads it if it is not in memory.
    pub(super) fn settle(&mut self, id: TraceId) -> Result<(), Fault> {
        if !self.known.contains_key(&id) {
            let known = self.read(id)?;
            if known.log.is_none() {
                return Ok(());
            }
            self.known.insert(id, known);
        }
        let is_changed = self.known.get_mut(&id).is_some_and(|known| known.trace.settle());
        if is_changed { self.write(id) } else { Ok(()) }
    }

    /// How many spans of a trace are known.
    pub(super) fn len(&self, id: TraceId) -> usize {
        self.known.get(&id).map_or(0, |known| known.trace.len())
    }

    /// The approximate memory of a trace's spans, in bytes.
    pub(super) fn bytes(&self, id: TraceId) -> usize {
        self.known.get(&id).map_or(0, |known| known.trace.bytes)
    }

    /// Writes the log of a trace as it is now.
    pub(super) fn write(&mut self, id: TraceId) -> Result<(), Fault> {
        for _ in 0..MAX_TRIES {
            let Some(known) = self.known.get_mut(&id) else { return Ok(()) };
            known.trace.take_in_records();
            let Some(known) = self.known.get(&id) else { return Ok(()) };
            let appended = self.append(id, known)?;
            let replaced = if let Put::Before = appended { self.replace(id, known)? } else { appended };
            if let Put::Done { hashes, has_replaced } = replaced {
                self.has_replaced |= has_replaced;
                let log = self.store.log_id(&trace_hex(id)).map_err(Fault::internal)?;
                if let Some(known) = self.known.get_mut(&id) {
                    (known.written, known.log) = (hashes, log);
                    known.unwritten.clear();
                }
                return Ok(());
            }
            // Another process wrote the log: include its spans. Or a person deleted it: do not bring its spans back.
            let mut newer = self.read(id)?;
            if let Some(known) = self.known.remove(&id) {
                let is_deleted = known.log.is_some() && newer.log.is_none();
                let is_settled = known.trace.is_settled;
                for span in known.trace.into_spans() {
                    let of_span = span.id();
                    if (!is_deleted || known.unwritten.contains(&of_span)) && newer.trace.add(span) {
                        newer.unwritten.insert(of_span);
                    }
                }
                if is_settled {
                    newer.trace.settle();
                }
                if is_deleted && newer.trace.len() == 0 {
                    return Ok(());
                }
            }
            self.known.insert(id, newer);
        }
        let request = trace_hex(id);
        Err(Fault::refused(format!("request \"{request}\" is written by other processes all the time; try again")))
    }

    /// Appends new events to the log of a trace, if they all belong at its end.
    fn append(&self, id: TraceId, known: &Known) -> Result<Put, Fault> {
        let request = trace_hex(id);
        if known.written.is_empty() {
            return Ok(Put::Before);
        }
        let mut portions = Portions::new(&self.store, &self.owner, &request, Begin::After(known.log));
        let (mut at, mut is_longer) = (0, true);
        known.trace.events(&self.owner, &mut |event| {
            let measured = measure(&event);
            match known.written.get(at) {
                Some(written) => is_longer = *written == measured.hash,
                None => return portions.take(event, measured),
            }
            at += 1;
            is_longer
        });
        if !is_longer || at < known.written.len() {
            return Ok(Put::Before);
        }
        Ok(portions.end()?.map_or(Put::Fenced, |new| {
            let hashes = known.written.iter().copied().chain(new).collect();
            Put::Done { hashes, has_replaced: false }
        }))
    }

    /// Writes all events as a new log of a trace, in place of the known one.
    fn replace(&self, id: TraceId, known: &Known) -> Result<Put, Fault> {
        let request = trace_hex(id);
        let old = match known.log {
            None => None,
            Some(log) => {
                let old = self.store.replacement(&request).map_err(Fault::internal)?;
                let is_known = self.store.log_id(&request).map_err(Fault::internal)? == Some(log);
                let old = old.filter(|old| is_known && old.last() as usize == known.written.len());
                if old.is_none() {
                    return Ok(Put::Fenced);
                }
                old
            }
        };
        let has_replaced = old.is_some();
        let mut portions = Portions::new(&self.store, &self.owner, &request, old.map_or(Begin::New, Begin::Replacing));
        known.trace.events(&self.owner, &mut |event| {
            let measured = measure(&event);
            portions.take(event, measured)
        });
        Ok(portions.end()?.map_or(Put::Fenced, |hashes| Put::Done { hashes, has_replaced }))
    }

    /// Forgets a trace: it is read again if more of it arrives.
    pub(super) fn forget(&mut self, id: TraceId) {
        self.known.remove(&id);
    }

    /// Removes the rows of replaced logs. The next process removes rows that are left now.
    pub(super) fn remove_replaced(&mut self) {
        if std::mem::take(&mut self.has_replaced) {
            let _ = self.store.remove_replaced();
        }
    }
}

/// The result of writing a log.
enum Put {
    Done {
        hashes: Vec<u64>,
        has_replaced: bool,
    },
    /// New events belong before the end of the known log.
    Before,
    /// The stored log is not the known one.
    Fenced,
}

#[cfg(test)]
#[path = "logs_tests.rs"]
mod tests;
