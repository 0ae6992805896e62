//! Answers of the prompt: a text for people, and the same as a JSON document.

use runner::{EndOfBlock, Fault, Instant, Local, PrintedValue, ScopeSeen, StackFrame};
use serde::Serialize;

use super::super::breakpoints::Held;
use super::super::files::SourceLine;
use super::super::session::{Reached, Session};
use super::{local, value};
use crate::print;

/// The answer to a line.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Answer {
    #[serde(skip)]
    pub(super) text: String,
    /// The line that it answers; empty for the first answer, which says where the prompt begins.
    pub(super) command: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    at: Option<Box<Instant>>,
    /// The breakpoints that stop here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stopped_by: Vec<u32>,
    /// Whether there is nothing further in the direction of the movement.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    end: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<LineRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<PrintedValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    locals: Option<Vec<Local>>,
    /// The state of every scope as the block sees it.
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<Vec<ScopeSeen>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blocks: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<Vec<StackFrame>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    breakpoints: Option<Vec<BreakpointRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticks: Option<Ticks>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Problem>,
}

#[derive(Serialize)]
struct LineRow {
    line: u32,
    text: String,
}

/// The number of a statement.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Ticks {
    /// Of its block, from 1.
    pub(super) tick: u64,
    pub(super) ticks: u64,
    /// Of the request, from 1.
    pub(super) order: u64,
    pub(super) end: u64,
}

#[derive(Serialize)]
struct Problem {
    name: &'static str,
    code: &'static str,
    message: String,
}

/// A breakpoint of a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BreakpointRow {
    number: u32,
    /// `flows/cart.ts:18 if total < 0`
    name: String,
    /// How many times the request stops there.
    times: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl BreakpointRow {
    pub(super) fn new(held: &Held) -> BreakpointRow {
        BreakpointRow { number: held.number, name: held.name(), times: held.stops.len(), note: held.note.clone() }
    }
}

impl Answer {
    /// The answer to a line.
    pub(super) fn to(self, command: String) -> Answer {
        Answer { command, ..self }
    }

    /// The place of the session, and why it stopped there.
    pub(super) fn at(session: &Session, reached: Reached) -> Answer {
        let here = session.here();
        let mut text = String::new();
        for note in reached.note.iter().chain(&here.note) {
            text.push_str(&format!("{note}\n"));
        }
        for number in &reached.stopped_by {
            if let Some((_, reason)) = session.reason(*number) {
                text.push_str(&format!("breakpoint {number}: {reason}\n"));
            }
        }
        text.push_str(&place(here));
        for line in session.files.around(here, 0) {
            text.push_str(&format!("{:>6}  {}\n", line.line, line.text));
        }
        text.push_str(&error(here));
        Answer {
            text,
            at: Some(Box::new(here.clone())),
            stopped_by: reached.stopped_by,
            end: reached.is_end,
            note: reached.note,
            ..Answer::default()
        }
    }

    /// The statement with the lines around it, and the state of every scope.
    pub(super) fn lines(here: &Instant, lines: &[SourceLine<'_>], state: Vec<ScopeSeen>) -> Answer {
        let mut text = place(here);
        for line in lines {
            let mark = if line.line == here.line { '>' } else { ' ' };
            text.push_str(&format!("{mark}{:>5}  {}\n", line.line, line.text));
        }
        text.push_str(&error(here));
        text.push_str(&print::inside::state(&state));
        let row = |line: &SourceLine<'_>| LineRow { line: line.line, text: line.text.to_owned() };
        let lines = Some(lines.iter().map(row).collect());
        Answer { text, at: Some(Box::new(here.clone())), lines, state: Some(state), ..Answer::default() }
    }

    pub(super) fn value(printed: PrintedValue) -> Answer {
        Answer { text: format!("{}\n", value(&printed)), value: Some(printed), ..Answer::default() }
    }

    pub(super) fn locals(locals: &[Local], state: Vec<ScopeSeen>) -> Answer {
        let width = locals.iter().map(|local| local.name.chars().count()).max().unwrap_or(0).min(24);
        let mut text: String = locals.iter().map(|one| local(one, width)).collect();
        if locals.is_empty() {
            text = "no names in scope but those of the whole file\n".to_owned();
        }
        text.push_str(&print::inside::state(&state));
        Answer { text, locals: Some(locals.to_vec()), state: Some(state), ..Answer::default() }
    }

    /// The blocks from the root down, and below them the functions that run.
    pub(super) fn stack(session: &Session) -> Answer {
        let here = session.here();
        let blocks: Vec<String> = session.blocks_around(&here.path, here.attempt).map(|row| row.path.clone()).collect();
        let mut text: String = blocks.iter().map(|path| format!("{path}\n")).collect();
        for frame in here.stack.iter().rev() {
            text.push_str(&format!("    {} ({}:{})\n", frame.function, frame.file, frame.line));
        }
        Answer { text, blocks: Some(blocks), stack: Some(here.stack.clone()), ..Answer::default() }
    }

    pub(super) fn breakpoints(rows: impl Iterator<Item = BreakpointRow>) -> Answer {
        let rows: Vec<BreakpointRow> = rows.collect();
        let mut text = String::new();
        for row in &rows {
            let times = if row.times == 1 { "once".to_owned() } else { format!("{} times", row.times) };
            let note = row.note.as_ref().map_or(times, Clone::clone);
            text.push_str(&format!("{:>4}  {}  ({note})\n", row.number, row.name));
        }
        if rows.is_empty() {
            text = "no breakpoints; b FILE:LINE sets one\n".to_owned();
        }
        Answer { text, breakpoints: Some(rows), ..Answer::default() }
    }

    pub(super) fn ticks(ticks: Ticks) -> Answer {
        let Ticks { tick, ticks: all, order, end } = ticks;
        let text = format!("statement {tick} of {all} of this block, {order} of {end} of the request\n");
        Answer { text, ticks: Some(ticks), ..Answer::default() }
    }

    pub(super) fn help(text: String) -> Answer {
        Answer { help: Some(text.clone()), text, ..Answer::default() }
    }

    pub(super) fn of_fault(fault: &Fault) -> Answer {
        let message = fault.to_string();
        let text = format!("{message}\n");
        let error = Problem { name: fault.name(), code: fault.code(), message };
        Answer { text, error: Some(error), ..Answer::default() }
    }
}

fn place(here: &Instant) -> String {
    let ended = match here.ended {
        Some(EndOfBlock::Start) => "  before the first statement",
        Some(EndOfBlock::End) => "  after the last statement",
        Some(EndOfBlock::Error) => "  the block has failed",
        None => "",
    };
    let Instant { file, line, column, function, instant, ticks, .. } = here;
    format!("{file}:{line}:{column} in {function}  {instant} of {ticks}{ended}\n")
}

fn error(here: &Instant) -> String {
    here.error.as_ref().map(|error| format!("throws {}: {}\n", error.name, error.message)).unwrap_or_default()
}
