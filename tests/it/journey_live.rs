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

    // A place on the strip is the event that was then, though all of them are inside of one block.
    let events = place.get("events r1");
    let at = |seq: usize| events[seq - 1]["at"].as_i64().expect("a time");
    let last = events.as_array().map_or(0, Vec::len);
    let wanted = at(last / 2) + 10;
    let share = (wanted - at(1)) as f64 / (at(last) - at(1)) as f64;
    window.script(
        "Element.prototype.setPointerCapture = () => {};
        const strip = document.querySelector('[data-testid=overview]'), box = strip.getBoundingClientRect();
        const place = { clientX: box.left + Number(arguments[0]) * box.width, clientY: box.top + 5, bubbles: true };
        strip.dispatchEvent(new PointerEvent('pointerdown', { ...place, buttons: 1 }));
        strip.dispatchEvent(new PointerEvent('pointerup', place));",
        &[&share.to_string()],
    );
    let found = window.until_script("return new URLSearchParams(location.hash.slice(1)).get('seq')");
    let seq: usize = found.as_str().and_then(|text| text.parse().ok()).expect("a number");
    assert!((at(seq) - wanted).abs() < 100, "#{seq} is not near {wanted}: {}", at(seq));
    let after = at(seq) - at(1);
    window.wait_for_text(&hook("instant"), &format!("#{seq} · +{}.{:03} s", after / 1_000, after % 1_000));
}
