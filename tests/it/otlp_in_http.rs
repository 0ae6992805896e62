//! Traces of other programs, over HTTP: what is answered, what arrives in which order, and what a killed process leaves.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue, any_value};
use opentelemetry_proto::tonic::logs::v1::{LogRecord, ResourceLogs, ScopeLogs};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use serde_json::{Value, json};
use tests::bench::{Place, program};

/// A time in milliseconds as nanoseconds.
const T0: u64 = 1_795_941_000_000_000_000;
const PROTOBUF: &str = "application/x-protobuf";
const JSON: &str = "application/json";

/// `flowglass serve`, until it is dropped.
struct Serving {
    child: Child,
    traces: String,
}

impl Serving {
    fn new(place: &Place) -> Serving {
        Serving::with_variable(place, "FLOWGLASS_TEST", "")
    }

    fn with_variable(place: &Place, name: &str, value: &str) -> Serving {
        let mut child = Command::new(program())
            .args(["serve", "--port", "0", "--json"])
            .env(name, value)
            .current_dir(place.dir())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("it says where it is");
        let said: Value = serde_json::from_str(&line).expect("a line of JSON");
        Serving { child, traces: said["traces"].as_str().expect("an address").to_owned() }
    }

    fn post(&self, kind: &str, more: &[(&str, &str)], body: &[u8]) -> Answered {
        post(&self.traces, kind, more, body)
    }

    /// Ends it as a person does, so that it writes what it received.
    fn end(mut self) {
        // SAFETY: the process is a child that was not waited for.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGINT) };
        assert!(self.child.wait().expect("it ends").success());
    }

    fn kill(mut self) {
        self.child.kill().expect("it runs");
        let _ = self.child.wait();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Answered {
    status: u16,
    retry_after: Option<String>,
    body: Vec<u8>,
}

fn post(url: &str, kind: &str, more: &[(&str, &str)], body: &[u8]) -> Answered {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut request = agent.post(url).header("Content-Type", kind);
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    let mut answer = request.send(body).expect("it answers");
    let retry_after = answer.headers().get("retry-after").map(|value| value.to_str().expect("text").to_owned());
    Answered { status: answer.status().as_u16(), retry_after, body: answer.body_mut().read_to_vec().expect("a body") }
}

fn span(trace: u8, id: u64, parent: u64, name: &str, (start, end): (u64, u64)) -> Span {
    let parent = if parent == 0 { Vec::new() } else { parent.to_be_bytes().to_vec() };
    Span {
        trace_id: vec![trace; 16],
        span_id: id.to_be_bytes().to_vec(),
        parent_span_id: parent,
        name: name.to_owned(),
        start_time_unix_nano: if start == 0 { 0 } else { T0 + start * 1_000_000 },
        end_time_unix_nano: if end == 0 { 0 } else { T0 + end * 1_000_000 },
        ..Span::default()
    }
}

fn with(mut span: Span, name: &str, text: &str) -> Span {
    let value = Some(AnyValue { value: Some(any_value::Value::StringValue(text.to_owned())) });
    span.attributes.push(KeyValue { key: name.to_owned(), value, ..KeyValue::default() });
    span
}

fn call(spans: Vec<Span>) -> Vec<u8> {
    let scope_spans = vec![ScopeSpans { spans, ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(body).expect("memory");
    packed.finish().expect("memory")
}

/// Asks until the answer is the wanted one.
fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn id(trace: u8) -> String {
    format!("{trace:02x}").repeat(16)
}

#[test]
fn calls_are_answered_as_the_protocol_says() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let good = call(vec![span(1, 1, 0, "root", (1, 9))]);
    let answer = serving.post(PROTOBUF, &[], &good);
    assert_eq!(answer.status, 200);
    assert_eq!(ExportTraceServiceResponse::decode(&*answer.body).expect("protobuf").partial_success, None);
    assert_eq!(serving.post(PROTOBUF, &[("Content-Encoding", "gzip")], &gzip(&good)).status, 200);
    let text = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [
        { "traceId": id(2), "spanId": "0000000000000001", "name": "fine", "startTimeUnixNano": T0.to_string(),
          "endTimeUnixNano": T0 + 5 },
        { "traceId": "12", "spanId": "0000000000000002", "name": "no trace" },
        { "traceId": id(2), "spanId": "0000000000000000", "name": "no id" },
    ] }] }] });
    let answer = serving.post("application/json; charset=utf-8", &[], text.to_string().as_bytes());
    let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!((answer.status, &body["partialSuccess"]["rejectedSpans"]), (200, &json!("2")), "{body}");
    assert!(body["partialSuccess"]["errorMessage"].as_str().expect("words").contains("\"no trace\""), "{body}");

    for (kind, more, sent, status, words) in [
        (JSON, &[][..], &b"no JSON"[..], 400, "not JSON"),
        // As an empty call in protobuf.
        (JSON, &[], b"{}", 200, "{}"),
        (JSON, &[], b"\xff\xfe", 400, "not JSON"),
        (PROTOBUF, &[], b"\xff\xff\xff\xff", 400, "not an OTLP trace call"),
        (PROTOBUF, &[("Content-Encoding", "gzip")], b"no gzip", 400, "not gzip"),
        (PROTOBUF, &[("Content-Encoding", "br")], b"", 415, "gzip"),
        ("text/plain", &[], b"{}", 415, "application/x-protobuf"),
        (JSON, &[("Origin", "https://example.com")], b"{}", 403, "this machine"),
        (JSON, &[("Host", "example.com")], b"{}", 403, "this machine"),
    ] {
        let answer = serving.post(kind, more, sent);
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        assert_eq!(answer.status, status, "{kind} {more:?}: {body}");
        assert!(body.contains(words), "{kind} {more:?}: {body}");
        assert_eq!(answer.retry_after, None);
    }
    let wrong = serving.traces.replace("traces", "metrics");
    let answer = post(&wrong, JSON, &[], b"{}");
    let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!((answer.status, &body["partialSuccess"]["rejectedDataPoints"]), (200, &json!("1")), "{body}");
    assert!(body.to_string().contains("metrics are not kept"), "{body}");
    assert_eq!(post(&serving.traces.replace("traces", "profiles"), JSON, &[], b"{}").status, 404);
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    assert_eq!(agent.get(&serving.traces).call().expect("it answers").status(), 405);
    // 65 MB of zeros, in some kilobytes.
    let bomb = gzip(&vec![0; 65 << 20]);
    assert_eq!(serving.post(PROTOBUF, &[("Content-Encoding", "gzip")], &bomb).status, 413);
    serving.end();
    assert_eq!(place.get("requests").as_array().expect("rows").len(), 2);
}

#[test]
fn spans_arrive_live_late_twice_and_without_parents() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let request = id(7);
    // Children come before what they are in, as most SDKs send them.
    serving.post(PROTOBUF, &[], &call(vec![span(7, 3, 2, "inner", (20, 30))]));
    let row =
        eventually("the first span is shown", || place.get("requests").as_array().expect("rows").first().cloned());
    assert_eq!((&row["id"], &row["status"]), (&json!(request), &json!("in_progress")), "{row}");
    let logs = place.get(&format!("block {request} root/step:inner"))["logs"].to_string();
    assert!(logs.contains("its parent, span 0000000000000002, did not arrive"), "{logs}");
    serving.post(PROTOBUF, &[], &call(vec![span(7, 2, 1, "middle", (10, 40)), span(7, 3, 2, "inner", (20, 30))]));
    serving.post(PROTOBUF, &[], &call(vec![span(7, 1, 0, "outer", (5, 50))]));
    let shown = eventually("the root is there", || {
        let shown = place.get(&format!("show {request}"));
        (shown["request"]["status"] == "completed").then_some(shown)
    });
    let paths: Vec<&str> = shown["blocks"]
        .as_array()
        .expect("blocks")
        .iter()
        .map(|block| block["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(paths, ["root", "root/step:middle", "root/step:middle/step:inner"]);
    assert_eq!(shown["request"]["durationMs"], 45);
    // After the end, and once more.
    let late = call(vec![span(7, 4, 2, "late", (32, 33)), span(7, 4, 2, "late", (32, 33))]);
    serving.post(PROTOBUF, &[], &late);
    serving.post(PROTOBUF, &[], &late);
    eventually("the late span is there", || {
        let blocks = place.get(&format!("show {request}"))["blocks"].as_array().expect("blocks").len();
        (blocks == 4).then_some(())
    });
    serving.end();
    assert_eq!(place.get(&format!("show {request}"))["blocks"].as_array().expect("blocks").len(), 4);
    let sound = place.run(&["check", "--data", place.database().to_str().expect("UTF-8"), "--json"]);
    assert_eq!(sound.json()["ok"], true, "{sound}");
}

#[test]
fn odd_spans_are_shown_and_said_to_be_odd() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let hostile = "evil\u{202e}\u{200b}\u{1b}[2J/../name";
    let spans = vec![
        span(9, 1, 0, "root", (100, 200)),
        span(9, 2, 1, "early", (50, 120)),
        span(9, 3, 1, "backwards", (150, 140)),
        span(9, 4, 1, "timeless", (0, 0)),
        span(9, 5, 6, "circle a", (150, 160)),
        span(9, 6, 5, "circle b", (151, 159)),
        span(9, 7, 1, "after", (250, 260)),
        with(span(9, 8, 1, hostile, (160, 170)), "huge", &"x".repeat(300_000)),
        with(span(9, 9, 1, "", (160, 170)), "service", "other"),
    ];
    assert_eq!(serving.post(PROTOBUF, &[], &call(spans)).status, 200);
    serving.end();
    let request = id(9);
    let shown = place.get(&format!("show {request}"));
    let blocks = shown["blocks"].as_array().expect("blocks");
    assert_eq!(blocks.len(), 9, "{shown:#}");
    let logs = |path: &str| place.get(&format!("block {request} {path}"))["logs"].to_string();
    for (path, words) in [
        ("root/step:early", "starts 50 ms before its parent"),
        ("root/step:backwards", "ends 10 ms before it starts"),
        ("root/step:timeless", "it has no start time"),
        ("root/step:after", "starts 50 ms after its parent ended"),
    ] {
        assert!(logs(path).contains(words), "{path}: {}", logs(path));
    }
    let circle = blocks.iter().find(|block| block["name"] == "circle a").expect("it is there");
    let detail = place.run(&["block", &request, circle["path"].as_str().expect("a path"), "--json"]).json();
    assert!(detail["logs"].to_string().contains("form a circle"), "{detail:#}");
    assert!(blocks.iter().any(|block| block["name"] == "unnamed"), "{shown:#}");
    let text = place.run(&["show", &request, "--tree"]);
    assert!(!text.stdout.contains('\u{1b}') && !text.stdout.contains('\u{202e}'), "{text}");
    assert_eq!(place.get("search xxxxxxxxxxxxxxxxxxxx")[0]["requestId"], request.as_str());
}

#[test]
fn what_was_answered_is_there_after_a_kill() {
    let place = Place::new();
    for trace in 1..=5 {
        let serving = Serving::new(&place);
        for at in 0..20 {
            let parent = u64::from(at > 0);
            let spans = vec![span(trace, at + 1, parent, "step", (10 + at, 500 - at))];
            assert_eq!(serving.post(PROTOBUF, &[], &call(spans)).status, 200);
        }
        serving.kill();
        // No command that reads takes it in: that may take long.
        let rows = place.ask("requests");
        assert_eq!(rows.code, Some(0), "{rows}");
        let next = Serving::new(&place);
        eventually("the next receiver takes it in", || {
            let shown = place.ask(&format!("show {}", id(trace)));
            (shown.code == Some(0) && shown.json()["blocks"].as_array().expect("blocks").len() == 20).then_some(())
        });
        next.end();
        let rows = place.ask("requests");
        assert!(!rows.stderr.contains("not in requests yet"), "{rows}");
    }
    let sound = place.run(&["check", "--data", place.database().to_str().expect("UTF-8"), "--json"]);
    assert_eq!(sound.json()["ok"], true, "{sound}");
}

#[test]
fn a_port_in_use_is_said() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let port = serving.traces.rsplit(':').next().and_then(|rest| rest.split('/').next()).expect("a port");
    let refused = place.ask(&format!("serve --port {port}"));
    assert_eq!(refused.code, Some(7), "{refused}");
    assert!(refused.stderr.contains("in use") && refused.stderr.contains("--port"), "{refused}");
}

/// Keeps a database locked for writers, as a process that hangs does.
struct WriteLock(std::fs::File);

impl WriteLock {
    fn of(place: &Place) -> WriteLock {
        let name = format!("{}-shm", place.database().to_str().expect("UTF-8"));
        let file = std::fs::File::options().read(true).write(true).open(name).expect("the database is open");
        // The lock of SQLite's only writer.
        let lock = libc::flock {
            l_type: libc::F_WRLCK as i16,
            l_whence: libc::SEEK_SET as i16,
            l_start: 120,
            l_len: 1,
            l_pid: 0,
        };
        // SAFETY: the file is open, and the lock is a whole one.
        let locked = unsafe { libc::fcntl(std::os::fd::AsRawFd::as_raw_fd(&file), libc::F_SETLKW, &lock) };
        assert_eq!(locked, 0);
        WriteLock(file)
    }
}

#[test]
fn a_locked_database_makes_senders_come_back_and_nothing_is_lost_or_doubled() {
    let place = Place::new();
    let serving = Serving::new(&place);
    assert_eq!(serving.post(PROTOBUF, &[], &call(vec![span(3, 2, 1, "first", (10, 20))])).status, 200);
    eventually("the first span is shown", || place.get("requests").as_array().expect("rows").first().cloned());
    let lock = WriteLock::of(&place);
    let second = call(vec![span(3, 3, 1, "second", (20, 30)), span(3, 1, 0, "root", (5, 50))]);
    let answer = serving.post(PROTOBUF, &[], &second);
    let said = String::from_utf8_lossy(&answer.body).into_owned();
    assert_eq!((answer.status, answer.retry_after.as_deref()), (503, Some("2")), "{said}");
    assert!(said.contains("locked"), "{said}");
    drop(lock.0);
    eventually("it is taken", || (serving.post(PROTOBUF, &[], &second).status == 200).then_some(()));
    serving.end();
    let shown = place.get(&format!("show {}", id(3)));
    let names: Vec<&str> = shown["blocks"]
        .as_array()
        .expect("blocks")
        .iter()
        .map(|block| block["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(names, ["root", "first", "second"]);
    let sound = place.run(&["check", "--data", place.database().to_str().expect("UTF-8"), "--json"]);
    assert_eq!(sound.json()["ok"], true, "{sound}");
}

/// Spans of a service, as its SDK sends them.
fn of_service(name: &str, spans: Vec<Span>) -> ResourceSpans {
    let value = Some(AnyValue { value: Some(any_value::Value::StringValue(name.to_owned())) });
    let attributes = vec![KeyValue { key: "service.name".to_owned(), value, ..KeyValue::default() }];
    let resource = Some(Resource { attributes, ..Resource::default() });
    ResourceSpans {
        resource,
        scope_spans: vec![ScopeSpans { spans, ..ScopeSpans::default() }],
        ..ResourceSpans::default()
    }
}

#[test]
fn two_services_of_one_trace_are_one_request_whose_blocks_say_whose_they_are() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let shop = of_service("shop", vec![span(4, 1, 0, "order", (0, 100)), span(4, 2, 1, "POST /pay", (10, 60))]);
    // The clock of the other one is 30 ms ahead.
    let pay = of_service("pay", vec![span(4, 3, 2, "charge", (45, 85))]);
    for one in [pay, shop] {
        let body = ExportTraceServiceRequest { resource_spans: vec![one] }.encode_to_vec();
        assert_eq!(serving.post(PROTOBUF, &[], &body).status, 200);
    }
    serving.end();
    let rows = place.get("requests");
    assert_eq!((rows.as_array().map(Vec::len), &rows[0]["flow"]), (Some(1), &json!("shop")), "{rows}");
    assert_eq!(rows[0]["status"], "completed");
    let charge = "root/step:POST %2Fpay/step:charge";
    for (path, service) in [("root", "shop"), (charge, "pay")] {
        let block = place.run(&["block", &id(4), path, "--json"]).json();
        assert_eq!(block["span"]["resource"], json!({ "service.name": service }), "{path}: {block:#}");
    }
    let charge = place.run(&["block", &id(4), charge]);
    assert!(charge.stdout.contains("resource service.name") && charge.stdout.contains("pay"), "{charge}");
}

#[test]
fn secrets_are_taken_out_of_spans_before_anything_is_stored() {
    let settings = json!({
        "redact": ["ticket-id", "customer.email"], "env": { "T": { "valueEnv": "SECRET_T" } },
    });
    let place = Place::new().file("flowglass.json", &settings.to_string()).variable("SECRET_T", "very-secret-value");
    let serving = Serving::with_variable(&place, "SECRET_T", "very-secret-value");
    let messages = json!([{ "role": "user", "content": "{\"ticket_id\": \"tick-1\", \"token\": \"kept-2\"}" }]);
    let root = with(span(5, 1, 0, "root", (1, 90)), "customer.email", "ada@example.org");
    let root = with(root, "user.ticketId.last", "tick-3");
    let root = with(root, "http.request.header.authorization", "Bearer tick-4");
    let root = with(root, "ai.request.headers.x-api-key", "tick-7");
    let root = with(root, "note", "it was very-secret-value indeed");
    let root = with(root, "session.id", "s-5");
    let chat = with(span(5, 2, 1, "chat", (2, 80)), "gen_ai.input.messages", &messages.to_string());
    let chat = with(chat, "gen_ai.operation.name", "chat");
    assert_eq!(serving.post(PROTOBUF, &[], &call(vec![root.clone(), chat.clone()])).status, 200);
    serving.kill();
    // What was received and not yet written is no secret either, whatever is set when it is read.
    place.write("flowglass.json", "{}");
    let next = Serving::new(&place);
    eventually("the next receiver takes it in", || {
        let events = place.ask(&format!("events {}", id(5)));
        (events.code == Some(0) && events.stdout.contains("request_finished")).then_some(())
    });
    next.end();
    let events = place.get(&format!("events {}", id(5))).to_string();
    for secret in ["tick-", "ada@example.org", "very-secret-value"] {
        assert!(!events.contains(secret), "{secret} in {events}");
        assert!(!place.stores(secret), "{secret}");
    }
    for kept in ["kept-2", "s-5", "[redacted]", "it was "] {
        assert!(events.contains(kept), "{kept} in {events}");
    }
    // A file is read in the same way.
    let file = Place::new().file("flowglass.json", &settings.to_string());
    let fixture = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [{
        "traceId": id(6), "spanId": "0000000000000001", "name": "root", "startTimeUnixNano": "1", "endTimeUnixNano": "2",
        "attributes": [{ "key": "ticket_id", "value": { "stringValue": "tick-6" } }],
    }] }] }] });
    file.write("trace.jsonl", fixture.to_string());
    assert_eq!(file.get("import trace.jsonl")["imported"], true);
    let block = file.get(&format!("block {} root", id(6)));
    assert_eq!(block["span"]["attributes"], json!({ "ticket_id": "[redacted]" }), "{block:#}");
}

#[test]
fn hostile_spans_are_data() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let magic = json!({ "$serde_json::private::Number": "1e999", "__proto__": { "polluted": true } }).to_string();
    let deep = "[".repeat(50_000) + &"]".repeat(50_000);
    let mut spans = vec![span(8, 1, 0, "root", (1, 90))];
    for (at, text) in
        [&*magic, &deep, "</script><script>alert(1)</script>", "a\u{0}b\u{1b}]0;x\u{7}"].iter().enumerate()
    {
        let id = at as u64 + 2;
        let model = with(span(8, id, 1, text, (10, 20)), "openinference.span.kind", "LLM");
        let model = with(model, "llm.input_messages.999999999999999999999.message.content", text);
        let model = with(with(model, "input.value", text), "llm.output_messages.0.message.content", text);
        spans.push(with(with(model, "llm.token_count.prompt", "-5"), "session.id", text));
    }
    assert_eq!(serving.post(PROTOBUF, &[], &call(spans)).status, 200);
    let text = format!(
        r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{{"traceId":"{}","spanId":"{}","name":"magic","startTimeUnixNano":"18446744073709551615","endTimeUnixNano":"18446744073709551615","attributes":[{{"key":"n","value":{{"$serde_json::private::Number":"1"}}}},{{"key":"i","value":{{"intValue":"99999999999999999999"}}}}]}}]}}]}}]}}"#,
        id(8),
        "00000000000000aa"
    );
    assert_eq!(serving.post(JSON, &[], text.as_bytes()).status, 200);
    // A number that no double can hold, and nesting without an end, are no OTLP.
    for wrong in [r#"{"resourceSpans":[1e999]}"#, &deep] {
        assert_eq!(serving.post(JSON, &[], wrong.as_bytes()).status, 400);
    }
    serving.end();
    let shown = place.get(&format!("show {}", id(8)));
    assert_eq!(shown["blocks"].as_array().map(Vec::len), Some(7), "{shown:#}");
    for block in shown["blocks"].as_array().expect("blocks") {
        // No command line can have a NUL.
        let Some(path) = block["path"].as_str().filter(|path| !path.contains('\0')) else { continue };
        let text = place.run(&["block", &id(8), path]);
        assert!(text.code == Some(0) && !text.stdout.contains(['\u{1b}', '\u{0}', '\u{7}']), "{text}");
    }
    let sound = place.run(&["check", "--data", place.database().to_str().expect("UTF-8"), "--json"]);
    assert_eq!(sound.json()["ok"], true, "{sound}");
}

#[test]
fn one_bad_text_does_not_lose_a_call() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let mut body = call(vec![span(7, 1, 0, "root", (1, 90)), span(7, 2, 1, "BAD name", (2, 3))]);
    let at = body.windows(3).position(|bytes| bytes == b"BAD").expect("it is there");
    body[at] = 0xff;
    assert_eq!(serving.post(PROTOBUF, &[], &body).status, 200);
    assert_eq!(serving.post(JSON, &[], b"{}").status, 200);
    serving.end();
    let shown = place.get(&format!("show {}", id(7)));
    assert_eq!(shown["blocks"][1]["name"], "\u{fffd}AD name", "{shown:#}");
}

#[test]
fn a_deleted_trace_does_not_come_back_with_late_spans() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let request = id(7);
    let paths = || -> Vec<String> {
        let shown = place.ask(&format!("show {request}"));
        let shown = if shown.code == Some(0) { shown.json() } else { Value::Null };
        let blocks = shown["blocks"].as_array().cloned().unwrap_or_default();
        blocks.iter().map(|block| block["path"].as_str().expect("a path").to_owned()).collect()
    };
    serving.post(PROTOBUF, &[], &call(vec![span(7, 1, 0, "outer", (5, 50)), span(7, 2, 1, "inner", (10, 20))]));
    eventually("the trace is there", || (paths().len() == 2).then_some(()));
    place.get(&format!("delete --session otlp-{request}"));
    serving.post(PROTOBUF, &[], &call(vec![span(7, 3, 1, "late", (30, 40))]));
    eventually("the late span is there", || (!paths().is_empty()).then_some(()));
    serving.end();
    assert_eq!(paths().len(), 1, "{:?}", paths());
}

#[test]
fn log_records_of_model_calls_are_received() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let record = |trace: u8, name: &str, words: &str| LogRecord {
        time_unix_nano: T0,
        event_name: name.to_owned(),
        body: Some(AnyValue { value: Some(any_value::Value::StringValue(words.to_owned())) }),
        trace_id: vec![trace; 16],
        span_id: 1_u64.to_be_bytes().to_vec(),
        ..LogRecord::default()
    };
    let logs = |log_records: Vec<LogRecord>| {
        let scope_logs = vec![ScopeLogs { log_records, ..ScopeLogs::default() }];
        let resource_logs = vec![ResourceLogs { scope_logs, ..ResourceLogs::default() }];
        ExportLogsServiceRequest { resource_logs }.encode_to_vec()
    };
    let url = serving.traces.replace("/v1/traces", "/v1/logs");
    let mut one = span(7, 1, 0, "chat", (5, 50));
    for (name, value) in [("gen_ai.operation.name", "chat"), ("gen_ai.request.model", "m"), ("gen_ai.system", "s")] {
        one = with(one, name, value);
    }
    // Before their span, and after it.
    assert_eq!(post(&url, PROTOBUF, &[], &logs(vec![record(7, "gen_ai.user.message", "from a log")])).status, 200);
    serving.post(PROTOBUF, &[], &call(vec![one]));
    let rest = logs(vec![record(7, "gen_ai.choice", "yo"), record(7, "other", "a line")]);
    let answer = post(&url, PROTOBUF, &[], &rest);
    let answer = ExportTraceServiceResponse::decode(&*answer.body).expect("an answer").partial_success;
    assert_eq!(answer.map(|partial| partial.rejected_spans), Some(1));
    let metrics = post(&serving.traces.replace("/v1/traces", "/v1/metrics"), PROTOBUF, &[], &[]);
    assert_eq!(metrics.status, 200);
    serving.end();
    let shown = place.get(&format!("show {}", id(7)));
    assert_eq!((&shown["request"]["status"], &shown["output"]), (&json!("completed"), &json!("yo")), "{shown:#}");
    assert_eq!(place.get(&format!("items --request {}", id(7)))[0]["content"][0]["text"], "from a log");
}

#[test]
fn a_call_for_another_address_is_not_taken() {
    let place = Place::new();
    let serving = Serving::new(&place);
    let logs = serving.traces.replace("/v1/traces", "/v1/logs");
    let (spans, records) = (json!({ "resourceSpans": [] }), json!({ "resourceLogs": [] }));
    let both = json!({ "resourceSpans": [], "resourceMetrics": [] });
    for (url, body, status, words) in [
        (&serving.traces, &json!({ "resourceMetrics": [] }), 400, "resourceSpans"),
        (&serving.traces, &records, 400, "resourceSpans"),
        (&logs, &spans, 400, "resourceLogs"),
        (&serving.traces, &spans, 200, "{}"),
        (&logs, &records, 200, "{}"),
        (&serving.traces, &both, 200, "partialSuccess"),
    ] {
        let answer = post(url, "application/json", &[], body.to_string().as_bytes());
        let said = String::from_utf8_lossy(&answer.body);
        assert!(answer.status == status && said.contains(words), "{url} {body}: {} {said}", answer.status);
    }
    serving.end();
}

/// A folder with a receiver that got a span whose parent is elsewhere, so its trace may go on.
fn with_an_open_trace() -> (Place, Serving) {
    let place = Place::new();
    let serving = Serving::new(&place);
    serving.post(PROTOBUF, &[], &call(vec![span(7, 1, 99, "served", (5, 50))]));
    eventually("the trace is there", || place.get("requests").as_array().expect("rows").first().cloned());
    (place, serving)
}

#[test]
fn a_trace_whose_parent_is_elsewhere_ends_with_its_receiver() {
    let (place, serving) = with_an_open_trace();
    assert_eq!(place.get("requests")[0]["status"], "in_progress");
    serving.end();
    assert_eq!(place.get("requests")[0]["status"], "completed");
}

#[test]
fn a_trace_of_a_receiver_that_was_killed_ends_with_the_next_one() {
    let (place, serving) = with_an_open_trace();
    serving.kill();
    assert_ne!(place.get("requests")[0]["status"], "completed");
    Serving::new(&place).end();
    assert_eq!(place.get("requests")[0]["status"], "completed");
}
