//! The details of a block are the same from the events of its path as from the whole log.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use engine::views::Events;
use engine::views::blocks::blocks;

use super::block::BlockLog;
use super::{OpenOptions, Workspace};
use crate::run::synthetic::{Shape, Synthetic};

#[test]
fn block_details_from_a_part_of_the_log_equal_those_from_the_whole_log() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("flows")).unwrap();
    let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
    let (mut in_part, mut in_whole) = (0, 0);
    for shape in Shape::ALL {
        let made = workspace
            .synthesize(&Synthetic { events: 400, requests: 1, seed: 7, shape, rate: None, at_once: 0 })
            .unwrap();
        let request = made.requests.first().unwrap();
        let (row, events) = workspace.log_of(request).unwrap();
        let whole = BlockLog { row, events, is_part: false };
        for block in blocks(Events::new(&whole.events), false) {
            let expected = workspace.detail(&whole, &block).unwrap();
            let found = workspace.block_at(request, &block.path, Some(block.attempt)).unwrap();
            let json = |detail| serde_json::to_value(detail).unwrap();
            assert_eq!(json(&found), json(&expected), "{} of a {}", block.path, shape.as_str());
            let by_instance = format!("{request}:{}:{}", block.path, block.attempt);
            assert_eq!(json(&workspace.block(request, &by_instance).unwrap()), json(&expected), "{by_instance}");
            let is_part = workspace.log_of_block(request, &block.path).unwrap().is_part;
            *(if is_part { &mut in_part } else { &mut in_whole }) += 1;
        }
    }
    assert!(in_part > 300, "{in_part} blocks were read in part, {in_whole} whole");
}
