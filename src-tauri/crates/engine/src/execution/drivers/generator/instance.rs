//! A model that is an author's own code: which of its functions is called, and how its failures are classified.
//!
//! A model that can stream does so if there is a listener (SEMANTICS §6.4). Must not run tools: the loop does so for a
//! model with `generateStep`, and any other model runs its own.

use serde_json::{Value, json};

use super::step_messages::StepMessages;
use crate::execution::ctx::Context;
use crate::execution::step::callback;
use crate::model::callable::Arg;
use crate::model::effects::{Listener, ModelCall, ModelReply, ToolCall};
use crate::model::error::FlowError;
use crate::model::flow::ModelInstance;
use crate::model::provider::{class_of_network, class_of_status, provider_error};

/// The name of the model's function in the log.
pub(super) const FUNCTION: &str = "generate";

/// Calls the model. The listener gets what it streams.
pub(super) async fn ask(
    cx: &Context,
    instance: &ModelInstance,
    call: &ModelCall,
    steps: &StepMessages,
    listener: Option<Listener>,
) -> Result<ModelReply, FlowError> {
    let Some(function) = instance.function(listener.is_some()) else {
        return Err(FlowError::plain(format!("model \"{}\" has no generate function", instance.id)));
    };
    let mut options = json!({
        "messages": steps.conversation(call),
        "tools": call.tools,
        "outputSchema": call.output_schema,
        "maxTokens": call.max_tokens,
        "providerOptions": call.provider_options,
        "stepNumber": call.step,
    });
    if let Value::Object(fields) = &mut options {
        fields.retain(|_, value| !value.is_null());
    }
    let _listening = Listening::begin(cx, listener);
    let answer = callback::call(cx, FUNCTION, function, vec![Arg::Data(options.into())]).await;
    let answer = answer.map_err(classified)?.into_data()?.to_json();
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let calls = answer["toolCalls"].as_array().cloned().unwrap_or_default();
    Ok(ModelReply {
        // If there is a text, null means that there is no structured answer.
        structured_output: answer
            .get("structuredOutput")
            .filter(|value| !value.is_null() || text("text").is_none())
            .cloned(),
        text: text("text"),
        reasoning: text("reasoning"),
        tool_calls: calls
            .iter()
            .enumerate()
            .map(|(n, call_of)| ToolCall {
                id: call_of["toolCallId"].as_str().map_or_else(|| format!("call_{}_{n}", call.step), str::to_owned),
                name: call_of["toolName"].as_str().or(call_of["name"].as_str()).unwrap_or_default().to_owned(),
                args: call_of.get("args").cloned().unwrap_or_default(),
                provider_executed: call_of["providerExecuted"] == true,
                result: call_of.get("result").filter(|_| call_of["providerExecuted"] == true).cloned(),
            })
            .collect(),
        usage: answer.get("usage").filter(|value| !value.is_null()).cloned(),
        model: Some(answer["resolvedIdentity"]["actual"].as_str().unwrap_or(&instance.id).to_owned()),
        finish_reason: text("finishReason"),
        sources: answer["sources"].as_array().cloned().unwrap_or_default(),
        response_messages: turn_of(&answer["responseMessages"]),
        shared_ms: None,
    })
}

/// Returns the messages that are part of the conversation.
fn turn_of(messages: &Value) -> Vec<Value> {
    let is_turn = |message: &&Value| matches!(message["role"].as_str(), Some("assistant" | "tool"));
    messages.as_array().into_iter().flatten().filter(is_turn).cloned().collect()
}

/// Sets the frame's listener for the duration of a call, so that `ctx` can pass on what the model streams.
struct Listening<'a>(&'a Context);

impl<'a> Listening<'a> {
    fn begin(cx: &'a Context, listener: Option<Listener>) -> Self {
        *cx.frame.listener.borrow_mut() = listener;
        Listening(cx)
    }
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.0.frame.listener.take();
    }
}

/// Classifies an error of an HTTP client library like those of the built-in providers, by its status or code. A
/// `FlowError`, or an error with neither status nor code, stays unchanged.
fn classified(error: FlowError) -> FlowError {
    if error.classes.iter().any(|class| class == "FlowError") || error.is_uncatchable() {
        return error;
    }
    let name = match error.status {
        Some(status @ 400..) => Some(class_of_status(status, &error.message)),
        _ => error.code.as_deref().and_then(class_of_network),
    };
    let Some(name) = name else { return error };
    let mut details = match error.details {
        Some(Value::Object(details)) => details,
        _ => serde_json::Map::new(),
    };
    details.extend(error.status.map(|status| ("status".to_owned(), status.into())));
    let mut cause = json!({ "name": error.name, "message": error.message });
    if let Some(code) = error.code {
        cause["code"] = code.into();
    }
    details.entry("cause").or_insert(cause);
    FlowError {
        details: Some(details.into()),
        location: error.location,
        stack: error.stack,
        path: error.path,
        ..provider_error(name, error.message)
    }
}
