//! Spans in the two encodings of OTLP: protobuf, and JSON as the collector's file exporter writes it, one
//! `{"resourceSpans":[…]}` a line.
//!
//! A call that is no OTLP is refused as a whole. In one that is, a span that cannot be one is left out and counted, as
//! the protocol's partial success tells its sender. Text that is not Unicode is replaced, and its span says so.

mod json;
mod logs;
mod mended;
mod protobuf;
mod wire;

use serde_json::{Map, Value};

use super::exact::EXACT;
use super::span::ArrivedSpan;

/// The mark of a span some of whose text was not Unicode, in the field of what is exact of it.
pub(super) const REPLACED: &str = "isTextReplaced";

/// The id of a trace.
pub(crate) type TraceId = u128;

/// What a call brought.
#[derive(Debug, Default)]
pub(crate) struct Decoded {
    pub(crate) spans: Vec<(TraceId, ArrivedSpan)>,
    /// How many spans were left out, and why the first was.
    pub(crate) rejected: u64,
    pub(crate) why: Option<String>,
    /// How many log records and metrics were skipped: lines of a file, or records of a call.
    pub(crate) skipped: u64,
}

impl Decoded {
    fn reject(&mut self, why: String) {
        self.rejected += 1;
        self.why.get_or_insert(why);
    }

    /// Counts spans that were left out before the call was read.
    fn leave_out(&mut self, count: u64, why: &str) {
        if count > 0 {
            self.rejected += count;
            self.why = Some(why.to_owned());
        }
    }

    /// Marks the spans of a call whose text was not all Unicode, if they have what stands for such text.
    fn mark_replaced(&mut self) {
        for (_, span) in &mut self.spans {
            if span.to_json(0, 0).to_string().contains(char::REPLACEMENT_CHARACTER) {
                let exact = span.rest.entry(EXACT).or_insert_with(|| Value::Object(Map::new()));
                if let Some(fields) = exact.as_object_mut() {
                    fields.insert(REPLACED.to_owned(), true.into());
                }
            }
        }
    }

    /// Adds what another call brought.
    pub(crate) fn extend(&mut self, other: Decoded) {
        self.spans.extend(other.spans);
        self.rejected += other.rejected;
        self.why = self.why.take().or(other.why);
        self.skipped += other.skipped;
    }
}

pub(crate) use json::{json_lines, json_log_records, json_spans};
pub(crate) use logs::{json_logs, protobuf_logs};
pub(crate) use protobuf::protobuf;

/// The id of a trace as it is written; also the id of the request that it becomes.
pub(crate) fn trace_hex(id: TraceId) -> String {
    format!("{id:032x}")
}

/// Logfire sends a span that begins as another one, whose parent it is: that is the open form of the parent.
fn open_form(span: ArrivedSpan) -> ArrivedSpan {
    const KIND: &str = "logfire.span_type";
    const AROUND: &str = "logfire.pending_parent_id";
    let is_pending = span.attributes.get(KIND).is_some_and(|kind| kind == "pending_span");
    match span.parent.filter(|_| is_pending) {
        Some(id) => {
            let around = span.attributes.get(AROUND).and_then(|id| super::span::span_id(id.as_str()?));
            ArrivedSpan { id, parent: around, end: 0, ..span }
        }
        None => span,
    }
}
