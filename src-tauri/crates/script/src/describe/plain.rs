//! Simple schemas that Rust can check itself, without running JavaScript.
//!
//! Must never accept a value that the schema would refuse. A value that does not fit here may still be valid; then the
//! JavaScript schema decides.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

/// A simple schema, as the SDK's `plain.ts` describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Plain {
    Any,
    Null,
    Number,
    String,
    Boolean,
    /// One of these values.
    One(#[serde(deserialize_with = "engine::json::exact")] Vec<Value>),
    /// A list of values of one shape.
    List(Box<Plain>),
    /// An object with any names and values of one shape.
    Record(Box<Plain>),
    Or(Vec<Plain>),
    #[serde(untagged)]
    Object {
        fields: HashMap<String, Plain>,
        /// Fields that may be missing.
        optional: Vec<String>,
    },
}

impl Plain {
    /// Returns whether a value is certain to be accepted.
    pub(crate) fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Plain::Any, _)
            | (Plain::Null, Value::Null)
            | (Plain::Number, Value::Number(_))
            | (Plain::String, Value::String(_))
            | (Plain::Boolean, Value::Bool(_)) => true,
            (Plain::One(values), value) => values.contains(value),
            (Plain::List(element), Value::Array(items)) => items.iter().all(|item| element.fits(item)),
            // Schemas treat these two names specially, so the JavaScript schema decides.
            (Plain::Record(element), Value::Object(fields)) => fields
                .iter()
                .all(|(name, field)| !matches!(name.as_str(), "__proto__" | "constructor") && element.fits(field)),
            (Plain::Or(options), value) => options.iter().any(|option| option.fits(value)),
            (Plain::Object { fields, optional }, Value::Object(given)) => fields.iter().all(|(name, plain)| {
                given.get(name).map_or_else(|| optional.contains(name), |field| plain.fits(field))
            }),
            _ => false,
        }
    }

    /// Returns whether a list is certain to stay valid with one more entry.
    pub(crate) fn fits_entry(&self, entry: &Value) -> bool {
        match self {
            Plain::Any => true,
            Plain::List(element) => element.fits(entry),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Checks which values fit a shape.
    #[track_caller]
    fn check(shape: Value, fit: &[Value], unfit: &[Value]) {
        let plain: Plain = serde_json::from_value(shape.clone()).expect("a shape");
        for value in fit {
            assert!(plain.fits(value), "{value} fits {shape}");
        }
        for value in unfit {
            assert!(!plain.fits(value), "{value} does not fit {shape}");
        }
    }

    #[test]
    fn a_simple_shape_accepts_only_its_own_kind() {
        check(json!("any"), &[json!(null), json!([1])], &[]);
        check(json!("number"), &[json!(1), json!(-0.5)], &[json!("1"), json!(null)]);
        check(json!("string"), &[json!("")], &[json!(1)]);
        check(json!({"one": ["a", 1, null]}), &[json!("a"), json!(1), json!(null)], &[json!("b"), json!(1.5)]);
        check(json!({"or": ["null", "boolean"]}), &[json!(null), json!(false)], &[json!(0)]);
    }

    #[test]
    fn only_the_new_entry_of_a_list_is_checked() {
        let plain: Plain = serde_json::from_value(json!({"list": "number"})).expect("a shape");
        assert!(plain.fits_entry(&json!(1)));
        assert!(!plain.fits_entry(&json!("1")));
        let other: Plain = serde_json::from_value(json!({"or": ["null", {"list": "number"}]})).expect("a shape");
        assert!(!other.fits_entry(&json!(1)), "the JavaScript schema decides");
    }

    #[test]
    fn shapes_with_several_values_check_each_value() {
        check(json!({"list": "number"}), &[json!([]), json!([1, 2])], &[json!([1, "2"]), json!({})]);
        check(
            json!({"record": "string"}),
            &[json!({}), json!({"a": "b"})],
            &[json!({"a": 1}), json!({"__proto__": "b"}), json!({"constructor": "b"})],
        );
        let shape = json!({"fields": {"a": "number", "b": {"list": "string"}}, "optional": ["b"]});
        let fit = [json!({"a": 1}), json!({"a": 1, "b": [], "more": 1})];
        check(shape, &fit, &[json!({}), json!({"a": 1, "b": [1]}), json!({"a": 1, "b": null}), json!([])]);
    }
}
