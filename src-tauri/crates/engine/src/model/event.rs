//! The events of a request's log.
//!
//! A request **is** these events. They are append-only, numbered densely from 1 by the one engine that runs it, and
//! final once their batch is committed. Nothing else of a request is stored that could not be read from them again.

mod commit;
mod defaults;
mod foreign;
mod fork;
mod frequent;
mod kinds;
mod recorded;
mod status;
pub mod upgrade;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::model::concurrency::Claim;
use crate::model::effects::{DispatchedBy, EffectKind};
use crate::model::error::FlowError;
use crate::model::flow::AgentHook;
use crate::model::item::{ItemStatus, NewItem};
use crate::model::operation::Operation;
use crate::model::resource::due::DueReaction;
use crate::model::retention::Retention;
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::suspension::{Resolved, SuspensionRequest};

pub use commit::ScopeCommit;
use defaults::{is_true, is_zero, yes};
pub use foreign::Foreign;
pub use fork::{ForkedFrom, KeptPart, ModelEdit};
pub use kinds::KINDS;
pub use recorded::{Recorded, RecordedReturn};
pub use status::{BlockKind, CaughtBy, DriftKind, Outcome, RequestStatus};

/// The number of an event in its request; the first is 1.
pub type Seq = u64;

/// One event of one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Dense within the request.
    pub seq: Seq,
    /// Milliseconds since the epoch, from the engine's clock.
    pub at: i64,
    /// The logical path of the block it belongs to; absent for events of the request itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Arc<str>>,
    /// Which execution of that path, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: u32,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EventKind {
    /// The first event: who asked for what.
    RequestStarted {
        flow: String,
        action: String,
        session: Arc<str>,
        user: Arc<str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<Arc<str>>,
        /// Whether the session was made for this request alone.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        ephemeral: bool,
        /// The mock script's origin when models are mocked: a file name, or `inline`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mock: Option<String>,
        /// The hash of the flow's bundle (ARCHITECTURE §2.10).
        code_hash: String,
        input: Recorded,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_of: Option<String>,
        /// The event that an entry was fired with; `input` is what its binding made of it.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::given")]
        trigger: Option<Value>,
        /// Who sent it, where a dispatcher did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dispatched_by: Option<DispatchedBy>,
        /// The job that runs it: the id of its database, a dot, and the name of its lock file. Its epoch is 1.
        owner: String,
        /// What no other request may hold while this one runs.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        claim: Option<Claim>,
        /// What it is a fork of; the events up to that one are those of the other request.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        forked_from: Option<ForkedFrom>,
        /// The requests that a fork keeps the beginning of, oldest first; earlier versions did not record them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        kept: Vec<KeptPart>,
        /// How many earlier items its session shows from here on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retention: Option<Retention>,
        /// Whether checkpoints of a sequencer are removed when it ends (SEMANTICS §4.8).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cleanup_checkpoints: bool,
        /// Whose state, the user's or the project's, is the flow's own (SEMANTICS §4.1).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        isolated: Vec<ScopeKind>,
        /// Whether the user's state and resources are those that the user has in this organization (SEMANTICS §4.1).
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        user_by_org: bool,
        /// Whether a schema parses a value once on its way into a block (SEMANTICS §2.3); earlier versions parsed it
        /// again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        parses_once: bool,
        /// The time zone of local times, by its name; earlier versions did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_zone: Option<Arc<str>>,
        /// Of a foreign request: who recorded it (SEMANTICS §18).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        foreign: Option<Box<Foreign>>,
    },
    /// The request was resumed, by another process or the same one.
    RequestResumed {
        owner: String,
        /// Which owner of the request it is, counted from 1; each take-over raises it.
        #[serde(default)]
        epoch: u64,
        code_hash: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mock: Option<String>,
        /// Whether what had ended by then stays as it is in the log, at the same paths. If not, what is taken from the
        /// log is recorded again (SEMANTICS §10.2); earlier versions always did so.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        keeps_ended: bool,
    },
    /// A process took the request over without running it, for example to abort it after its owner had died.
    RequestAdopted { owner: String, epoch: u64 },
    /// The request's status changed without ending it.
    RequestStatus { status: RequestStatus },
    /// The last event: how it ended.
    RequestFinished {
        status: RequestStatus,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Recorded>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<FlowError>,
    },
    /// A block began. `versions` are the durable records it sees (ARCHITECTURE §5.8).
    BlockStarted {
        name: Arc<str>,
        block: BlockKind,
        /// The instance (`path:attempt`) of the block around it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<Arc<str>>,
        input: Recorded,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        versions: Vec<(ScopeKey, u64)>,
        /// The fingerprint of the block's source, where its functions have one: 16 hexadecimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<Arc<str>>,
        /// True when a resume runs the block again because the attempt before this one had failed: what that attempt
        /// wrote to shared state no longer counts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        replaces_failed: bool,
    },
    /// A block that runs others goes on as the same instance after an interruption (SEMANTICS §10.2). It repeats
    /// nothing of what ended inside it. `epoch` is that of the request's owner from here on; `versions`, and the
    /// `fingerprint` of the block's source of today, are as of [`BlockStarted`](Self::BlockStarted).
    BlockResumed {
        epoch: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        versions: Vec<(ScopeKey, u64)>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<Arc<str>>,
    },
    /// The input of the block's body, if `connectInput` or the input schema changed it.
    BlockInput { input: Recorded },
    /// A block ended. Its writes to durable records are in `commits`: this event is their commit.
    BlockFinished {
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<Recorded>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<FlowError>,
        /// Who catches the failure, if anyone does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        caught: Option<CaughtBy>,
        /// True for a block with `transient: true`, which has no `block_output` item.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        transient: bool,
        /// True when a resume took this from an earlier execution instead of running the block.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        memoized: bool,
        /// True for a tool of an agent that returned `{ status: "error" }`: the block completed, its call failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        returned_error: bool,
        /// Of a tool call that ended after its timeout: the timeout, in milliseconds. Its result went nowhere.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timed_out_ms: Option<u64>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commits: Vec<ScopeCommit>,
    },
    /// A hook of an agent is called. Its path is its own, below that of the block that calls it.
    HookStarted {
        hook: AgentHook,
        /// The instance (`path:attempt`) of the block that calls it.
        parent: Arc<str>,
    },
    /// A hook of an agent returned or threw. Of lists only the entries that differ are recorded.
    HookReturned {
        /// What it got; absent if it is long and was not changed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<Recorded>,
        /// What it made of it; absent if it changed nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Recorded>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<FlowError>,
    },
    /// A request gave durable records their initial state.
    Committed { commits: Vec<ScopeCommit> },
    /// A callback of a block that runs others (map, condition, tap, connector, hook) returned, and had emitted events
    /// or written something. Its writes to durable records are in `commits` (ARCHITECTURE §3.5).
    CallbackReturned {
        /// Its name: operation, role, and how often it was called before (SEMANTICS §3.2).
        callback: String,
        /// The fingerprint of its source, where it has one: 16 hexadecimal digits.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<Arc<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        returned: Option<RecordedReturn>,
        /// The events of its last call.
        events: Vec<Seq>,
        /// The events of earlier calls, which were repeated after a conflict; they have no effect.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        superseded: Vec<Seq>,
        /// True when a resume took this from the log instead of calling the function.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        memoized: bool,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        commits: Vec<ScopeCommit>,
    },
    /// Reactions to what the block, or its callback, has written: they run once its end, which follows, is committed.
    ReactionsDue {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        callback: Option<String>,
        reactions: Vec<DueReaction>,
    },
    /// A block waits for an answer from outside; it runs again from its top once there is one.
    Suspended(SuspensionRequest),
    /// A suspension was answered, or it expired.
    SuspensionResolved(Resolved),
    /// An answer was not used, because the run did not reach the suspension or refused the answer: it is pending again.
    SuspensionReopened { id: String },
    /// A commit was refused, because a record had changed. This replaces the committing event, so that `seq` stays
    /// dense; the events before it are kept.
    CommitRefused { scopes: Vec<ScopeKey> },
    /// A scope got its initial state from its schema's defaults. A sequencer that is not durable
    /// says so: its state is no checkpoint.
    StateInitialized {
        scope: ScopeKey,
        #[serde(deserialize_with = "crate::model::json::exact")]
        state: Value,
        #[serde(default = "yes", skip_serializing_if = "is_true")]
        durable: bool,
    },
    /// A block read records whose versions this request had not seen before.
    RecordsSeen { versions: Vec<(ScopeKey, u64)> },
    /// One state operation. For request, sequencer and block state it is in force at its own
    /// `seq`; for durable records when a `commits` entry names it.
    StateChanged {
        scope: ScopeKey,
        operation: Operation,
        /// The sums after an increment; every other operation carries its new value itself, and
        /// repeating it would make the log grow with the state.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
        value: Option<Value>,
        /// The version after the operation, as the writing block saw it.
        version: u64,
    },
    /// An item was emitted. Simple items are whole and done at once.
    ItemAdded { item: NewItem },
    /// An item in progress, added by event `of`, grew by a piece of text.
    ItemDelta { of: Seq, text: String },
    /// An item in progress changed some of its fields.
    ItemUpdated {
        of: Seq,
        #[serde(deserialize_with = "crate::model::json::exact")]
        patch: Map<String, Value>,
    },
    /// An item that was added in progress got its final form: these fields replace what it had.
    ItemDone {
        of: Seq,
        status: ItemStatus,
        #[serde(deserialize_with = "crate::model::json::exact")]
        patch: Map<String, Value>,
    },
    /// A router chose a route.
    RouteDecided { route: String },
    /// A model call, a fetch, a sleep or a `runOnce` begins. `ordinal` counts per path, attempt and kind.
    EffectStarted {
        effect: EffectKind,
        ordinal: u32,
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
        request: Option<Value>,
    },
    /// An effect ended. Clock and random values have no `effect_started`.
    EffectFinished {
        effect: EffectKind,
        ordinal: u32,
        /// The `effect_started` event; absent for what answers at once, and in older formats.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        started: Option<Seq>,
        /// What was asked, in logs of older formats.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
        request: Option<Value>,
        #[serde(deserialize_with = "crate::model::json::exact")]
        result: Value,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<FlowError>,
        /// True when a resume took the answer from the log instead of asking again.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        memoized: bool,
        /// Of an entry that was sent on its way: what was sent, and where to. Earlier versions did not record it.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "crate::model::json::exact")]
        dispatch: Option<Value>,
    },
    /// `console.*` of a flow.
    Logged { level: String, text: String },
    /// A note for the session's journal.
    JournalAppended {
        #[serde(deserialize_with = "crate::model::json::exact")]
        entry: Value,
    },
    /// `ctx.session.setMetadata`.
    MetadataSet {
        #[serde(deserialize_with = "crate::model::json::exact")]
        metadata: Value,
    },
    /// A fork's edit: it goes on as if this had been its input. The events it shares with the other request were
    /// recorded with the old one.
    InputEdited { input: Recorded },
    /// A fork's edit: it goes on as if a block that ended had returned this.
    OutputEdited { output: Recorded },
    /// A fork's edit: it goes on as if the block had also written this, to the request's state or to that of the
    /// enclosing sequencer or block at path `of`.
    StateEdited {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of: Option<String>,
        operation: Operation,
    },
    /// A fork's edit of what is asked of a model.
    ModelEdited(ModelEdit),
    /// A block of a foreign request is this OpenTelemetry span, as it arrived (SEMANTICS §18).
    SpanReceived {
        #[serde(deserialize_with = "crate::model::json::exact")]
        span: Value,
    },
    /// A note of the engine: an undeclared key, a stored value that today's schema refuses.
    Noted { text: String },
    /// Today's code differs from what was recorded, or asks for something else (SEMANTICS §10.3). `text` describes it.
    Drift {
        drift: DriftKind,
        text: String,
        /// If the source of what is taken from the log was changed: the callback of the block, if it is one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        callback: Option<String>,
        /// If the source of what is taken from the log was changed: the fingerprint of today's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<Arc<str>>,
    },
    /// A kind that this version does not know: kept unchanged, and ignored.
    #[serde(skip_deserializing)]
    Unknown {
        name: String,
        #[serde(flatten, deserialize_with = "crate::model::json::exact")]
        fields: Map<String, Value>,
    },
}
