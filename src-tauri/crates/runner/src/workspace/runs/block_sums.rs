//! Sums over several runs of an action, for each block: how often it ran and failed, and how long it took.
//!
//! A graph of a flow has each block once, however often it ran, so that a block is known by its path without passes,
//! items and calls. What a fork keeps from its origin ran in the origin, and counts there.

use std::collections::{BTreeMap, HashMap};

use engine::event::Seq;
use engine::views::spans::{PathNumber, Span, SpanEnd, SpanIndex, Spans};
use store::{RunCondition, RunTerm};

use super::super::Workspace;
use super::RunsQuery;
use crate::core::fault::Fault;
use crate::views::{BlockSum, BlockSums, span_ran_after, span_worked_after};

/// The most runs that are read, the newest ones.
const MAX_RUNS: u64 = 500;
/// The most executions of blocks that are read. The last run is read whole.
const MAX_BLOCKS: usize = 300_000;

/// Operations whose index is the number of an item or a call. That of `stepAll[1]` names a block.
const COUNTED: [&str; 8] = ["forEach", "forEachBackground", "doUntil", "doWhile", "tool", "handoff", "run", "react"];

#[derive(Default)]
struct Sum {
    name: String,
    failed: u64,
    durations: Vec<i64>,
    count: u64,
}

impl Workspace {
    /// How the blocks of an action did over the newest runs that fit a filter.
    pub fn block_sums(&self, flow: &str, action: &str, filter: &str) -> Result<BlockSums, Fault> {
        let terms = [RunCondition::Flow(flow.to_owned()), RunCondition::Action(action.to_owned())];
        let terms = terms.map(|condition| RunTerm { is_negated: false, condition }).to_vec();
        let limit = Some(MAX_RUNS);
        let query = RunsQuery { filter: filter.to_owned(), terms, is_descending: true, limit, ..RunsQuery::default() };
        let ids = self.run_ids(&query)?;
        let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
        let (mut read, mut blocks) = (0, 0);
        for id in &ids {
            if blocks >= MAX_BLOCKS {
                break;
            }
            let mut spans = Spans::default();
            self.store.extend_spans(id, &mut spans).map_err(Fault::internal)?;
            blocks += spans.len();
            read += 1;
            let row = self.store.request(id).map_err(Fault::internal)?;
            let kept = row.and_then(|row| row.forked_from).map_or(0, |from| from.seq);
            self.add_blocks(&spans, kept, &mut sums)?;
        }
        let blocks = sums.into_iter().map(|(place, sum)| sum.shown(place)).collect();
        Ok(BlockSums { runs: read, is_cut: read < ids.len() as u64 || ids.len() as u64 == MAX_RUNS, blocks })
    }

    /// Adds the blocks that ran in a request. A fork has its events up to `kept` from its origin, which counts them.
    fn add_blocks(&self, spans: &Spans, kept: Seq, sums: &mut BTreeMap<String, Sum>) -> Result<(), Fault> {
        let mut numbers: Vec<PathNumber> = spans.iter().map(|span| span.path).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let texts = self.store.path_texts(&numbers).map_err(Fault::internal)?;
        let places: HashMap<PathNumber, String> =
            numbers.into_iter().zip(&texts).map(|(number, path)| (number, place_of(path))).collect();
        // What was taken from the log did not run here.
        let ran = |(index, span): &(SpanIndex, &Span)| !span.is_memoized && span_ran_after(spans, *index, kept);
        for (index, one) in (0 as SpanIndex..).zip(spans.iter()).filter(ran) {
            let Some(place) = places.get(&one.path) else { continue };
            if !sums.contains_key(place) {
                sums.insert(place.clone(), Sum { name: spans.name(one).to_string(), ..Sum::default() });
            }
            let Some(sum) = sums.get_mut(place) else { continue };
            sum.count += 1;
            sum.failed += u64::from(matches!(one.end, Some(SpanEnd::Failed | SpanEnd::TimedOut)));
            sum.durations.extend(span_worked_after(spans, index, kept));
        }
        Ok(())
    }
}

impl Sum {
    fn shown(mut self, place: String) -> BlockSum {
        self.durations.sort_unstable();
        let at = |part: usize| self.durations.get((self.durations.len().saturating_sub(1) * part) / 100).copied();
        BlockSum {
            place,
            name: self.name,
            count: self.count,
            failed: self.failed,
            median_ms: at(50),
            p95_ms: at(95),
            total_ms: self.durations.iter().sum(),
        }
    }
}

/// A path as the shape of a flow has it: without passes, items and calls.
fn place_of(path: &str) -> String {
    let parts = path.split('/').filter_map(|part| {
        let (name, _) = part.split_once([':', '[']).unwrap_or((part, ""));
        // A second operation of the same name has a number.
        let name = name.split('~').next().unwrap_or(name);
        if name == "loop" && part.ends_with(']') && !part.contains(':') {
            return None;
        }
        let is_counted = COUNTED.contains(&name) || name.starts_with("onTool");
        let end = if is_counted && part.contains(':') && part.ends_with(']') { part.rfind('[') } else { None };
        Some(&part[..end.unwrap_or(part.len())])
    });
    parts.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::place_of;

    #[test]
    fn passes_items_and_calls_are_one_place() {
        for (path, place) in [
            ("root/step:plan", "root/step:plan"),
            ("root/loop[12]/step:plan", "root/step:plan"),
            ("root/loop~2[3]/forEach:each[7]/tool~1:search[0]", "root/forEach:each/tool~1:search"),
            ("root/stepAll[1]:b", "root/stepAll[1]:b"),
            ("root/step:loop[1]", "root/step:loop[1]"),
            ("root/turn[1]:a/handoff:other[0.2]", "root/turn[1]:a/handoff:other"),
            ("root/onToolCall:see[2]", "root/onToolCall:see"),
            ("", ""),
        ] {
            assert_eq!(place_of(path), place);
        }
    }
}
