//! Flows of unusual size: the right result, or an error that names the limit; never a hang or a lost stack.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const inc = handler({ name: "inc", execute: (n) => n + 1 });
let chain = sequencer({ name: "chain" });
for (let n = 0; n < 2000; n++) chain = chain.step(inc);
const nested = (depth) => (depth === 0 ? inc : sequencer({ name: `level ${depth}` }).step(nested(depth - 1)));
const branches = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`branch ${n}`, inc]));
const large = sequencer({
  name: "large",
  stateSchema: z.object({ text: z.string().default(""), n: z.number().default(0) }),
})
  .tap(async (_, ctx) => ctx.sequencer.patchState({ text: "x".repeat(10_000_000) }))
  .tap(async (_, ctx) => ctx.sequencer.incState({ n: 1 }))
  .map((_, ctx) => ctx.sequencer.state.text.length + ctx.sequencer.state.n);
// QuickJS frees a half-made bound function when it is refused memory, which ended the process.
const bind = () => {
  const many = new Array(50000).fill(0), all = [], one = () => 1;
  for (;;) all.push(one.bind(null, ...many));
};
const sink = (depth) => 1 + sink(depth + 1);

export default defineFlow({
  kind: "limits",
  actions: {
    chain: { block: chain },
    nested200: { block: nested(200) },
    nested900: { block: nested(900) },
    parallel: { block: sequencer({ name: "wide" }).parallel(branches).map((made) => Object.keys(made).length) },
    large: { block: large },
    memory: { block: handler({ name: "bind", execute: bind }) },
    caught: { block: handler({ name: "caught", execute: () => { for (;;) try { bind(); } catch {} } }) },
    recursion: { block: handler({ name: "sink", execute: () => sink(0) }) },
  },
});
"#;

#[track_caller]
fn check(action: &str, output: Value) {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.get(&format!("run limits {action} --user ada --input 1"))["output"], output);
}

#[track_caller]
fn check_failure(action: &str, name: &str, words: &str) {
    let place = Place::with_flow(FLOW);
    let answer = place.run(&["run", "limits", action, "--user", "ada", "--input", "1", "--json"]);
    assert_eq!(answer.code, Some(3), "{answer}");
    let error = &answer.json()["error"];
    assert_eq!(error["name"], json!(name), "{answer}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains(words)), "{answer}");
}

#[test]
fn a_chain_of_two_thousand_steps() {
    check("chain", json!(2001));
}

#[test]
fn blocks_nested_two_hundred_deep() {
    check("nested200", json!(2));
}

#[test]
fn blocks_nested_too_deep_are_told_so() {
    check_failure("nested900", "LimitError", "nested deeper than 300 levels");
}

#[test]
fn a_thousand_parallel_branches() {
    check("parallel", json!(1000));
}

#[test]
fn ten_megabytes_of_state() {
    check("large", json!(10_000_001));
}

#[test]
fn recursion_without_end() {
    check_failure("recursion", "RangeError", "Maximum call stack size exceeded");
}

#[test]
fn functions_without_end() {
    check_failure("memory", "LimitError", "more than 256 MB of memory");
}

/// No handler of the author sees that the limit was passed.
#[test]
fn a_limit_that_the_flow_catches() {
    check_failure("caught", "LimitError", "more than 256 MB of memory");
}

/// It ended the window at each start.
#[test]
fn memory_without_end_at_the_top_level_of_a_file() {
    let place = Place::with_flow(FLOW);
    place.write(
        "flows/top.ts",
        "const many = new Array(50000).fill(0), all = [], one = () => 1;\nfor (;;) all.push(one.bind(null, ...many));",
    );
    let flows = place.ask("flows");
    assert_eq!(flows.code, Some(0), "{flows}");
    assert!(flows.stdout.contains("LimitError: used more than 256 MB of memory"), "{flows}");
    assert_eq!(place.get("run limits chain --user ada --input 1")["output"], json!(2001));
}
