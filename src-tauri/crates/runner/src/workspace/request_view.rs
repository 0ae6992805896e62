//! Open requests: what a window looks at, kept up to date for as long as it does.
//!
//! What this process commits and what others commit is heard as notices; a thread brings the views up to date that
//! somebody hears of, at most so often, and only when the last batch was answered. A slow page gets fewer and larger
//! updates, never a queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use engine::error::FlowError;
use engine::event::{EventKind, Recorded, RequestStatus, Seq};
use engine::suspension::SuspensionStatus;
use engine::views::fork_edits::SpanEdit;
use engine::views::search::Where;
use engine::views::spans::PathNumber;
use store::SearchQuery;

use super::open_views::Opened;
use super::{Workspace, lock};
use crate::core::fault::Fault;
use crate::request_view::{RequestView, Source};
use crate::views::*;

/// At most this many batches a second.
const BATCHES_A_SECOND: u32 = 60;
/// A request that is written all the time is told as it is after so many looks.
const LOOKS: u32 = 3;

/// How many rows come with a view that is opened. As many as the page reads at a time.
const FIRST_ROWS: u32 = 64;

/// Numbers of views are never given twice in a process: those of a folder that was left mean nothing in another.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

impl Workspace {
    /// Opens a request for somebody who looks at it.
    pub fn open_view(&self, request: &str) -> Result<ViewHead, Fault> {
        let opened = self.views.take_closed(request);
        let mut view = lock(&opened.view);
        let row = self.bring_up_to_date(&mut view, request)?;
        view.take_changed();
        view.tells(row.status);
        let source = ViewSource { workspace: self, request };
        let cause = self.cause_in(&view, &source, &row)?;
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        view.number = number;
        let (from, to) = view.range().unwrap_or((row.started_at, row.started_at));
        let mut first = view.rows(&source, RowsQuery { offset: 0, limit: FIRST_ROWS, at: None })?;
        view.add_words(&source, &mut first.page)?;
        let head = ViewHead {
            view: number,
            seq: view.seq(),
            rows: view.row_count(),
            page: first.page,
            counts: view.counts(),
            sums: view.sums(),
            kept: view.kept(),
            shared: view.shared(),
            from,
            to,
            start: view.start(),
            root: view.root(&source)?,
            words: self.input_words(request)?,
            cause,
            request: row,
        };
        drop(view);
        self.views.add(number, opened);
        Ok(head)
    }

    /// The execution of the block that failed, or that asks, in a request that does not run.
    pub(super) fn cause_in(
        &self,
        view: &RequestView,
        source: &ViewSource<'_>,
        row: &RequestRow,
    ) -> Result<Option<String>, Fault> {
        match self.cause_of(row)? {
            Some(path) => view.newest_at(source, path),
            None => Ok(None),
        }
    }

    fn cause_of(&self, row: &RequestRow) -> Result<Option<String>, Fault> {
        match row.status {
            RequestStatus::Suspended => {
                let pending = self.suspensions_of(&row.id, Some(SuspensionStatus::Pending))?;
                Ok(pending.into_iter().next().map(|asked| asked.path))
            }
            RequestStatus::Queued | RequestStatus::InProgress => Ok(None),
            _ => Ok(row.error.as_ref().and_then(|error| error.path.clone())),
        }
    }

    /// Closes a view.
    pub fn close_view(&self, view: u64) -> Result<(), Fault> {
        let opened = self.views.remove(view).ok_or_else(|| not_open(view))?;
        let kept = {
            let mut view = lock(&opened.view);
            // One that runs would only grow behind the back of whoever closed it.
            (view.leave() && view.has_ended()).then(|| view.counts().blocks)
        };
        if let Some(blocks) = kept {
            self.views.keep(opened, blocks);
        }
        Ok(())
    }

    /// A window of a view's rows.
    pub fn view_rows(&self, view: u64, query: RowsQuery) -> Result<ViewRows, Fault> {
        self.with_view(view, |view, source| {
            let mut rows = view.rows(source, query)?;
            view.add_words(source, &mut rows.page)?;
            Ok(rows)
        })
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
        self.with_view(view, |view, source| {
            let mut rows = view.blocks(source, instances)?;
            view.add_words(source, &mut rows)?;
            Ok(rows)
        })
    }

    /// The ticks and Calls of a view that began, ended or ran on after an event (0: all).
    pub fn view_calls(&self, view: u64, after: u64) -> Result<ViewCalls, Fault> {
        self.with_view(view, |view, source| view.calls(source, after))
    }

    /// The last event at or before a time. The view says between which begins and ends of blocks it is, the log which
    /// one it is.
    pub fn view_seq_at(&self, view: u64, time: i64) -> Result<u64, Fault> {
        self.with_view(view, |view, source| {
            self.store.seq_at(source.request, view.seqs_at(time), time).map_err(Fault::internal)
        })
    }

    /// When an event was; none where there is no such event.
    pub fn view_time_of(&self, view: u64, seq: u64) -> Result<Option<i64>, Fault> {
        self.with_view(view, |_, source| self.store.time_of(source.request, seq).map_err(Fault::internal))
    }

    /// The event that the slider goes to from another one.
    pub fn view_step(&self, view: u64, seq: u64, to: StepTo) -> Result<Option<u64>, Fault> {
        self.with_view(view, |view, _| Ok(view.step(seq, to)))
    }

    /// The whole request, or a part of its time.
    pub fn view_overview(&self, view: u64, width: u32, from: Option<i64>, to: Option<i64>) -> Result<Overview, Fault> {
        let (overview, is_critical_new) = self.with_view(view, |view, _| {
            let was_known = view.knows_critical();
            Ok((view.overview(width, from, to), !was_known && view.knows_critical()))
        })?;
        if is_critical_new {
            self.views.mark(view);
        }
        Ok(overview)
    }

    /// Tells `send` what becomes of views that are opened from now on, until it answers that nobody hears it, or until
    /// somebody else wants to hear. Views that were opened before are closed: their page is gone.
    pub fn watch_views(self: &Arc<Self>, send: impl Fn(ViewBatch) -> bool + Send + 'static) -> Result<(), Fault> {
        let (views, workspace) = (self.views.clone(), Arc::downgrade(self));
        let subscriber = views.begin();
        std::thread::Builder::new().name("views".to_owned()).spawn(move || {
            while let Some((batch, changed)) = views.next(subscriber) {
                let Some(workspace) = workspace.upgrade() else { return };
                let begun = Instant::now();
                let updates: Vec<ViewUpdate> =
                    changed.into_iter().filter_map(|(view, opened)| workspace.update(view, &opened)).collect();
                drop(workspace);
                if updates.is_empty() {
                    continue;
                }
                views.sends(subscriber, batch);
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
        self.views.answer(batch);
    }

    /// Marks views whose requests change, for as long as the workspace lives.
    pub(super) fn mark_changed_views(&self) {
        let views = self.views.clone();
        self.listen(move |notice| views.on_notice(notice));
    }

    fn update(&self, view: u64, opened: &Opened) -> Option<ViewUpdate> {
        let mut shown = lock(&opened.view);
        // It was closed meanwhile, and may be another view by now.
        if shown.number != view {
            return None;
        }
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
            kept: shown.kept(),
            shared: shown.shared(),
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
        view.shows(self.store.log_id(request).map_err(Fault::internal)?);
        for look in 1.. {
            let mut row = None;
            view.advance(&source, |spans| {
                let known = spans.model_calls().len();
                self.store.extend_spans(request, spans).map_err(Fault::internal)?;
                self.leave_out_shared(request, spans, known)?;
                let found = row.insert(self.request(request)?);
                spans.set_waiting(found.status == RequestStatus::Suspended);
                Ok(!found.status.is_terminal())
            })?;
            // A row that is newer than the spans may tell of an end that they do not have yet.
            let is_in_time =
                |row: &RequestRow| row.last_seq <= view.seq() || (look >= LOOKS && !row.status.is_terminal());
            if let Some(row) = row.filter(is_in_time) {
                let began = view.began().unwrap_or_else(|| self.first_time(&row));
                let newest = self.store.time_of(request, view.seq()).map_err(Fault::internal)?;
                view.reaches(began, newest.unwrap_or(row.started_at));
                return Ok(row);
            }
        }
        unreachable!("it is looked until it is in time")
    }

    /// When the first event of a request was. A fork begins with events of another request, and so does its time, as
    /// long as that one is there.
    fn first_time(&self, row: &RequestRow) -> i64 {
        let (mut first, mut from) = (row.started_at, row.forked_from.clone());
        while let Some(origin) = from.take() {
            let Ok(row) = self.request(&origin.request_id) else { break };
            (first, from) = (row.started_at, row.forked_from);
        }
        first
    }

    pub(super) fn with_view<R>(
        &self,
        view: u64,
        ask: impl FnOnce(&mut RequestView, &ViewSource<'_>) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let opened = self.views.get(view).ok_or_else(|| not_open(view))?;
        let source = ViewSource { workspace: self, request: &opened.request };
        let mut shown = lock(&opened.view);
        // A question of before it was closed is none of the view that it may be by now.
        if shown.number != view { Err(not_open(view)) } else { ask(&mut shown, &source) }
    }
}

/// What the row of a tool call says that ended after its timeout.
fn ended_late(timeout_ms: u64, error: Option<FlowError>) -> FlowError {
    let own = error.map(|error| format!(", with {}: {}", error.name, error.message)).unwrap_or_default();
    FlowError::plain(format!("given up after {timeout_ms} ms; ended later{own}"))
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

    fn words(&self, starts: &[Seq]) -> Result<Vec<Option<String>>, Fault> {
        self.workspace.store.block_words(self.request, starts).map_err(Fault::internal)
    }

    fn error_at(&self, seq: Seq) -> Result<Option<FlowError>, Fault> {
        let event = self.workspace.store.event_at(self.request, seq).map_err(Fault::internal)?;
        Ok(event.and_then(|event| match event.kind {
            EventKind::BlockFinished { timed_out_ms: Some(ms), error, .. } => Some(ended_late(ms, error)),
            EventKind::BlockFinished { output: Some(Recorded::Value(result)), returned_error: true, .. } => {
                Some(FlowError::plain(dialects::agent::error_of(&result)))
            }
            EventKind::BlockFinished { error, .. } | EventKind::HookReturned { error, .. } => error,
            _ => None,
        }))
    }

    fn costs(&self, calls: &[Seq]) -> Result<Vec<Option<f64>>, Fault> {
        self.workspace.costs(self.request, calls)
    }

    fn edits(&self) -> Result<Vec<SpanEdit>, Fault> {
        self.workspace.store.edits(self.request).map_err(Fault::internal)
    }

    fn writes_to(&self, place: &str) -> Result<Vec<(Seq, String)>, Fault> {
        let writes = self.workspace.writes_of_all(self.request, place, "writes:")?;
        Ok(writes.into_iter().filter_map(|write| Some((write.seq, write.by?))).collect())
    }

    fn events_with(&self, text: &str) -> Result<Vec<(Seq, String)>, Fault> {
        let store = &self.workspace.store;
        let query =
            SearchQuery { text: text.to_owned(), request: Some(self.request.to_owned()), ..SearchQuery::default() };
        let mut hits = store.search(&query).map_err(Fault::internal)?;
        hits.retain(|hit| matches!(hit.place, Where::Input | Where::Output | Where::Error));
        let seqs: Vec<Seq> = hits.iter().map(|hit| hit.seq).collect();
        // What a block passes on is recorded once: the input of the next block refers to it.
        let referring = store.values_of(self.request, &seqs).map_err(Fault::internal)?;
        let own = hits.into_iter().filter_map(|hit| Some((hit.seq, hit.path?.to_string())));
        Ok(own.chain(referring).collect())
    }
}

#[cfg(test)]
mod costs;
#[cfg(test)]
mod replaced;
