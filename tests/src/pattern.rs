//! What a JSON document must look like, written as JSON.
//!
//! A pattern is a value of the same shape. Objects must have exactly the keys of the pattern, unless
//! it has the key `…`; arrays must have its length. `{ "<holds>": […] }` is an array that has an element for each of
//! these patterns, in whatever order: what runs side by side ends in no fixed one. Some strings stand for what no test
//! can know: `<number>`, `<text>` and `<any>`.

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
        (Value::Array(found), Value::Object(pattern)) if pattern.contains_key("<holds>") => {
            let wanted = pattern["<holds>"].as_array().ok_or("<holds> is a list of patterns")?;
            match wanted.iter().find(|one| !found.iter().any(|element| compare(element, one, at).is_ok())) {
                Some(one) => Err(format!("{at} has no element like {one}")),
                None if wanted.is_empty() => Err(format!("{at}: a <holds> of nothing tests nothing")),
                None => Ok(()),
            }
        }
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::compare;

    #[test]
    fn an_array_holds_what_is_like_one_of_its_elements() {
        let found = json!([{ "a": 1, "b": 2 }, 3]);
        for (pattern, is_held) in [
            (json!([3, { "a": 1, "…": 0 }]), true),
            (json!([{ "a": 1 }]), false),
            (json!([{ "a": 2, "…": 0 }]), false),
            (json!([]), false),
            (json!(3), false),
        ] {
            assert_eq!(compare(&found, &json!({ "<holds>": pattern }), "$").is_ok(), is_held, "{pattern}");
        }
        assert!(compare(&json!({}), &json!({ "<holds>": [1] }), "$").is_err());
    }
}
