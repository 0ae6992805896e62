//! The plan of a Call: who makes its result, what it can see, and where the result is written.
//!
//! Pure. A plan is the input of the Call's block, so that the log has the data that a Call could see before it ran.

use std::rc::Rc;

use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::json_schema::{Issue, told};
use super::problem::{Kind, problem};
use super::references::{self, Expression, Found, Reference};
use super::results::Method;
use super::scoping::{Scoped, Scopes, scoped, scopes};
use super::tools::{Reserved, Tool, Tools, activity_of, reserved};
use engine::error::FlowError;
use engine::flow::Registered;

/// The delegate that needs no registration: a request with no context of its own.
pub(super) const ANONYMOUS: &str = "anonymous";

/// Who makes the result of a Call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Role {
    /// The model, in the same solution.
    Latent,
    /// An Activity.
    Explicit { activity: String },
    /// A request of its own.
    Delegated { delegate: String },
    /// An Activity in the role of a delegate: it gets the scoped context, but not the delegate's own context.
    DelegatedExplicit { delegate: String, activity: String },
}

impl Role {
    fn as_str(&self) -> &'static str {
        match self {
            Role::Latent => "latent",
            Role::Explicit { .. } => "explicit",
            Role::Delegated { .. } => "delegated",
            Role::DelegatedExplicit { .. } => "delegated explicit",
        }
    }
}

/// A Call that is valid for its tool, before its references are resolved.
#[derive(Clone, Debug)]
pub(super) struct Checked {
    pub(super) call: Map<String, Value>,
    pub(super) tool: String,
    pub(super) role: Role,
    pub(super) instance: Option<String>,
    pub(super) scopes: Scopes,
    pub(super) references: Vec<Found>,
    pub(super) output: Option<Expression>,
    pub(super) method: Method,
    offered: Rc<Tool>,
}

/// Checks a Call of a solution against its tool.
pub(super) fn check(call: &Value, tools: &Tools, registered: &Registered) -> Result<Checked, FlowError> {
    let wrong = |what: String| problem(Kind::Arguments, what);
    let Some(fields) = call.as_object() else {
        return Err(wrong(format!("a call is an object with _tool, not {}", super::messages::describe(call))));
    };
    let Some(name) = fields.get("_tool").and_then(Value::as_str) else {
        return Err(wrong("a call names its tool in _tool".to_owned()));
    };
    let Some(offered) = tools.get(name) else {
        let known: Vec<&str> = tools.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let why = if registered.tools.contains_key(name) {
            format!("tool \"{name}\" is registered and not offered here")
        } else {
            format!("there is no tool \"{name}\"")
        };
        return Err(problem(Kind::UnknownTool, format!("{why}; the context offers: {known}")));
    };
    let tool = &offered.schema;
    let references = references::all_in(fields)?;
    let scopes = scopes(name, offered, fields)?;
    let role = role(name, tool, fields, registered)?;
    check_arguments(name, offered, fields, &role, &references)?;
    let instance = match chosen(tool, fields, "_instance", name)? {
        None => None,
        Some(Value::String(instance)) => Some(instance),
        Some(other) => return Err(problem(Kind::Instance, format!("_instance of \"{name}\" is a text, not {other}"))),
    };
    let output = match chosen(tool, fields, "_outputPath", name)? {
        None => None,
        Some(Value::String(path)) if references::is_reference(&path) => Some(references::parse(&path)?),
        Some(other) => {
            let text = format!("_outputPath of \"{name}\" is a reference like †state.path, not {other}");
            return Err(problem(Kind::OutputPath, text));
        }
    };
    if let Some(output) = &output {
        check_places(name, offered, fields, output)?;
    }
    let method = method(name, tool, fields, output.as_ref())?;
    let mut call = fields.clone();
    if role == Role::Latent {
        match chosen(tool, fields, "_output", name)? {
            Some(result) => drop(call.insert("_output".to_owned(), result)),
            // Only an explicit `null` is a result.
            None if output.is_some() && !fields.contains_key("_output") => {
                let text = format!("\"{name}\" is latent: its call holds its result in _output, which is missing");
                return Err(wrong(text));
            }
            None => {}
        }
    }
    Ok(Checked {
        call,
        tool: name.to_owned(),
        role,
        instance,
        scopes,
        references,
        output,
        method,
        offered: offered.clone(),
    })
}

/// Returns the instance of a Call that may be invalid: the one that its tool fixes, or else the one that it names.
pub(super) fn instance_of(call: &Value, tools: &Tools) -> Option<String> {
    let tool = call.get("_tool").and_then(Value::as_str).and_then(|name| tools.get(name));
    let own = match tool.map(|tool| reserved(&tool.schema, "_instance")) {
        Some(Reserved::Fixed(fixed)) => Some(fixed),
        _ => call.get("_instance"),
    };
    own.and_then(Value::as_str).map(str::to_owned)
}

/// Returns the value of a reserved property: that of the tool if it is fixed, or else that of the Call.
fn chosen(tool: &Value, call: &Map<String, Value>, key: &str, name: &str) -> Result<Option<Value>, FlowError> {
    let own = call.get(key).filter(|own| !own.is_null());
    match reserved(tool, key) {
        Reserved::Fixed(fixed) => match own {
            Some(own) if own != fixed => Err(problem(
                Kind::Arguments,
                format!("a call of \"{name}\" has {key} {own}, and its tool fixes it to {fixed}"),
            )),
            _ => Ok(Some(fixed.clone())),
        },
        Reserved::Open(_) | Reserved::Absent => Ok(own.cloned()),
    }
}

/// Returns how the result is combined with an existing value. A path of the state is written only once, so it cannot
/// grow.
fn method(
    name: &str,
    tool: &Value,
    call: &Map<String, Value>,
    output: Option<&Expression>,
) -> Result<Method, FlowError> {
    let refused = |text: String| Err(problem(Kind::OutputPath, text));
    let Some(chosen) = chosen(tool, call, "_outputMethod", name)? else { return Ok(Method::default()) };
    let Some(method) = chosen.as_str().and_then(Method::named) else {
        return refused(format!("_outputMethod of \"{name}\" is one of set, merge, push, concat, not {chosen}"));
    };
    let places = output.map_or(&[][..], Expression::references);
    match places.iter().find(|place| place.kind == "state" && method != Method::Set) {
        Some(place) => {
            refused(format!("{place} cannot grow by _outputMethod {chosen}: a path of the state is written once"))
        }
        None => Ok(method),
    }
}

fn role(name: &str, tool: &Value, call: &Map<String, Value>, registered: &Registered) -> Result<Role, FlowError> {
    let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
    let own = match reserved(tool, "_activity") {
        Reserved::Absent => None,
        _ => text(chosen(tool, call, "_activity", name)?),
    };
    let activity = own.or_else(|| activity_of(name, tool, registered).map(str::to_owned)).filter(|one| !one.is_empty());
    if let Some(activity) = &activity
        && !registered.activities.contains_key(activity)
    {
        let text = format!("tool \"{name}\" names the Activity \"{activity}\", which is not registered");
        return Err(problem(Kind::UnknownActivity, text));
    }
    let delegate = text(chosen(tool, call, "_delegate", name)?).filter(|one| !one.is_empty());
    if let Some(delegate) = &delegate
        && delegate != ANONYMOUS
        && !registered.delegates.contains_key(delegate)
    {
        let known: Vec<&str> = registered.delegates.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let text = format!("tool \"{name}\" is handed to \"{delegate}\", which is not registered; delegates: {known}");
        return Err(problem(Kind::UnknownDelegate, text));
    }
    Ok(match (delegate, activity) {
        (None, None) => Role::Latent,
        (None, Some(activity)) => Role::Explicit { activity },
        (Some(delegate), None) => Role::Delegated { delegate },
        (Some(delegate), Some(activity)) => Role::DelegatedExplicit { delegate, activity },
    })
}

/// Checks a Call with the schema of its tool. Values that depend on references are checked when these are resolved. An
/// `_output` may be missing unless the Call is latent, because running the Call makes it.
fn check_arguments(
    name: &str,
    tool: &Tool,
    call: &Map<String, Value>,
    role: &Role,
    references: &[Found],
) -> Result<(), FlowError> {
    let is_meant = |issue: &Issue| {
        let waits = !issue.is_of_shape && references.iter().any(|found| found.at.starts_with(&issue.place));
        let is_made = role != &Role::Latent && issue.place == ["_output"] && !call.contains_key("_output");
        !waits && !is_made
    };
    let found: Vec<Issue> = tool.issues(call)?.into_iter().filter(is_meant).collect();
    if found.is_empty() {
        return Ok(());
    }
    Err(problem(Kind::Arguments, format!("a call of \"{name}\" does not fit its tool: {}", told(&found))))
}

/// Checks each place of an output path that has several with the tool's schema of output paths, because the whole text
/// may be valid although a place in it is not. A text that the tool lists was written by the author.
fn check_places(name: &str, tool: &Tool, call: &Map<String, Value>, output: &Expression) -> Result<(), FlowError> {
    let Reserved::Open(schema) = reserved(&tool.schema, "_outputPath") else { return Ok(()) };
    let listed = schema.get("enum").and_then(Value::as_array);
    if output.references().len() == 1 || listed.is_some_and(|all| all.contains(&call["_outputPath"])) {
        return Ok(());
    }
    for place in output.references() {
        let mut alone = call.clone();
        alone.insert("_outputPath".to_owned(), place.to_string().into());
        let found: Vec<Issue> =
            tool.issues(&alone)?.into_iter().filter(|issue| issue.is_about("_outputPath")).collect();
        if !found.is_empty() {
            let text = format!("a call of \"{name}\" does not fit its tool: {}", told(&found));
            return Err(problem(Kind::Arguments, text));
        }
    }
    Ok(())
}

/// A Call that can run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) checked: Checked,
    /// The Call with its references resolved.
    pub(super) call: Map<String, Value>,
    pub(super) scoped: Scoped,
}

/// Resolves the references of a Call and scopes its context.
pub(super) fn ready(checked: Checked, context: &[&Value]) -> Result<Plan, FlowError> {
    let own = checked.instance.as_deref();
    let scoped = scoped(context, &checked.scopes, own)?;
    let mut values: IndexMap<String, Value> = IndexMap::new();
    for found in &checked.references {
        let value = references::value_of(&found.expression, context, own).map_err(|missing| {
            let text =
                format!("{missing} in \"{}\" of a call of \"{}\" is not there", found.at.join("."), checked.tool);
            problem(Kind::Reference, text)
        })?;
        values.insert(found.text.clone(), value);
    }
    let resolve = |key: &String, value: &Value| {
        if key.starts_with('_') {
            return value.clone();
        }
        references::resolved(value, &|text| values.get(text).cloned())
    };
    let call: Map<String, Value> = checked.call.iter().map(|(key, value)| (key.clone(), resolve(key, value))).collect();
    if !checked.references.is_empty() {
        check_arguments(&checked.tool, &checked.offered, &call, &checked.role, &[])?;
    }
    Ok(Plan { checked, call, scoped })
}

impl Checked {
    /// Returns the places that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = &Reference> {
        self.references.iter().flat_map(|found| found.expression.references())
    }

    /// Returns whether the next request does not wait for it, because it takes time and leaves nothing to read.
    pub(super) fn is_not_waited_for(&self) -> bool {
        self.output.is_none() && self.role != Role::Latent
    }

    /// Returns whether its result extends lists, so that it is never an alternative to another result.
    pub(super) fn grows(&self) -> bool {
        self.method.grows() && matches!(&self.output, Some(output) if output.is_certain())
    }

    /// Returns the places that it may write.
    pub(super) fn writes(&self) -> &[Reference] {
        self.output.as_ref().map_or(&[], Expression::references)
    }
}

impl Plan {
    /// Returns the input of the Call's block, which shows everything about the Call before it runs.
    pub(super) fn to_json(&self) -> Value {
        let checked = &self.checked;
        let mut scopes = json!({ "mode": checked.scopes.mode.as_str(), "kinds": checked.scopes.kinds });
        if let Some(allowed) = &checked.scopes.allowed {
            scopes["allowed"] = json!(allowed);
        }
        let mut plan = json!({
            "call": self.call,
            "role": checked.role.as_str(),
            "scopes": scopes,
            "scoped": self.scoped.keyed,
            "messages": self.scoped.messages,
            "leftOut": self.scoped.left_out,
        });
        match &checked.role {
            Role::Latent => {}
            Role::Explicit { activity } => plan["activity"] = activity.as_str().into(),
            Role::Delegated { delegate } => plan["delegate"] = delegate.as_str().into(),
            Role::DelegatedExplicit { delegate, activity } => {
                plan["delegate"] = delegate.as_str().into();
                plan["activity"] = activity.as_str().into();
            }
        }
        if let Some(instance) = &checked.instance {
            plan["instance"] = instance.as_str().into();
        }
        if !checked.references.is_empty() {
            let all = checked.references.iter().map(|found| {
                let value = references::within(&self.call, &found.at).cloned();
                json!({ "at": found.at.join("."), "reference": found.text, "value": value })
            });
            plan["references"] = all.collect();
        }
        if !checked.writes().is_empty() {
            plan["outputPath"] = checked.writes().iter().map(Reference::to_string).collect();
            plan["outputMethod"] = checked.method.as_str().into();
        }
        plan
    }
}
