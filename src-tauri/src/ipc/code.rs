//! The window's commands about code: what a file says, what ran, and opening either in an editor.

use runner::{BlockSource, Fault, FlowRow, ImportedSource};
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// The text of a flow file.
#[tauri::command]
#[specta::specta]
pub(super) async fn source(state: State<'_, WindowState>, file: String) -> Result<String, Fault> {
    off_the_main_thread(state, move |workspace| workspace.source(&file)).await
}

/// Loads a file that is held back, because its last load or run ended a process.
#[tauri::command]
#[specta::specta]
pub(super) async fn load_anyway(state: State<'_, WindowState>, file: String) -> Result<Vec<FlowRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.load_anyway(&file)).await
}

/// Opens a file of the workspace in the editor of whoever looks, at a line; answers which editor.
#[tauri::command]
#[specta::specta]
pub(super) async fn open_in_editor(
    state: State<'_, WindowState>,
    file: String,
    line: u32,
    column: Option<u32>,
) -> Result<String, Fault> {
    off_the_main_thread(state, move |workspace| {
        let path = workspace.file_in(&file)?;
        crate::editor::open(&crate::editor::Place {
            file: &path,
            line: line.max(1),
            column: column.unwrap_or(1).max(1),
        })
    })
    .await
}

/// The file that a block of a request was defined in, as an attempt ran, and the block's lines.
#[tauri::command]
#[specta::specta]
pub(super) async fn block_source(
    state: State<'_, WindowState>,
    request_id: String,
    path: String,
    attempt: Option<u32>,
) -> Result<BlockSource, Fault> {
    off_the_main_thread(state, move |workspace| workspace.block_source(&request_id, &path, attempt)).await
}

/// The author's files that a request ran, as they were in one of the codes that it ran; its flow's file first.
#[tauri::command]
#[specta::specta]
pub(super) async fn files_that_ran(
    state: State<'_, WindowState>,
    request_id: String,
    code: Option<String>,
) -> Result<Vec<ImportedSource>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.files_that_ran(&request_id, code.as_deref())).await
}
