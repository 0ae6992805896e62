//! A request as an OpenTelemetry trace, as a collector takes it: decoded from what comes over the wire, and from a
//! file.

use std::collections::HashMap;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use serde_json::{Value, json};
use tests::bench::Place;
use tests::server::{Reply, Server};

const FLOW: &str = r#"
const say = generator({ name: "say", model: "tiny", prompt: "Be brief.", user: "hello" });
const get = handler({ name: "get", inputSchema: z.any(), execute: async (input, ctx) => (await fetch(input.at)).status });
const fail = handler({ name: "fail", inputSchema: z.any(), execute: async () => { throw new TypeError("no such thing"); } });
const ask = handler({ name: "ask", inputSchema: z.any(), execute: async (input, ctx) => { await ctx.suspend({ reason: "approval", message: "Go on?" }); return input; } });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  actions: {
    go: { block: chain("go").tap(get).step(say) },
    fail: { block: chain("fail").step(fail) },
    ask: { block: chain("ask").step(ask) },
  },
});
"#;

fn place(server: &Server) -> Place {
    let settings = json!({ "fetch": { "allow": [server.host()] } });
    let place = Place::with_flow(FLOW).file("flowglass.json", &settings.to_string());
    place.write(
        "flows/main.mock.json",
        r#"{ "generators": { "say": [{ "text": "Hi.", "usage": { "promptTokens": 7, "completionTokens": 2 } }] } }"#,
    );
    place
}

fn spans(trace: &ExportTraceServiceRequest) -> Vec<Span> {
    trace.resource_spans.iter().flat_map(|all| &all.scope_spans).flat_map(|scope| scope.spans.clone()).collect()
}

fn attributes(span: &Span) -> HashMap<String, Value> {
    let value = |any: &Any| match any {
        Any::StringValue(text) => json!(text),
        Any::IntValue(number) => json!(number),
        Any::BoolValue(flag) => json!(flag),
        other => panic!("{other:?}"),
    };
    let pairs = span.attributes.iter().map(|pair| {
        let any = pair.value.as_ref().and_then(|value| value.value.as_ref()).expect("an attribute has a value");
        (pair.key.clone(), value(any))
    });
    pairs.collect()
}

#[track_caller]
fn named<'s>(spans: &'s [Span], name: &str) -> &'s Span {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no span {name}: {spans:#?}"))
}

/// A trace that came to a collector.
fn collected(place: &Place, request: &str) -> Vec<Span> {
    let collector = Server::start([Reply::body("application/x-protobuf", "")]);
    let told = place.get(&format!("export --request {request} --otlp {}", collector.address()));
    let asked = collector.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].line, "POST /v1/traces");
    assert_eq!(asked[0].header("content-type"), Some("application/x-protobuf"));
    let trace = ExportTraceServiceRequest::decode(asked[0].body.as_slice()).expect("a trace");
    let spans = spans(&trace);
    assert_eq!(told["spans"], json!(spans.len()), "{told}");
    for span in &spans {
        assert_eq!((span.trace_id.len(), span.span_id.len()), (16, 8));
        assert_eq!(span.trace_id, spans[0].trace_id, "one trace");
        assert!(span.start_time_unix_nano > 0 && span.end_time_unix_nano >= span.start_time_unix_nano, "{span:?}");
        let is_root = span.parent_span_id.is_empty();
        assert!(is_root || spans.iter().any(|other| other.span_id == span.parent_span_id), "{span:?} hangs in the air");
    }
    spans
}

#[test]
fn a_request_is_a_trace_of_its_blocks_and_calls() {
    let server = Server::start([Reply::text("page")]);
    let place = place(&server);
    place.get(&format!(
        "run main go --user ada --session s --request r --mock --input {{\"at\":\"{}/page\"}}",
        server.address()
    ));
    let all = collected(&place, "r");
    let names: Vec<&str> = all.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["main.go", "go", "get", "say", "GET", "chat tiny"]);
    let request = named(&all, "main.go");
    assert_eq!(request.kind, i32::from(SpanKind::Server));
    let told = attributes(request);
    assert_eq!(
        (&told["flowglass.request.id"], &told["session.id"], &told["user.id"]),
        (&json!("r"), &json!("s"), &json!("ada"))
    );
    let (chain, say) = (named(&all, "go"), named(&all, "say"));
    assert_eq!((&chain.parent_span_id, &say.parent_span_id), (&request.span_id, &chain.span_id));
    assert_eq!(attributes(say)["flowglass.path"], json!("root/step:say"));
    assert!(!attributes(say).contains_key("flowglass.memoized"));
    let call = named(&all, "chat tiny");
    assert_eq!((&call.parent_span_id, call.kind), (&say.span_id, i32::from(SpanKind::Client)));
    let told = attributes(call);
    assert_eq!((&told["gen_ai.operation.name"], &told["gen_ai.request.model"]), (&json!("chat"), &json!("tiny")));
    assert_eq!((&told["gen_ai.usage.input_tokens"], &told["gen_ai.usage.output_tokens"]), (&json!(7), &json!(2)));
    let told = attributes(named(&all, "GET"));
    assert_eq!((&told["http.response.status_code"], &told["http.request.method"]), (&json!(200), &json!("GET")));
    // What flows got and made stays here.
    let whole = format!("{all:?}");
    assert!(!whole.contains("Be brief") && !whole.contains("Hi."), "{whole}");
}

#[test]
fn a_failure_and_a_wait_are_told() {
    let server = Server::start([]);
    let place = place(&server);
    assert_eq!(place.ask("run main fail --user ada --request failed --input 1").code, Some(3));
    let all = collected(&place, "failed");
    for name in ["main.fail", "fail"] {
        let span = named(&all, name);
        let status = span.status.as_ref().expect("a status");
        assert_eq!((status.code, status.message.as_str()), (StatusCode::Error.into(), "no such thing"), "{name}");
        assert_eq!(span.events[0].name, "exception", "{name}");
    }
    assert_eq!(place.ask("run main ask --user ada --request waits --input 1").code, Some(4));
    let all = collected(&place, "waits");
    assert_eq!(attributes(named(&all, "main.ask"))["flowglass.status"], json!("suspended"));
    assert_eq!(named(&all, "main.ask").status.as_ref().map(|status| status.code), Some(StatusCode::Unset.into()));
}

#[test]
fn a_file_is_read_as_a_collector_reads_it() {
    let server = Server::start([Reply::text("page")]);
    let place = place(&server);
    assert_eq!(place.ask("run main fail --user ada --request r --input 1").code, Some(3));
    let told = place.get("export --request r --otlp trace.json");
    assert_eq!(told, json!({ "request": "r", "to": "trace.json", "spans": 3 }));
    let text = std::fs::read_to_string(place.dir().join("trace.json")).expect("a file");
    assert_eq!(text.lines().count(), 1);
    let trace: ExportTraceServiceRequest = serde_json::from_str(&text).expect("OTLP JSON");
    assert_eq!(spans(&trace).len(), 3);
    // Ids are the same wherever a request is exported to.
    assert_eq!(spans(&trace)[0].trace_id, collected(&place, "r")[0].trace_id);

    for (line, code, says) in [
        ("export --request r --otlp trace.json", 7, "exists already"),
        ("export --request r --otlp .flowglass/flowglass.db --force", 7, "never replaced"),
        ("export --request nobody --otlp x.json", 6, "unknown request"),
        ("export --session s --otlp x.json", 2, "--request"),
        ("export --request r --otlp x.json --out y", 2, "--out"),
        ("export --request r", 2, "--out"),
        ("export --request r --otlp http://", 2, "--otlp"),
        ("export --request r --otlp http://127.0.0.1:1/v1/traces", 1, "127.0.0.1:1"),
    ] {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(code), "{line}\n{answer}");
        assert!(answer.stderr.contains(says), "{line}\n{answer}");
    }
    let refuses = Server::start([Reply::text("no").status(503)]);
    let answer = place.ask(&format!("export --request r --otlp {}", refuses.address()));
    assert!(answer.code == Some(1) && answer.stderr.contains("503"), "{answer}");
    place.get("export --request r --otlp trace.json --force");
}
