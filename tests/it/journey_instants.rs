//! What was so when: the slider through a request that has ended, and the difference of any two instants of it.

use tests::bench::Place;
use tests::sitting::{end_of, open};
use tests::webdriver::{hook, key};

const FLOW: &str = r#"
const count = z.object({ n: z.number().default(0), last: z.string().optional() });
const add = (name, by) => handler({ name, sessionStateSchema: count, execute: async (input, ctx) => {
  await ctx.session.incState({ n: by });
  await ctx.session.patchState({ last: name });
  return input;
} });
export default defineFlow({
  kind: "sums",
  session: { stateSchema: count },
  actions: { add: { block: sequencer({ name: "sum" }).step(add("one", 1)).step(add("ten", 10)).step(add("hundred", 100)) } },
});
"#;

#[test]
fn the_state_of_any_instant_and_what_lies_between_two() {
    let place = Place::with_flow(FLOW);
    place.get("run sums add --user ada --session s --request r1 --input 1");
    let window = open(&place, &["--request", "r1"]);
    window.wait_for_text(&hook("scope-session"), "111");

    let events = place.get("events r1");
    let at = |seq: u64| events[seq as usize - 1]["at"].as_i64().expect("a time");

    // One step after the other.
    for (path, sum) in [("root/step:one", "1"), ("root/step:ten", "11"), ("root/step:hundred", "111")] {
        let seq = end_of(&place, "r1", path);
        window.go_to_event(seq);
        window.wait(&hook("state-seq"), |texts| texts.first()?.contains(&format!("#{seq}")).then_some(()));
        window.wait(&hook("scope-session"), |texts| texts.first()?.contains(sum).then_some(()));
        // The time of the event itself, from the first event of the request on.
        let after = at(seq) - at(1);
        let (seconds, rest) = (after / 1_000, after % 1_000);
        let time = if seconds > 0 { format!("+{seconds}.{rest:03} s") } else { format!("+{rest} ms") };
        window.wait_for_text(&hook("instant"), &format!("#{seq} · {time}"));
    }
    // To the beginning with a key, and back by steps.
    window.press(&hook("time-slider"), key::HOME);
    window.wait(&hook("scope-session"), |texts| (!texts.join(" ").contains("11")).then_some(()));
    window.click(&hook("timeline"));
    window.type_keys("l");
    window.wait_for_text(&hook("scope-session"), "111");

    // The difference of two instants, by their numbers.
    let (from, to) = (end_of(&place, "r1", "root/step:one"), end_of(&place, "r1", "root/step:hundred"));
    window.palette("Compare two instants");
    for (name, seq) in [("diff-from", from), ("diff-to", to)] {
        window.clear(&hook(name));
        window.press(&hook(name), seq);
    }
    window.click(&hook("do-diff"));
    let said = window.wait_for_text(&hook("diff-answer"), "111");
    assert!(said.contains("hundred") && said.contains('1'), "{said}");
    let changed = place.get(&format!("diff r1 --from {from} --to {to}"));
    assert_eq!(changed.as_array().map(Vec::len), Some(2), "{changed}");
}
