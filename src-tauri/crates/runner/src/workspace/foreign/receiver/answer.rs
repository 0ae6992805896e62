//! What a sender of spans is answered, in the encoding that it sent in.

use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTracePartialSuccess, ExportTraceServiceResponse};
use prost::Message;
use serde_json::json;

use super::RETRY_AFTER;

pub(super) type Full = http_body_util::Full<Bytes>;

/// What a call brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Logs,
    /// Nothing of it is kept.
    Metrics,
}

impl Signal {
    /// What is not taken, as the protocol calls it.
    fn rejected(self) -> &'static str {
        match self {
            Signal::Traces => "rejectedSpans",
            Signal::Logs => "rejectedLogRecords",
            Signal::Metrics => "rejectedDataPoints",
        }
    }
}

/// In what a call is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Protobuf,
    Json,
}

impl Encoding {
    /// By the type of its content; none if that is neither.
    pub(super) fn of(content_type: Option<&HeaderValue>) -> Option<Encoding> {
        let named = content_type?.to_str().ok()?.split(';').next()?.trim().to_ascii_lowercase();
        match &*named {
            "application/x-protobuf" => Some(Encoding::Protobuf),
            "application/json" => Some(Encoding::Json),
            _ => None,
        }
    }

    pub(super) fn letter(self) -> u8 {
        match self {
            Encoding::Protobuf => b'p',
            Encoding::Json => b'j',
        }
    }

    pub(super) fn from_letter(letter: u8) -> Option<Encoding> {
        [Encoding::Protobuf, Encoding::Json].into_iter().find(|encoding| encoding.letter() == letter)
    }

    fn content_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Encoding::Protobuf => "application/x-protobuf",
            Encoding::Json => "application/json",
        })
    }
}

/// An answer.
#[derive(Debug)]
pub(super) enum Answer {
    /// The spans or log records are stored, but for so many, and why.
    Taken(Signal, i64, String),
    /// Nothing is stored.
    Refused(StatusCode, String),
}

impl Answer {
    pub(super) fn refused(status: StatusCode, message: impl Into<String>) -> Answer {
        Answer::Refused(status, message.into())
    }

    /// The sender is to come back.
    pub(super) fn busy(message: impl Into<String>) -> Answer {
        Answer::refused(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    pub(super) fn response(self, encoding: Encoding) -> Response<Full> {
        let (status, body) = match self {
            Answer::Taken(signal, rejected, why) => (StatusCode::OK, taken((signal, encoding), rejected, why)),
            Answer::Refused(status, message) => (status, refusal(encoding, status, &message)),
        };
        let mut response = Response::new(Full::new(body.into()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, encoding.content_type());
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
        }
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        response
    }
}

fn taken((signal, encoding): (Signal, Encoding), rejected_spans: i64, error_message: String) -> Vec<u8> {
    let is_partial = rejected_spans > 0;
    match encoding {
        // Answers of all signals have the same form.
        Encoding::Protobuf => {
            let partial = ExportTracePartialSuccess { rejected_spans, error_message };
            ExportTraceServiceResponse { partial_success: is_partial.then_some(partial) }.encode_to_vec()
        }
        Encoding::Json if is_partial => {
            let partial = json!({ (signal.rejected()): rejected_spans.to_string(), "errorMessage": error_message });
            json!({ "partialSuccess": partial }).to_string().into_bytes()
        }
        Encoding::Json => b"{}".to_vec(),
    }
}

/// A `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct Status {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

fn refusal(encoding: Encoding, status: StatusCode, message: &str) -> Vec<u8> {
    // Invalid argument, permission denied, not found, unavailable, internal.
    let code = match status {
        StatusCode::FORBIDDEN => 7,
        StatusCode::NOT_FOUND => 5,
        StatusCode::SERVICE_UNAVAILABLE => 14,
        StatusCode::INTERNAL_SERVER_ERROR => 13,
        _ => 3,
    };
    match encoding {
        Encoding::Protobuf => Status { code, message: message.to_owned() }.encode_to_vec(),
        Encoding::Json => json!({ "code": code, "message": message }).to_string().into_bytes(),
    }
}
