//! Whether a request that waits or was interrupted could go on with the code of today: told before anybody resumes it.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const first = handler({ name: "first", inputSchema: z.any(), outputSchema: z.any(), execute: () => ({ n: 1 }) });
const ask = handler({ name: "ask", inputSchema: z.any(), outputSchema: z.any(), execute: async (input, ctx) => ctx.suspend({ reason: "approval", message: "Shall we?" }) });
const last = handler({ name: "last", inputSchema: z.any(), outputSchema: z.any(), execute: (input) => input });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "all", inputSchema: z.any() }).step(first).step(ask).step(last) } } });
"#;

fn waiting(place: &Place) -> (Value, Value) {
    let row = place.get("requests")[0].clone();
    (row["resumable"].clone(), row["resumableWhy"].clone())
}

#[test]
fn a_request_that_waits_is_judged_by_the_code_of_today() {
    let place = Place::with_flow(FLOW);
    place.run(&["run", "main", "go", "--user", "ada", "--request", "r"]);
    assert_eq!(waiting(&place), (json!("yes"), Value::Null));
    for (from, to, verdict, why) in [
        ("execute: (input) => input", "execute: (input) => [input]", "yes", ""),
        ("name: \"ask\"", "name: \"question\"", "no", "root/step:ask, which waits for an answer, is gone"),
        ("name: \"first\"", "name: \"begin\"", "asks_again", "root/step:first is gone: what it did is not used"),
        (".step(ask)", "", "no", "root/step:ask"),
        ("kind: \"main\"", "kind: \"other\"", "no", "unknown flow \"main\""),
        ("go: {", "went: {", "no", "no action \"go\""),
        ("export default", "export default (", "no", "main.ts"),
    ] {
        place.edit(&FLOW.replacen(from, to, 1));
        let (found, told) = waiting(&place);
        assert_eq!(found, verdict, "{to}: {told}");
        assert!(told.as_str().unwrap_or_default().contains(why), "{to}: {told}");
    }
    // Who has ended has nothing to go on with.
    place.edit(FLOW);
    place.run(&["resume", "r", "--approve"]);
    assert_eq!(waiting(&place), (Value::Null, Value::Null));
}
