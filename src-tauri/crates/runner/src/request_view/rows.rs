//! Windows of rows.

mod whole;

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::Seq;
use engine::path::{ROOT, path_below};
use engine::views::blocks::BlockStatus;
use engine::views::fork_edits::EditedPart;
use engine::views::spans::{PathNumber, Span, SpanIndex};

use super::durations::Durations;
use super::histogram::part_of;
use super::tree::grouping::CELLS;
use super::tree::{Group, Node};
use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::{Gap, GroupOf, RowsQuery, ViewGroup, ViewRow, ViewRows, span as length};

/// The maximum number of rows of a window, more than a page can show.
const MOST: u32 = 2_000;

/// The state of a group's members, as of an event.
#[derive(Default)]
struct Tally {
    /// How many had begun.
    begun: u64,
    failed: u64,
    /// Whether one of them failed without being caught. A group whose failures were rescued did not fail.
    has_uncaught: bool,
    running: u64,
    suspended: u64,
    /// The status of the newest member.
    newest: Option<BlockStatus>,
    ended_at: Option<i64>,
}

/// The texts of the paths that a window shows.
struct Texts(HashMap<PathNumber, Arc<str>>);

impl Texts {
    fn get(&self, path: PathNumber) -> &str {
        self.0.get(&path).map_or("", |text| text)
    }
}

/// The label of a group, from the place of one member and the name of their block, without turn numbers:
/// `loop[2]/forEach:read[0]` is `forEach:read`. Branches have different keys, so their label has the name of the block.
fn group_label(member: &str, name: &str) -> String {
    if member.starts_with("parallel") {
        return format!("parallel: {name}");
    }
    let last = member.rsplit('/').find(|part| !part.is_empty()).unwrap_or(member);
    last.split(['[', '~']).next().unwrap_or(last).to_owned()
}

impl RequestView {
    /// A window of the rows.
    pub(crate) fn rows(&mut self, source: &impl Source, query: RowsQuery) -> Result<ViewRows, Fault> {
        let first = u32::try_from(query.offset).unwrap_or(u32::MAX);
        let last = first.saturating_add(query.limit.min(MOST)).min(self.tree.rows());
        let nodes: Vec<(Node, u32)> = (first..last).filter_map(|row| self.tree.at(row)).collect();
        let page = self.rows_of(source, nodes, query.at)?;
        Ok(ViewRows { seq: self.seq(), rows: self.row_count(), offset: query.offset, page })
    }

    /// The rows of nodes, each at its depth.
    pub(super) fn rows_of(
        &mut self,
        source: &impl Source,
        nodes: Vec<(Node, u32)>,
        at: Option<Seq>,
    ) -> Result<Vec<ViewRow>, Fault> {
        nodes.iter().for_each(|(node, _)| self.keep_sums(*node));
        self.read_edits(source)?;
        let texts = self.texts(source, &nodes)?;
        nodes.into_iter().map(|place| self.row(source, &texts, place, at)).collect()
    }

    fn texts(&self, source: &impl Source, nodes: &[(Node, u32)]) -> Result<Texts, Fault> {
        let mut numbers: Vec<PathNumber> = Vec::new();
        for (node, _) in nodes {
            let span = self.spans.get(self.tree.oldest(*node));
            numbers.push(span.path);
            numbers.extend(span.parent().map(|parent| self.spans.get(parent).path));
        }
        numbers.sort_unstable();
        numbers.dedup();
        let texts = source.path_texts(&numbers)?;
        Ok(Texts(numbers.into_iter().zip(texts).collect()))
    }

    fn row(
        &self,
        source: &impl Source,
        texts: &Texts,
        (node, depth): (Node, u32),
        at: Option<Seq>,
    ) -> Result<ViewRow, Fault> {
        let oldest = self.spans.get(self.tree.oldest(node));
        let path = texts.get(oldest.path);
        let around = oldest.parent().map_or("", |parent| texts.get(self.spans.get(parent).path));
        let label = path_below(path, around).unwrap_or(path);
        let (position, siblings) = self.tree.position(node);
        let is_folded = self.tree.is_folded(node);
        let mut row = ViewRow {
            node: node.into(),
            depth,
            label: label.to_owned(),
            is_folded,
            has_children: self.tree.count(node) > 0,
            hidden: if is_folded { self.tree.inside(node).into() } else { 0 },
            position: position.into(),
            siblings: siblings.into(),
            matches: self.tree.matches(node),
            is_critical: self.critical.as_ref().is_some_and(|critical| critical.get(node)),
            instance_id: None,
            path: None,
            name: None,
            words: None,
            kind: None,
            attempt: None,
            status: None,
            started_at: oldest.started_at,
            duration_ms: None,
            cut_ms: None,
            gaps: None,
            seq_start: oldest.seq_start,
            seq_end: None,
            memoized: false,
            edited: None,
            caught: false,
            changes: 0,
            items: 0,
            model_calls: 0,
            prompt_tokens: 0,
            completion_tokens: 0,
            sums: self.sums_of(node, at),
            error: None,
            group: None,
        };
        match self.tree.group(node) {
            Some(group) => {
                if group.of == GroupOf::Turns {
                    row.label = group_label(label, self.spans.name(oldest));
                }
                self.put_group(&mut row, (node, group), at);
            }
            None => self.put_span(&mut row, source, node, path, at)?,
        }
        Ok(row)
    }

    fn put_span(
        &self,
        row: &mut ViewRow,
        source: &impl Source,
        index: SpanIndex,
        path: &str,
        at: Option<Seq>,
    ) -> Result<(), Fault> {
        let span = self.spans.get(index);
        row.instance_id = Some(format!("{}:{path}:{}", self.request, span.attempt));
        row.path = Some(path.to_owned());
        row.name = Some(self.spans.name(span).to_string());
        (row.kind, row.attempt) = (Some(span.kind), Some(span.attempt));
        row.status = self.status(index, at);
        let runs = self.spans.earlier_runs(index);
        let (passed, later) = runs.split_at(runs.partition_point(|run| at.is_none_or(|at| run.resumed <= at)));
        let gaps: Vec<Gap> = passed.iter().map(|run| Gap { from: run.until, to: run.resumed_at }).collect();
        row.gaps = Some(gaps).filter(|gaps| !gaps.is_empty());
        let has_ended = span.end.is_some() && at.is_none_or(|at| span.seq_end <= at);
        if let Some(run) = later.first() {
            let took = Some(length(span.started_at, run.until));
            match run.end {
                Some(_) if at.is_some_and(|at| run.seq_end <= at) => {
                    (row.duration_ms, row.seq_end) = (took, Some(run.seq_end));
                }
                _ if row.status == Some(BlockStatus::Abandoned) => row.cut_ms = took,
                _ => {}
            }
        } else if has_ended {
            row.duration_ms = span.finished_at().map(|end| length(span.started_at, end));
            row.seq_end = Some(span.seq_end);
            (row.memoized, row.caught) = (span.is_memoized, span.is_caught);
        } else if row.status == Some(BlockStatus::Abandoned) {
            row.cut_ms = Some(length(span.started_at, self.spans.cut_at(index)));
        }
        row.edited = self.edited(span, path).filter(|part| has_ended || *part == EditedPart::Input);
        if has_ended || at.is_none() {
            let usage = self.spans.usage(index);
            (row.items, row.model_calls) = (span.items, usage.model_calls);
            row.changes = self.spans.changes(index, self.is_live);
            (row.prompt_tokens, row.completion_tokens) = (usage.prompt_tokens, usage.completion_tokens);
        }
        if row.status.is_some_and(BlockStatus::is_failure) {
            row.error = source.error_at(row.seq_end.unwrap_or(span.seq_end))?.map(|error| error.told());
        }
        Ok(())
    }

    /// Reads the edits of a fork, which were made before it started.
    fn read_edits(&mut self, source: &impl Source) -> Result<(), Fault> {
        let resumes = self.spans.resumes().len();
        if self.edits.0 != resumes {
            self.edits = (resumes, source.edits()?);
        }
        Ok(())
    }

    /// Which value of a span a fork edited.
    fn edited(&self, span: &Span, path: &str) -> Option<EditedPart> {
        self.edits.1.iter().rfind(|edit| edit.is_of(span, path == ROOT)).map(|edit| edit.part)
    }

    /// The status of a span as of an event, or now.
    pub(super) fn status(&self, index: SpanIndex, at: Option<Seq>) -> Option<BlockStatus> {
        match at {
            Some(at) => self.spans.status_at(index, at, self.is_live),
            None => Some(self.spans.status(index, self.is_live)),
        }
    }

    /// Whether a span had failed without being caught, as of an event, or now.
    fn is_uncaught(&self, index: SpanIndex, at: Option<Seq>) -> bool {
        self.status(index, at) == Some(BlockStatus::Failed) && !self.spans.get(index).is_caught
    }

    fn put_group(&self, row: &mut ViewRow, (node, group): (Node, &Group), at: Option<Seq>) {
        row.is_critical = self.tree.children(Some(node)).any(|child| self.is_critical(child));
        let tally = match at {
            Some(at) => self.tally(node, at),
            None => Tally {
                begun: self.tree.count(node).into(),
                failed: group.failed.into(),
                has_uncaught: group.failed > 0
                    && self.tree.children(Some(node)).any(|child| self.is_uncaught(self.tree.newest(child), None)),
                running: if self.is_live { group.open.into() } else { 0 },
                suspended: group.suspended.into(),
                newest: self.status(self.tree.newest(node), None),
                ended_at: Some(group.ended_at),
            },
        };
        row.status = match (tally.newest, group.of) {
            (None, _) => None,
            (newest, GroupOf::Attempts) => newest,
            // Between two members the group still runs.
            _ if tally.running > 0 || tally.begun < u64::from(self.tree.count(node)) => Some(BlockStatus::Running),
            // If all members failed, the group failed even if the failures were caught.
            _ if tally.has_uncaught || tally.failed == tally.begun => Some(BlockStatus::Failed),
            _ if tally.suspended > 0 => Some(BlockStatus::Suspended),
            _ => Some(BlockStatus::Completed),
        };
        if row.status != Some(BlockStatus::Running) && tally.newest.is_some() {
            row.duration_ms = tally.ended_at.map(|end| length(row.started_at, end));
        }
        // At a past instant, the parts end with the newest member that had begun.
        let end = at.map_or(group.ended_at, |_| tally.ended_at.unwrap_or(row.started_at)).max(row.started_at);
        let parts = match (&group.began, at) {
            (Some(began), None) => began.parts(row.started_at, end, CELLS),
            _ => {
                let mut parts = vec![(0, 0); CELLS];
                for child in self.tree.children(Some(node)) {
                    let first = self.spans.get(self.tree.oldest(child));
                    let part = &mut parts[part_of(first.started_at, row.started_at, end, CELLS)];
                    part.0 += u32::from(at.is_none_or(|at| first.seq_start <= at));
                    let newest = self.newest_begun(child, at);
                    part.1 += u32::from(
                        newest.is_some_and(|span| self.status(span, at).is_some_and(BlockStatus::is_failure)),
                    );
                }
                parts
            }
        };
        let (cells, failures) = parts.into_iter().unzip();
        let durations = match (&group.took, at, group.of) {
            (_, _, GroupOf::Attempts) => None,
            (Some(took), None, _) => took.view(),
            _ => {
                let mut took = Durations::default();
                for (slot, child) in (0..).zip(self.tree.children(Some(node))) {
                    took.set(slot, self.newest_begun(child, at).and_then(|span| self.took(span, at)));
                }
                took.view()
            }
        };
        row.group = Some(ViewGroup {
            of: group.of,
            count: tally.begun,
            failed: tally.failed,
            running: tally.running,
            suspended: tally.suspended,
            cells,
            failures,
            durations,
        });
    }

    /// The duration of a span that had ended as of an event, or now, in milliseconds, and whether it failed.
    fn took(&self, index: SpanIndex, at: Option<Seq>) -> Option<(i64, bool)> {
        let status = self.status(index, at).filter(|status| *status != BlockStatus::Suspended)?;
        let span = self.spans.get(index);
        let end = span.finished_at().filter(|_| at.is_none_or(|at| span.seq_end <= at))?;
        Some((length(span.started_at, end), status.is_failure()))
    }

    fn is_critical(&self, node: Node) -> bool {
        match (&self.critical, self.tree.group(node)) {
            (None, _) => false,
            (Some(critical), None) => critical.get(node),
            (Some(_), Some(_)) => self.tree.children(Some(node)).any(|child| self.is_critical(child)),
        }
    }

    /// The newest execution of a group's member that had begun as of an event, or now.
    fn newest_begun(&self, member: Node, at: Option<Seq>) -> Option<SpanIndex> {
        let had_begun = |span: &SpanIndex| at.is_none_or(|at| self.spans.get(*span).seq_start <= at);
        match self.tree.group(member) {
            None => Some(member).filter(had_begun),
            Some(_) => self.tree.children(Some(member)).rev().find(had_begun),
        }
    }

    /// The state of a group's members, by the newest execution of each that had begun.
    fn tally(&self, node: Node, at: Seq) -> Tally {
        let mut tally = Tally::default();
        for child in self.tree.children(Some(node)) {
            let Some(newest) = self.newest_begun(child, Some(at)) else { continue };
            tally.begun += 1;
            let status = self.status(newest, Some(at));
            match status {
                Some(failure) if failure.is_failure() => tally.failed += 1,
                Some(BlockStatus::Running) => tally.running += 1,
                Some(BlockStatus::Suspended) => tally.suspended += 1,
                _ => {}
            }
            tally.has_uncaught |= self.is_uncaught(newest, Some(at));
            tally.newest = status;
            let span = self.spans.get(newest);
            let end = span.finished_at().filter(|_| span.seq_end <= at).unwrap_or(span.started_at);
            tally.ended_at = Some(tally.ended_at.map_or(end, |known| known.max(end)));
        }
        tally
    }
}
