//! How soon something new happens: after a crash, after a request is accepted, after a file is saved.

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use runner::{Durability, Mock, Notice, OpenOptions, Resolution, Workspace};
use serde_json::json;
use tests::bench::{Place, chain};

use super::figure::{Figure, Table};
use super::trial::{events, median, ms, now_ms, open, wanted};

/// The last step holds until somebody kills the process.
const HELD: &str = "
const hold = handler({ name: \"hold\", execute: async (input) => {
  await new Promise((go) => setTimeout(go, 600_000));
  return input;
} });
export default defineFlow({ kind: \"main\", actions: { go: { block: sequencer({ name: \"whole\", inputSchema: z.any() }).step(chain).step(hold) } } });
";

pub(crate) fn measure(table: &mut Table) {
    after_crash(table, "a chain of 400 steps", &chain(400, ""), 1_200, 100.0);
    let long = "
const add = handler({ name: \"add\", execute: async (n, ctx) => { await ctx.sequencer.incState({ done: 1 }); return n + 1; } });
let part = sequencer({ name: \"part\", inputSchema: z.any(), stateSchema: z.object({ done: z.number().default(0) }) });
for (let n = 0; n < 33; n++) part = part.step(add);
const chain = sequencer({ name: \"chain\", inputSchema: z.any() })
  .map(() => Array.from({ length: 1_000 }, (_, n) => n)).forEach(part, { maxConcurrency: 1 }).map(() => 0);
export default defineFlow({ kind: \"main\", actions: { go: { block: chain } } });
";
    after_crash(table, "100,000 events", long, 100_000, 1_000.0);
    begin(table);
    save(table);
}

/// From the order to resume until the first new step begins, in a process that has the flow at hand.
fn after_crash(table: &mut Table, what: &str, source: &str, least: usize, target: f64) {
    let source = source.split("export default").next().unwrap_or_default();
    let place = Place::with_flow(&format!("{source}{HELD}"));
    let going = place.start("run main go --user bench --session s --request r --input 0");
    let started = |place: &Place| {
        let answer = place.ask("events r --kind block_started --limit 10000000");
        answer.json().as_array().map_or(0, |all| all.iter().filter(|one| one["path"] == "root/step:hold").count())
    };
    place.until("the steps are done", |place| {
        let known = place.ask("requests").json();
        (known.as_array().is_some_and(|all| !all.is_empty()) && started(place) == 1).then_some(())
    });
    going.kill();
    let mut times = Vec::new();
    for _ in 0..5 {
        let workspace = open(&place, Durability::Process);
        let known = events(&workspace, "r", None);
        assert!(known.len() >= least, "{} events", known.len());
        let last = known.last().map_or(0, |event| event.seq);
        let begin = now_ms();
        let running =
            workspace.resume("r", &Mock::Inherit, Resolution::default()).unwrap_or_else(|fault| panic!("{fault}"));
        let began = loop {
            let all = events(&workspace, "r", Some("block_started"));
            let new = all.iter().rfind(|event| event.path.as_deref() == Some("root/step:hold"));
            match new.filter(|event| event.seq > last) {
                Some(event) => break event.at as f64,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        times.push(began - begin);
        // Stopped where it holds, as an abort would be too late to be resumed.
        assert!(workspace.stop("r"));
        drop(running);
    }
    table.push(Figure::below(&format!("resume to first new step, {what}"), median(times), "ms", target));
}

/// From the order until the first handler runs, where requests are served one after another: as in the window.
fn begin(table: &mut Table) {
    let place = Place::with_flow(&chain(5, ""));
    let options = OpenOptions { dir: place.dir().to_owned(), keep_ready: true, ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    let mut times = Vec::new();
    for round in 0..21 {
        let request = format!("r{round}");
        let begin = now_ms();
        let running = workspace.run(wanted(&request, json!(0))).unwrap_or_else(|fault| panic!("{fault}"));
        running.wait().expect("it ends");
        // Nobody orders the next one within the time that a runtime takes to load.
        std::thread::sleep(Duration::from_millis(200));
        times.push(events(&workspace, &request, Some("block_started"))[1].at as f64 - begin);
    }
    table.push(Figure::below("request ordered to first handler", median(times), "ms", 10.0));
}

/// From a saved file until its new version is the one that runs.
fn save(table: &mut Table) {
    let place = Place::with_examples();
    let version = |n: usize| {
        format!(
            "const saved = handler({{ name: \"saved\", execute: (input) => input }});
export default defineFlow({{ kind: \"saved\", actions: {{ go: {{ block: saved, description: \"version {n}\" }} }} }});
"
        )
    };
    let head = "import { defineFlow, handler } from \"@flow-state-dev/core\";\n";
    let file = "flows/saved.ts";
    place.write(file, format!("{head}{}", version(0)));
    let workspace = open(&place, Durability::Process);
    workspace.flows().expect("they load");
    workspace.watch_files().expect("files can be watched");
    let (sender, heard) = channel();
    workspace.listen(move |notice| {
        if matches!(notice, Notice::Flows { .. }) {
            // The bench may have ended.
            let _ = sender.send(());
        }
    });
    let mut times = Vec::new();
    for round in 1..=7 {
        let begin = Instant::now();
        place.write(file, format!("{head}{}", version(round)));
        loop {
            heard.recv_timeout(Duration::from_secs(10)).expect("a saved file is told of");
            let flows = json!(workspace.flows().expect("they load")).to_string();
            if flows.contains(&format!("version {round}\"")) {
                break;
            }
        }
        times.push(ms(begin.elapsed()));
    }
    table.push(Figure::below("file saved to new version ready", median(times), "ms", 250.0));
}
