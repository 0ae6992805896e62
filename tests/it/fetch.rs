//! `fetch` of flows: which hosts it reaches, what comes back, and what is recorded of it.

use std::time::Duration;

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

/// A flow whose one action runs this code with `at`, the server's address.
fn place(server: &Server, allow: &[&str], code: &str) -> Place {
    let flow = format!(
        "const go = handler({{ name: \"go\", inputSchema: z.string(), execute: async (at: string) => {{ {code} }} }});\n\
         const after = handler({{ name: \"after\", execute: async () => {{ await new Promise((r) => setTimeout(r, 50)); }} }});\n\
         export default defineFlow({{ kind: \"main\", actions: {{ go: {{ block: go }},\n\
           chain: {{ block: sequencer({{ name: \"chain\", inputSchema: z.string() }}).step(go).step(after) }} }} }});\n"
    );
    let allow: Vec<String> = allow.iter().map(|entry| entry.replace("HOST", &server.host())).collect();
    Place::with_flow(&flow).file("flowglass.json", &json!({ "fetch": { "allow": allow } }).to_string())
}

fn run(place: &Place, server: &Server) -> Answer {
    place.run(&[
        "run",
        "main",
        "go",
        "--user",
        "ada",
        "--request",
        "r",
        "--input",
        &json!(server.address()).to_string(),
        "--json",
    ])
}

/// The output of code that must succeed.
#[track_caller]
fn output(server: &Server, code: &str) -> (Value, Place) {
    let place = place(server, &["HOST"], code);
    let answer = run(&place, server);
    assert_eq!(answer.code, Some(0), "{answer}");
    (answer.json()["output"].clone(), place)
}

/// The error of code that must fail.
#[track_caller]
fn error(server: &Server, allow: &[&str], code: &str, says: &[&str]) -> String {
    let answer = run(&place(server, allow, code), server);
    assert_eq!(answer.code, Some(3), "{answer}");
    let error = answer.json()["error"].clone();
    for word in says {
        assert!(error["message"].as_str().is_some_and(|text| text.contains(word)), "{word}: {error}");
    }
    error["name"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn an_allowed_host_answers() {
    let server = Server::start([
        Reply::json(&json!({ "a": 1 })).header("X-Kind", "good").header("set-cookie", "id=1"),
        Reply::body("text/plain", "gone").status(404),
        Reply::body("text/plain", "grüße").status(201),
    ]);
    let (found, place) = output(
        &server,
        r#"// Put together here, because the code that ran is kept.
        const secret = ["s3c", "ret"].join("");
        const one = await fetch(`${at}/one?q=1`, { headers: { Authorization: `Bearer ${secret}-token`, "X-Api-Key": `${secret}-key`, Accept: "a/b" } });
        const copy = one.clone();
        const two = await fetch(new URL("/two", at));
        const three = await fetch(new Request(`${at}/three`, { method: "put", body: JSON.stringify({ b: 2 }), headers: [["content-type", "application/json"]] }));
        return [one.ok, one.status, one.url === `${at}/one?q=1`, one.headers.get("x-kind"), one.headers.has("Set-Cookie"), await one.json(), await copy.text(), one.bodyUsed,
          two.ok, two.status, two.statusText, await two.text(), three.status, await three.text()];"#,
    );
    let expected = json!([
        true, 200, true, "good", false, { "a": 1 }, "{\"a\":1}", true, false, 404, "Not Found", "gone", 201, "grüße"
    ]);
    assert_eq!(found, expected);
    let asked = server.asked();
    assert_eq!(
        (asked[0].line.as_str(), asked[0].header("authorization")),
        ("GET /one?q=1", Some("Bearer s3cret-token"))
    );
    assert_eq!((asked[2].line.as_str(), asked[2].json()), ("PUT /three", json!({ "b": 2 })));
    assert_eq!(asked[2].header("content-type"), Some("application/json"));

    let events = place.get("events r --kind effect_started");
    let fetched: Vec<&Value> =
        events.as_array().expect("a list").iter().filter(|event| event["payload"]["effect"] == "fetch").collect();
    assert_eq!(fetched.len(), 3, "{events}");
    assert_eq!(fetched[0]["path"], "root", "{}", fetched[0]);
    let text = place.ask("events r").stdout;
    assert!(text.contains("[redacted]") && text.contains("a/b") && text.contains("/one?q=1"), "{text}");
    assert!(!text.contains("s3cret"), "{text}");
    assert!(place.stores("/one?q=1") && !place.stores("s3cret"), "a secret is in the database");
}

#[test]
fn bodies_are_texts_forms_and_bytes() {
    let bytes: Vec<u8> = (0..=255).collect();
    let server =
        Server::start([Reply::body("application/octet-stream", bytes.clone()), Reply::text(""), Reply::text("")]);
    let (found, _) = output(
        &server,
        r#"const bytes = new Uint8Array(await (await fetch(at)).arrayBuffer());
        await fetch(at, { method: "POST", body: bytes });
        await fetch(at, { method: "POST", body: new URLSearchParams({ a: "1 2", b: "ä" }) });
        return [bytes.length, bytes.every((byte, at) => byte === at)];"#,
    );
    assert_eq!(found, json!([256, true]));
    let asked = server.asked();
    assert_eq!(asked[1].body, bytes);
    assert_eq!(asked[2].body, b"a=1+2&b=%C3%A4");
    assert!(asked[2].header("content-type").is_some_and(|kind| kind.starts_with("application/x-www-form-urlencoded")));
}

#[test]
fn other_hosts_are_refused_with_the_line_to_add() {
    let server = Server::start([]);
    let line = format!("{{ \"fetch\": {{ \"allow\": [\"{}\"] }} }}", server.host());
    error(&server, &["api.example.com", "*.example.org"], "await fetch(at);", &["refused", &line, "flowglass.json"]);
    error(&server, &["HOST"], "await fetch('https://example.com/x');", &["refused", "\"example.com\""]);
    error(&server, &["HOST"], "await fetch('file:///etc/passwd');", &["http and https", "file"]);
    error(&server, &["HOST"], "await fetch(at.replace('//', '//ada:pw@'));", &["password", "authorization"]);
    assert_eq!(server.asked().len(), 0);
}

#[test]
fn a_redirect_leads_only_to_allowed_hosts() {
    let to = |place: String| Reply::body("text/plain", "").status(302).header("location", &place);
    let server = Server::start([to("/two".to_owned()), Reply::body("text/plain", "here")]);
    let (found, _) =
        output(&server, "const r = await fetch(`${at}/one`); return [await r.text(), r.url.endsWith('/two')];");
    assert_eq!(found, json!(["here", true]));

    let other = Server::start([Reply::body("text/plain", "secret")]);
    let server = Server::start([to(other.address())]);
    let line = format!("\"allow\": [\"{}\"]", other.host());
    error(&server, &["HOST"], "await fetch(at);", &["refused", &line, "redirects"]);
    assert_eq!(other.asked().len(), 0);
}

#[test]
fn what_breaks_is_classified() {
    let server = Server::start([Reply::body("text/plain", "abc").cut()]);
    assert_eq!(error(&server, &["HOST"], "await (await fetch(at)).text();", &[&server.address()]), "NetworkError");
    let server = Server::start([Reply::body("text/plain", vec![b'x'; (16 << 20) + 1])]);
    assert_eq!(
        error(&server, &["HOST"], "await fetch(at);", &["larger than 16777216 bytes", "limits.replyBytes"]),
        "Error"
    );
    let server = Server::start([Reply::body("text/plain", "no JSON")]);
    assert_eq!(error(&server, &["HOST"], "await (await fetch(at)).json();", &[]), "SyntaxError");
    assert_eq!(error(&server, &["HOST"], "await fetch('nonsense');", &["nonsense"]), "TypeError");
    let twice = "const r = new Response('x'); await r.text(); await r.text();";
    assert_eq!(error(&server, &["HOST"], twice, &["clone()"]), "TypeError");
}

#[test]
fn a_signal_gives_an_exchange_up_and_closes_its_connection() {
    let server = Server::start([Reply::body("text/plain", "a").hang(), Reply::body("text/plain", "b").hang()]);
    let (found, place) = output(
        &server,
        r#"const stop = new AbortController();
        setTimeout(() => stop.abort(), 1_000);
        const names: string[] = [];
        for (const signal of [() => stop.signal, () => AbortSignal.timeout(1_000), () => AbortSignal.abort()]) {
          try { await fetch(at, { signal: signal() }); } catch (error) { names.push((error as Error).name); }
        }
        await new Promise((resolve) => setTimeout(resolve, 200));
        return names;"#,
    );
    assert_eq!(found, json!(["AbortError", "TimeoutError", "AbortError"]));
    assert_eq!(server.asked().len(), 2, "an aborted signal asks nobody");
    for _ in 0..2 {
        assert!(server.wait_for_close(Duration::from_secs(5)), "the connection is closed");
    }
    let events = place.get("events r --kind effect_finished").to_string();
    assert!(events.contains("This operation was aborted"), "{events}");
}

#[test]
fn a_file_that_fetches_while_it_loads_does_not_load() {
    for code in ["await fetch('https://example.com');", "const page = fetch('https://example.com');"] {
        let place = Place::with_flow(&format!("{code}\nexport default defineFlow({{ kind: 'm', actions: {{}} }});\n"));
        let answer = place.ask("check");
        assert_eq!(answer.code, Some(1), "{answer}");
        let error = answer.json()[0]["error"].clone();
        assert!(error["message"].as_str().is_some_and(|text| text.contains("while a file loads")), "{error}");
        assert_eq!(error["line"], 3, "{error}");
    }
}

#[test]
fn a_block_that_has_ended_fetches_no_more() {
    let server = Server::start([Reply::text("late")]);
    let code = "setTimeout(() => fetch(at).catch((error) => console.log(error.message)), 10); return null;";
    let place = place(&server, &["HOST"], code);
    let answer = place.run(&[
        "run",
        "main",
        "chain",
        "--user",
        "ada",
        "--request",
        "r",
        "--input",
        &json!(server.address()).to_string(),
        "--json",
    ]);
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(server.asked().len(), 0, "nothing was sent");
}

/// The log cannot hold the blocks that `tools` makes, so a resume calls it again: it fetched again, and got other tools.
#[test]
fn what_tools_fetched_is_not_fetched_again_by_a_resume() {
    let server = Server::start((0..20).map(|n| Reply::json(&json!({ "n": n }))));
    let flow = format!(
        "const pay = handler({{ name: \"pay\", execute: async (_i: unknown, ctx: any) => {{ \
           await ctx.suspend({{ reason: \"approval\", message: \"Go?\" }}); return \"paid\"; }} }});\n\
         const bot = generator({{ name: \"bot\", model: \"tiny\", prompt: \"Work.\", tools: async (_i: unknown, ctx: any) => {{ \
           const answer: any = await (await fetch(\"{}/tools\")).json(); ctx.emit.status(`tools ${{answer.n}}`); return [pay]; }} }});\n\
         export default defineFlow({{ kind: \"main\", actions: {{ go: {{ block: bot }} }} }});\n",
        server.address()
    );
    let replies = json!({ "generators": { "bot": [
        { "toolCalls": [{ "name": "pay", "args": {} }] },
        { "toolCalls": [{ "name": "pay", "args": {} }] },
        { "text": "done" }
    ] } });
    let place = Place::with_flow(&flow)
        .file("flowglass.json", &json!({ "fetch": { "allow": [server.host()] } }).to_string())
        .file("flows/main.mock.json", &replies.to_string());
    let suspended = place.ask("run main go --user ada --request r --mock");
    assert_eq!(suspended.code, Some(4), "{suspended}");
    let before = server.asked().len();
    assert_eq!(place.ask("resume r --approve").code, Some(4), "it asks for its second call");
    let between = server.asked().len();
    let ended = place.get("resume r --approve");
    assert_eq!(ended["output"], "done", "{ended}");
    let after = server.asked().len();
    // Of each part of the run only the steps that are new fetch.
    assert_eq!((between - before, after - between), (1, 1), "after {before}");
    assert_eq!(place.get("replay r")["identical"], true);
}
