//! A request as one HTML page, in a browser: it shows what the window shows, offers nothing that cannot be done in a
//! file, and loads nothing.

use serde_json::json;
use tests::bench::Place;
use tests::webdriver::{Window, hook, key};

const FLOW: &str = r#"
const note = handler({ name: "note", execute: async (input, ctx) => {
  ctx.emit.message("shown to the client");
  ctx.emitMessage("shown to developers", { agentType: "trace" });
  await ctx.session.patchState({ note: "kept in the state" });
  await ctx.session.appendJournal({ text: "noted in the journal" });
  return { made: "<b>made</b> by a block" };
} });
const fail = handler({ name: "fail", execute: () => { throw new Error("no such thing"); } });
const pipe = (name: string) => sequencer({ name, inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ note: z.string().default("") }) },
  actions: { go: { block: pipe("go").step(note) }, bad: { block: pipe("bad").step(note).step(fail) } },
});
"#;

/// Opens the page of a request.
fn browse(place: &Place, request: &str, view: &str) -> Window {
    place.get(&format!("export --request {request} --html {view}.html --view {view}"));
    Window::browse(&place.dir().join(format!("{view}.html")))
}

#[track_caller]
fn check(window: &Window, screen: &str) {
    let wrong = window.violations();
    assert!(wrong.is_empty(), "{screen}: {}", wrong.join("\n"));
}

#[test]
fn a_page_shows_the_request_in_a_browser_and_offers_only_what_can_be_done_there() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run main bad --user ada --session s --request r --input 1").code, Some(3));
    let window = browse(&place, "r", "all");
    window.wait_for_text(&hook("copy-note"), "Read-only copy");
    window.until_status("failed");
    window.until_rows(&["root", "root/step:note", "root/step:fail"]);
    window.choose_block("root/step:note");
    window.wait_for_text(&hook("block-output"), "<b>made</b> by a block");
    window.wait_for_text(&hook("state"), "kept in the state");
    check(&window, "timeline");
    window.go_to_event(2);
    window.wait_for_text(&hook("state-seq"), "#2");
    assert!(!window.texts(&hook("state")).join(" ").contains("kept in the state"));
    for (tab, there, text) in [
        ("items", "item", "shown to the client"),
        ("state", "state-page", "note"),
        ("events", "event-row", "request_started"),
        ("journal", "journal-entry", "noted in the journal"),
    ] {
        window.script(
            "const at = new URLSearchParams(location.hash.slice(1)); at.set('tab', arguments[0]); at.delete('seq');
            location.hash = at",
            &[tab],
        );
        window.wait_for_text(&hook(there), text);
        check(&window, tab);
    }
    for absent in ["run-again", "resume", "abort", "go-culprit", "block-tab-source"] {
        assert_eq!(window.texts(&hook(absent)), Vec::<String>::new(), "{absent}");
    }
    let loaded = window.script("return performance.getEntriesByType('resource').map((one) => one.name)", &[]);
    assert_eq!(loaded, json!([]));
}

#[test]
fn a_page_for_an_audience_shows_its_items_alone() {
    let place = Place::with_flow(FLOW);
    place.get("run main go --user ada --session s --request r --input 1");
    let window = browse(&place, "r", "client");
    window.wait_for_text(&hook("item"), "shown to the client");
    assert!(!window.texts("body").join(" ").contains("shown to developers"));
    check(&window, "client");
}

#[test]
fn a_page_is_worked_with_keys_alone() {
    let place = Place::with_flow(FLOW);
    assert_eq!(place.ask("run main bad --user ada --session s --request r --input 1").code, Some(3));
    let window = browse(&place, "r", "all");
    window.until_rows(&["root", "root/step:note", "root/step:fail"]);
    let zone = "return document.activeElement.closest('[data-zone]')?.dataset.zone ?? ''";
    let parts: Vec<_> = (0..4).map(|_| (window.type_keys(key::F6), window.script(zone, &[])).1).collect();
    assert!(parts.contains(&json!("view")), "{parts:?}");
    for _ in 0..8 {
        if window.script(zone, &[]) == "view" {
            break;
        }
        window.type_keys(key::F6);
    }
    window.type_keys(key::HOME);
    window.type_keys(key::DOWN);
    window.wait_for_text(&hook("block-path"), "root/step:note");
    window.type_keys("2");
    window.wait_for_text(&hook("item"), "shown to the client");
    window.type_keys("4");
    window.wait_for_text(&hook("event-row"), "request_started");
}
