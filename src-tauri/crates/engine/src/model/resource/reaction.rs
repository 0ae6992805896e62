//! Reactions: blocks that run because a resource was written (`reactTo`, SEMANTICS §4.10).

use std::rc::Rc;

use crate::model::callable::Fun;
use crate::model::flow::Block;

/// A block that runs when a resource changes in one way.
pub struct Reaction {
    /// Which changes.
    pub on: ChangeKind,
    /// The `kind` of the change as the author named it, possibly in an older spelling.
    pub kind: String,
    /// The block, whose input is the change.
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
