//! The window's commands about values: events, whose large values are references, and what is read of such a value.

use runner::{EventParts, Fault, Json, PayloadHits, PayloadPage, PayloadQuery, PayloadReference, PayloadSaved};
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// Raw events, oldest first.
#[tauri::command]
#[specta::specta]
pub(super) async fn event_parts(
    state: State<'_, WindowState>,
    request_id: String,
    from: u64,
    limit: u32,
) -> Result<Vec<EventParts>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.event_parts(&request_id, from, limit.into())).await
}

/// A part of a large value.
#[tauri::command]
#[specta::specta]
pub(super) async fn payload(
    state: State<'_, WindowState>,
    reference: PayloadReference,
    query: PayloadQuery,
) -> Result<PayloadPage, Fault> {
    off_the_main_thread(state, move |workspace| workspace.payload(&reference, &query)).await
}

/// Where a text is in a large value, from the hit with a number on.
#[tauri::command]
#[specta::specta]
pub(super) async fn payload_find(
    state: State<'_, WindowState>,
    reference: PayloadReference,
    text: String,
    from: u64,
) -> Result<PayloadHits, Fault> {
    off_the_main_thread(state, move |workspace| workspace.payload_find(&reference, &text, from)).await
}

/// What stands at a JSON pointer in a large value, where that has at most 4 MB.
#[tauri::command]
#[specta::specta]
pub(super) async fn payload_whole(
    state: State<'_, WindowState>,
    reference: PayloadReference,
    path: String,
) -> Result<Json, Fault> {
    off_the_main_thread(state, move |workspace| workspace.payload_whole(&reference, &path)).await
}

/// Writes the part of a large value at a JSON pointer to a file, replacing an existing one.
#[tauri::command]
#[specta::specta]
pub(super) async fn payload_save(
    state: State<'_, WindowState>,
    reference: PayloadReference,
    path: String,
    file: String,
) -> Result<PayloadSaved, Fault> {
    off_the_main_thread(state, move |workspace| workspace.payload_save(&reference, &path, &file)).await
}
