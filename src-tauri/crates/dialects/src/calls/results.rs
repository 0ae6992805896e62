//! Where the result of a Call goes: the messages that hold it, by its output path and its output method.
//!
//! Pure. A path of the state is written once; other kinds are patched, and lists of them can grow.

use serde_json::{Value, json};

use super::messages::{describe, kind};
use super::plan::Checked;
use super::problem::{Kind, problem};
use super::references::{Expression, Reference, message_with, refuses};
use engine::error::FlowError;

/// How a result meets what is there already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Method {
    /// A later message patches an earlier one.
    #[default]
    Set,
    /// It is added to the list that is there.
    Push,
    /// Its entries are.
    Concat,
}

impl Method {
    /// Returns the method of a name; `None` if there is none.
    pub(super) fn named(name: &str) -> Option<Method> {
        match name {
            "set" | "merge" => Some(Method::Set),
            "push" => Some(Method::Push),
            "concat" => Some(Method::Concat),
            _ => None,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Method::Set => "set",
            Method::Push => "push",
            Method::Concat => "concat",
        }
    }

    /// Returns whether a list that is there becomes part of what is written.
    pub(super) fn grows(self) -> bool {
        self != Method::Set
    }

    /// Returns why a result cannot be added to what is there, if so.
    fn refuses(self, place: &Reference, there: Option<&Value>, result: &Value) -> Option<FlowError> {
        let text = match (self, there, result) {
            (Method::Set, ..) => return None,
            (_, Some(other), _) if !other.is_null() && !other.is_array() => {
                format!("{place} cannot grow: it is no list, but {}", describe(other))
            }
            (Method::Concat, _, other) if !other.is_array() => {
                format!("_outputMethod \"concat\" adds a list to {place}, and the result is {}", describe(other))
            }
            _ => return None,
        };
        Some(problem(Kind::OutputPath, text))
    }

    /// Returns what is written, given what is there.
    fn applied(self, place: &Reference, there: Option<Value>, result: Value) -> Result<Value, FlowError> {
        if let Some(error) = self.refuses(place, there.as_ref(), &result) {
            return Err(error);
        }
        let mut list = match there {
            _ if self == Method::Set => return Ok(result),
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        match (self, result) {
            (Method::Concat, Value::Array(more)) => list.extend(more),
            (_, one) => list.push(one),
        }
        Ok(list.into())
    }
}

/// Returns the messages that hold a result, noted as made by a tool. `context` is what the Call sees of the places, so
/// that it has what stands there.
pub(super) fn messages(
    checked: &Checked,
    context: &[&Value],
    result: Value,
    by: &str,
) -> Result<Vec<Value>, FlowError> {
    let (places, result) = places(checked, result)?;
    let own = checked.instance.as_deref();
    let message = |place: &Reference| {
        if let Some(error) = refuses(place, context, own).or_else(|| overwrites(place, context, own, &result)) {
            return Err(error);
        }
        let there = place.own_value(context, own);
        message_with(place, checked.method.applied(place, there, result.clone())?, own, by)
    };
    places.into_iter().map(message).collect()
}

/// Refuses a result that cannot be written, as [`messages`] does, without making the messages.
pub(super) fn check(checked: &Checked, context: &[&Value], result: Value) -> Result<(), FlowError> {
    let (places, result) = places(checked, result)?;
    let own = checked.instance.as_deref();
    let refused = |place: &Reference| {
        let cannot_grow = || {
            let there = if checked.method.grows() { place.own_value(context, own) } else { None };
            checked.method.refuses(place, there.as_ref(), &result)
        };
        let refused = refuses(place, context, own).or_else(|| overwrites(place, context, own, &result));
        // What is written to a kind as a whole has to have its form.
        let misfits = || {
            let whole = checked.method.applied(place, place.own_value(context, own), result.clone());
            whole.and_then(|whole| message_with(place, whole, own, &checked.tool)).err()
        };
        refused.or_else(cannot_grow).or_else(|| if place.path.is_empty() { misfits() } else { None })
    };
    places.into_iter().find_map(refused).map_or(Ok(()), Err)
}

/// Returns where a result is written, and what of it is.
fn places(checked: &Checked, result: Value) -> Result<(Vec<&Reference>, Value), FlowError> {
    Ok(match &checked.output {
        None => (Vec::new(), result),
        Some(Expression::All(all)) => (all.iter().collect(), result),
        Some(Expression::First(all)) => match chosen(all, &result)? {
            Some((place, value)) => (vec![place], value),
            None => (vec![&all[0]], result),
        },
    })
}

/// Returns the messages that hold a failure, of a Call whose output path has a second place: there a failure goes that
/// the tool did not put there itself. `None` if it has no such place, if the place cannot be written, or if a person
/// rejected the Call, which never ran.
pub(super) fn of_failure(checked: &Checked, context: &[&Value], error: &FlowError) -> Option<Vec<Value>> {
    let Some(Expression::First(alternatives)) = &checked.output else { return None };
    let place = alternatives.get(1).filter(|_| error.name != problem(Kind::Rejected, "").name)?;
    let own = checked.instance.as_deref();
    // Of the error only its name and message pass, as where it is fed back. The author has chosen this place, so a
    // thrown value that is no error is part of the message here.
    let failure = json!({ "name": error.name, "message": error.told() });
    if refuses(place, context, own).or_else(|| overwrites(place, context, own, &failure)).is_some() {
        return None;
    }
    Some(vec![message_with(place, failure, own, &checked.tool).ok()?])
}

/// Returns the alternative that a result chooses: `{ _outputPath, value }`, or a message of which it is a part. A path
/// that is no alternative is refused: put elsewhere, the result would be found where nobody meant it to be.
fn chosen<'p>(alternatives: &'p [Reference], result: &Value) -> Result<Option<(&'p Reference, Value)>, FlowError> {
    let Some(fields) = result.as_object().filter(|_| alternatives.len() > 1) else { return Ok(None) };
    if let Some(path) = fields.get("_outputPath").and_then(Value::as_str) {
        let place = alternatives.iter().find(|place| place.to_string() == path).ok_or_else(|| {
            let known: Vec<String> = alternatives.iter().map(Reference::to_string).collect();
            let text = format!("the result chooses {path}, which is none of its call's places: {}", known.join(", "));
            problem(Kind::OutputPath, text)
        })?;
        return Ok(Some((place, fields.get("value").cloned().unwrap_or_default())));
    }
    if fields.get("type").is_none() {
        return Ok(None);
    }
    let own = [result];
    Ok(alternatives.iter().find_map(|place| Some((place, place.look_up(&own, None)?))))
}

/// Returns why a result cannot become part of the state as a whole, if so: each of its fields is a path of its own.
fn overwrites(place: &Reference, context: &[&Value], of: Option<&str>, result: &Value) -> Option<FlowError> {
    if place.kind != "state" || !place.path.is_empty() {
        return None;
    }
    result.as_object()?.keys().find_map(|key| {
        let part = Reference { kind: place.kind.clone(), path: vec![key.clone()] };
        refuses(&part, context, of)
    })
}

/// Returns why the schema of a kind has no such path, if so. A schema is closed by `additionalProperties: false`.
pub(super) fn closed(place: &Reference, context: &[&Value]) -> Option<FlowError> {
    let of_kind = context.iter().filter(|message| kind(message) == place.kind);
    let mut schema = of_kind.filter_map(|message| message.get("schema")).find(|schema| schema.is_object())?;
    for (depth, segment) in place.path.iter().enumerate() {
        let properties = schema.get("properties").and_then(Value::as_object);
        match properties.and_then(|properties| properties.get(segment)) {
            Some(next) => schema = next,
            None if schema.get("additionalProperties") == Some(&Value::Bool(false)) => {
                let known: Vec<&str> = properties.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                let above = Reference { kind: place.kind.clone(), path: place.path[..depth].to_vec() };
                let text = format!("{place} cannot be written: the schema of {above} allows only: {known}");
                return Some(problem(Kind::OutputPath, text));
            }
            None => return None,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{plan, tools};
    use super::*;
    use engine::flow::Registered;

    #[test]
    fn a_closed_schema_names_the_paths_there_are() {
        let shape = json!({
            "properties": { "user": { "properties": { "id": {} }, "additionalProperties": false }, "open": {} },
            "additionalProperties": false,
        });
        let context = [json!({ "type": "state", "schema": shape }), json!({ "type": "data", "data": 1 })];
        let context: Vec<&Value> = context.iter().collect();
        for (kind, path, is_refused) in [
            ("state", vec!["user"], false),
            ("state", vec!["user", "id"], false),
            ("state", vec!["user", "name"], true),
            ("state", vec!["open", "anything"], false),
            ("state", vec!["other"], true),
            ("state", vec![], false),
            ("data", vec!["other"], false),
        ] {
            let place = Reference { kind: kind.to_owned(), path: path.iter().map(|one| (*one).to_owned()).collect() };
            assert_eq!(closed(&place, &context).is_some(), is_refused, "{place}");
        }
    }

    /// What is refused where a Call ends is what is refused where its messages are made.
    #[test]
    fn a_result_is_refused_as_its_messages_are() {
        let closed = json!({ "properties": { "one": {}, "list": {} }, "additionalProperties": false });
        let context = [
            json!({ "type": "state", "s": 1, "list": [1], "_call": "t" }),
            json!({ "type": "data", "data": { "one": 5, "list": [1] }, "schema": closed }),
        ];
        let context: Vec<&Value> = context.iter().collect();
        let results = [
            json!(1),
            json!([2]),
            json!({ "s": 2 }),
            json!({ "t": 2 }),
            json!({ "_outputPath": "†state.q", "value": 1 }),
        ];
        let offer = json!({ "_output": {}, "_outputPath": {}, "_outputMethod": {} });
        let offer = json!({ "type": "tool", "tool": { "t": { "properties": offer } } });
        let tools = tools::offered(&[offer], &Registered::default()).expect("a tool is offered");
        let mut refused = 0;
        for path in [
            "†state",
            "†state.s",
            "†state.new",
            "†data",
            "†data.one",
            "†data.list",
            "†data.no",
            "†state.a || †state.b",
            "†state.a && †state.s",
        ] {
            for method in [Method::Set, Method::Push, Method::Concat] {
                for result in &results {
                    let call =
                        json!({ "_tool": "t", "_output": 0, "_outputPath": path, "_outputMethod": method.as_str() });
                    // No path of the state grows.
                    let Ok(checked) = plan::check(&call, &tools, &Registered::default()) else { continue };
                    let expected = messages(&checked, &context, result.clone(), "t").map(drop);
                    let found = check(&checked, &context, result.clone());
                    assert_eq!(found, expected, "{path} {method:?} {result}");
                    refused += usize::from(found.is_err());
                }
            }
        }
        assert!(refused > 20, "only {refused} were refused");
    }

    #[test]
    fn lists_grow() {
        let place = Reference { kind: "data".to_owned(), path: vec!["list".to_owned()] };
        for (method, there, result, expected) in [
            ("push", None, json!(1), Some(json!([1]))),
            ("push", Some(json!([1])), json!([2]), Some(json!([1, [2]]))),
            ("concat", Some(json!([1])), json!([2]), Some(json!([1, 2]))),
            ("concat", None, json!(2), None),
            ("push", Some(json!({})), json!(2), None),
            ("merge", Some(json!({ "a": 1 })), json!({ "b": 2 }), Some(json!({ "b": 2 }))),
        ] {
            let method = Method::named(method).unwrap_or_default();
            assert_eq!(method.applied(&place, there, result).ok(), expected, "{method:?}");
        }
        assert_eq!(Method::named("assign"), None);
    }
}
