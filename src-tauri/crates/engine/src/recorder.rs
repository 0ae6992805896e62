//! Numbers a request's events and hands them to the log.
//!
//! Evidence waits here until the next step boundary takes it along, or until the runner flushes
//! it (every 16 ms), so that a chain of steps costs one append each. Nothing here decides what is
//! an event.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use crate::effects::Effects;
use crate::event::{Event, EventKind, Seq};
use crate::log::{AppendError, Durability, Log};
use crate::views::items::concerns_items;

/// Evidence beyond this many events is flushed without waiting for the timer.
const FLUSH_EVENTS: usize = 256;

/// The one writer of one request's events.
pub struct Recorder {
    log: Arc<dyn Log>,
    effects: Rc<dyn Effects>,
    request: Arc<str>,
    last: Cell<Seq>,
    waiting: RefCell<Vec<Event>>,
    items: RefCell<Vec<Event>>,
}

impl Recorder {
    /// A recorder that continues after event `last` (0 for a new request).
    pub fn new(log: Arc<dyn Log>, effects: Rc<dyn Effects>, request: Arc<str>, last: Seq) -> Self {
        Recorder {
            log,
            effects,
            request,
            last: Cell::new(last),
            waiting: RefCell::default(),
            items: RefCell::default(),
        }
    }

    /// The number of the newest event.
    pub fn last(&self) -> Seq {
        self.last.get()
    }

    /// Records evidence; the disk is not waited for.
    pub fn record(&self, path: Option<&Arc<str>>, attempt: u32, kind: EventKind) -> Seq {
        if let EventKind::ItemDelta { of, text } = &kind
            && self.grow(*of, text)
        {
            return self.last.get();
        }
        let seq = self.push(path, attempt, kind);
        if self.waiting.borrow().len() >= FLUSH_EVENTS {
            self.flush();
        }
        seq
    }

    /// Puts a piece of text onto the one before it, if that still waits and nothing came between: a
    /// model that speaks in syllables costs one event a flush, not one a syllable.
    fn grow(&self, item: Seq, text: &str) -> bool {
        let mut waiting = self.waiting.borrow_mut();
        let Some(Event { kind: EventKind::ItemDelta { of, text: known }, .. }) = waiting.last_mut() else {
            return false;
        };
        if *of != item {
            return false;
        }
        known.push_str(text);
        if let Some(Event { kind: EventKind::ItemDelta { text: known, .. }, .. }) = self.items.borrow_mut().last_mut() {
            known.push_str(text);
        }
        true
    }

    /// Records a step boundary: returns once it and all evidence before it are committed.
    pub async fn commit(&self, path: Option<&Arc<str>>, attempt: u32, kind: EventKind) -> Result<Seq, AppendError> {
        let seq = self.push(path, attempt, kind);
        let events = self.waiting.take();
        let answer = self.log.append(&self.request, events, Durability::Committed);
        answer.await.unwrap_or_else(|_| Err(AppendError::Storage("the store is closed".to_owned())))?;
        Ok(seq)
    }

    /// Sends waiting evidence to the log.
    pub fn flush(&self) {
        let events = self.waiting.take();
        if !events.is_empty() {
            drop(self.log.append(&self.request, events, Durability::Soon));
        }
    }

    /// The events of this request so far that its own item views are read from.
    pub fn items(&self) -> Vec<Event> {
        self.items.borrow().clone()
    }

    fn push(&self, path: Option<&Arc<str>>, attempt: u32, kind: EventKind) -> Seq {
        let seq = self.last.get() + 1;
        self.last.set(seq);
        let event = Event { seq, at: self.effects.now_ms(), path: path.cloned(), attempt, kind };
        if concerns_items(&event.kind) {
            self.items.borrow_mut().push(event.clone());
        }
        self.waiting.borrow_mut().push(event);
        seq
    }
}
