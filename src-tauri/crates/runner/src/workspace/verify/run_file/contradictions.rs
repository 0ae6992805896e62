//! Events of a `.run` file that contradict other lines of it. A replay does not read all of them, so that it would
//! find the run the same in spite of an edit there.
//!
//! Each rule is one function, which says what is wrong with an event and what would be right. Lines are read in order,
//! so an event is held against those before it. Must not refuse what an engine has recorded: where the lines before do
//! not say it for certain, a rule is silent.

mod effect_numbers;
mod executions;
mod paths;
mod resumes;
mod scopes;
mod sums;
mod versions;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, Recorded, Seq};
use engine::json::type_of;
use engine::loading::LOAD;
use engine::operation::Operation;
use engine::path::ROOT;
use engine::scope::ScopeKey;
use serde_json::{Map, Value};

use super::line_reader::LineFault;
use effect_numbers::EffectNumbers;
use executions::Executions;
use resumes::Resumes;
use scopes::Owners;
use sums::Sums;
use versions::{Versions, Writes};

/// The events of a file, as far as they were read.
#[derive(Default)]
pub(super) struct Read {
    requests: HashMap<Arc<str>, Request>,
    sums: Sums,
    versions: Versions,
}

/// What was read of one request.
#[derive(Default)]
struct Request {
    last: Seq,
    /// The last event that a fork shares with another request, and that request if an earlier line has it.
    from: Option<(Option<Arc<str>>, Seq)>,
    /// The effects that began, and their paths.
    effects: HashMap<Seq, (EffectKind, Option<Arc<str>>)>,
    /// The first event of each block and hook.
    begun: HashMap<Arc<str>, Seq>,
    /// The newest block that began: its line and its path.
    newest: Option<(usize, Arc<str>)>,
    /// The events that have a value others may refer to.
    values: HashSet<Seq>,
    /// The lines of blocks that ended without one.
    without_value: HashMap<Seq, usize>,
    was_resumed: bool,
    /// `None` of a fork, whose beginning is that of another request, and of one that another program recorded.
    alone: Option<Alone>,
}

/// What was read of a request that has all of its events itself.
struct Alone {
    owners: Owners,
    executions: Executions,
    effects: EffectNumbers,
    resumes: Resumes,
    writes: Writes,
}

type Rule = fn(&Read, &Arc<str>, &Event) -> Result<(), String>;

/// In the order in which they are asked: numbers first, because the others look events up by them.
const RULES: [Rule; 8] = [
    follows_the_event_before,
    begins_once,
    has_its_path,
    ends_what_began,
    is_of_a_block_that_began,
    refers_to_a_value,
    value_fits_its_operation,
    is_in_its_form,
];

impl Read {
    /// Reads a record.
    pub(super) fn record(&mut self, scope: &ScopeKey, version: u64, state: &Map<String, Value>, number: usize) {
        self.sums.record(scope, version, state, number);
        self.versions.record(scope, version, number);
    }

    /// Holds the next event of a request against what was read, and reads it. `number` is that of its line.
    pub(super) fn event(&mut self, request: &Arc<str>, event: &Event, number: usize) -> Result<(), LineFault> {
        RULES.iter().try_for_each(|rule| rule(self, request, event))?;
        self.sums.event(event, number)?;
        // Only earlier lines are followed, so that origins cannot form a cycle.
        let known_origin = |origin: &str| self.requests.get_key_value(origin).map(|(origin, _)| origin.clone());
        let from = match &event.kind {
            EventKind::RequestStarted { forked_from: Some(from), .. } => {
                Some((known_origin(&from.request_id), from.seq))
            }
            _ => None,
        };
        let known = self.requests.entry(request.clone()).or_default();
        known.from = known.from.take().or(from);
        known.last = event.seq;
        if let Some(owners) = Owners::of(request, &event.kind, number).filter(|_| event.seq == 1) {
            known.alone = Some(Alone::of(owners));
        }
        match &event.kind {
            // Earlier versions recorded again what they took from the log.
            EventKind::RequestResumed { keeps_ended: false, .. } => known.alone = None,
            EventKind::RequestResumed { .. } => known.was_resumed = true,
            _ => {}
        }
        match &mut known.alone {
            Some(alone) => {
                alone.event(event, number, known.was_resumed)?;
                let of = (request, known.was_resumed);
                self.versions.event(&mut alone.writes, of, event, number)?;
            }
            None => self.versions.event_of_fork(request, event, number),
        }
        if has_value(&event.kind) {
            known.values.insert(event.seq);
        } else if let EventKind::BlockFinished { .. } = &event.kind {
            known.without_value.insert(event.seq, number);
        }
        match &event.kind {
            EventKind::EffectStarted { effect, .. } => {
                known.effects.insert(event.seq, (*effect, event.path.clone()));
            }
            EventKind::BlockStarted { .. } | EventKind::HookStarted { .. } => {
                let path = event.path.clone().unwrap_or_default();
                known.newest = Some((number, path.clone()));
                known.begun.entry(path).or_insert(event.seq);
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether an event of a request was read.
    pub(super) fn has(&self, request: &str) -> bool {
        self.requests.contains_key(request)
    }

    /// The request in which an event of a request was recorded: a fork has its first part from another one. `None` if
    /// that one is not in the file.
    fn recorded_in(&self, request: &str, seq: Seq) -> Option<&Request> {
        let mut request = self.requests.get(request)?;
        while let Some((origin, _)) = request.from.as_ref().filter(|(_, until)| seq > 1 && seq <= *until) {
            request = self.requests.get(origin.as_ref()?)?;
        }
        Some(request)
    }

    /// Whether a block began, as far as the file says it.
    fn has_begun(&self, request: &str, path: &str) -> bool {
        let (mut request, mut until) = (request, Seq::MAX);
        while let Some(known) = self.requests.get(request) {
            if known.begun.get(path).is_some_and(|began| *began <= until) {
                return true;
            }
            match &known.from {
                None => return false,
                Some((None, _)) => return true,
                Some((Some(origin), last)) => (request, until) = (origin, *last),
            }
        }
        // A request that the file does not have may have started it.
        true
    }
}

impl Alone {
    fn of(owners: Owners) -> Alone {
        let (executions, effects, resumes, writes) = Default::default();
        Alone { owners, executions, effects, resumes, writes }
    }

    fn event(&mut self, event: &Event, number: usize, was_resumed: bool) -> Result<(), LineFault> {
        self.resumes.event(event, number)?;
        self.executions.event(event)?;
        self.owners.check(event, &self.executions)?;
        self.effects.event(event, number, !was_resumed)
    }
}

/// Each request counts its events from 1; a fork goes on from where it left the other request.
fn follows_the_event_before(read: &Read, request: &Arc<str>, event: &Event) -> Result<(), String> {
    let known = read.requests.get(request);
    let last = known.map_or(0, |known| known.last);
    let left_at = known.filter(|known| known.last == 1).and_then(|known| known.from.as_ref()).map(|(_, left)| *left);
    let expected = last.max(left_at.unwrap_or(0)) + 1;
    if event.seq == expected {
        return Ok(());
    }
    Err(format!("expected event {expected} of request \"{request}\", found event {}", event.seq))
}

/// No event but the first one begins a request.
fn begins_once(_: &Read, request: &Arc<str>, event: &Event) -> Result<(), String> {
    match (&event.kind, event.seq) {
        (EventKind::RequestStarted { .. }, 1) => Ok(()),
        (EventKind::RequestStarted { .. }, seq) => Err(format!(
            "event {seq} of request \"{request}\" is a second request_started: only the first event of a request is one"
        )),
        _ => Ok(()),
    }
}

fn has_its_path(_: &Read, _: &Arc<str>, event: &Event) -> Result<(), String> {
    paths::has_its_path(event)
}

/// `started` of an effect's end names the begin of that effect.
fn ends_what_began(read: &Read, request: &Arc<str>, event: &Event) -> Result<(), String> {
    let EventKind::EffectFinished { effect, started: Some(started), .. } = &event.kind else { return Ok(()) };
    let right = || {
        let at = event.path.as_deref().unwrap_or("the request");
        format!("\"started\" must be the seq of an earlier effect_started event of this {} at {at}", effect.as_str())
    };
    if *started >= event.seq {
        return Err(format!("\"started\" is {started}, and this is event {}: {}", event.seq, right()));
    }
    let Some(known) = read.recorded_in(request, *started) else { return Ok(()) };
    match known.effects.get(started) {
        Some((began, path)) if began == effect && *path == event.path => Ok(()),
        Some((began, path)) => Err(format!(
            "\"started\" is {started}, which is the begin of a {} at {}: {}",
            began.as_str(),
            path.as_deref().unwrap_or("the request"),
            right()
        )),
        None => Err(format!("\"started\" is {started}, and that is no effect_started event: {}", right())),
    }
}

/// What has a path is of a block, or of a hook, that began before.
fn is_of_a_block_that_began(read: &Read, request: &Arc<str>, event: &Event) -> Result<(), String> {
    let begins = matches!(event.kind, EventKind::BlockStarted { .. } | EventKind::HookStarted { .. });
    // The action's root may say something before it begins; what a file does when it is loaded is of no block.
    let Some(path) = event.path.as_deref().filter(|path| !begins && *path != ROOT && *path != LOAD) else {
        return Ok(());
    };
    if read.has_begun(request, path) {
        return Ok(());
    }
    let newest = read.requests.get(request).and_then(|known| known.newest.as_ref());
    let newest = newest.map(|(line, path)| format!("; the newest block before it, in line {line}, is {path}"));
    Err(format!(
        "no earlier line starts block {path}: add its block_started event before this line{}",
        newest.unwrap_or_default()
    ))
}

/// Returns whether an event has a value that later ones may refer to.
fn has_value(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::RequestStarted { .. }
            | EventKind::InputEdited { .. }
            | EventKind::BlockInput { .. }
            | EventKind::BlockFinished { output: Some(_), .. }
            | EventKind::OutputEdited { .. }
    )
}

/// `of` names an earlier event that has a value.
fn refers_to_a_value(read: &Read, request: &Arc<str>, event: &Event) -> Result<(), String> {
    let named = match &event.kind {
        EventKind::BlockStarted { input, .. } | EventKind::BlockInput { input } => Some(input),
        EventKind::BlockFinished { output, .. } | EventKind::RequestFinished { output, .. } => output.as_ref(),
        _ => None,
    };
    let Some(Recorded::Of(of)) = named else { return Ok(()) };
    // The first events of a fork are those of another request.
    let Some(known) = read.requests.get(request).filter(|known| known.from.is_none()) else { return Ok(()) };
    if known.values.contains(of) {
        return Ok(());
    }
    let why = match known.without_value.get(of) {
        Some(line) => format!("and line {line}, which is that event, has none"),
        None => "which is no earlier event with one".to_owned(),
    };
    Err(format!("it has the value of event {of}, {why}"))
}

/// A first state is an object, an increment has its sums, and a time zone is known.
fn is_in_its_form(read: &Read, request: &Arc<str>, event: &Event) -> Result<(), String> {
    // Earlier versions wrote no sums of what they repeated at a resume.
    let has_sums = || read.requests.get(request).is_some_and(|known| known.alone.is_some());
    match &event.kind {
        EventKind::StateInitialized { state, .. } if !state.is_object() => {
            Err(format!("\"state\" is {}: it is an object with the fields of the state", type_of(state)))
        }
        EventKind::StateChanged { operation: Operation::Increment { .. }, value: None, .. } if has_sums() => {
            Err("\"value\" is missing: an increment has the sum of each of its fields".to_owned())
        }
        EventKind::RequestStarted { time_zone: Some(zone), .. } if !script::is_time_zone(zone) => {
            Err(format!("\"timeZone\" is \"{zone}\", which is no time zone: write its name, as \"Europe/Berlin\""))
        }
        _ => Ok(()),
    }
}

/// Only an increment has a value, and that has a number for each of its fields.
fn value_fits_its_operation(_: &Read, _: &Arc<str>, event: &Event) -> Result<(), String> {
    let EventKind::StateChanged { operation, value: Some(value), .. } = &event.kind else { return Ok(()) };
    let Operation::Increment { by } = operation else {
        let op = operation_name(operation);
        return Err(format!("remove \"value\": only an increment has one, and this operation is \"{op}\""));
    };
    let Value::Object(sums) = value else {
        return Err("the \"value\" of an increment is an object with the sum of each of its fields".to_owned());
    };
    if let Some(field) = sums.keys().find(|field| !by.contains_key(*field)) {
        return Err(format!("\"value\" has the sum of \"{field}\", which the increment does not change"));
    }
    if let Some(field) = by.keys().find(|field| !sums.contains_key(*field)) {
        return Err(format!("\"value\" has no sum of \"{field}\", which the increment changes"));
    }
    match sums.iter().find(|(_, sum)| !sum.is_number()) {
        Some((field, sum)) => Err(format!("the sum of \"{field}\" is {sum} in \"value\": it is a number")),
        None => Ok(()),
    }
}

/// As the file names it.
fn operation_name(operation: &Operation) -> String {
    let written = serde_json::to_value(operation).unwrap_or_default();
    written["op"].as_str().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests;
