//! A message of a model's conversation.
//!
//! The log calls the arguments of a tool call `args`, the framework calls them `input`. The author's code reads and
//! writes `input`. The log keeps `args`, so that requests of earlier versions can be compared with today's calls.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// One message of a model's conversation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// `system`, `user`, `assistant` or `tool`.
    pub role: String,
    /// Text, or structured parts.
    #[serde(deserialize_with = "crate::model::json::exact")]
    pub content: Value,
}

impl Message {
    /// Returns the message with the framework's word.
    pub fn for_author(&self) -> Value {
        let mut content = self.content.clone();
        rename(&mut content, "args", "input");
        json!({ "role": self.role, "content": content })
    }

    /// Returns a message with the log's word.
    pub fn for_log(role: String, mut content: Value) -> Self {
        rename(&mut content, "input", "args");
        Message { role, content }
    }
}

fn rename(content: &mut Value, from: &str, to: &str) {
    let Value::Array(parts) = content else { return };
    for part in parts.iter_mut().filter(|part| part["type"] == "tool-call") {
        let Value::Object(fields) = part else { continue };
        if fields.contains_key(to) || !fields.contains_key(from) {
            continue;
        }
        let renamed = |(key, value)| if key == from { (to.to_owned(), value) } else { (key, value) };
        *fields = std::mem::take(fields).into_iter().map(renamed).collect::<Map<_, _>>();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_a_call_have_one_word_for_each_side() {
        let content = |word: &str| {
            json!([
                { "type": "text", "text": "args" },
                { "type": "tool-call", "toolCallId": "a", word: { "args": 1 }, "toolName": "find" },
            ])
        };
        let message = |content: Value| Message::for_log("assistant".to_owned(), content);
        assert_eq!(message(content("input")), message(content("args")));
        assert_eq!(message(content("args")).content, content("args"));
        assert_eq!(message(content("args")).for_author(), json!({ "role": "assistant", "content": content("input") }));
        assert_eq!(message(json!("input")).content, json!("input"));
    }
}
