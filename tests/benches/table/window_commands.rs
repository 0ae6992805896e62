//! The command line on a request of a million events, whole processes.

use std::time::{Duration, Instant};

use tests::bench::Place;

use super::figure::{Figure, Limit, Table};
use super::trial::{median, median_ms, now_ms};
use super::window::Made;

const GOES: usize = 7;

pub(super) fn measure(table: &mut Table, place: &Place, long: &Made) {
    let (id, events) = (&long.id, long.events);
    let time = |words: &[&str]| {
        let go = |_| {
            let answer = place.run(words);
            assert_eq!(answer.code, Some(0), "{words:?}\n{answer}");
        };
        go(0);
        median_ms(GOES, go)
    };
    let start = time(&["--version"]);
    let tree = place.get(&format!("show {id} --tree --unfolded --filter kind:handler"));
    let rows = tree["rows"].as_array().expect("rows");
    let path = rows[rows.len() / 2]["path"].as_str().expect("a block has a path");
    let commands = [
        (vec!["show", id], 200.0),
        // A path may hold spaces: an arm's name is the author's.
        (vec!["block", id, path], 10.0),
        (vec!["suspensions"], 10.0),
    ];
    for (words, target) in commands {
        let (name, took) = (words[0], time(&words));
        let what = format!("{name} at {events} events");
        table.push(Figure::below(&format!("{what}, beyond --version"), (took - start).max(0.0), "ms", target));
        table.push(Figure::line(&what, took, "ms", "--version", start, Limit::Told));
    }
    resume(table, events, start);
}

/// A chain of parts with a step that holds at the end, for whoever kills the process.
const HELD: &str = r#"
const add = handler({ name: "add", execute: async (n, ctx) => { await ctx.sequencer.incState({ done: 1 }); return n + 1; } });
let part = sequencer({ name: "part", inputSchema: z.any(), stateSchema: z.object({ done: z.number().default(0) }) });
for (let n = 0; n < 33; n++) part = part.step(add);
const hold = handler({ name: "hold", execute: async (input) => { await new Promise((go) => setTimeout(go, 600_000)); return input; } });
const chain = sequencer({ name: "chain", inputSchema: z.any() })
  .map((many) => Array.from({ length: many }, (_, n) => n)).forEach(part, { maxConcurrency: 1 }).map(() => 0).step(hold);
export default defineFlow({ kind: "main", actions: { go: { block: chain } } });
"#;
/// How many events a part has.
const OF_A_PART: u64 = 101;

/// From the start of a process that resumes until the first new step begins.
fn resume(table: &mut Table, events: u64, start: f64) {
    let place = Place::with_flow(HELD);
    let parts = events.div_ceil(OF_A_PART);
    let holding = |place: &Place| {
        let answer = place.ask("events r --path root/step:hold --kind block_started");
        let all = answer.json().as_array().cloned().unwrap_or_default();
        all.last().map(|event| (event["seq"].as_u64().unwrap_or_default(), event["at"].as_f64().unwrap_or_default()))
    };
    let until_held = |place: &Place, after: u64| {
        let end = Instant::now() + Duration::from_secs(300);
        loop {
            if let Some((seq, at)) = holding(place).filter(|(seq, _)| *seq > after) {
                return (seq, at);
            }
            assert!(Instant::now() < end, "the last step did not begin");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    let going = place.start(&format!("run main go --user bench --session s --request r --input {parts}"));
    let (mut last, _) = until_held(&place, 0);
    going.kill();
    assert!(last > events, "{last} events");
    let mut times = Vec::new();
    for _ in 0..3 {
        let begin = now_ms();
        let going = place.start("resume r");
        let (seq, at) = until_held(&place, last);
        last = seq;
        times.push(at - begin);
        going.kill();
    }
    let what = format!("resume to its first new step at {events} events");
    let took = median(times);
    table.push(Figure::below(&format!("{what}, beyond --version"), (took - start).max(0.0), "ms", 1_000.0));
    table.push(Figure::line(&what, took, "ms", "--version", start, Limit::Told));
}
