//! What the window takes: its own pages and its own commands, whatever is asked of it.

use serde_json::{Value, json};
use tests::bench::{Place, program};
use tests::calls::{ask, commands};
use tests::webdriver::Window;

const FLOW: &str = r#"
export default defineFlow({ kind: "main", actions: { go: { block: handler({ name: "go", execute: (input) => input }) } } });
"#;

fn open(place: &Place) -> Window {
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    let window = Window::open(&program(), &["open", &dir, "--data", &data]);
    window.wait_for("[data-testid=\"action-main-go\"]");
    window
}

#[test]
fn it_shows_its_own_pages_and_runs_no_script_of_others() {
    let window = open(&Place::with_flow(FLOW));
    let own = window.script("return location.href", &[]);
    window.script("window.broken = []; document.addEventListener('securitypolicyviolation', (event) => window.broken.push(event.effectiveDirective))", &[]);
    // Another page, another window, a form, a frame.
    window.script("location.href = 'http://127.0.0.1:9/'", &[]);
    window.script("location.href = 'data:text/html,<p>other'", &[]);
    window.script("location.href = 'file:///etc/hostname'", &[]);
    assert_eq!(window.script("return window.open('http://127.0.0.1:9/') === null", &[]), true);
    window.script(
        "const add = (html) => document.body.insertAdjacentHTML('beforeend', html);
         add('<a id=away target=_blank href=\"http://127.0.0.1:9/\">x</a><form id=form action=\"http://127.0.0.1:9/\"></form>');
         add('<iframe src=\"http://127.0.0.1:9/\"></iframe><img src=x onerror=\"window.ran = 1\"><p id=styled style=\"color: red\">x</p>');
         document.querySelector('#away').click(); document.querySelector('#form').submit();
         const script = document.createElement('script'); script.textContent = 'window.ran = 2'; document.body.append(script);",
        &[],
    );
    window.until_script("return window.broken.some((name) => name.startsWith('script')) && window.broken.some((name) => name.startsWith('style'))");
    assert_eq!(window.script("return window.ran ?? null", &[]), Value::Null);
    assert_eq!(window.script("return location.href", &[]), own);
    // What it needs itself is allowed: its style sheets are in force.
    assert_ne!(window.script("return document.styleSheets.length", &[]), 0);
    window.wait_for("[data-testid=\"action-main-go\"]");
}

#[test]
fn nothing_of_the_system_can_be_called() {
    let window = open(&Place::with_flow(FLOW));
    let commands = [
        "plugin:app|version",
        "plugin:path|resolve_directory",
        "plugin:window|close",
        "plugin:window|create",
        "plugin:webview|create_webview_window",
        "plugin:event|emit",
        "plugin:event|listen",
        "plugin:menu|new",
        "plugin:resources|close",
        "plugin:image|new",
        "plugin:tray|new",
        "plugin:fs|read_text_file",
        "plugin:shell|open",
        "nothing_like_this",
    ];
    let calls: Vec<Value> = commands.iter().map(|command| json!([command, {}])).collect();
    for (command, told) in commands.iter().zip(ask(&window, &calls)) {
        assert!(told.starts_with("refused"), "{command}: {told}");
    }
    assert_eq!(ask(&window, &[json!(["workspace", {}])]), ["done"]);
}

/// Values that no page of ours sends.
fn hostile() -> Vec<Value> {
    let mut deep = json!(1);
    for _ in 0..400 {
        deep = json!([deep]);
    }
    let fields = |value: Value| {
        let names = [
            "flow",
            "action",
            "user",
            "session",
            "request",
            "project",
            "input",
            "mock",
            "requestId",
            "sessionId",
            "view",
            "limit",
            "offset",
            "status",
            "search",
        ];
        Value::Object(names.iter().map(|name| ((*name).to_owned(), value.clone())).collect())
    };
    vec![
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(1e308),
        json!(9_007_199_254_740_993_u64),
        json!(0.5),
        json!(""),
        json!("\u{0}"),
        json!("../../../../etc/passwd"),
        json!("/dev/null"),
        json!("x".repeat(100_000)),
        json!("\u{202e}\u{1b}[2J"),
        json!("'; DROP TABLE event; --"),
        json!("r:root:0"),
        json!([]),
        json!({}),
        json!({ "__proto__": { "x": 1 }, "constructor": 1 }),
        deep.clone(),
        fields(json!("x".repeat(70_000))),
        fields(json!(-1)),
        fields(Value::Null),
        fields(deep),
        fields(json!("main")),
        json!({ "flow": "main", "action": "go", "user": "a\u{0}b", "input": 1 }),
        json!({ "flow": "main", "action": "go", "user": "ada", "request": "a:b", "input": {} }),
    ]
}

/// Every command with every such value in the place of each of its arguments: each call is answered, and the window
/// goes on as before.
#[test]
fn hostile_arguments_are_answered() {
    let place = Place::with_flow(FLOW);
    let window = open(&place);
    let hostile = hostile();
    let mut calls = Vec::new();
    for (command, names) in commands() {
        calls.push(json!([command, {}]));
        for value in &hostile {
            let args: Value =
                names.iter().map(|name| (name.clone(), value.clone())).collect::<serde_json::Map<_, _>>().into();
            calls.push(json!([command, args]));
            for name in &names {
                let mut args: serde_json::Map<String, Value> =
                    names.iter().map(|name| (name.clone(), json!(1))).collect();
                args.insert(name.clone(), value.clone());
                calls.push(json!([command, args]));
            }
        }
    }
    // Any folder can be chosen; these tests stay in their own.
    calls.retain(|call| call[0] != "choose_workspace" || call[1]["dir"] != "");
    assert!(calls.len() > 400, "{} calls", calls.len());
    let told = ask(&window, &calls);
    for (call, told) in calls.iter().zip(&told) {
        let shown = call.to_string().chars().take(200).collect::<String>();
        assert_ne!(told, "late", "{shown}");
        assert!(!told.contains("panicked"), "{shown}: {told}");
    }
    assert_eq!(told.len(), calls.len());
    assert_eq!(ask(&window, &[json!(["flows", {}]), json!(["workspace", {}])]), ["done", "done"]);
    assert_eq!(place.get("check --data")["ok"], true);
}
