//! The long values of a `.run` file: each stands once, below the lines, on lines of its own.
//!
//! A difference in a long text or object is then a difference of a few lines. Must not know what a value means.

use std::cell::Cell;
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::core::config::Limits;
use crate::workspace::export_format::ENVELOPE_DEPTH;

/// A value whose JSON is longer stands below.
const LONG: usize = 240;
/// How much memory the long values of a file may take where they stand.
const MOST_BYTES: usize = 512 << 20;
/// The field that stands in its place.
const REFERENCE: &str = "$long";
/// How long a line of a long value may be that has other values in it.
const LINE: usize = 100;
/// Before each line of a text, and for each level of JSON.
const INDENT: &str = "  ";

/// Long values on their way into a file, in the order in which they are referred to.
#[derive(Default)]
pub(super) struct LongValues {
    values: Vec<Value>,
    numbers: HashMap<String, usize>,
}

impl LongValues {
    /// Puts references in place of what is long in a value, or of all of it.
    pub(super) fn take_out_of(&mut self, value: Value) -> Value {
        // What looks like a reference, and is a value, becomes one.
        let is_like_reference = value.get(REFERENCE).is_some();
        let shorter = match value {
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.take_out_of(item)).collect()),
            Value::Object(fields) if !is_like_reference => {
                Value::Object(fields.into_iter().map(|(name, field)| (name, self.take_out_of(field))).collect())
            }
            other => other,
        };
        let text = shorter.to_string();
        if text.len() <= LONG && !is_like_reference {
            return shorter;
        }
        let next = self.values.len() + 1;
        let number = *self.numbers.entry(text).or_insert(next);
        if number == next {
            self.values.push(shorter);
        }
        json!({ REFERENCE: number })
    }

    /// Writes them.
    pub(super) fn write(&self, into: &mut String) {
        for (at, value) in self.values.iter().enumerate() {
            let number = at + 1;
            match value {
                Value::String(text) if is_plain(text) => {
                    into.push_str(&format!("{{\"text\":{number}}}\n"));
                    for line in text.split('\n') {
                        into.push_str(INDENT);
                        into.push_str(line);
                        into.push('\n');
                    }
                }
                value => {
                    into.push_str(&format!("{{\"value\":{number}}}\n"));
                    write_on_lines(value, 0, into);
                    into.push('\n');
                }
            }
        }
    }
}

/// Writes JSON: what fits on a line stands on one, anything else on several. What is inside of a long value is short,
/// so this is linear.
fn write_on_lines(value: &Value, depth: usize, into: &mut String) {
    let text = value.to_string();
    let is_nested = matches!(value, Value::Array(_) | Value::Object(_));
    // The outermost one begins on a line of its own, which no head of a value looks like.
    if !is_nested || (depth > 0 && text.len() + depth * INDENT.len() <= LINE) {
        into.push_str(&text);
        return;
    }
    let (open, close) = if value.is_array() { ('[', ']') } else { ('{', '}') };
    let names = value.as_object().into_iter().flat_map(Map::keys).map(Some);
    let names = names.chain(std::iter::repeat(None));
    let inner = value.as_array().into_iter().flatten().chain(value.as_object().into_iter().flat_map(Map::values));
    into.push(open);
    for (nth, (name, inner)) in names.zip(inner).enumerate() {
        into.push_str(if nth == 0 { "\n" } else { ",\n" });
        into.extend(std::iter::repeat_n(INDENT, depth + 1));
        if let Some(name) = name {
            into.push_str(&format!("{}: ", Value::from(name.as_str())));
        }
        write_on_lines(inner, depth + 1, into);
    }
    into.push('\n');
    into.extend(std::iter::repeat_n(INDENT, depth));
    into.push(close);
}

/// Whether a text can stand as lines: others are JSON.
fn is_plain(text: &str) -> bool {
    text.contains('\n') && !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t')
}

/// The long values that a file has, by their numbers from 1.
pub(super) struct Placed {
    values: Vec<Long>,
    /// How deep a value may nest.
    depth: usize,
    /// How much memory what is put in their place may still take: a few lines can refer to each other without end.
    left: Cell<usize>,
}

struct Long {
    value: Value,
    size: Size,
}

/// How much a value is: its levels, and roughly the bytes that it takes in memory.
#[derive(Clone, Copy, Default)]
struct Size {
    depth: usize,
    bytes: usize,
}

impl Size {
    fn of(value: &Value) -> Size {
        /// What a part takes beside its text.
        const PART: usize = 72;
        let inner: Size = match value {
            Value::Array(items) => items.iter().map(Size::of).fold(Size::default(), Size::with),
            Value::Object(fields) => {
                let of = |(name, field): (&String, &Value)| {
                    let Size { depth, bytes } = Size::of(field);
                    Size { depth, bytes: bytes + name.len() }
                };
                fields.iter().map(of).fold(Size::default(), Size::with)
            }
            Value::String(text) => Size { depth: 0, bytes: text.len() },
            _ => Size::default(),
        };
        Size { depth: inner.depth + 1, bytes: inner.bytes + PART }
    }

    fn with(self, other: Size) -> Size {
        Size { depth: self.depth.max(other.depth), bytes: self.bytes + other.bytes }
    }
}

impl Placed {
    /// Puts the values in place of references.
    pub(super) fn put_into(&self, value: Value) -> Result<Value, String> {
        self.put_at(value, 0)
    }

    fn put_at(&self, value: Value, depth: usize) -> Result<Value, String> {
        match value {
            Value::Array(items) => {
                let items = items.into_iter().map(|item| self.put_at(item, depth + 1));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            Value::Object(fields) => match fields.get(REFERENCE) {
                Some(_) if fields.len() > 1 => Err(format!("{{\"{REFERENCE}\"}} has no other field beside it")),
                Some(number) => self.named(number, depth),
                None => {
                    let fields = fields.into_iter().map(|(name, field)| Ok((name, self.put_at(field, depth + 1)?)));
                    Ok(Value::Object(fields.collect::<Result<Map<_, _>, String>>()?))
                }
            },
            other => Ok(other),
        }
    }

    fn named(&self, number: &Value, depth: usize) -> Result<Value, String> {
        let found = number.as_u64().and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let Long { value, size } = found.and_then(|at| self.values.get(at)).ok_or_else(|| {
            format!("it refers to the long value {number}, and there are {} below", self.values.len())
        })?;
        if depth + size.depth > self.depth {
            return Err(format!("with the long value {number} it nests deeper than {} levels", self.depth));
        }
        let left = self.left.get().checked_sub(size.bytes);
        let too_long = || format!("with its long values it takes more than {} MB of memory", MOST_BYTES >> 20);
        self.left.set(left.ok_or_else(too_long)?);
        Ok(value.clone())
    }
}

/// A line with its number, from 1.
pub(super) type Numbered<'t> = (usize, &'t str);

/// Splits a file: its long values, and the lines above them. An error is the number of a line, and what is wrong there.
pub(super) fn read<'t>(text: &'t str, limits: &Limits) -> Result<(Placed, Vec<Numbered<'t>>), (usize, String)> {
    // A file that was checked out with other ends of lines has the same ones.
    let lines: Vec<Numbered<'_>> = text.lines().enumerate().map(|(at, line)| (at + 1, line)).collect();
    let begins: Vec<usize> = (0..lines.len()).filter(|at| head(lines[*at].1).is_some()).collect();
    let above = begins.first().copied().unwrap_or(lines.len());
    let depth = limits.depth + ENVELOPE_DEPTH;
    let mut placed = Placed { values: Vec::new(), depth, left: Cell::new(MOST_BYTES) };
    for (nth, begin) in begins.iter().enumerate() {
        let (number, line) = lines[*begin];
        let body = &lines[begin + 1..begins.get(nth + 1).copied().unwrap_or(lines.len())];
        let Some((kind, named)) = head(line) else { continue };
        if named != nth as u64 + 1 {
            return Err((number, format!("the long value {} is expected here, and this is {named}", nth + 1)));
        }
        let value = match kind {
            Kind::Text => text_of(body)?,
            Kind::Value => {
                let json: String = body.iter().flat_map(|(_, line)| [*line, "\n"]).collect();
                engine::json::parse_within(&json, depth).map_err(|error| {
                    (number + 1, format!("the long value {named} is not JSON ({error}, counted from this line)"))
                })?
            }
        };
        // It may refer to those before it.
        let value = if value.get(REFERENCE).is_some() {
            value
        } else {
            placed.put_into(value).map_err(|what| (number, what))?
        };
        let size = Size::of(&value);
        placed.values.push(Long { value, size });
    }
    let above = lines.into_iter().take(above).filter(|(_, line)| !line.trim().is_empty()).collect();
    Ok((placed, above))
}

enum Kind {
    Text,
    Value,
}

/// The head of a long value: `{"text":1}` or `{"value":2}`.
fn head(line: &str) -> Option<(Kind, u64)> {
    let inside = line.strip_prefix("{\"")?.strip_suffix('}')?;
    let (kind, number) = inside.split_once("\":")?;
    let kind = match kind {
        "text" => Kind::Text,
        "value" => Kind::Value,
        _ => return None,
    };
    Some((kind, number.trim().parse().ok()?))
}

fn text_of(body: &[Numbered<'_>]) -> Result<Value, (usize, String)> {
    let mut lines = Vec::with_capacity(body.len());
    for (number, line) in body {
        // An editor may have cut the spaces off an empty line.
        let line = line.strip_prefix(INDENT).or_else(|| line.trim().is_empty().then_some(""));
        lines.push(line.ok_or_else(|| (*number, "a line of a text begins with two spaces".to_owned()))?);
    }
    Ok(Value::String(lines.join("\n")))
}
