//! A retry around blocks that had finished: they run again with it, and from then on that is what they did.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const note = handler({ name: "charge", execute: async (input, ctx) => { await ctx.session.incState({ charged: 1 }); return input; } });
const ask = (name: string) => handler({ name, execute: async (input, ctx) => { await ctx.suspend({ reason: "approval", message: name }); return input; } });
let calls = 0;
const flaky = handler({ name: "flaky", execute: (input) => { if (calls++ === 0) throw new Error("once more"); return input; } });
const chain = sequencer({ name: "chain", inputSchema: z.any(), retry: { maxAttempts: 2 } })
  .map(async (input: any, ctx: any) => { await ctx.request.incState({ mapped: 1 }); return input; })
  .step(note).step(ask("first")).step(flaky).step(ask("second"));
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ charged: z.number().default(0) }) },
  actions: { go: { block: sequencer({ name: "root", inputSchema: z.any() }).step(chain) } },
});
"#;

/// What the retry of a resumed chain did was not in the memo of the next resume: `charge` ran a third time.
#[test]
fn a_retry_after_a_resume_is_what_the_next_resume_goes_on_from() {
    let place = Place::with_flow(FLOW);
    let charged = || place.get("state --session s")["session"]["charged"].clone();
    let mapped = || place.get("state --request r")["request"]["mapped"].clone();
    let ask = |line: &str, code: i32| {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(code), "{line}\n{answer}");
    };
    ask("run main go --user ada --session s --request r --input 1", 4);
    assert_eq!(charged(), 1);
    // Its flaky step fails once in each process: the chain is tried again, from its first step.
    ask("resume r --approve", 4);
    assert_eq!(charged(), 2);
    ask("resume r --approve", 0);
    // What the first try wrote stays, in the session as in the request.
    assert_eq!((charged(), mapped()), (json!(2), json!(2)));
    let blocks = place.get("show r")["blocks"].clone();
    let charges = blocks.as_array().into_iter().flatten().filter(|block| block["name"] == "charge").count();
    assert_eq!(charges, 2, "the last resume kept what the retry did: {blocks}");
    assert_eq!(place.get("replay r")["identical"], Value::Bool(true));
    assert_eq!(place.get("check --data")["ok"], Value::Bool(true));
}

const WRITES: &str = r#"
const add = handler({ name: "add", execute: async (input, ctx) => { await ctx.request.incState({ stepped: 1 }); return input; } });
const own = handler({ name: "own", execute: async (input, ctx) => { await ctx.parent.incState({ owned: 1 }); return input; } });
let calls = 0;
const flaky = handler({ name: "flaky", execute: (input) => { if (calls++ === 0) throw new Error("once more"); return input; } });
const ask = handler({ name: "ask", execute: async (input, ctx) => { await ctx.suspend({ reason: "approval", message: "?" }); return input; } });
const chain = sequencer({ name: "chain", inputSchema: z.any(), retry: { maxAttempts: 2 }, stateSchema: z.object({ owned: z.number().default(0) }) })
  .map(async (input: any, ctx: any) => { await ctx.request.incState({ mapped: 1 }); return input; })
  .step(add).step(own).step(flaky)
  .map(async (input: any, ctx: any) => ctx.sequencer.state.owned);
const count = handler({ name: "count", execute: (input, ctx) => ({ ...ctx.request.state, owned: input }) });
const steps = () => sequencer({ name: "root", inputSchema: z.any() }).step(chain);
export default defineFlow({
  kind: "main",
  request: { stateSchema: z.object({ stepped: z.number().default(0), mapped: z.number().default(0) }) },
  actions: { go: { block: steps().step(ask).step(count) }, through: { block: steps().step(count) } },
});
"#;

/// A request that waited counted one try less than the same request that ran through: what the first try had
/// written to the request's state was there until the resume, and not after it.
#[test]
fn what_a_try_wrote_is_there_after_a_resume_as_well() {
    let place = Place::with_flow(WRITES);
    let state = |request: &str| place.get(&format!("state --request {request}"))["request"].clone();
    let both = json!({ "stepped": 2, "mapped": 2 });
    let through = place.get("run main through --user ada --request through --input 1");
    assert_eq!(through["output"], json!({ "stepped": 2, "mapped": 2, "owned": 1 }), "{through}");
    assert_eq!(state("through"), both);

    assert_eq!(place.ask("run main go --user ada --request waits --input 1").code, Some(4));
    assert_eq!(state("waits"), both);
    let resumed = place.get("resume waits --approve");
    assert_eq!(resumed["output"], through["output"], "{resumed}");
    assert_eq!(state("waits"), both);
    for request in ["through", "waits"] {
        assert_eq!(place.get(&format!("replay {request}"))["identical"], true, "{request}");
    }
    assert_eq!(place.get("check --data")["ok"], true);
}

/// An empty list filters nothing, as in the framework that the builders are of.
#[test]
fn an_empty_list_of_errors_retries_all() {
    const FLOW: &str = r#"
class Busy extends Error {}
const fails = (name: string, retryableErrors?: any) => handler({
  name,
  retry: { maxAttempts: 3, baseDelayMs: 0, ...(retryableErrors && { retryableErrors }) },
  execute: async (_input: any, ctx: any) => { console.log("tried"); throw new Error("no"); },
});
export default defineFlow({ kind: "main", actions: {
  absent: { block: fails("absent") }, empty: { block: fails("empty", []) }, other: { block: fails("other", [Busy]) },
} });
"#;
    let place = Place::with_flow(FLOW);
    for (action, tries) in [("absent", 3), ("empty", 3), ("other", 1)] {
        assert_eq!(place.ask(&format!("run main {action} --user ada --request {action}")).code, Some(3));
        let tried = place.get(&format!("events {action} --kind logged"));
        assert_eq!(tried.as_array().map(Vec::len), Some(tries), "{action}");
    }
}
