//! State as it is shown: at an instant, and as checkpoints.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{AgentView, Json};

/// Every scope's state at an instant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct StateView {
    /// The event it is at; absent for the state now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When that event was, in milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<i64>,
    /// The request's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Json>,
    /// The session's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Json>,
    /// The user's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Json>,
    /// The project's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<Json>,
    /// By instance id, every sequencer and block with state of its own.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sequencers: BTreeMap<String, Json>,
    /// By `<scope>/<path>`, every resource that is there.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub resources: BTreeMap<String, Json>,
    /// The texts of those that have one.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub contents: BTreeMap<String, String>,
    /// Of a request of an agent: its `FlowState`, with the names authors know; of a sub-prompt where the instant is
    /// inside one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow_state: Option<Json>,
    /// Of a request of an agent: its turns and its tool queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentView>,
    /// Of a request of an agent with Calls: the state that they wrote for all, which is part of their context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call_state: Option<Json>,
    /// By instance, what they wrote for it alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub call_instances: BTreeMap<String, Json>,
    /// What a client sees of all that, by scope and name, where the flow shows it anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_data: Option<Json>,
    /// Why a projection of the flow failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_data_error: Option<String>,
    /// By scope, by instance id, or by `<scope>/<path>`.
    pub versions: BTreeMap<String, u64>,
}

/// The latest saved state of one sequencer instance (SEMANTICS §4.8).
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRow {
    /// `requestId:path:attempt`.
    pub block_instance_id: String,
    /// The sequencer's path.
    pub path: String,
    /// Its state, without transient slots.
    pub state: Json,
    /// How often it changed.
    pub version: u64,
    /// The block that changed it last; `__initial__` when none has.
    pub step_name: String,
    /// Whether the sequencer has ended.
    pub terminal: bool,
    /// When it changed last, in milliseconds since the epoch.
    pub created_at: i64,
}
