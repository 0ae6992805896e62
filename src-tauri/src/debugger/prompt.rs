//! `flowglass debug`: a prompt over a recorded request. A line is a command with its arguments, and gets one answer.
//!
//! Invalid lines get an answer, too. The prompt ends with `q` or the end of the input.

mod answer;
mod words;

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;

use runner::{Fault, InsideAt, Local, PrintedValue, Workspace};
use serde_json::Value;

use self::answer::{Answer, BreakpointRow, Ticks};
use self::words::{Place, Word};
use super::breakpoints::{AtLine, Kind};
use super::session::Session;
use crate::cli::{Outcome, Stop, exit};
use crate::print;

/// How many lines `where` shows on each side.
const REACH: u32 = 4;

struct Prompt {
    session: Session,
    is_json: bool,
    /// The command that an empty line repeats.
    last_move: Option<String>,
}

/// Runs the prompt until its input ends.
pub(crate) fn debug(
    workspace: &Arc<Workspace>,
    dir: &Path,
    request: &str,
    at: Option<&InsideAt>,
    is_json: bool,
) -> Result<Outcome, Stop> {
    crate::inside::show_progress(workspace);
    let session = Session::open(workspace.clone(), dir, request, at)?;
    let mut prompt = Prompt { session, is_json, last_move: None };
    // Ignore a closed output: its reader has gone away.
    let _ = prompt.run();
    Ok(Outcome { json: Value::Null, text: String::new(), code: exit::DONE })
}

impl Prompt {
    fn run(&mut self) -> std::io::Result<()> {
        let mut input = std::io::stdin().lock();
        let shows_prompt = std::io::stdin().is_terminal() && !self.is_json;
        self.say(&Answer::at(&self.session, self.session.arrived()))?;
        if shows_prompt {
            self.write("h lists the commands\n")?;
        }
        loop {
            if shows_prompt {
                self.write("> ")?;
            }
            let mut line = Vec::new();
            if input.read_until(b'\n', &mut line)? == 0 {
                return if shows_prompt { self.write("\n") } else { Ok(()) };
            }
            let line = String::from_utf8_lossy(&line).trim().to_owned();
            let line = match &self.last_move {
                Some(last) if line.is_empty() => last.clone(),
                _ => line,
            };
            let answer = match Word::read(&line) {
                Ok(Word::Quit) => return Ok(()),
                Ok(word) => {
                    if word.is_move() {
                        self.last_move = Some(line.clone());
                    }
                    self.answer(word).unwrap_or_else(|fault| Answer::of_fault(&fault))
                }
                Err(wrong) => Answer::of_fault(&Fault::Invalid { message: wrong, details: Vec::new() }),
            };
            self.say(&answer.to(line))?;
        }
    }

    fn answer(&mut self, word: Word) -> Result<Answer, Fault> {
        let session = &mut self.session;
        let reached = match word {
            Word::Step(to) => session.step(&to)?,
            Word::GoOn(direction) => session.go_on(direction)?,
            Word::RunTo(line, direction) => session.run_to(line, direction)?,
            Word::Where => {
                let lines = session.files.around(session.here(), REACH);
                return Ok(Answer::lines(session.here(), &lines, session.scopes()?));
            }
            Word::Break(place, condition) => {
                let at = line_of(session, place, condition)?;
                return set(session, Kind::Line(at));
            }
            Word::Watch(address) => return set(session, Kind::State { address, hits: None }),
            Word::Breakpoints => return Ok(Answer::breakpoints(session.breakpoints.iter().map(BreakpointRow::new))),
            Word::Delete(number) => {
                let before = session.breakpoints.len();
                session.breakpoints.retain(|held| held.number != number);
                if session.breakpoints.len() == before {
                    let message = format!("there is no breakpoint {number}; b lists them");
                    return Err(Fault::NotFound { message });
                }
                return Ok(Answer::breakpoints(session.breakpoints.iter().map(BreakpointRow::new)));
            }
            Word::Print(expression) => {
                let values = session.values(session.here(), &[expression])?;
                return Ok(values.into_iter().next().map(Answer::value).unwrap_or_default());
            }
            Word::Stack => return Ok(Answer::stack(session)),
            Word::Locals => return Ok(Answer::locals(&session.here().locals, session.scopes()?)),
            Word::Tick => {
                let here = session.here();
                let ticks = Ticks { tick: here.tick, ticks: here.ticks, order: here.order, end: session.end() };
                return Ok(Answer::ticks(ticks));
            }
            Word::Help => return Ok(Answer::help(words::help())),
            Word::Nothing => {
                return Ok(Answer::help("nothing to repeat yet; n goes to the next statement\n".to_owned()));
            }
            Word::Quit => return Ok(Answer::default()),
        };
        Ok(Answer::at(session, reached))
    }

    fn say(&self, answer: &Answer) -> std::io::Result<()> {
        if self.is_json {
            let document = serde_json::to_string(answer).map_err(std::io::Error::other)?;
            return self.write(&format!("{document}\n"));
        }
        self.write(&answer.text)
    }

    fn write(&self, text: &str) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        out.write_all(crate::terminal::harmless(text).as_bytes())?;
        out.flush()
    }
}

fn set(session: &mut Session, kind: Kind) -> Result<Answer, Fault> {
    let is_line = matches!(kind, Kind::Line(_));
    let held = session.set(kind)?;
    if let Some(message) = held.note.clone().filter(|_| is_line && held.line.is_none()) {
        session.breakpoints.pop();
        return Err(Fault::NotFound { message });
    }
    let row = BreakpointRow::new(held);
    Ok(Answer::breakpoints(std::iter::once(row)))
}

/// Resolves a place that a person typed: without a file, it is in the current one.
fn line_of(session: &Session, place: Place, condition: Option<String>) -> Result<AtLine, Fault> {
    let file = match place.file {
        Some(file) => session.files.find(&file).map_err(|message| Fault::NotFound { message })?.1.to_owned(),
        None => session.here().file.clone(),
    };
    Ok(AtLine { file, line: place.line, column: place.column, condition, hits: None, log: None })
}

/// A name in scope, and its value, on a line.
fn local(local: &Local, width: usize) -> String {
    format!("  {:width$}  {}\n", local.name, value(&local.value))
}

fn value(value: &PrintedValue) -> String {
    print::inside::value(value)
}
