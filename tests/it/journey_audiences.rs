//! Who sees what: each audience of the window is what the program says of it, and counts what it hides.

use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::hook;

const FLOW: &str = r#"
const say = handler({ name: "say", execute: async (input, ctx) => {
  ctx.emitMessage("for everyone");
  ctx.emitMessage("for developers", { agentType: "trace" });
  ctx.emitStatus("working");
  ctx.emitMessage("for the model alone", { audience: undefined });
  return input;
} });
export default defineFlow({ kind: "talk", actions: { say: { block: sequencer({ name: "talking" }).step(say) } } });
"#;

#[test]
fn every_audience_is_what_the_program_says_of_it() {
    let place = Place::with_flow(FLOW);
    place.get("run talk say --user ada --session s --request r1 --input 1");
    let window = open(&place, &["--request", "r1", "--tab", "items"]);
    for audience in ["client", "history", "trace", "all"] {
        let known = place.get(&format!("items --request r1 --view {audience}"));
        let expected = known.as_array().map(Vec::len).expect("a list");
        window.click(&format!("[data-choice={audience}]"));
        window.wait(&hook("item"), |items| (items.len() == expected).then_some(()));
        let shown = window.texts(&hook("item")).join(" ");
        for text in ["for everyone", "for developers", "for the model alone"] {
            let is_known = known.to_string().contains(text);
            assert_eq!(shown.contains(text), is_known, "{text:?} in {audience}: {shown}");
        }
        let choice = window.wait_for(&format!("[data-choice={audience}]"));
        assert!(choice.ends_with(&expected.to_string()), "{choice} counts {expected}");
    }
}
