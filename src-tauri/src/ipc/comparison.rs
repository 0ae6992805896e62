//! The window's commands about two requests side by side.

use runner::{
    ComparedQuery, ComparedRow, ComparisonHead, DifferenceQuery, Fault, LocalsCompared, LocalsQuery, ReplayedBlock,
    RequestRow,
};
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// What a request comes from, and what comes from it: forks and retries, newest first.
#[tauri::command]
#[specta::specta]
pub(super) async fn related(state: State<'_, WindowState>, request_id: String) -> Result<Vec<RequestRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.related(&request_id)).await
}

/// Lays two requests beside each other, until `close_comparison`.
#[tauri::command]
#[specta::specta]
pub(super) async fn open_comparison(
    state: State<'_, WindowState>,
    left: String,
    right: String,
) -> Result<ComparisonHead, Fault> {
    off_the_main_thread(state, move |workspace| workspace.open_comparison(&left, &right)).await
}

/// Runs a request again in memory, and lays that beside what was recorded.
#[tauri::command]
#[specta::specta]
pub(super) async fn open_replay(state: State<'_, WindowState>, request_id: String) -> Result<ComparisonHead, Fault> {
    off_the_main_thread(state, move |workspace| workspace.open_replay(&request_id)).await
}

/// Rows of a comparison.
#[tauri::command]
#[specta::specta]
pub(super) async fn comparison_rows(
    state: State<'_, WindowState>,
    comparison: u64,
    query: ComparedQuery,
) -> Result<Vec<ComparedRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.comparison_rows(comparison, query)).await
}

/// The next row whose blocks differ themselves.
#[tauri::command]
#[specta::specta]
pub(super) async fn next_difference(
    state: State<'_, WindowState>,
    comparison: u64,
    query: DifferenceQuery,
) -> Result<Option<u64>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.next_difference(comparison, query)).await
}

/// What a block of a replay got and made, by its first event.
#[tauri::command]
#[specta::specta]
pub(super) async fn replayed_block(
    state: State<'_, WindowState>,
    comparison: u64,
    seq: u64,
) -> Result<ReplayedBlock, Fault> {
    off_the_main_thread(state, move |workspace| workspace.replayed_block(comparison, seq)).await
}

/// Where the locals of two executions of a block first differ.
#[tauri::command]
#[specta::specta]
pub(super) async fn compare_locals(state: State<'_, WindowState>, query: LocalsQuery) -> Result<LocalsCompared, Fault> {
    off_the_main_thread(state, move |workspace| workspace.compare_locals(&query)).await
}

/// Ends a comparison.
#[tauri::command]
#[specta::specta]
pub(super) async fn close_comparison(state: State<'_, WindowState>, comparison: u64) -> Result<(), Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.close_comparison(comparison);
        Ok(())
    })
    .await
}
