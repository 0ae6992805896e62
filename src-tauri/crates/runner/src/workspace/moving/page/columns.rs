//! Rows as columns: what they have in common is written once, so that a hundred thousand rows stay small.
//!
//! `ui/src/host/page/columns.ts` reads it. Must not know what the rows are.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// The columns of rows. A column of whole numbers is written as differences (`d`), another one as a list of its
/// different values (`v`) with the place of each row's value there (`i`, -1 for none).
pub(super) fn columns(rows: &[Map<String, Value>]) -> Value {
    let mut names: Vec<&String> = Vec::new();
    let mut known: HashMap<&String, Vec<Option<&Value>>> = HashMap::new();
    for (at, row) in rows.iter().enumerate() {
        for (name, value) in row {
            let column = known.entry(name).or_insert_with(|| {
                names.push(name);
                vec![None; rows.len()]
            });
            column[at] = Some(value).filter(|value| !value.is_null());
        }
    }
    let column = |name: &String| known.get(name).map(|values| column(values)).unwrap_or_default();
    let all: Map<String, Value> = names.iter().map(|name| ((*name).clone(), column(name))).collect();
    json!({ "rows": rows.len(), "columns": all })
}

fn column(values: &[Option<&Value>]) -> Value {
    let numbers: Option<Vec<i64>> = values.iter().map(|value| value.and_then(Value::as_i64)).collect();
    if let Some(numbers) = numbers {
        let mut before = 0;
        let differences = numbers.iter().map(|number| number.wrapping_sub(std::mem::replace(&mut before, *number)));
        return json!({ "d": differences.collect::<Vec<_>>() });
    }
    let mut different: Vec<&Value> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut at = Vec::with_capacity(values.len());
    for value in values {
        let Some(value) = value else {
            at.push(-1);
            continue;
        };
        let next = different.len();
        let found = *places.entry(value.to_string()).or_insert(next);
        if found == next {
            different.push(value);
        }
        at.push(found as i64);
    }
    json!({ "v": different, "i": at })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_differences_and_other_values_are_written_once() {
        let row = |value: Value| value.as_object().cloned().unwrap_or_default();
        let rows = [json!({ "at": 1_000, "kind": "a" }), json!({ "at": 1_003, "kind": "a", "end": 7 })].map(row);
        let expected = json!({ "rows": 2, "columns": {
            "at": { "d": [1_000, 3] },
            "kind": { "v": ["a"], "i": [0, 0] },
            "end": { "v": [7], "i": [-1, 0] },
        } });
        assert_eq!(columns(&rows), expected);
    }
}
