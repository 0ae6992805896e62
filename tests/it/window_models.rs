//! What models did, in the real window: the prompt with where it came from, the answer as it comes, what it cost; what
//! a resume would do, before anything is run; and the code that ran, opened in an editor.

use std::fs;

use tests::bench::{Place, program};
use tests::sitting::open_with;
use tests::webdriver::{Settings, Window, hook};

use crate::model_calls::{ask, place};

fn open(place: &Place, request: &str, more: &[&str]) -> Window {
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    let words = ["open", &dir, "--data", &data, "--request", request];
    Window::open(&program(), &[&words[..], more].concat())
}

#[test]
fn a_model_call_is_looked_at() {
    let place = place();
    ask(&place, "r1", "What is 1 + 2?");
    let window = open(&place, "r1", &[]);
    window.wait_for_text(&hook("totals"), "4 blocks · 4 model calls · 2.0k tokens in · 200 out · $0.00063 · 2 writes");
    // The sums of a row are those of all below it.
    window.wait_for_text("[data-path=\"root\"] [data-testid=row-sums]", "2.2k");
    window.click("[data-path=\"root/step:helper\"]");
    window.click(&hook("block-tab-model"));
    window.wait_for_text(&hook("model-tab"), "4 calls");
    window.wait_for_text("[data-fact=cost]", "$0.00032");
    window.wait_for_text("[data-fact=model]", "gpt-5-mini-2025-08-07");
    // Text of a flow is text.
    window.wait_for_text("[data-testid=message][data-from=system]", "You help. <b>Not bold.</b>");
    assert_eq!(window.texts("[data-testid=message] b"), [""; 0]);
    window.wait_for_text("[data-testid=message][data-from=context]", "Ada is here.");
    window.wait_for_text("[data-testid=message][data-from=tool]", "add → {sum: 3}");
    window.wait_for_text(&hook("model-reasoning"), "One and two.");
    window.wait_for_text(&hook("model-reply"), "It is three, of course.");
    window.wait_for_text(&hook("model-retry"), "too many requests");
    window.click(&hook("copy-curl"));
    // Another call is chosen; its tool leads to the block that ran.
    window.wait(&hook("choose-call"), |found| (found.len() == 4).then_some(()));
    window.script("document.querySelectorAll('[data-testid=choose-call]')[1].click()", &[]);
    window.wait_for_text(&hook("model-tool"), "add({a: 1, b: 2}) → {sum: 3}");
    window.click("[data-testid=model-tool] button");
    window.wait_for_text(&hook("block-path"), "root/step:helper/tool:add[0.0]");
    // Bars by what was spent.
    window.click(&hook("bar-colour"));
    window.click("[data-choice=cost]");
    window.wait_for_text("[data-path=\"root\"] [data-testid=row-sums]", "$0.00063");
}

#[test]
fn the_code_that_ran_opens_in_an_editor() {
    let place = place();
    ask(&place, "r1", "What is 1 + 2?");
    let said = place.dir().join("said.txt");
    let editor = place.dir().join("editor.sh");
    fs::write(&editor, format!("#!/bin/sh\nprintf '%s\\n' \"$@\" > {0}.new && mv {0}.new {0}\n", said.display()))
        .expect("it is writable");
    let mut rights = fs::metadata(&editor).expect("it is there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut rights, 0o755);
    fs::set_permissions(&editor, rights).expect("it is ours");
    // The window's program hears the setting from its environment.
    let settings = Settings { variables: vec![("VISUAL", editor.display().to_string())], ..Settings::default() };
    let window = open_with(settings, &place, &["--request", "r1", "--block", "root/step:keep"]);
    window.click(&hook("block-tab-source"));
    window.wait_for("[data-testid=block-source][data-file=\"flows/main.ts\"]");
    let line = window.attributes(&hook("block-source"), "data-from")[0].parse::<usize>().expect("a line");
    let text = fs::read_to_string(place.dir().join("flows/main.ts")).expect("it is there");
    let begin: Vec<&str> = text.lines().skip(line - 1).take(2).collect();
    assert!(begin[0].contains("handler({") && begin[1].contains("name: \"keep\""), "line {line}: {begin:?}");
    window.click(&hook("open-editor"));
    window.wait_for_text("[role=status]", "Opened flows/main.ts");
    let arguments = place.until("the editor is started", |_| fs::read_to_string(&said).ok());
    assert_eq!(arguments, format!("+{line}\n{}\n", place.dir().join("flows/main.ts").display()));
}

/// Fails until its second try, after a model was asked.
const FAILS: &str = r#"
const pay = handler({ name: "pay", inputSchema: z.any(), execute: async () => { throw new Error("no money"); } });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "all", inputSchema: z.any() })
  .step(generator({ name: "plan", model: "tiny", prompt: "Plan." })).step(pay) } } });
"#;

#[test]
fn what_a_resume_would_do_is_said_before() {
    let mock = r#"{ "generators": { "plan": [{ "text": "one" }, { "text": "two" }] } }"#;
    let place = Place::with_flow(FAILS).file("mock.json", mock);
    let answer = place.ask("run main go --user ada --session s --request r1 --mock=mock.json");
    assert_eq!(answer.code, Some(3), "{answer}");
    let window = open(&place, "r1", &[]);
    window.wait_for_text(&hook("resume-plan"), "Resume: reuse 1, continue 1, re-run 1, plus any blocks that never ran");
    window.click(&hook("resume-plan"));
    window.wait_for_text(&hook("plan-from-log"), "1");
    window.wait_for_text(&hook("plan-goes-on"), "1");
    window.wait_for_text(&hook("plan-runs-again"), "1");
    window.wait_for_text(&hook("plan-models-asked"), "0");
    let before = place.ask("stats").stdout;
    window.wait_for(&hook("do-resume"));
    assert_eq!(place.ask("stats").stdout, before);
    // Code that does not fit is told, too.
    place.edit(&FAILS.replace("generator({ name: \"plan\", model: \"tiny\", prompt: \"Plan.\" })", "pay"));
    window.type_keys(tests::webdriver::key::ESCAPE);
    window.click("[data-path=\"root/step:pay\"]");
    window.wait_for_text(&hook("block-error"), "no money");
    window.click(&hook("block-tab-source"));
    window.wait_for_text(&hook("source-error"), "Error: no money");
}
