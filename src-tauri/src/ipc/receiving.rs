//! The window's commands for traces of other programs: receiving them, and making a flow from one.

use runner::{Fault, MadeRunnable, ReceiverRow};
use tauri::{AppHandle, Manager, State};

use super::blocking;
use crate::window::WindowState;

/// Where the traces of other programs are received; null while they are not.
#[tauri::command]
#[specta::specta]
pub(super) async fn trace_receiver(app: AppHandle) -> Result<Option<ReceiverRow>, Fault> {
    blocking(move || Ok(app.state::<WindowState>().receiver())).await
}

/// Starts or stops receiving traces of other programs.
#[tauri::command]
#[specta::specta]
pub(super) async fn serve(app: AppHandle, wanted: bool) -> Result<Option<ReceiverRow>, Fault> {
    blocking(move || {
        let state = app.state::<WindowState>();
        state.receive_traces(wanted)?;
        Ok(state.receiver())
    })
    .await
}

/// Makes a flow and a mock script from a request that was received as a trace.
#[tauri::command]
#[specta::specta]
pub(super) async fn runnable(
    state: State<'_, WindowState>,
    request: String,
    name: String,
    replace: bool,
) -> Result<MadeRunnable, Fault> {
    let workspace = state.workspace()?;
    blocking(move || workspace.make_runnable(&request, &name, replace)).await
}
