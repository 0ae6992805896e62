//! The events that the spans of a trace become, one after the other: a log is never whole in memory.

mod conversation;
mod counted;
mod lines;
mod shared;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use engine::error::FlowError;
use engine::event::{BlockKind, Event, EventKind, Foreign, Outcome, Recorded, RequestStatus, Seq};
use engine::generator::stored_messages::StoredMessages;
use engine::path::ROOT;
use serde_json::Value;

use self::conversation::{OpenTool, answer};
use self::counted::counted_calls;
use self::lines::lines;
use self::shared::Shared;
use super::arrangement::{Arrangement, Edge};
use super::decode::trace_hex;
use super::facts::{Facts, spoken};
use super::span::{ArrivedSpan, ERROR};
use super::tables::Role;
use super::trace::Trace;
use crate::core::id;

/// What a foreign request is called where nothing says.
const UNNAMED: &str = "trace";
/// Whose a foreign request is where nothing says.
const NOBODY: &str = "otlp";
/// Sessions of other programs are not those of flows: their ids begin so here.
const SESSIONS: &str = "otlp-";

impl Trace {
    /// The log of the request that the trace is, as of the spans that arrived; run, so to speak, by `owner`. Its events
    /// are handed to `take` in order, until that returns false.
    pub(crate) fn events(&self, owner: &str, take: &mut dyn FnMut(Event) -> bool) {
        let mut arrangement = Arrangement::of(&self.spans, self.is_settled);
        let calls = counted_calls(&mut arrangement, &self.spans);
        let mut log = LogOfTrace {
            trace: self,
            is_call: calls,
            open: HashMap::new(),
            take,
            is_wanted: true,
            last: 0,
            stored: StoredMessages::default(),
            said: HashSet::new(),
            tools: HashMap::new(),
            unnumbered_tools: VecDeque::new(),
            prompts: HashMap::new(),
            answer: None,
            resources: Shared::default(),
            scopes: Shared::default(),
            arrangement,
        };
        log.write(owner);
    }
}

/// A span that has begun, until it ends.
struct OpenSpan {
    facts: Facts,
    error: Option<FlowError>,
    /// The event with which its call of a model began.
    begun: Option<Seq>,
}

struct LogOfTrace<'t> {
    trace: &'t Trace,
    arrangement: Arrangement,
    open: HashMap<usize, OpenSpan>,
    is_call: Vec<bool>,
    take: &'t mut dyn FnMut(Event) -> bool,
    is_wanted: bool,
    last: Seq,
    stored: StoredMessages,
    /// Hashes of what users said.
    said: HashSet<blake3::Hash>,
    /// The items of tool calls without a result, by the call's id, and of those whose calls have no id.
    tools: HashMap<String, OpenTool>,
    unnumbered_tools: VecDeque<OpenTool>,
    /// What models that have not answered yet were asked with, by the events with which their calls began.
    prompts: HashMap<Seq, blake3::Hash>,
    /// What a model answered last.
    answer: Option<Value>,
    resources: Shared,
    scopes: Shared,
}

impl LogOfTrace<'_> {
    fn span(&self, at: usize) -> ArrivedSpan {
        self.trace.spans[at].span()
    }

    fn push(&mut self, at: i64, path: Option<Arc<str>>, kind: EventKind) -> Seq {
        self.last += 1;
        self.is_wanted = self.is_wanted && (self.take)(Event { seq: self.last, at, path, attempt: 0, kind });
        self.last
    }

    fn facts(&self, at: usize) -> Facts {
        Facts::of(&self.span(at), &self.trace.spans[at].outline)
    }

    fn write(&mut self, owner: &str) {
        let spans = &self.trace.spans;
        let ends = self.arrangement.placed.iter().map(|placed| placed.ended);
        let times = spans.iter().map(|span| span.start).chain(ends).filter(|time| *time > 0);
        let (first, last) = times.fold((u64::MAX, 0), |(first, last), time| (first.min(time), last.max(time)));
        let (first, last) = (if first == u64::MAX { 0 } else { millis(first) }, millis(last));
        let input = self.input();
        let started = self.started(owner, input.clone());
        self.push(first, None, started);
        self.push(first, None, EventKind::RequestStatus { status: RequestStatus::InProgress });
        let root: Arc<str> = ROOT.into();
        if self.arrangement.root.is_none() {
            let name = self.service().into();
            let input = input.map_or(Recorded::Undefined, |_| Recorded::Of(1));
            self.push(first, Some(root.clone()), block_started(name, BlockKind::Sequencer, None, input));
        }
        let edges = self.arrangement.edges(spans);
        for edge in edges {
            if !self.is_wanted {
                return;
            }
            match edge {
                Edge::Start(at) => self.start(at, first),
                Edge::End(at) => self.end(at, first),
            }
        }
        let tops = &self.arrangement.tops;
        // Those of which only log records arrived are tops if nothing more is expected.
        if tops.is_empty() || tops.iter().any(|top| spans[*top].end == 0 && !spans[*top].is_records) {
            return;
        }
        let without_end: Vec<usize> = tops.iter().copied().filter(|top| spans[*top].is_records).collect();
        for top in without_end {
            let path = self.arrangement.placed[top].path.clone();
            self.push(last, Some(path), block_finished(Outcome::Completed, None, None));
        }
        let tops = &self.arrangement.tops;
        let error = tops.iter().find_map(|top| failure(&self.span(*top)));
        self.end_tools(last);
        let output = self.output();
        let (status, outcome) = match error {
            Some(_) => (RequestStatus::Failed, Outcome::Failed),
            None => (RequestStatus::Completed, Outcome::Completed),
        };
        if self.arrangement.root.is_none() {
            let output = output.clone().map(Recorded::Value).filter(|_| error.is_none());
            self.push(last, Some(root), block_finished(outcome, output, error.clone()));
        }
        let output = output.map(Recorded::Value).filter(|_| error.is_none());
        self.push(last, None, EventKind::RequestFinished { status, output, error });
    }

    /// What it is: the service of its root, or of its earliest span.
    fn service(&self) -> String {
        let at = self.arrangement.root.or(self.arrangement.order.first().copied());
        let name = at.and_then(|at| self.trace.spans[at].resource["service.name"].as_str());
        usable(name.filter(|name| !name.starts_with("unknown_service")).unwrap_or(UNNAMED), UNNAMED)
    }

    fn started(&mut self, owner: &str, input: Option<Value>) -> EventKind {
        let request = trace_hex(self.trace.id);
        let in_order = || self.arrangement.order.iter().map(|at| &self.trace.spans[*at]);
        let session = in_order().find(|span| span.outline.has_session);
        let session = session.and_then(|span| span.outline.session(&span.span()));
        let user = in_order().find(|span| span.outline.has_user).and_then(|span| span.outline.user(&span.span()));
        let emitter = in_order().find_map(|span| span.outline.emitter());
        let (emitter, conventions) = emitter.unwrap_or(("OpenTelemetry", ""));
        let named = self.arrangement.root.or(self.arrangement.tops.first().copied());
        let named = named.or(self.arrangement.order.first().copied());
        let action = named
            .map_or_else(|| UNNAMED.to_owned(), |at| self.trace.spans[at].outline.label(&self.span(at)).to_owned());
        let (action, flow) = (usable(&action, UNNAMED), self.service());
        let session = usable(&format!("{SESSIONS}{}", session.as_ref().unwrap_or(&request)), &request);
        let user = usable(user.as_deref().unwrap_or(NOBODY), NOBODY).replace("~fork_", "_");
        let (emitter, conventions) = (emitter.to_owned(), conventions.to_owned());
        let order = self.arrangement.order.clone();
        for at in order {
            let span = &self.trace.spans[at];
            self.resources.number(&span.resource);
            self.scopes.number(&span.scope);
        }
        let (resources, scopes) = (self.resources.all.clone(), self.scopes.all.clone());
        EventKind::RequestStarted {
            flow,
            action,
            session: session.into(),
            user: user.into(),
            project: None,
            ephemeral: false,
            mock: None,
            code_hash: String::new(),
            input: input.map_or(Recorded::Undefined, Recorded::Value),
            retry_of: None,
            trigger: None,
            dispatched_by: None,
            owner: owner.to_owned(),
            claim: None,
            forked_from: None,
            kept: Vec::new(),
            retention: None,
            cleanup_checkpoints: false,
            isolated: Vec::new(),
            user_by_org: false,
            parses_once: false,
            time_zone: None,
            foreign: Some(Box::new(Foreign { emitter, conventions, resources, scopes })),
        }
    }

    /// What was asked: the input of the root, or what a user said last before the first call of a model. What users
    /// said before that is of earlier turns.
    fn input(&self) -> Option<Value> {
        let of_top = |at: usize| {
            let facts = self.facts(at);
            facts.input.map(|input| (input, facts.is_input_said_last))
        };
        let root = self.arrangement.root.map_or_else(|| self.arrangement.tops.iter().copied().find_map(of_top), of_top);
        let last_said = |content: fn(&mut Value) -> Value| {
            let mut order = self.arrangement.order.iter().copied().filter(|at| self.is_call[*at]);
            order.find_map(|at| {
                let mut request = self.facts(at).call?.request;
                let mut messages = request["messages"].as_array_mut()?.iter_mut().rev();
                messages.find(|message| message["role"] == "user").map(content)
            })
        };
        match root {
            Some((input, true)) => last_said(|message| spoken(message)).or(Some(input)),
            Some((input, false)) => Some(input),
            None => last_said(|message| message["content"].take()),
        }
    }

    fn output(&self) -> Option<Value> {
        let of_top = |at: usize| self.facts(at).output;
        let root = self.arrangement.root.map_or_else(|| self.arrangement.tops.iter().copied().find_map(of_top), of_top);
        root.or_else(|| self.answer.clone())
    }

    fn start(&mut self, at: usize, first: i64) {
        let (packed, span) = (&self.trace.spans[at], self.span(at));
        let time = if packed.start > 0 { millis(packed.start) } else { first };
        let (placed, mut facts) = (&self.arrangement.placed[at], Facts::of(&span, &packed.outline));
        let path = placed.path.clone();
        let is_root = self.arrangement.root == Some(at);
        let around = placed.around.map_or(ROOT, |around| &*self.arrangement.placed[around].path);
        let parent = (!is_root).then(|| format!("{around}:0").into());
        let kind = match packed.outline.role {
            Role::Model | Role::Agent if self.is_call[at] => BlockKind::Generator,
            Role::Model | Role::Agent | Role::Chain => BlockKind::Sequencer,
            _ if is_root => BlockKind::Sequencer,
            _ => BlockKind::Handler,
        };
        // A call without an id is found by what the tool was given.
        let is_unnumbered = packed.outline.role == Role::Tool && facts.tool_call_id.is_none();
        let input = if is_unnumbered { facts.input.clone() } else { facts.input.take() };
        let input = match input {
            Some(_) if is_root => Recorded::Of(1),
            // The messages of a call are in its effect.
            Some(_) if self.is_call[at] && has_messages(&facts) => Recorded::Undefined,
            Some(input) => Recorded::Value(input),
            None => Recorded::Undefined,
        };
        let notes = [placed.notes.clone(), std::mem::take(&mut facts.notes)].concat();
        let name: Arc<str> = if packed.name.is_empty() { "unnamed".into() } else { (*packed.name).into() };
        self.push(time, Some(path.clone()), block_started(name, kind, parent, input));
        let json = span.to_json(self.resources.number(&span.resource), self.scopes.number(&span.scope));
        self.push(time, Some(path.clone()), EventKind::SpanReceived { span: json });
        for (at, line) in lines(&span, notes) {
            self.push(if at > 0 { millis(at) } else { time }, Some(path.clone()), line);
        }
        let call = facts.call.as_mut().filter(|_| self.is_call[at]);
        let begun = call.map(|call| call.request.take()).map(|request| self.ask(time, path, request));
        if span.end > 0 {
            self.open.insert(at, OpenSpan { facts, error: failure(&span), begun });
        }
    }

    fn end(&mut self, at: usize, first: i64) {
        let Some(OpenSpan { facts, error, begun }) = self.open.remove(&at) else { return };
        let span = &self.trace.spans[at];
        let placed = &self.arrangement.placed[at];
        let (time, path) = (millis(placed.ended.max(span.start)).max(first), placed.path.clone());
        let call = facts.call.filter(|_| self.is_call[at]);
        let of_call = call.as_ref().and_then(|call| answer(&call.result));
        if let (Some(started), Some(call)) = (begun, call) {
            self.answered(&span.name, started, time, &path, (call.result, error.clone()));
        }
        if span.outline.role == Role::Tool {
            let result = error.clone().map_or_else(|| Ok(facts.output.clone().unwrap_or_default()), Err);
            match &facts.tool_call_id {
                Some(id) => self.tool_done(id, time, result),
                None => self.unnumbered_tool_done(&span.name, facts.input.as_ref(), time, result),
            }
        }
        let output = of_call.or(facts.output).map(Recorded::Value);
        let outcome = if error.is_some() { Outcome::Failed } else { Outcome::Completed };
        let output = output.filter(|_| error.is_none());
        self.push(time, Some(path), block_finished(outcome, output, error));
    }
}

/// Whether the call of a span has the messages that it was asked with.
fn has_messages(facts: &Facts) -> bool {
    let messages = facts.call.as_ref().and_then(|call| call.request["messages"].as_array());
    messages.is_some_and(|messages| !messages.is_empty())
}

fn block_started(name: Arc<str>, block: BlockKind, parent: Option<Arc<str>>, input: Recorded) -> EventKind {
    let (versions, fingerprint, replaces_failed) = (Vec::new(), None, false);
    EventKind::BlockStarted { name, block, parent, input, versions, fingerprint, replaces_failed }
}

fn block_finished(outcome: Outcome, output: Option<Recorded>, error: Option<FlowError>) -> EventKind {
    EventKind::BlockFinished {
        outcome,
        output,
        error,
        caught: None,
        transient: false,
        memoized: false,
        returned_error: false,
        timed_out_ms: None,
        commits: Vec::new(),
    }
}

/// What failed a span, if it failed.
fn failure(span: &ArrivedSpan) -> Option<FlowError> {
    if span.status.code != ERROR {
        return None;
    }
    let thrown = span.events.iter().rev().find(|event| event.name == "exception");
    let text = |name: &str| {
        let of_event = thrown.and_then(|event| event.attributes.get(name)?.as_str());
        of_event.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let by_type = || span.attributes.get("error.type").and_then(Value::as_str).map(str::to_owned);
    let name = text("exception.type").or_else(by_type).unwrap_or_else(|| "Error".to_owned());
    let said = Some(span.status.message.clone()).filter(|message| !message.is_empty());
    let message = text("exception.message").or(said).unwrap_or_else(|| "the span failed".to_owned());
    let stack = text("exception.stacktrace");
    if let (None, Some((thrown, words))) = (&stack, lines::raised(&message)) {
        let name = if name == "Error" { thrown } else { name.as_str() };
        return Some(FlowError { stack: Some(message.clone()), ..FlowError::new(name, words.to_owned()) });
    }
    Some(FlowError { stack, ..FlowError::new(&name, message) })
}

fn millis(nanos: u64) -> i64 {
    (nanos / 1_000_000) as i64
}

/// A name that can be an id here: what acts on a terminal is taken out, and it is cut.
fn usable(name: &str, otherwise: &str) -> String {
    let kept: String = name.chars().filter(|letter| id::wrong(&format!("x{letter}")).is_none()).collect();
    let mut kept: String = kept.trim().to_owned();
    while kept.len() > id::LONGEST_ID {
        kept.pop();
    }
    if kept.is_empty() { otherwise.to_owned() } else { kept }
}
