//! What all Activities of a file share: nothing can be left there, and everything still works.

use serde_json::{Value, json};

use crate::acts_walls::{end, ends, place, run, state, vault};

/// One Activity leaves data at everything that the engine provides, and another one looks for it there.
const SPILL: &str = r#"
import * as core from "@flow-state-dev/core";
import * as builder from "@standardagents/builder";
import * as acts from "acts";
import { z as z4 } from "zod/v4";
import * as zod3 from "zod/v3";
const meta = import.meta;
const provided = { z, z4, zod3, core, builder, acts, meta, c4: z4.core, u4: z4.core.util };
/** What `import * as` makes of a module is an object of the file's own. */
const own = new Set([zod3, core, builder, acts]);
const t = (f) => { try { return String(f()); } catch (error) { return error.name; } };
function walk(each) {
  const seen = new Set();
  const next = Object.entries(provided);
  while (next.length > 0) {
    const [at, one] = next.pop();
    if ((typeof one !== "object" && typeof one !== "function") || one === null || seen.has(one)) continue;
    seen.add(one);
    each(at, one);
    next.push([`${at}.[[prototype]]`, Object.getPrototypeOf(one)]);
    for (const key of Reflect.ownKeys(one)) {
      try { next.push([`${at}.${String(key)}`, one[key]]); } catch { /* A getter that wants another `this`. */ }
    }
  }
  return seen.size;
}
Tool.register("spill", { properties: { _scopes: { const: ["vault"] }, _outputPath: place } });
Activity.register("spill", (_call, { vault }) => {
  const open = [];
  const count = walk((at, one) => {
    if (own.has(one)) return;
    try { one.leak = vault.k; } catch { /* As it should be. */ }
    try { Object.defineProperty(one, "leak", { value: vault.k }); } catch { /* As it should be. */ }
    for (const key of Reflect.ownKeys(one)) {
      const own = Reflect.getOwnPropertyDescriptor(one, key);
      if (one[Symbol.toStringTag] !== "Module" && (own.writable || own.configurable)) open.push(`${at}.${String(key)}`);
    }
    if (one instanceof Map || one instanceof WeakMap) {
      t(() => Map.prototype.set.call(one, "leak", vault.k));
      t(() => one.set("leak", vault.k));
      t(() => one.set(Object.prototype, vault.k));
    }
    if (one instanceof Set) {
      t(() => Set.prototype.add.call(one, vault.k));
      t(() => one.add(vault.k));
    }
    if (Array.isArray(one)) t(() => one.push(vault.k));
    if (one instanceof RegExp) t(() => (one.lastIndex = 7));
    if (one instanceof Date) t(() => one.setTime(7));
  });
  const tried = [
    t(() => z.setErrorMap(() => ({ message: vault.k }))),
    t(() => zod3.setErrorMap(() => ({ message: vault.k }))),
    t(() => z4.config({ customError: () => vault.k })),
    t(() => z4.setErrorMap(() => vault.k)),
    t(() => z4.globalRegistry.add(z4.string(), { id: vault.k })),
    t(() => z4.globalRegistry.add(Object.prototype, { v: vault.k })),
    t(() => z4.globalRegistry.clear()),
    t(() => { Object.getPrototypeOf(new z4.ZodRealError([])).leak = vault.k; }),
    t(() => { Object.getPrototypeOf(Object.getPrototypeOf(z4.string())).leak = vault.k; }),
    t(() => { setTimeout(() => {}, 0); setTimeout(() => {}, 0); }),
    t(() => { /s3/.exec(vault.k); }),
  ];
  return { count: count > 1000, open, tried };
});
Tool.register("pry", { properties: { _outputPath: place } });
Activity.register("pry", () => {
  const found = [];
  walk((at, one) => {
    const own = t(() => one.leak);
    if (own.includes("s3cret")) found.push(at);
    if (one instanceof Map && t(() => [...one].flat().map(String).join()).includes("s3cret")) found.push(`${at} holds it`);
    if (one instanceof Map && t(() => one.get("leak") ?? one.get(Object.prototype)).includes("s3cret")) found.push(`${at} gives it`);
    if (one instanceof Set && t(() => [...one].join()).includes("s3cret")) found.push(`${at} has it`);
    if (one instanceof RegExp && one.lastIndex === 7) found.push(`${at}.lastIndex`);
  });
  const messages = [z, z4, zod3].map((lib) => lib.string().safeParse(5).error.issues[0].message).join();
  const legacy = ["$_", "input", "$1", "lastMatch"].map((key) => t(() => RegExp[key])).join();
  const timer = setTimeout(() => {}, 0);
  return { found, messages, legacy, timer };
});
Tool.register("use", { properties: { _outputPath: place } });
Activity.register("use", () => {
  const told = z4.object({ d: z4.email(), e: z4.enum(["a"]), f: z4.string().describe("said") });
  const three = z.object({ d: z.string().email(), r: z.string().regex(/^a/g), o: z.string().optional() });
  return [
    told.parse({ d: "a@b.co", e: "a", f: "" }).d,
    three.parse({ d: "a@b.co", r: "abc" }).d,
    told.shape.f.description,
    z4.string().meta({ title: "T" }).meta().title,
    z.union([z.literal(1), z.literal(2)]).safeParse(3).success,
    z4.record(z4.string(), z4.number()).parse({ a: 1 }).a,
    JSON.stringify(z4.toJSONSchema(z4.object({ a: z4.int() }))).length > 10,
    t(() => z4.string().parse(5)), t(() => z.string().parse(5)),
  ];
});
"#;

#[test]
fn nothing_is_left_at_what_the_engine_provides() {
    let place = place(SPILL, "false");
    let call = |tool: &str| json!([{ "_tool": tool, "_outputPath": format!("†data.{tool}") }]);
    let context = json!([state(), vault()]);
    let answer = run(&place, &context, &[call("spill"), call("pry"), call("use")], Value::Null);
    assert_eq!(answer.code, Some(0), "{answer}");
    let spilt = end(&place, "root/tick[0]/call:spill[0]");
    assert_eq!(spilt["open"], json!([]), "{spilt}");
    assert_eq!(spilt["count"], true);
    let refused = |at: usize| spilt["tried"][at].as_str().is_some_and(|text| text.ends_with("Error"));
    assert!((0..9).filter(|at| *at != 4).all(refused), "{}", spilt["tried"]);
    let found = end(&place, "root/tick[1]/call:pry[0]");
    assert_eq!(found["found"], json!([]), "{found}");
    assert!(!found.to_string().contains("s3"), "{found}");
    assert_eq!(found["timer"], 1, "the number of a timer tells how many others have");
    let used = end(&place, "root/tick[2]/call:use[0]");
    let error = "ZodError";
    let expected = json!(["a@b.co", "a@b.co", "said", "T", false, 1, true, error, error]);
    assert_eq!(used, expected);
}

/// What people write on objects of their own, and what the globals of every other file do, works with Calls as well.
#[test]
fn what_is_not_shared_stays_open() {
    let registers = r#"
const t = (f) => { try { const found = f(); return found === undefined ? "undefined" : found; } catch (error) { return `${error.name}: ${error.message}`; } };
Tool.register("own", { properties: { _outputPath: place } });
Activity.register("own", () => [
  t(() => Date.now() > 0), t(() => new Date().constructor === Date), t(() => Date.parse("2020-01-01T00:00:00Z")),
  t(() => { const m = new Map(); m.get = () => 3; return m.get(); }),
  t(() => { const a = []; a.map = 1; return a.map; }),
  t(() => { const f = () => 1; f.bind = 3; return f.bind; }),
  t(() => { const o = {}; o.hasOwnProperty = () => "own"; return o.hasOwnProperty(); }),
  t(() => { const o = [1]; o[Symbol.iterator] = function* () { yield 9; }; return [...o][0]; }),
  t(() => { function A() {} A.prototype = Object.create(Array.prototype); A.prototype.push = () => 5; return new A().push(); }),
  t(() => { const d = new Date(0); d.toJSON = () => "j"; return JSON.parse(JSON.stringify(d)); }),
  t(() => { class E extends Error { constructor() { super("m"); this.name = "E"; } } return String(new E()); }),
]);
"#;
    let place = place(registers, "typeof Date.now() !== 'number'");
    let call = json!([{ "_tool": "own", "_outputPath": "†data.x" }]);
    let answer = run(&place, &json!([state()]), &[call], Value::Null);
    assert_eq!(answer.code, Some(0), "{answer}");
    let expected = json!([true, true, 1577836800000_i64, 3, 1, 3, "own", 9, 5, "j", "E: m"]);
    assert_eq!(end(&place, "root/tick[0]/call:own[0]"), expected);
}

/// An Activity ends its own timers, and none of another's.
#[test]
fn timers_belong_to_whoever_set_them() {
    let registers = r#"
Tool.register("sleep", { properties: { _outputPath: place } });
Activity.register("sleep", async () => { await new Promise((done) => setTimeout(done, 60)); return "slept"; });
Tool.register("kill", { properties: { _outputPath: place } });
Activity.register("kill", async () => {
  for (let n = 0; n < 1000; n++) clearTimeout(n);
  const own = setTimeout(() => { throw new Error("it was ended"); }, 5);
  clearTimeout(own);
  await new Promise((done) => { let turns = 0; const each = setInterval(() => { if (++turns === 3) { clearInterval(each); done(); } }, 1); });
  return "ended";
});
"#;
    let place = place(registers, "false");
    let calls =
        [json!({ "_tool": "sleep", "_outputPath": "†data.a" }), json!({ "_tool": "kill", "_outputPath": "†data.b" })];
    assert_eq!(ends(&place, &json!([state()]), &calls), ["slept", "ended"]);
}
