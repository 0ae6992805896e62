//! A replay after the code was edited: it writes nothing, asks no model, and stands beside what was recorded with the
//! first thing that it does otherwise.

use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::hook;

const FLOW: &str = r#"
const plan = handler({ name: "plan", execute: (topic) => ({ topic, steps: ["read", "write"] }) });
const count = handler({ name: "count", execute: (plan) => plan.steps.length });
export default defineFlow({ kind: "paper", actions: { plan: { block: sequencer({ name: "planning" }).step(plan).step(count) } } });
"#;

#[test]
fn a_replay_stands_beside_what_was_recorded() {
    let place = Place::with_flow(FLOW);
    place.get("run paper plan --user ada --session s --request r1 --input \"bees\"");
    let window = open(&place, &["--request", "r1"]);
    window.until_status("completed");
    window.palette("Replay this request");
    window.wait_for(&format!("{}[data-identical=true]", hook("replayed")));
    window.click(&hook("replay-beside"));
    window.wait_for_text(&hook("compare"), "The same blocks ran");

    place.edit(&FLOW.replace(r#"["read", "write"]"#, r#"["read", "write", "sleep"]"#));
    let events = place.get("events r1");
    window.script("location.hash = 'session=s&request=r1'", &[]);
    window.until_status("completed");
    window.palette("Replay this request");
    window.wait_for(&format!("{}[data-identical=false]", hook("replayed")));
    window.click(&hook("replay-beside"));
    window.wait_for_text(&hook("compare-divergence"), "root/step:plan");
    let row = |path: &str| format!("{}[data-path=\"{path}\"]", hook("compare-row"));
    window.wait_for(&row("root/step:count"));
    assert_eq!(window.attributes(&row("root/step:plan"), "data-differs"), ["output"]);
    assert_eq!(window.attributes(&row("root/step:count"), "data-differs"), ["input output"]);
    window.click(&row("root/step:count"));
    window.wait_for_text(&hook("differs-output"), "2");
    window.wait_for_text(&hook("differs-output"), "3");
    assert_eq!(place.get("events r1"), events, "a replay writes nothing");
}
