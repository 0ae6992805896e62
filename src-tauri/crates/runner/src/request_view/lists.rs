//! The children of a node with how many rows each one takes, so that a row is found without walking over all before.

use super::tree::Node;

/// No node: what stands at the top is below it, and a place that was left holds it.
pub(super) const NOBODY: Node = Node::MAX;

/// A child, and a sum of rows.
#[derive(Clone, Copy)]
struct Slot {
    node: Node,
    /// The rows of this slot and of some before it, as in a binary indexed tree.
    sum: u32,
}

/// The children of a node, in start order. A slot keeps its number; one that was left stays empty.
#[derive(Clone, Default)]
pub(super) struct List {
    slots: Vec<Slot>,
    /// The rows of all slots.
    total: u32,
    /// How many slots are empty up to which, likewise; only where there are any.
    holes: Option<Box<[u32]>>,
    hole_count: u32,
}

/// The lowest bit: how many slots a sum covers.
fn low(at: usize) -> usize {
    at & at.wrapping_neg()
}

impl List {
    pub(super) fn total(&self) -> u32 {
        self.total
    }

    /// How many slots there are, with those that were left.
    pub(super) fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// How many children there are.
    pub(super) fn count(&self) -> u32 {
        self.len() - self.hole_count
    }

    pub(super) fn node(&self, slot: u32) -> Node {
        self.slots[slot as usize].node
    }

    /// All children, in order.
    pub(super) fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> {
        self.slots.iter().map(|slot| slot.node).filter(|node| *node != NOBODY)
    }

    /// Puts another node into a slot.
    pub(super) fn replace(&mut self, slot: u32, node: Node) {
        self.slots[slot as usize].node = node;
    }

    /// Empties slots, whose rows were taken off before.
    pub(super) fn leave(&mut self, left: &[u32]) {
        for slot in left {
            self.slots[*slot as usize].node = NOBODY;
        }
        self.hole_count += left.len() as u32;
        // Slots are left rarely: at most once each, and all members of a group but its first.
        let mut counts: Vec<u32> = vec![0; self.slots.len() + 1];
        for (at, slot) in (1..).zip(&self.slots) {
            counts[at] = counts[at - 1] + u32::from(slot.node == NOBODY);
        }
        self.holes = Some(counts.into_boxed_slice());
    }

    /// How many children are before a slot.
    pub(super) fn position(&self, slot: u32) -> u32 {
        let holes = self.holes.as_ref().map_or(0, |holes| match holes.get(slot as usize) {
            Some(holes) => *holes,
            // None of the slots that came later is empty.
            None => self.hole_count,
        });
        slot - holes
    }

    /// Adds a child of so many rows.
    pub(super) fn push(&mut self, node: Node, rows: u32) -> u32 {
        let at = self.slots.len() + 1;
        let mut sum = rows;
        let mut below = at - 1;
        while below > at - low(at) {
            sum += self.slots[below - 1].sum;
            below -= low(below);
        }
        self.slots.push(Slot { node, sum });
        self.total += rows;
        (at - 1) as u32
    }

    /// Changes how many rows a slot takes.
    pub(super) fn add(&mut self, slot: u32, rows: i64) {
        let mut at = slot as usize + 1;
        while let Some(slot) = self.slots.get_mut(at - 1) {
            slot.sum = (i64::from(slot.sum) + rows) as u32;
            at += low(at);
        }
        self.total = (i64::from(self.total) + rows) as u32;
    }

    /// Says anew how many rows each slot takes.
    pub(super) fn fill(&mut self, rows: impl Fn(Node) -> u32) {
        self.total = 0;
        for slot in &mut self.slots {
            slot.sum = if slot.node == NOBODY { 0 } else { rows(slot.node) };
            self.total += slot.sum;
        }
        for at in 1..=self.slots.len() {
            let sum = self.slots[at - 1].sum;
            if let Some(slot) = self.slots.get_mut(at + low(at) - 1) {
                slot.sum += sum;
            }
        }
    }

    /// How many rows are before a slot.
    pub(super) fn before(&self, slot: u32) -> u32 {
        let (mut at, mut sum) = (slot as usize, 0);
        while at > 0 {
            sum += self.slots[at - 1].sum;
            at -= low(at);
        }
        sum
    }

    /// The child that a row belongs to, and how many rows of that one are before it. There must be such a row.
    pub(super) fn at(&self, row: u32) -> (Node, u32) {
        let (mut at, mut rest) = (0, row);
        let mut step = self.slots.len().next_power_of_two();
        while step > 0 {
            if let Some(slot) = self.slots.get(at + step - 1).filter(|slot| slot.sum <= rest) {
                at += step;
                rest -= slot.sum;
            }
            step /= 2;
        }
        (self.slots[at].node, rest)
    }

    /// Takes back memory that growing left over.
    pub(super) fn shrink(&mut self) {
        self.slots.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_as_by_counting() {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut list, mut plain) = (List::default(), Vec::new());
        for node in 0..500_u32 {
            let rows = rng.u32(0..4);
            assert_eq!(list.push(node, rows), node);
            plain.push(rows);
            let changed = rng.usize(0..plain.len());
            let rows = rng.u32(0..4);
            list.add(changed as u32, i64::from(rows) - i64::from(plain[changed]));
            plain[changed] = rows;
            let flat: Vec<(u32, u32)> =
                (0..).zip(&plain).flat_map(|(node, rows)| (0..*rows).map(move |row| (node, row))).collect();
            assert_eq!(list.total() as usize, flat.len());
            if !flat.is_empty() {
                let row = rng.usize(0..flat.len());
                assert_eq!(list.at(row as u32), flat[row], "row {row} of {plain:?}");
            }
            let slot = rng.usize(0..plain.len());
            assert_eq!(list.before(slot as u32), plain[..slot].iter().sum::<u32>());
        }
        let mut filled = list.clone();
        filled.fill(|node| plain[node as usize]);
        assert!((0..500).all(|slot| filled.before(slot) == list.before(slot)));
    }

    #[test]
    fn slots_that_were_left_do_not_count() {
        let mut list = List::default();
        for node in 0..10 {
            list.push(node, 1);
        }
        for slot in [2, 3, 7] {
            list.add(slot, -1);
        }
        list.leave(&[2, 3, 7]);
        list.push(10, 1);
        assert_eq!((list.count(), list.len(), list.total()), (8, 11, 8));
        assert_eq!([0, 2, 4, 8, 10].map(|slot| list.position(slot)), [0, 2, 2, 5, 7]);
        assert_eq!(list.nodes().collect::<Vec<_>>(), [0, 1, 4, 5, 6, 8, 9, 10]);
        assert_eq!(list.at(2), (4, 0));
    }
}
