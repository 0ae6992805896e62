//! What a flow file may not define: each mistake is found when the file loads, at the author's line.
//!
//! A case is a source, the line of the mistake in it, and what the message must say. All files lie
//! in one place, so one look at it tells of all.

use serde_json::Value;
use tests::bench::Place;

/// Stands before every source, on one line.
const PRELUDE: &str = "import { defineFlow, defineResource, handler, router, sequencer } from '@flow-state-dev/core'; import { z } from 'zod'; \
                       const block = handler({ name: 'block', execute: () => 1 }); const actions = { go: { block } };\n";

/// The mistake is marked by `/*!*/` on its line.
const CASES: &[(&str, &[&str])] = &[
    ("export default /*!*/defineFlow();", &["defineFlow needs a definition object"]),
    ("export default /*!*/defineFlow({ actions });", &["\"kind\" must be a non-empty string"]),
    ("export default /*!*/defineFlow({ kind: 'f', actions: [] });", &["Flow \"f\"", "\"actions\" must be an object"]),
    ("export default /*!*/defineFlow({ kind: 'f', actions: { go: {} } });", &["action \"go\"", "needs a block"]),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions: { go: { block, inputSchema: {} } } });",
        &["action \"go\"", "inputSchema must be a zod schema"],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, session: { stateSchema: 3 } });",
        &["session.stateSchema must be a zod schema"],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, request: { onStarted: 'log' } });",
        &["request", "onStarted must be a block"],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, requireUser: false, user: { stateSchema: z.object({}) } });",
        &["requireUser: false", "user.stateSchema"],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, authentication: { requireUser: false }, requireUser: true, user: { client: { expose: ['x'] } } });",
        &["requireUser: false", "user.client"],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, mcp: {} });",
        &["action \"go\"", "offered over MCP", "description"],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, internal: { go: 5 } });",
        &["\"internal\" must be { actions: { … } }", "an object with go"],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, task: { actions: { later: {} } } });",
        &["task \"later\"", "needs a block"],
    ),
    (
        "import { boolean, defineFacetedCollection, evaluator } from '@flow-state-dev/core';\n\
         const asks = evaluator({ name: 'asks', model: 'm', questions: { q: boolean('?') }, flowConfigSchema: z.object({}) });\n\
         const tickets = /*!*/defineFacetedCollection({ name: 'tickets', pattern: 'tickets/*', scope: 'user', \
         stateSchema: z.object({}), evaluator: asks });\n\
         export default defineFlow({ kind: 'f', actions, resources: tickets.resources });",
        &["evaluator \"asks\" declares a flowConfigSchema"],
    ),
    (
        "import { boolean, defineFacetedCollection, evaluator } from '@flow-state-dev/core';\n\
         const one = defineResource({ scope: 'user', stateSchema: z.object({}), prefetchMode: 'lazy' });\n\
         const asks = evaluator({ name: 'asks', model: 'm', questions: { q: boolean('?') }, resources: { lazy: one } });\n\
         const tickets = /*!*/defineFacetedCollection({ name: 'tickets', pattern: 'tickets/*', scope: 'user', \
         stateSchema: z.object({}), evaluator: asks });\n\
         export default defineFlow({ kind: 'f', actions, resources: tickets.resources });",
        &["declares \"lazy\" with prefetchMode: 'lazy'"],
    ),
    (
        "import { boolean, defineFacetedCollection, evaluator } from '@flow-state-dev/core';\n\
         const one = defineResource({ scope: 'user', stateSchema: z.object({}) });\n\
         const asks = evaluator({ name: 'asks', model: 'm', questions: { q: boolean('?') }, resources: { tickets: one } });\n\
         const tickets = /*!*/defineFacetedCollection({ name: 'tickets', pattern: 'tickets/*', scope: 'user', \
         stateSchema: z.object({}), evaluator: asks });\n\
         export default defineFlow({ kind: 'f', actions, resources: tickets.resources });",
        &["under \"tickets\", the collection's own accessor"],
    ),
    (
        "import { defineCapability } from '@flow-state-dev/core';\n\
         const a = defineCapability({ name: 'a' }), b = defineCapability({ name: 'b', uses: [a] });\n\
         Object.assign(a, { uses: [b] });\n\
         const uses = /*!*/handler({ name: 'uses', uses: [a], execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { go: { block: uses } } });",
        &["Capability cycle detected: \"a\" depends on itself"],
    ),
    (
        "import { dispatcher } from '@flow-state-dev/core';\n\
         const send = /*!*/dispatcher({ name: 'send', type: 'task', target: 'x', flowKind: 'g', session: 'per-task' });\n\
         export default defineFlow({ kind: 'f', actions: { go: { block: send } } });",
        &["dispatcher \"send\"", "a task stays in the flow of its board"],
    ),
    (
        "const asks = handler({ name: 'asks', flowConfigSchema: z.object({}), execute: () => 1 });\n\
         export default /*!*/defineFlow({ kind: 'f', actions: { go: { block: sequencer({ name: 's' }).step(asks) } } });",
        &["handler \"asks\" has a flowConfigSchema", "no configSchema"],
    ),
    (
        "import { generator } from '@flow-state-dev/core';\n\
         const outputSchema = z.object({ a: z.record(z.string(), z.string()), b: z.record(z.string(), z.number()) });\n\
         const answers = /*!*/generator({ name: 'answers', model: 'm', prompt: 'p', outputSchema });\n\
         export default defineFlow({ kind: 'f', actions: { go: { block: answers } } });",
        &[
            "Generator \"answers\" output schema is not OpenAI strict-mode compatible:\n  $.a: ZodRecord",
            "\n  $.b: ZodRecord",
        ],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, id: 3 });",
        &["\"id\" must be a non-empty string", "number 3"],
    ),
    (
        "export default /*!*/defineFlow({ kind: 'f', actions, cardinality: 'many' });",
        &["\"singleton\" or \"collection\"", "\"many\""],
    ),
    (
        "const f = defineFlow({ kind: 'f', actions, cardinality: 'singleton' });\nexport default /*!*/f({ id: 'other' });",
        &["singleton", "its id is \"f\"", "\"other\""],
    ),
    (
        "const f = defineFlow({ kind: 'f', actions, cardinality: 'collection' });\nexport default /*!*/f();",
        &["collection", "needs an id of its own"],
    ),
    (
        "const f = defineFlow({ kind: 'f', actions });\nexport default /*!*/f('mine');",
        &["an instance takes an object of options", "\"mine\""],
    ),
    (
        "const f = defineFlow({ kind: 'f', actions });\nexport default /*!*/f({ kind: ' ' });",
        &["\"kind\" must be a non-empty string"],
    ),
    (
        "const f = defineFlow({ kind: 'f', actions });\nexport default /*!*/f({ actions: { more: {} } });",
        &["action \"more\"", "needs a block"],
    ),
    // Declarations of one field that cannot both hold.
    (
        "const s = sequencer({ name: 's', stateSchema: z.object({ x: z.string().default('') }) });\n\
         const a = /*!*/handler({ name: 'a', sequencerStateSchema: z.object({ x: z.number() }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { go: { block: s.step(a) } } });",
        &["SchemaConflictError", "sequencer", "\"x\" of \"s\"", "string by sequencer \"s\"", "number by block \"a\""],
    ),
    (
        "const s = sequencer({ name: 's', stateSchema: z.object({ x: z.any() }) });\n\
         const a = handler({ name: 'a', sequencerStateSchema: z.object({ x: z.number() }), execute: () => 1 });\n\
         const b = /*!*/handler({ name: 'b', sequencerStateSchema: z.object({ x: z.string() }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { go: { block: s.step(a).step(b) } } });",
        &["\"x\" of \"s\"", "number by block \"a\"", "string by block \"b\""],
    ),
    (
        "const s = sequencer({ name: 's', stateSchema: z.object({ y: z.number().default(0) }) });\n\
         const a = handler({ name: 'a', sequencerStateSchema: z.object({ x: z.number() }), execute: () => 1 });\n\
         const b = /*!*/handler({ name: 'b', sequencerStateSchema: z.object({ x: z.string() }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { go: { block: s.step(a).step(b) } } });",
        &["\"x\" of \"s\"", "number by block \"a\"", "string by block \"b\""],
    ),
    (
        "const o = sequencer({ name: 'o', stateSchema: z.object({ x: z.string().default('') }) });\n\
         const a = /*!*/handler({ name: 'a', sequencerStateSchema: z.object({ x: z.number() }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { go: { block: o.step(sequencer({ name: 's' }).tap(a)) } } });",
        &["\"x\" of \"o\"", "string by sequencer \"o\"", "number by block \"a\""],
    ),
    (
        "const o = sequencer({ name: 'o', stateSchema: z.object({ x: z.string().default('') }) });\n\
         const s = sequencer({ name: 's', stateSchema: z.object({ x: z.number().default(0) }) });\n\
         const a = /*!*/handler({ name: 'a', targetStateSchemas: { o: z.object({ x: z.number() }) }, execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { go: { block: o.step(s.step(a)) } } });",
        &["\"x\" of \"o\"", "string by sequencer \"o\"", "number by block \"a\""],
    ),
    (
        "const one = handler({ name: 'one', userStateSchema: z.object({ p: z.object({ y: z.number() }).optional() }), execute: () => 1 });\n\
         const two = /*!*/handler({ name: 'two', userStateSchema: z.object({ p: z.object({ y: z.string() }).optional() }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { a: { block: one }, b: { block: two } } });",
        &["user state", "\"p.y\"", "number by block \"one\"", "string by block \"two\""],
    ),
    (
        "const one = handler({ name: 'one', sessionStateSchema: z.object({ m: z.enum(['a', 'b']) }), execute: () => 1 });\n\
         const two = /*!*/handler({ name: 'two', sessionStateSchema: z.object({ m: z.enum(['c']) }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { a: { block: one }, b: { block: two } } });",
        &["session state", "\"m\"", "\"a\" or \"b\" by block \"one\"", "\"c\" by block \"two\""],
    ),
    (
        "const one = handler({ name: 'one', sessionStateSchema: z.object({ l: z.array(z.string()) }), execute: () => 1 });\n\
         const two = /*!*/handler({ name: 'two', sessionStateSchema: z.object({ l: z.array(z.number()) }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { a: { block: one }, b: { block: two } } });",
        &["session state", "\"l[]\"", "string by block \"one\"", "number by block \"two\""],
    ),
    // Ranges that exclude each other, of two declarations and of one.
    (
        "const one = handler({ name: 'one', sessionStateSchema: z.object({ n: z.number().min(10) }), execute: () => 1 });\n\
         const two = /*!*/handler({ name: 'two', sessionStateSchema: z.object({ n: z.number().max(5) }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { a: { block: one }, b: { block: two } } });",
        &[
            "session state",
            "\"n\"",
            "number with minimum 10 by block \"one\"",
            "number with maximum 5 by block \"two\"",
        ],
    ),
    (
        "const one = /*!*/handler({ name: 'one', sessionStateSchema: z.object({ p: z.object({ t: z.string().min(3).max(2) }) }), execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { a: { block: one } } });",
        &[
            "session state field \"p.t\" is declared as string with minLength 3 and maxLength 2 by block \"one\"",
            "no value is valid",
        ],
    ),
    // Resources that cannot both be had.
    (
        "const one = handler({ name: 'one', resources: { d: defineResource({ scope: 'session' }) }, execute: () => 1 });\n\
         const two = handler({ name: 'two', resources: { d: /*!*/defineResource({ scope: 'session' }) }, execute: () => 1 });\n\
         export default defineFlow({ kind: 'f', actions: { a: { block: one }, b: { block: two } } });",
        &["Resource conflict: \"d\" is one definition in block \"one\" and another in block \"two\""],
    ),
    (
        "const a = defineResource({ ref: 'same', scope: 'session' });\n\
         const b = /*!*/defineResource({ ref: 'same', scope: 'session' });\n\
         export default defineFlow({ kind: 'f', resources: { a, b }, actions });",
        &["\"a\" of flow \"f\" (session/same) and \"b\" of flow \"f\" (session/same) are different definitions"],
    ),
];

#[test]
fn every_mistake_is_found_at_its_line() {
    let place = CASES.iter().enumerate().fold(Place::new(), |place, (n, (source, _))| {
        place.file(&format!("flows/f{n:03}.ts"), &format!("{PRELUDE}{source}\n"))
    });
    let answer = place.ask("check");
    assert_eq!(answer.code, Some(1), "{answer}");
    let found = answer.json();
    let errors: Vec<&Value> = found.as_array().expect("a list").iter().map(|flow| &flow["error"]).collect();
    assert_eq!(errors.len(), CASES.len());
    let wrong: Vec<String> =
        CASES.iter().zip(errors).filter_map(|((source, says), error)| unlike(source, says, error)).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), CASES.len(), wrong.join("\n"));
}

/// What is wrong with an error, if anything.
fn unlike(source: &str, says: &[&str], error: &Value) -> Option<String> {
    let (above, after) = source.split_once("/*!*/").expect("a marked mistake");
    let line = above.matches('\n').count() as u64 + 2;
    // A call stands at its opening parenthesis, or at its name.
    let column = above.rsplit('\n').next().unwrap_or_default().chars().count() as u64 + 1;
    let columns = column..=column + 5 + after.find('(').unwrap_or_default() as u64;
    let message = error["message"].as_str().unwrap_or("it loads");
    let says_all = says.iter().all(|part| message.contains(part));
    let is_there = error["line"] == line && error["column"].as_u64().is_some_and(|at| columns.contains(&at));
    (!says_all || !is_there).then(|| {
        format!(
            "- {source}\n  said {message:?} at {}:{}, not {says:?} at {line}:{columns:?}",
            error["line"], error["column"]
        )
    })
}

/// Declarations that differ, and of which a value can satisfy both.
#[test]
fn declarations_that_one_value_fits_load() {
    let pairs = [
        ("z.enum(['a', 'b'])", "z.enum(['b', 'c'])"),
        ("z.number()", "z.number().int().optional()"),
        ("z.string()", "z.coerce.number()"),
        ("z.number().catch(0)", "z.string()"),
        ("z.preprocess((v) => v, z.number())", "z.string()"),
        ("z.object({ a: z.number().optional() })", "z.object({ a: z.string().optional() })"),
        ("z.string().nullable()", "z.number().nullable()"),
        ("z.array(z.any())", "z.array(z.string())"),
        ("z.record(z.number())", "z.object({ a: z.string().optional() })"),
    ];
    let blocks: Vec<String> = pairs
        .iter()
        .enumerate()
        .flat_map(|(n, (one, two))| [(n, 'a', one), (n, 'b', two)])
        .map(|(n, side, schema)| {
            format!(
                "step(handler({{ name: '{side}{n}', sessionStateSchema: z.object({{ f{n}: {schema} }}), \
                 sequencerStateSchema: z.object({{ f{n}: {schema} }}), execute: () => 1 }}))"
            )
        })
        .collect();
    // Two sequencers are two states, and of two blocks of one name nobody knows which is meant.
    let source = format!(
        "{PRELUDE}const other = sequencer({{ name: 'other', stateSchema: z.object({{ f0: z.number().default(0) }}) }}).step(block);\n\
         const asks = handler({{ name: 'asks', targetStateSchemas: {{ other: z.object({{ f0: z.string() }}) }}, execute: () => 1 }});\n\
         const again = sequencer({{ name: 'other', stateSchema: z.object({{ f0: z.number().default(0) }}) }}).step(asks);\n\
         const s = sequencer({{ name: 's', stateSchema: z.object({{}}) }});\n\
         export default defineFlow({{ kind: 'f', actions: {{ go: {{ block: s.{}.step(other).step(again) }} }} }});\n",
        blocks.join(".")
    );
    let answer = Place::new().file("f.ts", &source).ask("check");
    assert_eq!(answer.code, Some(0), "{answer}");
}

#[test]
fn settings_of_other_hosts_load_with_a_warning() {
    let source = format!(
        "{PRELUDE}export default defineFlow({{ kind: 'f', middleware: [(_ctx, next) => next()], voice: {{}}, chat: {{}}, webhooks: {{}}, \
         schedules: {{}}, work: {{}}, tokenCounter: {{}}, defaultBlockRenderer: false, mcp: {{ enabled: false }}, \
         internal: {{ actions: {{ hidden: {{ block }} }} }}, \
         actions: {{ go: {{ block: handler({{ name: 'go', middleware: [async (_ctx, next) => 1 + await next()], execute: () => 2 }}) }} }} }});\n"
    );
    let place = Place::new().file("f.ts", &source);
    let flows = place.get("flows");
    let actions: Vec<&Value> = flows[0]["actions"].as_array().expect("a list").iter().map(|a| &a["name"]).collect();
    assert_eq!(actions, ["go"], "an internal entry is for no person");
    assert_eq!(place.get("run f go --user ada")["output"], 3);
    let told = place.run(&["check"]);
    assert_eq!(told.code, Some(0), "{told}");
    for key in ["voice", "work", "tokenCounter"] {
        assert_eq!(told.stdout.matches(&format!("\"{key}\" changes nothing here")).count(), 1, "{told}");
    }
    assert_eq!(
        told.stdout.matches("warning: ").count(),
        3,
        "nothing is said of what works, or asks for nothing\n{told}"
    );
}

/// An instance may be of another kind than its definition: then the file has two flows.
#[test]
fn an_instance_with_a_kind_of_its_own_is_a_flow_of_its_own() {
    let source = format!(
        "{PRELUDE}export const plain = defineFlow({{ kind: 'plain', actions }});\n\
         const extra = handler({{ name: 'extra', execute: (_input, ctx) => ctx.flow.kind }});\n\
         export default plain({{ id: 'mine', kind: 'other', actions: {{ extra: {{ block: extra }} }} }});\n"
    );
    let place = Place::new().file("f.ts", &source);
    let flows = place.get("flows");
    let kinds: Vec<&Value> = flows.as_array().expect("a list").iter().map(|flow| &flow["kind"]).collect();
    assert_eq!(kinds, ["other", "plain"]);
    assert_eq!(place.get("run other extra --user ada")["output"], "other");
    assert_eq!(place.get("run other go --user ada")["output"], 1);
    assert_eq!(place.get("run plain go --user ada")["output"], 1);
}
