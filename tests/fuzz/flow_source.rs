//! A flow's source: it loads or its row says why not, and the flow beside it is there either way.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use runner::{Mock, Workspace};
use serde_json::json;
use tests::bench::Place;

use crate::drive::{Target, fuzz, seeds};
use crate::edits::mutated;
use crate::workspaces::{action, finished, look_at, opened};

const TARGET: Target = Target {
    name: "flow_source",
    test: "flow_source::any_source_loads_or_says_why_not",
    patience: Duration::from_secs(150),
};

/// A small flow that has most of what flows are made of, so that a change of it means something.
const SMALL: &str = r#"import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
import { part } from "./lib/part";
const one = handler({ name: "one", inputSchema: z.any(), sessionStateSchema: z.object({ n: z.number().default(0) }),
  execute: async (input, ctx) => { await ctx.session.incState({ n: 1 }); ctx.emit.message(`said ${JSON.stringify(input)}`); return part(input); } });
const say = generator({ name: "say", model: "tiny", prompt: "p", user: (input) => String(input), tools: [one] });
const way = router({ name: "way", routes: [one, say], execute: () => one });
const chain = sequencer({ name: "chain", inputSchema: z.any() }).step(one).map((x) => [x, x]).forEach(one)
  .parallel({ a: one, b: way }).step(say).rescue([{ when: [Error], block: one }]);
export default defineFlow({ kind: "main", user: { stateSchema: z.object({ a: z.string().default("") }) },
  actions: { go: { block: chain }, ask: { block: handler({ name: "ask", execute: (_, ctx) => ctx.suspend({ reason: "approval" }) }) } } });
"#;

const GOOD: &str = r#"
export default defineFlow({ kind: "good", actions: { go: { block: handler({ name: "go", execute: () => 1 }) } } });
"#;

const WORDS: [&str; 92] = [
    "const ",
    "let ",
    "function f() {",
    "}",
    "{",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ".",
    "=>",
    "=",
    "?",
    ":",
    "`",
    "${",
    "\"",
    "'",
    "/*",
    "*/",
    "//",
    "/",
    "\\",
    "#",
    "@",
    "!",
    "...",
    "?.",
    "??",
    "**",
    "async ",
    "await ",
    "yield ",
    "new ",
    "class A extends A {}",
    "import './main.ts';",
    "import '../../../../etc/passwd';",
    "import '/dev/zero';",
    "import x from 'node:fs';",
    "import data from './data.json';",
    "import text from './lib/part.ts?raw';",
    "import 'data:text/javascript,throw 1';",
    "export * from './main.ts';",
    "export * from './lib/part';",
    "export default 1;",
    "export { part as default };",
    "import 'zod/v4';",
    "import * as all from '@flow-state-dev/core';",
    "await import('./lib/' + 'part');",
    "import.meta.url",
    "require('fs')",
    "for (;;) {}",
    "while (1) await null;",
    "throw new Error('x');",
    "throw null;",
    "globalThis",
    "process.exit(1)",
    "eval('1')",
    "Function('return this')()",
    "Object.prototype.then = 1;",
    "Array.prototype[0] = 1;",
    "Object.freeze(globalThis);",
    "new Array(1e9)",
    "'x'.repeat(1e9)",
    "new Proxy({}, {})",
    "Symbol()",
    "10n",
    "NaN",
    "null",
    "undefined",
    "{ __proto__: null }",
    "const f = () => f(); f();",
    "JSON.parse('['.repeat(1e5))",
    "/(a+)+$/.test('a'.repeat(40))",
    "z.lazy(() => s)",
    "z.any()",
    "z.object({ a: z.date() })",
    "z.string().regex(/(/)",
    "name: 'a/b'",
    "name: ''",
    "name: 'x'.repeat(2000)",
    "kind: 'good'",
    "kind: ''",
    "block: chain",
    "actions: {}",
    "<T,>",
    "<div>",
    "enum E { A }",
    "declare namespace n {}",
    "using x = null;",
];

/// What a chain or a nest is made of, and how often.
fn depths() -> BoxedStrategy<Vec<u8>> {
    let link = proptest::sample::select(
        &[
            ("", " + 1", ""),
            ("", ".a", ""),
            ("", "?.a", ""),
            ("", "()", ""),
            ("", " ? 1 : 1", ""),
            ("", " ?? 1", ""),
            ("", "`a`", ""),
            ("(", "", ")"),
            ("[", "", "]"),
            ("{a:", "", "}"),
            ("() => ", "", ""),
            ("!", "", ""),
            ("-", "", ""),
            ("typeof ", "", ""),
            ("await ", "", ""),
            ("new ", "", ""),
            ("`${", "", "}`"),
            ("function(){return ", "", "}"),
            ("class{a=", "", "}"),
            ("[...", "", "]"),
            ("<any>", "", ""),
            ("", " as any", ""),
            ("", "!", ""),
            ("a = ", "", ""),
            ("a, ", "", ""),
            ("/*", "", "*/"),
            ("1 ? ", "", " : 1"),
            ("{...", "", "}"),
            ("/(", "", ")/"),
            ("async () => ", "", ""),
            ("import(", "", ")"),
        ][..],
    );
    let head = proptest::sample::select(
        &["const a = ", "let a: ", "if (1) ", "export default ", "type A = ", "label: ", "a\n", ""][..],
    );
    let times = prop_oneof![4 => 0..1_300_usize, 2 => 1_300..21_000_usize, 1 => 21_000..120_000_usize];
    (link, head, times)
        .prop_map(|((open, link, close), head, times)| {
            let text = format!("{head}{}1{}{}\n;\n", open.repeat(times), link.repeat(times), close.repeat(times));
            format!("{text}{SMALL}").into_bytes()
        })
        .boxed()
}

#[test]
fn any_source_loads_or_says_why_not() {
    let inputs = || {
        let small = vec![SMALL.as_bytes().to_vec()];
        let flows = seeds(&["tests/flows", "flows", "tests/fuzz/corpus/flow_source"], ".ts");
        prop_oneof![
            5 => mutated(small, &WORDS, 6),
            3 => mutated(flows, &WORDS, 6),
            2 => depths(),
            1 => crate::edits::word(&WORDS),
        ]
        .boxed()
    };
    let begin = || {
        let settings = json!({ "limits": { "yieldMs": 2000, "memoryMb": 64 } });
        let place = Place::new()
            .file("flowglass.json", &settings.to_string())
            .file("flows/lib/part.ts", "export const part = (x: unknown) => x;\n")
            .file("flows/data.json", "{\"a\": [1, 2]}\n")
            .file(
                "flows/main.mock.json",
                r#"{"models":{"tiny":[{"text":"a"},{"toolCalls":[{"name":"one","args":{}}]},{"text":"b"}]}}"#,
            );
        place
            .write("flows/good.ts", format!("import {{ defineFlow, handler }} from \"@flow-state-dev/core\";\n{GOOD}"));
        let workspace = opened(&place);
        workspace.flows().expect("the flow loads");
        (place, workspace)
    };
    fuzz(&TARGET, inputs, begin, |(place, workspace): &mut (Place, Arc<Workspace>), input| {
        place.write("flows/main.ts", input);
        let rows = workspace.flows().map_err(|fault| format!("flows: {fault}"))?;
        let row = |file: &str| rows.iter().find(|row| row.file == file);
        // One of the same kind takes nothing from it but says so.
        if row("flows/good.ts").is_none_or(|row| row.error.is_some())
            && !rows.iter().any(|row| row.file == "flows/main.ts" && row.kind == "good")
        {
            return Err(format!("the flow beside it is gone: {}", json!(rows)));
        }
        // A module that defines no flow has none.
        let Some(row) = row("flows/main.ts").filter(|row| row.error.is_none()) else { return Ok(()) };
        for one in row.actions.iter().take(2) {
            let wanted = runner::RunOptions {
                mock: Mock::Beside,
                input: Some(json!({ "n": 1 })),
                ..action(&row.kind, &one.name)
            };
            let Ok(running) = workspace.run(wanted) else { continue };
            let (request, session) = (running.request_id.clone(), running.session_id.clone());
            finished(workspace, running)?;
            look_at(workspace, &request)?;
            workspace.delete_session(&session).map_err(|fault| format!("delete: {fault}"))?;
        }
        Ok(())
    });
}
