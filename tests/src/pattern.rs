//! What a JSON document must look like, written as JSON.
//!
//! A pattern is a value of the same shape. Objects must have exactly the keys of the pattern, unless
//! it has the key `…`; arrays must have its length. Some strings stand for what no test can know:
//! `<number>`, `<text>` and `<any>`.

use serde_json::Value;

/// Panics, naming the place, unless the document has the pattern's shape.
#[track_caller]
pub fn assert_matches(what: &str, found: &Value, pattern: &Value) {
    if let Err(wrong) = compare(found, pattern, "$") {
        panic!("{what}: {wrong}\nfound {found:#}");
    }
}

fn compare(found: &Value, pattern: &Value, at: &str) -> Result<(), String> {
    match (found, pattern) {
        (_, Value::String(any)) if any == "<any>" => Ok(()),
        (Value::Number(_), Value::String(number)) if number == "<number>" => Ok(()),
        (Value::String(text), Value::String(any)) if any == "<text>" && !text.is_empty() => Ok(()),
        (Value::Object(found), Value::Object(pattern)) => {
            for (key, value) in pattern.iter().filter(|(key, _)| *key != "…") {
                let own = found.get(key).ok_or_else(|| format!("{at} has no field {key:?}"))?;
                compare(own, value, &format!("{at}.{key}"))?;
            }
            match found.keys().find(|key| !pattern.contains_key(*key) && !pattern.contains_key("…")) {
                Some(key) => Err(format!("{at} has the field {key:?}, which nobody expects")),
                None => Ok(()),
            }
        }
        (Value::Array(found), Value::Array(pattern)) => {
            if found.len() != pattern.len() {
                return Err(format!("{at} has {} elements instead of {}", found.len(), pattern.len()));
            }
            found
                .iter()
                .zip(pattern)
                .enumerate()
                .try_for_each(|(n, (found, pattern))| compare(found, pattern, &format!("{at}[{n}]")))
        }
        _ if found == pattern => Ok(()),
        _ => Err(format!("{at} is {found} instead of {pattern}")),
    }
}
