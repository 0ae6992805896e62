//! What comes from outside and is nested deeper than anybody can hold: an error of who sent it, and nothing ends.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::exported::{opened, packed};
use tests::server::{Reply, Server};

const FLOW: &str = r#"
const talk = { model: "tiny", prompt: "Be brief.", user: "hello" } as const;
const any = handler({ name: "any", description: "Takes anything.", inputSchema: z.any(), execute: async () => 1 });
const nest = (depth: number) => { let value: unknown = 1; for (let n = 0; n < depth; n++) value = n % 2 ? [value] : { a: value }; return value; };
const wrap = sequencer({ name: "wrap", inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  actions: {
    shape: { block: generator({ ...talk, name: "shape", outputSchema: z.object({ a: z.any() }) }) },
    tools: { block: generator({ ...talk, name: "tools", tools: [any] }) },
    keep: { block: handler({ name: "keep", inputSchema: z.any(), execute: async (input, ctx) => { await ctx.session.patchState({ kept: input }); return input; } }) },
    nest: { block: handler({ name: "nest", inputSchema: z.number(), execute: async (depth: number) => nest(depth) }) },
    json: { block: handler({ name: "json", execute: async () => ({ toJSON: () => nest(20_000) }) }) },
    fetch: { block: handler({ name: "get", inputSchema: z.string(), execute: async (at: string) => {
      const page = await fetch(at);
      return JSON.stringify(await page.json()).length;
    } }) },
  },
});
"#;

/// A workspace whose model is this server.
fn place(server: &Server, limits: &Value) -> Place {
    let settings = json!({
        "models": { "tiny": { "provider": "openai", "model": "tiny", "baseUrl": format!("{}/v1", server.address()) } },
        "fetch": { "allow": [server.host()] },
        "limits": limits,
    });
    Place::with_flow(FLOW).file("flowglass.json", &settings.to_string())
}

fn nested(depth: usize) -> String {
    format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth))
}

#[track_caller]
fn check_error(answer: &Answer, code: i32, words: &[&str]) {
    assert_eq!(answer.code, Some(code), "{answer}");
    let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    for word in words {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
    assert!(message.len() < 1_000, "{message}");
}

/// What becomes of the answer of a generator that must be an object.
#[track_caller]
fn check_shape(text: &str, limits: &Value, expected: Result<(), &[&str]>) {
    let server = Server::start([Reply::text(text)]);
    let answer = place(&server, limits).ask("run main shape --user ada --request r");
    match expected {
        Ok(()) => assert_eq!(answer.code, Some(0), "{answer}"),
        Err(words) => check_error(&answer, 3, words),
    }
}

#[test]
fn a_deep_answer_is_an_error_of_its_block() {
    let says: &[&str] = &["\"shape\"", "nested deeper than 1000 levels, at character 1001", "limits.depth"];
    check_shape(&"[".repeat(150_000), &json!({}), Err(says));
    check_shape(&"[".repeat(1_000_000), &json!({}), Err(says));
    check_shape(&format!("Here: ```json\n{}\n```", "{a:".repeat(150_000)), &json!({}), Err(&["deeper than 1000"]));
    check_shape(&nested(900), &json!({}), Ok(()));
    check_shape(&nested(900), &json!({ "depth": 100 }), Err(&["deeper than 100 levels, at character"]));
}

#[test]
fn a_deep_message_of_a_server_is_an_error_of_its_block() {
    let deep = || Reply::body("application/json", "[".repeat(1_000_000));
    let server = Server::start([deep(), deep()]);
    let answer = place(&server, &json!({})).ask("run main shape --user ada");
    check_error(&answer, 3, &["tiny", "nested deeper than 127 levels at line 1 column 128"]);
    let call =
        json!({ "id": "a", "type": "function", "function": { "name": "any", "arguments": "[".repeat(200_000) } });
    let reply = || Reply::whole(json!({ "role": "assistant", "tool_calls": [call] }), "tool_calls");
    let server = Server::start([reply(), reply()]);
    let answer = place(&server, &json!({})).ask("run main tools --user ada");
    check_error(&answer, 3, &["tiny", "nested deeper than 127 levels"]);
}

#[test]
fn a_deep_page_is_an_error_of_who_reads_it() {
    let server = Server::start([Reply::body("application/json", "[".repeat(1_000_000))]);
    let place = place(&server, &json!({}));
    let answer =
        place.run(&["run", "main", "fetch", "--user", "a", "--input", &json!(server.address()).to_string(), "--json"]);
    assert_eq!(answer.code, Some(3), "{answer}");
    let server = Server::start([Reply::body("application/json", nested(900))]);
    let place = self::place(&server, &json!({}));
    let answer =
        place.run(&["run", "main", "fetch", "--user", "a", "--input", &json!(server.address()).to_string(), "--json"]);
    assert_eq!(answer.json()["output"], json!(nested(900).len()), "{answer}");
}

#[test]
fn deep_files_and_arguments_are_wrong_usage() {
    let server = Server::start([]);
    let place = place(&server, &json!({})).file("deep.json", &"[".repeat(1_000_000));
    check_error(
        &place.ask("run main keep --user ada --input @deep.json"),
        2,
        &["deep.json", "deeper than 1000 levels"],
    );
    let mock = format!("{{\"models\":{{\"tiny\":[{{\"structuredOutput\":{}", "[".repeat(1_000_000));
    place.write("mock.json", mock);
    check_error(&place.ask("run main shape --user ada --mock=mock.json"), 2, &["mock.json", "deeper than 1000 levels"]);
    place.write("flowglass.json", "{\"models\":".repeat(100_000));
    check_error(&place.ask("flows"), 2, &["flowglass.json"]);
    place.write("flowglass.json", r#"{ "limits": { "depth": 100000 } }"#);
    check_error(&place.ask("flows"), 2, &["flowglass.json", "limits.depth", "at most 4000"]);
    place.write("flowglass.json", r#"{ "limits": { "dept": 1 } }"#);
    check_error(&place.ask("flows"), 2, &["flowglass.json", "dept", "depth"]);
}

#[test]
fn a_deep_line_of_an_import_is_refused() {
    let server = Server::start([]);
    let place = place(&server, &json!({}));
    assert_eq!(place.ask("run main nest --user ada --session s --input 900").code, Some(0));
    place.get("export --session s --out whole.flowglass");
    let text = opened(&place.dir().join("whole.flowglass"));
    let text = text.splitn(3, '\n').nth(2).expect("its lines");
    let (from, to) = (nested_in(900), "[".repeat(20_000));
    assert!(text.contains(&from), "the value is in the export");
    place.write("deep.flowglass", packed(&text.replacen(&from, &to, 1)));
    check_error(&place.ask("--data there.db import deep.flowglass"), 7, &["deep.flowglass", "nested deeper than 1064"]);
    assert_eq!(place.ask("--data there.db import whole.flowglass").code, Some(0));
}

/// What the action `nest` gives.
fn nested_in(depth: usize) -> String {
    (0..depth)
        .fold("1".to_owned(), |inner, n| if n % 2 == 1 { format!("[{inner}]") } else { format!("{{\"a\":{inner}}}") })
}

#[test]
fn a_value_of_a_flow_is_as_deep_as_it_may_be_everywhere() {
    let server = Server::start([]);
    let place = place(&server, &json!({}));
    let answer = place.run(&[
        "run",
        "main",
        "keep",
        "--user",
        "ada",
        "--session",
        "s",
        "--request",
        "r",
        "--input",
        &nested(990),
        "--json",
    ]);
    assert_eq!(answer.code, Some(0), "{answer}");
    for line in ["show r", "events r", "items --request r", "state --session s", "state --request r"] {
        assert_eq!(place.run(&line.split(' ').collect::<Vec<_>>()).code, Some(0), "{line}");
        assert_eq!(place.ask(line).code, Some(0), "{line}");
    }
    for line in [
        "diff r",
        "history r --path session.kept",
        "search a",
        "replay r",
        "retry r",
        "fork r --at root",
        "check --data",
    ] {
        assert_eq!(place.ask(line).code, Some(0), "{line}");
    }
    check_error(&place.ask("run main nest --user ada --input 100000"), 3, &["nested deeper than 1000 levels"]);
    let answer = place.ask("run main json --user ada");
    assert_eq!(answer.code, Some(3), "{answer}");
}
