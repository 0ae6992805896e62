//! The inside of blocks: printing over many executions, stepping through many statements, counting lines.

use std::process::Command;
use std::time::Instant;

use runner::{Durability, InsideAt, Move, PrintQuery, StepQuery, Workspace};
use serde_json::json;
use tests::bench::{Place, program};

use super::figure::{Figure, Limit, Table};
use super::live_runs;
use super::trial::{median, median_ms, ms, open, run};

/// How many blocks run the printed line.
const BLOCKS: usize = 1_000;
/// Turns of a loop of three statements and a head, which is one with each turn.
const TURNS: usize = 13_725;
const GOES: usize = 31;

const FLOW: &str = r#"
const square = handler({ name: "square", inputSchema: z.number(), outputSchema: z.number(), execute: (n) => {
  const twice = n * 2;
  return twice * n;
} });
const loop = handler({ name: "loop", inputSchema: z.number(), outputSchema: z.number(), execute: (turns) => {
  let sum = 0;
  for (let turn = 0; turn < turns; turn++) {
    const odd = turn % 2;
    if (odd) sum += turn;
    else sum -= 1;
  }
  return sum;
} });
const many = sequencer({ name: "many", inputSchema: z.any() }).map((n) => Array.from({ length: n }, (_, i) => i)).forEach(square);
const either = router({ name: "either", inputSchema: z.any(), routes: [many, loop], execute: (n) => (n > 10_000 ? loop : many) });
export default defineFlow({ kind: "main", actions: { go: { block: either } } });
"#;

pub(crate) fn measure(table: &mut Table) {
    let source = format!("import {{ router }} from '@flow-state-dev/core';{FLOW}");
    live_runs::measure(table, &source, &[("1,000 blocks", BLOCKS), ("54,900 statements", TURNS)]);
    let place = Place::with_flow(&source);
    let workspace = open(&place, Durability::Process);
    run(&workspace, "many", json!(BLOCKS));
    run(&workspace, "loop", json!(TURNS));
    print(table, &place);
    coverage(table, &workspace);
    steps(table, &workspace);
    questions(table, &workspace);
}

/// The program from its start to its end, when its bundle is in the cache.
fn print(table: &mut Table, place: &Place) {
    let go = || {
        let begin = Instant::now();
        let mut command = Command::new(program());
        command.args(["--json", "print", "flows/main.ts:5", "twice", "--request", "many"]).current_dir(place.dir());
        let output = command.output().expect("the program runs");
        let found: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a document");
        assert_eq!(found["total"], BLOCKS, "{found}");
        ms(begin.elapsed())
    };
    go();
    let time = median((0..GOES).map(|_| go()).collect());
    table.push(Figure::below("print: 1,000 hits in 1,000 blocks, the whole program", time, "ms", 250.0));
}

fn coverage(table: &mut Table, workspace: &Workspace) {
    let replay = median_ms(GOES, |_| {
        workspace.replay("many").unwrap_or_else(|fault| panic!("{fault}"));
    });
    let time = median_ms(GOES, |_| {
        workspace.coverage("many", None).unwrap_or_else(|fault| panic!("{fault}"));
    });
    let what = "counting the lines of 1,000 blocks";
    table.push(Figure::line(what, time, "ms", "its replay", replay, Limit::AtMost(2.5)));
}

fn steps(table: &mut Table, workspace: &Workspace) {
    let path = workspace.show("loop").unwrap_or_else(|fault| panic!("{fault}")).blocks;
    let path = path.iter().map(|block| block.row.path.clone()).max_by_key(String::len).unwrap_or_default();
    let at = |tick| InsideAt { path: path.clone(), attempt: None, tick: Some(tick) };
    let step = |tick, to| {
        let query = StepQuery { at: at(tick), to, watches: Vec::new() };
        workspace.step("loop", &query).unwrap_or_else(|fault| panic!("{fault}"))
    };
    let ticks = step(1, Move::Stay).ticks;
    assert!(ticks > 54_000, "{ticks}");
    let bare = median_ms(GOES, |_| {
        workspace.replay("loop").unwrap_or_else(|fault| panic!("{fault}"));
    });
    let mut tick = 1;
    let mut times: Vec<f64> = (0..GOES * 3)
        .map(|nth| {
            tick = tick * 48_271 % ticks;
            let begin = Instant::now();
            step(tick.max(2), if nth % 2 == 0 { Move::Into } else { Move::Back });
            ms(begin.elapsed())
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let most = times[times.len() * 95 / 100];
    table.push(Figure::below("a step in 54,900 statements, 95 % of them", most, "ms", 50.0));
    let time = median(times);
    table.push(Figure::line("a step in 54,900 statements", time, "ms", "its replay", bare, Limit::AtMost(1.5)));
}

/// A question that nobody asked before.
fn questions(table: &mut Table, workspace: &Workspace) {
    let replay = median_ms(GOES, |_| {
        workspace.replay("loop").unwrap_or_else(|fault| panic!("{fault}"));
    });
    let time = median_ms(GOES, |nth| {
        let query = PrintQuery {
            file: "flows/main.ts".to_owned(),
            line: 9,
            expressions: vec![format!("turns + {nth}")],
            request: Some("loop".to_owned()),
            limit: Some(1),
            ..PrintQuery::default()
        };
        workspace.print(&query).unwrap_or_else(|fault| panic!("{fault}"));
    });
    table.push(Figure::below(
        "a new question: bundled and asked, less a replay",
        (time - replay).max(0.0),
        "ms",
        150.0,
    ));
}
