//! Which rows may differ since that was last asked.

use engine::views::spans::SpanIndex;

use super::RequestView;
use super::tree::{Node, Tree};

/// More nodes than this are not looked at one by one to find the first row that changed.
const MANY_CHANGES: usize = 1_000;

impl RequestView {
    /// Notes that a span's row changed, and those of the groups that it is in.
    pub(super) fn touch_with_groups(&mut self, index: SpanIndex) {
        if self.changed.is_none() {
            return;
        }
        touch(&mut self.changed, index);
        for node in self.tree.ancestors(index).take_while(|node| self.tree.group(*node).is_some()) {
            touch(&mut self.changed, node);
        }
    }

    /// The first row that may differ since this was last asked.
    pub(crate) fn take_changed(&mut self) -> u64 {
        match self.changed.replace(Vec::new()) {
            None => 0,
            Some(nodes) => {
                let rows = nodes.into_iter().filter_map(|node| self.tree.row_of(node));
                rows.min().map_or(self.row_count(), u64::from)
            }
        }
    }
}

/// Notes that the rows around a span changed, those of groups among them, because they sum up what it did.
pub(super) fn touch_around(changed: &mut Option<Vec<Node>>, tree: &Tree, index: SpanIndex) {
    if changed.is_none() {
        return;
    }
    tree.ancestors(index).for_each(|node| touch(changed, node));
}

/// Notes that a node's row changed.
pub(super) fn touch(changed: &mut Option<Vec<Node>>, node: Node) {
    match changed {
        Some(nodes) if nodes.len() < MANY_CHANGES => nodes.push(node),
        _ => *changed = None,
    }
}
