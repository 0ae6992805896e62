//! The options of `show` for the tree of blocks.

use clap::Args;

/// How `show` shows the blocks of a request.
#[derive(Args)]
pub(crate) struct Tree {
    /// Only the rows of the tree, without payloads: many turns of a loop or branches are one row
    #[arg(long, conflicts_with = "source")]
    pub(crate) tree: bool,
    /// Only rows that fit, with what is around them, like: 'kind:generator status:failed dur>1s -name:plan "text"'
    #[arg(long, value_name = "FILTER", conflicts_with = "source", allow_hyphen_values = true)]
    pub(crate) filter: Option<String>,
    /// Every row, also those of loops and branches
    #[arg(long, conflicts_with = "source")]
    pub(crate) unfolded: bool,
}

impl Tree {
    /// Whether rows of the tree are shown in place of blocks.
    pub(crate) fn has_rows(&self) -> bool {
        self.tree || self.unfolded || self.filter.is_some()
    }
}
