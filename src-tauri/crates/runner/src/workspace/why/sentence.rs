//! The answer in words. Says what the edges say, and no more.

use serde_json::Value;

use super::index::is_short;
use super::question::{Found, Question};
use crate::views::{WhyBy, WhyEdge, WhyKind, WhyPlace, WhySpot};

/// So many values are named in a sentence.
const MAX_NAMED: usize = 3;
/// So many values with the same content are named as other origins.
const MAX_TIES: usize = 2;

/// Returns the answer in a sentence or two.
pub(super) fn answer(question: &Question, value: Option<&Value>, edges: &[WhyEdge], truncated: bool) -> String {
    let request = match &question.found {
        Found::Recorded(spot) => &spot.log.row.id,
        Found::State(spot) => &spot.log.row.id,
    };
    let words = Words { request };
    let of_question: Vec<&WhyEdge> = edges.iter().filter(|edge| edge.depth == 0).collect();
    let mut text = match of_question.as_slice() {
        [] => "Nothing is recorded of it.".to_owned(),
        [first] => words.chain(first, edges, value.is_some_and(Value::is_string)),
        several => words.parts(several),
    };
    if value.is_some_and(is_short) && question.asked.text.is_none() {
        text.push_str(" It is short, so only the values next to the block were compared with it.");
    }
    if question.elsewhere > 0 {
        let (many, plural) = (question.elsewhere, if question.elsewhere == 1 { "value has" } else { "values have" });
        text.push_str(&format!(" {many} more {plural} the text there."));
    }
    if truncated {
        text.push_str(" The answer is cut; a higher limit shows more.");
    }
    text
}

/// What is known of earlier values if one was computed.
const ALONE: &str = "; no earlier recorded value is the same";

struct Words<'r> {
    request: &'r str,
}

impl Words<'_> {
    /// One chain of edges, from the value to its end.
    fn chain(&self, first: &WhyEdge, edges: &[WhyEdge], is_text: bool) -> String {
        let mut text = self.step(first, is_text);
        text.push_str(&self.ties(first, edges));
        text.push_str(&code_as_well(first, edges));
        let is_line = edges.iter().zip(0..).all(|(edge, depth)| edge.depth == depth);
        // What was computed is not what it was computed from: the cause ends there.
        let cause = edges.iter().find(|edge| edge.kind == WhyKind::Computed).or(edges.last());
        match cause {
            Some(last) if is_line && last.depth > 0 => {
                // Another request that wrote it is more than a step on the way.
                let is_of_other = |edge: &&WhyEdge| {
                    let of = edge.of.as_ref().filter(|_| edge.kind == WhyKind::Written && edge.depth > 0);
                    of.is_some_and(|of| of.request_id != *self.request)
                };
                if let Some(write) = edges.iter().find(is_of_other).filter(|write| write.depth < last.depth) {
                    text.push(' ');
                    text.push_str(&self.written(write));
                }
                text.push(' ');
                // The place that the first sentence names is not named a second time.
                let is_named = last.depth == 1 && first.of.as_ref() == Some(&last.spot);
                if is_named && last.kind == WhyKind::Recorded && last.operation.is_none() {
                    text.push_str("It entered the log there.");
                } else {
                    text.push_str(&self.end(last));
                }
            }
            _ => text.push_str(&self.branching(edges)),
        }
        text
    }

    /// The parts of a value behind its whole copies: where the first copy is put together from several.
    fn branching(&self, edges: &[WhyEdge]) -> String {
        let at_depth = |depth: u32| edges.iter().filter(move |edge| edge.depth == depth);
        let is_whole = |depth: &u32| {
            let mut here = at_depth(*depth);
            let only = here.next().filter(|_| here.next().is_none());
            only.is_some_and(|only| only.kind == WhyKind::Copied)
        };
        let depth = (0..).find(|depth| !is_whole(depth)).unwrap_or_default();
        let here: Vec<&WhyEdge> = at_depth(depth).collect();
        match here.as_slice() {
            [] => String::new(),
            [made] => {
                let made_so = if depth > 0 { format!(" {}", self.end(made)) } else { String::new() };
                let inside: Vec<&WhyEdge> = at_depth(depth + 1).filter(|edge| edge.kind == WhyKind::Copied).collect();
                if inside.is_empty() {
                    return made_so;
                }
                format!("{made_so} Parts of it are in {}.", self.named(&inside))
            }
            several => format!(" {}", self.parts(several)),
        }
    }

    /// The values with the same content that the log does not rule out, of the first step that has any.
    fn ties(&self, first: &WhyEdge, edges: &[WhyEdge]) -> String {
        let is_line = |(edge, depth): &(&WhyEdge, u32)| edge.depth == *depth;
        let mut line = edges.iter().zip(0..).take_while(is_line).map(|(edge, _)| edge);
        let is_tie = |edge: &&WhyEdge| edge.kind != WhyKind::Written && edge.others.is_some();
        let Some(tie) = line.find(is_tie) else { return String::new() };
        let (mut text, others) = (String::new(), tie.others.unwrap_or_default());
        // A value on the way back is no other origin.
        let is_on_way = |spot: &WhySpot| edges.iter().any(|edge| edge.of.as_ref() == Some(spot) || edge.spot == *spot);
        let ties = tie.ties.iter().filter(|spot| !is_on_way(spot)).take(MAX_TIES);
        let named: Vec<String> = ties.map(|spot| self.place(spot)).collect();
        if !named.is_empty() {
            let subject = if tie.depth == first.depth { "It" } else { "What came before" };
            text.push_str(&format!(" {subject} may as well be from {}.", named.join(" or ")));
        }
        let more = others.saturating_sub(named.len() as u64);
        if more > 0 && tie.depth == first.depth {
            let plural = if more == 1 { "value is" } else { "values are" };
            text.push_str(&format!(" {more} other earlier {plural} the same."));
        }
        text
    }

    fn step(&self, edge: &WhyEdge, is_text: bool) -> String {
        let of = edge.of.as_ref().unwrap_or(&edge.spot);
        let what = if is_text { "text" } else { "value" };
        match edge.kind {
            WhyKind::Recorded => format!("It entered the log here, as {}.", self.recorded(edge)),
            WhyKind::Copied if edge.proven => format!("It is {}.", self.place(of)),
            WhyKind::Copied if edge.operation.is_some() => format!("It equals {}.", self.place(of)),
            WhyKind::Copied => format!("The same {what} is in {}.", self.place(of)),
            WhyKind::Computed => self.computed(edge),
            WhyKind::Written => self.written(edge),
        }
    }

    /// How a chain ends.
    fn end(&self, edge: &WhyEdge) -> String {
        match edge.kind {
            WhyKind::Recorded => format!("It entered the log as {}.", self.recorded(edge)),
            WhyKind::Copied => format!("Further back it is in {}.", self.place(edge.of.as_ref().unwrap_or(&edge.spot))),
            WhyKind::Computed => self.computed(edge),
            WhyKind::Written => self.written(edge),
        }
    }

    fn recorded(&self, edge: &WhyEdge) -> String {
        let place = self.place(&edge.spot);
        if edge.operation.as_deref() == Some("or_default") {
            format!("{place}, or a default of its schema")
        } else {
            place
        }
    }

    fn computed(&self, edge: &WhyEdge) -> String {
        let is_of_around = edge.spot.place == WhyPlace::Input;
        match (&edge.by, edge.operation.as_deref()) {
            (Some(by), Some("text_of_code")) => format!("It is text of the code, {}.", source(by)),
            // A short value may be a copy of any other.
            (Some(by), _) if is_of_around && edge.spot.path.as_deref() != Some(&by.path) && !edge.proven => {
                format!("It was made in {}; whether it was computed or copied is not known.", source(by))
            }
            (Some(by), _) if !edge.proven => {
                format!("The code of {} made it; whether it computed or copied it is not known.", source(by))
            }
            (Some(by), _) if is_of_around && edge.spot.path.as_deref() != Some(&by.path) => {
                format!("A function of {} computed it{ALONE}.", source(by))
            }
            (Some(by), _) => format!("{} computed it{ALONE}.", source(by)),
            (None, _) if edge.proven => format!("Code computed it for {}.", self.place(&edge.spot)),
            (None, _) => "Where it comes from is not known.".to_owned(),
        }
    }

    fn written(&self, edge: &WhyEdge) -> String {
        let scope = edge.spot.scope.as_deref().unwrap_or("the state");
        let operation = edge.operation.as_deref().unwrap_or("write");
        let of = edge.of.as_ref().unwrap_or(&edge.spot);
        let place = format!("{scope}{}", edge.spot.pointer.as_deref().unwrap_or_default());
        match (&edge.by, operation) {
            (Some(by), "default") => format!("It is the default in {scope} of {}.", source(by)),
            (None, "default") => format!("It is the default in {scope}."),
            (_, "fork") => format!("The fork began with it at {place}, with edits."),
            (_, "stored") => {
                format!("It was at {place} when the request began, and no other request in this database wrote it.")
            }
            (by, _) => {
                let by = by.as_ref().map_or_else(|| "the request itself".to_owned(), source);
                let request = if of.request_id == *self.request {
                    String::new()
                } else {
                    format!(" in the earlier request {}", of.request_id)
                };
                format!("{by} wrote it to {place}{request} ({operation}, event {}).", of.seq)
            }
        }
    }

    /// A text of several parts.
    fn parts(&self, edges: &[&WhyEdge]) -> String {
        let mut ties: Vec<String> = Vec::new();
        for tie in edges.iter().filter(|edge| edge.kind == WhyKind::Computed).flat_map(|edge| &edge.ties) {
            let named = self.place(tie);
            if !ties.contains(&named) && ties.len() < MAX_TIES {
                ties.push(named);
            }
        }
        let ties = if ties.is_empty() {
            String::new()
        } else {
            format!(" Text of the code may as well be from {}.", ties.join(" or "))
        };
        let copied: Vec<&WhyEdge> = edges.iter().filter(|edge| edge.kind == WhyKind::Copied).copied().collect();
        let code: Vec<&WhyEdge> = edges.iter().filter(|edge| edge.kind == WhyKind::Computed).copied().collect();
        let rest = match code.iter().find(|edge| edge.operation.is_some()).and_then(|edge| edge.by.as_ref()) {
            Some(by) if code.iter().all(|edge| edge.operation.is_some()) => {
                format!("; the rest is text of the code, {}", source(by))
            }
            Some(by) => format!("; the rest was computed or is text of the code, {}", source(by)),
            None if code.is_empty() => String::new(),
            None => "; the rest is in no earlier value".to_owned(),
        };
        if copied.is_empty() {
            let by = code.iter().find_map(|edge| edge.by.as_ref()).map_or_else(String::new, source);
            let is_all = code.iter().all(|edge| edge.operation.is_some());
            let rest = if is_all { "" } else { "; the rest was computed or copied, which is not known" };
            return format!("Parts of it are text of the code, {by}{rest}.{ties}");
        }
        let parts = if copied.len() == 1 { "A part of it is" } else { "Parts of it are" };
        format!("{parts} in {}{rest}.{ties}", self.named(&copied))
    }

    fn named(&self, edges: &[&WhyEdge]) -> String {
        let mut names: Vec<String> = Vec::new();
        for edge in edges {
            let name = self.place(edge.of.as_ref().unwrap_or(&edge.spot));
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let more = names.len().saturating_sub(MAX_NAMED);
        names.truncate(MAX_NAMED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{}{more}", names.join(", "))
    }

    fn place(&self, spot: &WhySpot) -> String {
        let path = spot.path.as_deref().unwrap_or("the request");
        let name = match spot.place {
            WhyPlace::RequestInput if spot.request_id == self.request => "the input of the request".to_owned(),
            WhyPlace::RequestInput => "the input".to_owned(),
            WhyPlace::Input => format!("the input of {path}"),
            WhyPlace::Output => format!("the output of {path}"),
            WhyPlace::Error => format!("the error of {path}"),
            WhyPlace::Prompt => format!("the prompt of {path}"),
            WhyPlace::Asked => format!("what {path} asked for"),
            WhyPlace::ModelAnswer => format!("the answer of a model to {path}"),
            WhyPlace::Reply => format!("the reply that {path} got"),
            WhyPlace::Person => format!("the answer of a person to {path}"),
            WhyPlace::State => match spot.path {
                Some(_) => format!("the write of {path} to the {} state", spot.scope.as_deref().unwrap_or("block's")),
                None => format!("the {} state", spot.scope.as_deref().unwrap_or("block's")),
            },
            WhyPlace::Item => format!("an item of {path}"),
            WhyPlace::Returned => format!("what a function of {path} returned"),
            WhyPlace::Edit => "an edit of the fork".to_owned(),
            WhyPlace::Journal => "the journal of the session".to_owned(),
        };
        let request = if spot.request_id == self.request { "" } else { &format!(" of request {}", spot.request_id) };
        let pointer = spot.pointer.as_deref().filter(|pointer| !pointer.is_empty());
        // Keys are recorded text: one that does not look like a key is quoted.
        let is_plain = |c: char| c.is_alphanumeric() || "/_-~.".contains(c);
        let pointer =
            pointer.map(
                |pointer| {
                    if pointer.chars().all(is_plain) { format!("{pointer}, ") } else { format!("{pointer:?}, ") }
                },
            );
        let pointer = pointer.unwrap_or_default();
        format!("{name}{request} ({pointer}event {})", spot.seq)
    }
}

/// The code that has the text of the first copied value, too.
fn code_as_well(first: &WhyEdge, edges: &[WhyEdge]) -> String {
    let line = edges.iter().zip(first.depth..).take_while(|(edge, depth)| edge.depth == *depth);
    let found = line.map(|(edge, _)| edge).find(|edge| edge.kind == WhyKind::Copied && edge.by.is_some());
    let Some((edge, by)) = found.and_then(|edge| Some((edge, edge.by.as_ref()?))) else { return String::new() };
    let subject = if edge.depth == first.depth { "It" } else { "What came before" };
    format!(" {subject} may as well be text of the code, {}.", source(by))
}

/// A block with its file and line.
fn source(by: &WhyBy) -> String {
    match (&by.file, by.line) {
        (Some(file), Some(line)) => format!("{} ({file}:{line})", by.path),
        _ => by.path.clone(),
    }
}
