//! What every tool answers: one sentence, rows, and calls to go on with, within a budget of tokens.
//!
//! An answer that exceeds its budget names the number of further rows and the offset that returns them. Recorded text
//! is quoted, so that a client can tell it from the server's own words. Must not ask the workspace.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::arguments::{Arguments, Refused};

/// The budget of an answer, in tokens, unless its call raises it.
const USUAL_TOKENS: u64 = 1_500;
/// The highest budget.
const MOST_TOKENS: u64 = 20_000;
/// How many bytes count as a token.
pub(crate) const BYTES_PER_TOKEN: usize = 4;
/// What is kept at most for the line that says how many rows are left, and for its counterpart in JSON.
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

    /// How many bytes of a value are shown where an answer of the usual size shows `usual`: more if the answer may be
    /// longer.
    pub(crate) fn bytes_of_value(self, usual: usize) -> usize {
        let tokens = usize::try_from(self.tokens.max(USUAL_TOKENS)).unwrap_or(usize::MAX);
        usual.saturating_mul(tokens) / USUAL_TOKENS as usize
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
    /// The rows.
    pub(crate) rows: Vec<Row>,
    /// How many rows there are in all, if that is known.
    pub(crate) total: Option<u64>,
    /// Whether the rows begin at the offset of the page; otherwise those before it are left out.
    pub(crate) begins_at_offset: bool,
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
        let next: Vec<(String, Value)> = self
            .next
            .into_iter()
            .map(|(tool, mut arguments)| {
                clean_values(&mut arguments);
                let line = one_line(&format!("{tool} {arguments}"));
                (line, json!({ "tool": tool, "arguments": arguments }))
            })
            .collect();
        // How to go on is never cut for what is there.
        let of_lines: usize = next.iter().map(|(line, _)| line.len() + 8).sum();
        let of_json: usize = next.iter().map(|(_, json)| json.to_string().len() + 1).sum();
        // Of a small budget the rows get the most.
        let left = page.bytes().saturating_sub(TAIL.min(page.bytes() / 6));
        let (room, json_room) = (left.saturating_sub(of_lines), left.saturating_sub(of_json));
        let mut text = one_line(&self.sentence);
        let (mut as_json, mut used) = (Vec::new(), text.len());
        let mut json_used = Value::String(text.clone()).to_string().len();
        let skip = if self.begins_at_offset { 0 } else { usize::try_from(page.offset).unwrap_or(usize::MAX) };
        let all = self.rows.len() as u64;
        let rows: Vec<Row> = self.rows.into_iter().skip(skip).collect();
        let count = rows.len();
        let mut shown = 0;
        for row in rows {
            let line = one_line(&row.text);
            let mut row = row;
            clean_values(&mut row.json);
            let json_bytes = row.json.to_string().len();
            let is_full = used + line.len() + 1 > room || json_used + json_bytes + 1 > json_room;
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
        let mut structured = json!({ "answer": clean(&self.sentence), "rows": as_json });
        if count == 0 && page.offset > 0 {
            text.push_str(&format!("\nThere are no rows from offset {} on.", page.offset));
        }
        if shown < count || self.has_more {
            let at = page.offset + shown as u64;
            let left = match (self.total, self.begins_at_offset) {
                (Some(total), _) => format!("{} more rows", total.saturating_sub(at)),
                (None, true) => "more rows".to_owned(),
                (None, false) => format!("{} more rows", all.saturating_sub(at)),
            };
            text.push_str(&format!("\n… {left}: the same call with offset {at}, or a higher limit"));
            structured["nextOffset"] = json!(at);
        }
        for (at, (line, _)) in next.iter().enumerate() {
            text.push_str(if at == 0 { "\nNext: " } else { "\n      " });
            text.push_str(line);
        }
        structured["next"] = next.into_iter().map(|(_, json)| json).collect();
        let mut result = CallToolResult::structured(structured);
        result.content = vec![ContentBlock::text(text)];
        result
    }
}

/// Text on one line: a recorded line break never begins a line that looks like one of the answer.
fn one_line(text: &str) -> String {
    clean(text).replace('\n', "\\n")
}

/// The same of every text in a value.
fn clean_values(value: &mut Value) {
    match value {
        Value::String(text) => *text = clean(text),
        Value::Array(all) => all.iter_mut().for_each(clean_values),
        Value::Object(fields) => {
            let cleaned = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                clean_values(&mut value);
                (clean(&name), value)
            });
            *fields = cleaned.collect();
        }
        _ => {}
    }
}

/// Characters that reorder, hide or move text on a screen become visible escapes; line breaks and tabs stay.
pub(crate) fn clean(text: &str) -> String {
    let is_harmful = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
            || matches!(c, '\u{e0000}'..='\u{e007f}')
    };
    if !text.contains(is_harmful) {
        return text.to_owned();
    }
    let mut cleaned = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmful(c) {
            // As JSON escapes it, so that what is JSON stays JSON.
            for unit in c.encode_utf16(&mut [0; 2]) {
                cleaned.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            cleaned.push(c);
        }
    }
    cleaned
}
