//! A session as a conversation: pages of its requests as turns, and its fork tree.
//!
//! A page reads only the events of its own turns. The item list of a running turn is cached, so that a streamed answer
//! costs only its new part.

use std::sync::Arc;

use engine::event::RequestStatus;
use engine::retention::Retention;
use engine::views::Events;
use engine::views::items::{Audience, items};
use engine::views::retention::Past;
use store::{EventQuery, Subject};

use super::{as_seen, is_left_out_of_history};
use crate::core::fault::Fault;
use crate::request_view::item_list::{ItemList, Wanted};
use crate::views::{AudienceCounts, Conversation, ConversationQuery, ForkRow, RunRow, Turn, ViewItem};
use crate::workspace::Workspace;
use crate::workspace::news::is_unfinished;
use crate::workspace::request_view::ViewSource;

/// The maximum number of turns of a page.
const MAX_TURNS: u32 = 50;
/// How many items of a long turn are shown at its start and at its end.
const FIRST_ITEMS: usize = 20;
const LAST_ITEMS: usize = 100;
/// The maximum number of sessions of a fork tree.
const MAX_FORKS: u64 = 500;
/// How many turns are read at once to find those that the retention keeps.
const TURNS_AT_ONCE: u64 = 100;

impl Workspace {
    /// A page of a session's turns, as an audience sees them.
    pub fn conversation(&self, session: &str, query: ConversationQuery) -> Result<Conversation, Fault> {
        if query.limit > MAX_TURNS {
            return Err(Fault::invalid(format!("at most {MAX_TURNS} turns are read at once, not {}", query.limit)));
        }
        let limit = u64::from(query.limit);
        let row = self.session(session)?;
        let read = |offset| self.store.turns(session, offset, limit).map_err(Fault::internal);
        let (mut total, mut offset) = (0, query.offset.unwrap_or(u64::MAX));
        let mut rows = Vec::new();
        if query.offset.is_some() {
            (total, rows) = read(offset)?;
        }
        // An offset after the end shows the newest turns.
        if rows.is_empty() {
            (total, _) = self.store.turns(session, 0, 0).map_err(Fault::internal)?;
            offset = total.saturating_sub(limit);
            (total, rows) = read(offset)?;
        }
        let kept_from = self.kept_from(session, total)?;
        let runs = self.run_rows(rows)?.into_iter();
        let turns = (offset..).zip(runs).map(|(at, run)| self.turn(run, query.audience, at < kept_from));
        let turns = turns.collect::<Result<_, _>>()?;
        let tags = self.tags(Subject::Session, session)?;
        Ok(Conversation { session: row, tags, total, offset, turns })
    }

    /// The position of a request in a session, counted from 0.
    pub fn turn_of(&self, session: &str, request: &str) -> Result<u64, Fault> {
        self.session(session)?;
        let found = self.store.turn_of(session, request).map_err(Fault::internal)?;
        found.ok_or_else(|| Fault::not_found(format!("session \"{session}\" has no request \"{request}\"")))
    }

    /// The whole fork tree of a session, parents before their forks.
    pub fn fork_tree(&self, session: &str) -> Result<Vec<ForkRow>, Fault> {
        self.session(session)?;
        let nodes = self.store.fork_tree(session, MAX_FORKS).map_err(Fault::internal)?;
        let newest: Vec<&str> = nodes.iter().map(|node| node.session.last_request.as_str()).collect();
        let words = self.store.input_words(&newest).map_err(Fault::internal)?;
        let rows = nodes.into_iter().zip(words).map(|(node, words)| ForkRow {
            forked_from_request: node.session.forked_from.clone(),
            session: self.session_row(node.session),
            parent: node.parent,
            forked_at: node.forked_at,
            words,
        });
        Ok(rows.collect())
    }

    fn turn(&self, run: RunRow, audience: Audience, is_before_kept: bool) -> Result<Turn, Fault> {
        let (id, status) = (run.row.id.clone(), run.row.status);
        let is_forgotten = is_before_kept && status == RequestStatus::Completed;
        let mut list =
            self.views.take_list(&id).filter(|list| list.last() <= run.row.last_seq).unwrap_or_else(ItemList::new);
        self.bring_items_up_to_date(&mut list, &run.row)?;
        let mut counts = AudienceCounts::from(if is_forgotten { [0; 4] } else { list.counts() });
        // Models read the items of completed requests only.
        let is_left_out = is_left_out_of_history(status);
        if status != RequestStatus::Completed {
            counts.history = 0;
        }
        let seen = match audience {
            Audience::All => counts.all,
            Audience::Client => counts.client,
            Audience::History => counts.history,
            Audience::Trace => counts.trace,
        };
        let source = ViewSource { workspace: self, request: &id };
        let window = |offset: u64, limit: usize| -> Result<Vec<ViewItem>, Fault> {
            let seqs = list.window(audience, offset, limit, None);
            let wanted: Vec<Wanted> = seqs.into_iter().filter_map(|seq| list.wanted(seq, None)).collect();
            let shown = wanted.iter().map(|wanted| self.view_item(&source, wanted, list.last()));
            let shown = shown.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
            Ok(shown.map(|one| ViewItem { item: as_seen(one.item, audience), ..one }).collect())
        };
        let left_out = seen.saturating_sub((FIRST_ITEMS + LAST_ITEMS) as u64);
        let mut items = match (seen, left_out) {
            (0, _) => Vec::new(),
            (_, 0) => window(0, FIRST_ITEMS + LAST_ITEMS)?,
            _ => window(0, FIRST_ITEMS)?,
        };
        let left_out_at = if left_out > 0 { items.len() as u32 } else { 0 };
        if left_out > 0 {
            items.extend(window(FIRST_ITEMS as u64 + left_out, LAST_ITEMS)?);
        }
        if is_left_out {
            items.iter_mut().for_each(|shown| shown.item.visibility.history = false);
        }
        if is_unfinished(status) {
            self.views.keep_list(&id, list);
        }
        Ok(Turn { run, counts, is_forgotten, items, left_out, left_out_at })
    }

    /// The first turn that the retention keeps. Reads the kept turns, newest first, and only if the flow declares a
    /// retention.
    fn kept_from(&self, session: &str, total: u64) -> Result<u64, Fault> {
        let page = |offset, limit| self.store.turns(session, offset, limit).map_err(Fault::internal);
        let Some(newest) = page(total.saturating_sub(1), 1)?.1.pop() else { return Ok(0) };
        let first = EventQuery { to: Some(1), ..EventQuery::default() };
        let first = self.store.events(&newest.request.id, &first).map_err(Fault::internal)?;
        let Some((retention, now)) = Retention::recorded(&first) else { return Ok(0) };
        let (mut end, mut past, mut places) = (total, Vec::new(), Vec::new());
        while end > 0 {
            let offset = end.saturating_sub(TURNS_AT_ONCE);
            let rows = page(offset, end - offset)?.1;
            let (mut older, mut older_places) = (Vec::new(), Vec::new());
            for (at, row) in (offset..).zip(rows) {
                if self.request_row(row.request.clone()).status == RequestStatus::Completed {
                    older.push(self.past(&row.request, &retention)?);
                    older_places.push(at);
                }
            }
            older.extend(past);
            older_places.extend(places);
            (past, places, end) = (older, older_places, offset);
            let gone = retention.evicts(&past, now);
            if gone > 0 {
                return Ok(places.get(gone).copied().unwrap_or(total));
            }
        }
        Ok(0)
    }

    /// The facts that decide whether the retention keeps a completed request. Items are counted only if they matter.
    fn past(&self, row: &store::RequestRow, retention: &Retention) -> Result<Past, Fault> {
        let Some(ended_at) = row.finished_at.filter(|_| retention.max_items.is_none()) else {
            let events = self.store.events(&row.id, &EventQuery::default()).map_err(Fault::internal)?;
            let request: Arc<str> = row.id.as_str().into();
            let all = items(&request, Events::new(&events), false);
            return Ok(Past::of(&events, all.iter().filter(|item| !item.transient).count()));
        };
        Ok(Past { ended_at, items: 0 })
    }
}
