//! What the window's first screen offers: a folder from the system's own dialog, the example flows, a first flow file.
//! Files are chosen in that dialog, too.

use std::path::Path;

use runner::{Fault, WorkspaceRow};
use tauri::{AppHandle, Manager, State, Wry};
use tauri_plugin_dialog::{DialogExt, FileDialogBuilder, FilePath};
use tokio::sync::oneshot;

use super::{off_the_main_thread, opening};
use crate::samples;
use crate::window::WindowState;

/// Lets a person choose a folder in the system's own dialog; null where the dialog was closed without one.
#[tauri::command]
#[specta::specta]
pub(super) async fn pick_folder(app: AppHandle) -> Result<Option<String>, Fault> {
    let (sender, chosen) = oneshot::channel();
    // The window is closing when nobody waits any more.
    dialog(&app, "Open a folder with flows").pick_folder(move |folder| drop(sender.send(folder)));
    answer(chosen).await
}

/// Lets a person choose a file in the system's own dialog: one to be read, or with a path that is proposed one to be
/// written. Null where the dialog was closed without one.
#[tauri::command]
#[specta::specta]
pub(super) async fn pick_file(app: AppHandle, proposed: Option<String>) -> Result<Option<String>, Fault> {
    let (sender, chosen) = oneshot::channel();
    let send = move |file: Option<FilePath>| drop(sender.send(file));
    if let Some(proposed) = proposed {
        let path = Path::new(&proposed);
        let mut dialog = dialog(&app, "Choose a file to write");
        if let Some(folder) = path.parent().filter(|folder| folder.is_dir()) {
            dialog = dialog.set_directory(folder);
        }
        if let Some(name) = path.file_name() {
            dialog = dialog.set_file_name(name.to_string_lossy());
        }
        dialog.save_file(send);
    } else {
        dialog(&app, "Choose a file to import").pick_file(send);
    }
    answer(chosen).await
}

/// A dialog of the system, over the window.
fn dialog(app: &AppHandle, title: &str) -> FileDialogBuilder<Wry> {
    let dialog = app.dialog().file().set_title(title);
    match app.get_webview_window("main") {
        Some(window) => dialog.set_parent(&window),
        None => dialog,
    }
}

/// The path that was chosen.
async fn answer(chosen: oneshot::Receiver<Option<FilePath>>) -> Result<Option<String>, Fault> {
    let chosen = chosen.await.map_err(|error| Fault::Internal { message: error.to_string() })?;
    Ok(chosen.and_then(|path| path.into_path().ok()).map(|path| path.display().to_string()))
}

/// Opens the example flows, which come with the program: they are written beside what the program keeps for this
/// person, once, because a run is recorded in the folder of its flows.
#[tauri::command]
#[specta::specta]
pub(super) async fn open_examples(app: AppHandle) -> Result<WorkspaceRow, Fault> {
    let data = app.path().data_dir().map_err(|error| Fault::Internal {
        message: format!("there is no folder to put the examples into: {error}; set XDG_DATA_HOME or HOME"),
    })?;
    let dir = data.join("flowglass").join("examples");
    opening(app, move |state| {
        let is_ours = samples::write_examples(&dir)
            .map_err(|error| Fault::Internal { message: format!("{} cannot be written: {error}", dir.display()) })?;
        let workspace = state.choose(&dir.display().to_string())?;
        // What the program brought along needs nobody's trust; what a person changed in it is asked about like any
        // folder.
        if is_ours && !workspace.is_trusted() { state.trust(&workspace.row()?.dir) } else { Ok(workspace) }
    })
    .await
}

/// Opens a flow file with whatever this system opens such files with. Only what `source` shows is opened.
#[tauri::command]
#[specta::specta]
pub(super) async fn open_source(state: State<'_, WindowState>, file: String) -> Result<(), Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.source(&file)?;
        let path = Path::new(&workspace.row()?.dir).join(&file);
        open::that_detached(&path)
            .map_err(|error| Fault::Internal { message: format!("{} cannot be opened: {error}", path.display()) })
    })
    .await
}

/// Writes a first flow file into the open folder; answers its name. Nothing that is there is ever replaced.
#[tauri::command]
#[specta::specta]
pub(super) async fn write_first_flow(state: State<'_, WindowState>) -> Result<String, Fault> {
    off_the_main_thread(state, |workspace| {
        let dir = workspace.row()?.dir;
        samples::write_first_flow(Path::new(&dir)).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => Fault::Refused {
                message: format!("{dir} has a file {} already, and it stays as it is", samples::FIRST_FLOW),
            },
            _ => Fault::Internal { message: format!("{} cannot be written in {dir}: {error}", samples::FIRST_FLOW) },
        })?;
        Ok(samples::FIRST_FLOW.to_owned())
    })
    .await
}
