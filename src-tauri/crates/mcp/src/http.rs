//! The MCP server over HTTP on this machine, for clients that start no program, while a person keeps it on.
//!
//! Every call needs the token that the window shows. Calls from pages in a browser are refused, because they have an
//! `Origin` header. Must listen only on the loopback address.

use std::convert::Infallible;
use std::sync::Arc;

use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use runner::{Fault, LoopbackServer, Workspace};
use serde_json::Value;

use crate::checked::{Wrong, unreadable, wrong_call};
use crate::server::{Server, Source, runtime};

/// The maximum size of a call.
const MOST_BYTES: usize = 4 << 20;
/// The prefix of the header with the token.
const SCHEME: &[u8] = b"Bearer ";
/// How many random bytes a token has.
const TOKEN_BYTES: usize = 24;

type Body = http_body_util::combinators::BoxBody<Bytes, Infallible>;
type Service = StreamableHttpService<Server, LocalSessionManager>;

/// An endpoint that serves until it is dropped.
pub struct Endpoint {
    /// `http://127.0.0.1:PORT/mcp`.
    pub url: String,
    /// The token for `Authorization: Bearer`.
    pub token: String,
    _server: LoopbackServer,
}

/// Opens an endpoint on a free port of the loopback address. Fails if there is no free port or thread.
pub fn serve_http(workspace: Arc<Workspace>) -> Result<Endpoint, Fault> {
    let wrong = |error: &dyn std::fmt::Display| Fault::Internal { message: format!("no endpoint for agents: {error}") };
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| wrong(&error))?;
    let token: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    // A workspace owns a runtime, which must not be dropped inside another one, and so not by the server.
    let held = workspace.clone();
    let server = Server::new(Source::new(move || Ok(workspace.clone())));
    let expected: Arc<str> = token.as_str().into();
    let config = StreamableHttpServerConfig::default().enforce_origin_validation();
    let service = Service::new(move || Ok(server.clone()), Arc::new(LocalSessionManager::default()), config);
    let answer = move |request| answer(service.clone(), expected.clone(), request);
    let server =
        LoopbackServer::open("agents", 0, runtime()?, answer, move || drop(held)).map_err(|error| wrong(&error))?;
    Ok(Endpoint { url: format!("http://127.0.0.1:{}/mcp", server.port), token, _server: server })
}

async fn answer(service: Service, expected: Arc<str>, request: Request<Incoming>) -> Response<Body> {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| token(value.as_bytes()));
    // Hashes compare in constant time.
    let is_known = given.is_some_and(|given| blake3::hash(given) == blake3::hash(expected.as_bytes()));
    if !is_known {
        return refusal(StatusCode::UNAUTHORIZED, "Authorization must be Bearer and the token that Flowglass shows");
    }
    if request.uri().path() != "/mcp" {
        return refusal(StatusCode::NOT_FOUND, "the endpoint is /mcp");
    }
    let (parts, body) = request.into_parts();
    let body = match Limited::new(body, MOST_BYTES).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, "a message has at most 4 MiB");
        }
        Err(_) => return refusal(StatusCode::BAD_REQUEST, "the body of the call cannot be read"),
    };
    if parts.method == Method::POST
        && let Some((status, wrong)) = wrong(&body)
    {
        return json_refusal(status, &wrong);
    }
    service.handle(Request::from_parts(parts, Full::new(body))).await
}

/// The token of a header. The case of the scheme's name is ignored.
fn token(header: &[u8]) -> Option<&[u8]> {
    let (scheme, token) = header.split_at_checked(SCHEME.len())?;
    scheme.eq_ignore_ascii_case(SCHEME).then(|| token.trim_ascii())
}

/// The error of a message for which the library's own answer would tell a client too little.
fn wrong(body: &[u8]) -> Option<(StatusCode, Wrong)> {
    match serde_json::from_slice::<Value>(body) {
        // The same status as the library's answer to wrong parameters of a call.
        Ok(message) => wrong_call(&message).map(|wrong| (StatusCode::OK, wrong)),
        Err(error) => Some((StatusCode::BAD_REQUEST, unreadable(body, &error))),
    }
}

fn refusal(status: StatusCode, message: &'static str) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from_static(message.as_bytes())).boxed());
    *response.status_mut() = status;
    response
}

fn json_refusal(status: StatusCode, wrong: &Wrong) -> Response<Body> {
    let mut response = Response::new(Full::new(Bytes::from(wrong.answer().to_string())).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_case_of_the_token_scheme_is_ignored() {
        for given in ["Bearer abc", "bearer abc", "BEARER  abc "] {
            assert_eq!(token(given.as_bytes()), Some(&b"abc"[..]), "{given}");
        }
        for given in ["", "Bearer", "Bearerabc", "Basic abc", "abc"] {
            assert_eq!(token(given.as_bytes()), None, "{given}");
        }
    }
}
