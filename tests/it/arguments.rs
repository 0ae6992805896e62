//! What an author can give a builder or a method of a chain that it does not take.
//!
//! Each mistake fails the load with words that name the method, say what was given and what is right,
//! and point at the author's line.

use serde_json::{Value, json};
use tests::bench::Place;

/// What the mistakes need; the mistake itself stands on the line below.
const BEFORE: &str = r#"
import { defineCapability, defineResource } from "@flow-state-dev/core";
const one = handler({ name: "one", execute: () => 1 });
const seq = sequencer({ name: "seq" });
const brings = (config: any) => defineCapability({ name: "cap", ...config });
const router = (routerOf as any);
const any = (value: any) => value;
"#;

const IMPORTS: &str = "import { defineFlow, generator, handler, router as routerOf, sequencer } from \"@flow-state-dev/core\";\n\
                       import { z } from \"zod\";";

/// One mistake, and the words that its error must have.
const MISTAKES: &[(&str, &[&str])] = &[
    // Builders.
    ("handler(any(undefined))", &["handler()", "configuration object", "got undefined"]),
    ("handler(any([]))", &["handler()", "configuration object", "got an empty array"]),
    ("handler(any({ execute: () => 1 }))", &["handler", "non-empty \"name\""]),
    ("handler(any({ name: 7, execute: () => 1 }))", &["handler", "non-empty \"name\""]),
    ("handler(any({ name: \"h\" }))", &["\"h\"", "handler", "execute function"]),
    (
        "handler(any({ name: \"h\", execute: () => 1, inputSchema: { a: 1 } }))",
        &["handler \"h\"", "inputSchema", "zod schema", "got an object with a"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, onCompleted: \"later\" }))",
        &["handler \"h\"", "onCompleted", "function", "got \"later\""],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, retry: 3 }))",
        &["handler \"h\"", "retry", "maxAttempts", "got number 3"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, retry: { maxAttempts: 0 } }))",
        &["retry.maxAttempts", "at least 1", "got number 0"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, retry: { maxAttempts: 2, retryableErrors: [\"Error\"] } }))",
        &["retryableErrors[0]", "error class", "got \"Error\""],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, rescue: one }))",
        &["handler \"h\"", "rescue", "array of { when?, block }", "got handler \"one\""],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, activeStatusMessage: 5 }))",
        &["activeStatusMessage", "text or a function", "got number 5"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, sessionStateSchema: {} }))",
        &["sessionStateSchema", "zod schema", "got an empty object"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, resources: [1] }))",
        &["handler \"h\"", "resources", "object of resources"],
    ),
    (
        "router(any({ name: \"r\", execute: () => one }))",
        &["Router \"r\"", "non-empty array of blocks", "got undefined"],
    ),
    (
        "router(any({ name: \"r\", routes: [], execute: () => one }))",
        &["Router \"r\"", "non-empty array", "got an empty array"],
    ),
    (
        "router(any({ name: \"r\", routes: [one, \"two\"], execute: () => one }))",
        &["Router \"r\"", "routes[1]", "needs a block", "got \"two\""],
    ),
    (
        "router(any({ name: \"r\", routes: [one, handler({ name: \"one\", execute: () => 2 })], execute: () => one }))",
        &["Router \"r\"", "two routes named \"one\""],
    ),
    ("router(any({ name: \"r\", routes: [one] }))", &["\"r\"", "router", "execute function"]),
    ("generator(any({ name: \"g\", prompt: \"p\" }))", &["Generator \"g\"", "needs a model"]),
    ("generator(any({ name: \"g\", model: \"m\" }))", &["Generator \"g\"", "needs a prompt"]),
    ("sequencer(any(null))", &["sequencer()", "configuration object", "got null"]),
    ("sequencer(any({ name: \"\" }))", &["sequencer", "non-empty \"name\""]),
    (
        "defineResource(any({ scope: \"galaxy\" }))",
        &["defineResource", "scope", "session, user, project, org", "galaxy"],
    ),
    // Capabilities.
    ("defineCapability(any(undefined))", &["defineCapability", "configuration object", "got undefined"]),
    ("defineCapability(any({}))", &["defineCapability", "non-empty \"name\"", "got undefined"]),
    (
        "defineCapability(any({ name: \"cap\", fns: { a: 1 } }))",
        &["Capability \"cap\"", "fns", "function (ctx)", "got an object with a"],
    ),
    (
        "defineCapability(any({ name: \"cap\", sessionStateSchema: 1 }))",
        &["Capability \"cap\"", "sessionStateSchema", "zod schema", "got number 1"],
    ),
    (
        "defineCapability(any({ name: \"cap\", tools: one }))",
        &["Capability \"cap\"", "tools", "array of blocks", "got handler \"one\""],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: brings({}) }))",
        &["handler \"h\"", "uses", "array of capabilities", "got capability \"cap\""],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: [one] }))",
        &["handler \"h\"", "uses[0]", "a capability", "got handler \"one\""],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: [() => []] }))",
        &["handler \"h\"", "uses[0]", "a capability", "got a function"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: [brings({ context: \"c\" })] }))",
        &["handler \"h\"", "capability \"cap\"", "context", "only a generator"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: [brings({ tools: [one] })] }))",
        &["handler \"h\"", "tools", "only a generator"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: [brings({ sequencerStateSchema: z.object({}) })] }))",
        &["handler \"h\"", "sequencerStateSchema", "only a sequencer"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, stateSchema: z.object({ a: z.number() }), uses: [brings({ stateSchema: z.object({ a: z.number() }) })] }))",
        &["handler \"h\"", "capability \"cap\"", "both declare \"a\""],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, resources: { r: defineResource({ scope: \"user\" }) }, uses: [brings({ resources: { r: defineResource({ scope: \"user\" }) } })] }))",
        &["Resource conflict: \"r\"", "handler \"h\"", "capability \"cap\""],
    ),
    // Wrappers.
    ("one.connectInput(any(3))", &["connectInput of handler \"one\"", "needs a function", "got number 3"]),
    ("one.connectOutput(any(\"x\"))", &["connectOutput of handler \"one\"", "needs a function", "got \"x\""]),
    ("one.mapModelOutput(any(null))", &["mapModelOutput of handler \"one\"", "needs a function", "got null"]),
    ("seq.connectInput(any(one))", &["connectInput of sequencer \"seq\"", "needs a function", "got handler \"one\""]),
    ("one.rescue(any(one))", &["handler \"one\"", "rescue", "array of { when?, block }", "got handler \"one\""]),
    (
        "one.rescue(any([{ when: \"Error\", block: one }]))",
        &["rescue[0].when", "array of error classes", "got \"Error\""],
    ),
    ("one.rescue(any([{ when: [\"Error\"], block: one }]))", &["rescue[0].when", "error classes", "got \"Error\""]),
    ("one.rescue(any([{ block: () => 1 }]))", &["rescue[0].block", "needs a block", "got the function block"]),
    ("one.asTool(any(\"primary\"))", &["asTool of handler \"one\"", "options", "got \"primary\""]),
    (
        "one.asTool(any({ agentType: \"main\" }))",
        &["asTool of handler \"one\"", "\"primary\", \"sub\" or \"trace\"", "not \"main\""],
    ),
    (
        "one.asTool(any({ itemVisibility: { client: 1 } }))",
        &["asTool of handler \"one\"", "{ client: boolean, history: boolean }"],
    ),
    // The chain.
    ("seq.step(any(\"one\"))", &["step(\"one\")", "step(block)", "step(connector, block)", "step(factory, config)"]),
    ("seq.step(any(undefined))", &["step(undefined)", "step(block)"]),
    ("seq.step(any((v: any) => v), any(\"x\"))", &["step(a function, \"x\")", "step(connector, block)"]),
    ("seq.stepIf(any(true), one)", &["stepIf", "needs a function", "got boolean true"]),
    ("seq.stepIf(() => true, any(4))", &["stepIf(number 4)", "stepIf(block)"]),
    ("seq.map(any(one))", &["map", "needs a function", "got handler \"one\""]),
    ("seq.tap(any({}))", &["tap(an empty object)", "tap(block)"]),
    ("seq.tapIf(any(1), one)", &["tapIf", "needs a function", "got number 1"]),
    ("seq.exitIf(any(\"done\"))", &["exitIf", "needs a function", "got \"done\""]),
    ("seq.throwIf(() => true, any(\"bad\"))", &["throwIf", "an Error, or a function", "got \"bad\""]),
    ("seq.throwIf(any(true), new Error(\"x\"))", &["throwIf", "needs a function", "got boolean true"]),
    ("seq.parallel(any([one]))", &["parallel", "object of blocks", "got an array of 1"]),
    ("seq.parallel(any(one))", &["parallel", "object of blocks", "got handler \"one\""]),
    ("seq.parallel(any({ a: 1 }))", &["parallel", "\"a\"", "needs a block", "got"]),
    (
        "seq.parallel(any({ a: { connector: 1, block: one } }))",
        &["parallel: \"a\": connector", "needs a function", "got number 1"],
    ),
    (
        "seq.parallel({ a: one }, any({ maxConcurrency: 0 }))",
        &["parallel", "maxConcurrency", "at least 1", "got number 0"],
    ),
    ("seq.parallel({ a: one }, any(2))", &["parallel", "options", "{ maxConcurrency: 4 }", "got number 2"]),
    ("seq.stepAll(any({ a: one }))", &["stepAll", "array of blocks", "got an object with a"]),
    ("seq.stepAll(any([one, 2]))", &["stepAll: [1]", "needs a block", "got"]),
    ("seq.stepAny(any(one))", &["stepAny", "array of blocks", "got handler \"one\""]),
    ("seq.stepAny(any([\"a\"]))", &["stepAny: [0]", "needs a block", "got \"a\""]),
    ("seq.race(any(undefined))", &["race", "array of blocks", "got undefined"]),
    ("seq.race([one], any({ maxConcurrency: \"2\" }))", &["race", "maxConcurrency", "got \"2\""]),
    ("seq.branch(any([one]))", &["branch", "[connector, condition, block]", "got an array of 1"]),
    ("seq.branch(any({ a: one }))", &["branch: \"a\"", "[connector, condition, block]", "got handler \"one\""]),
    ("seq.branch(any({ a: [1, () => true, one] }))", &["branch: \"a\" connector", "needs a function", "got number 1"]),
    (
        "seq.branch(any({ a: [(v: any) => v, true, one] }))",
        &["branch: \"a\" condition", "needs a function", "got boolean true"],
    ),
    ("seq.branch(any({ a: [(v: any) => v, () => true, 1] }))", &["branch: \"a\"", "needs a block", "got number 1"]),
    ("seq.forEach(any(undefined))", &["forEach", "a block, or a function", "got undefined"]),
    ("seq.forEach(any(5), one)", &["forEach: connector", "needs a function", "got number 5"]),
    ("seq.forEach(one, any({ maxConcurrency: \"many\" }))", &["forEach", "maxConcurrency", "a number", "got \"many\""]),
    ("seq.forEachBackground(any({}))", &["forEachBackground", "a block, or a function", "got an empty object"]),
    ("seq.doUntil(any(one), one)", &["doUntil", "needs a function", "got handler \"one\""]),
    ("seq.doWhile(() => true, any(7))", &["doWhile(number 7)", "doWhile(block)"]),
    ("seq.loopBack(any(one), { maxIterations: 1 })", &["loopBack", "name of an operation", "got handler \"one\""]),
    ("seq.loopBack(\"one\", any({}))", &["loopBack(\"one\")", "maxIterations", "positive integer", "got undefined"]),
    (
        "seq.loopBack(\"one\", any({ maxIterations: 1.5 }))",
        &["loopBack(\"one\")", "positive integer", "got number 1.5"],
    ),
    (
        "seq.loopBack(\"one\", any({ maxIterations: 1, when: true }))",
        &["loopBack: when", "needs a function", "got boolean true"],
    ),
    ("seq.work(any(\"one\"))", &["work", "needs a function", "got \"one\""]),
    ("seq.work(one, any({ name: 3 }))", &["work", "name must be a text", "got number 3"]),
    ("seq.workIf(any(3), one)", &["workIf", "needs a function", "got number 3"]),
    ("seq.waitForWork(any({ failOnError: \"yes\" }))", &["waitForWork", "failOnError", "true or false", "got \"yes\""]),
    ("seq.waitForWork(any({ timeoutMs: \"soon\" }))", &["waitForWork", "timeoutMs", "milliseconds", "got \"soon\""]),
    (
        "seq.waitForCondition(any(() => true), any({}))",
        &["waitForCondition", "timeoutMs", "positive number", "got undefined"],
    ),
    ("seq.waitForCondition(any(1), { timeoutMs: 10 })", &["waitForCondition", "needs a function", "got number 1"]),
    (
        "sequencer({ name: \"v\", outputSchema: z.string() }).step(handler({ name: \"n\", outputSchema: z.number(), execute: () => 1 })).validate()",
        &["\"v\"", "declares an output of kind string", "makes number"],
    ),
    // Flows.
    ("defineFlow(any(undefined))", &["defineFlow", "definition object", "got undefined"]),
    ("defineFlow(any({ kind: \" \" }))", &["defineFlow", "\"kind\"", "non-empty string", "got \" \""]),
    ("defineFlow(any({ kind: \"k\", actions: [] }))", &["Flow \"k\"", "object of actions", "got an empty array"]),
    (
        "defineFlow(any({ kind: \"k\", actions: { a: one } }))",
        &["Flow \"k\"", "action \"a\"", "needs a block", "got handler \"one\""],
    ),
    (
        "defineFlow(any({ kind: \"k\", actions: { a: { block: () => 1 } } }))",
        &["Flow \"k\"", "action \"a\"", "needs a block", "got the function block"],
    ),
    (
        "defineFlow(any({ kind: \"k\", actions: { a: { block: one, inputSchema: {} } } }))",
        &["action \"a\"", "inputSchema", "zod schema", "got an empty object"],
    ),
    (
        "defineFlow(any({ kind: \"k\", session: { stateSchema: {} } }))",
        &["Flow \"k\"", "session.stateSchema", "zod schema", "got an empty object"],
    ),
    (
        "defineFlow(any({ kind: \"k\", cardinality: \"singleton\", id: \"other\" }))",
        &["Flow \"k\"", "singleton", "not \"other\""],
    ),
    (
        "defineFlow(any({ kind: \"k\", cardinality: \"many\" }))",
        &["Flow \"k\"", "\"singleton\" or \"collection\"", "got \"many\""],
    ),
    (
        "any(defineFlow(any({ kind: \"k\", cardinality: \"collection\" })))({})",
        &["Flow \"k\"", "collection", "needs an id"],
    ),
    ("any(defineFlow(any({ kind: \"k\" })))(\"other\")", &["Flow \"k\"", "object of options", "got \"other\""]),
    (
        "defineFlow(any({ kind: \"k\", mcp: {}, actions: { a: { block: one } } }))",
        &["Flow \"k\"", "action \"a\"", "MCP", "description"],
    ),
    (
        "defineFlow(any({ kind: \"k\", actions: { a: { block: handler({ name: \"c\", flowConfigSchema: z.object({}), execute: () => 1 } as any) } } }))",
        &["Flow \"k\"", "handler \"c\"", "flowConfigSchema", "no configSchema"],
    ),
    (
        "defineFlow(any({ kind: \"k\", session: { retention: { maxAge: \"long\" } } }))",
        &["Flow \"k\"", "retention.maxAge", "\"24h\"", "\"long\""],
    ),
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", repair: { mode: \"never\" } }))",
        &["Generator \"g\"", "repair.mode", "\"auto\", \"fail\" or \"rescue\"", "\"never\""],
    ),
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", tools: [one, \"two\"] }))",
        &["generator \"g\"", "tools[1]", "needs a block", "got \"two\""],
    ),
    ("sequencer(any({ name: \"s\", container: \"panel\" }))", &["sequencer \"s\"", "container", "{ component:"]),
    (
        "defineFlow(any({ kind: \"k\", actions: { a: { block: one, tokenBudget: {} } } }))",
        &["tokenBudget", "maxTotalTokens"],
    ),
];

#[test]
fn a_wrong_argument_fails_the_load_where_it_stands() {
    let place = Place::new();
    for (at, (mistake, _)) in MISTAKES.iter().enumerate() {
        place.write(&format!("flows/m{at:03}.ts"), format!("{IMPORTS}{BEFORE}{}", written(mistake)));
    }
    let line = IMPORTS.lines().count() + BEFORE.lines().count();
    let found = place.run(&["flows", "--json"]).json();
    let mut wrong = Vec::new();
    for (at, (mistake, words)) in MISTAKES.iter().enumerate() {
        let file = format!("flows/m{at:03}.ts");
        let entry = found.as_array().and_then(|list| list.iter().find(|flow| flow["file"] == file.as_str()));
        let error = entry.map_or(&Value::Null, |flow| &flow["error"]);
        let message = error["message"].as_str().unwrap_or_default();
        let missing: Vec<_> = words.iter().filter(|word| !message.contains(**word)).collect();
        if !missing.is_empty() {
            wrong.push(format!("{mistake}\n    says {message:?}, not {missing:?}"));
        } else if error["file"] != json!(file) || error["line"] != json!(line) {
            wrong.push(format!("{mistake}\n    points to {}:{}, not to line {line}", error["file"], error["line"]));
        }
    }
    assert!(wrong.is_empty(), "{} of {} mistakes are told badly:\n{}", wrong.len(), MISTAKES.len(), wrong.join("\n"));
}

/// The mistake as the flow's last line. What makes no flow stands before one.
fn written(mistake: &str) -> String {
    match mistake.contains("defineFlow(") {
        true => format!("export default {mistake};\n"),
        false => format!("export const made = {mistake}; export default defineFlow({{ kind: \"k\" }} as any);\n"),
    }
}
