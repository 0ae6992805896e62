//! Which code may keep state in memory from one block to the next.

use super::*;

const IMPORTS: &str = "import { defineFlow, handler, sequencer } from \"@flow-state-dev/core\";\n\
                       import { z } from \"zod\";\n";

/// Checks whether a file that consists of `around` and a handler with `body` may keep state.
#[track_caller]
fn check(around: &str, body: &str, expected: bool) {
    let text = format!("{IMPORTS}{around}\nconst h = handler({{ name: \"h\", execute: (n, ctx) => {body} }});\n");
    assert_eq!(may_keep_state([("flows/a.ts", text.as_str())].into_iter()), expected, "{text}");
}

#[test]
fn handlers_that_do_not_change_shared_values_keep_no_state() {
    for (around, body) in [
        ("", "{ let sum = 0; n.forEach((one) => { sum += one; }); return sum; }"),
        ("const LIMIT = 3;", "n > LIMIT"),
        ("const RATES = { a: 1, b: 2 };", "RATES[n]"),
        ("const RATES = { a: 1, b: 2 } as const;", "{ const { a } = { ...RATES }; return a; }"),
        ("const NAMES = [\"a\", \"b\"];", "NAMES.map((one) => one + n)"),
        ("const twice = (n: number) => n * 2;", "twice(n)"),
        ("function twice(n: number) { const two = 2; return n * two; }", "twice(n)"),
        (
            "const side = (name: string) => handler({ name, execute: (n) => name + n });\n\
             const s = sequencer({ name: \"s\" }).step(side(\"a\"));",
            "n",
        ),
        ("const one = z.object({ n: z.number() });", "one.parse(n)"),
        ("const inner = handler({ name: \"i\", execute: (n) => n });", "inner.run(n, ctx)"),
        (
            "class Cart { items: number[] = []; add(n: number) { this.items.push(n); } }",
            "{ const cart = new Cart(); cart.add(n); return cart.items; }",
        ),
        ("enum Size { Small, Large }", "Size.Large"),
        ("const WORD = /a+/;", "WORD.test(n)"),
        ("const KINDS = new Set([\"a\"]);", "KINDS.has(n)"),
        ("const region = process.env.REGION ?? \"eu\";", "region + n"),
        ("type Shape = { n: number }; interface Other { m: Shape }", "(n as Other).m"),
    ] {
        check(around, body, false);
    }
}

#[test]
fn a_function_that_changes_a_value_outside_itself_keeps_state() {
    for (around, body) in [
        ("let count = 0;", "{ count += 1; return count; }"),
        ("const seen = new Set<string>();", "{ seen.add(n); return 1; }"),
        ("const cache: Record<string, number> = {};", "{ cache[n] = 1; }"),
        ("const list: number[] = [];", "list.push(n)"),
        ("const TREE = { a: { n: 1 } };", "{ const a = TREE.a; a.n++; }"),
        ("const all = [1, 2]; const sort = (l: number[]) => l.reverse();", "sort(all)"),
        (
            "const counter = () => { let n = 0; return () => { n += 1; return n; }; };\nconst next = counter();",
            "next()",
        ),
        (
            "const side = (name: string) => {\n\
             let n = 0; return handler({ name, execute: () => { n += 1; return n; } }); };\n\
             export const a = side(\"a\");",
            "n",
        ),
        ("", "{ (globalThis as any).n = 1; }"),
        ("", "{ (Array.prototype as any).last = n; }"),
        ("const WORD = /a/g;", "WORD.exec(n)"),
        ("class Cache { static all: number[] = []; }", "{ Cache.all.push(n); }"),
        ("function helper(n: number) { return n; }\nhelper.calls = 0;", "{ helper.calls += 1; }"),
        ("import { LRU } from \"lru\"; const cache = new LRU();", "cache.get(n)"),
        ("import { uniqueId } from \"lodash\";", "uniqueId()"),
        ("const { a } = makeAll();", "a.next()"),
    ] {
        check(around, body, true);
    }
}

#[test]
fn a_value_shared_by_another_file_counts() {
    let uses = format!(
        "{IMPORTS}import {{ TABLE }} from \"./table\";\nconst h = handler({{ name: \"h\", execute: () => TABLE.a }});"
    );
    let keeps = |table: &str| may_keep_state([("flows/a.ts", uses.as_str()), ("flows/table.ts", table)].into_iter());
    assert!(!keeps("export const TABLE = { a: 1 };"));
    assert!(keeps("export const TABLE = { a: { b: 1 } };"));
    assert!(keeps("export let TABLE = { a: 1 }; export const put = (n: number) => { TABLE = { a: n }; };"));
}
