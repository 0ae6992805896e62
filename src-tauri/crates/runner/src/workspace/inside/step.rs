//! Steps through a block of a recorded request, forward and back. The statements of one execution are traced once; a
//! step is a place in that trace, and the values there come from one more run that stops at it.

use std::cell::OnceCell;
use std::sync::Arc;

use engine::error::{FlowError, told};
use engine::event::{Event, Seq};
use script::{Asked, Execution, Hit, Question, Site};
use serde_json::Value;

use super::super::Workspace;
use super::at::{InsideAt, Move};
use super::executions::{deepest, error_of, execution_of, meant};
use super::handle::Handle;
use super::print::{checked, no_statement};
use super::probed_code::ProbedCode;
use super::trace::Trace;
use crate::core::fault::Fault;
use crate::views::{EndOfBlock, Instant, Local, PrintedValue, RequestRow, ThrownByExpression};

/// What is said of a statement at which no values were taken.
const NOT_TAKEN: &str = "no values can be taken here: the runtime has no room left at this depth of recursion, or the \
                         replay ended before";

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

/// One block of a request.
pub(super) struct Inside<'q> {
    row: RequestRow,
    events: Vec<Event>,
    pub(super) code: Arc<ProbedCode>,
    execution: Execution,
    pub(super) trace: Arc<Trace>,
    pub(super) error: Option<FlowError>,
    pub(super) thrown: OnceCell<Option<u64>>,
    /// The statement that the query names, if it names one.
    tick: Option<u64>,
    query: &'q StepQuery,
}

impl Workspace {
    /// Returns an instant inside a block: its place in the code, the values there, and the stack. Writes nothing to the
    /// database. Fails if the request has no such block, or its block no such statement.
    pub fn step(&self, request: &str, query: &StepQuery) -> Result<Instant, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let missing = |why: String| Fault::not_found(format!("request \"{request}\": {why}"));
        let at = meant(request, &events, &query.at);
        let execution = execution_of(request, &events, &at)?;
        let (code, trace) = self.trace(&row, &events, &execution)?;
        let error = error_of(&events, &execution);
        if trace.statements.is_empty() {
            return Err(missing(format!(
                "block {} ran no statement of a function: step into a handler, like {}",
                execution.path,
                deepest(&events, &execution.path)
            )));
        }
        let thrown = OnceCell::new();
        let inside = Inside { row, events, code, execution, trace, error, thrown, tick: at.tick, query };
        let from = inside.from()?;
        let to = inside.on_statement(from, &query.to)?;
        let (tick, failed) = match &to {
            Move::Until(expression) => self.until(&inside, from, expression)?,
            to => (inside.moved(from, to), None),
        };
        let missed = inside.missed(tick).or_else(|| inside.thrown_by_none());
        let mut instant = self.instant_inside(inside, tick)?;
        let missed = missed.into_iter().chain(failed).reduce(|missed, failed| format!("{missed}: {failed}"));
        instant.note = missed.or(instant.note).or_else(|| self.hidden_env(query.watches.iter()));
        Ok(instant)
    }

    /// The last statement of an execution that began before an event was written: its tick and its order.
    pub(super) fn tick_before(&self, request: &str, at: &InsideAt, seq: Seq) -> Result<Option<(u64, u64)>, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let execution = execution_of(request, &events, at)?;
        let (_, trace) = self.trace(&row, &events, &execution)?;
        let ticks = trace.seqs.partition_point(|before| *before < seq);
        Ok(ticks.checked_sub(1).map(|at| (ticks as u64, trace.statements[at].order)))
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
        let end = inside.ticks() + 1;
        Ok((probed.hits.first().map_or(end, |hit| hit.tick.min(end)), failed))
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
            stack: hit.as_ref().map(|hit| trace.stack(at, &code.table, &hit.stack)).unwrap_or_default(),
            seq: trace.seqs[at],
            order: statement.order,
            ended,
            error: thrown.map(|error| ThrownByExpression {
                name: error.name.clone(),
                message: told(&error.message, error.details.as_ref()),
            }),
            note: trace.note.clone().or_else(|| (is_inside && hit.is_none()).then(|| NOT_TAKEN.to_owned())),
            code: code.hash.clone(),
            state: Vec::new(),
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
        // Values of another statement would be wrong.
        Ok(answer.replayed.probed.hits.into_iter().next().filter(|hit| hit.site == number))
    }
}

impl Inside<'_> {
    pub(super) fn ticks(&self) -> u64 {
        self.trace.statements.len() as u64
    }

    /// Says that a line was not reached, or that an expression did not hold.
    fn missed(&self, tick: u64) -> Option<String> {
        let (line, when) = match &self.query.to {
            Move::To(line) if tick > self.ticks() => (line, "after"),
            Move::BackTo(line) if tick == 0 => (line, "before"),
            Move::Until(_) if tick > self.ticks() => {
                return Some("the expression holds at no later statement of this block".to_owned());
            }
            _ => return None,
        };
        Some(format!("line {line} is not reached in this block {when} the instant that was left"))
    }

    /// Says how the block failed if the statement that threw is wanted and is not known.
    fn thrown_by_none(&self) -> Option<String> {
        let is_wanted = self.tick.is_none() && self.query.to == Move::Stay && self.thrown_at().is_none();
        let error = self.error.as_ref().filter(|_| is_wanted)?;
        let message = told(&error.message, error.details.as_ref());
        Some(format!("none of its statements is known to have thrown, but the block failed: {}: {message}", error.name))
    }

    pub(super) fn site(&self, tick: u64) -> &Site {
        &self.code.table.sites[self.trace.statements[tick as usize - 1].site as usize]
    }

    fn from(&self) -> Result<u64, Fault> {
        let ticks = self.ticks();
        match self.tick {
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
        let outer: Vec<u32> = own.map(|own| self.trace.outer(own).collect()).unwrap_or_default();
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

    /// A move to a line as one to the statement that is on it. Fails if the line has none.
    fn on_statement(&self, from: u64, to: &Move) -> Result<Move, Fault> {
        let (Move::To(asked) | Move::BackTo(asked)) = to else { return Ok(to.clone()) };
        let file = &self.site(from.clamp(1, self.ticks())).file;
        let found = self.code.table.find(file, *asked, None, &[]);
        let line = found.map(|at| self.code.table.sites[at as usize].line);
        let line = line.ok_or_else(|| Fault::invalid(no_statement(&self.code, file, *asked)))?;
        Ok(if matches!(to, Move::To(_)) { Move::To(line) } else { Move::BackTo(line) })
    }
}

/// Whether a name has no value because its declaration has not run.
fn is_not_declared_yet(value: &Value) -> bool {
    value["error"]["name"] == "ReferenceError"
}
