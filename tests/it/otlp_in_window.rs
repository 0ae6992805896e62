//! The window receives the traces of other programs: a switch, what to paste into a program, and the trace as a run.

use tests::bench::{Place, repository};
use tests::sitting::open_with;
use tests::webdriver::{Settings, hook};

#[test]
fn the_window_receives_a_trace_and_says_what_cannot_be_done_with_it() {
    let place = Place::with_examples();
    let window = open_with(Settings::default(), &place, &[]);
    window.wait_for(&hook("flow-chat"));
    window.palette("Receive traces");
    window.click(&hook("receive-start"));
    let endpoint = window.wait_for(&hook("receive-url"));
    let endpoint = endpoint.trim();
    assert!(endpoint.starts_with("http://127.0.0.1:"), "{endpoint}");
    let lines = window.wait_for(&hook("receive-lines"));
    assert!(lines.contains(&format!("OTEL_EXPORTER_OTLP_ENDPOINT={endpoint}")), "{lines}");

    let file = repository().join("tests/fixtures/otlp/vercel-ai-5.jsonl");
    let trace = std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let send = || {
        let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
        agent.post(format!("{endpoint}/v1/traces")).header("Content-Type", "application/json").send(&trace)
    };
    assert_eq!(send().expect("it answers").status(), 200);
    window.click(&hook("receive-stop"));
    window.wait_for(&hook("receive-start"));
    assert!(send().is_err(), "nothing listens any more");
    drop(window);

    let request = place.get("requests")[0]["id"].as_str().expect("it was received").to_owned();
    let window = open_with(Settings::default(), &place, &["--request", &request]);
    let said = window.wait_for(&hook("foreign"));
    assert!(said.contains("Vercel AI SDK") && said.contains("cannot be resumed"), "{said}");
    window.wait_for_text(&hook("state"), "A received trace contains no state.");
    window.click(&hook("block-tab-attributes"));
    let span = window.wait_for(&hook("block-span"));
    assert!(span.contains("ai.telemetry.functionId") && span.contains("weather-vercel"), "{span}");
    window.palette("Make this trace runnable");
    window.click(&hook("do-runnable"));
    let made = window.wait_for(&hook("made-runnable"));
    assert!(made.contains("flows/weather-vercel.ts"), "{made}");
}
