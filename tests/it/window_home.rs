//! The window's first screens: without a folder, in one without flows, and with something to look at.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use tests::bench::{Place, program};
use tests::webdriver::{Window, hook};

const ASKS: &str = r#"
const ask = handler({
  name: "ask",
  execute: async ({ topic }: { topic: string }, ctx) => {
    await ctx.session.patchState({ topic });
    return ctx.suspend({ reason: "approval", message: `Publish ${topic}?`, allow: ["approve", "reject"] });
  },
});
const tell = handler({ name: "tell", execute: ({ topic }: { topic: string }) => topic });
export default defineFlow({ kind: "paper", actions: { ask: { block: ask }, tell: { block: tell } } });
"#;

/// A window that was started as a menu of programs does: in a folder that nobody named.
fn open_in(folder: &Path) -> Window {
    Window::open_in(&program(), &["open"], folder)
}

fn open(place: &Place) -> Window {
    let dir = place.dir().display().to_string();
    let data = place.database().display().to_string();
    Window::open(&program(), &["open", &dir, "--data", &data])
}

#[test]
fn without_a_folder_the_examples_are_one_click_away() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let window = open_in(home.path());
    window.wait_for_text(&hook("home"), "See what your AI flows do");
    window.wait_for(&hook("home-open"));
    window.wait_for_none(&hook("workspace"));
    assert!(!home.path().join(".flowglass").exists(), "nothing is written where nobody asked for it");

    window.click(&hook("home-examples"));
    window.wait_for_text(&hook("workspace"), "examples");
    window.wait_for(&hook("action-research-ask"));
    window.wait_for_none(&hook("trust"));
    let examples = window.home().join("XDG_DATA_HOME").join("flowglass").join("examples");
    assert!(examples.join("chat.ts").exists() && examples.join("chat.mock.json").exists());
}

#[test]
fn a_folder_without_flows_offers_a_first_one_and_replaces_nothing() {
    let place = Place::new();
    let window = open(&place);
    window.wait_for(&hook("no-flows"));
    window.click(&hook("first-flow"));
    assert!(!place.dir().join("hello.ts").exists(), "it asks first");
    window.click(&hook("first-flow-yes"));
    window.wait_for(&hook("action-hello-greet"));
    window.wait_for_none(&hook("no-flows"));
    window.click(&hook("action-hello-greet"));
    window.press(&hook("field-name"), "Ada");
    window.click(&hook("run-button"));
    window.wait_for(&format!("{}[data-status=completed]", hook("request-header")));
    assert!(place.get("requests")[0]["status"] == "completed");
}

#[test]
fn a_file_of_that_name_stays_as_it_is() {
    let place = Place::new();
    let window = open(&place);
    window.click(&hook("first-flow"));
    place.write("hello.ts", "mine");
    window.click(&hook("first-flow-yes"));
    window.wait_for_text(&hook("first-flow-error"), "stays as it is");
    assert_eq!(std::fs::read_to_string(place.dir().join("hello.ts")).ok().as_deref(), Some("mine"));
}

#[test]
fn home_says_what_ran_and_what_waits_and_rows_say_what_was_asked() {
    let place = Place::with_flow(ASKS);
    let run = |action: &str, session: &str, topic: &str| {
        let input = format!(r#"{{"topic":"{topic}"}}"#);
        place.run(&["run", "paper", action, "--user", "ada", "--session", session, "--input", &input]);
    };
    run("tell", "s1", "wild <b>bees</b>");
    run("ask", "s2", "honey");
    let window = open(&place);
    window.wait_for_text(&hook("home-waiting"), "Publish honey?");
    window.wait_for_text(&hook("last-runs"), "wild <b>bees</b>");
    assert!(window.wait_for(&hook("session-s1")).contains("paper.tell"));
    window.wait_for_text(&hook("session-s1"), "wild <b>bees</b>");
    assert!(window.wait_for(&hook("session-s2")).contains("Suspended"));
    // What is usual has a shape, and a word only for those who hear the page.
    let read = "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)";
    let words = window.script(read, &[&format!("{} span:not(.sr-only):not(:has(*))", hook("session-s1"))]);
    assert!(!words.to_string().contains("Completed"), "{words}");
    window.wait_for_text(&hook("waiting-list"), "Publish honey?");

    // Narrowed to what is suspended, and back.
    window.click(&hook("session-filter"));
    let choose = "const box = document.querySelector('[data-testid=session-status]');
                  box.value = 'suspended'; box.dispatchEvent(new Event('change', { bubbles: true }))";
    window.script(choose, &[]);
    window.wait_for_none(&hook("session-s1"));
    window.wait_for(&hook("session-s2"));

    // Answered where everything that waits is.
    window.script("location.hash = '#waiting='; dispatchEvent(new PopStateEvent('popstate'))", &[]);
    window.click(&hook("answer-approve"));
    window.wait_for_text(&hook("waiting-page"), "Nothing waits");
    window.wait_for_none(&hook("waiting-list"));
}

#[test]
fn the_timeline_begins_high_and_panes_can_be_put_away() {
    let place = Place::with_flow(ASKS);
    place.run(&["run", "paper", "tell", "--user", "ada", "--session", "s1", "--input", r#"{"topic":"bees"}"#]);
    let window = open(&place);
    window.click(&hook("last-run"));
    window.wait_for(&hook("timeline-row"));
    let top =
        window.script("return document.querySelector('[data-testid=timeline-row]').getBoundingClientRect().top", &[]);
    assert!(top.as_f64().is_some_and(|top| top <= 160.0), "{top}");
    window.wait_for_text(&hook("request-header"), "bees");
    let press = |key: &str| {
        let script = "dispatchEvent(new KeyboardEvent('keydown', { key: arguments[0], ctrlKey: true }))";
        window.script(script, &[key]);
    };
    press("b");
    window.wait_for(&hook("rail"));
    press("j");
    window.wait_for_none(&hook("inspector"));
    press("b");
    press("j");
    window.wait_for(&hook("inspector"));
    window.wait_for(&hook("session-s1"));
}

/// A folder whose database is damaged has a window that says so, and opens once the file is out of the way.
#[test]
fn a_database_that_is_none_is_told_and_tried_again() {
    let place = Place::with_flow(ASKS);
    let database = place.database();
    std::fs::create_dir_all(database.parent().expect("a folder")).expect("it is writable");
    std::fs::write(&database, "no database ".repeat(1_000)).expect("it is writable");
    let window = open(&place);
    let said = window.wait_for(&hook("not-opened"));
    assert!(said.contains("cannot be opened") && said.contains("is not a SQLite database: move it away"), "{said}");
    window.wait_for(&hook("home-open"));
    let again = format!("{} > button", hook("not-opened"));
    window.click(&again);
    window.wait_for_text(&hook("not-opened"), "is not a SQLite database");
    std::fs::remove_file(&database).expect("it is there");
    window.click(&again);
    window.wait_for(&hook("action-paper-ask"));
    window.wait_for_none(&hook("not-opened"));
}

const FILLS: &str = r#"
// Nothing that could be stored smaller.
const words = (n: number) => Array.from({ length: 5_000 }, (_, i) => ((i + n * 5_000) ** 3 % 999_983).toString(36));
const page = handler({
  name: "page",
  execute: async ({ n }: { n: number }) => ({ n: n + 1, text: words(n).join("") }),
});
const book = sequencer({ name: "book" }).step(page).loopBack("page", { when: ({ n }) => n < 200, maxIterations: 200 });
export default defineFlow({ kind: "paper", actions: { fill: { inputSchema: z.object({ n: z.number() }), block: book } } });
"#;

/// A file that may not grow is what a full disk is to the program. The window says why the request stands still, and
/// what was stored is gone on with.
#[test]
fn a_full_disk_is_told_and_nothing_stored_is_lost() {
    let place = Place::with_flow(FILLS);
    let small = place.dir().join("small.sh");
    // In blocks of 512 bytes. Without the signal the write itself fails.
    let script = format!("trap '' XFSZ; ulimit -f 4000; exec '{}' \"$@\"", program().display());
    std::fs::write(&small, format!("#!/bin/sh\n{script}\n")).expect("it is writable");
    std::fs::set_permissions(&small, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    let window = Window::open(&small, &["open", &dir, "--data", &data]);
    window.click(&hook("action-paper-fill"));
    window.press(&hook("field-n"), "0");
    window.click(&hook("run-button"));
    let said = window.wait_for_text(&hook("fault"), "nothing after the last stored step was kept");
    assert!(said.contains("flowglass.db: the disk") && said.contains("try again"), "{said}");
    window.wait_for(&format!("{}[data-status=interrupted]", hook("request-header")));
    drop(window);
    let request = place.get("requests")[0]["id"].as_str().expect("it is listed").to_owned();
    let resumed = place.get(&format!("resume {request}"));
    assert_eq!((&resumed["status"], &resumed["output"]["n"]), (&json!("completed"), &json!(200)));
}
