//! The children of a node with how many rows each one takes, so that a row is found without walking over all before.

use super::bits::Bits;
use super::partial_sums::PartialSums;
use super::tree::Node;

/// No node: what stands at the top is below it, and a place that was left holds it.
pub(super) const NOBODY: Node = Node::MAX;

/// The children of a node, in start order. A slot keeps its number; one that was left stays empty.
#[derive(Clone, Default)]
pub(super) struct List {
    nodes: Vec<Node>,
    /// How many rows each slot takes, without those that lead.
    rows: PartialSums,
    /// The slots that are shown before the others, once there was one.
    lead: Option<Box<Lead>>,
    /// How many slots are empty up to which; only where there are any.
    holes: Option<Box<[u32]>>,
    hole_count: u32,
}

/// See [`List::set_lead`]. Every slot has a number in both lists, so that those that lead keep their order.
#[derive(Clone)]
struct Lead {
    is: Bits,
    /// 1 for each slot that leads.
    are: PartialSums,
    rows: PartialSums,
}

impl List {
    pub(super) fn total(&self) -> u32 {
        self.rows.total() + self.lead.as_ref().map_or(0, |lead| lead.rows.total())
    }

    /// How many slots there are, with those that were left.
    pub(super) fn len(&self) -> u32 {
        self.nodes.len() as u32
    }

    /// How many children there are.
    pub(super) fn count(&self) -> u32 {
        self.len() - self.hole_count
    }

    pub(super) fn node(&self, slot: u32) -> Node {
        self.nodes[slot as usize]
    }

    /// All children, in start order.
    pub(super) fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> {
        self.nodes.iter().copied().filter(|node| *node != NOBODY)
    }

    /// All children, as they are shown.
    pub(super) fn shown(&self) -> impl Iterator<Item = Node> {
        let of = move |is_lead: bool| {
            let slots = (0..self.len()).filter(move |slot| self.leads(*slot) == is_lead);
            slots.map(|slot| self.node(slot)).filter(|node| *node != NOBODY)
        };
        self.lead.iter().flat_map(move |_| of(true)).chain(of(false))
    }

    fn leads(&self, slot: u32) -> bool {
        self.lead.as_ref().is_some_and(|lead| lead.is.get(slot))
    }

    /// Puts another node into a slot.
    pub(super) fn replace(&mut self, slot: u32, node: Node) {
        self.nodes[slot as usize] = node;
    }

    /// Empties slots, whose rows were taken off before.
    pub(super) fn leave(&mut self, left: &[u32]) {
        for slot in left {
            self.nodes[*slot as usize] = NOBODY;
        }
        self.hole_count += left.len() as u32;
        // Slots are left rarely: at most once each, and all members of a group but its first.
        let mut counts: Vec<u32> = vec![0; self.nodes.len() + 1];
        for (at, node) in (1..).zip(&self.nodes) {
            counts[at] = counts[at - 1] + u32::from(*node == NOBODY);
        }
        self.holes = Some(counts.into_boxed_slice());
    }

    /// How many children are shown before a slot.
    pub(super) fn position(&self, slot: u32) -> u32 {
        let holes = self.holes.as_ref().map_or(0, |holes| match holes.get(slot as usize) {
            Some(holes) => *holes,
            // None of the slots that came later is empty.
            None => self.hole_count,
        });
        match &self.lead {
            Some(lead) if lead.is.get(slot) => lead.are.before(slot),
            Some(lead) => lead.are.total() + slot - holes - lead.are.before(slot),
            None => slot - holes,
        }
    }

    /// Adds a child of so many rows.
    pub(super) fn push(&mut self, node: Node, rows: u32) -> u32 {
        self.nodes.push(node);
        self.rows.push(rows);
        if let Some(lead) = &mut self.lead {
            lead.are.push(0);
            lead.rows.push(0);
        }
        self.len() - 1
    }

    /// Shows a child before those that do not lead, or among them again. Those that lead stay in start order.
    pub(super) fn set_lead(&mut self, slot: u32, is: bool) {
        if self.leads(slot) == is {
            return;
        }
        let zeros = || PartialSums::of(self.nodes.iter().map(|_| 0));
        let new = || Box::new(Lead { is: Bits::default(), are: zeros(), rows: zeros() });
        let mut lead = self.lead.take().unwrap_or_else(new);
        let (from, to) = if is { (&mut self.rows, &mut lead.rows) } else { (&mut lead.rows, &mut self.rows) };
        let rows = i64::from(from.get(slot));
        from.add(slot, -rows);
        to.add(slot, rows);
        lead.is.set(slot, is);
        lead.are.add(slot, if is { 1 } else { -1 });
        self.lead = Some(lead);
    }

    /// Changes how many rows a slot takes.
    pub(super) fn add(&mut self, slot: u32, rows: i64) {
        match &mut self.lead {
            Some(lead) if lead.is.get(slot) => lead.rows.add(slot, rows),
            _ => self.rows.add(slot, rows),
        }
    }

    /// Says anew how many rows each slot takes.
    pub(super) fn fill(&mut self, rows: impl Fn(Node) -> u32) {
        let of = |list: &List, is_lead: bool| {
            let number = |slot: u32| match list.node(slot) {
                node if node == NOBODY || list.leads(slot) != is_lead => 0,
                node => rows(node),
            };
            PartialSums::of((0..list.len()).map(number))
        };
        let (plain, leading) = (of(self, false), of(self, true));
        self.rows = plain;
        if let Some(lead) = &mut self.lead {
            lead.rows = leading;
        }
    }

    /// How many rows are before a slot.
    pub(super) fn before(&self, slot: u32) -> u32 {
        match &self.lead {
            Some(lead) if lead.is.get(slot) => lead.rows.before(slot),
            Some(lead) => lead.rows.total() + self.rows.before(slot),
            None => self.rows.before(slot),
        }
    }

    /// The child that a row belongs to, and how many rows of that one are before it. There must be such a row.
    pub(super) fn at(&self, row: u32) -> (Node, u32) {
        let leading = self.lead.as_ref().map_or(0, |lead| lead.rows.total());
        let (slot, rest) = match &self.lead {
            Some(lead) if row < leading => lead.rows.find(row),
            _ => self.rows.find(row - leading),
        };
        (self.node(slot), rest)
    }

    /// The child that is shown after a slot; the first one for none.
    pub(super) fn next(&self, slot: Option<u32>) -> Option<Node> {
        let after = slot.map_or(0, |slot| slot + 1);
        let mut from = after;
        if let Some(lead) = self.lead.as_ref().filter(|lead| slot.is_none_or(|slot| lead.is.get(slot))) {
            let passed = lead.are.before(after);
            if passed < lead.are.total() {
                return Some(self.node(lead.are.find(passed).0));
            }
            from = 0;
        }
        let fits = |slot: &u32| !self.leads(*slot) && self.node(*slot) != NOBODY;
        (from..self.len()).find(fits).map(|slot| self.node(slot))
    }

    /// The child that is shown before a slot; the last one for none.
    pub(super) fn previous(&self, slot: Option<u32>) -> Option<Node> {
        let leading = self.lead.as_ref().filter(|_| slot.is_some_and(|slot| self.leads(slot)));
        if leading.is_none() {
            let fits = |slot: &u32| !self.leads(*slot) && self.node(*slot) != NOBODY;
            if let Some(slot) = (0..slot.unwrap_or(self.len())).rev().find(fits) {
                return Some(self.node(slot));
            }
        }
        let lead = self.lead.as_ref()?;
        let passed = leading.and(slot).map_or(lead.are.total(), |slot| lead.are.before(slot));
        passed.checked_sub(1).map(|last| self.node(lead.are.find(last).0))
    }

    /// Takes back memory that growing left over.
    pub(super) fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
        self.rows.shrink();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_that_lead_are_shown_first_in_their_order() {
        let mut rng = fastrand::Rng::with_seed(11);
        let mut list = List::default();
        let mut plain: Vec<(u32, bool)> = Vec::new();
        for node in 0..300_u32 {
            let rows = rng.u32(0..3);
            list.push(node, rows);
            plain.push((rows, false));
            let slot = rng.usize(0..plain.len());
            plain[slot].1 = rng.bool();
            list.set_lead(slot as u32, plain[slot].1);
            let (slot, rows) = (rng.usize(0..plain.len()), rng.u32(0..3));
            list.add(slot as u32, i64::from(rows) - i64::from(plain[slot].0));
            plain[slot].0 = rows;
            if node % 50 == 7 {
                list.fill(|node| plain[node as usize].0);
            }
            let of = |leads: bool| (0..).zip(&plain).filter(move |(_, one)| one.1 == leads).map(|(node, _)| node);
            let order: Vec<u32> = of(true).chain(of(false)).collect();
            assert_eq!(list.shown().collect::<Vec<_>>(), order);
            let rows_of = |node: &u32| (0..plain[*node as usize].0).map(|row| (*node, row)).collect::<Vec<_>>();
            let flat: Vec<(u32, u32)> = order.iter().flat_map(rows_of).collect();
            assert_eq!(list.total() as usize, flat.len());
            let place = rng.usize(0..order.len());
            let slot = order[place];
            assert_eq!(list.position(slot) as usize, place);
            assert_eq!(list.before(slot), order[..place].iter().map(|node| plain[*node as usize].0).sum::<u32>());
            assert_eq!(list.next(Some(slot)), order.get(place + 1).copied());
            assert_eq!(list.previous(Some(slot)), place.checked_sub(1).map(|before| order[before]));
            assert_eq!((list.next(None), list.previous(None)), (order.first().copied(), order.last().copied()));
            if !flat.is_empty() {
                let row = rng.usize(0..flat.len());
                assert_eq!(list.at(row as u32), flat[row]);
            }
        }
    }

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
