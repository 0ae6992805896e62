//! Items: the parts of a request's visible result, and who sees them (SEMANTICS §7).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who sees an item, besides the developer, who sees all items.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
pub struct Visibility {
    /// The client receives and renders it.
    pub client: bool,
    /// It is part of the history that models see.
    pub history: bool,
}

/// The identity of the agent that produced an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "lowercase")]
pub enum AgentType {
    /// User-facing: on the client and in history.
    Primary,
    /// A sub-agent: on the client, not in history.
    Sub,
    /// For the developer only.
    Trace,
}

/// The status of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum ItemStatus {
    /// Added, still growing.
    InProgress,
    /// Final.
    Completed,
    /// Final, cut short.
    Incomplete,
    /// Final, by an error.
    Failed,
}

/// An item as the log holds it; ids, index and provenance are read from its event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NewItem {
    /// A type of SEMANTICS §7.1.
    #[serde(rename = "type")]
    pub item_type: String,
    /// Its status.
    pub status: ItemStatus,
    /// The key of a component: a new one with the same key replaces the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Whether it is shown to clients but not to later requests.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub transient: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<AgentType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// An explicit `itemVisibility`, in addition to the agent type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub item_visibility: Option<Visibility>,
    /// The block instance of the innermost enclosing container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owned_by: Option<Arc<str>>,
    /// The fields of its type: `role`, `content`, `component`, `data`, `message`, …
    #[serde(deserialize_with = "crate::model::json::exact")]
    pub payload: Map<String, Value>,
}

impl NewItem {
    /// Returns an item without an agent, a key or a container.
    pub(crate) fn plain(item_type: &str, status: ItemStatus, payload: Map<String, Value>) -> Self {
        NewItem {
            item_type: item_type.to_owned(),
            status,
            key: None,
            transient: false,
            agent_type: None,
            agent_name: None,
            item_visibility: None,
            owned_by: None,
            payload,
        }
    }
}

/// Who sees an item: a pure function of its type, agent and explicit visibility
/// (SEMANTICS §7.3).
///
/// | type | client | history |
/// |---|---|---|
/// | any type with agent type `trace` | no | no |
/// | `message` `reasoning` `block_tool_output` | explicit, else by agent: primary and none yes, sub yes | explicit, else primary and none yes, sub no |
/// | `block_output` `router_decision` `state_snapshot` | no | no |
/// | every other | yes | no |
pub fn resolve_item_visibility(
    item_type: &str,
    agent_type: Option<AgentType>,
    explicit: Option<Visibility>,
) -> Visibility {
    if agent_type == Some(AgentType::Trace) {
        return Visibility { client: false, history: false };
    }
    match item_type {
        "message" | "reasoning" | "block_tool_output" => match (explicit, agent_type) {
            (Some(visibility), _) => visibility,
            (None, Some(AgentType::Sub)) => Visibility { client: true, history: false },
            (None, _) => Visibility { client: true, history: true },
        },
        "block_output" | "router_decision" | "state_snapshot" | "generator_step" => {
            Visibility { client: false, history: false }
        }
        _ => Visibility { client: true, history: false },
    }
}

/// Every type of item, in canonical spelling.
pub const ITEM_TYPES: &[&str] = &[
    "message",
    "reasoning",
    "block_tool_output",
    "component",
    "container",
    "source",
    "status",
    "state_change",
    "resource_change",
    "step_error",
    "error",
    "block_output",
    "router_decision",
    "state_snapshot",
    "suspension",
    "suspension_resume",
    "continuation",
];

/// The canonical spelling of an item type: newer names are read as those of SEMANTICS §7.1.
pub fn canonical_item_type(name: &str) -> &str {
    match name {
        "block_trace" => "block_output",
        "tool_output" => "block_tool_output",
        other => other,
    }
}
