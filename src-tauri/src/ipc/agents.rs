//! The window's commands about coding agents: how a client starts the program, and the endpoint for those that ask by
//! HTTP.

use std::path::Path;

use runner::Fault;
use serde::Serialize;
use serde_json::Value;
use tauri::{AppHandle, Manager};

use super::blocking;
use crate::window::WindowState;

/// How coding agents reach the folder that is open.
#[derive(Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct AgentAccess {
    /// The endpoint; null while it is closed.
    endpoint: Option<AgentEndpoint>,
    /// Whether agents may run flows: a person has said so.
    may_run: bool,
    /// What belongs into the settings of the usual clients.
    clients: Vec<AgentClient>,
}

/// An open endpoint on this machine.
#[derive(Debug, Serialize, specta::Type)]
struct AgentEndpoint {
    /// Its address.
    url: String,
    /// What a client sends as `Authorization: Bearer`.
    token: String,
}

/// An entry for a client that starts the program itself.
#[derive(Debug, Serialize, specta::Type)]
struct AgentClient {
    /// Its name.
    name: String,
    /// The file that the entry belongs into.
    file: String,
    /// The entry.
    entry: String,
}

fn access(state: &WindowState) -> Result<AgentAccess, Fault> {
    let workspace = state.workspace()?;
    let row = workspace.row()?;
    let program = crate::programs::command_line().map_err(|error| Fault::Internal { message: error.to_string() })?;
    let own = Path::new(&row.dir).join(".flowglass/flowglass.db");
    let data = Some(Path::new(&row.data_file)).filter(|data| *data != own);
    let config = mcp::client_config(&program, row.dir.as_ref(), data, &workspace.secret_variables());
    let clients = config.as_object().into_iter().flatten().map(|(name, client)| AgentClient {
        name: name.clone(),
        file: client["file"].as_str().unwrap_or_default().to_owned(),
        entry: match &client["entry"] {
            Value::String(text) => text.clone(),
            other => serde_json::to_string_pretty(other).unwrap_or_default(),
        },
    });
    let endpoint = state.endpoint().map(|(url, token)| AgentEndpoint { url, token });
    Ok(AgentAccess { endpoint, may_run: workspace.is_trusted_by_person(), clients: clients.collect() })
}

/// How coding agents reach the folder that is open.
#[tauri::command]
#[specta::specta]
pub(super) async fn agent_access(app: AppHandle) -> Result<AgentAccess, Fault> {
    blocking(move || access(&app.state::<WindowState>())).await
}

/// Opens or closes the endpoint for coding agents.
#[tauri::command]
#[specta::specta]
pub(super) async fn let_agents_in(app: AppHandle, wanted: bool) -> Result<AgentAccess, Fault> {
    blocking(move || {
        let state = app.state::<WindowState>();
        state.let_agents_in(wanted)?;
        access(&state)
    })
    .await
}
