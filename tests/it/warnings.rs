//! What a flow says that changes nothing: `check` and a run warn of it once, at its line, and nothing fails.

use serde_json::json;
use tests::bench::Place;

#[test]
fn a_key_that_nobody_knows_is_told_and_fails_nothing() {
    let source = "import { defineFlow, generator, handler, sequencer } from '@flow-state-dev/core'; import { z } from 'zod';\n\
                  const h = handler({ name: 'h', inputShcema: z.any(), execute: () => 1 } as any);\n\
                  const s = sequencer({ name: 's', wholly: 'new' } as any).step(h, { onSetled: () => 1 } as any);\n\
                  const t = s.forEach(h, { concurrency: 2 } as any)\n\
                  .forEachBackground(h, { maxConcurrency: 2 } as any)\n\
                  .parallel({ h }, { limit: 2 } as any);\n\
                  const g = generator({ name: 'g', model: 'm', prompt: 'p', maxIteration: 2 } as any);\n\
                  export default defineFlow({ kind: 'k', sesion: {}, actions: { go: { block: t, inputSchema: z.any() }, ask: { block: g } } } as any);\n";
    let place = Place::new().file("flows/k.ts", source).file(
        "flows/none.ts",
        "import { defineFlow } from '@flow-state-dev/core';\nexport default defineFlow({ kind: 'none' });\n",
    );
    let answer = place.run(&["check"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let told = [
        "flows/k.ts:2:11: handler \"h\": \"inputShcema\" is no setting of a handler and changes nothing; did you mean \"inputSchema\"?",
        "flows/k.ts:3:11: sequencer \"s\": \"wholly\" is no setting of a sequencer and changes nothing\n",
        "flows/k.ts:3:58: step: \"onSetled\" is no option of it and changes nothing; did you mean \"onSettled\"?",
        "flows/k.ts:4:13: forEach: \"concurrency\" is no option of it and changes nothing; did you mean \"maxConcurrency\"?",
        "flows/k.ts:5:2: forEachBackground: \"maxConcurrency\" is no option of it and changes nothing; did you mean \"concurrency\"?",
        "flows/k.ts:6:2: parallel: \"limit\" is no option of it and changes nothing\n",
        "flows/k.ts:7:11: generator \"g\": \"maxIteration\" is no setting of a generator and changes nothing; did you mean \"maxIterations\"?",
        "flows/k.ts:8:16: Flow \"k\": \"sesion\" is no setting of a flow and changes nothing; did you mean \"session\"?",
    ];
    for line in told {
        assert!(answer.stdout.contains(line), "{line}\n{answer}");
    }
    assert!(answer.stdout.contains("flows/none.ts:2:16: Flow \"none\" has no actions"), "{answer}");
    assert_eq!(answer.stdout.matches("warning: ").count(), 9, "each once\n{answer}");
    // A run tells of its own flow, also when it comes from the cache.
    let run = place.ask("run k go --user ada --input []");
    assert_eq!(run.stderr.matches("warning: ").count(), 8, "{run}");
    assert!(run.stderr.contains("did you mean \"inputSchema\"?"), "{run}");
}

#[test]
fn a_key_inside_of_a_setting_is_told_too() {
    let source = "import { defineCapability, defineFlow, dispatcher, generator, handler, sequencer, utility } from '@flow-state-dev/core';
const h = handler({ name: 'h', retry: { backoff: 1 }, rescue: [], execute: () => 1 } as any);
const s = sequencer({ name: 's' }).step(h).loopBack('h', { maxIterations: 1, untill: 1 } as any).work(h, { nam: 'w' } as any);
const d = dispatcher({ name: 'd', type: 'internal', target: 'i', session: { key: () => 'k' }, payloads: 1 } as any);
const u = utility.summarizer({ name: 'u', granularty: 'brief' } as any);
const g = generator({ name: 'g', model: 'm', prompt: 'p', loop: { maxIteration: 1 }, flowTools: { defaults: { timeout: 1 } } } as any);
const c = defineCapability({ name: 'c', uss: [], presets: { one: { tool: [] } }, kept: 'for others' } as any);
export default defineFlow({ kind: 'k', tools: { defaults: { concurency: 'serial' } }, webhooks: { stripe: { on: {}, route: () => null } },
  actions: { s: { block: s, userMesage: () => '' }, d: { block: d }, u: { block: u }, g: { block: g } }, internal: { actions: { i: { block: h, mcpp: 1 } } },
  schedules: { static: { n: { cron: '@daily', block: h, timeZone: 'UTC' } } } } as any);
";
    let answer = Place::new().file("flows/k.ts", source).run(&["check"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let told = [
        "handler \"h\": \"backoff\" is no setting of retry and changes nothing",
        "loopBack: \"untill\" is no option of it and changes nothing",
        "work: \"nam\" is no option of it and changes nothing; did you mean \"name\"?",
        "dispatcher \"d\": \"payloads\" is no setting of a dispatcher and changes nothing; did you mean \"payload\"?",
        "utility \"u\": \"granularty\" is no setting of it and changes nothing; did you mean \"granularity\"?",
        "generator \"g\": \"maxIteration\" is no setting of loop and changes nothing; did you mean \"maxIterations\"?",
        "generator \"g\": \"timeout\" is no setting of flowTools.defaults and changes nothing; did you mean \"timeoutMs\"?",
        "Capability \"c\": \"uss\" is no setting of a capability and changes nothing; did you mean \"uses\"?",
        "Capability \"c\": preset \"one\": \"tool\" is no setting of a preset and changes nothing; did you mean \"tools\"?",
        "Flow \"k\": \"concurency\" is no setting of tools.defaults and changes nothing; did you mean \"concurrency\"?",
        "Flow \"k\": webhook provider \"stripe\": \"route\" is no setting of it and changes nothing",
        "Flow \"k\": action \"s\": \"userMesage\" is no setting of it and changes nothing; did you mean \"userMessage\"?",
        "Flow \"k\": internal \"i\": \"mcpp\" is no setting of it and changes nothing; did you mean \"mcp\"?",
        "Flow \"k\": schedule \"n\": \"timeZone\" is no setting of it and changes nothing; did you mean \"timezone\"?",
    ];
    for line in told {
        assert!(answer.stdout.contains(line), "{line}\n{answer}");
    }
    assert_eq!(answer.stdout.matches("warning: ").count(), told.len(), "each once\n{answer}");
}

#[test]
fn older_words_work_and_what_does_nothing_here_is_told_once() {
    let source = "import { createModelResolver, defineFlow, defineResource, defineResourceCollection, generator, handler } from '@flow-state-dev/core';
import { z } from 'zod';
const notes = defineResource({ ref: 'notes', stateSchema: z.object({ a: z.number().default(1) }) });
const many = defineResourceCollection({ scope: 'session', pattern: 'm/*', stateSchema: z.object({}), prefetchWindow: 2 });
const shared = defineResource({ scope: 'session', stateSchema: z.object({}), sharedToLineage: true, dynamic: true });
const model = createModelResolver({ providers: {}, defaultModel: 'openai/gpt-5.4' } as any);
const speaks = generator({ name: 'speaks', model: 'm', prompt: 'p', agentType: 'sub-agent', providerTools: [{}] as any });
const go = handler({ name: 'go', userResources: { notes }, userResourceSchemas: z.object({}), resources: { shared, many }, execute: async (_input, ctx: any) => {
  ctx.emit.message('one', { agentType: 'agent' });
  return [ctx.resources.notes.scope, typeof model('openai/gpt-5-mini')];
} });
export default defineFlow({ kind: 'k', session: { createCheck: () => ({ ok: true }), historyWindows: { turns: 1 } },
  actions: { go: { block: go }, ask: { block: speaks } } } as any);
";
    let place = Place::new().file("flows/k.ts", source);
    let answer = place.run(&["check"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let told = [
        "flows/k.ts:3:15: defineResource: no scope; the place that lists it says it",
        "flows/k.ts:4:14: defineResourceCollection: prefetchWindow changes nothing here; ",
        "flows/k.ts:5:16: defineResource: dynamic changes nothing here; ",
        "flows/k.ts:5:16: defineResource: sharedToLineage changes nothing here; ",
        "flows/k.ts:6:15: createModelResolver: \"providers\" changes nothing here; ",
        "flows/k.ts:7:16: generator \"speaks\": agentType \"sub-agent\" is an older word for \"sub\"",
        "flows/k.ts:7:16: generator \"speaks\": providerTools reach no provider here; ",
        "flows/k.ts:12:16: Flow \"k\": \"session.createCheck\" is not asked here: ",
        "flows/k.ts:12:16: Flow \"k\": \"historyWindows\" is no setting of session and changes nothing; \
         did you mean \"historyWindow\"?",
    ];
    for line in told {
        assert!(answer.stdout.contains(line), "{line}\n{answer}");
    }
    assert_eq!(answer.stdout.matches("warning: ").count(), told.len(), "each once\n{answer}");
    let run = place.get("run k go --user ada --session s");
    assert_eq!(run["output"], json!(["user", "object"]));
    assert_eq!(place.get("items --session s")[0]["agentType"], "primary");
}

/// An instance has the settings of its definition, which was told of them.
#[test]
fn a_setting_that_changes_nothing_is_told_once_of_a_definition_and_its_instance() {
    let source = "import { defineFlow, handler } from '@flow-state-dev/core';
const go = handler({ name: 'go', execute: () => 1 });
const flow = defineFlow({ kind: 'k', actions: { go: { block: go } }, session: { bogus: 1 } } as any);
export default flow({ id: 'one', request: { other: 2 } } as any);
";
    let answer = Place::new().file("flows/k.ts", source).run(&["check"]);
    let told: Vec<&str> = answer.stdout.lines().filter(|line| line.contains("no setting of")).collect();
    assert!(told.len() == 2, "{answer}");
    assert!(told[0].contains("flows/k.ts:3:14") && told[0].contains("\"bogus\""), "{answer}");
    assert!(told[1].contains("flows/k.ts:4:16") && told[1].contains("\"other\""), "{answer}");
}

#[test]
fn a_generator_with_the_older_emit_says_what_it_said_then() {
    let source = "import { defineFlow, generator } from '@flow-state-dev/core';
const says = (name: string, emit: unknown) => ({ block: generator({ name, model: 'm', prompt: 'p', emit } as any) });
const { block: now } = says('now', undefined);
export default defineFlow({ kind: 'k', actions: {
  loud: says('loud', { reasoning: true }),
  quiet: says('quiet', { messages: false }),
  plain: says('plain', { reasoning: false }),
  none: says('none', false),
  now: { block: now },
} });
";
    let reply = &json!({ "text": "Hello." });
    let mock =
        json!({ "generators": { "loud": [reply], "quiet": [reply], "plain": [reply], "none": [reply], "now": [reply] } })
            .to_string();
    let place = Place::new().file("flows/k.ts", source).file("flows/k.mock.json", &mock);
    let check = place.run(&["check"]);
    assert_eq!(check.code, Some(0), "{check}");
    let seen = "itemVisibility: { client: true, history: true }";
    for (name, read_as) in [
        ("loud", seen),
        ("plain", &format!("{seen}; its reasoning is shown too")),
        ("quiet", "no identity, and no items; its reasoning is not shown either"),
        ("none", "no identity, and no items"),
    ] {
        let told = format!("generator \"{name}\": \"emit\" is an older form, read as {read_as}\n");
        assert!(check.stdout.contains(&told), "{check}");
    }
    assert_eq!(check.stdout.matches("warning: ").count(), 4, "{check}");
    for (action, messages) in [("loud", 1), ("plain", 1), ("quiet", 0), ("none", 0), ("now", 0)] {
        let answer = place.ask(&format!("run k {action} --user ada --session {action} --mock"));
        assert_eq!(answer.json()["output"], "Hello.", "{answer}");
        let items = place.get(&format!("items --session {action} --view client"));
        let said = items.as_array().expect("a list").iter().filter(|item| item["type"] == "message").count();
        assert_eq!(said, messages, "{action}: {items}");
    }
}

#[test]
fn an_option_that_nobody_knows_is_told_while_a_block_runs_once() {
    let source = "import { defineFlow, generator, handler } from '@flow-state-dev/core';
const go = handler({ name: 'go', execute: (_input, ctx: any) => {
  for (const word of ['one', 'two']) ctx.emit.message(word, { trnsient: true });
  ctx.emit.component('bar', {}, { key: 'k', blocked: true });
  return ctx.session.items.all({ limt: 1 }).length + ctx.session.items.selectForContext({ limit: 1 }).length;
} });
const g = generator({ name: 'g', model: 'm', prompt: 'p', history: { limit: 1, rols: [] } as any });
export default defineFlow({ kind: 'k', actions: { go: { block: go }, g: { block: g } } });
";
    let place = Place::new().file("flows/k.ts", source);
    let answer = place.run(&["check"]);
    let told = "flows/k.ts:7:11: generator \"g\": \"rols\" is no setting of history and changes nothing; did you mean \"roles\"?";
    assert!(answer.stdout.contains(told), "{answer}");
    assert_eq!(answer.stdout.matches("warning: ").count(), 1, "{answer}");
    let run = place.get("run k go --user ada --session s");
    let request = run["requestId"].as_str().expect("a run has a request");
    let logged = place.get(&format!("events {request} --kind logged"));
    let logged = logged.as_array().expect("a list of events");
    let texts: Vec<&str> = logged.iter().filter_map(|event| event["payload"]["text"].as_str()).collect();
    let expected = [
        "ctx.emit.message: \"trnsient\" is no option of it and changes nothing; did you mean \"transient\"?",
        "ctx.emit.component: \"blocked\" is no option of it and changes nothing",
        "ctx.session.items.all: \"limt\" is no field of a query and changes nothing; did you mean \"limit\"?",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn a_cacheable_tool_without_a_cache_is_told() {
    let source = "import { createToolCacheCapability, defineFlow, generator, handler } from '@flow-state-dev/core';
const tool = handler({ name: 'tool', cacheable: true, execute: () => 1 });
const other = handler({ name: 'other', cacheable: { scope: 'session' }, execute: () => 1 });
const g = generator({ name: 'g', model: 'm', prompt: 'p', tools: [tool, other], uses: [] });
export default defineFlow({ kind: 'k', actions: { ask: { block: g } } });
";
    let scope = "flows/k.ts:3:15: handler \"other\": cacheable.scope \"session\" changes nothing here: a cache ends";
    let without = "\"cacheable\" changes nothing without a tool cache: list createToolCacheCapability() in \"uses\"";
    let answer = Place::new().file("flows/k.ts", source).run(&["check"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    for line in [
        scope,
        &format!("flows/k.ts:2:14: handler \"tool\": {without}"),
        &format!("flows/k.ts:3:15: handler \"other\": {without}"),
    ] {
        assert!(answer.stdout.contains(line), "{line}\n{answer}");
    }
    assert_eq!(answer.stdout.matches("warning: ").count(), 3, "each once\n{answer}");
    let with = source.replace("uses: []", "uses: [createToolCacheCapability()]");
    let answer = Place::new().file("flows/k.ts", &with).run(&["check"]);
    assert!(answer.stdout.contains(scope), "{answer}");
    assert_eq!(answer.stdout.matches("warning: ").count(), 1, "{answer}");
}

#[test]
fn links_of_sessions_and_delays_of_conflicts_are_told_once_and_older_words_not() {
    let source = "import { defineFlow, dispatcher, handler } from '@flow-state-dev/core';
import { z } from 'zod';
const h = handler({ name: 'h', execute: (_input, ctx: any) => [ctx.session.link ?? 'none', ctx.session.link ?? 'none', ctx.flow.config] });
const d = dispatcher({ name: 'd', type: 'internal', action: 'b', session: { key: () => 'k', link: () => 'l' }, payload: () => ({}) } as any);
const around = async (_ctx: any, next: any) => next();
const state = z.object({ n: z.number().default(1) });
const session = { stateSchema: state, clientData: { n: ({ state }: any) => state.n }, cas: { maxRetries: 1, baseDelayMs: 5 } };
const one = { kind: 'one', session, middleware: [around], internal: { b: { block: h } },
  configSchema: state, actions: { go: { block: h }, send: { block: d } } };
export const a = defineFlow(one as any)({ id: 'one' });
";
    let place = Place::new().file("flows/k.ts", source);
    let answer = place.run(&["check"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let told = [
        "flows/k.ts:4:11: dispatcher \"d\": \"session.link\" changes nothing here: ",
        "Flow \"one\": \"session.cas.baseDelayMs\" changes nothing here: ",
    ];
    for line in told {
        assert!(answer.stdout.contains(line), "{line}\n{answer}");
    }
    assert_eq!(answer.stdout.matches("warning: ").count(), told.len(), "each once\n{answer}");
    let run = place.get("run one go --user ada --session s");
    assert_eq!(run["output"], json!(["none", "none", { "n": 1 }]));
    let request = run["requestId"].as_str().expect("a run has a request");
    let logged = place.get(&format!("events {request} --kind logged"));
    let logged = logged.as_array().expect("a list of events");
    assert_eq!(logged.len(), 1, "{logged:?}");
    assert!(logged[0]["payload"]["text"].as_str().is_some_and(|text| text.starts_with("ctx.session.link: ")));
}

/// Nothing passes such a schema, and the block or action could never run.
#[test]
fn a_schema_that_no_value_satisfies_is_told() {
    let source = "import { defineFlow, handler } from '@flow-state-dev/core'; import { z } from 'zod';
const n = z.number().min(10).max(5);
const one = handler({ name: 'one', inputSchema: z.object({ n }), outputSchema: z.array(z.string()).length(2).max(1), execute: () => [] } as any);
const two = handler({ name: 'two', inputSchema: z.object({ n: n.optional() }), outputSchema: z.number().min(1).max(1), execute: () => 1 });
export default defineFlow({ kind: 'k', actions: { one: { block: one, inputSchema: z.number().gt(3).lt(3) }, two: { block: two } } });
";
    let place = Place::new().file("flows/k.ts", source);
    let answer = place.run(&["check"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    for line in [
        "flows/k.ts:5:16: no value is valid for the inputSchema of action \"one\": it demands number with exclusiveMinimum 3 and exclusiveMaximum 3",
        "flows/k.ts:5:16: no value is valid for the inputSchema of handler \"one\": it demands number with minimum 10 and maximum 5 at \"n\"",
        "flows/k.ts:5:16: no value is valid for the outputSchema of handler \"one\": it demands array with minItems 2 and maxItems 1",
    ] {
        assert!(answer.stdout.contains(line), "{line}\n{answer}");
    }
    assert_eq!(answer.stdout.matches("warning: ").count(), 3, "{answer}");
}
