//! What an author can give a builder or a method of a chain that it does not take.
//!
//! Each mistake fails the load with words that name the method, say what was given and what is right,
//! and point at the author's line.

use serde_json::{Value, json};
use tests::bench::Place;

/// What the mistakes need; the mistake itself stands on the line below.
const BEFORE: &str = r#"
import { defineCapability, defineResource, dispatcher } from "@flow-state-dev/core";
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
        "handler(any({ name: \"h\", execute: () => 1, retry: { maxAttempts: -1 } }))",
        &["retry.maxAttempts", "at least 1", "got number -1"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, retry: { maxAttempts: 1.5 } }))",
        &["retry.maxAttempts", "integer", "got number 1.5"],
    ),
    (
        "sequencer(any({ name: \"h\", retry: { maxAttempts: NaN } }))",
        &["retry.maxAttempts", "integer", "got number NaN"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, retry: { maxAttempts: Infinity } }))",
        &["retry.maxAttempts", "integer", "got number Infinity"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, retry: { maxAttempts: 2, baseDelayMs: Infinity } }))",
        &["retry.baseDelayMs", "milliseconds", "got number Infinity"],
    ),
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", flowTools: { defaults: { retry: { maxAttempts: 0 } } } }))",
        &["generator \"g\"", "flowTools.defaults.retry.maxAttempts", "at least 1", "got number 0"],
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
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", tools: [one, handler({ name: \"one\", execute: () => 2 })] }))",
        &["Generator \"g\" has two tools named \"one\". Tool names must be unique within a generator."],
    ),
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", repair: { coerce: { model: 5 } } }))",
        &["Generator \"g\"", "repair.coerce.model", "a model's name", "got number 5"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, middleware: one }))",
        &["handler \"h\"", "middleware", "array of { name, execute }", "got handler \"one\""],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, middleware: [{ name: \"m\" }] }))",
        &["middleware[0]", "execute function of (ctx, next)", "got an object with name"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, middleware: [{ execute: () => 1, filter: \"h\" }] }))",
        &["middleware[0].filter", "function of { name, kind }", "got \"h\""],
    ),
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
        &["handler \"h\"", "capability \"cap\"", "context is only valid on generator blocks"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: [brings({ tools: [one] })] }))",
        &["handler \"h\"", "tools is only valid on generator blocks"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: [brings({ sequencerStateSchema: z.object({}) })] }))",
        &["handler \"h\"", "sequencerStateSchema is only valid on sequencer blocks"],
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
    (
        "handler(any({ name: \"h\", execute: () => 1, rescue: [{ when: () => true, block: one }] }))",
        &["handler \"h\"", "rescue[0].when", "array of error classes", "got the function when"],
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
    ("seq.stepIf(any(\"x\"), one)", &["stepIf", "needs a function, true or false", "got \"x\""]),
    ("seq.stepIf(() => true, any(4))", &["stepIf(a function, number 4)", "stepIf(condition, block)"]),
    ("seq.map(any(one))", &["map", "needs a function", "got handler \"one\""]),
    ("seq.tap(any({}))", &["tap(an empty object)", "tap(block)"]),
    ("seq.tapIf(any(1), one)", &["tapIf", "needs a function", "got number 1"]),
    ("seq.exitIf(any(\"done\"))", &["exitIf", "needs a function", "got \"done\""]),
    ("seq.throwIf(() => true, any(\"bad\"))", &["throwIf", "an Error, or a function", "got \"bad\""]),
    ("seq.throwIf(any(7), new Error(\"x\"))", &["throwIf", "needs a function, true or false", "got number 7"]),
    ("seq.parallel(any([one]))", &["parallel", "object of blocks", "got an array of 1"]),
    ("seq.parallel(any(one))", &["parallel", "object of blocks", "got handler \"one\""]),
    ("seq.parallel(any({ a: 1 }))", &["parallel: \"a\" needs a block, or { connector, block }, got number 1"]),
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
    ("seq.stepAll(any([one, 2]))", &["stepAll: [1] needs a block, or { connector, block }, got number 2"]),
    ("seq.stepAny(any(one))", &["stepAny", "array of blocks", "got handler \"one\""]),
    ("seq.stepAny(any([\"a\"]))", &["stepAny: [0]", "needs a block", "got \"a\""]),
    ("seq.race(any(undefined))", &["race", "array of blocks", "got undefined"]),
    ("seq.race([one], any({ maxConcurrency: \"2\" }))", &["race", "maxConcurrency", "got \"2\""]),
    ("seq.branch(any([one]))", &["branch", "[connector, condition, block]", "got an array of 1"]),
    ("seq.branch(any({ a: one }))", &["branch: \"a\"", "[connector, condition, block]", "got handler \"one\""]),
    ("seq.branch(any({ a: [1, () => true, one] }))", &["branch: \"a\" connector", "needs a function", "got number 1"]),
    (
        "seq.branch(any({ a: [(v: any) => v, 7, one] }))",
        &["branch: \"a\": the condition", "needs a function", "got number 7"],
    ),
    ("seq.branch(any({ a: [(v: any) => v, () => true, 1] }))", &["branch: \"a\"", "needs a block", "got number 1"]),
    ("seq.forEach(any(undefined))", &["forEach", "a block, or a function", "got undefined"]),
    ("seq.forEach(any(5), one)", &["forEach: connector", "needs a function", "got number 5"]),
    ("seq.forEach(one, any({ maxConcurrency: \"many\" }))", &["forEach", "maxConcurrency", "a number", "got \"many\""]),
    ("seq.forEachBackground(any({}))", &["forEachBackground", "a block, or a function", "got an empty object"]),
    ("seq.doUntil(any(one), one)", &["doUntil", "needs a function", "got handler \"one\""]),
    ("seq.doWhile(() => true, any(7))", &["doWhile(a function, number 7)", "doWhile(condition, block)"]),
    ("seq.loopBack(any(one), { maxIterations: 1 })", &["loopBack", "name of an operation", "got handler \"one\""]),
    ("seq.loopBack(\"one\", any({}))", &["loopBack(\"one\")", "maxIterations", "positive integer", "got undefined"]),
    (
        "seq.loopBack(\"one\", any({ maxIterations: 1.5 }))",
        &["loopBack(\"one\")", "positive integer", "got number 1.5"],
    ),
    (
        "seq.loopBack(\"one\", any({ maxIterations: 1, when: 1 }))",
        &["loopBack: when", "needs a function", "got number 1"],
    ),
    ("seq.work(any(\"one\"))", &["work(\"one\") is not one of work(block), work(connector, block)"]),
    ("seq.work(any((v) => v))", &["work(a function) is not one of work(block), work(connector, block)"]),
    ("any(seq).work()", &["work() is not one of work(block)"]),
    ("any(seq).workIf(() => true)", &["workIf(a function) is not one of workIf(condition, block)"]),
    ("any(seq).doWhile(() => false)", &["doWhile(a function) is not one of doWhile(condition, block)"]),
    ("any(seq).doUntil(() => false)", &["doUntil(a function) is not one of doUntil(condition, block)"]),
    ("any(seq).doUntil()", &["doUntil: the condition needs a function, got undefined"]),
    (
        "any(seq).tapIf(() => true)",
        &["tapIf(a function) is not one of tapIf(condition, function), tapIf(condition, block)"],
    ),
    ("any(seq).step(one, one)", &["step(handler \"one\", handler \"one\") names two blocks", "a call of its own"]),
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
        "defineFlow(any({ kind: \"k\", webhooks: { stripe: {} } }))",
        &["Flow \"k\"", "webhook provider \"stripe\"", "`on` map of events"],
    ),
    (
        "defineFlow(any({ kind: \"k\", webhooks: { stripe: { on: { paid: { block: one } } } } }))",
        &["webhook \"stripe/paid\"", "`input` as a function", "got undefined"],
    ),
    (
        "defineFlow(any({ kind: \"k\", webhooks: { stripe: { on: { paid: { block: one, input: any, when: 1 } } } } }))",
        &["webhook \"stripe/paid\": when", "needs a function", "got number 1"],
    ),
    (
        "defineFlow(any({ kind: \"k\", chat: { on: { mention: { input: any } } } }))",
        &["chat \"mention\"", "needs a block", "got an object with input"],
    ),
    (
        "defineFlow(any({ kind: \"k\", actions: { go: { block: one } }, \
         chat: { on: { mention: { action: \"go\", block: one, input: any } } } }))",
        &["chat \"mention\"", "has a block and names action \"go\""],
    ),
    (
        "defineFlow(any({ kind: \"k\", schedules: { static: { nightly: { cron: \"@daily\", action: \"gone\" } } } }))",
        &["schedule \"nightly\"", "names action \"gone\"", "does not have"],
    ),
    (
        "defineFlow(any({ kind: \"k\", schedules: { static: { Nightly: { cron: \"0 3 * * *\", block: one } } } }))",
        &["schedule \"Nightly\"", "lower-case letters"],
    ),
    (
        "defineFlow(any({ kind: \"k\", schedules: { static: { nightly: { cron: \"0 25 * * *\", block: one } } } }))",
        &["schedule \"nightly\"", "cron expression \"0 25 * * *\"", "\"25\" is no hour"],
    ),
    (
        "defineFlow(any({ kind: \"k\", schedules: { static: { nightly: { cron: \"daily\", block: one } } } }))",
        &["\"daily\"", "it has 1 field", "five fields"],
    ),
    (
        "defineFlow(any({ kind: \"k\", schedules: { static: { nightly: { cron: \"0 3 * * *\", input: 1, block: handler({ name: \"t\", inputSchema: z.string(), execute: any }) } } } }))",
        &["schedule \"nightly\"", "input that does not fit"],
    ),
    (
        "defineFlow(any({ kind: \"k\", schedules: { static: { nightly: { cron: \"0 3 * * *\", block: one, onOverlap: \"queue\" } } } }))",
        &["onOverlap", "\"skip\" or \"allow\"", "\"queue\""],
    ),
    (
        "defineFlow(any({ kind: \"k\", actions: { a: { block: dispatcher({ name: \"d\", type: \"internal\", target: \"t\", session: { key: any } }) } } }))",
        &["dispatcher \"d\"", "internal entry \"t\"", "does not declare", "add internal: { actions:"],
    ),
    (
        "dispatcher(any({ name: \"d\", type: \"public\", target: \"t\" }))",
        &["dispatcher \"d\"", "\"internal\" or \"task\"", "got \"public\""],
    ),
    (
        "dispatcher(any({ name: \"d\", type: \"internal\", target: \"t\", session: \"s\" }))",
        &["dispatcher \"d\"", "session is { key:", "got \"s\""],
    ),
    (
        "defineFlow(any({ kind: \"k\", configSchema: z.object({ n: z.number() }), config: { m: 1 }, actions: { a: { block: one } } }))",
        &["Flow \"k\" instance \"k\"", "invalid config", "\"m\" is none of n"],
    ),
    (
        "defineFlow(any({ kind: \"k\", mcp: {}, actions: { a: { block: one } } }))",
        &["Flow \"k\"", "action \"a\"", "MCP", "description"],
    ),
    (
        "defineFlow(any({ kind: \"k\", actions: { a: { block: handler({ name: \"c\", flowConfigSchema: z.object({}), execute: () => 1 } as any) } } }))",
        &["Flow \"k\"", "handler \"c\"", "flowConfigSchema", "no configSchema"],
    ),
    (
        "defineFlow(any({ kind: \"k\", configSchema: z.object({ n: z.number() }).catchall(z.any()), actions: { a: { block: one } } }))",
        &["Flow \"k\" declares a configSchema with a catchall"],
    ),
    (
        "defineFlow(any({ kind: \"k\", configSchema: z.union([z.object({ n: z.number() }), z.object({})]), actions: { a: { block: one } } }))",
        &["Flow \"k\" declares a configSchema that is not an object schema"],
    ),
    (
        "defineFlow(any({ kind: \"k\", configSchema: z.object({ n: z.any() }), config: { n: \"x\" }, actions: { a: { block: handler({ name: \"c\", flowConfigSchema: z.object({ n: z.number() }), execute: () => 1 } as any) } } }))",
        &["Flow \"k\" instance \"k\"", "has a config bag that block \"c\" cannot read", "\"n\""],
    ),
    (
        "defineFlow(any({ kind: \"k\", configSchema: z.object({ n: z.number() }), config: { n: 1 }, actions: { a: { block: handler({ name: \"c\", flowConfigSchema: z.object({ m: z.number().default(2) }), execute: () => 1 } as any) } } }))",
        &["block \"c\" declares a flowConfigSchema that would change the bag at \"m\""],
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
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", tools: { one } }))",
        &["generator \"g\"", "tools", "array of blocks", "got an object with one"],
    ),
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", maxIterations: 0 }))",
        &["generator \"g\"", "maxIterations", "at least 1", "got number 0"],
    ),
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", loop: { maxIterations: 1.5 } }))",
        &["loop.maxIterations", "integer", "got number 1.5"],
    ),
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", agentType: \"main\" }))",
        &["generator \"g\"", "\"primary\", \"sub\" or \"trace\"", "not \"main\""],
    ),
    (
        "generator(any({ name: \"g\", model: \"m\", prompt: \"p\", itemVisibility: \"all\" }))",
        &["generator \"g\"", "{ client: boolean, history: boolean }", "not \"all\""],
    ),
    (
        "sequencer(any({ name: \"s\", stateSchema: z.array(z.number()) }))",
        &["sequencer \"s\"", "stateSchema", "z.object({ … })", "a schema of array"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, sessionStateSchema: z.string().optional() }))",
        &["sessionStateSchema", "z.object({ … })", "a schema of string"],
    ),
    (
        "handler(any({ name: \"h\", execute: () => 1, targetStateSchemas: { o: {} } }))",
        &["targetStateSchemas.o", "zod schema", "got an empty object"],
    ),
    (
        "defineFlow(any({ kind: \"k\", session: { stateSchema: z.array(z.number()) } }))",
        &["Flow \"k\"", "session.stateSchema", "z.object({ … })", "a schema of array"],
    ),
    (
        "sequencer(any({ name: \"s\", durable: \"no\" }))",
        &["sequencer \"s\"", "durable", "true or false", "got \"no\""],
    ),
    ("seq.forEach(one, any({ maxConcurrency: 0 }))", &["forEach", "maxConcurrency", "at least 1", "got number 0"]),
    ("seq.forEachBackground(one, any({ concurrency: -1 }))", &["forEachBackground", "concurrency", "at least 1"]),
    (
        "handler(any({ name: \"h\", execute: () => 1, uses: [brings({ fns: () => ({}) }), brings({ fns: () => ({}) })] }))",
        &["Capability name collision: \"cap\"", "two different defineCapability() calls"],
    ),
    ("any(seq).stpe(one)", &["sequencer \"seq\"", "no method stpe()", "step()"]),
    ("any(seq).forEech(one)", &["no method forEech()", "forEach()"]),
    (
        "defineFlow(any({ kind: \"k\", actions: { a: { block: ((routes: any[]) => { const r = router(any({ name: \"r\", routes, execute: () => one })); routes.push(r); return r; })([one]) } } }))",
        &["router \"r\" contains itself"],
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
    if mistake.contains("defineFlow(") {
        format!("export default {mistake};\n")
    } else {
        format!("export const made = {mistake}; export default defineFlow({{ kind: \"k\" }} as any);\n")
    }
}

/// What a running block can give a method of `ctx` that it does not take, and what it is told.
const CALLS: &[(&str, &str)] = &[
    (
        "ctx.emit.message(5)",
        "TypeError: ctx.emit.message needs a text, or a list of parts like { type: \"output_text\", text: \"…\" }, got number 5",
    ),
    ("ctx.emit.message()", "got undefined"),
    (
        "ctx.emit.message([{ type: 'zzz' }])",
        "part [0] is of a type output_text, reasoning_text, output_audio, got type \"zzz\"",
    ),
    ("ctx.emit.message([{ type: 'output_text' }])", "part [0] (output_text) needs a text in \"text\", got undefined"),
    (
        "ctx.emit.message('x', { agentType: 'main' })",
        "TypeError: ctx.emit.message: agentType is \"primary\", \"sub\" or \"trace\", not \"main\"",
    ),
    (
        "ctx.emit.message('x', { itemVisibility: { client: 'yes' } })",
        "itemVisibility is { client: boolean, history: boolean }",
    ),
    ("ctx.emit.message('x', 'primary')", "ctx.emit.message takes options like"),
    ("ctx.emit.component('', {})", "TypeError: ctx.emit.component needs the component's name, got \"\""),
    ("ctx.emit.component('x', {}, { key: 7 })", "ctx.emit.component: key must be a text, got number 7"),
    ("ctx.emit.status(5)", "TypeError: ctx.emit.status needs a text, or nothing, got number 5"),
    (
        "ctx.emit.status('x', { backgroundTasks: -1 })",
        "backgroundTasks must be a whole number from 0 on, got number -1",
    ),
    (
        "ctx.session.pushState(undefined, 1)",
        "TypeError: ctx.session.pushState needs the field as a text, got undefined",
    ),
    ("ctx.session.setStateRecord('a')", "TypeError: ctx.session.setStateRecord needs the key as a text, got undefined"),
    ("ctx.session.deleteStateRecord(null, 'k')", "ctx.session.deleteStateRecord needs the field as a text, got null"),
    ("ctx.session.setState([1])", "TypeError: ctx.session.setState needs an object, got an array of 1"),
    (
        "ctx.session.setMetadata()",
        "TypeError: ctx.session.setMetadata needs an object like { title: \"…\" }, got undefined",
    ),
    ("ctx.session.setMetadata({ title: 5 })", "ctx.session.setMetadata: title must be a text, got number 5"),
    ("ctx.session.setMetadata({ tags: 'x' })", "tags must be a list of texts, got \"x\""),
    ("ctx.session.setMetadata({ metadata: [] })", "metadata must be an object, got an empty array"),
    (
        "ctx.session.appendJournal({ text: 'a', tags: 'no list' })",
        "ctx.session.appendJournal: tags must be a list of texts, got \"no list\"",
    ),
    ("ctx.session.appendJournal({ text: 'a', source: 5 })", "source must be a text, got number 5"),
    ("ctx.session.appendJournal()", "ctx.session.appendJournal needs { text: string }, got undefined"),
    (
        "ctx.session.getJournal({ limit: -1 })",
        "TypeError: ctx.session.getJournal: limit must be a whole number from 0 on, got number -1",
    ),
    ("ctx.session.getJournal({ limit: 'x' })", "got \"x\""),
    (
        "ctx.session.items.all({ itemTypes: 'message' })",
        "itemTypes is a list of texts, like [\"message\"], not \"message\"",
    ),
    ("ctx.getTarget(5)", "TypeError: ctx.getTarget needs a block or the name of one, got number 5"),
    ("ctx.getBlockOutput(undefined)", "TypeError: ctx.getBlockOutput needs a block or the name of one, got undefined"),
    ("ctx.wasRescued({})", "ctx.wasRescued needs a block or the name of one, got an empty object"),
];

#[test]
fn a_wrong_argument_fails_the_call() {
    let calls: Vec<String> = CALLS.iter().map(|(call, _)| format!("async () => {call}")).collect();
    let place = Place::with_flow(&format!(
        "const tries = handler({{ name: \"tries\", execute: async (_input: any, ctx: any) => {{\n\
           const told: string[] = [];\n\
           for (const call of [{}]) told.push(await call().then(() => \"no error\", (error: any) => `${{error.name}}: ${{error.message}}`));\n\
           return {{ told, items: ctx.session.items.all({{ includeTransient: true }}).length, metadata: ctx.session.metadata }};\n\
         }} }});\n\
         export default defineFlow({{ kind: \"calls\", actions: {{ go: {{ block: tries }} }} }});\n",
        calls.join(", ")
    ));
    let output = place.get("run calls go --user ada")["output"].clone();
    assert_eq!((&output["items"], &output["metadata"]), (&json!(0), &json!({})), "what was refused left nothing");
    let wrong: Vec<String> = CALLS
        .iter()
        .zip(output["told"].as_array().expect("a list"))
        .filter(|((_, says), told)| !told.as_str().is_some_and(|told| told.contains(says)))
        .map(|((call, says), told)| format!("{call}\n    says {told}, not {says:?}"))
        .collect();
    assert!(wrong.is_empty(), "{} of {} are told badly:\n{}", wrong.len(), CALLS.len(), wrong.join("\n"));
}
