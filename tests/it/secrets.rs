//! Secrets of requests and of the environment: a flow gets what came, and no record holds them.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::exported::opened;
use tests::server::{Reply, Server};

/// What must be nowhere. It is put together by the flow, because the code that ran is kept.
const SECRET: &str = "t0p-s3cr3t";
const KEY: &str = "sk/very+secret=0123456789";

const FLOW: &str = r#"
const secret = ["t0p", "s3cr3t"].join("-");
const send = handler({ name: "send", inputSchema: z.string(), execute: async (at: string) => {
  const names = ["Authorization", "X-Password", "X-Session-Id", "X-Auth", "X-Amz-Signature", "My-Api-Key", "Ticket_Id"];
  const headers = { ...Object.fromEntries(names.map((name) => [name, secret])), "X-Trace": "trace-7" };
  const one = await fetch(`${at}/one?q=seven&token=${secret}&X-Amz-Signature=${secret}&key=${secret}&ticket-id=${secret}`, { headers });
  const body = JSON.stringify({ user: "ada", password: secret, deep: { access_token: secret, ticketId: secret } });
  const two = await fetch(`${at}/two`, { method: "POST", body, headers: { "content-type": "application/json" } });
  await fetch(`${at}/three`, { method: "POST", body: new URLSearchParams({ user: "ada", passwd: secret }) });
  await fetch(`${at}/four`, { method: "POST", body: new TextEncoder().encode(body) });
  let refused = false;
  try { await fetch(at.replace("//", `//ada:${secret}@`)); } catch { refused = true; }
  const page = await two.json() as { token: string; user: string };
  return { whole: page.token === secret, user: page.user, echoed: one.headers.get("x-auth-token") === secret, refused };
} });
const fails = handler({ name: "fails", inputSchema: z.string(), execute: async (at: string) => {
  await fetch(`http://ada:${secret}@[nonsense/?token=${secret}`);
} });
const talk = { model: "tiny", prompt: "Be brief.", user: "hello", agentType: "primary" } as const;
export default defineFlow({
  kind: "main",
  actions: {
    send: { block: send },
    fails: { block: fails },
    chat: { block: generator({ ...talk, name: "chat", providerOptions: { metadata: { password: secret, team: "blue" } } }) },
  },
});
"#;

fn place(server: &Server) -> Place {
    let model = json!({ "provider": "openai", "model": "tiny", "baseUrl": format!("{}/v1", server.address()), "apiKeyEnv": "TEST_KEY" });
    let settings =
        json!({ "models": { "tiny": model }, "fetch": { "allow": [server.host()] }, "redact": ["ticket-id"] });
    Place::with_flow(FLOW).file("flowglass.json", &settings.to_string()).variable("TEST_KEY", KEY)
}

fn run(place: &Place, server: &Server, action: &str) -> Answer {
    let input = json!(server.address()).to_string();
    place.run(&[
        "run",
        "main",
        action,
        "--user",
        "ada",
        "--session",
        "s",
        "--request",
        "r",
        "--input",
        &input,
        "--json",
    ])
}

/// Nothing that was written holds one of these words.
#[track_caller]
fn check_nowhere(place: &Place, answer: &Answer, words: &[&str]) {
    let _ = std::fs::remove_file(place.dir().join("out.flowglass"));
    place.get("export --session s --out out.flowglass");
    let mut said = format!("{}{}{}", answer.stdout, answer.stderr, opened(&place.dir().join("out.flowglass")));
    for line in ["events r", "items --request r --view all", "show r", "requests"] {
        let answer = place.ask(line);
        said.push_str(&format!("{}{}", answer.stdout, answer.stderr));
    }
    for word in words {
        assert!(!said.contains(word), "{word:?} is shown:\n{said}");
        assert!(!place.stores(word), "{word:?} is in the database");
    }
}

#[test]
fn what_stands_under_a_listed_name_is_in_no_record() {
    let echo = json!({ "user": "ada", "token": SECRET, "n": 1 });
    let page = || Reply::body("text/plain", "ok");
    let server = Server::start([
        page().header("X-Auth-Token", SECRET).header("Link", &format!("</next?page=2&token={SECRET}>")),
        Reply::json(&echo),
        page(),
        page(),
    ]);
    let place = place(&server);
    let answer = run(&place, &server, "send");
    assert_eq!(answer.code, Some(0), "{answer}");
    // The flow got all of it, and so did the server.
    let output = json!({ "whole": true, "user": "ada", "echoed": true, "refused": true });
    assert_eq!(answer.json()["output"], output);
    let asked = server.asked();
    assert!(asked[0].line.contains(&format!("token={SECRET}")) && asked[0].header("x-password") == Some(SECRET));
    assert_eq!(asked[1].json()["deep"]["ticketId"], SECRET);
    check_nowhere(&place, &answer, &[SECRET]);
    // The rest is there, because a replay needs it.
    let events = place.ask("events r").stdout;
    for word in ["q=seven", "trace-7", "/next?page=2", "user=ada", "\\\"user\\\":\\\"ada\\\""] {
        assert!(events.contains(word), "{word} is not in {events}");
    }
}

#[test]
fn a_replay_compares_what_is_redacted() {
    let page = || Reply::json(&json!({ "user": "ada", "token": "other" }));
    let server = Server::start([page(), page(), page(), page()]);
    let place = place(&server);
    assert_eq!(run(&place, &server, "send").code, Some(0));
    let replay = place.ask("replay r");
    assert_eq!((replay.code, &replay.json()["identical"]), (Some(0), &json!(true)), "{replay}");
}

#[test]
fn an_error_quotes_no_secret() {
    let server = Server::start([]);
    let place = place(&server);
    let answer = run(&place, &server, "fails");
    assert_eq!(answer.code, Some(3), "{answer}");
    check_nowhere(&place, &answer, &[SECRET]);
    let said = format!(
        "{{\"error\":{{\"message\":\"no: {{\\\"password\\\":\\\"{SECRET}\\\",\\\"n\\\":1}} at https://a:{SECRET}@x.org/?token={SECRET}\"}}}}"
    );
    let server = Server::start([Reply::body("application/json", said).status(400)]);
    let place = self::place(&server);
    let answer = run(&place, &server, "chat");
    assert_eq!(answer.code, Some(3), "{answer}");
    let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("[redacted]") && message.contains("x.org"), "{message}");
    assert_eq!(server.asked()[0].json()["metadata"]["password"], SECRET);
    check_nowhere(&place, &answer, &[SECRET]);
}

/// The key as a server may write it.
fn written() -> Vec<String> {
    let each = |form: fn(char) -> String| KEY.chars().map(form).collect::<String>();
    vec![
        KEY.to_owned(),
        each(|c| format!("%{:02X}", c as u32)),
        "sk%2Fvery%2bsecret%3D0123456789".to_owned(),
        // `printf %s user:KEY | base64`, and the part of it that is the key's.
        "dXNlcjpzay92ZXJ5K3NlY3JldD0wMTIzNDU2Nzg5".to_owned(),
        "c2svdmVyeStzZWNyZXQ9MDEyMzQ1Njc4OQ".to_owned(),
        each(|c| format!("\\u{:04x}", c as u32)),
    ]
}

#[test]
fn a_key_that_is_echoed_is_in_no_record_however_it_is_written() {
    for written in written() {
        let text = format!("Your key is {written}, is it not?");
        // Cut into pieces of three letters, none of which is the key.
        let letters: Vec<char> = text.chars().collect();
        let deltas: Vec<Value> =
            letters.chunks(3).map(|piece| json!({ "content": piece.iter().collect::<String>() })).collect();
        let server = Server::start([Reply::stream(&deltas, "stop")]);
        let place = place(&server);
        let answer = run(&place, &server, "chat");
        assert_eq!(answer.code, Some(0), "{answer}");
        let output = answer.json()["output"].as_str().unwrap_or_default().to_owned();
        assert!(output.starts_with("Your key is ") && output.contains("[redacted]"), "{written}: {output}");
        assert!(output.ends_with(", is it not?"), "{written}: {output}");
        check_nowhere(&place, &answer, &[KEY, &written, &written.replace('\\', "\\\\")]);
        let refusal = Reply::json(&json!({ "error": { "message": text } })).status(400);
        let server = Server::start([refusal]);
        let place = self::place(&server);
        let answer = run(&place, &server, "chat");
        assert_eq!(answer.code, Some(3), "{answer}");
        check_nowhere(&place, &answer, &[KEY, &written, &written.replace('\\', "\\\\")]);
    }
}
