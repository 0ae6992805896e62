//! Nodes whose rows may differ since that was last asked; none where all may.

use engine::views::spans::SpanIndex;

use super::tree::{Node, Tree};

/// More nodes than this are not looked at one by one to find the first row that changed.
const MANY_CHANGES: usize = 1_000;

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
