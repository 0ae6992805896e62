//! Spans over HTTP: OTLP's `POST /v1/traces` on this machine, as protobuf or JSON; and `POST /v1/logs` for the messages
//! of model calls that some SDKs send as log records.
//!
//! A call is answered once its spans are stored, so nothing that a sender was told to have arrived is lost. Writing
//! logs comes after. Must listen on nothing but the loopback address, and answer no page of a browser.

mod answer;

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::event::RequestStatus;
use engine::json::parse;
use engine::redaction::Redaction;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::{Method, Request, Response, StatusCode, header};
use serde::Serialize;
use store::{RequestQuery, Store};

use self::answer::{Answer, Encoding, Signal};
use super::pending::{self, Arrived, Pending};
use crate::core::fault::Fault;
use crate::core::loopback::{LoopbackServer, is_local};
use crate::core::sync::lock;
use crate::foreign::decode::{Decoded, TraceId, json_log_records, json_spans, protobuf, protobuf_logs};
use crate::run::owner::Lock;
use crate::workspace::Workspace;

/// Where SDKs send to if nothing else is said.
pub const USUAL_PORT: u16 = 4318;
/// The longest call, as it is sent and as it is after decompression.
const MAX_BYTES: usize = 64 << 20;
/// While more bytes of spans than this wait for their logs, calls are answered with 503.
const MAX_WAITING: usize = 256 << 20;
/// How long a call may wait for the database. What is stored later is known when it is sent again.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// How many requests that have not ended are looked at for those of dead receivers, newest first.
const MAX_LEFT_OPEN: u64 = 10_000;
/// When a sender may come back, in seconds.
const RETRY_AFTER: &str = "2";
/// For values that are nested deeply.
pub(super) const STACK: usize = 64 << 20;

/// An endpoint that receives spans until it is closed.
pub struct Receiver {
    server: Option<LoopbackServer>,
    pending: Option<std::thread::JoinHandle<()>>,
    /// By it others know that what was received is being taken care of.
    _job: Lock,
}

/// An endpoint, as the window shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, specta::Type)]
pub struct ReceiverRow {
    /// What senders are given as `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub endpoint: String,
}

impl Workspace {
    /// Opens an endpoint on a port, or on a free one for 0.
    pub fn receive_spans(&self, port: u16) -> Result<Receiver, Fault> {
        self.check_writable()?;
        let job = self.lock()?;
        let (sender, arriving) = channel();
        let waiting: Arc<AtomicUsize> = Arc::default();
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().thread_stack_size(STACK).build()?;
        let intake = Intake {
            store: self.store.clone(),
            owner: job.owner().into(),
            sender: Mutex::new(sender),
            waiting: waiting.clone(),
            redaction: self.redaction_of_spans(),
        };
        let intake = Arc::new(intake);
        let respond = move |request| {
            let intake = intake.clone();
            async move { intake.respond(request).await }
        };
        let server = LoopbackServer::open("spans", port, runtime, respond, || {}).map_err(|error| {
            if error.kind() != std::io::ErrorKind::AddrInUse {
                return Fault::internal(format!("no endpoint for spans on port {port}: {error}"));
            }
            Fault::refused(format!(
                "port {port} of this machine is in use, maybe by another \"flowglass serve\" or by a collector: end \
                 that, or name another port with --port"
            ))
        })?;
        let mut pending = Pending::new(self.store.clone(), job.owner(), waiting);
        pending.settle_later(self.left_open()?);
        pending.take_later(self.left(job.owner()));
        let run = move || pending.run(&arriving);
        let pending = std::thread::Builder::new().name("foreign logs".to_owned()).stack_size(STACK).spawn(run)?;
        Ok(Receiver { server: Some(server), pending: Some(pending), _job: job })
    }

    /// The newest traces whose receivers have died before they ended them.
    fn left_open(&self) -> Result<Vec<TraceId>, Fault> {
        let status = Some(RequestStatus::Interrupted);
        let open = RequestQuery { status, limit: Some(MAX_LEFT_OPEN), ..RequestQuery::default() };
        let mut rows = self.store.requests(&open).map_err(Fault::internal)?;
        rows.retain(|row| {
            row.emitter.is_some()
                && self.locks.is_ours(&row.owner)
                && self.locks.liveness(&row.owner) == store::Liveness::Dead
        });
        Ok(rows.iter().filter_map(|row| TraceId::from_str_radix(&row.id, 16).ok()).collect())
    }
}

impl Receiver {
    /// What the window shows.
    pub fn row(&self) -> ReceiverRow {
        let port = self.server.as_ref().map_or(0, |server| server.port);
        ReceiverRow { endpoint: format!("http://127.0.0.1:{port}") }
    }

    /// Stops receiving, and writes what was received.
    pub fn close(mut self) {
        self.end();
    }

    fn end(&mut self) {
        if let Some(server) = self.server.take() {
            server.close();
        }
        if let Some(pending) = self.pending.take() {
            // A panic was reported when it happened.
            let _ = pending.join();
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.end();
    }
}

/// What answers calls.
struct Intake {
    store: Arc<Store>,
    owner: Arc<str>,
    sender: Mutex<Sender<Arrived>>,
    waiting: Arc<AtomicUsize>,
    redaction: Redaction,
}

impl Intake {
    async fn respond(self: Arc<Self>, request: Request<Incoming>) -> Response<answer::Full> {
        let encoding = Encoding::of(request.headers().get(header::CONTENT_TYPE));
        match self.take(request, encoding).await {
            Ok(answer) | Err(answer) => answer.response(encoding.unwrap_or(Encoding::Json)),
        }
    }

    async fn take(self: Arc<Self>, request: Request<Incoming>, encoding: Option<Encoding>) -> Result<Answer, Answer> {
        if !is_local(&request) {
            return Err(Answer::refused(StatusCode::FORBIDDEN, "only programs of this machine may send spans"));
        }
        let signal = match request.uri().path() {
            "/v1/traces" => Signal::Traces,
            "/v1/logs" => Signal::Logs,
            "/v1/metrics" => Signal::Metrics,
            _ => {
                return Err(Answer::refused(
                    StatusCode::NOT_FOUND,
                    "traces are received at /v1/traces, log records of model calls at /v1/logs, and nothing else is",
                ));
            }
        };
        if request.method() != Method::POST {
            return Err(Answer::refused(StatusCode::METHOD_NOT_ALLOWED, "spans are sent with POST"));
        }
        let unsupported = |message: &str| Answer::refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
        let encoding = encoding
            .ok_or_else(|| unsupported("the content type must be application/x-protobuf or application/json"))?;
        let is_compressed = match request.headers().get(header::CONTENT_ENCODING).map(|value| value.as_bytes()) {
            None | Some(b"identity" | b"") => false,
            Some(b"gzip") => true,
            Some(_) => return Err(unsupported("the content encoding must be gzip, or none")),
        };
        if self.waiting.load(Ordering::SeqCst) > MAX_WAITING {
            return Err(Answer::busy("more spans wait than are taken in; send them again"));
        }
        let body = Limited::new(request.into_body(), MAX_BYTES).collect().await;
        let body = body.map_err(|error| match error.downcast_ref::<http_body_util::LengthLimitError>() {
            Some(_) => too_large(),
            None => Answer::refused(StatusCode::BAD_REQUEST, "the call ended before its body did"),
        })?;
        let (body, intake) = (body.to_bytes(), self.clone());
        if signal == Signal::Metrics {
            // A refusal would make some SDKs say an error each time that they send metrics.
            return Ok(Answer::Taken(signal, i64::from(!body.is_empty()), NO_METRICS.to_owned()));
        }
        let stored = tokio::task::spawn_blocking(move || intake.keep(body, (signal, encoding), is_compressed));
        match tokio::time::timeout(MAX_WAIT, stored).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Answer::refused(StatusCode::INTERNAL_SERVER_ERROR, "the spans were not stored")),
            Err(_) => Err(Answer::busy("another process keeps the database locked; send the spans again")),
        }
    }

    /// Reads and stores a call.
    fn keep(&self, body: Bytes, (signal, encoding): (Signal, Encoding), is_compressed: bool) -> Result<Answer, Answer> {
        let bad = |why: String| Answer::refused(StatusCode::BAD_REQUEST, why);
        let plain = if is_compressed { unpacked(&body).map_err(|why| why.unwrap_or_else(too_large))? } else { body };
        let mut decoded = match (signal, encoding) {
            (Signal::Logs, Encoding::Protobuf) => protobuf_logs(&plain),
            (Signal::Logs, Encoding::Json) => json_log_records(&plain),
            (Signal::Traces | Signal::Metrics, _) => encoding.decode(&plain),
        };
        let decoded = decoded.as_mut().map_err(|why| bad(std::mem::take(why)))?;
        let has_secrets = decoded.redact(&self.redaction);
        let (rejected, why) = match signal {
            Signal::Traces if decoded.skipped > 0 => {
                let why = decoded.why.clone().unwrap_or_else(|| NOT_SPANS.to_owned());
                (decoded.rejected + decoded.skipped, Some(why))
            }
            Signal::Traces | Signal::Metrics => (decoded.rejected, decoded.why.clone()),
            Signal::Logs => (decoded.skipped, (decoded.skipped > 0).then(|| SKIPPED.to_owned())),
        };
        if !decoded.spans.is_empty() {
            // Log records are stored as the spans that they are read as.
            let kept = if has_secrets || signal == Signal::Logs {
                packed(REDACTED, decoded.to_json().to_string().as_bytes())
            } else {
                packed(encoding.letter(), &plain)
            };
            let kept = kept.map_err(|error| bad(error.to_string()))?;
            let spans = std::mem::take(decoded).packed();
            let call = self.store.receive(&self.owner, kept).map_err(|error| Answer::busy(error.to_string()))?;
            self.waiting.fetch_add(pending::bytes(&spans), Ordering::SeqCst);
            // If nobody takes it, the next process does.
            let _ = lock(&self.sender).send((call, spans));
        }
        Ok(Answer::Taken(signal, i64::try_from(rejected).unwrap_or(i64::MAX), why.unwrap_or_default()))
    }
}

fn too_large() -> Answer {
    Answer::refused(StatusCode::PAYLOAD_TOO_LARGE, format!("a call has at most {MAX_BYTES} bytes, also uncompressed"))
}

/// Decompresses a body. `Err(None)` if it becomes too large.
fn unpacked(body: &[u8]) -> Result<Bytes, Option<Answer>> {
    let mut plain = Vec::new();
    let read = flate2::read::MultiGzDecoder::new(body).take(MAX_BYTES as u64 + 1).read_to_end(&mut plain);
    match read {
        Ok(read) if read > MAX_BYTES => Err(None),
        Ok(_) => Ok(plain.into()),
        Err(error) => Err(Some(Answer::refused(StatusCode::BAD_REQUEST, format!("not gzip: {error}")))),
    }
}

/// Why a call of metrics is not kept.
const NO_METRICS: &str = "metrics are not kept: none of this call";

/// Why log records are not kept.
const SKIPPED: &str = "only log records whose event is of gen_ai and that name a span are kept";

/// Why what is no list of spans is not kept.
const NOT_SPANS: &str = "log records and metrics beside spans are not kept";

/// The letter of a call of which something was taken out, as [`Decoded::to_json`] writes it.
const REDACTED: u8 = b'r';

/// A call as it is stored: a letter for its encoding, and its body, compressed.
fn packed(letter: u8, plain: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stored = vec![letter];
    stored.extend(zstd::encode_all(plain, 1)?);
    Ok(stored)
}

/// Reads what [`packed`] made. What cannot be read any more has no spans.
pub(super) fn stored(body: &[u8]) -> Decoded {
    let Some((letter, packed)) = body.split_first() else { return Decoded::default() };
    let plain = zstd::decode_all(packed).unwrap_or_default();
    if *letter == REDACTED {
        return std::str::from_utf8(&plain)
            .ok()
            .and_then(|text| parse(text).ok())
            .map(Decoded::from_json)
            .unwrap_or_default();
    }
    Encoding::from_letter(*letter).and_then(|encoding| encoding.decode(&plain).ok()).unwrap_or_default()
}

impl Encoding {
    fn decode(self, body: &[u8]) -> Result<Decoded, String> {
        match self {
            Encoding::Protobuf => protobuf(body),
            Encoding::Json => json_spans(body),
        }
    }
}
