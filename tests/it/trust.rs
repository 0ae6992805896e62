//! The window loads and runs flows of a folder only when a person has said that they trust it, or has named the
//! folder where the program was started. The answer lies outside of the folder, and holds for the hosts it was given
//! for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tests::bench::{Place, program};
use tests::webdriver::{Window, hook, key};

const FLOW: &str = r#"
const say = handler({ name: "say", execute: async () => "hello" });
export default defineFlow({ kind: "greeter", actions: { go: { block: sequencer({ name: "go", inputSchema: z.any() }).step(say) } } });
"#;

fn settings(hosts: &[&str]) -> String {
    json!({ "fetch": { "allow": hosts } }).to_string()
}

fn choose(window: &Window, place: &Place) {
    window.click(&hook("workspace"));
    window.clear(&hook("folder"));
    window.press(&hook("folder"), format!("{}{}", place.dir().display(), key::ENTER));
    window.wait_for_none(&hook("folder"));
    let name = place.dir().file_name().expect("it has a name").to_string_lossy().into_owned();
    window.wait_for_text(&hook("workspace"), &name);
}

/// What a command of the window answers, as the page hears it.
fn invoke(window: &Window, command: &str, args: &Value) -> String {
    let script = "window.told = undefined; window.__TAURI_INTERNALS__.invoke(arguments[0], JSON.parse(arguments[1]))
      .then((value) => { window.told = `done: ${JSON.stringify(value)}`; }, (error) => { window.told = `refused: ${JSON.stringify(error)}`; });";
    window.script(script, &[command, &args.to_string()]);
    window.until_script("return window.told").as_str().unwrap_or_default().to_owned()
}

fn run(window: &Window) -> String {
    let options = json!({ "flow": "greeter", "action": "go", "userId": "ada", "input": 1, "mock": false });
    invoke(window, "start_run", &json!({ "options": options }))
}

/// Every file in a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).expect("a file"));
        }
    }
    found
}

/// Whoever only looks into a folder of somebody else leaves no trace in it, whether or not it has a database.
#[test]
fn nothing_is_written_into_a_folder_before_it_is_trusted() {
    let (own, fresh, recorded) = (Place::with_flow(FLOW), Place::with_flow(FLOW), Place::with_flow(FLOW));
    recorded.get("run greeter go --user ada --session recorded --request r1 --input 1");
    let before = (files(fresh.dir()), files(recorded.dir()));
    let window = Window::open(&program(), &["open", &own.dir().display().to_string()]);
    window.wait_for(&hook("action-greeter-go"));

    choose(&window, &recorded);
    window.wait_for(&hook("trust"));
    window.wait_for(&hook("session-recorded"));
    let refused = invoke(&window, "delete_session", &json!({ "session": "recorded" }));
    assert!(refused.starts_with("refused:") && refused.contains("not trusted yet"), "{refused}");
    choose(&window, &fresh);
    window.wait_for(&hook("trust"));
    assert!(run(&window).starts_with("refused:"), "{}", run(&window));
    assert_eq!((files(fresh.dir()), files(recorded.dir())), before);

    // Its database is made when it is trusted, and a request that was open is read on from there.
    window.click(&hook("trust-folder"));
    window.wait_for(&hook("action-greeter-go"));
    assert!(run(&window).starts_with("done:"), "{}", run(&window));
    assert!(fresh.database().exists());
    choose(&window, &recorded);
    window.wait_for(&hook("trust"));
    window.script("location.hash = 'request=r1&session=recorded'", &[]);
    window.wait_for(&hook("timeline-row"));
    window.click(&hook("trust-folder"));
    window.wait_for_none(&hook("trust"));
    window.click(&format!("{}[data-path=root]", hook("timeline-row")));
    window.wait_for_text(&hook("block-path"), "root");
}

/// The command line needs no trust, so a run of it shows in a window that only reads: where there was no database, and
/// where there was one without a log.
#[test]
fn what_others_write_into_a_folder_before_it_is_trusted_is_shown() {
    let (own, fresh, recorded) = (Place::with_flow(FLOW), Place::with_flow(FLOW), Place::with_flow(FLOW));
    recorded.get("run greeter go --user ada --session before --request r1 --input 1");
    let window = Window::open(&program(), &["open", &own.dir().display().to_string()]);
    window.wait_for(&hook("action-greeter-go"));
    for place in [fresh, recorded] {
        choose(&window, &place);
        window.wait_for(&hook("trust"));
        for session in ["first", "second"] {
            place.get(&format!("run greeter go --user ada --session {session} --input 1"));
            window.wait_for(&hook(&format!("session-{session}")));
        }
        assert!(run(&window).starts_with("refused:"), "{}", run(&window));
    }
}

#[test]
fn a_folder_that_is_opened_in_the_window_is_asked_for_once() {
    let own = Place::with_flow(FLOW);
    let other = Place::with_flow(FLOW).file("flowglass.json", &settings(&["api.example.com", "*.example.net:8443"]));
    other.get("run greeter go --user ada --session recorded --input 1");
    let before = other.get("requests");
    // Whoever starts the program on a folder has named it.
    let window = Window::open(&program(), &["open", &own.dir().display().to_string()]);
    window.wait_for(&hook("action-greeter-go"));
    window.wait_for_none(&hook("trust"));

    choose(&window, &other);
    let asked = window.wait_for_text(&hook("trust"), "Do you trust the flows of this folder?");
    assert!(asked.contains(&other.dir().display().to_string()), "{asked}");
    assert_eq!(window.texts(&format!("{} li", hook("trust-hosts"))), ["api.example.com", "*.example.net:8443"]);
    window.wait_for_none(&hook("action-greeter-go"));
    // What was recorded is there, and nothing runs by any way.
    window.wait_for(&hook("session-recorded"));
    assert!(run(&window).starts_with("refused:"), "{}", run(&window));
    assert_eq!(invoke(&window, "flows", &json!({})), "done: []");
    assert_eq!(other.get("requests"), before);
    // An answer about another folder is none about this one.
    let wrong = invoke(&window, "trust_workspace", &json!({ "dir": own.dir().display().to_string() }));
    assert!(wrong.starts_with("refused:") && wrong.contains("is not the folder that is open"), "{wrong}");
    window.wait_for(&hook("trust"));

    window.click(&hook("trust-folder"));
    window.wait_for(&hook("action-greeter-go"));
    window.wait_for_none(&hook("trust"));
    assert!(run(&window).starts_with("done:"), "{}", run(&window));

    // It is kept, and nothing of it in the folder.
    choose(&window, &own);
    window.wait_for(&hook("trust"));
    choose(&window, &other);
    window.wait_for(&hook("action-greeter-go"));
    window.wait_for_none(&hook("trust"));

    // Other hosts are another question; the same in another order are none.
    other.write("flowglass.json", settings(&["*.example.net:8443", "api.example.com"]));
    choose(&window, &own);
    choose(&window, &other);
    window.wait_for(&hook("action-greeter-go"));
    other.write("flowglass.json", settings(&["api.example.com", "*.example.net:8443", "elsewhere.example.org"]));
    choose(&window, &own);
    choose(&window, &other);
    window.wait_for_text(&hook("trust"), "elsewhere.example.org");
    window.wait_for_none(&hook("action-greeter-go"));
}
