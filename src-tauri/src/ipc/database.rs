//! The window's commands for the whole database: search, checks, export and import.

use std::path::Path;

use runner::{
    At, Audience, Change, CheckpointRow, CompactedRow, DataCheck, DeletedRow, EarlierWrite, Exported, ExportedTrace,
    Fault, Imported, Json, Samples, SearchPage, SearchQuery, Stats, WhyQuery, WhyView, WriteRow,
};
use serde::Deserialize;
use tauri::State;

use super::off_the_main_thread;
use crate::moving::PAGE;
use crate::window::WindowState;

/// A search for a text.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct TextQuery {
    text: String,
    #[serde(default)]
    session: Option<String>,
    /// Whether samples of experiments are searched, too.
    #[serde(default)]
    samples: bool,
    limit: u32,
    offset: u32,
}

/// Events that contain a text, those of the newest request first, with their requests.
#[tauri::command]
#[specta::specta]
pub(super) async fn search(state: State<'_, WindowState>, query: TextQuery) -> Result<SearchPage, Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.search_page(&SearchQuery {
            text: query.text,
            session: query.session,
            request: None,
            samples: if query.samples { Samples::Listed } else { Samples::LeftOut },
            limit: Some(query.limit.into()),
            offset: Some(query.offset.into()),
        })
    })
    .await
}

/// The writes to a place such as `session.topic`, in the order in which they took effect.
#[tauri::command]
#[specta::specta]
pub(super) async fn history(
    state: State<'_, WindowState>,
    request_id: String,
    place: String,
) -> Result<Vec<WriteRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.history(&request_id, &place)).await
}

/// Where a value or a text of a request comes from.
#[tauri::command]
#[specta::specta]
pub(super) async fn why(state: State<'_, WindowState>, request_id: String, query: WhyQuery) -> Result<WhyView, Fault> {
    off_the_main_thread(state, move |workspace| workspace.why(&request_id, &query)).await
}

/// The newest write of another request to a place, as of an event of this one; null if there is none.
#[tauri::command]
#[specta::specta]
pub(super) async fn written_before(
    state: State<'_, WindowState>,
    request_id: String,
    place: String,
    seq: u64,
) -> Result<Option<EarlierWrite>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.written_before(&request_id, &place, seq)).await
}

/// A session's journal, oldest first.
#[tauri::command]
#[specta::specta]
pub(super) async fn journal(state: State<'_, WindowState>, session: String) -> Result<Vec<Json>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.journal(&session, None)).await
}

/// The checkpoints of a request's sequencers.
#[tauri::command]
#[specta::specta]
pub(super) async fn checkpoints(
    state: State<'_, WindowState>,
    request_id: String,
) -> Result<Vec<CheckpointRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.checkpoints(&request_id)).await
}

/// How large the database is.
#[tauri::command]
#[specta::specta]
pub(super) async fn stats(state: State<'_, WindowState>) -> Result<Stats, Fault> {
    off_the_main_thread(state, |workspace| workspace.stats()).await
}

/// Two instants of one request or of two. Default: the first block of a request and its end, or the ends of both
/// requests.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct CompareQuery {
    left: String,
    #[serde(default)]
    right: Option<String>,
    #[serde(default)]
    from: Option<u64>,
    #[serde(default)]
    to: Option<u64>,
}

/// The differences of every scope between two instants.
#[tauri::command]
#[specta::specta]
pub(super) async fn compare(state: State<'_, WindowState>, query: CompareQuery) -> Result<Vec<Change>, Fault> {
    off_the_main_thread(state, move |workspace| {
        let (from, to) = (query.from.map(At::Seq), query.to.map(At::Seq));
        workspace.diff(&query.left, from.as_ref(), to.as_ref(), query.right.as_deref())
    })
    .await
}

/// Checks the database against its events.
#[tauri::command]
#[specta::specta]
pub(super) async fn check_data(state: State<'_, WindowState>) -> Result<DataCheck, Fault> {
    off_the_main_thread(state, |workspace| workspace.check_own_data()).await
}

/// Returns the space of deleted sessions to the disk.
#[tauri::command]
#[specta::specta]
pub(super) async fn compact(state: State<'_, WindowState>) -> Result<CompactedRow, Fault> {
    off_the_main_thread(state, |workspace| workspace.compact()).await
}

/// Deletes a session with all its requests.
#[tauri::command]
#[specta::specta]
pub(super) async fn delete_session(state: State<'_, WindowState>, session: String) -> Result<DeletedRow, Fault> {
    off_the_main_thread(state, move |workspace| workspace.delete_session(&session)).await
}

/// The variables of secrets that are not set here, so that their recorded values cannot be hidden in exported files.
#[tauri::command]
#[specta::specta]
pub(super) async fn missing_secrets(state: State<'_, WindowState>) -> Result<Vec<String>, Fault> {
    off_the_main_thread(state, |workspace| Ok(workspace.missing_secrets())).await
}

/// What to export to which file.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct ExportOptions {
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    request: Option<String>,
    file: String,
    /// Whether a file that is there is replaced.
    replace: bool,
    view: Audience,
}

/// Writes a session, or one request, into a file.
#[tauri::command]
#[specta::specta]
pub(super) async fn export_session(state: State<'_, WindowState>, options: ExportOptions) -> Result<Exported, Fault> {
    off_the_main_thread(state, move |workspace| {
        let whose = (options.session.as_deref(), options.request.as_deref());
        workspace.export(whose, (Path::new(&options.file), options.replace), options.view)
    })
    .await
}

/// The request to export as a page, and the file.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct PageOptions {
    request: String,
    file: String,
    /// Whether a file that is there is replaced.
    replace: bool,
    view: Audience,
}

/// Writes a request as one HTML page that any browser opens.
#[tauri::command]
#[specta::specta]
pub(super) async fn export_page(state: State<'_, WindowState>, options: PageOptions) -> Result<Exported, Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.export_html(&options.request, (Path::new(&options.file), options.replace), options.view, PAGE)
    })
    .await
}

/// Writes a request as an OpenTelemetry trace, into a file or to the address of a collector.
#[tauri::command]
#[specta::specta]
pub(super) async fn export_trace(
    state: State<'_, WindowState>,
    request: String,
    to: String,
    replace: bool,
) -> Result<ExportedTrace, Fault> {
    off_the_main_thread(state, move |workspace| workspace.export_trace(&request, &to, replace)).await
}

/// Reads the sessions of a file.
#[tauri::command]
#[specta::specta]
pub(super) async fn import_file(state: State<'_, WindowState>, file: String) -> Result<Imported, Fault> {
    off_the_main_thread(state, move |workspace| workspace.import(Path::new(&file))).await
}

/// Returns what an import of a file would add, after the same checks. Writes nothing.
#[tauri::command]
#[specta::specta]
pub(super) async fn check_file(state: State<'_, WindowState>, file: String) -> Result<Imported, Fault> {
    off_the_main_thread(state, move |workspace| workspace.check_import(Path::new(&file))).await
}
