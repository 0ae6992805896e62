//! An agent in the real window: its turns, its sides, its tool queue and its `FlowState` at the slider's instant.

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
