//! Open requests: what a window is told of them while they run, here or in another process.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use runner::{
    At, Audience, ComparedQuery, Edits, EventQuery, Fault, ItemRow, ItemsQuery, Mock, OpenOptions, RequestQuery,
    RowsQuery, RunOptions, Shape, Synthetic, ViewBatch, ViewUpdate, Workspace,
};
use serde_json::json;
use tests::bench::Place;

const FLOW: &str = r#"
const step = handler({ name: "step", execute: async (input, ctx) => { await ctx.request.incState({ n: 1 }); return input; } });
const slow = handler({ name: "slow", execute: async (input) => { await new Promise((done) => setTimeout(done, 3000)); return input; } });
let many = sequencer({ name: "many", inputSchema: z.any() });
for (let n = 0; n < 300; n++) many = many.step(step);
export default defineFlow({
  kind: "main",
  request: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: { many: { block: many }, slow: { block: sequencer({ name: "chain", inputSchema: z.any() }).step(step).step(slow) } },
});
"#;

/// The items of every request of a place, as an open view tells them, are those that the whole log tells.
pub(crate) fn items_are_those_of_the_log(place: &Place) {
    let options =
        OpenOptions { dir: place.dir().to_owned(), data: Some(place.database().into()), ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    for request in workspace.requests(RequestQuery::default()).expect("they are listed") {
        let view = workspace.open_view(&request.id).expect("it opens").view;
        for audience in [Audience::All, Audience::Client, Audience::History, Audience::Trace] {
            let known = workspace.items(None, Some(&request.id), audience, None).expect("they are read");
            let mut shown = Vec::new();
            loop {
                let query = ItemsQuery { audience, offset: shown.len() as u64, limit: 200, at: None };
                let window = workspace.view_items(view, query).expect("they are read");
                assert_eq!(window.total, known.len() as u64, "{audience:?} of {}", request.id);
                if window.page.is_empty() {
                    break;
                }
                shown.extend(window.page);
            }
            for (shown, known) in shown.iter().zip(&known) {
                assert_eq!(shown.item.id, known.id, "{audience:?} of {}", request.id);
                // A snapshot leaves out the step that wrote it last. An index is the place among all items as of now,
                // without those that a resume took back.
                let without_index = |item: &ItemRow| {
                    let mut item = json!(item);
                    item.as_object_mut().expect("an object").remove("itemIndex");
                    item
                };
                if !shown.is_cut && known.item_type != "state_snapshot" {
                    let mine = without_index(&shown.item);
                    assert_eq!(mine, without_index(known), "{audience:?} of {}", request.id);
                }
            }
        }
        workspace.close_view(view).expect("it is open");
    }
}

fn watched(place: &Place) -> (Arc<Workspace>, Receiver<ViewBatch>) {
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    workspace.watch_data().expect("it can be watched");
    let (sender, batches) = channel();
    workspace.watch_views(move |batch| sender.send(batch).is_ok()).expect("it can be watched");
    (workspace, batches)
}

fn run(workspace: &Workspace, action: &str, request: &str) -> runner::Running {
    let options = RunOptions {
        flow: "main".to_owned(),
        action: action.to_owned(),
        user: "ada".to_owned(),
        session: Some("s".to_owned()),
        request: Some(request.to_owned()),
        input: Some(json!(1)),
        mock: Mock::Off,
        ..RunOptions::default()
    };
    workspace.run(options).expect("it runs")
}

/// Answers every batch until an update is as wanted; answers that one and how many batches came.
#[track_caller]
fn until(
    workspace: &Workspace,
    batches: &Receiver<ViewBatch>,
    wanted: impl Fn(&ViewUpdate) -> bool,
) -> (ViewUpdate, usize) {
    let (mut count, mut seq) = (0, 0);
    loop {
        let batch = batches.recv_timeout(Duration::from_secs(20)).expect("somebody tells");
        count += 1;
        workspace.view_ack(batch.batch);
        for update in batch.updates {
            assert!(update.seq >= seq, "nothing goes back");
            seq = update.seq;
            if wanted(&update) {
                return (update, count);
            }
        }
    }
}

fn has_ended(update: &ViewUpdate) -> bool {
    update.request.status.as_str() == "completed"
}

const ALL: RowsQuery = RowsQuery { offset: 0, limit: 2_000, at: None };

#[test]
fn what_runs_here_is_told_until_its_end_and_nothing_is_left_out() {
    let place = Place::with_flow(FLOW);
    let (workspace, batches) = watched(&place);
    let running = run(&workspace, "many", "r");
    let head = until_open(&workspace, "r");
    let (last, _) = until(&workspace, &batches, has_ended);
    running.wait().expect("it ends");
    assert_eq!((last.view, last.seq), (head.view, workspace.request("r").expect("it is there").last_seq));
    assert_eq!((last.counts.blocks, last.counts.finished, last.counts.running), (301, 301, 0));
    workspace.view_fold(head.view, None, false).expect("all");
    let rows = workspace.view_rows(head.view, ALL).expect("rows");
    // The root, one group, and its turns.
    assert_eq!((rows.rows, rows.page.len()), (302, 302));
    assert!(rows.page.iter().all(|row| json!(row.status) == "completed"));
    // Another view that begins now knows the same.
    let again = workspace.open_view("r").expect("it opens");
    workspace.view_fold(again.view, None, false).expect("all");
    assert_eq!(workspace.view_rows(again.view, ALL).expect("rows"), rows);
}

/// A request has a row once its first event is there.
fn until_open(workspace: &Workspace, request: &str) -> runner::ViewHead {
    let began = Instant::now();
    loop {
        match workspace.open_view(request) {
            Ok(head) => return head,
            Err(Fault::NotFound { .. }) if began.elapsed() < Duration::from_secs(20) => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Err(fault) => panic!("{fault}"),
        }
    }
}

/// Says something every 20 ms, inside one block.
const TALK: &str = r#"
const listen = handler({ name: "listen", execute: async (input) => input });
const talk = handler({ name: "talk", execute: async (input, ctx) => {
  for (let n = 0; n < 20; n++) {
    await ctx.emitMessage(`word ${n}`);
    await new Promise((done) => setTimeout(done, 20));
  }
  return input;
} });
export default defineFlow({
  kind: "main",
  actions: { talk: { block: sequencer({ name: "chain", inputSchema: z.any() }).step(listen).step(talk) } },
});
"#;

#[test]
fn an_instant_inside_a_block_is_an_event_and_each_event_has_its_own_time() {
    let place = Place::with_flow(TALK);
    let (workspace, batches) = watched(&place);
    let running = run(&workspace, "talk", "r");
    until_open(&workspace, "r");
    // While it talks no block begins or ends, and yet the newest event is told with its time.
    let (update, _) = until(&workspace, &batches, |update| update.counts.items > 3 && update.counts.running > 0);
    let newest = |view, seq| workspace.view_time_of(view, seq).expect("the view is open");
    assert_eq!(newest(update.view, update.seq), Some(update.to));
    running.wait().expect("it ends");
    drop(batches);

    let head = workspace.open_view("r").expect("it opens");
    let events = workspace.events("r", EventQuery::default()).expect("they are read");
    let times: Vec<i64> = events.iter().map(|event| event.at).collect();
    assert_eq!((Some(&head.from), Some(&head.to)), (times.first(), times.last()));
    let root = head.page.first().expect("a root").started_at;
    let mut found = 0;
    for event in &events {
        assert_eq!(newest(head.view, event.seq), Some(event.at));
        if event.at < root {
            continue;
        }
        let last = times.iter().rposition(|at| *at <= event.at).map(|place| place as u64 + 1);
        assert_eq!(workspace.view_seq_at(head.view, event.at).ok(), last, "at {}", event.at);
        found += u64::from(event.kind == "item_added");
    }
    assert!(found >= 20, "{found} of them are inside of a block");
    assert_eq!(newest(head.view, head.seq + 1), None);

    // What a fork has in common with its request is at the same distance from the begin.
    let step = At::Path("root/step:listen".to_owned());
    let fork = workspace.fork("r", &step, Edits::default(), &Mock::Off).expect("it goes on");
    assert_eq!(until_open(&workspace, &fork.request_id).from, head.from);
    fork.wait().expect("it ends");
}

#[test]
fn a_page_that_does_not_answer_gets_one_larger_update_later() {
    let place = Place::with_flow(FLOW);
    let (workspace, batches) = watched(&place);
    // A request that ended before its first update leaves nothing for a second one.
    let (request, running, first) = (0..20)
        .map(|n| {
            let request = format!("r{n}");
            let running = run(&workspace, "many", &request);
            until_open(&workspace, &request);
            let first = batches.recv_timeout(Duration::from_secs(20)).expect("the first comes by itself");
            if first.updates.iter().any(has_ended) {
                workspace.view_ack(first.batch);
            }
            (request, running, first)
        })
        .find(|(.., first)| !first.updates.iter().any(has_ended))
        .expect("one of them is seen while it runs");
    running.wait().expect("it ends");
    let silence = batches.recv_timeout(Duration::from_millis(300));
    assert_eq!(silence.map(|batch| batch.batch), Err(RecvTimeoutError::Timeout));
    // An answer to another batch is none.
    workspace.view_ack(first.batch + 7);
    assert!(batches.recv_timeout(Duration::from_millis(100)).is_err());
    workspace.view_ack(first.batch);
    let second = batches.recv_timeout(Duration::from_secs(5)).expect("the rest comes at once");
    assert_eq!(second.batch, first.batch + 1);
    let [update] = second.updates.as_slice() else { panic!("one view, one update: {second:?}") };
    assert_eq!(update.seq, workspace.request(&request).expect("it is there").last_seq);
    assert!(has_ended(update));
}

#[test]
fn at_most_sixty_batches_a_second_are_told() {
    let place = Place::with_flow(FLOW);
    let (workspace, batches) = watched(&place);
    let live = Synthetic { events: 6_000, requests: 1, seed: 4, shape: Shape::Mixed, rate: Some(3_000), at_once: 0 };
    let writer = workspace.clone();
    let writing = std::thread::spawn(move || writer.synthesize(&live).expect("it is made up"));
    let began = Instant::now();
    until_open(&workspace, "synthetic-mixed-4-0");
    let (last, count) = until(&workspace, &batches, has_ended);
    let took = began.elapsed();
    let made = writing.join().expect("it ends");
    assert_eq!(last.seq, made.events);
    assert!(took > Duration::from_millis(1_200), "it is written live, not in {took:?}");
    let most = took.as_secs_f64() * 60.0 + 3.0;
    assert!((count as f64) < most, "{count} batches in {took:?}");
    assert!(count > 15, "{count} batches in {took:?}");
}

#[test]
fn another_process_is_heard_and_so_is_its_death() {
    let place = Place::with_flow(FLOW);
    let (workspace, batches) = watched(&place);
    let going = place.start("run main slow --user ada --session s --request r --input 1");
    let head = until_open(&workspace, "r");
    let (update, _) = until(&workspace, &batches, |update| update.counts.blocks == 3);
    assert_eq!(update.request.status.as_str(), "in_progress");
    let status = |view| {
        let page = workspace.view_rows(view, ALL).expect("rows").page;
        json!(page.iter().map(|row| row.status).collect::<Vec<_>>())
    };
    assert_eq!(status(head.view), json!(["running", "completed", "running"]));
    going.kill();
    let (update, _) = until(&workspace, &batches, |update| update.request.status.as_str() == "interrupted");
    assert_eq!((update.counts.running, update.changed_from), (0, 0));
    assert_eq!(status(head.view), json!(["abandoned", "completed", "abandoned"]));
}

#[test]
fn a_view_that_was_closed_is_told_no_more() {
    let place = Place::with_flow(FLOW);
    let (workspace, batches) = watched(&place);
    run(&workspace, "many", "r").wait().expect("it ends");
    let view = workspace.open_view("r").expect("it opens").view;
    workspace.close_view(view).expect("it is open");
    let told = workspace.view_rows(view, ALL).expect_err("it is closed").to_string();
    assert!(told.contains(&format!("view {view} is not open")), "{told}");
    assert!(workspace.close_view(view).is_err());
    // A page that begins anew has no views.
    let view = workspace.open_view("r").expect("it opens").view;
    workspace.watch_views(|_| true).expect("it can be watched");
    assert!(workspace.view_rows(view, ALL).is_err());
    assert!(workspace.open_view("nobody").is_err());
    drop(batches);
}

const ENTRIES: &str = r#"
const read = handler({ name: "read", execute: (item: any) => { if (item.id === "A-3") throw new Error("no such order"); return item.id; } });
const list = sequencer({ name: "list", inputSchema: z.any() })
  .forEach(() => [1, 2, 3, 4].map((n) => ({ text: "long ".repeat(2000), id: `A-${n}` })), read, { maxConcurrency: 1 });
export default defineFlow({ kind: "main", actions: { go: { block: list } } });
"#;

/// Turns were told apart by their index alone, and one that failed stood among all others.
#[test]
fn turns_are_called_after_their_inputs_and_those_that_failed_come_first() {
    let place = Place::with_flow(ENTRIES);
    let ran = place.run(&["run", "main", "go", "--user", "ada", "--session", "s", "--request", "r", "--input", "{}"]);
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    let head = workspace.open_view("r").expect("it opens");
    let told = |rows: &[runner::ViewRow]| -> Vec<(String, Option<String>)> {
        rows.iter().map(|row| (row.label.clone(), row.words.clone())).collect()
    };
    let turn = |n: u32| (format!("forEach:read[{n}]"), Some(format!("A-{}", n + 1)));
    assert_eq!(told(&head.page)[1..], [("forEach:read".to_owned(), None), turn(2), turn(0), turn(1)]);
    let group = head.page[1].group.as_ref().expect("it is a group");
    assert_eq!((group.count, group.failed), (3, 1));
    // The same where rows are asked for, also as of an instant before the failure.
    let query = RowsQuery { offset: 2, limit: 9, at: Some(head.page[3].seq_start) };
    assert_eq!(told(&workspace.view_rows(head.view, query).expect("they are read").page), [turn(2), turn(0), turn(1)]);
}

const PASSES: &str = r#"
const look = handler({ name: "look", inputSchema: z.any(), execute: async (input: any) => input });
const count = handler({ name: "count", inputSchema: z.any(), execute: async (n: any) => n + 1 });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  actions: {
    same: { inputSchema: z.any(), block: chain("same").step(look).loopBack("look", { maxIterations: 2 }) },
    once: { inputSchema: z.any(), block: chain("once").step(look).loopBack("look", { maxIterations: 1 }) },
    other: { inputSchema: z.any(), block: chain("other").step(count).loopBack("count", { maxIterations: 2 }) },
  },
});
"#;

/// The passes of a loop were all called after the one input that they had.
#[test]
fn passes_are_called_after_their_inputs_only_if_these_differ() {
    let place = Place::with_flow(PASSES);
    for (action, input) in [("same", "\"cool-streets\""), ("once", "\"cool-streets\""), ("other", "1")] {
        place.get(&format!("run main {action} --user ada --request {action} --input {input}"));
    }
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    let words_of = |request: &str| -> Vec<Option<String>> {
        let head = workspace.open_view(request).expect("it opens");
        head.page.iter().filter(|row| row.label.starts_with("loop[")).map(|row| row.words.clone()).collect()
    };
    assert_eq!(words_of("same"), [None, None]);
    assert_eq!(words_of("once"), [None], "the first pass has no index, and the same input");
    assert_eq!(words_of("other"), [Some("2".to_owned()), Some("3".to_owned())]);
    let head = workspace.open_replay("same").expect("it opens");
    let query = ComparedQuery { offset: 0, limit: 20, all: true };
    let rows = workspace.comparison_rows(head.comparison, query).expect("it is open");
    assert_eq!((rows.len(), rows.iter().filter(|row| row.words.is_some()).count()), (4, 0));
}

/// Rows of one name are told apart by what names the entry of the list, also where two requests are compared.
#[test]
fn compared_entries_of_a_list_have_their_words() {
    let place = Place::with_flow(
        r#"
const price = handler({ name: "price", inputSchema: z.any(), execute: async (line) => ({ sum: line.price }) });
export default defineFlow({
  kind: "cart",
  actions: { pay: { inputSchema: z.any(), block: sequencer({ name: "all", inputSchema: z.any() }).forEach(price) } },
});
"#,
    );
    for (request, cost) in [("cheap", 20), ("dear", 30)] {
        let lines = json!([{ "title": "Lamp", "price": 5 }, { "title": "Red chair", "price": cost }]).to_string();
        place.run(&["run", "cart", "pay", "--user", "ada", "--request", request, "--input", &lines]);
    }
    let options =
        OpenOptions { dir: place.dir().to_owned(), data: Some(place.database().into()), ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    for head in [workspace.open_comparison("cheap", "dear"), workspace.open_replay("cheap")] {
        let head = head.expect("it opens");
        let query = ComparedQuery { offset: 0, limit: 20, all: true };
        let rows = workspace.comparison_rows(head.comparison, query).expect("it is open");
        let words: Vec<_> = rows.iter().map(|row| (row.path.as_str(), row.words.as_deref())).collect();
        let told =
            [("root", None), ("root/forEach:price[0]", Some("Lamp")), ("root/forEach:price[1]", Some("Red chair"))];
        assert_eq!(words, told);
        workspace.close_comparison(head.comparison);
    }
}
