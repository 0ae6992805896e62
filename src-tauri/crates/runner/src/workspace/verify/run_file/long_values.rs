//! The long values of a `.run` file: each stands once, below the lines, on lines of its own.
//!
//! A difference in a long text or object is then a difference of a few lines. Must not know what a value means.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::line_reader::Wrong;
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
    /// By the hash of the value's text.
    numbers: HashMap<blake3::Hash, usize>,
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
        let number = *self.numbers.entry(blake3::hash(text.as_bytes())).or_insert(next);
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
    values: Vec<RefCell<Long>>,
    /// How deep a value may nest.
    depth: usize,
    /// How much memory what is put in their place may still take: a few lines can refer to each other without end.
    left: Cell<usize>,
}

struct Long {
    value: Value,
    size: Size,
    /// How many references to it are left above, as far as they were counted. The last one gets the value itself, so
    /// that a long value is in memory once.
    uses: usize,
    is_moved: bool,
}

/// What a reference is told that was not counted, and whose value is in another place by now.
pub(super) const NOT_COUNTED: &str = "a reference is written in an unusual way";

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

    fn add(&mut self, value: Value) {
        let size = Size::of(&value);
        self.values.push(RefCell::new(Long { value, size, uses: 0, is_moved: false }));
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
        let long = found.and_then(|at| self.values.get(at)).ok_or_else(|| {
            format!("it refers to the long value {number}, and there are {} below", self.values.len())
        })?;
        let mut long = long.borrow_mut();
        if depth + long.size.depth > self.depth {
            return Err(format!("with the long value {number} it nests deeper than {} levels", self.depth));
        }
        let left = self.left.get().checked_sub(long.size.bytes);
        let too_long = || format!("with its long values it takes more than {} MB of memory", MOST_BYTES >> 20);
        self.left.set(left.ok_or_else(too_long)?);
        if long.is_moved {
            return Err(NOT_COUNTED.to_owned());
        }
        if long.uses == 1 {
            long.is_moved = true;
            return Ok(std::mem::take(&mut long.value));
        }
        long.uses = long.uses.saturating_sub(1);
        Ok(long.value.clone())
    }
}

/// The long values of a file while its lines are read.
pub(super) struct Reading {
    placed: Placed,
    /// How often the lines above refer to each of them.
    uses: HashMap<usize, usize>,
    open: Option<Open>,
}

/// A long value whose lines are being read.
struct Open {
    kind: Kind,
    /// The line of its head.
    number: usize,
    text: String,
    is_begun: bool,
}

impl Reading {
    pub(super) fn new(limits: &Limits) -> Reading {
        let depth = limits.depth + ENVELOPE_DEPTH;
        let placed = Placed { values: Vec::new(), depth, left: Cell::new(MOST_BYTES) };
        Reading { placed, uses: HashMap::new(), open: None }
    }

    /// Takes the next line in. Returns whether it is one of a long value.
    pub(super) fn take(&mut self, (number, line): (usize, &str)) -> Result<bool, Wrong> {
        if let Some((kind, named)) = head(line) {
            self.close()?;
            let expected = self.placed.values.len() + 1;
            if named != expected as u64 {
                return Err((number, format!("the long value {expected} is expected here, and this is {named}")));
            }
            self.open = Some(Open { kind, number, text: String::new(), is_begun: false });
            return Ok(true);
        }
        let Some(open) = &mut self.open else {
            for named in counted(line) {
                *self.uses.entry(named).or_insert(0) += 1;
            }
            return Ok(false);
        };
        match open.kind {
            Kind::Value => {
                open.text.push_str(line);
                open.text.push('\n');
            }
            Kind::Text => {
                // An editor may have cut the spaces off an empty line.
                let line = line.strip_prefix(INDENT).or_else(|| line.trim().is_empty().then_some(""));
                let line = line.ok_or_else(|| (number, "a line of a text begins with two spaces".to_owned()))?;
                if open.is_begun {
                    open.text.push('\n');
                }
                open.text.push_str(line);
            }
        }
        open.is_begun = true;
        Ok(true)
    }

    fn close(&mut self) -> Result<(), Wrong> {
        let Some(Open { kind, number, text, .. }) = self.open.take() else { return Ok(()) };
        let named = self.placed.values.len() + 1;
        let value = match kind {
            Kind::Text => {
                self.placed.add(Value::String(text));
                return Ok(());
            }
            Kind::Value => engine::json::parse_within(&text, self.placed.depth).map_err(|error| {
                (number + 1, format!("the long value {named} is not JSON ({error}, counted from this line)"))
            })?,
        };
        // It may refer to those before it, which are copied: no line above has got them yet.
        let value = if value.get(REFERENCE).is_some() {
            value
        } else {
            check_refers_back(&value, named)
                .map_err(|(wrong, what)| (line_of_reference(&text, wrong, number), what))?;
            self.placed.put_into(value).map_err(|what| (number, what))?
        };
        self.placed.add(value);
        Ok(())
    }

    /// The long values, once all lines were read. With `moves` each is moved to the last line that refers to it.
    pub(super) fn end(mut self, moves: bool) -> Result<Placed, Wrong> {
        self.close()?;
        for (named, uses) in self.uses.into_iter().filter(|_| moves) {
            if let Some(long) = named.checked_sub(1).and_then(|at| self.placed.values.get(at)) {
                long.borrow_mut().uses = uses;
            }
        }
        Ok(self.placed)
    }
}

/// Checks that a long value refers only to those before it: so none names itself, directly or through others. The error
/// has the number that it names.
fn check_refers_back(value: &Value, named: usize) -> Result<(), (u64, String)> {
    match value {
        Value::Array(items) => items.iter().try_for_each(|inner| check_refers_back(inner, named)),
        Value::Object(fields) => {
            if let Some(other) = fields.get(REFERENCE).and_then(Value::as_u64).filter(|other| *other >= named as u64) {
                let instead = "write its content there";
                let what = if other == named as u64 {
                    format!("the long value {named} names itself: {instead}")
                } else {
                    format!(
                        "the long value {named} refers to {other}, and only those before it can be named: {instead}"
                    )
                };
                return Err((other, what));
            }
            fields.values().try_for_each(|inner| check_refers_back(inner, named))
        }
        _ => Ok(()),
    }
}

/// The line of a reference in the text of a long value whose head is in a line; that of the head if it is not found.
fn line_of_reference(text: &str, named: u64, head: usize) -> usize {
    let is_there = |line: &str| {
        let line: String = line.chars().filter(|c| !c.is_whitespace()).collect();
        let mut after = line.split("\"$long\":").skip(1);
        after.any(|rest| rest.split(|c: char| !c.is_ascii_digit()).next().is_some_and(|n| n == named.to_string()))
    };
    text.lines().position(is_there).map_or(head, |at| head + 1 + at)
}

/// The long values that a line refers to, where a reference is written as this program does it.
fn counted(line: &str) -> impl Iterator<Item = usize> {
    line.split("{\"$long\":").skip(1).filter_map(|rest| rest.split_once('}')?.0.parse().ok())
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
