//! Workers on a file: what they leave alone.

use tests::bench::Place;

const FLOW: &str = "
const slow = handler({ name: \"slow\", execute: async () => { await new Promise((done) => setTimeout(done, 60000)); } });
export default defineFlow({ kind: \"slow\", actions: { go: { block: slow } } });";

/// A request that ends its process whenever it goes on would end one worker after another.
#[test]
fn a_request_that_always_ends_its_process_is_left_to_a_person() {
    let place = Place::with_flow(FLOW);
    let first = place.start("run slow go --user ada --request r1");
    place.until_status("r1", "in_progress");
    first.kill();
    for _ in 0..10 {
        let mut worker = place.start("worker");
        worker.until_it_says("resumed");
        worker.kill();
    }
    let last = place.run(&["worker", "--until-idle"]);
    assert_eq!(last.code, Some(0), "{last}");
    assert!(
        last.stderr.contains("r1 skipped (it was resumed 10 times") && last.stdout.contains("0 requests"),
        "{last}"
    );
    // A person may.
    let going = place.start("resume r1");
    place.until_status("r1", "in_progress");
    going.kill();
}
