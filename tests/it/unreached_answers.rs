//! An answer that edited code does not come to is taken back: its question is open again, or over with its block
//! (SEMANTICS §9.3).

use serde_json::{Value, json};
use tests::bench::Place;

fn flow(x: &str, steps: &str) -> String {
    format!(
        r#"
const asked = (message: string, ctx: any) => ctx.suspend({{ reason: "human_input", message, resumeSchema: z.any(), allow: ["submit"] }});
const x = handler({{ name: "x", execute: async (_input: any, ctx: any) => {x} }});
const y = handler({{ name: "y", execute: async (_input: any, ctx: any) => await asked("y", ctx) }});
const first = handler({{ name: "first", execute: async (_input: any, ctx: any) => await asked("first", ctx) }});
const chain = sequencer({{ name: "top", inputSchema: z.any() }});
export default defineFlow({{ kind: "main", actions: {{ go: {{ block: chain{steps} }} }} }});
"#
    )
}

const ASKS: &str = r#"await asked("x", ctx)"#;

/// Runs until the first question, edits the code, and answers the question.
#[track_caller]
fn answered_after(x: &str, steps: &str) -> (Place, Value) {
    let place = Place::with_flow(&flow(ASKS, ".step(x).step(y)"));
    assert_eq!(place.ask("run main go --user ada --session s --request r --input 1").code, Some(4));
    place.edit(&flow(x, steps));
    let answer = answered(&place, "x");
    (place, answer)
}

fn answered(place: &Place, message: &str) -> Value {
    let all = place.get("suspensions");
    let id = all.as_array().and_then(|all| all.iter().find(|one| one["message"] == message)).expect("it is asked");
    place.ask(&format!("resume r --suspension {} --submit 1", id["id"].as_str().expect("a text"))).json()
}

#[track_caller]
fn stands(place: &Place, expected: &[(&str, &str)]) {
    let all = place.get("suspensions");
    let mut found: Vec<_> = all.as_array().expect("a list").iter().collect();
    found.sort_by_key(|one| one["message"].to_string());
    let found: Vec<_> = found.iter().map(|one| (&one["message"], &one["status"])).collect();
    let expected: Vec<_> = expected.iter().map(|(message, status)| (json!(message), json!(status))).collect();
    let expected: Vec<_> = expected.iter().map(|(message, status)| (message, status)).collect();
    assert_eq!(found, expected);
    assert_eq!(place.get("check --data")["ok"], true);
}

#[test]
fn the_question_of_a_step_that_was_removed_is_open_until_the_request_ends() {
    let (place, last) = answered_after(ASKS, ".step(y)");
    assert_eq!(last["status"], "suspended", "{last:#}");
    stands(&place, &[("x", "pending"), ("y", "pending")]);
    assert_eq!(answered(&place, "y")["status"], "completed");
    stands(&place, &[("x", "expired"), ("y", "submitted")]);
}

#[test]
fn a_step_before_it_that_asks_comes_first() {
    let (place, last) = answered_after(ASKS, ".step(first).step(x)");
    assert_eq!(last["status"], "suspended", "{last:#}");
    stands(&place, &[("first", "pending"), ("x", "pending")]);
    assert_eq!(answered(&place, "first")["status"], "suspended");
    let last = answered(&place, "x");
    assert_eq!((&last["status"], &last["output"]), (&json!("completed"), &json!(1)), "{last:#}");
    stands(&place, &[("first", "submitted"), ("x", "submitted")]);
}

#[test]
fn the_question_of_a_block_that_ended_without_it_is_over() {
    let (place, last) = answered_after("0", ".step(x).step(y)");
    assert_eq!(last["status"], "suspended", "{last:#}");
    stands(&place, &[("x", "expired"), ("y", "pending")]);
    let (place, last) = answered_after("0", ".step(x)");
    assert_eq!((&last["status"], &last["output"]), (&json!("completed"), &json!(0)), "{last:#}");
    stands(&place, &[("x", "expired")]);
}

#[test]
fn an_answer_that_is_used_stays() {
    let (place, last) = answered_after(ASKS, ".step(x).map((given: any) => given + 1).step(y)");
    assert_eq!(last["status"], "suspended", "{last:#}");
    stands(&place, &[("x", "submitted"), ("y", "pending")]);
}
