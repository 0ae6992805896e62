//! How a model call can fail, and what the flow is told (SEMANTICS §5.5).
//!
//! Messages name the model and the server, carry the server's own words, and never a key.

use std::time::{Duration, SystemTime};

use engine::error::FlowError;
use engine::provider::{class_of_status, provider_error};
use genai::webc::{self, StreamTimeout};
use reqwest::header::HeaderMap;
use serde_json::{Map, Value, json};

use super::target::Target;
use crate::models::http;

/// How deep a server's own message may be nested around the texts of its model.
const ENVELOPE_DEPTH: usize = 127;

/// How much of a server's answer is quoted.
const QUOTE: usize = 400;

/// What went wrong between us and a server.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The server refused.
    Status { status: u16, body: String, retry_after: Option<String>, retry_after_ms: Option<String> },
    /// The server reported an error in the middle of its answer.
    Reported(Value),
    /// The server said nothing for too long.
    Timeout,
    /// There was no connection.
    Unreachable(String),
    /// The connection ended before the answer did.
    Cut(String),
    /// The answer was not what was agreed.
    Malformed(String),
    /// The answer did not come in events, as it was asked to.
    NoStream,
    /// The answer is larger than it may be.
    TooLarge(String),
    /// The call cannot be made.
    Impossible(String),
}

impl From<genai::Error> for Failure {
    fn from(error: genai::Error) -> Self {
        use genai::Error;
        match error {
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => match webc_error {
                webc::Error::ResponseFailedStatus { status, body, headers } => refusal(status.as_u16(), body, &headers),
                webc::Error::Reqwest(error) => broken(&error),
                webc::Error::ResponseFailedNotJson { content_type, .. } => {
                    Failure::Malformed(format!("answered with \"{content_type}\" instead of JSON"))
                }
                webc::Error::ResponseFailedInvalidJson { cause, .. } => {
                    Failure::Malformed(format!("answered with {}", invalid_json("", &cause)))
                }
                other => Failure::Malformed(format!("answered with something unexpected: {other}")),
            },
            Error::HttpError { status, body, headers, .. } => refusal(status.as_u16(), body, &headers),
            Error::WebStream { error, cause, .. } => match error.downcast::<Error>() {
                Ok(inner) => Failure::from(*inner),
                Err(error) => match (error.downcast_ref::<StreamTimeout>(), error.downcast_ref::<reqwest::Error>()) {
                    (Some(_), _) => Failure::Timeout,
                    (None, Some(error)) => broken(error),
                    (None, None) => Failure::Cut(cause),
                },
            },
            Error::ChatResponse { body, .. } => Failure::Reported(body),
            Error::StreamParse { serde_error, .. } => Failure::Malformed(format!(
                "answered with {}",
                invalid_json(" in its stream", &serde_error.to_string())
            )),
            // Its own words hold the whole request; the cause is what matters.
            Error::ChatResponseGeneration { cause, .. } => {
                let deep = cause.find("recursion limit exceeded").map(|at| invalid_json("", &cause[at..]));
                let what = deep.unwrap_or_else(|| format!("something unexpected: {cause}"));
                Failure::Malformed(format!("answered with {what}"))
            }
            other => Failure::Impossible(format!("cannot be asked: {other}")),
        }
    }
}

/// Why a text is no JSON, in words that say what would be: the library's reader has a limit of its own.
fn invalid_json(place: &str, cause: &str) -> String {
    match cause.strip_prefix("recursion limit exceeded") {
        Some(at) => format!("JSON{place} that is nested deeper than {ENVELOPE_DEPTH} levels{at}"),
        None => format!("invalid JSON{place}: {cause}"),
    }
}

fn refusal(status: u16, body: String, headers: &HeaderMap) -> Failure {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    Failure::Status { status, body, retry_after: header("retry-after"), retry_after_ms: header("retry-after-ms") }
}

pub(super) fn broken(error: &reqwest::Error) -> Failure {
    let cause = http::cause(error);
    match error {
        error if error.is_timeout() => Failure::Timeout,
        error if error.is_builder() => Failure::Impossible(format!("cannot be asked: {cause}")),
        error if error.is_connect() => Failure::Unreachable(cause),
        _ => Failure::Cut(cause),
    }
}

impl Failure {
    pub(crate) fn into_error(self, target: &Target) -> FlowError {
        let mut details = Map::new();
        details.insert("model".to_owned(), target.asked.clone().into());
        details.insert("host".to_owned(), target.host.clone().into());
        let is_too_large = matches!(self, Failure::TooLarge(_));
        let (name, said) = match self {
            Failure::Status { status, body, retry_after, retry_after_ms } => {
                details.insert("status".to_owned(), status.into());
                if let Some(ms) = wait(retry_after_ms.as_deref(), retry_after.as_deref(), SystemTime::now()) {
                    details.insert("retryAfterMs".to_owned(), ms.into());
                }
                (class_of_status(status, &body), format!("answered {status}: {}", wire_format(&body)))
            }
            Failure::Reported(body) => {
                let text = body.to_string();
                let status = body["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(0);
                (
                    class_of_status(status, &text),
                    format!("reported: {}", wire_format(&json!({ "error": body }).to_string())),
                )
            }
            Failure::Timeout => ("TimeoutError", format!("said nothing for {} ms", target.timeout.as_millis())),
            Failure::Unreachable(why) => ("NetworkError", format!("cannot be reached: {why}")),
            Failure::Cut(why) => ("NetworkError", format!("broke off its answer: {why}")),
            Failure::Malformed(why) => ("ModelError", why),
            Failure::NoStream => ("ModelError", "did not answer with a stream of events".to_owned()),
            Failure::TooLarge(why) | Failure::Impossible(why) => ("ModelError", why),
        };
        let server = if target.host.is_empty() { "" } else { &format!(" at {}", target.host) };
        let mut error = provider_error(name, format!("model \"{}\"{server} {said}", target.asked));
        if is_too_large {
            // Asked again it would be as large again.
            error.retryable = false;
            error.code = Some("limit_exceeded".to_owned());
        }
        error.details = Some(Value::Object(details));
        error
    }
}

/// The server's words, out of the shapes that servers wrap them in.
fn wire_format(body: &str) -> String {
    let value: Value = serde_json::from_str(body).unwrap_or_default();
    let found = ["/error/message", "/error/error/message", "/0/error/message", "/message", "/detail", "/error"];
    let found = found.iter().find_map(|place| value.pointer(place).and_then(Value::as_str));
    let text = found.unwrap_or(body).trim();
    match text.char_indices().nth(QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None if text.is_empty() => "(nothing)".to_owned(),
        None => text.to_owned(),
    }
}

/// How long the server wants to be left alone: milliseconds, seconds, or a date.
fn wait(ms: Option<&str>, after: Option<&str>, now: SystemTime) -> Option<u64> {
    if let Some(ms) = ms.and_then(|ms| ms.trim().parse::<f64>().ok()) {
        return Some(ms.max(0.0) as u64);
    }
    let after = after?.trim();
    if let Ok(seconds) = after.parse::<f64>() {
        return Some((seconds.max(0.0) * 1000.0) as u64);
    }
    let then = httpdate::parse_http_date(after).ok()?;
    Some(then.duration_since(now).unwrap_or(Duration::ZERO).as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_milliseconds_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        assert_eq!(wait(Some("1500"), Some("9"), now), Some(1500));
        assert_eq!(wait(None, Some("2"), now), Some(2000));
        assert_eq!(wait(None, Some("0.5"), now), Some(500));
        assert_eq!(wait(None, Some("Sun, 06 Nov 1994 08:49:37 GMT"), now), Some(7000));
        assert_eq!(wait(None, Some("Sun, 06 Nov 1994 08:00:00 GMT"), now), Some(0));
        assert_eq!(wait(None, Some("soon"), now), None);
        assert_eq!(wait(None, None, now), None);
    }

    #[test]
    fn the_servers_words_are_found_and_cut() {
        assert_eq!(wire_format(r#"{"error":{"message":"no such model"}}"#), "no such model");
        assert_eq!(wire_format(r#"{"error":"bad"}"#), "bad");
        assert_eq!(wire_format("<html>"), "<html>");
        assert_eq!(wire_format(" "), "(nothing)");
        assert!(wire_format(&"ä".repeat(1000)).chars().count() == QUOTE + 1);
    }
}
