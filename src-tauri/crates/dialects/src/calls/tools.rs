//! The tools of a context, and the schema of a solution that is made of them.
//!
//! Pure. A tool's properties that begin with `_` are reserved: `const` fixes the value, any other schema lets the model
//! choose. A Call is checked with the same schema that the model gets.

use std::cell::OnceCell;
use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::json_schema::{Issue, Schema};
use super::messages::kind;
use super::problem::{Kind, problem};
use engine::error::FlowError;
use engine::flow::Registered;

/// The reserved properties, which a tool has in `properties` or at the top level.
const RESERVED: [&str; 8] =
    ["_tool", "_scopes", "_outputPath", "_outputMethod", "_activity", "_delegate", "_instance", "_output"];

/// A tool that a context offers.
#[derive(Debug)]
pub(super) struct Tool {
    /// Its schema, in which every reserved property is a schema among the properties.
    pub(super) schema: Value,
    /// The schema of a Call, as the model gets it.
    of_call: Value,
    /// `of_call`, compiled when the first Call is checked.
    compiled: OnceCell<Result<Schema, String>>,
}

/// The tools of a context by name.
pub(super) type Tools = IndexMap<String, Rc<Tool>>;

impl Tool {
    fn new(name: &str, schema: &Value, registered: &Registered) -> Tool {
        let schema = with_reserved_inside(schema);
        let of_call = call_schema(name, &schema, registered);
        Tool { schema, of_call, compiled: OnceCell::new() }
    }

    /// Returns the issues of a Call. Values that the author has fixed count as given, reserved properties that the tool
    /// does not have are not checked, and `null` counts as absent.
    pub(super) fn issues(&self, call: &Map<String, Value>) -> Result<Vec<Issue>, FlowError> {
        let compiled = self.compiled.get_or_init(|| Schema::new(&self.of_call));
        let compiled = compiled.as_ref().map_err(|why| {
            let text = format!("no call can be checked with the schema of {}: {why}", self.name());
            problem(Kind::Arguments, text)
        })?;
        let said = self.of_call["properties"].as_object();
        let is_seen = |(key, value): &(&String, &Value)| {
            !key.starts_with('_') || (!value.is_null() && said.is_some_and(|said| said.contains_key(*key)))
        };
        let mut whole: Map<String, Value> =
            call.iter().filter(is_seen).map(|(key, value)| (key.clone(), value.clone())).collect();
        for (key, own) in said.into_iter().flatten().filter(|(key, _)| key.starts_with('_')) {
            if let Some(fixed) = own.get("const") {
                whole.insert(key.clone(), fixed.clone());
            }
        }
        Ok(compiled.issues(&Value::Object(whole)))
    }

    fn name(&self) -> &Value {
        &self.of_call["properties"]["_tool"]["const"]
    }
}

/// Moves reserved properties of the top level into `properties`. One that is not a schema becomes a `const`.
fn with_reserved_inside(tool: &Value) -> Value {
    let mut schema = tool.as_object().cloned().unwrap_or_default();
    let beside = RESERVED.iter().filter_map(|key| Some((*key, schema.shift_remove(*key)?))).collect::<Vec<_>>();
    let mut properties = match schema.shift_remove("properties") {
        Some(Value::Object(properties)) => properties,
        _ => Map::new(),
    };
    for (key, value) in beside {
        if properties.get(key).is_none_or(Value::is_null) {
            properties.insert(key.to_owned(), value);
        }
    }
    properties.retain(|key, value| !RESERVED.contains(&key.as_str()) || !value.is_null());
    for (_, value) in properties.iter_mut().filter(|(key, _)| RESERVED.contains(&key.as_str())) {
        if !value.is_object() && !value.is_boolean() {
            *value = json!({ "const": value });
        }
    }
    schema.insert("properties".to_owned(), properties.into());
    schema.into()
}

/// How a tool defines a reserved property.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reserved<'t> {
    /// The tool does not have it.
    Absent,
    /// `const`: the author has decided.
    Fixed(&'t Value),
    /// A schema: the model chooses.
    Open(&'t Value),
}

/// Returns how a tool defines a reserved property.
pub(super) fn reserved<'t>(tool: &'t Value, name: &str) -> Reserved<'t> {
    match tool.get("properties").and_then(|properties| properties.get(name)) {
        None => Reserved::Absent,
        Some(schema) => schema.get("const").map_or(Reserved::Open(schema), Reserved::Fixed),
    }
}

/// Returns the error of a registered tool's schema, if no Call could be checked with it.
pub fn fault(name: &str, schema: &Value) -> Option<String> {
    let tool = Tool::new(name, schema, &Registered::default());
    Schema::new(&tool.of_call).err().map(|why| format!("Tool \"{name}\": {why}"))
}

/// Returns the tools that a context offers. The last of two tools with the same name counts.
pub(super) fn offered(context: &[Value], registered: &Registered) -> Result<Tools, FlowError> {
    let mut tools = Tools::new();
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
                tools.insert(name.clone(), Rc::new(Tool::new(name, tool, registered)));
            }
            Some(Value::Object(several)) => {
                for (name, tool) in several {
                    tools.shift_remove(name);
                    tools.insert(name.clone(), Rc::new(Tool::new(name, tool, registered)));
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

/// Returns the Activity that runs a tool's Calls according to the tool's schema, if there is one.
pub(super) fn activity_of<'t>(name: &'t str, tool: &'t Value, registered: &Registered) -> Option<&'t str> {
    match reserved(tool, "_activity") {
        Reserved::Fixed(Value::String(own)) => Some(own.as_str()).filter(|own| !own.is_empty()),
        _ => registered.activities.contains_key(name).then_some(name),
    }
}

/// Returns the schema of a solution: `{ calls, output }`.
pub(super) fn solution_schema(tools: &Tools, output: Option<&Value>) -> Value {
    let calls: Vec<Value> = tools.values().map(|tool| tool.of_call.clone()).collect();
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
    if !matches!(reserved(tool, "_activity"), Reserved::Open(_)) {
        let activity = activity_of(name, tool, registered).unwrap_or_default();
        properties.insert("_activity".to_owned(), json!({ "const": activity }));
    }
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
