//! Before a request begins: its flow is evaluated, and what is asked is checked against the flow.
//!
//! Must not write: a request that is refused here leaves nothing behind.

use std::rc::Rc;

use engine::callable::Issue;
use engine::concurrency::Caller;
use engine::data::Data;
use engine::flow::Flow;
use engine::request::StartRequest;
use script::{Limits, LoadTime, Loaded};

use crate::catalogue::LoadedFlow;
use crate::core::fault::{Detail, Fault};
use crate::run::PriorEvents;

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
        let given = asked.input != Data::UNDEFINED;
        asked.input =
            schema.parse(&asked.input).map_err(|issues| refused_input(&flow.kind, &asked.action, issues, given))?;
    }
    Ok(flow)
}

fn caller<'a>(flow: &'a str, asked: &'a StartRequest) -> Caller<'a> {
    Caller {
        flow,
        action: &asked.action,
        // A session made for this request alone is shared with no other.
        session: (!asked.ephemeral).then_some(&*asked.session),
        user: &asked.user,
        project: asked.project.as_deref(),
    }
}

fn refused_input(flow: &str, action: &str, issues: Vec<Issue>, given: bool) -> Fault {
    let shown =
        issues
            .iter()
            .map(|issue| {
                if issue.path.is_empty() { issue.message.clone() } else { format!("{}: {}", issue.path, issue.message) }
            })
            .collect::<Vec<_>>()
            .join("; ");
    Fault::Invalid {
        message: if given {
            format!("the input does not fit action \"{action}\" of flow \"{flow}\": {shown}")
        } else {
            format!("action \"{action}\" of flow \"{flow}\" needs an input ({shown}); give it as JSON with --input")
        },
        details: issues.into_iter().map(|issue| Detail { path: issue.path, message: issue.message }).collect(),
    }
}
