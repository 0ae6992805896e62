//! Steps through a block of a past run, forward and back: `step` shows an instant inside a block, with its place in the
//! code, the values there, and the stack.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

/// Everything that makes stepping hard: calls, recursion, closures, `await`, generators, `try/finally`, loops.
const FLOW: &str = r#"function depth(n: number): number {
  if (n === 0) return 0;
  const below = depth(n - 1);
  return below + 1;
}
function* numbers(to: number) {
  for (let n = 0; n < to; n++) {
    try {
      yield n;
    } finally {
      depth(0);
    }
  }
}
const wait = async (n: number) => {
  await Promise.resolve();
  const made = n * 2;
  return made;
};
const hard = handler({ name: "hard", inputSchema: z.number(), outputSchema: z.any(), execute: async (input) => {
  const out: number[] = [];
  for (const n of numbers(input)) {
    out.push(await wait(n));
  }
  const adders = out.map((n) => () => n + 1);
  while (out.length > 2) out.pop();
  const deep = depth(2);
  return { deep, sum: adders.reduce((sum, add) => sum + add(), 0) };
} });
const side = (name: string) => handler({ name, inputSchema: z.number(), outputSchema: z.number(), execute: async (n) => {
  let own = n;
  for (let i = 0; i < 3; i++) {
    own += i;
    await new Promise((done) => setTimeout(done, 1));
  }
  return own;
} });
const fails = handler({ name: "fails", inputSchema: z.number(), outputSchema: z.number(), execute: (n) => {
  const list: number[][] = [];
  try {
    depth(1);
  } finally {
    list.pop();
  }
  const found = list[n].length;
  return found;
} });
export default defineFlow({ kind: "f", actions: {
  hard: { inputSchema: z.number(), block: hard },
  side: { inputSchema: z.number(), block: sequencer({ name: "s", inputSchema: z.number() }).parallel({ a: side("a"), b: side("b") }) },
  fails: { inputSchema: z.number(), block: sequencer({ name: "s", inputSchema: z.number() }).step(fails) },
} });
"#;

fn place(action: &str) -> Place {
    let place = Place::with_flow(FLOW);
    place.ask(&format!("run f {action} --user ada --request r --input 3"));
    place
}

fn step(place: &Place, at: &str, args: &[&str]) -> Answer {
    place.run(&[&["--json", "step", "r", "--at", at], args].concat())
}

#[track_caller]
fn at(place: &Place, at: &str, args: &[&str]) -> Value {
    let answer = step(place, at, args);
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.json()
}

/// What of an instant must be the same whichever way leads there.
fn seen(instant: &Value) -> Value {
    json!([
        instant["instant"],
        instant["line"],
        instant["column"],
        instant["locals"],
        instant["stack"],
        instant["ended"]
    ])
}

#[test]
fn a_step_back_is_the_inverse_of_a_step() {
    let place = place("hard");
    let ticks = at(&place, "root#0+1", &[])["ticks"].as_u64().expect("a number");
    assert!(ticks > 40, "{ticks}");
    let mut last = at(&place, "root#0+0", &[]);
    assert_eq!(last["ended"], "start");
    // Every third, because each is a process.
    for tick in (1..=ticks + 1).step_by(3) {
        let here = at(&place, &format!("root#0+{tick}"), &[]);
        let next = at(&place, &format!("root#0+{}", tick - 1), &["--into"]);
        assert_eq!(seen(&here), seen(&next), "{tick}");
        if tick <= ticks {
            let back = at(&place, &format!("root#0+{}", tick + 1), &["--back"]);
            assert_eq!(seen(&here), seen(&back), "{tick}");
        }
        last = here;
    }
    assert_eq!(at(&place, &format!("root#0+{ticks}"), &["--into"])["ended"], "end", "{last}");
}

/// Where a step leads: the line and the function.
#[track_caller]
fn leads(place: &Place, from: &Value, args: &[&str], line: u64, function: &str) -> Value {
    let to = at(place, from["instant"].as_str().expect("an instant"), args);
    assert_eq!((to["line"].as_u64(), to["function"].as_str()), (Some(line), Some(function)), "{args:?} from {from}");
    to
}

#[test]
fn steps_over_and_out_stay_in_their_function() {
    let place = place("hard");
    let start = at(&place, "root", &[]);
    assert_eq!(start["line"], 23);
    let deep = leads(&place, &start, &["--to", "29"], 29, "execute");
    let inner = leads(&place, &deep, &["--into"], 4, "depth");
    assert_eq!(inner["locals"], json!([{ "name": "n", "value": { "kind": "number", "preview": "2", "json": 2 } }]));
    let below = leads(&place, &inner, &["--over"], 5, "depth");
    let inmost = leads(&place, &below, &["--until", "n === 0"], 4, "depth");
    let lines: Vec<u64> =
        inmost["stack"].as_array().into_iter().flatten().filter_map(|frame| frame["line"].as_u64()).collect();
    assert_eq!(lines, [4, 5, 5, 29], "{inmost}");
    leads(&place, &inmost, &["--back-out"], 5, "depth");
    let out = leads(&place, &below, &["--over"], 6, "depth");
    assert_eq!(out["locals"][1], json!({ "name": "below", "value": { "kind": "number", "preview": "1", "json": 1 } }));
    let caller = leads(&place, &out, &["--out"], 30, "execute");
    leads(&place, &caller, &["--back-over"], 29, "execute");
    leads(&place, &caller, &["--back-to", "25"], 25, "execute");
}

#[test]
fn a_step_over_an_await_stays_in_its_function() {
    let place = place("hard");
    let first = at(&place, "root", &["--to", "25"]);
    leads(&place, &first, &["--into"], 18, "wait");
    let turn = leads(&place, &first, &["--over"], 24, "execute");
    let again = leads(&place, &turn, &["--over"], 25, "execute");
    let value = |instant: &Value| {
        let locals = instant["locals"].as_array().expect("locals");
        locals.iter().find(|local| local["name"] == "out").map(|local| local["value"]["preview"].clone())
    };
    assert_eq!((value(&first), value(&again)), (Some(json!("[]")), Some(json!("[0]"))));
}

#[test]
fn blocks_that_ran_side_by_side_count_apart() {
    let place = place("side");
    let events = place.get("events r --kind block_started");
    let known: Vec<&str> = events.as_array().into_iter().flatten().filter_map(|event| event["path"].as_str()).collect();
    for path in known.iter().filter(|path| path.contains("parallel")) {
        let last = at(&place, &format!("{path}#0+13"), &[]);
        assert_eq!((&last["ticks"], &last["line"]), (&json!(15), &json!(36)), "{path}: {last}");
        assert_eq!(at(&place, &format!("{path}#0+15"), &["--watch", "own + 0"])["watches"][0]["json"], 6);
    }
}

#[test]
fn a_failed_block_opens_at_the_statement_that_threw() {
    let place = place("fails");
    let thrown = at(&place, "root/step:fails", &[]);
    assert_eq!((&thrown["line"], &thrown["function"]), (&json!(47), &json!("execute")), "{thrown}");
    assert_eq!(thrown["error"]["message"], "Cannot read properties of undefined (reading 'length')");
    assert_eq!(thrown["locals"][1]["name"], "list");
    let after = at(&place, "root/step:fails", &["--over"]);
    assert_eq!((&after["ended"], &after["tick"]), (&json!("error"), &json!(thrown["ticks"].as_u64().unwrap_or(0) + 1)));
    assert_eq!(at(&place, "root/step:fails", &["--back-over"])["line"], 45);
}

#[test]
fn what_is_not_there_is_said() {
    let place = place("fails");
    let said = |at: &str, args: &[&str]| {
        let answer = step(&place, at, args);
        (answer.code, answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    let expected = "block root ran no statement of a function: step into a handler, like root/step:fails";
    assert_eq!(said("root", &[]), (Some(6), format!("request \"r\": {expected}")));
    assert_eq!(said("nowhere", &[]), (Some(6), "request \"r\" has no block at nowhere".to_owned()));
    let near = "request \"r\" has no block at root/fails; there are: root/step:fails".to_owned();
    assert_eq!(said("root/fails", &[]), (Some(6), near));
    for line in ["0", "900", "49"] {
        let (code, message) = said("root/step:fails#0+1", &["--to", line]);
        assert!(code == Some(2) && message.contains("main.ts"), "{line}: {message}");
    }
    assert_eq!(said("root/step:fails#7", &[]).0, Some(6));
    let (code, message) = said("root/step:fails#0+900", &[]);
    assert_eq!(code, Some(6));
    assert!(message.contains("ran 9 statements: there is no +900"), "{message}");
    assert_eq!(said("", &[]).0, Some(2));
    assert_eq!(said("root/step:fails", &["--until", "1 +"]).0, Some(2));
    assert_eq!(said("root/step:fails", &["--into", "--back"]).0, Some(2));
    let never = at(&place, "root/step:fails#0+1", &["--until", "false"]);
    assert_eq!(never["ended"], "error", "it never holds, so the block ends");
    assert_eq!(never["note"], "the expression holds at no later statement of this block");
}

/// The state as the block sees it: what it wrote itself is there before it is in force.
#[test]
fn a_step_shows_the_state_that_the_block_sees() {
    let place = Place::with_flow(
        r#"const write = handler({ name: "write", inputSchema: z.any(), sessionStateSchema: z.object({ sum: z.number().default(0) }),
  execute: async (input, ctx) => {
    await ctx.session.incState({ sum: -17 });
    const after = ctx.session.state.sum;
    return after;
  } });
export default defineFlow({ kind: "f", session: { stateSchema: z.object({ sum: z.number().default(0) }) },
  actions: { go: { inputSchema: z.any(), block: write } } });
"#,
    );
    place.get("run f go --user ada --request r");
    let session = |at: &str| {
        let instant = place.get(&format!("step r --at {at}"));
        let scopes = instant["state"].as_array().cloned().unwrap_or_default();
        scopes.into_iter().find(|scope| scope["scope"] == "session").unwrap_or_default()
    };
    assert_eq!(session("root#0+1")["value"]["sum"], 0);
    let pending = session("root#0+3");
    assert_eq!((&pending["value"]["sum"], &pending["notInForce"]), (&json!(-17), &json!(["sum"])), "{pending}");
    let told = place.run(&["step", "r", "--at", "root#0+3"]).stdout;
    assert!(told.contains("session state  {\"sum\":-17}  (not committed yet: sum)"), "{told}");
    let prompt = place.run_with(&["debug", "r", "--at", "root#0+3"], "where\nlocals\n").stdout;
    assert_eq!(prompt.matches("not committed yet: sum").count(), 2, "{prompt}");
}

/// The object of a method is one of its locals.
#[test]
fn a_method_shows_its_object() {
    let place = Place::with_flow(
        r#"class Money {
  constructor(readonly eur: number) {}
  get cents() { return this.eur * 100; }
  times(n: number) { return [1].map(() => new Money(this.eur * n)); }
}
const go = handler({ name: "go", inputSchema: z.any(), outputSchema: z.any(), execute: () => {
  const money = new Money(3);
  const more = money.times(2);
  return money.cents + more.length;
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.any(), block: go } } });
"#,
    );
    place.get("run f go --user ada --request r");
    let shown = |line: u32, name: &str| -> Option<String> {
        let at = place.get(&format!("step r --at root --to {line}"));
        let locals = at["locals"].as_array()?;
        let found = locals.iter().find(|local| local["name"] == name)?;
        found["value"]["preview"].as_str().map(str::to_owned)
    };
    assert_eq!(shown(5, "this").as_deref(), Some("Money {eur: 3}"));
    assert_eq!((shown(11, "this"), shown(11, "money").as_deref()), (None, Some("Money {eur: 3}")));
    let inside = place.get("step r --at root --until n===2&&this.eur===3");
    assert_eq!((&inside["line"], &inside["locals"][0]["name"]), (&json!(6), &json!("this")), "{inside}");
}

/// Who called a function is known also after an `await`, when the runtime's stack has forgotten it.
#[test]
fn the_stack_leads_through_await() {
    let place = Place::with_flow(
        r#"const inner = async (n: number) => {
  await null;
  throw new Error("no " + n);
};
const outer = async (n: number) => {
  await null;
  const got = await inner(n);
  return got;
};
const fails = handler({ name: "fails", inputSchema: z.number(), execute: async (n) => {
  const got = await outer(n);
  return got;
} });
const short = handler({ name: "short", inputSchema: z.number(), execute: async (n) => n + 1 });
export default defineFlow({ kind: "f", actions: {
  go: { inputSchema: z.number(), block: fails }, short: { inputSchema: z.number(), block: short } } });
"#,
    );
    place.ask("run f go --user ada --request r --input 3");
    let stack = |instant: &Value| -> Value {
        let frames = instant["stack"].as_array().into_iter().flatten();
        frames.map(|frame| json!([frame["function"], frame["line"]])).collect()
    };
    let thrown = at(&place, "root", &[]);
    assert_eq!(stack(&thrown), json!([["inner", 5], ["outer", 9], ["execute", 13]]), "{thrown}");
    place.ask("run f short --user ada --request s --input 3");
    let short = place.get("step s --at root#0+1");
    assert_eq!(stack(&short), json!([["execute", 16]]), "{short}");
}

#[test]
fn lines_are_counted() {
    let place = place("hard");
    let covered = place.get("coverage r --file flows/main.ts");
    let hits = |line: u64| {
        let lines = covered[0]["lines"].as_array().expect("lines");
        lines.iter().find(|covered| covered["line"] == line).map(|covered| covered["hits"].clone())
    };
    assert_eq!(
        (hits(4), hits(11), hits(25), hits(30)),
        (Some(json!(6)), Some(json!(3)), Some(json!(3)), Some(json!(1)))
    );
    assert_eq!((hits(35), hits(27)), (Some(json!(0)), Some(json!(1))), "{covered}");
    assert_eq!((hits(9), hits(24), hits(10)), (Some(json!(4)), Some(json!(4)), None), "a head runs with each turn");
    assert_eq!(place.ask("coverage r --file flows/other.ts").code, Some(6));
    assert_eq!(place.ask("coverage nothing").code, Some(6));
}
