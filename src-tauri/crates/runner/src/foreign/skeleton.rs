//! The flow and the mock script that a foreign request can be made into.
//!
//! The flow asks each model again for what it was asked, with the tools that it used, and the script answers as it
//! answered. So its run has the model inputs, outputs and final output of the trace, and from there the flow can be
//! changed, resumed, forked and tried. Code that the trace does not show is left to its author.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, Recorded};
use engine::views::model_requests::Requests;
use serde_json::{Map, Value, json};

/// What a request is made into.
pub(crate) struct Skeleton {
    /// The flow's TypeScript.
    pub(crate) flow: String,
    /// The mock script.
    pub(crate) script: String,
    /// How many model calls it repeats.
    pub(crate) model_calls: usize,
    /// The names of the tools that it has.
    pub(crate) tools: Vec<String>,
}

/// One call of a model, in the order of the log.
struct Call {
    request: Value,
    reply: Value,
}

/// Calls of one generator: each after the first goes on with the results of the tools that the one before asked for.
struct Loop {
    name: String,
    calls: Vec<Call>,
}

impl Skeleton {
    /// Of a request's whole log, as a flow of this name; `None` if it called no model.
    pub(crate) fn of(name: &str, about: &str, events: &[Event]) -> Option<Skeleton> {
        let loops = loops(calls(events));
        if loops.is_empty() {
            return None;
        }
        let tools = tools(&loops);
        let output = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::RequestFinished { output: Some(Recorded::Value(output)), .. } => Some(output.clone()),
            _ => None,
        });
        let model_calls = loops.iter().map(|one| one.calls.len()).sum();
        Some(Skeleton {
            flow: flow(name, about, &loops, &tools, output),
            script: script(&loops),
            model_calls,
            tools: tools.into_keys().collect(),
        })
    }
}

fn calls(events: &[Event]) -> Vec<Call> {
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
    calls.retain(|call| !call.reply.is_null());
    calls
}

fn messages(call: &Call) -> &[Value] {
    call.request["messages"].as_array().map_or(&[], Vec::as_slice)
}

/// Puts the calls of a loop together.
fn loops(calls: Vec<Call>) -> Vec<Loop> {
    let mut loops: Vec<Loop> = Vec::new();
    let mut names: HashMap<String, u32> = HashMap::new();
    for call in calls {
        let goes_on = |one: &&mut Loop| one.calls.last().is_some_and(|last| follows(&call, last));
        if let Some(one) = loops.iter_mut().rev().find(goes_on) {
            one.calls.push(call);
            continue;
        }
        let plain = plain_name(call.request["generator"].as_str().unwrap_or_default());
        let count = names.entry(plain.clone()).or_insert(0);
        *count += 1;
        let name = if *count == 1 { plain } else { format!("{plain}-{count}") };
        loops.push(Loop { name, calls: vec![call] });
    }
    loops
}

/// Whether a call is asked with what another one was asked and answered, and with the results of its tools.
fn follows(call: &Call, before: &Call) -> bool {
    let asked: Vec<&Value> = before.reply["toolCalls"].as_array().into_iter().flatten().collect();
    let Some(rest) = messages(call).strip_prefix(messages(before)).filter(|_| !asked.is_empty()) else { return false };
    let answered = |id: &Value| {
        let parts = rest.iter().filter_map(|message| message["content"].as_array()).flatten();
        parts.filter(|part| part["type"] == "tool-result").any(|part| part["toolCallId"] == *id)
    };
    rest.first().is_some_and(|first| first["role"] == "assistant") && asked.iter().all(|tool| answered(&tool["id"]))
}

/// A tool, and what it answered.
#[derive(Default)]
struct Tool {
    description: Option<String>,
    answers: Vec<Value>,
}

/// The tools that were asked for within loops, by name.
fn tools(loops: &[Loop]) -> BTreeMap<String, Tool> {
    let mut tools: BTreeMap<String, Tool> = BTreeMap::new();
    for one in loops {
        for pair in one.calls.windows(2) {
            for asked in pair[0].reply["toolCalls"].as_array().into_iter().flatten() {
                let Some(name) = asked["name"].as_str() else { continue };
                let tool = tools.entry(name.to_owned()).or_default();
                let offered = pair[0].request["tools"].as_array().into_iter().flatten();
                let described = offered.filter(|offer| offer["name"] == name).find_map(|o| o["description"].as_str());
                tool.description = tool.description.take().or(described.map(str::to_owned));
                let results = messages(&pair[1]).iter().filter_map(|message| message["content"].as_array()).flatten();
                let result = results.filter(|part| part["type"] == "tool-result");
                let result = result.into_iter().find(|part| part["toolCallId"] == asked["id"]);
                let output = result.map_or(Value::Null, |part| part["output"].clone());
                let answer = match output["type"].as_str() {
                    Some("error-text" | "error-json") => json!({ "args": asked["args"], "error": output["value"] }),
                    _ => json!({ "args": asked["args"], "output": output["value"] }),
                };
                if !tool.answers.contains(&answer) {
                    tool.answers.push(answer);
                }
            }
        }
    }
    tools
}

fn script(loops: &[Loop]) -> String {
    let mut generators = Map::new();
    for one in loops {
        let entries: Vec<Value> = one.calls.iter().map(|call| entry(&call.reply)).collect();
        generators.insert(one.name.clone(), entries.into());
    }
    pretty(&json!({ "generators": generators })) + "\n"
}

/// A reply as a mock script has it.
fn entry(reply: &Value) -> Value {
    const FIELDS: [&str; 8] =
        ["text", "reasoning", "toolCalls", "structuredOutput", "usage", "error", "model", "finishReason"];
    let fields = FIELDS.iter().filter_map(|name| Some(((*name).to_owned(), reply.get(*name)?.clone())));
    Value::Object(fields.collect())
}

fn flow(name: &str, about: &str, loops: &[Loop], tools: &BTreeMap<String, Tool>, output: Option<Value>) -> String {
    let mut text = format!(
        "/**\n * {}\n *\n * It asks each model for what the trace shows that it was asked. `{name}.mock.json` \
         answers as the models did:\n * `flowglass run {name} run --user me --mock`. Put your own code where values \
         are only recorded ones.\n */\n\n",
        about.replace("*/", "* /").replace(['\n', '\r'], " ")
    );
    let handler = if tools.is_empty() { "" } else { "handler, " };
    let _ = writeln!(text, "import {{ defineFlow, generator, {handler}sequencer }} from \"@flow-state-dev/core\";");
    let _ = writeln!(text, "import {{ z }} from \"zod\";\n");
    if !tools.is_empty() {
        text.push_str(
            "/** What a tool answered to these arguments. */\n\
             const answerOf = (answers: { args: unknown; output?: any; error?: unknown }[], args: unknown) => {\n  \
             const found = answers.find((answer) => JSON.stringify(answer.args) === JSON.stringify(args));\n  \
             if (!found) throw new Error(`no answer is recorded for ${JSON.stringify(args)}`);\n  \
             if (\"error\" in found) throw new Error(String(found.error));\n  return found.output;\n};\n\n",
        );
    }
    let mut variables: HashMap<&str, String> = HashMap::new();
    for (number, (tool, Tool { description, answers })) in tools.iter().enumerate() {
        let variable = format!("tool{}", number + 1);
        let description = description.as_ref().map(|words| format!("  description: {},\n", literal(&json!(words))));
        let _ = writeln!(
            text,
            "const {variable} = handler({{\n  name: {},\n{}  inputSchema: z.object({{}}).passthrough(),\n  execute: \
             (input) => answerOf({}, input),\n}});\n",
            literal(&json!(tool)),
            description.unwrap_or_default(),
            literal(&json!(answers)),
        );
        variables.insert(tool, variable);
    }
    for (number, one) in loops.iter().enumerate() {
        let first = &one.calls[0];
        let used = one.calls.iter().flat_map(|call| call.reply["toolCalls"].as_array().into_iter().flatten());
        let mut used: Vec<&str> = used.filter_map(|tool| variables.get(tool["name"].as_str()?).map(|v| &**v)).collect();
        used.sort_unstable();
        used.dedup();
        let _ = writeln!(text, "const asked{} = {};\n", number + 1, literal(&json!(messages(first))));
        let _ = writeln!(
            text,
            "const step{} = generator({{\n  name: {},\n  model: {},",
            number + 1,
            literal(&json!(one.name)),
            literal(&first.request["model"]),
        );
        if first.reply.get("structuredOutput").is_some() {
            text.push_str("  outputSchema: z.any(),\n");
        }
        let _ = writeln!(text, "  user: () => asked{},", number + 1);
        if !used.is_empty() && one.calls.len() > 1 {
            let turns = one.calls.len();
            let _ = writeln!(
                text,
                "  tools: [{}],\n  describeTools: false,\n  loop: {{ maxIterations: {turns} }},",
                used.join(", ")
            );
        }
        text.push_str("});\n\n");
    }
    let last = loops.last().and_then(|one| one.calls.last());
    let said = last.and_then(|call| ["structuredOutput", "text"].iter().find_map(|name| call.reply.get(*name)));
    let _ = writeln!(text, "const root = sequencer({{ name: {}, inputSchema: z.any() }})", literal(&json!(name)));
    for number in 1..=loops.len() {
        let _ = writeln!(text, "  .step(step{number})");
    }
    if let Some(output) = output.filter(|output| said != Some(output)) {
        let _ =
            writeln!(text, "  // What the program made of it, as recorded.\n  .map((): any => ({}))", literal(&output));
    }
    text.truncate(text.trim_end().len());
    let _ = writeln!(
        text,
        ";\n\nexport default defineFlow({{\n  kind: {},\n  actions: {{ run: {{ inputSchema: z.any(), block: root }} \
         }},\n}});",
        literal(&json!(name))
    );
    text
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A value as TypeScript. What turns the direction of text, or is not seen, is escaped.
fn literal(value: &Value) -> String {
    let text = pretty(value);
    let mut written = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_hidden = matches!(
            letter,
            '\u{7f}'..='\u{9f}' | '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}'
        );
        if is_hidden {
            let _ = write!(written, "\\u{:04x}", u32::from(letter));
        } else {
            written.push(letter);
        }
    }
    written
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
