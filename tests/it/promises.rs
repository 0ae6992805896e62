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

/// Looking for the `then` of a revoked proxy fails where it is awaited, and the flow may catch that.
#[test]
fn a_failing_look_at_then_can_be_caught() {
    let body = "const { proxy, revoke } = Proxy.revocable({}, {});
      revoke();
      const tried = async (of) => { try { return await of(); } catch (error) { return error.name; } };
      return [await tried(() => proxy), await tried(() => Promise.resolve(proxy)), await tried(async () => proxy)];";
    assert_eq!(output(body), json!(["TypeError", "TypeError", "TypeError"]));
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

/// Query builders are objects whose `then` begins the work. It was called as nobody: it could not ask for anything, its
/// lines belonged to no block, and a timer that it began never ended.
#[test]
fn code_in_a_then_belongs_to_the_block_that_waits() {
    let waits = [
        "await query",
        "await (async () => query)()",
        "(await Promise.all([query, 1]))[0]",
        "await Promise.race([query])",
        "(await Promise.allSettled([query]))[0].value",
        "await Promise.resolve(query)",
        "await Promise.resolve().then(() => query)",
        "await Promise.reject(1).catch(() => query)",
        "await { then(keep) { keep(query); } }",
        "await { then(keep) { setTimeout(() => keep({ then: (inner) => inner(query) }), 1); } }",
        "await new Query()",
        "await Object.create(query)",
        "await (async () => { for await (const one of [query]) return one; })()",
        "await (async () => { async function* all() { yield query; } for await (const one of all()) return one; })()",
    ];
    let tried: String = waits.iter().map(|wait| format!("async (query) => {wait},\n")).collect();
    let flow = format!(
        "const begin = (ctx) => ({{ then(keep, fail) {{
  console.log(\"begins\");
  setTimeout(() => ctx.session.incState({{ n: 1 }}).then(() => keep(Date.now() > 0), fail), 1);
}} }});
const ways = [{tried}];
const asks = (name) => handler({{ name, execute: async (_input, ctx) => {{
  class Query extends Promise<unknown> {{
    constructor(run = () => {{}}) {{ super(run); }}
    then(keep, fail) {{ return begin(ctx).then(keep, fail); }}
  }}
  (globalThis as any).Query = Query;
  const all = [];
  for (const way of ways) all.push(await way(begin(ctx)));
  return all;
}} }});
const both = sequencer({{ name: \"both\", inputSchema: z.any() }}).parallel({{ a: asks(\"a\"), b: asks(\"b\") }});
export default defineFlow({{ kind: \"main\", session: {{ stateSchema: z.object({{ n: z.number().default(0) }}) }}, actions: {{ go: {{ block: both }} }} }});
"
    );
    let place = Place::with_flow(&flow);
    let output = place.get("run main go --user ada --session talk --request r")["output"].clone();
    for (n, way) in waits.iter().enumerate() {
        assert_eq!((&output["a"][n], &output["b"][n]), (&json!(true), &json!(true)), "{way}: {output}");
    }
    let logged = place.get("events r --kind logged");
    let of = |branch: &str| logged.as_array().into_iter().flatten().filter(|line| line["path"] == branch).count();
    assert_eq!([of("root/parallel/a"), of("root/parallel/b")], [waits.len(); 2], "{logged}");
    assert_eq!(place.ask("replay r").code, Some(0));
}

/// However a function comes to its end, the block hears of it once, and nobody takes a failure that the block
/// heard of for one that nobody waits for.
#[test]
fn a_block_hears_how_its_function_ends() {
    let good = [
        ("async () => 1", json!(1)),
        ("async () => ({ a: [1] })", json!({ "a": [1] })),
        ("async () => { await pause(1); return { a: 1 }; }", json!({ "a": 1 })),
        ("async () => null", json!(null)),
        ("() => pause(1).then(() => 3)", json!(3)),
        ("async () => pause(1).then(() => \"its promise\")", json!("its promise")),
        ("async () => { await null; return pause(1).then(() => 4); }", json!(4)),
        ("async () => ({ then: (keep) => keep(\"thenable\") })", json!("thenable")),
        ("async () => { await null; return { get then() { return undefined; }, b: 2 }; }", json!({ "b": 2 })),
        ("async () => { await null; return Promise.resolve(Promise.resolve(5)); }", json!(5)),
        ("() => { const first = late(6); void late(7); return first; }", json!(6)),
        ("() => { void late(8); return Promise.resolve(9); }", json!(9)),
        ("function () { return late(10); }", json!(10)),
        ("async function named() { return await late(11); }", json!(11)),
        ("() => { const made = late(12); made.then(() => console.log(\"heard too\")); return made; }", json!(12)),
        ("() => { const made = late([1]); made.then((list) => list.push(2)); return made; }", json!([1, 2])),
        ("async () => { const out = []; Promise.resolve(1).then((n) => out.push(n)); return out; }", json!([1])),
        (
            "async () => { await null; const out = []; Promise.resolve(1).then((n) => out.push(n)); return out; }",
            json!([1]),
        ),
        ("() => (kept ??= late(13))", json!(13)),
        ("() => kept", json!(13)),
    ];
    let bad = [
        ("() => { throw new Error(\"plain\"); }", "plain"),
        ("async () => { throw new Error(\"at once\"); }", "at once"),
        ("async () => { await pause(1); throw new Error(\"later\"); }", "later"),
        (
            "async () => { await null; return pause(1).then(() => { throw new Error(\"of its promise\"); }); }",
            "of its promise",
        ),
        (
            "async () => ({ then: (keep, fail) => fail(new Error(\"of what looks like one\")) })",
            "of what looks like one",
        ),
        ("async () => { await null; return { get then() { throw new Error(\"of a look\"); } }; }", "of a look"),
        ("async () => { await null; return looks(); }", "of its own look"),
        ("async () => looks()", "of its own look"),
        ("async () => { await null; return 1n; }", "a bigint cannot be stored"),
    ];
    let handlers = |bodies: &mut dyn Iterator<Item = &str>| -> String {
        bodies.enumerate().map(|(n, body)| format!("handler({{ name: \"h{n}\", execute: {body} }}),\n")).collect()
    };
    let flow = format!(
        "const pause = (ms) => new Promise((go) => setTimeout(go, ms));
const late = async (value) => {{ await pause(1); return value; }};
const looks = () => Object.defineProperty(Promise.resolve(1), \"then\", {{ get() {{ throw new Error(\"of its own look\"); }} }});
let kept: any;
const shared = {{ value: undefined as any, error: undefined as any }};
const share = (key, fn) => handler({{ name: \"share\", execute: () => (shared[key] ??= fn()) }});
const fails = async () => {{ await pause(1); throw new Error(\"for both\"); }};
const tells = handler({{ name: \"tells\", execute: (error: any) => error.message }});
const good = [{}];
const bad = [{}];
let chain = sequencer({{ name: \"chain\" }}).map(() => []);
for (const block of [...good, ...bad.map((one) => one.rescue([{{ block: tells }}]))]) {{
  let before: any;
  chain = chain.map((all) => (before = all)).step(() => null, block).map((one) => [...before, one]);
}}
const both = (key, fn) => sequencer({{ name: \"both\" }}).parallel({{ a: share(key, fn), b: share(key, fn) }});
export default defineFlow({{ kind: \"main\", actions: {{
  go: {{ block: chain }},
  two: {{ block: both(\"value\", () => late(\"one for both\")) }},
  none: {{ block: both(\"error\", fails) }},
}} }});
",
        handlers(&mut good.iter().map(|(body, _)| *body)),
        handlers(&mut bad.iter().map(|(body, _)| *body)),
    );
    let place = Place::with_flow(&flow);
    let output = place.get("run main go --user ada --request r")["output"].clone();
    for (n, (body, expected)) in good.iter().enumerate() {
        assert_eq!(output[n], *expected, "{body}");
    }
    for (n, (body, expected)) in bad.iter().enumerate() {
        let told = output[good.len() + n].as_str().unwrap_or_default();
        assert!(told.contains(expected), "{body}: {told}");
    }
    let logged = place.get("events r --kind logged");
    assert_eq!(logged.as_array().map(Vec::len), Some(1), "{logged}");
    assert_eq!(logged[0]["payload"]["text"], "heard too");

    // One promise, and two blocks that return it at the same time.
    assert_eq!(
        place.get("run main two --user ada --request two")["output"],
        json!({ "a": "one for both", "b": "one for both" })
    );
    let failed = place.ask("run main none --user ada --request none").json();
    assert_eq!(failed["status"], "failed", "{failed}");
    assert!(failed["error"].to_string().contains("for both"), "{failed}");
    assert_eq!(place.get("events none --kind logged"), json!([]));
}

#[test]
fn an_async_generator_that_is_left_early_ends_its_finally() {
    let body = "const T = [];
      async function* a1() { try { yield 1; yield 2 } finally { await null; T.push('a1 fin') } }
      for await (const q of a1()) { T.push('a1 ' + q); break }
      const g = a1(); await g.next(); T.push(await g.return('x'));
      try { for await (const q of a1()) { throw new Error('boo') } } catch (e) { T.push(e.message) }
      async function* a5() {
        try { yield 1 } catch (e) { await null; T.push('caught ' + e.message); yield 9 }
        finally { T.push('before'); await null; T.push('after') }
      }
      const g5 = a5(); await g5.next(); T.push(await g5.throw(new Error('t'))); T.push(await g5.next());
      T.push(await (async () => { for await (const q of a1()) { return q } })());
      async function* outer() { try { yield* a1() } finally { await null; T.push('outer fin') } }
      for await (const q of outer()) { T.push('o ' + q); break }
      class R { async *[Symbol.asyncIterator]() { try { yield 'r' } finally { await 1; T.push('release'); } } }
      for await (const q of new R()) { T.push(q); break }
      return T;";
    // As Node.js 20 has it.
    let expected = json!([
        "a1 1", "a1 fin", "a1 fin", { "value": "x", "done": true }, "a1 fin", "boo", "caught t",
        { "value": 9, "done": false }, "before", "after", { "done": true }, "a1 fin", 1, "o 1", "a1 fin", "outer fin",
        "r", "release"
    ]);
    assert_eq!(output(body), expected);
}
