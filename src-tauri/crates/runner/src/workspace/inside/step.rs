//! Steps through a block of a recorded request, forward and back. The statements of one execution are traced once; a
//! step is a place in that trace, and the values there come from one more run that stops at it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use engine::error::FlowError;
use engine::event::{Event, EventKind, Seq};
use script::{Asked, Execution, Hit, Question, Site, SiteTable, Traced};
use serde_json::Value;

use super::super::{Workspace, lock};
use super::at::{InsideAt, Move};
use super::handle::Handle;
use super::print::checked;
use super::probed_code::ProbedCode;
use super::recorded_seq::RecordedSeq;
use crate::core::fault::Fault;
use crate::views::{EndOfBlock, Instant, Local, PrintedValue, RequestRow, StackFrame, ThrownByExpression};

/// How many statements of one execution can be stepped through.
const MAX_TICKS: usize = 4_000_000;
/// How many traces a process keeps.
const KEPT: usize = 4;

/// An instant to show.
#[derive(Clone, Debug)]
pub struct StepQuery {
    /// Where from.
    pub at: InsideAt,
    /// Where to.
    pub to: Move,
    /// Expressions whose values are wanted, too.
    pub watches: Vec<String>,
}

/// The statements of one execution, in their order.
pub(super) struct Trace {
    statements: Vec<Traced>,
    callers: HashMap<u32, u32>,
    /// The recorded events before the statements, in the order of `statements`.
    seqs: Vec<Seq>,
    note: Option<String>,
}

/// The traces that were made last.
#[derive(Default)]
pub(crate) struct Traces(Mutex<VecDeque<(TraceKey, Arc<Trace>)>>);

/// A request, the hash of the bundle, how many events it had, and the execution.
type TraceKey = (String, String, Seq, Execution);

/// One block of a request.
struct Inside<'q> {
    row: RequestRow,
    events: Vec<Event>,
    code: Arc<ProbedCode>,
    execution: Execution,
    trace: Arc<Trace>,
    error: Option<FlowError>,
    query: &'q StepQuery,
}

impl Workspace {
    /// Returns an instant inside a block: its place in the code, the values there, and the stack. Writes nothing to the
    /// database. Fails if the request has no such block, or its block no such statement.
    pub fn step(&self, request: &str, query: &StepQuery) -> Result<Instant, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let missing = |why: String| Fault::not_found(format!("request \"{request}\": {why}"));
        let execution = execution_of(request, &events, &query.at)?;
        let code = self.code_of_execution(&events, &execution)?.map_err(missing)?;
        let trace = self.trace(&row, &events, &code, &execution)?;
        let error = error_of(&events, &execution);
        if trace.statements.is_empty() {
            return Err(missing(format!(
                "block {} ran no statement of a function: step into a handler, like {}",
                execution.path,
                deepest(&events, &execution.path)
            )));
        }
        let inside = Inside { row, events, code, execution, trace, error, query };
        let from = inside.from()?;
        let (tick, failed) = match &query.to {
            Move::Until(expression) => self.until(&inside, from, expression)?,
            to => (inside.moved(from, to), None),
        };
        let missed = inside.missed(tick);
        let mut instant = self.instant_inside(inside, tick)?;
        instant.note = failed.or(missed).or(instant.note).or_else(|| self.hidden_env(query.watches.iter()));
        Ok(instant)
    }

    /// The last statement of an execution that began before an event was written: its tick and its order.
    pub(super) fn tick_before(&self, request: &str, at: &InsideAt, seq: Seq) -> Result<Option<(u64, u64)>, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let code = self.code_of_request(request)?.map_err(Fault::not_found)?;
        let execution = execution_of(request, &events, at)?;
        let trace = self.trace(&row, &events, &code, &execution)?;
        let ticks = trace.seqs.partition_point(|before| *before < seq);
        Ok(ticks.checked_sub(1).map(|at| (ticks as u64, trace.statements[at].order)))
    }

    /// Traces an execution, or returns the trace that was made of it.
    fn trace(
        &self,
        row: &RequestRow,
        events: &[Event],
        code: &Arc<ProbedCode>,
        execution: &Execution,
    ) -> Result<Arc<Trace>, Fault> {
        let bundle = self.probed_bundle(code, Some(Question::default()))?;
        let key = (row.id.clone(), bundle.hash.clone(), events.len() as Seq, execution.clone());
        if let Some((_, known)) = lock(&self.probed.traces.0).iter().find(|(known, _)| *known == key) {
            return Ok(known.clone());
        }
        let asked = Asked::Trace { of: execution.clone(), most: MAX_TICKS };
        let answer = self.ask(row, events.to_vec(), code, Question::default(), asked)?;
        let probed = &answer.replayed.probed;
        if probed.ticks as usize > MAX_TICKS {
            return Err(Fault::refused(format!(
                "block {} ran {} statements: at most {MAX_TICKS} can be stepped through; print its values with a \
                 condition instead",
                execution.path, probed.ticks
            )));
        }
        let numbers = RecordedSeq::new(&answer.recorded, &answer.replayed.events);
        let mut seqs: Vec<Seq> = Vec::with_capacity(probed.trace.len());
        let mut last = (0, 0);
        for traced in &probed.trace {
            if traced.seq != last.0 {
                last = (traced.seq, numbers.of(traced.seq).0);
            }
            seqs.push(last.1);
        }
        let note = answer.note;
        let trace = Trace { statements: probed.trace.clone(), callers: probed.callers.clone(), seqs, note };
        let trace = Arc::new(trace);
        let mut kept = lock(&self.probed.traces.0);
        kept.push_back((key, trace.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok(trace)
    }

    /// The first tick after another at which an expression holds, behind the last without one; and how it failed.
    fn until(&self, inside: &Inside<'_>, from: u64, expression: &str) -> Result<(u64, Option<String>), Fault> {
        let file = &inside.code.code.file;
        checked(expression, file)?;
        let question = Question {
            condition: Some(expression.to_owned()),
            expressions: vec!["undefined".to_owned()],
            ..Question::default()
        };
        let ticks = (from + 1, u64::from(u32::MAX));
        let asked = Asked::Values { of: Some(inside.execution.clone()), ticks, limit: 1, open: None };
        let answer = self.ask(&inside.row, inside.events.clone(), &inside.code, question, asked)?;
        let probed = &answer.replayed.probed;
        // At some statements its names may mean nothing.
        let is_wrong = probed.hits.is_empty() && probed.failed_conditions == probed.asked_conditions;
        let failed = probed.condition_error.as_ref().filter(|_| is_wrong);
        let failed =
            failed.map(|error| format!("the expression failed {} times, first: {error}", probed.failed_conditions));
        Ok((probed.hits.first().map_or(inside.ticks() + 1, |hit| hit.tick), failed))
    }

    fn instant_inside(&self, inside: Inside<'_>, tick: u64) -> Result<Instant, Fault> {
        let ticks = inside.ticks();
        let at = tick.clamp(1, ticks) as usize - 1;
        let statement = inside.trace.statements[at];
        let site = inside.code.table.sites[statement.site as usize].clone();
        let is_inside = (1..=ticks).contains(&tick);
        let hit = if is_inside { self.values_at(&inside, &site, statement.site, tick)? } else { None };
        let Inside { row, code, execution, trace, error, query, .. } = &inside;
        let thrown = error.as_ref().filter(|_| tick > ticks || Some(tick) == inside.thrown_at());
        let ended = match tick {
            0 => Some(EndOfBlock::Start),
            tick if tick > ticks && error.is_some() => Some(EndOfBlock::Error),
            tick if tick > ticks => Some(EndOfBlock::End),
            _ => None,
        };
        let handle = |expression: &str| Handle {
            request: row.id.clone(),
            path: execution.path.to_string(),
            attempt: execution.attempt,
            tick,
            site: statement.site,
            code: code.hash.clone(),
            expression: expression.to_owned(),
            keys: Vec::new(),
        };
        let empty = Vec::new();
        let taken = hit.as_ref().and_then(|hit| hit.values.as_array()).unwrap_or(&empty);
        let (watched, named) = taken.split_at(query.watches.len().min(taken.len()));
        let watches = watched.iter().zip(&query.watches);
        let watches = watches.map(|(value, text)| PrintedValue::read(value, || handle(text).text())).collect();
        let locals = named.iter().zip(site.names.iter());
        let locals = locals.filter(|(value, _)| !is_not_declared_yet(value)).map(|(value, name)| Local {
            name: name.clone(),
            value: PrintedValue::read(value, || handle(name).text()),
        });
        Ok(Instant {
            instant: format!("{}#{}+{tick}", execution.path, execution.attempt),
            locals: locals.collect(),
            watches,
            stack: hit.as_ref().map(|hit| stack_of(hit, &site, &code.table)).unwrap_or_default(),
            seq: trace.seqs[at],
            order: statement.order,
            ended,
            error: thrown.map(|error| ThrownByExpression { name: error.name.clone(), message: error.message.clone() }),
            note: trace.note.clone(),
            file: site.file,
            line: site.line,
            column: site.column,
            end_line: site.end_line,
            end_column: site.end_column,
            function: site.function.to_string(),
            path: execution.path.to_string(),
            attempt: execution.attempt,
            tick,
            ticks,
        })
    }

    fn values_at(&self, inside: &Inside<'_>, site: &Site, number: u32, tick: u64) -> Result<Option<Hit>, Fault> {
        for watch in &inside.query.watches {
            checked(watch, &site.file)?;
        }
        let mut question = Question::for_locals(&inside.code.table, number);
        question.expressions.clone_from(&inside.query.watches);
        if !inside.query.watches.is_empty() {
            // They may mean nothing at other statements.
            question.sites = Some(vec![number]);
        }
        let asked = Asked::Values { of: Some(inside.execution.clone()), ticks: (tick, tick), limit: 1, open: None };
        let answer = self.ask(&inside.row, inside.events.clone(), &inside.code, question, asked)?;
        Ok(answer.replayed.probed.hits.into_iter().next())
    }
}

impl Inside<'_> {
    fn ticks(&self) -> u64 {
        self.trace.statements.len() as u64
    }

    /// Says that a line was not reached.
    fn missed(&self, tick: u64) -> Option<String> {
        let (line, when) = match &self.query.to {
            Move::To(line) if tick > self.ticks() => (line, "after"),
            Move::BackTo(line) if tick == 0 => (line, "before"),
            _ => return None,
        };
        Some(format!("line {line} is not reached in this block {when} the instant that was left"))
    }

    /// The statement that threw, if the block failed by itself.
    fn thrown_at(&self) -> Option<u64> {
        let error = self.error.as_ref()?;
        let last = self.site(self.ticks());
        if self.text_at(last).starts_with("throw") {
            return Some(self.ticks());
        }
        let place = error.location.as_ref()?;
        let is_there = |tick: &u64| {
            let site = self.site(*tick);
            site.file == place.file && site.line <= place.line && place.line <= site.end_line
        };
        (1..=self.ticks()).rev().find(is_there)
    }

    fn site(&self, tick: u64) -> &Site {
        &self.code.table.sites[self.trace.statements[tick as usize - 1].site as usize]
    }

    /// The source from a statement on, to the end of its line.
    fn text_at(&self, site: &Site) -> String {
        let source = self.code.code.sources.iter().find(|source| source.file == site.file);
        let line = source.and_then(|source| source.text.lines().nth(site.line as usize - 1)).unwrap_or_default();
        line.chars().skip(site.column as usize - 1).collect()
    }

    fn from(&self) -> Result<u64, Fault> {
        let ticks = self.ticks();
        match self.query.at.tick {
            None => Ok(self.thrown_at().unwrap_or(1)),
            Some(tick) if tick <= ticks + 1 => Ok(tick),
            Some(tick) => Err(Fault::not_found(format!(
                "attempt {} of block {} ran {ticks} statements: there is no +{tick}",
                self.execution.attempt, self.execution.path
            ))),
        }
    }

    /// Where a move leads: 0 before the first statement, one more than there are behind the last.
    fn moved(&self, from: u64, to: &Move) -> u64 {
        let (ticks, end) = (self.ticks(), self.ticks() + 1);
        let after = from + 1..end;
        let before = (1..from.min(end)).rev();
        let call = |tick: u64| self.trace.statements[tick as usize - 1].call;
        let own = (1..=ticks).contains(&from).then(|| call(from));
        let outer = own.map(|own| self.outer(own)).unwrap_or_default();
        let is_own = |tick: &u64| own.is_none_or(|own| call(*tick) == own) || outer.contains(&call(*tick));
        let is_outer = |tick: &u64| own.is_none() || outer.contains(&call(*tick));
        let file = |tick: u64| (self.site(tick).file.clone(), self.site(tick).line);
        let own_file = file(from.clamp(1, ticks)).0;
        let is_line = |tick: &u64, line: u32| file(*tick) == (own_file.clone(), line);
        match to {
            Move::Stay => from,
            Move::Into | Move::Until(_) => (from + 1).min(end),
            Move::Back => from.saturating_sub(1),
            Move::Over => after.into_iter().find(is_own).unwrap_or(end),
            Move::Out => after.into_iter().find(is_outer).unwrap_or(end),
            Move::BackOver => before.into_iter().find(is_own).unwrap_or(0),
            Move::BackOut => before.into_iter().find(is_outer).unwrap_or(0),
            Move::To(line) => after.into_iter().find(|tick| is_line(tick, *line)).unwrap_or(end),
            Move::BackTo(line) => before.into_iter().find(|tick| is_line(tick, *line)).unwrap_or(0),
        }
    }

    /// The calls that a call was made from.
    fn outer(&self, call: u32) -> Vec<u32> {
        let calls = std::iter::successors(self.trace.callers.get(&call), |call| self.trace.callers.get(*call));
        calls.copied().filter(|outer| *outer != call).collect()
    }
}

/// Whether a name has no value because its declaration has not run.
fn is_not_declared_yet(value: &Value) -> bool {
    value["error"]["name"] == "ReferenceError"
}

/// The execution that an instant names.
fn execution_of(request: &str, events: &[Event], at: &InsideAt) -> Result<Execution, Fault> {
    // As it is written where the request is not known: REQUEST@PATH.
    let at_path = at.path.strip_prefix(request).and_then(|rest| rest.strip_prefix('@')).unwrap_or(&at.path);
    let begun = events.iter().filter_map(|event| match (&event.kind, &event.path) {
        (EventKind::BlockStarted { .. }, Some(path)) if **path == *at_path => Some((path.clone(), event.attempt)),
        _ => None,
    });
    let begun: Vec<_> = begun.collect();
    let Some((path, last)) = begun.last() else {
        return Err(Fault::not_found(format!("request \"{request}\" has no block at {at_path}")));
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
fn error_of(events: &[Event], execution: &Execution) -> Option<FlowError> {
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
fn deepest(events: &[Event], path: &str) -> String {
    let inside = format!("{path}/");
    let failed = |event: &Event| matches!(event.kind, EventKind::BlockFinished { error: Some(_), .. });
    let known = events.iter().filter_map(|event| Some((failed(event), event.path.as_deref()?)));
    let found = known.filter(|(_, path)| path.starts_with(&inside));
    let deepest = found.max_by_key(|(failed, path)| (*failed, path.matches('/').count()));
    deepest.map_or("one of its steps", |(_, path)| path).to_owned()
}

/// The stack at a statement; its newest frame is the statement itself.
fn stack_of(hit: &Hit, site: &Site, table: &SiteTable) -> Vec<StackFrame> {
    let own = StackFrame { function: site.function.to_string(), file: site.file.clone(), line: site.line };
    let frames = hit.stack.lines().filter_map(|line| {
        let (function, place) = line.trim().strip_prefix("at ")?.split_once(" (")?;
        let (place, _column) = place.trim_end_matches(')').rsplit_once(':')?;
        let (file, line) = place.rsplit_once(':')?;
        let line = line.parse().ok()?;
        // Frames of the runtime, and of what an `async` function was lowered to, stand at no statement.
        let is_statement = |at: usize| table.sites[at].line <= line && line <= table.sites[at].end_line;
        let is_known = table.of_file(file).any(is_statement);
        is_known.then(|| StackFrame { function: function.to_owned(), file: file.to_owned(), line })
    });
    std::iter::once(own).chain(frames.skip(1)).collect()
}
