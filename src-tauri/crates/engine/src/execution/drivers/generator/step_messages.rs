//! The messages that follow a step whose model called tools: its calls, and their results.
//!
//! They exist in two forms. The log has one of its own, which also named models are asked with. A model that is the
//! author's own code gets the framework's form: the turn as the model itself returned it (`responseMessages`, with
//! reasoning and its signatures), or the calls with `input`; and a mapped output as `content` (SEMANTICS §6.4).

use serde_json::{Value, json};

use super::messages::message;
use super::tools::Answered;
use crate::model::effects::{Message, ModelCall, ModelReply, ToolCall};

/// The messages of all steps so far, in both forms.
#[derive(Default)]
pub(super) struct StepMessages {
    /// As the log has them.
    pub(super) recorded: Vec<Message>,
    /// As a model of the author gets them.
    own: Vec<Value>,
}

/// The outcome of a tool call.
pub(super) enum ToolOutcome {
    Answer(Answered),
    /// The model gets the message of the error as the result.
    Failure(String),
}

impl StepMessages {
    /// Returns the messages that follow a step. `settled` are the calls that ran here, in their order.
    pub(super) fn after(reply: &ModelReply, settled: Vec<(&ToolCall, ToolOutcome)>) -> StepMessages {
        let asked = message("assistant", calls_of(reply));
        let mut own = reply.response_messages.clone();
        if own.is_empty() {
            own.push(asked.for_author());
        }
        let mut recorded = vec![asked];
        for (call, outcome) in settled {
            let (output, own_output) = match outcome {
                ToolOutcome::Failure(message) => (json!({ "type": "error-text", "value": message }), None),
                ToolOutcome::Answer(Answered { for_model: Some(Value::String(text)), .. }) => {
                    let own = json!({ "type": "content", "value": [{ "type": "text", "text": text }] });
                    (output_for_model(text.into()), Some(own))
                }
                ToolOutcome::Answer(Answered { for_model, output, .. }) => {
                    (output_for_model(for_model.unwrap_or(output)), None)
                }
            };
            let result = |output: &Value| {
                let part =
                    json!({ "type": "tool-result", "toolCallId": call.id, "toolName": call.name, "output": output });
                message("tool", vec![part])
            };
            own.push(json!(result(own_output.as_ref().unwrap_or(&output))));
            recorded.push(result(&output));
        }
        StepMessages { recorded, own }
    }

    pub(super) fn extend(&mut self, more: StepMessages) {
        self.recorded.extend(more.recorded);
        self.own.extend(more.own);
    }

    /// Returns the conversation of a call, which ends with the recorded messages, in the framework's form.
    pub(super) fn conversation(&self, call: &ModelCall) -> Vec<Value> {
        let before = call.messages.len().saturating_sub(self.recorded.len());
        call.messages[..before].iter().map(Message::for_author).chain(self.own.iter().cloned()).collect()
    }
}

/// Returns the parts of an assistant's message: its text, its calls, and the results that the provider reported.
fn calls_of(reply: &ModelReply) -> Vec<Value> {
    let mut content: Vec<Value> = reply.text.iter().map(|text| json!({ "type": "text", "text": text })).collect();
    for call in &reply.tool_calls {
        let mut part = json!({ "type": "tool-call", "toolCallId": call.id, "toolName": call.name, "args": call.args });
        if call.provider_executed {
            part["providerExecuted"] = true.into();
        }
        content.push(part);
        // A result of the provider belongs to the message with the call.
        if let Some(result) = call.result.as_ref().filter(|_| call.provider_executed) {
            content.push(json!({
                "type": "tool-result",
                "toolCallId": call.id,
                "toolName": call.name,
                "output": output_for_model(result.clone()),
                "providerExecuted": true,
            }));
        }
    }
    content
}

/// Returns a tool's output as a content part for the model.
fn output_for_model(output: Value) -> Value {
    match output {
        Value::String(text) => json!({ "type": "text", "value": text }),
        value => json!({ "type": "json", "value": value }),
    }
}
