//! Memory refusals and limits at every allocation of many kinds of code. A fault of QuickJS would crash the process.

use std::cell::Cell;
use std::rc::Rc;

use rquickjs::{CatchResultExt, Context, Runtime, Value};

use super::{MIN_MARGIN, Meter};

/// The size of QuickJS's arenas. Only larger blocks can be refused: the margin allows all others until a script is
/// stopped.
const LARGE: usize = 4096;
/// More than the largest block here whose refusal QuickJS does not handle: that of a bound function.
const SMALL_MARGIN: usize = 16 << 10;
const NO_LIMIT: usize = 1 << 40;
/// How many allocations of each kind of code are tried.
const STEPS: usize = 30;
const MAX_REFUSALS: u32 = 100;

/// Refuses one large allocation, as the ceiling does.
#[derive(Default)]
pub(super) struct Refusals {
    /// How many more large allocations succeed before one is refused; `None` refuses none.
    left: Cell<Option<u32>>,
    is_past: Cell<bool>,
}

impl Refusals {
    pub(super) fn refuses(&self, size: usize) -> bool {
        if size <= LARGE {
            return false;
        }
        match self.left.get() {
            Some(0) => {
                self.left.set(None);
                self.is_past.set(true);
                true
            }
            left => {
                self.left.set(left.map(|left| left - 1));
                false
            }
        }
    }
}

/// Code of every kind that allocates, each with some blocks of more than 4 KB.
const KINDS: &[(&str, &str)] = &[
    ("bind", "const f = () => 1, l = []; for (let i = 0; i < 90; i++) l.push(f.bind(null, ...new Array(200).fill(0)))"),
    ("array", "const l = []; for (let i = 0; i < 3000; i++) l.push([i])"),
    ("fill", "new Array(5000).fill(0).map((n) => ({ n }))"),
    ("spread", "const a = Array.from({ length: 2000 }, (_, i) => i); const b = [...a, ...a]; Math.max(...b)"),
    ("apply", "String.fromCharCode.apply(null, new Array(3000).fill(65))"),
    ("object", "const o = {}; for (let i = 0; i < 2000; i++) o['key' + i] = { i }"),
    (
        "assign",
        "const o = Object.fromEntries(Array.from({ length: 900 }, (_, i) => ['a' + i, i])); Object.assign({}, o)",
    ),
    ("entries", "const o = Object.fromEntries(Array.from({ length: 900 }, (_, i) => ['a' + i, i])); Object.entries(o)"),
    ("repeat", "const s = 'abc'.repeat(5000); s + s + 'é€'"),
    ("concat", "let s = ''; for (let i = 0; i < 3000; i++) s += 'part ' + i; s.length"),
    ("wide", "let s = '€'.repeat(4000); for (let i = 0; i < 5; i++) s = s + i; s.split('').length"),
    ("split", "'a,b,'.repeat(2000).split(',').join('|').toUpperCase()"),
    ("replace", "'abc'.repeat(2000).replace(/b/g, (m) => m + m).replaceAll('c', 'dd')"),
    (
        "regexp",
        "const r = /((a+)(b*))+c/g; 'aaabbbc'.repeat(300).match(r); [...'ab'.repeat(500).matchAll(/a(?<x>b)/g)]",
    ),
    ("backtrack", "/^(a|b)*c$/.test('ab'.repeat(3000))"),
    ("parse", "JSON.parse('[' + '{\"a\":[1,2,\"x\"]},'.repeat(900) + '1]')"),
    ("stringify", "JSON.stringify(Array.from({ length: 1500 }, (_, i) => ({ i, s: 'x' + i })), null, 1)"),
    ("map", "const m = new Map(); for (let i = 0; i < 2000; i++) m.set('k' + i, i); [...m.entries()].length"),
    ("set", "const s = new Set(Array.from({ length: 2000 }, (_, i) => i)); s.union(new Set([1, 'b'])); [...s]"),
    ("weak", "const w = new WeakMap(), l = []; for (let i = 0; i < 900; i++) { const k = {}; l.push(k); w.set(k, l) }"),
    ("buffer", "new Uint8Array(new ArrayBuffer(20000)).slice(10).fill(1); new Float64Array(3000).map((n) => n + 1)"),
    ("resize", "const b = new ArrayBuffer(100, { maxByteLength: 50000 }); b.resize(40000); b.transfer(9000)"),
    ("closure", "const l = []; for (let i = 0; i < 2000; i++) l.push(() => i); l.map((f) => f())"),
    (
        "class",
        "const l = []; for (let i = 0; i < 200; i++) l.push(class A { #x = i; get x() { return this.#x } static y = i; })",
    ),
    ("generator", "function* g() { for (let i = 0; i < 900; i++) yield [i] } [...g()]; g().map((x) => x).toArray()"),
    ("async", "(async () => { for (let i = 0; i < 200; i++) await i; return new Array(2000).fill(1) })()"),
    ("promises", "Promise.all(Array.from({ length: 600 }, (_, i) => new Promise((r) => r(i)).then((n) => [n])))"),
    ("then", "let p = Promise.resolve(0); for (let i = 0; i < 900; i++) p = p.then((n) => n + 1)"),
    ("asynciter", "(async () => { async function* g() { yield* [1, 2, 3] } for await (const x of g()) [x]; })()"),
    (
        "proxy",
        "const p = new Proxy({}, { ownKeys: () => Array.from({ length: 600 }, (_, i) => 'k' + i), getOwnPropertyDescriptor: () => ({ configurable: true, enumerable: true }) }); Object.keys(p)",
    ),
    ("bigint", "let b = 1n; for (let i = 0; i < 60; i++) b = b * 12345678901234567890n + b; (b ** 30n).toString()"),
    ("date", "const l = []; for (let i = 0; i < 300; i++) l.push(new Date(i * 1e9).toISOString()); l.sort()"),
    ("sort", "Array.from({ length: 3000 }, (_, i) => (i * 7919) % 3001).sort((a, b) => a - b); [3, 1].toSorted()"),
    ("flat", "Array.from({ length: 600 }, (_, i) => [i, [i]]).flat(2).flatMap((x) => [x, x]).slice(1).concat([1, 2])"),
    (
        "splice",
        "const a = Array.from({ length: 2000 }, (_, i) => i); a.splice(5, 9, ...a.slice(0, 900)); a.unshift(...a)",
    ),
    (
        "errors",
        "const l = []; for (let i = 0; i < 300; i++) { try { null.x } catch (e) { l.push(e.stack, new Error('a', { cause: e })) } }",
    ),
    (
        "finally",
        "const l = []; for (let i = 0; i < 50; i++) { try { l.push(new Array(900).fill(i)) } finally { l.push(i) } }",
    ),
    ("catching", "for (let i = 0; i < 90; i++) { try { new Array(900).fill(i).map(String) } catch { i-- } }"),
    (
        "recursion",
        "const f = (n) => (n === 0 ? [] : [f(n - 1)]); JSON.stringify(f(200)); const g = () => g() + 1; try { g() } catch {}",
    ),
    (
        "function",
        "for (let i = 0; i < 60; i++) new Function('a', 'const x = [' + '1,'.repeat(900) + ']; return x.length + a')(i)",
    ),
    (
        "template",
        "const t = (s, ...v) => s.raw.join('') + v; const l = []; for (let i = 0; i < 900; i++) l.push(t`a${i}b`)",
    ),
    (
        "symbols",
        "const o = {}; for (let i = 0; i < 900; i++) o[Symbol('s' + i)] = Symbol.for('k' + i); Reflect.ownKeys(o)",
    ),
    (
        "rest",
        "const f = ({ a, ...r }, ...l) => [r, l]; const o = {}; for (let i = 0; i < 900; i++) o['p' + i] = i; f(o, ...Object.keys(o))",
    ),
    (
        "getters",
        "const l = []; for (let i = 0; i < 600; i++) l.push(Object.defineProperties({}, { x: { get: () => i, enumerable: true } })); l.map((o) => ({ ...o }))",
    ),
    ("uri", "encodeURIComponent('é€ '.repeat(900)); decodeURIComponent('%C3%A9'.repeat(900)); escape('ü'.repeat(900))"),
];

struct Run {
    /// Bytes in use before the code ran, and the maximum.
    before: usize,
    peak: usize,
    is_exceeded: bool,
    is_refused: bool,
}

/// Runs code in a new runtime, with all jobs that it starts.
fn run(code: &str, limit: usize, margin: usize, large_until_refusal: Option<u32>) -> Run {
    let meter = Meter::with_margin(limit, margin);
    let runtime = Runtime::new_with_alloc(meter.allocator()).expect("a runtime");
    runtime.set_max_stack_size(1 << 20);
    let (counted, peak) = (meter.clone(), Rc::new(Cell::new(0)));
    let seen = peak.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || {
        seen.set(seen.get().max(counted.used.get()));
        counted.is_exceeded()
    })));
    let context = Context::full(&runtime).expect("a context");
    context.with(|ctx| meter.attach(&ctx));
    let before = meter.used.get();
    meter.refusals.left.set(large_until_refusal);
    // Errors that the code throws are caught: QuickJS must stay intact after them.
    context.with(|ctx| drop(ctx.eval::<Value, _>(format!("(() => {{ {code} }})()")).catch(&ctx)));
    peak.set(peak.get().max(meter.used.get()));
    while !meter.is_exceeded() && matches!(runtime.execute_pending_job(), Ok(true) | Err(_)) {
        peak.set(peak.get().max(meter.used.get()));
    }
    meter.refusals.left.set(None);
    let (is_exceeded, is_refused) = (meter.is_exceeded(), meter.refusals.is_past.get());
    Run { before, peak: peak.get(), is_exceeded, is_refused }
}

/// Exceeds the limit in every arena of the code, with the smallest margin and with a small one.
#[test]
fn the_limit_at_every_arena() {
    for (name, code) in KINDS {
        let free = run(code, NO_LIMIT, MIN_MARGIN, None);
        assert!(!free.is_exceeded, "{name}");
        let step = ((free.peak - free.before) / STEPS).max(LARGE);
        for limit in (free.before..free.peak).step_by(step) {
            assert!(run(code, limit, MIN_MARGIN, None).is_exceeded, "{name} with {limit} bytes");
            assert!(run(code, limit, SMALL_MARGIN, None).is_exceeded, "{name} with {limit} bytes");
        }
    }
}

/// Refuses each large block of the code, one per run.
#[test]
fn a_refusal_of_every_large_block() {
    let mut refusals = 0;
    for (name, code) in KINDS {
        for at in 0..MAX_REFUSALS {
            let refused = run(code, NO_LIMIT, MIN_MARGIN, Some(at));
            assert_eq!(refused.is_refused, refused.is_exceeded, "{name} at {at}");
            if !refused.is_refused {
                break;
            }
            refusals += 1;
        }
    }
    assert!(refusals > 500, "{refusals}");
}
