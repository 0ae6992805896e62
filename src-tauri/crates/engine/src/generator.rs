//! A generator: messages in, model calls and tools in turns, a checked answer and its items out.
//!
//! Message order is core-semantics §6.3: system, history, user. What a model answered is recorded
//! as an effect. A tool that fails fails nothing: the model is told.

use std::rc::Rc;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};

use crate::block::{Flowing, run_block, text};
use crate::callable::{Arg, Returned};
use crate::context::{Context, EmitOptions};
use crate::data::Data;
use crate::effects::{Message, ModelCall, ModelReply, ToolCall, ToolOffer};
use crate::error::FlowError;
use crate::event::EventKind;
use crate::flow::{Block, Generator};
use crate::item::ItemStatus;
use crate::path::{encode, join};
use crate::views::history;

/// Runs a generator on its input.
pub async fn generate(
    cx: &Context,
    block: &Rc<Block>,
    generator: &Generator,
    input: &Data,
) -> Result<Flowing, FlowError> {
    let name = &block.name;
    let model = match text(cx, &generator.model, input).await? {
        Value::String(model) => model,
        Value::Array(models) if models.first().is_some_and(Value::is_string) => {
            models[0].as_str().unwrap_or_default().to_owned()
        }
        other => return Err(FlowError::plain(format!("Generator \"{name}\": a model is a string, not {other}"))),
    };
    let tools = tools(cx, generator, input).await?;
    let conversation = conversation(cx, generator, input).await?;
    let mut turns: Vec<Message> = Vec::new();
    let mut said = Said::default();
    let mut step = 0;
    loop {
        if cx.run.abort.is_set() {
            return Err(FlowError::aborted());
        }
        // The system part is made anew for every step: it may show what a tool has written.
        let mut messages = system(cx, generator, &tools, input).await?;
        messages.extend(conversation.iter().cloned());
        messages.extend(turns.iter().cloned());
        let call = ModelCall {
            generator: name.to_string(),
            model: model.clone(),
            messages,
            tools: tools.iter().map(|tool| tool.offer.clone()).collect(),
            output_schema: generator
                .structured
                .then(|| block.output_schema.as_ref().map(|schema| schema.describe()))
                .flatten(),
            step,
            max_tokens: None,
            provider_options: None,
        };
        let reply = ask(cx, call).await?;
        said.add(&reply);
        step += 1;
        if reply.tool_calls.is_empty() || !generator.run_tools || step >= generator.max_iterations {
            break;
        }
        turns.extend(run_tools(cx, generator, &tools, step - 1, &reply).await?);
    }
    let candidate = said.candidate();
    if candidate == Data::UNDEFINED {
        return Err(FlowError::plain(format!("Generator \"{name}\" did not produce output after {step} step(s)")));
    }
    emit(cx, generator, name, said.reasoning.as_deref(), &candidate);
    Ok(Flowing::new(candidate))
}

/// What the model said over all its steps.
#[derive(Default)]
struct Said {
    text: Option<String>,
    reasoning: Option<String>,
    structured: Option<Value>,
}

impl Said {
    /// Text of a later step opens with a blank line; of structured answers the last counts.
    fn add(&mut self, reply: &ModelReply) {
        for (all, new) in [(&mut self.text, &reply.text), (&mut self.reasoning, &reply.reasoning)] {
            match (all.as_mut(), new) {
                (Some(all), Some(new)) => {
                    all.push_str("\n\n");
                    all.push_str(new);
                }
                (None, Some(new)) => *all = Some(new.clone()),
                (_, None) => {}
            }
        }
        if reply.structured_output.is_some() {
            self.structured.clone_from(&reply.structured_output);
        }
    }

    fn candidate(&self) -> Data {
        match (&self.structured, &self.text) {
            (Some(value), _) => value.clone().into(),
            (None, Some(text)) => Value::String(text.clone()).into(),
            (None, None) => Data::UNDEFINED,
        }
    }
}

async fn ask(cx: &Context, call: ModelCall) -> Result<ModelReply, FlowError> {
    let request = serde_json::to_value(&call).map_err(|error| FlowError::plain(error.to_string()))?;
    let ordinal = cx.ordinal("model");
    let answer = cx.run.effects.model(call, None).await;
    let (result, error) = match &answer {
        Ok(reply) => (serde_json::to_value(reply).unwrap_or_default(), None),
        Err(error) => (Value::Null, Some(error.clone())),
    };
    cx.record(EventKind::EffectRecorded { effect: "model".to_owned(), ordinal, request: Some(request), result, error });
    answer
}

/// A block that the model may call.
struct Tool {
    offer: ToolOffer,
    block: Rc<Block>,
}

async fn tools(cx: &Context, generator: &Generator, input: &Data) -> Result<Vec<Tool>, FlowError> {
    let mut blocks = generator.tools.clone();
    if let Some(call) = &generator.tools_call {
        match call.call(vec![Arg::Data(input.clone())], cx.clone()).await? {
            Returned::Block(block) => blocks.push(block),
            Returned::Blocks(more) => blocks.extend(more),
            Returned::Data(_) => return Err(FlowError::plain("tools must be blocks")),
        }
    }
    let mut tools: Vec<Tool> = Vec::new();
    for block in blocks {
        let plain: String = block
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
            .collect();
        let mut name = plain.clone();
        let mut count = 1;
        while tools.iter().any(|tool| tool.offer.name == name) {
            count += 1;
            name = format!("{plain}_{count}");
        }
        let parameters = block.input_schema.as_ref().map_or_else(|| json!({}), |schema| schema.describe());
        tools.push(Tool { offer: ToolOffer { name, description: block.description.clone(), parameters }, block });
    }
    Ok(tools)
}

/// Runs all tools of one step together. The model gets one message with its calls, and one per
/// result, in the order it asked.
async fn run_tools(
    cx: &Context,
    generator: &Generator,
    tools: &[Tool],
    step: u32,
    reply: &ModelReply,
) -> Result<Vec<Message>, FlowError> {
    let runs = reply.tool_calls.iter().enumerate().map(|(n, call)| run_tool(cx, generator, tools, step, n, call));
    let results = join_all(runs).await;
    let calls: Vec<Value> = reply
        .tool_calls
        .iter()
        .map(|call| json!({ "type": "tool-call", "toolCallId": call.id, "toolName": call.name, "args": call.args }))
        .collect();
    let mut content: Vec<Value> = reply.text.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    content.extend(calls);
    let mut messages = vec![Message { role: "assistant".to_owned(), content: content.into() }];
    for (call, result) in reply.tool_calls.iter().zip(results) {
        let output = match result {
            Ok(Value::String(text)) => json!({ "type": "text", "value": text }),
            Ok(value) => json!({ "type": "json", "value": value }),
            Err(error) if error.is_abort() || error.name == "StorageError" => return Err(error),
            Err(error) => json!({ "type": "error-text", "value": error.message }),
        };
        let part = json!({ "type": "tool-result", "toolCallId": call.id, "toolName": call.name, "output": output });
        messages.push(Message { role: "tool".to_owned(), content: json!([part]) });
    }
    Ok(messages)
}

async fn run_tool(
    cx: &Context,
    generator: &Generator,
    tools: &[Tool],
    step: u32,
    n: usize,
    call: &ToolCall,
) -> Result<Value, FlowError> {
    let known = tools.iter().find(|tool| tool.offer.name == call.name || *tool.block.name == *call.name);
    let result = match known {
        None => Err(FlowError::plain(format!("Model called unknown tool \"{}\"", call.name))),
        Some(tool) => {
            let path = join(&cx.frame.path, &format!("tool:{}[{step}.{n}]", encode(&tool.block.name)));
            let input = Flowing::new(call.args.clone().into());
            run_block(cx.run.clone(), tool.block.clone(), Some(cx.frame.clone()), path, input).await
        }
    };
    let mut payload = Map::new();
    let tool_name = known.map_or(call.name.as_str(), |tool| &tool.block.name);
    payload.insert("blockName".to_owned(), tool_name.into());
    payload.insert(
        "toolCall".to_owned(),
        json!({
            "callId": call.id,
            "name": tool_name,
            "alias": call.name,
            "arguments": call.args.to_string(),
            "generatorBlock": &*cx.frame.block.name,
        }),
    );
    let (status, output) = match &result {
        Ok(output) => {
            payload.insert("output".to_owned(), output.data.to_json());
            (ItemStatus::Completed, Ok(output.data.to_json()))
        }
        Err(error) => {
            payload.insert("error".to_owned(), json!({ "message": error.message, "code": error.code }));
            (ItemStatus::Failed, Err(error.clone()))
        }
    };
    let item = crate::item::NewItem {
        item_type: "block_tool_output".to_owned(),
        status,
        key: None,
        transient: false,
        agent_type: generator.agent_type,
        agent_name: generator.agent_name.clone(),
        item_visibility: generator.item_visibility,
        payload,
    };
    cx.record(EventKind::ItemAdded { item });
    output
}

/// The system part: prompt, tagged context and tool descriptions, then free texts.
async fn system(cx: &Context, generator: &Generator, tools: &[Tool], input: &Data) -> Result<Vec<Message>, FlowError> {
    let mut parts = Vec::new();
    for part in &generator.prompt {
        match text(cx, part, input).await? {
            Value::String(part) if !part.is_empty() => parts.push(part),
            Value::String(_) | Value::Null => {}
            other => parts.push(other.to_string()),
        }
    }
    let mut tagged = Vec::new();
    let mut texts = Vec::new();
    for entry in &generator.context {
        add_context(text(cx, entry, input).await?, &mut tagged, &mut texts);
    }
    let described: Vec<String> = tools
        .iter()
        .filter_map(|tool| Some(format!("- {}: {}", tool.offer.name, tool.offer.description.as_ref()?)))
        .collect();
    if !described.is_empty() {
        texts.push(format!("<tools>\n{}\n</tools>", described.join("\n")));
    }
    let mut first = parts.join("\n");
    if !tagged.is_empty() {
        if !first.is_empty() {
            first.push_str("\n\n");
        }
        first.push_str(&tagged.join("\n"));
    }
    let all = std::iter::once(first).chain(texts).filter(|text| !text.is_empty());
    Ok(all.map(|text| Message { role: "system".to_owned(), content: text.into() }).collect())
}

/// Texts stand by themselves; an object's entries become tags.
fn add_context(value: Value, tagged: &mut Vec<String>, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(entries) => entries.into_iter().for_each(|entry| add_context(entry, tagged, texts)),
        Value::Object(entries) => {
            for (key, entry) in entries {
                let body = match entry {
                    Value::Null => continue,
                    Value::String(text) => text,
                    other => other.to_string(),
                };
                let tag = kebab(&key);
                tagged.push(format!("<{tag}>\n{body}\n</{tag}>"));
            }
        }
        _ => {}
    }
}

fn kebab(key: &str) -> String {
    let mut tag = String::new();
    for c in key.chars() {
        if c.is_uppercase() {
            if !tag.is_empty() {
                tag.push('-');
            }
            tag.extend(c.to_lowercase());
        } else {
            tag.push(if c.is_alphanumeric() { c } else { '-' });
        }
    }
    tag
}

/// History, then the user's message, which is not said twice.
async fn conversation(cx: &Context, generator: &Generator, input: &Data) -> Result<Vec<Message>, FlowError> {
    let mut messages = Vec::new();
    if generator.history {
        let mut requests = cx.earlier()?;
        requests.push((cx.run.request.clone(), cx.run.recorder.items()));
        messages.extend(history::messages(&requests));
    }
    if let Some(user) = &generator.user {
        let content = text(cx, user, input).await?;
        let repeats = messages.last().is_some_and(|last| last.role == "user" && last.content == content);
        if !content.is_null() && !repeats {
            messages.push(Message { role: "user".to_owned(), content });
        }
    }
    Ok(messages)
}

/// The items of an answer, for a generator that has an identity (core-semantics §6.6).
fn emit(cx: &Context, generator: &Generator, name: &str, reasoning: Option<&str>, answer: &Data) {
    if generator.agent_type.is_none() && generator.item_visibility.is_none() {
        return;
    }
    let options = || EmitOptions {
        agent_type: generator.agent_type,
        item_visibility: generator.item_visibility,
        agent_name: Some(generator.agent_name.clone().unwrap_or_else(|| name.to_owned())),
        ..EmitOptions::default()
    };
    if let Some(reasoning) = reasoning {
        let summary = json!({ "summary": [{ "type": "reasoning_text", "text": reasoning }] });
        cx.emit("reasoning", summary, false, options());
    }
    let text = match answer.as_value() {
        Some(Value::String(text)) => text.clone(),
        other => other.map(Value::to_string).unwrap_or_default(),
    };
    cx.emit_message("assistant", text.into(), options());
}
