//! The executions of blocks in a log: which one an instant names, and what it threw.

use engine::error::FlowError;
use engine::event::{Event, EventKind};
use script::Execution;

use super::super::experiment::{caller_of_hook, nearest};
use super::at::InsideAt;
use crate::core::fault::Fault;

/// An instant as the blocks of its request make it out: a name may end like an attempt or a statement, as `b#2`.
pub(super) fn meant(request: &str, events: &[Event], at: &InsideAt) -> InsideAt {
    // As it is written where the request is not known: REQUEST@PATH.
    let path = at.path.strip_prefix(request).and_then(|rest| rest.strip_prefix('@')).unwrap_or(&at.path);
    let attempt = at.attempt.map(|attempt| format!("#{attempt}")).unwrap_or_default();
    let tick = at.tick.map(|tick| format!("+{tick}")).unwrap_or_default();
    let readings = [
        InsideAt { path: path.to_owned(), ..at.clone() },
        InsideAt { path: format!("{path}{attempt}"), attempt: None, tick: at.tick },
        InsideAt { path: format!("{path}{attempt}{tick}"), attempt: None, tick: None },
    ];
    let is_begun = |path: &str| {
        let is_begin = |event: &Event| matches!(event.kind, EventKind::BlockStarted { .. });
        events.iter().any(|event| is_begin(event) && event.path.as_deref() == Some(path))
    };
    let found = readings.iter().position(|reading| is_begun(&reading.path));
    let [first, ..] = &readings;
    found.map_or(first, |at| &readings[at]).clone()
}

/// The execution that an instant names.
pub(super) fn execution_of(request: &str, events: &[Event], at: &InsideAt) -> Result<Execution, Fault> {
    let at = meant(request, events, at);
    let at_path = at.path.as_str();
    let begun = events.iter().filter_map(|event| match (&event.kind, &event.path) {
        (EventKind::BlockStarted { .. }, Some(path)) if **path == *at_path => Some((path.clone(), event.attempt)),
        _ => None,
    });
    let begun: Vec<_> = begun.collect();
    let Some((path, last)) = begun.last() else {
        let near = match caller_of_hook(events, at_path) {
            Some((around, _)) => format!("; a hook ran there, as a part of the block {around}"),
            None => nearest(events, at_path),
        };
        return Err(Fault::not_found(format!("request \"{request}\" has no block at {at_path}{near}")));
    };
    let attempt = at.attempt.unwrap_or(*last);
    if !begun.iter().any(|(_, known)| *known == attempt) {
        let known: Vec<String> = begun.iter().map(|(_, known)| known.to_string()).collect();
        return Err(Fault::not_found(format!(
            "block {at_path} of request \"{request}\" has no attempt {attempt}; it has {}",
            known.join(", ")
        )));
    }
    Ok(Execution { path: path.clone(), attempt })
}

/// What a block threw; `None` if a block inside it threw it.
pub(super) fn error_of(events: &[Event], execution: &Execution) -> Option<FlowError> {
    let inside = format!("{}/", execution.path);
    let is_inner = |event: &Event| event.path.as_deref().is_some_and(|path| path.starts_with(&inside));
    let own = events.iter().rev().find_map(|event| match &event.kind {
        EventKind::BlockFinished { error, .. }
            if event.path.as_ref() == Some(&execution.path) && event.attempt == execution.attempt =>
        {
            Some(error.clone())
        }
        _ => None,
    })??;
    let is_of_inner = events.iter().filter(|event| is_inner(event)).any(|event| match &event.kind {
        EventKind::BlockFinished { error: Some(error), .. } => {
            error.message == own.message && error.location == own.location
        }
        _ => false,
    });
    (!is_of_inner).then_some(own)
}

/// The deepest block inside another, one that failed before others.
pub(super) fn deepest(events: &[Event], path: &str) -> String {
    let inside = format!("{path}/");
    let failed = |event: &Event| matches!(event.kind, EventKind::BlockFinished { error: Some(_), .. });
    let known = events.iter().filter_map(|event| Some((failed(event), event.path.as_deref()?)));
    let found = known.filter(|(_, path)| path.starts_with(&inside));
    let deepest = found.max_by_key(|(failed, path)| (*failed, path.matches('/').count()));
    deepest.map_or("one of its steps", |(_, path)| path).to_owned()
}
