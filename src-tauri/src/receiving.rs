//! `flowglass serve`, which receives traces of other programs until a signal stops it, and `flowglass runnable`, which
//! makes a flow from a trace.

use std::sync::mpsc::channel;

use runner::{Fault, Workspace};
use serde_json::{Value, json};

use crate::cli::args::Command;
use crate::cli::{Outcome, exit, say};
use crate::print::counted;
use crate::signals::Signals;
use crate::terminal::tell;

/// Tells that spans wait which a killed receiver left. No other command takes them in, because it may take minutes.
pub(crate) fn tell_left(workspace: &Workspace, command: &Command) {
    if !matches!(command, Command::Serve { .. }) && workspace.has_left_spans() {
        tell(
            "flowglass: spans of a receiver that was killed are not in requests yet; \"flowglass serve\" takes them in",
        );
    }
}

/// `flowglass serve`.
pub(crate) fn serve(workspace: &Workspace, port: u16, is_json: bool) -> Result<Outcome, Fault> {
    let (ended, end) = channel();
    let signals = Signals::listen()
        .map_err(|error| Fault::Internal { message: format!("cannot install signal handlers: {error}") })?;
    signals.stop_with("stopping after received data is stored", move || {
        let _ = ended.send(()); // The receiver may be stopping already; ignore the send error.
    });
    let receiver = workspace.receive_spans(port)?;
    let endpoint = receiver.row().endpoint;
    if is_json {
        say(&json!({ "endpoint": endpoint, "traces": format!("{endpoint}/v1/traces") }));
    } else {
        tell(&format!("flowglass: receiving traces at {endpoint}/v1/traces; press Ctrl-C to stop"));
        tell(&format!("flowglass: for most SDKs: OTEL_EXPORTER_OTLP_ENDPOINT={endpoint}"));
    }
    // Blocks until a signal, because the signal handler owns the sender.
    let _ = end.recv();
    receiver.close();
    Ok(Outcome { json: Value::Null, text: String::new(), code: exit::DONE })
}

/// `flowglass runnable`.
pub(crate) fn runnable(workspace: &Workspace, request: &str, name: &str, force: bool) -> Result<Outcome, Fault> {
    let made = workspace.make_runnable(request, name, force)?;
    let input = made.files.iter().find(|file| file.ends_with(".input.json"));
    let input = input.map(|file| format!(" --input @{file}")).unwrap_or_default();
    let mut text = format!(
        "{}: {}, {}\nflowglass run {name} run --user me --mock{input}\n",
        made.files.join(", "),
        counted(made.model_calls, "model call"),
        counted(made.tools.len() as u64, "tool"),
    );
    if !made.differences.is_empty() {
        text.push_str("the run differs from the trace:\n");
        text.extend(made.differences.iter().map(|one| format!("- {one}\n")));
    }
    Ok(Outcome::done(json!(made), text))
}
