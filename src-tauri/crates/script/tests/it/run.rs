//! What flows do when they run.

use engine::event::{EventKind, RequestStatus};
use engine::views::{Events, items::items};
use script::Limits;
use serde_json::json;

use crate::host::{run, run_limited};

const HEAD: &str = "import { defineFlow, handler, sequencer } from '@flow-state-dev/core';\nimport { z } from 'zod';\n";

#[test]
fn a_chain_of_steps_passes_values_on() {
    let flow = format!(
        "{HEAD}
        const add = handler({{ name: 'add', inputSchema: z.number(), outputSchema: z.number(), execute: async (n) => n + 1 }});
        export default defineFlow({{ kind: 'f', actions: {{ run: {{ block:
          sequencer({{ name: 's', inputSchema: z.number() }}).step(add).map((n) => n * 2).step((n) => n + 10, add).tap(add)
        }} }} }});"
    );
    let (ended, events) = run(&flow, json!(1));
    assert_eq!((ended.status, ended.output.to_json()), (RequestStatus::Completed, json!(15)), "{:?}", ended.error);
    let paths: Vec<_> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::BlockStarted { .. }))
        .filter_map(|event| event.path.as_deref())
        .collect();
    assert_eq!(paths, ["root", "root/step:add", "root/step:add~2", "root/tap:add"]);
}

#[test]
fn state_in_every_scope() {
    let flow = format!(
        "{HEAD}
        const work = handler({{ name: 'work', sequencerStateSchema: z.object({{ n: z.number() }}),
          execute: async (_, ctx) => {{
            await ctx.session.incState({{ count: 2 }});
            await ctx.user.pushState('facts', {{ a: 1 }});
            await ctx.request.patchState({{ stage: 'x' }});
            await ctx.sequencer.incState({{ n: 1 }});
            await ctx.session.patchState('mode', (m) => m + '!');
            await ctx.session.atomicState((s) => ({{ count: s.count * 10 }}));
            const same = await ctx.session.patchState({{ mode: 'chat!' }});
            return {{ count: ctx.session.state.count, n: ctx.sequencer.state.n, facts: ctx.user.state.facts, mode: ctx.session.state.mode, same, project: ctx.project === undefined }};
          }} }});
        export default defineFlow({{ kind: 'f',
          session: {{ stateSchema: z.object({{ count: z.number().default(1), mode: z.string().default('chat') }}) }},
          user: {{ stateSchema: z.object({{ facts: z.array(z.object({{ a: z.number() }})).default([]) }}) }},
          actions: {{ run: {{ block: sequencer({{ name: 's', stateSchema: z.object({{ n: z.number().default(0) }}) }}).tap(work).step(work) }} }} }});"
    );
    let (ended, _) = run(&flow, json!(null));
    assert_eq!(ended.error, None);
    assert_eq!(
        ended.output.to_json(),
        json!({"count": 320, "n": 2, "facts": [{"a": 1}, {"a": 1}], "mode": "chat!", "same": true, "project": true})
    );
}

/// Promise continuations of two interleaving blocks must not take each other's effects.
#[test]
fn effects_of_parallel_awaits_belong_to_their_block() {
    let flow = format!(
        "{HEAD}
        const make = (name) => handler({{ name, execute: async () => {{
          for (let i = 0; i < 3; i++) {{ await new Promise((r) => setTimeout(r, name === 'a' ? 3 : 2)); console.log(name + i); Date.now(); }}
          return name;
        }} }});
        const both = handler({{ name: 'both', execute: async () => 1 }});
        export default defineFlow({{ kind: 'f', actions: {{ run: {{ block: sequencer({{ name: 's' }}).parallel({{ a: make('a'), b: make('b') }}) }} }} }});"
    );
    let (ended, events) = run(&flow, json!(null));
    assert_eq!(ended.error, None);
    assert_eq!(ended.output.to_json(), json!({"a": "a", "b": "b"}));
    let mut logged = 0;
    for event in &events {
        if let EventKind::Logged { text, .. } = &event.kind {
            logged += 1;
            let path = event.path.as_deref().unwrap_or_default();
            assert_eq!(path, format!("root/parallel/{}", &text[..1]), "{text}");
        }
    }
    assert_eq!(logged, 6);
}

#[test]
fn thrown_errors_have_a_place() {
    let flow = format!(
        "{HEAD}\nclass Broken extends Error {{}}\nconst h = handler({{ name: 'h', execute: async () => {{\n  throw new Broken('bad day');\n}} }});\nexport default defineFlow({{ kind: 'f', actions: {{ run: {{ block: h }} }} }});"
    );
    let (ended, _) = run(&flow, json!(null));
    let error = ended.error.expect("it fails");
    assert_eq!((error.name.as_str(), error.message.as_str()), ("Broken", "bad day"));
    assert_eq!(error.path.as_deref(), Some("root"));
    let place = error.location.expect("a place");
    assert_eq!((place.file.as_str(), place.line, place.column), ("flow.ts", 6, 9));
}

#[track_caller]
fn fails(body: &str, name: &str, part: &str) {
    let flow = format!(
        "{HEAD}export default defineFlow({{ kind: 'f', session: {{ stateSchema: z.object({{ n: z.number().default(0) }}) }}, actions: {{ run: {{ block: handler({{ name: 'h', execute: {body} }}) }} }} }});"
    );
    let (ended, _) = run_limited(&flow, json!(null), Limits { memory_bytes: 64 << 20, yield_ms: 3_000 });
    assert_eq!(ended.status, RequestStatus::Failed);
    let error = ended.error.expect("it fails");
    assert_eq!(error.name, name, "{error}");
    assert!(error.message.contains(part), "{error}");
}

#[test]
fn hostile_handlers_end_in_named_errors() {
    fails("() => { throw 'just text' }", "Error", "just text");
    fails("() => () => 1", "ValidationError", "a function (anonymous) cannot be stored");
    fails("() => ({ a: { b: NaN } })", "ValidationError", "at \"a.b\": NaN is not a JSON number");
    fails("() => { const a = {}; a.a = a; return a }", "ValidationError", "contains itself");
    fails("() => { for (;;) {} }", "LimitError", "block \"h\": ran for 3000 ms without yielding");
    fails("async () => { for (;;) await 1 }", "LimitError", "ran for 3000 ms without yielding");
    fails("() => { const a = []; for (;;) a.push(new Array(100000).fill(7)) }", "LimitError", "memory");
    fails("() => { const f = () => f() + 1; return f() }", "RangeError", "stack");
    fails("(_, ctx) => { ctx.session.state.n = 5 }", "TypeError", "ctx.session.state is read-only");
    fails(
        "async (_, ctx) => { await ctx.session.patchState({ n: 'x' }) }",
        "ValidationError",
        "Invalid write to session state at \"n\"",
    );
    fails("async (_, ctx) => { await ctx.session.patchState({ n: NaN }) }", "ValidationError", "NaN");
}

#[test]
fn fifty_megabytes_arrive() {
    let flow = format!(
        "{HEAD}export default defineFlow({{ kind: 'f', actions: {{ run: {{ block: handler({{ name: 'h', execute: () => 'x'.repeat(50_000_000) }}) }} }} }});"
    );
    let (ended, _) = run(&flow, json!(null));
    assert_eq!(ended.error, None);
    assert_eq!(ended.output.as_value().and_then(|value| value.as_str()).map(str::len), Some(50_000_000));
}

#[test]
fn items_and_generators() {
    let flow = format!(
        "{HEAD}import {{ generator }} from '@flow-state-dev/core';
        const bot = generator({{ name: 'bot', model: 'm', prompt: 'be kind', user: (i) => i, agentType: 'primary' }});
        const say = handler({{ name: 'say', execute: (t, ctx) => {{ ctx.emit.status('working'); ctx.emit.message('said ' + t); ctx.emit.component('card', {{ t }}, {{ key: 'k' }}); ctx.emit.message('hidden', {{ agentType: 'trace' }}); return t }} }});
        export default defineFlow({{ kind: 'f', actions: {{ run: {{ block: sequencer({{ name: 's' }}).step(bot).step(say) }} }} }});"
    );
    let (ended, events) = run(&flow, json!("hello"));
    assert_eq!(ended.error, None);
    let items = items(&"r1".into(), Events::new(&events), false);
    let seen: Vec<_> =
        items.iter().map(|i| (i.item_type.as_str(), i.visibility.client, i.visibility.history)).collect();
    assert_eq!(
        seen,
        [
            ("message", true, true),
            ("block_output", false, false),
            ("status", true, false),
            ("message", true, true),
            ("component", true, false),
            ("message", false, false),
            ("block_output", false, false),
            ("block_output", false, false),
        ]
    );
}

#[test]
fn web_globals_follow_the_standard() {
    let flow = format!(
        "{HEAD}
        const h = handler({{ name: 'h', execute: async () => {{
          const url = new URL('../b?x=1#h', 'https://u:p@example.com:8080/a/c');
          url.searchParams.append('y', 'a b');
          url.hostname = 'other.org';
          const stop = new AbortController();
          let heard = 0;
          stop.signal.addEventListener('abort', () => heard++);
          stop.abort();
          return {{
            href: url.href, port: url.port, y: url.searchParams.get('y'), bad: URL.canParse('nope'),
            text: new TextDecoder().decode(new TextEncoder().encode('aé€😀')),
            bytes: new TextEncoder().encode('é€').length,
            heard, aborted: stop.signal.aborted, reason: stop.signal.reason.name,
            copy: structuredClone({{ a: [1, {{ b: 2 }}] }}),
            id: crypto.randomUUID().length, random: crypto.getRandomValues(new Uint8Array(4)).length,
          }};
        }} }});
        export default defineFlow({{ kind: 'f', actions: {{ run: {{ block: h }} }} }});"
    );
    let (ended, _) = run(&flow, json!(null));
    assert_eq!(ended.error, None);
    assert_eq!(
        ended.output.to_json(),
        json!({
            "href": "https://u:p@other.org:8080/b?x=1&y=a+b#h", "port": "8080", "y": "a b", "bad": false,
            "text": "aé€😀", "bytes": 5, "heard": 1, "aborted": true, "reason": "AbortError",
            "copy": {"a": [1, {"b": 2}]}, "id": 36, "random": 4,
        })
    );
}

#[test]
fn every_operation_of_the_chain() {
    let flow = format!(
        "{HEAD}
        const add = (n) => handler({{ name: 'add' + n, execute: (v) => v + n }});
        const boom = handler({{ name: 'boom', execute: () => {{ throw new RangeError('boom') }} }});
        const saved = handler({{ name: 'saved', execute: (e) => ({{ is: e instanceof RangeError, m: e.message }}) }});
        const seq = (name) => sequencer({{ name }});
        const parts = {{
          parallel: seq('p').parallel({{ a: add(1), b: {{ connector: (v) => v * 10, block: add(2) }} }}),
          stepAll: seq('sa').stepAll([add(1), add(2), add(3)], {{ maxConcurrency: 2 }}),
          stepAny: seq('sy').stepAny([boom, add(5), boom]),
          race: seq('ra').race([boom, add(7)]),
          forEach: seq('fe').map(() => [1, 2, 3]).forEach(add(1)),
          factory: seq('ff').map(() => [1, 2]).forEach((item, i) => add(i * 10)),
          doUntil: seq('du').doUntil((v) => v >= 4, add(1)),
          doWhile: seq('dw').doWhile((v) => v < 4, add(1)),
          loopBack: seq('lb').step(add(1)).loopBack('add1', {{ when: (v) => v < 9, maxIterations: 3 }}),
          branch: seq('br').branch({{ big: [(v) => v, (v) => v > 5, add(100)], small: [(v) => v + 1, () => true, add(1)] }}),
          exitIf: seq('ex').exitIf((v) => v === 1).step(boom),
          rescue: seq('re').step(boom).rescue([{{ when: [TypeError], block: add(1) }}, {{ block: saved }}]),
          blockRescue: seq('rb').step(boom.rescue([{{ when: [RangeError], block: saved }}])).map((v, ctx) => v.m),
          beside: seq('wo').work(add(1)).work(boom).waitForWork(),
          inline: seq('in').step(handler, {{ outputSchema: z.number(), execute: (v) => v + 40 }}),
          then: seq('th').then(add(1)).thenIf(() => false, boom),
          throwIf: seq('ti').throwIf(() => true, new TypeError('thrown')).rescue([{{ when: [TypeError], block: saved }}]),
        }};
        export default defineFlow({{ kind: 'f', actions: {{ run: {{ block: seq('all').parallel(parts) }} }} }});"
    );
    let (ended, events) = run(&flow, json!(1));
    assert_eq!(ended.error, None);
    assert_eq!(
        ended.output.to_json(),
        json!({
            "parallel": {"a": 2, "b": 12}, "stepAll": [2, 3, 4], "stepAny": 6, "race": 8, "forEach": [2, 3, 4],
            "factory": [1, 12], "doUntil": 4, "doWhile": 4, "loopBack": 5, "branch": 3, "exitIf": 1,
            "rescue": {"is": true, "m": "boom"}, "blockRescue": "boom", "beside": 1, "inline": 41, "then": 2,
            "throwIf": {"is": false, "m": "thrown"},
        })
    );
    let paths: Vec<_> = events.iter().filter_map(|event| event.path.as_deref()).collect();
    for path in [
        "root/parallel/parallel/parallel/a",
        "root/parallel/stepAll/stepAll[2]",
        "root/parallel/forEach/forEach:add1[0]",
        "root/parallel/factory/forEach:add10[1]",
        "root/parallel/doUntil/doUntil:add1[2]",
        "root/parallel/loopBack/loop[3]/step:add1",
        "root/parallel/branch/branch:small",
        "root/parallel/rescue/rescue:saved",
        "root/parallel/blockRescue/step:boom/rescue:saved",
        "root/parallel/beside/work:boom",
        "root/parallel/inline/step:inline",
    ] {
        assert!(paths.contains(&path), "{path} is missing");
    }
}

#[test]
fn siblings_and_targets_are_found_by_name() {
    let flow = format!(
        "{HEAD}
        const plan = sequencer({{ name: 'plan', stateSchema: z.object({{ list: z.array(z.string()).default([]) }}) }})
          .tap(handler({{ name: 'fill', execute: async (_, ctx) => {{ await ctx.sequencer.pushState('list', 'one') }} }}));
        const look = handler({{ name: 'look', execute: async (_, ctx) => {{
          const target = ctx.getTarget('plan');
          await target.patchState({{ list: [...target.state.list, 'two'] }});
          let refused;
          try {{ await ctx.getTarget('outer').patchState({{}}) }} catch (error) {{ refused = error.message }}
          return {{ list: ctx.targets.plan.state.list, none: ctx.getTarget('nobody') === undefined, refused,
            output: ctx.getBlockOutput('plan'), result: ctx.getBlockResult('plan').status, rescued: ctx.wasRescued('plan') }};
        }} }});
        export default defineFlow({{ kind: 'f', actions: {{ run: {{ block: sequencer({{ name: 'outer' }}).step(plan).step(look) }} }} }});"
    );
    let (ended, _) = run(&flow, json!("in"));
    assert_eq!(ended.error, None);
    assert_eq!(
        ended.output.to_json(),
        json!({
            "list": ["one", "two"], "none": true,
            "refused": "Target \"outer\" does not expose instance state operations.",
            "output": "in", "result": "completed", "rescued": false,
        })
    );
}
