//! Numbers a request's events and hands them to the log.
//!
//! Evidence waits here until the next step boundary takes it along, or until the runner flushes
//! it (every 16 ms), so that a chain of steps costs one append each. Nothing here decides what is
//! an event.

use std::cell::{Cell, Ref, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use futures_channel::mpsc;

use crate::execution::abort::Abort;
use crate::model::effects::Effects;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::item::ItemStatus;
use crate::model::log::{AppendError, Durability, Lease, Log};
use crate::views::items::of_items;

/// Evidence beyond this many events is flushed without waiting for the timer.
const FLUSH_EVENTS: usize = 256;

/// What happened to an item: `added`, `updated`, `done`; what is whole at once is added and done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct News {
    /// The event that added the item.
    pub(crate) seq: Seq,
    pub(crate) kinds: &'static [&'static str],
}

impl News {
    /// What an event tells of items. A write to shared state is one at once; a write to a durable
    /// record is one when its commit names it.
    fn of(seq: Seq, kind: &EventKind, shown: &[Event]) -> Vec<Self> {
        // A commit names what it fills in from a schema's defaults, too.
        let is_write = |seq: &Seq| {
            let at = shown.binary_search_by_key(seq, |event| event.seq);
            at.is_ok_and(|at| matches!(shown[at].kind, EventKind::StateChanged { .. }))
        };
        let committed = kind.commits().iter().flat_map(|commit| &commit.operations).filter(|seq| is_write(seq));
        let mut news: Vec<_> = committed.map(|seq| News { seq: *seq, kinds: &["added", "done"] }).collect();
        let (seq, kinds): (_, &[_]) = match kind {
            EventKind::ItemAdded { item } if item.status == ItemStatus::InProgress => (seq, &["added"]),
            EventKind::BlockFinished { memoized: true, .. }
            | EventKind::BlockFinished { outcome: Outcome::Abandoned | Outcome::Suspended, .. } => return news,
            EventKind::StateChanged { scope, .. } if scope.kind.is_durable() => return news,
            EventKind::ItemAdded { .. }
            | EventKind::StateChanged { .. }
            | EventKind::StateInitialized { .. }
            | EventKind::BlockFinished { .. }
            | EventKind::RouteDecided { .. } => (seq, &["added", "done"]),
            EventKind::ItemUpdated { of, .. } => (*of, &["updated"]),
            EventKind::ItemDone { of, .. } => (*of, &["done"]),
            _ => return news,
        };
        news.push(News { seq, kinds });
        news
    }
}

/// Whose events they are, and who is stopped when they are another owner's.
pub struct Whose {
    /// The request.
    pub request: Arc<str>,
    /// Under which it is written.
    pub lease: Lease,
    /// Stops it.
    pub abort: Abort,
}

/// The one writer of one request's events.
pub struct Recorder {
    log: Arc<dyn Log>,
    effects: Rc<dyn Effects>,
    request: Arc<str>,
    lease: Lease,
    /// Set when somebody else has taken the request over: nothing more of it may run here.
    abort: Abort,
    lost: Cell<bool>,
    unwritten: RefCell<Vec<Event>>,
    last: Cell<Seq>,
    began: Cell<Option<i64>>,
    newest: Cell<i64>,
    waiting: RefCell<Vec<Event>>,
    items: RefCell<Vec<Event>>,
    listeners: RefCell<Vec<mpsc::UnboundedSender<News>>>,
    /// Step boundaries that the log has not answered yet.
    unanswered: Cell<u32>,
}

/// A step boundary until it is answered, or nobody waits for the answer any more. What it says shows
/// in the items from then on; one that the log refused never does.
pub(crate) struct Unanswered<'a> {
    recorder: &'a Recorder,
    shown: Option<Event>,
}

impl<'a> Unanswered<'a> {
    fn new(recorder: &'a Recorder, event: &Event) -> Self {
        let mut unanswered = recorder.await_log();
        unanswered.shown = of_items(event);
        unanswered
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        self.recorder.unanswered.set(self.recorder.unanswered.get() - 1);
        if let Some(event) = self.shown.take() {
            self.recorder.show(event);
        }
    }
}

impl Recorder {
    /// A recorder that continues after these events; none for a new request.
    pub fn after(events: &[Event], log: Arc<dyn Log>, effects: Rc<dyn Effects>, whose: Whose) -> Self {
        Recorder {
            log,
            effects,
            request: whose.request,
            lease: whose.lease,
            abort: whose.abort,
            lost: Cell::default(),
            unwritten: RefCell::default(),
            last: Cell::new(events.last().map_or(0, |event| event.seq)),
            began: Cell::new(events.first().map(|event| event.at)),
            newest: Cell::new(events.last().map_or(0, |event| event.at)),
            waiting: RefCell::default(),
            items: RefCell::new(events.iter().filter_map(of_items).collect()),
            listeners: RefCell::default(),
            unanswered: Cell::default(),
        }
    }

    /// When the request's first event happened, milliseconds since the epoch; 0 before it.
    pub fn began(&self) -> i64 {
        self.began.get().unwrap_or_default()
    }

    /// When the newest event happened, milliseconds since the epoch; 0 before the first.
    pub(crate) fn newest_at(&self) -> i64 {
        self.newest.get()
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
        let event = self.event(path, attempt, kind);
        let seq = event.seq;
        if let Some(shown) = of_items(&event) {
            self.show(shown);
        }
        self.waiting.borrow_mut().push(event);
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
        let event = self.event(path, attempt, kind);
        let seq = event.seq;
        let mut unanswered = Unanswered::new(self, &event);
        let mut events = self.waiting.take();
        events.push(event);
        let answer = self.log.append(&self.request, &self.lease, events, Durability::Committed);
        let answer = answer.await.unwrap_or_else(|_| Err(AppendError::Storage("the store is closed".to_owned())));
        if let Err(error) = &answer {
            unanswered.shown = None;
            if matches!(error, AppendError::Fenced { .. }) {
                self.lost.set(true);
                self.abort.set();
            }
        }
        answer.map(|()| seq)
    }

    /// Records evidence that something may happen outside: it may do so once this, and all before it, is
    /// committed. The event has its number at once.
    pub(crate) fn announce(
        &self,
        path: Option<&Arc<str>>,
        attempt: u32,
        kind: EventKind,
    ) -> (Seq, impl Future<Output = Result<(), AppendError>>) {
        let event = self.event(path, attempt, kind);
        let seq = event.seq;
        let unanswered = Unanswered::new(self, &event);
        let mut events = self.waiting.take();
        events.push(event);
        let answer = self.log.append(&self.request, &self.lease, events, Durability::Committed);
        let committed = async move {
            let _unanswered = unanswered;
            let answer = answer.await.unwrap_or_else(|_| Err(AppendError::Storage("the store is closed".to_owned())));
            if matches!(&answer, Err(AppendError::Fenced { .. })) {
                self.lost.set(true);
                self.abort.set();
            }
            answer
        };
        (seq, committed)
    }

    /// Commits an event that the log may refuse with [`AppendError::Busy`]; a refused one has no number.
    /// Nothing else may wait to be recorded.
    pub(crate) async fn claim(&self, kind: EventKind) -> Result<Seq, AppendError> {
        let answer = self.commit(None, 0, kind).await;
        if let Err(AppendError::Busy { .. }) = &answer {
            self.last.set(self.last.get() - 1);
        }
        answer
    }

    /// Commits the event that ends the request for now. What the storage does not take is kept: see
    /// [`unwritten`](Self::unwritten).
    pub(crate) async fn commit_end(&self, kind: EventKind) -> Result<Seq, AppendError> {
        let kept = (self.last.get() + 1, self.waiting.borrow().clone(), kind.clone());
        let answer = self.commit(None, 0, kind).await;
        if let Err(AppendError::Storage(_)) = &answer {
            let (seq, mut events, kind) = kept;
            events.push(Event { seq, at: self.newest.get(), path: None, attempt: 0, kind });
            *self.unwritten.borrow_mut() = events;
        }
        answer
    }

    /// The last events of a request that the storage did not take, for somebody who tries again.
    pub fn unwritten(&self) -> Vec<Event> {
        self.unwritten.borrow().clone()
    }

    /// Under which it writes.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Whether somebody else has taken the request over.
    pub fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// While the answer is kept, the log is waited for as it is at a step boundary.
    pub(crate) fn await_log(&self) -> Unanswered<'_> {
        self.unanswered.set(self.unanswered.get() + 1);
        Unanswered { recorder: self, shown: None }
    }

    /// Whether a step boundary is on its way to the log.
    pub fn is_committing(&self) -> bool {
        self.unanswered.get() > 0
    }

    /// Sends waiting evidence to the log.
    pub fn flush(&self) {
        let events = self.waiting.take();
        if !events.is_empty() {
            drop(self.log.append(&self.request, &self.lease, events, Durability::Soon));
        }
    }

    /// The events of this request so far that its own item views are read from.
    pub fn items(&self) -> Ref<'_, Vec<Event>> {
        self.items.borrow()
    }

    /// Hears of every item from now on, for as long as the receiver is kept.
    pub(crate) fn listen(&self) -> mpsc::UnboundedReceiver<News> {
        let (sender, receiver) = mpsc::unbounded();
        self.listeners.borrow_mut().push(sender);
        receiver
    }

    /// The next event.
    fn event(&self, path: Option<&Arc<str>>, attempt: u32, kind: EventKind) -> Event {
        let seq = self.last.get() + 1;
        self.last.set(seq);
        let event = Event { seq, at: self.effects.now_ms(), path: path.cloned(), attempt, kind };
        self.began.set(self.began.get().or(Some(event.at)));
        self.newest.set(event.at);
        event
    }

    /// Lets the items show an event, and tells whoever listens. A boundary may be answered after
    /// events that came later: it takes its own place among them.
    fn show(&self, event: Event) {
        let mut items = self.items.borrow_mut();
        let news =
            if self.listeners.borrow().is_empty() { Vec::new() } else { News::of(event.seq, &event.kind, &items) };
        let at = items.len() - items.iter().rev().take_while(|shown| shown.seq > event.seq).count();
        items.insert(at, event);
        drop(items);
        self.listeners.borrow_mut().retain(|to| news.iter().all(|news| to.unbounded_send(*news).is_ok()));
    }
}
