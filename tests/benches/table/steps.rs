//! Steps of a chain, until all of them are committed, against a bare commit of the same bytes.
//!
//! `process` and `power` promise it of what was seen: a step that nobody sees is committed with others. `each` promises
//! it of every step.

use std::sync::Arc;

use runner::{Durability, Workspace};
use serde_json::json;
use tests::bench::{Place, chain};

use super::figure::{Figure, Limit, Table};
use super::trial::{
    events, function_us, line_us, median, now_ms, open, peer_us, rows_us, run, step_bytes, step_us, wanted,
};

const STEPS: usize = 1_000;
const ROUNDS: usize = 7;
const SESSIONS: usize = 50;
const STEPS_OF_A_SESSION: usize = 20;
const KILOBYTE: usize = 1_000;

/// What a step of a chain does.
#[derive(Clone, Copy, PartialEq)]
enum Act {
    /// Counts a number in its sequencer's state up.
    Increment,
    /// Puts a text of so many kilobytes there.
    Replace(usize),
    /// The same with a kilobyte, in a `ctx.runOnce` of its own.
    Once,
}

fn flow(act: Act) -> String {
    let increment = "await ctx.sequencer.incState({ done: 1 });";
    let put =
        |bytes: usize| format!("await ctx.sequencer.patchState({{ notes: \"abcdefgh\"[input % 8].repeat({bytes}) }});");
    let once = format!("await ctx.runOnce(`key ${{input}}`, async () => input);\n  {}", put(KILOBYTE));
    let chain = chain(STEPS, "");
    match act {
        Act::Increment => chain,
        Act::Replace(kilobytes) => chain.replace(increment, &put(kilobytes * KILOBYTE)),
        Act::Once => chain.replace(increment, &once),
    }
}

/// One kind of step with one promise, measured in rounds beside others.
struct Trial {
    place: Place,
    workspace: Arc<Workspace>,
    /// Of the events of a step.
    bytes: usize,
    /// Microseconds of a step, a figure a round.
    steps: Vec<f64>,
}

impl Trial {
    fn new(act: Act, durability: Durability) -> Trial {
        let place = Place::with_flow(&flow(act));
        let workspace = open(&place, durability);
        run(&workspace, "warm", json!(0));
        let bytes = step_bytes(&workspace, "warm", STEPS);
        Trial { place, workspace, bytes, steps: Vec::new() }
    }

    fn go(&mut self, round: usize) {
        let request = format!("r{round}");
        let answered = run(&self.workspace, &request, json!(0));
        self.steps.push(step_us(&self.workspace, &request, STEPS, answered));
    }

    fn us(&self) -> f64 {
        median(self.steps.clone())
    }
}

pub(crate) fn measure(table: &mut Table) {
    for (name, durability, rate) in [("process", Durability::Process, 12_000.0), ("power", Durability::Power, 2_000.0)]
    {
        let mut increment = Trial::new(Act::Increment, durability);
        let mut replace = Trial::new(Act::Replace(1), durability);
        let mut larger = Trial::new(Act::Replace(2), durability);
        let mut four = Trial::new(Act::Replace(4), durability);
        let mut sixteen = Trial::new(Act::Replace(16), durability);
        let mut once = Trial::new(Act::Once, durability);
        let mut each = Trial::new(Act::Increment, Durability::Each);
        let crowd = Crowd::new(durability);
        let (mut line, mut rows, mut function) = (Vec::new(), Vec::new(), Vec::new());
        let (mut small_line, mut together, mut peer) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let dir = replace.place.dir();
            line.push(line_us(dir, name, STEPS, replace.bytes));
            small_line.push(line_us(dir, name, STEPS, increment.bytes));
            rows.push(rows_us(dir, name, STEPS, replace.bytes));
            function.push(function_us(STEPS, KILOBYTE));
            for trial in [&mut increment, &mut replace, &mut larger, &mut four, &mut sixteen, &mut once] {
                trial.go(round);
            }
            if durability == Durability::Power {
                each.go(round);
            }
            peer.extend(peer_us(replace.place.dir(), STEPS, KILOBYTE));
            // In the same moment as the chain that it is held against: a machine's minutes differ.
            together.push(crowd.rate(round));
        }
        let (line, rows, function) = (median(line), median(rows), median(function));
        let what = format!("a step that replaces 1 KB, {name}");
        let floor = "its rows, and its function in a bare interpreter";
        table.push(Figure::line(&what, replace.us(), "µs", floor, rows + function, Limit::AtMost(1.2)));
        // Where a commit is dear, the queue has to be ahead of it.
        let limit = match durability {
            Durability::Process if line >= 50.0 => Limit::AtMost(1.0),
            Durability::Power if line >= 300.0 => Limit::AtMost(0.2),
            _ => Limit::Told,
        };
        table.push(Figure::line(&what, replace.us(), "µs", "bare commit of the same bytes", line, limit));
        if peer.is_empty() {
            eprintln!("LangGraph is not there, so nothing is held against it; see FLOWGLASS_PYTHON in the Makefile");
        } else {
            let what = format!("steps that replace 1 KB, {name}");
            let theirs = "LangGraph with its SQLite checkpointer";
            table.push(Figure::line(&what, 1e6 / replace.us(), "/s", theirs, 1e6 / median(peer), Limit::AtLeast(20.0)));
        }
        let what = format!("a step that increments, {} bytes of events, {name}", increment.bytes);
        table.push(Figure::line(&what, increment.us(), "µs", "bare commit", median(small_line.clone()), Limit::Told));
        let what = format!("one more kilobyte of new value in a step, {name}");
        table.push(Figure::below(&what, larger.us() - replace.us(), "µs", 10.0));
        let what = format!("one more kilobyte of 16, {name}");
        table.push(Figure::below(&what, (sixteen.us() - four.us()) / 12.0, "µs", 10.0));
        let what = format!("a step with a runOnce, {name}");
        let limit = if durability == Durability::Power { Limit::AtMost(1.5) } else { Limit::Told };
        table.push(Figure::line(
            &what,
            once.us(),
            "µs",
            "bare commit and the same without",
            line + replace.us(),
            limit,
        ));
        table.push(Figure::above(&format!("steps of one chain, {name}"), 1e6 / increment.us(), "/s", rate));
        let what = format!("steps of {SESSIONS} sessions at once, {name}");
        table.push(Figure::line(&what, median(together), "/s", "one chain", 1e6 / increment.us(), Limit::AtLeast(1.2)));
        if durability == Durability::Power {
            let what = "a step that increments, each";
            table.push(Figure::line(what, each.us(), "µs", "bare commit", median(small_line), Limit::AtMost(1.5)));
        }
    }
    processes(table);
}

/// What the machine gives to two who share nothing: two processes with a database each, beside one alone.
fn processes(table: &mut Table) {
    const STEPS: usize = 4_000;
    let places = [(); 2].map(|()| Place::with_flow(&chain(STEPS, "")));
    let go = |place: &Place, round: &str| {
        let running = place.start(&format!("run main go --user bench --request {round} --input 0"));
        assert_eq!(running.ended().code, Some(0));
        let answered = now_ms();
        1e6 / step_us(&open(place, Durability::Process), round, STEPS, answered)
    };
    let (mut alone, mut both) = (Vec::new(), Vec::new());
    for place in &places {
        place.get("flows");
    }
    for round in 0..ROUNDS {
        alone.push(go(&places[0], &format!("one-{round}")));
        let name = format!("two-{round}");
        both.push(std::thread::scope(|scope| {
            let running = places.each_ref().map(|place| scope.spawn(|| go(place, &name)));
            running.map(|one| one.join().expect("nobody panicked")).iter().sum()
        }));
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
