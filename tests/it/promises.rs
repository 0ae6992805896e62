//! Promises and async functions are run by our own means: they must behave as everybody knows them, and
//! everything they do belongs to the block that began it.

use serde_json::{Value, json};
use tests::bench::Place;

/// The output of `main.go`, whose one handler has this body.
#[track_caller]
fn output(body: &str) -> Value {
    let flow = format!(
        "const pause = (ms) => new Promise((go) => setTimeout(go, ms));
const go = handler({{ name: \"go\", execute: async (input, ctx) => {{ {body} }} }});
export default defineFlow({{ kind: \"main\", actions: {{ go: {{ block: go }} }} }});
"
    );
    Place::with_flow(&flow).get("run main go --user ada --session talk --request r")["output"].clone()
}

#[test]
fn an_async_function_whose_parameters_cannot_be_taken_apart_rejects() {
    let body = "const take = async ({ a }) => a;
      const settled = await Promise.allSettled([take({ a: 1 }), take(undefined)]);
      return [settled.map((one) => one.status), await take(null).catch(() => \"caught\")];";
    assert_eq!(output(body), json!([["fulfilled", "rejected"], "caught"]));
}

#[test]
fn async_functions_answer_throw_and_nest_as_usual() {
    let body = "const fails = async () => { await pause(1); throw new Error(\"no\"); };
      const deep = async (n) => (n === 0 ? \"end\" : await deep(n - 1));
      class Counter { n = 1; async add(by = 2) { await null; return this.n + by; } }
      const order = [];
      const one = (async () => { order.push(\"a\"); await null; order.push(\"c\"); })();
      order.push(\"b\");
      await one;
      const tried = await fails().catch((error) => error.message);
      const last = await (async () => { try { return await fails(); } finally { order.push(\"finally\"); } })().catch(() => \"after\");
      return [order, tried, last, await deep(50), await new Counter().add(), await { then: (keep) => keep(7) }];";
    assert_eq!(output(body), json!([["a", "b", "c", "finally"], "no", "after", "end", 3, 7]));
}

#[test]
fn what_only_looks_like_a_promise_runs_as_the_block_that_returned_it() {
    let flow = "const lazy = handler({ name: \"lazy\", execute: () => ({ then: (keep) => {
  console.log(\"asked\");
  keep(Date.now() > 0);
} }) });
export default defineFlow({ kind: \"main\", actions: { go: { block: lazy } } });
";
    let place = Place::with_flow(flow);
    assert_eq!(place.get("run main go --user ada --session talk --request r")["output"], json!(true));
    let logged = place.get("events r --kind logged");
    assert_eq!(logged[0]["payload"]["text"], "asked", "{logged}");
    assert_eq!(logged[0]["path"], "root");
}

#[test]
fn blocks_side_by_side_keep_what_they_do_apart() {
    let flow = "const pause = (ms) => new Promise((go) => setTimeout(go, ms));
const say = (name, ms) => handler({ name, execute: async (_input, ctx) => {
  for (let n = 0; n < 3; n++) { await pause(ms); console.log(`${name} ${n}`); await ctx.session.pushState(\"log\", name); }
  return name;
} });
const both = sequencer({ name: \"both\", inputSchema: z.any() }).parallel({ fast: say(\"fast\", 2), slow: say(\"slow\", 3) });
export default defineFlow({ kind: \"main\", session: { stateSchema: z.object({ log: z.array(z.string()).default([]) }) }, actions: { go: { block: both } } });
";
    let place = Place::with_flow(flow);
    place.get("run main go --user ada --session talk --request r");
    let logged = place.get("events r --kind logged");
    for line in logged.as_array().into_iter().flatten() {
        let (path, text) =
            (line["path"].as_str().unwrap_or_default(), line["payload"]["text"].as_str().unwrap_or_default());
        assert!(text.starts_with(path.rsplit('/').next().unwrap_or_default()), "{path} said {text:?}");
    }
    assert_eq!(logged.as_array().map(Vec::len), Some(6));
}

/// A runtime looks up `then` of what is awaited or returned. Where that runs code of the flow, a block does
/// it, whether it has waited before or not.
#[test]
fn what_a_look_at_then_runs_belongs_to_the_block_that_waits() {
    let body = "const seen = [];
      const getter = () => ({ get then() { seen.push(Date.now() > 0); return undefined; } });
      const proxy = () => new Proxy({}, { get: (_target, name) => { if (name === \"then\") seen.push(Date.now() > 0); } });
      class Inherits { get then() { seen.push(Date.now() > 0); return (keep) => keep(Date.now() > 0); } }
      const makes = [getter, proxy, () => new Inherits()];
      for (const make of makes) {
        await (async () => { await pause(1); await make(); })();
        await (async () => { await pause(1); return make(); })();
        await (async () => make())();
      }
      return [seen.length >= 9, seen.every((one) => one)];";
    assert_eq!(output(body), json!([true, true]));
}
