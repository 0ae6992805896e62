//! The window's commands for the inside of blocks.

use runner::{Fault, FileCoverage, Instant, Move, OpenedValue, PrintQuery, Printed, StepQuery};
use serde::Deserialize;
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// An instant, and a movement from it.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct InsideQuery {
    /// `PATH[#ATTEMPT][+TICK]`
    at: String,
    to: Move,
    /// Expressions to evaluate as well.
    watches: Vec<String>,
}

/// The values of expressions at a statement, in every request that reached it.
#[tauri::command]
#[specta::specta]
pub(super) async fn print_at(state: State<'_, WindowState>, query: PrintQuery) -> Result<Printed, Fault> {
    off_the_main_thread(state, move |workspace| workspace.print(&query)).await
}

/// An instant inside a block.
#[tauri::command]
#[specta::specta]
pub(super) async fn step_inside(
    state: State<'_, WindowState>,
    request_id: String,
    query: InsideQuery,
) -> Result<Instant, Fault> {
    off_the_main_thread(state, move |workspace| {
        let at = query.at.parse().map_err(|message| Fault::Invalid { message, details: Vec::new() })?;
        let mut instant = workspace.step(&request_id, &StepQuery { at, to: query.to, watches: query.watches })?;
        instant.state = workspace.scopes_seen(&request_id, &instant)?;
        Ok(instant)
    })
    .await
}

/// How often the lines of a request's code ran.
#[tauri::command]
#[specta::specta]
pub(super) async fn coverage(
    state: State<'_, WindowState>,
    request_id: String,
    file: Option<String>,
) -> Result<Vec<FileCoverage>, Fault> {
    off_the_main_thread(state, move |workspace| Ok(workspace.coverage(&request_id, file.as_deref())?.files)).await
}

/// A value of an answer, and its parts.
#[tauri::command]
#[specta::specta]
pub(super) async fn open_value(state: State<'_, WindowState>, handle: String) -> Result<OpenedValue, Fault> {
    off_the_main_thread(state, move |workspace| workspace.open_value(&handle)).await
}

/// Cancels the first pass over a request, which a question about it started. The question fails.
#[tauri::command]
#[specta::specta]
pub(super) async fn cancel_inside(state: State<'_, WindowState>) -> Result<(), Fault> {
    off_the_main_thread(state, |workspace| {
        workspace.cancel_first_pass();
        Ok(())
    })
    .await
}
