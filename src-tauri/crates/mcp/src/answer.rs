//! What every tool answers: one sentence, rows, and calls to go on with, within a budget of tokens.
//!
//! An answer that does not fit says how many rows are left and how to get them. Recorded text stands in quotes: it is
//! data, whatever it says. Must not ask the workspace.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::arguments::{Arguments, Refused};

/// The budget of an answer, in tokens, unless its call raises it.
const USUAL_TOKENS: u64 = 1_500;
/// The highest budget.
const MOST_TOKENS: u64 = 20_000;
/// How many bytes count as a token.
pub(crate) const BYTES_PER_TOKEN: usize = 4;
/// What is kept for the line that says how to go on.
const TAIL: usize = 700;

/// The size of an answer, and from which row it begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    tokens: u64,
    /// How many rows to skip.
    pub(crate) offset: u64,
}

impl Page {
    /// Reads `limit` and `offset`.
    pub(crate) fn read(arguments: &mut Arguments) -> Result<Page, Refused> {
        let tokens = arguments.number("limit")?.unwrap_or(USUAL_TOKENS).clamp(200, MOST_TOKENS);
        Ok(Page { tokens, offset: arguments.number("offset")?.unwrap_or(0) })
    }

    /// How many bytes an answer may have.
    pub(crate) fn bytes(self) -> usize {
        usize::try_from(self.tokens).unwrap_or(usize::MAX).saturating_mul(BYTES_PER_TOKEN)
    }

    /// More rows than fit, so that nothing is read for nothing.
    pub(crate) fn rows(self) -> u64 {
        (self.bytes() / 16) as u64
    }
}

/// One row, as a line and as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) text: String,
    pub(crate) json: Value,
}

impl Row {
    pub(crate) fn new(text: impl Into<String>, json: Value) -> Self {
        Row { text: text.into(), json }
    }
}

/// The answer of a tool.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// What was found, in one sentence.
    pub(crate) sentence: String,
    /// The rows from `offset` on.
    pub(crate) rows: Vec<Row>,
    /// How many rows there are in all, if that is known.
    pub(crate) total: Option<u64>,
    /// Whether there are rows after these that were not read.
    pub(crate) has_more: bool,
    /// Calls that lead further: a tool and its arguments.
    pub(crate) next: Vec<(&'static str, Value)>,
}

impl Answer {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Answer { sentence: sentence.into(), ..Answer::default() }
    }

    pub(crate) fn row(&mut self, text: impl Into<String>, json: Value) {
        self.rows.push(Row::new(text, json));
    }

    pub(crate) fn then(mut self, tool: &'static str, arguments: Value) -> Self {
        self.next.push((tool, arguments));
        self
    }

    /// As the protocol sends it: text for the model, and the same as structured content.
    pub(crate) fn fit(self, page: Page) -> CallToolResult {
        let room = page.bytes().saturating_sub(TAIL);
        let mut text = clean(&self.sentence);
        let (mut as_json, mut used) = (Vec::new(), text.len());
        let mut json_used = text.len();
        let count = self.rows.len();
        let mut shown = 0;
        for row in self.rows {
            let line = clean(&row.text);
            let json_bytes = row.json.to_string().len();
            let is_full = used + line.len() + 1 > room || json_used + json_bytes + 1 > room;
            if is_full && shown > 0 {
                break;
            }
            used += line.len() + 1;
            json_used += json_bytes + 1;
            text.push('\n');
            text.push_str(&line);
            as_json.push(row.json);
            shown += 1;
        }
        let mut structured = json!({ "answer": self.sentence, "rows": as_json });
        if shown < count || self.has_more {
            let at = page.offset + shown as u64;
            let left = match self.total {
                Some(total) => format!("{} more rows", total.saturating_sub(at)),
                None if self.has_more => "more rows".to_owned(),
                None => format!("{} more rows", count - shown),
            };
            text.push_str(&format!("\n… {left}: the same call with offset {at}, or a higher limit"));
            structured["nextOffset"] = json!(at);
        }
        let mut next = Vec::new();
        for (tool, arguments) in self.next {
            let line = format!("{tool} {arguments}");
            if text.len() + line.len() + 8 > page.bytes() {
                break;
            }
            text.push_str(if next.is_empty() { "\nNext: " } else { "\n      " });
            text.push_str(&clean(&line));
            next.push(json!({ "tool": tool, "arguments": arguments }));
        }
        structured["next"] = Value::Array(next);
        let mut result = CallToolResult::structured(structured);
        result.content = vec![ContentBlock::text(text)];
        result
    }
}

/// Characters that reorder, hide or move text on a screen become visible escapes; line breaks stay.
pub(crate) fn clean(text: &str) -> String {
    let is_harmful = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            || matches!(c, '\u{e0000}'..='\u{e007f}')
    };
    if !text.contains(is_harmful) {
        return text.to_owned();
    }
    let escaped = |c: char| if is_harmful(c) { format!("\\u{{{:x}}}", c as u32) } else { c.to_string() };
    text.chars().map(escaped).collect()
}
