//! Words that somebody remembers, found in whatever recorded them, and the instant that they lead to.

use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::hook;

const FLOW: &str = r#"
const say = handler({ name: "say", execute: async (topic, ctx) => {
  console.log("looking for", topic);
  ctx.emitMessage(`about ${topic}`);
  return topic;
} });
export default defineFlow({ kind: "talk", actions: { say: { block: sequencer({ name: "talking" }).step(say) } } });
"#;

#[test]
fn words_lead_to_the_instant_that_recorded_them() {
    let place = Place::with_flow(FLOW);
    for (request, topic) in [("r1", "bees"), ("r2", "wasps"), ("r3", "ants")] {
        place.get(&format!("run talk say --user ada --session {request}-s --request {request} --input \"{topic}\""));
    }
    let window = open(&place, &[]);
    window.wait_for(&hook("action-talk-say"));
    window.palette("Search all runs");
    window.press(&hook("search-text"), "about WASPS");
    window.click(&hook("do-search"));
    window.wait_for_text(&hook("hit"), "wasps");
    // The request is named by what it is, not by its id alone.
    window.wait_for_text(&hook("hit-group"), "talk.say");
    window.click(&hook("hit"));
    window.until_script("return /request=r2/.test(location.hash) && /seq=\\d/.test(location.hash)");
    window.wait_for_text(&hook("block-path"), "root/step:say");
    window.wait_for(&hook("timeline-row"));
    // In the timeline, by a filter; the rows that fit and what is around them stay.
    window.press(&hook("filter"), "name:say");
    window.wait_for_text(&hook("filter-matches"), "1");
    window.until_rows(&["root", "root/step:say"]);
}
