//! Forks of the request `r` that are run to their end.

use crate::bench::Place;

/// Forks `r` as the words of a command line say, expects the fork to complete and its replay to be identical, and
/// returns its id.
#[track_caller]
pub fn forked(place: &Place, words: &str) -> String {
    let fork = place.get(&format!("fork r {words} --mock"));
    assert_eq!(fork["status"], "completed", "{words}: {fork}");
    let id = fork["requestId"].as_str().expect("an id").to_owned();
    let replay = place.ask(&format!("replay {id}"));
    assert_eq!(replay.json()["identical"], true, "{words}: {replay}");
    id
}
