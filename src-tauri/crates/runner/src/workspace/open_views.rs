//! Which views of requests a workspace has open, which of them have news, and which were closed a moment ago.
//!
//! It knows nothing of what a view shows, and reads no database.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use super::lock;
use crate::core::notice::Notice;
use crate::request_view::RequestView;
use crate::request_view::item_list::ItemList;

/// So many views are kept when they are closed, as long as they have no more blocks than this together: whoever goes
/// back to a request does not wait for it again.
const MOST_CLOSED: usize = 2;
const MOST_CLOSED_BLOCKS: u64 = 1_000_000;
/// So many item lists of turns of conversations are kept.
const MOST_LISTS: usize = 4;
/// How often the thread looks whether the workspace is still there.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(1);

/// The views of a workspace.
#[derive(Clone, Default)]
pub(super) struct Views(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    open: HashMap<u64, Opened>,
    /// Views that were closed and may be opened again, the newest last.
    closed: VecDeque<Opened>,
    /// Which of them may have changed since they were last told.
    dirty: HashSet<u64>,
    /// The newest batch, and whether it was answered.
    batch: u64,
    is_answered: bool,
    /// Counts who heard of views: only the newest one does.
    subscriber: u64,
    /// The items of requests that run and are turns of a conversation that is looked at, the newest last.
    lists: VecDeque<(Arc<str>, ItemList)>,
}

/// A view of a request.
#[derive(Clone)]
pub(super) struct Opened {
    pub(super) request: Arc<str>,
    pub(super) view: Arc<Mutex<RequestView>>,
    /// How many blocks it had when it was closed.
    blocks: u64,
}

impl Opened {
    fn new(request: &str) -> Opened {
        Opened { request: request.into(), view: Arc::new(Mutex::new(RequestView::new(request))), blocks: 0 }
    }
}

impl Views {
    /// A request has new events, or stands otherwise.
    pub(super) fn on_notice(&self, notice: &Notice) {
        let Notice::Request { request_id, .. } = notice else { return };
        let (state, changed) = &*self.0;
        let mut state = lock(state);
        let views = state.open.iter().filter(|(_, opened)| *opened.request == **request_id);
        let views: Vec<u64> = views.map(|(view, _)| *view).collect();
        if !views.is_empty() {
            state.dirty.extend(views);
            changed.notify_all();
        }
    }

    /// A view of a request: the one that was closed a moment ago, or one that holds nothing yet.
    pub(super) fn take_closed(&self, request: &str) -> Opened {
        let mut state = lock(&self.0.0);
        let at = state.closed.iter().position(|closed| *closed.request == *request);
        at.and_then(|at| state.closed.remove(at)).unwrap_or_else(|| Opened::new(request))
    }

    /// Adds a view that is open now. What was committed since it was read is told as an update.
    pub(super) fn add(&self, number: u64, opened: Opened) {
        lock(&self.0.0).open.insert(number, opened);
        self.mark(number);
    }

    /// Says that a view may have changed.
    pub(super) fn mark(&self, view: u64) {
        let (state, changed) = &*self.0;
        lock(state).dirty.insert(view);
        changed.notify_all();
    }

    pub(super) fn get(&self, view: u64) -> Option<Opened> {
        lock(&self.0.0).open.get(&view).cloned()
    }

    pub(super) fn remove(&self, view: u64) -> Option<Opened> {
        let mut state = lock(&self.0.0);
        state.dirty.remove(&view);
        state.open.remove(&view)
    }

    /// Says that a batch was answered, and that the next one may be sent.
    pub(super) fn answer(&self, batch: u64) {
        let (state, changed) = &*self.0;
        let mut state = lock(state);
        if state.batch == batch {
            state.is_answered = true;
            changed.notify_all();
        }
    }

    /// Keeps a view that was closed, and forgets those that were closed before where they are too many.
    pub(super) fn keep(&self, opened: Opened, blocks: u64) {
        let forgotten: Vec<Opened> = {
            let mut state = lock(&self.0.0);
            let same = state.closed.iter().position(|closed| closed.request == opened.request);
            let mut forgotten: Vec<Opened> = same.and_then(|at| state.closed.remove(at)).into_iter().collect();
            state.closed.push_back(Opened { blocks, ..opened });
            while state.closed.len() > MOST_CLOSED
                || state.closed.iter().map(|closed| closed.blocks).sum::<u64>() > MOST_CLOSED_BLOCKS
            {
                forgotten.extend(state.closed.pop_front());
            }
            forgotten
        };
        // Giving back much memory takes a while, which nobody waits for.
        drop(forgotten);
    }

    /// The items of a request that ran when they were last looked at. Nobody else has them meanwhile.
    pub(super) fn take_list(&self, request: &str) -> Option<ItemList> {
        let mut state = lock(&self.0.0);
        let at = state.lists.iter().position(|(of, _)| **of == *request)?;
        state.lists.remove(at).map(|(_, list)| list)
    }

    /// Keeps the items of a request that runs.
    pub(super) fn keep_list(&self, request: &str, list: ItemList) {
        let mut state = lock(&self.0.0);
        state.lists.retain(|(of, _)| **of != *request);
        state.lists.push_back((request.into(), list));
        while state.lists.len() > MOST_LISTS {
            state.lists.pop_front();
        }
    }

    /// Closes all views, and ends whoever hears of them.
    pub(super) fn begin(&self) -> u64 {
        let (state, changed) = &*self.0;
        let mut state = lock(state);
        let subscriber = state.subscriber + 1;
        let next = State { subscriber, is_answered: true, ..State::default() };
        let forgotten = std::mem::replace(&mut *state, next);
        changed.notify_all();
        drop(state);
        drop(forgotten);
        subscriber
    }

    /// Waits for views that may have changed, with the number of the batch that tells of them; nothing after a while,
    /// and none where somebody else hears now.
    pub(super) fn next(&self, subscriber: u64) -> Option<(u64, Vec<(u64, Opened)>)> {
        let (state, changed) = &*self.0;
        let idle = |state: &mut State| state.subscriber == subscriber && (state.dirty.is_empty() || !state.is_answered);
        let waited = changed.wait_timeout_while(lock(state), LIVENESS_INTERVAL, idle);
        let mut state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        if state.subscriber != subscriber {
            return None;
        }
        if !state.is_answered {
            return Some((state.batch, Vec::new()));
        }
        let dirty = std::mem::take(&mut state.dirty);
        let views = dirty.into_iter().filter_map(|view| Some((view, state.open.get(&view)?.clone()))).collect();
        Some((state.batch + 1, views))
    }

    /// Says that a batch is about to be sent.
    pub(super) fn sends(&self, subscriber: u64, batch: u64) {
        let mut state = lock(&self.0.0);
        if state.subscriber == subscriber {
            (state.batch, state.is_answered) = (batch, false);
        }
    }
}
