//! The window's commands that begin a request: an action's, or an entry's.

use runner::{Fault, Mock, Running};
use serde::{Deserialize, Serialize};
use tauri::State;

use super::{off_the_main_thread, present_exact};
use crate::window::WindowState;

/// What to run.
#[derive(Debug, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct RunOptions {
    flow: String,
    /// The action's name; of an internal or a task entry its address.
    action: String,
    /// Whether it is an entry that otherwise only a dispatcher reaches.
    #[serde(default)]
    internal: bool,
    user_id: String,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    project_id: Option<String>,
    /// Left out for an action that is called without any; `null` is an input.
    #[specta(type = specta_typescript::Unknown)]
    #[serde(default, deserialize_with = "present_exact")]
    input: Option<serde_json::Value>,
    mock: bool,
}

/// What to fire.
#[derive(Debug, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct TriggerOptions {
    flow: String,
    /// The entry's address.
    entry: String,
    /// Whom the entry names when absent.
    #[serde(default)]
    user_id: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    project_id: Option<String>,
    /// The event: its payload, or all of it. Left out of a schedule that has an input of its own.
    #[specta(type = specta_typescript::Unknown)]
    #[serde(default, deserialize_with = "present_exact")]
    input: Option<serde_json::Value>,
    mock: bool,
}

/// A request that was accepted.
#[derive(Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct Started {
    request_id: String,
    session_id: String,
}

impl From<Running> for Started {
    fn from(running: Running) -> Started {
        Started { request_id: running.request_id, session_id: running.session_id }
    }
}

fn models(mock: bool) -> Mock {
    if mock { Mock::Beside } else { Mock::Off }
}

/// Starts an action; the timeline tells the rest.
#[tauri::command]
#[specta::specta]
pub(super) async fn start_run(state: State<'_, WindowState>, options: RunOptions) -> Result<Started, Fault> {
    off_the_main_thread(state, move |workspace| {
        let wanted = runner::RunOptions {
            flow: options.flow,
            action: options.action,
            internal: options.internal,
            user: options.user_id,
            session: options.session_id,
            project: options.project_id,
            request: None,
            input: options.input,
            mock: models(options.mock),
        };
        workspace.run(wanted).map(Started::from)
    })
    .await
}

/// Fires an entry by hand.
#[tauri::command]
#[specta::specta]
pub(super) async fn trigger(state: State<'_, WindowState>, options: TriggerOptions) -> Result<Started, Fault> {
    off_the_main_thread(state, move |workspace| {
        let wanted = runner::TriggerOptions {
            flow: options.flow,
            entry: options.entry,
            user: options.user_id,
            session: options.session_id,
            project: options.project_id,
            request: None,
            input: options.input,
            mock: models(options.mock),
        };
        workspace.trigger(wanted).map(Started::from)
    })
    .await
}
