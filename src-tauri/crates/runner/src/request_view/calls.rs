//! The loops of agents whose models answer with Calls: their ticks, the Calls of those, and what is directly around and
//! inside of them. A loop is few of the blocks of a request, so it is told whole, and not in windows.

use std::collections::HashSet;

use engine::event::Seq;
use engine::views::spans::{Span, SpanIndex, Spans};

use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::{BlockRow, ErrorInfo, ViewCalls, span_worked};

/// The name of a tick.
const TICK: &str = "tick";
/// How many paths are asked for at once.
const AT_ONCE: usize = 1_000;

/// What belongs to loops, and how many there are of what.
#[derive(Default)]
pub(super) struct Loops {
    pub(super) ticks: u64,
    /// Without those that ran again.
    pub(super) calls: u64,
    /// In start order.
    members: Vec<SpanIndex>,
    is_member: HashSet<SpanIndex>,
    is_call: HashSet<SpanIndex>,
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

impl Loops {
    /// Takes in the spans from one on. Only their paths tell ticks and Calls for certain.
    pub(super) fn take_in(&mut self, spans: &Spans, known: SpanIndex, source: &impl Source) -> Result<(), Fault> {
        // Most requests have no block of that name, and need not be looked through.
        let Some(tick) = spans.name_number(TICK) else { return Ok(()) };
        let is_candidate = |span: &Span| {
            let parent = span.parent().map(|parent| spans.get(parent));
            span.name == tick || parent.is_some_and(|parent| parent.name == tick)
        };
        let fresh = known..spans.len() as SpanIndex;
        let candidates: Vec<SpanIndex> = fresh.clone().filter(|index| is_candidate(spans.get(*index))).collect();
        if candidates.is_empty() && self.is_call.is_empty() {
            return Ok(());
        }
        let numbers: Vec<_> = candidates.iter().map(|index| spans.get(*index).path).collect();
        for (index, path) in candidates.into_iter().zip(source.path_texts(&numbers)?) {
            let (span, last) = (spans.get(index), last(&path));
            if span.name == tick && last.starts_with("tick[") {
                self.ticks += 1;
                span.parent().into_iter().chain([index]).for_each(|member| self.add(member));
            } else if last.starts_with("call:") || last.starts_with("work:") {
                self.calls += u64::from(span.attempt == 0);
                self.is_call.insert(index);
                self.add(index);
            }
        }
        for index in fresh {
            if spans.get(index).parent().is_some_and(|parent| self.is_call.contains(&parent)) {
                self.add(index);
            }
        }
        self.members.sort_unstable();
        Ok(())
    }

    fn add(&mut self, index: SpanIndex) {
        if self.is_member.insert(index) {
            self.members.push(index);
        }
    }
}

impl RequestView {
    /// The executions of loops that began, ended or ran on after an event (0: all), in start order.
    pub(crate) fn calls(&self, source: &impl Source, after: Seq) -> Result<ViewCalls, Fault> {
        let is_news = |index: &&SpanIndex| {
            let span = self.spans.get(**index);
            span.seq_start > after || span.end.is_none() || span.seq_end > after
        };
        let members: Vec<SpanIndex> = self.loops.members.iter().filter(is_news).copied().collect();
        let mut blocks = Vec::with_capacity(members.len());
        for members in members.chunks(AT_ONCE) {
            let around = |index: &SpanIndex| self.spans.get(*index).parent().unwrap_or(*index);
            let numbers: Vec<_> = members.iter().flat_map(|index| [*index, around(index)]).collect();
            let numbers: Vec<_> = numbers.into_iter().map(|index| self.spans.get(index).path).collect();
            let texts = source.path_texts(&numbers)?;
            for (index, paths) in members.iter().zip(texts.chunks(2)) {
                let [path, around] = paths else { continue };
                blocks.push(self.call_row(source, *index, path, around)?);
            }
        }
        Ok(ViewCalls { seq: self.seq(), blocks })
    }

    fn call_row(&self, source: &impl Source, index: SpanIndex, path: &str, around: &str) -> Result<BlockRow, Fault> {
        let span = self.spans.get(index);
        let status = self.spans.status(index, self.is_live);
        let error = if status.is_failure() { source.error_at(span.seq_end)? } else { None };
        let id = |path: &str, attempt: u32| format!("{}:{path}:{attempt}", self.request);
        Ok(BlockRow {
            path: path.to_owned(),
            instance_id: id(path, span.attempt),
            parent: span.parent().map(|parent| id(around, self.spans.get(parent).attempt)),
            name: self.spans.name(span).to_string(),
            kind: span.kind,
            attempt: span.attempt,
            status,
            started_at: span.started_at,
            duration_ms: span_worked(&self.spans, index),
            cut_ms: None,
            gaps: None,
            memoized: span.is_memoized,
            seq_start: span.seq_start,
            seq_end: Some(span.seq_end).filter(|_| span.end.is_some()),
            changes: self.spans.changes(index, self.is_live),
            items: span.items,
            error: error.as_ref().map(ErrorInfo::from),
        })
    }
}
