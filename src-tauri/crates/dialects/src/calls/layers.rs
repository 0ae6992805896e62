//! What stands at a place, where several messages lie over each other.
//!
//! Pure. Messages of one kind patch each other, and those of an instance patch those of all. Here they are followed
//! side by side down to the place, and only what is found there is merged: to merge all of the data for each of a
//! thousand references would copy it a thousand times.

use serde_json::Value;

use super::messages::{instance, is_payload, kind, patch, payload, wrapped};

/// A value that patches those before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layer<'v> {
    Value(&'v Value),
    /// A message whose own fields are what it says.
    Flat(&'v Value),
}

/// Objects, or one of anything else.
pub(super) type Layers<'v> = Vec<Layer<'v>>;

impl<'v> Layer<'v> {
    pub(super) fn is_object(self) -> bool {
        matches!(self, Layer::Flat(_) | Layer::Value(Value::Object(_)))
    }

    pub(super) fn is_array(self) -> bool {
        matches!(self, Layer::Value(Value::Array(_)))
    }

    pub(super) fn is_null(self) -> bool {
        matches!(self, Layer::Value(Value::Null))
    }

    fn inside(self, segment: &str) -> Option<Layer<'v>> {
        match self {
            Layer::Flat(message) => message.get(segment).filter(|value| is_payload(message, segment, value)),
            Layer::Value(Value::Array(items)) => items.get(segment.parse::<usize>().ok()?),
            Layer::Value(value) => value.get(segment),
        }
        .map(Layer::Value)
    }

    fn into_value(self) -> Value {
        match self {
            Layer::Flat(message) => payload(message),
            Layer::Value(value) => value.clone(),
        }
    }
}

/// Adds a value over the others: only an object keeps what is below it, and only if that is objects too.
fn add<'v>(layers: &mut Layers<'v>, layer: Layer<'v>) {
    if !(layer.is_object() && layers.last().is_some_and(|last| last.is_object())) {
        layers.clear();
    }
    layers.push(layer);
}

fn of<'v>(messages: impl Iterator<Item = &'v Value>) -> Layers<'v> {
    let mut layers = Layers::new();
    messages.for_each(|message| add(&mut layers, wrapped(message).map_or(Layer::Flat(message), Layer::Value)));
    layers
}

/// Returns the data of a kind that an instance sees.
pub(super) fn seen<'v>(context: &[&'v Value], of_kind: &str, to: Option<&str>) -> Layers<'v> {
    let those = context.iter().copied().filter(|message| kind(message) == of_kind);
    let global = those.clone().filter(|message| instance(message).is_none());
    of(global.chain(those.filter(|message| to.is_some() && instance(message) == to)))
}

/// Returns the data of a kind that the instance has itself.
pub(super) fn own<'v>(context: &[&'v Value], of_kind: &str, to: Option<&str>) -> Layers<'v> {
    of(context.iter().copied().filter(|message| instance(message) == to && kind(message) == of_kind))
}

/// Follows a path through objects as far as there is something: how far, and what stands there.
pub(super) fn deepest<'v>(layers: &Layers<'v>, path: &[String]) -> (usize, Option<Layer<'v>>) {
    let mut at = layers.clone();
    for (depth, segment) in path.iter().enumerate() {
        let is_object = at.last().is_some_and(|last| last.is_object());
        let next = if is_object { below(&at, segment) } else { Layers::new() };
        if next.is_empty() {
            return (depth, at.pop());
        }
        at = next;
    }
    (path.len(), at.pop())
}

/// Returns what stands at a path, merged.
pub(super) fn value(layers: &Layers<'_>, path: &[String]) -> Option<Value> {
    let at = path.iter().fold(layers.clone(), |at, segment| below(&at, segment));
    at.into_iter().map(Layer::into_value).reduce(|mut all, next| {
        patch(&mut all, next);
        all
    })
}

fn below<'v>(layers: &Layers<'v>, segment: &str) -> Layers<'v> {
    let mut next = Layers::new();
    layers.iter().filter_map(|layer| layer.inside(segment)).for_each(|inner| add(&mut next, inner));
    next
}

#[cfg(test)]
mod tests {
    use super::super::messages::merged;
    use super::*;
    use serde_json::json;

    /// What is found is what stands in the whole data, merged.
    #[test]
    fn layers_are_followed_as_if_they_were_merged() {
        let values = [
            json!({ "a": { "b": 1, "c": [1, 2] } }),
            json!({ "a": { "c": { "0": "x" } }, "d": 1 }),
            json!({ "a": 5 }),
            json!({ "a": null }),
            json!({ "a": { "c": [3] } }),
            json!({ "d": { "e": 1 } }),
            json!({}),
        ];
        let places = ["", "a", "a.b", "a.c", "a.c.0", "a.c.1", "d", "d.e", "none"];
        let mut found = 0;
        for one in &values {
            for two in &values {
                for three in &values {
                    let wrapped = |data: &Value, of: &str| json!({ "type": "data", "data": data, "_instance": of });
                    let mut messages = vec![wrapped(two, "A"), json!({ "type": "data", "data": one })];
                    messages.extend([wrapped(three, "A"), json!({ "type": "state", "a": 9 })]);
                    let context: Vec<&Value> = messages.iter().collect();
                    let whole = merged(context.iter().copied(), "data").unwrap_or_default();
                    for place in places {
                        let path: Vec<String> = place.split_terminator('.').map(str::to_owned).collect();
                        let expected = path.iter().try_fold(&whole, |value, segment| match value {
                            Value::Array(items) => items.get(segment.parse::<usize>().ok()?),
                            other => other.get(segment),
                        });
                        let own = value(&seen(&context, "data", Some("A")), &path);
                        assert_eq!(own.as_ref(), expected, "{place} of {one} {two} {three}");
                        found += usize::from(own.is_some());
                    }
                }
            }
        }
        assert!(found > 500, "only {found} were there");
    }
}
