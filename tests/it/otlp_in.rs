//! Traces of other programs, from files: real emitters' spans become requests that everything shows, and what cannot be
//! done with them is said.

use serde_json::{Value, json};
use tests::agent::Agent;
use tests::bench::{Place, repository};
use tests::spans::model_calls;

/// What an emitter sent, as a collector's file exporter writes it.
fn fixture(name: &str) -> String {
    let file = repository().join("tests/fixtures/otlp").join(name);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A place into which a fixture was imported, and the request that it became.
fn imported(name: &str) -> (Place, String) {
    let place = Place::new();
    place.write("trace.jsonl", fixture(name));
    let imported = place.get("import trace.jsonl");
    assert_eq!(imported["imported"], true, "{imported}");
    let requests = imported["requests"].as_array().expect("it is there");
    assert_eq!(requests.len(), 1, "{imported}");
    let request = requests[0].as_str().expect("it is there").to_owned();
    (place, request)
}

const ANSWER: &str = "It is 21 degrees and sunny in Paris.";

/// Each emitter, by its fixture: how it is called, how many model calls there are, and whether it tells of the tool.
const EMITTERS: [(&str, &str, usize, bool); 10] = [
    ("openinference-langgraph.jsonl", "OpenInference", 2, true),
    ("openinference-openai-agents.jsonl", "OpenInference", 2, true),
    ("vercel-ai-5.jsonl", "Vercel AI SDK", 2, true),
    ("vercel-ai-7.jsonl", "Vercel AI SDK", 2, true),
    ("langsmith-langgraph.jsonl", "LangSmith", 2, true),
    ("logfire-pydantic-ai.jsonl", "Pydantic Logfire", 2, true),
    ("openllmetry-0.30.jsonl", "OpenLLMetry", 2, true),
    ("openllmetry-0.62.jsonl", "OpenLLMetry", 1, false),
    ("genai-1.36-events.jsonl", "OpenTelemetry GenAI", 1, false),
    ("genai-1.37.jsonl", "OpenTelemetry GenAI", 1, false),
];

#[test]
fn every_emitter_s_calls_are_read_with_prompt_answer_and_tokens_once() {
    for (name, emitter, count, has_tool) in EMITTERS {
        let (place, request) = imported(name);
        let rows = place.get("requests");
        assert_eq!(rows[0]["id"], request.as_str(), "{name}: {rows}");
        assert_eq!(rows[0]["receivedFrom"], emitter, "{name}");
        assert_eq!(rows[0]["status"], "completed", "{name}: {rows}");
        // Tokens that wrappers repeat are counted once.
        assert_eq!(rows[0]["tokens"], json!(76 * count), "{name}: {rows}");
        let calls = model_calls(&place, &request);
        assert_eq!(calls.len(), count, "{name}: {calls:#?}");
        for call in &calls {
            assert_eq!(call["tokens"]["input"], 64, "{name}: {call:#}");
            assert!(call["model"].as_str().expect("it is there").starts_with("gpt-"), "{name}: {call:#}");
            let messages = call["request"]["messages"].as_array().expect("it is there");
            assert_eq!(messages[0]["role"], "system", "{name}: {call:#}");
            assert!(messages[0].to_string().contains("Answer briefly."), "{name}: {call:#}");
            assert!(messages[1].to_string().contains("What is the weather in Paris?"), "{name}: {call:#}");
        }
        assert_eq!(calls[count - 1]["result"]["text"], ANSWER, "{name}: {:#}", calls[count - 1]);
        if has_tool {
            let tool = &calls[0]["result"]["toolCalls"][0];
            assert_eq!((&tool["name"], &tool["args"]), (&json!("get_weather"), &json!({ "city": "Paris" })), "{name}");
            let last =
                calls[1]["request"]["messages"].as_array().expect("it is there").last().expect("it is there").clone();
            assert_eq!(last["role"], "tool", "{name}: {last:#}");
            assert_eq!(last["content"][0]["toolCallId"], "call_weather_1", "{name}: {last:#}");
        }
        let items = place.get(&format!("items --request {request} --view client"));
        let said: Vec<&str> = items
            .as_array()
            .expect("it is there")
            .iter()
            .filter(|item| item["type"] == "message")
            .map(|item| item["role"].as_str().expect("it is there"))
            .collect();
        assert_eq!(said, ["user", "assistant"], "{name}: {items:#}");
        let sound = place.run(&["check", "--data", place.database().to_str().expect("it is there"), "--json"]);
        assert_eq!(sound.json()["ok"], true, "{name}: {sound}");
    }
}

#[test]
fn a_trace_is_searched_listed_filtered_tagged_and_exported_as_a_run_is() {
    let (place, request) = imported("vercel-ai-5.jsonl");
    let row = &place.get("requests")[0];
    assert_eq!((&row["flow"], &row["action"]), (&json!("weather-vercel"), &json!("ai.generateText")));
    assert_eq!((&row["sessionId"], &row["userId"]), (&json!("otlp-session-5"), &json!("ada")));
    let hits = place.get("search Paris");
    assert!(hits.as_array().expect("it is there").iter().any(|hit| hit["requestId"] == request.as_str()), "{hits:#}");
    // What no table names is kept, shown and found.
    let hits = place.get("search ai.telemetry.functionId");
    assert!(!hits.as_array().expect("it is there").is_empty(), "{hits:#}");
    let tree = place.run(&["show", &request, "--tree"]);
    assert!(tree.stdout.contains("ai.generateText.doGenerate") && tree.stdout.contains("get_weather"), "{tree}");
    let found = place.run(&["show", &request, "--tree", "--filter", "kind:generator"]);
    assert!(found.stdout.contains("doGenerate"), "{found}");
    place.get(&format!("tag {request} +weather --title Weather"));
    assert_eq!(place.get("requests --tag weather")[0]["title"], "Weather");
    place.get(&format!("export --request {request} --out one.flowglass"));
    let other = Place::new();
    other.write("one.flowglass", std::fs::read(place.dir().join("one.flowglass")).expect("it is there"));
    assert_eq!(other.get("import one.flowglass")["imported"], true);
    assert_eq!(other.get("requests")[0]["receivedFrom"], "Vercel AI SDK");
}

#[test]
fn what_cannot_be_done_with_a_trace_is_said() {
    let (place, request) = imported("vercel-ai-5.jsonl");
    for command in
        ["resume R", "retry R", "fork R --at 5", "replay R", "keep R --as r.run", "coverage R", "step R --at root"]
    {
        let answer = place.ask(&command.replace('R', &request));
        assert_eq!(answer.code, Some(7), "{command}: {answer}");
        for words in ["was received as a trace (Vercel AI SDK)", "neither its code nor its state", "flowglass runnable"]
        {
            assert!(answer.stderr.contains(words), "{command}: {answer}");
        }
    }
}

#[test]
fn the_same_file_twice_changes_nothing() {
    let (place, request) = imported("openinference-langgraph.jsonl");
    let before = place.get(&format!("events {request}"));
    let again = place.get("import trace.jsonl");
    assert_eq!(again["imported"], false, "{again}");
    assert_eq!(place.get(&format!("events {request}")), before);
    assert_eq!(place.get("requests").as_array().expect("it is there").len(), 1);
}

#[test]
fn late_spans_in_any_order_make_the_same_log_and_keep_tags() {
    let (whole, request) = imported("vercel-ai-5.jsonl");
    let call: Value =
        serde_json::from_str(fixture("vercel-ai-5.jsonl").lines().next().expect("it is there")).expect("it is there");
    let spans = call["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("it is there").clone();
    let place = Place::new();
    for (at, span) in spans.iter().rev().enumerate() {
        let mut one = call.clone();
        one["resourceSpans"][0]["scopeSpans"][0]["spans"] = json!([span]);
        place.write("one.jsonl", one.to_string());
        assert_eq!(place.get("import one.jsonl")["imported"], true);
        if at == 0 {
            place.get(&format!("tag {request} +kept"));
        }
    }
    assert_eq!(plain(place.get(&format!("events {request}"))), plain(whole.get(&format!("events {request}"))));
    assert_eq!(place.get("requests --tag kept")[0]["id"], request.as_str());
    let sound = place.run(&["check", "--data", place.database().to_str().expect("it is there"), "--json"]);
    assert_eq!(sound.json()["ok"], true, "{sound}");
}

/// Events without the process that wrote them.
fn plain(mut events: Value) -> Value {
    for event in events.as_array_mut().expect("it is there") {
        if let Some(payload) = event["payload"].as_object_mut() {
            payload.remove("owner");
        }
    }
    events
}

#[test]
fn a_trace_becomes_a_flow_whose_run_repeats_its_model_calls() {
    for name in ["vercel-ai-5.jsonl", "openllmetry-0.30.jsonl", "logfire-pydantic-ai.jsonl", "vercel-ai-7.jsonl"] {
        let (place, request) = imported(name);
        let made = place.get(&format!("runnable {request} --as weather"));
        let files = ["flows/weather.ts", "flows/weather.mock.json", "flows/weather.input.json"];
        assert_eq!(made["files"], json!(files), "{name}");
        let run = ["run", "weather", "run", "--user", "ada", "--request", "again", "--mock", "--json"];
        let ran = place.run(&[&run[..], &["--input", "@flows/weather.input.json"]].concat());
        let ran = ran.json();
        assert_eq!(ran["status"], "completed", "{name}: {ran}");
        let output = &place.get(&format!("show {request}"))["output"];
        assert_eq!(ran["output"], *output, "{name}");
        let input = |request: &str| place.get(&format!("show {request}"))["input"].clone();
        assert_eq!(input("again"), input(&request), "{name}");
        let (recorded, repeated) = (model_calls(&place, &request), model_calls(&place, "again"));
        assert_eq!(recorded.len(), repeated.len(), "{name}");
        for (recorded, repeated) in recorded.iter().zip(&repeated) {
            assert_eq!(repeated["request"]["messages"], recorded["request"]["messages"], "{name}");
            assert_eq!(repeated["request"]["model"], recorded["request"]["model"], "{name}");
            for field in ["text", "toolCalls", "usage"] {
                assert_eq!(repeated["result"][field], recorded["result"][field], "{name}");
            }
        }
        // From here on everything works.
        assert_eq!(place.get("replay again")["identical"], true, "{name}");
        let refused = place.ask(&format!("runnable {request} --as weather"));
        assert!(refused.code == Some(7) && refused.stderr.contains("--force"), "{refused}");
    }
}

#[test]
fn our_own_export_comes_back_in() {
    let place = Place::with_examples();
    let input = "{\"message\":\"My invoice is wrong\"}";
    let run = ["run", "support", "triage", "--user", "ada", "--request", "r", "--input", input, "--mock", "--json"];
    assert_eq!(place.run(&run).json()["status"], "completed");
    place.get("export --request r --otlp r.jsonl");
    let other = Place::new();
    other.write("r.jsonl", std::fs::read(place.dir().join("r.jsonl")).expect("it is there"));
    let request = other.get("import r.jsonl")["requests"][0].as_str().expect("it is there").to_owned();
    let (here, there) = (place.get("show r"), other.get(&format!("show {request}")));
    assert_eq!(there["request"]["receivedFrom"], "Flowglass");
    assert_eq!(there["request"]["action"], "support.triage");
    let names = |shown: &Value| -> Vec<String> {
        shown["blocks"]
            .as_array()
            .expect("it is there")
            .iter()
            .map(|block| block["name"].as_str().expect("it is there").to_owned())
            .collect()
    };
    let there = names(&there);
    assert!(names(&here).iter().all(|name| there.contains(name)), "{there:?}");
    assert_eq!(other.get("requests")[0]["tokens"], place.get("requests")[0]["tokens"]);
}

#[test]
fn a_block_shows_the_attributes_of_its_span_whether_a_table_names_them_or_not() {
    let (place, request) = imported("vercel-ai-5.jsonl");
    let span = &place.get(&format!("block {request} root"))["span"];
    assert_eq!(span["attributes"]["ai.telemetry.functionId"], "weather", "{span:#}");
    assert_eq!(span["resource"]["service.name"], "weather-vercel", "{span:#}");
    assert_eq!((&span["scope"]["name"], &span["spanId"].is_string()), (&json!("ai"), &true), "{span:#}");
    let text = place.run(&["block", &request, "root"]);
    let line = |name: &str| text.stdout.lines().find(|line| line.starts_with(name)).map(str::to_owned);
    assert!(line("ai.telemetry.functionId").is_some_and(|line| line.ends_with(" weather")), "{text}");
    assert!(line("resource service.name").is_some_and(|line| line.ends_with(" weather-vercel")), "{text}");
    // A block of a flow has none.
    let place = Place::with_examples();
    let input = "{\"message\":\"My invoice is wrong\"}";
    place.run(&["run", "support", "triage", "--user", "ada", "--request", "r", "--input", input, "--mock", "--json"]);
    assert_eq!(place.get("block r root").get("span"), None);
    assert!(!place.run(&["block", "r", "root"]).stdout.contains("Attributes"));
}

#[test]
fn what_asks_about_a_trace_is_answered_or_says_why_not() {
    let (place, request) = imported("vercel-ai-5.jsonl");
    let model = "root/step:ai.generateText.doGenerate";
    let why = place.run(&["why", &request, "--at", model, "--text", "Paris"]);
    assert!(why.code == Some(0) && why.stdout.contains("the input of the request (/prompt, event 1)"), "{why}");
    place.write("flows/a.ts", "export const x = 1;\n");
    let printed = place.run(&["print", "flows/a.ts:1", "x"]);
    assert!(printed.stdout.contains("no recorded request ran flows/a.ts"), "{printed}");
    let mut agent = Agent::start(place.dir(), &[]);
    let found = agent.get("find", json!({ "what": "text", "text": "Paris" }));
    assert!(found.text.contains(&request), "{}", found.text);
    let look = agent.get("look", json!({ "request": request }));
    assert!(look.text.contains("received as a trace (\"Vercel AI SDK\")"), "{}", look.text);
    let block = agent.get("look", json!({ "request": request, "at": model }));
    assert!(
        block.text.contains("\nspan {\"attributes\":{") && !block.text.contains("\"what\":\"source\""),
        "{}",
        block.text
    );
    let uri = format!("flowglass://request/{request}/block/{}/span?pointer=/resource", model.replace('/', "%2F"));
    let part = agent.get("look", json!({ "uri": uri }));
    assert!(part.text.contains("weather-vercel"), "{}", part.text);
    let why = agent.get("why", json!({ "request": request, "at": model, "value": "prompt:/messages/0/content" }));
    assert!(why.text.contains("input of the request"), "{}", why.text);
    let printed = agent.get("print", json!({ "request": request, "at": "flows/a.ts:1", "expressions": ["x"] }));
    assert!(printed.text.contains("received as a trace, without code"), "{}", printed.text);
    for (tool, arguments, words) in [
        ("look", json!({ "what": "state" }), "has no state"),
        ("look", json!({ "at": 3 }), "has no state"),
        ("look", json!({ "at": model, "what": "source" }), "neither its code nor its state"),
        ("run", json!({ "do": "resume" }), "received as a trace"),
        ("run", json!({ "do": "fork", "at": 3 }), "received as a trace"),
        ("run", json!({ "do": "replay" }), "received as a trace"),
    ] {
        let mut arguments = arguments;
        arguments["request"] = request.as_str().into();
        let refused = agent.refused(tool, arguments.clone());
        assert!(refused.contains(words), "{tool} {arguments}: {refused}");
    }
}
