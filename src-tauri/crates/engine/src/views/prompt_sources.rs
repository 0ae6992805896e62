//! View: where the messages of a model call come from.
//!
//! A call's event holds what the model was told, not why. That is found again from what the log says of the same block:
//! its system messages come first, what came of its earlier calls last, and between them stand messages of the
//! session's items, and what the block said for this call. Where several items fit, the newest in the order of the
//! session is the one.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::model::event::Seq;
use crate::views::history::{joined_text, of_item};
use crate::views::items::Item;

/// Where one message comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum PromptSource {
    /// The generator's `prompt`, with the tagged parts of its `context`.
    Prompt,
    /// The generator's `context`.
    Context,
    /// An item of the session.
    History {
        /// The request that added it.
        request: Arc<str>,
        /// The event that added it.
        seq: Seq,
    },
    /// What the generator's `user` said.
    User,
    /// What the model answered to an earlier call of the same block.
    Answer {
        /// The event that began that call.
        call: Seq,
    },
    /// What came of a tool that an earlier call of the same block asked for.
    Tool {
        /// The event that began that call.
        call: Seq,
        /// The model's id for the tool's call.
        id: String,
    },
    /// The log does not say.
    Unknown,
}

/// An earlier call of the same execution of a block: the event that began it, and the ids of the tools it asked for.
pub struct EarlierCall {
    /// The event that began it.
    pub seq: Seq,
    /// The ids of its tool calls.
    pub tools: Vec<String>,
}

/// A message of the session, as a model sees it.
pub struct Said {
    request: Arc<str>,
    seq: Seq,
    role: String,
    content: Value,
}

impl Said {
    /// Whether it was said in a request after one of its events.
    pub fn is_after(&self, request: &str, seq: Seq) -> bool {
        &*self.request == request && self.seq > seq
    }
}

/// The messages that items of a request may have become, in their order.
pub fn said<'i>(request: &Arc<str>, items: impl IntoIterator<Item = &'i Item>) -> Vec<Said> {
    let of = |item: &Item| {
        let (request, seq) = (request.clone(), item.seq);
        let said = move |message: crate::model::effects::Message| Said {
            request: request.clone(),
            seq,
            role: message.role,
            content: message.content,
        };
        of_item(item).into_iter().map(said).collect::<Vec<_>>()
    };
    items.into_iter().flat_map(of).collect()
}

/// Returns where each message of a call comes from. `history` is what was said in the session before, oldest first.
pub fn sources(messages: &[Value], earlier: &[EarlierCall], history: &[Said]) -> Vec<PromptSource> {
    let begin = messages.iter().position(|message| message["role"] != "system").unwrap_or(messages.len());
    let tools: HashMap<&str, Seq> =
        earlier.iter().flat_map(|call| call.tools.iter().map(|id| (id.as_str(), call.seq))).collect();
    let end = messages.iter().rposition(|message| of_step(message, &tools).is_none()).map_or(begin, |at| at + 1);
    let end = end.max(begin);
    let mut sources: Vec<PromptSource> = Vec::with_capacity(messages.len());
    sources.extend((0..begin).map(|at| if at == 0 { PromptSource::Prompt } else { PromptSource::Context }));
    sources.extend(between(&messages[begin..end], history));
    sources.extend(messages[end..].iter().filter_map(|message| of_step(message, &tools)));
    sources
}

/// The same for a call of another program, which does not say where its messages come from: one is known by the id of a
/// tool's call in it, or by its words if these were said before. `history` is what was said before, oldest first.
pub fn foreign_sources(messages: &[Value], history: &[Said]) -> Vec<PromptSource> {
    let key = |role: &str, content: &Value| -> Option<String> {
        let mut ids = content.as_array().into_iter().flatten().filter_map(|part| part["toolCallId"].as_str());
        let id = ids.find(|id| !id.is_empty()).map(|id| format!("{role} call {id}"));
        let text = || Some(joined_text(content)).filter(|text| !text.is_empty()).map(|text| format!("{role} {text}"));
        id.or_else(text)
    };
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, said) in history.iter().enumerate() {
        if let Some(key) = key(&said.role, &said.content) {
            places.entry(key).or_default().push(at);
        }
    }
    // From the newest on: of what was said several times, the last is the last here, too.
    let mut found: Vec<PromptSource> = Vec::with_capacity(messages.len());
    for (n, message) in messages.iter().enumerate().rev() {
        let key = key(message["role"].as_str().unwrap_or_default(), &message["content"]);
        let at = key.and_then(|key| {
            let all = places.get_mut(&key)?;
            if all.len() > 1 { all.pop() } else { all.first().copied() }
        });
        found.push(match at {
            Some(at) => PromptSource::History { request: history[at].request.clone(), seq: history[at].seq },
            None if n == 0 && message["role"] == "system" => PromptSource::Prompt,
            None => PromptSource::Unknown,
        });
    }
    found.reverse();
    found
}

/// What a message is that an earlier step of the same block left.
fn of_step(message: &Value, tools: &HashMap<&str, Seq>) -> Option<PromptSource> {
    let parts = message["content"].as_array()?;
    let id = parts.iter().find_map(|part| part["toolCallId"].as_str())?;
    let call = *tools.get(id)?;
    match message["role"].as_str() {
        Some("assistant") => Some(PromptSource::Answer { call }),
        Some("tool") => Some(PromptSource::Tool { call, id: id.to_owned() }),
        _ => None,
    }
}

/// The messages between the system's and those of earlier steps, matched with the session from the newest on.
fn between(messages: &[Value], history: &[Said]) -> Vec<PromptSource> {
    let mut left = history.len();
    let mut found: Vec<Option<PromptSource>> = Vec::with_capacity(messages.len());
    for (n, message) in messages.iter().rev().enumerate() {
        let fits = |said: &Said| message["role"] == said.role.as_str() && message["content"] == said.content;
        let at = history[..left].iter().rposition(fits);
        // What is said last for this call may repeat what was said long ago.
        let is_own = |at: usize| n == 0 && message["role"] == "user" && at + 1 != history.len();
        found.push(at.filter(|at| !is_own(*at)).map(|at| {
            left = at;
            PromptSource::History { request: history[at].request.clone(), seq: history[at].seq }
        }));
    }
    found.reverse();
    let first = found.iter().position(Option::is_some);
    let own = |n: usize, message: &Value| match first {
        // Messages of the context stand before the session's.
        Some(first) if n < first => PromptSource::Context,
        None if message["role"] != "user" => PromptSource::Context,
        _ => PromptSource::User,
    };
    found.into_iter().enumerate().map(|(n, source)| source.unwrap_or_else(|| own(n, &messages[n]))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn history(texts: &[(&str, &str)]) -> Vec<Said> {
        let said = |(n, (role, text)): (usize, &(&str, &str))| Said {
            request: "r".into(),
            seq: n as Seq + 10,
            role: (*role).to_owned(),
            content: (*text).into(),
        };
        texts.iter().enumerate().map(said).collect()
    }

    #[test]
    fn each_part_of_a_prompt_has_its_origin() {
        let messages = [
            json!({ "role": "system", "content": "Answer." }),
            json!({ "role": "system", "content": "Ada is here." }),
            json!({ "role": "user", "content": "hi" }),
            json!({ "role": "assistant", "content": "hello" }),
            json!({ "role": "user", "content": "and now?" }),
            json!({ "role": "assistant", "content": [{ "type": "tool-call", "toolCallId": "c1" }] }),
            json!({ "role": "tool", "content": [{ "type": "tool-result", "toolCallId": "c1", "output": 3 }] }),
        ];
        let earlier = [EarlierCall { seq: 40, tools: vec!["c1".to_owned()] }];
        let found = sources(&messages, &earlier, &history(&[("user", "hi"), ("assistant", "hello")]));
        let of = |seq| PromptSource::History { request: "r".into(), seq };
        assert_eq!(
            found,
            [
                PromptSource::Prompt,
                PromptSource::Context,
                of(10),
                of(11),
                PromptSource::User,
                PromptSource::Answer { call: 40 },
                PromptSource::Tool { call: 40, id: "c1".to_owned() },
            ]
        );
    }

    #[test]
    fn messages_of_other_programs_are_known_by_ids_and_words_or_not_at_all() {
        let tool = |role: &str, kind: &str| json!({ "role": role, "content": [{ "type": kind, "toolCallId": "c1" }] });
        let messages = [
            json!({ "role": "system", "content": "Answer." }),
            json!({ "role": "user", "content": [{ "type": "text", "text": "hi" }] }),
            json!({ "role": "assistant", "content": "never recorded" }),
            tool("assistant", "tool-call"),
            tool("tool", "tool-result"),
            json!({ "role": "user", "content": "and now?" }),
        ];
        let mut known = history(&[("user", "hi"), ("assistant", "hello"), ("assistant", ""), ("tool", "")]);
        known[2].content = tool("assistant", "tool-call")["content"].clone();
        known[3].content = tool("tool", "tool-result")["content"].clone();
        let of = |seq| PromptSource::History { request: "r".into(), seq };
        let wanted = [PromptSource::Prompt, of(10), PromptSource::Unknown, of(12), of(13), PromptSource::Unknown];
        assert_eq!(foreign_sources(&messages, &known), wanted);
    }

    #[test]
    fn what_is_said_again_is_not_taken_for_what_was_said() {
        let messages = [json!({ "role": "user", "content": "yes" })];
        let old = history(&[("user", "yes"), ("assistant", "fine")]);
        assert_eq!(sources(&messages, &[], &old), [PromptSource::User]);
        // The newest message of the session stands for itself.
        let newest = history(&[("assistant", "well?"), ("user", "yes")]);
        assert_eq!(sources(&messages, &[], &newest), [PromptSource::History { request: "r".into(), seq: 11 }]);
    }
}
