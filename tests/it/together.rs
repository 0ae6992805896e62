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

/// A flow that is evaluated beforehand serves one request, and is left lying where its file was changed.
#[test]
fn what_is_kept_ready_is_as_fresh_as_what_is_not() {
    let place = Place::with_flow(FLOW);
    let options = OpenOptions { dir: place.dir().to_owned(), keep_ready: true, ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    let ask = |request: &str| start(&workspace, "count", request, json!(1)).wait().expect("it ends").output.to_json();
    for n in 0..4 {
        assert_eq!(ask(&format!("r{n}")), json!({ "input": 1, "runs": 1 }));
        // Every second one finds its flow evaluated, or nearly.
        std::thread::sleep(Duration::from_millis(n % 2 * 200));
    }
    place.edit(&FLOW.replace("let runs = 0;", "let runs = 10;"));
    for n in 0..6 {
        assert_eq!(ask(&format!("new-{n}")), json!({ "input": 1, "runs": 11 }));
    }
}

#[test]
fn what_does_not_yield_holds_up_nobody_who_comes_later() {
    // They count until they are aborted, however slow the machine is.
    let place = Place::with_flow(FLOW).file("flowglass.json", r#"{ "limits": { "yieldMs": 3600000 } }"#);
    let workspace = open(&place);
    start(&workspace, "count", "warm", json!(0)).wait().expect("it ends");
    // As many as there are threads before two requests share one.
    let ids: Vec<_> = (0..8).map(|n| format!("h{n}")).collect();
    let mut hogs: Vec<_> = ids.iter().map(|id| start(&workspace, "hog", id, json!(1e15))).collect();
    std::thread::sleep(Duration::from_millis(300));
    let quick = start(&workspace, "count", "quick", json!(1)).wait().expect("it ends");
    assert_eq!(quick.output.to_json(), json!({ "input": 1, "runs": 1 }));
    for hog in &mut hogs {
        assert!(hog.wait_at_most(Duration::ZERO).expect("its thread lives").is_none(), "it still counts");
    }
    for (id, hog) in ids.iter().zip(hogs) {
        workspace.abort(id).expect("it is aborted");
        assert_eq!(hog.wait().expect("it ends").status.as_str(), "aborted");
    }
}

#[test]
fn who_goes_away_leaves_what_runs_to_its_end() {
    let place = Place::with_flow(FLOW);
    let workspace = open(&place);
    let running = start(&workspace, "count", "r", json!(7));
    drop(workspace);
    assert_eq!(running.wait().expect("it ends").output.to_json(), json!({ "input": 7, "runs": 1 }));
}

/// Bytes of this process that are in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").expect("Linux tells");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a line of it");
    let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kilobytes << 10
}

/// A frame kept its children and each of them its parent, the registry kept its functions and each of them the
/// registry: every request left its runtime behind, 3 MB each, and three hundred of them a gigabyte.
#[test]
fn what_requests_took_is_given_back() {
    const ALONE: &str = "FLOWGLASS_TEST_ALONE";
    const BYTES: usize = 32_000_000;
    const EACH: usize = 8;
    // In a process of its own: other tests take memory too.
    if std::env::var_os(ALONE).is_none() {
        let own = std::env::current_exe().expect("a test is a program");
        let test = ["--exact", "together::what_requests_took_is_given_back", "--nocapture"];
        // Without a fixed threshold the C library keeps large pieces that were freed, some for each thread: four of
        // them once stood as long as a leak would. So each goes back to the system, and what stays is ours.
        let fixed = ("MALLOC_MMAP_THRESHOLD_", "1000000");
        let output = std::process::Command::new(own).args(test).env(ALONE, "1").env(fixed.0, fixed.1).output();
        let output = output.expect("it starts");
        let told = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && told.contains("1 passed"), "{told}");
        return;
    }
    let place = Place::with_flow(&format!(
        r#"
const ballast = "x".repeat({BYTES});
const size = handler({{ name: "size", execute: async (_: unknown, ctx: any) => {{
  await ctx.sequencer.incState({{ n: ballast.length }});
  return ballast.length;
}} }});
const asks = handler({{ name: "asks", execute: (_: unknown, ctx: any) => ctx.suspend({{ reason: "approval" }}) }});
const fails = handler({{ name: "fails", execute: () => {{ throw new Error("no"); }} }});
const never = handler({{ name: "never", execute: () => new Promise(() => {{}}) }});
const slow = handler({{ name: "slow", execute: () => new Promise((go) => setTimeout(go, 60_000)) }});
const chain = () => sequencer({{ name: "chain", stateSchema: z.object({{ n: z.number().default(0) }}) }})
  .parallel({{ a: size, b: size }}).work(size).map(() => [1, 2]).forEach(size).map(() => 0);
export default defineFlow({{ kind: "main", actions: {{
  ends: {{ block: chain() }}, fails: {{ block: chain().step(fails) }}, asks: {{ block: chain().step(asks) }},
  never: {{ block: chain().step(never) }}, slow: {{ block: chain().step(slow) }},
}} }});
"#
    ));
    let workspace = open(&place);
    start(&workspace, "ends", "warm", json!(0)).wait().expect("it ends");
    std::thread::sleep(Duration::from_millis(500));
    let before = resident();
    let actions =
        [("ends", "completed"), ("fails", "failed"), ("asks", "suspended"), ("never", "failed"), ("slow", "aborted")];
    for (action, status) in actions {
        for n in 0..EACH {
            let request = format!("{action}-{n}");
            let running = start(&workspace, action, &request, json!(0));
            if action == "slow" {
                workspace.abort(&request).expect("it is aborted");
            }
            assert_eq!(running.wait().expect("it ends").status.as_str(), status);
        }
        // What ended is not taken apart at once.
        let begin = Instant::now();
        let left = || resident().saturating_sub(before);
        while left() > EACH * BYTES / 2 {
            assert!(begin.elapsed().as_secs() < 10, "{EACH} requests of action {action} leave {} MB", left() >> 20);
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}
