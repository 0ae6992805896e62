//! Errors of flows, as data.
//!
//! Errors of an author's code are not failures of the engine: they are recorded, shown with file
//! and line, matched by class name, and passed to rescue blocks. Names, codes and messages follow
//! the table in SEMANTICS §5.5.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An error that an author's function threw, or that the engine raised.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FlowError {
    /// The class name: `Error`, `FlowError`, `ValidationError`, …
    pub name: String,
    /// The message.
    pub message: String,
    /// A stable code, if the class has one, e.g. `validation_error`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Whether a retry may succeed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retryable: bool,
    /// Structured data of the error.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub details: Option<Value>,
    /// Class names along the prototype chain, nearest first; `when` of a rescue matches these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// Where it was thrown, in the author's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// The author's stack, mapped to the author's files, one frame a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The path of the block that failed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Its `name` property, if that differs from its class's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_name: Option<String>,
    /// Other properties of the thrown object, as the script host describes them, so that a resume can recreate it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
    pub object: Option<Value>,
    /// The failures of the blocks of a `stepAny` or `race` that all failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gathered: Vec<FlowError>,
    /// The script host's handle to the thrown object itself, so a rescue block gets that object.
    #[serde(skip)]
    pub handle: Option<u64>,
    /// The HTTP status of the thrown object, if it has one.
    #[serde(skip)]
    pub status: Option<u16>,
}

/// A place in an author's file; lines and columns start at 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// Relative to the workspace, with forward slashes.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based.
    pub column: u32,
}

/// How many characters of a thrown value an error message shows.
const MAX_THROWN: usize = 200;

/// Returns an error's message. If the thrown value was not an error, adds that value, which is then the only entry of
/// `details`.
pub fn told(message: &str, details: Option<&Value>) -> String {
    let thrown = details.and_then(Value::as_object).filter(|fields| fields.len() == 1).and_then(|it| it.get("thrown"));
    let Some(thrown) = thrown else { return message.to_owned() };
    // A thrown string is already the message, so a string here describes a value without JSON form, like `undefined`.
    let value = thrown.as_str().filter(|text| !text.is_empty()).map_or_else(|| thrown.to_string(), str::to_owned);
    let mut shown: String = value.chars().take(MAX_THROWN).collect();
    if shown.len() < value.len() {
        shown.push('…');
    }
    format!("{message}: {shown}")
}

impl FlowError {
    /// An error of class `name`.
    pub fn new(name: &str, message: impl Into<String>) -> Self {
        FlowError {
            name: name.to_owned(),
            message: message.into(),
            classes: vec![name.to_owned(), "Error".to_owned()],
            ..FlowError::default()
        }
    }

    /// A plain `Error`, for errors without a documented class.
    pub fn plain(message: impl Into<String>) -> Self {
        FlowError { classes: vec!["Error".to_owned()], ..FlowError::new("Error", message) }
    }

    /// A write or input that breaks its schema (SEMANTICS §5.5).
    pub fn validation(message: impl Into<String>, details: Option<Value>) -> Self {
        FlowError {
            code: Some("validation_error".to_owned()),
            details,
            classes: ["ValidationError", "FlowError", "Error"].map(str::to_owned).to_vec(),
            ..FlowError::new("ValidationError", message)
        }
    }

    /// Other requests changed a record more often than the block may run again. `attempts` counts its runs.
    pub fn conflict(attempts: u32) -> Self {
        let mut details = Map::new();
        details.insert("attempts".to_owned(), attempts.into());
        FlowError {
            code: Some("concurrent_modification".to_owned()),
            retryable: true,
            details: Some(Value::Object(details)),
            classes: ["ConcurrentModificationError", "FlowError", "Error"].map(str::to_owned).to_vec(),
            ..FlowError::new("ConcurrentModificationError", "State update failed due to concurrent modifications")
        }
    }

    /// A block awaits a promise that can never settle.
    pub fn never_settles(block: &str) -> Self {
        FlowError {
            code: Some("never_settles".to_owned()),
            classes: ["NeverSettlesError", "FlowError", "Error"].map(str::to_owned).to_vec(),
            ..FlowError::new(
                "NeverSettlesError",
                format!(
                    "block \"{block}\" awaits a promise that can never settle: no timer, model call, fetch or state \
                     operation is under way, and no other block runs that could settle it"
                ),
            )
        }
    }

    /// Returns the message, with the thrown value if that was not an error.
    pub fn told(&self) -> String {
        told(&self.message, self.details.as_ref())
    }

    /// Returns the part for items and hooks: `{ name, message, code?, details? }`.
    pub fn to_public_json(&self) -> Value {
        let mut json = Map::new();
        json.insert("name".to_owned(), self.name.as_str().into());
        json.insert("message".to_owned(), self.message.as_str().into());
        json.extend(self.code.as_ref().map(|code| ("code".to_owned(), code.as_str().into())));
        json.extend(self.details.as_ref().map(|details| ("details".to_owned(), details.clone())));
        Value::Object(json)
    }

    /// Returns all fields as JSON for the script host, which finds the thrown objects by the handles.
    pub fn to_host_json(&self) -> Value {
        let mut json = serde_json::to_value(self).unwrap_or_default();
        self.add_handles(&mut json);
        json
    }

    fn add_handles(&self, json: &mut Value) {
        json["handle"] = self.handle.into();
        for (at, error) in self.gathered.iter().enumerate() {
            if let Some(json) = json.get_mut("gathered").and_then(|all| all.get_mut(at)) {
                error.add_handles(json);
            }
        }
    }

    /// The request was aborted while the code was running.
    pub fn aborted() -> Self {
        FlowError { code: Some("aborted".to_owned()), ..FlowError::new("AbortError", "The request was aborted") }
    }

    /// True for the error that an abort raises; it ends the request `aborted`, not `failed`.
    pub fn is_abort(&self) -> bool {
        self.name == "AbortError" && self.code.as_deref() == Some("aborted")
    }

    /// A block waits for an answer from outside (SEMANTICS §5.5). It is control flow: no author's code
    /// ever sees it.
    pub fn suspended() -> Self {
        FlowError::new("SuspensionError", "Flow suspended")
    }

    /// True for an error from [`suspended`](Self::suspended).
    pub fn is_suspension(&self) -> bool {
        self.name == "SuspensionError" && self.handle.is_none() && self.message == "Flow suspended"
    }

    /// Returns whether today's code does not match the log, or an answer does not match its question. Such an error
    /// parks the request, so that it can be resumed later.
    pub fn parks_request(&self) -> bool {
        matches!(self.code.as_deref(), Some("replay_drift" | "resume_data"))
    }

    /// Returns whether the answer to a suspension does not fit its schema.
    pub fn is_refused_answer(&self) -> bool {
        self.code.as_deref() == Some("resume_data")
    }

    /// Returns whether no rescue, retry or `catch` of a flow may handle it: abort, suspension, drift, lost storage.
    pub fn is_uncatchable(&self) -> bool {
        self.is_abort() || self.is_suspension() || self.parks_request() || self.name == "StorageError"
    }

    /// Another process owns the request now, so this process must stop running it.
    pub fn taken_over(request: &str) -> Self {
        let message = format!(
            "request \"{request}\" was taken over by another process; nothing after the last stored step was kept"
        );
        FlowError { code: Some("taken_over".to_owned()), ..FlowError::new("StorageError", message) }
    }

    /// True for an error from [`taken_over`](Self::taken_over).
    pub fn is_taken_over(&self) -> bool {
        self.code.as_deref() == Some("taken_over") && self.name == "StorageError"
    }

    /// True for an error from [`storage`](Self::storage).
    pub fn is_storage(&self) -> bool {
        self.code.as_deref() == Some("storage_error") && self.name == "StorageError" && self.handle.is_none()
    }

    /// An event could not be stored, so nothing after it may run.
    pub fn storage(message: impl Into<String>) -> Self {
        FlowError { code: Some("storage_error".to_owned()), ..FlowError::new("StorageError", message) }
    }
}

impl std::fmt::Display for FlowError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.name, self.message)
    }
}

impl std::error::Error for FlowError {}
