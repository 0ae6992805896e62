//! Workers on a file: requests that they skip, and a disk that is full.

use std::process::Command;

use tests::bench::Place;
use tests::going::Going;

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

/// Steps that each keep a text that does not compress.
const FILL: &str = "
const noise = () => { let x = Math.floor(Math.random() * 2 ** 31);
  return Array.from({ length: 6000 }, () => (x = (x * 1103515245 + 12345) % 2 ** 31).toString(36)).join(\"\"); };
const fill = handler({ name: \"fill\", inputSchema: z.any(), execute: async (value: any, ctx) => {
  await ctx.session.patchState({ text: noise() });
  await new Promise((done) => setTimeout(done, 20));
  return { n: value.n + 1 };
} });
export default defineFlow({
  kind: \"main\",
  session: { stateSchema: z.object({ text: z.string().default(\"\") }) },
  actions: { fill: { block: sequencer({ name: \"all\", inputSchema: z.any() })
    .doUntil((value) => value.n >= 40, fill) } },
});";

/// Limits the size of the files that a process writes.
fn limit_files(process: &Going, bytes: &str) -> bool {
    let words = ["--pid", &process.id().to_string(), &format!("--fsize={bytes}")];
    Command::new("prlimit").args(words).status().is_ok_and(|status| status.success())
}

/// A worker on a full disk says so once, waits, and goes on when there is room.
#[test]
fn a_worker_waits_while_the_disk_is_full() {
    let place = Place::with_flow(FILL);
    let mut worker = place.start("worker");
    worker.until_it_says("working on");
    if !limit_files(&worker, "1200000:unlimited") {
        eprintln!("the size of files cannot be limited here");
        return;
    }
    let first = place.start("run main fill --user ada --request r1 --input {\"n\":0}");
    place.until("its first step", |place| place.ask("events r1 --kind block_finished").json().get(0).map(drop));
    first.kill();
    worker.until_it_says("waiting before the next try");
    assert!(limit_files(&worker, "unlimited:unlimited"));
    place.until_status("r1", "completed");
    worker.signal("TERM");
    let ended = worker.ended();
    assert_eq!(ended.code, Some(0), "{ended}");
    assert_eq!(ended.stderr.matches("waiting before the next try").count(), 1, "{ended}");
}
