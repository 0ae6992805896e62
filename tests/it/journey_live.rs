//! A request that runs while it is looked at: rows and items come without anybody asking, and nothing jumps for whoever
//! looks at the past.

use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::hook;

/// Says a line about every 20 ms.
const FLOW: &str = r#"
const say = handler({ name: "say", execute: async (n, ctx) => {
  for (let i = 1; i <= n; i++) {
    await ctx.emitMessage(`line ${i}`);
    await new Promise((done) => setTimeout(done, 20));
  }
  return n;
} });
export default defineFlow({ kind: "talk", actions: { say: { inputSchema: z.number(),
  block: sequencer({ name: "talking", inputSchema: z.number() }).step(say) } } });
"#;

#[test]
fn lines_are_shown_as_they_come_and_the_past_stays_where_it_is() {
    let place = Place::with_flow(FLOW);
    let window = open(&place, &[]);
    window.wait_for(&hook("action-talk-say"));
    let going = place.start("run talk say --user ada --session s --request r1 --input 250");
    place.until_status("r1", "in_progress");
    window.script("location.hash = 'session=s&request=r1&tab=items&audience=client'", &[]);
    window.until_status("in_progress");
    let count = |window: &tests::webdriver::Window| {
        let texts = window.texts("[data-choice=client]");
        texts.first().map(|text| text.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().ok())
    };
    let first = window.wait("[data-choice=client]", |_| count(&window).flatten().filter(|count| *count > 2));
    let later = window.wait("[data-choice=client]", |_| count(&window).flatten().filter(|count| *count > first + 5));
    assert!(later > first);

    // The past: the number of the event stays, and what is new is counted beside it.
    window.script("location.hash = 'session=s&request=r1&seq=3'", &[]);
    window.wait(&hook("state-seq"), |texts| texts.first()?.contains("#3").then_some(()));
    window.wait(&hook("live"), |texts| texts.first()?.contains('+').then_some(()));
    assert!(window.texts(&hook("state-seq"))[0].contains("#3"));
    window.click(&hook("live"));
    assert_eq!(going.ended().code, Some(0));
    window.until_status("completed");
    let items = place.get("items --request r1 --view client");
    assert_eq!(items.as_array().map(Vec::len), Some(250));
    window.click(&hook("tab-items"));
    window.wait_for_text("[data-choice=client]", "250");
}
