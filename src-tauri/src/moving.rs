//! The commands that carry sessions and requests from one machine to another: `export`, `import`.

use std::path::Path;

use engine::event::RequestStatus;
use runner::{Audience, Fault, Workspace};
use serde_json::json;

use crate::cli::Outcome;
use crate::cli::args::Export;
use crate::print::counted;
use crate::terminal::tell;

/// The page that shows one request, as it was built. A request's data is put into it.
pub(crate) const PAGE: &str = include_str!("../../ui/page/dist/page.html");

/// `flowglass export`.
pub(crate) fn export(workspace: &Workspace, export: Export) -> Result<Outcome, Fault> {
    let Export { session, request, out, html, otlp, force, view } = export;
    let out = match (out, html, otlp, &request) {
        (_, Some(file), _, Some(request)) => return export_html(workspace, request, (&file, force), view),
        (_, _, Some(to), Some(request)) => return export_trace(workspace, request, &to, force),
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

/// `flowglass export --html`.
fn export_html(workspace: &Workspace, request: &str, file: (&Path, bool), view: Audience) -> Result<Outcome, Fault> {
    let done = workspace.export_html(request, file, view, PAGE)?;
    let what = match done.view.as_str() {
        "all" => format!("{} and {}", counted(done.events, "event"), counted(done.items, "item")),
        audience => format!("{} that {audience} sees", counted(done.items, "item")),
    };
    for variable in workspace.missing_secrets() {
        tell(&format!(
            "flowglass: {variable} is not set here, so that its recorded value cannot be found and hidden in {}",
            done.file
        ));
    }
    let as_of = match workspace.request(request)?.status {
        status if status.is_terminal() => "",
        RequestStatus::Suspended => "; it waits for an answer: this is as of now",
        _ => "; it has not ended: this is as of now",
    };
    let text = format!("{}: {what}, {} bytes{as_of}\n", done.file, done.bytes);
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
    if let (Some(rejected), Some(why)) = (done.rejected, &done.why_rejected) {
        tell(&format!("flowglass: {} left out: {why}", counted(rejected, "span")));
    }
    if let Some(skipped) = done.skipped {
        tell(&format!("flowglass: log records and metrics are skipped: {skipped}"));
    }
    let text = if done.imported {
        format!("{}, {}\n", counted(done.requests.len() as u64, "request"), counted(done.events, "event"))
    } else {
        "already imported\n".to_owned()
    };
    Ok(Outcome::done(json!(done), text))
}
