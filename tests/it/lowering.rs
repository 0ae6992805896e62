//! Syntax that the bundler or the runtime would get wrong means what it means in Node.js: each row is an expression and
//! its value there.

use serde_json::Value;
use tests::bench::Place;

/// A flow whose action `all` gives the value of every row by its text, or what it throws.
pub(crate) fn flow(prelude: &str, rows: &[(&str, &str)]) -> String {
    let mut source = prelude.to_owned();
    source.push_str("const rows: [string, () => any][] = [\n");
    for (row, _) in rows {
        // A `return` must stay beside its value.
        let line = row.split_whitespace().collect::<Vec<_>>().join(" ");
        source.push_str(&format!("  [{}, () => {line}],\n", Value::from(*row)));
    }
    source.push_str(
        "];
const all = async () => {
  const values: any = {};
  for (const [row, run] of rows) {
    try {
      values[row] = (await run()) ?? null;
    } catch (error: any) {
      values[row] = `${error.name}: ${error.message}`;
    }
  }
  return values;
};
export default defineFlow({ kind: \"main\", actions: { all: { block: handler({ name: \"all\", execute: all }) } } });
",
    );
    source
}

/// Compares the values of a flow's rows.
#[track_caller]
pub(crate) fn check(place: &Place, rows: &[(&str, &str)]) {
    let found = place.get("run main all --user u")["output"].clone();
    let expected = |text: &str| serde_json::from_str::<Value>(text).expect("a value");
    let wrong = rows.iter().filter(|(row, value)| found[row] != expected(value));
    let wrong: Vec<String> =
        wrong.map(|(row, value)| format!("{row}\n  found    {}\n  expected {value}", found[row])).collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

const CALLED: &str = r#"
const f = function (this: any, ...given: any[]) { return (this?.n ?? "none") + given.join(""); };
const tag = function (this: any, strings: any, ...given: any[]) {
  return (this?.n ?? "none") + strings.join("|") + given;
};
const o: any = { n: "o", f, tag, a: { n: "a", f, tag, deep: { n: "deep", f } } };
const no: any = undefined;
const key = "f";
class Base { n = "base"; f(...given: any[]) { return (this?.n ?? "none") + given.join(""); } }
class Derived extends Base {
  n = "derived";
  #p(...given: any[]) { return this.n + given.join(""); }
  #none: any;
  static s = "s";
  static sf() { return (this as any)?.s ?? "none"; }
  superOptional() { return super.f?.(); }
  superMissing() { return (super["nope" as "f"] as any)?.(); }
  superComputed() { return super["f"]?.(1); }
  superGrouped() { return (super.f)(2); }
  superGroupedOptional() { return (super.f)?.(3); }
  superInArrow() { return (() => super.f?.())(); }
  async superLater() { return super.f?.(); }
  superTag() { return (super.f as any)`x`; }
  field = super.f?.();
  own() { return this.#p?.(1); }
  ownNone() { return this.#none?.(1); }
  ownGrouped() { return (this.#p)(2); }
  ownOf(x: any) { return x?.#p(3); }
  ownOfGrouped(x: any) { return (x?.#p)(4); }
  ownOfOptional(x: any) { return x?.#p?.(5); }
  async ownLater(x: any) { return (x?.#p)(await 6); }
}
class Third extends Derived { static t() { return super.sf?.(); } }
const d: any = new Derived();
"#;

const CALLS: [(&str, &str); 61] = [
    ("(o.a?.f)(1)", r#""a1""#),
    ("(o?.f)()", r#""o""#),
    ("(o.f)()", r#""o""#),
    ("(0, o.f)()", r#""none""#),
    ("(o.n, o.f)(1)", r#""none1""#),
    (r#"o?.["f"]?.()"#, r#""o""#),
    (r#"(o?.["f"])?.()"#, r#""o""#),
    ("(o?.[key])(1)", r#""o1""#),
    ("(o?.a.deep.f)()", r#""deep""#),
    ("(o.a?.deep?.f)()", r#""deep""#),
    ("((o?.a)?.f)()", r#""a""#),
    ("(((o?.f)))(2)", r#""o2""#),
    ("(o?.a.f)?.(1)", r#""a1""#),
    ("(o?.a).f(1)", r#""a1""#),
    ("(o?.f as any)(1)", r#""o1""#),
    ("(o?.f)!(1)", r#""o1""#),
    ("o?.f!(1)", r#""o1""#),
    ("(o?.f)(...[1, 2])", r#""o12""#),
    ("(o?.f)() + (o.a?.f)()", r#""oa""#),
    ("(o?.f.call)(o.a)", r#""a""#),
    ("(o?.f.bind(o.a))()", r#""a""#),
    ("no?.f(1).x.y", "null"),
    ("(no?.f)()", r#""TypeError: (intermediate value) is not a function""#),
    ("[typeof (o?.f), delete no?.a.b]", r#"["function", true]"#),
    ("(() => { let n = 0; const get = () => (n++, o); (get()?.a.f)(1); get()?.f?.(); return n; })()", "2"),
    ("(async () => (o?.a.f)(await 1))()", r#""a1""#),
    (
        r#"(() => { const it = (function* (): any { return (o?.a.f)(yield 1); })(); it.next(); return
            it.next(7).value; })()"#,
        r#""a7""#,
    ),
    ("((x = (o?.a.f)(1)) => x)()", r#""a1""#),
    (
        r#"(() => { const all: string[] = []; try { (no?.f)(all.push("given")); } catch (e: any) {
            all.push(e.name); } return all; })()"#,
        r#"["given", "TypeError"]"#,
    ),
    ("o.tag`x${1}y`", r#""ox|y1""#),
    ("(o.tag)`x`", r#""ox""#),
    ("(0, o.tag)`x`", r#""nonex""#),
    ("(o?.a.tag)`x${2}`", r#""ax|2""#),
    (r#"o.a["tag"]`x`"#, r#""ax""#),
    ("(() => { const g = o.tag; return g`x`; })()", r#""nonex""#),
    ("(() => { const g = o.f; return g(); })()", r#""none""#),
    ("(() => { let g; return (g = o.f)(); })()", r#""none""#),
    ("(() => { let g; return (g = o.tag)`x`; })()", r#""nonex""#),
    ("(no || o.f)()", r#""none""#),
    ("(o.f ?? no)()", r#""none""#),
    ("(true ? o.f : no)()", r#""none""#),
    ("(async () => (await o.f)())()", r#""none""#),
    ("d.superOptional()", r#""derived""#),
    ("d.superMissing()", "null"),
    ("d.superComputed()", r#""derived1""#),
    ("d.superGrouped()", r#""derived2""#),
    ("d.superGroupedOptional()", r#""derived3""#),
    ("d.superInArrow()", r#""derived""#),
    ("d.superLater()", r#""derived""#),
    ("d.superTag()", r#""derivedx""#),
    ("d.field", r#""derived""#),
    ("Third.t()", r#""s""#),
    ("d.own()", r#""derived1""#),
    ("d.ownNone()", "null"),
    ("d.ownGrouped()", r#""derived2""#),
    ("d.ownOf(d)", r#""derived3""#),
    ("d.ownOf(no)", "null"),
    ("d.ownOfGrouped(d)", r#""derived4""#),
    ("d.ownOfOptional(d)", r#""derived5""#),
    ("d.ownOfOptional(no)", "null"),
    ("d.ownLater(d)", r#""derived6""#),
];

/// The `this` of a call.
#[test]
fn a_call_has_its_receiver_and_no_other() {
    check(&Place::with_flow(&flow(CALLED, &CALLS)), &CALLS);
}

const TAKEN: &str = r#"
const o: any = { p: { c: 2 }, list: [undefined, 2, 3], q: 4 };
function later({ a = 1, ...rest }: any, { [a]: b, ...more }: any = { 1: rest.b, k: 5 }) { return [a, rest, b, more]; }
class K {
  v: any;
  constructor({ a = 1, ...rest }: any = {}, n = rest) { this.v = [a, n]; }
  m({ a = 1, ...rest }: any, n = () => rest) { return [a, n()]; }
  set s([{ a = 1, ...rest }, b = rest]: any) { this.v = [a, rest, b]; }
  static async later({ p: { a = 1, ...r }, b = r }: any) { return [await a, r, b]; }
}
export const { p: { a: top = 8, ...inner }, ...outer } = o;
"#;

const PATTERNS: [(&str, &str); 37] = [
    ("(() => { const { q = 1, ...rest } = o; return [q, Object.keys(rest)]; })()", r#"[4, ["p", "list"]]"#),
    (
        "(() => { const { p: { a = 1, ...r }, b = r, ...s } = o; return [a, r, b, Object.keys(s)]; })()",
        r#"[1, {"c": 2}, {"c": 2}, ["list", "q"]]"#,
    ),
    (
        r#"(() => { const { p: { a = 1, ...r }, [`${r.c}`]: b = 9, ...s } = { p: { c: 2 }, 2: 7, z: 5 } as
            any; return [a, r, b, s]; })()"#,
        r#"[1, {"c": 2}, 7, {"z": 5}]"#,
    ),
    (
        r#"(() => { const { a = 1, ...r } = { b: 2 } as any, { c = r.b, ...s } = { d: r } as any; return
            [a, r, c, s]; })()"#,
        r#"[1, {"b": 2}, 2, {"d": {"b": 2}}]"#,
    ),
    (
        "(() => { for (let { a = 1, ...r } = { b: 3 } as any, { c = r.b, ...s } = r; ;) return [a, r, c, s]; })()",
        r#"[1, {"b": 3}, 3, {"b": 3}]"#,
    ),
    ("(() => { const [a = 1, ...rest] = o.list; return [a, rest]; })()", "[1, [2, 3]]"),
    (
        r#"(() => { const [{ a = 1, ...r }, b = r, ...rest] = [{ c: 2 }, undefined, 5] as any; return [a,
            r, b, rest]; })()"#,
        r#"[1, {"c": 2}, {"c": 2}, [5]]"#,
    ),
    ("(() => { const [a, ...[b = 7, ...c]] = o.list; return [a ?? null, b, c]; })()", "[null, 2, [3]]"),
    (
        "(() => { const [a, ...{ length, ...others }] = [1, 2, 3] as any; return [a, length, others]; })()",
        r#"[1, 2, {"0": 2, "1": 3}]"#,
    ),
    (
        r#"(() => { const all = []; for (const { a = 1, ...rest } of [{ b: 2 }, { a: 3 }] as any[])
            all.push([a, rest]); return all; })()"#,
        r#"[[1, {"b": 2}], [3, {}]]"#,
    ),
    (
        r#"(() => { for (const [k, { a = 1, ...rest }] of Object.entries({ p: { b: 2 } as any })) return
            [k, a, rest]; })()"#,
        r#"["p", 1, {"b": 2}]"#,
    ),
    (
        r#"(() => { const all: any[] = []; for (const { n: { a = 1, ...r }, b = r } of [{ n: { c: 1 } }, {
            n: { a: 2 } }] as any[]) all.push(() => [a, r, b]); return all.map((one) => one()); })()"#,
        r#"[[1, {"c": 1}, {"c": 1}], [2, {}, {}]]"#,
    ),
    (
        r#"(() => { let a, r, rest; for ({ n: { a = 1, ...r } = {} as any, ...rest } of [{ n: { c: 1 }, d:
            2 }] as any) return [a, r, rest]; })()"#,
        r#"[1, {"c": 1}, {"d": 2}]"#,
    ),
    (
        r#"(async () => { for await (const { n: { a = 1, ...r }, ...rest } of [Promise.resolve({ n: { b: 2
            }, c: 3 })] as any[]) return [a, r, rest]; })()"#,
        r#"[1, {"b": 2}, {"c": 3}]"#,
    ),
    ("(() => { try { throw { b: 2 }; } catch ({ a = 1, ...rest }: any) { return [a, rest]; } })()", r#"[1, {"b": 2}]"#),
    (
        r#"(() => { try { throw { e: { c: 2 } }; } catch ({ e: { a = 1, ...r }, b = r, ...rest }: any) {
            return [a, r, b, rest]; } })()"#,
        r#"[1, {"c": 2}, {"c": 2}, {}]"#,
    ),
    (
        "(() => { let a, rest; const v = ({ a = 1, ...rest } = { b: 2 } as any); return [a, rest, v]; })()",
        r#"[1, {"b": 2}, {"b": 2}]"#,
    ),
    (
        r#"(() => { let a, r, rest; ({ n: { a = 1, ...r } = {} as any, ...rest } = { n: { c: 1 }, d: 2 } as
            any); return [a, r, rest]; })()"#,
        r#"[1, {"c": 1}, {"d": 2}]"#,
    ),
    (
        "(() => { let r, rest; ({ n: { ...r } = { x: 1 } as any, ...rest } = { d: 2 } as any); return [r, rest]; })()",
        r#"[{"x": 1}, {"d": 2}]"#,
    ),
    (
        r#"(() => { let a, b, r, s, t; ({ p: { q: { a, ...r }, ...s }, b, ...t } = { p: { q: { a: 1, x: 2
            }, y: 3 }, b: 4, z: 5 } as any); return [a, b, r, s, t]; })()"#,
        r#"[1, 4, {"x": 2}, {"y": 3}, {"z": 5}]"#,
    ),
    (
        r#"(() => { const t: any = {}; ({ n: { a: t.a = 1, ...t.r }, ...t.rest } = { n: { c: 1 }, d: 2 } as
            any); return t; })()"#,
        r#"{"a": 1, "r": {"c": 1}, "rest": {"d": 2}}"#,
    ),
    (
        "(() => { let a, r, b; [{ a = 1, ...r }, b = r] = [{ c: 2 }] as any; return [a, r, b]; })()",
        r#"[1, {"c": 2}, {"c": 2}]"#,
    ),
    ("later({ b: 2 })", r#"[1, {"b": 2}, 2, {"k": 5}]"#),
    ("(({ a = 1, ...r }: any, b = a) => [a, r, b])({ c: 2 })", r#"[1, {"c": 2}, 1]"#),
    ("(({ a = 1, ...r }: any, ...[b = r]: any[]) => [a, r, b])({ c: 2 })", r#"[1, {"c": 2}, {"c": 2}]"#),
    ("((x: any, { a = x, ...r }: any, y = r.b + a) => [a, r, y])(5, { b: 2 })", r#"[5, {"b": 2}, 7]"#),
    ("(([{ a = 1, ...r }, b = r]: any) => [a, r, b])([{ c: 2 }])", r#"[1, {"c": 2}, {"c": 2}]"#),
    ("(async ({ a = 1, ...r }: any, b = r) => [await a, r, b])({ c: 2 })", r#"[1, {"c": 2}, {"c": 2}]"#),
    ("[...(function* ({ a = 1, ...r }: any, b = r) { yield a; yield b; })({ c: 2 })]", r#"[1, {"c": 2}]"#),
    ("[(({ a, ...r }: any, b = r) => [a, b]).length, (({ a, ...r }: any, b: any) => [a, r, b]).length]", "[1, 2]"),
    ("new K({ c: 2 }).v", r#"[1, {"c": 2}]"#),
    ("new K().m({ c: 2 })", r#"[1, {"c": 2}]"#),
    ("(() => { const k = new K(); k.s = [{ c: 2 }]; return k.v; })()", r#"[1, {"c": 2}, {"c": 2}]"#),
    ("K.later({ p: { c: 2 } })", r#"[1, {"c": 2}, {"c": 2}]"#),
    ("[top, inner, Object.keys(outer)]", r#"[8, {"c": 2}, ["list", "q"]]"#),
    (
        r#"(() => { const s = Symbol(); const { p: { a = 1, ...r }, ...t } = { p: { [s]: 2 }, [s]: 3 } as
            any; return [a, r[s], t[s]]; })()"#,
        "[1, 2, 3]",
    ),
    (
        r#"(() => { let n = 0; const { p: { a = 1, ...r } } = { p: { get b() { return ++n; } } } as any;
            return [a, r.b, r.b, n]; })()"#,
        "[1, 1, 1, 1]",
    ),
];

/// A rest beside defaults, wherever a pattern stands.
#[test]
fn a_rest_beside_defaults_has_the_other_properties() {
    check(&Place::with_flow(&flow(TAKEN, &PATTERNS)), &PATTERNS);
}

const MERGED: &str = r#"
const outside = { z: 3 };
const shadowed = "outside";
namespace A { export const one = 1; export let n = 0; export const shadowed = "inside"; }
namespace A { export function f() { return one; } }
namespace A {
  export const two = one + 1;
  export const g = () => { n += 1; n++; return [f(), n, { n }, shadowed]; };
  export namespace In { export const deep = two + one; }
}
namespace A { export const own = (() => { const one = 10; return one; })(); }
namespace A.In { export const deeper = deep + 1; }
class C { static s = 1; v = 2; }
namespace C { export const t = C.s + 1; export class Inner { v = t; } }
namespace C { export const u = t + 1; }
function F() { return F.v; }
namespace F { export let v = 4; }
enum E { a = 1, b, c = a | b, text = "x", length = "abc".length }
namespace E { export function name(e: E) { return E[e as any]; } }
enum E { later = 10, twice = later * 2 }
const enum Const { a = 5, b = a * 2, text = "q" }
declare enum Declared { a = 7 }
enum Computed { a = outside.z, b = 4 }
namespace Types { export type X = 1; }
"#;

const PARTS: [(&str, &str); 9] = [
    ("[A.one, A.two, A.f(), A.own, A.In.deep, A.In.deeper]", "[1, 2, 1, 10, 3, 4]"),
    ("[A.g(), A.n]", r#"[[1, 2, {"n": 2}, "inside"], 2]"#),
    ("[C.s, C.t, C.u, new C().v, new C.Inner().v]", "[1, 2, 3, 2, 2]"),
    ("(() => { F.v++; return F(); })()", "5"),
    (
        "[E.a, E.b, E.c, E.text, E.length, E[2], E.name(E.b), E.later, E.twice, E[10]]",
        r#"[1, 2, 3, "x", 3, "b", "b", 10, 20, "later"]"#,
    ),
    ("[Const.a, Const.b, Const.text]", r#"[5, 10, "q"]"#),
    ("[Computed.a, Computed.b, Computed[3]]", r#"[3, 4, "a"]"#),
    ("(Declared as any).a", r#""ReferenceError: Declared is not defined""#),
    ("typeof (globalThis as any).Types", r#""undefined""#),
];

#[test]
fn merged_namespaces_and_enums_have_the_values_of_typescript() {
    check(&Place::with_flow(&flow(MERGED, &PARTS)), &PARTS);
}

const LABELS: [(&str, &str); 14] = [
    (
        r#"(() => { const all: any[] = []; a: for (let i = 0, n = 1; i < 3; i++, n *= 2) { all.push(() => [i, n]);
            for (;;) continue a; } return all.map((f) => f()); })()"#,
        "[[0, 1], [1, 2], [2, 4]]",
    ),
    (
        r#"(() => { const all: any[] = []; a: for (const x of [1, 2]) { const y = x * 2; all.push(() => [x, y]);
            for (;;) continue a; } return all.map((f) => f()); })()"#,
        "[[1, 2], [2, 4]]",
    ),
    (
        r#"(async () => { const all: any[] = []; let n = 0; a: while (n < 2) { const y = n++; all.push(() => y);
            for (;;) { await null; continue a; } } return all.map((f) => f()); })()"#,
        "[0, 1]",
    ),
    (
        r#"(() => { const all: any[] = []; a: b: for (const x of [1, 2, 3]) { for (const y of [1, 2, 3]) {
            if (y === 2) continue a; if (x === 2) break b; all.push([x, y]); } } return all; })()"#,
        "[[1, 1]]",
    ),
    (
        r#"(() => { let n = 0, m = 0; a: b: while (n < 5) { n++; do { m++; if (m > 3) break a; continue b;
            } while (true); } return [n, m]; })()"#,
        "[4, 4]",
    ),
    (
        r#"(async () => { const all: any[] = []; a: b: for (const x of [1, 2, 3]) { for (const y of [1, 2,
            3]) { await null; if (y === 2) continue a; if (x === 3) break b; all.push([x, y]); } } return
            all; })()"#,
        "[[1, 1], [2, 1]]",
    ),
    (
        r#"(async () => { const all: any[] = []; a: b: for await (const x of [1, 2, 3]) { for (const y of
            [1, 2, 3]) { if (y === 2) continue a; if (x === 3) break b; all.push([x, y]); } } return all;
            })()"#,
        "[[1, 1], [2, 1]]",
    ),
    (
        r#"(() => { const all: any[] = []; a: b: for (let i = 0; i < 3; i++) { all.push(() => i); for (;;)
            { if (i === 1) break b; continue a; } } return all.map((f) => f()); })()"#,
        "[0, 1]",
    ),
    (
        r#"(() => { const all: any[] = []; a: b: for (const k in { x: 1, y: 2 }) { for (;;) { all.push(k);
            continue a; } } return all; })()"#,
        r#"["x", "y"]"#,
    ),
    (
        r#"(() => { const all: any[] = []; a: b: for (const { v = 1, ...r } of [{ q: 1 }, { v: 2 }] as
            any[]) { for (;;) { all.push([v, r]); if (v === 2) break a; continue b; } } return all; })()"#,
        r#"[[1, {"q": 1}], [2, {}]]"#,
    ),
    (
        r#"(() => { const all: any[] = []; a: b: { all.push(1); if (all.length) break a; all.push(2); } c:
            d: if (all.length) { break c; } return all; })()"#,
        "[1]",
    ),
    ("(() => { a: b: switch (1 as number) { case 1: for (;;) { break a; } case 2: return 2; } return 1; })()", "1"),
    ("(() => { let n = 0; a: b: c: for (;;) { for (;;) { if (n++ > 2) break a; continue b; } } return n; })()", "4"),
    (
        r#"(() => { const all: any[] = []; a: b: for (const x of [1, 2]) { const f = () => { a: for (;;) {
            break a; } return x; }; all.push(f()); continue a; } return all; })()"#,
        "[1, 2]",
    ),
];

#[test]
fn every_label_of_a_loop_is_one_of_the_loop() {
    check(&Place::with_flow(&flow("", &LABELS)), &LABELS);
}

/// Each block fails on the line of the comment with its name.
const FAILING: &str = r#"
const o: any = { none: undefined, n: { p: null } };
namespace A { export const none: any = undefined; export const call: any = 1; }
namespace A {
  export const read = () => {
    return none.x; /* merged */
  };
  export const run = () => call(); /* mergedCall */
}
class C {}
namespace C { export const read = () => o.none.y; /* ofClass */ }
enum E { a = 1 }
const fails = (name: string, execute: () => unknown) => handler({ name, execute });
const blocks: Record<string, any> = {
  nested: fails("nested", () => {
    const { n: { a = 1, ...r }, ...rest } = { n: o.none } as any; /* nested */
    return [a, r, rest];
  }),
  assigned: fails("assigned", () => {
    let a, r, rest;
    ({ n: { a = 1, ...r }, ...rest } = o.none); /* assigned */
    return [a, r, rest];
  }),
  default: fails("default", () => {
    const { n: { a = o.none.k, ...r }, ...rest } = { n: {} } as any; /* default */
    return [a, r, rest];
  }),
  second: fails("second", () => {
    const { a = 1, ...r } = o, { b = a, ...s } = r.none; /* second */
    return [b, s];
  }),
  looped: fails("looped", () => {
    const all: any[] = [];
    for (const [{ a = 1, ...r }, b = r] of [[{}], [o.none]] as any) all.push([a, b]); /* looped */
    return all;
  }),
  caught: fails("caught", () => {
    a: b: for (const x of [1]) {
      for (;;) {
        if (x > 1) continue a;
        o.none.z(); /* caught */
      }
    }
  }),
  grouped: fails("grouped", () => (o?.missing)(1)), /* grouped */
  reached: fails("reached", () => (o.none?.f)(1)), /* reached */
  merged: fails("merged", () => A.read()),
  mergedCall: fails("mergedCall", () => (A as any).run()),
  ofClass: fails("ofClass", () => (C as any).read()),
  ofEnum: fails("ofEnum", () => (E as any).b.c), /* ofEnum */
};
export default defineFlow({
  kind: "main",
  actions: Object.fromEntries(Object.entries(blocks).map(([name, block]) => [name, { block }])),
});
"#;

#[test]
fn what_fails_in_rewritten_syntax_fails_at_its_place() {
    let place = Place::with_flow(FAILING);
    let source = std::fs::read_to_string(place.dir().join("flows/main.ts")).expect("the flow");
    for (name, message, at) in [
        ("nested", "", ""),
        ("assigned", "", ""),
        ("default", "Cannot read properties of undefined (reading 'k')", "k, ...r"),
        ("second", "", ""),
        ("looped", "", ""),
        ("caught", "Cannot read properties of undefined (reading 'z')", "z();"),
        ("grouped", "(intermediate value) is not a function", ""),
        ("reached", "(intermediate value) is not a function", ""),
        ("merged", "Cannot read properties of undefined (reading 'x')", "x;"),
        ("mergedCall", "call is not a function", "call();"),
        ("ofClass", "Cannot read properties of undefined (reading 'y')", "y;"),
        ("ofEnum", "Cannot read properties of undefined (reading 'c')", "c),"),
    ] {
        let failed = place.ask(&format!("run main {name} --user u"));
        let error = failed.json()["error"].clone();
        assert_eq!(error["name"], "TypeError", "{name}: {error}");
        assert!(message.is_empty() || error["message"] == message, "{name}: {error}");
        let (number, line) =
            source.lines().enumerate().find(|(_, line)| line.contains(&format!("/* {name} */"))).expect("the line");
        assert_eq!(error["line"], number + 1, "{name}: {error}");
        if !at.is_empty() {
            assert_eq!(error["column"], line.find(at).expect("the place") + 1, "{name}: {error}");
        }
    }
}
