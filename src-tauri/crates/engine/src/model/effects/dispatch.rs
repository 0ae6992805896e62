//! What a dispatcher asks for: an entry as a request of its own, in a session that it names (SEMANTICS §1.8).

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What to start, and who asks.
#[derive(Clone, Debug)]
pub struct Dispatch {
    /// `internal` or `task`.
    pub entry_type: String,
    /// The entry's name.
    pub target: String,
    /// The flow that declares it, if not the sender's.
    pub flow: Option<String>,
    /// In which session.
    pub to: DispatchTo,
    /// The entry's input; `None` is `undefined`.
    pub payload: Option<Value>,
    /// Names this dispatch within the sender's request: the same when a resume sends it again.
    pub place: String,
    /// The sender's flow.
    pub own_flow: String,
    /// The sender's user.
    pub user: String,
    /// The sender's project.
    pub project: Option<String>,
    /// Where the sender's mock models come from.
    pub mock: Option<String>,
    /// The sender itself.
    pub by: DispatchedBy,
    /// The sender's own sender, to whom it may reply.
    pub sender: Option<DispatchedBy>,
}

/// The session of a dispatched request.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DispatchTo {
    /// A session of the sender's, made for this key when it is first used.
    Key(String),
    /// One that is there.
    Id(String),
    /// That of whoever started the sender.
    From(bool),
}

/// Who started a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DispatchedBy {
    /// The request.
    pub request: String,
    /// Its session.
    pub session: String,
    /// The dispatcher's path.
    pub path: String,
}

/// What a dispatch came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Dispatched {
    /// Where it runs.
    pub session_id: String,
    /// What runs.
    pub request_id: String,
    /// Whether the session was there already.
    pub adopted: bool,
}

/// Why nothing was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DispatchRefusal {
    /// In a word: `no-entry`, `flow-not-found`, `session-not-found`, `session-not-addressable`, `no-sender`,
    /// `key-occupied`, `dispatch-rejected`, `invalid-payload`, `no-dispatch-operation`.
    pub refused: String,
    /// In a sentence.
    pub detail: String,
}
