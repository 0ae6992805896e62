//! The names of the kinds of events, and the list of them.

use super::EventKind;

/// The names of the kinds, as stored and printed, and the list of them.
macro_rules! kinds {
    ($($kind:ident => $name:literal,)*) => {
        /// Every kind's name.
        pub const KINDS: &[&str] = &[$($name),*];

        impl EventKind {
            /// The kind as stored and printed.
            pub fn name(&self) -> &str {
                match self {
                    $(EventKind::$kind { .. } => $name,)*
                    EventKind::Unknown { name, .. } => name,
                }
            }
        }
    };
}

kinds! {
    RequestStarted => "request_started",
    RequestResumed => "request_resumed",
    RequestAdopted => "request_adopted",
    RequestStatus => "request_status",
    RequestFinished => "request_finished",
    BlockStarted => "block_started",
    BlockResumed => "block_resumed",
    BlockInput => "block_input",
    BlockFinished => "block_finished",
    HookStarted => "hook_started",
    HookReturned => "hook_returned",
    Committed => "committed",
    CallbackReturned => "callback_returned",
    ReactionsDue => "reactions_due",
    Suspended => "suspended",
    SuspensionResolved => "suspension_resolved",
    SuspensionReopened => "suspension_reopened",
    CommitRefused => "commit_refused",
    StateInitialized => "state_initialized",
    RecordsSeen => "records_seen",
    StateChanged => "state_changed",
    ItemAdded => "item_added",
    ItemDelta => "item_delta",
    ItemUpdated => "item_updated",
    ItemDone => "item_done",
    RouteDecided => "route_decided",
    EffectStarted => "effect_started",
    EffectFinished => "effect_finished",
    Logged => "logged",
    JournalAppended => "journal_appended",
    MetadataSet => "metadata_set",
    InputEdited => "input_edited",
    OutputEdited => "output_edited",
    StateEdited => "state_edited",
    ModelEdited => "model_edited",
    SpanReceived => "span_received",
    Noted => "noted",
    Drift => "drift",
}
