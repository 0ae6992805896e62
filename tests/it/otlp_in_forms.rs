//! Received traces of other programs: all forms of calls, tools and usage, and missing or duplicate data.

use serde_json::{Value, json};
use tests::bench::{Answer, Place, repository};
use tests::spans::{
    attributes, call, chat, event, imported, model_calls, returned, said, span, trace_id, wanted, with,
};

fn fixture(name: &str) -> Place {
    let file = repository().join("tests/fixtures/otlp").join(name);
    imported(&std::fs::read_to_string(&file).expect("the fixture is there"))
}

/// One span that calls a model, with these attributes and events.
fn one_call(fields: &Value, events: &[Value]) -> (Place, Vec<Value>) {
    let mut one = span(1, (1, 0), "chat", (0, 100), fields);
    one["events"] = events.into();
    let place = imported(&call(&[one]));
    let calls = model_calls(&place, &trace_id(1));
    (place, calls)
}

/// The prompt of a call, as roles and texts.
fn prompt(call: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let messages = call["request"]["messages"].as_array().expect("a list");
    messages.iter().map(|message| (text(&message["role"]), text(&message["content"]))).collect()
}

fn pairs(wanted: &[(&str, &str)]) -> Vec<(String, String)> {
    wanted.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

fn items(place: &Place, request: &str) -> Vec<Value> {
    place.get(&format!("items --request {request}")).as_array().expect("a list").clone()
}

#[test]
fn a_conversation_of_several_traces_is_in_the_order_of_their_times() {
    let turn = |trace: u64, at: u64, text: &str| {
        let fields = with(chat(&[said("user", text)], &[said("assistant", "yes")]), &json!({ "session.id": "c" }));
        call(&[span(trace, (1, 0), "chat", (at, at + 10), &fields)])
    };
    let place = imported(&[turn(3, 3_000, "third"), turn(1, 1_000, "first")].concat());
    place.write("late.jsonl", turn(2, 2_000, "second"));
    place.get("import late.jsonl");
    let newest: Vec<Value> =
        place.get("requests --session otlp-c").as_array().expect("rows").iter().map(|row| row["id"].clone()).collect();
    assert_eq!(newest, [trace_id(3), trace_id(2), trace_id(1)]);
    let said = place.run(&["session", "otlp-c"]).stdout;
    let at = |word: &str| said.find(&format!("user: {word}")).unwrap_or_else(|| panic!("{word} is missing: {said}"));
    assert!(at("first") < at("second") && at("second") < at("third"), "{said}");
}

#[test]
fn several_choices_of_an_answer_stay_separate() {
    let mut second = said("assistant", "SECOND");
    second["finish_reason"] = "length".into();
    let mut first = said("assistant", "first");
    first["finish_reason"] = "stop".into();
    let (place, calls) = one_call(&chat(&[said("user", "hi")], &[first, second]), &[]);
    let result = &calls[0]["result"];
    assert_eq!((&result["text"], &result["finishReason"]), (&json!("first"), &json!("stop")), "{result:#}");
    assert_eq!(result["otherChoices"], json!([{ "text": "SECOND", "finishReason": "length" }]));
    let logs = place.get(&format!("block {} root", trace_id(1)))["logs"].to_string();
    assert!(logs.contains("2 choices"), "{logs}");
    assert_eq!(place.get(&format!("show {}", trace_id(1)))["output"], "first");
}

#[test]
fn messages_are_read_wherever_conventions_have_them() {
    let bare = json!({
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "m",
    });
    let details = json!({
        "gen_ai.input.messages": [said("user", "hi")], "gen_ai.output.messages": [said("assistant", "yo")],
        "gen_ai.system_instructions": [{ "type": "text", "content": "be kind" }],
        "gen_ai.tool.definitions": [{ "type": "function", "name": "f", "parameters": { "type": "object" } }],
    });
    let (_, calls) = one_call(&bare, &[event("gen_ai.client.inference.operation.details", &details)]);
    assert_eq!(prompt(&calls[0]), pairs(&[("system", "be kind"), ("user", "hi")]));
    assert_eq!((&calls[0]["result"]["text"], &calls[0]["request"]["tools"][0]["name"]), (&json!("yo"), &json!("f")));

    let old = [
        event("gen_ai.user.message", &json!({ "content": "old user" })),
        event("gen_ai.choice", &json!({ "index": 0, "finish_reason": "stop", "message": { "content": "old answer" } })),
    ];
    let (_, calls) = one_call(&bare, &old);
    assert_eq!(prompt(&calls[0]), pairs(&[("user", "old user")]));
    assert_eq!(calls[0]["result"]["text"], "old answer", "{calls:#?}");

    let azure = |name: &str, content: Value| {
        event(name, &json!({ "gen_ai.system": "az.ai.inference", "gen_ai.event.content": content }))
    };
    let azure = [
        azure("gen_ai.system.message", json!({ "role": "system", "content": "sys" })),
        azure("gen_ai.user.message", json!({ "role": "user", "content": "user" })),
        azure("gen_ai.choice", json!({ "message": { "content": "az answer" }, "finish_reason": "stop", "index": 0 })),
    ];
    let fields = json!({ "gen_ai.operation.name": "chat", "gen_ai.system": "az", "gen_ai.request.model": "m" });
    let (_, calls) = one_call(&fields, &azure);
    assert_eq!(prompt(&calls[0]), pairs(&[("system", "sys"), ("user", "user")]));
    assert_eq!(calls[0]["result"]["text"], "az answer", "{calls:#?}");

    let inference = |more: Value| with(json!({ "openinference.span.kind": "LLM", "llm.model_name": "x" }), &more);
    for (fields, wanted) in [
        (json!({ "input.value": "plain prompt", "output.value": "plain answer" }), ("plain prompt", "plain answer")),
        (
            json!({ "llm.prompts.0.prompt.text": "once", "llm.choices.0.completion.text": "a time", "input.value": "{}" }),
            ("once", "a time"),
        ),
    ] {
        let (_, calls) = one_call(&inference(fields), &[]);
        assert_eq!(prompt(&calls[0]), pairs(&[("user", wanted.0)]));
        assert_eq!(calls[0]["result"]["text"], wanted.1);
    }
    // Values in an unknown form become the input and output of the block.
    let (place, _) = one_call(&inference(json!({ "input.value": { "a": 1 }, "output.value": { "b": 2 } })), &[]);
    let shown = place.get(&format!("show {}", trace_id(1)));
    assert_eq!((&shown["input"], &shown["output"]), (&json!({ "a": 1 }), &json!({ "b": 2 })), "{shown:#}");
}

#[test]
fn openai_agents_through_logfire_are_read_with_their_tools() {
    let place = fixture("logfire-openai-agents.jsonl");
    let request = place.get("requests")[0]["id"].as_str().expect("an id").to_owned();
    let calls = model_calls(&place, &request);
    assert_eq!(prompt(&calls[0]), pairs(&[("system", "Answer briefly."), ("user", "Weather in Paris and Oslo?")]));
    assert_eq!(calls[0]["result"]["reasoning"], "I need both cities.", "{calls:#?}");
    assert_eq!(calls[0]["result"]["toolCalls"].as_array().map(Vec::len), Some(2), "{calls:#?}");
    assert_eq!(calls[0]["request"]["tools"][0]["name"], "get_weather");
    let roles: Vec<String> = prompt(&calls[1]).into_iter().map(|(role, _)| role).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"], "{calls:#?}");
    assert_eq!(calls[1]["result"]["text"], "Paris 21, Oslo 5.");
    let shown = place.get(&format!("show {request}"));
    let tool = shown["blocks"].as_array().expect("blocks").iter().find(|block| block["name"] == "get_weather");
    let tool = tool.unwrap_or_else(|| panic!("{shown:#}"));
    assert_eq!((&tool["input"], &tool["output"]), (&json!({ "city": "Paris" }), &json!("sunny in Paris")));
    assert!(!shown.to_string().contains("{name}"), "{shown:#}");
    assert_eq!(shown["request"]["action"], "OpenAI Agents trace: Agent workflow");
    assert!(items(&place, &request).iter().all(|item| item["status"] == "completed"));
}

#[test]
fn usage_on_several_spans_is_counted_once() {
    let tokens = |place: &Place| {
        let row = &place.get("requests")[0];
        (row["totals"]["modelCalls"].clone(), row["tokens"].clone())
    };
    // The answer of a stream is a separate span.
    assert_eq!(tokens(&fixture("logfire-openai-stream.jsonl")), (json!(1), json!(76)));
    let usage = json!({ "gen_ai.usage.input_tokens": 33, "gen_ai.request.model": "e", "gen_ai.provider.name": "p" });
    let embeds = with(json!({ "gen_ai.operation.name": "embeddings" }), &usage);
    assert_eq!(tokens(&imported(&call(&[span(1, (1, 0), "embed", (0, 10), &embeds)]))), (json!(1), json!(33)));
    let agent = with(
        chat(&[said("user", "q")], &[said("assistant", "a")]),
        &json!({ "gen_ai.operation.name": "invoke_agent" }),
    );
    let alone = [span(1, (1, 0), "agent", (0, 10), &agent)];
    assert_eq!(tokens(&imported(&call(&alone))), (json!(1), json!(15)));
    let inner = span(1, (2, 1), "chat", (1, 9), &chat(&[said("user", "q")], &[said("assistant", "a")]));
    let both = imported(&call(&[alone[0].clone(), inner]));
    assert_eq!(tokens(&both), (json!(1), json!(15)));
}

#[test]
fn calls_of_tools_without_an_id_end_with_their_results() {
    let given = json!({ "a": 1 });
    let asked = [said("user", "q"), wanted("", "get", &given)];
    let then = [&asked[..], &[returned("", &json!("42"))]].concat();
    let tool = json!({
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get", "gen_ai.tool.call.arguments": given,
        "gen_ai.tool.call.result": "42",
    });
    for has_span in [true, false] {
        let mut spans = vec![
            span(1, (1, 0), "agent", (0, 400), &json!({})),
            span(1, (2, 1), "chat", (10, 100), &chat(&asked[..1], &asked[1..])),
            span(1, (4, 1), "chat", (160, 300), &chat(&then, &[wanted("", "final_result", &json!({ "x": 1 }))])),
        ];
        if has_span {
            spans.push(span(1, (3, 1), "execute_tool", (110, 150), &tool));
        }
        let place = imported(&call(&spans));
        let all = items(&place, &trace_id(1));
        let tools: Vec<&Value> = all.iter().filter(|item| item["type"] == "block_tool_output").collect();
        assert_eq!((tools.len(), &tools[0]["output"]), (2, &json!("42")), "{all:#?}");
        // No item is in progress in a request that has ended.
        assert!(tools.iter().all(|item| item["status"] == "completed"), "{all:#?}");
    }
}

#[test]
fn a_trace_without_its_root_span_ends() {
    let fields = chat(&[said("user", "q")], &[said("assistant", "a")]);
    let spans = [span(1, (1, 99), "served", (0, 500), &json!({})), span(1, (2, 1), "chat", (10, 100), &fields)];
    let place = imported(&call(&spans));
    let shown = place.get(&format!("show {}", trace_id(1)));
    assert_eq!((&shown["request"]["status"], &shown["output"]), (&json!("completed"), &json!("a")), "{shown:#}");
    let logs = place.get(&format!("block {} root", trace_id(1)))["logs"].to_string();
    assert!(logs.contains("did not arrive") && logs.contains("beginning of the request"), "{logs}");
    // A root span that arrives later becomes the parent.
    place.write("late.jsonl", call(&[span(1, (99, 0), "gateway", (0, 600), &json!({}))]));
    place.get("import late.jsonl");
    let shown = place.get(&format!("show {}", trace_id(1)));
    let paths: Vec<&Value> = shown["blocks"].as_array().expect("blocks").iter().map(|block| &block["path"]).collect();
    assert_eq!(paths, ["root", "root/step:served", "root/step:served/step:chat"]);
}

#[test]
fn two_spans_of_one_id_are_both_shown() {
    let first = span(1, (1, 0), "first", (0, 50), &json!({ "x": "one" }));
    let second = span(1, (1, 0), "second", (0, 90), &json!({ "x": "two" }));
    let place = imported(&call(&[first.clone(), second.clone(), first.clone()]));
    let events = place.get(&format!("events {}", trace_id(1)));
    let other = imported(&call(&[second, first]));
    assert_eq!(events.as_array().map(Vec::len), other.get(&format!("events {}", trace_id(1))).as_array().map(Vec::len));
    let text = events.to_string();
    assert!(text.contains("\"one\"") && text.contains("\"two\""), "{text}");
    assert!(text.contains("several spans have the id 0000000000000001"), "{text}");
}

#[test]
fn log_records_and_metrics_beside_spans_are_skipped_or_read() {
    let fields = json!({ "gen_ai.operation.name": "chat", "gen_ai.system": "openai", "gen_ai.request.model": "m" });
    let spans = call(&[span(1, (1, 0), "chat", (0, 100), &fields)]);
    let metrics = json!({ "resourceMetrics": [{ "resource": {}, "scopeMetrics": [] }] }).to_string() + "\n";
    let record = |name: &str, body: Value| {
        json!({
            "timeUnixNano": "1795941000000000000", "eventName": name, "body": body, "traceId": trace_id(1),
            "spanId": format!("{:016x}", 1), "attributes": attributes(&json!({ "gen_ai.system": "openai" })),
        })
    };
    let fields = |fields: Value| json!({ "kvlistValue": { "values": attributes(&fields) } });
    let records = [
        record("gen_ai.user.message", fields(json!({ "content": "from a log" }))),
        record("gen_ai.choice", fields(json!({ "index": 0, "finish_reason": "stop", "message": { "content": "yo" } }))),
        record("other", json!({ "stringValue": "a line" })),
    ];
    let logs = json!({ "resourceLogs": [{ "scopeLogs": [{ "logRecords": records }] }] }).to_string() + "\n";
    let place = Place::new();
    for lines in [[&*metrics, &spans, &logs].concat(), [&*logs, &metrics, &spans].concat()] {
        place.write("mix.jsonl", lines);
        let done = place.get("import mix.jsonl");
        assert_eq!(done["skipped"], 2, "{done}");
        let calls = model_calls(&place, &trace_id(1));
        assert_eq!(prompt(&calls[0]), pairs(&[("user", "from a log")]), "{calls:#?}");
        assert_eq!(calls[0]["result"]["text"], "yo", "{calls:#?}");
    }
    let said = place.run(&["import", "mix.jsonl"]);
    assert!(said.stderr.contains("log records and metrics are skipped: 2"), "{said}");
    place.write("metrics.jsonl", metrics);
    let refused = place.ask("import metrics.jsonl");
    assert!(refused.code == Some(7) && refused.stderr.contains("only log records and metrics"), "{refused}");
}

#[test]
fn commands_say_what_a_trace_lacks() {
    let (place, _) = one_call(&chat(&[said("user", "q")], &[said("assistant", "a")]), &[]);
    let request = trace_id(1);
    let says = |answer: Answer, words: &str| assert!(answer.to_string().contains(words), "{words}: {answer}");
    says(place.ask(&format!("state --request {request}")), "which has no state");
    let session = place.get("requests")[0]["sessionId"].as_str().expect("a session").to_owned();
    for [of, id] in [["--request", &*request], ["--session", &*session], ["--user", "otlp"]] {
        for more in [&[][..], &["--json"]] {
            let answer = place.run(&[&["state", of, id], more].concat());
            assert_eq!(answer.code, Some(7), "{of}: {answer}");
            says(answer, "which has no state");
        }
    }
    says(place.ask(&format!("history {request} --path session.x")), "which has no state");
    says(place.run(&["show", &request]), "received as a trace (OpenTelemetry GenAI)");
    let verified = place.run(&["verify", "--request", &request]);
    says(place.run(&["verify", "--request", &request]), "neither its code nor its state");
    assert!(verified.to_string().contains("1 not comparable"), "{verified}");
}

#[test]
fn a_trace_is_exported_unchanged() {
    let mut root = span(7, (1, 0), "root", (0, 500), &json!({ "own.attribute": "kept", "n": 3, "half": 0.5 }));
    root["startTimeUnixNano"] = "1795941000000000123".into();
    root["links"] = json!([{ "traceId": trace_id(8), "spanId": format!("{:016x}", 9), "attributes": [] }]);
    (root["links"][0]["traceState"], root["links"][0]["flags"], root["flags"]) = ("a=b".into(), 1.into(), 257.into());
    root["events"] = json!([event("happened", &json!({ "what": "this" }))]);
    root["events"][0]["droppedAttributesCount"] = 2.into();
    let bytes = json!([{ "key": "base64", "value": { "stringValue": "aGk=" } }]);
    let list = json!([{ "intValue": "1" }, { "doubleValue": 3.0 }]);
    let more = [
        json!({ "key": "whole", "value": { "doubleValue": 2.0 } }),
        json!({ "key": "list", "value": { "arrayValue": { "values": list } } }),
        json!({ "key": "fields", "value": { "kvlistValue": { "values": bytes } } }),
        json!({ "key": "bytes", "value": { "bytesValue": "aGk=" } }),
    ];
    root["attributes"].as_array_mut().expect("attributes").extend(more);
    let line = call(&[root, span(7, (2, 1), "inner", (10, 20), &json!({}))]);
    let mut line: Value = serde_json::from_str(&line).expect("a call");
    line["resourceSpans"][0]["schemaUrl"] = "https://resource".into();
    line["resourceSpans"][0]["scopeSpans"][0]["schemaUrl"] = "https://scope".into();
    let place = imported(&(line.to_string() + "\n"));
    place.get(&format!("export --request {} --otlp out.jsonl", trace_id(7)));
    let other = Place::new();
    other.write("out.jsonl", std::fs::read(place.dir().join("out.jsonl")).expect("it is there"));
    assert_eq!(other.get("import out.jsonl")["requests"], json!([trace_id(7)]));
    let spans = |place: &Place| -> Vec<Value> {
        let events = place.get(&format!("events {}", trace_id(7)));
        let all = events.as_array().expect("events").iter();
        all.filter(|event| event["kind"] == "span_received").map(|event| event["payload"]["span"].clone()).collect()
    };
    assert_eq!(spans(&other), spans(&place));
    let exact = &spans(&other)[0]["otlp"];
    assert_eq!(
        (&exact["doubles"], &exact["fields"], &exact["flags"]),
        (&json!(["/attributes/whole", "/attributes/list/1"]), &json!(["/attributes/fields"]), &json!(257))
    );
    assert_eq!((&exact["droppedOfEvents"], &exact["links"][0]["flags"]), (&json!([[0, 2]]), &json!(1)));
    let scopes = |place: &Place| {
        let events = place.get(&format!("events {} --kind request_started", trace_id(7)));
        events[0]["payload"]["foreign"]["scopes"].clone()
    };
    assert_eq!(scopes(&other), scopes(&place));
    assert_eq!(scopes(&other)[0]["otlp"]["resource"]["schemaUrl"], "https://resource", "{}", scopes(&other));
    assert_eq!(other.get("requests")[0]["flow"], "svc");
}
