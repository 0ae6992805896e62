//! A session as a conversation: its requests as turns, each with its items, and the forks that it is one of.

use engine::views::items::Audience;
use serde::{Deserialize, Serialize};

use super::{AudienceCounts, RunRow, SessionRow, Tags, ViewItem};

/// Which part of a conversation, and for whom.
#[derive(Clone, Copy, Debug, Deserialize, specta::Type)]
pub struct ConversationQuery {
    /// Who looks.
    pub audience: Audience,
    /// The first turn; the newest ones where it is absent.
    #[serde(default)]
    pub offset: Option<u64>,
    /// At most this many turns, and at most 50.
    pub limit: u32,
}

/// A part of a conversation.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// The session.
    pub session: SessionRow,
    /// What people added to it.
    pub tags: Tags,
    /// How many turns it has. Those before a fork, in the session it was forked from, count.
    pub total: u64,
    /// Which one is the first of these.
    pub offset: u64,
    /// Some turns, oldest first.
    pub turns: Vec<Turn>,
}

/// A request of a conversation.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Turn {
    /// Its row.
    pub run: RunRow,
    /// How many items each audience sees.
    pub counts: AudienceCounts,
    /// Whether the retention of the flow has dropped it: no audience sees its items any more.
    pub is_forgotten: bool,
    /// What the audience sees. Of many items the first and the last ones.
    pub items: Vec<ViewItem>,
    /// How many items are left out.
    pub left_out: u64,
    /// Before which of `items` they are left out.
    pub left_out_at: u32,
}

/// A session of a tree of forks.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ForkRow {
    /// Its row.
    #[serde(flatten)]
    pub session: SessionRow,
    /// The session that it was forked from; absent for the first one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// The request that it was forked from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_from_request: Option<String>,
    /// The event of that request at which it was forked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked_at: Option<u64>,
    /// The first words of what its newest request was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
}
