//! Traces of other programs made into flows: the tools that models were offered, and how a run differs from its trace.

use serde_json::{Value, json};
use tests::bench::{Place, repository};
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

/// A call of a model that is offered tools with these names and parameters.
fn offered(fields: Value, tools: &[(&str, &Value)]) -> Value {
    let tools: Vec<Value> = tools
        .iter()
        .map(|(name, schema)| {
            json!({ "type": "function", "name": name, "description": format!("The {name}"), "parameters": schema })
        })
        .collect();
    with(fields, &json!({ "gen_ai.tool.definitions": tools }))
}

/// Makes the trace runnable and runs it to this status. Returns how its run differs.
fn made(place: &Place, request: &str, status: &str) -> Vec<String> {
    let made = place.get(&format!("runnable {request} --as again --force"));
    place.run(&["run", "again", "run", "--user", "me", "--request", "r", "--mock", "--json"]);
    let shown = place.get("show r");
    assert_eq!(shown["request"]["status"], status, "{shown:#}");
    let differences = made["differences"].as_array().expect("it is there");
    let differences: Vec<String> = differences.iter().map(|one| one.as_str().expect("a text").to_owned()).collect();
    // The flow and the terminal list the same.
    let flow = std::fs::read_to_string(place.dir().join("flows/again.ts")).expect("it is there");
    let printed = place.run(&["runnable", request, "--as", "again", "--force"]);
    for one in &differences {
        assert!(flow.contains(&format!("\n * - {one}\n")), "{one}: {flow}");
        assert!(printed.stdout.contains(&format!("\n- {one}\n")), "{one}: {printed}");
    }
    assert_eq!(printed.stdout.contains("differs from the trace"), !differences.is_empty(), "{printed}");
    differences
}

/// Asserts that there is one difference with these words.
fn is_only(differences: &[String], words: &str) {
    assert_eq!(differences.len(), 1, "{words}: {differences:#?}");
    assert!(differences[0].contains(words), "{words}: {differences:#?}");
}

/// Asserts that a run asks with the same of this field as the trace.
fn asks_with_the_same(place: &Place, request: &str, field: &str) {
    let (recorded, repeated) = (model_calls(place, request), model_calls(place, "r"));
    assert_eq!(recorded.len(), repeated.len());
    for (recorded, repeated) in recorded.iter().zip(&repeated) {
        assert_eq!(repeated["request"][field], recorded["request"][field], "{field}");
    }
}

/// Schemas that zod keeps.
fn plain() -> Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] })
}

/// A message with the parts of several.
fn joined(messages: &[Value]) -> Value {
    let parts: Vec<&Value> = messages.iter().flat_map(|one| one["parts"].as_array().expect("a list")).collect();
    json!({ "role": messages[0]["role"], "parts": parts })
}

#[test]
fn messages_that_a_run_has_in_another_form_are_said() {
    let user = [said("user", "q")];
    let calls = [wanted("c1", "get", &json!({ "n": 1 })), wanted("c2", "get", &json!({ "n": 2 }))];
    let results = [returned("c1", &json!("one")), returned("c2", &json!({ "two": 2 }))];
    let both = joined(&calls);
    let thought = json!({ "role": "assistant", "parts": [{ "type": "reasoning", "content": "both" }] });
    let [first, second] = results.clone();
    let forms: [(&str, Vec<Value>); 5] = [
        ("", vec![both.clone(), first.clone(), second.clone()]),
        ("results of several tools in one message", vec![both.clone(), joined(&results)]),
        (
            "tool calls of one answer in several messages",
            vec![calls[0].clone(), calls[1].clone(), first.clone(), second.clone()],
        ),
        ("reasoning of an answer back", vec![joined(&[thought, both.clone()]), first.clone(), second.clone()]),
        ("others than in the trace", vec![both.clone(), first, second, said("user", "and then?")]),
    ];
    for (words, form) in forms {
        let then: Vec<Value> = user.iter().cloned().chain(form).collect();
        let asked = chat(&user, std::slice::from_ref(&both));
        let tools = [("get", &plain())];
        let place =
            trace(&[offered(asked, &tools), offered(chat(&then, &[said("assistant", "done")]), &tools)], "done");
        let differences = made(&place, &trace_id(1), "completed");
        if words.is_empty() {
            assert_eq!(differences, [""; 0]);
            asks_with_the_same(&place, &trace_id(1), "messages");
        } else {
            is_only(&differences, words);
            assert!(differences[0].contains("\"chat\""), "{differences:#?}");
        }
    }
}

#[test]
fn tools_that_answered_nothing_are_offered_too() {
    let (user, asks) = ([said("user", "q")], [wanted("c1", "get", &json!({ "n": 1 }))]);
    let parameters = plain();
    let tools = [("other", &parameters), ("get", &parameters), ("final_result", &parameters)];
    let then = [user[0].clone(), asks[0].clone(), returned("c1", &json!("one"))];
    let ends = wanted("c2", "final_result", &json!({ "n": 1 }));
    let place = trace(&[offered(chat(&user, &asks), &tools), offered(chat(&then, &[ends]), &tools)], "made of it");
    assert_eq!(made(&place, &trace_id(1), "completed"), [""; 0]);
    asks_with_the_same(&place, &trace_id(1), "tools");
    asks_with_the_same(&place, &trace_id(1), "messages");

    // The tool threw, so that the model was not asked again.
    let mut root = span(1, (1, 0), AGENT, (0, 100), &json!({}));
    root["status"] = json!({ "code": 2, "message": "no weather" });
    let asked = span(1, (2, 1), "chat", (1, 10), &offered(chat(&user, &asks), &tools));
    let place = imported(&call(&[root, asked]));
    assert_eq!(made(&place, &trace_id(1), "failed"), [""; 0]);
    asks_with_the_same(&place, &trace_id(1), "tools");

    // The first call failed.
    let mut root = span(1, (1, 0), AGENT, (0, 100), &json!({}));
    let mut asked = span(1, (2, 1), "chat", (1, 10), &offered(chat(&user, &[]), &tools));
    for one in [&mut root, &mut asked] {
        one["status"] = json!({ "code": 2, "message": "overloaded" });
    }
    let place = imported(&call(&[root, asked]));
    assert_eq!(made(&place, &trace_id(1), "failed"), [""; 0]);
    asks_with_the_same(&place, &trace_id(1), "tools");
}

#[test]
fn tools_that_the_trace_does_not_name_are_said() {
    let (user, asks) = ([said("user", "q")], [wanted("c1", "get", &json!({ "n": 1 }))]);
    let then = [user[0].clone(), asks[0].clone(), returned("c1", &json!("one"))];
    let calls = [chat(&user, &asks), chat(&then, &[said("assistant", "done")])];
    let place = trace(&calls, "done");
    is_only(&made(&place, &trace_id(1), "completed"), "does not name the tools");
    let [first, second] = calls;
    let place = trace(&[offered(first, &[("get", &plain())]), second], "done");
    is_only(&made(&place, &trace_id(1), "completed"), "names other tools or none in some calls");
}

#[test]
fn schemas_and_descriptions_of_tools_that_change_are_said() {
    let answer = || chat(&[said("user", "q")], &[said("assistant", "a")]);
    let mut strict = plain();
    strict["additionalProperties"] = false.into();
    strict["properties"]["n"]["title"] = "N".into();
    let place = trace(&[offered(answer(), &[("get", &strict), ("put", &plain())])], "a");
    is_only(
        &made(&place, &trace_id(1), "completed"),
        "\"get\": the schema that the run offers is written in zod and differs in \"additionalProperties\", \"title\"",
    );
    let other = json!({ "type": "object", "properties": { "n": { "type": "string" } }, "required": ["n"] });
    let place = trace(&[offered(answer(), &[("get", &plain())]), offered(answer(), &[("get", &other)])], "a");
    is_only(&made(&place, &trace_id(1), "completed"), "\"get\": the trace describes the tool in several ways");
}

#[test]
fn choices_and_calls_for_vectors_that_are_left_out_are_said() {
    let chosen = |text: &str| with(said("assistant", text), &json!({ "finish_reason": "stop" }));
    let user = [said("user", "q")];
    let place = trace(&[chat(&user, &[chosen("a"), chosen("b")])], "a");
    is_only(&made(&place, &trace_id(1), "completed"), "several choices");

    let vectors = json!({
        "gen_ai.operation.name": "embeddings", "gen_ai.provider.name": "openai", "gen_ai.request.model": "e",
        "gen_ai.usage.input_tokens": 3,
    });
    let root = span(1, (1, 0), "job", (0, 100), &json!({}));
    let vectors = span(1, (2, 1), "embeddings e", (1, 10), &vectors);
    let asked = span(1, (3, 1), "chat", (20, 30), &chat(&user, &[said("assistant", "a")]));
    let place = imported(&call(&[root, vectors, asked]));
    is_only(&made(&place, &trace_id(1), "completed"), "1 model call for vectors (embeddings): left out");
}

#[test]
fn emitters_forms_are_compared_with_those_of_the_engine() {
    let fixtures: [(&str, &[&str]); 3] = [
        ("vercel-ai-5.jsonl", &["\"$schema\", \"additionalProperties\""]),
        ("logfire-openai-agents.jsonl", &["reasoning of an answer", "\"additionalProperties\", \"title\""]),
        ("openllmetry-0.30.jsonl", &["names other tools or none in some calls", "differs in \"properties\""]),
    ];
    for (name, words) in fixtures {
        let file = repository().join("tests/fixtures/otlp").join(name);
        let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let place = imported(&text);
        let request = place.get("requests")[0]["id"].as_str().expect("it is there").to_owned();
        let differences = made(&place, &request, "completed");
        assert_eq!(differences.len(), words.len(), "{name}: {differences:#?}");
        for (one, words) in differences.iter().zip(words) {
            assert!(one.contains(words), "{name}: {one}");
        }
    }
}
