//! The page of settings in the real window: an edit of `flowglass.json` is shown before it is written, a file that
//! another process changed stays, and a person's own settings are in a file of their own. Pictures of flows and
//! requests over many runs.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::sitting::{open, open_at};
use tests::webdriver::{Window, hook, key};

const FLOW: &str = r#"
const words = generator({ name: "words", model: "gpt-5-mini", prompt: "Say it.", user: (input) => `${input.text}` });
const maybe = handler({ name: "maybe", execute: (input) => { if (input.text === "bad") throw new Error("no"); return input; } });
export default defineFlow({
  kind: "shop",
  actions: { say: { block: sequencer({ name: "say", inputSchema: z.any() }).step(maybe).step(words) } },
});
"#;

fn place() -> Place {
    let reply = json!({ "text": "ok", "usage": { "promptTokens": 900, "completionTokens": 100 } });
    let mock = json!({ "generators": { "words": [reply] } });
    let place = Place::with_flow(FLOW).file("flows/main.mock.json", &mock.to_string());
    for (request, text) in [("r1", "good"), ("r2", "bad"), ("r3", "good")] {
        let input = json!({ "text": text }).to_string();
        place.run(&["run", "shop", "say", "--mock", "--user", "ada", "--request", request, "--input", &input]);
    }
    place
}

fn written(place: &Place) -> Value {
    let text = std::fs::read_to_string(place.dir().join("flowglass.json")).expect("it is there");
    serde_json::from_str(&text).expect("JSON")
}

#[track_caller]
fn set(window: &Window, name: &str, value: &str) {
    window.script(
        &format!(
            "const box = document.querySelector('[data-testid=\"{name}\"]'); box.value = arguments[0];
             box.dispatchEvent(new Event('change', {{ bubbles: true }}))"
        ),
        &[value],
    );
}

#[test]
fn an_edit_of_the_settings_is_seen_and_written() {
    let place = place();
    let window = open(&place, &[]);
    window.wait_for(&hook("action-shop-say"));
    window.click(&hook("go-settings"));
    window.click(&hook("settings-models"));
    let key = window.wait_for(&hook("model-key"));
    assert!(key.contains("OPENAI_API_KEY") && key.contains("missing"), "{key}");
    window.click(&hook("model-test"));
    window.wait_for_text(&hook("model-tested"), "OPENAI_API_KEY");
    set(&window, "price-input", "250");
    set(&window, "price-output", "2000");
    window.wait_for_text(&hook("settings-edits"), "2 changes to flowglass.json");
    assert!(!place.dir().join("flowglass.json").exists(), "nothing is written before it was seen");
    window.click(&hook("settings-review"));
    window.wait_for_text(&hook("settings-difference"), "\"input\": 250");
    assert_eq!(window.violations(), Vec::<String>::new());
    window.click(&hook("do-settings"));
    window.wait_for_none(&hook("settings-edits"));
    assert_eq!(written(&place), json!({ "prices": { "gpt-5-mini": { "input": 250, "output": 2000 } } }));
    // They are in force: runs have a cost now.
    window.click(&hook("go-runs"));
    window.wait_for_text(&hook("runs-totals"), "$0.85");

    // What another process wrote meanwhile stays, and the edit is made of that.
    window.click(&hook("go-settings"));
    window.click(&hook("settings-folder"));
    set(&window, "durability", "power");
    window.click(&hook("settings-review"));
    window.wait_for_text(&hook("settings-difference"), "power");
    place.write("flowglass.json", "{\n  \"limits\": { \"depth\": 7 }\n}\n");
    window.click(&hook("do-settings"));
    window.wait_for_text(&hook("sheet-error"), "was changed by something else");
    assert_eq!(written(&place), json!({ "limits": { "depth": 7 } }));
    window.wait_for_text(&hook("settings-difference"), "\"depth\": 7");
    window.click(&hook("do-settings"));
    window.wait_for_none(&hook("settings-sheet"));
    assert_eq!(written(&place), json!({ "limits": { "depth": 7 }, "durability": "power" }));

    // A file that is not valid is said to be so, and is not edited here.
    place.write("flowglass.json", "{ \"limit\": {} }");
    window.click(&hook("go-runs"));
    window.click(&hook("go-settings"));
    window.click(&hook("settings-network"));
    window.wait_for_text(&hook("settings-problem"), "limit");
    window.click(&hook("settings-folder"));
    window.wait_for(&format!("{}:disabled", hook("durability")));
    assert_eq!(written(&place), json!({ "limit": {} }));
    window.click(&hook("settings-data"));
    window.wait_for_text(&hook("data-file"), "flowglass.db");
    assert_eq!(window.violations(), Vec::<String>::new());
}

#[test]
fn a_persons_own_settings_are_in_a_file_of_their_own() {
    let place = place();
    let window = open(&place, &[]);
    window.wait_for(&hook("action-shop-say"));
    window.click(&hook("go-settings"));
    window.click("[data-choice=dark]");
    window.click("[data-choice=compact]");
    set(&window, "own-editor", "my-editor --wait");
    window.wait_for_text(&hook("own-file"), "settings.json");
    let file = window.wait_for(&format!("{} .mono", hook("own-file")));
    let own =
        || -> Value { serde_json::from_str(&std::fs::read_to_string(&file).unwrap_or_default()).unwrap_or_default() };
    let wanted = json!({ "theme": "dark", "density": "compact", "editor": "my-editor --wait" });
    window.until("the file has them", || if own() == wanted { Ok(()) } else { Err(own().to_string()) });
    assert_eq!(window.violations(), Vec::<String>::new());
    // Another window has them, and what it does not know stays.
    let with_more = json!({ "theme": "light", "density": "compact", "of a later version": 5 });
    std::fs::write(&file, with_more.to_string()).expect("it can be written");
    let home = window.home().to_owned();
    let again = open_at(&home, &place, &[]);
    again.until_script("return document.documentElement.dataset.theme === 'light'");
    again.click(&hook("go-settings"));
    again.click("[data-choice=comfortable]");
    again.until("the file has it", || if own()["density"] == "comfortable" { Ok(()) } else { Err(own().to_string()) });
    assert_eq!(own()["of a later version"], 5);
}

#[test]
fn filters_are_saved_and_pictures_show_where_runs_fail_and_take_long() {
    let place = place();
    let window = open(&place, &[]);
    window.wait_for(&hook("action-shop-say"));
    window.click(&hook("go-runs"));
    window.wait_for(&hook("run-row"));
    window.wait_for_text(&hook("runs-footer"), "3 runs");
    window.press(&hook("runs-filter"), "status:failed");
    window.press(&hook("runs-filter"), key::ENTER);
    window.wait_for_text(&hook("runs-footer"), "1 run");
    assert!(!window.wait_for(&hook("runs-footer")).contains("1 runs"));
    window.click(&hook("runs-saved"));
    window.press(&hook("saved-name"), "<b>Failures</b>");
    window.click(&hook("save-filter"));
    window.wait_for_text(&hook("saved-filter"), "<b>Failures</b>");
    window.type_keys(key::ESCAPE);
    window.wait_for_none(".popover");
    window.script("location.hash = '#runs='", &[]);
    window.wait_for_text(&hook("runs-footer"), "3 runs");
    window.click(&hook("runs-saved"));
    window.click(&hook("saved-filter"));
    window.wait_for_text(&hook("runs-footer"), "1 run");

    // The graph of the flow over all runs, and over those of the filter.
    window.click(&format!("{} button:not([aria-hidden])", hook("flow-shop")));
    window.wait_for(&hook("shape-say"));
    window.click("[data-choice=all]");
    window.wait_for_text(&hook("graph-runs"), "3 runs");
    window.wait_for_text(&format!("{}[data-name=maybe]", hook("graph-block")), "33 % failed");
    window.wait_for(&format!("{}[data-name=words][data-count=\"2\"]", hook("graph-block")));
    window.click("[data-choice=filter]");
    window.wait_for_text(&format!("{}[data-name=maybe]", hook("graph-block")), "100 % failed");
    assert_eq!(window.violations(), Vec::<String>::new());

    // Where the tokens of a request went.
    window.script("location.hash = '#request=r3'", &[]);
    window.until_status("completed");
    window.palette("Flame graph of this request");
    window.wait_for(&hook("flame"));
    window.click("[data-choice=tokens]");
    window.wait_for_text(&hook("flame-shown"), "1.0k tokens");
    window.click(&format!("{}[data-name=words]", hook("flame-box")));
    window.wait_for_text(&hook("flame-shown"), "words");
    assert_eq!(window.violations(), Vec::<String>::new());
    window.click(&hook("flame-go"));
    window.wait_for_text(&hook("block-path"), "root/step:words");
}
