//! One reducer decides which attempts count (ARCHITECTURE §5.4): which other files still look at how attempts end, are
//! replaced or go on. The list may only shrink.

use std::collections::BTreeSet;
use std::path::Path;

use tests::bench::repository;

use crate::architecture::files;

/// What shows that a file decides for itself: the ends that roll back, and how attempts follow each other.
const WORDS: [&str; 4] = ["Outcome::Suspended", "Outcome::Abandoned", "replaces_failed", "BlockResumed"];

/// The definition of events, the reducer, the suite of the log, which writes them, and what holds the lines of a file
/// against each other, which is about whether they can be a log at all.
const MAY: [&str; 4] = [
    "src-tauri/crates/engine/src/model/",
    "src-tauri/crates/engine/src/views/attempts.rs",
    "src-tauri/crates/contract/",
    "src-tauri/crates/runner/src/workspace/verify/run_file/contradictions/",
];

/// The files that still do. Those of `engine/src/execution` are known by their names, in whichever folder of it.
const STILL: [&str; 40] = [
    "engine/execution/block.rs",
    "engine/execution/block_order.rs",
    "engine/execution/boundary.rs",
    "engine/execution/effect_log.rs",
    "engine/execution/evidence.rs",
    "engine/execution/item_change.rs",
    "engine/execution/pauses.rs",
    "engine/execution/plan.rs",
    "engine/execution/reader.rs",
    "engine/execution/recorded_ends.rs",
    "engine/execution/run.rs",
    "engine/execution/suspended.rs",
    "engine/execution/unfinished.rs",
    "engine/views/blocks.rs",
    "engine/views/detached.rs",
    "engine/views/items.rs",
    "engine/views/items/facts.rs",
    "engine/views/items/follow.rs",
    "engine/views/items/rules.rs",
    "engine/views/replay_order.rs",
    "engine/views/search.rs",
    "engine/views/snapshots.rs",
    "engine/views/spans.rs",
    "engine/views/spans/fact.rs",
    "engine/views/trace.rs",
    "engine/views/trace/described.rs",
    "engine/views/uncertain_effects.rs",
    "engine/views/under_way.rs",
    "runner/foreign/events.rs",
    "runner/request_view/item_list/take_in.rs",
    "runner/run/replay/comparison/outside_of_blocks.rs",
    "runner/run/replay/comparison/refused.rs",
    "runner/workspace/moving.rs",
    "runner/workspace/replay.rs",
    "runner/workspace/request_view/costs.rs",
    "runner/workspace/why/log.rs",
    "store/read/item_facts.rs",
    "store/read/journal.rs",
    "store/row/measure.rs",
    "store/row/span_page.rs",
];

/// Whether a file names one of the words in code that is no test.
fn decides(file: &Path) -> bool {
    let text = std::fs::read_to_string(repository().join(file)).unwrap_or_default();
    let code = text.lines().map(str::trim_start).take_while(|line| *line != "#[cfg(test)]");
    code.filter(|line| !line.starts_with("//")).any(|line| WORDS.iter().any(|word| line.contains(word)))
}

/// How the list names a file.
fn listed(file: &str) -> String {
    let short = file.trim_start_matches("src-tauri/crates/").replacen("/src/", "/", 1);
    match short.strip_prefix("engine/execution/") {
        Some(inside) => format!("engine/execution/{}", inside.rsplit('/').next().unwrap_or(inside)),
        None => short,
    }
}

#[test]
fn no_further_file_decides_which_attempts_count() {
    let mut found = BTreeSet::new();
    for file in files("src-tauri", &["rs"]) {
        let path = file.to_string_lossy().into_owned();
        let is_test = path.contains("/tests/") || path.ends_with("tests.rs");
        if !is_test && !MAY.iter().any(|may| path.starts_with(may)) && decides(&file) {
            found.insert(listed(&path));
        }
    }
    let known: BTreeSet<String> = STILL.iter().map(|file| (*file).to_owned()).collect();
    let new: Vec<&String> = found.difference(&known).collect();
    assert!(new.is_empty(), "ask engine::views::attempts instead: {new:?}");
    let done: Vec<&String> = known.difference(&found).collect();
    assert!(done.is_empty(), "take these from the list, they ask the reducer now: {done:?}");
}
