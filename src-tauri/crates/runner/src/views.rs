//! What the window and the command line show, in one form for both.
//!
//! Read from the store and the engine's views, never kept. Field names are a contract
//! (ARCHITECTURE §9.1); absent fields are left out.

mod agents;
mod block;
mod clearings;
mod comparison;
mod conversation;
mod entries;
mod error;
mod experiment;
mod findings;
mod inside;
mod listed;
mod model_call;
mod moving;
mod payload;
mod plan;
mod replay;
mod request_view;
mod runs;
mod settings;
mod soundness;
mod source;
mod states;
mod stats;
mod sums;
mod suspensions;
mod times;
mod tree;
mod verify;
mod view_items;
mod why;
mod workspace;

use std::collections::HashMap;

use engine::event::{BlockKind, Event, ForkedFrom, RequestStatus};
use engine::item::{AgentType, ItemStatus, Visibility};
use engine::views::blocks::BlockStatus;
use engine::views::diff::{Difference, DifferenceKind};
use engine::views::items::{Item, Provenance};
use engine::views::shape::BlockShape;
use serde::Serialize;
use serde_json::{Map, Value};

pub use agents::{AgentView, QueuedCall, TurnRow, WaitingMessage};
pub use block::{BlockDetail, BlockSource, EffectRow, KeptBy, LogLine};
pub use clearings::{CompactedRow, DeletedRow};
pub use comparison::*;
pub use conversation::*;
pub use entries::EntryRow;
pub use error::ErrorInfo;
pub use experiment::*;
pub use findings::{EarlierWrite, HitRow, SearchPage, WriteRow};
pub use inside::*;
pub use listed::{ListedRequest, ListedSession};
pub(crate) use model_call::parameters;
pub use model_call::{MessageSource, ModelCallRow, ModelRetry, ModelTokens, ModelToolRow, StreamedPiece};
pub use moving::{Exported, ExportedTrace, Imported, MadeRunnable};
pub use payload::{
    BlockPart, BlockParts, ChangePage, ChangeParts, EffectParts, EventParts, LargeValue, Payload, PayloadAddress,
    PayloadEntry, PayloadHit, PayloadHits, PayloadPage, PayloadQuery, PayloadReference, PayloadSaved, ScopeParts,
    ScopesPage, ScopesQuery, ValueKind,
};
pub use plan::{AgainRow, MayHaveHappened, PlanRow};
pub use replay::{Divergence, Replay};
pub use request_view::{
    BlockQuery, Counts, CriticalPart, Filtered, FindQuery, FoundRow, Gap, GroupOf, Overview, RowsQuery, StepTo,
    ViewBatch, ViewCalls, ViewDurations, ViewGroup, ViewHead, ViewRow, ViewRows, ViewUpdate,
};
pub use runs::{RunDay, RunRow, RunsSummary, TagCount, Tags};
pub use settings::*;
pub use soundness::{DataCheck, ProblemRow};
pub use source::{ImportedSource, SourceView};
pub use states::{CheckpointRow, StateView};
pub use stats::Stats;
pub use sums::{BlockSum, BlockSums, Sums, Totals};
pub use suspensions::SuspensionRow;
pub(crate) use times::{span, span_ran_after, span_worked, span_worked_after, worked};
pub use tree::TreeView;
pub use verify::*;
pub use view_items::{AudienceCounts, ItemsQuery, ItemsUpdate, ViewItem, ViewItems};
pub use why::*;
pub use workspace::WorkspaceRow;

/// Any JSON value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(transparent)]
#[specta(transparent)]
pub struct Json(#[specta(type = specta_typescript::Unknown)] pub Value);

/// An action of a flow.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ActionRow {
    /// Its name.
    pub name: String,
    /// For people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of its input; `{}` when anything goes.
    pub input_schema: Json,
    /// Its root block and all below.
    pub root: BlockShape,
}

/// Why a file does not load.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename = "LoadError")]
pub struct LoadErrorRow {
    /// What is wrong and what would be right.
    pub message: String,
    /// Relative to the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

impl From<&script::LoadError> for LoadErrorRow {
    fn from(error: &script::LoadError) -> Self {
        LoadErrorRow {
            message: error.message.clone(),
            file: error.file.clone(),
            line: error.line,
            column: error.column,
        }
    }
}

/// A conversation.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct SessionRow {
    /// Its id; a thread's id for agents.
    pub id: String,
    /// The flow of its first request.
    pub flow: String,
    /// Whose it is.
    pub user_id: String,
    /// The team, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// What a person named it, or else what its flow did with `ctx.session.setMetadata`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its tags.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// How many requests it has.
    pub requests: u64,
    /// How many lasting items were emitted in it.
    pub items: u64,
    /// How its newest request stands.
    pub last_status: RequestStatus,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
    /// The session it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<String>,
}

/// One execution of one action.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct RequestRow {
    /// Its id.
    pub id: String,
    /// In which session.
    pub session_id: String,
    /// The flow's kind.
    pub flow: String,
    /// The action's name.
    pub action: String,
    /// Who asked.
    pub user_id: String,
    /// The team, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// How it stands; `interrupted` when its process is gone.
    pub status: RequestStatus,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<i64>,
    /// Milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The request it tries again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<String>,
    /// What it is a fork of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// What failed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// Of a foreign request: whose conventions the spans follow that it was received as. It has no code and no state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub received_from: Option<String>,
    /// Whether models were mocked.
    pub mock: bool,
    /// The number of its newest event.
    pub last_seq: u64,
    /// What it came to, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub totals: Option<Totals>,
    /// Whether it could go on with the code of today, where that was asked for and it waits or was interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumable: Option<Resumable>,
    /// Why that is not `yes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resumable_why: Option<String>,
}

/// Whether a request that waits or was interrupted could go on with the code of today.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum Resumable {
    /// All that ended is taken from the log, and nothing outside is done twice.
    Yes,
    /// It can, and something that was done is done again, or is not used.
    AsksAgain,
    /// It cannot.
    No,
}

/// One execution of one block, without payloads: a row of the timeline.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct BlockRow {
    /// Its logical path.
    pub path: String,
    /// `requestId:path:attempt`.
    pub instance_id: String,
    /// The instance around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The block's name.
    pub name: String,
    /// Its kind.
    pub kind: BlockKind,
    /// Which execution of the path, from 0.
    pub attempt: u32,
    /// How it stands.
    pub status: BlockStatus,
    /// Milliseconds since the epoch.
    pub started_at: i64,
    /// How long it ran, in milliseconds, without its gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// The same of one that was cut off, as far as the log tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_ms: Option<i64>,
    /// When it did not run between its start and its end: it went on after an interruption.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Vec<Gap>>,
    /// Taken from an earlier execution by a resume.
    pub memoized: bool,
    /// Its first event.
    pub seq_start: u64,
    /// Its last event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq_end: Option<u64>,
    /// How many state operations it made itself.
    pub changes: u32,
    /// How many items it emitted itself.
    pub items: u32,
    /// What failed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
}

/// A block with what it got and made, for `show`.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct ShownBlock {
    /// Its row.
    #[serde(flatten)]
    pub row: BlockRow,
    /// What it got.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// What it made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
}

/// A whole request, for `show`.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct Shown {
    /// Its row.
    pub request: RequestRow,
    /// What was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// What came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// Every execution of every block, in start order.
    pub blocks: Vec<ShownBlock>,
}

/// An item, with the fields of its type beside the common ones.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
#[serde(rename = "Item")]
pub struct ItemRow {
    /// Unique in the workspace.
    pub id: String,
    /// A type of SEMANTICS §7.1.
    #[serde(rename = "type")]
    pub item_type: String,
    /// Its phase.
    pub status: ItemStatus,
    /// Whose request.
    pub request_id: String,
    /// Its place among the request's items, never repeated.
    pub item_index: u32,
    /// When it was added, in milliseconds since the epoch.
    pub ts: i64,
    /// The event that added it.
    pub seq: u64,
    /// Where it comes from.
    pub provenance: Provenance,
    /// Who sees it.
    pub visibility: Visibility,
    /// Streams, is not kept for later requests.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    /// Who it speaks as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<AgentType>,
    /// The agent's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// The explicit visibility, kept beside the agent type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item_visibility: Option<Visibility>,
    /// The block instance of the innermost container around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owned_by: Option<String>,
    /// The fields of its type.
    #[serde(flatten)]
    #[specta(type = HashMap<String, specta_typescript::Unknown>)]
    pub payload: Map<String, Value>,
}

impl From<Item> for ItemRow {
    fn from(item: Item) -> Self {
        ItemRow {
            id: item.id,
            item_type: item.item_type,
            status: item.status,
            request_id: item.request_id.to_string(),
            item_index: item.item_index,
            ts: item.ts,
            seq: item.seq,
            provenance: item.provenance,
            visibility: item.visibility,
            transient: item.transient,
            agent_type: item.agent_type,
            agent_name: item.agent_name,
            item_visibility: item.item_visibility,
            owned_by: item.owned_by.map(|owner| owner.to_string()),
            payload: item.payload,
        }
    }
}

/// One difference of one scope's state.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Change {
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
    pub old: Option<Json>,
    /// After; for a move, the new place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Json>,
    /// The newest event that touched the path, where one is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// The path of the block that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Whether a fork was begun with it, so that no block wrote it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_edit: bool,
}

impl Change {
    pub(crate) fn new(scope: &str, instance_id: Option<String>, difference: Difference) -> Self {
        Change {
            scope: scope.to_owned(),
            instance_id,
            path: difference.path,
            kind: difference.kind,
            old: difference.old.map(Json),
            new: difference.new.map(Json),
            seq: None,
            by: None,
            is_edit: false,
        }
    }
}

/// One event, as the command line and the window show it.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct EventRow {
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
    pub payload: Json,
}

impl EventRow {
    /// An event of a request.
    pub fn new(request: &str, event: &Event) -> Self {
        let mut payload = serde_json::to_value(&event.kind).unwrap_or_default();
        if let Value::Object(fields) = &mut payload {
            fields.shift_remove("kind");
            if let engine::event::EventKind::Unknown { .. } = event.kind {
                fields.shift_remove("name");
            }
        }
        let path = event.path.as_ref().map(ToString::to_string);
        EventRow {
            seq: event.seq,
            at: event.at,
            kind: event.kind.name().to_owned(),
            instance_id: path.as_ref().map(|path| format!("{request}:{path}:{}", event.attempt)),
            path,
            payload: Json(payload),
        }
    }
}
