//! What a window shows of the items of an open request: counts for each audience, and windows of items.

use engine::views::items::Audience;
use serde::{Deserialize, Serialize};

use super::ItemRow;

/// How many items each audience sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, specta::Type)]
pub struct AudienceCounts {
    /// Every item.
    pub all: u64,
    /// What the client gets.
    pub client: u64,
    /// What models see later.
    pub history: u64,
    /// What only a developer may see.
    pub trace: u64,
}

impl From<[u64; 4]> for AudienceCounts {
    fn from([all, client, history, trace]: [u64; 4]) -> Self {
        AudienceCounts { all, client, history, trace }
    }
}

/// Which items, as of when.
#[derive(Clone, Copy, Debug, Deserialize, specta::Type)]
pub struct ItemsQuery {
    /// Whose.
    pub audience: Audience,
    /// The first one.
    pub offset: u64,
    /// At most this many, and at most 200.
    pub limit: u32,
    /// As of which event; the newest when absent.
    #[serde(default)]
    pub at: Option<u64>,
}

/// A window of items.
#[derive(Clone, Debug, Serialize, specta::Type)]
pub struct ViewItems {
    /// The newest event that they include.
    pub seq: u64,
    /// How many the audience sees.
    pub total: u64,
    /// How many each audience sees.
    pub counts: AudienceCounts,
    /// Which one is the first of these.
    pub offset: u64,
    /// The items.
    pub page: Vec<ViewItem>,
}

impl ViewItems {
    /// The same window, where later model calls leave out what the request said.
    pub(crate) fn without_history(mut self, audience: Audience) -> ViewItems {
        self.counts.history = 0;
        if audience == Audience::History {
            (self.total, self.page) = (0, Vec::new());
        }
        self.page.iter_mut().for_each(|shown| shown.item.visibility.history = false);
        self
    }
}

/// An item, with long texts and values cut.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ViewItem {
    /// The item. Its `itemIndex` is its place among all items now.
    pub item: ItemRow,
    /// How many bytes its text has, where pieces were added to it or something of it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text_bytes: Option<u64>,
    /// Whether of a long text the end is shown, because it still grows.
    pub is_tail: bool,
    /// Whether something of it is left out.
    pub is_cut: bool,
}

/// What changed of the items of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ItemsUpdate {
    /// How many each audience sees.
    pub counts: AudienceCounts,
    /// The first item of each audience that may differ.
    pub changed_from: AudienceCounts,
}
