//! Blocks that ran side by side end in a replay in the order in which they ended, so races have the same
//! winner: in hand-written flows, and in flows of random shape.

use std::fmt::Write as _;

use serde_json::{Value, json};
use tests::bench::Place;

const HEAD: &str = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const sleep = (ms: number) => new Promise((go) => setTimeout(go, ms));
const any = { inputSchema: z.any(), outputSchema: z.any() };
"#;

/// A flow file of one action, with session state that branches write to.
fn flow(kind: &str, blocks: &str, root: &str) -> String {
    format!(
        "{HEAD}{blocks}\nexport default defineFlow({{ kind: \"{kind}\", session: {{ stateSchema: z.object({{ \
         a: z.number().default(0), b: z.number().default(0), log: z.array(z.string()).default([]) }}) }}, \
         actions: {{ go: {{ inputSchema: z.any(), block: {root} }} }} }});\n"
    )
}

fn run(place: &Place, kind: &str) {
    let ran = place.run(&["run", kind, "go", "--user", "ada", "--session", kind, "--request", kind, "--input", "1"]);
    assert!([Some(0), Some(3)].contains(&ran.code), "{kind}: {ran}");
}

fn check_replays(place: &Place, kind: &str) {
    let replayed = place.ask(&format!("replay {kind}")).json();
    let source = || std::fs::read_to_string(place.dir().join(format!("flows/{kind}.ts"))).unwrap_or_default();
    assert_eq!(replayed["identical"], true, "{replayed:#}\n{}", source());
}

/// One branch waits a little, the other has many steps that take no time in a replay; both fail, and the first failure
/// is the request's.
#[test]
fn the_branch_that_failed_first_fails_first() {
    let place = Place::new();
    let steps = ".step(quick)".repeat(60);
    let blocks = format!(
        "const quick = handler({{ name: \"quick\", ...any, execute: async (input, ctx) => \
         {{ await ctx.session.incState({{ a: 1 }}); return input; }} }});
const late = handler({{ name: \"late\", ...any, execute: async () => {{ await sleep(MS); throw new Error(\"late\"); }} }});
const last = handler({{ name: \"last\", ...any, execute: async () => {{ throw new Error(\"last\"); }} }});
const long = sequencer({{ name: \"long\", inputSchema: z.any() }}){steps}.step(last);"
    );
    let together = "sequencer({ name: \"all\", inputSchema: z.any() }).parallel({ late, long })";
    let each = "sequencer({ name: \"all\", inputSchema: z.any() }).map(() => [late, long]).forEach((one: any) => one, { maxConcurrency: 2 })";
    let either = "sequencer({ name: \"all\", inputSchema: z.any() }).race([late, long])";
    let mut firsts = Vec::new();
    for (n, ms) in [1, 3, 8, 400].into_iter().enumerate() {
        for (shape, root) in [("together", together), ("each", each), ("either", either)] {
            let kind = format!("{shape}{n}");
            place.write(&format!("flows/{kind}.ts"), flow(&kind, &blocks.replace("MS", &ms.to_string()), root));
            run(&place, &kind);
            check_replays(&place, &kind);
            firsts.push(place.get(&format!("show {kind}"))["request"]["error"]["message"].clone());
        }
    }
    // Both orders were seen.
    assert!(firsts.contains(&Value::from("late")) && firsts.contains(&Value::from("last")), "{firsts:?}");
    assert_eq!(place.get("check --data")["ok"], true);
}

/// A branch that commits shared state is told of its end later than one without writes that ended after it: the winner
/// was the second one, and a resume or a replay, which go by the log, gave the race to the first.
#[test]
fn the_winner_of_a_race_is_the_first_in_the_log() {
    let place = Place::new();
    let blocks = "const writes = handler({ name: \"writes\", ...any, execute: async (input, ctx) => \
        { await ctx.session.pushState(\"log\", \"x\"); return \"writes\"; } });
const plain = handler({ name: \"plain\", ...any, execute: async () => { await Promise.resolve(); return \"plain\"; } });";
    let races = ".race([writes, plain]).step(keep)".repeat(25);
    let keep = "const keep = handler({ name: \"keep\", ...any, execute: async (won) => won });";
    let root = format!("sequencer({{ name: \"all\", inputSchema: z.any() }}){races}");
    place.write("flows/race.ts", flow("race", &format!("{blocks}\n{keep}"), &root));
    run(&place, "race");
    let events = place.get("events race");
    let ends = events.as_array().into_iter().flatten().filter(|event| event["kind"] == "block_finished");
    let mut first: Option<Value> = None;
    let mut races = 0;
    for end in ends {
        let path = end["path"].as_str().unwrap_or_default();
        let output = &end["payload"]["output"]["value"];
        if path.contains("/race") {
            first.get_or_insert_with(|| output.clone());
        } else if path.contains("/step:keep") {
            assert_eq!(Some(output), first.take().as_ref(), "at event {}", end["seq"]);
            races += 1;
        }
    }
    assert_eq!(races, 25);
    check_replays(&place, "race");
}

/// A source of flows of random shape, the same ones for the same seed.
struct Shapes {
    state: u64,
    names: u32,
    blocks: String,
}

impl Shapes {
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) % end
    }

    fn name(&mut self) -> String {
        self.names += 1;
        format!("b{}", self.names)
    }

    fn handler(&mut self) -> String {
        let name = self.name();
        let mut body = String::new();
        for _ in 0..=self.below(3) {
            match self.below(10) {
                0..=3 => {
                    let ms = [0, 1, 2, 3, 5, 8, 13][self.below(7) as usize];
                    let _ = write!(body, "await sleep({ms}); ");
                }
                4 => body.push_str("await ctx.session.incState({ a: 2 }); "),
                5 => body.push_str("await ctx.session.incState({ b: 3 }); "),
                6 => {
                    let _ = write!(body, "await ctx.session.pushState(\"log\", \"{name}\"); ");
                }
                7 => body.push_str("await Promise.resolve(); await Promise.resolve(); "),
                _ => {
                    let _ = write!(body, "ctx.emit.message(\"{name}\"); ");
                }
            }
        }
        if self.below(6) == 0 {
            let _ = write!(body, "throw new Error(\"{name} failed\"); ");
        }
        let _ = writeln!(
            self.blocks,
            "const {name} = handler({{ name: \"{name}\", ...any, execute: async (input, ctx) => \
             {{ {body}return \"{name}\"; }} }});"
        );
        name
    }

    fn sequencer(&mut self, depth: u32) -> String {
        let name = self.name();
        let mut steps = String::new();
        for _ in 0..=self.below(5) {
            let step = match self.below(20) {
                _ if depth == 0 => format!(".step({})", self.handler()),
                0..=9 => format!(".step({})", self.handler()),
                10..=13 => {
                    let arms: Vec<String> =
                        (0..2 + self.below(3)).map(|n| format!("k{n}: {}", self.block(depth - 1))).collect();
                    let limit = if self.below(2) == 0 { "" } else { ", { maxConcurrency: 2 }" };
                    format!(".parallel({{ {} }}{limit})", arms.join(", "))
                }
                14..=15 => format!(".race([{}, {}])", self.block(depth - 1), self.block(depth - 1)),
                16..=17 => {
                    let limit = 1 + self.below(3);
                    format!(
                        ".map(() => [1, 2, 3, 4]).forEach({}, {{ maxConcurrency: {limit} }})",
                        self.block(depth - 1)
                    )
                }
                18 => format!(".tap({})", self.handler()),
                _ => format!(".work({})", self.handler()),
            };
            steps.push_str(&step);
        }
        if self.below(4) == 0 {
            let _ = write!(steps, ".rescue([{{ block: {} }}])", self.handler());
        }
        let _ = writeln!(self.blocks, "const {name} = sequencer({{ name: \"{name}\", inputSchema: z.any() }}){steps};");
        name
    }

    fn block(&mut self, depth: u32) -> String {
        if self.below(3) == 0 { self.handler() } else { self.sequencer(depth) }
    }
}

#[test]
fn flows_of_random_shape_replay_as_they_ran() {
    let place = Place::new();
    let kinds: Vec<String> = (0..40).map(|seed| format!("shape{seed}")).collect();
    for (seed, kind) in kinds.iter().enumerate() {
        let mut shapes = Shapes { state: seed as u64, names: 0, blocks: String::new() };
        shapes.below(1);
        let root = shapes.sequencer(3);
        place.write(&format!("flows/{kind}.ts"), flow(kind, &shapes.blocks, &root));
    }
    kinds.iter().for_each(|kind| run(&place, kind));
    kinds.iter().for_each(|kind| check_replays(&place, kind));
    assert_eq!(place.get("check --data")["ok"], true);
}

/// What a random function does that asks; `Q` is a name of its own. Those from `LOOKS` on see what others change.
const ASKS: [&str; 10] = [
    "await sleep(3); ",
    "ctx.emit.message(\"Q\"); ",
    "seen.push(await ask(ctx, \"Q\")); ",
    "seen.push(await Promise.race([ask(ctx, \"Q\"), sleep(4).then(() => \"late\")])); ",
    "seen.push(await Promise.all([ask(ctx, \"Q1\"), ask(ctx, \"Q2\")])); ",
    "seen.push(await Promise.race([ask(ctx, \"Q1\"), ask(ctx, \"Q2\")])); ",
    "void ask(ctx, \"Q\"); ",
    "void ask(ctx, \"Q1\"); try { await put(ctx, \"Q2\"); } catch { seen.push(\"caught\"); } ",
    "seen.push(look(ctx)); ",
    "await ctx.session.appendJournal({ text: \"Q\" }); seen.push((await ctx.session.getJournal()).at(-1)); ",
];
const LOOKS: u64 = 8;

impl Shapes {
    fn asking_handler(&mut self, looks: bool) -> String {
        let name = self.name();
        let mut body = String::new();
        for _ in 0..=self.below(4) {
            let question = self.name();
            let kinds = if looks { ASKS.len() as u64 } else { LOOKS };
            body.push_str(&ASKS[self.below(kinds) as usize].replace('Q', &question));
        }
        let _ = writeln!(
            self.blocks,
            "const {name} = handler({{ name: \"{name}\", ...any, execute: async (input, ctx: any) => \
             {{ const seen: any[] = []; {body}return seen; }} }});"
        );
        name
    }

    /// Steps that see all items, or functions side by side that do not look at each other.
    fn asking_chain(&mut self) -> String {
        let mut chain = "sequencer({ name: \"all\", inputSchema: z.any() })".to_owned();
        if self.below(4) == 0 {
            let _ =
                write!(chain, ".parallel({{ a: {}, b: {} }})", self.asking_handler(false), self.asking_handler(false));
            return chain;
        }
        for _ in 0..=self.below(2) {
            let _ = write!(chain, ".step({})", self.asking_handler(true));
        }
        chain
    }
}

/// Questions that are answered in any order, lose to others or to the clock, or are forgotten; and functions that look at
/// the items and the journal of their request.
#[test]
fn flows_that_ask_are_replayed_as_they_ran() {
    let asks = "const put = (ctx: any, message: string) => ctx.suspend({ reason: \"human_approval\", message });
const ask = (ctx: any, message: string) => put(ctx, message).then(() => message, () => `no ${message}`);
const look = (ctx: any) => ctx.session.items.all().map((item: any) => [item.type, item.ts]);
";
    let place = Place::new();
    for seed in 0..20 {
        let kind = format!("asks{seed}");
        let mut shapes = Shapes { state: 1000 + seed, names: 0, blocks: asks.to_owned() };
        shapes.below(1);
        let root = shapes.asking_chain();
        place.write(&format!("flows/{kind}.ts"), flow(&kind, &shapes.blocks, &root));
        let begin = ["run", &kind, "go", "--user", "ada", "--session", &kind, "--request", &kind, "--input", "1"];
        let mut code = place.run(&begin).code;
        for _ in 0..40 {
            check_replays(&place, &kind);
            if code != Some(4) {
                break;
            }
            let all = place.get(&format!("suspensions --session {kind}"));
            let is_open = |one: &&Value| one["status"] == "pending";
            let open: Vec<&Value> = all.as_array().into_iter().flatten().filter(is_open).collect();
            assert!(!open.is_empty(), "{kind} waits for nothing");
            let chosen = open[shapes.below(open.len() as u64) as usize]["id"].as_str().unwrap_or_default();
            let how = if shapes.below(3) == 0 { "--reject" } else { "--approve" };
            code = place.ask(&format!("resume {kind} {how} --suspension {chosen}")).code;
        }
        assert_eq!(code, Some(0), "{kind}");
    }
    assert_eq!(place.get("check --data")["ok"], true);
}

/// Two models side by side, whose tools read and write one record, and a process that dies while they speak. A tool that
/// had ended began before the other one wrote: a replay of the request that was resumed found it after that.
#[test]
fn tools_that_a_resume_keeps_are_replayed_where_they_were() {
    let flow = r#"
const slow = handler({ name: "slow", inputSchema: z.object({ ms: z.number() }), execute: async ({ ms }, ctx: any) => {
  await new Promise((done) => setTimeout(done, ms));
  await ctx.session.incState({ n: 1 });
  return ctx.session.state.n;
} });
const bot = (name: string) => generator({ name, model: "m", prompt: "p", user: () => "u", tools: [slow] });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: { run: { block: sequencer({ name: "both" }).parallel({ a: bot("one"), b: bot("two") }) } },
});"#;
    let answers = |ms: u64| {
        json!([
            { "toolCalls": [{ "name": "slow", "args": { "ms": ms } }] },
            { "text": "a text that takes its time", "chunkMs": 200 },
        ])
    };
    let mock = json!({ "generators": { "one": answers(100), "two": answers(250) } });
    let place = Place::with_flow(flow).file("flows/main.mock.json", &mock.to_string());
    let going = place.start("run main run --user ada --session s --request r --mock");
    place.until("that both tools have ended", |place| {
        let ended = place.ask("events r --kind block_finished");
        (ended.code == Some(0) && ended.json().as_array().is_some_and(|all| all.len() == 2)).then_some(())
    });
    going.kill();
    let resumed = place.get("resume r --mock");
    assert_eq!(resumed["status"], "completed", "{resumed}");
    let replay = place.ask("replay r");
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(0), &json!(true)), "{replay}");
}

/// A request that was aborted while a model spoke: the replay has no reply of the model to compare the words with.
#[test]
fn words_that_an_abort_cut_off_are_no_difference() {
    let flow = r#"
const bot = generator({ name: "bot", model: "m", prompt: "p", user: () => "u" });
export default defineFlow({ kind: "main", actions: { run: { block: bot } } });"#;
    let mock = json!({ "generators": { "bot": [{ "text": "one two three four five six seven", "chunkMs": 600 }] } });
    let place = Place::with_flow(flow).file("flows/main.mock.json", &mock.to_string());
    let going = place.start("run main run --user ada --session s --request r --mock");
    place.until_status("r", "in_progress");
    // What a model says is stored with the next commit, so it cannot be waited for; without words the test holds, too.
    std::thread::sleep(std::time::Duration::from_millis(1500));
    place.get("abort r");
    going.ended();
    let replay = place.ask("replay r");
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(0), &json!(true)), "{replay}");
}
