//! Which recorded blocks the code of today has no more. Must not run anything.

use std::rc::Rc;

use crate::model::flow::{Block, Body};
use crate::model::path::ROOT;

/// Returns whether no run of an action's block reaches a path, as far as its description tells. What functions, models
/// and factories run is not described.
pub(crate) fn is_gone(root: &Rc<Block>, path: &str) -> bool {
    let Some(mut rest) = path.strip_prefix(ROOT) else { return false };
    let mut block = root.clone();
    while let Some(below) = rest.strip_prefix('/') {
        let Body::Sequencer { steps, .. } = &block.body else { return false };
        let place = without_passes(below);
        if place.starts_with("rescue:") {
            return false;
        }
        let inner = steps.iter().flat_map(|step| {
            let blocks = step.operation.blocks_by_key().into_iter();
            blocks.map(move |(key, block)| (format!("{}{key}", step.segment), block))
        });
        let Some((after, next)) = inner.filter_map(|(segment, next)| Some((after(place, &segment)?, next))).next()
        else {
            return true;
        };
        (rest, block) = (after, next.clone());
    }
    false
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
