//! The newest span of every execution of a path.
//!
//! Most paths run once, and blocks that begin one after the other mostly have numbers of paths one after the other.
//! First executions are therefore kept in short runs of numbers, of which there are few enough for a processor's cache.

use rustc_hash::FxHashMap;

use super::{PathNumber, SpanIndex};

/// How many numbers of paths a run holds. A power of two.
const RUN: PathNumber = 32;
/// No span.
const NONE: SpanIndex = SpanIndex::MAX;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Newest {
    /// Where the run of each part of the numbers is.
    places: FxHashMap<PathNumber, u32>,
    runs: Vec<[SpanIndex; RUN as usize]>,
    /// Those of later executions.
    later: FxHashMap<(PathNumber, u32), SpanIndex>,
}

impl Newest {
    pub(super) fn get(&self, path: PathNumber, attempt: u32) -> Option<SpanIndex> {
        if attempt > 0 {
            return self.later.get(&(path, attempt)).copied();
        }
        let place = self.places.get(&(path / RUN))?;
        Some(self.runs[*place as usize][(path % RUN) as usize]).filter(|span| *span != NONE)
    }

    pub(super) fn insert(&mut self, path: PathNumber, attempt: u32, span: SpanIndex) {
        if attempt > 0 {
            self.later.insert((path, attempt), span);
            return;
        }
        let place = *self.places.entry(path / RUN).or_insert_with(|| {
            self.runs.push([NONE; RUN as usize]);
            self.runs.len() as u32 - 1
        });
        self.runs[place as usize][(path % RUN) as usize] = span;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn spans_are_found_as_in_a_table() {
        let (mut newest, mut plain) = (Newest::default(), HashMap::new());
        for span in 0..5_000 {
            // Numbers near to each other and far apart, first and later executions, some of them again.
            let (path, attempt) = (span * 37 % 1_000 * [1, 4_000_000][(span % 2) as usize], span % 7 / 5);
            newest.insert(path, attempt, span);
            plain.insert((path, attempt), span);
        }
        for path in (0..1_100).chain((0..1_000).map(|path| path * 4_000_000)) {
            for attempt in 0..3 {
                assert_eq!(newest.get(path, attempt), plain.get(&(path, attempt)).copied(), "{path} {attempt}");
            }
        }
    }
}
