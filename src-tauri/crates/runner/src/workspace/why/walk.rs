//! Walks from a value back to its causes, and collects the edges of the answer.
//!
//! Facts of the log come first: a reference to an earlier event, a write, a message of the history. Then values with
//! the same content. Any other value was computed. Must not claim more: an edge found by content is not `proven`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::EventKind;
use script::Made;
use serde_json::Value;

use super::causes::{Cause, Causes};
use super::code::Definitions;
use super::index::is_short;
use super::log::RequestLog;
use super::messages::Sources;
use super::near;
use super::record::{NO_EXECUTION, Part, is_from_outside, refers_to};
use super::spot::{Span, Spot};
use super::structure::{beside, maker, step_before, streamed};
use crate::core::fault::Fault;
use crate::views::{Json, WhyBy, WhyEdge, WhyKind, WhyPlace, WhySpot};
use crate::workspace::Workspace;

/// The maximum length of a chain.
pub(super) const MAX_DEPTH: u32 = 64;
/// Deeper values of a list or an object are not searched.
const MAX_LEVELS: usize = 32;
/// How many of the values that a block had are named.
const MAX_INPUTS: usize = 6;
/// How many characters of a span are shown.
const MAX_SHOWN: usize = 200;
/// Longer values are left out of the answer.
pub(super) const MAX_VALUE_BYTES: usize = 4_096;

/// An unfinished answer.
pub(super) struct Walk<'w> {
    pub(super) workspace: &'w Workspace,
    pub(super) causes: Causes,
    pub(super) edges: Vec<WhyEdge>,
    pub(super) truncated: bool,
    limit: usize,
    logs: HashMap<String, Arc<RequestLog>>,
    seen: HashSet<(String, usize, String, Option<Span>)>,
    pub(super) sources: HashMap<(String, u32), Arc<Sources>>,
    pub(super) definitions: Definitions,
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

    /// Returns the log of a request, which is read only once.
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

    /// Explains a recorded value, and the values that it came from.
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
            // Schemas are part of the code, which is loaded only if there may be a default.
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
        let parts = near::joined(spot);
        if !parts.is_empty() {
            for (pointer, of) in parts {
                let part = Spot { pointer, ..spot.clone() };
                self.copied(&part, Cause::known(of), depth, (false, Some("branch")))?;
            }
            return Ok(());
        }
        if let Some((of, operation)) = near::of_member(spot).or_else(|| near::entry_given(spot)) {
            return self.copied(spot, Cause::known(of), depth, (false, Some(operation)));
        }
        self.explain_content(spot, depth)
    }

    /// Explains the content of a recorded value by earlier values.
    pub(super) fn explain_content(&mut self, spot: &Spot, depth: u32) -> Result<(), Fault> {
        let Some(value) = spot.value().map(std::borrow::Cow::into_owned) else {
            return self.computed(spot, depth, None, true);
        };
        if spot.record().place == WhyPlace::Prompt
            && let Some((cause, operation)) = self.message(spot, &value)?
        {
            return self.copied(spot, cause, depth, (true, Some(operation)));
        }
        if is_short(&value) {
            return self.explain_short(spot, &value, depth);
        }
        let cause = self.nearest(spot, self.causes.of_value(spot, &value));
        let code = self.whole_in_code(spot, &value);
        match (cause, code) {
            (Some(cause), Some(code)) if !code.is_of_made && cause.is_got() => {
                return self.copied_or_code(spot, cause, (depth, None), Some(code));
            }
            (cause, Some(code)) => {
                let ties = cause.filter(Cause::is_got).map(|cause| cause.spot.view());
                return self.of_code(spot, depth, (code.at, None), ties.into_iter().collect());
            }
            (Some(mut cause), None) if !self.is_mostly_code(spot, &value) => {
                cause.spot.span = spot.span;
                return self.copied(spot, cause, depth, (false, None));
            }
            _ => {}
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
                self.computed(spot, depth, None, true)?;
                for part in inside {
                    self.explain_content(&part, depth + 1)?;
                }
                Ok(())
            }
            _ => self.computed(spot, depth, None, true),
        }
    }

    /// Finds the parts of a list or an object that equal earlier values.
    fn matched(&mut self, spot: &Spot, value: &Value, found: &mut Vec<Spot>) {
        // Each level costs another hash of its content.
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

    pub(super) fn copied(
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

    /// Adds that code made a value, and from which values. If that is not proven, it may be a copy.
    pub(super) fn computed(&mut self, spot: &Spot, depth: u32, text: Option<&str>, proven: bool) -> Result<(), Fault> {
        let (maker, path) = self.maker_of(spot);
        let by = path.as_deref().map(|path| self.made_by(spot, path));
        let (inputs, text) = (self.inputs(spot, maker), text.map(cut));
        self.push(WhyEdge { by, text, inputs, proven, ..edge(WhyKind::Computed, depth, spot.view()) });
        Ok(())
    }

    /// Adds that a text is a literal of the code, at a place of the file. It may also come from the other values.
    pub(super) fn of_code(
        &mut self,
        spot: &Spot,
        depth: u32,
        (at, text): (usize, Option<&str>),
        ties: Vec<WhySpot>,
    ) -> Result<(), Fault> {
        let (maker, path) = self.maker_of(spot);
        let value = spot.value().and_then(|value| value.as_str().map(str::to_owned));
        let text = text.map(str::to_owned).or(value).unwrap_or_default();
        let request = spot.log.row.id.clone();
        let by = path.as_deref().map(|path| self.definitions.text_at(self.workspace, (&request, path), at, &text));
        let others = Some(ties.len() as u64).filter(|many| *many > 0);
        let (inputs, proven, text) = (self.inputs(spot, maker), ties.is_empty(), Some(cut(&text)));
        let operation = Some("text_of_code".to_owned());
        let made = edge(WhyKind::Computed, depth, spot.view());
        self.push(WhyEdge { by, operation, text, inputs, proven, ties, others, ..made });
        Ok(())
    }

    /// The execution whose code made a value, and its path.
    pub(super) fn maker_of(&self, spot: &Spot) -> (u32, Option<Arc<str>>) {
        let (log, record) = (&spot.log, spot.record());
        let maker = maker(log, &record);
        let path = log.executions.get(maker as usize).map(|one| one.path.clone());
        (maker, path.or_else(|| log.event(&record).path.clone()))
    }

    /// The values that an execution had before it made a value.
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

/// An edge without details.
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

/// Returns a value for an answer; `None` if it is too large.
pub(super) fn small(value: Option<&Value>) -> Option<Json> {
    value.filter(|value| value.to_string().len() <= MAX_VALUE_BYTES).map(|value| Json(value.clone()))
}

/// The beginning of a text.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
