//! Calls of the window's commands as any script in its page could make them.

use serde_json::Value;

use crate::bench::repository;
use crate::webdriver::Window;

/// Asks one after another, and notes what becomes of each. A refusal may repeat what it was given, and what the driver
/// answers with has an end, so of each only its beginning is noted.
const ASK: &str = r#"
const calls = JSON.parse(arguments[0]);
const beginning = (error) => `${JSON.stringify(error)}`.slice(0, 1000);
window.settled = [];
(async () => {
  for (const [command, args] of calls) {
    const call = window.__TAURI_INTERNALS__.invoke(command, args);
    const late = new Promise((go) => setTimeout(() => go("late"), 20000));
    window.settled.push(await Promise.race([call.then(() => "done", (error) => `refused: ${beginning(error)}`), late]));
  }
  window.settled.push("end");
})();
"#;

/// Commands that a page is not made to call at random: the channel of `watch` is no JSON, two start another program,
/// and two wait for a person.
const NOT_CALLED: [&str; 5] = ["watch", "open_log", "open_source", "pick_folder", "pick_file"];

/// The window's own commands with the names of their arguments, as the generated bindings have them, without
/// `NOT_CALLED`.
pub fn commands() -> Vec<(String, Vec<String>)> {
    let text = std::fs::read_to_string(repository().join("ui/src/host/bindings.ts")).expect("it is there");
    let calls = text.split("__TAURI_INVOKE<").skip(1).map(|rest| {
        let rest = rest.split_once(">(\"").expect("a name begins").1;
        let (name, rest) = rest.split_once('"').expect("a name ends");
        let args = rest.split_once("),\n").expect("a call ends").0;
        let names = args.trim_start_matches(", { ").trim_end_matches(" }").split(", ").filter(|name| !name.is_empty());
        (name.to_owned(), names.map(str::to_owned).collect())
    });
    calls.filter(|(name, _): &(String, Vec<String>)| !NOT_CALLED.contains(&name.as_str())).collect()
}

/// The most bytes of calls in one message to the driver, which drops the connection at messages of many megabytes.
const PORTION: usize = 4 * 1024 * 1024;

/// What became of each call, `[command, arguments]`: `done`, `refused: …`, or `late` after 20 s.
#[track_caller]
pub fn ask(window: &Window, calls: &[Value]) -> Vec<String> {
    let mut told = Vec::new();
    let mut portion = Vec::new();
    let mut bytes = 0;
    for call in calls {
        let call = call.to_string();
        bytes += call.len();
        portion.push(call);
        if bytes >= PORTION {
            told.extend(ask_portion(window, &std::mem::take(&mut portion)));
            bytes = 0;
        }
    }
    told.extend(ask_portion(window, &portion));
    told
}

#[track_caller]
fn ask_portion(window: &Window, calls: &[String]) -> Vec<String> {
    window.script(ASK, &[&format!("[{}]", calls.join(","))]);
    let settled = window.until_script("return window.settled.at(-1) === 'end' && window.settled");
    let mut told: Vec<String> =
        settled.as_array().into_iter().flatten().map(|one| one.as_str().unwrap_or_default().to_owned()).collect();
    told.pop();
    told
}
