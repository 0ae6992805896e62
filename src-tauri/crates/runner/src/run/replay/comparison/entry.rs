//! The fields of an entry of what a block is expected to do. A file may be edited by hand: a mistyped field would
//! otherwise be a difference that nobody finds.

use serde_json::Value;

use super::{FORM, FORM_OF_TODAY};

/// The field that says what kind of entry it is, and the others that it may have. The first that an entry has counts.
const KINDS: [(&str, &[&str]); 13] = [
    ("block", &["kind", "input", "undefined"]),
    ("input", &["undefined"]),
    ("output", &["undefined"]),
    ("error", &[]),
    ("state", &["operation", "path", "delta", "resource", "of", "initial"]),
    ("item", &["begins", "payload", "delta", "update", "agentName", "agentType", "itemVisibility", "key", "transient"]),
    ("route", &[]),
    ("journal", &[]),
    ("metadata", &[]),
    ("question", &[]),
    ("waits", &[]),
    ("dispatch", &[]),
    ("next", &[]),
];

/// Checks the fields of an entry. The error says what is wrong.
pub(super) fn check(entry: &Value) -> Result<(), String> {
    let Value::Object(fields) = entry else {
        return Err(format!("an entry of \"did\" is an object with one of {}", kinds()));
    };
    let Some((kind, others)) = KINDS.iter().find(|(kind, _)| fields.contains_key(*kind)) else {
        let has: Vec<&str> = fields.keys().map(String::as_str).collect();
        return Err(format!("an entry of \"did\" has one of {}, and this one has {}", kinds(), quoted(&has)));
    };
    let is_known = |name: &str| name == *kind || name == FORM || others.contains(&name);
    if let Some(name) = fields.keys().find(|name| !is_known(name)) {
        return Err(format!("an entry of \"did\" with \"{kind}\" has no field \"{name}\""));
    }
    match fields.get(FORM) {
        Some(form) if *form != FORM_OF_TODAY => Err(format!("\"{FORM}\" is {FORM_OF_TODAY}, and not {form}")),
        _ => Ok(()),
    }
}

fn kinds() -> String {
    quoted(&KINDS.map(|(kind, _)| kind))
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::check;

    #[test]
    fn an_entry_has_the_fields_of_its_kind() {
        for entry in [
            json!({ "output": 4, "form": 2 }),
            json!({ "undefined": true, "output": null }),
            json!({ "block": "a", "kind": "handler", "input": {} }),
            json!({ "state": "session", "operation": "patch", "path": null, "delta": {}, "resource": "r" }),
            json!({ "of": "root", "state": "session", "initial": {} }),
            json!({ "item": "message", "payload": {}, "transient": true }),
            json!({ "waits": true }),
            json!({ "next": "root/step:a" }),
        ] {
            assert_eq!(check(&entry), Ok(()), "{entry}");
        }
        for (entry, what) in [
            (json!(4), "is an object"),
            (json!({ "outputt": 4 }), "this one has \"outputt\""),
            (json!({}), "has one of"),
            (json!({ "output": 4, "zz": 1 }), "no field \"zz\""),
            (json!({ "output": 4, "route": "a" }), "no field \"route\""),
            (json!({ "output": 4, "form": 3 }), "is 2, and not 3"),
        ] {
            assert!(check(&entry).is_err_and(|error| error.contains(what)), "{entry}");
        }
    }
}
