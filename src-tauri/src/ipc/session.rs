//! Commands of a session's page: its turns, forks, tags, note and title.

use runner::{Conversation, ConversationQuery, Fault, ForkRow, Subject, Tags};
use tauri::State;

use super::off_the_main_thread;
use super::runs::TagEdits;
use crate::window::WindowState;

/// A page of the turns of a session.
#[tauri::command]
#[specta::specta]
pub(super) async fn conversation(
    state: State<'_, WindowState>,
    session: String,
    query: ConversationQuery,
) -> Result<Conversation, Fault> {
    off_the_main_thread(state, move |workspace| workspace.conversation(&session, query)).await
}

/// The position of a request in a session, from 0.
#[tauri::command]
#[specta::specta]
pub(super) async fn turn_of(state: State<'_, WindowState>, session: String, request_id: String) -> Result<u64, Fault> {
    off_the_main_thread(state, move |workspace| workspace.turn_of(&session, &request_id)).await
}

/// The sessions from which a session was forked, and all of their forks; each session comes before its forks.
#[tauri::command]
#[specta::specta]
pub(super) async fn fork_tree(state: State<'_, WindowState>, session: String) -> Result<Vec<ForkRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.fork_tree(&session)).await
}

/// The tags, the note and the title of a session.
#[tauri::command]
#[specta::specta]
pub(super) async fn session_tags(state: State<'_, WindowState>, session: String) -> Result<Tags, Fault> {
    off_the_main_thread(state, move |workspace| workspace.tags(Subject::Session, &session)).await
}

/// Changes the tags, the note or the title of a session.
#[tauri::command]
#[specta::specta]
pub(super) async fn tag_session(
    state: State<'_, WindowState>,
    session: String,
    edits: TagEdits,
) -> Result<Tags, Fault> {
    off_the_main_thread(state, move |workspace| workspace.tag(Subject::Session, &session, &edits.changes())).await
}
