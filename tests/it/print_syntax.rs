//! Probes do not change the behaviour of any kind of statement, however it is written.

use serde_json::{Value, json};
use tests::bench::Place;

/// Every construct, also without semicolons, on one line, and with comments in between.
const FLOW: &str = r#"#!/usr/bin/env node
'use strict'
import { defineFlow, handler } from '@flow-state-dev/core'
import { z } from 'zod'
import { Box } from '../lib/box'
import type { Shape } from '../lib/box'
import data from '../lib/data.json'
abstract class Base { abstract name(): string; protected constructor(public readonly base: number) {} }
class Own extends Base {
  static made = 0; static { Own.made += 1 }
  #secret = 1; field = () => this.#secret + this.base
  constructor(private readonly own: number, readonly other = 2) { const before = own * 2
    super(before); this.#secret = before }
  name() { return 'own' } get secret() { return this.#secret } set secret(to) { this.#secret = to }
  async later() { await null; return this.own }
  *[Symbol.iterator]() { yield this.own; yield this.other }
}
function overloaded(n: number): number
function overloaded(n: string): string
function overloaded(n: any): any { 'use strict'
  return n }
async function* stream(to: number) { for (let i = 0; i < to; i++) { await null; yield i } }
const one = (n: number) => n, two = (n: number) => ({ n }) as const, three = (a: number) => (b: number) => a + b
const typed = <T,>(value: T): T => value satisfies T
namespace Inner { export const inside = () => 7 }
enum Kind { A = 1, B = A * 2 }
const all = handler({ name: 'all', inputSchema: z.number(), outputSchema: z.any(), execute: async (input) => { 'use strict'
  const out: unknown[] = []
  let a = 1
  ++a
  ;[1, 2].forEach((n) => out.push(n))
  if (a) out.push('if'); else out.push('else')
  if (!a) out.push('no')
  else if (a > 1) out.push('else if') // a comment
  for (const n of [1, 2]) if (n > 1) out.push(n); else continue
  for (const key in { x: 1 }) out.push(key)
  for (let i = 0; i < 2; i++);
  for (let i = 0, fs: (() => number)[] = []; i < 3; i++) { fs.push(() => i); if (i === 2) out.push(fs.map((f) => f())) }
  let w = 3
  while (w --> 0) a += w
  do a++
  while (a < 10)
  outer: for (;;) { inner: for (;;) { if (a > 11) break outer; a++; continue outer } }
  switch (a) { case 12: const fits = true; out.push(fits); break; default: out.push('never') }
  try { throw { thrown: 1 } } catch ({ thrown }) { out.push(thrown) } finally { out.push('finally') }
  try { null!.x } catch { out.push('caught') }
  label: { out.push('labelled'); if (a) break label; out.push('not') }
  var hoisted = later(); function later() { return 'hoisted' }
  const own = new Own(input); own.secret = 4
  class Local extends Own { constructor() { super(1); out.push(new.target.name) } override name() { return super.name() + '!' } }
  out.push(hoisted, own.secret, own.field(), [...own], await own.later(), new Local().name(), Own.made)
  for await (const n of stream(2)) out.push(n)
  out.push(one(1), two(2), three(1)(2), typed(3), Inner.inside(), Kind.B, overloaded(5), data.n, new Box(1).shape())
  const { x, ...rest } = { x: 1, y: 2, z: 3 }, [first = 9, ...others] = [undefined, 2, 3]
  out.push(x, rest, first, others, ((...args: number[]) => args.length)(1, 2), `t${a}${((n) => n)(1)}`)
  const fn = function named(n: number): number { return n ? named(n - 1) : arguments.length }
  out.push(fn(2), void 0, typeof undeclared, [..."ab"].map((c, i) => c + i), a?.toFixed?.(1), (a, 1), eval?.name)
  const tagged = (s: TemplateStringsArray, ...v: unknown[]) => s.raw.join('|') + v.length
  out.push(tagged`a${1}b\n`, await Promise.all([1, 2].map(async (n) => { await null; return n * 2 })))
  const shape: Shape = { sides: 4 }
  return { out, shape, sum: out.length }
} })
declare const undeclared: unknown
export default defineFlow({ kind: 'f', actions: { go: { inputSchema: z.number(), block: all } } })
"#;

const BOX: &str = "export interface Shape { sides: number }
export class Box<T> { constructor(private readonly inner: T) {} shape() { return <const>[this.inner] } }
";

#[test]
fn every_kind_of_statement_keeps_its_meaning() {
    let flow = FLOW.replace("#!/usr/bin/env node\n'use strict'\n", "'use strict'\n");
    let place = Place::new().file("flows/main.ts", &flow).file("lib/box.ts", BOX).file("lib/data.json", "{\"n\": 5}");
    let ran = place.ask("run f go --user ada --request r --input 3");
    assert_eq!(ran.code, Some(0), "{ran}");
    // `notAsked` is empty only if the replay matched the recording.
    let last = flow.lines().count() - 3;
    let printed = place.get(&format!("print flows/main.ts:{last} JSON.stringify(out)"));
    assert_eq!((&printed["notAsked"], &printed["total"]), (&json!([]), &json!(1)), "{printed}");
    let seen = printed["hits"][0]["values"][0]["json"].as_str().and_then(|seen| serde_json::from_str(seen).ok());
    assert_eq!(seen.unwrap_or(Value::Null), ran.json()["output"]["out"]);
    // From every statement to the next one and back.
    let ticks = place.get("step r --at root")["ticks"].as_u64().expect("a number");
    assert!(ticks > 120, "{ticks}");
}

#[test]
fn many_names_in_scope_are_listed_up_to_a_limit() {
    let names: String = (0..3_000).map(|n| format!("  const v{n} = {n};\n")).collect();
    let place = Place::with_flow(&format!(
        "const many = handler({{ name: \"many\", inputSchema: z.any(), outputSchema: z.number(), execute: () => {{\n{names}  \
         return v0 + v2999;\n}} }});\nexport default defineFlow({{ kind: \"f\", actions: {{ go: {{ block: many }} }} }});\n"
    ));
    place.ask("run f go --user ada --request r");
    let at = place.get("step r --at root#0+3001");
    assert_eq!(at["locals"].as_array().map(Vec::len), Some(1_000), "the nearest are listed");
    assert_eq!(place.get("print flows/main.ts:3004 v2999")["hits"][0]["values"][0]["json"], 2999);
}

/// Without the keyword `type`, only its use shows that an import is a type. An expression may use it as a type.
#[test]
fn a_type_imported_without_the_type_keyword_is_not_a_value() {
    let place =
        Place::new().file("lib/types.ts", "export interface Item { n: number }\nexport const other = 2;\n").file(
            "flows/main.ts",
            "import { defineFlow, handler } from '@flow-state-dev/core';\n\
             import { Item, other } from '../lib/types';\n\
             const f = (item: Item) => item.n + other;\n\
             const all = handler({ name: 'all', execute: (): number => {\n\
             const it = { n: 1 } as any;\n\
             return f(it);\n\
             } });\n\
             export default defineFlow({ kind: 'main', actions: { go: { block: all } } });\n",
        );
    place.get("run main go --user u --request r");
    let found = place.run(&["print", "flows/main.ts:6", "f(it as Item)", "--json"]);
    assert_eq!(found.code, Some(0), "{found}");
    assert_eq!(found.json()["hits"][0]["values"][0]["preview"], "3", "{found}");
}
