//! Sizes that flows really reach, passed through as a person does: a session of many items, a value of many megabytes, a
//! tree of two hundred levels, thousands of sessions, two requests of a hundred thousand blocks beside each other.
//!
//! `make soak` takes them whole; otherwise they are a tenth, so that a debug build makes them in seconds.

use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::hook;

fn whole(whole: u64) -> u64 {
    if std::env::var_os("FLOWGLASS_SOAK").is_some() { whole } else { whole / 10 }
}

/// Says something so often; makes a value of so many bytes; nests so deep.
const FLOW: &str = r#"
const say = handler({ name: "say", execute: async (n, ctx) => { for (let i = 1; i <= n; i++) ctx.emitMessage(`line ${i}`); return n; } });
const large = handler({ name: "large", execute: (bytes) => ({ text: "x".repeat(bytes / 2), list: Array.from({ length: bytes / 40 }, (_, i) => ({ i, name: `entry ${i}` })) }) });
const deep = handler({ name: "deep", execute: (levels) => { let value = "bottom"; for (let i = 0; i < levels; i++) value = { [`level ${i}`]: value }; return value; } });
const nest = (levels) => { let block = sequencer({ name: "inner" }).step(handler({ name: "leaf", execute: (n) => n }));
  for (let i = 0; i < levels; i++) block = sequencer({ name: `level-${i}` }).step(block); return block; };
const of = (name, block) => ({ inputSchema: z.number(), block: sequencer({ name, inputSchema: z.number() }).step(block) });
export default defineFlow({ kind: "size", actions: {
  say: of("saying", say), large: of("growing", large), deep: of("deepening", deep), nest: of("nesting", nest(200)) } });
"#;

fn run(place: &Place, action: &str, request: &str, input: u64) {
    // Its output may be deeper than the test's own reader of JSON goes.
    let answer =
        place.ask(&format!("run size {action} --user ada --session {request}-s --request {request} --input {input}"));
    assert_eq!(answer.code, Some(0), "{}", answer.stderr);
}

#[test]
fn a_session_of_many_items() {
    let place = Place::with_flow(FLOW);
    let all = whole(50_000);
    run(&place, "say", "r1", all);
    let window = open(&place, &["--request", "r1", "--tab", "items", "--view", "client"]);
    window.wait(&hook("item"), |items| items.last()?.contains(&format!("line {all}")).then_some(()));
    window.click(&hook("items-first"));
    window.wait(&hook("item"), |items| items.first()?.contains("line 1").then_some(()));
    assert!(window.texts(&hook("item")).len() <= 200, "only a window of them is in the page");
}

#[test]
fn a_value_of_many_megabytes_and_one_of_many_levels() {
    let place = Place::with_flow(FLOW);
    run(&place, "large", "r1", whole(20_000_000));
    run(&place, "deep", "r2", 200);
    let window = open(&place, &["--request", "r1", "--block", "root/step:large"]);
    window.wait_for_text(&hook("block-output"), "text");
    let nodes = "return document.querySelectorAll('*').length";
    assert!(
        window.script(nodes, &[]).as_f64().is_some_and(|count| count < 20_000.0),
        "structure first, payload on demand"
    );
    // Still quick: a key is answered.
    window.click(&hook("timeline-row"));
    window.wait_for_text(&hook("block-path"), "root");
    window.script("location.hash = 'request=r2&session=r2-s&block=r2%3Aroot%2Fstep%3Adeep%3A0'", &[]);
    window.wait_for_text(&hook("block-output"), "level");
}

#[test]
fn a_tree_of_two_hundred_levels() {
    let place = Place::with_flow(FLOW);
    run(&place, "nest", "r1", 1);
    let window = open(&place, &["--request", "r1"]);
    window.until_status("completed");
    window.script("document.querySelector('[aria-label=\"Unfold all\"]')?.click()", &[]);
    window.until_script(
        "const list = document.querySelector('[data-testid=timeline]');
        list.scrollTop = list.scrollHeight;
        return [...list.querySelectorAll('[data-testid=timeline-row]')].some((row) => row.textContent.includes('leaf'))",
    );
}

#[test]
fn two_large_requests_side_by_side() {
    let place = Place::new();
    let made = |seed: u32| {
        let made = place.get(&format!("demo --synthetic {} --seed {seed}", whole(400_000)));
        made["requests"][0].as_str().expect("an id").to_owned()
    };
    let (one, other) = (made(1), made(2));
    let window = open(&place, &[]);
    window.wait_for("[data-testid=open-palette], [data-testid=home]");
    window.script("location.hash = arguments[0]", &[&format!("compare={one}&with={other}")]);
    window.wait_for(&hook("compare-blocks"));
    window.click(&hook("compare-only"));
    window.until_script(
        "const list = document.querySelector('[aria-label=\"Compared blocks\"]');
        if (!list) return false;
        list.scrollTop = list.scrollHeight;
        return [...list.querySelectorAll('[data-testid=compare-row]')].length > 0",
    );
    assert!(window.texts(&hook("compare-row")).len() < 200, "only a window of them is in the page");
}
