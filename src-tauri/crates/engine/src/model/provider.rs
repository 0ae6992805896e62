//! Classification of the failures of models (SEMANTICS §5.5).
//!
//! Used for servers that the runner calls and for models that are an author's own code. The callers write the messages.

use crate::model::error::FlowError;

/// Returns an error of this class; its code and whether it is retryable follow from the class.
pub fn provider_error(name: &str, message: impl Into<String>) -> FlowError {
    let (code, retryable) = match name {
        "NetworkError" => ("network_error", true),
        "TimeoutError" => ("timeout_error", true),
        "RateLimitError" => ("rate_limit_error", true),
        "ProviderUnavailableError" => ("provider_unavailable_error", true),
        "ContextLengthError" => ("context_length_error", false),
        _ => ("model_error", true),
    };
    FlowError {
        code: Some(code.to_owned()),
        retryable,
        classes: [name, "FlowError", "Error"].map(str::to_owned).to_vec(),
        ..FlowError::new(name, message)
    }
}

/// Returns the class of a failure by its HTTP status (0 if there is none) and its body.
pub fn class_of_status(status: u16, body: &str) -> &'static str {
    let said = body.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    match status {
        429 => "RateLimitError",
        408 | 504 => "TimeoutError",
        500.. => "ProviderUnavailableError",
        _ if says(&[
            "context_length_exceeded",
            "context length",
            "context window",
            "prompt is too long",
            "maximum number of tokens",
        ]) =>
        {
            "ContextLengthError"
        }
        // Errors in the middle of an answer have no status, only a type.
        0 if says(&["rate_limit"]) => "RateLimitError",
        0 if says(&["overloaded", "server_error", "api_error", "unavailable"]) => "ProviderUnavailableError",
        _ => "ModelError",
    }
}

/// Returns the class of a failure by the code of a network library.
pub fn class_of_network(code: &str) -> Option<&'static str> {
    match code {
        "ETIMEDOUT" | "ESOCKETTIMEDOUT" | "UND_ERR_CONNECT_TIMEOUT" | "UND_ERR_HEADERS_TIMEOUT" => Some("TimeoutError"),
        "ECONNREFUSED" | "ECONNRESET" | "ECONNABORTED" | "ENOTFOUND" | "EAI_AGAIN" | "EPIPE" | "EHOSTUNREACH"
        | "ENETUNREACH" | "UND_ERR_SOCKET" => Some("NetworkError"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_are_classified() {
        let long = r#"{"error":{"code":"context_length_exceeded","message":"maximum context length is 8192 tokens"}}"#;
        for (status, body, class) in [
            (429, "{}", "RateLimitError"),
            (503, "", "ProviderUnavailableError"),
            (529, "", "ProviderUnavailableError"),
            (401, "{}", "ModelError"),
            (400, long, "ContextLengthError"),
            (0, r#"{"type":"overloaded_error"}"#, "ProviderUnavailableError"),
            (0, r#"{"type":"invalid_request_error"}"#, "ModelError"),
        ] {
            assert_eq!(class_of_status(status, body), class, "{status} {body}");
        }
    }
}
