//! A failed request, from its error to its cause and on from there: at most two clicks to "fork here", and a fork with an
//! edit that goes well; then both side by side.

use tests::bench::Place;
use tests::sitting::{newest, open};
use tests::webdriver::{hook, key};

const FLOW: &str = r#"
const plan = handler({ name: "plan", execute: (topic) => ({ topic, steps: 2 }) });
const check = handler({ name: "check", execute: (plan) => {
  if (plan.topic === "bad") throw new Error("Bad topics are not planned.");
  return plan;
} });
const close = handler({ name: "close", execute: (plan, ctx) => (ctx.emitMessage(`done ${plan.topic}`), plan.topic) });
export default defineFlow({ kind: "paper", actions: {
  plan: { block: sequencer({ name: "planning" }).step(plan).step(check).step(close) } } });
"#;

#[test]
fn a_failure_leads_to_its_cause_and_a_fork_with_an_edit_goes_well() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run paper plan --user ada --session s --request r1 --input \"bad\"").code, Some(3));
    let window = open(&place, &["--request", "r1"]);

    // The first click: from the error to the block that failed.
    let error = window.wait_for(&hook("request-error"));
    assert!(error.contains("Bad topics are not planned."), "{error}");
    window.click(&format!("{} button", hook("request-error")));
    window.wait_for_text(&hook("block-path"), "root/step:check");
    window.wait_for_text(&hook("block-error"), "Bad topics are not planned.");
    // Forked from before it: after the step that made what it could not take.
    window.choose_block("root/step:plan");
    // The second click is on the menu, whose first letters choose; the palette does the same.
    window.palette("Fork this request");
    window.wait_for_text(&hook("fork-path"), "root/step:plan");
    window.click(&hook("fork-output"));
    // It begins with what the step gave.
    let begun = format!("return document.querySelector('{}').value.includes('bad')", hook("fork-value"));
    window.until_script(&begun);
    window.clear(&hook("fork-value"));
    window.press(&hook("fork-value"), r#"{"topic":"good","steps":1}"#);
    window.click(&hook("do-fork"));
    window.wait_for_text(&hook("request-origin"), "Forked after #");
    window.until_status("completed");
    // What it was given is told apart from what was taken from the log.
    let says = "return [...document.querySelectorAll('[data-testid=row-note]')].some((note) =>
        note.textContent.endsWith('edited') && note.closest('[data-path]')?.dataset.path === 'root/step:plan')";
    window.until_script(says);
    let fork = newest(&place, &["r1"]);
    assert_eq!(place.get(&format!("show {fork}"))["output"], "good");
    assert_eq!(place.get("show r1")["request"]["status"], "failed", "the first one is as it was");

    // Side by side, as the window offers it.
    window.palette("Compare two instants");
    window.click("[role=dialog] [data-choice=requests]");
    window.wait_for_text(&hook("related"), "r1");
    window.click(&hook("related"));
    window.wait_for(&hook("compare"));
    window.wait_for(&format!("{}[data-request=\"r1\"]", hook("compare-left")));
    let differs = |path: &str| format!("{}[data-path=\"{path}\"]", hook("compare-row"));
    window.wait_for(&differs("root/step:plan"));
    // It has another output, given by an edit, and did not run again.
    assert_eq!(window.attributes(&differs("root/step:plan"), "data-differs"), ["output"]);
    assert_eq!(window.attributes(&differs("root/step:check"), "data-differs"), ["status input"]);
    assert_eq!(window.attributes(&differs("root/step:close"), "data-differs"), ["only_right"]);
    window.wait_for_text(&hook("first-difference"), "plan");
    window.click(&hook("first-difference"));
    window.wait_for_text(&hook("differs-output"), "bad");
    window.wait_for_text(&hook("differs-output"), "good");
    // The next difference with a key.
    window.press("[aria-label=\"Compared blocks\"]", key::F8);
    window.wait_for_text(&hook("differs-output"), "Bad topics are not planned.");
}
