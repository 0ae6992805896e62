//! The logs of foreign requests, kept up to date with the spans that arrive.
//!
//! A log is extended where new spans only add to its end, and replaced by another one where they belong before. Both
//! are decided by comparing events, so that nothing depends on how spans arrive. Another process may write the same
//! request: then its log is read again, and the spans of both are in the next one.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::Event;
use engine::log::{AppendError, AppendMode, Lease, Log};
use store::{Replacement, Store};

use crate::core::fault::Fault;
use crate::foreign::decode::{TraceId, trace_hex};
use crate::foreign::packed::PackedSpan;
use crate::foreign::trace::Trace;

/// How many events, or bytes of them, are appended at once.
const EVENTS_AT_ONCE: usize = 2_000;
const BYTES_AT_ONCE: usize = 4 << 20;
/// So many times more at first if a log takes the place of another one: a window that shows it sees no part of it.
const TIMES_MORE: usize = 5;
/// How often a log is read again because another process wrote it meanwhile.
const MAX_TRIES: usize = 8;

/// See the module.
pub(super) struct ForeignLogs {
    store: Arc<Store>,
    owner: String,
    known: HashMap<TraceId, Known>,
    has_replaced: bool,
}

struct Known {
    trace: Trace,
    /// The log's first event, by which it is told from others of its request.
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

    /// Adds spans. Returns the traces that have changed, in the order of their first spans.
    pub(super) fn add(&mut self, spans: Vec<(TraceId, PackedSpan)>) -> Result<Vec<TraceId>, Fault> {
        let mut changed = Vec::new();
        let mut is_changed = HashSet::new();
        for (id, span) in spans {
            if !self.known.contains_key(&id) {
                let known = self.read(id)?;
                self.known.insert(id, known);
            }
            let Some(known) = self.known.get_mut(&id) else { continue };
            let of_span = span.id();
            if known.trace.add(span) {
                known.unwritten.insert(of_span);
                if is_changed.insert(id) {
                    changed.push(id);
                }
            }
        }
        Ok(changed)
    }

    /// Reads what is known of a trace.
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

    /// Traces in the order in which they began, so that their requests are listed so.
    pub(super) fn in_order(&self, mut all: Vec<TraceId>) -> Vec<TraceId> {
        all.sort_by_cached_key(|id| (self.known.get(id).map(|known| known.trace.began()), *id));
        all
    }

    /// Writes the log of a trace of which nothing more is expected.
    pub(super) fn write_settled(&mut self, id: TraceId) -> Result<(), Fault> {
        if let Some(known) = self.known.get_mut(&id) {
            known.trace.settle();
        }
        self.write(id)
    }

    /// Ends a trace of which nothing more is expected. One that is not in memory is read.
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

    /// How much memory the spans of a trace take, about.
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
            // Another process wrote it: what it knows comes in. Or a person deleted it: what was in it stays away.
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

    /// Appends what is new to the log of a trace, if that is only at its end.
    fn append(&self, id: TraceId, known: &Known) -> Result<Put, Fault> {
        let request = trace_hex(id);
        if known.written.is_empty() {
            return Ok(Put::Before);
        }
        let mut portions = Portions::new(self, &request, Begin::After(known.log));
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

    /// Writes all events as the log of a trace, in place of the one that is known.
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
        let mut portions = Portions::new(self, &request, old.map_or(Begin::New, Begin::Replacing));
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

    /// Removes the rows of replaced logs. What is not removed now is removed by the next process.
    pub(super) fn remove_replaced(&mut self) {
        if std::mem::take(&mut self.has_replaced) {
            let _ = self.store.remove_replaced();
        }
    }
}

/// What came of writing a log.
enum Put {
    Done {
        hashes: Vec<u64>,
        has_replaced: bool,
    },
    /// New events belong before the end of the log that is known.
    Before,
    /// The log is not the one that is known.
    Fenced,
}

/// Where the first portion of events goes.
enum Begin {
    /// To a request that has no log.
    New,
    /// To the end of the log that begins with this event.
    After(Option<i64>),
    Replacing(Replacement),
}

type Answer = futures_channel::oneshot::Receiver<Result<(), AppendError>>;

/// Appends events in portions: while one is written, the next one is made.
struct Portions<'l> {
    store: &'l Store,
    lease: Lease,
    request: &'l str,
    /// None once the first portion was sent.
    begin: Option<Begin>,
    events: Vec<Event>,
    bytes: usize,
    hashes: Vec<u64>,
    sent: Option<Answer>,
    /// Whether all that was sent before was kept.
    is_kept: Result<bool, Fault>,
}

impl<'l> Portions<'l> {
    fn new(logs: &'l ForeignLogs, request: &'l str, begin: Begin) -> Portions<'l> {
        let (events, hashes, is_kept) = (Vec::new(), Vec::new(), Ok(true));
        let lease = Lease::first(&*logs.owner);
        Portions {
            store: &logs.store,
            lease,
            request,
            begin: Some(begin),
            events,
            bytes: 0,
            hashes,
            sent: None,
            is_kept,
        }
    }

    /// Takes an event. Returns false if no more are wanted.
    fn take(&mut self, event: Event, measured: Measured) -> bool {
        self.events.push(event);
        self.hashes.push(measured.hash);
        self.bytes += measured.bytes;
        let times = if matches!(self.begin, Some(Begin::Replacing(_))) { TIMES_MORE } else { 1 };
        if self.events.len() >= EVENTS_AT_ONCE * times || self.bytes >= BYTES_AT_ONCE * times {
            self.send();
        }
        matches!(self.is_kept, Ok(true))
    }

    fn send(&mut self) {
        self.wait();
        if !matches!(self.is_kept, Ok(true)) {
            return;
        }
        let events = std::mem::take(&mut self.events);
        self.bytes = 0;
        let append = |events| self.store.append(self.request, &self.lease, events, AppendMode::Committed);
        self.sent = match self.begin.take() {
            Some(Begin::Replacing(old)) => Some(self.store.replace(self.request, &self.lease, events, old)),
            Some(Begin::After(log)) => match self.store.log_id(self.request) {
                Ok(found) if found == log => Some(append(events)),
                Ok(_) => {
                    self.is_kept = Ok(false);
                    return;
                }
                Err(error) => {
                    self.is_kept = Err(Fault::internal(error));
                    return;
                }
            },
            Some(Begin::New) | None => Some(append(events)),
        };
    }

    fn wait(&mut self) {
        let Some(answer) = self.sent.take() else { return };
        let appended = futures_executor::block_on(answer);
        let appended = appended.unwrap_or_else(|_| Err(AppendError::Storage("the log ended".to_owned())));
        self.is_kept = is_taken(appended);
    }

    /// Sends the rest. Returns the hashes of all events, or none if the log is not the one that was expected.
    fn end(mut self) -> Result<Option<Vec<u64>>, Fault> {
        if !self.events.is_empty() {
            self.send();
        }
        self.wait();
        Ok(self.is_kept?.then_some(self.hashes))
    }
}

/// Whether an append was kept; false if another process wrote meanwhile.
fn is_taken(appended: Result<(), AppendError>) -> Result<bool, Fault> {
    match appended {
        Ok(()) => Ok(true),
        Err(AppendError::Exists | AppendError::Fenced { .. } | AppendError::OutOfOrder { .. }) => Ok(false),
        Err(error) => Err(Fault::of_append(error)),
    }
}

/// An event as JSON: a short hash, and how long it is.
struct Measured {
    hash: u64,
    bytes: usize,
}

fn measure(event: &Event) -> Measured {
    // An event can always be written.
    let text = serde_json::to_vec(event).unwrap_or_default();
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(&text).as_bytes()[..8]);
    Measured { hash: u64::from_le_bytes(first), bytes: text.len() }
}
