//! A simple model of a request's rows, computed from all of its events, to compare the view with.

use std::collections::{BTreeMap, HashMap};

use engine::event::{Event, EventKind, Seq};
use engine::views::Events;
use engine::views::blocks::{BlockStatus, BlockView, blocks};
use engine::views::spans::{Fact, fact};

use crate::views::GroupOf;

/// What a row shows: a block, the attempts that begin with a block, or the turns of a block in a container.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Block(usize),
    Attempts(usize),
    Turns(Option<usize>, String, &'static str),
}

/// A node of the tree.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) key: Key,
    pub(super) inside: Vec<Node>,
}

/// What a row must show.
#[derive(Debug, PartialEq)]
pub(super) struct PlainRow {
    pub(super) depth: u32,
    pub(super) is_folded: bool,
    pub(super) hidden: u64,
    pub(super) position: u64,
    pub(super) siblings: u64,
    pub(super) key: Key,
}

/// All blocks and events of a request.
pub(super) struct Plain<'a> {
    pub(super) blocks: Vec<BlockView<'a>>,
    pub(super) parents: Vec<Option<usize>>,
    pub(super) top: Vec<Node>,
    events: &'a [Event],
}

impl<'a> Plain<'a> {
    pub(super) fn new(events: &'a [Event], is_live: bool) -> Plain<'a> {
        let blocks = blocks(Events::new(events), is_live);
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut parents = Vec::new();
        for (at, block) in blocks.iter().enumerate() {
            parents.push(block.parent.as_ref().and_then(|parent| known.get(&**parent).copied()));
            known.insert(format!("{}:{}", block.path, block.attempt), at);
        }
        let mut plain = Plain { blocks, parents, top: Vec::new(), events };
        plain.top = plain.inside(None);
        plain
    }

    fn inside(&self, container: Option<usize>) -> Vec<Node> {
        // Consecutive attempts of a path are one unit.
        let mut units: Vec<Vec<usize>> = Vec::new();
        for at in (0..self.blocks.len()).filter(|at| self.parents[*at] == container) {
            let block = &self.blocks[at];
            let before = units.iter_mut().find(|unit| {
                let last = &self.blocks[unit[unit.len() - 1]];
                last.path == block.path && last.attempt + 1 == block.attempt
            });
            match before {
                Some(unit) => unit.push(at),
                None => units.push(vec![at]),
            }
        }
        let block = |at: usize| Node { key: Key::Block(at), inside: self.inside(Some(at)) };
        let unit = |unit: &Vec<usize>| match unit.as_slice() {
            [only] => block(*only),
            many => Node { key: Key::Attempts(many[0]), inside: many.iter().map(|at| block(*at)).collect() },
        };
        let key = |unit: &Vec<usize>| {
            let first = &self.blocks[unit[0]];
            (first.name.to_string(), first.kind.as_str())
        };
        let mut counts: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
        units.iter().for_each(|unit| *counts.entry(key(unit)).or_default() += 1);
        let mut nodes: Vec<Node> = Vec::new();
        for one in &units {
            let (name, kind) = key(one);
            if counts[&(name.clone(), kind)] < 3 {
                nodes.push(unit(one));
                continue;
            }
            let turns = Key::Turns(container, name, kind);
            match nodes.iter_mut().find(|node| node.key == turns) {
                Some(group) => group.inside.push(unit(one)),
                None => nodes.push(Node { key: turns, inside: vec![unit(one)] }),
            }
        }
        nodes
    }

    /// The first and the newest block that a node stands for.
    pub(super) fn ends(node: &Node) -> (usize, usize) {
        match (&node.key, node.inside.first(), node.inside.last()) {
            (Key::Block(at), ..) => (*at, *at),
            (_, Some(first), Some(last)) => (Plain::ends(first).0, Plain::ends(last).1),
            _ => unreachable!("a group has members"),
        }
    }

    /// The members of a group, each as its newest execution that had begun, as of an event.
    pub(super) fn members(&self, node: &Node, at: Seq) -> Vec<usize> {
        let newest = |member: &Node| match &member.key {
            Key::Block(block) => Some(*block).filter(|block| self.blocks[*block].seq_start <= at),
            _ => member.inside.iter().map(|one| Plain::ends(one).0).rfind(|block| self.blocks[*block].seq_start <= at),
        };
        node.inside.iter().filter_map(newest).collect()
    }

    /// The nodes inside a node in the order of display: failed turns come first.
    pub(super) fn shown<'n>(&self, node: &'n Node) -> Vec<&'n Node> {
        let mut shown: Vec<&Node> = node.inside.iter().collect();
        if matches!(node.key, Key::Turns(..)) {
            shown.sort_by_key(|member| !self.blocks[Plain::ends(member).1].status.is_failure());
        }
        shown
    }

    /// The rows that are visible with these folds and this filter.
    pub(super) fn rows(&self, folded: &HashMap<Key, bool>, fits: Option<&dyn Fn(usize) -> bool>) -> Vec<PlainRow> {
        let mut rows = Vec::new();
        self.write(&self.top.iter().collect::<Vec<_>>(), 0, folded, fits, &mut rows);
        rows
    }

    fn write(
        &self,
        nodes: &[&Node],
        depth: u32,
        folded: &HashMap<Key, bool>,
        fits: Option<&dyn Fn(usize) -> bool>,
        rows: &mut Vec<PlainRow>,
    ) {
        for (at, node) in nodes.iter().enumerate() {
            let mut inside = Vec::new();
            self.write(&self.shown(node), depth + 1, folded, fits, &mut inside);
            let is_match = matches!((&node.key, fits), (Key::Block(block), Some(fits)) if fits(*block));
            if fits.is_some() && inside.is_empty() && !is_match {
                continue;
            }
            let by_itself = !matches!(node.key, Key::Block(_)) && node.inside.len() > 8;
            let is_folded =
                fits.is_none() && folded.get(&node.key).copied().unwrap_or(by_itself) && !node.inside.is_empty();
            rows.push(PlainRow {
                depth,
                is_folded,
                hidden: if is_folded { inside.len() as u64 } else { 0 },
                position: at as u64 + 1,
                siblings: nodes.len() as u64,
                key: node.key.clone(),
            });
            if !is_folded {
                rows.append(&mut inside);
            }
        }
    }

    /// The newest event of some kind of a block, as of an event.
    fn newest(&self, block: usize, as_of: Option<Seq>, fits: impl Fn(&EventKind) -> bool) -> Option<&'a Event> {
        let BlockView { path, attempt, .. } = &self.blocks[block];
        let until = as_of.unwrap_or(Seq::MAX);
        self.events.iter().rfind(|event| {
            event.seq <= until && event.path.as_ref() == Some(path) && event.attempt == *attempt && fits(&event.kind)
        })
    }

    /// The end of a block as of an event, if it has not gone on since.
    pub(super) fn end_of(&self, block: usize, as_of: Option<Seq>) -> Option<&'a Event> {
        let is_edge =
            |kind: &EventKind| matches!(kind, EventKind::BlockFinished { .. } | EventKind::BlockResumed { .. });
        let newest = self.newest(block, as_of, is_edge)?;
        matches!(newest.kind, EventKind::BlockFinished { .. }).then_some(newest)
    }

    /// The time until which the newest run of a block ran, as of an event, as far as the log shows.
    pub(super) fn cut_at(&self, block: usize, as_of: Option<Seq>) -> i64 {
        let goes_on = self.newest(block, as_of, |kind| matches!(kind, EventKind::BlockResumed { .. }));
        let since = goes_on.map_or(self.blocks[block].seq_start, |event| event.seq);
        let is_told = |event: &&Event| match fact(&event.kind, |_| 0, |_| Some(0)) {
            Some(Fact::Lived) => event.path.is_some(),
            fact => fact.is_some(),
        };
        let mut newest = 0;
        for event in self.events.iter().filter(is_told) {
            match event.kind {
                EventKind::RequestResumed { .. } | EventKind::RequestFinished { .. } if event.seq > since => break,
                _ => newest = event.at,
            }
        }
        newest.max(self.blocks[block].started_at)
    }

    /// Every node, in the order of the rows.
    pub(super) fn nodes(&self) -> Vec<&Node> {
        let mut all = Vec::new();
        let mut rest: Vec<&Node> = self.top.iter().rev().collect();
        while let Some(node) = rest.pop() {
            all.push(node);
            rest.extend(self.shown(node).into_iter().rev());
        }
        all
    }
}

/// The status of every block as of an event. `is_live` is whether the request runs now.
pub(super) fn statuses(events: &[Event], at: Seq, is_live: bool) -> Vec<BlockStatus> {
    let until = events.partition_point(|event| event.seq <= at);
    // Blocks that began before their process ended run no longer, also as of an instant after its end.
    let ended = events[..until].iter().rev().find_map(|event| match event.kind {
        EventKind::RequestFinished { .. } => Some(true),
        EventKind::RequestResumed { .. } => Some(false),
        _ => None,
    });
    let is_live = is_live || (until < events.len() && ended != Some(true));
    blocks(Events::new(&events[..until]), is_live).iter().map(|block| block.status).collect()
}

/// The kind of a group.
pub(super) fn group_of(key: &Key) -> Option<GroupOf> {
    match key {
        Key::Block(_) => None,
        Key::Attempts(_) => Some(GroupOf::Attempts),
        Key::Turns(..) => Some(GroupOf::Turns),
    }
}
