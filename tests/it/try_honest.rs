//! Experiments keep their word: what runs is what was announced, a block that is gone is not tried, what ran beside the
//! block is asked nothing again, and an approval counts for one run.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

const HEAD: &str = r#"import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const ask = (name: string, model = "small", prompt = name) => generator({ name, model, inputSchema: any, outputSchema: z.string(), prompt, user: (i: any) => `${JSON.stringify(i)}` });
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
"#;

fn settings(server: &Server) -> String {
    let model = |name: &str| json!({ "model": name, "baseUrl": format!("{}/v1", server.address()) });
    let price = json!({ "input": 1_000, "output": 1_000 });
    let models = json!({ "small": model("small-1"), "large": model("large-1"), "other": model("other-1") });
    json!({ "models": models, "prices": { "small": price, "large": price }, "fetch": { "allow": [server.host()] } })
        .to_string()
}

fn replies(count: usize, text: &str) -> impl Iterator<Item = Reply> {
    std::iter::repeat_n(Reply::text(text), count)
}

/// A workspace whose flow has run once, as request `r`.
fn ran(flow: &str, replies: impl IntoIterator<Item = Reply>) -> (Place, Server) {
    let server = Server::start(replies);
    let flow = format!("{HEAD}{}", flow.replace("SERVER", &server.address()));
    let place = Place::new().file("flows/it.ts", &flow).file("flowglass.json", &settings(&server));
    let first = place.ask("run it go --user ada --request r --input {\"n\":1}");
    assert_eq!(first.code, Some(0), "{first}");
    (place, server)
}

fn edit(place: &Place, from: &str, to: &str) {
    let file = place.dir().join("flows/it.ts");
    let text = std::fs::read_to_string(&file).expect("a flow");
    assert!(text.contains(from), "{from}");
    place.write("flows/it.ts", text.replace(from, to));
}

fn tried(place: &Place, at: &str, more: &[&str]) -> Answer {
    place.run(&[["--json", "try", "r", "--at", at].as_slice(), more].concat())
}

/// The paths or models that the server was asked after its first requests.
fn asked(server: &Server, after: usize) -> Vec<String> {
    let name = |asked: &tests::server::Asked| match asked.json()["model"].as_str() {
        Some(model) => model.to_owned(),
        None => "fetch".to_owned(),
    };
    let mut names: Vec<String> = server.asked()[after..].iter().map(name).collect();
    names.sort();
    names
}

const CHAIN: &str = r#"const end = handler({ name: "end", inputSchema: any, outputSchema: any, execute: (said) => ({ said }) });
const all = sequencer({ name: "all", inputSchema: any }).step(ask("read")).step(ask("price")).step(end);
export default defineFlow({ kind: "it", actions: { go: { inputSchema: any, block: all } } });
"#;

/// Arms whose edit reached nothing were scored and compared.
#[test]
fn a_block_that_is_gone_is_not_tried() {
    let (place, server) = ran(CHAIN, replies(9, "5"));
    edit(&place, ".step(ask(\"price\"))", "");
    for flags in [["--model", "large"], ["--output", "\"7\""], ["--set", "session.x=1"]] {
        let found = tried(&place, "root/step:price", &flags);
        let part = "block root/step:price is gone in this code";
        assert!(found.code == Some(2) && found.stderr.contains(part), "{flags:?}: {found}");
    }
    for more in [["--output", "\"7\""], ["--input", "\"7\""]] {
        for plan in [[].as_slice(), &["--plan"]] {
            let forked = place.run(&[["fork", "r", "--at", "root/step:price"].as_slice(), &more, plan].concat());
            assert!(forked.code == Some(2) && forked.stderr.contains("is gone in this code"), "{more:?}: {forked}");
        }
    }
    assert_eq!((server.asked().len(), place.get("experiments")), (2, json!([])));
    // Where only a revision lacks it, that arm says so, and the others run.
    let git = |words: &[&str]| {
        let done = std::process::Command::new("git").current_dir(place.dir()).args(words).output();
        assert!(done.expect("git is there").status.success());
    };
    git(&["init", "-q"]);
    git(&["config", "user.email", "ada@example.com"]);
    git(&["config", "user.name", "Ada"]);
    git(&["add", "flows"]);
    git(&["commit", "-q", "-m", "gone"]);
    git(&["tag", "gone"]);
    edit(&place, ".step(ask(\"read\"))", ".step(ask(\"read\")).step(ask(\"price\"))");
    git(&["commit", "-q", "-a", "-m", "back"]);
    let plan = tried(&place, "root/step:price", &["--code", "gone,HEAD", "--plan"]).json();
    let cannot = plan["cannotRun"][0].as_str().unwrap_or_default();
    assert!(cannot.starts_with("arm 1: block root/step:price is gone"), "{plan}");
    let found = tried(&place, "root/step:price", &["--code", "gone,HEAD"]);
    let view = found.json();
    let error = view["arms"][0]["error"].as_str().unwrap_or_default();
    assert!(error.contains("is gone in this code"), "{found}");
    assert_eq!((&view["arms"][0]["summary"]["n"], &view["arms"][1]["summary"]["n"]), (&json!(0), &json!(1)));
}

/// The plan told the model of the recording, and the model of the code was asked. A difference that the edit had made
/// was called one by chance.
#[test]
fn what_the_code_asks_is_announced_and_an_edit_is_named() {
    let (place, server) = ran(CHAIN, replies(9, "5"));
    edit(&place, "ask(\"price\")", "ask(\"price\", \"large\")");
    edit(&place, "=> ({ said })", "=> ({ said, more: 1 })");
    edit(&place, ".step(end)", ".stepIf((said) => said === \"no\", ask(\"rare\", \"other\")).step(end)");
    let plan = tried(&place, "root/step:price", &["--set", "session.x=1", "--plan"]).json();
    assert_eq!((&plan["models"], &plan["otherModels"]), (&json!(["large"]), &json!(["other"])), "{plan}");
    let found = tried(&place, "root/step:price", &["--samples", "1"]).json();
    assert_eq!(asked(&server, 2), ["large-1"]);
    let note = found["notes"][0].as_str().unwrap_or_default();
    assert!(note.contains("its code was edited since the request ran"), "{found}");
}

/// What cannot be run was planned, and the base arm was paid for.
#[test]
fn what_cannot_be_run_is_told_before() {
    let (place, server) = ran(CHAIN, replies(9, "5"));
    for flags in [["--model", "nomodel"], ["--model", "nomodel,intent/chat"]] {
        for plan in [[].as_slice(), &["--plan"]] {
            let found = tried(&place, "root/step:price", &[flags.as_slice(), plan].concat());
            assert!(found.code == Some(2) && found.stderr.contains("is not configured"), "{flags:?}: {found}");
        }
    }
    let plan = tried(&place, "root/step:price", &["--model", "nomodel,large", "--plan"]).json();
    assert_eq!(plan["models"], json!(["small", "large"]), "{plan}");
    assert!(plan["cannotRun"][0].as_str().is_some_and(|why| why.starts_with("arm 1: --model nomodel")), "{plan}");
    for command in ["", "  "] {
        let found = tried(&place, "root/step:price", &["--score-command", command]);
        assert!(found.code == Some(2) && found.stderr.contains("the command is empty"), "{found}");
    }
    assert_eq!(server.asked().len(), 2);
}

/// Executions that had begun before the block asked the other model, too.
#[test]
fn another_model_is_asked_from_the_block_on_and_not_beside_it() {
    let each = r#"const all = sequencer({ name: "all", inputSchema: any }).map(() => [1, 2, 3]).forEach(ask("ask"));
export default defineFlow({ kind: "it", actions: { go: { inputSchema: any, block: all } } });
"#;
    let (place, server) = ran(each, replies(9, "5"));
    let plan = tried(&place, "root/forEach:ask[1]", &["--model", "large", "--plan"]).json();
    let found = tried(&place, "root/forEach:ask[1]", &["--model", "large"]);
    assert_eq!(found.code, Some(0), "{found}");
    // The first pass is answered from the log, in both arms.
    assert_eq!(asked(&server, 3), ["large-1", "large-1", "small-1", "small-1"], "{found}");
    assert_eq!((&plan["modelCalls"], &plan["models"]), (&json!(4), &json!(["small", "large"])), "{plan}");
    let found = found.json();
    assert_eq!(found["arms"][0]["samples"][0]["usage"]["modelCalls"], 2, "answers of the log are not counted");
    let sample = found["arms"][0]["samples"][0]["requestId"].as_str().unwrap_or_default();
    assert_eq!(place.ask(&format!("replay {sample}")).code, Some(0));
}

#[test]
fn of_several_generators_of_a_name_the_one_at_the_path_is_meant() {
    let same = r#"const all = sequencer({ name: "all", inputSchema: any }).step(ask("x", "small", "one")).step(ask("x", "small", "two")).step(ask("x", "small", "three"));
export default defineFlow({ kind: "it", actions: { go: { inputSchema: any, block: all } } });
"#;
    let (place, server) = ran(same, replies(9, "5"));
    let found = tried(&place, "root/step:x~2", &["--model", "large"]);
    assert_eq!(found.code, Some(0), "{found}");
    assert_eq!(asked(&server, 3), ["large-1", "small-1", "small-1"], "{found}");
}

/// What a branch beside the block had asked of the network was sent again by every sample.
#[test]
fn what_is_under_way_beside_the_block_asks_nothing_again() {
    let beside = r#"const wait = handler({ name: "wait", inputSchema: any, outputSchema: any, execute: async (i) => { await pause(60); return i; } });
const web = handler({ name: "web", inputSchema: any, outputSchema: any, execute: async (i, ctx) => {
  await fetch("SERVER/first", { method: "POST", body: "{}" });
  await pause(200);
  return await (await fetch("SERVER/second", { method: "POST", body: "{}" })).text();
} });
const later = sequencer({ name: "later", inputSchema: any }).step(wait).step(ask("price"));
const all = sequencer({ name: "all", inputSchema: any }).parallel({ a: later, b: web });
export default defineFlow({ kind: "it", actions: { go: { inputSchema: any, block: all } } });
"#;
    let first = [Reply::body("text/plain", "one"), Reply::text("5"), Reply::body("text/plain", "two")];
    let (place, server) = ran(beside, first.into_iter().chain(replies(4, "6")));
    let found = tried(&place, "root/parallel/a/step:price", &["--model", "large"]);
    assert_eq!(found.code, Some(0), "{found}");
    assert_eq!(asked(&server, 3), ["large-1", "small-1"], "{found}");
    let found = found.json();
    for arm in [&found["base"], &found["arms"][0]] {
        assert_eq!(arm["samples"][0]["output"]["b"], "two", "{arm}");
        let sample = arm["samples"][0]["requestId"].as_str().unwrap_or_default();
        let replayed = place.ask(&format!("replay {sample}"));
        assert_eq!(replayed.code, Some(0), "{replayed}");
    }
    place.get("check --data");
}

/// One yes of a person paid once a sample.
#[test]
fn an_approval_is_not_carried_into_the_call_that_it_allowed() {
    let flow = "import { defineFlow } from \"@flow-state-dev/core\";\nimport { Activity, Agent, Tool } from \"acts\";\n\
        Tool.register(\"pay\", { properties: { amount: {}, _outputPath: { type: \"string\" } } });\n\
        Activity.register(\"pay\", ({ amount }) => amount);\n\
        const agent = Agent({ name: \"agent\", model: \"m\", context: () => [{ type: \"tool\", tool: \"pay\" }], confirm: true });\n\
        export default defineFlow({ kind: \"main\", actions: { go: { block: agent } } });\n";
    let solution = |calls: Value, output: Value| json!({ "structuredOutput": { "calls": calls, "output": output } });
    let calls = json!([{ "_tool": "pay", "amount": 5, "_outputPath": "†state.paid" }]);
    let replies =
        json!({ "generators": { "agent": [solution(calls, Value::Null), solution(json!([]), json!("done"))] } });
    let place = Place::new().file("flows/main.ts", flow).file("flows/main.mock.json", &replies.to_string());
    assert_eq!(place.ask("run main go --user ada --request r --mock").code, Some(4));
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    let blocks = place.get("show r")["blocks"].as_array().cloned().unwrap_or_default();
    let path = |part: &str| {
        let ends = blocks.iter().filter_map(|block| block["path"].as_str()).find(|path| path.ends_with(part));
        ends.unwrap_or_else(|| panic!("{part} in {blocks:?}")).to_owned()
    };
    for at in [path("activity:pay"), path("call:pay[0]")] {
        let plan = tried(&place, &at, &["--set", "session.x=1", "--plan"]).json();
        assert_eq!(plan["asksAgain"], json!([path("call:pay[0]")]), "{plan}");
        let found = tried(&place, &at, &["--set", "session.x=1", "--samples", "2"]).json();
        for arm in [&found["base"], &found["arms"][0]] {
            assert_eq!((&arm["summary"]["waiting"], &arm["summary"]["n"]), (&json!(2), &json!(0)), "{at}: {found}");
        }
        let sample = found["arms"][0]["samples"][0]["requestId"].as_str().unwrap_or_default();
        let approved = place.ask(&format!("resume {sample} --approve"));
        assert_eq!(approved.code, Some(0), "{approved}");
        assert_eq!(place.ask(&format!("replay {sample}")).code, Some(0));
    }
}

#[test]
fn an_approval_of_a_tool_is_not_carried_into_the_tool() {
    let tool = r#"const send = handler({ name: "send", inputSchema: any, outputSchema: any, execute: (i) => `sent ${i.n}` });
const pay = sequencer({ name: "pay", description: "Pays.", inputSchema: z.object({ n: z.number() }), approval: { required: true } } as any).step(send);
const agent = generator({ name: "agent", model: "small", inputSchema: any, prompt: "p", user: "u", tools: [pay], maxIterations: 3 } as any);
export default defineFlow({ kind: "it", actions: { go: { inputSchema: any, block: agent } } });
"#;
    let replies = json!({ "generators": { "agent": [{ "toolCalls": [{ "name": "pay", "args": { "n": 5 } }] }, { "text": "done" }, { "text": "done" }, { "text": "done" }] } });
    let place =
        Place::new().file("flows/it.ts", &format!("{HEAD}{tool}")).file("flows/it.mock.json", &replies.to_string());
    let asks = place.ask("run it go --user ada --request r --mock");
    assert_eq!(asks.code, Some(4), "{asks}");
    assert_eq!(place.ask("resume r --approve").code, Some(0));
    let blocks = place.get("show r")["blocks"].as_array().cloned().unwrap_or_default();
    let send = blocks.iter().filter_map(|block| block["path"].as_str()).find(|path| path.ends_with("step:send"));
    let found = tried(&place, send.expect("it ran"), &["--set", "session.x=1"]);
    assert_eq!(found.json()["arms"][0]["samples"][0]["status"], "suspended", "{found}");
}

/// A request that a provider refuses for now.
fn busy() -> Reply {
    let refusal = Reply::body("application/json", r#"{"error":{"message":"slow down"}}"#).status(429);
    refusal.header("retry-after-ms", "5")
}

/// A budget that ended while samples were scored was not told, and a refused request was no call.
#[test]
fn a_budget_covers_scores_and_refused_requests() {
    let texts = ["1", "2", "3", "4", "0.5"].map(Reply::text);
    let (place, server) = ran(CHAIN, texts.into_iter().chain((0..20).map(|_| busy())));
    place.write("judge.md", "Judge it.");
    let judged = ["--score-model", "small", "--score-prompt", &place.dir().join("judge.md").display().to_string()]
        .map(str::to_owned);
    let judged: Vec<&str> = judged.iter().map(String::as_str).collect();
    let found = tried(
        &place,
        "root/step:price",
        &[&judged[..], &["--model", "large", "--jobs", "1", "--budget", "3"]].concat(),
    );
    let view = found.json();
    assert_eq!(
        (&view["stopped"], &view["missing"], &view["unscored"]),
        (&json!("budget"), &json!(0), &json!(1)),
        "{found}"
    );
    assert_eq!(server.asked().len(), 5);
    let id = view["id"].as_str().unwrap_or_default();
    let shown = place.run(&["try", "--go-on", id, "--budget", "6"]);
    assert!(shown.stdout.contains("the budget is spent: 1 sample not scored"), "{shown}");
    assert!(shown.stdout.contains("score (95 % interval)"), "{shown}");
    // Three requests were left, and each was refused.
    assert_eq!(server.asked().len(), 8);
    let again = place.run(&["--json", "try", "--go-on", id, "--budget", "7"]).json();
    assert_eq!((&again["stopped"], server.asked().len()), (&json!("budget"), 9));
}

/// What an earlier part of an experiment spent that no log tells counts, whether or not that had a budget.
#[test]
fn refused_requests_are_counted_each_time_that_it_goes_on() {
    let samples = (0..5).flat_map(|_| [busy(), Reply::text("5")]);
    let (place, server) = ran(CHAIN, replies(2, "1").chain(samples));
    let view = tried(&place, "root/step:price", &["--model", "large", "--jobs", "1"]).json();
    let id = view["id"].as_str().unwrap_or_default();
    assert_eq!(server.asked().len(), 6, "{view}");
    let more = place.run(&["--json", "try", "--go-on", id, "--samples", "2"]).json();
    assert_eq!((&more["missing"], server.asked().len()), (&json!(0), 10), "{more}");
    // Four samples took eight requests.
    let last = place.run(&["--json", "try", "--go-on", id, "--samples", "3", "--budget", "9"]).json();
    assert_eq!((&last["stopped"], server.asked().len()), (&json!("budget"), 11), "{last}");
}

#[test]
fn an_experiment_whose_requests_were_deleted_does_not_go_on() {
    let (place, _server) = ran(CHAIN, replies(4, "5"));
    let view = tried(&place, "root/step:price", &["--model", "large"]).json();
    let id = view["id"].as_str().unwrap_or_default();
    let (requests, samples) = (place.get("requests"), place.get("requests --filter is:sample"));
    let rows = [requests, samples].into_iter().flat_map(|rows| rows.as_array().cloned().expect("rows"));
    let rows: Vec<Value> = rows.collect();
    let rows = rows.iter();
    let mut sessions: Vec<&str> = rows.filter_map(|row| row["sessionId"].as_str()).collect();
    // A session goes after those that were forked from it.
    sessions.sort_by_key(|session| !session.starts_with("fork_"));
    sessions.iter().for_each(|session| drop(place.get(&format!("delete --session {session}"))));
    let shown = place.run(&["experiments", id]);
    assert!(shown.stdout.contains("2 samples were deleted") && !shown.stdout.contains("--go-on"), "{shown}");
}

/// The failure by the stop, and the continuation, were items of a sample that went on.
#[test]
fn a_sample_that_was_stopped_and_goes_on_has_the_score_of_one_that_was_not() {
    // The run, then base and arm of each experiment: no other sample shares the second call of the arm.
    let all = ["5", "5", "5", "5", "6", "7", "5", "5", "6", "7"];
    let (place, _server) = ran(CHAIN, all.map(Reply::text));
    let flags = ["--model", "large", "--score", "items.length", "--jobs", "1"];
    let whole = tried(&place, "root/step:read", &flags).json();
    let stopped = tried(&place, "root/step:read", &[&flags[..], &["--budget", "3"]].concat()).json();
    assert_eq!((&stopped["stopped"], &stopped["missing"]), (&json!("budget"), &json!(1)), "{stopped}");
    let id = stopped["id"].as_str().unwrap_or_default();
    let done = place.run(&["--json", "try", "--go-on", id, "--budget", "9"]).json();
    let score = |view: &Value| view["arms"][0]["samples"][0]["score"].clone();
    assert!(score(&whole).is_number());
    assert_eq!(score(&done), score(&whole), "{done}");
}
