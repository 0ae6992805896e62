//! What a question is about: which recorded value, and which part of it.
//!
//! A question that names nothing is refused with what there is.

use std::collections::HashSet;
use std::sync::Arc;

use engine::event::Event;
use engine::scope::ScopeKind;

use super::around::Around;
use super::log::RequestLog;
use super::record::NO_EXECUTION;
use super::spot::{Spot, StateSpot, name_in};
use crate::core::fault::Fault;
use crate::views::{WhyAsked, WhyPlace, WhyQuery};
use crate::workspace::Workspace;
use crate::workspace::inside::InsideAt;

/// What a value may be asked by.
const PLACES: &str = "a JSON pointer like /topic, alone or after input:, output:, error:, prompt: or prompt#2:, or a \
                      place of a state like session.topic or state:session/topic";
/// So many paths are named where one is not there.
const MAX_NAMED: usize = 5;

/// A question as it was asked.
pub(super) struct Asking<'q> {
    at: At,
    what: What<'q>,
}

enum At {
    Seq(u64),
    Block { path: String, attempt: Option<u32> },
}

enum What<'q> {
    /// A pointer in what an event or a block has by itself.
    Usual(&'q str),
    /// A pointer in a named value, and which of several, from 1.
    Named {
        place: WhyPlace,
        number: Option<usize>,
        pointer: &'q str,
    },
    /// A place of a state as `history` takes it.
    State {
        address: String,
        named: &'q str,
    },
    Text(&'q str),
}

/// What a question is about.
pub(super) struct Question {
    pub(super) at: String,
    pub(super) asked: WhyAsked,
    pub(super) found: Found,
    /// The executions that count although they were given up, because the question is about them.
    pub(super) executions: Vec<u32>,
    /// How many other values have the text.
    pub(super) elsewhere: usize,
}

pub(super) enum Found {
    Recorded(Spot),
    State(StateSpot),
}

impl<'q> Asking<'q> {
    /// Reads a question, without the request.
    pub(super) fn read(query: &'q WhyQuery) -> Result<Asking<'q>, Fault> {
        let at = match query.at.parse::<u64>() {
            Ok(seq) => At::Seq(seq),
            Err(_) => {
                let at: InsideAt = query.at.parse().map_err(|_| wrong_at(&query.at))?;
                if at.tick.is_some() {
                    return Err(wrong_at(&query.at));
                }
                At::Block { path: at.path, attempt: at.attempt }
            }
        };
        let what = match (&query.value, &query.text) {
            (Some(value), None) => what_of(value)?,
            (None, Some(text)) if text.is_empty() => {
                return Err(Fault::invalid("--text is empty: give the words whose origin is wanted"));
            }
            (None, Some(text)) => What::Text(text),
            (Some(_), Some(_)) => return Err(Fault::invalid("give --value or --text, not both")),
            (None, None) => {
                return Err(Fault::invalid(format!("say what to explain: --text WORDS, or --value with {PLACES}")));
            }
        };
        Ok(Asking { at, what })
    }

    /// Finds what it is about.
    pub(super) fn find(&self, workspace: &Workspace, log: &Arc<RequestLog>) -> Result<Question, Fault> {
        let (event, execution) = self.place(log)?;
        let at = match execution.and_then(|one| log.executions.get(one as usize)) {
            Some(one) => format!("{}#{}", one.path, one.attempt),
            None => event.map_or(0, |event| event.seq).to_string(),
        };
        let around = Around { log, event, execution: execution.unwrap_or(NO_EXECUTION), at: &at };
        let (found, asked, elsewhere) = match &self.what {
            What::Usual(pointer) => (around.value(around.usual()?, pointer)?, None, 0),
            What::Named { place, number, pointer } => (around.value(around.named(*place, *number)?, pointer)?, None, 0),
            What::State { address, named } => {
                let seq = around.instant(matches!(self.at, At::Seq(_)));
                (Found::State(workspace.state_spot(log, address, named, seq)?), None, 0)
            }
            What::Text(text) => {
                let (spot, elsewhere) = around.text(text)?;
                (Found::Recorded(spot), Some((*text).to_owned()), elsewhere)
            }
        };
        let (place, pointer) = match &found {
            Found::Recorded(spot) => (spot.record().place, spot.view().pointer),
            Found::State(spot) => (WhyPlace::State, Some(spot.pointer.clone())),
        };
        let asked = WhyAsked { place, pointer, text: asked };
        let executions = execution.map(|one| given_up_family(log, one)).unwrap_or_default();
        Ok(Question { at, asked, found, executions, elsewhere })
    }

    /// The event that the question names, and the execution.
    fn place<'l>(&self, log: &'l RequestLog) -> Result<(Option<&'l Event>, Option<u32>), Fault> {
        let request = &log.row.id;
        match &self.at {
            At::Seq(seq) => {
                let event = log.events.binary_search_by_key(seq, |event| event.seq).ok().map(|at| &log.events[at]);
                let last = log.row.last_seq;
                let event = event.ok_or_else(|| {
                    Fault::not_found(format!("request \"{request}\" has the events 1 to {last}, not {seq}"))
                })?;
                Ok((Some(event), log.execution_of(event)))
            }
            At::Block { path, attempt } => {
                let there = log.executions.iter().filter(|one| *one.path == **path).map(|one| one.attempt);
                let Some(newest) = there.max() else {
                    let text = format!("request \"{request}\" has no block at \"{path}\"{}", nearest(log, path));
                    return Err(Fault::not_found(text));
                };
                let execution = log.execution(path, attempt.unwrap_or(newest)).ok_or_else(|| {
                    Fault::not_found(format!(
                        "block \"{path}\" of request \"{request}\" has attempts 0 to {newest}, not {}",
                        attempt.unwrap_or(newest)
                    ))
                })?;
                Ok((None, Some(execution)))
            }
        }
    }
}

fn wrong_at(text: &str) -> Fault {
    Fault::invalid(format!(
        "--at {text:?}: name a block as PATH or PATH#ATTEMPT, as show lists it, or the number of an event"
    ))
}

fn what_of(text: &str) -> Result<What<'_>, Fault> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(What::Usual(text));
    }
    if let Some((word, pointer)) = text.split_once(':') {
        let (name, number) = match word.split_once('#') {
            Some((name, number)) => (name, Some(number.parse::<usize>().ok().filter(|number| *number > 0))),
            None => (word, None),
        };
        let place = match (name, number) {
            ("input", None) => Some(WhyPlace::Input),
            ("output", None) => Some(WhyPlace::Output),
            ("error", None) => Some(WhyPlace::Error),
            ("prompt", None | Some(Some(_))) => Some(WhyPlace::Prompt),
            ("prompt", Some(None)) => {
                return Err(Fault::invalid(format!("--value {text:?}: calls are counted from 1, like prompt#2:")));
            }
            _ => None,
        };
        if let Some(place) = place {
            if !pointer.is_empty() && !pointer.starts_with('/') {
                let text = format!("--value {text:?}: what follows {word}: is a JSON pointer, like {word}:/topic");
                return Err(Fault::invalid(text));
            }
            return Ok(What::Named { place, number: number.flatten(), pointer });
        }
        if word == "state" {
            let (scope, pointer) = split_scope(pointer);
            return Ok(What::State { address: name_in(scope, pointer), named: text });
        }
    }
    let word = text.split(['.', '[']).next().unwrap_or_default();
    if ScopeKind::parse(word).is_some() {
        return Ok(What::State { address: text.to_owned(), named: text });
    }
    Err(Fault::invalid(format!("--value {text:?}: write {PLACES}")))
}

/// A scope and the pointer behind it; the path in brackets has slashes of its own.
fn split_scope(text: &str) -> (&str, &str) {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => return text.split_at(at),
            _ => {}
        }
    }
    (text, "")
}

/// Of an execution that was given up, or is inside of one: itself, those around it and those inside it.
fn given_up_family(log: &RequestLog, execution: u32) -> Vec<u32> {
    let mut is_given_up = false;
    let mut around = execution;
    while let Some(one) = log.executions.get(around as usize) {
        is_given_up |= one.is_given_up;
        around = one.parent;
    }
    if !is_given_up {
        return Vec::new();
    }
    let mut family: HashSet<u32> = HashSet::from([execution]);
    // A block begins after the one around it.
    for (at, one) in (0_u32..).zip(&log.executions) {
        if family.contains(&one.parent) {
            family.insert(at);
        }
    }
    let mut around = log.executions.get(execution as usize).map_or(NO_EXECUTION, |one| one.parent);
    while let Some(one) = log.executions.get(around as usize) {
        family.insert(around);
        around = one.parent;
    }
    family.into_iter().collect()
}

/// The paths that may have been meant: those with the most in common with a name.
fn nearest(log: &RequestLog, path: &str) -> String {
    let mut seen = HashSet::new();
    let mut known: Vec<(usize, &str)> = Vec::new();
    let wanted: HashSet<&str> = parts(path).collect();
    for one in log.executions.iter().filter(|one| seen.insert(one.path.clone())) {
        let shared = parts(&one.path).filter(|part| wanted.contains(part)).count();
        let begins = path.bytes().zip(one.path.bytes()).take_while(|(one, other)| one == other).count();
        known.push((shared * 1_000 + begins.min(999), &one.path));
    }
    known.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.len().cmp(&other.1.len())));
    let named: Vec<&str> = known.iter().take(MAX_NAMED).map(|(_, path)| *path).collect();
    match (named.is_empty(), known.len() - named.len()) {
        (true, _) => "; it has none yet".to_owned(),
        (_, 0) => format!("; its blocks: {}", named.join(", ")),
        (_, more) => format!("; the nearest: {} ({more} more)", named.join(", ")),
    }
}

fn parts(path: &str) -> impl Iterator<Item = &str> {
    path.split(['/', ':', '[', ']']).filter(|part| !part.is_empty())
}
