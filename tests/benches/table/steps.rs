//! Durable steps: a chain of handlers, one commit a step, against a bare commit of the same bytes.

use std::sync::Arc;

use runner::{Durability, Workspace};
use serde_json::json;
use tests::bench::{Place, chain};

use super::figure::{Figure, Limit, Table};
use super::trial::{events, function_us, line_us, median, now_ms, open, rows_us, run, step_bytes, step_us, wanted};

const STEPS: usize = 1_000;
const ROUNDS: usize = 7;
const SESSIONS: usize = 50;
const STEPS_OF_A_SESSION: usize = 20;

pub(crate) fn measure(table: &mut Table) {
    for (name, durability, most, rate) in
        [("process", Durability::Process, 3.0, 12_000.0), ("power", Durability::Power, 1.5, 2_000.0)]
    {
        let place = Place::with_flow(&chain(STEPS, ""));
        let workspace = open(&place, durability);
        run(&workspace, "warm", json!(0));
        let bytes = step_bytes(&workspace, "warm", STEPS);
        let crowd = Crowd::new(durability);
        let (mut line, mut rows, mut function) = (Vec::new(), Vec::new(), Vec::new());
        let (mut ours, mut together) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            line.push(line_us(place.dir(), name, STEPS, bytes));
            rows.push(rows_us(place.dir(), name, STEPS, bytes));
            function.push(function_us(STEPS));
            let request = format!("r{round}");
            run(&workspace, &request, json!(0));
            ours.push(step_us(&workspace, &request, STEPS));
            // In the same moment as the chain that it is held against: a machine's minutes differ.
            together.push(crowd.rate(round));
        }
        let (line, rows, function, ours) = (median(line), median(rows), median(function), median(ours));
        let what = format!("a durable step of {bytes} bytes, {name}");
        table.push(Figure::line(&what, ours, "µs", "bare commit", line, Limit::AtMost(most)));
        let what = format!("the rows of such a step alone, {name}");
        table.push(Figure::line(&what, rows, "µs", "bare commit", line, Limit::Told));
        let what = format!("its rows and its function in a bare interpreter, {name}");
        table.push(Figure::line(&what, rows + function, "µs", "bare commit", line, Limit::Told));
        table.push(Figure::above(&format!("steps of one chain, {name}"), 1e6 / ours, "/s", rate));
        let what = format!("steps of {SESSIONS} sessions at once, {name}");
        table.push(Figure::line(&what, median(together), "/s", "one chain", 1e6 / ours, Limit::AtLeast(2.0)));
    }
    processes(table);
}

/// What the machine gives to two who share nothing: two processes with a database each, beside one alone.
fn processes(table: &mut Table) {
    const STEPS: usize = 4_000;
    let places = [(); 2].map(|()| Place::with_flow(&chain(STEPS, "")));
    let go = |place: &Place, round: &str| place.start(&format!("run main go --user bench --request {round} --input 0"));
    let rate = |place: &Place, round: &str| 1e6 / step_us(&open(place, Durability::Process), round, STEPS);
    let (mut alone, mut both) = (Vec::new(), Vec::new());
    for place in &places {
        place.get("flows");
    }
    for round in 0..ROUNDS {
        let (one, two) = (format!("one-{round}"), format!("two-{round}"));
        go(&places[0], &one).ended();
        alone.push(rate(&places[0], &one));
        let running = places.each_ref().map(|place| go(place, &two));
        running.into_iter().for_each(|one| assert_eq!(one.ended().code, Some(0)));
        both.push(places.iter().map(|place| rate(place, &two)).sum());
    }
    let what = "steps of two processes at once, a database each";
    table.push(Figure::line(what, median(both), "/s", "one process", median(alone), Limit::Told));
}

/// Many sessions at once.
struct Crowd {
    workspace: Arc<Workspace>,
    /// Gone with the value.
    _place: Place,
}

impl Crowd {
    fn new(durability: Durability) -> Crowd {
        let source = chain(STEPS_OF_A_SESSION, "")
            .replace(
                "let chain =",
                "const gate = handler({ name: \"gate\", execute: async (at) => {
  await new Promise((go) => setTimeout(go, Math.max(0, at - Date.now())));
  return 0;
} });\nlet chain =",
            )
            .replace("for (let n", "chain = chain.step(gate);\nfor (let n");
        let place = Place::with_flow(&source);
        Crowd { workspace: open(&place, durability), _place: place }
    }

    /// Their steps a second. Each session waits for the same moment, so that loading does not count.
    fn rate(&self, round: usize) -> f64 {
        let begin = now_ms() + 3_000.0;
        let names: Vec<String> = (0..SESSIONS).map(|n| format!("r{round}-{n}")).collect();
        let begun = |name: &String| self.workspace.run(wanted(name, json!(begin)));
        let running: Vec<_> = names.iter().map(|name| begun(name).unwrap_or_else(|fault| panic!("{fault}"))).collect();
        for one in running {
            assert_eq!(one.wait().expect("it ends").status.as_str(), "completed");
        }
        let ends = names.iter().map(|name| {
            let started = events(&self.workspace, name, Some("block_started"));
            assert!((started[1].at as f64) < begin, "{name} was not loaded in time");
            events(&self.workspace, name, Some("block_finished")).last().map_or(0.0, |event| event.at as f64)
        });
        let last = ends.fold(0.0, f64::max);
        (SESSIONS * STEPS_OF_A_SESSION) as f64 * 1_000.0 / (last - begin).max(1.0)
    }
}
