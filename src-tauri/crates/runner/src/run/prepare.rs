//! Before a request begins: its flow is evaluated, and what is asked is checked against the flow.
//!
//! Must not write: a request that is refused here leaves nothing behind.

use std::rc::Rc;

use engine::callable::{Issue, SchemaRef};
use engine::concurrency::Caller;
use engine::data::Data;
use engine::flow::Flow;
use engine::plan::has_no_block;
use engine::request::StartRequest;
use script::{Limits, LoadTime, Loaded};
use serde_json::{Map, Value};

use crate::catalogue::LoadedFlow;
use crate::core::fault::{Detail, Fault};
use crate::run::PriorEvents;
use crate::run::example::example;

/// Evaluates a flow.
pub(crate) fn load(
    workspace: &std::path::Path,
    loaded_flow: &LoadedFlow,
    limits: Limits,
    load_time: LoadTime,
) -> Result<Loaded, Fault> {
    Loaded::load(&loaded_flow.bundle, Some(&loaded_flow.flow.kind), workspace, limits, load_time)
        .map_err(|error| Fault::NotLoaded { message: error.to_string() })
}

/// Checks what is asked of a flow, and parses the input of a new request.
pub(crate) fn prepare(loaded: &mut Loaded, asked: &mut StartRequest, before: &PriorEvents) -> Result<Rc<Flow>, Fault> {
    loaded.resolve(&asked.action).map_err(|error| Fault::invalid(error.to_string()))?;
    let flow = loaded.flow.clone().ok_or_else(|| Fault::internal("the file defines no flow"))?;
    let action = flow
        .actions
        .get(&asked.action)
        .ok_or_else(|| Fault::not_found(format!("flow \"{}\" has no action \"{}\"", flow.kind, asked.action)))?;
    if let Some(path) = before.needs_block.as_deref()
        && has_no_block(&before.events, &flow, &asked.action, path)
    {
        return Err(Fault::invalid(gone(path)));
    }
    let is_new = before.events.is_empty();
    // What an older request claims was decided when it was accepted.
    if let Some(concurrency) = action.concurrency.as_ref().filter(|_| is_new) {
        asked.claim = concurrency.claim(caller(&flow.kind, asked)).map_err(|error| {
            Fault::refused(format!("the concurrency key of action \"{}\" could not be found: {error}", asked.action))
        })?;
    }
    // The recorded input of an older request was parsed when it was accepted.
    let is_given = is_new || before.opening.is_some();
    if let Some(schema) = action.input_schema.as_ref().filter(|_| is_given && !before.is_parsed) {
        // A dispatcher or an entry that gives nothing means it.
        let is_left_out = asked.input == Data::UNDEFINED && asked.trigger.is_none() && asked.dispatched_by.is_none();
        asked.input = match schema.parse(&asked.input) {
            Err(issues) if is_left_out => parse_nothing(&flow.kind, &asked.action, schema, issues)?,
            parsed => parsed.map_err(|issues| refused_input(&flow.kind, &asked.action, issues))?,
        };
    }
    Ok(flow)
}

/// Says that an edit of a block reaches nothing.
pub(crate) fn gone(path: &str) -> String {
    format!(
        "block {path} is gone in this code, so an edit of it reaches nothing; fork from a block that the code has, or \
         put the block back"
    )
}

fn caller<'a>(flow: &'a str, asked: &'a StartRequest) -> Caller<'a> {
    Caller {
        flow,
        action: &asked.action,
        // A session made for this request alone is shared with no other.
        session: (!asked.ephemeral).then_some(&*asked.session),
        user: &asked.user,
        project: asked.project.as_deref(),
        trigger: asked.trigger.as_ref(),
    }
}

/// The input of an action that nobody gave one: an object without fields where the schema takes that. `issues` is what
/// the schema has against nothing at all.
fn parse_nothing(flow: &str, action: &str, schema: &SchemaRef, issues: Vec<Issue>) -> Result<Data, Fault> {
    let missing = match schema.parse(&Value::Object(Map::new()).into()) {
        Ok(parsed) => return Ok(parsed),
        // An object is wanted, and these are its fields.
        Err(missing) if missing.iter().all(|issue| !issue.path.is_empty()) => missing,
        Err(_) => issues,
    };
    let example = example(&schema.describe()).map(|example| format!(", like --input '{example}'")).unwrap_or_default();
    Err(Fault::Invalid {
        message: format!(
            "action \"{action}\" of flow \"{flow}\" needs an input ({}); give it as JSON with --input{example}",
            shown(&missing)
        ),
        details: details(missing),
    })
}

fn refused_input(flow: &str, action: &str, issues: Vec<Issue>) -> Fault {
    Fault::Invalid {
        message: format!("the input does not fit action \"{action}\" of flow \"{flow}\": {}", shown(&issues)),
        details: details(issues),
    }
}

fn shown(issues: &[Issue]) -> String {
    let shown = issues.iter().map(|issue| {
        if issue.path.is_empty() { issue.message.clone() } else { format!("{}: {}", issue.path, issue.message) }
    });
    shown.collect::<Vec<_>>().join("; ")
}

fn details(issues: Vec<Issue>) -> Vec<Detail> {
    issues.into_iter().map(|issue| Detail { path: issue.path, message: issue.message }).collect()
}
