//! A request as an OpenTelemetry trace: the request is the root span, every execution of a block a span below it, and
//! every call of a model or of the network a span below its block.
//!
//! Ids are hashes of ours, so that the same request is the same trace wherever it is exported from. What flows got and
//! made is not exported, only what happened, when, and how it ended. What comes in as OTLP is `foreign`, and goes out
//! as it came.

use std::collections::HashMap;

use engine::effects::EffectKind;
use engine::error::FlowError;
use engine::event::{Event, EventKind, RequestStatus};
use engine::views::Events;
use engine::views::blocks::{BlockStatus, BlockView, blocks};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue, any_value};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event as SpanEvent, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use prost::Message;
use serde_json::Value;

use crate::foreign::export::exported;
use crate::views::RequestRow;

/// One request's trace.
pub(crate) struct Trace(ExportTraceServiceRequest);

impl Trace {
    /// Of a request and its whole log.
    pub(crate) fn of(row: &RequestRow, events: &[Event]) -> Trace {
        if row.received_from.is_some() {
            return Trace(exported(&row.id, events));
        }
        let maker = Maker {
            trace: id(&row.id, 16),
            request: &row.id,
            end: events.last().map_or(row.started_at, |last| last.at),
        };
        let live = !row.status.is_terminal();
        let all = blocks(Events::new(events), live);
        let mut spans = vec![maker.request(row)];
        spans.extend(all.iter().map(|block| maker.block(block)));
        spans.extend(maker.effects(events));
        let scope = InstrumentationScope {
            name: "flowglass".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            ..InstrumentationScope::default()
        };
        let resource = Resource { attributes: vec![text("service.name", "flowglass")], ..Resource::default() };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
        let resource_spans = vec![ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() }];
        Trace(ExportTraceServiceRequest { resource_spans })
    }

    /// How many spans it has.
    pub(crate) fn len(&self) -> u64 {
        self.0.resource_spans.iter().flat_map(|all| &all.scope_spans).map(|scope| scope.spans.len() as u64).sum()
    }

    /// As a collector takes it over HTTP.
    pub(crate) fn to_protobuf(&self) -> Vec<u8> {
        self.0.encode_to_vec()
    }

    /// As a collector reads it from a file: one line.
    pub(crate) fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.0).map(|line| line + "\n")
    }
}

/// What all spans of a request share.
struct Maker<'r> {
    trace: Vec<u8>,
    request: &'r str,
    /// When its newest event was, in milliseconds: where what has not ended is cut.
    end: i64,
}

impl Maker<'_> {
    fn request(&self, row: &RequestRow) -> Span {
        let mut attributes = vec![
            text("flowglass.request.id", &row.id),
            text("flowglass.flow", &row.flow),
            text("flowglass.action", &row.action),
            text("flowglass.status", row.status.as_str()),
            text("session.id", &row.session_id),
            text("user.id", &row.user_id),
        ];
        attributes.extend(row.project_id.as_ref().map(|project| text("flowglass.project.id", project)));
        attributes.extend(row.retry_of.as_ref().map(|of| text("flowglass.retry_of", of)));
        attributes.extend(row.forked_from.as_ref().map(|from| text("flowglass.forked_from", &from.request_id)));
        let failure = row.error.as_ref().map(|error| (error.name.as_str(), error.message.as_str()));
        let is_failed = matches!(row.status, RequestStatus::Failed);
        Span {
            attributes,
            kind: SpanKind::Server.into(),
            status: Some(status(
                failure.filter(|_| is_failed).map(|(_, message)| message),
                row.status == RequestStatus::Completed,
            )),
            events: failure
                .map(|(name, message)| exception(name, message, row.finished_at.unwrap_or(self.end)))
                .into_iter()
                .collect(),
            ..self.span(
                &root(&row.id),
                None,
                &format!("{}.{}", row.flow, row.action),
                (row.started_at, row.finished_at),
            )
        }
    }

    fn block(&self, block: &BlockView<'_>) -> Span {
        let parent = block.parent.as_ref().map_or_else(|| root(self.request), |parent| self.instance(parent));
        let failure = block.error.map(|error: &FlowError| (error.name.as_str(), error.message.as_str()));
        let is_failed = matches!(block.status, BlockStatus::Failed);
        let mut attributes = vec![
            text("flowglass.path", &block.path),
            text("flowglass.kind", block.kind.as_str()),
            text("flowglass.status", &status_word(block.status)),
            number("flowglass.attempt", block.attempt.into()),
        ];
        attributes.extend(block.memoized.then(|| flag("flowglass.memoized", true)));
        Span {
            attributes,
            kind: SpanKind::Internal.into(),
            status: Some(status(
                failure.filter(|_| is_failed).map(|(_, message)| message),
                matches!(block.status, BlockStatus::Completed),
            )),
            events: failure
                .map(|(name, message)| exception(name, message, block.finished_at.unwrap_or(self.end)))
                .into_iter()
                .collect(),
            ..self.span(
                &self.instance(&format!("{}:{}", block.path, block.attempt)),
                Some(&parent),
                &block.name,
                (block.started_at, block.finished_at.or(block.cut_at)),
            )
        }
    }

    /// What left the process: calls of models and of the network. One that did not come back ends with the log.
    fn effects(&self, events: &[Event]) -> Vec<Span> {
        let mut open: HashMap<u64, Span> = HashMap::new();
        let mut done = Vec::new();
        for event in events {
            let Some(path) = event.path.as_deref() else { continue };
            match &event.kind {
                EventKind::EffectStarted {
                    effect: effect @ (EffectKind::Model | EffectKind::Fetch),
                    ordinal,
                    request,
                } => {
                    let block = format!("{path}:{}", event.attempt);
                    let own = self.instance(&format!("{block}:{}:{ordinal}", effect.as_str()));
                    let asked = request.as_ref().unwrap_or(&Value::Null);
                    let (name, attributes) = match effect {
                        EffectKind::Model => asked_model(asked),
                        _ => asked_fetch(asked),
                    };
                    let span = self.span(&own, Some(&self.instance(&block)), &name, (event.at, None));
                    let kind = SpanKind::Client.into();
                    open.insert(event.seq, Span { attributes, kind, ..span });
                }
                EventKind::EffectFinished { started: Some(started), result, error, .. } => {
                    let Some(mut span) = open.remove(started) else { continue };
                    span.end_time_unix_nano = nanos(event.at);
                    span.attributes.extend(answered(result));
                    span.status = Some(status(error.as_ref().map(|error| error.message.as_str()), error.is_none()));
                    span.events.extend(error.as_ref().map(|error| exception(&error.name, &error.message, event.at)));
                    done.push(span);
                }
                _ => {}
            }
        }
        let mut cut: Vec<Span> = open.into_values().collect();
        cut.iter_mut().for_each(|span| span.attributes.push(flag("flowglass.unfinished", true)));
        done.extend(cut);
        done.sort_by_key(|span| span.start_time_unix_nano);
        done
    }

    fn instance(&self, inside: &str) -> String {
        format!("{}:{inside}", self.request)
    }

    /// A span of this trace; one without an end is cut where the log ends.
    fn span(&self, own: &str, parent: Option<&str>, name: &str, (start, end): (i64, Option<i64>)) -> Span {
        Span {
            trace_id: self.trace.clone(),
            span_id: id(own, 8),
            parent_span_id: parent.map(|parent| id(parent, 8)).unwrap_or_default(),
            name: name.to_owned(),
            start_time_unix_nano: nanos(start),
            // A clock that was put back would make a span end before it begins.
            end_time_unix_nano: nanos(end.unwrap_or(self.end).max(start)),
            ..Span::default()
        }
    }
}

fn root(request: &str) -> String {
    format!("{request}:")
}

/// The first bytes of a hash; never all zero, which would mean none.
fn id(of: &str, bytes: usize) -> Vec<u8> {
    blake3::hash(of.as_bytes()).as_bytes()[..bytes].to_vec()
}

fn nanos(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0).saturating_mul(1_000_000)
}

fn status_word(status: BlockStatus) -> String {
    serde_json::to_value(status).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn status(failure: Option<&str>, is_done: bool) -> Status {
    let code = match failure {
        Some(_) => StatusCode::Error,
        None if is_done => StatusCode::Ok,
        None => StatusCode::Unset,
    };
    Status { message: failure.unwrap_or_default().to_owned(), code: code.into() }
}

fn exception(name: &str, message: &str, at: i64) -> SpanEvent {
    SpanEvent {
        time_unix_nano: nanos(at),
        name: "exception".to_owned(),
        attributes: vec![text("exception.type", name), text("exception.message", message)],
        ..SpanEvent::default()
    }
}

/// A call of a model: GenAI attributes.
fn asked_model(asked: &Value) -> (String, Vec<KeyValue>) {
    let model = asked["model"].as_str().unwrap_or("own");
    let attributes = vec![
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.request.model", model),
        text("gen_ai.agent.name", asked["generator"].as_str().unwrap_or_default()),
    ];
    (format!("chat {model}"), attributes)
}

fn asked_fetch(asked: &Value) -> (String, Vec<KeyValue>) {
    let method = asked["method"].as_str().unwrap_or("GET");
    let mut attributes = vec![text("http.request.method", method)];
    attributes.extend(asked["url"].as_str().map(|url| text("url.full", url)));
    (method.to_owned(), attributes)
}

/// What an answer tells of itself.
fn answered(result: &Value) -> Vec<KeyValue> {
    let counts = [("promptTokens", "gen_ai.usage.input_tokens"), ("completionTokens", "gen_ai.usage.output_tokens")];
    let tokens = counts.iter().filter_map(|(ours, theirs)| Some(number(theirs, result["usage"][ours].as_i64()?)));
    let code = result["status"].as_i64().map(|code| number("http.response.status_code", code));
    tokens.chain(code).collect()
}

fn text(key: &str, value: &str) -> KeyValue {
    attribute(key, any_value::Value::StringValue(value.to_owned()))
}

fn number(key: &str, value: i64) -> KeyValue {
    attribute(key, any_value::Value::IntValue(value))
}

fn flag(key: &str, value: bool) -> KeyValue {
    attribute(key, any_value::Value::BoolValue(value))
}

fn attribute(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
