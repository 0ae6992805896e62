//! The list of runs in the real window: order, filter, keys, tags, another process, the chart, and what can be done
//! with selected runs.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::{Window, hook, key};

const FLOW: &str = r#"
const words = generator({ name: "words", model: "gpt-5-mini", prompt: "Say it.", user: (input) => `${input.text}` });
const slow = handler({ name: "slow", execute: async (input) => { await new Promise((done) => setTimeout(done, input.ms ?? 0)); return input; } });
const fails = handler({ name: "fails", execute: (input) => { throw new Error(`no ${input.text} in stock`); } });
const input = z.any();
export default defineFlow({
  kind: "shop",
  actions: {
    say: { block: sequencer({ name: "say", inputSchema: input }).step(words) },
    wait: { block: sequencer({ name: "wait", inputSchema: input }).step(slow) },
    fail: { block: sequencer({ name: "fail", inputSchema: input }).step(fails) },
  },
});
"#;
const SETTINGS: &str = r#"{ "prices": { "gpt-5-mini": { "input": 250, "output": 2000 } } }"#;

/// Six runs of two users, of which two failed.
fn place() -> Place {
    let reply = json!({ "text": "ok", "usage": { "promptTokens": 1_000, "completionTokens": 10 } });
    let mock = json!({ "generators": { "words": [reply] } });
    let place = Place::with_flow(FLOW).file("flowglass.json", SETTINGS).file("flows/main.mock.json", &mock.to_string());
    for (request, action, user, text) in [
        ("one", "wait", "ada", "first"),
        ("two", "say", "ada", "How_do_bees_fly?"),
        ("three", "fail", "bob", "red_shoes"),
        ("four", "fail", "bob", "blue_shoes"),
        ("five", "wait", "bob", "<img src=x onerror=document.title=1>"),
        ("six", "wait", "ada", "last"),
    ] {
        let input = json!({ "text": text, "ms": if request == "one" { 700 } else { 0 } }).to_string();
        let session = format!("s-{user}");
        let told = place.run(&[
            "run",
            "shop",
            action,
            "--mock",
            "--user",
            user,
            "--session",
            &session,
            "--request",
            request,
            "--input",
            &input,
        ]);
        assert!(matches!(told.code, Some(0 | 3)), "{request}: {told}");
    }
    place
}

fn runs(window: &Window) -> Vec<String> {
    window.attributes(&hook("run-row"), "data-request")
}

#[track_caller]
fn until_runs(window: &Window, wanted: &[&str]) {
    let script = format!(
        "return JSON.stringify([...document.querySelectorAll('[data-testid=run-row]')].map((row) => row.dataset.request))
             === {}",
        Value::String(serde_json::to_string(wanted).unwrap_or_default())
    );
    window.until_script(&script);
}

#[track_caller]
fn filter(window: &Window, text: &str) {
    window.clear(&hook("runs-filter"));
    window.press(&hook("runs-filter"), text);
    window.press(&hook("runs-filter"), key::ENTER);
}

fn open_runs(place: &Place) -> Window {
    let window = open(place, &[]);
    window.wait_for(&hook("action-shop-say"));
    window.click(&hook("go-runs"));
    window.wait_for(&hook("run-row"));
    window
}

#[test]
fn runs_are_listed_ordered_filtered_and_opened() {
    let place = place();
    let window = open_runs(&place);
    until_runs(&window, &["six", "five", "four", "three", "two", "one"]);
    assert_eq!(window.wait_for(&hook("runs-count")), "6");
    window.wait_for_text(&hook("runs-totals"), "2 of 6 failed · $0.27");
    assert_eq!(window.violations(), Vec::<String>::new());
    // What an input says is text.
    assert_eq!(window.texts(&hook("run-subject"))[1], "<img src=x onerror=document.title=1>");
    assert_eq!(window.attributes(&format!("{} img", hook("runs-table")), "src").len(), 0);

    window.click(&hook("runs-sort-duration"));
    window.until_script("return document.querySelector('[data-testid=run-row]')?.dataset.request === 'one'");
    window.click(&hook("runs-sort-cost"));
    window.until_script("return document.querySelector('[data-testid=run-row]')?.dataset.request === 'two'");
    window.click(&hook("runs-sort-started"));
    until_runs(&window, &["six", "five", "four", "three", "two", "one"]);
    window.click(&hook("runs-sort-started"));
    until_runs(&window, &["one", "two", "three", "four", "five", "six"]);
    window.click(&hook("runs-sort-started"));

    filter(&window, "status:failed -\"blue\"");
    until_runs(&window, &["three"]);
    assert_eq!(window.wait_for(&hook("runs-count")), "1 of 6");
    window.wait_for_text(&hook("runs-totals"), "1 of 1 failed");
    filter(&window, "sttus:failed");
    window.wait_for_text(&hook("runs-filter-fault"), "column 1: \"sttus\" is not a field");
    filter(&window, "dur>500ms user:ada");
    until_runs(&window, &["one"]);
    // A filter is part of the place: back and forward keep it.
    window.press(&hook("runs-table"), key::ENTER);
    window.until_status("completed");
    window.script("history.back()", &[]);
    until_runs(&window, &["one"]);
    filter(&window, "flow:nothing");
    window.wait_for(&hook("runs-none"));
    assert_eq!(window.violations(), Vec::<String>::new());
}

#[test]
fn selected_runs_say_what_they_share_and_are_tagged() {
    let place = place();
    let window = open_runs(&place);
    until_runs(&window, &["six", "five", "four", "three", "two", "one"]);
    window.press(&hook("runs-table"), format!("{}{}{}", key::DOWN, key::DOWN, " "));
    window.wait_for_text(&hook("runs-selection"), "1 selected");
    window.script(
        "const table = document.querySelector('[data-testid=runs-table]');
         table.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', shiftKey: true, bubbles: true }))",
        &[],
    );
    window.wait_for_text(&hook("runs-selection"), "2 selected");
    window.wait_for_text(&hook("runs-common"), "both fail at");
    window.wait_for_text(&hook("runs-common"), "flows/main.ts:");
    assert_eq!(window.violations(), Vec::<String>::new());
    window.click(&hook("runs-tag"));
    window.press(&hook("tag-add"), "limit stock");
    assert_eq!(window.violations(), Vec::<String>::new());
    window.click(&hook("do-tag"));
    window.wait(&hook("run-tag"), |tags| (tags == ["limit", "stock", "limit", "stock"]).then_some(()));
    assert_eq!(place.get("tag three")["tags"], json!(["limit", "stock"]));
    assert_eq!(place.get("tag two")["tags"], json!([]));

    // A tag that another process adds appears, and so does a run.
    place.get("tag six +urgent --title Renamed");
    window.wait_for_text(&hook("run-subject"), "Renamed");
    window.wait(&hook("run-tag"), |tags| tags.iter().any(|tag| tag == "urgent").then_some(()));
    place.ask("run shop wait --user eve --request seven --input {\"text\":\"new\"}");
    until_runs(&window, &["seven", "six", "five", "four", "three", "two", "one"]);
    window.wait_for_text(&hook("runs-selection"), "2 selected");

    filter(&window, "tag:limit");
    until_runs(&window, &["four", "three"]);
}

#[test]
fn selected_runs_are_verified_exported_and_deleted_with_their_session() {
    let place = place();
    let window = open_runs(&place);
    until_runs(&window, &["six", "five", "four", "three", "two", "one"]);
    filter(&window, "user:bob");
    until_runs(&window, &["five", "four", "three"]);
    window.click(&hook("runs-select-all"));
    window.wait_for_text(&hook("runs-selection"), "3 selected");
    window.click(&hook("runs-verify"));
    window.wait_for_text(&hook("verify-only"), "3 selected runs");
    window.wait(&hook("verify-count-same"), |texts| (texts == ["3"]).then_some(()));
    window.script("history.back()", &[]);
    until_runs(&window, &["five", "four", "three"]);

    // What was selected still is.
    window.wait_for_text(&hook("runs-selection"), "3 selected");
    window.click(&hook("runs-export"));
    window.wait_for(&hook("export-runs-sheet"));
    assert_eq!(window.violations(), Vec::<String>::new());
    window.click(&hook("do-export-runs"));
    window.wait_for_none(&hook("export-runs-sheet"));
    for request in ["three", "four", "five"] {
        assert!(place.dir().join(format!("{request}.jsonl")).is_file(), "{request}");
    }

    // One run of a session is chosen: all of the session goes.
    window.press(&hook("runs-table"), key::ESCAPE);
    window.press(&hook("runs-table"), format!("{} ", key::HOME));
    window.wait_for_text(&hook("runs-selection"), "1 selected");
    window.click(&hook("runs-delete"));
    window.wait_for_text(&hook("delete-runs-about"), "2 runs that are not selected are deleted as well");
    assert_eq!(window.violations(), Vec::<String>::new());
    window.click(&hook("do-delete-runs"));
    // The list is empty as soon as the sessions are gone, while the sheet still covers it.
    window.wait_for_none(&hook("delete-runs-sheet"));
    window.click(&format!("{} button", hook("runs-none")));
    until_runs(&window, &["six", "two", "one"]);
    assert_eq!(place.get("check --data")["ok"], json!(true));
}

#[test]
fn a_day_of_the_chart_filters_and_columns_are_remembered() {
    let place = place();
    let window = open_runs(&place);
    window.wait_for(&hook("runs-chart"));
    let bars = window.attributes(&hook("runs-bar"), "aria-label");
    assert!(bars.last().is_some_and(|bar| bar.contains("6 runs · 2 failed")), "{bars:?}");
    window.click(&format!("{}:last-child", hook("runs-bar")));
    window.wait_for(&hook("runs-all-days"));
    until_runs(&window, &["six", "five", "four", "three", "two", "one"]);
    window.click(&format!("{}:first-child", hook("runs-bar")));
    // No run began then; the other days can still be chosen.
    window.wait_for(&hook("runs-none"));
    window.wait_for_text(&hook("runs-totals"), "0 of 0 failed");
    assert_eq!(window.attributes(&hook("runs-bar"), "aria-label"), bars);
    window.click(&hook("runs-all-days"));
    until_runs(&window, &["six", "five", "four", "three", "two", "one"]);

    window.click(&hook("runs-columns"));
    window.click(&hook("runs-column-session"));
    window.wait_for_none(&hook("runs-sort-session"));
    window.type_keys(key::ESCAPE);
    window.script("location.reload()", &[]);
    until_runs(&window, &["six", "five", "four", "three", "two", "one"]);
    window.wait_for_none(&hook("runs-sort-session"));
    assert_eq!(runs(&window).len(), 6);
}

/// Who comes back from a run finds the list as it was left: scrolled as far, with the keys at the same row. Another
/// order begins at the top.
#[test]
fn a_list_that_is_left_begins_where_it_was() {
    let place = Place::with_flow(FLOW);
    for n in 0..60 {
        let ran = place.run(&["run", "shop", "wait", "--user", "ada", "--request", &format!("r{n}"), "--input", "{}"]);
        assert_eq!(ran.code, Some(0), "{ran}");
    }
    let window = open_runs(&place);
    let list = "document.querySelector('[data-testid=runs-table]')";
    window.script(&format!("{list}.scrollTop = 900"), &[]);
    // The fortieth of sixty, newest first.
    let row = "document.querySelector('[data-request=r20]')";
    window.until_script(&format!("return {row} !== null"));
    // One that another process adds moves the rows once: not again whenever the list is shown.
    place.ask("run shop wait --user ada --request r60 --input {}");
    window.until_script(&format!("return {list}.scrollTop === 932"));
    window.script(&format!("{row}.dispatchEvent(new MouseEvent('dblclick', {{ bubbles: true }}))"), &[]);
    window.until_status("completed");
    window.script("history.back()", &[]);
    window.until_script(&format!("return {list}?.scrollTop === 932 && {row}?.classList.contains('chosen')"));
    window.click(&hook("runs-sort-duration"));
    window.until_script(&format!("return {list}?.scrollTop === 0"));
}
