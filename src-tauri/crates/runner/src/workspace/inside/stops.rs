//! Where a request stops at breakpoints: at statements, at writes to a state, at errors. A debugger goes from one to
//! the next, in either direction, by their order.

use script::{Asked, Probed, Question};
use store::EventQuery;

use super::super::Workspace;
use super::at::InsideAt;
use super::print::checked;
use super::probed_code::ProbedCode;
use crate::core::fault::Fault;

/// The maximum number of stops at one breakpoint.
const MAX_STOPS: usize = 10_000;

/// A breakpoint at a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// Relative to the workspace, or a full path in it.
    pub file: String,
    /// From 1, in the file as it ran.
    pub line: u32,
    /// From 1.
    pub column: Option<u32>,
    /// It stops only if this expression is true.
    pub condition: Option<String>,
    /// Expressions whose values a log point shows.
    pub expressions: Vec<String>,
}

/// A time that a request stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// The statement.
    pub at: InsideAt,
    /// The number of the statement among those of all blocks, from 1.
    pub order: u64,
    /// The previews of the breakpoint's expressions.
    pub said: Vec<String>,
}

/// The actual line of a breakpoint, and its stops.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stops {
    /// The line of its statement; `None` if the line has none.
    pub line: Option<u32>,
    /// In order of time.
    pub stops: Vec<Stopped>,
    /// The errors of its condition, if there were any.
    pub note: Option<String>,
}

impl Workspace {
    /// Finds every time that a request stops at a breakpoint. Fails if an expression does not parse.
    pub fn stops_at(&self, request: &str, breakpoint: &Breakpoint) -> Result<Stops, Fault> {
        let file = self.file_name_in(&breakpoint.file);
        let mut names = Vec::new();
        for text in breakpoint.expressions.iter().chain(&breakpoint.condition) {
            names.extend(checked(text, &file)?);
        }
        let expressions = match &breakpoint.expressions[..] {
            [] => vec!["undefined".to_owned()],
            some => some.to_vec(),
        };
        self.stops(request, MAX_STOPS, |code| {
            let site = code.table.find(&file, breakpoint.line, breakpoint.column, &names)?;
            let (condition, expressions) = (breakpoint.condition.clone(), expressions.clone());
            let sites = Some(code.table.asked(site, breakpoint.column));
            let question = Question { condition, expressions, sites, ..Question::default() };
            Some((Some(code.table.sites[site as usize].line), question))
        })
    }

    /// The first statement that a request ran; `None` if it ran none.
    pub fn first_statement(&self, request: &str) -> Result<Option<Stopped>, Fault> {
        let question = |_: &ProbedCode| {
            Some((None, Question { expressions: vec!["undefined".to_owned()], ..Question::default() }))
        };
        Ok(self.stops(request, 1, question)?.stops.into_iter().next())
    }

    /// Finds stops in every part of a request, with the code that the part ran. `question` returns the query for a code
    /// and the line of its statement, if the code has one.
    fn stops(
        &self,
        request: &str,
        limit: usize,
        question: impl Fn(&ProbedCode) -> Option<(Option<u32>, Question)>,
    ) -> Result<Stops, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let parts = self.parts(&events)?;
        if parts.codes().next().is_none() {
            return Err(Fault::not_found(parts.missing()));
        }
        let mut found = Stops::default();
        for (at, code) in parts.codes() {
            let left = limit.saturating_sub(found.stops.len());
            let Some((line, question)) = question(code).filter(|_| left > 0) else { continue };
            found.line = found.line.or(line);
            // Stops of later code in the time of earlier code are left out, so they must not use up the limit.
            let most = if at == 0 { left } else { MAX_STOPS.max(left) };
            let hidden = self.hidden_env(question.expressions.iter().chain(&question.condition));
            let asked = Asked::Values { of: None, ticks: (1, u64::from(u32::MAX)), limit: most, open: None };
            let answer = self.ask(&row, events.clone(), code, question, asked)?;
            let shift = self.order_shift(&row, &events, &parts, at)?;
            let probed = &answer.replayed.probed;
            let own = probed.hits.iter().filter(|hit| parts.has(at, &hit.execution)).take(left);
            found.stops.extend(own.map(|hit| Stopped {
                at: InsideAt {
                    path: hit.execution.path.to_string(),
                    attempt: Some(hit.execution.attempt),
                    tick: Some(hit.tick),
                },
                order: hit.order.saturating_add_signed(shift),
                said: hit.values.as_array().into_iter().flatten().map(said).collect(),
            }));
            let ended_by = parts.all[at].ended_by(&answer);
            found.note = found.note.or_else(|| failed_condition(probed)).or(ended_by).or(hidden);
        }
        Ok(found)
    }

    /// The statement that wrote an event: the last statement of its block that began before the event.
    pub fn statement_of(&self, request: &str, seq: u64) -> Result<Stopped, Fault> {
        let query = EventQuery { from: Some(seq), limit: Some(1), ..EventQuery::default() };
        let events = self.store.events(request, &query).map_err(Fault::internal)?;
        let missing = || Fault::not_found(format!("event {seq} of request \"{request}\" is of no statement"));
        let event = events.into_iter().find(|event| event.seq == seq).ok_or_else(missing)?;
        let path = event.path.ok_or_else(missing)?;
        let at = InsideAt { path: path.to_string(), attempt: Some(event.attempt), tick: None };
        let (tick, order) = self.tick_before(request, &at, seq)?.ok_or_else(missing)?;
        Ok(Stopped { at: InsideAt { tick: Some(tick), ..at }, order, said: Vec::new() })
    }
}

/// Describes the errors of a condition, if there were any.
pub(super) fn failed_condition(probed: &Probed) -> Option<String> {
    let error = probed.condition_error.as_ref()?;
    let times =
        if probed.failed_conditions == 1 { "once".to_owned() } else { format!("{} times", probed.failed_conditions) };
    Some(format!("the condition failed {times}, first: {error}"))
}

/// A value of a log point.
fn said(taken: &serde_json::Value) -> String {
    match taken.get("error") {
        Some(error) => {
            let text = |field: &str| error[field].as_str().unwrap_or_default().to_owned();
            format!("<{}: {}>", text("name"), text("message"))
        }
        None => taken["preview"].as_str().unwrap_or_default().to_owned(),
    }
}
