//! Measures the real window and the command line with a request of a million events. The limits compare it with an
//! empty page and with a request of 10,000 events, measured in the same window.
//!
//! `FLOWGLASS_BENCH_EVENTS` shortens the long request, to try this section.

use std::time::{Duration, Instant};

use serde_json::Value;
use tests::bench::{Place, program};
use tests::processes::Processes;
use tests::webdriver::{Window, hook};

use super::figure::{Figure, Limit, Table};
use super::trial::median;
use super::{window_commands, window_live};

/// How many events the short request has.
const SHORT: u64 = 10_000;
/// How long frames are measured during an action.
const FRAMES_FOR: Duration = Duration::from_secs(4);
/// How often each request is opened.
const OPENINGS: usize = 5;
/// The longest wait for the window before it counts as broken.
const WAIT_TIMEOUT: Duration = Duration::from_secs(120);

const ACTS: [(&str, &str); 5] = [
    ("zoom", "zooming"),
    ("pan", "panning"),
    ("scroll", "scrolling by 100 pixels a frame"),
    ("leap", "scrolling by 2,000 pixels a frame"),
    ("fold", "folding and unfolding all twice a second"),
];

/// How many events the long request has.
fn long() -> u64 {
    let wanted = std::env::var("FLOWGLASS_BENCH_EVENTS").ok();
    wanted.map_or(1_000_000, |text| text.parse().expect("FLOWGLASS_BENCH_EVENTS is a number of events"))
}

/// A synthetic request.
pub(super) struct Made {
    pub(super) id: String,
    pub(super) events: u64,
}

pub(crate) fn measure(table: &mut Table) {
    let place = Place::new();
    let long = make(&place, long(), 1, "");
    let short = make(&place, SHORT.min(long.events), 2, "");
    window_commands::measure(table, &place, &long);
    {
        let window = open(&place);
        let empty = empty_frames(&window);
        let idle = processes(&window).megabytes();
        opening(table, &window, &long, &short);
        let opened = processes(&window).megabytes();
        frames(table, &window, &long, &short, &empty);
        last_rows(table, &window, &long);
        let used = processes(&window).megabytes();
        let what = |when: &str| format!("memory of a request of {} events above the idle window, {when}", long.events);
        table.push(Figure::below(&what("opened"), opened - idle, "MB", 150.0));
        table.push(Figure::below(&what("after its rows and events were read"), used - idle, "MB", 150.0));
    }
    window_live::measure(table, &place, long.events);
}

/// Writes a synthetic request, and waits for its end.
pub(super) fn make(place: &Place, events: u64, seed: u32, more: &str) -> Made {
    let made = place.get(&format!("demo --synthetic {events} --seed {seed} {more}"));
    Made {
        id: made["requests"][0].as_str().expect("an id").to_owned(),
        events: made["events"].as_u64().expect("a number"),
    }
}

/// Opens a window on the folder, prepared for measurements.
pub(super) fn open(place: &Place) -> Window {
    let window = Window::open(&program(), &["open", &place.dir().display().to_string()]);
    window.wait_for("[data-testid^=session-synthetic]");
    window.script(include_str!("window.js"), &[]);
    // The program keeps reading for a moment after its window has appeared.
    std::thread::sleep(Duration::from_secs(2));
    window
}

pub(super) fn processes(window: &Window) -> Processes {
    window.processes().expect("the window's program runs")
}

/// Frame times, in milliseconds.
pub(super) struct Frames {
    pub(super) p50: f64,
    pub(super) p95: f64,
    pub(super) worst: f64,
}

/// Measures frames during an action, or without one.
pub(super) fn frames_of(window: &Window, act: &str, time: Duration) -> Frames {
    window.script("bench.start(arguments[0])", &[act]);
    std::thread::sleep(time);
    let found = window.script("return bench.stop()", &[]);
    let number = |name: &str| found[name].as_f64().expect("a number");
    assert!(number("frames") > 1.0, "no frame was drawn in {time:?}");
    Frames { p50: number("p50"), p95: number("p95"), worst: number("worst") }
}

/// The same window with nothing to draw.
pub(super) fn empty_frames(window: &Window) -> Frames {
    window.script("document.body.style.display = 'none'", &[]);
    let empty = frames_of(window, "", FRAMES_FOR);
    window.script("document.body.style.display = ''", &[]);
    empty
}

/// Clicks a request's session, which opens the request. Returns the milliseconds until its rows were painted.
pub(super) fn click(window: &Window, request: &str) -> f64 {
    window.script("bench.watchOpen(arguments[0])", &[request]);
    window.click(&hook(&format!("session-{request}-session")));
    let took = until(window, "rows of the request", "return bench.opened && bench.opened - bench.clicked");
    took.as_f64().expect("a time")
}

/// Waits until a script returns a true value, longer than a test would.
pub(super) fn until(window: &Window, what: &str, script: &str) -> Value {
    let end = Instant::now() + WAIT_TIMEOUT;
    loop {
        let answer = window.script(script, &[]);
        if !matches!(answer, Value::Null | Value::Bool(false)) && answer != 0 {
            return answer;
        }
        if Instant::now() >= end {
            let shown = window.script("return location.hash + '\\n' + document.body.innerText.slice(0, 2000)", &[]);
            panic!("waited {} s for {what}; the window shows {shown:#}", WAIT_TIMEOUT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn opening(table: &mut Table, window: &Window, long: &Made, short: &Made) {
    let events = long.events;
    let first = |request: &Made| {
        window.script("bench.count(true)", &[]);
        let took = click(window, &request.id);
        // Data that is loaded after the first rows counts as part of opening.
        std::thread::sleep(Duration::from_secs(3));
        let bytes = window.script("return bench.bytes", &[]).as_f64().expect("a number");
        window.script("bench.count(false)", &[]);
        (took, bytes / 1e6)
    };
    let (first_of_short, bytes_of_short) = first(short);
    let (first_of_long, bytes_of_long) = first(long);
    let (mut of_short, mut of_long) = (Vec::new(), Vec::new());
    for _ in 0..OPENINGS {
        of_short.push(click(window, &short.id));
        of_long.push(click(window, &long.id));
    }
    let times = [("the first time", first_of_long, first_of_short), ("again", median(of_long), median(of_short))];
    for (when, of_long, of_short) in times {
        let what = format!("click to first rows of {events} events, {when}");
        table.push(Figure::below(&what, of_long, "ms", 300.0));
        table.push(Figure::line(&what, of_long, "ms", "of 10,000", of_short, Limit::Told));
    }
    let what = format!("sent to the page to open {events} events");
    table.push(Figure::below(&what, bytes_of_long, "MB", 2.0));
    table.push(Figure::line(&what, bytes_of_long, "MB", "for 10,000", bytes_of_short, Limit::Told));
}

fn frames(table: &mut Table, window: &Window, long: &Made, short: &Made, empty: &Frames) {
    let all = |request: &Made| {
        click(window, &request.id);
        ACTS.map(|(act, _)| {
            // Scrolling begins at the top of all rows.
            window.click("[aria-label=\"Unfold all\"]");
            window.script("document.querySelector('[data-testid=timeline]').scrollTop = 0", &[]);
            std::thread::sleep(Duration::from_secs(1));
            frames_of(window, act, FRAMES_FOR)
        })
    };
    let (of_short, of_long) = (all(short), all(long));
    for (n, (_, what)) in ACTS.iter().enumerate() {
        let (ours, short) = (&of_long[n], &of_short[n]);
        let what = format!("frames of {} events, {what}", long.events);
        push_frames(table, &what, ours, empty);
        table.push(Figure::line(&format!("{what}, 95 %"), ours.p95, "ms", "of 10,000", short.p95, Limit::Told));
    }
}

/// Adds the lines of one frame measurement, which is compared with an empty page.
fn push_frames(table: &mut Table, what: &str, ours: &Frames, empty: &Frames) {
    let name = "an empty page";
    let most = Limit::AtMost(1.15);
    table.push(Figure::line(&format!("{what}, half"), ours.p50, "ms", name, empty.p50, Limit::Told));
    table.push(Figure::line(&format!("{what}, 95 %"), ours.p95, "ms", name, empty.p95, most));
    table.push(Figure::below(&format!("{what}, 95 %"), ours.p95, "ms", 20.0));
    table.push(Figure::line(&format!("{what}, worst"), ours.worst, "ms", name, empty.worst, Limit::Told));
}

/// The number after a tab's name.
pub(super) fn tab_count(window: &Window, tab: &str) -> u64 {
    let text = window.wait_for(&hook(&format!("tab-{tab}")));
    text.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or_default()
}

/// Scrolls to the end, and returns the number of the last row with content.
fn last_row(window: &Window, list: &str, row: &str, number: &str) -> f64 {
    let to_end = "const list = document.querySelector(arguments[0]); list.scrollTop = list.scrollHeight;";
    let look = "const rows = [...document.querySelectorAll(arguments[0])].filter((row) => !row.ariaBusy && \
                !row.innerText.includes('…')); return Number(rows.at(-1)?.getAttribute(arguments[1]) ?? 0)";
    let (list, row) = (hook(list), hook(row));
    let mut seen = 0.0;
    // Rows are loaded when they are in view; the last check is long after that.
    for _ in 0..20 {
        window.script(to_end, &[&list]);
        std::thread::sleep(Duration::from_millis(100));
        seen = window.script(look, &[&row, number]).as_f64().unwrap_or_default();
    }
    seen
}

fn last_rows(table: &mut Table, window: &Window, long: &Made) {
    window.click("[aria-label=\"Unfold all\"]");
    std::thread::sleep(Duration::from_secs(1));
    // Both counts include the header row of the grid.
    let last = last_row(window, "timeline", "timeline-row", "aria-rowindex");
    let all = window.attributes(&hook("timeline"), "aria-rowcount");
    let all = all.first().and_then(|rows| rows.parse().ok()).unwrap_or(f64::INFINITY);
    table.push(Figure::line("last row in the timeline", last, "", "rows", all, Limit::AtLeast(1.0)));
    window.click(&hook("tab-events"));
    let last = last_row(window, "events", "event-row", "data-seq");
    let all = long.events as f64;
    table.push(Figure::line("last row in the events", last, "", "events of the log", all, Limit::AtLeast(1.0)));
    window.click(&hook("tab-timeline"));
}
