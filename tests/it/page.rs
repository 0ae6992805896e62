//! A request as one HTML page: what is in the file, and what is not in it for an audience that may not see it.

use std::io::Read;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use tests::bench::Place;

/// A secret of the environment. The flow returns it, so it is in the log, and must not be in a page.
const SECRET: &str = "t0p-s3cr3t-0123456789";

/// What only a developer may see stands in items, the state, the journal, the console, inputs and outputs.
const FLOW: &str = r#"
const say = handler({ name: "say", execute: async (input, ctx) => {
  ctx.emit.message("shown to the client");
  ctx.emitMessage("shown to developers", { agentType: "trace" });
  await ctx.session.patchState({ note: "kept in the state" });
  await ctx.session.appendJournal({ text: "noted in the journal" });
  console.log("written to the console");
  return { made: "made by a block", token: process.env.TOKEN, ["</script><b>"]: "<!-- markup" };
} });
const wait = handler({ name: "wait", execute: async (input, ctx) => { await ctx.suspend({ reason: "approval", message: "Go on?" }); return input; } });
const pipe = (name: string) => sequencer({ name, inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ note: z.string().default("") }) },
  actions: { go: { block: pipe("go").step(say) }, ask: { block: pipe("ask").step(say).step(wait) } },
});
"#;

fn place() -> Place {
    let settings = json!({ "env": { "TOKEN": { "valueEnv": "PAGE_TOKEN" } } });
    let place = Place::with_flow(FLOW).file("flowglass.json", &settings.to_string()).variable("PAGE_TOKEN", SECRET);
    place.get("run main go --user ada --session s --request r --input {\"asked\":\"asked-for-bees\"}");
    place
}

/// The data of a page: each part by its name, decoded.
fn parts(html: &str) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    for element in html.split("<script type=\"application/octet-stream\" id=\"flowglass-").skip(1) {
        let (name, rest) = element.split_once("\">").expect("a name");
        let (data, _) = rest.split_once("</script>").expect("an end");
        let packed = BASE64_STANDARD.decode(data).expect("base64");
        let mut text = String::new();
        GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("gzip");
        parts.push((name.to_owned(), text));
    }
    parts
}

/// All that is in a page.
fn read(place: &Place, file: &str) -> (String, String) {
    let html = std::fs::read_to_string(place.dir().join(file)).expect("it was written");
    let text = parts(&html).into_iter().map(|(_, text)| text).collect();
    (html, text)
}

#[test]
fn a_page_holds_the_request_and_loads_nothing() {
    let place = place();
    let told = place.get("export --request r --html page.html");
    let (html, text) = read(&place, "page.html");
    let events = place.get("events r").as_array().map(Vec::len);
    assert_eq!(told["view"], "all");
    assert_eq!(told["requests"], json!(["r"]));
    assert_eq!(told["events"].as_u64().map(|events| events as usize), events);
    assert_eq!(told["bytes"].as_u64(), Some(html.len() as u64));
    for shown in [
        "shown to the client",
        "shown to developers",
        "kept in the state",
        "noted in the journal",
        "written to the console",
        "made by a block",
        "asked-for-bees",
    ] {
        assert!(text.contains(shown), "{shown:?} is not in the page");
    }
    assert!(text.contains("</script><b>") && !html.contains("</script><b>"), "recorded text is markup");
    assert!(!text.contains(SECRET) && !html.contains(SECRET));
    assert!(html.contains("Content-Security-Policy") && html.contains("default-src 'none'"));
    assert!(!html.contains("src=\"http") && !html.contains("href=\"http") && !html.contains("url(http"));
    // A browser that runs no scripts shows what is outside of them.
    let (_, rest) = html.split_once("<noscript>").expect("a text for such a browser");
    let (text, _) = rest.split_once("</noscript>").expect("it ends");
    for words in ["read-only copy of one recorded run", "JavaScript, which is off here", "Allow scripts for this file"]
    {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(words), "{words:?}: {text}");
    }
    assert!(!text.contains("<script") && !text.contains("style=\"display"), "{text}");
    assert!(html.len() < 2_000_000, "{} bytes", html.len());
}

#[test]
fn what_an_audience_may_not_see_is_not_in_the_bytes() {
    let place = place();
    for audience in ["client", "history"] {
        let told = place.get(&format!("export --request r --html {audience}.html --view {audience}"));
        assert_eq!((&told["view"], &told["events"]), (&json!(audience), &json!(0)));
        let (html, text) = read(&place, &format!("{audience}.html"));
        let seen = place.get(&format!("items --request r --view {audience}"));
        assert_eq!(told["items"].as_u64().map(|items| items as usize), seen.as_array().map(Vec::len));
        assert!(text.contains("shown to the client"));
        for hidden in [
            "shown to developers",
            // An audience sees that the state changed, and not what a block wrote there.
            "kept in the state",
            "noted in the journal",
            "written to the console",
            "asked-for-bees",
            SECRET,
        ] {
            assert!(!text.contains(hidden) && !html.contains(hidden), "{hidden:?} for {audience}");
        }
        let is_seen = seen.to_string().contains("made by a block");
        assert_eq!(text.contains("made by a block"), is_seen, "{audience}");
        let names: Vec<String> = parts(&html).into_iter().map(|(name, _)| name).collect();
        let others = names.iter().filter(|name| !["items-0", "values-0", "head"].contains(&name.as_str()));
        assert_eq!(others.count(), 0, "{audience}: {names:?}");
    }
}

/// The differences of a page named nobody for what a fork was begun with.
#[test]
fn a_page_of_a_fork_names_the_edits_of_its_state() {
    let place = place();
    let fork = place.get("fork r --at root/step:say --set session.note=\"noted\"");
    let fork = fork["requestId"].as_str().expect("an id");
    place.get(&format!("export --request {fork} --html fork.html"));
    let html = std::fs::read_to_string(place.dir().join("fork.html")).expect("it was written");
    let states: String =
        parts(&html).into_iter().filter(|(name, _)| name.starts_with("states")).map(|(_, text)| text).collect();
    let edits = place.get(&format!("history {fork} --path session.note"));
    let edit = edits.as_array().and_then(|rows| rows.last()).expect("a write");
    assert_eq!((&edit["operation"], &edit["new"]), (&json!("edit"), &json!("noted")), "{edits:#}");
    let step = format!("\"s\":{},", edit["committed"]);
    let named = states.split("},{").filter(|one| one.contains("\"o\":\"edit\"") && one.contains(&step));
    let named: Vec<&str> = named.filter(|one| one.contains(&format!("\"w\":{}", edit["seq"]))).collect();
    assert_eq!(named.len(), 1, "{states}");
    place.get("export --request r --html page.html");
    assert!(!read(&place, "page.html").1.contains("\"o\":\"edit\""));
}

#[test]
fn a_request_that_waits_is_written_as_it_is_and_bad_input_is_refused() {
    let place = place();
    assert_eq!(place.ask("run main ask --user ada --session s --request w --input 1").code, Some(4));
    place.get("export --request w --html waits.html");
    let (_, text) = read(&place, "waits.html");
    assert!(text.contains("\"suspended\"") && text.contains("Go on?"));
    place.get("export --request r --html page.html");
    for (line, code, says) in [
        ("export --request r --html page.html", 7, "exists already"),
        ("export --request r --html .flowglass/flowglass.db --force", 7, "never replaced"),
        ("export --request r --html flows/main.ts --force", 7, "a file of code"),
        ("export --request nobody --html x.html", 6, "unknown request"),
        ("export --session s --html x.html", 2, "--request"),
        ("export --request r --html x.html --out y", 2, "--out"),
        ("export --request r --html x.html --view trace", 2, "trace"),
        ("export --request r --html no/where/x.html", 2, "cannot be written"),
    ] {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(code), "{line}\n{answer}");
        assert!(answer.stderr.contains(says), "{line}\n{answer}");
    }
    let told: Value = place.get("export --request r --html page.html --force");
    assert_eq!(told["file"], "page.html");
}

/// A request writes on while its page is made: all of the page is of one instant.
#[test]
fn a_page_of_a_running_request_is_of_one_instant() {
    let flow = r#"
const busy = handler({ name: "busy", execute: async (input, ctx) => {
  for (let n = 1; n <= 3000; n++) {
    await ctx.session.patchState({ n });
    ctx.emit.message(`item ${n}`);
    await new Promise((done) => setTimeout(done, 2));
  }
} });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: { go: { block: busy } },
});
"#;
    let place = Place::with_flow(flow);
    let running = place.start("run main go --user ada --session s --request r --input 1");
    let mut seen = 0;
    while seen < 5 {
        let told = place.ask("export --request r --html page.html --force");
        if told.code != Some(0) {
            assert!(told.stderr.contains("unknown request"), "{told}");
            continue;
        }
        let (html, _) = read(&place, "page.html");
        let parts: Vec<(String, Value)> = parts(&html)
            .into_iter()
            .map(|(name, text)| (name, serde_json::from_str(&text).expect("each part is JSON")))
            .collect();
        let part = |name: &str| &parts.iter().find(|(known, _)| known == name).expect("it is there").1;
        let view = &part("head")["view"];
        let seq = view["seq"].as_u64().expect("a number");
        assert_eq!((&told.json()["events"], &view["request"]["lastSeq"]), (&json!(seq), &json!(seq)));
        assert_eq!(view["request"]["status"], "in_progress");
        for (name, values) in parts.iter().filter(|(name, _)| name.starts_with("items")) {
            let last = values.as_array().expect("a list").last();
            assert!(last.is_none_or(|item| item["shown"][0][0].as_u64() <= Some(seq)), "{name} after {seq}: {last:?}");
        }
        seen += u32::from(seq > 100);
    }
    drop(running);
}
