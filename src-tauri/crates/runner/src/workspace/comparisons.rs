//! Comparisons that somebody looks at: two requests, or one and its replay by the code of today.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use engine::event::{Event, EventKind, RequestStatus, Seq};
use engine::views::Events;
use engine::views::spans::{PathNumber, Spans};

use super::{Workspace, lock};
use crate::comparison::side::{PathNumbers, digests_of, spans_of};
use crate::comparison::{Comparison, Side};
use crate::core::fault::Fault;
use crate::views::{
    ComparedQuery, ComparedRow, ComparisonHead, DifferenceQuery, EndOfRequest, Json, ReplayedBlock, RequestRow,
    RequestsCompared,
};

/// So many are kept; whoever asks of an older one opens it again.
const KEPT: usize = 4;

/// Numbers are never given twice in a process: those of a folder that was left mean nothing in another.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The open comparisons, oldest first.
#[derive(Default)]
pub(super) struct Comparisons(Mutex<Vec<(u64, Arc<Opened>)>>);

struct Opened {
    comparison: Comparison,
    /// What the replay did, where the right side is one, with the texts of its paths.
    replayed: Option<(Vec<Event>, PathTexts)>,
}

/// The texts of paths, by their numbers.
type PathTexts = HashMap<PathNumber, Arc<str>>;

impl Workspace {
    /// What a request is a fork or a retry of, and its own forks and retries, newest first: what it is compared with.
    pub fn related(&self, request: &str) -> Result<Vec<RequestRow>, Fault> {
        self.request(request)?;
        let rows = self.store.related_requests(request).map_err(Fault::internal)?;
        Ok(rows.into_iter().map(|row| self.request_row(row)).collect())
    }

    /// Lays two requests beside each other.
    pub fn open_comparison(&self, left: &str, right: &str) -> Result<ComparisonHead, Fault> {
        let (opened, rows) = self.laid(left, right)?;
        self.keep_open(opened, rows)
    }

    /// As [`open_comparison`](Self::open_comparison), with some of its rows: nothing is kept open, so no comparison
    /// that a person looks at is closed for it. Its number means nothing.
    pub fn compare_once(
        &self,
        left: &str,
        right: &str,
        query: ComparedQuery,
    ) -> Result<(ComparisonHead, Vec<ComparedRow>), Fault> {
        let (opened, rows) = self.laid(left, right)?;
        Ok((self.head(0, &opened, rows)?, self.rows_of(&opened, query)?))
    }

    fn laid(&self, left: &str, right: &str) -> Result<(Opened, (RequestRow, RequestRow)), Fault> {
        let (left, right) = (self.request(left)?, self.request(right)?);
        let comparison = Comparison::new(self.side(&left)?, self.side(&right)?, None);
        Ok((Opened { comparison, replayed: None }, (left, right)))
    }

    /// In what two requests differ besides their state; nothing is kept open.
    pub fn compare_ends(&self, left: &str, right: &str) -> Result<RequestsCompared, Fault> {
        let (left, right) = (self.end_of(left)?, self.end_of(right)?);
        let comparison = Comparison::new(self.side(&left.request)?, self.side(&right.request)?, None);
        let (blocks, differing) = comparison.counts();
        Ok(RequestsCompared { left, right, blocks, differing })
    }

    fn end_of(&self, request: &str) -> Result<EndOfRequest, Fault> {
        let request = self.request(request)?;
        let (input, output) = self.asked_and_answered(&request.id)?;
        Ok(EndOfRequest { request, input, output })
    }

    /// Lays what a request did beside what the code of today does with what was recorded.
    pub fn open_replay(&self, request: &str) -> Result<ComparisonHead, Fault> {
        let (row, recorded) = self.whole_log_of(request)?;
        let (replay, events) = self.replayed(request)?;
        let mut numbers = PathNumbers::default();
        let mut number = |path: &str| numbers.number(path, |path| self.store.path_number(path).ok().flatten());
        let sides = [&recorded, &events].map(|events| (spans_of(events, &mut number), digests_of(events)));
        let diverged = replay.divergence.as_ref().map(|divergence| number(&divergence.path));
        let [left, mut right] = sides.map(|(spans, digests)| Side::new(request, row.status, spans, digests));
        let left = of_fork(left, &row);
        right = right.replays(&left);
        if let Some(path) = diverged {
            right = right.diverged(path);
        }
        let comparison = Comparison::new(left, right, Some(replay));
        let opened = Opened { comparison, replayed: Some((events, numbers.texts())) };
        self.keep_open(opened, (row.clone(), row))
    }

    fn side(&self, row: &RequestRow) -> Result<Side, Fault> {
        let mut spans = Spans::default();
        self.store.extend_spans(&row.id, &mut spans).map_err(Fault::internal)?;
        spans.set_waiting(row.status == RequestStatus::Suspended);
        let digests = self.store.digests(&row.id).map_err(Fault::internal)?;
        Ok(of_fork(Side::new(&row.id, row.status, spans, digests), row))
    }

    fn keep_open(&self, opened: Opened, rows: (RequestRow, RequestRow)) -> Result<ComparisonHead, Fault> {
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        let head = self.head(number, &opened, rows)?;
        let mut open = lock(&self.comparisons.0);
        if open.len() == KEPT {
            open.remove(0);
        }
        open.push((number, Arc::new(opened)));
        Ok(head)
    }

    fn head(
        &self,
        number: u64,
        opened: &Opened,
        (left, right): (RequestRow, RequestRow),
    ) -> Result<ComparisonHead, Fault> {
        let comparison = &opened.comparison;
        let (left, right) = comparison.sides(left, right);
        let (pairs, differing) = comparison.counts();
        let first = match comparison.first() {
            Some(row) => self.rows_of(opened, ComparedQuery { offset: row, limit: 1, all: false })?.pop(),
            None => None,
        };
        let uncompared = comparison.uncompared();
        let (rows, replay) = (comparison.row_count(false), comparison.replay.clone());
        Ok(ComparisonHead { comparison: number, left, right, pairs, differing, uncompared, rows, first, replay })
    }

    /// A window of its rows.
    pub fn comparison_rows(&self, comparison: u64, query: ComparedQuery) -> Result<Vec<ComparedRow>, Fault> {
        let opened = self.comparison(comparison)?;
        self.rows_of(&opened, query)
    }

    /// The next row whose blocks differ themselves.
    pub fn next_difference(&self, comparison: u64, query: DifferenceQuery) -> Result<Option<u64>, Fault> {
        Ok(self.comparison(comparison)?.comparison.next(query.from, query.backwards, query.all))
    }

    /// What a block of a replay got and made.
    pub fn replayed_block(&self, comparison: u64, seq: u64) -> Result<ReplayedBlock, Fault> {
        let opened = self.comparison(comparison)?;
        let Some((events, _)) = &opened.replayed else {
            return Err(Fault::invalid(format!("comparison {comparison} is of two requests, and no replay")));
        };
        let view = Events::new(events);
        let missing = || Fault::not_found(format!("no block of the replay begins with event {seq}"));
        let began = events.iter().find(|event| event.seq == seq).ok_or_else(missing)?;
        let EventKind::BlockStarted { input, .. } = &began.kind else { return Err(missing()) };
        let mut block = ReplayedBlock { input: view.value(input).cloned().map(Json), ..ReplayedBlock::default() };
        let is_same = |event: &&Event| (&event.path, event.attempt) == (&began.path, began.attempt);
        for event in events.iter().filter(|event| event.seq > seq).filter(is_same) {
            let EventKind::BlockFinished { output, error, .. } = &event.kind else { continue };
            block.output = output.as_ref().and_then(|output| view.value(output)).cloned().map(Json);
            block.error = error.as_ref().map(|error| error.message.clone());
        }
        Ok(block)
    }

    /// Ends a comparison.
    pub fn close_comparison(&self, comparison: u64) {
        lock(&self.comparisons.0).retain(|(known, _)| *known != comparison);
    }

    fn comparison(&self, comparison: u64) -> Result<Arc<Opened>, Fault> {
        let open = lock(&self.comparisons.0);
        let found = open.iter().find(|(known, _)| *known == comparison).map(|(_, opened)| opened.clone());
        found.ok_or_else(|| {
            Fault::not_found(format!("comparison {comparison} is not open; two requests are compared again to be seen"))
        })
    }

    fn rows_of(&self, opened: &Opened, query: ComparedQuery) -> Result<Vec<ComparedRow>, Fault> {
        let texts = |numbers: &[PathNumber]| match &opened.replayed {
            Some((_, texts)) => {
                Ok(numbers.iter().map(|number| texts.get(number).cloned().unwrap_or_default()).collect())
            }
            None => self.store.path_texts(numbers).map_err(Fault::internal),
        };
        let mut rows = opened.comparison.rows((query.offset, query.limit), query.all, texts)?;
        self.add_words(opened, &mut rows)?;
        Ok(rows)
    }

    /// Adds the words that tell turns and entries of lists from each other: those of the left block, or of the right
    /// one where there is no left one. A replay is in no log, so a block that only it has gets none.
    fn add_words(&self, opened: &Opened, rows: &mut [ComparedRow]) -> Result<(), Fault> {
        let (left, right) = opened.comparison.requests();
        let right = Some(right).filter(|_| opened.replayed.is_none());
        for (request, is_left) in [(Some(left), true), (right, false)] {
            let Some(request) = request else { continue };
            let shown = |row: &ComparedRow| match (&row.left, &row.right) {
                (Some(block), _) if is_left => Some(block.seq_start),
                (None, Some(block)) if !is_left => Some(block.seq_start),
                _ => None,
            };
            let (turns, starts): (Vec<&mut ComparedRow>, Vec<Seq>) = rows
                .iter_mut()
                .filter(|row| is_turn(&row.path))
                .filter_map(|row| shown(row).map(|start| (row, start)))
                .unzip();
            let words = self.store.block_words(request, &starts).map_err(Fault::internal)?;
            for (row, words) in turns.into_iter().zip(words) {
                row.words = words;
            }
        }
        forget_same_words(rows);
        Ok(())
    }
}

/// Words that all turns of a loop have do not tell them apart.
fn forget_same_words(rows: &mut [ComparedRow]) {
    let mut loops: HashMap<String, Vec<&mut ComparedRow>> = HashMap::new();
    for row in rows.iter_mut().filter(|row| is_turn(&row.path)) {
        loops.entry(loop_of(&row.path)).or_default().push(row);
    }
    for mut turns in loops.into_values().filter(|turns| turns.len() > 1) {
        if turns.iter().all(|turn| turn.words == turns[0].words) {
            turns.iter_mut().for_each(|turn| turn.words = None);
        }
    }
}

/// A side, with where it leaves its origin if it is a fork.
fn of_fork(side: Side, row: &RequestRow) -> Side {
    match &row.forked_from {
        Some(from) => side.forked(from.seq, row.started_at),
        None => side,
    }
}

/// The path of a turn without what tells it from the other turns of its loop.
fn loop_of(path: &str) -> String {
    let mut segments: Vec<&str> = path.split('/').collect();
    let own = segments.pop().unwrap_or_default();
    while segments.pop_if(|around| !around.contains(':') && around.starts_with("loop")).is_some() {}
    segments.push(own.split('[').next().unwrap_or(own));
    segments.join("/")
}

/// Whether a path ends with an index: `forEach:read[0]`, `tool:cite[0.1]`, or `loop[1]/step:ask`.
fn is_turn(path: &str) -> bool {
    let mut segments = path.rsplit('/');
    // What is before the segment of a block and has no name of its own belongs to that block.
    segments.next().is_some_and(|own| own.contains('['))
        || segments.take_while(|around| !around.contains(':')).any(|around| around.starts_with("loop"))
}

#[cfg(test)]
mod tests {
    use super::is_turn;

    #[test]
    fn turns_are_known_by_their_paths() {
        for path in
            ["root/forEach:read~2[3]", "root/step:a/tool:cite[0.1]", "root/loop[1]/step:ask", "root/doUntil:a[0]"]
        {
            assert!(is_turn(path), "{path}");
        }
        for path in ["root/loop[1]/step:ask/tap:note", "root/forEach:read[0]/step:look", "root/parallel/web", "root"] {
            assert!(!is_turn(path), "{path}");
        }
    }
}
