//! The window lets coding agents in: the sheet shows what a client needs, and the endpoint answers only to its token.

use serde_json::{Value, json};
use tests::sitting::open_with;
use tests::webdriver::{Settings, hook};

use crate::debug::recorded;
use crate::mcp_clients::{check, clients};

/// Calls an endpoint, and returns the status and the body.
fn post(url: &str, token: Option<&str>, more: &[(&str, &str)], body: &Value) -> (u16, String) {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut request = agent
        .post(url)
        .header("Accept", "application/json, text/event-stream")
        .header("MCP-Protocol-Version", "2026-07-28");
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    let mut answer = request.send_json(body).expect("it answers");
    (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap_or_default())
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    } } })
}

#[test]
fn the_window_opens_and_closes_an_endpoint_for_agents() {
    let place = recorded();
    let window = open_with(Settings::default(), &place, &[]);
    window.wait_for(&hook("flow-main"));
    window.palette("Coding agents");
    let entry = window.wait_for(&hook("agents-entry"));
    assert!(entry.contains("mcpServers") && entry.contains("\"mcp\""), "{entry}");

    window.click(&hook("agents-open"));
    let url = window.wait_for(&hook("agents-url"));
    let url = url.trim();
    let header = window.wait_for(&hook("agents-header"));
    let token = header.trim().strip_prefix("Authorization: Bearer ").unwrap_or_else(|| panic!("{header}"));

    let named = [("Mcp-Method", "tools/call"), ("Mcp-Name", "find")];
    let (status, body) = post(url, Some(token), &named, &call("find", json!({ "what": "errors" })));
    assert!(status == 200 && body.contains("too much: 206"), "{status} {body}");
    let (status, body) = post(url, None, &named, &call("find", json!({})));
    assert_eq!(status, 401, "{body}");
    let (status, body) = post(url, Some(&"0".repeat(48)), &named, &call("find", json!({})));
    assert_eq!(status, 401, "{body}");
    // A page in a browser, whatever it knows.
    let from_page = [named[0], named[1], ("Origin", "https://example.com")];
    let (status, body) = post(url, Some(token), &from_page, &call("find", json!({})));
    assert_eq!(status, 403, "{body}");
    let (status, _) = post(&url.replace("/mcp", "/other"), Some(token), &named, &call("find", json!({})));
    assert_eq!(status, 404);

    // Wrong calls are answered as on standard input.
    for (params, words) in [
        (json!({ "name": "find", "arguments": [] }), "argument `arguments` of tools/call is an object"),
        (json!({ "name": 5 }), "argument `name` of tools/call is a text"),
        (json!({}), "argument `name` of tools/call is missing"),
    ] {
        let wrong = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
        let (status, body) = post(url, Some(token), &named, &wrong);
        assert!(status == 200 && body.contains("-32602") && body.contains(words), "{status} {body}");
    }
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let raw = |body: &str| {
        let asked = agent.post(url).header("Authorization", format!("bearer {token}"));
        let mut answer = asked.header("Accept", "application/json, text/event-stream").send(body).expect("it answers");
        (answer.status().as_u16(), answer.body_mut().read_to_string().unwrap_or_default())
    };
    let (status, body) = raw("{{{");
    assert!(status == 400 && body.contains("-32700"), "{status} {body}");
    assert_eq!(raw(&" ".repeat((4 << 20) + 1)).0, 413);

    if let Some(saw) = clients(&["http", url, token, "good"]) {
        check(&saw, &["sdk", "auto"]);
    }

    window.click(&hook("agents-close"));
    window.wait_for(&hook("agents-open"));
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    assert!(agent.post(url).send_json(call("find", json!({}))).is_err(), "nothing listens any more");
}
