//! Questions of blocks that are tried again: each try asks for itself, and its answer stays what it was.

use serde_json::{Value, json};
use tests::bench::Place;

/// Each try asks something else, and refuses every answer but "yes".
const FLOW: &str = r#"
const retry = { maxAttempts: 3, baseDelayMs: 1 };
const asks = async (_input: any, ctx: any) => {
  const given: any = await ctx.suspend({ reason: "human_input", message: `try ${ctx.attempt}`, resumeSchema: z.object({ say: z.string() }) });
  if (given.say !== "yes") throw new Error(`refused "${given.say}"`);
  return `${ctx.attempt}: ${given.say}`;
};
const ask = handler({ name: "ask", retry, execute: asks });
const chain = (name: string, more = {}) => sequencer({ name, inputSchema: z.any(), ...more });
const counted = handler({ name: "counted", execute: async (_input: any, ctx: any) => {
  await ctx.request.incState({ tries: 1 });
  return ctx.request.state.tries;
} });
const askTry = handler({ name: "askTry", execute: async (input: any, ctx: any) => {
  const given: any = await ctx.suspend({ reason: "human_input", message: `try ${input - 1}`, resumeSchema: z.object({ say: z.string() }) });
  if (given.say !== "yes") throw new Error(`refused "${given.say}"`);
  return `${input - 1}: ${given.say}`;
} });
export default defineFlow({
  kind: "main",
  request: { stateSchema: z.object({ tries: z.number().default(0) }) },
  actions: {
    handler: { block: chain("top").step(ask) },
    chain: { block: chain("top").step(chain("tried", { retry }).step(counted).step(askTry)) },
    callback: { block: chain("top").step(chain("tried", { retry }).map(async (_v: any, ctx: any) => {
      await ctx.request.incState({ tries: 1 });
      return ctx.request.state.tries;
    }).map(async (tries: number, ctx: any) => {
      const given: any = await ctx.suspend({ reason: "human_input", message: `try ${tries - 1}`, resumeSchema: z.object({ say: z.string() }) });
      if (given.say !== "yes") throw new Error(`refused "${given.say}"`);
      return `${tries - 1}: ${given.say}`;
    })) },
  },
});
"#;

const ACTIONS: [&str; 3] = ["handler", "chain", "callback"];

/// The questions of the request, oldest first: what they show and how they stand.
fn questions(place: &Place) -> Vec<(Value, Value)> {
    let all = place.get("suspensions --session s");
    let shown = all.as_array().expect("a list").iter().rev();
    shown.map(|one| (one["message"].clone(), one["status"].clone())).collect()
}

fn say(place: &Place, request: &str, word: &str, code: i32) {
    let answer = place.ask(&format!(r#"resume {request} --submit {{"say":"{word}"}}"#));
    assert_eq!(answer.code, Some(code), "{word}\n{answer}");
}

#[track_caller]
fn is_sound(place: &Place, request: &str) {
    let replay = place.get(&format!("replay {request}"));
    assert_eq!(replay["identical"], true, "{replay:#}");
    assert_eq!(place.get("check --data")["ok"], true);
}

fn asked(action: &str) -> Place {
    let place = Place::with_flow(FLOW);
    let ran = place.ask(&format!("run main {action} --user ada --session s --request r --input 1"));
    assert_eq!(ran.code, Some(4), "{action}\n{ran}");
    place
}

/// The first question was shown as expired, and a replay gave its answer to the second.
#[test]
fn each_try_asks_for_itself() {
    for action in ACTIONS {
        let place = asked(action);
        say(&place, "r", "no", 4);
        let both = [(json!("try 0"), json!("submitted")), (json!("try 1"), json!("pending"))];
        assert_eq!(questions(&place), both, "{action}");
        assert_eq!(place.get("events r --kind drift"), json!([]), "{action}");
        is_sound(&place, "r");
        say(&place, "r", "never", 4);
        say(&place, "r", "yes", 0);
        assert_eq!(place.get("show r")["output"], "2: yes", "{action}");
        let all = ["try 0", "try 1", "try 2"].map(|message| (json!(message), json!("submitted")));
        assert_eq!(questions(&place), all, "{action}");
        is_sound(&place, "r");
    }
}

/// A person who has said yes to something is not asked the same again because something else failed after that.
#[test]
fn the_same_question_is_asked_once_for_all_tries() {
    let flow = r#"
const ask = handler({ name: "ask", retry: { maxAttempts: 2, baseDelayMs: 1 }, execute: async (_input: any, ctx: any) => {
  await ctx.suspend({ reason: "approval", message: "pay?" });
  if (ctx.attempt === 0) throw new Error("the network is down");
  return ctx.attempt;
} });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "top", inputSchema: z.any() }).step(ask) } } });
"#;
    let place = Place::with_flow(flow);
    assert_eq!(place.ask("run main go --user ada --session s --request r --input 1").code, Some(4));
    let resumed = place.get("resume r --approve");
    assert_eq!(resumed["output"], 1, "{resumed:#}");
    assert_eq!(questions(&place), [(json!("pay?"), json!("approved"))]);
    is_sound(&place, "r");
}

/// If a chain is retried, its arm asks a new question; nothing waits for the old one.
#[test]
fn a_question_of_a_failed_try_is_over() {
    let flow = r#"
const ask = handler({ name: "ask", execute: async (_input: any, ctx: any) => {
  await ctx.suspend({ reason: "approval", message: "go on?" });
  return "on";
} });
const flaky = handler({ name: "flaky", execute: async (_input: any, ctx: any) => {
  await ctx.request.incState({ calls: 1 });
  if (ctx.request.state.calls === 1) throw new Error("once more");
  return "fine";
} });
const chain = sequencer({ name: "tried", inputSchema: z.any(), retry: { maxAttempts: 2, baseDelayMs: 1 } })
  .parallel({ ask, flaky });
export default defineFlow({
  kind: "main",
  request: { stateSchema: z.object({ calls: z.number().default(0) }) },
  actions: { go: { block: sequencer({ name: "top", inputSchema: z.any() }).step(chain) } },
});
"#;
    let place = Place::with_flow(flow);
    assert_eq!(place.ask("run main go --user ada --session s --request r --input 1").code, Some(4));
    let before = [(json!("go on?"), json!("expired")), (json!("go on?"), json!("pending"))];
    assert_eq!(questions(&place), before);
    let resumed = place.get("resume r --approve");
    assert_eq!(resumed["output"], json!({ "ask": "on", "flaky": "fine" }), "{resumed:#}");
    assert_eq!(place.get("check --data")["ok"], true);
}

/// A fork of a request that is in its second try asks the question of that try.
#[test]
fn a_fork_asks_what_its_try_asks() {
    let place = asked("chain");
    say(&place, "r", "no", 4);
    let fork = place.ask("fork r --at root/step:tried/step:counted");
    assert_eq!(fork.code, Some(4), "{fork}");
    let fork = fork.json();
    let own = fork["requestId"].as_str().expect("an id").to_owned();
    assert_eq!(fork["suspensions"][0]["message"], "try 1", "{fork:#}");
    say(&place, &own, "yes", 0);
    assert_eq!(place.get(&format!("show {own}"))["output"], "1: yes");
}
