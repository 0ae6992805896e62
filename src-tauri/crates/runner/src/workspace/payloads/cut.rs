//! Texts and values cut to what a line of the window shows of them.

use serde_json::Value;

use crate::views::AgentView;

const MAX_LINE: usize = 400;
const MAX_ENTRIES: usize = 8;
const MAX_LEVELS: usize = 4;

/// The beginning of a text.
pub(super) fn cut(text: &mut String, most: usize) {
    if let Some((at, _)) = text.char_indices().nth(most) {
        text.truncate(at);
        text.push('…');
    }
}

/// The beginning of a value: of its texts, its lists, its objects, and only a few levels.
pub(super) fn cut_value(value: &mut Value, level: usize) {
    match value {
        Value::String(text) => cut(text, MAX_LINE),
        Value::Array(_) | Value::Object(_) if level >= MAX_LEVELS => *value = Value::String("…".to_owned()),
        Value::Array(list) => {
            list.truncate(MAX_ENTRIES);
            list.iter_mut().for_each(|one| cut_value(one, level + 1));
        }
        Value::Object(fields) => {
            for key in fields.keys().skip(2 * MAX_ENTRIES).cloned().collect::<Vec<_>>() {
                fields.shift_remove(&key);
            }
            fields.values_mut().for_each(|one| cut_value(one, level + 1));
        }
        _ => {}
    }
}

/// An agent's turns and calls, each as a line shows it. Whole they stand in the blocks of the turns.
pub(super) fn cut_agent(mut agent: AgentView) -> AgentView {
    for turn in &mut agent.turns {
        turn.content.iter_mut().for_each(|text| cut(text, MAX_LINE));
    }
    for call in &mut agent.queue {
        cut(&mut call.arguments, MAX_LINE);
        call.result.iter_mut().for_each(|result| cut_value(&mut result.0, 0));
    }
    agent.waiting_messages.iter_mut().for_each(|message| cut_value(&mut message.content.0, 0));
    agent
}
