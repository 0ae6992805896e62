//! Checks whether bytes are a message of the protocol, and explains why not.

use rmcp::service::{RoleServer, RxJsonRpcMessage};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::shown::cut;

/// Error codes of JSON-RPC: unreadable input, an invalid message, and invalid parameters.
const UNREADABLE: i32 = -32_700;
const NO_MESSAGE: i32 = -32_600;
const WRONG_PARAMETERS: i32 = -32_602;
/// The maximum nesting of values, which is the limit of serde_json.
const MOST_DEPTH: usize = 127;
/// How much of a wrong value an error shows.
const SHOWN: usize = 80;

/// The error for input that is not passed on.
pub(crate) struct Wrong {
    id: Option<Value>,
    code: i32,
    text: String,
}

impl Wrong {
    /// Bytes that are not JSON.
    pub(crate) fn unreadable(text: String) -> Wrong {
        Wrong { id: None, code: UNREADABLE, text }
    }

    /// JSON that is not a message.
    pub(crate) fn request(id: Option<Value>, text: String) -> Wrong {
        Wrong { id, code: NO_MESSAGE, text }
    }

    pub(crate) fn answer(&self) -> Value {
        let mut answer = json!({ "jsonrpc": "2.0", "error": { "code": self.code, "message": self.text } });
        // The protocol omits an unknown id.
        if let Some(id) = &self.id {
            answer["id"] = id.clone();
        }
        answer
    }
}

/// The id of a message. The other fields are skipped without a limit of depth, and texts in them are not decoded.
#[derive(Deserialize)]
struct OnlyId {
    #[serde(default, deserialize_with = "engine::json::exact")]
    id: Option<Value>,
}

/// The error of a message that cannot be read. If its syntax is right, it exceeds a limit, and the error has its id.
pub(crate) fn unreadable(bytes: &[u8], error: &serde_json::Error) -> Wrong {
    let whole = serde_json::from_slice::<OnlyId>(bytes);
    match whole.ok().and_then(|message| message.id).filter(is_id) {
        Some(id) => {
            let text = format!(
                "the parameters cannot be read: {error}; values nest at most {MOST_DEPTH} deep, and \\u escapes of \
                 surrogates come in pairs"
            );
            Wrong { id: Some(id), code: WRONG_PARAMETERS, text }
        }
        None => Wrong::unreadable(format!("this is no JSON: {error}")),
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

/// The required type of a parameter.
enum Is {
    Text,
    Object,
    ObjectIfThere,
}

/// The required parameters of calls.
const NEEDED: [(&str, &[(&str, Is)]); 4] = [
    ("tools/call", &[("/name", Is::Text), ("/arguments", Is::ObjectIfThere)]),
    ("resources/read", &[("/uri", Is::Text)]),
    (
        "initialize",
        &[
            ("/protocolVersion", Is::Text),
            ("/capabilities", Is::Object),
            ("/clientInfo", Is::Object),
            ("/clientInfo/name", Is::Text),
            ("/clientInfo/version", Is::Text),
        ],
    ),
    ("logging/setLevel", &[("/level", Is::Text)]),
];

/// Reads a message.
pub(crate) fn message(value: Value) -> Result<RxJsonRpcMessage<RoleServer>, Wrong> {
    if let Some(wrong) = wrong_call(&value) {
        return Err(wrong);
    }
    let id = value.get("id").filter(|id| is_id(id)).cloned();
    serde_json::from_value(value).map_err(|error| {
        let text = cut(&error.to_string(), SHOWN);
        Wrong::request(id, format!("this is no message of JSON-RPC 2.0: {text}"))
    })
}

/// The error of a call's parameters; `None` if they have the right types, or if it is not a call.
pub(crate) fn wrong_call(value: &Value) -> Option<Wrong> {
    let id = value.get("id").filter(|id| is_id(id))?;
    let text = wrong_parameter(value["method"].as_str()?, value.get("params"))?;
    Some(Wrong { id: Some(id.clone()), code: WRONG_PARAMETERS, text })
}

fn wrong_parameter(method: &str, params: Option<&Value>) -> Option<String> {
    let (_, needed) = NEEDED.iter().find(|(name, _)| *name == method)?;
    let wrong = |name: &str, what: &str, found: Option<&Value>| {
        let name = name[1..].replace('/', ".");
        Some(match found {
            None => format!("argument `{name}` of {method} is missing: {what}"),
            Some(found) => {
                format!("argument `{name}` of {method} is {what}, and this is {}", cut(&found.to_string(), SHOWN))
            }
        })
    };
    if let Some(other) = params.filter(|params| !params.is_object() && !params.is_null()) {
        return wrong("/params", "an object", Some(other));
    }
    needed.iter().find_map(|(place, is)| {
        let found = params.and_then(|params| params.pointer(place));
        match is {
            Is::Text if found.is_none_or(|found| !found.is_string()) => wrong(place, "a text", found),
            Is::Object if found.is_none_or(|found| !found.is_object()) => wrong(place, "an object", found),
            Is::ObjectIfThere if found.is_some_and(|found| !found.is_object() && !found.is_null()) => {
                wrong(place, "an object", found)
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_messages_over_a_limit_have_their_id() {
        let call =
            |arguments: &str| format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":{arguments},"id":7}}"#);
        let nested = |depth: usize| call(&format!("{}1{}", "[".repeat(depth), "]".repeat(depth)));
        let read =
            |line: &str| serde_json::from_str::<Value>(line).err().map(|error| unreadable(line.as_bytes(), &error));
        assert!(read(&nested(MOST_DEPTH - 1)).is_none());
        for (line, words) in [
            (nested(MOST_DEPTH), "recursion limit"),
            (nested(100_000), "values nest at most 127 deep"),
            (call(r#"{"a":"\ud800"}"#), "surrogates come in pairs"),
        ] {
            let answer = read(&line).map(|wrong| wrong.answer()).unwrap_or_default();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(WRONG_PARAMETERS)), "{answer}");
            assert!(answer["error"]["message"].as_str().unwrap_or_default().contains(words), "{answer}");
        }
        for line in ["{", r#"{"id":7,"a":}"#, r#"{"id":7,"a":[1"#, r#"[{"id":7}"#] {
            let answer = read(line).map(|wrong| wrong.answer()).unwrap_or_default();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(UNREADABLE)), "{answer}");
        }
    }

    #[test]
    fn errors_name_the_wrong_parameter() {
        let call =
            |method: &str, params: Value| json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let cases = [
            (json!(null), NO_MESSAGE, "no message of JSON-RPC"),
            (json!({ "id": 7, "method": "ping" }), NO_MESSAGE, "no message of JSON-RPC"),
            (json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call" }), WRONG_PARAMETERS, "argument `name`"),
            (call("tools/call", json!([1])), WRONG_PARAMETERS, "argument `params` of tools/call is an object"),
            (call("tools/call", json!({ "name": "find", "arguments": "x" })), WRONG_PARAMETERS, "argument `arguments`"),
            (
                call("resources/read", json!({ "uri": 5 })),
                WRONG_PARAMETERS,
                "argument `uri` of resources/read is a text",
            ),
            (call("initialize", json!({})), WRONG_PARAMETERS, "argument `protocolVersion` of initialize is missing"),
        ];
        for (given, code, words) in cases {
            let wrong = message(given.clone()).err().map(|wrong| wrong.answer()).unwrap_or_default();
            assert_eq!(wrong["error"]["code"], code, "{given}: {wrong}");
            assert!(wrong["error"]["message"].as_str().unwrap_or_default().contains(words), "{given}: {wrong}");
        }
        assert!(message(call("tools/call", json!({ "name": "find", "arguments": null }))).is_ok());
        assert!(message(json!({ "jsonrpc": "2.0", "method": "notifications/anything" })).is_ok());
    }
}
