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
    assert_eq!((charged(), mapped()), (json!(2), json!(1)));
    let blocks = place.get("show r")["blocks"].clone();
    let last = blocks.as_array().into_iter().flatten().rfind(|block| block["name"] == "charge").expect("it is there");
    assert_eq!(last["memoized"], true, "{last}");
    assert_eq!(place.get("replay r")["identical"], Value::Bool(true));
    assert_eq!(place.get("check --data")["ok"], Value::Bool(true));
}
