//! An open request, as a window shows it: the rows of its tree, folded and filtered, as of any event.
//!
//! Made from the request's [`Spans`] once, then kept up to date: what comes costs the same however long the request is.
//! It never holds what events say: texts of paths and messages of errors are asked for where rows show them. Must not
//! know which window shows it, or how.

mod bits;
mod calls;
mod changed;
mod clock;
mod critical;
mod durations;
pub(crate) mod filter;
mod find;
mod histogram;
pub(crate) mod item_list;
mod lists;
mod overview;
mod partial_sums;
mod path_texts;
mod reopen;
mod rows;
mod steps;
mod sums;
#[cfg(test)]
mod tests;
mod tree;
mod words;

use std::collections::HashMap;
use std::sync::Arc;

use engine::error::FlowError;
use engine::event::{RequestStatus, Seq};
use engine::views::fork_edits::SpanEdit;
use engine::views::spans::{PathNumber, SpanEnd, SpanIndex, Spans};

use crate::core::fault::Fault;
use crate::views::Counts;
use bits::Bits;
use calls::Loops;
use changed::{touch, touch_around};
use clock::Clock;
use filter::Filter;
use item_list::ItemList;
use path_texts::PathTexts;
use sums::{Figures, RowSums};
use tree::{Node, State, Tree};

/// What a view asks for where it shows it.
pub(crate) trait Source {
    /// The texts of paths.
    fn path_texts(&self, numbers: &[PathNumber]) -> Result<Vec<Arc<str>>, Fault>;
    /// The number of a path.
    fn path_number(&self, path: &str) -> Result<Option<PathNumber>, Fault>;
    /// The id, the name or the title of what blocks were called with, or its first words, by their first events.
    fn words(&self, starts: &[Seq]) -> Result<Vec<Option<String>>, Fault>;
    /// The error that an event tells.
    fn error_at(&self, seq: Seq) -> Result<Option<FlowError>, Fault>;
    /// What the model calls cost that ended with these events, in US dollars, each where it has a price; an empty list
    /// where nobody knows prices.
    fn costs(&self, calls: &[Seq]) -> Result<Vec<Option<f64>>, Fault>;
    /// The inputs and outputs that a fork has in place of recorded ones.
    fn edits(&self) -> Result<Vec<SpanEdit>, Fault>;
    /// The events that wrote to a place of state, each with the path of its block.
    fn writes_to(&self, place: &str) -> Result<Vec<(Seq, String)>, Fault>;
    /// The events whose input, output or error contains a text, each with the path of its block.
    fn events_with(&self, text: &str) -> Result<Vec<(Seq, String)>, Fault>;
}

/// A span that has not ended.
struct Open {
    span: SpanIndex,
    /// Whether its process is gone, and the request was taken up again.
    is_cut: bool,
    /// What its row shows of what it did.
    shown: Figures,
}

/// See the module.
pub(crate) struct RequestView {
    request: String,
    /// The view that it is now; 0 while it is none.
    pub(crate) number: u64,
    /// Which log it shows: another one may take the request's place, where the request is deleted and imported.
    log: Option<i64>,
    spans: Spans,
    tree: Tree,
    clock: Clock,
    /// When its first event was, and its newest one, once that was told.
    events: Option<(i64, i64)>,
    open: Vec<Open>,
    suspended: u64,
    items: u64,
    loops: Loops,
    sums: RowSums,
    /// Those that ended, in that order: those that failed, the root and its steps.
    failures: Vec<SpanIndex>,
    boundaries: Vec<SpanIndex>,
    is_live: bool,
    /// How the request stood when that was last told.
    told: Option<RequestStatus>,
    /// How many were taken in: of spans that ended, of those that went on, and of changes that count no more.
    ended: usize,
    went_on: usize,
    revoked: usize,
    filter: Option<Filter>,
    paths: PathTexts,
    /// Words of rows that were shown, by the first events of their blocks.
    words: HashMap<Seq, Option<String>>,
    critical: Option<Bits>,
    /// What a fork edited, as of so many times that it was taken up.
    edits: (usize, Vec<SpanEdit>),
    /// Nodes whose rows changed since that was asked; none where all may have.
    changed: Option<Vec<Node>>,
    /// Its items, once somebody asked for them, and whether somebody wants to hear of them.
    pub(crate) item_list: Option<ItemList>,
    pub(crate) is_watching_items: bool,
    /// Whether it was told that later model calls leave out its items.
    pub(crate) is_left_out: bool,
}

impl RequestView {
    /// A view of a request, still without its spans.
    pub(crate) fn new(request: &str) -> Self {
        RequestView {
            request: request.to_owned(),
            number: 0,
            log: None,
            spans: Spans::default(),
            tree: Tree::default(),
            clock: Clock::default(),
            events: None,
            open: Vec::new(),
            suspended: 0,
            items: 0,
            loops: Loops::default(),
            sums: RowSums::default(),
            failures: Vec::new(),
            boundaries: Vec::new(),
            is_live: true,
            told: None,
            ended: 0,
            went_on: 0,
            revoked: 0,
            filter: None,
            paths: PathTexts::default(),
            words: HashMap::new(),
            critical: None,
            edits: (0, Vec::new()),
            changed: None,
            item_list: None,
            is_watching_items: false,
            is_left_out: false,
        }
    }

    /// Takes in what `extend` adds to the spans. It answers whether the request's process still runs it.
    pub(crate) fn advance(
        &mut self,
        source: &impl Source,
        extend: impl FnOnce(&mut Spans) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let has_waited = self.spans.is_waiting();
        let is_live = extend(&mut self.spans)?;
        let is_other = self.is_live != is_live || self.spans.is_waiting() != has_waited;
        if is_other {
            (self.is_live, self.changed) = (is_live, None);
        }
        let known = self.tree.len();
        // Spans that a filter looks at again.
        let mut fresh: Vec<SpanIndex> = Vec::new();
        let edges = self.reopen(known, &mut fresh);
        let known_ended = self.ended;
        let mut open = std::mem::take(&mut self.open);
        open.retain_mut(|open| {
            let span = self.spans.get(open.span);
            let shown = self.figures(open.span);
            self.items = self.items + u64::from(shown.items) - u64::from(open.shown.items);
            if self.sums.advance(&self.tree, open.span, &open.shown, &shown) {
                touch_around(&mut self.changed, &self.tree, open.span);
            }
            if span.end.is_some() {
                return false;
            }
            if shown != open.shown {
                touch(&mut self.changed, open.span);
            }
            if shown != open.shown || is_other {
                fresh.push(open.span);
            }
            open.shown = shown;
            true
        });
        if known == 0 {
            self.sums.begin(&self.spans, is_live);
        }
        for index in known..self.spans.len() as SpanIndex {
            touch(&mut self.changed, self.tree.push(&self.spans));
            let span = self.spans.get(index);
            self.items += u64::from(span.items);
            let shown = self.figures(index);
            if known > 0 && self.sums.advance(&self.tree, index, &Figures::default(), &shown) {
                touch_around(&mut self.changed, &self.tree, index);
            }
            if span.end.is_none() {
                open.push(Open { span: index, is_cut: false, shown });
            }
        }
        self.open = open;
        self.ended = self.spans.ended().len();
        self.clock.take_in(&self.spans, known, &self.spans.ended()[known_ended..], edges);
        for at in known_ended..self.ended {
            self.end(self.spans.ended()[at]);
        }
        let cut = self.cut();
        let is_news = !fresh.is_empty() || !cut.is_empty() || known < self.tree.len() || known_ended < self.ended;
        if self.filter.is_some() {
            fresh.extend(self.spans.ended()[known_ended..].iter().filter(|span| **span < known));
            fresh.extend(known..self.tree.len());
            fresh.extend(cut);
        }
        if known == 0 {
            self.shrink();
        }
        if is_news {
            self.critical = None;
        }
        self.loops.take_in(&self.spans, known, source)?;
        self.sums.price(&self.spans, &self.tree, source)?;
        self.filter_fresh(source, &fresh)
    }

    /// What a row shows of what a span did.
    fn figures(&self, index: SpanIndex) -> Figures {
        Figures::of(&self.spans, index, self.is_live)
    }

    fn end(&mut self, index: SpanIndex) {
        let span = self.spans.get(index);
        let state = match span.end {
            Some(end) if end.is_failure() => {
                self.failures.push(index);
                State::Failed
            }
            Some(SpanEnd::Suspended) => {
                self.suspended += 1;
                State::Suspended
            }
            _ => State::Other,
        };
        let is_top = |index: SpanIndex| self.spans.get(index).parent().is_none();
        if span.parent().is_none_or(is_top) {
            self.boundaries.push(index);
        }
        self.tree.set_state(&self.spans, index, state, span.finished_at().unwrap_or(span.started_at));
        self.touch_with_groups(index);
    }

    /// What was running when the request was taken up again does not run any more. Answers which that is.
    fn cut(&mut self) -> Vec<SpanIndex> {
        let resumed = self.spans.resumes().last().copied().unwrap_or(0);
        let mut cut = Vec::new();
        for open in self.open.iter_mut().filter(|open| !open.is_cut) {
            let span = self.spans.get(open.span);
            if self.spans.run_start(open.span) < resumed {
                open.is_cut = true;
                self.tree.set_state(&self.spans, open.span, State::Other, span.started_at);
                cut.push(open.span);
            }
        }
        cut.iter().for_each(|span| self.touch_with_groups(*span));
        cut
    }

    /// Says which log is there now. What it knows of another one is forgotten.
    pub(crate) fn shows(&mut self, log: Option<i64>) {
        if self.log.is_some() && self.log != log {
            let (number, is_watching_items) = (self.number, self.is_watching_items);
            *self = RequestView { number, is_watching_items, ..RequestView::new(&self.request) };
        }
        self.log = log;
    }

    /// Forgets what its page asked for. Answers whether its rows stand as in a view that is opened anew.
    pub(crate) fn leave(&mut self) -> bool {
        if self.filter.take().is_some() {
            self.tree.filter(None);
        }
        (self.is_watching_items, self.number) = (false, 0);
        self.tree.is_as_made()
    }

    /// Takes back memory that growing left over, once a whole request was read.
    fn shrink(&mut self) {
        self.tree.shrink();
        self.spans.shrink();
        for seqs in [&mut self.failures, &mut self.boundaries] {
            seqs.shrink_to_fit();
        }
    }

    /// Whether the request was told to have ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.told.is_some_and(|status| status.is_terminal())
    }

    /// Notes how the request is told to stand. Answers whether that is new.
    pub(crate) fn tells(&mut self, status: RequestStatus) -> bool {
        self.told.replace(status) != Some(status)
    }

    /// The newest event that is taken in.
    pub(crate) fn seq(&self) -> Seq {
        self.spans.last()
    }

    /// How many rows there are.
    pub(crate) fn row_count(&self) -> u64 {
        self.tree.rows().into()
    }

    /// How the blocks stand.
    pub(crate) fn counts(&self) -> Counts {
        let running = if self.is_live { self.open.iter().filter(|open| !open.is_cut).count() } else { 0 };
        Counts {
            blocks: self.spans.len() as u64,
            finished: self.ended as u64,
            running: running as u64,
            failed: self.spans.failure_causes(),
            suspended: self.suspended,
            items: self.items,
            ticks: self.loops.ticks,
            calls: self.loops.calls,
        }
    }

    /// The newest execution of the root block.
    pub(crate) fn root(&self, source: &impl Source) -> Result<Option<String>, Fault> {
        let Some(root) = self.tree.children(None).next_back().map(|node| self.tree.newest(node)) else {
            return Ok(None);
        };
        self.instance_of(source, root).map(Some)
    }

    fn instance_of(&self, source: &impl Source, index: SpanIndex) -> Result<String, Fault> {
        let span = self.spans.get(index);
        let path = source.path_texts(&[span.path])?.pop().unwrap_or_default();
        Ok(format!("{}:{path}:{}", self.request, span.attempt))
    }

    /// The event before the root's first one.
    pub(crate) fn start(&self) -> Seq {
        self.spans.iter().next().map_or(0, |root| root.seq_start.saturating_sub(1))
    }

    /// Notes that a span's row changed, and those of the groups that it is in.
    fn touch_with_groups(&mut self, index: SpanIndex) {
        if self.changed.is_none() {
            return;
        }
        touch(&mut self.changed, index);
        for node in self.tree.ancestors(index).take_while(|node| self.tree.group(*node).is_some()) {
            touch(&mut self.changed, node);
        }
    }

    /// The first row that may differ since this was last asked.
    pub(crate) fn take_changed(&mut self) -> u64 {
        match self.changed.replace(Vec::new()) {
            None => 0,
            Some(nodes) => {
                let rows = nodes.into_iter().filter_map(|node| self.tree.row_of(node));
                rows.min().map_or(self.row_count(), u64::from)
            }
        }
    }

    /// Folds or unfolds a node, or all where none is named. Answers how many rows there are.
    pub(crate) fn fold(&mut self, node: Option<u64>, is_folded: bool) -> Result<u64, Fault> {
        match node {
            None => self.tree.fold_all(&self.spans, is_folded),
            Some(node) => {
                let known = Node::try_from(node).ok().filter(|node| self.tree.has(*node));
                let node = known.ok_or_else(|| Fault::not_found(format!("this request has no row \"{node}\"")))?;
                self.tree.fold(node, is_folded);
            }
        }
        Ok(self.row_count())
    }
}
