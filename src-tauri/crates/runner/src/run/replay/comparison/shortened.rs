//! Compares without holding long values: both sides hold each value of a run, of which most are the same.
//!
//! Hashes stand in place of long values at first. Only if something differs are the traces made once more, with their
//! values, because a difference shows them.

use engine::event::Event;
use engine::redaction::Redaction;
use serde_json::{Value, json};

use super::{Comparison, Expectation, Found, Trace};

/// How many bytes a text has that stays as it is, and how many entries a list has.
const LONGEST: usize = 1 << 10;
const MOST_ENTRIES: usize = 64;

impl Comparison {
    /// Compares a replay with what was recorded, and with what is expected instead of that.
    pub(crate) fn of(
        recorded: &[Event],
        expectation: &Expectation,
        found: &Found<'_>,
        redaction: &Redaction,
    ) -> Comparison {
        // What is expected has its values, and no hashes.
        if expectation.is_empty() {
            let shorten = |trace: &mut Trace| {
                hide(trace, redaction);
                trace.values_mut().flatten().for_each(|did| shorten(&mut did.what));
            };
            let comparison = Comparison::in_form(recorded, expectation, found, redaction, shorten);
            let is_same = comparison.accepted.as_ref().is_some_and(Expectation::is_empty);
            if comparison.first.is_none() && is_same {
                return comparison;
            }
        }
        Comparison::in_form(recorded, expectation, found, redaction, |_| ())
    }
}

/// Hides secrets: what was recorded has none, and what is accepted must have none.
pub(super) fn hide(trace: &mut Trace, redaction: &Redaction) {
    trace.values_mut().flatten().for_each(|did| redaction.known(&mut did.what));
}

/// The only field of the object that replaces a long value. A recorded object with this field is replaced, too, so that
/// no recorded value equals a replacement.
const HASHED: &str = "$hashed";

/// Replaces long texts and lists by their kind and hash: equal values have equal hashes, except for numbers that are
/// written differently.
fn shorten(value: &mut Value) {
    let (kind, hash) = match value {
        Value::String(text) if text.len() > LONGEST => ("text", Some(blake3::hash(text.as_bytes()))),
        Value::Array(items) if items.len() > MOST_ENTRIES => ("list", hash_of(items)),
        Value::Object(fields) if fields.contains_key(HASHED) => ("object", hash_of(fields)),
        Value::Array(items) => return items.iter_mut().for_each(shorten),
        Value::Object(fields) => return fields.values_mut().for_each(shorten),
        _ => return,
    };
    // A value that cannot be hashed is compared as it is.
    if let Some(hash) = hash {
        *value = json!({ HASHED: [kind, hash.to_hex().as_str()] });
    }
}

fn hash_of(value: &impl serde::Serialize) -> Option<blake3::Hash> {
    let mut hasher = blake3::Hasher::new();
    serde_json::to_writer(&mut hasher, value).ok()?;
    Some(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortened(mut value: Value) -> Value {
        shorten(&mut value);
        value
    }

    /// Twice as long a value takes no more memory.
    #[test]
    fn of_a_long_value_nothing_is_held() {
        for long in [100_000, 200_000] {
            let value = json!({ "output": { "text": "x".repeat(long), "list": vec![1; long], "short": "y" } });
            let held = shortened(value).to_string();
            assert!(held.len() < 300 && held.contains("\"short\":\"y\""), "{held}");
        }
    }

    #[test]
    fn values_are_equal_if_what_stands_in_their_place_is() {
        let of = |last: char, number: i32| {
            let text: String = std::iter::repeat_n('x', LONGEST).chain([last]).collect();
            json!({ "error": { "code": "aborted", "message": text }, "list": (0..number).collect::<Vec<_>>() })
        };
        assert_eq!(shortened(of('a', 90)), shortened(of('a', 90)));
        assert_ne!(shortened(of('a', 90)), shortened(of('b', 90)));
        assert_ne!(shortened(of('a', 90)), shortened(of('a', 91)));
        assert_eq!(shortened(of('a', 90))["error"]["code"], "aborted", "words of ours stay");
    }

    #[test]
    fn values_of_different_kinds_differ() {
        let list = json!(vec![1000; 1000]);
        assert_ne!(shortened(list.clone()), shortened(Value::String(list.to_string())));
    }

    #[test]
    fn no_recorded_value_equals_the_replacement_of_a_long_one() {
        let held = shortened(Value::String("x".repeat(2 * LONGEST)));
        assert_ne!(shortened(held.clone()), held);
        assert_ne!(shortened(Value::String(held.to_string())), held);
    }
}
