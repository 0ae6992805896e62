//! The logs of foreign requests, kept up to date with the spans that arrive.
//!
//! A log is extended where new spans only add to its end, and replaced by another one where they belong before. Both
//! are decided by comparing events, so that nothing depends on how spans arrive. Another process may write the same
//! request: then its log is read again, and the spans of both are in the next one.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::Event;
use engine::log::{AppendError, AppendMode, Lease, Log};
use store::Store;

use crate::core::fault::Fault;
use crate::foreign::decode::{Decoded, TraceId, trace_hex};
use crate::foreign::trace::Trace;

/// How many events are appended at once.
const EVENTS_AT_ONCE: usize = 2_000;
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
}

impl ForeignLogs {
    pub(super) fn new(store: Arc<Store>, owner: String) -> ForeignLogs {
        ForeignLogs { store, owner, known: HashMap::new(), has_replaced: false }
    }

    /// Adds spans. Returns the traces that have changed, in the order of their first spans.
    pub(super) fn add(&mut self, decoded: Decoded) -> Result<Vec<TraceId>, Fault> {
        let mut changed = Vec::new();
        let mut is_changed = std::collections::HashSet::new();
        for (id, span) in decoded.spans {
            if !self.known.contains_key(&id) {
                let known = self.read(id)?;
                self.known.insert(id, known);
            }
            let Some(known) = self.known.get_mut(&id) else { continue };
            if known.trace.add(span) && is_changed.insert(id) {
                changed.push(id);
            }
        }
        Ok(changed)
    }

    /// Reads what is known of a trace.
    fn read(&self, id: TraceId) -> Result<Known, Fault> {
        let request = trace_hex(id);
        let log = self.store.log_id(&request).map_err(Fault::internal)?;
        let none = Known { trace: Trace::new(id), log: None, written: Vec::new() };
        if log.is_none() {
            return Ok(none);
        }
        let Some((row, events)) = self.store.log_of(&request).map_err(Fault::internal)? else { return Ok(none) };
        if row.emitter.is_none() {
            return Err(Fault::refused(format!("request id \"{request}\" is already in use by a run of a flow")));
        }
        Ok(Known { trace: Trace::of_log(id, &events), log, written: events.iter().map(hash).collect() })
    }

    /// How many spans of a trace are known.
    pub(super) fn len(&self, id: TraceId) -> usize {
        self.known.get(&id).map_or(0, |known| known.trace.len())
    }

    /// Writes the log of a trace as it is now.
    pub(super) fn write(&mut self, id: TraceId) -> Result<(), Fault> {
        for _ in 0..MAX_TRIES {
            let Some(known) = self.known.get(&id) else { return Ok(()) };
            let events = known.trace.events(&self.owner);
            let hashes: Vec<u64> = events.iter().map(hash).collect();
            if self.put(id, events, &hashes)? {
                let log = self.store.log_id(&trace_hex(id)).map_err(Fault::internal)?;
                if let Some(known) = self.known.get_mut(&id) {
                    (known.written, known.log) = (hashes, log);
                }
                return Ok(());
            }
            // Another process wrote it: what it knows comes in.
            let mut newer = self.read(id)?;
            if let Some(known) = self.known.remove(&id) {
                known.trace.into_spans().for_each(|span| _ = newer.trace.add(span));
            }
            self.known.insert(id, newer);
        }
        let request = trace_hex(id);
        Err(Fault::refused(format!("request \"{request}\" is written by other processes all the time; try again")))
    }

    /// Writes events as the log of a trace. Returns false if the log is not the one that is known.
    fn put(&mut self, id: TraceId, events: Vec<Event>, hashes: &[u64]) -> Result<bool, Fault> {
        let request = trace_hex(id);
        let Some(known) = self.known.get(&id) else { return Ok(true) };
        let lease = Lease::first(&*self.owner);
        let wait = |receiver: futures_channel::oneshot::Receiver<Result<(), AppendError>>| {
            futures_executor::block_on(receiver)
                .unwrap_or_else(|_| Err(AppendError::Storage("the log ended".to_owned())))
        };
        let is_longer = !known.written.is_empty() && hashes.starts_with(&known.written);
        let mut rest = events.into_iter();
        if is_longer {
            if self.store.log_id(&request).map_err(Fault::internal)? != known.log {
                return Ok(false);
            }
            rest.by_ref().take(known.written.len()).for_each(drop);
        } else {
            let first: Vec<Event> = rest.by_ref().take(EVENTS_AT_ONCE).collect();
            let old = match known.log {
                None => None,
                Some(log) => {
                    let old = self.store.replacement(&request).map_err(Fault::internal)?;
                    let is_known = self.store.log_id(&request).map_err(Fault::internal)? == Some(log);
                    let old = old.filter(|old| is_known && old.last() as usize == known.written.len());
                    if old.is_none() {
                        return Ok(false);
                    }
                    old
                }
            };
            self.has_replaced |= old.is_some();
            let appended = match old {
                None => wait(self.store.append(&request, &lease, first, AppendMode::Committed)),
                Some(old) => wait(self.store.replace(&request, &lease, first, old)),
            };
            if !is_taken(appended)? {
                return Ok(false);
            }
        }
        loop {
            let next: Vec<Event> = rest.by_ref().take(EVENTS_AT_ONCE).collect();
            if next.is_empty() {
                return Ok(true);
            }
            if !is_taken(wait(self.store.append(&request, &lease, next, AppendMode::Committed)))? {
                return Ok(false);
            }
        }
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

/// Whether an append was kept; false if another process wrote meanwhile.
fn is_taken(appended: Result<(), AppendError>) -> Result<bool, Fault> {
    match appended {
        Ok(()) => Ok(true),
        Err(AppendError::Exists | AppendError::Fenced { .. } | AppendError::OutOfOrder { .. }) => Ok(false),
        Err(error) => Err(Fault::of_append(error)),
    }
}

/// A short hash of an event.
fn hash(event: &Event) -> u64 {
    let mut hash = blake3::Hasher::new();
    // An event can always be written.
    let _ = serde_json::to_writer(&mut hash, event);
    let mut first = [0; 8];
    first.copy_from_slice(&hash.finalize().as_bytes()[..8]);
    u64::from_le_bytes(first)
}
