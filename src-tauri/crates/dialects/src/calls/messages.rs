//! The messages of a context: their kinds and payloads, which of them an instance sees, and how a model is shown them.
//!
//! Pure: messages are plain JSON, and nothing here runs anything.

use serde_json::{Map, Value, json};

use super::problem::{Kind, problem};
use engine::data::Data;
use engine::effects::Message;
use engine::error::FlowError;

/// The kind of messages that tell of failures: each is one of its own, and they are never merged.
pub(super) const ERROR: &str = "error";

/// Checks that a context is a list of messages, each with a `type`.
pub(super) fn checked(whose: &str, context: Data) -> Result<Vec<Value>, FlowError> {
    let refused = |what: String| Err(problem(Kind::Context, format!("the context of {whose} {what}")));
    let Some(Value::Array(messages)) = context.as_value() else {
        let given = context.as_value().map_or_else(|| "undefined".to_owned(), describe);
        return refused(format!("is a list of messages like {{ type: \"state\", … }}, not {given}"));
    };
    for (at, message) in messages.iter().enumerate() {
        let Some(fields) = message.as_object() else {
            return refused(format!("has {} at [{at}], where a message {{ type, … }} belongs", describe(message)));
        };
        match fields.get("type") {
            Some(Value::String(kind)) if !kind.is_empty() => {}
            _ => return refused(format!("has a message without a type at [{at}]")),
        }
        let own = kind(message);
        if own.is_empty() || own == "__proto__" {
            return refused(format!("has a message of kind \"{own}\" at [{at}], which is no name of a kind"));
        }
        if !matches!(fields.get("_instance"), None | Some(Value::String(_))) {
            return refused(format!("has an _instance that is no text at [{at}]"));
        }
    }
    Ok(messages.clone())
}

/// Describes a value where another one belongs.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(items) => format!("a list of {}", items.len()),
        Value::Object(_) => "an object".to_owned(),
        other => other.to_string().chars().take(60).collect(),
    }
}

/// Returns the kind that scopes and references name.
pub(super) fn kind(message: &Value) -> &str {
    let word = |key: &str| message.get(key).and_then(Value::as_str);
    match word("type") {
        Some("data") => word("kind").unwrap_or("data"),
        Some(other) => other,
        None => "",
    }
}

/// Returns the instance that it belongs to; `None` for all.
pub(super) fn instance(message: &Value) -> Option<&str> {
    message.get("_instance").and_then(Value::as_str)
}

/// Returns what a message says: the object under `data`, `state` or `input`, or else its own fields.
pub(super) fn payload(message: &Value) -> Value {
    if let Some(wrapped) = wrapped(message) {
        return wrapped.clone();
    }
    let fields = message.as_object().into_iter().flatten().filter(|(key, value)| is_payload(message, key, value));
    fields.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into()
}

/// Returns what stands under one name, if that is all that a message says.
pub(super) fn wrapped(message: &Value) -> Option<&Value> {
    let own = message.get("type").and_then(Value::as_str)?;
    message.get(own).filter(|inner| own == "data" || (matches!(own, "state" | "input") && inner.is_object()))
}

/// Returns whether a field of a message is part of what it says, where that is its own fields.
pub(super) fn is_payload(message: &Value, key: &str, value: &Value) -> bool {
    let is_shape = key == "schema" && value.is_object();
    let is_kind = matches!(key, "kind" | "description") && message["type"] == "data";
    key != "type" && !key.starts_with('_') && !is_shape && !is_kind
}

/// Returns a message as others get it: without its instance and what the engine noted on it.
pub(super) fn stripped(message: &Value) -> Value {
    let fields = message.as_object().into_iter().flatten().filter(|(key, _)| !key.starts_with('_'));
    fields.map(|(key, value)| (key.clone(), value.clone())).collect::<Map<_, _>>().into()
}

/// Returns whether a Call of an instance sees a message: one of all, or one of its own. A Call without an instance sees
/// only those of all.
pub(super) fn is_visible(message: &Value, to: Option<&str>) -> bool {
    instance(message).is_none_or(|own| to == Some(own))
}

/// Merges the payloads of one kind: a later message patches an earlier one, and one of the instance those of all.
pub(super) fn merged<'m>(messages: impl Iterator<Item = &'m Value> + Clone, of: &str) -> Option<Value> {
    let those = messages.filter(|message| kind(message) == of);
    let global = those.clone().filter(|message| instance(message).is_none());
    let own = those.filter(|message| instance(message).is_some());
    global.chain(own).map(payload).reduce(|mut all, next| {
        patch(&mut all, next);
        all
    })
}

/// Returns the merged payloads by kind, as an Activity gets them.
pub(super) fn keyed(messages: &[&Value]) -> Map<String, Value> {
    let mut all = Map::new();
    for message in messages {
        let name = kind(message);
        if !all.contains_key(name) {
            all.extend(merged(messages.iter().copied(), name).map(|payload| (name.to_owned(), payload)));
        }
    }
    all
}

/// Patches a value with a later one: objects field by field, anything else as a whole.
pub(super) fn patch(onto: &mut Value, with: Value) {
    match (onto, with) {
        (Value::Object(fields), Value::Object(more)) => {
            for (key, value) in more {
                match fields.get_mut(&key) {
                    Some(field) => patch(field, value),
                    None => drop(fields.insert(key, value)),
                }
            }
        }
        (onto, with) => *onto = with,
    }
}

/// What every model is told of the form of its answer.
const PROTOCOL: &str = "Answer with { calls, output }. `calls` lists the tools to call, each with its `_tool` and \
    parameters; while there are calls, `output` is null. A text that begins with † (like †state.user.id) refers to \
    the data of that kind. `_scopes` of a call names the kinds of data that matter for it, `_instance` the instance it \
    is about. Without calls, `output` is the answer.";

/// Returns a context as a model is shown it. Data of one kind and one instance is one block, where its first message
/// stands; tools are not shown, because the answer's schema holds them.
pub(super) fn rendered(context: &[Value]) -> Vec<Message> {
    let message = |role: &str, text: String| Message { role: role.to_owned(), content: text.into() };
    let mut all = vec![message("system", PROTOCOL.to_owned())];
    let mut shown: Vec<(&str, Option<&str>)> = Vec::new();
    for one in context {
        let own = kind(one);
        let text = |key: &str| one.get(key).and_then(Value::as_str).map(str::to_owned);
        match one.get("type").and_then(Value::as_str) {
            Some("tool") => continue,
            Some("system") if text("message").or_else(|| text("text")).is_some() => {
                all.push(message("system", text("message").or_else(|| text("text")).unwrap_or_default()));
                continue;
            }
            Some("text") if text("text").is_some() => {
                all.push(message("user", text("text").unwrap_or_default()));
                continue;
            }
            _ => {}
        }
        let identity = (own, instance(one));
        if own == ERROR {
            all.push(message("user", block(identity, &payload(one), &[one])));
        } else if !shown.contains(&identity) {
            shown.push(identity);
            let same: Vec<&Value> = context.iter().filter(|other| (kind(other), instance(other)) == identity).collect();
            let whole = merged(same.iter().copied(), own).unwrap_or_default();
            all.push(message("user", block(identity, &whole, &same)));
        }
    }
    all
}

/// One block of data: its heading, its description, the data, and its schema.
fn block((kind, instance): (&str, Option<&str>), data: &Value, messages: &[&Value]) -> String {
    let mut text = format!("## Data: ¶{kind}");
    text.extend(instance.map(|instance| format!(" {instance}")));
    let is_wrapped = |message: &&&Value| message.get("type").and_then(Value::as_str) == Some("data");
    let described = messages.iter().filter(is_wrapped).find_map(|message| message.get("description")?.as_str());
    text.extend(described.map(|described| format!("\n{described}")));
    text.push_str(&format!("\n{data:#}"));
    let schema = messages.iter().find_map(|message| message.get("schema").filter(|schema| schema.is_object()));
    text.extend(schema.map(|schema| format!("\nSchema for ¶{kind}:\n{schema:#}")));
    text
}

/// Puts a Call's parameters into the context of its delegate, so that they come last: into the one input message that
/// there is, where the delegate declares it, else as an input message after all others. Either way they patch what was
/// there.
pub(super) fn with_parameters(mut context: Vec<Value>, own: usize, parameters: Map<String, Value>) -> Vec<Value> {
    if parameters.is_empty() {
        return context;
    }
    let inputs: Vec<usize> = (0..context.len()).filter(|at| kind(&context[*at]) == "input").collect();
    if let [only] = inputs[..]
        && only < own
        && instance(&context[only]).is_none()
        && let filled @ Value::Object(_) = payload(&context[only])
        && let Some(message) = context[only].as_object_mut()
    {
        let mut filled = filled;
        patch(&mut filled, parameters.into());
        let is_shape = |key: &str, value: &Value| key == "type" || key == "schema" && value.is_object();
        message.retain(|key, value| is_shape(key, value) || key == "kind" || key == "description");
        let wrapper = if message.get("type").and_then(Value::as_str) == Some("data") { "data" } else { "input" };
        message.insert(wrapper.to_owned(), filled);
        return context;
    }
    if parameters.keys().any(|key| matches!(key.as_str(), "type" | "schema" | "input")) {
        context.push(json!({ "type": "input", "input": parameters }));
    } else {
        let mut message = Map::from_iter([("type".to_owned(), "input".into())]);
        message.extend(parameters);
        context.push(message.into());
    }
    context
}
