//! What of a block differs first, where inside of it, and how much of that is shown.

use serde_json::{Map, Value};

use crate::views::DifferingField;

/// How long a value may be that is shown whole, as JSON.
const SHOWN: usize = 4 << 10;
/// How much is shown of a longer one.
const CUT: usize = 400;

/// What of a block differs, by what it did then and does now, in the words of [`engine::views::trace`].
pub(super) fn field(recorded: &Value, found: &Value, is_asked: bool) -> DifferingField {
    if is_asked {
        return DifferingField::Effect;
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
    const FIELDS: [(&str, DifferingField); 9] = [
        // Who began is told with its input.
        ("input", DifferingField::Input),
        ("block", DifferingField::Input),
        ("error", DifferingField::Error),
        ("output", DifferingField::Output),
        ("state", DifferingField::State),
        ("route", DifferingField::Route),
        ("item", DifferingField::Items),
        ("journal", DifferingField::Items),
        ("metadata", DifferingField::Items),
    ];
    FIELDS.iter().find(|(name, _)| what.get(name).is_some()).map(|(_, field)| *field)
}

/// Where two things that a block did differ first, and what is there. The place is inside the field that both have;
/// `None` if that differs as a whole.
pub(super) fn first_place(recorded: &Value, found: &Value) -> (Option<String>, Value, Value) {
    let (Value::Object(was), Value::Object(is)) = (recorded, found) else {
        return (None, recorded.clone(), found.clone());
    };
    if both(was, is, "state").is_some() {
        // Which state, and where in it, is what is told of a write.
        let place = state_place(was);
        return (Some(place).filter(|place| *place == state_place(is)), recorded.clone(), found.clone());
    }
    for name in ["input", "output", "error", "route", "payload", "journal", "metadata"] {
        if let Some((was, is)) = both(was, is, name).filter(|(was, is)| was != is) {
            let place = innermost(was, is);
            return (Some(place).filter(|place| !place.is_empty()), was.clone(), is.clone());
        }
    }
    (None, recorded.clone(), found.clone())
}

fn both<'v>(was: &'v Map<String, Value>, is: &'v Map<String, Value>, name: &str) -> Option<(&'v Value, &'v Value)> {
    was.get(name).zip(is.get(name))
}

/// Where a write went: the scope, and the path in its state.
fn state_place(write: &Map<String, Value>) -> String {
    let text = |name: &str| write.get(name).and_then(Value::as_str).unwrap_or_default();
    let (scope, path) = (text("state"), text("path"));
    if path.is_empty() { scope.to_owned() } else { format!("{scope}.{path}") }
}

/// The path to the first place where two values differ, as `lines[0].sum`.
fn innermost(was: &Value, is: &Value) -> String {
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
    let Some((step, was, is)) = inside else { return String::new() };
    let rest = was.zip(is).map(|(was, is)| innermost(was, is)).unwrap_or_default();
    let whole = format!("{step}{}{rest}", if rest.is_empty() || rest.starts_with('[') { "" } else { "." });
    whole.strip_prefix('.').map(str::to_owned).unwrap_or(whole)
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$' || c == '-')
}

/// A value, or the beginning of its JSON if it is long.
pub(super) fn shown(value: Value) -> Value {
    let text = value.to_string();
    if text.len() <= SHOWN {
        return value;
    }
    let end = text.char_indices().nth(CUT).map_or(text.len(), |(end, _)| end);
    Value::String(format!("{}… ({} bytes)", &text[..end], text.len()))
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
            assert_eq!(innermost(&was, &is), place, "{was} {is}");
        }
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
