//! The tools of a context, and the schema of a solution that is made of them.
//!
//! Pure. A tool's properties that begin with `_` are reserved: `const` binds, anything else lets the model choose.

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::messages::kind;
use super::problem::{Kind, problem};
use crate::model::error::FlowError;
use crate::model::flow::Registered;

/// What a tool says of one of its reserved properties.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reserved<'t> {
    /// Nothing.
    Absent,
    /// `const`, or the value itself: the author has decided.
    Fixed(&'t Value),
    /// A schema: the model chooses.
    Open(&'t Value),
}

/// Returns what a tool says of a reserved property.
pub(super) fn reserved<'t>(tool: &'t Value, name: &str) -> Reserved<'t> {
    let own = tool.get("properties").and_then(|properties| properties.get(name)).or_else(|| tool.get(name));
    match own {
        None | Some(Value::Null) => Reserved::Absent,
        Some(Value::Object(schema)) => match schema.get("const") {
            Some(value) => Reserved::Fixed(value),
            None => Reserved::Open(&tool["properties"][name]),
        },
        Some(value) => Reserved::Fixed(value),
    }
}

/// Returns the tools that a context offers. Of two with one name the last counts.
pub(super) fn offered(context: &[Value], registered: &Registered) -> Result<IndexMap<String, Value>, FlowError> {
    let mut tools = IndexMap::new();
    for message in context.iter().filter(|message| kind(message) == "tool") {
        match message.get("tool") {
            Some(Value::String(name)) => {
                let tool = registered.tools.get(name).ok_or_else(|| {
                    let known: Vec<&str> = registered.tools.keys().map(String::as_str).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    let text =
                        format!("the context offers tool \"{name}\", which is not registered; registered: {known}");
                    problem(Kind::UnknownTool, text)
                })?;
                tools.shift_remove(name);
                tools.insert(name.clone(), tool.clone());
            }
            Some(Value::Object(several)) => {
                for (name, tool) in several {
                    tools.shift_remove(name);
                    tools.insert(name.clone(), tool.clone());
                }
            }
            _ => {
                let text =
                    "a message { type: \"tool\", tool } needs the name of a registered tool, or { name: schema }";
                return Err(problem(Kind::Context, text));
            }
        }
    }
    Ok(tools)
}

/// Returns the Activity that runs a tool's Calls, by its schema alone; `None` if there is none.
pub(super) fn activity_of<'t>(name: &'t str, tool: &'t Value, registered: &Registered) -> Option<&'t str> {
    match reserved(tool, "_activity") {
        Reserved::Fixed(Value::String(own)) => Some(own.as_str()).filter(|own| !own.is_empty()),
        _ => registered.activities.contains_key(name).then_some(name),
    }
}

/// Returns the schema of a solution: `{ calls, output }`.
pub(super) fn solution_schema(
    tools: &IndexMap<String, Value>,
    output: Option<&Value>,
    registered: &Registered,
) -> Value {
    let calls: Vec<Value> = tools.iter().map(|(name, tool)| call_schema(name, tool, registered)).collect();
    let items = match calls.len() {
        0 => json!({ "not": {} }),
        _ => json!({ "oneOf": calls }),
    };
    json!({
        "type": "object",
        "properties": {
            "calls": { "type": "array", "items": items },
            "output": nullable(output),
        },
        "required": ["calls", "output"],
        "additionalProperties": false,
    })
}

fn call_schema(name: &str, tool: &Value, registered: &Registered) -> Value {
    let mut schema = tool.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| "object".into());
    let mut properties = Map::from_iter([("_tool".to_owned(), json!({ "const": name }))]);
    let own = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    properties.extend(own.into_iter().filter(|(key, _)| key != "_tool"));
    let activity = activity_of(name, tool, registered).unwrap_or_default();
    properties.insert("_activity".to_owned(), json!({ "const": activity }));
    schema.insert("properties".to_owned(), properties.into());
    let mut required = vec![Value::from("_tool")];
    let own = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    required.extend(own.into_iter().filter(|key| key != "_tool"));
    schema.insert("required".to_owned(), required.into());
    schema.into()
}

fn nullable(output: Option<&Value>) -> Value {
    let Some(schema) = output else { return json!({}) };
    match schema.get("type") {
        Some(Value::String(own)) if own != "null" && schema.get("enum").is_none() && schema.get("const").is_none() => {
            let mut schema = schema.clone();
            schema["type"] = json!([own, "null"]);
            if own == "object" && schema.get("additionalProperties").is_none() {
                schema["additionalProperties"] = false.into();
            }
            schema
        }
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}
