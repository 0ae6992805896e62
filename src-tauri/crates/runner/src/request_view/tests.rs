//! The view, advanced by chance, against a plain recomputation from all events.

mod item_list;
mod made_up;
mod plain;
mod times;

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use engine::error::FlowError;
use engine::event::{Event, EventKind, Seq};
use engine::views::blocks::BlockStatus;
use engine::views::fork_edits::SpanEdit;
use engine::views::spans::{PathNumber, SpanEvent, Spans, fact};
use fastrand::Rng;

use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::{BlockQuery, FindQuery, GroupOf, RowsQuery, StepTo, ViewRow, span, worked};
use made_up::MadeUp;
use plain::{Key, Node, Plain, PlainRow, group_of, statuses};

/// Numbers of paths, and what events say.
#[derive(Default)]
struct TestSource {
    texts: RefCell<Vec<Arc<str>>>,
    numbers: RefCell<HashMap<Arc<str>, PathNumber>>,
    errors: RefCell<HashMap<Seq, FlowError>>,
}

impl TestSource {
    fn number(&self, path: &str) -> PathNumber {
        let mut texts = self.texts.borrow_mut();
        *self.numbers.borrow_mut().entry(path.into()).or_insert_with(|| {
            texts.push(path.into());
            texts.len() as PathNumber - 1
        })
    }

    /// Takes in events after those that are known.
    fn extend(&self, events: &[Event], spans: &mut Spans) {
        let known = spans.last();
        for event in events.iter().filter(|event| event.seq > known) {
            if let EventKind::BlockFinished { error: Some(error), .. } = &event.kind {
                self.errors.borrow_mut().insert(event.seq, error.clone());
            }
            let path = event.path.as_ref().map(|path| self.number(path));
            if let Some(fact) = fact(&event.kind, |name| spans.names_mut().number(name), |path| Some(self.number(path)))
            {
                spans.push(SpanEvent { seq: event.seq, at: event.at, path, attempt: event.attempt, fact });
            }
            spans.set_last(event.seq);
        }
    }
}

impl Source for TestSource {
    fn path_texts(&self, numbers: &[PathNumber]) -> Result<Vec<Arc<str>>, Fault> {
        Ok(numbers.iter().map(|number| self.texts.borrow()[*number as usize].clone()).collect())
    }

    fn path_number(&self, path: &str) -> Result<Option<PathNumber>, Fault> {
        Ok(self.numbers.borrow().get(path).copied())
    }

    /// Blocks whose first event has an even number have words.
    fn words(&self, starts: &[Seq]) -> Result<Vec<Option<String>>, Fault> {
        Ok(starts.iter().map(|seq| (seq % 2 == 0).then(|| format!("words {seq}"))).collect())
    }

    fn error_at(&self, seq: Seq) -> Result<Option<FlowError>, Fault> {
        Ok(self.errors.borrow().get(&seq).cloned())
    }

    /// A call costs as much as its event's number.
    fn costs(&self, calls: &[Seq]) -> Result<Vec<Option<f64>>, Fault> {
        Ok(calls.iter().map(|seq| Some(*seq as f64)).collect())
    }

    fn edits(&self) -> Result<Vec<SpanEdit>, Fault> {
        Ok(Vec::new())
    }

    fn writes_to(&self, _: &str) -> Result<Vec<(Seq, String)>, Fault> {
        Ok(Vec::new())
    }

    fn events_with(&self, _: &str) -> Result<Vec<(Seq, String)>, Fault> {
        Ok(Vec::new())
    }
}

/// Filters, and what they mean.
type Fits = fn(&Plain<'_>, usize) -> bool;
const FILTERS: [(&str, Fits); 8] = [
    ("status:failed", |plain, at| plain.blocks[at].status.is_failure()),
    ("status:returned_error", |plain, at| plain.blocks[at].status == BlockStatus::ReturnedError),
    ("kind:generator -name:rank", |plain, at| {
        plain.blocks[at].kind.as_str() == "generator" && &*plain.blocks[at].name != "Rank"
    }),
    ("dur>=20ms", |plain, at| {
        let block = &plain.blocks[at];
        let took = block.finished_at.map(|end| worked(block.started_at, end, block.gaps.iter().copied()));
        took.is_some_and(|took| took >= 20)
    }),
    ("\"foreach:ra\"", |plain, at| plain.blocks[at].path.to_lowercase().contains("foreach:ra")),
    ("path:root/*/* items>0", |plain, at| {
        plain.blocks[at].path.matches('/').count() == 2 && plain.blocks[at].items > 0
    }),
    ("attempt>0 -status:running", |plain, at| {
        plain.blocks[at].attempt > 0 && plain.blocks[at].status != BlockStatus::Running
    }),
    ("writes=1", |plain, at| plain.blocks[at].changes == 1),
];

fn all_rows(view: &mut RequestView, source: &TestSource, at: Option<Seq>) -> Vec<ViewRow> {
    view.rows(source, RowsQuery { offset: 0, limit: u32::MAX, at }).expect("rows").page
}

/// What a test keeps beside the view.
struct ViewUnderTest {
    source: TestSource,
    view: RequestView,
    folded: HashMap<Key, bool>,
    filter: Option<usize>,
    nodes: HashMap<u64, Key>,
}

impl ViewUnderTest {
    fn new() -> ViewUnderTest {
        let (source, view) = (TestSource::default(), RequestView::new("r"));
        ViewUnderTest { source, view, folded: HashMap::new(), filter: None, nodes: HashMap::new() }
    }

    fn advance(&mut self, made: &MadeUp) {
        let before = all_rows(&mut self.view, &self.source, None);
        let source = &self.source;
        let extend = |spans: &mut Spans| {
            source.extend(&made.events, spans);
            Ok(made.is_live)
        };
        self.view.advance(source, extend).expect("it advances");
        let changed = self.view.take_changed() as usize;
        let after = all_rows(&mut self.view, source, None);
        assert!(changed <= after.len());
        let plain = |row: &ViewRow| ViewRow { siblings: 0, ..row.clone() };
        let kept = changed.min(after.len());
        assert!(before.len() >= kept, "{} rows were there, and {kept} are told to be the same", before.len());
        for (row, (before, after)) in before.iter().zip(&after).take(kept).enumerate() {
            assert_eq!(plain(before), plain(after), "row {row} differs, and {changed} is told to be the first");
        }
    }

    fn check(&mut self, made: &MadeUp, at: Option<Seq>) {
        let plain = Plain::new(&made.events, made.is_live);
        let fitting: Option<Vec<bool>> =
            self.filter.map(|filter| (0..plain.blocks.len()).map(|block| FILTERS[filter].1(&plain, block)).collect());
        let fits = fitting.as_ref().map(|fitting| |block: usize| fitting[block]);
        let expected = plain.rows(&self.folded, fits.as_ref().map(|fits| fits as &dyn Fn(usize) -> bool));
        let rows = all_rows(&mut self.view, &self.source, at);
        assert_eq!(rows.len(), expected.len());
        assert_eq!(self.view.row_count(), expected.len() as u64);
        let known = statuses(&made.events, at.unwrap_or(Seq::MAX), made.is_live);
        let all = plain.nodes();
        for (index, (row, expected)) in rows.iter().zip(&expected).enumerate() {
            let told = format!("row {index} of {}, {row:?}\nmust be {expected:?}", rows.len());
            let found = (row.depth, row.is_folded, row.hidden, row.position, row.siblings);
            let PlainRow { depth, is_folded, hidden, position, siblings, key } = expected;
            assert_eq!(found, (*depth, *is_folded, *hidden, *position, *siblings), "{told}");
            assert_eq!(self.nodes.entry(row.node).or_insert_with(|| key.clone()), key, "{told}");
            let node = all.iter().find(|node| node.key == *key).expect("it is there");
            match key {
                Key::Block(block) => check_block(&plain, &known, row, *block, at, &told),
                _ => check_group(&plain, &known, row, node, at.unwrap_or(Seq::MAX), &told),
            }
            let is_match = fitting.as_ref().is_none_or(|fitting| matches!(key, Key::Block(at) if fitting[*at]));
            assert_eq!(row.matches, is_match, "{told}");
            if row.group.is_some() {
                assert_eq!(row.sums, self.view.sums_of_members(row.node as u32, at), "{told}");
            }
        }
    }
}

fn check_block(plain: &Plain<'_>, known: &[BlockStatus], row: &ViewRow, at: usize, as_of: Option<Seq>, told: &str) {
    let block = &plain.blocks[at];
    assert_eq!(row.instance_id, Some(format!("r:{}:{}", block.path, block.attempt)), "{told}");
    assert_eq!((row.name.as_deref(), row.kind), (Some(&*block.name), Some(block.kind)), "{told}");
    assert_eq!(row.status, known.get(at).copied(), "as of {as_of:?}: {told}");
    assert_eq!((row.started_at, row.seq_start), (block.started_at, block.seq_start), "{told}");
    let has_ended = block.seq_end.is_some_and(|end| as_of.is_none_or(|at| end <= at));
    let end = plain.end_of(at, as_of);
    assert_eq!(row.duration_ms, end.map(|end| span(block.started_at, end.at)), "{told}");
    let was_cut = end.is_none() && row.status == Some(BlockStatus::Abandoned);
    assert_eq!(row.cut_ms, was_cut.then(|| span(block.started_at, plain.cut_at(at, as_of))), "{told}");
    assert_eq!(row.seq_end, end.map(|end| end.seq), "{told}");
    if as_of.is_none() || has_ended {
        assert_eq!((row.changes, row.items), (block.changes, block.items), "{told}");
    }
    assert_eq!(row.memoized, block.memoized && has_ended, "{told}");
    let error = end.filter(|_| row.status.is_some_and(BlockStatus::is_failure)).and_then(|end| match &end.kind {
        EventKind::BlockFinished { error, .. } => error.as_ref(),
        _ => None,
    });
    assert_eq!(row.error, error.map(|error| error.message.clone()), "{told}");
    let around = plain.parents[at].map_or("", |parent| &plain.blocks[parent].path);
    let label = block.path.strip_prefix(around).map(|rest| rest.trim_start_matches('/'));
    assert_eq!(Some(row.label.as_str()), label, "{told}");
}

fn check_group(plain: &Plain<'_>, known: &[BlockStatus], row: &ViewRow, node: &Node, at: Seq, told: &str) {
    let group = row.group.as_ref().expect("a group");
    assert_eq!(Some(group.of), group_of(&node.key), "{told}");
    let members = plain.members(node, at);
    assert_eq!(group.count, members.len() as u64, "{told}");
    let count = |status| members.iter().filter(|member| known[**member] == status).count() as u64;
    assert_eq!(group.failed, members.iter().filter(|member| known[**member].is_failure()).count() as u64, "{told}");
    assert_eq!(group.running, count(BlockStatus::Running), "{told}");
    assert_eq!(group.suspended, count(BlockStatus::Suspended), "{told}");
    let first = plain.blocks[Plain::ends(node).0].started_at;
    assert_eq!(row.started_at, first, "{told}");
    let begun = node.inside.iter().filter(|one| plain.blocks[Plain::ends(one).0].seq_start <= at).count();
    assert_eq!(group.cells.iter().sum::<u32>() as usize, begun, "{told}");
    assert_eq!(u64::from(group.failures.iter().sum::<u32>()), group.failed, "{told}");
    for (cell, failures) in group.cells.iter().zip(&group.failures) {
        assert!(failures <= cell, "{told}");
    }
    assert_eq!(row.status.is_none(), members.is_empty(), "{told}");
    let took = |member: &&usize| {
        let end = plain.blocks[**member].seq_end.filter(|end| *end <= at);
        end.is_some() && known[**member] != BlockStatus::Suspended
    };
    let ended = members.iter().filter(took).count();
    let durations = group.durations.as_ref();
    assert_eq!(durations.is_some(), group.of == GroupOf::Turns && ended > 0, "{told}");
    if let Some(durations) = durations {
        assert_eq!(durations.cells.iter().sum::<u32>() as usize, ended, "{told}");
        // One that failed and went on since is counted as failed, but how long that took is not kept.
        let failures = u64::from(durations.failures.iter().sum::<u32>());
        assert!(failures == group.failed || (at < Seq::MAX && failures < group.failed), "{told}");
    }
}

fn go(seed: u64) {
    let mut rng = Rng::with_seed(seed ^ 0x5eed);
    let (mut made, mut tested) = (MadeUp::new(seed), ViewUnderTest::new());
    for _ in 0..rng.usize(4..14) {
        for _ in 0..[1, 3, 20, 120][rng.usize(0..4)] {
            made.go_on();
        }
        tested.advance(&made);
        tested.check(&made, None);
        let last = made.events.len() as Seq;
        tested.check(&made, Some(rng.u64(0..=last)));
        change(&mut tested, &made, &mut rng);
        tested.check(&made, None);
        // Sometimes what is filtered stays so while the request goes on.
        if tested.filter.is_none() || rng.bool() {
            walk(&mut tested, &made, &mut rng);
        }
    }
}

/// Folds something, or filters.
fn change(tested: &mut ViewUnderTest, made: &MadeUp, rng: &mut Rng) {
    let rows = all_rows(&mut tested.view, &tested.source, None);
    match rng.u32(0..6) {
        0..3 if !rows.is_empty() => {
            let row = &rows[rng.usize(0..rows.len())];
            let folded = rng.bool();
            tested.view.fold(Some(row.node), folded).expect("it is there");
            tested.folded.insert(tested.nodes[&row.node].clone(), folded);
        }
        3 => {
            let folded = rng.bool();
            tested.view.fold(None, folded).expect("all");
            let plain = Plain::new(&made.events, made.is_live);
            tested.folded.clear();
            for node in plain.nodes() {
                let is_root = match &node.key {
                    Key::Block(at) => plain.parents[*at].is_none(),
                    Key::Attempts(at) => plain.parents[*at].is_none(),
                    Key::Turns(container, ..) => container.is_none(),
                };
                // What gets its first child later is not folded then.
                if !node.inside.is_empty() {
                    tested.folded.insert(node.key.clone(), folded && !is_root);
                }
            }
        }
        _ => {
            tested.filter = rng.bool().then(|| rng.usize(0..FILTERS.len()));
            let text = tested.filter.map_or("", |filter| FILTERS[filter].0);
            let told = tested.view.filter(&tested.source, text).expect("it is right");
            assert_eq!(told.rows, tested.view.row_count());
        }
    }
}

/// Finds blocks, and steps from end to end.
fn walk(tested: &mut ViewUnderTest, made: &MadeUp, rng: &mut Rng) {
    let plain = Plain::new(&made.events, made.is_live);
    let seq = rng.u64(0..=made.events.len() as Seq);
    let ends = || plain.blocks.iter().filter_map(|block| block.seq_end);
    assert_eq!(tested.view.step(seq, StepTo::NextEnd), ends().filter(|end| *end > seq).min());
    assert_eq!(tested.view.step(seq, StepTo::PreviousEnd), ends().filter(|end| *end < seq).max());
    let failed = plain.blocks.iter().filter(|block| block.status.is_failure()).filter_map(|block| block.seq_end);
    assert_eq!(tested.view.step(seq, StepTo::NextFailure), failed.filter(|end| *end > seq).min());
    tested.view.filter(&tested.source, "").expect("none");
    tested.filter = None;
    tested.check(made, None);
    let (text, fits) = FILTERS[rng.usize(0..FILTERS.len())];
    let backwards = rng.bool();
    let rows = all_rows(&mut tested.view, &tested.source, None);
    let from = (!rows.is_empty() && rng.bool()).then(|| rng.u64(0..rows.len() as u64));
    let order: Vec<&Node> = plain.nodes();
    let place = from.map(|row| {
        let key = &tested.nodes[&rows[row as usize].node];
        order.iter().position(|node| node.key == *key).expect("it is there")
    });
    let is_wanted = |node: &&&Node| matches!(node.key, Key::Block(at) if fits(&plain, at));
    let expected = match (backwards, place) {
        (false, place) => order[place.map_or(0, |place| place + 1)..].iter().find(is_wanted),
        (true, place) => order[..place.unwrap_or(order.len())].iter().rfind(is_wanted),
    };
    let query = FindQuery { text: text.to_owned(), from, backwards };
    let found = tested.view.find(&tested.source, &query).expect("it is right");
    let block = expected.map(|node| &plain.blocks[Plain::ends(node).0]);
    let instance = block.map(|block| format!("r:{}:{}", block.path, block.attempt));
    assert_eq!(found.as_ref().map(|found| found.instance_id.clone()), instance, "{query:?}");
    if let (Some(found), Some(instance)) = (found, instance) {
        let rows = all_rows(&mut tested.view, &tested.source, None);
        assert_eq!(rows[found.row as usize].instance_id, Some(instance.clone()), "its row is shown");
        let asked = BlockQuery { instance_id: Some(instance), path: None };
        assert_eq!(tested.view.row_of(&tested.source, &asked).expect("it is one"), Some(found));
        // What was unfolded for it.
        for node in &order {
            let is_around = node.inside.iter().any(|one| rows_hold(one, expected.map(|node| &node.key)));
            let by_itself = !matches!(node.key, Key::Block(_)) && node.inside.len() > 8;
            if is_around && tested.folded.get(&node.key).copied().unwrap_or(by_itself) {
                tested.folded.insert(node.key.clone(), false);
            }
        }
    }
    tested.check(made, None);
}

fn rows_hold(node: &Node, key: Option<&Key>) -> bool {
    Some(&node.key) == key || node.inside.iter().any(|inner| rows_hold(inner, key))
}

#[test]
fn rows_with_an_index_have_words() {
    let (mut made, mut tested) = (MadeUp::new(4), ViewUnderTest::new());
    (0..400).for_each(|_| made.go_on());
    tested.advance(&made);
    tested.view.fold(None, false).expect("all");
    let mut rows = all_rows(&mut tested.view, &tested.source, None);
    tested.view.add_words(&tested.source, &mut rows).expect("they are read");
    let has_index = |row: &&ViewRow| {
        row.label.contains('[') && row.group.as_ref().is_none_or(|group| group.of == GroupOf::Attempts)
    };
    assert!(rows.iter().any(|row| has_index(&row) && row.words.is_some()));
    for row in &rows {
        let words = (has_index(&row) && row.seq_start % 2 == 0).then(|| format!("words {}", row.seq_start));
        assert_eq!(row.words, words, "{row:?}");
    }
}

#[test]
fn every_row_is_what_the_events_say() {
    let seed = std::env::var("VIEW_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in seed.map_or(0..50, |seed: u64| seed..seed + 1) {
        let result = std::panic::catch_unwind(|| go(seed));
        assert!(result.is_ok(), "VIEW_SEED={seed} tells which");
    }
}
