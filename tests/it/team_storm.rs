//! Workers on one server that are killed again and again: every request is finished, and what it recorded is exact.
//!
//! On a machine without a server it says so and tests nothing.

use std::time::Duration;

use tests::bench::Place;
use tests::counting::Counter;
use tests::postgres::Postgres;

/// Steps that happen outside, take a moment, and change two records.
const FLOW: &str = r#"
const step = (name: string) => handler({ name, execute: async (value: any, ctx) => {
  await fetch("http://HOST", { method: "POST", body: ctx.idempotencyKey });
  await new Promise((done) => setTimeout(done, WAIT));
  await ctx.session.incState({ total: 1 });
  await ctx.user.incState({ all: 1 });
  return value;
}});
export default defineFlow({
  kind: "steps",
  session: { stateSchema: z.object({ total: z.number().default(0) }) },
  user: { stateSchema: z.object({ all: z.number().default(0) }) },
  actions: { go: { inputSchema: z.any(), block: sequencer({ name: "all", inputSchema: z.any() })
    .step(step("a")).step(step("b")).step(step("c")).step(step("d")) } },
});
"#;

const STEPS: usize = 4;
const WORKERS: usize = 3;
const CONCURRENCY: usize = 2;

/// How many workers are killed, how many requests there are, and how long a step takes, in milliseconds; ten times as
/// many in `make soak`.
fn size() -> (usize, usize, u32) {
    if std::env::var_os("FLOWGLASS_SOAK").is_some() { (200, 120, 400) } else { (20, 12, 300) }
}

#[test]
fn killed_workers_lose_and_double_nothing() {
    let Some(server) = Postgres::start() else { return };
    let counter = Counter::start();
    let (kills, all_requests, wait) = size();
    let settings = format!(r#"{{"fetch":{{"allow":["{}"]}}}}"#, counter.host());
    let place = Place::with_flow(&FLOW.replace("HOST", &counter.host()).replace("WAIT", &wait.to_string()))
        .file("flowglass.json", &settings)
        .variable("FLOWGLASS_DATA", &server.address("storm"));
    place.get("requests");
    let requests: Vec<String> = (0..all_requests).map(|n| format!("r{n}")).collect();
    for request in &requests {
        let going = place.start(&format!("run steps go --input 1 --user ann --session {request} --request {request}"));
        place.until("it begins", |_| (!counter.of(request).is_empty()).then_some(()));
        going.kill();
    }
    let start = || place.start(&format!("worker --concurrency {CONCURRENCY}"));
    let mut workers: Vec<_> = (0..WORKERS).map(|_| start()).collect();
    let mut seed = 7_u64;
    let mut random = |end: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % end
    };
    for _ in 0..kills {
        // Long enough that a worker has taken something up.
        std::thread::sleep(Duration::from_millis(200 + random(1_200)));
        let victim = random(WORKERS as u64) as usize;
        std::mem::replace(&mut workers[victim], start()).kill();
    }
    workers.into_iter().for_each(|worker| drop(worker.kill()));
    assert_eq!(place.start("worker --until-idle").ended().code, Some(0));
    let mut most = 0;
    for request in &requests {
        assert_eq!(place.get(&format!("show {request}"))["request"]["status"], "completed", "{request}");
        let state = place.get(&format!("state --session {request}")).to_string();
        assert!(state.contains(&format!(r#""total":{STEPS}"#)), "{request}: {state}");
        assert_eq!(place.ask(&format!("replay {request}")).code, Some(0), "{request}");
        let counts = counter.of(request);
        assert_eq!(counts.len(), STEPS, "{request}: {counts:?}");
        // A step happens again only if its process died during it. Each such death is followed by a resume.
        let resumed = place.get(&format!("events {request} --kind request_resumed"));
        let resumed = resumed.as_array().map_or(0, Vec::len);
        assert!(resumed > 0 && counts.values().sum::<usize>() - STEPS <= resumed, "{request}: {resumed}, {counts:?}");
        most = most.max(resumed);
    }
    let all = place.get("state --user ann").to_string();
    assert!(all.contains(&format!(r#""all":{}"#, STEPS * all_requests)), "{all}");
    assert!(most > 1, "no worker died in the middle of a request");
    assert_eq!(place.get("check --data")["ok"], true);
}
