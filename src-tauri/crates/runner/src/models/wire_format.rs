//! Translates messages, tools, options and replies between our form and that of the provider library.
//!
//! Pure: nothing is sent from here.

use std::collections::HashMap;

use engine::effects::{Message, ModelCall, ToolCall};
use genai::chat::{
    ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent, ReasoningEffort, StopReason, Tool, ToolChoice,
    ToolResponse, Usage, Verbosity,
};
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::provider::{Kind, kind};

/// The assistant's messages as the provider sent them, by their tool calls.
pub(crate) type ProviderMessages = HashMap<String, ChatMessage>;

/// The conversation and the tools of a call.
pub(crate) fn request(call: ModelCall, said: &ProviderMessages) -> Result<ChatRequest, Failure> {
    let messages = call.messages.iter().map(|message| spoken(message, said)).collect::<Result<Vec<_>, _>>()?;
    let tools = call.tools.into_iter().map(|offer| {
        let schema = match offer.parameters.get("type") {
            Some(_) => offer.parameters,
            None => json!({ "type": "object", "properties": {} }),
        };
        let tool = Tool::new(offer.name).with_schema(schema);
        offer.description.into_iter().fold(tool, Tool::with_description)
    });
    let request = ChatRequest::new(messages);
    let tools: Vec<Tool> = tools.collect();
    Ok(if tools.is_empty() { request } else { request.with_tools(tools) })
}

/// Returns the options of a call. Known options of the author are translated; the rest is passed to the provider
/// unchanged.
pub(crate) fn options(provider: Kind, call: &ModelCall) -> ChatOptions {
    let mut options = ChatOptions { max_tokens: call.max_tokens, ..ChatOptions::default() };
    let mut rest = Map::new();
    let mut given = vec![];
    for (name, value) in call.provider_options.iter().filter_map(Value::as_object).flatten() {
        match (kind(name), value) {
            // Options may be grouped by provider. Ignore those of other providers.
            (Some(owner), Value::Object(own)) if owner == provider => given.extend(own),
            (Some(_), Value::Object(_)) => {}
            _ => given.push((name, value)),
        }
    }
    let mut budget = None;
    for (name, value) in given {
        let text = value.as_str();
        match name.replace('_', "").to_ascii_lowercase().as_str() {
            "temperature" => options.temperature = value.as_f64(),
            "topp" => options.top_p = value.as_f64(),
            "seed" => options.seed = value.as_u64(),
            "stop" | "stopsequences" => {
                let all = value.as_array().map(Vec::as_slice).unwrap_or(std::slice::from_ref(value));
                options.stop_sequences = all.iter().filter_map(Value::as_str).map(str::to_owned).collect();
            }
            "reasoningeffort" => options.reasoning_effort = text.and_then(ReasoningEffort::from_keyword),
            "reasoningmaxtokens" => budget = value.as_u64().and_then(|most| u32::try_from(most).ok()),
            // The protocols that have this option use this name.
            "paralleltoolcalls" => drop(rest.insert("parallel_tool_calls".to_owned(), value.clone())),
            "verbosity" => options.verbosity = text.and_then(Verbosity::from_keyword),
            "toolchoice" => {
                options.tool_choice = match text {
                    Some("auto") => Some(ToolChoice::Auto),
                    Some("none") => Some(ToolChoice::None),
                    Some("required") => Some(ToolChoice::Required),
                    _ => value["toolName"].as_str().map(ToolChoice::tool),
                }
            }
            // Ignore headers, because a secret in an option would be recorded with the call.
            "headers" => {}
            _ => drop(rest.insert(name.clone(), value.clone())),
        }
    }
    match provider {
        // These providers limit reasoning in tokens, which is more exact if both options are given.
        Kind::Anthropic | Kind::Gemini => {
            options.reasoning_effort = budget.map(ReasoningEffort::Budget).or(options.reasoning_effort);
            let parallel = rest.shift_remove("parallel_tool_calls");
            let choice = match &options.tool_choice {
                Some(ToolChoice::Required) => Some("any"),
                Some(ToolChoice::Auto) | None => Some("auto"),
                // At most one tool can be called, so there are no parallel calls.
                Some(_) => None,
            };
            if let Some(choice) = choice.filter(|_| provider == Kind::Anthropic && parallel == Some(false.into())) {
                rest.insert("tool_choice".to_owned(), json!({ "type": choice, "disable_parallel_tool_use": true }));
            }
        }
        _ => options.reasoning_effort = options.reasoning_effort.or(budget.map(ReasoningEffort::Budget)),
    }
    options.extra_body = (!rest.is_empty()).then_some(Value::Object(rest));
    options
}

fn spoken(message: &Message, said: &ProviderMessages) -> Result<ChatMessage, Failure> {
    let parts: Vec<&Value> = match &message.content {
        // Leave out tools that another provider ran itself, because this provider did not call them.
        Value::Array(parts) if parts.iter().all(|part| part["type"].is_string()) => {
            parts.iter().filter(|part| part["providerExecuted"] != true).collect()
        }
        whole => return plain(&message.role, MessageContent::from_text(as_text(whole))),
    };
    let calls = parts.iter().filter(|part| part["type"] == "tool-call");
    let calls = calls.map(|part| {
        let name = |field: &str| part[field].as_str().unwrap_or_default();
        (name("toolCallId"), name("toolName"), &part["args"])
    });
    if let Some(verbatim) = said.get(&key_of(calls)) {
        return Ok(verbatim.clone());
    }
    let parts = parts.into_iter().map(content_part).collect::<Result<Vec<_>, _>>()?;
    plain(&message.role, MessageContent::from_parts(parts))
}

fn plain(role: &str, content: MessageContent) -> Result<ChatMessage, Failure> {
    Ok(match role {
        "system" => ChatMessage::system(content),
        "user" => ChatMessage::user(content),
        "assistant" => ChatMessage::assistant(content),
        "tool" => ChatMessage::tool(content),
        other => return Err(Failure::Impossible(format!("cannot be sent a message of the role \"{other}\""))),
    })
}

fn content_part(part: &Value) -> Result<ContentPart, Failure> {
    let field = |name: &str| part[name].as_str().unwrap_or_default().to_owned();
    Ok(match (part["type"].as_str().unwrap_or_default(), part["text"].as_str()) {
        ("tool-call", _) => ContentPart::ToolCall(genai::chat::ToolCall {
            call_id: field("toolCallId"),
            fn_name: field("toolName"),
            fn_arguments: part["args"].clone(),
            thought_signatures: None,
        }),
        ("tool-result", _) => {
            let result = ToolResponse::new(field("toolCallId"), as_text(&part["output"]["value"]));
            ContentPart::ToolResponse(result.with_fn_name(field("toolName")))
        }
        ("reasoning", Some(text)) => ContentPart::ReasoningContent(text.to_owned()),
        (_, Some(text)) => ContentPart::from_text(text),
        (other, None) => return Err(Failure::Impossible(format!("cannot be sent a part of the type \"{other}\""))),
    })
}

/// The text of a value for a model.
fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The key of an assistant's message in [`ProviderMessages`].
pub(crate) fn key_of<'a>(calls: impl Iterator<Item = (&'a str, &'a str, &'a Value)>) -> String {
    calls.map(|(id, name, args)| format!("{id} {name} {args}\n")).collect()
}

/// All visible text.
pub(crate) fn text(texts: Vec<&str>) -> Option<String> {
    Some(texts.concat()).filter(|text| !text.is_empty())
}

/// Converts a tool call. Missing arguments become an empty object.
pub(crate) fn tool_call(call: &genai::chat::ToolCall) -> ToolCall {
    let args = match &call.fn_arguments {
        Value::String(text) if text.trim().is_empty() => json!({}),
        Value::Null => json!({}),
        args => args.clone(),
    };
    ToolCall::new(&call.call_id, &call.fn_name, args)
}

/// Why the model stopped.
pub(crate) fn finish(reason: &StopReason) -> String {
    match reason {
        StopReason::Completed(_) | StopReason::StopSequence(_) => "stop".to_owned(),
        StopReason::MaxTokens(_) => "length".to_owned(),
        StopReason::ToolCall(_) => "tool-calls".to_owned(),
        StopReason::ContentFilter(_) => "content-filter".to_owned(),
        StopReason::Other(reason) => reason.clone(),
    }
}

/// The tokens of the call, as far as the provider reports them.
pub(crate) fn usage(usage: &Usage) -> Option<Value> {
    let prompt = usage.prompt_tokens_details.as_ref();
    let counts = [
        ("promptTokens", usage.prompt_tokens),
        ("completionTokens", usage.completion_tokens),
        ("totalTokens", usage.total_tokens),
        ("cacheReadInputTokens", prompt.and_then(|details| details.cached_tokens)),
        ("cacheCreationInputTokens", prompt.and_then(|details| details.cache_creation_tokens)),
    ];
    let known: Map<String, Value> =
        counts.into_iter().filter_map(|(name, count)| Some((name.to_owned(), count?.into()))).collect();
    (!known.is_empty()).then_some(Value::Object(known))
}

/// The sources of an answer, if the provider cites them separately from the text.
pub(crate) fn sources(raw: &Value) -> Vec<Value> {
    let cited = raw.pointer("/choices/0/message/annotations").and_then(Value::as_array).into_iter().flatten();
    let cited = cited.filter_map(|annotation| {
        let citation = annotation.get("url_citation")?;
        Some(json!({ "url": citation.get("url")?, "title": citation.get("title")? }))
    });
    cited.collect()
}
