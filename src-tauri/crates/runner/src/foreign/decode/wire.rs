//! Calls as protobuf that cannot be read as a whole: text that is not UTF-8 is replaced, and a span that is nested too
//! deep, or is no span, is left out.
//!
//! The fields of OTLP that hold text or other messages are named here; all others are copied as they are.

use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

/// `prost` reads at most 100 messages inside each other.
const MAX_DEPTH: usize = 95;

/// The messages of OTLP that hold text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A call, of spans or of log records.
    Spans,
    Logs,
    ResourceSpans,
    ResourceLogs,
    Resource,
    ScopeSpans,
    ScopeLogs,
    Scope,
    Span,
    Event,
    Link,
    Status,
    LogRecord,
    KeyValue,
    AnyValue,
    ArrayValue,
    KeyValueList,
}

/// What a field holds.
enum Field {
    Text,
    Message(Kind),
    Other,
}

/// A call without what could not be read.
#[derive(Default)]
pub(super) struct MendedCall {
    pub(super) body: Vec<u8>,
    /// Whether texts in it were not UTF-8.
    pub(super) is_replaced: bool,
    /// How many spans or log records were left out.
    pub(super) left_out: u64,
}

/// Why a message cannot be kept.
struct Broken;

impl Kind {
    fn field(self, tag: u32) -> Field {
        use Kind::*;
        match (self, tag) {
            (Spans, 1) => Field::Message(ResourceSpans),
            (Logs, 1) => Field::Message(ResourceLogs),
            (ResourceSpans | ResourceLogs, 1) => Field::Message(Resource),
            (ResourceSpans, 2) => Field::Message(ScopeSpans),
            (ResourceLogs, 2) => Field::Message(ScopeLogs),
            (ScopeSpans | ScopeLogs, 1) => Field::Message(Scope),
            (ScopeSpans, 2) => Field::Message(Span),
            (ScopeLogs, 2) => Field::Message(LogRecord),
            (Span, 9) | (Scope, 3) | (Event, 3) | (Link, 4) | (LogRecord, 6) | (Resource | KeyValueList, 1) => {
                Field::Message(KeyValue)
            }
            (Span, 11) => Field::Message(Event),
            (Span, 13) => Field::Message(Link),
            (Span, 15) => Field::Message(Status),
            (KeyValue, 2) | (ArrayValue, 1) | (LogRecord, 5) => Field::Message(AnyValue),
            (AnyValue, 5) => Field::Message(ArrayValue),
            (AnyValue, 6) => Field::Message(KeyValueList),
            (ResourceSpans | ResourceLogs | ScopeSpans | ScopeLogs, 3)
            | (Span, 5 | 3)
            | (Scope, 1 | 2)
            | (Event | Status, 2)
            | (Link, 3)
            | (LogRecord, 3 | 12)
            | (KeyValue | AnyValue, 1) => Field::Text,
            _ => Field::Other,
        }
    }
}

/// Mends a call. `None` if it is no protobuf.
pub(super) fn mended_call(kind: Kind, body: &[u8]) -> Option<MendedCall> {
    let mut mended = MendedCall::default();
    let body = mended.message(kind, body, 0).ok()?;
    (mended.is_replaced || mended.left_out > 0).then_some(MendedCall { body, ..mended })
}

impl MendedCall {
    /// A message without what cannot be read.
    fn message(&mut self, kind: Kind, mut rest: &[u8], depth: usize) -> Result<Vec<u8>, Broken> {
        if depth > MAX_DEPTH {
            return Err(Broken);
        }
        let mut written = Vec::with_capacity(rest.len());
        while !rest.is_empty() {
            let (tag, wire) = decode_key(&mut rest).map_err(|_| Broken)?;
            let length = match wire {
                WireType::Varint => {
                    let number = decode_varint(&mut rest).map_err(|_| Broken)?;
                    encode_key(tag, wire, &mut written);
                    encode_varint(number, &mut written);
                    continue;
                }
                WireType::SixtyFourBit => 8,
                WireType::ThirtyTwoBit => 4,
                WireType::LengthDelimited => {
                    let length = decode_varint(&mut rest).map_err(|_| Broken)?;
                    usize::try_from(length).map_err(|_| Broken)?
                }
                // Groups are older than OTLP.
                WireType::StartGroup | WireType::EndGroup => return Err(Broken),
            };
            let value = rest.get(..length).ok_or(Broken)?;
            rest = &rest[length..];
            if wire != WireType::LengthDelimited {
                encode_key(tag, wire, &mut written);
                written.extend_from_slice(value);
                continue;
            }
            let field = match kind.field(tag) {
                Field::Message(inner) => match self.message(inner, value, depth + 1) {
                    Ok(inner) => inner,
                    Err(Broken) if matches!(inner, Kind::Span | Kind::LogRecord) => {
                        self.left_out += 1;
                        continue;
                    }
                    Err(Broken) => return Err(Broken),
                },
                Field::Text => {
                    let text = String::from_utf8_lossy(value);
                    self.is_replaced |= matches!(text, std::borrow::Cow::Owned(_));
                    text.into_owned().into_bytes()
                }
                Field::Other => value.to_vec(),
            };
            encode_key(tag, wire, &mut written);
            encode_varint(field.len() as u64, &mut written);
            written.extend(field);
        }
        Ok(written)
    }
}
