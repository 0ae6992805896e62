//! Events of a foreign request on their way into its log, some thousands at a time.

use engine::event::Event;
use engine::log::{AppendError, AppendMode, Lease, Log};
use store::{Replacement, Store};

use crate::core::fault::Fault;

/// How many events, or bytes of them, are appended at once.
const EVENTS_AT_ONCE: usize = 2_000;
const BYTES_AT_ONCE: usize = 4 << 20;
/// A log that takes the place of another one begins with so many times more, and with as many events as the old log
/// has, so that readers do not see it shrink.
const TIMES_MORE: usize = 5;
/// No first portion has more bytes than this, however long the old log is: it is one transaction.
const MAX_FIRST_BYTES: usize = 64 << 20;

/// Where the first portion of events goes.
pub(super) enum Begin {
    /// To a request that has no log.
    New,
    /// To the end of the log that begins with this event.
    After(Option<i64>),
    Replacing(Replacement),
}

type Answer = futures_channel::oneshot::Receiver<Result<(), AppendError>>;

/// Appends events in portions: while one is written, the next one is made.
pub(super) struct Portions<'l> {
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
    pub(super) fn new(store: &'l Store, owner: &str, request: &'l str, begin: Begin) -> Portions<'l> {
        let (events, hashes, is_kept) = (Vec::new(), Vec::new(), Ok(true));
        let lease = Lease::first(owner);
        Portions { store, lease, request, begin: Some(begin), events, bytes: 0, hashes, sent: None, is_kept }
    }

    /// Takes an event. Returns false if no more are wanted.
    pub(super) fn take(&mut self, event: Event, measured: Measured) -> bool {
        self.events.push(event);
        self.hashes.push(measured.hash);
        self.bytes += measured.bytes;
        if is_portion(self.events.len(), self.bytes, self.old_events()) {
            self.send();
        }
        matches!(self.is_kept, Ok(true))
    }

    /// How many events the log has whose place is taken; none if this does not replace one, or did already.
    fn old_events(&self) -> Option<usize> {
        match &self.begin {
            Some(Begin::Replacing(old)) => Some(old.last() as usize),
            _ => None,
        }
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
    pub(super) fn end(mut self) -> Result<Option<Vec<u64>>, Fault> {
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

/// Whether so many events, and bytes of them, are sent. `old` is the length of the log that they replace.
fn is_portion(events: usize, bytes: usize, old: Option<usize>) -> bool {
    match old {
        None => events >= EVENTS_AT_ONCE || bytes >= BYTES_AT_ONCE,
        // Fewer events would show a part of what was shown.
        Some(old) if events < old => bytes >= MAX_FIRST_BYTES,
        Some(_) => events >= EVENTS_AT_ONCE * TIMES_MORE || bytes >= BYTES_AT_ONCE * TIMES_MORE,
    }
}

/// An event as JSON: a short hash, and how long it is.
pub(super) struct Measured {
    pub(super) hash: u64,
    bytes: usize,
}

pub(super) fn measure(event: &Event) -> Measured {
    // An event can always be written.
    let text = serde_json::to_vec(event).unwrap_or_default();
    let mut first = [0; 8];
    first.copy_from_slice(&blake3::hash(&text).as_bytes()[..8]);
    Measured { hash: u64::from_le_bytes(first), bytes: text.len() }
}

#[cfg(test)]
mod tests {
    use super::is_portion;

    #[test]
    fn a_log_that_replaces_another_one_does_not_begin_shorter() {
        assert!(is_portion(2_000, 1, None));
        assert!(!is_portion(10_000, 1, Some(39_000)), "readers would see the log shrink");
        assert!(!is_portion(38_999, 1, Some(39_000)));
        assert!(is_portion(39_000, 1, Some(39_000)));
        assert!(!is_portion(10, 1, Some(3)) && is_portion(10_000, 1, Some(3)));
        assert!(is_portion(10, 65 << 20, Some(39_000)), "one transaction is not larger");
    }
}
