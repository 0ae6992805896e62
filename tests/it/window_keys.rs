//! Focus and visibility with keys and in small windows, which only the real window can test.

use tests::bench::{Place, program};
use tests::webdriver::{Window, hook, key};

const COUNT: &str = r#"
const add = handler({ name: "add", execute: (n, ctx) => (ctx.emitMessage(`has ${n}`), n + 1) });
export default defineFlow({
  kind: "count",
  actions: { twice: { block: sequencer({ name: "twice" }).step(add).step(add) } },
});
"#;

/// A workspace with more flows and sessions than fit, and a window at the newest request.
fn open() -> (Place, Window) {
    let mut place = Place::with_flow(COUNT);
    for n in 0..12 {
        place = place.file(&format!("flows/more{n}.ts"), &COUNT.replace("\"count\"", &format!("\"more{n}\"")));
    }
    for n in 0..20 {
        place.get(&format!("run count twice --user ada --session s{n} --request r{n} --input 1"));
    }
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    let window = Window::open(&program(), &["open", &dir, "--data", &data, "--request", "r19"]);
    window.wait(&hook("timeline-row"), |rows| (rows.len() == 3).then_some(()));
    window.wait_for(&hook("session-s19"));
    (place, window)
}

/// The focused element: its hook, and the part of the window it is in.
fn focus(window: &Window) -> (String, String) {
    let script = "const at = document.activeElement; \
                  return `${at.dataset.testid ?? ''} ${at.closest('[data-zone]')?.dataset.zone ?? ''}`";
    let said = window.script(script, &[]);
    let (hook, zone) = said.as_str().and_then(|said| said.split_once(' ')).expect("two words");
    (hook.to_owned(), zone.to_owned())
}

fn tab_of(window: &Window) -> Option<String> {
    window.wait_for("[role=tab][data-state=active]").split(|c: char| c.is_ascii_digit()).next().map(|t| t.trim().into())
}

#[test]
fn the_window_is_worked_with_keys_alone() {
    let (_place, window) = open();

    // F6 walks the parts, and the timeline is the fifth.
    let parts: Vec<String> = (0..5).map(|_| (window.type_keys(key::F6), focus(&window).1).1).collect();
    assert_eq!(parts, ["header", "flows", "sessions", "request", "view"]);
    assert_eq!(focus(&window).0, "timeline");
    window.type_keys(key::DOWN);
    window.wait_for_text(&hook("block-path"), "root/step:add");

    // The tab that had the focus disappears, but keys still work.
    window.type_keys("2");
    window.wait_for(&hook("items"));
    window.type_keys("3");
    window.wait_for(&hook("state-page"));
    window.type_keys("4");
    window.wait_for(&hook("events"));
    // The selected block has ended: `l` goes to the newest event, `,` one back.
    window.type_keys("l,");
    window.wait(&hook("live"), |texts| texts.first()?.contains("+1").then_some(()));
    window.type_keys("l1");
    window.wait_for(&hook("timeline"));
    assert_eq!(tab_of(&window).as_deref(), Some("Timeline"));

    // In a text field, keys are text.
    window.click(&hook("session-search"));
    window.type_keys("s12");
    assert_eq!(window.script("return document.activeElement.value", &[]), "s12");
    assert_eq!(tab_of(&window).as_deref(), Some("Timeline"));
}

#[test]
fn few_presses_of_tab_lead_to_the_timeline() {
    let (_place, window) = open();
    window.type_keys(key::F6);
    let presses = (1..40).find(|_| {
        window.type_keys(key::TAB);
        focus(&window).0 == "timeline"
    });
    assert!(presses.is_some_and(|presses| presses <= 16), "{presses:?}");
}

/// Whether an element is fully visible: none of its sides is cut off or covered. Corners are ignored, as they are
/// round.
const SEEN: &str = "const one = document.querySelector(arguments[0]); const box = one.getBoundingClientRect(); \
    const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2]; \
    return [[box.left + 1, y], [box.right - 1, y], [x, box.top + 1], [x, box.bottom - 1]] \
      .every(([x, y]) => one.contains(document.elementFromPoint(x, y)))";

#[test]
fn nothing_is_cut_off_in_the_smallest_window() {
    let (_place, window) = open();
    window.resize(960, 600);
    window.type_keys("2");
    for choice in ["all", "client", "history", "trace"] {
        window.wait_for(&format!("[data-choice={choice}]"));
        assert_eq!(window.script(SEEN, &[&format!("[data-choice={choice}]")]), true, "{choice}");
    }
    window.type_keys("1");
    window.wait_for(&hook("timeline"));
    for name in ["filter", "bar-colour", "switch-cut", "switch-critical"] {
        assert_eq!(window.script(SEEN, &[&hook(name)]), true, "{name}");
    }
    // All tabs of a block fit, including the last one.
    window.click(&hook("block-tab-source"));
    assert_eq!(window.script(SEEN, &[&hook("block-tab-source")]), true);
    window.script("location.hash = 'flow=count&action=twice'", &[]);
    window.wait_for(&hook("run-form"));
    window.click(&hook("user"));
    window.type_keys(format!("{}{}", key::END, key::BACKSPACE));
    window.wait("[role=listbox]:not([hidden]) [role=option]", |found| found.contains(&"ada".to_owned()).then_some(()));
    assert_eq!(window.script(SEEN, &["[role=listbox]:not([hidden]) [role=option]"]), true);
}
