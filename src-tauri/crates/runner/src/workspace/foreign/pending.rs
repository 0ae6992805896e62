//! Spans that were received and stored, on their way into logs.
//!
//! A log is written at once, and then again when a fifth of the time was spent on it, or when nothing more arrives and
//! the trace has grown by a part: however fast spans arrive, what is spent on a trace grows with the number of its
//! spans. Must not know how spans arrive.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, atomic::AtomicUsize, atomic::Ordering};
use std::time::{Duration, Instant};

use store::Store;

use super::left::Left;
use super::logs::{Added, ForeignLogs};
use crate::foreign::decode::TraceId;
use crate::foreign::packed::PackedSpan;

/// A log is not written more often than this.
const MIN_PAUSE: Duration = Duration::from_millis(100);
/// How much longer than writing a log the pause after it is.
const PAUSE_FACTOR: u32 = 4;
/// A trace of which nothing arrived for so long is written if it has grown by one of so many parts.
const QUIET: Duration = Duration::from_millis(200);
const GROWTH: usize = 8;
/// A log that could not be written is tried again after this.
const RETRY: Duration = Duration::from_secs(1);
/// Spans whose log could not be read are tried again after this: to read a log may take long.
const RETRY_UNREAD: Duration = Duration::from_secs(5);
/// A trace of which nothing arrived for so long is not kept in memory, and nothing more of it is expected.
const FORGET_AFTER: Duration = Duration::from_secs(30);
/// While more bytes of spans than this wait, no calls that others left are taken in.
const MAX_LEFT_WAITING: usize = 32 << 20;
/// The most bytes of spans that are kept in memory when nothing of them waits.
const MAX_KEPT: usize = 256 << 20;

/// What one call brought, and its number in the database.
pub(super) type Arrived = (i64, Vec<(TraceId, PackedSpan)>);

/// How much memory the spans of a call take, about.
pub(super) fn bytes(spans: &[(TraceId, PackedSpan)]) -> usize {
    spans.iter().map(|(_, span)| span.bytes()).sum()
}

/// See the module.
pub(super) struct Pending {
    store: Arc<Store>,
    logs: ForeignLogs,
    traces: HashMap<TraceId, Waiting>,
    /// How many traces of each call are not written yet.
    calls: HashMap<i64, usize>,
    /// How many bytes of spans wait for their logs.
    waiting: Arc<AtomicUsize>,
    /// The bytes of each call that are counted in `waiting`.
    counted: HashMap<i64, usize>,
    /// Traces that are not kept in memory and have not been ended, and when that is to be done.
    unsettled: HashMap<TraceId, Instant>,
    /// Spans whose logs could not be read, with the number of their call, and when they are tried again.
    unread: Vec<(Instant, Arrived)>,
    /// What earlier receivers left; none once it is all taken in.
    left: Option<Left>,
}

/// A trace that is kept in memory.
struct Waiting {
    due: Instant,
    /// Not before this, whatever arrives or does not.
    earliest: Instant,
    touched: Instant,
    /// How many spans its log had when it was written, and how many there are.
    spans: (usize, usize),
    /// The calls whose spans its log lacks.
    calls: Vec<i64>,
}

impl Waiting {
    /// When its log is to be written; none if that has all spans.
    fn next_write(&self) -> Option<Instant> {
        let (written, known) = self.spans;
        let has_grown = (known - written.min(known)) * GROWTH >= written;
        let due = if has_grown { self.due.min(self.touched + QUIET).max(self.earliest) } else { self.due };
        (!self.calls.is_empty()).then_some(due)
    }
}

impl Pending {
    pub(super) fn new(store: Arc<Store>, owner: String, waiting: Arc<AtomicUsize>) -> Pending {
        let logs = ForeignLogs::new(store.clone(), owner);
        let (traces, calls, counted, unsettled) = (HashMap::new(), HashMap::new(), HashMap::new(), HashMap::new());
        Pending { store, logs, traces, calls, waiting, counted, unsettled, unread: Vec::new(), left: None }
    }

    /// Takes over calls that others received and did not write: between what arrives, some at a time.
    pub(super) fn take_later(&mut self, left: Left) {
        self.left = Some(left);
    }

    /// Takes over traces that others received and did not end. They are ended if nothing of them arrives.
    pub(super) fn settle_later(&mut self, ids: impl IntoIterator<Item = TraceId>) {
        let due = Instant::now() + FORGET_AFTER;
        self.unsettled.extend(ids.into_iter().map(|id| (id, due)));
    }

    /// Writes what arrives until nobody sends any more, and then what is left.
    pub(super) fn run(mut self, arriving: &Receiver<Arrived>) {
        loop {
            let now = Instant::now();
            let due = self.traces.values().filter_map(Waiting::next_write);
            let due = due.chain(self.unsettled.values().copied()).chain(self.unread.iter().map(|(due, _)| *due)).min();
            let pause = due.map_or(FORGET_AFTER, |due| due.saturating_duration_since(now));
            let pause = if self.takes_left() { Duration::ZERO } else { pause };
            match arriving.recv_timeout(pause) {
                Ok(arrived) => {
                    self.take(arrived);
                    // What is there already comes with it.
                    arriving.try_iter().for_each(|arrived| self.take(arrived));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.finish_all();
                    return;
                }
            }
            self.take_left();
            self.take_unread(Some(Instant::now()));
            self.write_due(Some(Instant::now()));
            self.settle_due();
            self.forget_old();
        }
    }

    /// Whether calls that others left are taken in now. What arrives comes first.
    fn takes_left(&self) -> bool {
        self.left.is_some() && self.waiting.load(Ordering::SeqCst) < MAX_LEFT_WAITING
    }

    fn take_left(&mut self) {
        if !self.takes_left() {
            return;
        }
        match self.left.as_mut().map_or(Ok(None), Left::next) {
            Ok(Some(calls)) => {
                for (call, spans) in calls {
                    self.waiting.fetch_add(bytes(&spans), Ordering::SeqCst);
                    self.take((call, spans));
                }
            }
            Ok(None) => self.left = None,
            Err(fault) => {
                // They stay stored: the next receiver takes them in.
                tracing::warn!(%fault, "received calls cannot be read");
                self.left = None;
            }
        }
    }

    /// Takes in all that others left, and writes it.
    pub(super) fn finish_left(&mut self, mut is_wanted: impl FnMut() -> bool) {
        // If logs cannot be written, the rest stays stored.
        while self.takes_left() && is_wanted() {
            self.take_left();
            self.write_due(None);
        }
        self.finish_all();
    }

    /// Takes in a call.
    pub(super) fn take(&mut self, (call, spans): Arrived) {
        self.counted.insert(call, bytes(&spans));
        self.calls.insert(call, 1);
        self.add((call, spans));
    }

    /// Tries spans again whose logs could not be read: those that are due, or all.
    fn take_unread(&mut self, now: Option<Instant>) {
        let due: Vec<_> = self.unread.extract_if(.., |(due, _)| now.is_none_or(|now| *due <= now)).collect();
        due.into_iter().for_each(|(_, arrived)| self.add(arrived));
    }

    /// Adds spans of a call, which is counted once for them.
    fn add(&mut self, (call, spans): Arrived) {
        let added = self.logs.add(spans);
        self.added(call, added);
    }

    fn added(&mut self, call: i64, Added { changed, unread, faults }: Added) {
        let now = Instant::now();
        faults.iter().for_each(|fault| tracing::warn!(%fault, "spans are not taken in yet; they stay stored"));
        let count = self.calls.entry(call).or_insert(1);
        *count += changed.len();
        if !unread.is_empty() {
            *count += 1;
            self.unread.push((now + RETRY_UNREAD, (call, unread)));
        }
        for id in changed {
            self.unsettled.remove(&id);
            let waiting = Waiting { due: now, earliest: now, touched: now, spans: (0, 0), calls: Vec::new() };
            let waiting = self.traces.entry(id).or_insert(waiting);
            (waiting.touched, waiting.spans.1) = (now, self.logs.len(id));
            waiting.calls.push(call);
        }
        self.count_down(call);
    }

    /// Spans of a call are in a log, or are counted elsewhere. If none of it is left, the call is forgotten.
    fn count_down(&mut self, call: i64) {
        let left = self.calls.get_mut(&call).map_or(0, |left| {
            *left = left.saturating_sub(1);
            *left
        });
        if left == 0 {
            self.finish(call);
        }
    }

    /// Writes the logs that are due, or all.
    pub(super) fn write_due(&mut self, now: Option<Instant>) {
        let is_due = |one: &Waiting| one.next_write().is_some_and(|due| now.is_none_or(|now| due <= now));
        let due = self.traces.iter().filter(|(_, one)| is_due(one)).map(|(id, _)| *id).collect();
        for id in self.logs.in_order(due) {
            let begun = Instant::now();
            let written = self.logs.write(id);
            let took = begun.elapsed();
            let Some(waiting) = self.traces.get_mut(&id) else { continue };
            let now = Instant::now();
            (waiting.earliest, waiting.due) = (now + MIN_PAUSE, now + MIN_PAUSE.max(took * PAUSE_FACTOR));
            if let Err(fault) = written {
                tracing::warn!(%fault, "a foreign request cannot be written");
                (waiting.earliest, waiting.due) = (now + RETRY, now + RETRY);
                continue;
            }
            waiting.spans.0 = waiting.spans.1;
            let calls = std::mem::take(&mut waiting.calls);
            calls.into_iter().for_each(|call| self.count_down(call));
        }
        self.logs.remove_replaced();
    }

    /// Writes what is left when nothing more arrives.
    pub(super) fn finish_all(&mut self) {
        // What cannot be read now either stays stored, and the next receiver takes it in.
        self.take_unread(None);
        let all = self.traces.keys().copied().chain(std::mem::take(&mut self.unsettled).into_keys()).collect();
        for id in self.logs.in_order(all) {
            self.settle(id);
            if !self.traces.contains_key(&id) {
                self.logs.forget(id);
            }
        }
        self.write_due(None);
    }

    /// Ends a trace of which nothing more is expected. If that fails, it is tried again later.
    fn settle(&mut self, id: TraceId) {
        if let Err(fault) = self.logs.settle(id) {
            tracing::warn!(%fault, "a foreign request cannot be ended");
            self.unsettled.insert(id, Instant::now() + RETRY);
        }
    }

    /// Ends one trace that is not in memory and whose time has come: more than one may take long.
    fn settle_due(&mut self) {
        let now = Instant::now();
        let due = self.unsettled.iter().filter(|(_, due)| **due <= now).min_by_key(|(_, due)| **due);
        let Some(id) = due.map(|(id, _)| *id) else { return };
        self.unsettled.remove(&id);
        self.settle(id);
        self.logs.forget(id);
    }

    /// All spans of a call are in logs.
    fn finish(&mut self, call: i64) {
        self.calls.remove(&call);
        let bytes = self.counted.remove(&call).unwrap_or(0);
        self.waiting.fetch_sub(bytes.min(self.waiting.load(Ordering::SeqCst)), Ordering::SeqCst);
        if let Err(error) = self.store.forget_received(vec![call]) {
            // It is taken in once more later, which changes nothing.
            tracing::warn!(%error, "a received call stays stored");
        }
    }

    fn forget_old(&mut self) {
        let mut quiet: Vec<(Instant, TraceId)> =
            self.traces.iter().filter(|(_, one)| one.calls.is_empty()).map(|(id, one)| (one.touched, *id)).collect();
        quiet.sort_unstable();
        let mut kept: usize = quiet.iter().map(|(_, id)| self.logs.bytes(*id)).sum();
        for (touched, id) in quiet {
            if kept <= MAX_KEPT && touched.elapsed() < FORGET_AFTER {
                break;
            }
            kept -= self.logs.bytes(id);
            if touched.elapsed() >= FORGET_AFTER {
                self.settle(id);
            } else {
                self.unsettled.insert(id, touched + FORGET_AFTER);
            }
            self.logs.forget(id);
            self.traces.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::json;
    use store::Options;

    use super::*;
    use crate::core::fault::Fault;
    use crate::foreign::decode::json_spans;

    #[test]
    fn a_call_whose_log_cannot_be_read_stays_stored_until_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let store = Arc::new(
            Store::open(folder.path().join("spans.db"), Options { create: true, ..Options::default() }).unwrap(),
        );
        let id = "01".repeat(16);
        let span = json!({ "traceId": id, "spanId": "0000000000000001", "name": "root", "startTimeUnixNano": "1",
            "endTimeUnixNano": "2" });
        let call = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [span] }] }] }).to_string();
        let n = store.receive("owner", call.clone().into_bytes()).unwrap();
        let mut pending = Pending::new(store.clone(), "owner".to_owned(), Arc::default());
        let unread = json_spans(call.as_bytes()).unwrap().packed();
        // As after a read of the log that failed.
        pending.calls.insert(n, 1);
        let faults = vec![Fault::internal("the disk failed")];
        pending.added(n, Added { changed: Vec::new(), unread, faults });
        assert_eq!(store.received(0, 9).unwrap().len(), 1, "the call was answered, and is lost");
        pending.finish_all();
        assert!(store.received(0, 9).unwrap().is_empty());
        assert!(store.log_of(&id).unwrap().is_some(), "it is written once the log can be read");
    }
}
