//! `fetch` of flows: only to hosts that `fetch.allow` names, redirects included.
//!
//! It decides and exchanges; recording is the engine's affair.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use engine::effects::{FetchCall, FetchReply, Redirect};
use engine::error::FlowError;
use engine::provider::provider_error;
use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response, Url};

use crate::core::allowed_hosts::AllowedHost;
use crate::core::config::FILE;
use crate::models::http;

/// How long one exchange may take.
const TIMEOUT: Duration = Duration::from_secs(30);

/// How often one exchange may be sent elsewhere.
const REDIRECTS: usize = 20;

/// Headers that are the client's own business.
const OWN: [&str; 7] = ["connection", "content-length", "expect", "host", "keep-alive", "transfer-encoding", "upgrade"];

/// Why a redirect is not followed.
#[derive(Debug, thiserror::Error)]
enum Stray {
    #[error("redirected to {0}")]
    Refused(String),
    #[error("redirected more than {REDIRECTS} times")]
    TooOften,
}

/// What the flows of one request may fetch.
pub(crate) struct Pages {
    allow: Arc<[AllowedHost]>,
    /// The longest body, in bytes.
    reply_bytes: usize,
    client: OnceCell<Client>,
    /// One that follows no redirect.
    staying: OnceCell<Client>,
}

impl Pages {
    pub(crate) fn new(allow: &[AllowedHost], reply_bytes: usize) -> Self {
        Pages { allow: allow.into(), reply_bytes, client: OnceCell::new(), staying: OnceCell::new() }
    }

    /// One exchange.
    pub(crate) async fn fetch(&self, call: FetchCall) -> Result<FetchReply, FlowError> {
        let url =
            Url::parse(&call.url).map_err(|error| FlowError::plain(format!("fetch of \"{}\": {error}", call.url)))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FlowError::plain(format!("fetch knows http and https, not \"{}\"", url.scheme())));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(FlowError::plain("fetch: an address must not carry a password; use an authorization header"));
        }
        if !self.allow.iter().any(|allowed| allowed.permits(&url)) {
            return Err(refused(&http::place(&url)));
        }
        // Queries may carry secrets; the address is named without.
        let shown = format!("{}{}", url.origin().ascii_serialization(), url.path());
        let method = Method::from_bytes(call.method.as_bytes())
            .map_err(|_| FlowError::plain(format!("fetch: \"{}\" is no method", call.method)))?;
        tracing::debug!(at = %shown, %method, "fetch");
        http::check_clock(&url).map_err(|error| FlowError::plain(format!("fetch of {shown}: {error}")))?;
        let mut request = self.client(call.redirect)?.request(method, url).timeout(TIMEOUT);
        for (name, value) in call.headers.iter().filter(|(name, _)| !OWN.contains(&name.to_lowercase().as_str())) {
            request = request.header(name, value);
        }
        if let Some(body) = call.body {
            request = if call.base64 {
                request.body(BASE64.decode(body).map_err(|error| FlowError::plain(format!("fetch: {error}")))?)
            } else {
                request.body(body)
            };
        }
        let response = request.send().await.map_err(|error| failed(&shown, &error))?;
        read(&shown, response, self.reply_bytes).await
    }

    fn client(&self, redirect: Redirect) -> Result<&Client, FlowError> {
        let follows = redirect == Redirect::Follow;
        let kept = if follows { &self.client } else { &self.staying };
        if let Some(client) = kept.get() {
            return Ok(client);
        }
        let client = http::client(|| if follows { only(self.allow.clone()) } else { Policy::none() });
        let client = client.map_err(|reason| provider_error("NetworkError", reason))?;
        Ok(kept.get_or_init(|| client))
    }
}

/// Follows redirects as far as these hosts.
fn only(allow: Arc<[AllowedHost]>) -> Policy {
    Policy::custom(move |attempt| {
        if attempt.previous().len() > REDIRECTS {
            return attempt.error(Stray::TooOften);
        }
        if !allow.iter().any(|allowed| allowed.permits(attempt.url())) {
            let place = http::place(attempt.url());
            return attempt.error(Stray::Refused(place));
        }
        attempt.follow()
    })
}

async fn read(shown: &str, mut response: Response, most: usize) -> Result<FetchReply, FlowError> {
    let status = response.status();
    let url = response.url().to_string();
    // Cookies are not for flows, as in a browser: what a flow never sees need not be redacted.
    let headers = response.headers().iter().filter(|(name, _)| !name.as_str().starts_with("set-cookie"));
    let headers = headers
        .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        .collect();
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| failed(shown, &error))? {
        if bytes.len() + chunk.len() > most {
            return Err(FlowError::plain(format!(
                "fetch of {shown}: the response is larger than {most} bytes: limits.replyBytes in {FILE} says how \
                 large it may be"
            )));
        }
        bytes.extend_from_slice(&chunk);
    }
    let (body, base64) = match String::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => (BASE64.encode(error.as_bytes()), true),
    };
    let status_text = status.canonical_reason().unwrap_or_default().to_owned();
    Ok(FetchReply { status: status.as_u16(), status_text, url, headers, body, base64 })
}

fn refused(place: &str) -> FlowError {
    FlowError::plain(format!("fetch is refused: add {{ \"fetch\": {{ \"allow\": [\"{place}\"] }} }} to {FILE}"))
}

fn failed(shown: &str, error: &reqwest::Error) -> FlowError {
    if let Some(Stray::Refused(place)) = std::error::Error::source(error).and_then(|inner| inner.downcast_ref()) {
        let mut error = refused(place);
        error.message.push_str(&format!("; {shown} redirects there"));
        return error;
    }
    if error.is_timeout() {
        let message = format!("fetch of {shown}: no whole answer within {} s", TIMEOUT.as_secs());
        return provider_error("TimeoutError", message);
    }
    let message = format!("fetch of {shown}: {}", http::cause(error));
    if error.is_builder() { FlowError::plain(message) } else { provider_error("NetworkError", message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn permits(entry: &str, url: &str) -> bool {
        let allowed = AllowedHost::try_from(entry.to_owned()).unwrap_or_else(|error| panic!("{error}"));
        allowed.permits(&Url::parse(url).expect("an address"))
    }

    #[test]
    fn an_entry_means_a_host_a_port_or_a_domain() {
        assert!(permits("api.example.com", "https://api.example.com/x"));
        assert!(permits("API.example.com", "http://api.EXAMPLE.com:8080/"));
        assert!(!permits("example.com", "https://api.example.com/"));
        assert!(!permits("example.com", "https://example.com.evil.org/"));
        assert!(permits("localhost:8080", "http://localhost:8080/"));
        assert!(!permits("localhost:8080", "http://localhost:8081/"));
        assert!(permits("example.com:443", "https://example.com/"));
        assert!(permits("[::1]:9", "http://[0:0::1]:9/"));
        assert!(permits("*.example.com", "https://a.b.example.com/"));
        assert!(!permits("*.example.com", "https://example.com/"));
        assert!(!permits("*.example.com", "https://badexample.com/"));
    }

    #[test]
    fn an_entry_that_is_no_host_is_refused() {
        for entry in ["https://example.com", "*", "", "a/b", "*.*.com", "host:port", "user@host"] {
            assert!(AllowedHost::try_from(entry.to_owned()).is_err(), "{entry:?}");
        }
    }
}
