//! A failure, as it is shown.

use engine::error::{FlowError, told};
use serde::Serialize;

use super::Json;

/// An error of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct ErrorInfo {
    /// Its class.
    pub name: String,
    /// A stable code, where the class has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What went wrong.
    pub message: String,
    /// The block that failed first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The author's file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// Anything structured that came with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Json>,
    /// The author's stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

impl ErrorInfo {
    /// Returns the message, and with it the value that was thrown if that was no error.
    pub fn told(&self) -> String {
        told(&self.message, self.details.as_ref().map(|Json(details)| details))
    }
}

impl From<&FlowError> for ErrorInfo {
    fn from(error: &FlowError) -> Self {
        let place = error.location.as_ref();
        ErrorInfo {
            name: error.name.clone(),
            code: error.code.clone(),
            message: error.message.clone(),
            path: error.path.clone(),
            file: place.map(|place| place.file.clone()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            details: error.details.clone().map(Json),
            stack: error.stack.clone(),
        }
    }
}
