//! Everything by keyboard: an action is found, its form filled and run, a block chosen, its items read, and the window
//! left as it was, without a click.

use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::{hook, key};

const FLOW: &str = r#"
const input = z.object({ by: z.number().int().min(1) });
const add = handler({ name: "add", execute: ({ by }, ctx) => (ctx.emitMessage(`adds ${by}`), { by: by + 1 }) });
export default defineFlow({ kind: "sums", actions: { add: { inputSchema: input,
  block: sequencer({ name: "sum", inputSchema: input }).step(add).step(add) } } });
"#;

#[test]
fn a_run_is_made_and_looked_at_without_a_click() {
    let place = Place::with_flow(FLOW);
    let window = open(&place, &[]);
    window.wait_for(&hook("action-sums-add"));
    window.palette("sums.add");
    window.wait_for(&hook("run-form"));
    // The focus begins in the first field, and what is typed runs with Ctrl and Enter.
    window.until_script("return document.activeElement.dataset.testid === 'field-by'");
    window.type_keys("20");
    window.control(key::ENTER);
    window.until_status("completed");
    window.wait(&hook("timeline-row"), |rows| (rows.len() == 3).then_some(()));
    let second = window.attributes(&hook("timeline-row"), "data-path").pop().expect("three rows");

    // The timeline has the focus: to the second step, and its items.
    window.until_script("return document.activeElement.dataset.testid === 'timeline'");
    window.type_keys(format!("{}{}", key::DOWN, key::DOWN));
    window.wait_for_text(&hook("block-path"), &second);
    window.type_keys("2");
    window.wait(&hook("item"), |items| items.join(" ").contains("adds 21").then_some(()));
    // A dialog gives the focus back to where it was.
    window.type_keys("?");
    window.wait_for("[role=dialog]");
    window.type_keys(key::ESCAPE);
    window.wait_for_none("[role=dialog]");
    // Back to where it came from.
    window.type_keys("1");
    window.wait_for(&hook("timeline"));
}
