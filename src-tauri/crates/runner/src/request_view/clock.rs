//! When things happened in a request: its first and last instant, how much when, and where nothing ran.

use engine::event::{BlockKind, Seq};
use engine::views::spans::{Span, SpanEnd, SpanIndex, Spans};

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

    /// Takes in the spans from an index on, and those that ended, in that order.
    pub(super) fn take_in(&mut self, spans: &Spans, known: SpanIndex, ended: &[SpanIndex]) {
        let mut ended = ended.iter().copied().peekable();
        for index in known..spans.len() as SpanIndex {
            let span = spans.get(index);
            while let Some(index) = ended.next_if(|index| spans.get(*index).seq_end < span.seq_start) {
                self.end(spans, spans.get(index));
            }
            self.resume_until(spans, span.seq_start);
            self.start(span);
        }
        ended.for_each(|index| self.end(spans, spans.get(index)));
        self.resume_until(spans, spans.last() + 1);
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

    fn start(&mut self, span: &Span) {
        if is_active(span) {
            if let Some(since) = self.idle_since.take().filter(|since| span.started_at - since >= self.shortest) {
                self.gaps.push(Gap { from: since, to: span.started_at });
            }
            if self.gaps.len() > MOST_GAPS {
                self.shortest *= 2;
                self.gaps.retain(|gap| gap.to - gap.from >= self.shortest);
            }
            self.active += 1;
        }
        self.reach(span.started_at);
        self.happened.add(span.started_at, false);
    }

    fn end(&mut self, spans: &Spans, span: &Span) {
        self.resume_until(spans, span.seq_end);
        let at = span.finished_at().unwrap_or(span.started_at);
        self.reach(at);
        self.happened.add(at, false);
        if span.end.is_some_and(SpanEnd::is_failure) {
            self.happened.add(at, true);
        }
        if is_active(span) && span.seq_start > self.resumed {
            self.active = self.active.saturating_sub(1);
            if self.active == 0 {
                self.idle_since = Some(at);
            }
        }
    }
}
