//! Who sees which item: the whole table of SEMANTICS §7.3.

use engine::item::{AgentType, Visibility, resolve_item_visibility};

#[track_caller]
fn check(types: &[&str], agent: Option<AgentType>, client: bool, history: bool) {
    for name in types {
        let found = resolve_item_visibility(name, agent, None);
        assert_eq!(found, Visibility { client, history }, "{name} by {agent:?}");
    }
}

const TALK: &[&str] = &["message", "reasoning", "block_tool_output"];
const CLIENT: &[&str] =
    &["component", "container", "source", "status", "state_change", "resource_change", "step_error", "error"];
const NOBODY: &[&str] = &["block_output", "router_decision", "state_snapshot"];

#[test]
fn the_table_of_types_and_agents() {
    check(TALK, None, true, true);
    check(TALK, Some(AgentType::Primary), true, true);
    check(TALK, Some(AgentType::Sub), true, false);
    check(TALK, Some(AgentType::Trace), false, false);
    for agent in [None, Some(AgentType::Primary), Some(AgentType::Sub)] {
        check(CLIENT, agent, true, false);
        check(NOBODY, agent, false, false);
    }
    check(CLIENT, Some(AgentType::Trace), false, false);
    check(NOBODY, Some(AgentType::Trace), false, false);
}

#[test]
fn an_explicit_visibility_decides_for_talk_alone() {
    let private = Some(Visibility { client: false, history: true });
    assert_eq!(resolve_item_visibility("message", None, private), Visibility { client: false, history: true });
    assert_eq!(resolve_item_visibility("component", None, private), Visibility { client: true, history: false });
    let trace = resolve_item_visibility("message", Some(AgentType::Trace), private);
    assert_eq!(trace, Visibility { client: false, history: false });
}
