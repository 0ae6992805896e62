//! A run that somebody stops: it ends where it is, says so, and can go on.

use tests::bench::Place;
use tests::sitting::{open, times_run};
use tests::webdriver::hook;

const FLOW: &str = r#"
const first = handler({ name: "first", execute: (n) => n });
const wait = handler({ name: "wait", execute: async (ms, ctx) => (await new Promise((done) => setTimeout(done, ms)), "rested") });
export default defineFlow({ kind: "rest", actions: { rest: { inputSchema: z.number(),
  block: sequencer({ name: "resting", inputSchema: z.number() }).step(first).step(wait) } } });
"#;

#[test]
fn a_run_is_stopped_and_run_again() {
    let place = Place::with_flow(FLOW);
    let window = open(&place, &[]);
    window.click(&hook("action-rest-rest"));
    window.press(
        "[data-testid=run-form] input[type=number], [data-testid=raw-json], [data-testid=run-form] textarea",
        "600000",
    );
    window.click(&hook("run-button"));
    window.wait_for("[data-testid=timeline-row][data-path='root/step:wait'][data-status=running]");
    window.click(&hook("abort"));
    window.until_status("aborted");
    let request = tests::sitting::newest(&place, &[]);
    assert_eq!(times_run(&place, &request, "root/step:first"), 1);
    // The same form with the same input.
    window.click(&hook("run-again"));
    window.wait_for(&hook("run-form"));
    let text = window.script("return document.querySelector('[data-testid=run-form]').innerText + [...document.querySelectorAll('[data-testid=run-form] input, [data-testid=run-form] textarea')].map((one) => one.value).join(' ')", &[]);
    assert!(text.as_str().is_some_and(|text| text.contains("600000")), "{text}");
}
