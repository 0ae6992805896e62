//! Workers on a file: requests that they skip.

use tests::bench::Place;

const FLOW: &str = "
const slow = handler({ name: \"slow\", execute: async () => { await new Promise((done) => setTimeout(done, 60000)); } });
const steps = handler({ name: \"steps\", execute: async (_: any, ctx: any) => {
  for (let n = 0; n < 1000; n++) {
    await ctx.runOnce(`step ${n}`, async () => n);
    await new Promise((done) => setTimeout(done, 300));
  }
} });
export default defineFlow({ kind: \"slow\", actions: { go: { block: slow }, steps: { block: steps } } });";

/// A request that ends its process at every resume would end one worker after another.
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
    // A person may still resume it.
    let going = place.start("resume r1");
    place.until_status("r1", "in_progress");
    going.kill();
}

/// A long block that makes progress in each process is resumed, however often it is interrupted.
#[test]
fn a_block_that_makes_progress_is_resumed_however_often_its_process_ends() {
    let place = Place::with_flow(FLOW);
    let done = |place: &Place| {
        let ends = place.get("events r1 --kind effect_finished");
        ends.as_array().map_or(0, |ends| ends.iter().filter(|end| end["payload"]["effect"] == "once").count())
    };
    let first = place.start("run slow steps --user ada --request r1");
    place.until_status("r1", "in_progress");
    first.kill();
    for _ in 0..11 {
        let before = done(&place);
        let mut worker = place.start("worker");
        worker.until_it_says("resumed");
        place.until("it goes on", |place| (done(place) > before).then_some(()));
        worker.kill();
    }
    let mut last = place.start("worker");
    last.until_it_says("resumed");
    last.kill();
}
