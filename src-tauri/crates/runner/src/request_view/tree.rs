//! The rows of a request: its spans, with groups between them, folded and filtered.
//!
//! A row is found by its number, and the number by its node, in steps that grow with the depth and the logarithm of
//! the siblings. A span that comes costs the same.

pub(super) mod grouping;

use engine::views::spans::{SpanIndex, Spans};

use super::bits::Bits;
use super::durations::Durations;
use super::histogram::Histogram;
use super::lists::{List, NOBODY};
use crate::views::GroupOf;
use grouping::Buckets;

/// A span by its index, or a group by its number with [`GROUP`].
pub(super) type Node = u32;

/// Set in the nodes of groups.
pub(super) const GROUP: Node = 1 << 31;
/// No list: the node has no children.
const NONE: u32 = u32::MAX;
/// The list of what stands at the top.
const TOP: usize = 0;

/// Where a node is.
#[derive(Clone, Copy)]
struct Place {
    /// The node around it.
    above: Node,
    /// Its place among the children there.
    slot: u32,
    /// Its own children.
    list: u32,
}

/// How a span stands, as groups count it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Failed,
    Suspended,
    Other,
}

/// Siblings that are shown as one row when they are many.
#[derive(Clone)]
pub(super) struct Group {
    pub(super) of: GroupOf,
    place: Place,
    /// How many members failed, have not ended, wait.
    pub(super) failed: u32,
    pub(super) open: u32,
    pub(super) suspended: u32,
    /// When its members began, once there are many.
    pub(super) began: Option<Box<Histogram>>,
    /// How long its turns took, once there are many.
    pub(super) took: Option<Box<Durations>>,
    /// The last instant at which a member began or ended.
    pub(super) ended_at: i64,
    is_folded: bool,
    /// Whether a person folded or unfolded it.
    is_decided: bool,
}

/// See the module.
#[derive(Clone)]
pub(super) struct Tree {
    places: Vec<Place>,
    states: Vec<State>,
    folded: Bits,
    groups: Vec<Group>,
    lists: Vec<(Node, List)>,
    buckets: Buckets,
    /// What a filter fits, while one is set.
    matches: Option<Bits>,
    /// Whether somebody folded or unfolded something.
    is_arranged: bool,
}

impl Default for Tree {
    fn default() -> Self {
        Tree {
            places: Vec::new(),
            states: Vec::new(),
            folded: Bits::default(),
            groups: Vec::new(),
            lists: vec![(NOBODY, List::default())],
            buckets: Buckets::default(),
            matches: None,
            is_arranged: false,
        }
    }
}

impl Tree {
    /// How many rows there are.
    pub(super) fn rows(&self) -> u32 {
        self.lists[TOP].1.total()
    }

    /// How many spans were taken in.
    pub(super) fn len(&self) -> u32 {
        self.places.len() as u32
    }

    pub(super) fn group(&self, node: Node) -> Option<&Group> {
        self.groups.get((node & !GROUP) as usize).filter(|_| node & GROUP != 0 && node != NOBODY)
    }

    fn group_mut(&mut self, node: Node) -> &mut Group {
        &mut self.groups[(node & !GROUP) as usize]
    }

    /// Whether there is such a node.
    pub(super) fn has(&self, node: Node) -> bool {
        self.group(node).is_some() || node < self.len()
    }

    fn place(&self, node: Node) -> Place {
        self.group(node).map_or_else(|| self.places[node as usize], |group| group.place)
    }

    fn place_mut(&mut self, node: Node) -> &mut Place {
        if node & GROUP != 0 { &mut self.group_mut(node).place } else { &mut self.places[node as usize] }
    }

    /// The node around another one.
    pub(super) fn above(&self, node: Node) -> Option<Node> {
        Some(self.place(node).above).filter(|above| *above != NOBODY)
    }

    /// The nodes around another one, from the inside out.
    pub(super) fn ancestors(&self, node: Node) -> impl Iterator<Item = Node> {
        std::iter::successors(self.above(node), |node| self.above(*node))
    }

    fn list_of(&self, node: Node) -> Option<&List> {
        let list = if node == NOBODY { TOP as u32 } else { self.place(node).list };
        self.lists.get(list as usize).map(|(_, list)| list)
    }

    /// The children of a node, or what stands at the top.
    pub(super) fn children(&self, node: Option<Node>) -> impl DoubleEndedIterator<Item = Node> {
        self.list_of(node.unwrap_or(NOBODY)).into_iter().flat_map(List::nodes)
    }

    /// The children of a node as they are shown: of turns, those that failed come first.
    pub(super) fn shown(&self, node: Option<Node>) -> impl Iterator<Item = Node> {
        self.list_of(node.unwrap_or(NOBODY)).into_iter().flat_map(List::shown)
    }

    pub(super) fn count(&self, node: Node) -> u32 {
        self.list_of(node).map_or(0, List::count)
    }

    /// Whether rows below a node are hidden. A filter shows what it fits wherever it is.
    pub(super) fn is_folded(&self, node: Node) -> bool {
        self.matches.is_none() && self.is_marked_folded(node) && self.list_of(node).is_some()
    }

    fn is_marked_folded(&self, node: Node) -> bool {
        self.group(node).map_or_else(|| self.folded.get(node), |group| group.is_folded)
    }

    /// How many rows there are, or would be, below a node.
    pub(super) fn inside(&self, node: Node) -> u32 {
        self.list_of(node).map_or(0, List::total)
    }

    /// Whether the filter fits a span; any where there is none.
    pub(super) fn matches(&self, node: Node) -> bool {
        self.matches.as_ref().is_none_or(|matches| node & GROUP == 0 && matches.get(node))
    }

    pub(super) fn is_filtered(&self) -> bool {
        self.matches.is_some()
    }

    /// How many rows a node takes: itself and what is shown below it.
    pub(super) fn weight(&self, node: Node) -> u32 {
        let inside = self.inside(node);
        match &self.matches {
            None if self.is_marked_folded(node) => 1,
            None => 1 + inside,
            Some(_) if inside > 0 || self.matches(node) => 1 + inside,
            Some(_) => 0,
        }
    }

    /// Its place among its siblings, from 1, and how many they are.
    pub(super) fn position(&self, node: Node) -> (u32, u32) {
        let place = self.place(node);
        self.list_of(place.above).map_or((1, 1), |list| (list.position(place.slot) + 1, list.count()))
    }

    /// The node of a row, and how many nodes are around it.
    pub(super) fn at(&self, row: u32) -> Option<(Node, u32)> {
        let (mut list, mut rest, mut depth) = (&self.lists[TOP].1, row, 0);
        if row >= list.total() {
            return None;
        }
        loop {
            let (node, before) = list.at(rest);
            if before == 0 {
                return Some((node, depth));
            }
            (rest, depth) = (before - 1, depth + 1);
            list = self.list_of(node)?;
        }
    }

    /// The row of a node, or of the outermost folded one around it. None where the filter leaves it out.
    pub(super) fn row_of(&self, node: Node) -> Option<u32> {
        if self.weight(node) == 0 {
            return None;
        }
        let (mut row, mut node) = (0, node);
        loop {
            let place = self.place(node);
            row += self.list_of(place.above)?.before(place.slot);
            if place.above == NOBODY {
                return Some(row);
            }
            node = place.above;
            row = if self.is_folded(node) { 0 } else { row + 1 };
        }
    }

    /// Changes how many rows a node takes, in all sums that count it.
    fn add(&mut self, node: Node, rows: i64) {
        let (mut node, mut rows) = (node, rows);
        while rows != 0 {
            let Place { above, slot, .. } = self.place(node);
            let list = if above == NOBODY { TOP } else { self.place(above).list as usize };
            let before = if above == NOBODY { 0 } else { i64::from(self.weight(above)) };
            self.lists[list].1.add(slot, rows);
            if above == NOBODY {
                return;
            }
            rows = i64::from(self.weight(above)) - before;
            node = above;
        }
    }

    /// Does what may change how many rows a node takes, and counts that.
    fn weighed(&mut self, node: Node, change: impl FnOnce(&mut Self)) {
        let before = i64::from(self.weight(node));
        change(self);
        let after = i64::from(self.weight(node));
        self.add(node, after - before);
    }

    /// Whether rows are folded as they are by themselves.
    pub(super) fn is_as_made(&self) -> bool {
        !self.is_arranged
    }

    /// Folds or unfolds a node.
    pub(super) fn fold(&mut self, node: Node, is_folded: bool) {
        self.is_arranged = true;
        self.weighed(node, |tree| match node & GROUP {
            0 => tree.folded.set(node, is_folded),
            _ => {
                let group = tree.group_mut(node);
                (group.is_folded, group.is_decided) = (is_folded, true);
            }
        });
    }

    /// Unfolds everything around a node.
    pub(super) fn reveal(&mut self, node: Node) {
        let around: Vec<Node> = self.ancestors(node).filter(|node| self.is_marked_folded(*node)).collect();
        around.into_iter().for_each(|node| self.fold(node, false));
    }

    /// Folds everything that has something below it but the roots, or unfolds everything.
    pub(super) fn fold_all(&mut self, spans: &Spans, is_folded: bool) {
        self.is_arranged = true;
        for index in 0..self.len() {
            let is_inner = spans.get(index).parent().is_some() && self.places[index as usize].list != NONE;
            self.folded.set(index, is_folded && is_inner);
        }
        for group in &mut self.groups {
            (group.is_folded, group.is_decided) = (is_folded && group.place.above != NOBODY, true);
        }
        self.weigh_all();
    }

    /// Shows what fits a filter and what is around it; everything again where there is none.
    pub(super) fn filter(&mut self, matches: Option<Bits>) {
        self.matches = matches;
        self.weigh_all();
    }

    /// How many spans the filter fits.
    pub(super) fn match_count(&self) -> u64 {
        self.matches.as_ref().map_or(u64::from(self.len()), Bits::count)
    }

    /// Says whether the filter fits a span. Answers whether that is new.
    pub(super) fn set_match(&mut self, span: SpanIndex, is: bool) -> bool {
        let is_new = self.is_filtered() && self.matches(span) != is;
        if is_new {
            self.weighed(span, |tree| {
                if let Some(matches) = &mut tree.matches {
                    matches.set(span, is);
                }
            });
        }
        is_new
    }

    /// Counts all rows anew, from the innermost lists out.
    fn weigh_all(&mut self) {
        let mut order: Vec<usize> = vec![TOP];
        let mut next = 0;
        while let Some(list) = order.get(next) {
            let inner = self.lists[*list].1.nodes().map(|node| self.place(node).list as usize);
            order.extend(inner.filter(|list| *list != NONE as usize).collect::<Vec<_>>());
            next += 1;
        }
        for at in order.into_iter().rev() {
            let mut list = std::mem::take(&mut self.lists[at].1);
            list.fill(|node| self.weight(node));
            self.lists[at].1 = list;
        }
    }

    /// The next node in the order of the rows, whatever is folded; the first one of all for none.
    pub(super) fn after(&self, node: Option<Node>) -> Option<Node> {
        let first = |node: Node| self.list_of(node).and_then(|list| list.next(None));
        let Some(node) = node else { return first(NOBODY) };
        first(node).or_else(|| {
            std::iter::once(node).chain(self.ancestors(node)).find_map(|node| {
                let place = self.place(node);
                self.list_of(place.above)?.next(Some(place.slot))
            })
        })
    }

    /// The node before another one in the order of the rows, whatever is folded; the last one of all for none.
    pub(super) fn before(&self, node: Option<Node>) -> Option<Node> {
        let last = |node: Node| self.list_of(node).and_then(|list| list.previous(None));
        let innermost = |node: Node| std::iter::successors(Some(node), |node| last(*node)).last();
        let Some(node) = node else { return last(NOBODY).and_then(innermost) };
        let place = self.place(node);
        let sibling = self.list_of(place.above)?.previous(Some(place.slot));
        sibling.and_then(innermost).or_else(|| self.above(node))
    }

    /// Takes back memory that growing left over.
    pub(super) fn shrink(&mut self) {
        self.places.shrink_to_fit();
        self.states.shrink_to_fit();
        self.lists.iter_mut().for_each(|(_, list)| list.shrink());
        self.lists.shrink_to_fit();
    }
}
