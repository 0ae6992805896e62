//! The workspace itself, as the window shows it.

use serde::Serialize;

/// What the window shows of the workspace itself.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
#[serde(rename = "Workspace")]
pub struct WorkspaceRow {
    /// The folder.
    pub dir: String,
    /// The folder's name.
    pub name: String,
    /// The database.
    pub data_file: String,
    /// Flowglass's version.
    pub version: String,
    /// Users that ran something.
    pub users: Vec<String>,
    /// Projects that something ran in.
    pub projects: Vec<String>,
    /// Whether flows of this folder are loaded and run.
    pub is_trusted: bool,
    /// What the folder's settings let flows reach: hosts they may fetch from, and addresses of models.
    pub hosts: Vec<String>,
    /// Why the database is only read, where it is: it was opened so, or its file was removed since.
    pub unwritable: Option<String>,
}
