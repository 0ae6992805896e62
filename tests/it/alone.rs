//! Only what is asked is run again: a question about a line runs the executions of blocks that reached it, and has the
//! answer of one that runs the whole request.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

/// Blocks in all the places from which one is run by itself: chains, branches side by side, lists, loops, nested runs.
const FLOW: &str = r#"const RATES = { small: 2, large: 3 };
const rate = (n: number) => {
  const key = n > 500 ? "large" : "small";
  return RATES[key] * n;
};
const item = handler({ name: "item", inputSchema: z.number(), outputSchema: z.number(), execute: async (n, ctx) => {
  const own = rate(n);
  await ctx.session.incState({ sum: own });
  if (n === 500) {
    const sum = ctx.session.state.sum;
    return sum;
  }
  return own;
} });
const last = handler({ name: "last", inputSchema: z.any(), outputSchema: z.any(), execute: async (input, ctx) => {
  const drawn = Math.random();
  const state = { ...ctx.session.state };
  return { count: input.length, sum: state.sum, drawn };
} });
const arm = (name: string, ms: number) => handler({ name, inputSchema: z.number(), outputSchema: z.number(), execute: async (n) => {
  await new Promise((done) => setTimeout(done, ms));
  const twice = n * 2 + ms;
  return twice;
} });
const inner = handler({ name: "inner", inputSchema: z.number(), outputSchema: z.number(), execute: (n) => {
  const more = n + 1;
  return more;
} });
const outer = handler({ name: "outer", inputSchema: z.number(), outputSchema: z.number(), execute: async (n, ctx) => {
  const first = await inner.run(n, ctx);
  const second = await inner.run(first, ctx);
  return second;
} });
const fails = handler({ name: "fails", inputSchema: z.number(), outputSchema: z.number(), execute: (n) => {
  const wrong = n - 1;
  throw new Error(`no ${wrong}`);
} });
const numbers = z.array(z.number());
export default defineFlow({
  kind: "f",
  session: { stateSchema: z.object({ sum: z.number().default(0) }) },
  actions: {
    list: { inputSchema: numbers, block: sequencer({ name: "list", inputSchema: numbers })
      .forEach(item, { maxConcurrency: 1 }).step(last) },
    crowd: { inputSchema: numbers, block: sequencer({ name: "crowd", inputSchema: numbers }).forEach(item).step(last) },
    wide: { inputSchema: z.number(), block: sequencer({ name: "wide", inputSchema: z.number() })
      .map((n: number) => {
        const seven = n + 7;
        return seven;
      })
      .parallel({ a: arm("a", 3), b: arm("b", 1), c: arm("c", 2) }) },
    nest: { inputSchema: z.number(), block: sequencer({ name: "nest", inputSchema: z.number() }).step(outer) },
    fail: { inputSchema: z.number(), block: sequencer({ name: "fail", inputSchema: z.number() }).step(inner).step(fails) },
  },
});
"#;

/// The line of the flow's file on which a text begins; the usual imports are two lines.
#[track_caller]
fn line(text: &str) -> usize {
    FLOW.lines().position(|line| line.trim_start().starts_with(text)).expect("it is there") + 3
}

fn place(action: &str, input: &Value) -> Place {
    let place = Place::with_flow(FLOW);
    place.run(&["run", "f", action, "--user", "ada", "--request", "r", "--input", &input.to_string()]);
    place
}

fn print(place: &Place, line: usize, rest: &[&str]) -> Answer {
    let at = format!("flows/main.ts:{line}");
    place.run(&[&["--json", "print", at.as_str()], rest].concat())
}

/// The answer of a question, after that of the whole request was found to be the same; and how many executions ran.
#[track_caller]
fn both(place: &Place, line: usize, rest: &[&str]) -> (Value, u64) {
    let mut alone = print(place, line, &[rest, &["--alone"]].concat()).json();
    let mut whole = print(place, line, rest).json();
    let ran = |answer: &mut Value| answer.as_object_mut().and_then(|answer| answer.remove("ran"));
    let (few, all) = (ran(&mut alone), ran(&mut whole));
    // How many there are is known by the coverage; a whole request that a limit ends only knows how many there are at
    // least.
    let is_at_least = whole.as_object_mut().and_then(|whole| whole.remove("totalIsAtLeast")).is_some();
    if is_at_least {
        assert!(whole["total"].as_u64() <= alone["total"].as_u64());
        whole["total"] = alone["total"].clone();
    }
    assert_eq!(alone, whole, "line {line}");
    let count = |ran: Option<Value>| ran.and_then(|ran| ran.as_u64()).expect("how many ran");
    let (few, all) = (count(few), count(all));
    assert!(few <= all, "{few} of {all}");
    (alone, few)
}

#[test]
fn of_a_thousand_executions_only_the_one_that_is_asked_runs() {
    let numbers: Vec<u64> = (1..=1000).collect();
    let place = place("list", &json!(numbers));
    let (found, ran) = both(&place, line("return sum;"), &["sum", "n"]);
    assert_eq!((found["total"].clone(), ran), (json!(1), 1));
    // What the items before it have written is in the state that it found.
    let sum: u64 = (1..=500).map(|n| 2 * n).sum();
    assert_eq!(found["hits"][0]["values"][0]["json"], json!(sum), "{found}");
    let (found, ran) = both(&place, line("return { count"), &["input.length", "state", "drawn"]);
    assert_eq!((found["hits"][0]["values"][0]["json"].clone(), ran), (json!(1000), 1));
    // Ten of them, and then as many as there are: those are too many for one by one.
    let (found, ran) = both(&place, line("const own"), &["n", "--limit", "9"]);
    assert_eq!((found["total"].clone(), ran), (json!(1000), 10), "{found}");
    let (found, _) = both(&place, line("const own"), &["n", "--limit", "2000"]);
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1000));
}

/// What another one has written is there for a block at once, and not at which of its statements that was.
#[test]
fn of_a_list_whose_blocks_write_at_the_same_time_all_run() {
    let numbers: Vec<u64> = (400..=600).collect();
    let place = place("crowd", &json!(numbers));
    let (found, ran) = both(&place, line("return sum;"), &["n", "ctx.session.state.sum"]);
    assert_eq!(found["hits"][0]["values"][0]["json"], json!(500));
    assert!(ran > 200, "{ran}");
    let (_, ran) = both(&place, line("return { count"), &["input"]);
    assert_eq!(ran, 1);
}

#[test]
fn a_line_that_was_not_reached_runs_nothing() {
    let place = place("list", &json!([1, 2]));
    let (found, ran) = both(&place, line("return sum;"), &["sum"]);
    assert_eq!((found["total"].clone(), ran), (json!(0), 0), "{found}");
    assert!(found["note"].as_str().is_some_and(|note| note.contains("never reached")), "{found}");
}

#[test]
fn blocks_side_by_side_run_one_by_one() {
    let place = place("wide", &json!(5));
    let (found, ran) = both(&place, line("const twice"), &["n", "ms"]);
    assert_eq!((found["total"].clone(), ran), (json!(3), 3), "{found}");
    let (found, ran) = both(&place, line("const twice"), &["n", "name", "--if", "ms === 2"]);
    assert_eq!((found["hits"][0]["values"][1]["json"].clone(), ran), (json!("c"), 3), "{found}");
    let (_, ran) = both(&place, line("return seven"), &["seven"]);
    assert_eq!(ran, 1, "a function of the chain runs with the chain, and its branches come from the log");
}

#[test]
fn blocks_that_functions_run_and_failures_are_answered_all_the_same() {
    let place = place("nest", &json!(1));
    both(&place, line("const more"), &["n"]);
    both(&place, line("return second"), &["first", "second"]);
    let place = self::place("fail", &json!(4));
    let (found, ran) = both(&place, line("throw new"), &["wrong"]);
    assert_eq!((found["hits"][0]["values"][0]["json"].clone(), ran), (json!(4), 1), "{found}");
}

#[test]
fn steps_are_the_same_whether_the_block_or_the_request_runs() {
    let place = place("wide", &json!(5));
    for at in ["root/parallel/a", "root/parallel/b#0+2", "root/parallel/c#0+3"] {
        for to in [&["--over"][..], &["--back"], &["--out"], &["--until", "twice > 0"], &["--watch", "n + ms"]] {
            let args = [&["--json", "step", "r", "--at", at], to].concat();
            let alone = place.run(&[&args[..], &["--alone"]].concat());
            let whole = place.run(&args);
            assert_eq!(alone.code, Some(0), "{alone}");
            assert_eq!(alone.json(), whole.json(), "{at} {to:?}");
        }
    }
}

/// A file that counts its calls.
const COUNTS: &str = r#"let calls = 0;
const count = handler({ name: "count", inputSchema: z.number(), outputSchema: z.number(), execute: (n) => {
  calls += 1;
  return calls + n;
} });
export default defineFlow({ kind: "f", actions: { go: { inputSchema: z.number(), block:
  sequencer({ name: "s", inputSchema: z.number() }).step(count).step(count).step(count) } } });
"#;

#[test]
fn what_a_file_keeps_from_block_to_block_is_found() {
    let place = Place::with_flow(COUNTS);
    place.ask("run f go --user ada --request r --input 0");
    let found = print(&place, 6, &["calls"]).json();
    let calls: Vec<&Value> =
        found["hits"].as_array().into_iter().flatten().map(|hit| &hit["values"][0]["json"]).collect();
    assert_eq!(calls, [&json!(1), &json!(2), &json!(3)], "{found}");
    let third = place.get("step r --at root/step:count~3#0+2 --watch calls");
    assert_eq!(third["watches"][0]["json"], json!(3), "{third}");
}

#[test]
fn what_is_known_of_a_request_is_kept_for_that_log_and_that_code() {
    let place = place("list", &json!([1, 500]));
    let kept = || {
        let folder = place.dir().join(".flowglass/cache/coverage");
        std::fs::read_dir(folder).map(|entries| entries.count()).unwrap_or_default()
    };
    let (before, ran) = both(&place, line("return sum;"), &["sum"]);
    assert_eq!((kept(), ran), (1, 1));
    let (again, _) = both(&place, line("return sum;"), &["sum"]);
    assert_eq!((again, kept()), (before.clone(), 1));
    // A damaged file is made again.
    for entry in std::fs::read_dir(place.dir().join(".flowglass/cache/coverage")).expect("it is there").flatten() {
        std::fs::write(entry.path(), "{").expect("it is writable");
    }
    let (mended, ran) = both(&place, line("return sum;"), &["sum"]);
    assert_eq!((mended, ran), (before, 1));
}
