//! How a run of the flow differs from the trace, because the engine asks models in its own form.
//!
//! The engine has one message with the calls of an answer, without its reasoning, and one message for each result
//! (SEMANTICS §18.5). A generator offers the same tools in each step, with the schemas that zod describes.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use serde_json::{Value, json};

use super::flow::literal;
use super::schema::{add_changed, of_tool};
use super::tools::{Tool, offers, tools_of};
use super::{Call, Loop, asked_tools, messages, nearest};

/// Of longer lists of names only the first ones are written.
const MAX_NAMES: usize = 5;

/// What differs, in the order in which it is listed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Results,
    Calls,
    Reasoning,
    Messages,
    Unnamed,
    Changing,
    Variants,
    Choices,
}

impl Kind {
    fn words(self) -> &'static str {
        match self {
            Kind::Results => "the trace has the results of several tools in one message, the run one message for each",
            Kind::Calls => "the trace has the tool calls of one answer in several messages, the run in one",
            Kind::Reasoning => "the trace sends the reasoning of an answer back to the model, the run does not",
            Kind::Messages => "the messages with tool calls and their results are others than in the trace",
            Kind::Unnamed => {
                "the trace does not name the tools that the model was offered, the run offers those it called"
            }
            Kind::Changing => "the trace names other tools or none in some calls, the run offers the same in all",
            Kind::Variants => "the trace describes the tool in several ways, the run has the first",
            Kind::Choices => "the trace has several choices of an answer, the script has only the first",
        }
    }
}

/// How a run differs from the trace, as sentences. So many calls for vectors are left out.
pub(super) fn differences(loops: &[Loop], tools: &BTreeMap<String, Tool>, vectors: usize) -> Vec<String> {
    let mut found: BTreeMap<Kind, Vec<&str>> = BTreeMap::new();
    for one in loops {
        let pairs = one.calls.windows(2).flat_map(|pair| changed_messages(&pair[0], &pair[1]));
        let mut kinds: BTreeSet<Kind> = pairs.chain(changed_tools(one, tools)).collect();
        if one.calls.iter().any(|call| call.reply.get("otherChoices").is_some()) {
            kinds.insert(Kind::Choices);
        }
        kinds.into_iter().for_each(|kind| found.entry(kind).or_default().push(&one.name));
    }
    let mut keywords = BTreeSet::new();
    let mut changed = Vec::new();
    for (name, tool) in tools {
        if tool.has_variants {
            found.entry(Kind::Variants).or_default().push(name);
        }
        let mut lost = BTreeSet::new();
        if let Some(Value::Object(schema)) = tool.parameters() {
            add_changed(schema, &of_tool(tool.parameters(), &tool.given()).sent, &mut lost);
        }
        if !lost.is_empty() {
            changed.push(name.as_str());
            keywords.append(&mut lost);
        }
    }
    let mut all: Vec<String> =
        found.into_iter().map(|(kind, names)| format!("{}: {}", listed(&names), kind.words())).collect();
    if !changed.is_empty() {
        let keywords: Vec<&str> = keywords.iter().map(String::as_str).collect();
        all.push(format!(
            "{}: the schema that the run offers is written in zod and differs in {}",
            listed(&changed),
            listed(&keywords)
        ));
    }
    if vectors > 0 {
        let plural = if vectors == 1 { "" } else { "s" };
        all.push(format!("{vectors} model call{plural} for vectors (embeddings): left out"));
    }
    all
}

/// Names in quotes: those of tools are another program's.
fn listed(names: &[&str]) -> String {
    let mut all: Vec<String> = names.iter().take(MAX_NAMES).map(|name| literal(&json!(name))).collect();
    if names.len() > MAX_NAMES {
        all.push(format!("{} more", names.len() - MAX_NAMES));
    }
    all.join(", ")
}

fn changed_tools(one: &Loop, tools: &BTreeMap<String, Tool>) -> Option<Kind> {
    let used: HashSet<&str> = tools_of(one, tools).into_iter().collect();
    let named: Vec<HashSet<&str>> = one.calls.iter().map(|call| offers(call).map(|(name, _)| name).collect()).collect();
    if named.iter().all(|named| *named == used) {
        return None;
    }
    Some(if named.iter().all(HashSet::is_empty) { Kind::Unnamed } else { Kind::Changing })
}

/// How the messages differ that the engine adds after a call, from those with which the trace goes on.
fn changed_messages(before: &Call, call: &Call) -> Vec<Kind> {
    let rest = messages(call).get(messages(before).len()..).unwrap_or_default();
    let (mut asked, mut results, mut others) = (Vec::new(), Vec::new(), 0);
    for message in rest {
        match message["role"].as_str() {
            Some("assistant") => asked.push(parts_of(message)),
            Some("tool") => results.push(parts_of(message)),
            _ => others += 1,
        }
    }
    let is_reasoning = |part: &Value| part["type"] == "reasoning";
    let has_reasoning = asked.iter().flatten().any(is_reasoning);
    asked.iter_mut().for_each(|parts| parts.retain(|part| !is_reasoning(part)));
    asked.retain(|parts| !parts.is_empty());
    let kinds = [
        (Kind::Results, results.iter().any(|parts| parts.len() > 1)),
        (Kind::Calls, asked.len() > 1),
        (Kind::Reasoning, has_reasoning),
        (Kind::Messages, others > 0 || asked.concat() != parts_of_answer(before) || !are_results(before, &results)),
    ];
    kinds.into_iter().filter_map(|(kind, is_found)| is_found.then_some(kind)).collect()
}

/// The parts of a message.
fn parts_of(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::Array(parts) => parts.iter().map(nearest).collect(),
        content => vec![json!({ "type": "text", "text": content })],
    }
}

/// The parts with which the engine repeats an answer.
fn parts_of_answer(call: &Call) -> Vec<Value> {
    let text = call.reply["text"].as_str().map(|text| json!({ "type": "text", "text": text }));
    let calls = asked_tools(call).map(|tool| {
        json!({
            "type": "tool-call", "toolCallId": tool["id"], "toolName": tool["name"], "args": nearest(&tool["args"]),
        })
    });
    text.into_iter().chain(calls).collect()
}

/// Whether results are those that the engine makes of the tools' answers, in its order.
fn are_results(call: &Call, results: &[Vec<Value>]) -> bool {
    let mut results = results.iter().flatten();
    let fits = |tool: &Value, part: &Value| {
        let kind = match &part["output"] {
            output if output["type"] == "error-text" => "error-text",
            output if output["value"].is_string() => "text",
            _ => "json",
        };
        let output = json!({ "type": kind, "value": part["output"]["value"] });
        *part
            == json!({
                "type": "tool-result", "toolCallId": tool["id"], "toolName": tool["name"], "output": output,
            })
    };
    asked_tools(call).all(|tool| results.next().is_some_and(|part| fits(tool, part))) && results.next().is_none()
}
