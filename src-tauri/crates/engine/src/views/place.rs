//! View: a place inside a value, in the notation of differences: `plan[2].title`, `notes["to do"]`.
//!
//! Reads what [`diff`](super::diff) prints; the two must stay each other's inverse.

use serde_json::{Map, Value};

use crate::model::state::State;

/// A path from a state to a value in it; empty for the whole state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Field(String),
    Index(usize),
}

impl Place {
    /// Parses a path. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Place, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (part, after) = match rest.strip_prefix('[') {
                Some(inner) => bracketed(inner)?,
                None => named(rest.strip_prefix('.').unwrap_or(rest))?,
            };
            parts.push(part);
            rest = after;
        }
        Ok(Place(parts))
    }

    /// The top-level field it is in; `None` for the whole state.
    pub fn field(&self) -> Option<&str> {
        match self.0.first()? {
            Part::Field(name) => Some(name),
            Part::Index(_) => None,
        }
    }

    /// Whether it is a whole top-level field.
    pub fn is_field(&self) -> bool {
        matches!(*self.0, [Part::Field(_)])
    }

    /// The index, if its top-level field is a list and it goes into it.
    pub fn index(&self) -> Option<usize> {
        match self.0.get(1)? {
            Part::Index(at) => Some(*at),
            Part::Field(_) => None,
        }
    }

    /// The key, if its top-level field is an object and it goes into it.
    pub fn key(&self) -> Option<&str> {
        match self.0.get(1)? {
            Part::Field(name) => Some(name),
            Part::Index(_) => None,
        }
    }

    /// The same as a JSON pointer.
    pub fn pointer(&self) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Field(name) => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            Part::Index(at) => format!("/{at}"),
        });
        parts.collect()
    }

    /// Sets the value there, and creates missing objects on the way. Returns whether that was possible: a list has no
    /// fields, and a text has no parts.
    pub fn put(&self, state: &mut Value, value: Value) -> bool {
        let mut slot = state;
        for part in &self.0 {
            if slot.is_null() {
                *slot = Value::Object(Map::new());
            }
            slot = match (part, slot) {
                (Part::Field(name), Value::Object(fields)) => fields.entry(name.clone()).or_insert(Value::Null),
                (Part::Index(at), Value::Array(items)) => {
                    // A list can grow by one entry at its end.
                    if *at == items.len() {
                        items.push(Value::Null);
                    }
                    match items.get_mut(*at) {
                        Some(item) => item,
                        None => return false,
                    }
                }
                _ => return false,
            };
        }
        *slot = value;
        true
    }

    /// The value there, if there is one.
    pub fn find(&self, state: &State) -> Option<Value> {
        let Some((first, rest)) = self.0.split_first() else { return Some(state.to_json()) };
        let Part::Field(name) = first else { return None };
        let mut value = &**state.get(name)?;
        for part in rest {
            value = match (part, value) {
                (Part::Field(name), Value::Object(fields)) => fields.get(name)?,
                // Accept `list.0` for `list[0]`.
                (Part::Field(name), Value::Array(items)) => items.get(name.parse::<usize>().ok()?)?,
                (Part::Index(at), Value::Array(items)) => items.get(*at)?,
                _ => return None,
            };
        }
        Some(value.clone())
    }
}

fn named(text: &str) -> Result<(Part, &str), String> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    match text.split_at(end) {
        ("", _) => Err("a field's name is empty; write an odd name like [\"to do\"]".to_owned()),
        (name, rest) => Ok((Part::Field(name.to_owned()), rest)),
    }
}

/// `3]…` or `"a name"]…`.
fn bracketed(text: &str) -> Result<(Part, &str), String> {
    let wrong = || format!("\"[{text}\" is not an index like [2] or a quoted name like [\"to do\"]");
    if text.starts_with('"') {
        let mut names = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let name = names.next().and_then(Result::ok).ok_or_else(wrong)?;
        let rest = text[names.byte_offset()..].strip_prefix(']').ok_or_else(wrong)?;
        return Ok((Part::Field(name), rest));
    }
    let (index, rest) = text.split_once(']').ok_or_else(wrong)?;
    Ok((Part::Index(index.parse().map_err(|_| wrong())?), rest))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::views::diff::diff;

    fn state(value: Value) -> State {
        let fields: Map<String, Value> = serde_json::from_value(value).unwrap();
        State::from(fields)
    }

    #[test]
    fn it_reads_every_path_that_a_difference_prints() {
        let new = json!({
            "plan": [{ "title": "a" }, { "title": "b" }],
            "odd names": { "to \"do\"]": { "": [7] } },
            "über": { "x.y": 1 },
        });
        let found = diff(
            Some(&json!({ "plan": [{ "title": "a" }, {}], "odd names": { "to \"do\"]": {} }, "über": {} })),
            Some(&new),
        );
        assert_eq!(found.len(), 3, "{found:?}");
        for difference in found {
            let place = Place::parse(&difference.path).unwrap();
            assert_eq!(place.find(&state(new.clone())), difference.new, "{}", difference.path);
        }
    }

    #[test]
    fn a_place_that_is_not_there_has_no_value() {
        let state = state(json!({ "list": [1], "text": "t" }));
        for text in ["other", "list[1]", "list.length", "text.t", "text[0]", "[0]"] {
            assert_eq!(Place::parse(text).unwrap().find(&state), None, "{text}");
        }
        assert_eq!(Place::parse("list.0").unwrap().find(&state), Some(json!(1)));
        assert_eq!(Place::parse("").unwrap().find(&state), Some(json!({ "list": [1], "text": "t" })));
    }

    #[test]
    fn invalid_paths_are_refused() {
        for text in [".", "a.", "a..b", "a[", "a[x]", "a[\"b]", "a[-1]", "a[\"b\"x]"] {
            assert!(Place::parse(text).is_err(), "{text}");
        }
    }
}
