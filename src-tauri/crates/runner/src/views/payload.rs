//! Values as the window gets them: small ones whole, large ones as a reference of which parts are read.
//!
//! A reference says where a value stands and which content was found there. The place decides what may be read; the
//! hash alone opens nothing.

use serde::{Deserialize, Serialize};

use super::{AgentView, BlockRow, ItemRow, Json, KeptBy, LogLine, SuspensionRow};
use engine::views::diff::DifferenceKind;

/// A value that travels.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum Payload {
    /// The value itself.
    Inline(Json),
    /// What is known of a value that is too large for that.
    Large(LargeValue),
}

/// What there is of a large value without reading it.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct LargeValue {
    /// What it is.
    pub kind: ValueKind,
    /// Its length as JSON.
    pub bytes: u64,
    /// Entries of a list, keys of an object, characters (Unicode scalar values) of a text.
    pub count: u64,
    /// How it begins, on one line.
    pub head: String,
    /// How it is read; absent inside of a value that has a reference itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<PayloadReference>,
}

/// The kinds of values that may be large.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum ValueKind {
    /// Keys and values.
    Object,
    /// Values in order.
    List,
    /// A text.
    Text,
    /// A number, `true`, `false` or `null`.
    Scalar,
}

/// Names a value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, specta::Type)]
pub struct PayloadReference {
    /// BLAKE3 of its JSON.
    pub hash: String,
    /// Where it stands.
    pub at: PayloadAddress,
}

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, specta::Type)]
#[serde(tag = "of", rename_all = "camelCase")]
pub enum PayloadAddress {
    /// In the detail of a block.
    Block {
        /// The request's id.
        request: String,
        /// `requestId:path:attempt`.
        instance: String,
        /// Which part of it.
        part: BlockPart,
        /// The event of an effect, or the number of a change from 0; else 0.
        n: u64,
    },
    /// The fields of an event.
    Event {
        /// The request's id.
        request: String,
        /// The event.
        seq: u64,
    },
    /// A scope's state just after an event.
    State {
        /// The request's id.
        request: String,
        /// The event.
        seq: u64,
        /// The scope's id, as the list of scopes has it.
        scope: String,
    },
    /// One side of a difference between two instants.
    Change {
        /// The request's id.
        request: String,
        /// The earlier instant.
        from: u64,
        /// The later instant.
        to: u64,
        /// The number of the difference, from 0.
        n: u64,
        /// Of the `FlowState` of an agent, not of all scopes.
        flow: bool,
        /// Before, not after.
        old: bool,
    },
}

impl PayloadAddress {
    /// The request that has the value.
    pub(crate) fn request(&self) -> &str {
        match self {
            PayloadAddress::Block { request, .. }
            | PayloadAddress::Event { request, .. }
            | PayloadAddress::State { request, .. }
            | PayloadAddress::Change { request, .. } => request,
        }
    }
}

/// A value in the detail of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum BlockPart {
    /// What it got.
    Input,
    /// What it made.
    Output,
    /// What came with its error.
    Details,
    /// The span that it is.
    Span,
    /// What an effect asked.
    Asked,
    /// What an effect was answered.
    Answered,
    /// A change's value before.
    Old,
    /// A change's value after.
    New,
}

/// Which part of a value.
#[derive(Clone, Debug, Default, Deserialize, specta::Type)]
pub struct PayloadQuery {
    /// A JSON pointer; empty for the value itself.
    #[serde(default)]
    pub path: String,
    /// The first entry or, of a text, the first character; from 0.
    pub offset: u64,
    /// How many: at most 1,000 entries, or 100,000 characters.
    pub limit: u64,
}

/// A part of a value.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct PayloadPage {
    /// What stands at the path.
    pub kind: ValueKind,
    /// Its length as JSON.
    pub bytes: u64,
    /// As in [`LargeValue`].
    pub count: u64,
    /// The number of the first entry or character.
    pub offset: u64,
    /// Of an object or a list.
    pub entries: Vec<PayloadEntry>,
    /// Of a text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// An entry of an object or a list.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct PayloadEntry {
    /// Absent in a list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// What stands there.
    pub value: Payload,
}

/// Where a text was found in a value.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
pub struct PayloadHits {
    /// In the order of the value, at most 100.
    pub hits: Vec<PayloadHit>,
    /// Whether there are more.
    pub more: bool,
}

/// One place of a text in a value.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct PayloadHit {
    /// A JSON pointer.
    pub path: String,
    /// For each step of the path, its number among the entries there.
    pub places: Vec<u64>,
    /// The character in the text, or in the key, from 0.
    pub at: u64,
    /// Whether the key was found and not the value.
    pub is_key: bool,
    /// The text around.
    pub around: String,
}

/// A value that was written to a file.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct PayloadSaved {
    /// Where it is.
    pub file: String,
    /// How long.
    pub bytes: u64,
}

/// [`Change`](super::Change) as the window gets it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ChangeParts {
    /// `request`, `session`, `user`, `project`, `sequencer`, `block` or `resource`.
    pub scope: String,
    /// Which sequencer or block; `<scope>/<path>` of a resource.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// Like `plan[2].title`; empty for the whole state.
    pub path: String,
    /// What happened.
    pub kind: DifferenceKind,
    /// Before; for a move, the old place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Payload>,
    /// After; for a move, the new place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Payload>,
    /// The newest event that touched the path, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The path of the block that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// A page of differences.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct ChangePage {
    /// How many there are in all.
    pub total: u64,
    /// From the one that was asked for on.
    pub changes: Vec<ChangeParts>,
}

/// Which scopes of an instant.
#[derive(Clone, Debug, Deserialize, specta::Type)]
pub struct ScopesQuery {
    /// The instant.
    pub seq: u64,
    /// The first scope, from 0.
    pub offset: u64,
    /// How many, at most 200.
    pub limit: u64,
    /// Ids of others that are wanted too, at most 200.
    #[serde(default)]
    pub also: Vec<String>,
}

/// The scopes of an instant.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ScopesPage {
    /// The event it is at.
    pub seq: u64,
    /// When that event was, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// How many scopes there are.
    pub total: u64,
    /// Those that were asked for.
    pub scopes: Vec<ScopeParts>,
    /// Of a request of an agent: its turns and its tool queue, long texts cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentView>,
    /// Of a request of an agent: its `FlowState`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_state: Option<Payload>,
}

/// One scope at an instant.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ScopeParts {
    /// Its kind, and a name where there may be several: `session`, `sequencer r:root:0`, `resource session/notes/a`.
    pub id: String,
    /// `request`, `session`, `user`, `project`, `sequencer` (of any block) or `resource`.
    pub scope: String,
    /// The block's instance, or the resource's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// How often it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// What it holds; of a resource with a text, that is under `$content`.
    pub value: Payload,
}

/// [`BlockDetail`](super::BlockDetail) as the window gets it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct BlockParts {
    /// Its row, without the details of its error.
    pub block: BlockRow,
    /// What kept last what it had come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kept_by: Option<KeptBy>,
    /// What it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Payload>,
    /// What it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Payload>,
    /// What came with its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Payload>,
    /// Of a foreign request, the span that the block is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Payload>,
    /// The first items that it emitted itself, long values cut.
    pub items: Vec<ItemRow>,
    /// How many it emitted.
    pub item_count: u64,
    /// The first changes that it made.
    pub changes: Vec<ChangeParts>,
    /// How many it made.
    pub change_count: u64,
    /// The first lines that it wrote to the console, long ones cut.
    pub logs: Vec<LogLine>,
    /// How many it wrote.
    pub log_count: u64,
    /// What it asked people, in any of its executions, oldest first; and what they answered.
    pub asked: Vec<SuspensionRow>,
    /// The first of what else it did outside of itself.
    pub effects: Vec<EffectParts>,
    /// The first models that it asked.
    pub model_calls: Vec<EffectParts>,
}

/// [`EffectRow`](super::EffectRow) as the window gets it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct EffectParts {
    /// The event that began it.
    pub seq: u64,
    /// `model`, `fetch`, `sleep`, `clock`, `random`, `uuid` or `once`.
    pub effect: String,
    /// Counts those of its kind in one execution of the block, from 0.
    pub ordinal: u32,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    /// Milliseconds; absent while it runs, or where its process died.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// What was asked, where it is recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Payload>,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<Payload>,
    /// The message of its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Taken from the log by a resume.
    pub memoized: bool,
}

/// [`EventRow`](super::EventRow) as the window gets it.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct EventParts {
    /// Its number in the request.
    pub seq: u64,
    /// Milliseconds since the epoch.
    pub at: i64,
    /// What happened.
    pub kind: String,
    /// The block's path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `requestId:path:attempt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instance_id: Option<String>,
    /// The kind's own fields.
    pub payload: Payload,
}
