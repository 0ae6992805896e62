//! Features of the language: what is refused, and what works as in Node.js.

use serde_json::json;
use tests::bench::Place;

use crate::lowering::{check, flow};

/// What neither the bundler nor the runtime has is refused with its place, and with what to write.
#[test]
fn decorators_are_refused_at_their_place() {
    let flow = "export default defineFlow({ kind: \"main\", actions: { go: { block: handler({ name: \"go\", \
                execute: () => new K().m() }) } } });\n";
    let decorate = "const seen: unknown[] = [];\nconst d: any = (...given: any[]) => void seen.push(given.length);\n";
    for (class, line, column, word) in [
        ("@d\nclass K { m() { return 1; } }\n", 5, 1, "experimentalDecorators"),
        ("class K { a = 1; @d m() { return 1; } }\n", 5, 18, "decorators are not supported"),
        ("class K {\n  m() { return 1; }\n  @d f = 1;\n}\n", 7, 3, "decorators are not supported"),
        ("class K { accessor a = 1; m() { return 1; } }\n", 5, 11, "a getter and a setter"),
    ] {
        let place = Place::with_flow(&format!("{decorate}{class}{flow}"));
        let checked = place.ask("check");
        let error = &checked.json()[0]["error"];
        assert_eq!(checked.code, Some(1), "{checked}");
        assert_eq!(
            (&error["file"], &error["line"], &error["column"]),
            (&json!("flows/main.ts"), &json!(line), &json!(column)),
            "{checked}"
        );
        assert!(error["message"].as_str().is_some_and(|message| message.contains(word)), "{checked}");
        let ran = place.run(&["run", "main", "go", "--user", "u"]);
        assert!(ran.stderr.contains(&format!("flows/main.ts:{line}:{column}: ")) && ran.stderr.contains(word), "{ran}");
    }
    // The older form is lowered where the settings name it, in a file that they extend, too.
    let class = "@d\nclass K { @d m(@d p?: string) { return seen.length; } }\n";
    let place = Place::with_flow(&format!("{decorate}{class}{flow}"));
    assert_eq!(place.ask("check").code, Some(1));
    place.write("base.json", "{ \"compilerOptions\": { \"experimentalDecorators\": true } }");
    place.write("tsconfig.json", "{ \"extends\": \"./base\" }");
    assert_eq!(place.get("run main go --user u")["output"], 3);
    // And where they extend what is not installed, which the bundler never gets.
    place.write("tsconfig.json", "{ \"extends\": [\"@none/base\", \"./base\"] }");
    assert_eq!(place.get("run main go --user u")["output"], 3);
}

const TODAY: [(&str, &str); 22] = [
    (
        r#"(() => { const p = { n: "p", hi() { return "hi"; } };
            const r: any = { ...{ a: 1 }, __proto__: p, m() { return (super["hi" as "toString"] as any)(); } };
            return [r.n, r.m(), Object.keys(r)]; })()"#,
        r#"["p", "hi", ["a", "m"]]"#,
    ),
    (
        r#"(() => { let n = 1; const r = { get v() { return n; }, ...{ q: 2 }, set v(x) { n = x; } };
            r.v = 5; return [r.v, r.q]; })()"#,
        "[5, 2]",
    ),
    (
        r#"(() => { let n = 0; const x = { get a() { return ++n; }, b: 1 }, y = { get a() { return ++n +
            10; }, get c() { return n; } }; return [{ ...x, ...y }, n]; })()"#,
        r#"[{"a": 12, "b": 1, "c": 2}, 2]"#,
    ),
    (
        r#"(() => { let n = 0; const r = { ...{ z: 1 }, get v() { return ++n; }, ...{ q: 2 } }; return
            [Object.keys(r), n, r.v, r.v]; })()"#,
        r#"[["z", "v", "q"], 0, 1, 2]"#,
    ),
    ("(() => { const r: any = { get v() { return 1; }, ...{ v: 2, w: 3 } }; return [r.v, r.w]; })()", "[2, 3]"),
    (r#"logged(() => { using a = sync("a"); using b = sync("b"); log.push("body"); })"#, r#"[null, "body", "b", "a"]"#),
    (
        r#"(() => { try { using a = sync("a", true); using b = sync("b", true); throw new Error("body"); }
            catch (e: any) { return [e.name, e.error.message, e.suppressed.error.message,
            e.suppressed.suppressed.message]; } })()"#,
        r#"["SuppressedError", "da", "db", "body"]"#,
    ),
    (
        r#"logged(() => { for (using a of [sync("x"), sync("y")]) log.push(`b${a.name}`); })"#,
        r#"[null, "bx", "x", "by", "y"]"#,
    ),
    (
        r#"logged(async () => { await using a = later("a"); using b = sync("b"); log.push("body"); })"#,
        r#"[null, "body", "b", "a"]"#,
    ),
    (
        r#"[/[\p{L}--[a-z]]/v.test("a"), /[\p{L}--[a-z]]/v.test("B"),
            /^\p{Emoji_Keycap_Sequence}$/v.test("1\uFE0F\u20E3"), /[[a-z]&&[aeiou]]/v.test("b"), /a/v.flags]"#,
        r#"[false, true, true, false, "v"]"#,
    ),
    (r#"/(?<y>\d{4})-\d|(?<y>\d{2})\//.exec("12/")?.groups?.y"#, r#""12""#),
    (
        r#"Promise.all([Array.fromAsync([1, Promise.resolve(2)]), Array.fromAsync((async function* () {
            yield 1; })(), (x) => x * 2)])"#,
        "[[1, 2], [2]]",
    ),
    (
        r#"[Object.groupBy([1, 2, 3], (x) => (x % 2 ? "odd" : "even")), [...Map.groupBy([1, 2], (x) => x > 1)]]"#,
        r#"[{"odd": [1, 3], "even": [2]}, [[false, [1]], [true, [2]]]]"#,
    ),
    (
        r#"(() => { const a = new Set([1, 2]), b = new Set([2, 9]); return [a.union(b), a.intersection(b),
            a.difference(b), a.symmetricDifference(b)].map((set) => [...set]); })()"#,
        "[[1, 2, 9], [2], [1], [1, 9]]",
    ),
    (
        r#"(async () => { const { promise, resolve } = Promise.withResolvers<number>(); setTimeout(() =>
            resolve(4), 1); return await promise; })()"#,
        "4",
    ),
    (
        r#"[new Map([[1, 2]]).values().map((x) => x * 2).toArray(), counting().drop(1).filter((x) => x % 2
            === 0).take(2).toArray(), Iterator.from([1]).toArray()]"#,
        "[[4], [2, 4], [1]]",
    ),
    ("logged(() => { const it = counting().map((x) => x); it.next(); it.return!(); })", r#"[null, "closed"]"#),
    (
        "[import.meta.url, import.meta.dirname, import.meta.filename]",
        r#"["file:///flows/main.ts", "/flows", "/flows/main.ts"]"#,
    ),
    ("data", r#"{"a": 1}"#),
    (r#"(async () => (await import("./data.json", { with: { type: "json" } })).default)()"#, r#"{"a": 1}"#),
    (r#"[inner.x, (whole as any).x, everything.inner.x, (everything as any)["odd name"]]"#, "[1, 1, 1, 4]"),
    ("waited", "5"),
];

/// Features of the language and of its library, as in Node.js 22.
#[test]
fn features_of_today_work_as_in_node() {
    let prelude = r#"
import data from "./data.json" with { type: "json" };
import { inner, default as whole } from "./more";
import * as everything from "./more";
const log: any[] = [];
const sync = (name: string, fails = false) => ({
  name,
  [Symbol.dispose]() {
    log.push(name);
    if (fails) throw new Error(`d${name}`);
  },
});
const later = (name: string) => ({ name, async [Symbol.asyncDispose]() { await null; log.push(name); } });
function* counting() { let n = 0; try { while (true) yield n++; } finally { log.push("closed"); } }
const waited = await Promise.resolve(5);
const logged = async (run: () => any) => { log.length = 0; const value = await run(); return [value ?? null, ...log]; };
"#;
    let place = Place::with_flow(&flow(prelude, &TODAY))
        .file("flows/data.json", "{ \"a\": 1 }")
        .file("flows/inner.ts", "export const x = 1;\n")
        .file(
            "flows/more.ts",
            "export * as inner from \"./inner\";\nexport * as default from \"./inner\";\nconst odd = 4;\n\
             export { odd as \"odd name\" };\n",
        );
    check(&place, &TODAY);
}
