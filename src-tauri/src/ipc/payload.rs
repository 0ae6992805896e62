//! The window's commands about values: of blocks, events, states and differences. What is large is read in parts.

use runner::{
    BlockParts, ChangePage, EventParts, Fault, Json, PayloadHits, PayloadPage, PayloadQuery, PayloadReference,
    PayloadSaved, ScopesPage, ScopesQuery,
};
use serde::Deserialize;
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// Everything about one execution of a block.
#[tauri::command]
#[specta::specta]
pub(super) async fn block_parts(
    state: State<'_, WindowState>,
    request_id: String,
    instance_id: String,
) -> Result<BlockParts, Fault> {
    off_the_main_thread(state, move |workspace| workspace.block_parts(&request_id, &instance_id)).await
}

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

/// The scopes just after an event.
#[tauri::command]
#[specta::specta]
pub(super) async fn state_scopes(
    state: State<'_, WindowState>,
    request_id: String,
    query: ScopesQuery,
) -> Result<ScopesPage, Fault> {
    off_the_main_thread(state, move |workspace| workspace.state_scopes(&request_id, &query)).await
}

/// Which differences.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct DiffQuery {
    /// The earlier instant.
    from: u64,
    /// The later one.
    to: u64,
    /// The first difference, from 0.
    offset: u64,
    /// How many, at most 200.
    limit: u64,
    /// Of the `FlowState` of an agent, not of all scopes.
    #[serde(default)]
    flow: bool,
}

/// What differs between two instants of a request, from one difference on.
#[tauri::command]
#[specta::specta]
pub(super) async fn diff_page(
    state: State<'_, WindowState>,
    request_id: String,
    query: DiffQuery,
) -> Result<ChangePage, Fault> {
    let DiffQuery { from, to, offset, limit, flow } = query;
    off_the_main_thread(state, move |workspace| workspace.diff_page(&request_id, (from, to), flow, (offset, limit)))
        .await
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

/// Writes what stands at a JSON pointer in a large value to a new file.
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
