//! The window on a request that another process writes, 5,000 events a second.

use std::time::{Duration, Instant};

use tests::bench::Place;
use tests::webdriver::{Window, hook};

use super::figure::{Figure, Limit, Table};
use super::trial::ms;
use super::window::{Frames, click, empty_frames, frames_of, open, processes, tab_count};

const RATE: u64 = 5_000;
/// How long frames are measured at each tab of the whole section.
const TABS: [(&str, u64); 3] = [("timeline", 60), ("items", 15), ("events", 15)];
/// How long updates are counted.
const UPDATES_FOR: Duration = Duration::from_secs(10);
/// How long a window takes to notice and to show a request that began.
const BEGIN: u64 = 8;

pub(super) fn measure(table: &mut Table, place: &Place, long: u64) {
    stream(table, place, long);
    let cost = |events: u64, seed: u32| updates(place, events, seed);
    let short = (long / 100).max(1_000);
    let (of_short, of_long) = (cost(short, 4), cost(long, 5));
    let most = Limit::AtMost(1.2);
    let what = |who: &str| format!("processor time of a live update at {long} events, {who}");
    let mut line = |who: &str, ours: f64, line: f64, limit: Limit| {
        table.push(Figure::line(&what(who), ours, "ms", "at a hundredth", line, limit));
    };
    line("in the program", of_long.program, of_short.program, most);
    line("in the page", of_long.page, of_short.page, most);
    line("both", of_long.program + of_long.page, of_short.program + of_short.page, most);
}

/// A request that begins with so many events at once and then grows; nobody waits for its end.
fn start(place: &Place, at_once: u64, seconds: u64, seed: u32) -> (tests::going::Going, String) {
    let events = at_once + seconds * RATE;
    let ahead = if at_once > 0 { format!(" --at-once {at_once}") } else { String::new() };
    let line = format!("demo --synthetic {events} --rate {RATE} --seed {seed}{ahead}");
    (place.start(&line), format!("synthetic-mixed-{seed}-0"))
}

/// Frames at each tab, and that nothing was left out when it is over.
fn stream(table: &mut Table, place: &Place, long: u64) {
    let window = open(place);
    let empty = empty_frames(&window);
    // A shorter trial is shorter here as well.
    let seconds = |whole: u64| (whole * long / 1_000_000).clamp(4, whole);
    let whole: u64 = TABS.iter().map(|(_, whole)| seconds(*whole)).sum();
    let began = Instant::now();
    let (going, id) = start(place, 0, whole + BEGIN, 3);
    click(&window, &id);
    for (tab, whole) in TABS {
        window.click(&hook(&format!("tab-{tab}")));
        // Opening a tab is no frame of its stream.
        std::thread::sleep(Duration::from_millis(500));
        let ours = frames_of(&window, "", Duration::from_secs(seconds(whole)));
        push_frames(table, tab, &ours, &empty);
    }
    let made = going.ended().json();
    let took = ms(began.elapsed());
    let made = made["events"].as_u64().expect("a number");
    table.push(Figure::line(
        "events a second that were written live",
        made as f64 * 1_000.0 / took,
        "/s",
        "wanted",
        RATE as f64,
        Limit::Told,
    ));
    sums(table, place, &window, &id, made);
}

fn push_frames(table: &mut Table, tab: &str, ours: &Frames, empty: &Frames) {
    let what = format!("frames live at {RATE} events /s, {tab}");
    let name = "an empty page";
    table.push(Figure::line(&format!("{what}, half"), ours.p50, "ms", name, empty.p50, Limit::Told));
    table.push(Figure::below(&format!("{what}, 95 %"), ours.p95, "ms", 20.0));
    table.push(Figure::line(&format!("{what}, 95 %"), ours.p95, "ms", name, empty.p95, Limit::Told));
    table.push(Figure::below(&format!("{what}, worst"), ours.worst, "ms", 100.0));
}

/// What the page counted is what the log has.
fn sums(table: &mut Table, place: &Place, window: &Window, id: &str, made: u64) {
    window.wait_for("[data-testid=request-header][data-status=completed]");
    // The last update comes with the status or right after it.
    std::thread::sleep(Duration::from_secs(2));
    let shown = place.get(&format!("show {id} --tree"));
    let blocks = shown["counts"]["blocks"].as_u64().expect("a number");
    for (what, tab, log) in [("events", "events", made), ("blocks", "timeline", blocks)] {
        let (page, log) = (tab_count(window, tab) as f64, log as f64);
        assert!(page <= log, "the page counts {page} {what} of {log}");
        table.push(Figure::line(
            &format!("{what} of the live request in the page"),
            page,
            "",
            "in the log",
            log,
            Limit::AtLeast(1.0),
        ));
    }
}

/// Processor time of one update, in milliseconds.
struct Cost {
    program: f64,
    page: f64,
}

/// What an update costs when the request has so many events already.
fn updates(place: &Place, events: u64, seed: u32) -> Cost {
    // Opened before, so that what it did at its start is over.
    let window = open(place);
    let (going, id) = start(place, events, UPDATES_FOR.as_secs() + 2 * BEGIN, seed);
    let known = |place: &Place| {
        let requests = place.get("requests");
        let found = requests.as_array().into_iter().flatten().find(|request| request["id"] == id.as_str());
        found.and_then(|request| request["lastSeq"].as_u64()).unwrap_or_default()
    };
    let end = Instant::now() + Duration::from_secs(300);
    while known(place) < events {
        assert!(Instant::now() < end, "{id} did not get {events} events");
        std::thread::sleep(Duration::from_millis(500));
    }
    click(&window, &id);
    std::thread::sleep(Duration::from_secs(2));
    window.script("bench.count(false)", &[]);
    let used = processes(&window);
    let before = (used.program_ms(), used.others_ms());
    std::thread::sleep(UPDATES_FOR);
    let after = (used.program_ms(), used.others_ms());
    let batches = window.script("return bench.batches", &[]).as_f64().expect("a number");
    assert!(batches >= 1.0, "no update came in {UPDATES_FOR:?}");
    let status = window.attributes(&hook("request-header"), "data-status");
    assert_eq!(status, ["in_progress"], "the request was to be live while it was measured");
    eprintln!("  {batches} updates at {events} events");
    going.kill();
    Cost { program: (after.0 - before.0) / batches, page: (after.1 - before.1) / batches }
}
