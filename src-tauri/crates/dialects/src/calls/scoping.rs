//! The part of the context that a Call sees: the messages of its scopes and its instance.
//!
//! Pure. Only this module reduces contexts: every Activity and every delegate gets its result.

use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value, json};

use super::json_schema::{Issue, told};
use super::messages::{ERROR, instance, is_visible, keyed, kind, stripped};
use super::problem::{Kind, problem};
use super::tools::{Reserved, Tool, reserved};
use engine::error::FlowError;

/// How many instances of a kind, or names in an error, are listed individually.
const MAX_INSTANCES: usize = 20;

/// Who decides the scopes of a Call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The tool's author.
    Static,
    /// The model.
    Dynamic,
    /// There are no scopes, so the Call sees nothing.
    Empty,
}

impl Mode {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Mode::Static => "static",
            Mode::Dynamic => "dynamic",
            Mode::Empty => "none",
        }
    }
}

/// The scopes of a Call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scopes {
    pub(super) mode: Mode,
    pub(super) kinds: Vec<String>,
    /// The kinds that the model could choose from, if the tool lists them.
    pub(super) allowed: Option<Vec<String>>,
}

fn names(value: &Value, whose: &str) -> Result<Vec<String>, FlowError> {
    let refused = || problem(Kind::Scope, format!("{whose}: _scopes is a list of kinds, not {value}"));
    let list = value.as_array().ok_or_else(refused)?;
    let mut kinds: Vec<String> = Vec::new();
    for name in list {
        let name = name.as_str().filter(|name| !name.is_empty()).ok_or_else(refused)?;
        if !kinds.iter().any(|known| known == name) {
            kinds.push(name.to_owned());
        }
    }
    Ok(kinds)
}

/// Returns the kinds that a schema of `_scopes` lists, if it has one of the known forms. They are only shown to people
/// and models: the schema itself decides what is allowed.
fn listed(schema: &Value) -> Option<Vec<String>> {
    let mut kinds: Vec<String> = Vec::new();
    let mut add = |one: &Value| -> Option<()> {
        let name = one.as_str()?;
        if !kinds.iter().any(|known| known == name) {
            kinds.push(name.to_owned());
        }
        Some(())
    };
    if let Some(Value::Array(lists)) = schema.get("enum") {
        lists.iter().filter_map(Value::as_array).flatten().try_for_each(add)?;
        return Some(kinds);
    }
    let mut forms = vec![schema.get("items")?];
    while let Some(form) = forms.pop() {
        let choices = ["oneOf", "anyOf"].iter().find_map(|word| form.get(*word)?.as_array());
        match (form.get("const"), form.get("enum"), choices) {
            (Some(only), ..) => add(only)?,
            (_, Some(Value::Array(all)), _) => all.iter().try_for_each(&mut add)?,
            (.., Some(choices)) => forms.extend(choices.iter().rev()),
            _ => return None,
        }
    }
    Some(kinds)
}

/// Returns the scopes of a Call: those that its tool fixes, or else those that it asks for, which must be valid for the
/// tool's `_scopes`. `null` counts as absent.
pub(super) fn scopes(name: &str, tool: &Tool, call: &Map<String, Value>) -> Result<Scopes, FlowError> {
    let whose = format!("a call of \"{name}\"");
    let asked = call.get("_scopes").filter(|asked| !asked.is_null());
    let asked = asked.map(|asked| names(asked, &whose)).transpose()?;
    let refused = |text: String| Err(problem(Kind::Scope, text));
    if let Reserved::Fixed(fixed) = reserved(&tool.schema, "_scopes") {
        let kinds = names(fixed, &format!("tool \"{name}\""))?;
        if let Some(asked) = asked {
            let is_same = asked.len() == kinds.len() && asked.iter().all(|one| kinds.contains(one));
            if !is_same {
                return refused(format!(
                    "{whose} asks for the scopes [{}], and its tool fixes them to [{}]",
                    asked.join(", "),
                    kinds.join(", ")
                ));
            }
        }
        return Ok(Scopes { mode: Mode::Static, kinds, allowed: None });
    }
    let allowed = match reserved(&tool.schema, "_scopes") {
        Reserved::Open(schema) => listed(schema),
        _ => None,
    };
    let kinds = asked.unwrap_or_default();
    if let Some(allowed) = &allowed
        && let Some(beyond) = kinds.iter().find(|kind| !allowed.contains(kind))
    {
        return refused(format!(
            "{whose} asks for the scope \"{beyond}\", which its tool does not allow; allowed: {}",
            allowed.join(", ")
        ));
    }
    let misfits: Vec<Issue> = tool.issues(call)?.into_iter().filter(|issue| issue.is_about("_scopes")).collect();
    if !misfits.is_empty() {
        let text = format!("{whose} asks for the scopes [{}], which its tool does not allow", kinds.join(", "));
        return refused(format!("{text}: {}", told(&misfits)));
    }
    let mode = if kinds.is_empty() { Mode::Empty } else { Mode::Dynamic };
    Ok(Scopes { mode, kinds, allowed })
}

/// The scoped part of a context.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Scoped {
    /// In the context's order, without instances and notes.
    pub(super) messages: Vec<Value>,
    /// The merged payloads by kind.
    pub(super) keyed: Map<String, Value>,
    /// The messages that are left out, by kind and instance: `{ kind, instance?, because }`, or `{ kind, instances,
    /// because }` with the number of instances.
    pub(super) left_out: Vec<Value>,
}

/// Returns the messages that a Call sees. A scope without a visible message is an error, and so is an instance without
/// messages. Messages about failures do not prove that an instance exists, because the failure of a Call with an
/// unknown instance has the name of that instance.
pub(super) fn scoped(context: &[&Value], scopes: &Scopes, own: Option<&str>) -> Result<Scoped, FlowError> {
    let instances = || context.iter().filter(|message| kind(message) != ERROR).filter_map(|message| instance(message));
    if let Some(own) = own
        && !instances().any(|known| known == own)
    {
        let known: IndexSet<&str> = instances().collect();
        let known = list(known.into_iter());
        let text = format!("_instance \"{own}\" matches no message of the context; its instances: {known}");
        return Err(problem(Kind::Instance, text));
    }
    for scope in &scopes.kinds {
        let mut of_kind = context.iter().filter(|message| kind(message) == scope).peekable();
        if of_kind.peek().is_none() {
            let known: IndexSet<&str> = context.iter().map(|message| kind(message)).collect();
            let known = list(known.into_iter());
            let text = format!("scope \"{scope}\" names no message of the context; its kinds: {known}");
            return Err(problem(Kind::Scope, text));
        }
        if of_kind.clone().any(|message| is_visible(message, own)) {
            continue;
        }
        let Some(own) = own else {
            let text = format!("scope \"{scope}\" is there only for instances; the call needs an _instance");
            return Err(problem(Kind::Instance, text));
        };
        let known: IndexSet<&str> = of_kind.filter_map(|message| instance(message)).collect();
        let known = list(known.into_iter());
        let text = format!("scope \"{scope}\" names no message of _instance \"{own}\"; it is there for: {known}");
        return Err(problem(Kind::Scope, text));
    }
    let is_scoped = |kind: &str| scopes.kinds.iter().any(|scope| scope == kind);
    let (seen, others): (Vec<&Value>, Vec<&Value>) =
        context.iter().partition(|message| is_scoped(kind(message)) && is_visible(message, own));
    let left_out = left_out(&others, |kind| if is_scoped(kind) { "another instance" } else { "not in scope" });
    Ok(Scoped { messages: seen.iter().map(|message| stripped(message)).collect(), keyed: keyed(&seen), left_out })
}

/// Joins names, up to a readable number.
fn list<'n>(names: impl ExactSizeIterator<Item = &'n str>) -> String {
    let count = names.len();
    let mut all: Vec<String> = names.take(MAX_INSTANCES).map(str::to_owned).collect();
    all.extend((count > MAX_INSTANCES).then(|| format!("{} more", count - MAX_INSTANCES)));
    if all.is_empty() { "none".to_owned() } else { all.join(", ") }
}

/// Lists the messages that are left out, each kind and instance once. If a kind has many instances, they are only
/// counted: otherwise a thousand Calls, each with its own instance, would list a million.
fn left_out(messages: &[&Value], because: impl Fn(&str) -> &'static str) -> Vec<Value> {
    let places: IndexSet<(&str, Option<&str>)> =
        messages.iter().map(|message| (kind(message), instance(message))).collect();
    let mut instances: IndexMap<&str, usize> = IndexMap::new();
    for (kind, _) in places.iter().filter(|(_, instance)| instance.is_some()) {
        *instances.entry(kind).or_default() += 1;
    }
    let mut all = Vec::new();
    for (kind, instance) in places {
        let mut entry = json!({ "kind": kind, "because": because(kind) });
        match (instance, instances.get(kind).copied()) {
            (Some(_), None) => continue,
            (Some(_), Some(count)) if count > MAX_INSTANCES => {
                instances.shift_remove(kind);
                entry["instances"] = count.into();
            }
            (Some(instance), _) => entry["instance"] = instance.into(),
            (None, _) => {}
        }
        all.push(entry);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::tools;
    use super::*;
    use engine::flow::Registered;

    fn context() -> Vec<Value> {
        vec![
            json!({ "type": "state", "a": 1, "_call": "x" }),
            json!({ "type": "state", "_instance": "1", "b": 2 }),
            json!({ "type": "state", "_instance": "2", "b": 3 }),
            json!({ "type": "data", "kind": "notes", "data": { "c": 4 } }),
            json!({ "type": "mine", "_instance": "1" }),
            json!({ "type": "data", "kind": "error", "data": {}, "_instance": "3" }),
        ]
    }

    fn seen(tool: Value, call: Value) -> Result<(Value, Vec<Value>), String> {
        let context = context();
        let context: Vec<&Value> = context.iter().collect();
        let call = call.as_object().cloned().unwrap_or_default();
        let tools = tools::offered(&[json!({ "type": "tool", "tool": { "t": tool } })], &Registered::default());
        let tool = tools.map_err(|error| error.name)?["t"].clone();
        let found = scopes("t", &tool, &call)
            .and_then(|scopes| scoped(&context, &scopes, call.get("_instance").and_then(Value::as_str)));
        found.map(|found| (Value::Object(found.keyed), found.messages)).map_err(|error| error.name)
    }

    #[test]
    fn a_call_sees_only_messages_of_its_scopes_and_instance() {
        let fixed = json!({ "properties": { "_scopes": { "const": ["state"] } } });
        let open = json!({ "properties": { "_scopes": { "items": { "enum": ["state", "notes"] } } } });
        let state = json!({ "state": { "a": 1 } });
        for (tool, call, keyed) in [
            (&fixed, json!({}), Ok(state.clone())),
            (&fixed, json!({ "_scopes": ["state"] }), Ok(state.clone())),
            (&fixed, json!({ "_scopes": [] }), Err("ScopeError")),
            (&fixed, json!({ "_scopes": ["notes"] }), Err("ScopeError")),
            (&fixed, json!({ "_instance": "2" }), Ok(json!({ "state": { "a": 1, "b": 3 } }))),
            (&fixed, json!({ "_instance": "3" }), Err("InstanceError")),
            (&open, json!({}), Ok(json!({}))),
            (&open, json!({ "_scopes": ["notes"] }), Ok(json!({ "notes": { "c": 4 } }))),
            (&open, json!({ "_scopes": ["tool"] }), Err("ScopeError")),
            (&open, json!({ "_scopes": "state" }), Err("ScopeError")),
            (&open, json!({ "_scopes": null }), Ok(json!({}))),
            (&json!({}), json!({}), Ok(json!({}))),
            (&json!({}), json!({ "_scopes": ["mine"], "_instance": "1" }), Ok(json!({ "mine": {} }))),
            (&json!({}), json!({ "_scopes": ["mine"], "_instance": "2" }), Err("ScopeError")),
            (&json!({}), json!({ "_scopes": ["nothing"] }), Err("ScopeError")),
        ] {
            let found = seen(tool.clone(), call.clone()).map(|(keyed, _)| keyed);
            assert_eq!(found, keyed.map_err(str::to_owned), "{tool} {call}");
        }
    }

    #[test]
    fn an_allow_list_is_enforced_in_every_form_and_at_every_place() {
        for allow in [
            json!({ "type": "array", "items": { "enum": ["state", "input"] } }),
            json!({ "items": { "oneOf": [{ "const": "state" }, { "const": "input" }] } }),
            json!({ "items": { "anyOf": [{ "enum": ["state"] }, { "const": "input" }] } }),
            json!({ "enum": [["state"], ["input"]] }),
            json!({ "items": { "pattern": "^(state|input)$" } }),
            json!({ "items": { "not": { "const": "notes" } }, "maxItems": 1 }),
            json!({ "allOf": [{ "items": { "enum": ["state"] } }] }),
            json!({ "items": { "$ref": "#/$defs/kind" } }),
            json!({ "items": { "$ref": "#/$defs/none" } }),
            json!({ "items": false }),
            json!({ "const": [] }),
            json!(false),
        ] {
            let defs = json!({ "kind": { "enum": ["state"] } });
            let inside = json!({ "properties": { "_scopes": allow }, "$defs": defs });
            let beside = json!({ "_scopes": allow, "$defs": defs });
            for tool in [inside, beside] {
                for beyond in [json!(["notes"]), json!(["state", "notes"])] {
                    let found = seen(tool.clone(), json!({ "_scopes": beyond }));
                    assert!(found.is_err(), "{tool} lets a call see {beyond}: {found:?}");
                }
            }
        }
    }

    #[test]
    fn scoped_messages_have_no_instances_and_notes() {
        let (_, messages) = seen(json!({}), json!({ "_scopes": ["state"], "_instance": "1" })).unwrap_or_default();
        assert_eq!(messages, [json!({ "type": "state", "a": 1 }), json!({ "type": "state", "b": 2 })]);
    }
}
