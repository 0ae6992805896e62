//! What of a block differs first, where inside of it, and how much of that is shown.

use serde_json::{Map, Value, json};

use crate::views::{CutValue, DifferingField};

/// How long a value may be that is shown whole, as JSON, and of how many parts: many thousands of them are kept.
const SHOWN: usize = 4 << 10;
const SHOWN_PARTS: usize = 64;
/// How many characters are shown of a longer one, and how many of them before the first that differs.
const CUT: usize = 400;
const BEFORE: usize = 80;

/// What of a block differs, by what it did then and does now, in the words of [`engine::views::trace`].
pub(super) fn field(recorded: &Value, found: &Value, is_asked: bool) -> DifferingField {
    if is_asked {
        return DifferingField::Effect;
    }
    // The same input of another block.
    if recorded.get("block").is_some() && recorded.get("input") == found.get("input") {
        return DifferingField::Route;
    }
    let (was, is) = (one_side(recorded), one_side(found));
    match (was, is) {
        // One ended where the other went on, or it did not run.
        (Some(DifferingField::Output), Some(is)) => is,
        (Some(was), Some(DifferingField::Output)) => was,
        (_, Some(DifferingField::Error)) => DifferingField::Error,
        (Some(was), Some(_)) => was,
        // Texts: "did not run", "nothing more".
        (None, _) => DifferingField::Route,
        (Some(was), None) => {
            if found == "nothing more" {
                was
            } else {
                DifferingField::Route
            }
        }
    }
}

fn one_side(what: &Value) -> Option<DifferingField> {
    const FIELDS: [(&str, DifferingField); 13] = [
        // Who began is told with its input.
        ("input", DifferingField::Input),
        ("block", DifferingField::Input),
        ("error", DifferingField::Error),
        ("output", DifferingField::Output),
        ("state", DifferingField::State),
        ("route", DifferingField::Route),
        ("next", DifferingField::Route),
        ("item", DifferingField::Items),
        ("journal", DifferingField::Items),
        ("metadata", DifferingField::Items),
        ("question", DifferingField::Items),
        ("waits", DifferingField::Items),
        ("dispatch", DifferingField::Effect),
    ];
    FIELDS.iter().find(|(name, _)| what.get(name).is_some()).map(|(_, field)| *field)
}

/// The first place where two things that a block did differ.
pub(super) struct FirstPlace {
    /// Where it is inside the field that both have, as `lines[0].sum`; `None` if that differs as a whole.
    pub(super) place: Option<String>,
    /// What is shown of each: the field, or if that is long what stands at the place.
    pub(super) recorded: Value,
    pub(super) found: Value,
}

pub(super) fn first_place(recorded: &Value, found: &Value) -> FirstPlace {
    let at = |place, was, is| {
        let (recorded, found) = shown(was, is);
        FirstPlace { place, recorded, found }
    };
    let whole = |place| at(place, recorded, found);
    let (Value::Object(was), Value::Object(is)) = (recorded, found) else { return whole(None) };
    if both(was, is, "state").is_some() {
        // Which state, and where in it, is what is told of a write.
        let place = state_place(was);
        return whole(Some(place).filter(|place| *place == state_place(is)));
    }
    for name in [
        "input", "output", "error", "route", "payload", "delta", "update", "journal", "metadata", "question",
        "dispatch",
    ] {
        if let Some((was, is)) = both(was, is, name).filter(|(was, is)| was != is) {
            let (place, inner_was, inner_is) = innermost(was, is);
            let (was, is) = if is_short(was) && is_short(is) { (was, is) } else { (inner_was, inner_is) };
            return at(Some(place).filter(|place| !place.is_empty()), was, is);
        }
    }
    whole(None)
}

fn both<'v>(was: &'v Map<String, Value>, is: &'v Map<String, Value>, name: &str) -> Option<(&'v Value, &'v Value)> {
    was.get(name).zip(is.get(name))
}

/// Where a write went: the scope, and the path in its state.
fn state_place(write: &Map<String, Value>) -> String {
    let text = |name: &str| write.get(name).and_then(Value::as_str).unwrap_or_default();
    let (scope, path) = (text(if write.contains_key("resource") { "resource" } else { "state" }), text("path"));
    if path.is_empty() { scope.to_owned() } else { format!("{scope}.{path}") }
}

/// The path to the first place where two values differ, as `lines[0].sum`, and what stands there.
fn innermost<'v>(was: &'v Value, is: &'v Value) -> (String, &'v Value, &'v Value) {
    const NOTHING: &Value = &Value::Null;
    let inside = match (was, is) {
        (Value::Object(was), Value::Object(is)) => {
            let names = was.keys().chain(is.keys().filter(|name| !was.contains_key(*name)));
            names.into_iter().find(|name| was.get(*name) != is.get(*name)).map(|name| {
                let step = if is_word(name) { format!(".{name}") } else { format!("[{}]", Value::from(name.as_str())) };
                (step, was.get(name), is.get(name))
            })
        }
        (Value::Array(was), Value::Array(is)) => {
            let longest = was.len().max(is.len());
            let at = (0..longest).find(|at| was.get(*at) != is.get(*at));
            at.map(|at| (format!("[{at}]"), was.get(at), is.get(at)))
        }
        _ => None,
    };
    let Some((step, was, is)) = inside else { return (String::new(), was, is) };
    let (rest, was, is) = match was.zip(is) {
        Some((was, is)) => innermost(was, is),
        None => (String::new(), was.unwrap_or(NOTHING), is.unwrap_or(NOTHING)),
    };
    let whole = format!("{step}{}{rest}", if rest.is_empty() || rest.starts_with('[') { "" } else { "." });
    (whole.strip_prefix('.').map(str::to_owned).unwrap_or(whole), was, is)
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$' || c == '-')
}

/// Two values that differ. Of a long one only the part around the first difference.
fn shown(was: &Value, is: &Value) -> (Value, Value) {
    if is_short(was) && is_short(is) {
        return (was.clone(), is.clone());
    }
    // Of two texts, the texts; a text beside anything else is JSON as that is.
    let text = |value: &Value, other: &Value| match (value, other) {
        (Value::String(text), Value::String(_)) => text.clone(),
        _ => value.to_string(),
    };
    let (was_text, is_text) = (text(was, is), text(is, was));
    let same = was_text.chars().zip(is_text.chars()).take_while(|(was, is)| was == is).count();
    let from = same.saturating_sub(BEFORE);
    let part = |value: &Value, text: &str| {
        if is_short(value) { value.clone() } else { json!(cut_from(text, from)) }
    };
    (part(was, &was_text), part(is, &is_text))
}

/// The part of a text that begins at a character.
fn cut_from(text: &str, from: usize) -> CutValue {
    let byte_of = |nth: usize| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let (begin, end) = (byte_of(from), byte_of(from + CUT));
    CutValue { part: text[begin..end].to_owned(), bytes: text.len(), from: begin }
}

fn is_short(value: &Value) -> bool {
    let mut left = SHOWN_PARTS;
    has_few_parts(value, &mut left) && value.to_string().len() <= SHOWN
}

/// Whether a value has no more parts than are left.
fn has_few_parts(value: &Value, left: &mut usize) -> bool {
    *left = left.saturating_sub(1);
    *left > 0
        && match value {
            Value::Array(items) => items.iter().all(|item| has_few_parts(item, left)),
            Value::Object(fields) => fields.values().all(|field| has_few_parts(field, left)),
            _ => true,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_first_place_is_named_as_a_path() {
        for (was, is, place) in [
            (json!({ "a": 1 }), json!({ "a": 2 }), "a"),
            (json!({ "a": [1, { "b": 2 }] }), json!({ "a": [1, { "b": 3 }] }), "a[1].b"),
            (json!([1]), json!([1, 2]), "[1]"),
            (json!([[1]]), json!([[2]]), "[0][0]"),
            (json!({ "a b": 1 }), json!({ "a b": 2 }), "[\"a b\"]"),
            (json!({ "x": { "a b": 1 } }), json!({ "x": { "a b": 2 } }), "x[\"a b\"]"),
            (json!({}), json!({ "new": 1 }), "new"),
            (json!(1), json!(2), ""),
        ] {
            assert_eq!(innermost(&was, &is).0, place, "{was} {is}");
        }
    }

    #[test]
    fn of_a_long_value_the_part_that_differs_is_shown() {
        let long = |end: &str| json!({ "long": "é".repeat(5_000), "end": end });
        let (was, is) = shown(&long("one"), &long("two"));
        let (was, is) = (CutValue::of(&was).expect("it is cut"), CutValue::of(&is).expect("it is cut"));
        assert!(was.part.ends_with("\"one\"}") && is.part.ends_with("\"two\"}"), "{} {}", was.part, is.part);
        assert_eq!((was.from, was.bytes), (is.from, is.bytes));
        assert!(was.from > 9_000 && was.bytes > 10_000, "{was:?}");
        // A short one stays as it is.
        assert_eq!(shown(&long("one"), &json!(null)).1, json!(null));
        let (was, _) = shown(&json!("x".repeat(9_000)), &json!("y".repeat(9_000)));
        let was = CutValue::of(&was).expect("it is cut");
        assert_eq!((was.part, was.from, was.bytes), ("x".repeat(CUT), 0, 9_000), "a text has no quotes");
        assert_eq!(CutValue::of(&json!({ "$cut": 1 })), None);
    }

    #[test]
    fn what_differs_is_named_by_its_kind() {
        let output = json!({ "output": 1 });
        for (was, is, is_asked, field_found) in [
            (output.clone(), json!({ "output": 2 }), false, DifferingField::Output),
            (output.clone(), json!({ "error": { "name": "Error" } }), false, DifferingField::Error),
            (json!({ "error": {} }), output.clone(), false, DifferingField::Error),
            (output.clone(), json!({ "state": "session" }), false, DifferingField::State),
            (json!({ "state": "session" }), output.clone(), false, DifferingField::State),
            (json!({ "block": "a", "input": 1 }), json!({ "block": "a", "input": 2 }), false, DifferingField::Input),
            (json!({ "route": "a" }), json!({ "route": "b" }), false, DifferingField::Route),
            (json!("did not run"), json!({ "block": "a", "input": 1 }), false, DifferingField::Route),
            (json!({ "block": "a", "input": 1 }), json!("did not run"), false, DifferingField::Route),
            (json!({ "item": "message" }), json!("nothing more"), false, DifferingField::Items),
            (json!({ "model": {} }), json!({ "model": {} }), true, DifferingField::Effect),
        ] {
            assert_eq!(field(&was, &is, is_asked), field_found, "{was} {is}");
        }
    }
}
