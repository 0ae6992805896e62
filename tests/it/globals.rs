//! The globals that flows know from Node.js, and what is told of values that a log cannot hold as they are.

use serde_json::json;
use tests::bench::Place;

/// A flow with one action, whose handler has this body.
fn body(text: &str) -> Place {
    Place::with_flow(&format!(
        "const body = handler({{ name: 'body', execute: async (_: any, ctx: any) => {{ {text} }} }});
         export default defineFlow({{ kind: 'main', actions: {{ run: {{ block: body }} }} }});"
    ))
}

/// The log lines of a request: level and text.
fn lines(place: &Place) -> Vec<(String, String)> {
    let logged = place.get("events r --kind logged");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let lines = logged.as_array().expect("a list").iter();
    lines.map(|one| (text(&one["payload"]["level"]), text(&one["payload"]["text"]))).collect()
}

const RUN: &str = "run main run --user ada --request r";

#[test]
fn every_call_of_the_console_is_a_line_as_node_prints_it() {
    let place = body(
        "console.group('outer'); console.log('a\\nb'); console.group(); console.warn('deep'); console.groupEnd(); console.groupEnd(); console.groupEnd();
         console.count(); console.count('x'); console.count(); console.countReset(); console.count(); console.countReset('none');
         console.time('t'); console.timeLog('t', 1); console.timeEnd('t'); console.timeEnd('t');
         console.dir({ a: 1 }); console.assert(true); console.assert(false, 'no');
         console.table([{ a: 1, b: 'x' }, { a: 2 }]); console.table([1, 'a']); console.table(5); console.table(new Map([['k', 1]]));
         console.table({ r: { c: 1, d: 2 } }, ['c']);
         console.trace('where'); console.clear();",
    );
    place.get(RUN);
    let lines = lines(&place);
    let texts: Vec<&str> = lines.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts[..3], ["outer", "  a\n  b", "    deep"]);
    assert_eq!(texts[3..7], ["default: 1", "x: 1", "default: 2", "default: 1"]);
    assert_eq!(lines[7], ("warn".to_owned(), "Count for 'none' does not exist".to_owned()));
    assert!(texts[8].starts_with("t: ") && texts[8].ends_with("ms 1"), "{texts:?}");
    assert!(texts[9].starts_with("t: ") && texts[9].ends_with("ms"), "{texts:?}");
    assert_eq!(texts[10..13], ["No such label 't' for console.timeEnd()", "{\"a\":1}", "Assertion failed: no"]);
    assert_eq!(
        texts[13],
        "┌─────────┬───┬─────┐\n│ (index) │ a │ b   │\n├─────────┼───┼─────┤\n│ 0       │ 1 │ 'x' │\n│ 1       │ 2 │     │\n└─────────┴───┴─────┘"
    );
    assert_eq!(
        texts[14],
        "┌─────────┬────────┐\n│ (index) │ Values │\n├─────────┼────────┤\n│ 0       │ 1      │\n│ 1       │ 'a'    │\n└─────────┴────────┘"
    );
    assert_eq!(texts[15], "5");
    assert!(texts[16].contains("(iteration index) │ Key │ Values"), "{}", texts[16]);
    assert!(texts[17].contains("(index) │ c │\n") && !texts[17].contains("│ d"), "{}", texts[17]);
    assert_eq!(texts[18..], ["where"]);
    assert_eq!(place.get("replay r")["identical"], true);
}

/// Blocks that run at the same time do not indent each other's lines.
#[test]
fn a_group_is_of_its_block() {
    let place = Place::with_flow(
        "const a = handler({ name: 'a', execute: async () => { console.group('a'); await new Promise((done) => setTimeout(done, 20)); console.log('in a'); } });
         const b = handler({ name: 'b', execute: async () => { await new Promise((done) => setTimeout(done, 10)); console.log('in b'); } });
         export default defineFlow({ kind: 'main', actions: { run: { block: sequencer({ name: 's' }).parallel({ a, b }).step(b) } } });",
    );
    place.get(RUN);
    let texts: Vec<String> = lines(&place).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["a", "in b", "  in a", "in b"]);
}

#[test]
fn globals_are_there_however_they_are_named() {
    for (text, expected) in [
        ("return [typeof globalThis['process'], typeof globalThis['Buffer']];", json!(["object", "function"])),
        ("return ['process', 'Buffer'].map((name) => typeof (globalThis as any)[name]);", json!(["object", "function"])),
        (
            "const said: string[] = []; const never = setImmediate(() => said.push('never')); clearImmediate(never);
             await new Promise<void>((done) => setImmediate((word: string) => { said.push(word); done(); }, 'now')); return said;",
            json!(["now"]),
        ),
    ] {
        let place = body(text);
        assert_eq!(place.get(RUN)["output"], expected, "{text}");
        assert_eq!(place.get("replay r")["identical"], true, "{text}");
    }
}

#[test]
fn half_of_a_surrogate_pair_is_warned_of_once() {
    let place = Place::with_flow(
        "const one = handler({ name: 'one', execute: () => 'a\\uD800b' });
         const two = handler({ name: 'two', execute: (text: any) => [text.charCodeAt(1), 'c\\uDC00', '😀'] });
         export default defineFlow({ kind: 'main', actions: { run: { block: sequencer({ name: 's' }).step(one).step(two) } } });",
    );
    assert_eq!(place.get(RUN)["output"], json!([0xfffd, "c\u{fffd}", "😀"]));
    let lines = lines(&place);
    assert!(lines.len() == 1 && lines[0].0 == "warn" && lines[0].1.contains("surrogate"), "{lines:?}");
    assert_eq!(place.get("replay r")["identical"], true);
}

/// The entries of such errors are reached by more ways than there are entries.
#[test]
fn errors_that_share_their_entries_are_told_in_part() {
    let place = body(
        "let all: Error[] = [new Error('leaf'), new Error('other')];
         for (let level = 0; level < 14; level++) all = [new AggregateError(all, `a${level}`), new AggregateError(all, `b${level}`)];
         throw new AggregateError(all, 'top');",
    );
    let failed = place.ask(RUN);
    assert_eq!(failed.code, Some(3), "{failed}");
    assert!(failed.stdout.len() < 1 << 20, "{} bytes", failed.stdout.len());
    assert!(failed.stdout.contains("more errors"));
}

#[test]
fn a_transient_slot_of_a_state_that_is_kept_is_warned_of() {
    let place = Place::with_flow(
        "import { transientSlot } from '@flow-state-dev/core';
         const slot = () => z.object({ seen: transientSlot(z.number().default(1)) });
         const own = handler({ name: 'own', sessionStateSchema: slot(), execute: () => 1 });
         const chain = sequencer({ name: 'chain', stateSchema: slot() }).step(own);
         export default defineFlow({ kind: 'main', request: { stateSchema: slot() }, actions: { run: { block: chain } } });",
    );
    let checked = place.ask("check").stdout;
    let told = checked.matches("transientSlot changes nothing here").count();
    assert_eq!(told, 2, "{checked}");
    assert!(checked.contains("request.stateSchema") && checked.contains("sessionStateSchema"), "{checked}");
}

/// As in Node.js: dates keep their identity, and errors, patterns and memory are copied as what they are.
#[test]
fn a_structured_clone_is_that_of_node() {
    let place = body(
        "const date = new Date(5); const bytes = new Uint8Array([1, 2, 3]);
         const made: any = structuredClone({ date, same: date, bad: new Date(NaN), pattern: /a/gi, error: new TypeError('m', { cause: { x: 1 } }),
           bytes: bytes.subarray(1), all: bytes, view: new DataView(new ArrayBuffer(4), 1, 2), memory: new ArrayBuffer(3), boxed: Object(true), hole: [1, , 3] });
         const refused = (value: unknown) => { try { structuredClone(value); return 'copied'; } catch (error: any) { return `${error.name}: ${error.message}`; } };
         const { error, view } = made;
         return [made.date === made.same, made.date !== date, made.date instanceof Date, made.date.getTime(), String(made.bad), String(made.pattern),
           error instanceof TypeError, error.message, error.cause.x, [...made.bytes], made.bytes.buffer === made.all.buffer, view.byteOffset, view.byteLength,
           made.memory.byteLength, made.boxed instanceof Boolean, made.hole.length, 1 in made.hole,
           refused(new WeakMap()), refused(Promise.resolve()), refused(Symbol('q'))];",
    );
    let wanted = json!([
        true,
        true,
        true,
        5,
        "Invalid Date",
        "/a/gi",
        true,
        "m",
        1,
        [2, 3],
        true,
        1,
        2,
        3,
        true,
        3,
        false,
        "DataCloneError: #<WeakMap> could not be cloned.",
        "DataCloneError: #<Promise> could not be cloned.",
        "DataCloneError: Symbol(q) could not be cloned.",
    ]);
    assert_eq!(place.get(RUN)["output"], wanted);
}
