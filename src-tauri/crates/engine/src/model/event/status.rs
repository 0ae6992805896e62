//! The enumerations of events: statuses, kinds of blocks, outcomes. Their names are stored and printed as written here.

use serde::{Deserialize, Serialize};

/// The status of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum RequestStatus {
    /// Waits for another request (concurrency policy `queue`).
    Queued,
    /// Runs now.
    InProgress,
    /// Ended well.
    Completed,
    /// Ended early within its rules, e.g. a token budget that stops.
    Incomplete,
    /// Ended by an error.
    Failed,
    /// Waits for an answer from outside.
    Suspended,
    /// Its process died, or today's code does not fit its log.
    Interrupted,
    /// A user aborted it.
    Aborted,
}

impl RequestStatus {
    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            RequestStatus::Queued => "queued",
            RequestStatus::InProgress => "in_progress",
            RequestStatus::Completed => "completed",
            RequestStatus::Incomplete => "incomplete",
            RequestStatus::Failed => "failed",
            RequestStatus::Suspended => "suspended",
            RequestStatus::Interrupted => "interrupted",
            RequestStatus::Aborted => "aborted",
        }
    }

    /// The status that `as_str` names.
    pub fn parse(text: &str) -> Option<Self> {
        [
            RequestStatus::Queued,
            RequestStatus::InProgress,
            RequestStatus::Completed,
            RequestStatus::Incomplete,
            RequestStatus::Failed,
            RequestStatus::Suspended,
            RequestStatus::Interrupted,
            RequestStatus::Aborted,
        ]
        .into_iter()
        .find(|status| status.as_str() == text)
    }

    /// Returns whether nothing more happens unless it is resumed.
    pub fn is_terminal(self) -> bool {
        !matches!(self, RequestStatus::Queued | RequestStatus::InProgress | RequestStatus::Suspended)
    }
}

/// The kinds of block, and what is shown among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "lowercase")]
pub enum BlockKind {
    /// A function.
    Handler,
    /// A chain of operations.
    Sequencer,
    /// A choice among blocks.
    Router,
    /// A model with tools.
    Generator,
    /// A call of an agent's hook. It is no block: it runs as a part of the block around it.
    Hook,
}

impl BlockKind {
    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            BlockKind::Handler => "handler",
            BlockKind::Sequencer => "sequencer",
            BlockKind::Router => "router",
            BlockKind::Generator => "generator",
            BlockKind::Hook => "hook",
        }
    }
}

/// How an execution of a block ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With an output.
    Completed,
    /// With an error; its writes are committed all the same (ARCHITECTURE §3.7).
    Failed,
    /// By waiting for an answer; it runs again from its top.
    Suspended,
    /// Without effect: its attempt is run again (retry, or a record that changed under it).
    Abandoned,
}

impl Outcome {
    /// The name as stored and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::Failed => "failed",
            Outcome::Suspended => "suspended",
            Outcome::Abandoned => "abandoned",
        }
    }
}

/// Who catches a failure, so that it does not end the request (SEMANTICS §5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaughtBy {
    /// A `rescue` of the block itself, or of a chain around it.
    Rescue,
    /// `stepAny`: a later arm is tried.
    StepAny,
    /// `race`: another arm may still win.
    Race,
    /// Background work, whose failure does not end the chain.
    Background,
    /// A generator, which reports it to its model.
    Tool,
    /// A hook whose failure is only reported.
    Hook,
    /// The function that ran the block by `block.run`; it may go on, or fail with the same error.
    Function,
}

/// How today's code differs from the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriftKind {
    /// A block got another input than when it ran.
    Input,
    /// An operation has another list than when it began.
    List,
    /// A model is called with another request.
    ModelCall,
    /// A suspension shows something else than before.
    Question,
    /// The source of a callback or a block changed, or it has another place.
    Source,
}
