//! Patterns of the paths of a collection's instances: `files/*`, `files/**`, `[topic]/notes`.
//!
//! A key identifies an instance within its collection: the variable parts of its path, joined by `/`. The patterns of
//! two collections may match the same path; their instances are different records.

use serde_json::Value;

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

    /// Returns the pattern as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the key that a flow passed: a string, or `{ name: value }` for the named parts. Fails with
    /// `ValidationError`.
    pub fn key(&self, given: &Value) -> Result<String, FlowError> {
        let wrong = |why: String| FlowError::validation(format!("a key of \"{}\" {why}, got {given}", self.text), None);
        let key = match given {
            Value::String(key) => key.clone(),
            Value::Object(named) => {
                let names: Vec<&String> = self
                    .parts
                    .iter()
                    .filter_map(|part| match part {
                        Part::Fixed(_) => None,
                        Part::One(name) => Some(name.as_ref()),
                        Part::Rest => Some(None),
                    })
                    .collect::<Option<_>>()
                    .ok_or_else(|| wrong("is a text, because not every open part has a name".to_owned()))?;
                if let Some(other) = named.keys().find(|key| !names.contains(key)) {
                    return Err(wrong(format!("has no part [{other}]")));
                }
                let values: Vec<&str> = names
                    .iter()
                    .map(|name| named.get(*name).and_then(Value::as_str).filter(|value| !value.contains('/')))
                    .collect::<Option<_>>()
                    .ok_or_else(|| wrong("needs a text without \"/\" for every named part".to_owned()))?;
                values.join("/")
            }
            _ => return Err(wrong("is a text or an object".to_owned())),
        };
        let open = self.parts.iter().filter(|part| !matches!(part, Part::Fixed(_))).count();
        let parts: Vec<&str> = key.split('/').collect();
        let fits = match self.parts.last() {
            Some(Part::Rest) => parts.len() >= open,
            _ => parts.len() == open,
        };
        if !fits || !parts.iter().all(|part| is_part(part)) {
            let more = if matches!(self.parts.last(), Some(Part::Rest)) { " or more" } else { "" };
            let s = if open == 1 { "" } else { "s" };
            return Err(wrong(format!("has {open}{more} part{s} between \"/\", none of them empty, \".\" or \"..\"")));
        }
        Ok(key)
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
