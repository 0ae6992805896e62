//! When things happened in a request: its first and last instant, how much when, and where nothing ran.

use engine::event::{BlockKind, Seq};
use engine::views::spans::{EarlierRun, Span, SpanEnd, SpanIndex, Spans};

use super::histogram::Histogram;
use crate::views::Gap;

/// As many cells as any screen has.
const CELLS: usize = 8_192;
/// Shorter gaps are of no interest, and the shortest ones are dropped where there are too many.
const SHORTEST_MS: i64 = 100;
const MOST_GAPS: usize = 4_096;

/// See the module.
pub(super) struct Clock {
    range: Option<(i64, i64)>,
    pub(super) happened: Histogram,
    gaps: Vec<Gap>,
    shortest: i64,
    /// How many blocks run that do something themselves.
    active: u32,
    /// Since when none did.
    idle_since: Option<i64>,
    /// When the request was last taken up again.
    resumed: Seq,
    resumes: usize,
}

impl Default for Clock {
    fn default() -> Self {
        Clock {
            range: None,
            happened: Histogram::new(CELLS),
            gaps: Vec::new(),
            shortest: SHORTEST_MS,
            active: 0,
            idle_since: None,
            resumed: 0,
            resumes: 0,
        }
    }
}

/// When a run of a span that went on later ended, or when a later run of it began.
pub(super) struct Edge {
    pub(super) seq: Seq,
    at: i64,
    span: SpanIndex,
    /// How it ended; none if it began.
    end: Option<SpanEnd>,
}

impl Edge {
    /// The end of a run, if that is wanted and it was not cut off, and the beginning of the next.
    pub(super) fn of(span: SpanIndex, run: &EarlierRun, with_end: bool) -> impl Iterator<Item = Edge> {
        let end =
            run.end.filter(|_| with_end).map(|end| Edge { seq: run.seq_end, at: run.until, span, end: Some(end) });
        end.into_iter().chain([Edge { seq: run.resumed, at: run.resumed_at, span, end: None }])
    }
}

/// Whether a block does something itself, and not only what is in it.
pub(super) fn is_active(span: &Span) -> bool {
    matches!(span.kind, BlockKind::Handler | BlockKind::Generator)
}

impl Clock {
    pub(super) fn range(&self) -> Option<(i64, i64)> {
        self.range
    }

    /// The longest gaps within a time, in order. What was before the first block is one: a request may wait for its
    /// turn.
    pub(super) fn gaps(&self, from: i64, to: i64, most: usize) -> Vec<Gap> {
        let before = self.range.map(|(first, _)| Gap { from, to: first });
        let all = before.iter().chain(&self.gaps);
        let inside = all.map(|gap| Gap { from: gap.from.max(from), to: gap.to.min(to) });
        let mut gaps: Vec<Gap> = inside.filter(|gap| gap.to - gap.from >= SHORTEST_MS).collect();
        gaps.sort_by_key(|gap| std::cmp::Reverse(gap.to - gap.from));
        gaps.truncate(most);
        gaps.sort_by_key(|gap| gap.from);
        gaps
    }

    /// Takes in the spans from an index on, those that ended, in that order, and what is known of earlier runs.
    pub(super) fn take_in(&mut self, spans: &Spans, known: SpanIndex, ended: &[SpanIndex], edges: Vec<Edge>) {
        let mut ended = ended.iter().copied().peekable();
        let mut edges = edges.into_iter().peekable();
        for index in (known..spans.len() as SpanIndex).map(Some).chain([None]) {
            let until = index.map_or(Seq::MAX, |index| spans.get(index).seq_start);
            loop {
                let end = ended.peek().map_or(Seq::MAX, |index| spans.get(*index).seq_end);
                let edge = edges.peek().map_or(Seq::MAX, |edge| edge.seq);
                if end.min(edge) >= until {
                    break;
                }
                if edge < end {
                    edges.next().into_iter().for_each(|edge| self.pass(spans, &edge));
                } else {
                    ended.next().into_iter().for_each(|index| self.end(spans, index));
                }
            }
            if let Some(index) = index {
                let span = spans.get(index);
                self.resume_until(spans, span.seq_start);
                self.start(is_active(span), span.started_at);
            }
        }
        self.resume_until(spans, spans.last() + 1);
    }

    fn pass(&mut self, spans: &Spans, edge: &Edge) {
        let is_active = is_active(spans.get(edge.span));
        self.resume_until(spans, edge.seq);
        match edge.end {
            // Whatever ran before it was resumed is not counted any more.
            Some(end) => self.finish(is_active, edge.at, end),
            None => self.start(is_active, edge.at),
        }
    }

    /// Nothing runs any more of what ran before the request was taken up again.
    fn resume_until(&mut self, spans: &Spans, seq: Seq) {
        while let Some(resumed) = spans.resumes().get(self.resumes).filter(|resumed| **resumed < seq) {
            (self.active, self.resumed, self.resumes) = (0, *resumed, self.resumes + 1);
            self.idle_since = self.range.map(|(_, to)| to);
        }
    }

    fn reach(&mut self, at: i64) {
        let (from, to) = self.range.unwrap_or((at, at));
        self.range = Some((from.min(at), to.max(at)));
    }

    fn start(&mut self, is_active: bool, at: i64) {
        if is_active {
            if let Some(since) = self.idle_since.take().filter(|since| at - since >= self.shortest) {
                self.gaps.push(Gap { from: since, to: at });
            }
            if self.gaps.len() > MOST_GAPS {
                self.shortest *= 2;
                self.gaps.retain(|gap| gap.to - gap.from >= self.shortest);
            }
            self.active += 1;
        }
        self.reach(at);
        self.happened.add(at, false);
    }

    fn end(&mut self, spans: &Spans, index: SpanIndex) {
        let span = spans.get(index);
        self.resume_until(spans, span.seq_end);
        let at = span.finished_at().unwrap_or(span.started_at);
        let is_counted = is_active(span) && spans.run_start(index) > self.resumed;
        self.finish(is_counted, at, span.end.unwrap_or(SpanEnd::Abandoned));
    }

    fn finish(&mut self, is_counted: bool, at: i64, end: SpanEnd) {
        self.reach(at);
        self.happened.add(at, false);
        if end.is_failure() {
            self.happened.add(at, true);
        }
        if is_counted {
            self.active = self.active.saturating_sub(1);
            if self.active == 0 {
                self.idle_since = Some(at);
            }
        }
    }
}
