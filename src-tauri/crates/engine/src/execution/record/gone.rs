//! Where today's code has recorded blocks, and which it has no more. Must not run anything.

use std::rc::Rc;

use crate::model::flow::{Block, Body, Step};
use crate::model::path::ROOT;

/// An operation that a path leads through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PassedOperation<'p> {
    /// The path of its chain.
    pub(crate) chain: &'p str,
    /// The passes of loopBacks before it.
    pub(crate) passes: &'p str,
    /// Its place in the chain.
    pub(crate) number: usize,
}

/// Returns the operations that a path leads through, the outermost first, as far as the description of an action's
/// block tells.
pub(crate) fn operations<'p>(root: &Rc<Block>, path: &'p str) -> Vec<PassedOperation<'p>> {
    follow(root, path).0
}

/// Returns whether no run of an action's block reaches a path, as far as its description tells. What functions, models
/// and factories run is not described.
pub(crate) fn is_gone(root: &Rc<Block>, path: &str) -> bool {
    follow(root, path).1
}

/// The operations on the way to a path, and whether the last chain has none that leads there.
fn follow<'p>(root: &Rc<Block>, path: &'p str) -> (Vec<PassedOperation<'p>>, bool) {
    let mut passed = Vec::new();
    let Some(mut rest) = path.strip_prefix(ROOT) else { return (passed, false) };
    let mut block = root.clone();
    while let Some(below) = rest.strip_prefix('/') {
        let Body::Sequencer { steps, .. } = &block.body else { return (passed, false) };
        let place = without_passes(below);
        if place.starts_with("rescue:") {
            return (passed, false);
        }
        let Some((number, after, next)) = next_in(steps, place) else { return (passed, true) };
        let (chain, passes) = (&path[..path.len() - rest.len()], &below[..below.len() - place.len()]);
        passed.push(PassedOperation { chain, passes, number });
        (rest, block) = (after, next);
    }
    (passed, false)
}

/// The operation of a chain that a place begins with: its number, what follows it there, and its block.
fn next_in<'p>(steps: &[Step], place: &'p str) -> Option<(usize, &'p str, Rc<Block>)> {
    let mut inner = steps.iter().enumerate().flat_map(|(number, step)| {
        let blocks = step.operation.blocks_by_key().into_iter();
        blocks.map(move |(key, block)| (number, format!("{}{key}", step.segment), block))
    });
    inner.find_map(|(number, segment, next)| Some((number, after(place, &segment)?, next.clone())))
}

/// What follows a segment and its index, if the place begins with it.
fn after<'p>(place: &'p str, segment: &str) -> Option<&'p str> {
    let rest = place.strip_prefix(segment).filter(|_| !segment.is_empty())?;
    match rest.strip_prefix('[') {
        Some(index) => index.split_once(']').map(|(_, rest)| rest),
        None if rest.is_empty() || rest.starts_with('/') => Some(rest),
        None => None,
    }
}

/// The place without the passes of loopBacks before it.
fn without_passes(mut place: &str) -> &str {
    while let Some((_, rest)) = place.strip_prefix("loop").and_then(|pass| pass.split_once("]/")) {
        place = rest;
    }
    place
}
