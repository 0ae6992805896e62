//! Whether a value can satisfy two schemas at once, as far as their JSON Schemas tell.
//!
//! Conservative: without a contradiction in the JSON Schemas there is no clash. One exception: two lists whose elements
//! contradict each other clash, although the empty list satisfies both: nothing could be added to such a list.

use serde_json::Value;

/// A contradiction between two schemas.
pub(super) struct Clash {
    /// Where inside the value: `.a.b`, `[]`, or nothing for the value itself.
    pub(super) path: String,
    /// What the first demands there.
    pub(super) one: String,
    /// What the second demands there.
    pub(super) two: String,
}

/// Returns the contradiction in one JSON Schema, if no value can satisfy it: its place, and what it demands there.
pub fn contradiction(shape: &Value) -> Option<(String, String)> {
    clash(shape, shape).map(|clash| (clash.path, clash.one))
}

/// Returns the contradiction between two JSON Schemas, if there is one.
pub(super) fn clash(one: &Value, two: &Value) -> Option<Clash> {
    let here = || Some(Clash { path: String::new(), one: describe(one), two: describe(two) });
    if let Some(parts) = one["allOf"].as_array() {
        return parts.iter().find_map(|part| clash(part, two));
    }
    if let Some(parts) = two["allOf"].as_array() {
        return parts.iter().find_map(|part| clash(one, part));
    }
    if let Some(options) = one["anyOf"].as_array() {
        return if options.iter().all(|option| clash(option, two).is_some()) { here() } else { None };
    }
    if let Some(options) = two["anyOf"].as_array() {
        return if options.iter().all(|option| clash(one, option).is_some()) { here() } else { None };
    }
    match (values(one), values(two)) {
        (Some(these), Some(those)) => {
            return if these.iter().any(|value| those.contains(value)) { None } else { here() };
        }
        (Some(these), None) => return if these.iter().any(|value| may_be(value, two)) { None } else { here() },
        (None, Some(those)) => return if those.iter().any(|value| may_be(value, one)) { None } else { here() },
        (None, None) => {}
    }
    let (a, b) = (type_of(one)?, type_of(two)?);
    if a != b {
        return here();
    }
    if Range::of(one, a).exclude(&Range::of(two, a), is_integer(one) || is_integer(two)) {
        return Some(Clash { path: String::new(), one: describe_range(one, a), two: describe_range(two, a) });
    }
    match a {
        "object" => objects(one, two),
        "array" => elements(one, two).map(|clash| Clash { path: format!("[]{}", clash.path), ..clash }),
        _ => None,
    }
}

/// Two objects clash in a property that one of them requires and whose two schemas clash.
fn objects(one: &Value, two: &Value) -> Option<Clash> {
    let properties = |shape: &Value| shape["properties"].as_object().cloned().unwrap_or_default();
    let needs =
        |shape: &Value, name: &str| shape["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    let (these, those) = (properties(one), properties(two));
    let mut names: Vec<&String> = these.keys().collect();
    names.extend(those.keys().filter(|name| !these.contains_key(*name)));
    names.into_iter().filter(|name| needs(one, name) || needs(two, name)).find_map(|name| {
        // `additionalProperties` applies to a property that is not declared.
        let a = these.get(name).or_else(|| one.get("additionalProperties"))?;
        let b = those.get(name).or_else(|| two.get("additionalProperties"))?;
        clash(a, b).map(|clash| Clash { path: format!(".{name}{}", clash.path), ..clash })
    })
}

/// Lists clash in their elements, tuples in the elements that both have.
fn elements(one: &Value, two: &Value) -> Option<Clash> {
    match (one.get("items")?, two.get("items")?) {
        (Value::Array(these), Value::Array(those)) => these.iter().zip(those).find_map(|(a, b)| clash(a, b)),
        (Value::Array(these), rest) => these.iter().find_map(|a| clash(a, rest)),
        (rest, Value::Array(those)) => those.iter().find_map(|b| clash(rest, b)),
        (a, b) => clash(a, b),
    }
}

/// Returns the values that a schema accepts, if it lists them.
fn values(shape: &Value) -> Option<Vec<&Value>> {
    match (shape.get("const"), shape["enum"].as_array()) {
        (Some(value), _) => Some(vec![value]),
        (None, Some(values)) => Some(values.iter().collect()),
        (None, None) => None,
    }
}

/// Returns the JSON type that a schema accepts; `None` if it names none.
fn type_of(shape: &Value) -> Option<&str> {
    let kind = shape.get("type")?.as_str()?;
    Some(if kind == "integer" { "number" } else { kind })
}

/// Returns whether a value has the type of a schema and is within its bounds.
fn may_be(value: &Value, shape: &Value) -> bool {
    let Some(kind) = type_of(shape) else { return true };
    let size = match value {
        Value::Number(number) => number.as_f64(),
        // JavaScript counts the units of UTF-16.
        Value::String(text) => Some(text.encode_utf16().count() as f64),
        Value::Array(entries) => Some(entries.len() as f64),
        _ => None,
    };
    let is_within =
        |size: f64| !Range::of(shape, kind).exclude(&Range { low: (size, false), high: (size, false) }, false);
    kind == json_type(value) && size.is_none_or(is_within)
}

fn is_integer(shape: &Value) -> bool {
    shape["type"] == "integer"
}

/// The keywords of the bounds of a type: the lower and the upper one, and those that exclude the bound itself.
fn keywords(kind: &str) -> Option<[&'static str; 4]> {
    Some(match kind {
        "number" => ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
        "string" => ["minLength", "maxLength", "", ""],
        "array" => ["minItems", "maxItems", "", ""],
        _ => return None,
    })
}

/// The numbers that a schema accepts, or the lengths of texts and lists. Each bound says whether it is excluded.
struct Range {
    low: (f64, bool),
    high: (f64, bool),
}

impl Range {
    fn of(shape: &Value, kind: &str) -> Range {
        let mut range = Range { low: (f64::NEG_INFINITY, false), high: (f64::INFINITY, false) };
        let Some([low, high, above, below]) = keywords(kind) else { return range };
        for (keyword, is_excluded) in [(low, false), (above, true)] {
            if let Some(bound) = shape[keyword].as_f64() {
                range.low = higher(range.low, (bound, is_excluded));
            }
        }
        for (keyword, is_excluded) in [(high, false), (below, true)] {
            if let Some(bound) = shape[keyword].as_f64() {
                range.high = lower(range.high, (bound, is_excluded));
            }
        }
        range
    }

    /// Returns whether no value is within both ranges.
    fn exclude(&self, other: &Range, are_integers: bool) -> bool {
        let (mut low, mut high) = (higher(self.low, other.low), lower(self.high, other.high));
        if are_integers {
            let is_at = |(bound, is_excluded): (f64, bool)| is_excluded && bound.fract() == 0.0;
            low = (low.0.ceil() + f64::from(u8::from(is_at(low))), false);
            high = (high.0.floor() - f64::from(u8::from(is_at(high))), false);
        }
        low.0 > high.0 || (low.0 == high.0 && (low.1 || high.1))
    }
}

fn higher(one: (f64, bool), two: (f64, bool)) -> (f64, bool) {
    if two.0 > one.0 || (two.0 == one.0 && two.1) { two } else { one }
}

fn lower(one: (f64, bool), two: (f64, bool)) -> (f64, bool) {
    if two.0 < one.0 || (two.0 == one.0 && two.1) { two } else { one }
}

/// Describes the type of a schema with its bounds: `number with minimum 10`.
fn describe_range(shape: &Value, kind: &str) -> String {
    let keywords = keywords(kind).unwrap_or_default();
    let bounds = keywords.iter().filter_map(|keyword| Some(format!("{keyword} {}", shape[*keyword].as_number()?)));
    let bounds: Vec<String> = bounds.collect();
    let kind = if is_integer(shape) { "integer" } else { kind };
    if bounds.is_empty() { kind.to_owned() } else { format!("{kind} with {}", bounds.join(" and ")) }
}

/// Describes what a schema accepts.
fn describe(shape: &Value) -> String {
    if let Some(values) = values(shape) {
        return values.iter().map(|value| value.to_string()).collect::<Vec<_>>().join(" or ");
    }
    if let Some(options) = shape["anyOf"].as_array() {
        return options.iter().map(describe).collect::<Vec<_>>().join(" or ");
    }
    type_of(shape).unwrap_or("anything").to_owned()
}

fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Where and over what the two clash; nothing where a value fits both.
    #[track_caller]
    fn check(one: Value, two: Value, expected: &str) {
        let tell = |one, two| clash(one, two).map(|c| format!("{}: {}, {}", c.path, c.one, c.two)).unwrap_or_default();
        assert_eq!(tell(&one, &two), expected, "{one} and {two}");
        assert_eq!(tell(&two, &one).is_empty(), expected.is_empty(), "the order does not matter: {one} and {two}");
    }

    #[test]
    fn types_and_values() {
        check(json!({ "type": "integer" }), json!({ "type": "number" }), "");
        check(json!({ "type": "string" }), json!({}), "");
        check(json!({ "type": "string" }), json!({ "type": "number" }), ": string, number");
        check(json!({ "type": "string", "enum": ["a", "b"] }), json!({ "type": "string", "enum": ["b"] }), "");
        check(json!({ "enum": ["a", "b"] }), json!({ "const": "c" }), ": \"a\" or \"b\", \"c\"");
        check(json!({ "type": "string", "enum": [0, 1] }), json!({ "type": "number" }), "");
        check(json!({ "const": 1 }), json!({ "type": "string" }), ": 1, string");
    }

    #[test]
    fn ranges_clash_if_they_exclude_each_other() {
        let number = |bounds: &[(&str, f64)]| {
            let mut shape = json!({ "type": "number" });
            bounds.iter().for_each(|(keyword, bound)| shape[*keyword] = json!(bound));
            shape
        };
        let (low, high) = (number(&[("minimum", 10.0)]), number(&[("maximum", 5.0)]));
        check(low.clone(), high.clone(), ": number with minimum 10.0, number with maximum 5.0");
        check(low.clone(), number(&[("maximum", 10.0)]), "");
        check(
            low,
            number(&[("exclusiveMaximum", 10.0)]),
            ": number with minimum 10.0, number with exclusiveMaximum 10.0",
        );
        check(high, number(&[("minimum", 1.0)]), "");
        let between = json!({ "type": "integer", "exclusiveMinimum": 1, "exclusiveMaximum": 2 });
        check(between, json!({ "type": "number" }), ": integer with exclusiveMinimum 1 and exclusiveMaximum 2, number");
        check(json!({ "const": 3 }), json!({ "type": "number", "minimum": 3 }), "");
        check(json!({ "const": 3 }), json!({ "type": "number", "minimum": 4 }), ": 3, number");
        check(json!({ "enum": ["a", "bcd"] }), json!({ "type": "string", "minLength": 3 }), "");
        check(json!({ "enum": ["a", "bc"] }), json!({ "type": "string", "minLength": 3 }), ": \"a\" or \"bc\", string");
        let (short, long) = (json!({ "type": "string", "maxLength": 2 }), json!({ "type": "string", "minLength": 3 }));
        check(short, long, ": string with maxLength 2, string with minLength 3");
        let (few, many) = (json!({ "type": "array", "maxItems": 2 }), json!({ "type": "array", "minItems": 3 }));
        check(few, many, ": array with maxItems 2, array with minItems 3");
    }

    #[test]
    fn a_schema_can_contradict_itself() {
        let n = json!({ "type": "number", "minimum": 10, "maximum": 5 });
        let object = |required: Value| json!({ "type": "object", "properties": { "n": n }, "required": required });
        let said = Some((".n".to_owned(), "number with minimum 10 and maximum 5".to_owned()));
        assert_eq!(contradiction(&object(json!(["n"]))), said);
        // Without the property a value fits.
        assert_eq!(contradiction(&object(json!([]))), None);
        for fitting in [
            json!({}),
            json!({ "enum": ["a", 1] }),
            json!({ "type": "integer", "minimum": 1, "maximum": 1 }),
            json!({ "anyOf": [n, { "type": "null" }] }),
            json!({ "type": "array", "items": { "type": "string", "minLength": 1 } }),
            json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        ] {
            assert_eq!(contradiction(&fitting), None, "{fitting}");
        }
    }

    #[test]
    fn choices_fit_where_one_of_them_does() {
        let or_null = |kind: &str| json!({ "anyOf": [{ "type": kind }, { "type": "null" }] });
        check(or_null("string"), or_null("number"), "");
        check(or_null("string"), json!({ "type": "number" }), ": string or null, number");
        let both = json!({ "allOf": [{ "type": "object" }, { "type": "object", "properties": {} }] });
        check(both, json!({ "type": "array" }), ": object, array");
    }

    #[test]
    fn members_clash_where_one_side_needs_them() {
        let with = |kind: &str, required: Value| {
            let fields = json!({ "y": { "type": kind } });
            json!({ "type": "object", "properties": fields, "required": required })
        };
        check(with("number", json!(["y"])), with("string", json!([])), ".y: number, string");
        check(with("number", json!([])), with("string", json!([])), "");
        let record = json!({ "type": "object", "additionalProperties": { "type": "string" } });
        check(with("number", json!(["y"])), record.clone(), ".y: number, string");
        check(with("number", json!([])), record, "");
    }

    #[test]
    fn elements_of_lists() {
        let list = |items: Value| json!({ "type": "array", "items": items });
        check(list(json!({ "type": "string" })), list(json!({ "type": "number" })), "[]: string, number");
        check(list(json!({})), list(json!({ "type": "number" })), "");
        let pair = json!([{ "type": "string" }, { "type": "number" }]);
        check(list(pair.clone()), list(json!([{ "type": "string" }])), "");
        check(list(pair), list(json!({ "type": "string" })), "[]: number, string");
    }
}
