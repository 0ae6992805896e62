//! From a value back to its causes: the edges of an answer.
//!
//! What the log says comes first: a reference to an earlier event, a write, a message of the history. Then values with
//! the same content. What is left was computed. Must not claim more than that: an edge by content is not `proven`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::EventKind;
use script::Made;
use serde_json::Value;

use super::causes::{Cause, Causes, PartCause};
use super::code::Definitions;
use super::cover::MIN_PART;
use super::json_bytes::in_json;
use super::log::RequestLog;
use super::messages::Sources;
use super::record::{NO_EXECUTION, Part, is_from_outside, refers_to};
use super::spot::{Span, Spot};
use super::structure::{beside, maker, step_before, streamed};
use crate::core::fault::Fault;
use crate::views::{Json, WhyBy, WhyEdge, WhyKind, WhyPlace, WhySpot};
use crate::workspace::Workspace;

/// A chain is cut after so many steps.
const MAX_DEPTH: u32 = 64;
/// No deeper values of a list or an object are looked for.
const MAX_LEVELS: usize = 32;
/// So many parts of a text that no earlier value contains are edges of their own.
const MAX_GAPS: usize = 8;
/// So many of the values that a block had are named.
const MAX_INPUTS: usize = 6;
/// So many characters around a part of a text are looked for in the code with it.
const AROUND: usize = 2;
/// So many characters of a span are shown.
const MAX_SHOWN: usize = 200;
/// A longer value is not a part of the answer.
pub(super) const MAX_VALUE_BYTES: usize = 4_096;

/// An answer in the making.
pub(super) struct Walk<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) causes: Causes,
    pub(super) edges: Vec<WhyEdge>,
    pub(super) truncated: bool,
    limit: usize,
    logs: HashMap<String, Arc<RequestLog>>,
    seen: HashSet<(String, usize, String, Option<Span>)>,
    pub(super) sources: HashMap<(String, u32), Arc<Sources>>,
    definitions: Definitions,
}

impl<'w> Walk<'w> {
    pub(super) fn new(workspace: &'w Workspace, limit: usize) -> Walk<'w> {
        Walk {
            workspace,
            causes: Causes::default(),
            edges: Vec::new(),
            truncated: false,
            limit,
            logs: HashMap::new(),
            seen: HashSet::new(),
            sources: HashMap::new(),
            definitions: Definitions::default(),
        }
    }

    /// The log of a request; each is read once.
    pub(super) fn log(&mut self, request: &str) -> Result<Arc<RequestLog>, Fault> {
        if let Some(known) = self.logs.get(request) {
            return Ok(known.clone());
        }
        let log = self.workspace.why_log(request)?;
        self.truncated |= log.index.is_cut;
        self.logs.insert(request.to_owned(), log.clone());
        Ok(log)
    }

    /// Adds an edge, unless there are too many.
    pub(super) fn push(&mut self, edge: WhyEdge) -> bool {
        if self.edges.len() >= self.limit {
            self.truncated = true;
            return false;
        }
        self.edges.push(edge);
        true
    }

    /// Explains a recorded value, and all that it leads to.
    pub(super) fn explain(&mut self, spot: &Spot, depth: u32) -> Result<(), Fault> {
        if depth > MAX_DEPTH {
            self.truncated = true;
            return Ok(());
        }
        if !self.seen.insert(spot.key()) {
            return Ok(());
        }
        let record = spot.record();
        let log = spot.log.clone();
        let event = log.event(&record);
        if is_from_outside(record.place) && refers_to(&event.kind, record.part).is_none() {
            // Schemas are of the code, which is loaded only where it has a default.
            let may_be_default = record.place == WhyPlace::RequestInput
                && self.definitions.says_default(self.workspace, &log.row.id, "root")
                && self.workspace.may_be_default(spot);
            let operation = may_be_default.then(|| "or_default".to_owned());
            self.push(WhyEdge { operation, ..edge(WhyKind::Recorded, depth, spot.view()) });
            return Ok(());
        }
        match (record.part, &event.kind) {
            (Part::Stored(_), _) => return self.explain_stored(spot, depth),
            (_, EventKind::StateInitialized { .. }) => return self.explain_first(spot, spot.view(), depth),
            (_, EventKind::StateChanged { .. }) => return self.explain_write(spot, depth),
            _ => {}
        }
        if let Some(target) = refers_to(&event.kind, record.part).and_then(|seq| log.record_of(seq)) {
            let of = Spot { record: target, ..spot.clone() };
            return self.copied(spot, Cause::known(of), depth, (true, None));
        }
        if let Some((of, operation)) = beside(spot) {
            return self.copied(spot, Cause::known(of), depth, (false, Some(operation)));
        }
        self.explain_content(spot, depth)
    }

    /// Explains the content of a recorded value by earlier values.
    pub(super) fn explain_content(&mut self, spot: &Spot, depth: u32) -> Result<(), Fault> {
        let Some(value) = spot.value().map(std::borrow::Cow::into_owned) else {
            return self.computed(spot, depth, (None, None));
        };
        if spot.record().place == WhyPlace::Prompt
            && let Some((cause, operation)) = self.message(spot, &value)?
        {
            return self.copied(spot, cause, depth, (true, Some(operation)));
        }
        let cause = self.causes.of_value(spot, &value);
        let is_text_of_code = match (&value, &cause) {
            // A state that the block sees may say the same as its code.
            (Value::String(text), Some(cause)) if !cause.is_own || cause.spot.record().place == WhyPlace::State => {
                self.is_text_of_code(spot, text, (0, text.len()))
            }
            _ => false,
        };
        if let Some(mut cause) = cause.filter(|_| !is_text_of_code) {
            cause.spot.span = spot.span;
            return self.copied(spot, cause, depth, (false, None));
        }
        if let Some(mut of) = streamed(spot, &value) {
            of.span = spot.span;
            return self.copied(spot, Cause::known(of), depth, (false, Some("answer")));
        }
        match &value {
            Value::String(text) => self.explain_text(spot, text, depth),
            Value::Array(_) | Value::Object(_) => {
                let mut inside = Vec::new();
                self.matched(spot, &value, &mut inside);
                self.computed(spot, depth, (None, None))?;
                for part in inside {
                    self.explain_content(&part, depth + 1)?;
                }
                Ok(())
            }
            _ => self.computed(spot, depth, (None, None)),
        }
    }

    /// The values in a list or an object that earlier values have, too.
    fn matched(&mut self, spot: &Spot, value: &Value, found: &mut Vec<Spot>) {
        // Each level is hashed again.
        if found.len() > self.limit || spot.pointer.split('/').count() > MAX_LEVELS {
            return;
        }
        let mut inner = |walk: &mut Self, segment: &str, item: &Value| {
            let mut part = Spot { span: None, ..spot.clone() };
            super::pointer::push(&mut part.pointer, segment);
            let is_found = match item {
                Value::String(text) => {
                    walk.causes.of_value(&part, item).is_some() || !walk.causes.of_text(&part, text).is_empty()
                }
                item => walk.causes.of_value(&part, item).is_some(),
            };
            let is_found = is_found || item.is_string() && streamed(&part, item).is_some();
            if is_found {
                found.push(part);
            } else {
                walk.matched(&part, item, found);
            }
        };
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| inner(self, &at.to_string(), item));
            }
            Value::Object(fields) => fields.iter().for_each(|(key, item)| inner(self, key, item)),
            _ => {}
        }
    }

    /// Whether a span of a text is in the definition of the block whose code made it, with the letters before or
    /// after it. A whole text may be there because the code compares with it, so only a longer one counts.
    fn is_text_of_code(&mut self, spot: &Spot, text: &str, (from, to): Span) -> bool {
        if (from, to) == (0, text.len()) && text.len() < MIN_PART {
            return false;
        }
        let log = &spot.log;
        let Some(maker) = log.executions.get(maker(log, &spot.record()) as usize) else { return false };
        let path = maker.path.clone();
        let first = text[..from].char_indices().rev().take(AROUND).last().map_or(from, |(at, _)| at);
        let end = text[to..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| to + at);
        // On one side there may be a value.
        let mut has = |words: &str| self.definitions.has(self.workspace, &log.row.id, &path, words);
        has(&text[first..to]) || has(&text[from..end])
    }

    /// Explains a text by the parts that earlier texts have.
    fn explain_text(&mut self, spot: &Spot, text: &str, depth: u32) -> Result<(), Fault> {
        let mut parts = self.causes.of_text(spot, text);
        // What the code says is not copied from a value that says the same.
        parts.retain(|part| {
            let is_own = part.cause.is_own && part.cause.spot.record().place != WhyPlace::State;
            is_own || !self.is_text_of_code(spot, text, part.span)
        });
        if parts.is_empty() {
            let shown = spot.span.map_or(text, |(from, to)| &text[from..to]);
            return self.computed(spot, depth, (Some(shown), None));
        }
        let (first, end) = spot.span.unwrap_or((0, text.len()));
        let mut gaps = Vec::new();
        let mut at = first;
        for PartCause { span, .. } in &parts {
            gaps.push((at, span.0));
            at = span.1;
        }
        gaps.push((at, end));
        for PartCause { span, cause } in parts {
            let part = Spot { span: Some(span), ..spot.clone() };
            let is_pushed = self.copied_text(&part, cause, depth, &text[span.0..span.1])?;
            if !is_pushed {
                return Ok(());
            }
        }
        gaps.retain(|(from, to)| !text[*from..*to].trim().is_empty());
        let many = gaps.len();
        for (from, to) in gaps.into_iter().take(MAX_GAPS) {
            let part = Spot { span: Some((from, to)), ..spot.clone() };
            self.computed(&part, depth, (Some(&text[from..to]), None))?;
        }
        self.truncated |= many > MAX_GAPS;
        Ok(())
    }

    fn copied_text(&mut self, spot: &Spot, cause: Cause, depth: u32, text: &str) -> Result<bool, Fault> {
        let of = WhySpot { as_json: cause.is_json, ..cause.spot.view() };
        let edge = WhyEdge {
            of: Some(of),
            text: Some(cut(text)),
            others: Some(cause.others).filter(|others| *others > 0),
            ties: cause.ties,
            ..edge(WhyKind::Copied, depth, spot.view())
        };
        if !self.push(edge) {
            return Ok(false);
        }
        let next = if cause.is_json { in_json(cause.spot) } else { cause.spot };
        self.explain(&next, depth + 1)?;
        Ok(true)
    }

    fn copied(
        &mut self,
        spot: &Spot,
        cause: Cause,
        depth: u32,
        (proven, operation): (bool, Option<&str>),
    ) -> Result<(), Fault> {
        let edge = WhyEdge {
            of: Some(cause.spot.view()),
            proven,
            operation: operation.map(str::to_owned),
            others: Some(cause.others).filter(|others| *others > 0),
            ties: cause.ties,
            ..edge(WhyKind::Copied, depth, spot.view())
        };
        if self.push(edge) { self.explain(&cause.spot, depth + 1) } else { Ok(()) }
    }

    /// Adds that code made a value, and what it had to make it from.
    fn computed(
        &mut self,
        spot: &Spot,
        depth: u32,
        (text, operation): (Option<&str>, Option<&str>),
    ) -> Result<(), Fault> {
        let record = spot.record();
        let log = spot.log.clone();
        let event = log.event(&record);
        let maker = maker(&log, &record);
        let path = log.executions.get(maker as usize).map(|one| one.path.clone()).or(event.path.clone());
        let (mut by, mut operation) = (None, operation.map(str::to_owned));
        if let Some(path) = path.as_deref() {
            by = Some(self.made_by(spot, path));
            if let Some(place) =
                text.and_then(|text| self.definitions.text(self.workspace, &log.row.id, path, text.trim()))
            {
                by = Some(place);
                operation = Some("text_of_code".to_owned());
            }
        }
        let inputs = self.inputs(spot, maker);
        let text = text.map(cut);
        self.push(WhyEdge { by, operation, text, inputs, proven: true, ..edge(WhyKind::Computed, depth, spot.view()) });
        Ok(())
    }

    /// What an execution had before it made a value.
    fn inputs(&self, spot: &Spot, maker: u32) -> Vec<WhySpot> {
        let (log, record) = (&spot.log, spot.record());
        if maker == NO_EXECUTION {
            return Vec::new();
        }
        let of = |place: WhyPlace| log.records_at(maker, place).into_iter();
        let own = of(WhyPlace::Input).next_back().into_iter();
        let outside = [WhyPlace::ModelAnswer, WhyPlace::Reply, WhyPlace::Person].into_iter().flat_map(of);
        let before = step_before(log, &record).into_iter().filter(|_| record.place == WhyPlace::Input);
        let all = before.chain(own).chain(outside).filter(|at| log.records[*at].seq < record.seq);
        all.take(MAX_INPUTS).map(|at| Spot::new(log, at, "").view()).collect()
    }

    /// The block at a path, with its file and line if they are known.
    pub(super) fn block(&mut self, request: &str, path: &str) -> WhyBy {
        self.definitions.block(self.workspace, request, path)
    }

    /// The block whose code made a value, with the line that makes the field if its definition has one.
    fn made_by(&mut self, spot: &Spot, path: &str) -> WhyBy {
        let log = &spot.log;
        if let Some((scope, base, _)) = log.scope_of(&spot.record()) {
            return self.writer(&log.row.id, path, &scope, &format!("{base}{}", spot.pointer));
        }
        let segments = super::pointer::segments(&spot.pointer);
        let is_name = |segment: &&String| !segment.bytes().all(|byte| byte.is_ascii_digit());
        match segments.iter().rfind(is_name) {
            Some(field) => self.definitions.maker(self.workspace, &log.row.id, path, Made::Field(field)),
            None => self.definitions.block(self.workspace, &log.row.id, path),
        }
    }

    /// The block that wrote to a place of a state, with the line of the call if its definition has one.
    pub(super) fn writer(&mut self, request: &str, path: &str, scope: &str, place: &str) -> WhyBy {
        let scope = scope.split('[').next().unwrap_or_default();
        match super::pointer::segments(place).first() {
            Some(field) => self.definitions.maker(self.workspace, request, path, Made::Write { scope, field }),
            None => self.definitions.block(self.workspace, request, path),
        }
    }
}

/// An edge of which no more is known.
pub(super) fn edge(kind: WhyKind, depth: u32, spot: WhySpot) -> WhyEdge {
    WhyEdge {
        kind,
        depth,
        spot,
        of: None,
        proven: matches!(kind, WhyKind::Recorded | WhyKind::Written),
        by: None,
        operation: None,
        text: None,
        old: None,
        new: None,
        others: None,
        ties: Vec::new(),
        inputs: Vec::new(),
    }
}

/// A value for an answer, if it is not large.
pub(super) fn small(value: Option<&Value>) -> Option<Json> {
    value.filter(|value| value.to_string().len() <= MAX_VALUE_BYTES).map(|value| Json(value.clone()))
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
