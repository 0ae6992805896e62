//! Traces of other programs with what cannot be, or cannot be read: the rest is shown, and the fault is said.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::spans::{call, chat, event, imported, model_calls, said, span, trace_id, with};

/// The lines of a block's log.
fn logs(place: &Place, path: &str) -> String {
    place.get(&format!("block {} {path}", trace_id(1)))["logs"].to_string()
}

fn root() -> Value {
    span(1, (1, 0), "root", (0, 1_000), &json!({}))
}

fn asked(question: &str, answer: &str) -> Value {
    chat(&[said("user", question)], &[said("assistant", answer)])
}

#[test]
fn counts_of_tokens_that_cannot_be_are_said_and_not_counted() {
    let absurd = json!({
        "gen_ai.usage.input_tokens": 4_611_686_018_427_387_904_i64,
        "gen_ai.usage.output_tokens": 9_000_000_000_000_000_000_i64,
    });
    let one = |id: u64| span(1, (id, 1), "chat", (id * 10, id * 10 + 5), &with(asked("q", "a"), &absurd));
    let place = imported(&call(&[root(), one(2), one(3), one(4)]));
    assert_eq!(place.get("requests")[0]["tokens"], 0);
    let shown = place.run(&["show", &trace_id(1)]);
    assert!(shown.code == Some(0) && place.run(&["requests"]).code == Some(0), "{shown}");
    let said = logs(&place, "root/step:chat");
    assert!(said.contains("promptTokens are 4611686018427387904, which cannot be"), "{said}");
}

#[test]
fn a_call_that_a_tool_makes_within_another_call_is_its_own() {
    let inner = json!({
        "gen_ai.request.model": "other", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3,
    });
    let outer = json!({ "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10 });
    let tool = json!({ "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t" });
    let spans = [
        root(),
        span(1, (2, 1), "chat outer", (1, 900), &with(asked("outer question", "outer answer"), &outer)),
        span(1, (3, 2), "execute_tool t", (10, 800), &tool),
        span(1, (4, 3), "chat inner", (20, 700), &with(asked("inner question", "inner answer"), &inner)),
    ];
    let place = imported(&call(&spans));
    let calls = model_calls(&place, &trace_id(1));
    let models: Vec<&Value> = calls.iter().map(|call| &call["request"]["model"]).collect();
    assert_eq!(models, [&json!("m"), &json!("other")], "{calls:#?}");
    assert_eq!(place.get("requests")[0]["tokens"], 120);
    // Without a tool between them, they are two calls if they agree on nothing, and one if they do.
    let direct = [spans[0].clone(), spans[1].clone(), {
        let mut inner = spans[3].clone();
        inner["parentSpanId"] = "0000000000000002".into();
        inner
    }];
    assert_eq!(imported(&call(&direct)).get("requests")[0]["tokens"], 120);
    let same = span(1, (4, 2), "request", (20, 700), &with(asked("outer question", "outer answer"), &outer));
    assert_eq!(imported(&call(&[direct[0].clone(), direct[1].clone(), same])).get("requests")[0]["tokens"], 110);
}

#[test]
fn an_agent_that_says_more_than_its_calls_says_so() {
    let agent = json!({
        "gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 3,
    });
    let spans = [
        span(1, (1, 0), "agent", (0, 100), &with(asked("q", "a"), &agent)),
        span(1, (2, 1), "chat", (1, 9), &asked("q", "a")),
    ];
    let place = imported(&call(&spans));
    assert_eq!(place.get("requests")[0]["tokens"], 15);
    let said = logs(&place, "root");
    assert!(
        said.contains("it says that 30 and 3 tokens in and out were used, the calls inside it say 10 and 5"),
        "{said}"
    );
}

#[test]
fn text_that_is_not_unicode_costs_neither_its_span_nor_the_others() {
    let lines = [
        call(&[root()]),
        call(&[span(1, (2, 1), "half HALF", (1, 2), &json!({}))]),
        call(&[span(1, (3, 1), "whole \u{1f600}", (3, 4), &json!({}))]),
    ];
    let place = imported(&lines.concat().replace("HALF", "\\ud83d"));
    let shown = place.get(&format!("show {}", trace_id(1)));
    let names: Vec<&Value> = shown["blocks"].as_array().expect("blocks").iter().map(|block| &block["name"]).collect();
    assert_eq!(names, [&json!("root"), &json!("half \u{fffd}"), &json!("whole \u{1f600}")]);
    let path = shown["blocks"][1]["path"].as_str().expect("a path");
    let block = place.run(&["block", &trace_id(1), path, "--json"]).json();
    assert!(block["logs"].to_string().contains("is not Unicode"), "{block:#}");
}

#[test]
fn a_span_that_is_nested_too_deep_is_left_out_alone() {
    let begin = r#"{"kvlistValue":{"values":[{"key":"k","value":"#.repeat(300);
    let deep = format!("{begin}{{}}{}", "}]}}".repeat(300));
    let wrong = span(1, (2, 1), "deep", (1, 2), &json!({ "deep": "DEEP" }));
    let text = call(&[root(), wrong, span(1, (3, 1), "other", (3, 4), &json!({}))]);
    let place = Place::new();
    place.write("trace.jsonl", text.replace(r#"{"stringValue":"DEEP"}"#, &deep));
    let result = place.get("import trace.jsonl");
    assert_eq!((&result["spans"], &result["rejected"]), (&json!(2), &json!(1)), "{result:#}");
    assert!(result["whyRejected"].to_string().contains("nested deeper"), "{result:#}");
}

#[test]
fn a_turn_is_listed_under_its_own_words() {
    let turns = [said("user", "first words"), said("assistant", "yes"), said("user", "second words")];
    let place = imported(&call(&[root(), span(1, (2, 1), "chat", (1, 9), &chat(&turns, &[said("assistant", "no")]))]));
    assert_eq!(place.get(&format!("show {}", trace_id(1)))["input"], "second words");
}

#[test]
fn messages_have_the_origin_that_the_log_shows_or_none() {
    let turn = |trace: u64, at: u64, messages: &[Value], answer: &str| {
        let fields = with(chat(messages, &[said("assistant", answer)]), &json!({ "gen_ai.conversation.id": "c" }));
        call(&[span(trace, (1, 0), "chat", (at, at + 10), &fields)])
    };
    let first = [said("user", "one")];
    let second =
        [said("user", "one"), said("assistant", "never recorded"), said("assistant", "yes"), said("user", "two")];
    let place = imported(&[turn(1, 0, &first, "yes"), turn(2, 1_000, &second, "no")].concat());
    let calls = model_calls(&place, &trace_id(2));
    let sources: Vec<&str> =
        calls[0]["sources"].as_array().expect("a list").iter().filter_map(|source| source["from"].as_str()).collect();
    assert_eq!(sources, ["history", "unknown", "history", "unknown"], "{calls:#?}");
    let shown = place.run(&["block", &trace_id(2), "root"]);
    assert!(!shown.stdout.contains("[user]"), "{shown}");
}

#[test]
fn events_that_are_no_lines_are_counted() {
    let mut busy = root();
    busy["events"] = (0..80).map(|number| event(&format!("event {number}"), &json!({}))).collect();
    let place = imported(&call(&[busy]));
    let said = logs(&place, "root");
    assert!(said.contains("event 49") && !said.contains("event 50"), "{said}");
    assert!(said.contains("30 more events are in the span"), "{said}");
}

#[test]
fn an_end_that_cannot_be_is_said_and_is_not_the_end_of_the_request() {
    let mut absurd = span(1, (2, 1), "absurd", (10, 20), &json!({}));
    absurd["endTimeUnixNano"] = u64::MAX.to_string().into();
    let inside = span(1, (3, 2), "inside", (15, 40), &json!({}));
    let place = imported(&call(&[root(), absurd, inside]));
    let row = &place.get("requests")[0];
    let took = row["finishedAt"].as_i64().zip(row["startedAt"].as_i64()).map(|(end, start)| end - start);
    assert_eq!(took, Some(1_000), "{row:#}");
    let said = logs(&place, "root/step:absurd");
    assert!(said.contains("which cannot be: here it ends with what is inside it"), "{said}");
}

#[test]
fn a_trace_is_found_by_its_service_and_told_from_runs() {
    let place = imported(&call(&[root()]));
    assert_eq!(place.get("search svc")[0]["requestId"], trace_id(1).as_str());
    let found = |filter: &str| place.run(&["requests", "--filter", filter, "--json"]).json();
    assert_eq!(found("is:trace")[0]["id"], trace_id(1).as_str());
    assert_eq!(found("-is:trace"), json!([]));
    for more in [&[][..], &["--json"]] {
        let differing = place.run(&[&["diff", &trace_id(1)], more].concat());
        assert!(differing.code == Some(7) && differing.to_string().contains("has no state"), "{differing}");
    }
}

#[test]
fn what_emitters_say_of_costs_documents_and_values_is_read() {
    let inference = |kind: &str, more: &Value| with(json!({ "openinference.span.kind": kind }), more);
    let model = inference("LLM", &json!({ "llm.model_name": "x", "llm.cost.total": 0.5, "llm.token_count.prompt": 3 }));
    let search = inference(
        "RETRIEVER",
        &json!({ "input.value": "q", "retrieval.documents.0.document.content": "the first document" }),
    );
    let quoted = json!({ "traceloop.span.kind": "task", "traceloop.entity.output": "\"plain\"" });
    let spans = [
        root(),
        span(1, (2, 1), "model", (1, 2), &model),
        span(1, (3, 1), "search", (3, 4), &search),
        span(1, (4, 1), "task", (5, 6), &quoted),
    ];
    let place = imported(&call(&spans));
    let block = |path: &str| place.get(&format!("block {} root/step:{path}", trace_id(1)));
    assert_eq!(model_calls(&place, &trace_id(1))[0]["cost"], 0.5);
    assert!(block("search")["output"].to_string().contains("the first document"), "{:#}", block("search"));
    assert_eq!(block("task")["output"], "plain");
}

#[test]
fn a_call_for_vectors_of_the_vercel_sdk_has_its_tokens() {
    let outer = json!({ "ai.operationId": "ai.embedMany", "ai.model.id": "e", "ai.usage.tokens": 3 });
    let inner = json!({
        "ai.operationId": "ai.embedMany.doEmbed", "ai.model.id": "e", "ai.usage.tokens": 3, "ai.values": ["\"a\""],
    });
    let spans =
        [span(1, (1, 0), "ai.embedMany", (0, 90), &outer), span(1, (2, 1), "ai.embedMany.doEmbed", (1, 80), &inner)];
    let place = imported(&call(&spans));
    let calls = model_calls(&place, &trace_id(1));
    assert_eq!(calls.len(), 1, "{calls:#?}");
    assert_eq!((&calls[0]["request"]["operation"], &calls[0]["tokens"]["input"]), (&json!("embeddings"), &json!(3)));
    assert_eq!(place.get("requests")[0]["tokens"], 3);
    let refused = place.ask(&format!("runnable {} --as again", trace_id(1)));
    assert!(
        refused.code == Some(7) && refused.stderr.contains("only calls for vectors, which are left out"),
        "{refused}"
    );
}

#[test]
fn the_input_of_an_agent_is_what_was_asked_before_its_first_call() {
    let question = said("user", "How warm is it?");
    let retry = said("user", "Fix the errors and try again.");
    let all = json!([question.clone(), said("assistant", "x"), retry.clone(), said("assistant", "21")]);
    let agent = json!({ "agent_name": "weather", "pydantic_ai.all_messages": all });
    let spans = [
        span(1, (1, 0), "invoke_agent weather", (0, 900), &agent),
        span(1, (2, 1), "chat", (10, 100), &chat(std::slice::from_ref(&question), &[said("assistant", "x")])),
        span(
            1,
            (3, 1),
            "chat",
            (200, 300),
            &chat(&[question, said("assistant", "x"), retry], &[said("assistant", "21")]),
        ),
    ];
    let place = imported(&call(&spans));
    assert_eq!(place.get(&format!("show {}", trace_id(1)))["input"], "How warm is it?");
}

#[test]
fn a_start_after_the_year_2200_is_said_and_not_shown() {
    let mut late = span(1, (2, 1), "late", (10, 20), &json!({}));
    late["startTimeUnixNano"] = u64::MAX.to_string().into();
    let place = imported(&call(&[root(), late.clone()]));
    let row = &place.get("requests")[0];
    assert_eq!(row["durationMs"], 1_000, "{row}");
    assert!(logs(&place, "root/step:late").contains("starts after the year 2200, which cannot be"));
    late["parentSpanId"] = "".into();
    late["endTimeUnixNano"] = late["startTimeUnixNano"].clone();
    let place = imported(&call(&[late]));
    let row = &place.get("requests")[0];
    assert_eq!((&row["status"], &row["durationMs"]), (&json!("completed"), &json!(0)), "{row}");
    assert!(logs(&place, "root").contains("starts after the year 2200, which cannot be"));
}

#[test]
fn names_that_come_twice_are_said_and_leave_as_they_are_kept() {
    let twice = |name: &str| {
        json!([
            { "key": name, "value": { "doubleValue": 2.0 } },
            { "key": name, "value": { "intValue": "5" } },
        ])
    };
    let mut one = root();
    one["attributes"] = twice("dup");
    let list = json!({ "key": "list", "value": { "kvlistValue": { "values": twice("x") } } });
    one["attributes"].as_array_mut().expect("a list").push(list);
    let place = imported(&call(&[one]));
    let block = place.get(&format!("block {} root", trace_id(1)));
    assert_eq!(block["span"]["attributes"], json!({ "dup": 5, "list": { "x": 5 } }), "{block:#}");
    let said = block["logs"].to_string();
    assert!(said.contains("came more than once") && said.contains("dup") && said.contains("list/x"), "{said}");
    place.get(&format!("export --request {} --otlp out.jsonl", trace_id(1)));
    let out = std::fs::read_to_string(place.dir().join("out.jsonl")).expect("it is exported");
    assert!(!out.contains("doubleValue"), "{out}");
    assert_eq!(place.get("import out.jsonl")["imported"], false, "{out}");
}

#[test]
fn counts_of_tokens_that_are_texts_are_counted_or_said() {
    let given = json!({ "gen_ai.usage.input_tokens": "7", "gen_ai.usage.output_tokens": "many" });
    let place = imported(&call(&[root(), span(1, (2, 1), "chat", (1, 9), &with(asked("q", "a"), &given))]));
    assert_eq!(place.get("requests")[0]["tokens"], 7);
    let said = logs(&place, "root/step:chat");
    assert!(said.contains("completionTokens are") && said.contains("many"), "{said}");
}

#[test]
fn a_traceback_as_the_message_of_a_span_is_said_by_its_exception() {
    let message = "ValueError(\"no\")\n\nTraceback (most recent call last):\n  File \"a.py\", line 1\n    f()\n\
                   pkg.ValueError: no such city";
    let mut failed = root();
    failed["status"] = json!({ "code": 2, "message": message });
    let place = imported(&call(&[failed]));
    let error = &place.get(&format!("show {}", trace_id(1)))["request"]["error"];
    assert_eq!((&error["name"], &error["message"]), (&json!("ValueError"), &json!("no such city")), "{error}");
}
