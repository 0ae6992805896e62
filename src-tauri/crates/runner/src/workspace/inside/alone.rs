//! Answers of questions by the executions of blocks that they are about: each runs by itself, with its children, its
//! effects and the state that it found from the log. Nothing else of the request runs.
//!
//! What such a run does is compared with the recording and with the coverage of the request. If anything differs, there
//! is no answer here, and the whole request runs again.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::alone::Alone;
use engine::event::{Event, EventKind};
use engine::views::Events;
use script::{Asked, Execution, Hit, Probed, Question};
use serde_json::{Value, json};

use super::super::Workspace;
use super::Answer;
use super::covered::Coverage;
use super::probed_code::ProbedCode;
use crate::core::fault::Fault;
use crate::run::replay::comparison::Comparison;
use crate::run::replay::{Replayed, ReplayedCode, replay};
use crate::views::RequestRow;

/// How many executions run by themselves for one question: each loads the code. For more the whole request does.
const MAX_ALONE: usize = 16;

/// Operations whose answers depend on what other blocks have done, if blocks ran at the same time.
const LOOKS_AROUND: [&str; 9] =
    ["journal.read", "metadata.read", "usage", "hasOnce", "once", "target", "blockResult", "blockOutput", "wasRescued"];

/// What is found by one execution.
struct Found {
    probed: Probed,
    ran: usize,
}

impl Workspace {
    /// Answers a question by the executions that it is about. `None` if they cannot run by themselves. Attempts are
    /// those of the recording.
    pub(super) fn ask_alone(
        &self,
        row: &RequestRow,
        recorded: &[Event],
        code: &Arc<ProbedCode>,
        question: &Question,
        asked: &Asked,
    ) -> Result<Option<Answer>, Fault> {
        let (of, limit) = match asked {
            Asked::Trace { of, .. } => (Some(of), usize::MAX),
            Asked::Values { of, limit, .. } => (of.as_ref(), *limit),
            _ => return Ok(None),
        };
        if !self.probed.following.is_alone() || !Alone::may_be_of(recorded) || code.may_keep_state() {
            return Ok(None);
        }
        let coverage = self.covered(row, recorded, code)?.filter(|coverage| !coverage.is_redacted());
        let Some(coverage) = coverage else { return Ok(None) };
        let sites = question.sites.as_deref();
        let is_certain = question.condition.is_none();
        let wanted = match of {
            Some(of) => coverage.ran(of).map(|_| of.clone()).into_iter().collect(),
            None => coverage.reached(sites, is_certain.then_some(limit as u64)),
        };
        if wanted.len() > MAX_ALONE {
            return Ok(None);
        }
        let (mut all, mut ran) = (Probed::default(), 0);
        for execution in &wanted {
            let Some(found) = self.run_alone(row, recorded, code, (question, asked), (&coverage, execution))? else {
                return Ok(None);
            };
            ran += found.ran;
            add(&mut all, found.probed);
        }
        all.hits.sort_by_key(|hit| hit.order);
        all.is_full = all.hits.len() >= limit || all.is_full;
        // How often a condition failed until the limit was reached depends on the order of all.
        if wanted.len() > 1 && all.is_full && all.failed_conditions > 0 {
            return Ok(None);
        }
        all.hits.truncate(limit);
        let replayed = Replayed {
            result: Comparison::default(),
            events: Vec::new(),
            probed: all,
            saw_earlier_requests: false,
            asks_new: false,
            is_cancelled: false,
        };
        let total = match of {
            None if is_certain => Some(coverage.total(sites)),
            _ => (!replayed.probed.is_full).then_some(replayed.probed.hits.len() as u64),
        };
        Ok(Some(Answer {
            replayed,
            recorded: recorded.to_vec(),
            note: None,
            is_another_from: None,
            ended_by: None,
            ran,
            total,
            is_recorded: true,
        }))
    }

    /// Runs one execution by itself. `None` if it cannot, or does something else then.
    fn run_alone(
        &self,
        row: &RequestRow,
        recorded: &[Event],
        code: &Arc<ProbedCode>,
        (question, asked): (&Question, &Asked),
        (coverage, execution): (&Coverage, &Execution),
    ) -> Result<Option<Found>, Fault> {
        let alone = Alone::of(recorded, &execution.path).filter(|_| execution.attempt == 0);
        let Some(alone) = alone else { return Ok(None) };
        let (overlaps, before) = (alone.overlaps, alone.before.last().map_or(0, |event| event.seq));
        let bundle = self.probed_bundle(code, Some(question.clone()))?;
        let loaded = self.with_catalogue(|catalogue| catalogue.find(&row.flow)).ok();
        let end_record = loaded.map(|loaded| loaded.end_record.clone());
        let asked = of_execution(asked, execution);
        let probed = ReplayedCode::Probed { bundle, kind: row.flow.clone(), asked, end_record };
        let mut replayed = replay(&self.dir, self.input_alone(row, recorded, probed, alone)?)?;
        let mut probed = std::mem::take(&mut replayed.probed);
        let is_same = !replayed.asks_new
            && probed.changed.is_none()
            && sees_the_same(&probed.operations, overlaps)
            && ran_the_same(&probed, coverage, execution)
            && did_the_same(recorded, &replayed.events, &execution.path, probed.is_full);
        if !is_same {
            return Ok(None);
        }
        for Hit { execution, tick, order, seq, .. } in &mut probed.hits {
            let Some(place) = coverage.at(execution, *tick) else { return Ok(None) };
            (*order, *seq) = place;
        }
        for (at, traced) in probed.trace.iter_mut().enumerate() {
            let Some(place) = coverage.at(execution, at as u64 + 1) else { return Ok(None) };
            (traced.order, traced.seq) = place;
        }
        let new = replayed.events.iter().filter(|event| event.seq > before);
        let begun: Vec<_> =
            new.filter(|event| matches!(event.kind, EventKind::BlockStarted { .. })).map(|event| &event.path).collect();
        // Another one that ran, too, was to come from the log.
        let is_alone = begun.iter().all(|path| path.as_ref() == Some(&execution.path));
        Ok(is_alone.then_some(Found { probed, ran: begun.len() }))
    }
}

/// Asks the same of one execution only: functions of the blocks around it may be called again on the way to it.
fn of_execution(asked: &Asked, execution: &Execution) -> Asked {
    let mut asked = asked.clone();
    if let Asked::Values { of, .. } = &mut asked {
        of.replace(execution.clone());
    }
    asked
}

/// Adds what one execution found.
fn add(all: &mut Probed, found: Probed) {
    all.hits.extend(found.hits);
    all.trace.extend(found.trace);
    all.ticks += found.ticks;
    all.callers.extend(found.callers);
    all.is_full |= found.is_full;
    all.asked_conditions += found.asked_conditions;
    all.failed_conditions += found.failed_conditions;
    all.condition_error = all.condition_error.take().or(found.condition_error);
}

/// Returns whether the host has the same answers for a block alone: not for items, which come with the events of
/// others, and not for what others have done if they ran at the same time.
fn sees_the_same(operations: &BTreeSet<String>, overlaps: bool) -> bool {
    operations.iter().all(|operation| {
        let looks_around = LOOKS_AROUND.contains(&operation.as_str()) || operation.starts_with("relative.");
        let is_of_agent = operation.starts_with("flow.");
        operation != "items" && !is_of_agent && !(overlaps && looks_around)
    })
}

/// Returns whether an execution ran the statements that it ran before.
fn ran_the_same(probed: &Probed, coverage: &Coverage, execution: &Execution) -> bool {
    let is_it = |ran: &&script::Ran| ran.path == execution.path && ran.attempt == execution.attempt;
    let now = probed.ran.iter().find(is_it);
    match (now, coverage.ran(execution)) {
        // It was stopped before its end.
        (Some(now), Some(before)) if probed.is_full => now.ticks <= before.ticks,
        (Some(now), Some(before)) => (now.ticks, now.digest) == (before.ticks, before.digest),
        _ => false,
    }
}

/// Returns whether a block did what the recording says, as far as it ran.
fn did_the_same(recorded: &[Event], replayed: &[Event], path: &str, is_stopped: bool) -> bool {
    let acts = |events: &[Event]| -> Vec<Value> {
        let view = Events::new(events);
        let own = events.iter().filter(|event| event.path.as_deref() == Some(path));
        own.filter_map(|event| act(event, view)).collect()
    };
    let (before, now) = (acts(recorded), acts(replayed));
    if is_stopped { before.starts_with(&now) } else { before == now }
}

/// What an event says of what a block did; `None` if it says nothing of that.
fn act(event: &Event, view: Events<'_>) -> Option<Value> {
    Some(match &event.kind {
        EventKind::StateChanged { scope, operation, .. } => json!([scope.kind.as_str(), operation]),
        EventKind::BlockFinished { outcome, output, error, .. } => {
            let output = output.as_ref().and_then(|output| view.value(output));
            let error = error.as_ref().map(|error| (&error.name, &error.message));
            json!([outcome, output, error])
        }
        EventKind::ItemAdded { item } => json!(["item", item.item_type]),
        EventKind::EffectFinished { effect, ordinal, .. } => json!([effect.as_str(), ordinal]),
        EventKind::Logged { level, text } => json!(["log", level, text]),
        EventKind::CallbackReturned { callback, .. } => json!(["callback", callback]),
        EventKind::JournalAppended { .. } => json!("journal"),
        EventKind::MetadataSet { metadata } => json!(["metadata", metadata]),
        _ => return None,
    })
}
