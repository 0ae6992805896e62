//! Reactions: blocks that run because a resource was written (`reactTo`, SEMANTICS §4.10).

use std::rc::Rc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::callable::Fun;
use crate::model::flow::Block;
use crate::model::scope::ScopeKind;

/// A block that runs when a resource changes in one way.
pub struct Reaction {
    /// Which changes.
    pub on: ChangeKind,
    /// What `kind` of the change says: as the author named it, also in an older spelling.
    pub kind: String,
    /// What runs, with the change as its input.
    pub block: Rc<Block>,
    /// Decides whether it runs.
    pub when: Option<Fun>,
}

/// How a resource changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// An instance was created.
    Created,
    /// Its fields changed.
    State,
    /// Its text changed.
    Content,
    /// An instance was deleted or evicted.
    Deleted,
}

impl ChangeKind {
    /// Parses a key of `reactTo`.
    pub fn parse(key: &str) -> Option<ChangeKind> {
        match key {
            "created" => Some(ChangeKind::Created),
            "stateUpdated" | "updated" => Some(ChangeKind::State),
            "contentUpdated" => Some(ChangeKind::Content),
            "deleted" => Some(ChangeKind::Deleted),
            _ => None,
        }
    }
}

/// A reaction that has to run, because what caused it is in force.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DueReaction {
    /// The scope of the resource.
    pub scope: ScopeKind,
    /// The name it was reached by.
    pub accessor: String,
    /// The block that runs.
    pub block: String,
    /// The change: what the block gets.
    #[serde(deserialize_with = "crate::model::json::exact")]
    pub change: Value,
}
