//! The window's commands about recorded runs as tests.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use runner::{Cancel, Fault, Kept, RequestRow, RunFileRow, Verified, VerifyProgress, VerifyQuery};
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// Verifies recorded runs; what was being verified before ends.
#[tauri::command]
#[specta::specta]
pub(super) async fn verify(
    state: State<'_, WindowState>,
    query: VerifyQuery,
    on_progress: tauri::ipc::Channel<VerifyProgress>,
) -> Result<Verified, Fault> {
    let cancel = Cancel::default();
    state.verify_with(cancel.clone());
    off_the_main_thread(state, move |workspace| {
        let mut query = query;
        let files: HashMap<String, PathBuf> =
            query.files.iter().map(|file| (shown(&workspace.in_folder(file)), file.clone())).collect();
        query.files = query.files.iter().map(|file| workspace.in_folder(file)).collect();
        // A page that is gone hears nothing.
        let mut verified = workspace.verify(&query, &cancel, |progress| _ = on_progress.send(progress))?;
        // The page knows files as it named them.
        let named = |file: &mut String| {
            if let Some(known) = files.get(file.as_str()) {
                *file = shown(known);
            }
        };
        verified.results.iter_mut().filter_map(|run| run.file.as_mut()).for_each(named);
        verified.groups.iter_mut().map(|group| &mut group.example).for_each(named);
        verified.missing.iter_mut().for_each(named);
        Ok(verified)
    })
    .await
}

fn shown(file: &Path) -> String {
    file.display().to_string()
}

/// Ends what is being verified; what has a verdict keeps it.
#[tauri::command]
#[specta::specta]
pub(super) async fn cancel_verify(state: State<'_, WindowState>) -> Result<(), Fault> {
    state.verify_with(Cancel::default());
    Ok(())
}

/// The `.run` files of the folder.
#[tauri::command]
#[specta::specta]
pub(super) async fn run_files(state: State<'_, WindowState>) -> Result<Vec<RunFileRow>, Fault> {
    off_the_main_thread(state, |workspace| workspace.run_files()).await
}

/// Writes a request into a `.run` file of the folder.
#[tauri::command]
#[specta::specta]
pub(super) async fn keep_run(
    state: State<'_, WindowState>,
    request_id: String,
    file: String,
    replace: bool,
) -> Result<Kept, Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.keep(&request_id, &workspace.in_folder(Path::new(&file)), replace)
    })
    .await
}

/// The requests that wait or were interrupted, each with whether it could go on with the code of today.
#[tauri::command]
#[specta::specta]
pub(super) async fn waiting_requests(state: State<'_, WindowState>) -> Result<Vec<RequestRow>, Fault> {
    off_the_main_thread(state, |workspace| workspace.waiting_requests()).await
}
