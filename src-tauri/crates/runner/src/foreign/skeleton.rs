//! Makes a flow and a mock script from a foreign request.
//!
//! The flow repeats the model calls of the trace with their tools, and the script repeats the answers. So its run has
//! the model inputs, the model outputs and the final output of the trace, and the flow can then be changed, resumed,
//! forked and tried. The author must add code that the trace does not show. Differences from the trace are listed.

mod differences;
mod flow;
mod schema;
mod tools;

use std::collections::{HashMap, HashSet};

use engine::effects::EffectKind;
use engine::error::FlowError;
use engine::event::{Event, EventKind, Recorded};
use engine::views::model_requests::Requests;
use serde_json::{Map, Number, Value, json};

use self::differences::differences;
use self::flow::{flow, pretty};
use self::tools::tools;
use super::facts::EMBEDDINGS;

/// The flow and the mock script.
pub(crate) struct Skeleton {
    /// The flow's TypeScript.
    pub(crate) flow: String,
    /// The mock script.
    pub(crate) script: String,
    /// The input of the request as JSON, if it has one.
    pub(crate) input: Option<String>,
    /// How many model calls it repeats.
    pub(crate) model_calls: usize,
    /// The names of the tools that it has.
    pub(crate) tools: Vec<String>,
    /// How its run differs from the trace, as sentences.
    pub(crate) differences: Vec<String>,
}

/// One call of a model, in the order of the log.
struct Call {
    request: Value,
    reply: Value,
}

/// Calls of one generator. Each call has the results of the tools that the previous call asked for.
struct Loop {
    name: String,
    calls: Vec<Call>,
    /// Whether the tools of the last call answered, and the call with their results is a separate loop.
    is_answered: bool,
}

/// How the request ended.
#[derive(Default)]
struct End {
    output: Option<Value>,
    error: Option<FlowError>,
}

impl Loop {
    /// The error of its last call, if it failed.
    fn error(&self) -> Option<&Value> {
        self.calls.last()?.reply.get("error")
    }

    /// Whether the tools that it asks for run.
    fn runs_tools(&self) -> bool {
        self.calls.len() > 1 || self.is_answered
    }
}

impl Skeleton {
    /// Makes a flow of this name from a request's whole log; `None` if it called no model, or only for embeddings.
    pub(crate) fn of(name: &str, about: &str, events: &[Event]) -> Option<Skeleton> {
        let (calls, vectors) = calls(events);
        if calls.is_empty() {
            return None;
        }
        let (loops, mut names) = loops(calls);
        // A call that is split off has the answers of the tools before it.
        let tools = tools(&loops);
        let loops: Vec<Loop> = loops.into_iter().flat_map(|one| ended(one, &mut names)).collect();
        let end = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::RequestFinished { output, error, .. } => {
                let output = output.as_ref().and_then(|output| match output {
                    Recorded::Value(output) => Some(output.clone()),
                    _ => None,
                });
                Some(End { output, error: error.clone() })
            }
            _ => None,
        });
        let model_calls = loops.iter().map(|one| one.calls.len()).sum();
        let differences = differences(&loops, &tools, vectors);
        Some(Skeleton {
            flow: flow((name, about), &differences, &loops, &tools, &end.unwrap_or_default()),
            script: script(&loops),
            input: input(events),
            model_calls,
            tools: tools.into_keys().collect(),
            differences,
        })
    }
}

fn input(events: &[Event]) -> Option<String> {
    events.iter().find_map(|event| match &event.kind {
        EventKind::RequestStarted { input: Recorded::Value(input), .. } => Some(pretty(input) + "\n"),
        _ => None,
    })
}

/// The calls that have ended, without those for embeddings, and the number of these.
fn calls(events: &[Event]) -> (Vec<Call>, usize) {
    let requests = Requests::of(events);
    let mut calls = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for event in events {
        match &event.kind {
            EventKind::EffectStarted { effect: EffectKind::Model, .. } => {
                let Some((_, asked)) = requests.asked(event) else { continue };
                places.insert(event.seq, calls.len());
                calls.push(Call { request: asked.whole(), reply: Value::Null });
            }
            EventKind::EffectFinished { effect: EffectKind::Model, started: Some(started), result, error, .. } => {
                let Some(at) = places.get(started) else { continue };
                calls[*at].reply = match error {
                    Some(error) => json!({ "error": { "name": error.name, "message": error.message } }),
                    None => result.clone(),
                };
            }
            _ => {}
        }
    }
    let all = calls.len();
    calls.retain(|call| call.request["operation"] != EMBEDDINGS);
    let vectors = all - calls.len();
    calls.retain(|call| !call.reply.is_null());
    (without_retried(calls), vectors)
}

/// Leaves out failed calls that were repeated with the same model and messages. Calls without messages cannot be
/// recognised as repeated.
fn without_retried(calls: Vec<Call>) -> Vec<Call> {
    let asked = |call: &Call| {
        let parts = ["generator", "model", "messages"].map(|name| &call.request[name]);
        blake3::hash(json!(parts).to_string().as_bytes())
    };
    let has_failed = |call: &Call| call.reply.get("error").is_some();
    let mut answered: HashSet<blake3::Hash> = HashSet::new();
    let mut kept: Vec<Call> = Vec::with_capacity(calls.len());
    for call in calls.into_iter().rev() {
        let asked = asked(&call);
        if has_failed(&call) && !messages(&call).is_empty() && answered.contains(&asked) {
            continue;
        }
        if !has_failed(&call) {
            answered.insert(asked);
        }
        kept.push(call);
    }
    kept.reverse();
    kept
}

fn messages(call: &Call) -> &[Value] {
    call.request["messages"].as_array().map_or(&[], Vec::as_slice)
}

/// The tool calls of a model's answer.
fn asked_tools(call: &Call) -> impl Iterator<Item = &Value> {
    call.reply["toolCalls"].as_array().into_iter().flatten()
}

/// Groups calls into loops. Also returns the used names.
fn loops(calls: Vec<Call>) -> (Vec<Loop>, HashSet<String>) {
    let mut loops: Vec<Loop> = Vec::new();
    let mut names: HashSet<String> = HashSet::new();
    for call in calls {
        let goes_on = |one: &&mut Loop| one.calls.last().is_some_and(|last| follows(&call, last));
        if let Some(one) = loops.iter_mut().rev().find(goes_on) {
            one.calls.push(call);
            continue;
        }
        let plain = plain_name(call.request["generator"].as_str().unwrap_or_default());
        loops.push(Loop { name: free_name(&plain, &mut names), calls: vec![call], is_answered: false });
    }
    (loops, names)
}

/// Makes a loop end with an answer: a last call whose tools have no results becomes a separate loop.
fn ended(mut one: Loop, names: &mut HashSet<String>) -> Vec<Loop> {
    let asks_on = one.calls.len() > 1 && one.calls.last().is_some_and(|call| asked_tools(call).next().is_some());
    let last = one.calls.pop_if(|_| asks_on).map(|call| {
        one.is_answered = true;
        Loop { name: free_name(&one.name, names), calls: vec![call], is_answered: false }
    });
    std::iter::once(one).chain(last).collect()
}

/// The name, or another one that is not taken.
fn free_name(plain: &str, names: &mut HashSet<String>) -> String {
    let mut name = plain.to_owned();
    let mut count = 1;
    while !names.insert(name.clone()) {
        count += 1;
        name = format!("{plain}-{count}");
    }
    name
}

/// Whether a call has the messages and the answer of another call, and the results of its tools.
fn follows(call: &Call, before: &Call) -> bool {
    let asked: Vec<&Value> = asked_tools(before).collect();
    let Some(rest) = messages(call).strip_prefix(messages(before)).filter(|_| !asked.is_empty()) else { return false };
    rest.first().is_some_and(|first| first["role"] == "assistant")
        && results(&asked, rest).iter().all(Option::is_some)
        && call.request["model"] == before.request["model"]
}

/// The results of calls of tools in the messages that follow: by the calls' ids, or in their order if they have none.
fn results<'m>(asked: &[&Value], rest: &'m [Value]) -> Vec<Option<&'m Value>> {
    let is_result = |part: &&Value| part["type"] == "tool-result";
    let all = || rest.iter().filter_map(|message| message["content"].as_array()).flatten().filter(is_result);
    let has_id = |part: &&Value| part["toolCallId"].as_str().is_some_and(|id| !id.is_empty());
    let mut unnumbered = all().filter(|part| !has_id(part));
    let result = |tool: &&Value| match tool["id"].as_str() {
        Some(id) if !id.is_empty() => all().find(|part| part["toolCallId"] == id),
        _ => unnumbered.next(),
    };
    asked.iter().map(result).collect()
}

fn script(loops: &[Loop]) -> String {
    let mut generators = Map::new();
    for one in loops {
        let last = one.calls.len() - 1;
        let entries: Vec<Value> =
            one.calls.iter().enumerate().map(|(at, call)| entry(&call.reply, at == last)).collect();
        generators.insert(one.name.clone(), entries.into());
    }
    pretty(&json!({ "generators": generators })) + "\n"
}

/// Whether a reply has something that a generator can return.
fn has_answer(reply: &Value) -> bool {
    ["text", "structuredOutput", "error"].iter().any(|name| reply.get(*name).is_some())
}

/// Converts a reply for a mock script. A last reply without an answer gets an empty text, because a generator needs
/// one.
fn entry(reply: &Value, is_last: bool) -> Value {
    const FIELDS: [&str; 8] =
        ["text", "reasoning", "toolCalls", "structuredOutput", "usage", "error", "model", "finishReason"];
    let fields = FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), nearest(reply.get(*name)?))));
    let mut fields: Map<String, Value> = fields.collect();
    if is_last && !has_answer(reply) {
        fields.insert("text".to_owned(), "".into());
    }
    Value::Object(fields)
}

/// A value with numbers that a flow can have: the nearest double of a number with too many digits.
fn nearest(value: &Value) -> Value {
    const MAX_SAFE: i64 = (1 << 53) - 1;
    match value {
        Value::Number(number) if number.as_i64().is_none_or(|number| !(-MAX_SAFE..=MAX_SAFE).contains(&number)) => {
            number.as_f64().and_then(Number::from_f64).map_or_else(|| value.clone(), Value::Number)
        }
        Value::Array(items) => items.iter().map(nearest).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (name.clone(), nearest(value))).collect(),
        other => other.clone(),
    }
}

/// A name for a block, of a span's name.
fn plain_name(name: &str) -> String {
    let mut plain = String::new();
    for letter in name.chars().take(60) {
        match letter {
            letter if letter.is_ascii_alphanumeric() => plain.push(letter.to_ascii_lowercase()),
            _ if plain.ends_with('-') || plain.is_empty() => {}
            _ => plain.push('-'),
        }
    }
    let plain = plain.trim_end_matches('-');
    if plain.is_empty() { "model".to_owned() } else { plain.to_owned() }
}
