//! What a tool answered: as the model, the thread and the hooks get it (SEMANTICS §16.4).

use serde_json::{Value, json};

use engine::error::FlowError;

/// Returns what went wrong, of the result of a call that failed.
pub fn error_of(result: &Value) -> String {
    ToolResult(result.clone()).error()
}

/// The result of one call: `{ status, result?, error? }`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ToolResult(pub(super) Value);

impl ToolResult {
    /// Of what a tool returned. Anything but an object with a status is the result of a success.
    pub(super) fn of_returned(returned: Value) -> ToolResult {
        match returned["status"].as_str() {
            Some("success" | "error") => ToolResult(returned),
            _ => ToolResult(json!({ "status": "success", "result": returned })),
        }
    }

    /// Of what a tool threw. Arguments that break the schema are told with all that is wrong with them.
    pub(super) fn of_error(error: &FlowError, is_of_arguments: bool) -> ToolResult {
        let issues = error.details.as_ref().and_then(Value::as_array).filter(|_| is_of_arguments);
        let text = match issues {
            Some(issues) => {
                let told = issues.iter().map(|issue| {
                    let message = issue["message"].as_str().unwrap_or("invalid");
                    format!("[{}] {message}", issue["path"].as_str().unwrap_or_default())
                });
                format!("Tool argument validation failed: {}", told.collect::<Vec<_>>().join("; "))
            }
            None => error.told(),
        };
        ToolResult::failed(text)
    }

    /// A failure in these words.
    pub(super) fn failed(text: impl Into<String>) -> ToolResult {
        ToolResult(json!({ "status": "error", "error": text.into() }))
    }

    /// A success in these words.
    pub(super) fn succeeded(text: impl Into<Value>) -> ToolResult {
        ToolResult(json!({ "status": "success", "result": text.into() }))
    }

    pub(super) fn is_success(&self) -> bool {
        self.0["status"] != "error"
    }

    /// What went wrong.
    pub(super) fn error(&self) -> String {
        match &self.0["error"] {
            Value::String(text) => text.clone(),
            Value::Null => self.text().unwrap_or_else(|| "the tool gave no reason".to_owned()),
            other => other.to_string(),
        }
    }

    /// What of it no message can hold, in words.
    pub(super) fn left_out(&self) -> Option<String> {
        let parts = self.0["content"].as_array().into_iter().flatten();
        let kinds: Vec<String> = parts
            .filter(|part| !part["text"].is_string())
            .map(|part| format!("parts of type {}", part["type"]))
            .collect();
        let files =
            self.0["attachments"].as_array().filter(|files| !files.is_empty()).map(|_| "attachments".to_owned());
        let all: Vec<String> = kinds.into_iter().chain(files).collect();
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// The text of its content parts, or of its result.
    fn text(&self) -> Option<String> {
        if let Some(parts) = self.0["content"].as_array() {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            return Some(texts.join("\n"));
        }
        match &self.0["result"] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        }
    }

    /// The content of its message in the thread.
    pub(super) fn content(&self) -> String {
        if self.is_success() {
            self.text().unwrap_or_else(|| "Tool executed successfully".to_owned())
        } else {
            format!("Failed to execute tool: {}", self.error())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_told_in_the_words_that_a_model_gets() {
        let content = |returned: Value| ToolResult::of_returned(returned).content();
        assert_eq!(content(json!({ "status": "success", "result": "Done" })), "Done");
        assert_eq!(content(json!({ "status": "success", "result": { "n": 1 } })), r#"{"n":1}"#);
        assert_eq!(content(json!({ "status": "success" })), "Tool executed successfully");
        assert_eq!(content(json!({ "status": "error", "error": "no" })), "Failed to execute tool: no");
        let parts = json!([{ "type": "text", "text": "a" }, { "type": "image" }, { "type": "text", "text": "b" }]);
        assert_eq!(content(json!({ "status": "success", "content": parts })), "a\nb");
        assert_eq!(content(json!("plain")), "plain");
    }
}
