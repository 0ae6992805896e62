//! Which blocks stand beside each other: those of the same path, in the order of the left request; what only the right
//! one has comes where it ran there. Costs as much as there are blocks.

use engine::views::spans::{PathNumber, SpanIndex};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Side;
use crate::views::BlockDifference;

/// Two blocks of one path, or one that the other side does not have.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) path: PathNumber,
    pub(super) depth: u32,
    pub(super) left: Option<SpanIndex>,
    pub(super) right: Option<SpanIndex>,
    /// The bits of [`BlockDifference`].
    pub(super) differs: u8,
    /// Whether something inside of it differs.
    pub(super) inside: bool,
    /// Whether the right side is a replay that stopped before the end of this block.
    pub(super) is_uncompared: bool,
}

/// The paths of a request as a tree: the newest execution of each, and the paths directly inside of it.
#[derive(Default)]
struct Paths {
    newest: FxHashMap<PathNumber, SpanIndex>,
    inside: FxHashMap<Option<PathNumber>, Vec<PathNumber>>,
}

impl Paths {
    fn of(side: &Side) -> Paths {
        let mut paths = Paths::default();
        for (index, span) in (0..).zip(side.spans.iter()) {
            if paths.newest.insert(span.path, index).is_none() {
                let around = span.parent().map(|parent| side.spans.get(parent).path);
                paths.inside.entry(around).or_default().push(span.path);
            }
        }
        paths
    }

    fn children(&self, around: Option<PathNumber>) -> &[PathNumber] {
        self.inside.get(&around).map_or(&[], Vec::as_slice)
    }
}

/// All pairs, each after the one that is around it.
pub(super) fn align(left: &Side, right: &Side) -> Vec<Pair> {
    let (ours, theirs) = (Paths::of(left), Paths::of(right));
    let mut pairs: Vec<Pair> = Vec::with_capacity(ours.newest.len().max(theirs.newest.len()));
    let mut around: Vec<Option<u32>> = Vec::with_capacity(pairs.capacity());
    let mut waiting: Vec<(PathNumber, u32, Option<u32>)> = Vec::new();
    let mut known = FxHashSet::default();
    let mut wait = |waiting: &mut Vec<_>, path: Option<PathNumber>, depth: u32, above: Option<u32>| {
        let children = merge(ours.children(path), theirs.children(path));
        let fresh: Vec<PathNumber> = children.into_iter().filter(|child| known.insert(*child)).collect();
        waiting.extend(fresh.into_iter().rev().map(|child| (child, depth, above)));
    };
    wait(&mut waiting, None, 0, None);
    while let Some((path, depth, above)) = waiting.pop() {
        let (one, other) = (ours.newest.get(&path).copied(), theirs.newest.get(&path).copied());
        let at = pairs.len() as u32;
        let differs = differences((left, one), (right, other));
        pairs.push(Pair { path, depth, left: one, right: other, differs, inside: false, is_uncompared: false });
        around.push(above);
        wait(&mut waiting, Some(path), depth + 1, Some(at));
    }
    if let Some(stop) = right.stop {
        leave_out_unreached(&mut pairs, right, stop);
    }
    for at in (0..pairs.len()).rev() {
        if let Some(above) = around[at].filter(|_| pairs[at].differs != 0 || pairs[at].inside) {
            pairs[above as usize].inside = true;
        }
    }
    pairs
}

/// A replay that stopped says nothing about the blocks that it did not finish. Only the block at which it stopped
/// differs.
fn leave_out_unreached(pairs: &mut [Pair], replay: &Side, stop: PathNumber) {
    for pair in pairs.iter_mut().filter(|pair| pair.path != stop) {
        let is_finished = pair.right.is_some_and(|index| replay.has_finished(index));
        if !is_finished {
            (pair.differs, pair.is_uncompared) = (0, true);
        }
    }
}

/// Two lists as one, in the order of the first; what only the second has stands before what follows it there.
fn merge(ours: &[PathNumber], theirs: &[PathNumber]) -> Vec<PathNumber> {
    let is_ours: FxHashSet<PathNumber> = ours.iter().copied().collect();
    let places: FxHashMap<PathNumber, usize> = theirs.iter().copied().zip(0..).collect();
    let mut merged = Vec::with_capacity(ours.len());
    let mut next = 0;
    for path in ours {
        // Where the order is another one, the second list was already taken further than this.
        if let Some(place) = places.get(path).filter(|place| **place >= next) {
            merged.extend(theirs[next..*place].iter().filter(|other| !is_ours.contains(other)));
            next = place + 1;
        }
        merged.push(*path);
    }
    merged.extend(theirs[next..].iter().filter(|other| !is_ours.contains(other)));
    merged
}

fn differences((left, one): (&Side, Option<SpanIndex>), (right, other): (&Side, Option<SpanIndex>)) -> u8 {
    let (Some(one), Some(other)) = (one, other) else {
        return if one.is_some() { BlockDifference::OnlyLeft.bit() } else { BlockDifference::OnlyRight.bit() };
    };
    let (ours, theirs) = (left.spans.get(one), right.spans.get(other));
    let status = left.spans.status(one, left.is_live) == right.spans.status(other, right.is_live);
    let input = left.digests.inputs.get(&ours.seq_start) == right.digests.inputs.get(&theirs.seq_start);
    let output = left.digests.outputs.get(&ours.seq_end) == right.digests.outputs.get(&theirs.seq_end);
    let items = left.items(one) == right.items(other);
    let is_counted = !left.has_repeated(one) && !right.has_repeated(other);
    let changes = !is_counted || left.changes(one) == right.changes(other);
    let found = [
        (BlockDifference::Status, status),
        (BlockDifference::Input, input),
        // How it ended says that it made something else.
        (BlockDifference::Output, output || !status),
        (BlockDifference::Items, items),
        (BlockDifference::Changes, changes),
    ];
    found.into_iter().filter(|(_, is_equal)| !is_equal).fold(0, |bits, (one, _)| bits | one.bit())
}

#[cfg(test)]
mod tests {
    use super::merge;

    #[test]
    fn what_only_one_side_has_stands_where_it_ran() {
        assert_eq!(merge(&[1, 2, 3], &[1, 9, 2, 8]), [1, 9, 2, 3, 8]);
        assert_eq!(merge(&[], &[1, 2]), [1, 2]);
        assert_eq!(merge(&[1, 2], &[]), [1, 2]);
        // Another order loses nothing, and shows nothing twice.
        assert_eq!(merge(&[1, 2], &[2, 1]), [1, 2]);
        assert_eq!(merge(&[1, 2, 3, 4], &[4, 7, 1, 5]), [7, 1, 2, 3, 4, 5]);
    }
}
