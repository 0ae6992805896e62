//! JSON pointers: finds the value at a pointer, the pointer of the n-th value, and the valid part of a wrong pointer.

use serde_json::Value;

/// The valid part of a pointer without a value, and the value there.
pub(super) struct Missing<'v> {
    pub(super) known: String,
    pub(super) there: &'v Value,
}

/// The value at a pointer.
pub(super) fn find<'v>(value: &'v Value, pointer: &str) -> Result<&'v Value, Missing<'v>> {
    let mut here = value;
    let mut known = String::new();
    for segment in segments(pointer) {
        let next = match here {
            Value::Object(fields) => fields.get(&segment),
            Value::Array(items) => index(&segment).and_then(|at| items.get(at)),
            _ => None,
        };
        let Some(next) = next else { return Err(Missing { known, there: here }) };
        push(&mut known, &segment);
        here = next;
    }
    Ok(here)
}

/// The unescaped segments of a pointer.
pub(super) fn segments(pointer: &str) -> Vec<String> {
    let all = pointer.split('/').skip(1);
    all.map(|segment| segment.replace("~1", "/").replace("~0", "~")).collect()
}

/// Adds a segment to a pointer, escaped.
pub(super) fn push(pointer: &mut String, segment: &str) {
    pointer.push('/');
    pointer.push_str(&segment.replace('~', "~0").replace('/', "~1"));
}

/// A list index: digits without a leading zero.
fn index(segment: &str) -> Option<usize> {
    let is_plain = segment == "0" || !segment.starts_with('0');
    segment.parse().ok().filter(|_| is_plain && segment.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The pointer to the value with number `node`, counted from 0 in the order of the JSON text.
pub(super) fn of_node(value: &Value, node: u32) -> Option<String> {
    let mut pointer = String::new();
    walk(value, &mut 0, node, &mut pointer).then_some(pointer)
}

fn walk(value: &Value, next: &mut u32, wanted: u32, pointer: &mut String) -> bool {
    if *next == wanted {
        return true;
    }
    *next += 1;
    let len = pointer.len();
    let mut inner = |segment: &str, item: &Value| {
        push(pointer, segment);
        let found = walk(item, next, wanted, pointer);
        if !found {
            pointer.truncate(len);
        }
        found
    };
    match value {
        Value::Array(items) => items.iter().enumerate().any(|(at, item)| inner(&at.to_string(), item)),
        Value::Object(fields) => fields.iter().any(|(key, item)| inner(key, item)),
        _ => false,
    }
}

/// Describes the kind and size of a value.
pub(super) fn described(value: &Value) -> String {
    let counted = |many: usize, one: &str| format!("{many} {one}{}", if many == 1 { "" } else { "s" });
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(text) => format!("a text of {}", counted(text.len(), "byte")),
        Value::Array(items) => format!("a list of {}", counted(items.len(), "entry").replace("entrys", "entries")),
        Value::Object(fields) if fields.is_empty() => "an object without fields".to_owned(),
        Value::Object(fields) => {
            let names: Vec<&str> = fields.keys().take(8).map(String::as_str).collect();
            let more = if fields.len() > names.len() { ", …" } else { "" };
            format!("an object with {}{more}", names.join(", "))
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_value_has_a_number_and_a_pointer() {
        let value = json!({ "a": [1, { "b/c": "x" }], "d~": null });
        let pointers: Vec<String> = (0..).map_while(|node| of_node(&value, node)).collect();
        assert_eq!(pointers, ["", "/a", "/a/0", "/a/1", "/a/1/b~1c", "/d~0"]);
        for pointer in &pointers {
            assert_eq!(find(&value, pointer).ok(), value.pointer(pointer), "{pointer}");
        }
    }

    #[test]
    fn a_wrong_pointer_returns_its_valid_part() {
        let value = json!({ "a": [1, { "b": "x" }] });
        let cases = [("/a/2", "/a", "a list of 2 entries"), ("/a/1/b/c", "/a/1/b", "a text of 1 byte")];
        for (pointer, known, there) in cases {
            let missing = find(&value, pointer).err().unwrap();
            assert_eq!((missing.known.as_str(), described(missing.there).as_str()), (known, there));
        }
        assert!(find(&value, "/a/01").is_err() && find(&value, "/A").is_err());
    }
}
