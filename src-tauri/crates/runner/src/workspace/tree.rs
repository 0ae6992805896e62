//! The tree of a request for somebody who looks once.

use engine::event::{Event, EventKind, Recorded};
use engine::views::Events;
use engine::views::fork_edits::edited_value;

use super::Workspace;
use super::request_view::ViewSource;
use crate::core::fault::Fault;
use crate::request_view::RequestView;
use crate::views::{Json, RowsQuery, TreeView, ViewRow};

impl Workspace {
    /// A request's rows for somebody who looks once: filtered, and unfolded where that is wanted.
    pub fn tree(&self, request: &str, filter: Option<&str>, unfolded: bool) -> Result<TreeView, Fault> {
        self.tree_of(request, filter, unfolded, true)
    }

    /// The rows of a request, folded; none is told to be critical.
    pub fn folded_tree(&self, request: &str) -> Result<TreeView, Fault> {
        self.tree_of(request, None, false, false)
    }

    fn tree_of(&self, request: &str, filter: Option<&str>, unfolded: bool, critical: bool) -> Result<TreeView, Fault> {
        let mut view = RequestView::new(request);
        let source = ViewSource { workspace: self, request };
        let row = self.bring_up_to_date(&mut view, request)?;
        if unfolded {
            view.fold(None, false)?;
        }
        if critical {
            view.find_critical();
        }
        let filtered = filter.map(|text| view.filter(&source, text)).transpose()?;
        let (counts, sums) = (view.counts(), view.sums());
        let mut rows: Vec<ViewRow> = Vec::new();
        while (rows.len() as u64) < view.row_count() {
            let query = RowsQuery { offset: rows.len() as u64, limit: u32::MAX, at: None };
            rows.extend(view.rows(&source, query)?.page);
        }
        let hidden = rows.iter().map(|row| row.hidden).sum();
        let (kept, matches) = (view.kept(), filtered.map(|filtered| filtered.matches));
        Ok(TreeView { request: row, counts, sums, kept, matches, hidden, rows })
    }

    /// What a request was asked, and what it answered.
    pub fn asked_and_answered(&self, request: &str) -> Result<(Option<Json>, Option<Json>), Fault> {
        let row = self.request(request)?;
        if row.forked_from.is_some() {
            // A fork's input may have been edited somewhere in its log.
            let shown = self.show(request)?;
            return Ok((shown.input, shown.output));
        }
        let mut events: Vec<Event> = Vec::new();
        for seq in [1, row.last_seq] {
            events.extend(self.store.event_at(request, seq).map_err(Fault::internal)?);
        }
        events.dedup_by_key(|event| event.seq);
        let output = events.last().and_then(|event| match &event.kind {
            EventKind::RequestFinished { output, .. } => output.clone(),
            _ => None,
        });
        // What it refers to, and what that refers to.
        let mut refers = output.clone();
        while let Some(Recorded::Of(seq)) = refers {
            let event = self.store.event_at(request, seq).map_err(Fault::internal)?;
            refers = event.as_ref().and_then(|event| match &event.kind {
                EventKind::BlockFinished { output, .. } => output.clone(),
                EventKind::RequestStarted { input, .. } | EventKind::BlockInput { input } => Some(input.clone()),
                kind => edited_value(kind).cloned(),
            });
            events.extend(event);
        }
        events.sort_by_key(|event| event.seq);
        let view = Events::new(&events);
        let json = |value: Option<&serde_json::Value>| value.cloned().map(Json);
        let output = output.as_ref().and_then(|output| view.value(output));
        Ok((json(view.input()), json(output)))
    }
}
