//! Which statements sources have, by data.

use super::*;

/// The statements of a source: the text of each, the function around it, and the names in its scope.
#[track_caller]
fn check(text: &str, expected: &[(&str, &str, &str)]) {
    let stops = Stops::read(text, "a.ts").expect("it parses");
    let found: Vec<(&str, String, String)> = stops
        .found
        .iter()
        .map(|stop| {
            let shown = &text[stop.start as usize..stop.end as usize];
            (shown, stop.function.to_string(), stop.names.join(" "))
        })
        .collect();
    let found: Vec<(&str, &str, &str)> =
        found.iter().map(|(shown, function, names)| (*shown, function.as_str(), names.as_str())).collect();
    assert_eq!(found, expected);
}

#[test]
fn statements_have_their_functions_and_names() {
    check(
        "const top = 1; function f(a: number) { 'use strict'; const b = a; if (b) return b; { let c = 2; } }",
        &[("const b = a;", "f", "a b"), ("if (b", "f", "a b"), ("return b;", "f", "a b"), ("let c = 2;", "f", "c a b")],
    );
    check("x(handler({ execute: async ({ n }) => n + 1 }))", &[("n + 1", "execute", "n")]);
    check(
        "const f = () => { for (const i of [1]) g(i); try { h(); } catch (e) { k(e) } }",
        &[
            ("for (const i of [1]", "f", ""),
            ("const i of [1]", "f", "i"),
            ("g(i);", "f", "i"),
            ("h();", "f", ""),
            ("k(e)", "f", "e"),
        ],
    );
    check("type A = 1; interface B {} const x = 1;", &[]);
}

#[test]
fn the_head_of_a_loop_runs_with_each_turn() {
    check(
        "function f() { for (let i = 0; i < 3; i++) g(i); for (const k in {}) { h(k) } while (g()) h(); }",
        &[
            ("for (let i = 0; i < 3; i++) ", "f", ""),
            ("i < 3; i++", "f", "i"),
            ("g(i);", "f", "i"),
            ("for (const k in {}", "f", ""),
            ("const k in {}", "f", "k"),
            ("h(k)", "f", "k"),
            ("while (g()", "f", ""),
            ("h();", "f", ""),
        ],
    );
    check("function f() { do { g() } while (h()) }", &[("g()", "f", ""), ("h()", "f", "")]);
    check(
        "function f() { for (;;) g(); for (let i = 0; ; ) ; for (; h();) ; }",
        &[
            ("for (;;) ", "f", ""),
            ("for (;;) ", "f", ""),
            ("g();", "f", ""),
            ("for (let i = 0; ; ) ", "f", ""),
            ("for (let i = 0; ; ) ", "f", "i"),
            ("for (; h();) ", "f", ""),
            ("h()", "f", ""),
        ],
    );
}

/// The offsets of the probes in the place of an update.
#[track_caller]
fn check_no_update(text: &str, expected: &[&str]) {
    let stops = Stops::read(text, "a.ts").expect("it parses");
    let found = stops.spots.iter().filter(|(_, spot)| matches!(spot, Spot::NoUpdate(_)));
    let found: Vec<&str> = found.map(|(at, _)| &text[*at as usize..]).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_loop_without_an_update_has_a_place_for_one() {
    check_no_update("() => { for (;;) f() }", &[") f() }"]);
    check_no_update("() => { for (; (f());) { g() } }", &[") { g() } }"]);
    check_no_update("() => { for (;; /* ) */) // )\n f() }", &[") // )\n f() }"]);
    check_no_update("() => { for (let i = (1);;) (f()) }", &[") (f()) }"]);
}

#[test]
fn a_label_and_a_try_run_nothing() {
    check(
        "function f() { a: for (const x of y) { b: while (x) break a; } c: try { g(); } finally { h(); } }",
        &[
            ("for (const x of y", "f", ""),
            ("const x of y", "f", "x"),
            ("while (x", "f", "x"),
            ("break a;", "f", "x"),
            ("g();", "f", ""),
            ("h();", "f", ""),
        ],
    );
    check("function f() { if (a) ; else ; }", &[("if (a", "f", "")]);
}

#[test]
fn fields_and_static_blocks_of_a_class_run() {
    check(
        "class A { a = f(); b; c = () => g(); static d = h(); static { k(); } #e = (i(), 1); }",
        &[("a = f()", "a", "this"), ("g()", "c", "this"), ("#e = (i(), 1)", "#e", "this")],
    );
    check(
        "function f() { class A { static d = h(); static { k(); } static n = class {}; } }",
        &[("class A ", "f", "A"), ("d = h()", "d", "this A"), ("k();", "static", "this A")],
    );
}

#[test]
fn methods_have_their_object_in_scope() {
    check(
        "const o = { m(n) { f(n); }, get g() { return 1; }, a: () => k(), h: function () { l(); } };",
        &[("f(n);", "m", "this n"), ("return 1;", "g", "this"), ("k()", "a", ""), ("l();", "h", "")],
    );
    check(
        "class A { m(): void; m() { [].map((n) => n); function f() { g(); } } c = (n) => n; } function f() { h(); }",
        &[
            ("[].map((n) => n);", "m", "this f"),
            ("n", "(anonymous)", "this n f"),
            ("g();", "f", "f"),
            ("n", "c", "this n"),
            ("h();", "f", ""),
        ],
    );
    check("function f(this: { n: number }) { g(); }", &[("g();", "f", "this")]);
}

#[test]
fn statements_declare_names() {
    let text = "function f() { const { a, b: [c] } = {}, d = 1; var e; let g; class H {} for (const i of []) k(); }";
    let stops = Stops::read(text, "a.ts").expect("it parses");
    let found: Vec<String> = stops.found.iter().map(|stop| stop.declares.join(" ")).collect();
    assert_eq!(found, ["a c d", "", "g", "H", "", "", ""]);
}

/// The variables that a source's statements and the ends of its lists keep.
#[track_caller]
fn check_kept(text: &str, expected: &[&str], at_ends: &[(&str, &str)]) {
    let stops = Stops::read(text, "a.ts").expect("it parses");
    let found: Vec<String> = stops.found.iter().map(|stop| stop.keeps.join(" ")).collect();
    assert_eq!(found, expected);
    let ends = stops.spots.iter().filter_map(|(at, spot)| match spot {
        Spot::ListEnd(kept) => Some((&text[..*at as usize], stops.kept[*kept].join(" "))),
        _ => None,
    });
    let found: Vec<(String, String)> = ends.map(|(before, names)| (before.to_owned(), names)).collect();
    let found: Vec<(&str, &str)> = found.iter().map(|(before, names)| (before.as_str(), names.as_str())).collect();
    assert_eq!(found, at_ends);
}

#[test]
fn variables_are_kept_by_the_statement_after_their_declaration() {
    check_kept("const top = 1; function f() { const a = 1, { b, ...c } = {}; let d; g(); }", &["", "a b c", "d"], &[]);
    check_kept(
        "() => { if (x) { var a = 1 } const b = () => y }",
        &["", "", "", ""],
        &[("() => { if (x) { var a = 1", "a"), ("() => { if (x) { var a = 1 } const b = () => y", "b")],
    );
    check_kept("() => { const a = 1; function g() {} return a; }", &["", "a"], &[]);
    check_kept(
        "() => { switch (x) { case 1: const a = 1; default: g(); } }",
        &["", "", ""],
        &[("() => { switch (x) { case 1: const a = 1;", "a")],
    );
    check_kept("() => { for (let i = 0, u = 1; i < 3; i++) g(); }", &["", "i u", ""], &[]);
    check_kept("declare const x: number; const f = () => x;", &[""], &[]);
}
