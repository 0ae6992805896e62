//! The window's commands about code: the text of a file, the code that ran, and opening a file in an editor.

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

/// Loads a blocked file, whose last load or run crashed a process.
#[tauri::command]
#[specta::specta]
pub(super) async fn load_anyway(state: State<'_, WindowState>, file: String) -> Result<Vec<FlowRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.load_anyway(&file)).await
}

/// Opens a file of the workspace in the user's editor, at a line. Returns the editor's name.
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

/// The file that defines a block of a request, in the version that an attempt ran, and the block's lines.
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

/// The author's files that a request ran, in one version of its code; the flow's file first.
#[tauri::command]
#[specta::specta]
pub(super) async fn files_that_ran(
    state: State<'_, WindowState>,
    request_id: String,
    code: Option<String>,
) -> Result<Vec<ImportedSource>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.files_that_ran(&request_id, code.as_deref())).await
}
