//! Where a request stops at breakpoints: at statements, at writes to a state, at errors. A debugger goes from one to
//! the next, in either direction, by their order.

use script::{Asked, Probed, Question};
use store::EventQuery;

use super::super::Workspace;
use super::at::InsideAt;
use super::print::checked;
use crate::core::fault::Fault;

/// How many times a request stops at one breakpoint at the most.
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
    /// Only when this expression holds.
    pub condition: Option<String>,
    /// What is said there: expressions whose values are taken.
    pub expressions: Vec<String>,
}

/// A time that a request stops.
#[derive(Clone, Debug, PartialEq)]
pub struct Stopped {
    /// Where.
    pub at: InsideAt,
    /// Which of the statements of all blocks, from 1.
    pub order: u64,
    /// The previews of the breakpoint's expressions.
    pub said: Vec<String>,
}

/// Where a breakpoint really is, and when a request stops there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stops {
    /// The line of its statement; `None` if the line has none.
    pub line: Option<u32>,
    /// In order.
    pub stops: Vec<Stopped>,
    /// How its condition failed, if it did.
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
        let code = self.code_of_request(request)?.map_err(Fault::not_found)?;
        let Some(site) = code.table.find(&file, breakpoint.line, breakpoint.column, &names) else {
            return Ok(Stops::default());
        };
        let expressions = match &breakpoint.expressions[..] {
            [] => vec!["undefined".to_owned()],
            some => some.to_vec(),
        };
        let condition = breakpoint.condition.clone();
        let question = Question { condition, expressions, sites: Some(vec![site]), ..Question::default() };
        let stops = self.stops(request, question, MAX_STOPS)?;
        Ok(Stops { line: Some(code.table.sites[site as usize].line), ..stops })
    }

    /// The first statement that a request ran; `None` if it ran none.
    pub fn first_statement(&self, request: &str) -> Result<Option<Stopped>, Fault> {
        let question = Question { expressions: vec!["undefined".to_owned()], ..Question::default() };
        Ok(self.stops(request, question, 1)?.stops.into_iter().next())
    }

    fn stops(&self, request: &str, question: Question, limit: usize) -> Result<Stops, Fault> {
        let code = self.code_of_request(request)?.map_err(Fault::not_found)?;
        let (row, events) = self.whole_log_of(request)?;
        let asked = Asked::Values { of: None, ticks: (1, u64::from(u32::MAX)), limit, open: None };
        let hidden = self.hidden_env(question.expressions.iter().chain(&question.condition));
        let answer = self.ask(&row, events, &code, question, asked)?;
        let stop = |hit: &script::Hit| Stopped {
            at: InsideAt {
                path: hit.execution.path.to_string(),
                attempt: Some(hit.execution.attempt),
                tick: Some(hit.tick),
            },
            order: hit.order,
            said: hit.values.as_array().into_iter().flatten().map(said).collect(),
        };
        let probed = &answer.replayed.probed;
        Ok(Stops {
            line: None,
            stops: probed.hits.iter().map(stop).collect(),
            note: failed_condition(probed).or(hidden),
        })
    }

    /// The statement that wrote an event: the last one of the event's block that began before it.
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

/// Says how a condition failed, if it did.
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
