//! Which spans stand in a group, and what a group knows of them.
//!
//! The executions of one path in one container are a group from the second on, the executions of one block in one
//! container from the third path on. Paths are compared by their numbers and blocks by name and kind: nothing here
//! needs a text.

use engine::event::BlockKind;
use engine::views::spans::{Span, SpanIndex, Spans};
use rustc_hash::FxHashMap;

use super::super::durations::Durations;
use super::super::histogram::Histogram;
use super::super::lists::{List, NOBODY};
use super::{GROUP, Group, NONE, Node, Place, State, TOP, Tree};
use crate::views::{GroupOf, span as length};

/// From how many turns on there is a group.
const TURNS: u32 = 3;
/// Larger groups begin folded.
const UNFOLDED: u32 = 8;
/// From how many members on a group keeps a histogram, in place of asking them all.
const MANY: u32 = 256;
/// How many cells a group's row shows.
pub(in super::super) const CELLS: usize = 48;

/// A block in a container: the span around it, its name and its kind.
type Key = (u32, u32, BlockKind);

/// The executions of one block in one container.
#[derive(Clone)]
enum Bucket {
    /// The slots of few.
    Few(Vec<u32>),
    Group(Node),
}

/// Kept for containers with enough children only.
#[derive(Clone, Default)]
pub(super) struct Buckets(FxHashMap<Key, Bucket>);

fn key(span: &Span) -> Key {
    (span.parent().unwrap_or(NOBODY), span.name, span.kind)
}

impl Tree {
    /// Takes in the next span, as one that runs. Answers the outermost node whose row may look otherwise.
    pub(in super::super) fn push(&mut self, spans: &Spans) -> Node {
        let index = self.places.len() as SpanIndex;
        self.places.push(Place { above: NOBODY, slot: 0, list: NONE });
        self.states.push(State::Open);
        let changed = self.put(spans, index);
        self.count_new(spans, index);
        // Groups around it count it.
        self.ancestors(changed).take_while(|node| self.group(*node).is_some()).last().unwrap_or(changed)
    }

    fn put(&mut self, spans: &Spans, index: SpanIndex) -> Node {
        let span = spans.get(index);
        if let Some(earlier) = self.earlier_attempt(spans, index) {
            return self.join_attempts(spans, earlier, index);
        }
        let container = span.parent().unwrap_or(NOBODY);
        let count = self.list_of(container).map_or(0, List::len);
        if count + 1 < TURNS {
            self.append(container, index);
            return self.first_of(container, index);
        }
        if count + 1 == TURNS {
            let units: Vec<(u32, Node)> = self
                .list_of(container)
                .map_or(Vec::new(), |list| (0..list.len()).map(|slot| (slot, list.node(slot))).collect());
            for (slot, node) in units {
                let bucket = self.buckets.0.entry(key(spans.get(self.oldest(node)))).or_insert(Bucket::Few(Vec::new()));
                if let Bucket::Few(slots) = bucket {
                    slots.push(slot);
                }
            }
        }
        match self.buckets.0.get(&key(span)) {
            Some(Bucket::Group(group)) => {
                let group = *group;
                self.append(group, index);
                self.fold_if_many(group);
                group
            }
            known => {
                let mut slots = match known {
                    Some(Bucket::Few(slots)) => slots.clone(),
                    _ => Vec::new(),
                };
                slots.push(self.append(container, index));
                if (slots.len() as u32) < TURNS {
                    self.buckets.0.insert(key(span), Bucket::Few(slots));
                    return self.first_of(container, index);
                }
                let group = self.form_turns(spans, container, &slots);
                self.buckets.0.insert(key(span), Bucket::Group(group));
                group
            }
        }
    }

    /// A row shows whether something is below it, so its first child changes it too.
    fn first_of(&self, container: Node, child: Node) -> Node {
        if container != NOBODY && self.count(container) == 1 { container } else { child }
    }

    fn append(&mut self, above: Node, node: Node) -> u32 {
        let list = match above {
            NOBODY => TOP,
            above if self.place(above).list == NONE => {
                self.lists.push((above, List::default()));
                let list = self.lists.len() - 1;
                self.place_mut(above).list = list as u32;
                list
            }
            above => self.place(above).list as usize,
        };
        let slot = self.lists[list].1.push(node, 0);
        let place = self.place_mut(node);
        (place.above, place.slot) = (above, slot);
        let rows = i64::from(self.weight(node));
        self.add(node, rows);
        slot
    }

    /// The execution before this one of the same path, in the same container.
    fn earlier_attempt(&self, spans: &Spans, index: SpanIndex) -> Option<SpanIndex> {
        let span = spans.get(index);
        let earlier = spans.find(span.path, span.attempt.checked_sub(1)?)?;
        (earlier < index && spans.get(earlier).parent() == span.parent()).then_some(earlier)
    }

    fn join_attempts(&mut self, spans: &Spans, earlier: SpanIndex, index: SpanIndex) -> Node {
        let above = self.place(earlier).above;
        if self.group(above).is_some_and(|group| group.of == GroupOf::Attempts) {
            self.forget_in_turns(spans, above);
            self.append(above, index);
            self.fold_if_many(above);
            return above;
        }
        self.forget_in_turns(spans, earlier);
        let group = self.new_group(GroupOf::Attempts, spans.get(earlier).started_at);
        let Place { slot, .. } = self.place(earlier);
        let rows = i64::from(self.weight(earlier));
        self.add(earlier, -rows);
        let list = if above == NOBODY { TOP } else { self.place(above).list as usize };
        self.lists[list].1.replace(slot, group);
        let place = self.place_mut(group);
        (place.above, place.slot) = (above, slot);
        let own = i64::from(self.weight(group));
        self.add(group, own);
        self.append(group, earlier);
        self.count_state(spans, group, earlier, 1);
        self.append(group, index);
        group
    }

    fn new_group(&mut self, of: GroupOf, ended_at: i64) -> Node {
        self.groups.push(Group {
            of,
            place: Place { above: NOBODY, slot: 0, list: NONE },
            failed: 0,
            open: 0,
            suspended: 0,
            began: None,
            took: None,
            ended_at,
            is_folded: false,
            is_decided: false,
        });
        GROUP | (self.groups.len() - 1) as Node
    }

    /// Moves children of one block below a group, which takes the place of the first.
    fn form_turns(&mut self, spans: &Spans, container: Node, slots: &[u32]) -> Node {
        let list = if container == NOBODY { TOP } else { self.place(container).list as usize };
        let members: Vec<Node> = slots.iter().map(|slot| self.lists[list].1.node(*slot)).collect();
        for member in &members {
            let rows = i64::from(self.weight(*member));
            self.add(*member, -rows);
        }
        let group = self.new_group(GroupOf::Turns, i64::MIN);
        self.lists[list].1.leave(&slots[1..]);
        self.lists[list].1.replace(slots[0], group);
        let place = self.place_mut(group);
        (place.above, place.slot) = (container, slots[0]);
        let own = i64::from(self.weight(group));
        self.add(group, own);
        for member in members {
            self.append(group, member);
            let until = match self.group(member) {
                Some(group) => group.ended_at,
                None => spans.get(member).finished_at().unwrap_or(spans.get(member).started_at),
            };
            let of_group = self.group_mut(group);
            of_group.ended_at = of_group.ended_at.max(until);
            let newest = self.newest(member);
            // The span that is being taken in is counted by who takes it in.
            if newest + 1 < self.len() {
                self.count_state(spans, group, newest, 1);
            }
        }
        group
    }

    fn fold_if_many(&mut self, node: Node) {
        if self.count(node) > UNFOLDED && self.group(node).is_some_and(|group| !group.is_decided && !group.is_folded) {
            self.weighed(node, |tree| tree.group_mut(node).is_folded = true);
        }
    }

    /// The newest execution that a node stands for; of several attempts the last.
    pub(in super::super) fn newest(&self, node: Node) -> SpanIndex {
        let mut node = node;
        while self.group(node).is_some() {
            node = self.children(Some(node)).next_back().unwrap_or(0);
        }
        node
    }

    /// The first execution that a node stands for.
    pub(in super::super) fn oldest(&self, node: Node) -> SpanIndex {
        let mut node = node;
        while self.group(node).is_some() {
            node = self.children(Some(node)).next().unwrap_or(0);
        }
        node
    }

    /// The first turns of the loop that a node is a turn of, or entries of its list: the executions of its block in its
    /// container.
    pub(in super::super) fn turns_of(&self, spans: &Spans, node: Node, most: usize) -> Vec<Node> {
        let is_of = |node: Node, of: GroupOf| self.group(node).is_some_and(|group| group.of == of);
        let mut turn = node;
        while let Some(attempts) = self.above(turn).filter(|above| is_of(*above, GroupOf::Attempts)) {
            turn = attempts;
        }
        let container = self.above(turn);
        if container.is_some_and(|container| is_of(container, GroupOf::Turns)) {
            return self.children(container).take(most).collect();
        }
        let key_of = |node: Node| key(spans.get(self.oldest(node)));
        let list = self.list_of(container.unwrap_or(NOBODY));
        match (self.buckets.0.get(&key_of(turn)), list) {
            (Some(Bucket::Few(slots)), Some(list)) => slots.iter().map(|slot| list.node(*slot)).collect(),
            // A container of few children.
            _ => self.children(container).filter(|child| key_of(*child) == key_of(turn)).take(most).collect(),
        }
    }

    /// The groups that count a span: that of its attempts, and that of its turns where it is the newest of its path.
    pub(in super::super) fn groups_of(&self, span: SpanIndex) -> impl Iterator<Item = Node> {
        let inner = self.above(span).filter(|above| self.group(*above).is_some());
        let is_newest = inner.is_some_and(|inner| self.newest(inner) == span);
        let outer = inner.filter(|inner| self.group(*inner).is_some_and(|group| group.of == GroupOf::Attempts));
        let outer = outer.filter(|_| is_newest).and_then(|inner| self.above(inner));
        inner.into_iter().chain(outer.filter(|outer| self.group(*outer).is_some()))
    }

    /// A later execution begins: the turn stands as that one.
    fn forget_in_turns(&mut self, spans: &Spans, unit: Node) {
        let newest = self.newest(unit);
        if let Some(above) = self.above(unit).filter(|above| self.group(*above).is_some()) {
            self.count_state(spans, above, newest, -1);
        }
    }

    fn count_state(&mut self, spans: &Spans, group: Node, span: SpanIndex, by: i32) {
        let state = self.states[span as usize];
        // It is one with its member, in whose place later attempts stand.
        let member = self.above(span).filter(|above| *above != group).unwrap_or(span);
        if self.group(group).is_some_and(|group| group.of == GroupOf::Turns) {
            let Place { slot, .. } = self.place(member);
            let list = self.place(group).list as usize;
            self.lists[list].1.set_lead(slot, by > 0 && state == State::Failed);
            let took = self.took(spans, span).filter(|_| by > 0);
            if let Some(durations) = &mut self.group_mut(group).took {
                durations.set(slot, took);
            }
        }
        if state == State::Failed && self.group(group).is_some_and(|group| group.began.is_some()) {
            let at = spans.get(self.oldest(member)).started_at;
            if let Some(began) = &mut self.group_mut(group).began {
                if by > 0 { began.add(at, true) } else { began.take_failure(at) }
            }
        }
        let group = self.group_mut(group);
        let count = match state {
            State::Open => &mut group.open,
            State::Failed => &mut group.failed,
            State::Suspended => &mut group.suspended,
            State::Other => return,
        };
        *count = count.saturating_add_signed(by);
    }

    /// How long a span took that ended, in milliseconds, and whether it failed.
    fn took(&self, spans: &Spans, span: SpanIndex) -> Option<(i64, bool)> {
        let state = self.states[span as usize];
        let is_over = matches!(state, State::Failed | State::Other);
        let span = spans.get(span);
        let end = span.finished_at().filter(|_| is_over)?;
        Some((length(span.started_at, end), state == State::Failed))
    }

    /// Says how a span stands now, and until when it ran.
    pub(in super::super) fn set_state(&mut self, spans: &Spans, span: SpanIndex, state: State, at: i64) {
        let groups: Vec<Node> = self.groups_of(span).collect();
        for group in &groups {
            self.count_state(spans, *group, span, -1);
            let group = self.group_mut(*group);
            group.ended_at = group.ended_at.max(at);
        }
        self.states[span as usize] = state;
        groups.into_iter().for_each(|group| self.count_state(spans, group, span, 1));
    }

    /// Counts a span that was just placed.
    fn count_new(&mut self, spans: &Spans, index: SpanIndex) {
        let groups: Vec<Node> = self.groups_of(index).collect();
        groups.iter().for_each(|group| self.count_state(spans, *group, index, 1));
        let Some(group) = groups.first().copied() else { return };
        let at = spans.get(index).started_at;
        let of_group = self.group_mut(group);
        of_group.ended_at = of_group.ended_at.max(at);
        if let Some(began) = &mut self.group_mut(group).began {
            began.add(at, false);
        } else if self.count(group) >= MANY {
            let mut began = Histogram::new(CELLS * 4);
            for member in self.children(Some(group)) {
                let at = spans.get(self.oldest(member)).started_at;
                began.add(at, false);
                if self.states[self.newest(member) as usize] == State::Failed {
                    began.add(at, true);
                }
            }
            self.group_mut(group).began = Some(Box::new(began));
            if self.group(group).is_some_and(|group| group.of == GroupOf::Turns) {
                let mut took = Durations::default();
                for (slot, member) in (0..).zip(self.children(Some(group))) {
                    took.set(slot, self.took(spans, self.newest(member)));
                }
                self.group_mut(group).took = Some(Box::new(took));
            }
        }
    }
}
