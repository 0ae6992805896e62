//! The size of the tool list and of answers, in tokens of four bytes, and the wording of errors.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

use crate::address::{Address, Part, Range};
use crate::answer::{Answer, BYTES_PER_TOKEN, Page};
use crate::arguments::{Arguments, Refused, without_long_words};
use crate::tool_list::{INSTRUCTIONS, tools};

#[test]
fn the_list_of_tools_costs_at_most_1500_tokens() {
    let list = serde_json::to_string(&tools()).unwrap();
    let tokens = (list.len() + INSTRUCTIONS.len()) / BYTES_PER_TOKEN;
    assert!(tokens <= 1_500, "{tokens} tokens: {list}");
}

#[test]
fn every_address_reads_back() {
    let block = |part| Address::Block {
        request: "req 1/ü?".to_owned(),
        path: "root/step:a b[0]/~x#y".to_owned(),
        attempt: Some(2),
        part,
    };
    let addresses = [
        Address::Input("r".to_owned()),
        Address::Output("r%2F".to_owned()),
        block(Part::Input),
        block(Part::Prompt(3)),
        block(Part::Answered(0)),
        Address::State { request: "r".to_owned(), seq: 7 },
        Address::Item { request: "r".to_owned(), id: "a/b".to_owned() },
        Address::Event { request: "r".to_owned(), seq: 0 },
        Address::Source { request: "r".to_owned(), file: "flows/a b.ts".to_owned() },
    ];
    for address in addresses {
        let whole = Range { address: address.clone(), pointer: String::new(), from: 0, to: None };
        assert_eq!(Range::parse(&address.to_string()), Some(whole), "{address}");
        let part = Range { address, pointer: "/a/~1b&c=d".to_owned(), from: 3, to: Some(9) };
        assert_eq!(Range::parse(&part.to_string()), Some(part.clone()), "{part}");
    }
    for wrong in
        ["", "flowglass://request", "flowglass://request/r", "flowglass://request/r/input?from=x", "file:///etc"]
    {
        assert_eq!(Range::parse(wrong), None, "{wrong}");
    }
}

fn page(given: serde_json::Value) -> Page {
    Page::read(&mut Arguments::new(given.as_object().unwrap().clone())).unwrap()
}

/// An answer of very many rows stays within its budget and names the next offset.
#[test]
fn an_answer_never_exceeds_its_budget() {
    for limit in [200, 1_500, 1_000_000] {
        let page = page(json!({ "limit": limit }));
        let mut answer = Answer::new("Rows.");
        for n in 0..10_000 {
            answer.row(format!("row {n} {}", "x".repeat(n % 50)), json!({ "n": n, "text": "x".repeat(n % 70) }));
        }
        let answer = answer.then("look", json!({ "request": "r" }));
        let result = answer.fit(page, &|value| value);
        let structured = result.structured_content.clone().unwrap();
        let text = serde_json::to_value(&result.content).unwrap()[0]["text"].as_str().unwrap().to_owned();
        let most = usize::try_from(limit.min(20_000)).unwrap() * BYTES_PER_TOKEN;
        assert!(text.len() <= most, "{} of {most}", text.len());
        assert!(structured.to_string().len() <= most, "{} of {most}", structured.to_string().len());
        let shown = structured["rows"].as_array().unwrap().len();
        assert_eq!(structured["nextOffset"], shown, "{text}");
        assert!(text.contains(&format!("offset {shown}")), "{text}");
    }
}

/// No part of an answer may exceed the budget: a row, the sentence, a name, a next call.
#[test]
fn nothing_long_exceeds_a_budget() {
    let long = |count: usize| "\"x\u{1}".repeat(count);
    for limit in [200, 1_500, 20_000] {
        for count in [100, 2_000, 50_000] {
            let mut fields = serde_json::Map::new();
            fields.insert(long(count), json!([long(count), vec![7; count]]));
            let mut answer = Answer::new(long(count)).then("look", json!({ "request": long(count) }));
            answer.row(long(count), json!(fields));
            answer.row("second", json!({ "n": 2 }));
            answer.unset_variables = (0..50).map(|n| format!("TOKEN_{n}")).collect();
            let result =
                answer.then("look", json!({ "request": "r" })).fit(page(json!({ "limit": limit })), &|value| value);
            let structured = result.structured_content.clone().unwrap();
            let text = serde_json::to_value(&result.content).unwrap()[0]["text"].as_str().unwrap().to_owned();
            let most = limit * BYTES_PER_TOKEN;
            assert!(text.len() <= most, "{} of {most}: {text}", text.len());
            assert!(structured.to_string().len() <= most, "{} of {most}", structured.to_string().len());
            assert!(text.contains("TOKEN_0") && text.contains("more are not set here"), "{text}");
            assert_eq!(structured["unsetVariables"][0], "TOKEN_0");
        }
    }
}

/// The replacement of a secret may be longer than the secret, also in a row that fills the answer to its last byte.
#[test]
fn an_answer_with_hidden_secrets_stays_within_its_budget() {
    fn hide(value: Value) -> Value {
        match value {
            Value::String(text) => json!(text.replace("s3cr3t!!", "[redacted: the variable TOKEN]")),
            Value::Array(all) => all.into_iter().map(hide).collect(),
            Value::Object(fields) => Value::Object(fields.into_iter().map(|(name, one)| (name, hide(one))).collect()),
            other => other,
        }
    }
    for limit in [200, 1_500, 20_000] {
        for (rows, count) in [(1, 20_000), (3_000, 2), (40, 70)] {
            let secrets = "s3cr3t!!".repeat(count);
            let mut answer = Answer::new(secrets.clone());
            for n in 0..rows {
                answer.row(format!("row {n} {secrets}"), json!({ "n": n, "value": secrets }));
            }
            let result = answer.then("look", json!({ "request": secrets })).fit(page(json!({ "limit": limit })), &hide);
            let structured = result.structured_content.clone().unwrap().to_string();
            let text = serde_json::to_value(&result.content).unwrap()[0]["text"].as_str().unwrap().to_owned();
            let most = limit * BYTES_PER_TOKEN;
            assert!(
                text.len() <= most && structured.len() <= most,
                "{} and {} of {most}",
                text.len(),
                structured.len()
            );
            assert!(!text.contains("s3cr3t!!") && !structured.contains("s3cr3t!!"), "{text}");
        }
    }
}

#[test]
fn a_small_budget_shows_more_than_one_row() {
    let page = page(json!({ "limit": 300 }));
    let mut answer = Answer::new("Rows.");
    for n in 0..100 {
        answer.row(
            format!("row {n} of a request that is completed"),
            json!({ "request": format!("req_{n}"), "status": "completed" }),
        );
    }
    let result = answer.then("look", json!({ "request": "\u{2028}r" })).fit(page, &|value| value);
    let structured = result.structured_content.unwrap();
    assert!(structured["rows"].as_array().unwrap().len() > 8, "{structured}");
    assert!(structured.to_string().len() <= 1_200 && !structured.to_string().contains('\u{2028}'), "{structured}");
}

#[test]
fn a_fault_of_the_command_line_names_arguments() {
    let fault = |message: &str| Refused::from(runner::Fault::NotFound { message: message.to_owned() }).0;
    assert_eq!(
        fault("--set a: no; give data with --approve JSON"),
        "`set` a: no; give data with `answer`: approve, and `data`"
    );
    assert_eq!(fault("name one with --user; `search` looks in all"), "name one with `user`; `find` looks in all");
    assert_eq!(fault("pre--path --attempt --at: x"), "pre--path --attempt `at`: x");
    let long = without_long_words(&format!("unknown request {} here", "x".repeat(100_000)));
    assert!(long.len() < 400 && long.ends_with("(100001 bytes) here"), "{long}");
}

#[test]
fn errors_name_the_argument() {
    let cases = [
        (json!({ "request": 5 }), "argument `request` is a text, and this is 5"),
        (json!({ "reqest": "a" }), "argument \"reqest\" is not known here; the arguments are request, at"),
        (json!({ "at": "nowhere" }), "argument `at`: \"nowhere\" is neither the number of an event nor a path"),
        (json!({ "at": "root/a#x" }), "after # comes the number of an attempt"),
        (json!({ "at": -1 }), "argument `at` is the number of an event, and this is -1"),
    ];
    for (given, expected) in cases {
        let mut arguments = Arguments::new(given.as_object().unwrap().clone());
        let read = arguments.text("request").and_then(|_| arguments.at("at")).map(|_| ());
        let error = read.and_then(|()| arguments.finish()).unwrap_err().0;
        assert!(error.contains(expected), "{error}");
    }
}
