//! Limits of input: replies of models, streams, error replies and imported files. Errors name the limit, which is a
//! setting.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::exported::{opened, packed};
use tests::server::{Reply, Server};

const FLOW: &str = r#"
export default defineFlow({
  kind: "main",
  actions: {
    chat: { block: generator({ name: "chat", model: "tiny", prompt: "Be brief.", user: "hello", agentType: "primary" }) },
    get: { block: handler({ name: "get", inputSchema: z.string(), execute: async (at: string) => {
      const page = await fetch(`${at}/one?token=t0ps3cret`, { redirect: "manual" });
      const names = [];
      for (const redirect of ["error", "sometimes"] as never[]) {
        try { await fetch(`${at}/two?token=t0ps3cret`, { redirect }); } catch (error) { names.push([(error as Error).name, (error as Error).message]); }
      }
      const request = new Request(at, { redirect: "error" });
      return { status: page.status, at: page.headers.get("location"), text: await page.text(), names, redirect: request.clone().redirect };
    } }) },
  },
});
"#;

fn place(server: &Server, limits: &Value) -> Place {
    let settings = json!({
        "models": { "tiny": { "provider": "openai", "model": "tiny", "baseUrl": format!("{}/v1", server.address()) } },
        "fetch": { "allow": [server.host()] },
        "limits": limits,
    });
    Place::with_flow(FLOW).file("flowglass.json", &settings.to_string())
}

fn chat(reply: Reply, limits: &Value) -> Answer {
    let server = Server::start([reply.clone(), reply]);
    let place = place(&server, limits);
    place.ask("run main chat --user ada --request r")
}

#[track_caller]
fn check_too_large(reply: Reply, limits: &Value, limit: &str, most: usize) {
    let answer = chat(reply, limits);
    assert_eq!(answer.code, Some(3), "{answer}");
    let error = &answer.json()["error"];
    assert_eq!(error["code"], "limit_exceeded", "{error}");
    let message = error["message"].as_str().unwrap_or_default();
    for word in ["tiny", &format!("limits.{limit}"), &format!("more than {most} bytes"), "flowglass.json"] {
        assert!(message.contains(word), "{word:?} is not in {message:?}");
    }
}

fn delta(text: &str) -> Value {
    json!({ "content": text })
}

#[test]
fn a_reply_over_the_limit_is_refused() {
    let text = "x".repeat(1_000);
    check_too_large(Reply::text(&text), &json!({ "replyBytes": 900 }), "replyBytes", 900);
    check_too_large(Reply::body("application/json", " ".repeat(17 << 20)), &json!({}), "replyBytes", 16 << 20);
    let deltas = vec![delta(&text); 20];
    check_too_large(Reply::stream(&deltas, "stop"), &json!({ "replyBytes": 10_000 }), "replyBytes", 10_000);
    let answer = chat(Reply::stream(&deltas, "stop"), &json!({ "replyBytes": 100_000 }));
    assert_eq!(answer.json()["output"].as_str().map(str::len), Some(20_000), "{answer}");
}

#[test]
fn a_line_of_a_stream_over_the_limit_is_refused() {
    let endless = Reply::body("text/event-stream", format!("data: {}", "x".repeat(10_000_000)));
    check_too_large(endless.clone().hang(), &json!({}), "lineBytes", 1 << 20);
    check_too_large(Reply::body("text/event-stream", "data: x\n".repeat(1_000_000)), &json!({}), "lineBytes", 1 << 20);
    check_too_large(
        Reply::stream(&[delta(&"x".repeat(2_000))], "stop"),
        &json!({ "lineBytes": 1_500 }),
        "lineBytes",
        1_500,
    );
    let answer = chat(endless, &json!({ "lineBytes": 12_000_000 }));
    assert_eq!(answer.code, Some(3), "{answer}");
}

#[test]
fn a_long_stream_within_the_limit_is_read_completely() {
    let deltas: Vec<Value> = (0..6).map(|_| delta(&"x".repeat(1_000_000))).collect();
    let answer = chat(Reply::stream(&deltas, "stop"), &json!({}));
    assert_eq!(answer.json()["output"].as_str().map(str::len), Some(6_000_000));
}

#[test]
fn only_the_quoted_start_of_an_error_reply_is_read() {
    let reply = Reply::body("text/plain", "no ".repeat(20_000_000)).status(400);
    let answer = chat(reply.clone(), &json!({}));
    assert_eq!(answer.code, Some(3), "{answer}");
    let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("answered 400: no no") && message.len() < 700, "{message}");
    let answer = chat(reply, &json!({ "errorBytes": 5 }));
    let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.ends_with("answered 400: no no"), "{message}");
}

#[test]
fn an_invalid_limit_is_refused() {
    let server = Server::start([]);
    for limit in ["replyBytes", "lineBytes", "errorBytes", "importBytes", "depth"] {
        for value in [json!(0), json!(-1), json!("1")] {
            let answer = place(&server, &json!({ limit: value })).ask("flows");
            assert_eq!(answer.code, Some(2), "{limit}: {value}\n{answer}");
            assert!(answer.json()["error"]["message"].as_str().is_some_and(|text| text.contains("flowglass.json")));
        }
    }
}

#[test]
fn an_import_over_the_limit_is_refused() {
    let server = Server::start([Reply::text("Hi there")]);
    let here = place(&server, &json!({}));
    here.get("run main chat --user ada --session s");
    here.get("export --session s --out whole.flowglass");
    let whole = std::fs::read(here.dir().join("whole.flowglass")).expect("the export");
    let text = opened(&here.dir().join("whole.flowglass"));
    let text = text.splitn(3, '\n').nth(2).expect("its lines");
    let import = |limits: Value, file: Vec<u8>| {
        let there = place(&server, &limits);
        there.write("in.flowglass", file);
        let answer = there.ask("import in.flowglass");
        (answer.code, answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(import(json!({}), whole.clone()).0, Some(0));
    let (code, told) = import(json!({ "importBytes": text.len() - 1 }), whole.clone());
    assert!(code == Some(7) && told.contains("limits.importBytes") && told.contains("when it is unpacked"), "{told}");
    let (code, told) = import(json!({ "importBytes": 10 }), whole);
    assert!(code == Some(7) && told.contains("limits.importBytes") && told.contains("nothing was imported"), "{told}");
    // A small file that exceeds the limit when it is unpacked.
    let bomb = packed(&format!("{text}{}", "{}\n".repeat(60_000_000)));
    assert!(bomb.len() < 1_000_000, "{}", bomb.len());
    let (code, told) = import(json!({}), bomb);
    assert!(code == Some(7) && told.contains("limits.importBytes"), "{told}");
}

#[test]
fn a_redirect_is_followed_returned_or_an_error() {
    let to = || Reply::body("text/plain", "there").status(302).header("location", "/three?token=t0ps3cret");
    let server = Server::start([to(), to()]);
    let place = place(&server, &json!({}));
    let input = json!(server.address()).to_string();
    let answer = place.run(&["run", "main", "get", "--user", "ada", "--request", "r", "--input", &input, "--json"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let output = &answer.json()["output"];
    assert_eq!((&output["status"], &output["text"]), (&json!(302), &json!("there")));
    assert_eq!((&output["at"], &output["redirect"]), (&json!("/three?token=t0ps3cret"), &json!("error")));
    assert_eq!((&output["names"][0][0], &output["names"][1][0]), (&json!("TypeError"), &json!("TypeError")));
    let says = |at: usize, word: &str| output["names"][at][1].as_str().is_some_and(|text| text.contains(word));
    assert!(says(0, "/two: the server redirects") && says(1, "\"sometimes\""), "{output}");
    assert_eq!(server.asked().len(), 2, "nothing was followed");
}

#[test]
fn block_names_that_are_too_long_or_have_control_characters_are_refused() {
    let named = |name: &str| {
        let flow = format!(
            "const one = handler({{ name: {name}, execute: async () => 1 }});\n\
             export default defineFlow({{ kind: \"main\", actions: {{ go: {{ block: one }} }} }});\n"
        );
        let answer = Place::with_flow(&flow).ask("check");
        (answer.code, answer.json()[0]["error"].clone())
    };
    for name in ["'n'.repeat(1024)", "'ä'.repeat(512)", "'a name: with / all ~ [of] it %'"] {
        assert_eq!(named(name).0, Some(0), "{name}");
    }
    let wrong = [
        ("'n'.repeat(1025)", "1025 bytes"),
        ("'ä'.repeat(513)", "1026 bytes"),
        ("'😀'.repeat(257)", "1028 bytes"),
        ("'a\\u0000b'", "U+0000"),
        ("'a\\nb'", "U+000A"),
        ("'a\\u009bb'", "U+009B"),
    ];
    for (name, says) in wrong {
        let (code, error) = named(name);
        assert_eq!((code, &error["line"]), (Some(1), &json!(3)), "{name}: {error}");
        assert!(error["message"].as_str().is_some_and(|text| text.contains(says) && text.len() < 300), "{error}");
    }
}
