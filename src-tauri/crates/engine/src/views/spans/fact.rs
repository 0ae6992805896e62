//! What one event says of the structure of its request.

use super::{NameNumber, PathNumber};
use crate::model::effects::EffectKind;
use crate::model::event::{BlockKind, EventKind, Outcome, Seq};
use crate::model::identity::InstanceId;
use crate::views::attempts::{Verdict, end};
use crate::views::blocks::BlockStatus;
use crate::views::items::rules::is_told_failure;

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanEnd {
    /// With an output.
    Completed,
    /// With an error.
    Failed,
    /// With an output that says that the call of a tool failed.
    ReturnedError,
    /// With an output or an error, after the timeout of its call.
    TimedOut,
    /// With the error of an abort.
    Stopped,
    /// It waits for an answer, or ran again from its top once that was given.
    Suspended,
    /// Without effect.
    Abandoned,
}

impl SpanEnd {
    pub(super) fn status(self) -> BlockStatus {
        match self {
            SpanEnd::Completed => BlockStatus::Completed,
            SpanEnd::Failed | SpanEnd::Stopped => BlockStatus::Failed,
            SpanEnd::ReturnedError => BlockStatus::ReturnedError,
            SpanEnd::TimedOut => BlockStatus::TimedOut,
            SpanEnd::Suspended => BlockStatus::Suspended,
            SpanEnd::Abandoned => BlockStatus::Abandoned,
        }
    }

    /// Returns whether it did not do what it was to do.
    pub fn is_failure(self) -> bool {
        self.status().is_failure()
    }

    /// Returns whether a resume may let it go on.
    pub(super) fn may_go_on(self) -> bool {
        !matches!(self, SpanEnd::Completed | SpanEnd::ReturnedError)
    }

    pub(super) fn is_rolled_back(self) -> bool {
        matches!(self, SpanEnd::Stopped | SpanEnd::Suspended | SpanEnd::Abandoned)
    }
}

/// What an event says of the structure of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A block began.
    Started {
        /// Its name.
        name: NameNumber,
        /// Its kind.
        kind: BlockKind,
        /// The execution around it: its path, and which execution of it.
        parent: Option<(PathNumber, u32)>,
        /// Whether it began because the attempt before had failed: what that one wrote to shared memory counts no more.
        replaces_failed: bool,
    },
    /// A block went on after an interruption.
    WentOn,
    /// A block ended.
    Finished {
        /// How.
        end: SpanEnd,
        /// Taken from an earlier execution by a resume.
        is_memoized: bool,
        /// Whether its error was caught.
        is_caught: bool,
    },
    /// It changed state: memory that the blocks of a request share, or a durable record.
    Wrote {
        /// Whether it is shared memory, where a rolled-back attempt leaves nothing.
        is_shared: bool,
    },
    /// It added an item.
    ItemAdded {
        /// Whether it tells a failure: it stays, whatever becomes of the run that added it.
        is_told_failure: bool,
    },
    /// A model answered it.
    ModelCalled {
        /// Tokens that it was told.
        prompt: u64,
        /// Tokens that it said.
        completion: u64,
    },
    /// A callback of it returned.
    CallbackReturned {
        /// Whether a resume took that from the log.
        is_memoized: bool,
        /// What it did.
        events: Vec<Seq>,
        /// What earlier calls of it did.
        superseded: Vec<Seq>,
    },
    /// Nothing but that a block did something: it still ran. Not stored in pages.
    Lived,
    /// The request was taken up again.
    RequestResumed,
    /// The request ended.
    RequestFinished,
}

/// Returns what an event says, if it says anything. `name` gives the number of a block's name, `number` that of a path,
/// none where it is not known.
pub fn fact(
    kind: &EventKind,
    name: impl FnOnce(&str) -> NameNumber,
    number: impl FnOnce(&str) -> Option<PathNumber>,
) -> Option<Fact> {
    Some(match kind {
        EventKind::BlockStarted { name: own, block, parent, replaces_failed, .. } => {
            let parent = parent.as_deref().and_then(InstanceId::parse);
            let parent = parent.and_then(|around| Some((number(around.path)?, around.attempt)));
            Fact::Started { name: name(own), kind: *block, parent, replaces_failed: *replaces_failed }
        }
        EventKind::BlockResumed { .. } => Fact::WentOn,
        EventKind::BlockFinished { outcome, error, memoized, caught, returned_error, timed_out_ms, .. } => {
            Fact::Finished {
                end: match outcome {
                    Outcome::Completed if timed_out_ms.is_some() => SpanEnd::TimedOut,
                    Outcome::Completed if *returned_error => SpanEnd::ReturnedError,
                    Outcome::Completed => SpanEnd::Completed,
                    Outcome::Failed if end(*outcome, error.as_ref()) == Verdict::RolledBack => SpanEnd::Stopped,
                    Outcome::Failed if timed_out_ms.is_some() => SpanEnd::TimedOut,
                    Outcome::Failed => SpanEnd::Failed,
                    Outcome::Suspended => SpanEnd::Suspended,
                    Outcome::Abandoned => SpanEnd::Abandoned,
                },
                is_memoized: *memoized,
                is_caught: caught.is_some(),
            }
        }
        EventKind::HookStarted { hook, parent } => {
            let parent = InstanceId::parse(parent).and_then(|around| Some((number(around.path)?, around.attempt)));
            Fact::Started { name: name(hook.as_str()), kind: BlockKind::Hook, parent, replaces_failed: false }
        }
        EventKind::HookReturned { error, .. } => Fact::Finished {
            end: if error.is_some() { SpanEnd::Failed } else { SpanEnd::Completed },
            is_memoized: false,
            // The value stays as it was, and the log says so.
            is_caught: error.is_some(),
        },
        EventKind::StateChanged { scope, .. } => Fact::Wrote { is_shared: !scope.kind.is_durable() },
        EventKind::ItemAdded { .. } => Fact::ItemAdded { is_told_failure: is_told_failure(kind) },
        EventKind::EffectFinished { effect: EffectKind::Model, result, memoized: false, .. } => {
            let count = |name: &str| result["usage"][name].as_u64().unwrap_or(0);
            Fact::ModelCalled { prompt: count("promptTokens"), completion: count("completionTokens") }
        }
        EventKind::CallbackReturned { events, superseded, memoized, .. } => {
            if events.is_empty() && superseded.is_empty() {
                return Some(Fact::Lived);
            }
            Fact::CallbackReturned { is_memoized: *memoized, events: events.clone(), superseded: superseded.clone() }
        }
        EventKind::RequestResumed { .. } => Fact::RequestResumed,
        EventKind::RequestFinished { .. } => Fact::RequestFinished,
        EventKind::BlockInput { .. }
        | EventKind::ReactionsDue { .. }
        | EventKind::Suspended(_)
        | EventKind::CommitRefused { .. }
        | EventKind::StateInitialized { .. }
        | EventKind::RecordsSeen { .. }
        | EventKind::ItemDelta { .. }
        | EventKind::ItemUpdated { .. }
        | EventKind::ItemDone { .. }
        | EventKind::RouteDecided { .. }
        | EventKind::EffectStarted { .. }
        // A fork may write memoized ones before it runs.
        | EventKind::EffectFinished { memoized: false, .. }
        | EventKind::Logged { .. }
        | EventKind::JournalAppended { .. }
        | EventKind::MetadataSet { .. } => Fact::Lived,
        // Neither an edit of a fork, nor an answer, nor an abort of the request shows that a block still ran.
        _ => return None,
    })
}

/// A fact, and the event that says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanEvent {
    /// Its number.
    pub seq: Seq,
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The path of its block.
    pub path: Option<PathNumber>,
    /// Which execution of the path.
    pub attempt: u32,
    /// What it says.
    pub fact: Fact,
}
