//! Comparisons of made-up requests.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use engine::event::BlockKind;
use engine::event::RequestStatus;
use engine::views::spans::{Fact, SpanEnd, SpanEvent, Spans};
use store::Digests;

use super::*;

/// A request of one root and these blocks inside of it: path, how it ended, what it made.
fn side(blocks: &[(u32, SpanEnd, u64)]) -> Side {
    ended(blocks, SpanEnd::Completed)
}

/// The same, and how the root ended.
fn ended(blocks: &[(u32, SpanEnd, u64)], end: SpanEnd) -> Side {
    let (mut spans, mut digests, mut seq) = (Spans::default(), Digests::default(), 0);
    let mut tell = |spans: &mut Spans, path: u32, fact| {
        seq += 1;
        spans.push(SpanEvent { seq, at: seq as i64, path: Some(path), attempt: 0, fact });
        seq
    };
    let begin = |parent| Fact::Started { name: 0, kind: BlockKind::Handler, parent, replaces_failed: false };
    let finish = |end| Fact::Finished { end, is_memoized: false, is_caught: false };
    spans.names_mut().number("block");
    let root = tell(&mut spans, 0, begin(None));
    digests.inputs.insert(root, 1);
    for (path, end, made) in blocks {
        let began = tell(&mut spans, *path, begin(Some((0, 0))));
        digests.inputs.insert(began, 7);
        let ended = tell(&mut spans, *path, finish(*end));
        digests.outputs.insert(ended, *made);
    }
    tell(&mut spans, 0, finish(end));
    Side::new("r", RequestStatus::Completed, spans, digests)
}

fn said(comparison: &Comparison, all: bool) -> Vec<String> {
    let texts = |numbers: &[u32]| Ok(numbers.iter().map(|number| number.to_string().into()).collect());
    let rows = comparison.rows((0, 100), all, texts).unwrap();
    rows.iter()
        .map(|row| match row.equal {
            0 => format!("{} {:?}", row.path, row.differs),
            count if row.uncompared => format!("{count} uncompared"),
            count => format!("{count} equal"),
        })
        .collect()
}

const DONE: SpanEnd = SpanEnd::Completed;

#[test]
fn only_what_differs_is_shown_with_what_is_around_it() {
    let left = [(1, DONE, 1), (2, DONE, 2), (3, DONE, 3), (4, DONE, 4), (5, DONE, 5)];
    let right = [(1, DONE, 1), (2, DONE, 2), (3, DONE, 9), (9, DONE, 9), (4, SpanEnd::Failed, 0)];
    let comparison = Comparison::new(side(&left), side(&right), None);
    let expected = ["0 []", "2 equal", "3 [Output]", "9 [OnlyRight]", "4 [Status]", "5 [OnlyLeft]"];
    assert_eq!(said(&comparison, false), expected);
    assert_eq!(said(&comparison, true).len(), 7);
    assert_eq!(comparison.counts(), (7, 4));
    assert_eq!(comparison.first(), Some(2));
    assert_eq!(comparison.next(None, false, false), Some(2));
    assert_eq!(comparison.next(Some(2), false, false), Some(3));
    assert_eq!(comparison.next(Some(2), true, false), None);
    assert_eq!(comparison.next(None, true, true), Some(6));
    let same = Comparison::new(side(&left), side(&left), None);
    assert_eq!((same.row_count(false), same.counts(), same.first()), (0, (6, 0), None));
}

#[test]
fn a_single_equal_block_is_counted_and_not_listed() {
    let left = [(1, DONE, 1), (2, DONE, 2), (3, DONE, 3)];
    let right = [(1, DONE, 1), (2, DONE, 9), (3, DONE, 3)];
    let comparison = Comparison::new(side(&left), side(&right), None);
    assert_eq!(said(&comparison, false), ["0 []", "1 equal", "2 [Output]", "1 equal"]);
    assert_eq!(said(&comparison, true), ["0 []", "1 []", "2 [Output]", "3 []"]);
}

#[test]
fn a_replay_that_stopped_says_nothing_about_what_it_did_not_finish() {
    let recorded = [(1, DONE, 1), (2, DONE, 2), (3, DONE, 3), (4, DONE, 4), (5, DONE, 5)];
    let replayed = [(1, DONE, 1), (2, SpanEnd::Stopped, 0), (3, SpanEnd::Stopped, 0)];
    let stopped = ended(&replayed, SpanEnd::Stopped).diverged(3);
    let comparison = Comparison::new(side(&recorded), stopped, None);
    // The root was stopped as well; it is listed, because the block that differs is inside it.
    assert_eq!(said(&comparison, false), ["0 []", "1 equal", "1 uncompared", "3 [Status]", "2 uncompared"]);
    assert_eq!((comparison.counts(), comparison.uncompared()), ((6, 1), Some(4)));
    assert_eq!(comparison.first(), Some(3));
    // A replay that went on to its end is compared whole.
    let other = side(&[(1, DONE, 9), (2, DONE, 2)]).diverged(1);
    let comparison = Comparison::new(side(&recorded[..3]), other, None);
    assert_eq!(said(&comparison, false), ["0 []", "1 [Output]", "1 equal", "3 [OnlyLeft]"]);
    assert_eq!(comparison.uncompared(), None);
}

/// A request whose block added an item and wrote to a record; or a fork of it that took the block from the log.
fn forked(is_fork: bool) -> Side {
    let (mut spans, mut digests, mut seq) = (Spans::default(), Digests::default(), 0);
    spans.names_mut().number("block");
    for (attempt, is_memoized) in [(0, false), (1, true)].into_iter().take(1 + usize::from(is_fork)) {
        let wrote = [Fact::ItemAdded { is_told_failure: false }, Fact::Wrote { is_shared: false }];
        let did = wrote.into_iter().filter(|_| !is_memoized);
        let began = Fact::Started { name: 0, kind: BlockKind::Handler, parent: None, replaces_failed: false };
        let ended = Fact::Finished { end: DONE, is_memoized, is_caught: false };
        let facts: Vec<Fact> = [began].into_iter().chain(did).chain([ended]).collect();
        digests.inputs.insert(seq + 1, 7);
        for fact in facts {
            seq += 1;
            spans.push(SpanEvent { seq, at: 100 * seq as i64, path: Some(1), attempt, fact });
        }
        digests.outputs.insert(seq, 8);
    }
    Side::new("r", RequestStatus::Completed, spans, digests)
}

#[test]
fn what_was_taken_from_the_log_differs_in_nothing() {
    let comparison = Comparison::new(forked(false), forked(true), None);
    assert_eq!((comparison.counts(), comparison.row_count(false)), ((1, 0), 0));
    let rows = comparison.rows((0, 1), true, |_| Ok(vec!["root".into()])).unwrap();
    let did = |block: &Option<ComparedBlock>| block.as_ref().map(|block| (block.items, block.changes, block.attempts));
    assert_eq!((did(&rows[0].left), did(&rows[0].right)), (Some((1, 1, 1)), Some((1, 1, 1))));
}

/// A resume makes the writes of what it takes from the log again in the chain around it: they are not the chain's.
#[test]
fn writes_that_a_resume_made_again_make_no_difference() {
    let chain = |is_resumed: bool| {
        let (mut spans, mut digests) = (Spans::default(), Digests::default());
        spans.names_mut().number("chain");
        let mut facts =
            vec![Fact::Started { name: 0, kind: BlockKind::Sequencer, parent: None, replaces_failed: false }];
        if is_resumed {
            facts.push(Fact::Wrote { is_shared: true });
            facts.push(Fact::CallbackReturned { is_memoized: true, events: vec![2], superseded: Vec::new() });
        }
        facts.push(Fact::Finished { end: DONE, is_memoized: false, is_caught: false });
        let last = facts.len() as u64;
        for (seq, fact) in (1..).zip(facts) {
            spans.push(SpanEvent { seq, at: seq as i64, path: Some(1), attempt: 0, fact });
        }
        digests.inputs.insert(1, 7);
        digests.outputs.insert(last, 8);
        Side::new("r", RequestStatus::Completed, spans, digests)
    };
    assert_eq!(Comparison::new(chain(false), chain(true), None).counts(), (1, 0));
}

/// How often a block ran, and how long, makes no difference.
#[test]
fn attempts_make_no_difference() {
    let ran = |times: u32| {
        let (mut spans, mut digests, mut seq) = (Spans::default(), Digests::default(), 0);
        spans.names_mut().number("block");
        for attempt in 0..times {
            for (fact, is_end) in [
                (Fact::Started { name: 0, kind: BlockKind::Handler, parent: None, replaces_failed: false }, false),
                (Fact::Finished { end: DONE, is_memoized: false, is_caught: false }, true),
            ] {
                seq += 1;
                let values = if is_end { &mut digests.outputs } else { &mut digests.inputs };
                values.insert(seq, 7);
                spans.push(SpanEvent { seq, at: 100 * seq as i64, path: Some(1), attempt, fact });
            }
        }
        Side::new("r", RequestStatus::Completed, spans, digests)
    };
    assert_eq!(Comparison::new(ran(1), ran(3), None).counts(), (1, 0));
}

/// A resume begins an attempt of what it takes from the log; that is no second run.
#[test]
fn what_was_taken_from_the_log_ran_once() {
    let (mut spans, mut seq) = (Spans::default(), 0);
    spans.names_mut().number("block");
    for (path, attempt, is_memoized) in [(1, 0, false), (2, 0, false), (1, 1, true), (2, 1, false)] {
        let started = Fact::Started { name: 0, kind: BlockKind::Handler, parent: None, replaces_failed: false };
        for fact in [started, Fact::Finished { end: DONE, is_memoized, is_caught: false }] {
            seq += 1;
            spans.push(SpanEvent { seq, at: seq as i64, path: Some(path), attempt, fact });
        }
    }
    let side = Side::new("r", RequestStatus::Completed, spans, Digests::default());
    assert_eq!([1, 2].map(|path| side.attempts(path)), [1, 2]);
}

#[test]
fn a_hundred_thousand_blocks_are_compared() {
    let blocks: Vec<(u32, SpanEnd, u64)> = (1..=100_000).map(|n| (n, DONE, n.into())).collect();
    let mut other = blocks.clone();
    other[70_000].2 = 0;
    let sides = (side(&blocks), side(&other));
    let comparison = Comparison::new(sides.0, sides.1, None);
    assert_eq!(said(&comparison, false), ["0 []", "70000 equal", "70001 [Output]", "29999 equal"]);
}

/// A fork that is made an hour later took no hour.
#[test]
fn the_time_before_a_fork_is_no_part_of_it() {
    let (mut spans, names) = (Spans::default(), "block");
    spans.names_mut().number(names);
    let begin = |parent| Fact::Started { name: 0, kind: BlockKind::Handler, parent, replaces_failed: false };
    let finish = Fact::Finished { end: SpanEnd::Completed, is_memoized: false, is_caught: false };
    let hour = 3_600_000;
    let told = [
        (1, 0, 0, begin(None)),
        (2, 5, 1, begin(Some((0, 0)))),
        (3, 10, 1, finish.clone()),
        (4, hour, 2, begin(Some((0, 0)))),
        (5, hour + 20, 2, finish.clone()),
        (6, hour + 25, 0, finish),
    ];
    for (seq, at, path, fact) in told {
        spans.push(SpanEvent { seq, at, path: Some(path), attempt: 0, fact });
    }
    let side = Side::new("r", RequestStatus::Completed, spans, Digests::default()).forked(3, hour);
    let times: Vec<_> =
        (0..3).map(|index| side.block(index, "p")).map(|block| (block.started_ms, block.duration_ms)).collect();
    assert_eq!(times, [(0, Some(35)), (5, Some(5)), (10, Some(20))]);
}

/// A replay has the clock of the recording, and other numbers for its events.
#[test]
fn the_replay_of_a_fork_took_no_hour_either() {
    let hour = 3_600_000;
    let begin = |parent| Fact::Started { name: 0, kind: BlockKind::Handler, parent, replaces_failed: false };
    let finish = Fact::Finished { end: SpanEnd::Completed, is_memoized: false, is_caught: false };
    let told = |seqs: [u64; 6], fork: bool| {
        let mut spans = Spans::default();
        spans.names_mut().number("block");
        let facts = [
            (0, 0, begin(None)),
            (5, 1, begin(Some((0, 0)))),
            (10, 1, finish.clone()),
            (hour, 2, begin(Some((0, 0)))),
            (hour + 20, 2, finish.clone()),
            (hour + 25, 0, finish.clone()),
        ];
        for (seq, (at, path, fact)) in seqs.into_iter().zip(facts) {
            spans.push(SpanEvent { seq, at, path: Some(path), attempt: 0, fact });
        }
        let side = Side::new("r", RequestStatus::Completed, spans, Digests::default());
        if fork { side.forked(3, hour) } else { side }
    };
    let recorded = told([1, 2, 3, 4, 5, 6], true);
    let replay = told([1, 2, 4, 7, 8, 9], false).replays(&recorded);
    let times = |side: &Side| -> Vec<_> {
        (0..3).map(|index| side.block(index, "p")).map(|block| (block.started_ms, block.duration_ms)).collect()
    };
    assert_eq!(times(&replay), [(0, Some(35)), (5, Some(5)), (10, Some(20))]);
    assert_eq!(times(&replay), times(&recorded));
}

/// The chain that a fork took up ended before the block in it began.
#[test]
fn a_block_of_a_fork_is_inside_of_the_chain_that_the_fork_took_up() {
    let mut spans = Spans::default();
    spans.names_mut().number("block");
    let begin = |parent| Fact::Started { name: 0, kind: BlockKind::Handler, parent, replaces_failed: false };
    let finish = Fact::Finished { end: SpanEnd::Completed, is_memoized: false, is_caught: false };
    let hour = 3_600_000;
    // The fork begins at the hour, and takes the chain up 100 ms later.
    let told = [
        (1, 0, Some(0), begin(None)),
        (2, 5, Some(1), begin(Some((0, 0)))),
        (3, 10, Some(1), finish.clone()),
        (4, hour + 90, None, Fact::RequestResumed),
        (5, hour + 100, Some(0), Fact::WentOn),
        (6, hour + 110, Some(2), begin(Some((0, 0)))),
        (7, hour + 130, Some(2), finish.clone()),
        (8, hour + 135, Some(0), finish),
    ];
    for (seq, at, path, fact) in told {
        spans.push(SpanEvent { seq, at, path, attempt: 0, fact });
    }
    let side = Side::new("r", RequestStatus::Completed, spans, Digests::default()).forked(3, hour);
    let times: Vec<_> =
        (0..3).map(|index| side.block(index, "p")).map(|block| (block.started_ms, block.duration_ms)).collect();
    assert_eq!(times, [(0, Some(45)), (5, Some(5)), (20, Some(20))]);
}
