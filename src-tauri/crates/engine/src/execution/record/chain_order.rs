//! Which blocks come behind others in the chains of today, whatever the order was in which they ran. Must not run
//! anything.

use std::collections::HashMap;
use std::rc::Rc;

use super::gone::{after, without_passes};
use crate::model::flow::{Block, Body};
use crate::model::path::{ROOT, parent};

/// How far each chain came: the numbers of its operations.
#[derive(Clone, Copy, Default)]
struct Came {
    /// The first one that stopped.
    stopped: Option<usize>,
    /// The last one that was come to.
    last: usize,
}

/// How far the chains of an action came when something in them stopped.
pub(crate) struct ChainOrder<'a> {
    root: &'a Rc<Block>,
    came: HashMap<&'a str, Came>,
}

impl<'a> ChainOrder<'a> {
    /// Of the blocks that were come to: their paths, and whether they stopped.
    pub(crate) fn of(root: &'a Rc<Block>, reached: impl Iterator<Item = (&'a str, bool)>) -> ChainOrder<'a> {
        let mut came: HashMap<&str, Came> = HashMap::new();
        for (path, has_stopped) in reached {
            let Some(around) = parent(path) else { continue };
            let Some(at) = operation_of(root, around, path) else { continue };
            let chain = came.entry(around).or_default();
            chain.last = chain.last.max(at);
            if has_stopped {
                chain.stopped = Some(chain.stopped.map_or(at, |known| known.min(at)));
            }
        }
        ChainOrder { root, came }
    }

    /// Returns whether a block is part of an operation that comes behind the one at which the chain `around` stopped.
    pub(crate) fn is_behind_stop(&self, around: &str, path: &str) -> bool {
        let Some(Came { stopped: Some(stopped), last }) = self.came.get(around) else { return false };
        operation_of(self.root, around, path).is_some_and(|at| at > *stopped && at > *last)
    }
}

/// Returns the number of the operation of the chain `around` that a block is part of. Passes of loopBacks have none.
fn operation_of(root: &Rc<Block>, around: &str, path: &str) -> Option<usize> {
    let mut rest = path.strip_prefix(ROOT)?;
    let mut block = root.clone();
    while let Some(below) = rest.strip_prefix('/') {
        let Body::Sequencer { steps, .. } = &block.body else { return None };
        let place = without_passes(below);
        let found = steps.iter().enumerate().find_map(|(at, step)| {
            let mut blocks = step.operation.blocks_by_key().into_iter();
            blocks.find_map(|(key, next)| Some((at, after(place, &format!("{}{key}", step.segment))?, next.clone())))
        });
        let (at, inner, next) = found?;
        if path.len() - rest.len() == around.len() {
            return (place.len() == below.len()).then_some(at);
        }
        (rest, block) = (inner, next);
    }
    None
}
