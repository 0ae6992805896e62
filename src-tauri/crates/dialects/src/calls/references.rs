//! References into a context (`†state.user.id`), and output paths.
//!
//! Pure. A reference is a whole text that begins with a dagger. Several are joined by `||` (the first that exists) or
//! `&&` (all must exist; the last value counts, and a result is written to each).

use serde_json::{Map, Value};

use super::layers;
use super::problem::{Kind, problem};
use engine::error::FlowError;

/// The sign of a reference.
const SIGN: char = '†';

/// A place in the data of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reference {
    pub(super) kind: String,
    pub(super) path: Vec<String>,
}

/// One reference, or several joined by one operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    First(Vec<Reference>),
    All(Vec<Reference>),
}

impl Expression {
    pub(super) fn references(&self) -> &[Reference] {
        match self {
            Expression::First(all) | Expression::All(all) => all,
        }
    }

    /// Returns whether all of its references are used, so that there is no choice.
    pub(super) fn is_certain(&self) -> bool {
        matches!(self, Expression::All(_)) || self.references().len() == 1
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SIGN}{}", self.kind)?;
        self.path.iter().try_for_each(|segment| write!(f, ".{segment}"))
    }
}

impl Reference {
    pub(super) fn parse(text: &str) -> Result<Reference, FlowError> {
        let refused = |why: &str| {
            let message = format!("\"{text}\" is no reference: {why}; write †kind.path, like †state.user.id");
            Err(problem(Kind::Reference, message))
        };
        let Some(rest) = text.strip_prefix(SIGN) else { return refused("it does not begin with †") };
        let mut segments = rest.split('.').map(str::to_owned);
        let kind = segments.next().unwrap_or_default();
        let path: Vec<String> = segments.collect();
        let mut all = std::iter::once(&kind).chain(&path);
        if all.clone().any(|segment| segment.is_empty() || segment.contains(char::is_whitespace)) {
            return refused("a part of it is empty or has a space");
        }
        if all.any(|segment| segment == "__proto__") {
            return refused("__proto__ is no name of data");
        }
        Ok(Reference { kind, path })
    }

    /// Returns whether one is inside the other.
    pub(super) fn overlaps(&self, other: &Reference) -> bool {
        self.kind == other.kind && self.path.iter().zip(&other.path).all(|(one, two)| one == two)
    }

    /// Returns the value that an instance sees there.
    pub(super) fn look_up(&self, context: &[&Value], to: Option<&str>) -> Option<Value> {
        layers::value(&layers::seen(context, &self.kind, to), &self.path)
    }

    /// Returns the instance's own value there, without values for all instances.
    pub(super) fn own_value(&self, context: &[&Value], of: Option<&str>) -> Option<Value> {
        layers::value(&layers::own(context, &self.kind, of), &self.path)
    }
}

/// Returns the value at a path in the parameters of a Call.
pub(super) fn within<'v>(call: &'v Map<String, Value>, path: &[String]) -> Option<&'v Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(call.get(first)?, |value, segment| match value {
        Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
        other => other.get(segment),
    })
}

/// Returns whether a text is meant as a reference.
pub(super) fn is_reference(text: &str) -> bool {
    text.starts_with(SIGN)
}

/// Parses a reference, or several joined by `||` or by `&&`.
pub(super) fn parse(text: &str) -> Result<Expression, FlowError> {
    match (text.contains("||"), text.contains("&&")) {
        (true, true) => {
            Err(problem(Kind::Reference, format!("\"{text}\" mixes || and &&; an expression has one kind of operator")))
        }
        (false, true) => {
            Ok(Expression::All(text.split("&&").map(|part| Reference::parse(part.trim())).collect::<Result<_, _>>()?))
        }
        _ => {
            Ok(Expression::First(text.split("||").map(|part| Reference::parse(part.trim())).collect::<Result<_, _>>()?))
        }
    }
}

/// A parameter that was a reference.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Found {
    /// Its place: property names and indices.
    pub(super) at: Vec<String>,
    pub(super) text: String,
    pub(super) expression: Expression,
}

/// Returns every reference in the parameters of a Call.
pub(super) fn all_in(call: &Map<String, Value>) -> Result<Vec<Found>, FlowError> {
    let mut found = Vec::new();
    for (key, value) in call.iter().filter(|(key, _)| !key.starts_with('_')) {
        collect(&mut vec![key.clone()], value, &mut found)?;
    }
    Ok(found)
}

fn collect(place: &mut Vec<String>, value: &Value, found: &mut Vec<Found>) -> Result<(), FlowError> {
    let mut inside = |segment: String, value: &Value| {
        place.push(segment);
        collect(place, value, found)?;
        place.pop();
        Ok(())
    };
    match value {
        Value::Array(items) => items.iter().enumerate().try_for_each(|(at, item)| inside(at.to_string(), item)),
        Value::Object(fields) => fields.iter().try_for_each(|(key, value)| inside(key.clone(), value)),
        Value::String(text) if is_reference(text) => {
            found.push(Found { at: place.clone(), text: text.clone(), expression: parse(text)? });
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns the value of an expression; `Err` has the first reference without a value.
pub(super) fn value_of(expression: &Expression, context: &[&Value], to: Option<&str>) -> Result<Value, Reference> {
    match expression {
        Expression::First(all) => {
            let found = all.iter().find_map(|reference| reference.look_up(context, to));
            found.ok_or_else(|| all[0].clone())
        }
        Expression::All(all) => {
            let mut last = Value::Null;
            for reference in all {
                last = reference.look_up(context, to).ok_or_else(|| reference.clone())?;
            }
            Ok(last)
        }
    }
}

/// Returns the parameters with every reference replaced by its value.
pub(super) fn resolved(value: &Value, of: &dyn Fn(&str) -> Option<Value>) -> Value {
    match value {
        Value::String(text) if is_reference(text) => of(text).unwrap_or(Value::Null),
        Value::Array(items) => items.iter().map(|item| resolved(item, of)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(key, value)| (key.clone(), resolved(value, of))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Returns why a result cannot be written to a place, if so: the schema has no such path, or a Call has already written
/// this path of the state.
pub(super) fn refuses(place: &Reference, context: &[&Value], of: Option<&str>) -> Option<FlowError> {
    let refused = |why: String| Some(problem(Kind::OutputPath, why));
    if matches!(place.kind.as_str(), "tool" | "text" | "system" | "plan" | "error") {
        return refused(format!("{place} cannot be written: \"{}\" is not a kind of data", place.kind));
    }
    if let Some(error) = super::results::closed(place, context) {
        return Some(error);
    }
    let is_state = place.kind == "state";
    // An instance also sees values for all instances, so its own value would hide a list for all.
    let there = if is_state { layers::own(context, &place.kind, of) } else { layers::seen(context, &place.kind, of) };
    let (depth, found) = layers::deepest(&there, &place.path);
    if depth < place.path.len() {
        let above = Reference { kind: place.kind.clone(), path: place.path[..depth].to_vec() };
        return match found {
            None => None,
            Some(there) if there.is_null() || there.is_object() => None,
            Some(there) if there.is_array() && !is_state => refused(format!(
                "{place} cannot be written: {above} is a list, which is written as a whole or grows by _outputMethod"
            )),
            Some(_) => refused(format!("{place} cannot be written: {above} is there and is no object")),
        };
    }
    let stands = |found: Option<layers::Layer<'_>>| found.is_some_and(|value| !value.is_null());
    if !is_state || depth == 0 || !stands(found) {
        return None;
    }
    // Values that the context brought were not written by a Call, so a Call may overwrite them.
    let by_calls: Vec<&Value> = context.iter().copied().filter(|message| message.get("_call").is_some()).collect();
    let (depth, found) = layers::deepest(&layers::own(&by_calls, &place.kind, of), &place.path);
    let is_written = depth == place.path.len() && stands(found);
    is_written
        .then(|| problem(Kind::OutputPath, format!("{place} is written already: a path of the state is written once")))
}

/// Returns the message that holds a result at a place.
pub(super) fn message_with(place: &Reference, result: Value, of: Option<&str>, by: &str) -> Result<Value, FlowError> {
    let payload = place
        .path
        .iter()
        .rev()
        .fold(result, |value, segment| Value::Object(Map::from_iter([(segment.clone(), value)])));
    let mut message = Map::new();
    match (place.kind.as_str(), payload) {
        (kind @ ("state" | "input"), Value::Object(fields)) => {
            message.insert("type".to_owned(), kind.into());
            let is_plain =
                |key: &String| !key.starts_with('_') && !matches!(key.as_str(), "type" | "schema" | "state" | "input");
            if fields.keys().all(is_plain) {
                message.extend(fields);
            } else {
                message.insert(kind.to_owned(), fields.into());
            }
        }
        ("state" | "input", other) => {
            let what = super::messages::describe(&other);
            return Err(problem(
                Kind::OutputPath,
                format!("{place} as a whole is an object, and the result is {what}"),
            ));
        }
        (kind, payload) => {
            message.insert("type".to_owned(), "data".into());
            if kind != "data" {
                message.insert("kind".to_owned(), kind.into());
            }
            message.insert("data".to_owned(), payload);
        }
    }
    message.extend(of.map(|instance| ("_instance".to_owned(), instance.into())));
    message.insert("_call".to_owned(), by.into());
    Ok(message.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn references_find_what_an_instance_sees() {
        let context = [
            json!({ "type": "state", "user": { "id": "u" }, "list": [{ "n": 1 }] }),
            json!({ "type": "state", "_instance": "1", "user": { "name": "one" } }),
            json!({ "type": "data", "data": { "x": 0 } }),
        ];
        let context: Vec<&Value> = context.iter().collect();
        for (text, to, expected) in [
            ("†state.user.id", None, Some(json!("u"))),
            ("†state.user.name", None, None),
            ("†state.user.name", Some("1"), Some(json!("one"))),
            ("†state.user", Some("1"), Some(json!({ "id": "u", "name": "one" }))),
            ("†state.list.0.n", None, Some(json!(1))),
            ("†data.x", None, Some(json!(0))),
            ("†state.none || †data.x", None, Some(json!(0))),
            ("†state.none && †data.x", None, None),
            ("†state.user.id && †data.x", None, Some(json!(0))),
        ] {
            let found = parse(text).ok().and_then(|expression| value_of(&expression, &context, to).ok());
            assert_eq!(found, expected, "{text} {to:?}");
        }
    }

    #[test]
    fn invalid_references_are_refused() {
        for text in ["†", "†state.", "†a..x", "†a.a b", "†__proto__.x", "†a.__proto__", "†a || †b && †c", "†a || b"]
        {
            assert_eq!(parse(text).map_err(|error| error.name), Err("UnresolvedReferenceError".to_owned()), "{text}");
        }
    }

    #[test]
    fn a_path_of_the_state_is_written_once() {
        let context = [
            json!({ "type": "state", "brought": { "x": 1 } }),
            json!({ "type": "state", "a": { "b": 1 }, "none": null, "_call": "tool" }),
            json!({ "type": "data", "data": { "a": 1 }, "_call": "tool" }),
        ];
        let context: Vec<&Value> = context.iter().collect();
        for (text, is_refused) in [
            ("†state.a", true),
            ("†state.a.b", true),
            ("†state.a.b.c", true),
            ("†state.a.c", false),
            ("†state.brought", false),
            ("†state.brought.x", false),
            ("†state.brought.y", false),
            ("†state.brought.x.y", true),
            ("†state.none", false),
            ("†state.new", false),
            ("†data.a", false),
            ("†tool.a", true),
        ] {
            let place = parse(text).unwrap_or(Expression::First(Vec::new()));
            assert_eq!(refuses(&place.references()[0], &context, None).is_some(), is_refused, "{text}");
        }
    }
}
