//! Open requests: what a window looks at, kept up to date for as long as it does.
//!
//! What this process commits and what others commit is heard as notices; a thread brings the views up to date that
//! somebody hears of, at most so often, and only when the last batch was answered. A slow page gets fewer and larger
//! updates, never a queue.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use engine::error::FlowError;
use engine::event::{EventKind, Seq};
use engine::views::spans::PathNumber;

use super::{Workspace, lock};
use crate::core::fault::Fault;
use crate::core::notice::Notice;
use crate::request_view::{RequestView, Source};
use crate::views::*;

/// At most this many batches a second.
const BATCHES_A_SECOND: u32 = 60;
/// A request that is written all the time is told as it is after so many looks.
const LOOKS: u32 = 3;
/// How often the thread looks whether the workspace is still there.
const LOOK: Duration = Duration::from_secs(1);

/// Numbers of views are never given twice in a process: those of a folder that was left mean nothing in another.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The views of a workspace.
#[derive(Clone, Default)]
pub(super) struct Views(Arc<(Mutex<State>, Condvar)>);

#[derive(Default)]
struct State {
    open: HashMap<u64, Opened>,
    /// Which of them may have changed since they were last told.
    dirty: HashSet<u64>,
    /// The newest batch, and whether it was answered.
    batch: u64,
    is_answered: bool,
    /// Counts who heard of views: only the newest one does.
    hearer: u64,
}

#[derive(Clone)]
struct Opened {
    request: Arc<str>,
    view: Arc<Mutex<RequestView>>,
}

impl Views {
    /// A request has new events, or stands otherwise.
    pub(super) fn hear(&self, notice: &Notice) {
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

    /// Closes all views, and ends whoever hears of them.
    fn begin(&self) -> u64 {
        let (state, changed) = &*self.0;
        let mut state = lock(state);
        let hearer = state.hearer + 1;
        *state = State { hearer, is_answered: true, ..State::default() };
        changed.notify_all();
        hearer
    }

    /// Waits for views that may have changed, with the number of the batch that tells of them; nothing after a while,
    /// and none where somebody else hears now.
    fn next(&self, hearer: u64) -> Option<(u64, Vec<(u64, Opened)>)> {
        let (state, changed) = &*self.0;
        let idle = |state: &mut State| state.hearer == hearer && (state.dirty.is_empty() || !state.is_answered);
        let waited = changed.wait_timeout_while(lock(state), LOOK, idle);
        let mut state = waited.map_or_else(|poisoned| poisoned.into_inner().0, |(state, _)| state);
        if state.hearer != hearer {
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
    fn sends(&self, hearer: u64, batch: u64) {
        let mut state = lock(&self.0.0);
        if state.hearer == hearer {
            (state.batch, state.is_answered) = (batch, false);
        }
    }
}

impl Workspace {
    /// Opens a request for somebody who looks at it.
    pub fn open_view(&self, request: &str) -> Result<ViewHead, Fault> {
        let mut view = RequestView::new(request);
        let row = self.bring_up_to_date(&mut view, request)?;
        view.take_changed();
        view.tells(row.status);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let (from, to) = view.range().unwrap_or((row.started_at, row.started_at));
        let head = ViewHead {
            view: number,
            seq: view.seq(),
            rows: view.row_count(),
            counts: view.counts(),
            sums: view.sums(),
            from,
            to,
            start: view.start(),
            root: view.root(&ViewSource { workspace: self, request })?,
            words: self.input_words(request)?,
            request: row,
        };
        let opened = Opened { request: request.into(), view: Arc::new(Mutex::new(view)) };
        let (state, changed) = &*self.views.0;
        let mut state = lock(state);
        state.open.insert(number, opened);
        // What was committed since it was read is told as an update.
        state.dirty.insert(number);
        changed.notify_all();
        Ok(head)
    }

    /// Closes a view.
    pub fn close_view(&self, view: u64) -> Result<(), Fault> {
        let mut state = lock(&self.views.0.0);
        state.dirty.remove(&view);
        state.open.remove(&view).map(drop).ok_or_else(|| not_open(view))
    }

    /// A window of a view's rows.
    pub fn view_rows(&self, view: u64, query: RowsQuery) -> Result<ViewRows, Fault> {
        self.with_view(view, |view, source| view.rows(source, query))
    }

    /// Folds or unfolds a row, or all where none is named. Answers how many rows there are.
    pub fn view_fold(&self, view: u64, node: Option<u64>, is_folded: bool) -> Result<u64, Fault> {
        self.with_view(view, |view, _| view.fold(node, is_folded))
    }

    /// Shows only what a filter fits, and what is around it.
    pub fn view_filter(&self, view: u64, text: &str) -> Result<Filtered, Fault> {
        self.with_view(view, |view, source| view.filter(source, text))
    }

    /// The next row that a filter's text fits.
    pub fn view_find(&self, view: u64, query: &FindQuery) -> Result<Option<FoundRow>, Fault> {
        self.with_view(view, |view, source| view.find(source, query))
    }

    /// The row of a block.
    pub fn view_row_of(&self, view: u64, query: &BlockQuery) -> Result<Option<FoundRow>, Fault> {
        self.with_view(view, |view, source| view.row_of(source, query))
    }

    /// The rows of executions, shown or not; without those that are not there.
    pub fn view_blocks(&self, view: u64, instances: &[String]) -> Result<Vec<ViewRow>, Fault> {
        self.with_view(view, |view, source| view.blocks(source, instances))
    }

    /// The ticks and Calls of a view that began, ended or ran on after an event (0: all).
    pub fn view_calls(&self, view: u64, after: u64) -> Result<ViewCalls, Fault> {
        self.with_view(view, |view, source| view.calls(source, after))
    }

    /// The last begin or end of a block at or before a time.
    pub fn view_seq_at(&self, view: u64, time: i64) -> Result<u64, Fault> {
        self.with_view(view, |view, _| Ok(view.seq_at(time)))
    }

    /// The event that the slider goes to from another one.
    pub fn view_step(&self, view: u64, seq: u64, to: StepTo) -> Result<Option<u64>, Fault> {
        self.with_view(view, |view, _| Ok(view.step(seq, to)))
    }

    /// The whole request, or a part of its time.
    pub fn view_overview(&self, view: u64, width: u32, from: Option<i64>, to: Option<i64>) -> Result<Overview, Fault> {
        let overview = self.with_view(view, |view, _| Ok(view.overview(width, from, to)))?;
        // Rows may have become critical.
        let (state, changed) = &*self.views.0;
        lock(state).dirty.insert(view);
        changed.notify_all();
        Ok(overview)
    }

    /// Tells `send` what becomes of views that are opened from now on, until it answers that nobody hears it, or until
    /// somebody else wants to hear. Views that were opened before are closed: their page is gone.
    pub fn watch_views(self: &Arc<Self>, send: impl Fn(ViewBatch) -> bool + Send + 'static) -> Result<(), Fault> {
        let (views, workspace) = (self.views.clone(), Arc::downgrade(self));
        let hearer = views.begin();
        std::thread::Builder::new().name("views".to_owned()).spawn(move || {
            while let Some((batch, changed)) = views.next(hearer) {
                let Some(workspace) = workspace.upgrade() else { return };
                let begun = Instant::now();
                let updates: Vec<ViewUpdate> =
                    changed.into_iter().filter_map(|(view, opened)| workspace.update(view, &opened)).collect();
                drop(workspace);
                if updates.is_empty() {
                    continue;
                }
                views.sends(hearer, batch);
                if !send(ViewBatch { batch, updates }) {
                    return;
                }
                std::thread::sleep((Duration::from_secs(1) / BATCHES_A_SECOND).saturating_sub(begun.elapsed()));
            }
        })?;
        Ok(())
    }

    /// Closes all views, and tells nobody any more.
    pub fn unwatch_views(&self) {
        self.views.begin();
    }

    /// The page has got a batch, and may be sent the next.
    pub fn view_ack(&self, batch: u64) {
        let (state, changed) = &*self.views.0;
        let mut state = lock(state);
        if state.batch == batch {
            state.is_answered = true;
            changed.notify_all();
        }
    }

    /// Marks views whose requests change, for as long as the workspace lives.
    pub(super) fn mark_changed_views(&self) {
        let views = self.views.clone();
        self.listen(move |notice| views.hear(notice));
    }

    fn update(&self, view: u64, opened: &Opened) -> Option<ViewUpdate> {
        let mut shown = lock(&opened.view);
        let (before, standing) = (shown.seq(), (shown.counts(), shown.sums()));
        // A request that was deleted has no news; a database that cannot be read now is read at the next notice.
        let row = self.bring_up_to_date(&mut shown, &opened.request).ok()?;
        let (from, to) = shown.range().unwrap_or((row.started_at, row.started_at));
        let changed_from = shown.take_changed();
        let (counts, sums) = (shown.counts(), shown.sums());
        let root = shown.root(&ViewSource { workspace: self, request: &opened.request }).ok()?;
        let is_changed = changed_from < shown.row_count();
        let items = self.items_update(&mut shown, &row).ok()?;
        let is_news = shown.tells(row.status)
            || shown.seq() > before
            || (counts, sums) != standing
            || is_changed
            || items.is_some();
        is_news.then(|| ViewUpdate {
            view,
            seq: shown.seq(),
            rows: shown.row_count(),
            counts,
            sums,
            from,
            to,
            root,
            changed_from,
            items,
            request: row,
        })
    }

    /// Takes in what was committed since.
    pub(super) fn bring_up_to_date(&self, view: &mut RequestView, request: &str) -> Result<RequestRow, Fault> {
        let source = ViewSource { workspace: self, request };
        for look in 1.. {
            let mut row = None;
            view.advance(&source, |spans| {
                self.store.extend_spans(request, spans).map_err(Fault::internal)?;
                let found = row.insert(self.request(request)?);
                Ok(!found.status.is_terminal())
            })?;
            // A row that is newer than the spans may tell of an end that they do not have yet.
            let is_in_time =
                |row: &RequestRow| row.last_seq <= view.seq() || (look >= LOOKS && !row.status.is_terminal());
            if let Some(row) = row.filter(is_in_time) {
                return Ok(row);
            }
        }
        unreachable!("it is looked until it is in time")
    }

    pub(super) fn with_view<R>(
        &self,
        view: u64,
        ask: impl FnOnce(&mut RequestView, &ViewSource<'_>) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let opened = lock(&self.views.0.0).open.get(&view).cloned().ok_or_else(|| not_open(view))?;
        let source = ViewSource { workspace: self, request: &opened.request };
        ask(&mut lock(&opened.view), &source)
    }
}

fn not_open(view: u64) -> Fault {
    Fault::not_found(format!("view {view} is not open; a request is opened again to be looked at"))
}

/// What a view shows beside its spans, from the store.
pub(super) struct ViewSource<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) request: &'w str,
}

impl Source for ViewSource<'_> {
    fn path_texts(&self, numbers: &[PathNumber]) -> Result<Vec<Arc<str>>, Fault> {
        self.workspace.store.path_texts(numbers).map_err(Fault::internal)
    }

    fn path_number(&self, path: &str) -> Result<Option<PathNumber>, Fault> {
        self.workspace.store.path_number(path).map_err(Fault::internal)
    }

    fn error_at(&self, seq: Seq) -> Result<Option<FlowError>, Fault> {
        let event = self.workspace.store.event_at(self.request, seq).map_err(Fault::internal)?;
        Ok(event.and_then(|event| match event.kind {
            EventKind::BlockFinished { error, .. } => error,
            _ => None,
        }))
    }

    fn costs(&self, calls: &[Seq]) -> Result<Vec<Option<f64>>, Fault> {
        self.workspace.costs(self.request, calls)
    }

    fn writes_to(&self, place: &str) -> Result<Vec<(Seq, String)>, Fault> {
        let writes = self.workspace.writes_to(self.request, place, "writes:")?;
        Ok(writes.into_iter().filter_map(|write| Some((write.seq, write.by?))).collect())
    }
}

#[cfg(test)]
mod costs;
