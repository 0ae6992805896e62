//! The items of a request in the real window: a long list, also while it grows, and hostile texts.

use serde_json::json;
use tests::bench::{Place, program};
use tests::webdriver::{Window, hook};

/// A flow that emits a message for every number, and a hostile one at the end.
const FLOW: &str = r#"
const hostile = "<img src=x onerror=\"window.hostile = 1\"> \u202E javascript:alert(1)";
const say = handler({ name: "say", execute: async (n, ctx) => {
  for (let i = 0; i < n; i++) {
    await ctx.emitMessage(`line ${i}`);
    if (i % 100 === 99) await ctx.sleep?.(1);
  }
  await ctx.emitMessage(hostile);
  return n;
} });
export default defineFlow({ kind: "talk", actions: { say: { block: sequencer({ name: "say-all", inputSchema: z.number() }).step(say) } } });
"#;

fn open(place: &Place, request: &str) -> Window {
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    Window::open(
        &program(),
        &["open", &dir, "--data", &data, "--request", request, "--tab", "items", "--view", "client"],
    )
}

fn run(place: &Place, request: &str, lines: u32) {
    let input = lines.to_string();
    place
        .run(&[
            "run",
            "talk",
            "say",
            "--user",
            "ada",
            "--session",
            "s",
            "--request",
            request,
            "--input",
            &input,
            "--json",
        ])
        .json();
}

/// A long text shows its whole length, not that of the loaded part, and its block has the whole text.
#[test]
fn a_long_text_shows_its_whole_length() {
    let flow = r#"
const write = handler({ name: "write", execute: async (n, ctx) => { await ctx.emitMessage("x".repeat(n)); return n; } });
export default defineFlow({ kind: "talk", actions: { say: { block: sequencer({ name: "say-all", inputSchema: z.number() }).step(write) } } });
"#;
    let place = Place::with_flow(flow);
    run(&place, "r1", 1_000_000);
    let window = open(&place, "r1");
    window.wait_for_text(&hook("text-length"), "First 1,200 characters of 977 KB");
    window.click(&format!("{} button[title^='Select the block']", hook("item")));
    window.wait_for_text(&hook("block-path"), "root/step:write");
    window.click(&hook("block-tab-items"));
    window.wait_for_text(
        &format!("{} {}", hook("panel-items"), hook("text-length")),
        "First 300 characters of 1,000,000",
    );
}

/// Of three thousand items, only a hundred are in the page, and the first can be reached. Hostile markup is only text.
#[test]
fn a_long_list_is_loaded_in_parts() {
    let place = Place::with_flow(FLOW);
    run(&place, "r1", 3_000);
    let window = open(&place, "r1");
    let known = place.get("items --request r1 --view client");
    let total = known.as_array().expect("a list").len();
    window.wait(&hook("item"), |items| (items.len() == 100).then_some(()));
    let last = window.texts(&hook("item")).pop().expect("one");
    assert!(last.contains("onerror"), "{last}");
    assert_eq!(window.attributes(&hook("item"), "aria-setsize")[0], total.to_string());
    assert_eq!(window.script("return window.hostile ?? null", &[]), json!(null));
    assert!(window.texts(&format!("{} img", hook("item"))).is_empty());
    window.wait_for_text("[data-choice=client]", "3,001");
    window.click(&hook("items-first"));
    window.wait(&hook("item"), |items| items.first().filter(|first| first.contains("line 0")).map(|_| ()));
    assert_eq!(window.attributes(&hook("item"), "aria-posinset")[0], "1");
    window.click(&hook("items-last"));
    window.wait(&hook("item"), |items| items.last().filter(|last| last.contains("onerror")).map(|_| ()));
}

/// While another process writes, the tab shows the newest items and the counts of the log.
#[test]
fn items_are_followed_live() {
    let place = Place::with_flow(FLOW);
    run(&place, "r0", 1);
    let mut writer = std::process::Command::new(program())
        .args(["run", "talk", "say", "--user", "ada", "--session", "s", "--request", "r1", "--input", "2000", "--json"])
        .args(["--data", &place.database().display().to_string()])
        .current_dir(place.dir())
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("the program starts");
    let window = open(&place, "r0");
    window.wait(&hook("item"), |items| (items.len() == 2).then_some(()));
    window.script("location.hash = 'session=s&request=r1&tab=items&audience=client'", &[]);
    assert!(writer.wait().expect("it ends").success());
    window.wait(&hook("item"), |items| items.last().filter(|last| last.contains("onerror")).map(|_| ()));
    let total = place.get("items --request r1 --view client").as_array().expect("a list").len();
    window.wait_for_text("[data-choice=client]", "2,001");
    assert_eq!(total, 2_001);
}
