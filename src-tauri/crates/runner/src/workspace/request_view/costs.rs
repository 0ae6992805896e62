//! What a view of a million events costs beside one of ten thousand: `cargo test -- --ignored --nocapture
//! what_a_view_costs`, of a release build for figures. `VIEW_COST_EVENTS` asks for another number than a million.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::Instant;

use engine::event::{BlockKind, Event, EventKind, Outcome, Recorded};
use engine::log::{AppendMode, Lease, Log};

use crate::run::synthetic::{Shape, Synthetic};
use crate::views::*;
use crate::workspace::{OpenOptions, Workspace};

const GOES: usize = 41;
/// How many blocks begin and end between two updates.
const FRESH: usize = 40;

/// The median time of what is done again and again, in milliseconds.
fn median(goes: usize, mut act: impl FnMut(usize)) -> f64 {
    let mut times: Vec<f64> = (0..goes)
        .map(|go| {
            let began = Instant::now();
            act(go);
            began.elapsed().as_secs_f64() * 1_000.0
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[goes / 2]
}

/// Megabytes of this process that are in memory.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 = text.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or_default();
    pages * 4_096.0 / 1e6
}

struct Costs {
    live: f64,
    window: f64,
}

fn costs(events: u64) -> Costs {
    let dir = tempfile::tempdir().unwrap();
    let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
    let wanted = Synthetic { events, requests: 1, seed: 1, shape: Shape::Mixed, rate: None, at_once: 0 };
    let id = workspace.synthesize(&wanted).unwrap().requests.remove(0);
    drop(workspace);
    // Opened anew, so that nothing of the writing is in memory.
    let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
    let before = resident();
    let began = Instant::now();
    let head = workspace.open_view(&id).unwrap();
    let opening = began.elapsed().as_secs_f64() * 1_000.0;
    let memory = resident() - before;
    let view = head.view;
    let rows = |offset: u64, at| {
        workspace.view_rows(view, RowsQuery { offset, limit: 60, at }).unwrap();
    };
    let began = Instant::now();
    rows(0, None);
    let first = began.elapsed().as_secs_f64() * 1_000.0;
    workspace.view_fold(view, None, false).unwrap();
    let all = workspace.view_rows(view, RowsQuery { offset: 0, limit: 0, at: None }).unwrap().rows;
    let window = median(GOES, |go| rows(all * go as u64 / GOES as u64, None));
    let past = median(GOES, |go| rows(all * go as u64 / GOES as u64, Some(head.seq / 2)));
    let fold = median(7, |go| assert!(workspace.view_fold(view, None, go % 2 == 0).unwrap() > 0));
    let filter = |text: &str| median(3, |_| assert!(workspace.view_filter(view, text).unwrap().rows > 0));
    let by_status = filter("status:failed dur>1ms");
    let by_path = filter("\"step:read~7\"");
    workspace.view_filter(view, "").unwrap();
    let find = FindQuery { text: "name:nothing".to_owned(), from: None, backwards: false };
    let find = median(3, |_| assert!(workspace.view_find(view, &find).unwrap().is_none()));
    let overview = median(7, |_| drop(workspace.view_overview(view, 1_200, None, None).unwrap()));
    let live = live(&workspace, &id, view, head.seq);
    println!(
        "{events} events, {} blocks: open {opening:.1} ms, {memory:.0} MB, first rows {first:.2} ms, a window \
         {window:.3} ms, in the past {past:.3} ms, fold all {fold:.1} ms, filter by status {by_status:.1} ms, by path \
         {by_path:.1} ms, find nothing {find:.1} ms, overview {overview:.2} ms, live update {live:.3} ms",
        head.counts.blocks
    );
    Costs { live, window }
}

/// An update after some blocks began and ended.
fn live(workspace: &Workspace, id: &str, view: u64, last: u64) -> f64 {
    let opened = workspace.views.get(view).unwrap();
    let lease = Lease::first(workspace.store.request(id).unwrap().unwrap().owner);
    let mut seq = last;
    let mut times: Vec<f64> = Vec::new();
    for go in 0..GOES {
        let mut events = Vec::new();
        for block in 0..FRESH {
            let path: Arc<str> = format!("root/step:fresh~{go}-{block}").into();
            let parent = Some("root:0".into());
            let (input, versions) = (Recorded::Undefined, Vec::new());
            let begins = EventKind::BlockStarted {
                name: "fresh".into(),
                block: BlockKind::Handler,
                parent,
                input,
                versions,
                fingerprint: None,
                replaces_failed: false,
            };
            let ends = EventKind::BlockFinished {
                outcome: Outcome::Completed,
                output: None,
                error: None,
                caught: None,
                transient: false,
                memoized: false,
                returned_error: false,
                timed_out_ms: None,
                commits: Vec::new(),
            };
            for kind in [begins, ends] {
                seq += 1;
                events.push(Event { seq, at: seq as i64, path: Some(path.clone()), attempt: 0, kind });
            }
        }
        let appended = workspace.store.append(id, &lease, events, AppendMode::Committed);
        futures_executor::block_on(appended).unwrap().unwrap();
        let began = Instant::now();
        let update = workspace.update(view, &opened).unwrap();
        times.push(began.elapsed().as_secs_f64() * 1_000.0);
        assert_eq!(update.seq, seq);
    }
    times.sort_by(f64::total_cmp);
    times[GOES / 2]
}

#[test]
#[ignore = "it makes up a million events, and measures"]
fn what_a_view_costs() {
    let many = std::env::var("VIEW_COST_EVENTS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let (short, long) = (costs(10_000), costs(many));
    let (live, window) = (long.live / short.live, long.window / short.window);
    println!("live {live:.2}, window {window:.2}");
    assert!(live <= 1.2, "a live update costs {live:.2} times as much");
}
