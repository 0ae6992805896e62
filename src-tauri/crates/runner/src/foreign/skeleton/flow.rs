//! The TypeScript of a flow that repeats a trace.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::schema::of_tool;
use super::tools::{Tool, tools_of};
use super::{Call, End, Loop, asked_tools, has_answer, messages};

/// What tools answered, for tools whose answers do not depend on their arguments alone.
const NTH_ANSWER: &str = r#"/** What a tool answered to these arguments the first time, the second time, and so on. */
const answerOf = async (tool: string, answers: Answer[], args: unknown, ctx: any) => {
  const same = answers.filter((answer) => sorted(answer.args) === sorted(args));
  const key = `${tool} ${sorted(args)}`;
  const before = ctx.request.state[key] ?? 0;
  await ctx.request.patchState({ [key]: before + 1 });
  const found = same[Math.min(before, same.length - 1)];
"#;

/// The same if each call with some arguments had one answer.
const ANSWER: &str = r#"/** What a tool answered to these arguments. */
const answerOf = (tool: string, answers: Answer[], args: unknown) => {
  const found = answers.find((answer) => sorted(answer.args) === sorted(args));
"#;

const SORTED: &str = r#"type Answer = { args: unknown; output?: any; error?: unknown };

/** A value as a text that does not depend on the order of fields. */
const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    part && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );

"#;

const FOUND: &str = r#"  if (!found) throw new Error(`no answer of ${tool} is recorded for ${JSON.stringify(args)}`);
  if ("error" in found) throw new Error(String(found.error));
  return found.output;
};

"#;

/// The flow of this name, and of what it says about itself.
pub(super) fn flow(
    (name, about): (&str, &str),
    differences: &[String],
    loops: &[Loop],
    tools: &BTreeMap<String, Tool>,
    end: &End,
) -> String {
    let comment = |words: &str| words.replace("*/", "* /").replace(['\n', '\r'], " ");
    let mut text = format!(
        "/**\n * {}\n *\n * It asks each model for what the trace shows that it was asked. `{name}.mock.json` \
         answers as the models did:\n * `flowglass run {name} run --user me --mock`. Put your own code where values \
         are only recorded ones.\n",
        comment(about)
    );
    if !differences.is_empty() {
        text.push_str(" *\n * A run differs from the trace:\n");
        text.extend(differences.iter().map(|one| format!(" * - {}\n", comment(one))));
    }
    text.push_str(" */\n\n");
    // A step fails the run only as it failed the trace: with its last step, and with the same error.
    let fails_run = |number: usize, error: &Value| {
        let failed = end.error.as_ref().filter(|_| number == loops.len());
        failed.is_some_and(|failed| error["name"] == *failed.name && error["message"] == *failed.message)
    };
    let is_caught = |number: usize| loops[number - 1].error().is_some_and(|error| !fails_run(number, error));
    let catches = (1..=loops.len()).any(is_caught);
    let handler = if tools.is_empty() && !catches { "" } else { "handler, " };
    let _ = writeln!(text, "import {{ defineFlow, generator, {handler}sequencer }} from \"@flow-state-dev/core\";");
    let _ = writeln!(text, "import {{ z }} from \"zod\";\n");
    let repeats = tools.values().any(|tool| has_several_answers(&tool.answers));
    if !tools.is_empty() {
        [SORTED, if repeats { NTH_ANSWER } else { ANSWER }, FOUND].iter().for_each(|part| text.push_str(part));
    }
    let mut variables: HashMap<&str, String> = HashMap::new();
    for (number, (name, tool)) in tools.iter().enumerate() {
        let variable = format!("tool{}", number + 1);
        write_tool(&mut text, &variable, (name.as_str(), tool), repeats);
        variables.insert(name.as_str(), variable);
    }
    for (number, one) in loops.iter().enumerate() {
        let used: Vec<&str> = tools_of(one, tools).iter().filter_map(|name| Some(&**variables.get(name)?)).collect();
        write_generator(&mut text, number + 1, one, &used, repeats);
    }
    if catches {
        text.push_str("/** After a call of a model that failed, the program went on. */\n");
        text.push_str("const caught = handler({ name: \"caught\", execute: (): any => null });\n\n");
    }
    let _ = writeln!(text, "const root = sequencer({{ name: {}, inputSchema: z.any() }})", literal(&json!(name)));
    for number in 1..=loops.len() {
        let rescue = if is_caught(number) { ".rescue([{ block: caught }])" } else { "" };
        let _ = writeln!(text, "  .step(step{number}{rescue})");
    }
    let said = loops.last().and_then(said);
    let last = loops.last().and_then(Loop::error);
    match (&end.error, &end.output) {
        (Some(error), _) if !last.is_some_and(|last| fails_run(loops.len(), last)) => {
            let (name, message) = (literal(&json!(error.name)), literal(&json!(error.message)));
            let _ = writeln!(
                text,
                "  // How the program failed, as recorded.\n  .map((): any => {{\n    throw Object.assign(new \
                 Error({message}), {{ name: {name} }});\n  }})"
            );
        }
        (None, Some(output)) if said.as_ref() != Some(output) => {
            let _ = writeln!(
                text,
                "  // What the program made of it, as recorded.\n  .map((): any => ({}))",
                literal(output)
            );
        }
        _ => {}
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

/// Whether a tool answered the same arguments differently.
fn has_several_answers(answers: &[Value]) -> bool {
    let mut known: HashMap<String, &Value> = HashMap::new();
    answers.iter().any(|answer| *known.entry(answer["args"].to_string()).or_insert(answer) != answer)
}

fn write_tool(text: &mut String, variable: &str, (name, tool): (&str, &Tool), repeats: bool) {
    let schema = of_tool(tool.parameters(), &tool.given()).code;
    let described = tool.description().map(|words| format!("  description: {},\n", literal(&json!(words))));
    let mut answers: Vec<&Value> = Vec::new();
    let mut known = std::collections::HashSet::new();
    // In their order, and each once if the arguments decide.
    answers.extend(tool.answers.iter().filter(|answer| repeats || known.insert(answer.to_string())));
    let (more, ctx) = if repeats { (", ctx", ", ctx") } else { ("", "") };
    let _ = writeln!(
        text,
        "const {variable} = handler({{\n  name: {name},\n{described}  inputSchema: {schema},\n  execute: (input{more}) \
         => answerOf({name}, {answers}, input{ctx}),\n}});\n",
        name = literal(&json!(name)),
        described = described.unwrap_or_default(),
        answers = literal(&json!(answers)),
    );
}

fn write_generator(text: &mut String, number: usize, one: &Loop, used: &[&str], repeats: bool) {
    let first = &one.calls[0];
    if messages(first).is_empty() {
        text.push_str("// The trace does not have what the model was asked: its program did not record it.\n");
    }
    let _ = writeln!(text, "const asked{number} = {};\n", literal(&json!(messages(first))));
    let is_silent = |call: &Call| !has_answer(&call.reply) && asked_tools(call).next().is_none();
    if one.calls.iter().any(is_silent) {
        text.push_str("// The trace does not have what the model answered: the script answers with an empty text.\n");
    }
    let _ = writeln!(
        text,
        "const step{number} = generator({{\n  name: {},\n  model: {},",
        literal(&json!(one.name)),
        literal(&first.request["model"]),
    );
    if one.calls.iter().any(|call| call.reply.get("structuredOutput").is_some()) {
        text.push_str("  outputSchema: z.any(),\n");
    }
    let _ = writeln!(text, "  user: () => asked{number},");
    let (longest, options) = parameters(first);
    if let Some(longest) = longest {
        let _ = writeln!(text, "  maxTokens: {longest},");
    }
    if !options.is_empty() {
        let _ = writeln!(text, "  providerOptions: {},", literal(&Value::Object(options)));
    }
    let wants_tools = one.calls.last().is_some_and(|call| asked_tools(call).next().is_some());
    if !used.is_empty() {
        let _ = writeln!(text, "  tools: [{}],\n  describeTools: false,", used.join(", "));
    }
    if one.runs_tools() {
        let _ = writeln!(text, "  loop: {{ maxIterations: {} }},", one.calls.len());
        if repeats {
            text.push_str("  flowTools: { defaults: { concurrency: \"serial\" } },\n");
        }
    } else if wants_tools {
        text.push_str("  // Nothing in the trace goes on with what it asked for.\n  loop: { runTools: false },\n");
    }
    text.push_str("});\n\n");
}

/// The longest answer, and what else a model was asked with, in our names.
fn parameters(call: &Call) -> (Option<u64>, Map<String, Value>) {
    const OPTIONS: [(&str, &[&str]); 11] = [
        ("temperature", &["temperature"]),
        ("topP", &["topP", "top_p"]),
        ("topK", &["topK", "top_k"]),
        ("seed", &["seed"]),
        ("stop", &["stop", "stop_sequences"]),
        ("frequencyPenalty", &["frequencyPenalty", "frequency_penalty"]),
        ("presencePenalty", &["presencePenalty", "presence_penalty"]),
        ("reasoningEffort", &["reasoningEffort", "reasoning_effort"]),
        ("verbosity", &["verbosity"]),
        ("toolChoice", &["toolChoice", "tool_choice"]),
        ("parallelToolCalls", &["parallelToolCalls", "parallel_tool_calls"]),
    ];
    const LONGEST: [&str; 4] = ["maxTokens", "max_tokens", "max_completion_tokens", "max_output_tokens"];
    let of = |names: &[&str]| names.iter().filter_map(|name| call.request.get(*name)).find(|value| !value.is_null());
    let is_usable = |name: &str, value: &Value| match name {
        "toolChoice" => matches!(value.as_str(), Some("auto" | "none" | "required")),
        _ => true,
    };
    let options = OPTIONS.iter().filter_map(|(name, names)| Some((*name, of(names)?)));
    let options = options.filter(|(name, value)| is_usable(name, value));
    (of(&LONGEST).and_then(Value::as_u64), options.map(|(name, value)| (name.to_owned(), value.clone())).collect())
}

/// What a generator that runs a loop returns.
fn said(one: &Loop) -> Option<Value> {
    let last = one.calls.last().filter(|_| one.error().is_none())?;
    if let Some(output) = last.reply.get("structuredOutput") {
        return Some(output.clone());
    }
    let texts = one.calls.iter().filter_map(|call| call.reply["text"].as_str()).filter(|text| !text.is_empty());
    Some(texts.collect::<Vec<_>>().join("\n\n").into())
}

pub(super) fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A value as TypeScript. What turns the direction of text, or is not seen, is escaped.
pub(super) fn literal(value: &Value) -> String {
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
