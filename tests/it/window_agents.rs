//! An agent in the real window: its turns, its sides, its tool queue and its `FlowState` at the slider's instant.

use serde_json::json;
use tests::bench::{Place, program};
use tests::webdriver::Window;

fn hook(name: &str) -> String {
    format!("[data-testid={name}]")
}

/// The example with a person: what is shown is what the command line says, now and at an earlier instant.
#[test]
fn an_agent_is_looked_at() {
    let place = Place::with_examples();
    let words =
        ["run", "concierge", "message", "--user", "ada", "--session", "s", "--request", "r", "--mock", "--json"];
    let input = ["--input", "{\"content\":\"Where is my order 17?\"}"];
    assert_eq!(place.run(&[&words[..], &input[..]].concat()).code, Some(0));
    let dir = place.dir().display().to_string();
    let window = Window::open(&program(), &["open", &dir]);
    window.wait_for(&hook("action-concierge-message"));
    window.script("location.hash = 'session=s&request=r&tab=agent'", &[]);
    window.wait_for(&hook("agent"));
    let turns = window.wait(&hook("agent-turn"), |rows| (rows.len() == 3).then(|| rows.to_vec()));
    assert!(turns[0].contains("find_order, note_question") && turns[0].contains("next: side a"), "{turns:?}");
    assert!(turns[2].contains("stopped by a: stop_on_response"), "{turns:?}");
    window.wait_for_text(&hook("agent-stopped"), "a person speaks next");
    let sides = window.attributes(&hook("lane-message"), "data-side");
    assert_eq!(sides, ["b", "a", "a", "a", "a", "a", "a"]);

    // Inside the sub-prompt the state is its own, and the execution's stands in it as rootState.
    let blocks = place.get("show r")["blocks"].clone();
    let part = blocks.as_array().and_then(|all| all.iter().find(|row| row["name"] == "wording"));
    let seq = part.and_then(|row| row["seqEnd"].as_u64()).expect("it ended");
    window.script(&format!("location.hash = 'session=s&request=r&tab=agent&seq={seq}'"), &[]);
    window.wait_for_text(&hook("agent"), "FlowState of the sub-prompt");
    window.wait_for_text(&hook("agent"), "rootState");
    let calls = window.wait(&hook("queued-call"), |rows| (!rows.is_empty()).then(|| rows.to_vec()));
    assert!(calls[0].contains("wording"), "{calls:?}");

    // While the first tool runs, the second one waits.
    let tool = blocks.as_array().and_then(|all| all.iter().find(|row| row["name"] == "find_order"));
    let seq = tool.and_then(|row| row["seqStart"].as_u64()).expect("it began");
    window.script(&format!("location.hash = 'session=s&request=r&tab=agent&seq={seq}'"), &[]);
    window.wait_for(&format!("{}[data-status=waiting]", hook("queued-call")));
    let states = window.attributes(&hook("queued-call"), "data-status");
    assert_eq!(states, ["running", "waiting"]);
}

/// A long conversation of two models: the newest turns and messages come first, the others when they are asked for, and
/// the state is one click away.
#[test]
fn a_long_conversation_is_looked_at() {
    let flow = r#"
import { defineAgent, definePrompt } from "@standardagents/builder";
definePrompt({ name: "ann", prompt: "Talk.", model: "m" });
definePrompt({ name: "bob", prompt: "Talk.", model: "m" });
export default defineAgent({ name: "talk", maxSessionTurns: 100, sideA: { prompt: "ann", label: "Ann" }, sideB: { prompt: "bob" } });
"#;
    let said = |name: &str| (0..100).map(|n| json!({ "text": format!("{name} {n}") })).collect::<Vec<_>>();
    let mock = json!({ "generators": { "ann": said("ann"), "bob": said("bob") } }).to_string();
    let place = Place::new().file("flows/talk.ts", flow).file("flows/talk.mock.json", &mock);
    let words = ["run", "talk", "message", "--user", "ada", "--session", "s", "--request", "r", "--mock", "--json"];
    assert_eq!(place.run(&[&words[..], &["--input", "{\"content\":\"begin\"}"]].concat()).code, Some(0));
    let window = Window::open(&program(), &["open", &place.dir().display().to_string()]);
    window.wait_for(&hook("action-talk-message"));
    window.script("location.hash = 'session=s&request=r&tab=agent'", &[]);
    window.wait_for_text(&hook("agent-stopped"), "200 turns; stopped by side a: max_session_turns");
    let rows = window.wait(&hook("agent-turn"), |rows| (rows.len() == 8).then(|| rows.to_vec()));
    assert!(rows[7].contains("bob 99"), "{rows:?}");
    window.wait(&hook("lane-message"), |rows| (rows.len() == 12).then_some(()));
    window.wait_for_text(&hook("agent-lanes"), "a: Ann");
    window.click(&format!("{} nav button:last-child", hook("agent")));
    window.wait_for_text(&hook("agent"), "FlowState");
    let tops = "const top = (at) => document.querySelector(at).getBoundingClientRect().top; \
                return [document.scrollingElement.scrollTop, top('[data-testid=flow-state-value]') < 3000]";
    assert_eq!(window.script(tops, &[]), json!([0, true]), "only the panel scrolls");
    let more = "[...document.querySelectorAll('[data-testid=agent] button')]\
                .find((button) => button.textContent.includes('192 earlier turns')).click()";
    window.script(more, &[]);
    window.wait(&hook("agent-turn"), |rows| (rows.len() == 200).then_some(()));
}
