//! The commands that carry sessions and requests from one machine to another: `export`, `import`.

use std::path::Path;

use runner::{Fault, Workspace};
use serde_json::json;

use crate::cli::Outcome;
use crate::cli::args::Export;
use crate::print::counted;

/// `flowglass export`.
pub(crate) fn export(workspace: &Workspace, export: Export) -> Result<Outcome, Fault> {
    let Export { session, request, out, otlp, force, view } = export;
    let out = match (out, otlp, &request) {
        (_, Some(to), Some(request)) => return export_trace(workspace, request, &to, force),
        (out, ..) => out.unwrap_or_default(),
    };
    let done = workspace.export((session.as_deref(), request.as_deref()), (&out, force), view)?;
    let what = match done.view.as_str() {
        "all" => counted(done.events, "event"),
        audience => format!("{} that {audience} sees", counted(done.items, "item")),
    };
    let requests = counted(done.requests.len() as u64, "request");
    let text = format!("{}: {requests}, {what}, {} bytes\n", done.file, done.bytes);
    Ok(Outcome::done(json!(done), text))
}

/// `flowglass export --otlp`.
fn export_trace(workspace: &Workspace, request: &str, to: &str, force: bool) -> Result<Outcome, Fault> {
    let done = workspace.export_trace(request, to, force)?;
    let text = format!("{}: {} to {}\n", done.request, counted(done.spans, "span"), done.to);
    Ok(Outcome::done(json!(done), text))
}

/// `flowglass import`.
pub(crate) fn import(workspace: &Workspace, file: &Path) -> Result<Outcome, Fault> {
    let done = workspace.import(file)?;
    let text = if done.imported {
        format!("{}, {}\n", counted(done.requests.len() as u64, "request"), counted(done.events, "event"))
    } else {
        "all of it is here already\n".to_owned()
    };
    Ok(Outcome::done(json!(done), text))
}
