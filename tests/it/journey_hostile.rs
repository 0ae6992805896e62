//! Output of flows and models is only shown as text: nothing in it runs, nothing is fetched, and the window stays fast.

use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::hook;

/// Hostile texts everywhere a flow can put one.
const FLOW: &str = r#"
const hostile = [
  '<img src="http://127.0.0.1:9/x.png" onerror="window.hostile = 1">', "<script>window.hostile = 2</script>",
  "[click](javascript:window.hostile=3)", "![x](http://127.0.0.1:9/y.png)", "\u202Etxet desrever", "\u001b[31mred\u001b[0m \u001b]0;title\u0007",
  "</textarea><svg onload=window.hostile=4>",
].join("\n");
const say = handler({ name: "<b onclick=x>say</b>", execute: async (long, ctx) => {
  ctx.emitMessage(hostile);
  ctx.emitComponent("<iframe src=javascript:alert(1)>", { hostile });
  ctx.emitStatus(hostile);
  console.log(hostile);
  await ctx.session.patchState({ hostile, long });
  return { hostile, long };
} });
const fail = handler({ name: "fail", execute: () => { throw new Error(hostile); } });
export default defineFlow({ kind: "talk", session: { stateSchema: z.object({ hostile: z.string().default(""), long: z.string().default("") }) },
  actions: { say: { block: sequencer({ name: "talking" }).map(() => "x".repeat(1_000_000)).step(say).step(fail) } } });
"#;

#[test]
fn hostile_texts_do_not_run_and_fetch_nothing() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run talk say --user ada --session s --request r1 --input 1").code, Some(3));
    let window = open(&place, &["--request", "r1"]);
    window.wait_for(&hook("request-error"));
    for (tab, shown) in [("timeline", "timeline-row"), ("items", "item"), ("events", "event-row")] {
        window.click(&hook(&format!("tab-{tab}")));
        window.wait_for(&hook(shown));
        check(&window, tab);
    }
    window.click(&hook("tab-timeline"));
    let say = window.attributes(&hook("timeline-row"), "data-path").into_iter().find(|path| path.contains("say"));
    window.choose_block(&say.expect("its row is there"));
    check(&window, "block");
    window.wait_for_text(&hook("scope-session"), "onerror");
    check(&window, "state");
    window.palette("Search all runs");
    window.press(&hook("search-text"), "desrever");
    window.click(&hook("do-search"));
    window.wait_for(&hook("hit"));
    check(&window, "search");
}

/// Checks that nothing ran, no text became an element, and only the program's own pages were loaded.
#[track_caller]
fn check(window: &tests::webdriver::Window, place: &str) {
    let found = window.script(
        "const foreign = performance.getEntriesByType('resource').map((one) => one.name)
          .filter((name) => !/^(tauri|ipc):|^https?:\\/\\/(ipc|tauri)\\.localhost/.test(name));
        const made = [...document.querySelectorAll('img, iframe, script:not([src]), a[href^=\"javascript:\"], [onclick], [onerror], [onload]')]
          .map((one) => one.outerHTML.slice(0, 200));
        return JSON.stringify([window.hostile ?? null, foreign, made])",
        &[],
    );
    assert_eq!(found, "[null,[],[]]", "{place}");
}
