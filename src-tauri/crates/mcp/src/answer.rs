//! The answer of every tool: one sentence, rows, and suggested next calls, within a budget of tokens.
//!
//! An answer that exceeds its budget names the number of further rows and the offset that returns them; a single row
//! that exceeds it is cut. Recorded text is quoted, so that a client can tell it from the server's own words. Must not
//! query the workspace.

use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::{Value, json};

use crate::arguments::{Arguments, Refused};
use crate::shown::{cut, head};

/// The budget of an answer, in tokens, unless its call raises it.
const USUAL_TOKENS: u64 = 1_500;
/// The highest budget.
const MOST_TOKENS: u64 = 20_000;
/// How many bytes count as a token.
pub(crate) const BYTES_PER_TOKEN: usize = 4;
/// Bytes reserved for the line that says how many rows are left, and for its counterpart in JSON.
const TAIL: usize = 700;
/// How many bytes of variable names a warning lists at most.
const NAMES: usize = 120;

/// The size limit of an answer and the row at which it begins.
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

    /// Scales `usual`, the bytes of a value that an answer of default size shows, to the budget of this answer.
    pub(crate) fn bytes_of_value(self, usual: usize) -> usize {
        let tokens = usize::try_from(self.tokens.max(USUAL_TOKENS)).unwrap_or(usize::MAX);
        usual.saturating_mul(tokens) / USUAL_TOKENS as usize
    }

    /// How many rows to read: an upper bound of those that fit, so that few are read in vain.
    pub(crate) fn rows(self) -> u64 {
        (self.bytes() / 16) as u64
    }
}

/// Hides the secrets in a value.
pub(crate) type Hide<'h> = &'h dyn Fn(Value) -> Value;

/// A text without secrets.
pub(crate) fn hidden_text(hide: Hide<'_>, text: String) -> String {
    match hide(Value::String(text)) {
        Value::String(text) => text,
        other => other.to_string(),
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

    /// Without secrets.
    fn hidden(self, hide: Hide<'_>) -> Row {
        Row { text: hidden_text(hide, self.text), json: hide(self.json) }
    }

    /// Puts the text on one line and escapes control characters.
    fn cleaned(mut self) -> Row {
        clean_values(&mut self.json);
        Row { text: one_line(&self.text), json: self.json }
    }

    fn fits(&self, bytes: usize, json_bytes: usize) -> bool {
        self.text.len() <= bytes && self.json.to_string().len() <= json_bytes
    }

    /// Cuts a row that is longer than a whole answer may be. The row then states its length and how to read more.
    fn cut(self, bytes: usize, json_bytes: usize, page: Page) -> Row {
        let how = if page.tokens < MOST_TOKENS { "a higher limit shows more" } else { "ask for less at once" };
        let text = if self.text.len() <= bytes {
            self.text
        } else {
            let note = format!("… (cut, {} bytes: {how})", self.text.len());
            let begin = head(&self.text, bytes.saturating_sub(note.len()));
            head(&format!("{begin}{note}"), bytes).to_owned()
        };
        let whole = self.json.to_string();
        if whole.len() <= json_bytes {
            return Row { text, json: self.json };
        }
        let note = format!("{} bytes: {how}", whole.len());
        for longest in [1_600, 800, 400, 200, 100, 50, 24] {
            let mut json = shortened(&self.json, longest);
            if let Some(fields) = json.as_object_mut() {
                fields.insert("cut".to_owned(), json!(note));
            }
            if json.to_string().len() <= json_bytes {
                return Row { text, json };
            }
        }
        let begin = cut_as_json(&whole, json_bytes.saturating_sub(note.len() + 24));
        let json = json!({ "cut": note, "head": begin });
        let fits = json.to_string().len() <= json_bytes;
        Row { text, json: if fits { json } else { json!({}) } }
    }
}

/// Cuts the strings, names and lists of a value.
fn shortened(value: &Value, bytes: usize) -> Value {
    match value {
        Value::String(text) => Value::String(cut(text, bytes)),
        Value::Array(all) => {
            let mut kept: Vec<Value> = all.iter().take(bytes / 8).map(|one| shortened(one, bytes)).collect();
            if all.len() > kept.len() {
                kept.push(Value::String(format!("… {} more", all.len() - kept.len())));
            }
            Value::Array(kept)
        }
        Value::Object(fields) => {
            let kept = fields.iter().take((bytes / 8).max(12));
            Value::Object(kept.map(|(name, value)| (cut(name, bytes), shortened(value, bytes))).collect())
        }
        other => other.clone(),
    }
}

/// Cuts a text so that it has at most `bytes` bytes as JSON. An ellipsis marks a cut.
fn cut_as_json(text: &str, bytes: usize) -> String {
    let mut most = bytes;
    loop {
        let begin = cut(text, most);
        let length = Value::String(begin.clone()).to_string().len();
        if length <= bytes || most == 0 {
            return begin;
        }
        most = (most * bytes / length).min(most - 1);
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
    /// Whether the rows begin at the offset of the page; otherwise [`fit`](Self::fit) skips those before it.
    pub(crate) begins_at_offset: bool,
    /// Whether there are rows after these that were not read.
    pub(crate) has_more: bool,
    /// Variables of secrets that are not set here, so that their recorded values cannot be hidden.
    pub(crate) unset_variables: Vec<String>,
    /// Suggested next calls: a tool and its arguments.
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

    /// The result for the protocol: text for the model, and the same as structured content. Each has at most the bytes
    /// of the page and states what it leaves out. `hide` hides secrets, which makes values longer or shorter.
    pub(crate) fn fit(&self, page: Page, hide: Hide<'_>) -> CallToolResult {
        let most = page.bytes();
        let mut room = most;
        loop {
            let (text, structured) = self.fit_into(room, page, hide);
            // A cut may leave the beginning of a secret at the end of a value; hide again.
            let (text, structured) = (hidden_text(hide, text), hide(structured));
            let over = text.len().max(structured.to_string().len()).saturating_sub(most);
            let less = over.max(room / 16);
            if over == 0 || room <= less {
                let mut result = CallToolResult::structured(structured);
                result.content = vec![ContentBlock::text(text)];
                return result;
            }
            room -= less;
        }
    }

    /// The text and the structured content, each of about `most` bytes.
    fn fit_into(&self, most: usize, page: Page, hide: Hide<'_>) -> (String, Value) {
        let warning = warning(&self.unset_variables);
        let of_warning = warning.as_ref().map_or(0, |(line, names)| line.len() + names.to_string().len() + 40);
        // Give rows most of a small budget.
        let left = most.saturating_sub(TAIL.min(most / 5)).saturating_sub(of_warning);
        let next = Calls::fit(&self.next, left * 2 / 5, hide);
        let (room, json_room) = (left.saturating_sub(next.bytes), left.saturating_sub(next.json_bytes));
        let sentence = cut_as_json(&clean(&hidden_text(hide, self.sentence.clone())), left * 2 / 5);
        let mut text = one_line(&sentence);
        let (mut as_json, mut used) = (Vec::new(), text.len());
        let mut json_used = Value::String(sentence.clone()).to_string().len();
        let skip = if self.begins_at_offset { 0 } else { usize::try_from(page.offset).unwrap_or(usize::MAX) };
        let all = self.rows.len() as u64;
        let rows = self.rows.get(skip..).unwrap_or_default();
        let count = rows.len();
        let mut shown = 0;
        for row in rows {
            let mut row = row.clone().hidden(hide).cleaned();
            let (line, json) = (room.saturating_sub(used + 1), json_room.saturating_sub(json_used + 1));
            if !row.fits(line, json) {
                if shown > 0 {
                    break;
                }
                row = row.cut(line, json, page);
            }
            used += row.text.len() + 1;
            json_used += row.json.to_string().len() + 1;
            text.push('\n');
            text.push_str(&row.text);
            as_json.push(row.json);
            shown += 1;
        }
        let mut structured = json!({ "answer": sentence, "rows": as_json });
        if count == 0 && page.offset > 0 {
            text.push_str(&format!("\nThere are no rows from offset {} on.", page.offset));
        }
        if shown < count || self.has_more {
            let at = page.offset.saturating_add(shown as u64);
            let left = match (self.total, self.begins_at_offset) {
                (Some(total), _) => format!("{} more rows", total.saturating_sub(at)),
                (None, true) => "more rows".to_owned(),
                (None, false) => format!("{} more rows", all.saturating_sub(at)),
            };
            text.push_str(&format!("\n… {left}: the same call with offset {at}, or a higher limit"));
            structured["nextOffset"] = json!(at);
        }
        if let Some((line, names)) = warning {
            text.push_str(&format!("\n{line}"));
            structured["warning"] = json!(line);
            structured["unsetVariables"] = names;
        }
        next.add_to(&mut text, &mut structured);
        (text, structured)
    }
}

/// A warning that recorded values of secrets cannot be hidden, and the variables that it names as JSON. `None` if all
/// variables are set.
pub(crate) fn warning(unset: &[String]) -> Option<(String, Value)> {
    if unset.is_empty() {
        return None;
    }
    let (mut named, mut used) = (Vec::new(), 0);
    for name in unset {
        let name = clean(head(name, NAMES));
        used += name.len() + 2;
        if used > NAMES + 2 {
            break;
        }
        named.push(name);
    }
    let more = unset.len() - named.len();
    let listed = match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    };
    let (are, values) = if unset.len() == 1 { ("is", "its recorded value") } else { ("are", "their recorded values") };
    let line = format!("Not hidden: {listed} {are} not set here, so that {values} cannot be found and hidden");
    Some((line, json!(named)))
}

/// Suggested next calls, as lines and as JSON.
struct Calls {
    all: Vec<(String, Value)>,
    bytes: usize,
    json_bytes: usize,
    /// How many calls did not fit; a call is never cut.
    left_out: usize,
}

impl Calls {
    fn fit(calls: &[(&'static str, Value)], most: usize, hide: Hide<'_>) -> Calls {
        let mut fitting = Calls { all: Vec::new(), bytes: 0, json_bytes: 0, left_out: 0 };
        for (tool, arguments) in calls {
            let mut arguments = hide(arguments.clone());
            clean_values(&mut arguments);
            let line = one_line(&format!("{tool} {arguments}"));
            let json = json!({ "tool": tool, "arguments": arguments });
            let (bytes, json_bytes) = (line.len() + 8, json.to_string().len() + 1);
            if fitting.bytes + bytes > most || fitting.json_bytes + json_bytes > most {
                fitting.left_out += 1;
                continue;
            }
            fitting.bytes += bytes;
            fitting.json_bytes += json_bytes;
            fitting.all.push((line, json));
        }
        fitting
    }

    fn add_to(self, text: &mut String, structured: &mut Value) {
        for (at, (line, _)) in self.all.iter().enumerate() {
            text.push_str(if at == 0 { "\nNext: " } else { "\n      " });
            text.push_str(line);
        }
        structured["next"] = self.all.into_iter().map(|(_, json)| json).collect();
        if self.left_out > 0 {
            text.push_str("\nNext calls that are too long: a higher limit");
            structured["nextLeftOut"] = json!(self.left_out);
        }
    }
}

/// Puts text on one line, so that a recorded line break cannot start a fake line of the answer.
fn one_line(text: &str) -> String {
    clean(text).replace('\n', "\\n")
}

/// Applies [`clean`] to every string in a value.
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
            // Use JSON's escapes, so that JSON stays valid.
            for unit in c.encode_utf16(&mut [0; 2]) {
                cleaned.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            cleaned.push(c);
        }
    }
    cleaned
}
