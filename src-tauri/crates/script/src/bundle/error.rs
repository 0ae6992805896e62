//! Why a flow file does not load, at the author's file, line and column.

use engine::error::Location;
use serde::{Deserialize, Serialize};

/// What kind of mistake it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadErrorKind {
    /// The file is not TypeScript.
    Syntax,
    /// An import is not found, or flows may not have it.
    Import,
    /// The file's own code threw while it loaded.
    Thrown,
    /// Parts of the flow contradict each other.
    Conflict,
    /// The process that bundles and evaluates it died, or did not reply in time.
    Abnormal,
    /// A warning: the file loads, but is probably not what the author meant.
    Warning,
}

/// A flow file that does not load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error(
    "{}{message}",
    .file.as_ref()
        .map(|file| format!("{file}:{}:{}: ", .line.unwrap_or(1), .column.unwrap_or(1)))
        .unwrap_or_default()
)]
pub struct LoadError {
    /// What kind.
    pub kind: LoadErrorKind,
    /// What is wrong, and how to mend it.
    pub message: String,
    /// Relative to the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl LoadError {
    /// An error in a file, place unknown.
    pub fn in_file(kind: LoadErrorKind, file: &str, message: impl Into<String>) -> Self {
        LoadError::at(kind, file, None, message)
    }

    /// An error at a place, or in a file where the place is not known.
    pub fn at(kind: LoadErrorKind, file: &str, place: Option<Location>, message: impl Into<String>) -> Self {
        let (line, column) = (place.as_ref().map(|place| place.line), place.as_ref().map(|place| place.column));
        let file = place.map_or_else(|| file.to_owned(), |place| place.file);
        LoadError { kind, message: message.into(), file: Some(file), line, column }
    }
}
