//! Patterns of the paths of a collection's instances: `files/*`, `files/**`, `[topic]/notes`.
//!
//! A key identifies an instance within its collection: the variable parts of its path, joined by `/`. The patterns of
//! two collections may match the same path; their instances are different records.

use serde_json::{Map, Value};

use crate::model::error::FlowError;

/// A parsed pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// The same in every path.
    Fixed(String),
    /// `*` or `[name]`: one part.
    One(Option<String>),
    /// `**`: one part or more, at the end.
    Rest,
}

impl Pattern {
    /// Parses a pattern. The error is a message for the author.
    pub fn parse(text: &str) -> Result<Pattern, String> {
        let mut parts = Vec::new();
        let count = text.split('/').count();
        for (at, part) in text.split('/').enumerate() {
            let named = part.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            parts.push(match (part, named) {
                ("*", _) => Part::One(None),
                ("**", _) if at + 1 == count => Part::Rest,
                (_, Some(name)) if !name.is_empty() && !name.contains(['[', ']', '*']) => {
                    let part = Part::One(Some(name.to_owned()));
                    if parts.contains(&part) {
                        return Err(format!("pattern \"{text}\" names [{name}] twice"));
                    }
                    part
                }
                _ if is_part(part) && !part.contains(['[', ']', '*']) => Part::Fixed(part.to_owned()),
                _ => {
                    return Err(format!(
                        "pattern \"{text}\" cannot be read at \"{part}\": parts between \"/\" are a name, *, [name], \
                         or ** at the end"
                    ));
                }
            });
        }
        if parts.iter().all(|part| matches!(part, Part::Fixed(_))) {
            return Err(format!(
                "pattern \"{text}\" leaves nothing open: it needs *, ** or [name]; without, use defineResource"
            ));
        }
        Ok(Pattern { text: text.to_owned(), parts })
    }

    /// As [`parse`](Self::parse), for a definition: fixed texts and names of parts must have plain letters only.
    /// Records of earlier versions may have others.
    pub fn declared(text: &str) -> Result<Pattern, String> {
        let pattern = Pattern::parse(text)?;
        let is_plain = |text: &str, others: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || others.contains(c));
        let odd = pattern.parts.iter().find_map(|part| match part {
            Part::Fixed(name) if !is_plain(name, "_-.") => Some(("a name", name, "A-Z a-z 0-9 _ - .")),
            Part::One(Some(name)) if !is_plain(name, "_") => Some(("[name]", name, "A-Z a-z 0-9 _")),
            _ => None,
        });
        match odd {
            None => Ok(pattern),
            Some((what, name, letters)) => {
                Err(format!("pattern \"{text}\" cannot be read at \"{name}\": {what} is made of {letters}"))
            }
        }
    }

    /// Returns the pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the key that a flow passed: a string, or `{ name: value }` for the named parts. A string may be written
    /// with backslashes, and with more slashes than it needs. Fails with `ValidationError`.
    pub fn key(&self, given: &Value) -> Result<String, FlowError> {
        self.key_if_matching(given)?.ok_or_else(|| {
            let open = self.parts.iter().filter(|part| !matches!(part, Part::Fixed(_))).count();
            let more = if self.has_rest() { " or more" } else { "" };
            let s = if open == 1 { "" } else { "s" };
            let message = format!(
                "Resource key {given} does not match collection pattern \"{}\": a key has {open}{more} part{s} between \
                 \"/\"",
                self.text
            );
            FlowError::validation(message, None)
        })
    }

    /// As [`key`](Self::key). Returns nothing if the key is valid and has another number of parts than the pattern.
    pub fn key_if_matching(&self, given: &Value) -> Result<Option<String>, FlowError> {
        let wrong = |why: &str| FlowError::validation(format!("a key of \"{}\" {why}, got {given}", self.text), None);
        let parts: Vec<String> = match given {
            Value::String(key) if key.is_empty() => return Err(wrong("must not be empty")),
            Value::String(key) => key.split(['/', '\\']).filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            Value::Object(named) => self.named_parts(named).map_err(|why| wrong(&why))?,
            _ => return Err(wrong("is a text or an object")),
        };
        if parts.is_empty() {
            return Err(wrong("must have more than slashes"));
        }
        for part in &parts {
            match part.as_str() {
                "" => return Err(wrong("must not have an empty part")),
                "." | ".." => return Err(wrong(&format!("must not have \"{part}\" as a part"))),
                part if part.contains(|letter: char| letter < ' ') => {
                    return Err(wrong("must not have control characters"));
                }
                _ => {}
            }
        }
        let open = self.parts.iter().filter(|part| !matches!(part, Part::Fixed(_))).count();
        let fits = parts.len() == open || self.has_rest() && parts.len() > open;
        Ok(fits.then(|| parts.join("/")))
    }

    /// Returns the values of the named parts, in the order of the pattern. The error says what a key must be like.
    fn named_parts(&self, named: &Map<String, Value>) -> Result<Vec<String>, String> {
        let names: Vec<&String> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Fixed(_) => None,
                Part::One(name) => Some(name.as_ref()),
                Part::Rest => Some(None),
            })
            .collect::<Option<_>>()
            .ok_or_else(|| "is a text, because not every open part has a name".to_owned())?;
        if let Some(other) = named.keys().find(|key| !names.contains(key)) {
            return Err(format!("has no part [{other}]"));
        }
        let value =
            |name: &&String| named.get(*name).and_then(Value::as_str).filter(|text| !text.contains(['/', '\\']));
        let values: Option<Vec<&str>> = names.iter().map(value).collect();
        values
            .map(|values| values.into_iter().map(str::to_owned).collect())
            .ok_or_else(|| "needs a text without \"/\" or \"\\\" for every named part".to_owned())
    }

    /// Returns whether the pattern ends with `**`.
    fn has_rest(&self) -> bool {
        matches!(self.parts.last(), Some(Part::Rest))
    }

    /// Returns the path of a key that [`key`](Self::key) returned.
    pub fn path_of(&self, key: &str) -> String {
        let mut given = key.split('/');
        let mut path: Vec<&str> = Vec::new();
        for part in &self.parts {
            match part {
                Part::Fixed(name) => path.push(name),
                Part::One(_) => path.extend(given.next()),
                Part::Rest => path.extend(given.by_ref()),
            }
        }
        path.join("/")
    }
}

/// Returns whether a text is valid between two `/` of a path.
fn is_part(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains('/')
}
