//! What the program tells of itself: on the command line when it is asked to, from the window into a file.

use serde_json::json;
use tests::bench::{Place, program};
use tests::webdriver::Window;

const FLOW: &str = r#"
const say = handler({ name: "say", inputSchema: z.any(), execute: async (input) => input });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "go", inputSchema: z.any() }).step(say) } } });
"#;

#[test]
fn the_command_line_tells_what_it_is_asked_to() {
    let quiet = Place::with_flow(FLOW).ask("run main go --user ada --input 1");
    assert_eq!((quiet.code, quiet.stderr.as_str()), (Some(0), ""), "{quiet}");

    let place = Place::with_flow(FLOW).variable("FLOWGLASS_LOG", "info");
    let told =
        place.run(&["run", "main", "go", "--user", "ada", "--request", "r", "--input", "\"hidden words\"", "--json"]);
    assert_eq!(told.code, Some(0), "{told}");
    assert_eq!(told.json()["output"], "hidden words", "stdout is one document all the same");
    for words in ["workspace opened", "flow loaded", "request ended", "status=\"completed\"", "id=r"] {
        assert!(told.stderr.contains(words), "{words}\n{told}");
    }
    assert!(!told.stderr.contains("hidden words") && !told.stderr.contains('\u{1b}'), "{told}");

    let narrow = Place::with_flow(FLOW).variable("FLOWGLASS_LOG", "script=info").ask("flows");
    assert_eq!((narrow.code, narrow.stderr.as_str()), (Some(0), ""), "{narrow}");

    let wrong = Place::with_flow(FLOW).variable("FLOWGLASS_LOG", "runner=loud").ask("flows");
    assert_eq!(wrong.code, Some(0), "{wrong}");
    assert!(wrong.stderr.contains("FLOWGLASS_LOG=\"runner=loud\" is not understood"), "{wrong}");
}

#[test]
fn the_window_writes_a_file() {
    let place = Place::with_flow(FLOW);
    let window = Window::open(&program(), &["open", &place.dir().display().to_string()]);
    window.wait_for("[data-testid=\"action-main-go\"]");
    let options = json!({ "flow": "main", "action": "go", "userId": "ada", "input": "hidden words", "mock": false });
    let script = "window.__TAURI_INTERNALS__.invoke('start_run', { options: JSON.parse(arguments[0]) }).then(() => { window.ran = true; });";
    window.script(script, &[&options.to_string()]);
    window.until_script("return window.ran");
    let folder = window.home().join("XDG_STATE_HOME/flowglass/log");
    let text = place.until("the log", |_| {
        let file = std::fs::read_dir(&folder).ok()?.flatten().next()?.path();
        std::fs::read_to_string(file).ok().filter(|text| text.contains("request ended"))
    });
    for words in ["workspace opened", "flow loaded", "status=\"completed\""] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    assert!(!text.contains("hidden words"), "{text}");
}
