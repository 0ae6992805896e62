//! A run that asks: it is found where what waits is listed, answered in a form made from its schema, and goes on.

use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::hook;

const FLOW: &str = r#"
const ask = handler({ name: "ask", execute: async (topic, ctx) => {
  const answer = await ctx.suspend({
    reason: "approval", message: `Publish ${topic}?`, data: { topic },
    allow: ["submit", "reject"], resumeSchema: z.object({ title: z.string().min(3), copies: z.number().int().max(9).default(1) }),
  });
  return answer;
} });
export default defineFlow({ kind: "paper", actions: { publish: { block: sequencer({ name: "publishing" }).step(ask) } } });
"#;

#[test]
fn what_waits_is_found_and_answered() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run paper publish --user ada --session s --request r1 --input \"bees\"").code, Some(4));
    let window = open(&place, &["--request", "r1"]);
    window.until_status("suspended");
    window.click(&hook("resume"));
    window.wait_for_text(&hook("question"), "Publish bees?");
    // What does not fit is said at its field, and nothing is sent.
    window.press(&hook("field-title"), "No");
    window.click(&hook("answer-submit"));
    window.wait_for(&hook("question-error"));
    assert_eq!(place.get("show r1")["request"]["status"], "suspended");
    window.press(&hook("field-title"), "tes");
    window.click(&hook("answer-submit"));
    window.until_status("completed");
    assert_eq!(place.get("show r1")["output"]["title"], "Notes");
}
