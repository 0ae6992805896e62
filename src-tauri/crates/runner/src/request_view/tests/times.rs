//! Hand-made logs: the critical path, gaps in which nothing ran, and the stops of the slider.

use engine::event::BlockKind;
use engine::views::spans::{Fact, SpanEnd, SpanEvent, Spans};

use super::{RequestView, TestSource};
use crate::views::{CriticalPart, Gap, RowsQuery, StepTo};

/// Blocks by path, with their start and end times; the parent is the nearest path before the last slash.
fn view(blocks: &[(&str, i64, i64, SpanEnd)]) -> (TestSource, RequestView) {
    let (source, mut view) = (TestSource::default(), RequestView::new("r"));
    let mut facts: Vec<(i64, usize, bool)> = Vec::new();
    for (at, (_, began, ended, _)) in blocks.iter().enumerate() {
        facts.extend([(*began, at, true), (*ended, at, false)]);
    }
    // At one instant, ends come before starts, and inner ends before outer ones.
    facts.sort_by_key(|(at, block, begins)| (*at, *begins, if *begins { *block as i64 } else { -(*block as i64) }));
    let extend = |spans: &mut Spans| {
        for (seq, (at, block, begins)) in (1..).zip(facts) {
            let (path, .., end) = blocks[block];
            let around = |path: &str| path.rsplit_once('/').map(|(around, _)| around.to_owned());
            let is_there = |path: &String| blocks.iter().any(|(other, ..)| other == path);
            let parent = std::iter::successors(around(path), |path| around(path)).find(is_there);
            let fact = if begins {
                let last = path.rsplit(['/', ':']).next().unwrap_or(path);
                let name = spans.names_mut().number(last.split('[').next().unwrap_or(last));
                let kind = match parent {
                    None => BlockKind::Sequencer,
                    Some(_) => BlockKind::Handler,
                };
                Fact::Started {
                    name,
                    kind,
                    parent: parent.map(|parent| (source.number(&parent), 0)),
                    replaces_failed: false,
                }
            } else {
                Fact::Finished { end, is_memoized: false, is_caught: false }
            };
            spans.push(SpanEvent { seq, at, path: Some(source.number(path)), attempt: 0, fact });
        }
        Ok(false)
    };
    view.advance(&source, extend).expect("it advances");
    (source, view)
}

const DONE: SpanEnd = SpanEnd::Completed;

#[test]
fn the_critical_path_has_the_last_block_to_end_before_each_next_one() {
    let blocks = [
        ("root", 0, 100, DONE),
        ("root/step:a", 0, 30, DONE),
        ("root/parallel/x", 30, 60, DONE),
        ("root/parallel/y", 30, 90, DONE),
        ("root/step:b", 90, 98, DONE),
    ];
    let (source, mut view) = view(&blocks);
    let overview = view.overview(1_000, None, None);
    let parts = overview.critical.iter().map(|CriticalPart { from, to, node }| (*from, *to, *node));
    assert_eq!(parts.collect::<Vec<_>>(), [(0, 30, 1), (30, 90, 3), (90, 98, 4), (98, 100, 0)]);
    let rows = view.rows(&source, RowsQuery { offset: 0, limit: 10, at: None }).expect("rows").page;
    let critical = rows.iter().filter(|row| row.is_critical).map(|row| row.label.as_str());
    assert_eq!(critical.collect::<Vec<_>>(), ["root", "step:a", "parallel/y", "step:b"]);
    // A part of the time has only the blocks in it.
    let part = view.overview(10, Some(40), Some(95));
    let parts = part.critical.iter().map(|part| (part.from, part.to));
    assert_eq!(parts.collect::<Vec<_>>(), [(40, 90), (90, 95)]);
    assert_eq!((part.cells.iter().sum::<u32>(), part.from, part.to), (3, 40, 95));
}

#[test]
fn failed_turns_of_a_large_group_come_first() {
    let paths: Vec<String> = (0..300).map(|turn| format!("root/forEach:read[{turn}]")).collect();
    let mut blocks = vec![("root", 0, 10_000, DONE)];
    for (turn, path) in (0..).zip(&paths) {
        let (took, end) = if turn % 100 == 50 { (400, SpanEnd::Failed) } else { (20, DONE) };
        blocks.push((path, turn, turn + took, end));
    }
    let (source, mut view) = view(&blocks);
    let mut rows =
        |offset: u64, limit: u32| view.rows(&source, RowsQuery { offset, limit, at: None }).expect("rows").page;
    let group = rows(1, 1).remove(0);
    let told = group.group.expect("they are a group");
    assert_eq!((told.count, told.failed, group.is_folded), (300, 3, true));
    let durations = told.durations.expect("they ended");
    assert_eq!((durations.cells.iter().sum::<u32>(), durations.failures.iter().sum::<u32>()), (300, 3));
    assert_eq!((durations.cells.first(), durations.cells.last()), (Some(&297), Some(&3)));
    assert_eq!(durations.failures.last(), Some(&3));
    view.fold(Some(group.node), false).expect("it is there");
    let mut rows =
        |offset: u64, limit: u32| view.rows(&source, RowsQuery { offset, limit, at: None }).expect("rows").page;
    let first: Vec<(String, u64)> = rows(2, 5).into_iter().map(|row| (row.label, row.position)).collect();
    let turn = |turn: u32, position: u64| (format!("forEach:read[{turn}]"), position);
    assert_eq!(first, [turn(50, 1), turn(150, 2), turn(250, 3), turn(0, 4), turn(1, 5)]);
    assert_eq!(rows(301, 5).pop().map(|row| row.label).as_deref(), Some("forEach:read[299]"));
}

#[test]
fn gaps_failures_and_boundaries_have_the_times_of_their_events() {
    let blocks = [
        ("root", 0, 2_000, DONE),
        ("root/step:a", 0, 10, DONE),
        ("root/step:b", 500, 600, SpanEnd::Failed),
        ("root/step:b/rescue:c", 650, 700, DONE),
        ("root/step:d", 1_900, 2_000, DONE),
    ];
    let (_, mut view) = view(&blocks);
    let overview = view.overview(20, None, None);
    assert_eq!((overview.from, overview.to), (0, 2_000));
    // The pause before the rescue is too short for a gap.
    assert_eq!(overview.gaps, [Gap { from: 10, to: 500 }, Gap { from: 700, to: 1_900 }]);
    assert_eq!(overview.cells.iter().sum::<u32>(), 10);
    assert_eq!(overview.failures.iter().sum::<u32>(), 1);
    assert_eq!(overview.failures.iter().position(|count| *count > 0), Some(5));
    let mut seqs = Vec::new();
    let mut seq = 0;
    while let Some(next) = view.step(seq, StepTo::NextBoundary) {
        seqs.push(next);
        seq = next;
    }
    assert_eq!(seqs.len(), 4, "those of the root and of its three steps: {seqs:?}");
    assert_eq!(view.step(seqs[1], StepTo::PreviousBoundary), Some(seqs[0]));
    assert_eq!(view.step(0, StepTo::NextFailure), Some(seqs[1]));
    assert_eq!(view.step(seqs[1], StepTo::NextFailure), None);
    let seqs = [-1, 5, 499, i64::MAX].map(|time| view.seqs_at(time));
    assert_eq!(seqs, [(0, 0), (2, 2), (3, 3), (10, 10)]);
}

#[test]
fn an_instant_inside_a_block_is_between_its_start_and_the_next_edge() {
    let (source, mut view) = (TestSource::default(), RequestView::new("r"));
    let extend = |spans: &mut Spans| {
        let name = spans.names_mut().number("ask");
        let mut push = |seq: u64, at: i64, path: &str, fact: Fact| {
            spans.push(SpanEvent { seq, at, path: Some(source.number(path)), attempt: 0, fact });
        };
        let ends = || Fact::Finished { end: DONE, is_memoized: false, is_caught: false };
        push(4, 2, "root", Fact::Started { name, kind: BlockKind::Sequencer, parent: None, replaces_failed: false });
        let parent = Some((source.number("root"), 0));
        push(5, 2, "root/step:ask", Fact::Started { name, kind: BlockKind::Generator, parent, replaces_failed: false });
        push(30, 900, "root/step:ask", ends());
        push(31, 901, "root", ends());
        spans.set_last(33);
        Ok(false)
    };
    view.advance(&source, extend).expect("it advances");
    let seqs = [1, 2, 500, 900, 5_000].map(|time| view.seqs_at(time));
    assert_eq!(seqs, [(3, 3), (5, 29), (5, 29), (30, 30), (31, 33)]);
    // The time before the first block and after the last one is part of the range.
    assert_eq!(view.range(), Some((2, 901)));
    view.reaches(-498, 950);
    assert_eq!((view.began(), view.range()), (Some(-498), Some((-498, 950))));
    let overview = view.overview(10, None, None);
    assert_eq!((overview.from, overview.to), (-498, 950));
    assert_eq!(overview.gaps, [Gap { from: -498, to: 2 }]);
}
