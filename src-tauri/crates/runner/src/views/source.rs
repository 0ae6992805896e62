//! The code that a request ran.

use serde::Serialize;

/// The code that a request ran, for `show --source`.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct SourceView {
    /// The file, relative to the workspace.
    pub file: String,
    /// The hash of the bundle that the file was a part of.
    pub hash: String,
    /// The line on which the text begins, where it is a part of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The file, or what defines the block that was asked for.
    pub text: String,
    /// The files of the workspace that it imported, where the whole request was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub imports: Vec<ImportedSource>,
}

/// A file that the flow of a request imported.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct ImportedSource {
    /// Relative to the workspace.
    pub file: String,
    /// As it was when the request ran.
    pub text: String,
}
