//! Writers that meet: of one request, and of several processes on one database. Nothing outside happens twice,
//! no write is lost, nobody starves, and what is told of a write is what came into force.

use std::collections::HashSet;

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

/// What every flow here has: a request to the outside, and changes of the session that can conflict.
const COMMON: &str = r#"
const session = { stateSchema: z.object({ n: z.number().default(0), seen: z.record(z.string(), z.number()).default({}) }) };
const pause = (ms: number) => new Promise<void>((go) => { setTimeout(() => go(), ms); });
const post = async (at: string, body: string) => (await fetch(at, { method: "POST", body })).text();
const add = (ctx: any) => ctx.session.atomicState((state: any) => ({ ...state, n: state.n + 1 }));
"#;

fn place(server: &Server, flow: &str) -> Place {
    let allow = json!({ "fetch": { "allow": [server.host()] } }).to_string();
    Place::with_flow(&format!("{COMMON}{flow}")).file("flowglass.json", &allow)
}

fn run(place: &Place, action: &str, request: &str, input: &Value) -> Value {
    let answer = start(place, action, request, input);
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.json()
}

fn start(place: &Place, action: &str, request: &str, input: &Value) -> Answer {
    let input = input.to_string();
    let words =
        ["run", "main", action, "--user", "ada", "--session", "s", "--request", request, "--input", &input, "--json"];
    place.run(&words)
}

/// The state of the session.
fn state(place: &Place) -> Value {
    place.get("state --session s")["session"].clone()
}

/// Whether the request replays as it ran, and the database is what its events say.
fn check(place: &Place, request: &str) {
    let replay = place.ask(&format!("replay {request}"));
    assert_eq!(replay.json()["identical"], true, "{replay}");
    let checked = place.get("check --data");
    assert_eq!(checked["ok"], true, "{checked}");
}

fn bodies(server: &Server) -> Vec<String> {
    let mut bodies: Vec<String> =
        server.asked().iter().map(|asked| String::from_utf8_lossy(&asked.body).into_owned()).collect();
    bodies.sort();
    bodies
}

fn answers(count: usize) -> Server {
    Server::start((0..count).map(|n| Reply::body("text/plain", format!("answer {n}"))))
}

/// Branches of one request conflict: the later one runs again, and takes what it had got from outside.
#[test]
fn a_body_that_runs_again_asks_nothing_twice() {
    let server = answers(4);
    let place = place(
        &server,
        r#"
const arm = (name: string) => handler({ name, execute: async (at: string, ctx) => {
  const before = [Date.now(), Math.random(), crypto.randomUUID()];
  const answer = await post(at, name);
  await pause(20);
  console.log(`${name} ${answer} ${JSON.stringify(before)}`);
  await add(ctx);
  return answer;
} });
export default defineFlow({ kind: "main", session, actions: {
  go: { block: sequencer({ name: "go", inputSchema: z.string() }).parallel({ l: arm("l"), r: arm("r") }) },
} });
"#,
    );
    run(&place, "go", "r", &json!(server.address()));
    assert_eq!(bodies(&server), ["l", "r"]);
    assert_eq!(state(&place)["n"], 2);
    // One of them ran twice, and saw the same the second time.
    let logged = place.get("events r --kind logged");
    let texts: Vec<&str> =
        logged.as_array().into_iter().flatten().filter_map(|event| event["payload"]["text"].as_str()).collect();
    assert_eq!((texts.len(), texts.iter().collect::<HashSet<_>>().len()), (3, 2), "{texts:?}");
    let finished = place.get("events r --kind effect_finished");
    let taken: Vec<&Value> = finished
        .as_array()
        .into_iter()
        .flatten()
        .filter(|event| event["payload"]["memoized"] == true && event["payload"]["effect"] == "fetch")
        .collect();
    assert_eq!(taken.len(), 1, "{finished}");
    // It names the beginning of the call that was really made.
    let started = taken[0]["payload"]["started"].as_u64().expect("a call has a beginning");
    let original = place.get(&format!("events r --from {started} --limit 1"));
    assert_eq!(original[0]["kind"], "effect_started", "{original}");
    check(&place, "r");
}

/// What the earlier try had begun, and nobody has answered when the body runs again, is waited for.
#[test]
fn a_body_that_runs_again_begins_nothing_twice() {
    let slow = || Reply::deltas(&vec![json!({}); 40]);
    let server = Server::start((0..4).map(|_| slow()));
    let place = place(
        &server,
        r#"
const arm = (name: string) => handler({ name, execute: async (at: string, ctx) => {
  const page = post(at, name);
  await Promise.race([page, pause(20)]);
  await add(ctx);
  if (ctx.session.state.n === 2) await page;
  return name;
} });
export default defineFlow({ kind: "main", session, actions: {
  go: { block: sequencer({ name: "go", inputSchema: z.string() }).parallel({ l: arm("l"), r: arm("r") }) },
} });
"#,
    );
    run(&place, "go", "r", &json!(server.address()));
    assert_eq!(bodies(&server), ["l", "r"]);
    assert_eq!(state(&place)["n"], 2);
    check(&place, "r");
}

/// What depends on the record is asked anew, because it is another question.
#[test]
fn a_body_that_asks_something_else_is_answered_live() {
    let server = answers(4);
    let place = place(
        &server,
        r#"
const arm = (name: string) => handler({ name, execute: async (at: string, ctx) => {
  await post(at, `${name} always`);
  await post(at, `${name} at ${ctx.session.state.n}`);
  await pause(20);
  await ctx.session.setState({ ...ctx.session.state, n: ctx.session.state.n + 1 });
} });
export default defineFlow({ kind: "main", session, actions: {
  go: { block: sequencer({ name: "go", inputSchema: z.string() }).parallel({ a: arm("a"), b: arm("b") }) },
} });
"#,
    );
    let server_bodies = |first: &str, second: &str| {
        let mut all =
            vec!["a always".to_owned(), "b always".to_owned(), format!("{first} at 0"), format!("{second} at 0")];
        all.push(format!("{second} at 1"));
        all.sort();
        all
    };
    run(&place, "go", "r", &json!(server.address()));
    let asked = bodies(&server);
    assert!(asked == server_bodies("a", "b") || asked == server_bodies("b", "a"), "{asked:?}");
    assert_eq!(state(&place)["n"], 2);
    check(&place, "r");
}

/// The tools of one model step run beside each other: each asks the outside once.
#[test]
fn tools_that_meet_ask_the_outside_once_each() {
    let server = answers(6);
    let place = place(
        &server,
        r#"
const tool = (name: string) => handler({ name, inputSchema: z.object({ at: z.string() }), execute: async (input, ctx) => {
  const answer = await post(input.at, name);
  await add(ctx);
  return answer;
} });
const asks = generator({ name: "asks", model: "gpt-5-mini", prompt: "Work.", inputSchema: z.string(), tools: [tool("one"), tool("two"), tool("three")] });
export default defineFlow({ kind: "main", session, actions: { go: { block: asks } } });
"#,
    );
    let at = json!({ "at": server.address() });
    let calls: Vec<Value> = ["one", "two", "three"].map(|name| json!({ "name": name, "args": at })).to_vec();
    let script = json!({ "generators": { "asks": [{ "toolCalls": calls }, { "text": "done" }] } });
    place.write("flows/main.mock.json", script.to_string());
    let input = json!(server.address()).to_string();
    let answer = place.run(&[
        "run",
        "main",
        "go",
        "--user",
        "ada",
        "--session",
        "s",
        "--request",
        "r",
        "--input",
        &input,
        "--mock",
        "--json",
    ]);
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(bodies(&server), ["one", "three", "two"]);
    assert_eq!(state(&place)["n"], 3);
    check(&place, "r");
}

/// A function of a chain that runs again takes its effects along, and its neighbours keep their numbers.
#[test]
fn a_function_that_runs_again_asks_nothing_twice() {
    let server = answers(8);
    let place = place(
        &server,
        r#"
const arm = (name: string) => sequencer({ name, inputSchema: z.string() })
  .map(async (at: string, ctx) => {
    await post(at, `${name} first`);
    await pause(10);
    await add(ctx);
    return at;
  })
  .map(async (at: string) => post(at, `${name} second`));
export default defineFlow({ kind: "main", session, actions: {
  go: { block: sequencer({ name: "go", inputSchema: z.string() }).parallel({ l: arm("l"), r: arm("r") }) },
} });
"#,
    );
    run(&place, "go", "r", &json!(server.address()));
    assert_eq!(bodies(&server), ["l first", "l second", "r first", "r second"]);
    assert_eq!(state(&place)["n"], 2);
    check(&place, "r");
}

/// Functions of one block that run at the same time write each for itself.
#[test]
fn hooks_of_one_generator_do_not_write_over_each_other() {
    let server = answers(0);
    let place = place(
        &server,
        r#"
const tool = (name: string) => handler({ name, inputSchema: z.object({}), execute: () => name });
const asks = generator({ name: "asks", model: "gpt-5-mini", prompt: "Work.", inputSchema: z.any(), tools: [tool("one"), tool("two"), tool("three")] });
const onToolCompleted = async (_event: any, ctx: any) => {
  const n = ctx.session.state.n;
  await pause(10);
  await ctx.session.patchState({ n: n + 1 });
};
export default defineFlow({ kind: "main", session, tools: { onToolCompleted }, actions: { go: { block: asks } } });
"#,
    );
    let calls: Vec<Value> = ["one", "two", "three"].map(|name| json!({ "name": name, "args": {} })).to_vec();
    let script = json!({ "generators": { "asks": [{ "toolCalls": calls }, { "text": "done" }] } });
    place.write("flows/main.mock.json", script.to_string());
    let answer = place.run(&[
        "run",
        "main",
        "go",
        "--user",
        "ada",
        "--session",
        "s",
        "--request",
        "r",
        "--input",
        "1",
        "--mock",
        "--json",
    ]);
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(state(&place)["n"], 3);
    check(&place, "r");
}

/// A literal patch or record write is put onto a newer record unless the block had looked at it before.
#[test]
fn a_literal_after_a_look_is_decided_anew() {
    let server = answers(0);
    let place = place(
        &server,
        r#"
const both = (arm: (name: string, ms: number) => any) =>
  sequencer({ name: "go", inputSchema: z.any() }).parallel({ a: arm("a", 10), b: arm("b", 40) });
const patch = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => {
  const n = ctx.session.state.n; await pause(ms); await ctx.session.patchState({ n: n + ms });
} });
const record = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => {
  const k = ctx.session.state.seen.k ?? 0; await pause(ms); await ctx.session.setStateRecord("seen", "k", k + ms);
} });
const updater = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => {
  let n = 0; await ctx.session.patchState("n", (now: number) => { n = now; return now; });
  await pause(ms); await ctx.session.patchState({ n: n + ms });
} });
const blind = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => {
  await pause(ms); await ctx.session.patchState({ n: ms }); await ctx.session.setStateRecord("seen", name, ms);
} });
export default defineFlow({ kind: "main", session, actions: {
  patch: { block: both(patch) }, record: { block: both(record) }, updater: { block: both(updater) }, blind: { block: both(blind) },
} });
"#,
    );
    let attempts = |request: &str| {
        let shown = place.get(&format!("show {request}"));
        shown["blocks"].as_array().map_or(0, |blocks| blocks.iter().filter(|block| block["attempt"] == 1).count())
    };
    run(&place, "patch", "patch", &json!(1));
    assert_eq!((state(&place)["n"].clone(), attempts("patch")), (json!(50), 1));
    run(&place, "record", "record", &json!(1));
    assert_eq!((state(&place)["seen"]["k"].clone(), attempts("record")), (json!(50), 1));
    run(&place, "updater", "updater", &json!(1));
    assert_eq!((state(&place)["n"].clone(), attempts("updater")), (json!(100), 1));
    run(&place, "blind", "blind", &json!(1));
    assert_eq!((state(&place)["n"].clone(), attempts("blind")), (json!(40), 0));
    for request in ["patch", "record", "updater", "blind"] {
        check(&place, request);
    }
}

/// What an item and an event tell of a write is the value and the version that came into force.
#[test]
fn items_and_events_tell_what_came_into_force() {
    let server = answers(0);
    let place = place(
        &server,
        r#"
const inc = (name: string, ms: number) => handler({ name, execute: async (_input, ctx) => {
  const first = ctx.session.state.n; await pause(ms); await ctx.session.incState({ n: 1 }); return first;
} });
export default defineFlow({ kind: "main", session, actions: {
  go: { block: sequencer({ name: "go", inputSchema: z.any() }).parallel({ a: inc("a", 10), b: inc("b", 30), c: inc("c", 50) }) },
} });
"#,
    );
    let lines = place.run(&[
        "run",
        "main",
        "go",
        "--user",
        "ada",
        "--session",
        "s",
        "--request",
        "r",
        "--input",
        "1",
        "--events",
    ]);
    assert_eq!(lines.code, Some(0), "{lines}");
    let expected = [(json!(1), json!(1)), (json!(2), json!(2)), (json!(3), json!(3))];
    let told = |payload: &Value| (payload["value"]["n"].clone(), payload["version"].clone());
    let lines: Vec<Value> = lines.stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let changes = lines.iter().filter(|line| line["kind"] == "state_changed");
    assert_eq!(changes.map(|line| told(&line["payload"])).collect::<Vec<_>>(), expected);
    let seqs: Vec<u64> = lines.iter().filter_map(|line| line["seq"].as_u64()).collect();
    assert!(seqs.is_sorted(), "{seqs:?}");
    let events = place.get("events r --kind state_changed");
    assert_eq!(events.as_array().expect("a list").iter().map(|e| told(&e["payload"])).collect::<Vec<_>>(), expected);
    let items = place.get("items --request r --type state_change");
    assert_eq!(items.as_array().expect("a list").iter().map(told).collect::<Vec<_>>(), expected);
    let history = place.get("history r --path session.n");
    let news: Vec<&Value> = history.as_array().expect("a list").iter().map(|row| &row["new"]).collect();
    assert_eq!(news, [1, 2, 3]);
    check(&place, "r");
}

/// Runs an action in so many processes at the same time; all must complete.
fn together(place: &Place, action: &str, inputs: &[Value]) {
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let running: Vec<_> = inputs
            .iter()
            .enumerate()
            .map(|(n, input)| scope.spawn(move || start(place, action, &format!("{action}{n}"), input)))
            .collect();
        running.into_iter().map(|one| one.join().expect("it ends")).collect()
    });
    for answer in &answers {
        assert_eq!(answer.code, Some(0), "{answer}");
    }
}

const STORM: &str = r#"
const rounds = (name: string, each: any) => sequencer({ name, inputSchema: z.object({ rounds: z.number(), by: z.number() }) })
  .map((input) => Array.from({ length: input.rounds }, () => input.by)).forEach(each, { maxConcurrency: 1 });
const patch = handler({ name: "patch", inputSchema: z.number(), execute: async (by, ctx) => {
  const n = ctx.session.state.n; await pause(2); await ctx.session.patchState({ n: n + by });
} });
const atomic = handler({ name: "atomic", inputSchema: z.number(), execute: async (by, ctx) => {
  await ctx.session.atomicState((state: any) => ({ ...state, n: state.n + by }));
} });
const slow = handler({ name: "slow", inputSchema: z.number(), execute: async (by, ctx) => {
  const n = ctx.session.state.n; await pause(100); await ctx.session.patchState({ n: n + by });
} });
const start = handler({ name: "start", execute: (_input: any, ctx: any) => ctx.session.state.n });
export default defineFlow({ kind: "main", session, actions: {
  start: { block: start }, patch: { block: rounds("patches", patch) }, atomic: { block: rounds("atomics", atomic) }, slow: { block: rounds("slows", slow) },
} });
"#;

/// Six processes read, wait and patch one field: each addend is in the sum.
#[test]
fn no_process_loses_an_update() {
    let server = answers(0);
    let place = place(&server, STORM);
    run(&place, "start", "first", &json!(1));
    let inputs: Vec<Value> = (0..6).map(|n| json!({ "rounds": 1, "by": 10_u32.pow(n) })).collect();
    together(&place, "slow", &inputs);
    assert_eq!(state(&place)["n"], 111_111);
    let checked = place.get("check --data");
    assert_eq!(checked["ok"], true, "{checked}");
}

/// Processes that always conflict have their turns, and none fails.
fn storm(processes: usize, rounds: usize) {
    let server = answers(0);
    let place = place(&server, STORM);
    run(&place, "start", "first", &json!(1));
    let inputs: Vec<Value> = (0..processes).map(|_| json!({ "rounds": rounds, "by": 1 })).collect();
    let begin = std::time::Instant::now();
    for (at, action) in ["atomic", "patch"].into_iter().enumerate() {
        together(&place, action, &inputs);
        assert_eq!(state(&place)["n"], (at + 1) * processes * rounds, "{action}");
    }
    println!("{processes} processes, {rounds} rounds, two ways: {:?}", begin.elapsed());
    let checked = place.get("check --data");
    assert_eq!(checked["ok"], true, "{checked}");
}

#[test]
fn writers_of_several_processes_take_turns() {
    storm(4, 15);
}

#[test]
#[ignore = "long: `make soak`"]
fn soak_ten_processes_of_a_hundred_rounds() {
    storm(10, 100);
}
