//! Folders that inputs are tried in, opened as the program opens them.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use runner::{Ended, OpenOptions, RunOptions, Running, Workspace};
use tests::bench::{Place, program};

/// How long a request may go before it is stopped.
const LONG_ENOUGH: Duration = Duration::from_millis(1_500);

/// As the command line opens a folder: flows are bundled by a child.
pub(crate) fn options(dir: &Path) -> OpenOptions {
    OpenOptions {
        dir: dir.to_owned(),
        bundler: Some(program()),
        on_damaged: Some(|_, _, _| {}),
        ..OpenOptions::default()
    }
}

/// The same, opened, where that must work.
pub(crate) fn opened(place: &Place) -> Arc<Workspace> {
    Workspace::open(options(place.dir())).expect("the workspace opens")
}

/// A flow's action, asked for by one user.
pub(crate) fn action(flow: &str, action: &str) -> RunOptions {
    RunOptions { flow: flow.to_owned(), action: action.to_owned(), user: "ada".to_owned(), ..RunOptions::default() }
}

/// Waits for a request, and stops one that takes long.
pub(crate) fn finished(workspace: &Workspace, running: Running) -> Result<Ended, String> {
    let request = running.request_id.clone();
    let (sender, ended) = std::sync::mpsc::channel();
    let waiting = std::thread::spawn(move || {
        // Whoever asked is there until it has ended.
        let _ = sender.send(running.wait());
    });
    let answer = ended.recv_timeout(LONG_ENOUGH).or_else(|_| {
        workspace.stop(&request);
        ended.recv()
    });
    waiting.join().map_err(|_| "the thread that waits panicked".to_owned())?;
    let ended = answer.map_err(|error| error.to_string())?;
    ended.map_err(|fault| format!("request {request} ended without an answer: {fault}"))
}

/// The view of a request: its rows from one on, as of an event too, and its Calls.
pub(crate) fn look_at_view(workspace: &Workspace, request: &str, from: u64) -> Result<(), String> {
    let told = |fault: runner::Fault| format!("view of {request}: {fault}");
    let view = workspace.open_view(request).map_err(told)?.view;
    for at in [None, Some(from)] {
        let query = runner::RowsQuery { offset: from, limit: 100, at };
        workspace.view_rows(view, query).map_err(told)?;
    }
    workspace.view_calls(view, from).map_err(told)?;
    workspace.close_view(view).map_err(told)
}

/// Everything that a request shows, read as the window and the command line read it.
pub(crate) fn look_at(workspace: &Workspace, request: &str) -> Result<(), String> {
    let told = |what: &str, fault: runner::Fault| format!("{what} of {request}: {fault}");
    let shown = workspace.show(request).map_err(|fault| told("show", fault))?;
    look_at_view(workspace, request, 0)?;
    workspace.events(request, runner::EventQuery::default()).map_err(|fault| told("events", fault))?;
    workspace.request_state(request, None).map_err(|fault| told("state", fault))?;
    workspace.diff(request, None, None, None).map_err(|fault| told("diff", fault))?;
    workspace.checkpoints(request).map_err(|fault| told("checkpoints", fault))?;
    workspace.pending(request).map_err(|fault| told("suspensions", fault))?;
    for view in [runner::Audience::All, runner::Audience::Client, runner::Audience::History] {
        workspace.items(None, Some(request), view, None).map_err(|fault| told("items", fault))?;
    }
    for block in shown.blocks.iter().take(20) {
        workspace.block(request, &block.row.instance_id).map_err(|fault| told("block", fault))?;
    }
    Ok(())
}
