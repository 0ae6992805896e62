//! Traces of other programs made into flows: their runs repeat what the trace shows, and what it does not show is said.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::spans::{call, chat, imported, model_calls, returned, said, span, trace_id, wanted, with};

/// The request, as it ran in its own program.
const AGENT: &str = "invoke_agent";

/// A trace of model calls one after the other, and what its agent returned.
fn trace(calls: &[Value], output: &str) -> Place {
    let agent = json!({ "gen_ai.operation.name": AGENT, "gen_ai.output.messages": [said("assistant", output)] });
    let mut spans = vec![span(1, (1, 0), AGENT, (0, 1_000), &agent)];
    for (at, fields) in (0..).zip(calls) {
        spans.push(span(1, (at + 2, 1), "chat", (at * 20 + 1, at * 20 + 10), fields));
    }
    imported(&call(&spans))
}

/// Calls that each ask for the next tool; all tools but the last one answered. Without ids the order tells which is
/// which.
fn asking_on(names: &[&str], has_ids: bool, answers: impl Fn(usize) -> Value) -> Vec<Value> {
    let mut history = vec![said("user", "q")];
    let mut calls = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let id = if has_ids { format!("c{at}") } else { String::new() };
        calls.push(chat(&history, &[wanted(&id, name, &json!({}))]));
        history.extend([wanted(&id, name, &json!({})), returned(&id, &answers(at))]);
    }
    calls
}

/// Makes the trace runnable and runs it. Returns what ran.
fn run(place: &Place) -> Value {
    place.get(&format!("runnable {} --as again", trace_id(1)));
    let ran = place.run(&["run", "again", "run", "--user", "me", "--request", "r", "--mock", "--json"]).json();
    assert_eq!(ran["status"], "completed", "{ran:#}");
    assert_eq!(ran["output"], place.get(&format!("show {}", trace_id(1)))["output"], "{ran:#}");
    assert_eq!(place.get("replay r")["identical"], true);
    ran
}

/// Asserts that a run asks for the same messages as the trace.
fn asks_the_same(place: &Place) {
    let (recorded, repeated) = (model_calls(place, &trace_id(1)), model_calls(place, "r"));
    assert_eq!(recorded.len(), repeated.len());
    for (recorded, repeated) in recorded.iter().zip(&repeated) {
        assert_eq!(repeated["request"]["messages"], recorded["request"]["messages"]);
    }
}

fn flow(place: &Place) -> String {
    std::fs::read_to_string(place.dir().join("flows/again.ts")).expect("it is there")
}

#[test]
fn a_tool_that_answers_the_same_arguments_differently_does_so_again() {
    let given = json!({});
    let mut history = vec![said("user", "q")];
    let mut calls = Vec::new();
    for number in 1..=3 {
        let (id, value) = (format!("c{number}"), json!(format!("value {number}")));
        calls.push(chat(&history, &[wanted(&id, "next", &given)]));
        history.extend([wanted(&id, "next", &given), returned(&id, &value)]);
    }
    calls.push(chat(&history, &[said("assistant", "done")]));
    let place = trace(&calls, "done");
    run(&place);
    asks_the_same(&place);
}

#[test]
fn a_text_beside_a_call_of_a_tool_is_no_part_of_the_output() {
    let mut both = wanted("c1", "get", &json!({ "a": 1 }));
    let words = json!({ "type": "text", "content": "let me look" });
    both["parts"].as_array_mut().expect("a list").insert(0, words);
    let asked = vec![said("user", "q")];
    let then = vec![said("user", "q"), both.clone(), returned("c1", &json!({ "v": [1, 2] }))];
    let place = trace(&[chat(&asked, &[both]), chat(&then, &[said("assistant", "done")])], "done");
    assert_eq!(run(&place)["output"], "done");
    asks_the_same(&place);
}

#[test]
fn schemas_of_tools_and_parameters_are_those_of_the_trace() {
    let schema = json!({
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "Which city" },
            "days": { "type": "integer" },
            "unit": { "type": "string", "enum": ["c", "f"] },
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    let tools = [json!({ "type": "function", "name": "weather", "description": "The weather", "parameters": schema })];
    let more = json!({
        "gen_ai.tool.definitions": tools, "gen_ai.request.temperature": 0.25, "gen_ai.request.max_tokens": 300,
        "gen_ai.request.top_p": 0.5,
    });
    // The order of the fields is the model's, not the schema's.
    let given = json!({ "unit": "c", "city": "Paris" });
    let asked = vec![said("user", "q")];
    let then = vec![said("user", "q"), wanted("c1", "weather", &given), returned("c1", &json!("sunny"))];
    let first = with(chat(&asked, &[wanted("c1", "weather", &given)]), &more);
    let place = trace(&[first, with(chat(&then, &[said("assistant", "sunny")]), &more)], "sunny");
    run(&place);
    let call = &model_calls(&place, "r")[0];
    assert_eq!(call["request"]["maxTokens"], 300, "{call:#}");
    let options = &call["request"]["providerOptions"];
    assert_eq!((&options["temperature"], &options["topP"]), (&json!(0.25), &json!(0.5)), "{call:#}");
    let offered = call["request"]["tools"][0].to_string();
    assert!(offered.contains("Which city") && offered.contains("\"enum\":[\"c\",\"f\"]"), "{offered}");
    assert!(offered.contains("\"required\":[\"city\"]"), "{offered}");
}

#[test]
fn traces_of_any_course_run_to_their_end() {
    let asked = vec![said("user", "q")];
    let then = |system: &str, tool: &str| {
        vec![said("system", system), said("user", "q"), wanted("c1", tool, &json!({})), returned("c1", &json!("ok"))]
    };
    let begun = |system: &str| vec![said("system", system), said("user", "q")];
    let mut filtered = said("assistant", "");
    filtered["finish_reason"] = "content_filter".into();
    let long: Value = serde_json::from_str("12345678901234567890").expect("a number");
    let courses: [(&str, Vec<Value>, &str); 8] = [
        ("a tool at the end that nothing answers", asking_on(&["get1", "get2", "get3"], true, |at| json!(at)), "made"),
        (
            "arguments in a list",
            vec![
                chat(&asked, &[wanted("c1", "get", &json!([1, 2]))]),
                chat(
                    &[said("user", "q"), wanted("c1", "get", &json!([1, 2])), returned("c1", &json!("ok"))],
                    &[said("assistant", "fine")],
                ),
            ],
            "fine",
        ),
        (
            "a number that no double is",
            vec![
                chat(&asked, &[wanted("c1", "get", &json!({ "id": long }))]),
                chat(
                    &[said("user", "q"), wanted("c1", "get", &json!({ "id": long })), returned("c1", &json!("ok"))],
                    &[said("assistant", "fine")],
                ),
            ],
            "fine",
        ),
        (
            "a structured answer by a tool",
            vec![chat(&asked, &[wanted("c1", "final_result", &json!({ "x": 1 }))])],
            "one",
        ),
        (
            "a handoff",
            vec![
                chat(&begun("triage"), &[wanted("c1", "transfer", &json!({}))]),
                chat(&then("agent b", "transfer"), &[said("assistant", "from b")]),
            ],
            "from b",
        ),
        (
            "a loop that ends with a tool",
            vec![
                chat(&begun("s"), &[wanted("c1", "get", &json!({}))]),
                chat(&then("s", "get"), &[wanted("c2", "final_result", &json!({}))]),
            ],
            "made of it",
        ),
        ("an empty answer", vec![chat(&asked, &[filtered]), chat(&asked, &[said("assistant", "fine")])], "fine"),
        ("nothing captured", vec![chat(&[], &[])], "unknown"),
    ];
    for (what, calls, output) in courses {
        println!("{what}");
        let place = trace(&calls, output);
        run(&place);
        // The flow has the nearest double.
        if !what.contains("no double") {
            asks_the_same(&place);
        }
    }
}

#[test]
fn tools_that_were_called_without_ids_have_their_own_results() {
    let place = trace(&asking_on(&["poll", "poll", "poll", "poll"], false, |at| json!(format!("result {at}"))), "done");
    let items = place.get(&format!("items --request {}", trace_id(1)));
    let outputs = items.as_array().expect("items").iter().filter(|item| item["type"] == "block_tool_output");
    let outputs: Vec<&Value> = outputs.map(|item| &item["output"]).collect();
    assert_eq!(outputs, [&json!("result 0"), &json!("result 1"), &json!("result 2"), &Value::Null], "{items:#}");
}

#[test]
fn calls_without_messages_are_not_taken_for_retries() {
    let mut failed = span(1, (2, 1), "classify", (1, 10), &chat(&[], &[]));
    failed["status"] = json!({ "code": 2, "message": "refused" });
    let good = span(1, (3, 1), "answer", (20, 30), &chat(&[], &[]));
    let place = imported(&call(&[span(1, (1, 0), AGENT, (0, 100), &json!({})), failed, good]));
    place.get(&format!("runnable {} --as again", trace_id(1)));
    let flow = flow(&place);
    assert!(flow.contains("classify") && flow.contains("answer"), "{flow}");
}

#[test]
fn what_the_trace_does_not_show_is_said_in_the_flow() {
    let place = trace(&[chat(&[], &[])], "unknown");
    run(&place);
    let flow = flow(&place);
    assert!(flow.contains("does not have what the model was asked"), "{flow}");
    assert!(flow.contains("does not have what the model answered"), "{flow}");
}

#[test]
fn a_call_that_was_retried_is_made_once() {
    let mut failed = span(1, (2, 1), "chat", (1, 10), &chat(&[said("user", "q")], &[]));
    failed["status"] = json!({ "code": 2, "message": "overloaded" });
    let good = span(1, (3, 1), "chat", (20, 30), &chat(&[said("user", "q")], &[said("assistant", "a")]));
    let place = imported(&call(&[span(1, (1, 0), AGENT, (0, 100), &json!({})), failed, good]));
    assert_eq!(run(&place)["output"], "a");
}

#[test]
fn a_failure_after_which_the_trace_went_on_is_caught() {
    let asked = [said("user", "q")];
    let mut failed = span(1, (2, 1), "chat a", (1, 10), &chat(&asked, &[]));
    failed["status"] = json!({ "code": 2, "message": "overloaded" });
    let other = with(chat(&asked, &[said("assistant", "fine")]), &json!({ "gen_ai.request.model": "other" }));
    let good = span(1, (3, 1), "chat b", (20, 30), &other);
    let place = imported(&call(&[span(1, (1, 0), AGENT, (0, 100), &json!({})), failed, good]));
    assert_eq!(run(&place)["output"], "fine");
    asks_the_same(&place);
}

#[test]
fn a_trace_that_failed_after_its_calls_fails_again() {
    let mut root = span(1, (1, 0), AGENT, (0, 100), &json!({}));
    root["status"] = json!({ "code": 2, "message": "failed after all" });
    let good = span(1, (2, 1), "chat", (20, 30), &chat(&[said("user", "q")], &[said("assistant", "fine")]));
    let place = imported(&call(&[root, good]));
    place.get(&format!("runnable {} --as again", trace_id(1)));
    let ran = place.run(&["run", "again", "run", "--user", "me", "--request", "r", "--mock", "--json"]);
    let shown = place.get("show r");
    assert_eq!(shown["request"]["status"], "failed", "{ran}");
    assert_eq!(shown["request"]["error"]["message"], "failed after all", "{shown:#}");
    asks_the_same(&place);
}

#[test]
fn generators_have_names_of_their_own() {
    let one = |id: u64, name: &str| {
        let fields = chat(&[said("user", &format!("q{id}"))], &[said("assistant", &format!("a{id}"))]);
        span(1, (id, 1), name, (id * 10, id * 10 + 5), &fields)
    };
    let spans = [span(1, (1, 0), "root", (0, 500), &json!({})), one(2, "chat"), one(3, "chat"), one(4, "chat 2")];
    let place = imported(&call(&spans));
    assert_eq!(run(&place)["output"], "a4");
    asks_the_same(&place);
}
