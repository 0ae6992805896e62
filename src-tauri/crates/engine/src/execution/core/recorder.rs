//! Numbers a request's events and appends them to the log.
//!
//! Events that need not be durable at once are buffered here, until the next step boundary appends them with its own
//! event or the runner flushes them (every 16 ms). So a chain costs one append for each step.

mod ends;
mod item_change;
mod secrets;

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use futures_channel::mpsc;

use crate::execution::core::abort::Abort;
use crate::execution::core::recorder::ends::PendingEnds;
use crate::model::effects::Effects;
use crate::model::event::{Event, EventKind, Seq};
use crate::model::log::{AppendError, AppendMode, Lease, Log};
use crate::model::redaction::Redaction;
use crate::views::items::of_items;

pub(crate) use item_change::ItemChange;

/// How many buffered events are flushed without waiting for the timer.
const MAX_BUFFERED_EVENTS: usize = 256;

/// Which request a recorder writes, under which lease, and what it aborts when the lease is lost.
pub struct RecorderOptions {
    /// The request.
    pub request: Arc<str>,
    /// The lease of its appends.
    pub lease: Lease,
    /// Set when the log refuses the lease.
    pub abort: Abort,
}

/// The only writer of one request's events.
pub struct Recorder {
    log: Arc<dyn Log>,
    effects: Rc<dyn Effects>,
    request: Arc<str>,
    lease: Lease,
    /// Set when another process has taken the request over: nothing more of it may run here.
    abort: Abort,
    lease_lost: Cell<bool>,
    unwritten: RefCell<Vec<Event>>,
    last: Cell<Seq>,
    began: Cell<Option<i64>>,
    newest: Cell<i64>,
    buffered: RefCell<Vec<Event>>,
    /// The events from which the request's own items are read; none until somebody asks for them, and from then on all.
    /// A chain of a hundred thousand steps has two hundred thousand, and most flows never look.
    items: RefCell<Option<Vec<Event>>>,
    listeners: RefCell<Vec<mpsc::UnboundedSender<ItemChange>>>,
    /// How many commits the log has not completed yet.
    pending_commits: Cell<u32>,
    pending_ends: PendingEnds,
    redaction: Arc<Redaction>,
    /// The known secret that the newest event stores as the flow's data: its name, and where.
    stored_secret: RefCell<Option<(Arc<str>, &'static str)>>,
    /// Whether the request has its note of a stored secret.
    has_told_of_secret: Cell<bool>,
}

/// A commit until the log has completed it, or its waiter is dropped. When this is dropped, the event is shown in the
/// request's items, unless the log refused it.
pub(crate) struct PendingCommit<'a> {
    recorder: &'a Recorder,
    shown: Option<Event>,
}

impl<'a> PendingCommit<'a> {
    fn new(recorder: &'a Recorder, event: &Event) -> Self {
        let mut pending = recorder.await_log();
        pending.shown = recorder.shown(event);
        pending
    }
}

impl Drop for PendingCommit<'_> {
    fn drop(&mut self) {
        self.recorder.pending_commits.set(self.recorder.pending_commits.get() - 1);
        if let Some(event) = self.shown.take() {
            self.recorder.publish(event);
        }
    }
}

impl Recorder {
    /// Creates a recorder that continues after these events (empty for a new request).
    pub fn after(events: &[Event], log: Arc<dyn Log>, effects: Rc<dyn Effects>, options: RecorderOptions) -> Self {
        Recorder {
            log,
            redaction: effects.redaction(),
            stored_secret: RefCell::default(),
            has_told_of_secret: Cell::default(),
            effects,
            request: options.request,
            lease: options.lease,
            abort: options.abort,
            lease_lost: Cell::default(),
            unwritten: RefCell::default(),
            last: Cell::new(events.last().map_or(0, |event| event.seq)),
            began: Cell::new(events.first().map(|event| event.at)),
            newest: Cell::new(events.last().map_or(0, |event| event.at)),
            buffered: RefCell::default(),
            items: RefCell::default(),
            listeners: RefCell::default(),
            pending_commits: Cell::default(),
            pending_ends: PendingEnds::default(),
        }
    }

    /// Returns the time of the request's first event, in milliseconds since the epoch; 0 before it.
    pub fn began(&self) -> i64 {
        self.began.get().unwrap_or_default()
    }

    /// Returns the time of the newest event, in milliseconds since the epoch; 0 before the first.
    pub(crate) fn newest_at(&self) -> i64 {
        self.newest.get()
    }

    /// Returns the number of the newest event; 0 before the first.
    pub fn last(&self) -> Seq {
        self.last.get()
    }

    /// Records an event without waiting for the disk. Returns its number.
    pub fn record(&self, path: Option<&Arc<str>>, attempt: u32, kind: EventKind) -> Seq {
        if let EventKind::ItemDelta { of, text } = &kind
            && self.append_to_last_delta(path, attempt, *of, text)
        {
            return self.last.get();
        }
        let event = self.next_event(path, attempt, kind);
        let seq = event.seq;
        if let Some(shown) = self.shown(&event) {
            self.publish(shown);
        }
        self.buffered.borrow_mut().push(event);
        self.note_stored_secret(path, &mut self.buffered.borrow_mut());
        if self.buffered.borrow().len() >= MAX_BUFFERED_EVENTS {
            self.flush();
        }
        seq
    }

    /// Appends a text to the newest buffered event, if that is an `item_delta` of the same item by the same attempt of
    /// a block: whose text it is decides whether it counts. So a model that streams single words costs one event a
    /// flush, not one a word.
    fn append_to_last_delta(&self, path: Option<&Arc<str>>, attempt: u32, item: Seq, text: &str) -> bool {
        let mut waiting = self.buffered.borrow_mut();
        let Some(last) = waiting.last_mut() else { return false };
        let is_of_attempt = last.path.as_ref() == path && last.attempt == attempt;
        let EventKind::ItemDelta { of, text: known } = &mut last.kind else { return false };
        if *of != item || !is_of_attempt {
            return false;
        }
        known.push_str(text);
        let mut items = self.items.borrow_mut();
        let newest = items.as_mut().and_then(|items| items.last_mut());
        if let Some(Event { kind: EventKind::ItemDelta { text: known, .. }, .. }) = newest {
            known.push_str(text);
        }
        true
    }

    /// Records an event. Returns when it and all events before it are committed.
    pub async fn commit(&self, path: Option<&Arc<str>>, attempt: u32, kind: EventKind) -> Result<Seq, AppendError> {
        self.append(path, attempt, kind, AppendMode::Committed).await
    }

    /// Records a step boundary. If it commits shared records, this returns when it is committed, because other
    /// requests see them; otherwise when it is in the log's queue (ARCHITECTURE §2.3). Boundaries return in the order
    /// of their events.
    pub(crate) async fn boundary(
        &self,
        path: Option<&Arc<str>>,
        attempt: u32,
        kind: EventKind,
    ) -> Result<Seq, AppendError> {
        let commits = !kind.commits().is_empty();
        let mode = if commits { AppendMode::Committed } else { AppendMode::Boundary };
        let seq = self.last.get() + 1;
        let pending = commits.then(|| self.pending_ends.add(seq));
        let answer = self.append(path, attempt, kind, mode).await;
        self.pending_ends.wait_before(seq).await;
        drop(pending);
        answer
    }

    async fn append(
        &self,
        path: Option<&Arc<str>>,
        attempt: u32,
        kind: EventKind,
        mode: AppendMode,
    ) -> Result<Seq, AppendError> {
        let event = self.next_event(path, attempt, kind);
        let seq = event.seq;
        let mut pending = PendingCommit::new(self, &event);
        let mut events = self.buffered.take();
        events.push(event);
        self.note_stored_secret(path, &mut events);
        let answer = self.log.append(&self.request, &self.lease, events, mode);
        let answer = answer.await.unwrap_or_else(|_| Err(AppendError::Storage("the store is closed".to_owned())));
        if let Err(error) = &answer {
            pending.shown = None;
            if matches!(error, AppendError::Fenced { .. }) {
                self.lease_lost.set(true);
                self.abort.set();
            }
        }
        answer.map(|()| seq)
    }

    /// Records the start of an effect outside. Returns the event's number at once, and a future that completes when the
    /// event and all before it are committed: only then may the effect run.
    pub(crate) fn announce(
        &self,
        path: Option<&Arc<str>>,
        attempt: u32,
        kind: EventKind,
    ) -> (Seq, impl Future<Output = Result<(), AppendError>>) {
        let event = self.next_event(path, attempt, kind);
        let seq = event.seq;
        let pending = PendingCommit::new(self, &event);
        let mut events = self.buffered.take();
        events.push(event);
        let answer = self.log.append(&self.request, &self.lease, events, AppendMode::Committed);
        let committed = async move {
            let _pending = pending;
            let answer = answer.await.unwrap_or_else(|_| Err(AppendError::Storage("the store is closed".to_owned())));
            if matches!(&answer, Err(AppendError::Fenced { .. })) {
                self.lease_lost.set(true);
                self.abort.set();
            }
            answer
        };
        (seq, committed)
    }

    /// Commits an event that the log may refuse with [`AppendError::Busy`]; the number of a refused event is used
    /// again. The buffer must be empty.
    pub(crate) async fn claim(&self, kind: EventKind) -> Result<Seq, AppendError> {
        let answer = self.commit(None, 0, kind).await;
        if let Err(AppendError::Busy { .. }) = &answer {
            self.last.set(self.last.get() - 1);
        }
        answer
    }

    /// Commits the last event of this run. If the storage fails, the events are kept: see
    /// [`unwritten`](Self::unwritten).
    pub(crate) async fn commit_end(&self, kind: EventKind) -> Result<Seq, AppendError> {
        let kept = (self.last.get() + 1, self.buffered.borrow().clone(), kind.clone());
        let answer = self.commit(None, 0, kind).await;
        if let Err(AppendError::Storage(_)) = &answer {
            let (seq, mut events, kind) = kept;
            events.push(Event { seq, at: self.newest.get(), path: None, attempt: 0, kind });
            *self.unwritten.borrow_mut() = events;
        }
        answer
    }

    /// Returns the last events that the storage failed to append, so that the caller can try again.
    pub fn unwritten(&self) -> Vec<Event> {
        self.unwritten.borrow().clone()
    }

    /// Returns the lease of its appends.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Returns whether another process has taken the request over.
    pub fn has_lost_lease(&self) -> bool {
        self.lease_lost.get()
    }

    /// Counts a wait for the log as a commit in [`is_committing`](Self::is_committing), until the result is dropped.
    pub(crate) fn await_log(&self) -> PendingCommit<'_> {
        self.pending_commits.set(self.pending_commits.get() + 1);
        PendingCommit { recorder: self, shown: None }
    }

    /// Returns whether any commit is not completed yet.
    pub fn is_committing(&self) -> bool {
        self.pending_commits.get() > 0
    }

    /// Appends the buffered events to the log, without waiting for the disk.
    pub fn flush(&self) {
        let events = self.buffered.take();
        if !events.is_empty() {
            drop(self.log.append(&self.request, &self.lease, events, AppendMode::Evidence));
        }
    }

    /// Returns the events so far from which the request's own items are read. The first call reads them from the log,
    /// and blocks until what is queued there is committed.
    pub fn items(&self) -> Result<Ref<'_, [Event]>, AppendError> {
        if self.items.borrow().is_none() {
            self.flush();
            let events = self.log.own_events(&self.request)?;
            let last = events.last().map_or(0, |event| event.seq);
            if last < self.last.get() {
                let text = format!("event {} was not stored, the newest is {last}", self.last.get());
                return Err(AppendError::Storage(text));
            }
            *self.items.borrow_mut() = Some(events.iter().filter_map(of_items).collect());
        }
        Ok(Ref::map(self.items.borrow(), |items| items.as_deref().unwrap_or_default()))
    }

    /// Subscribes to all item changes from now on, until the receiver is dropped.
    pub(crate) fn listen(&self) -> Result<mpsc::UnboundedReceiver<ItemChange>, AppendError> {
        // What a commit changes is found among the events before it.
        drop(self.items()?);
        let (sender, receiver) = mpsc::unbounded();
        self.listeners.borrow_mut().push(sender);
        Ok(receiver)
    }

    /// Returns what the items keep of an event; nothing as long as nobody has asked for them.
    fn shown(&self, event: &Event) -> Option<Event> {
        if self.items.borrow().is_some() { of_items(event) } else { None }
    }

    /// Adds a note to the newest event if that stores a known secret, once a request.
    fn note_stored_secret(&self, path: Option<&Arc<str>>, events: &mut Vec<Event>) {
        let Some((name, place)) = self.stored_secret.take() else { return };
        self.has_told_of_secret.set(true);
        let by = path.map_or("the request", |path| path);
        let text = format!(
            "{by} stores the value of the environment variable {name} in {place}: it is recorded as it is, and whoever \
             can read the log can read it"
        );
        events.push(self.next_event(None, 0, EventKind::Noted { text }));
    }

    /// Makes the next event.
    fn next_event(&self, path: Option<&Arc<str>>, attempt: u32, mut kind: EventKind) -> Event {
        if !self.redaction.has_no_values() {
            secrets::hide(&self.redaction, &mut kind);
            if !self.has_told_of_secret.get() {
                *self.stored_secret.borrow_mut() = secrets::stored(&self.redaction, &kind);
            }
        }
        let seq = self.last.get() + 1;
        self.last.set(seq);
        let at = self.effects.event_time(path, attempt, &mut kind);
        let event = Event { seq, at, path: path.cloned(), attempt, kind };
        self.began.set(self.began.get().or(Some(event.at)));
        self.newest.set(event.at);
        event
    }

    /// Adds an event to those of the items, and notifies subscribers. A commit may complete after later events were
    /// added, so the event is inserted by its number.
    fn publish(&self, event: Event) {
        let mut guard = self.items.borrow_mut();
        let Some(items) = guard.as_mut() else { return };
        let at = items.len() - items.iter().rev().take_while(|shown| shown.seq > event.seq).count();
        let news =
            if self.listeners.borrow().is_empty() { Vec::new() } else { ItemChange::of(event.seq, &event.kind, items) };
        items.insert(at, event);
        drop(guard);
        self.listeners.borrow_mut().retain(|to| news.iter().all(|news| to.unbounded_send(*news).is_ok()));
    }
}
