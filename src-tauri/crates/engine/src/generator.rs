//! A generator: messages in, one model call, a checked answer and its items out.
//!
//! Message order is core-semantics §6.3: system, history, user. What the model answered is
//! recorded as an effect, so a replay and a resume never ask again.

use std::rc::Rc;

use serde_json::{Value, json};

use crate::block::{Flowing, text};
use crate::context::{Context, EmitOptions};
use crate::data::Data;
use crate::effects::{Message, ModelCall};
use crate::error::FlowError;
use crate::event::EventKind;
use crate::flow::{Block, Generator};
use crate::views::history;

/// Runs a generator on its input.
pub async fn generate(
    cx: &Context,
    block: &Rc<Block>,
    generator: &Generator,
    input: &Data,
) -> Result<Flowing, FlowError> {
    let model = match text(cx, &generator.model, input).await? {
        Value::String(model) => model,
        other => return Err(FlowError::plain(format!("Generator \"{}\": a model is a string, not {other}", block.name))),
    };
    let call = ModelCall {
        generator: block.name.to_string(),
        model,
        messages: messages(cx, generator, input).await?,
        output_schema: generator.structured.then(|| block.output_schema.as_ref().map(|s| s.describe())).flatten(),
        step: 0,
    };
    let request = serde_json::to_value(&call).map_err(|error| FlowError::plain(error.to_string()))?;
    let ordinal = cx.ordinal("model");
    let answer = cx.run.effects.model(call).await;
    let (result, error) = match &answer {
        Ok(reply) => (serde_json::to_value(reply).unwrap_or_default(), None),
        Err(error) => (Value::Null, Some(error.clone())),
    };
    cx.record(EventKind::EffectRecorded {
        effect: "model".to_owned(),
        ordinal,
        request: Some(request),
        result,
        error,
    });
    let reply = answer?;
    let candidate = reply.candidate();
    if candidate == Data::UNDEFINED {
        return Err(FlowError::plain(format!("Generator \"{}\" did not produce output after 1 step(s)", block.name)));
    }
    emit(cx, generator, &block.name, reply.reasoning.as_deref(), &candidate);
    Ok(Flowing::new(candidate))
}

async fn messages(cx: &Context, generator: &Generator, input: &Data) -> Result<Vec<Message>, FlowError> {
    let mut messages = Vec::new();
    let mut system = Vec::new();
    for part in &generator.prompt {
        match text(cx, part, input).await? {
            Value::String(part) if !part.is_empty() => system.push(part),
            Value::String(_) | Value::Null => {}
            other => system.push(other.to_string()),
        }
    }
    if !system.is_empty() {
        messages.push(Message { role: "system".to_owned(), content: system.join("\n").into() });
    }
    if generator.history {
        let earlier = cx
            .run
            .log
            .session_events(&cx.run.asked.session, &cx.run.request)
            .map_err(|error| FlowError::storage(error.to_string()))?;
        messages.extend(history::messages(&earlier));
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
