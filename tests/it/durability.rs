//! What was answered survives the process: a kill loses no step that another step could build on.
//!
//! A chain of handlers with a state of a kilobyte, durability as it is by default. Each step first tells a server
//! outside that it has begun, which it may only do once the one before it is committed: here every step waits for a
//! commit, while steps that nobody sees share them (`seen.rs`).

use serde_json::json;
use tests::bench::{Place, chain};
use tests::counting::Counter;

const STEPS: usize = 300;

fn place(host: &str) -> Place {
    let first = format!("await fetch(\"http://{host}\", {{ method: \"POST\", body: `r:${{n}}` }});");
    Place::with_flow(&chain(STEPS, &first)).file("flowglass.json", &json!({ "fetch": { "allow": [host] } }).to_string())
}

#[test]
fn a_step_that_another_built_on_survives_a_kill() {
    let counter = Counter::start();
    let place = place(&counter.host());
    place.get("flows");
    let going = place.start("run main go --user ada --session talk --request r --input 0");
    place.until("a good part of the steps has begun", |_| (counter.of("r").len() > STEPS / 3).then_some(()));
    going.kill();
    // The server may hear of one more step while the process dies, never of one whose predecessor is lost.
    let begun = counter.of("r").len();
    let finished = place.get("events r --kind block_finished --limit 100000");
    let ended = finished.as_array().map_or(0, Vec::len);
    assert!(ended + 1 >= begun, "{begun} steps had begun, and only {ended} are there");
    assert!(ended < STEPS, "it was killed on its way");
    let state = place.get("state --request r");
    let sequencer = &state["sequencers"]["r:root:0"];
    assert!(sequencer["done"].as_u64() >= Some(ended as u64), "{ended} steps ended, and the state is {state}");
    // The rest is done, and nothing of what had ended is done again.
    let resumed = place.get("resume r");
    assert_eq!(resumed["output"], json!(STEPS));
    let again: Vec<(String, usize)> = counter.of("r").into_iter().filter(|(_, times)| *times > 1).collect();
    assert!(again.len() <= 1, "{again:?}");
    assert_eq!(counter.of("r").len(), STEPS);
    place.get("check --data");
}
