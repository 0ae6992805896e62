//! Many requests at once in one process, as a window has them: each as if it were alone.

use std::sync::Arc;
use std::time::{Duration, Instant};

use runner::{OpenOptions, RunOptions, Running, Workspace};
use serde_json::{Value, json};
use tests::bench::Place;

/// `count` tells of what an earlier request left in the runtime; `hog` does not yield while it counts.
const FLOW: &str = r#"
let runs = 0;
const count = handler({ name: "count", execute: async (input: number) => {
  runs += 1;
  await new Promise((go) => setTimeout(go, 20));
  return { input, runs };
} });
const hog = handler({ name: "hog", execute: (times: number) => {
  let done = 0;
  while (done < times) done += 1;
  return done;
} });
const fails = handler({ name: "fails", execute: (input: number) => { throw new Error(`no ${input}`); } });
export default defineFlow({ kind: "main", actions: { count: { block: count }, hog: { block: hog }, fails: { block: fails } } });
"#;

fn open(place: &Place) -> Arc<Workspace> {
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    Workspace::open(options).expect("the workspace opens")
}

fn start(workspace: &Workspace, action: &str, request: &str, input: Value) -> Running {
    let wanted = RunOptions {
        flow: "main".to_owned(),
        action: action.to_owned(),
        user: "ada".to_owned(),
        session: Some(format!("{request}-session")),
        request: Some(request.to_owned()),
        input: Some(input),
        ..RunOptions::default()
    };
    workspace.run(wanted).unwrap_or_else(|fault| panic!("{fault}"))
}

#[test]
fn forty_requests_share_threads_and_nothing_else() {
    let place = Place::with_flow(FLOW);
    let workspace = open(&place);
    let running: Vec<_> = (0..40)
        .map(|n| match n % 10 {
            9 => start(&workspace, "fails", &format!("r{n}"), json!(n)),
            _ => start(&workspace, "count", &format!("r{n}"), json!(n)),
        })
        .collect();
    for (n, one) in running.into_iter().enumerate() {
        let ended = one.wait().expect("it ends");
        match n % 10 {
            9 => assert_eq!(ended.error.map(|error| error.message), Some(format!("no {n}"))),
            _ => assert_eq!(ended.output.to_json(), json!({ "input": n, "runs": 1 })),
        }
    }
    drop(workspace);
    place.get("check --data");
}

#[test]
fn what_does_not_yield_holds_up_nobody_who_comes_later() {
    let place = Place::with_flow(FLOW);
    let workspace = open(&place);
    start(&workspace, "count", "warm", json!(0)).wait().expect("it ends");
    // As many as there are threads before two requests share one.
    let hogs: Vec<_> = (0..8).map(|n| start(&workspace, "hog", &format!("h{n}"), json!(20_000_000))).collect();
    std::thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    let quick = start(&workspace, "count", "quick", json!(1)).wait().expect("it ends");
    assert_eq!(quick.output.to_json(), json!({ "input": 1, "runs": 1 }));
    let took = begin.elapsed();
    for hog in hogs {
        assert_eq!(hog.wait().expect("it ends").output.to_json(), json!(20_000_000));
    }
    let rest = begin.elapsed();
    assert!(took * 2 < rest, "it took {took:?} of the {rest:?} that the others still ran");
}

#[test]
fn who_goes_away_leaves_what_runs_to_its_end() {
    let place = Place::with_flow(FLOW);
    let workspace = open(&place);
    let running = start(&workspace, "count", "r", json!(7));
    drop(workspace);
    assert_eq!(running.wait().expect("it ends").output.to_json(), json!({ "input": 7, "runs": 1 }));
}
