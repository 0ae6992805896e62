//! What a tool answered: as the model, the thread and the hooks get it (SEMANTICS §16.4).

use serde_json::{Value, json};

use engine::error::FlowError;

/// Returns what went wrong, of the result of a call that failed.
pub fn error_of(result: &Value) -> String {
    ToolResult(result.clone()).error()
}

/// The result of one call: `{ status, result?, content?, error?, error_code?, error_data?, stack?, attachments? }`.
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

    /// Returns the failure of the call, with the code, the data and the stack that the tool gave it.
    pub(super) fn to_error(&self) -> FlowError {
        let text = |name: &str| match &self.0[name] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        let details = Some(self.0["error_data"].clone()).filter(|data| !data.is_null());
        FlowError { code: text("error_code"), details, stack: text("stack"), ..FlowError::plain(self.error()) }
    }

    /// Returns what of it neither its message nor its failure holds, in words.
    pub(super) fn left_out(&self) -> Option<String> {
        let fields = self.0.as_object().into_iter().flatten().filter(|(_, value)| !value.is_null());
        let is_error_given = !self.is_success() && !self.0["error"].is_null();
        let has_content = self.content_text().is_some();
        let mut all = Vec::new();
        for (name, value) in fields {
            let is_lost = match name.as_str() {
                "status" | "error_code" | "error_data" | "stack" => false,
                "error" => self.is_success(),
                "result" => is_error_given || has_content,
                "attachments" => value.as_array().is_none_or(|files| !files.is_empty()),
                "content" if is_error_given => has_content,
                "content" => {
                    let parts = value.as_array().into_iter().flatten();
                    let others = parts.filter(|part| !part["text"].is_string());
                    all.extend(others.map(|part| format!("parts of type {}", part["type"])));
                    !value.is_array() && !value.is_string()
                }
                _ => true,
            };
            all.extend(is_lost.then(|| name.clone()));
        }
        (!all.is_empty()).then(|| all.join(" and "))
    }

    /// The text of its content: of its parts, or as it is.
    fn content_text(&self) -> Option<String> {
        match &self.0["content"] {
            Value::String(text) => Some(text.clone()),
            Value::Array(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
                (!texts.is_empty()).then(|| texts.join("\n"))
            }
            _ => None,
        }
    }

    /// The text of its content, or of its result.
    fn text(&self) -> Option<String> {
        if let Some(text) = self.content_text() {
            return Some(text);
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
        assert_eq!(content(json!({ "status": "success", "content": "as it is" })), "as it is");
        let image = json!([{ "type": "image" }]);
        assert_eq!(content(json!({ "status": "success", "content": image, "result": "r" })), "r");
        assert_eq!(content(json!({ "status": "error", "content": "why" })), "Failed to execute tool: why");
    }

    #[test]
    fn what_a_message_cannot_hold_is_named() {
        for (returned, expected) in [
            (json!({ "status": "success", "result": 1, "attachments": [] }), None),
            (json!({ "status": "success", "content": [{ "type": "text", "text": "a" }] }), None),
            (json!({ "status": "error", "error": "no", "error_code": 7, "error_data": {}, "stack": "s" }), None),
            (json!({ "status": "success", "result": 1, "attachments": [{ "name": "a" }] }), Some("attachments")),
            (json!({ "status": "success", "content": [{ "type": "image" }] }), Some("parts of type \"image\"")),
            (json!({ "status": "success", "content": "a", "result": 1 }), Some("result")),
            (json!({ "status": "success", "content": 5, "data": 1 }), Some("content and data")),
            (json!({ "status": "error", "error": "no", "content": "a", "result": 1 }), Some("content and result")),
            (json!({ "status": "success", "result": 1, "error": "late" }), Some("error")),
            (json!({ "result": 1, "data": 2 }), None),
        ] {
            let left_out = ToolResult::of_returned(returned.clone()).left_out();
            assert_eq!(left_out.as_deref(), expected, "{returned}");
        }
    }

    #[test]
    fn a_failure_has_what_the_tool_says_of_it() {
        let returned =
            json!({ "status": "error", "error": "no", "error_code": "E7", "error_data": { "a": 1 }, "stack": "at b" });
        let error = ToolResult(returned).to_error();
        assert_eq!((error.code.as_deref(), error.stack.as_deref()), (Some("E7"), Some("at b")));
        assert_eq!((error.message.as_str(), error.details), ("no", Some(json!({ "a": 1 }))));
    }
}
