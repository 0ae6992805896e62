//! The window's commands about open requests.

use runner::{
    BlockQuery, Fault, Filtered, FindQuery, FoundRow, ItemsQuery, Overview, RowsQuery, StepTo, ViewBatch, ViewCalls,
    ViewHead, ViewItems, ViewRow, ViewRows,
};
use serde::Deserialize;
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// Opens a request to be looked at, until `close_view`.
#[tauri::command]
#[specta::specta]
pub(super) async fn open_view(state: State<'_, WindowState>, request_id: String) -> Result<ViewHead, Fault> {
    off_the_main_thread(state, move |workspace| workspace.open_view(&request_id)).await
}

/// Ends a view.
#[tauri::command]
#[specta::specta]
pub(super) async fn close_view(state: State<'_, WindowState>, view: u64) -> Result<(), Fault> {
    off_the_main_thread(state, move |workspace| workspace.close_view(view)).await
}

/// Rows of a view, as they are folded and filtered now.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_rows(state: State<'_, WindowState>, view: u64, query: RowsQuery) -> Result<ViewRows, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_rows(view, query)).await
}

/// Items of a view, as an audience sees them.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_items(
    state: State<'_, WindowState>,
    view: u64,
    query: ItemsQuery,
) -> Result<ViewItems, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_items(view, query)).await
}

/// Whether updates of a view tell of its items.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_watch_items(state: State<'_, WindowState>, view: u64, watching: bool) -> Result<(), Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_watch_items(view, watching)).await
}

/// Which row to fold or unfold.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct FoldQuery {
    /// All when null: everything but the roots is folded, or everything unfolded.
    node: Option<u64>,
    folded: bool,
}

/// Folds or unfolds rows. Answers how many rows there are.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_fold(state: State<'_, WindowState>, view: u64, query: FoldQuery) -> Result<u64, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_fold(view, query.node, query.folded)).await
}

/// Shows only what a filter fits and what is around it; everything for an empty text.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_filter(state: State<'_, WindowState>, view: u64, text: String) -> Result<Filtered, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_filter(view, &text)).await
}

/// The next row that a text fits, in the language of the filter.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_find(
    state: State<'_, WindowState>,
    view: u64,
    query: FindQuery,
) -> Result<Option<FoundRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_find(view, &query)).await
}

/// The row of a block: of one execution, or of the newest of a path.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_row_of(
    state: State<'_, WindowState>,
    view: u64,
    query: BlockQuery,
) -> Result<Option<FoundRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_row_of(view, &query)).await
}

/// The rows of executions, shown or not, at most 200; without those that are not there.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_blocks(
    state: State<'_, WindowState>,
    view: u64,
    instance_ids: Vec<String>,
) -> Result<Vec<ViewRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_blocks(view, &instance_ids)).await
}

/// The ticks and Calls of a view that began, ended or ran on after an event; 0 for all.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_calls(state: State<'_, WindowState>, view: u64, after_seq: u64) -> Result<ViewCalls, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_calls(view, after_seq)).await
}

/// The last event at or before a time.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_seq_at(state: State<'_, WindowState>, view: u64, time: i64) -> Result<u64, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_seq_at(view, time)).await
}

/// When an event was, in milliseconds since the epoch; null where there is none of that number.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_time_of(state: State<'_, WindowState>, view: u64, seq: u64) -> Result<Option<i64>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_time_of(view, seq)).await
}

/// From where the slider goes where.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct StepQuery {
    seq: u64,
    to: StepTo,
}

/// The event that the slider goes to.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_step(
    state: State<'_, WindowState>,
    view: u64,
    query: StepQuery,
) -> Result<Option<u64>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_step(view, query.seq, query.to)).await
}

/// Which part of the time, in how many cells.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct OverviewQuery {
    width: u32,
    #[serde(default)]
    from: Option<i64>,
    #[serde(default)]
    to: Option<i64>,
}

/// Where in its time a request did much, failed, waited.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_overview(
    state: State<'_, WindowState>,
    view: u64,
    query: OverviewQuery,
) -> Result<Overview, Fault> {
    off_the_main_thread(state, move |workspace| workspace.view_overview(view, query.width, query.from, query.to)).await
}

/// Tells the page what becomes of the views that it opens from now on. Each batch waits for the answer to the last one.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_updates(
    state: State<'_, WindowState>,
    on_batch: tauri::ipc::Channel<ViewBatch>,
) -> Result<(), Fault> {
    state.watch_views(on_batch)
}

/// The page's answer to a batch.
#[tauri::command]
#[specta::specta]
pub(super) async fn view_ack(state: State<'_, WindowState>, batch: u64) -> Result<(), Fault> {
    if let Some(workspace) = state.opened() {
        workspace.view_ack(batch);
    }
    Ok(())
}
