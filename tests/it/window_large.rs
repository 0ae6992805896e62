//! Requests of a size that nobody reads row by row, in the real window: every row can be reached, and nothing is left out.
//!
//! `FLOWGLASS_SOAK` takes them whole: a million events, 200,000 blocks under one parent.

use std::collections::HashMap;
use std::time::Duration;

use serde_json::Value;
use tests::bench::{Place, program};
use tests::webdriver::{Window, hook};

/// As large as asked in a soak, else so large that a debug build makes and shows it in seconds.
fn events(usual: u64, whole: u64) -> u64 {
    if std::env::var_os("FLOWGLASS_SOAK").is_some() { whole } else { usual }
}

fn open(place: &Place, more: &[&str]) -> Window {
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    Window::open(&program(), &[&["open", &dir, "--data", &data], more].concat())
}

/// Makes up a request; answers its id and how many events it has.
fn make(place: &Place, line: &str) -> (String, u64) {
    let made = place.get(&format!("demo --synthetic {line}"));
    (made["requests"][0].as_str().expect("an id").to_owned(), made["events"].as_u64().expect("a number"))
}

/// Opens the request as a person does, by its session, and waits for its rows.
#[track_caller]
fn click(window: &Window, request: &str) {
    window.click(&hook(&format!("session-{request}-session")));
    window.wait_for(&format!("[data-testid=timeline-row][data-instance^=\"{request}:\"]"));
}

/// Unfolds all, and scrolls until the last of the rows is there with its content.
#[track_caller]
fn last_of_the_timeline(window: &Window, request: &str) -> u64 {
    window.click("[aria-label=\"Unfold all\"]");
    let found = window.until_script(&format!(
        "const list = document.querySelector('[data-testid=timeline]');
        if (list.querySelector('[data-testid=hidden-rows]')) return false;
        list.scrollTop = list.scrollHeight;
        const last = [...list.querySelectorAll('[data-testid=timeline-row]')].at(-1);
        const isLast = last?.ariaRowIndex === list.ariaRowCount && last.dataset.instance?.startsWith('{request}:');
        return isLast && Number(last.ariaRowIndex) - 1"
    ));
    found.as_f64().expect("a number") as u64
}

#[track_caller]
fn last_of_the_events(window: &Window) -> u64 {
    window.click(&hook("tab-events"));
    let found = window.until_script(
        "const list = document.querySelector('[data-testid=events]');
        if (!list) return false;
        list.scrollTop = list.scrollHeight;
        const last = [...list.querySelectorAll('[data-testid=event-row]')].at(-1);
        const isLast = last?.ariaRowIndex === list.ariaRowCount && !last.innerText.includes('…');
        return isLast && Number(last.dataset.seq)",
    );
    window.click(&hook("tab-timeline"));
    found.as_f64().expect("a number") as u64
}

/// The number behind a tab's name.
fn tab_count(window: &Window, tab: &str) -> u64 {
    let text = window.wait_for(&hook(&format!("tab-{tab}")));
    text.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or_default()
}

fn tree(place: &Place, request: &str, more: &str) -> Value {
    place.get(&format!("show {request} --tree {more}"))
}

#[test]
fn the_last_row_is_reached_and_the_past_shows_no_future() {
    let place = Place::new();
    let (id, all) = make(&place, &events(30_000, 1_000_000).to_string());
    let window = open(&place, &[]);
    click(&window, &id);
    assert_eq!(tab_count(&window, "events"), all);
    assert_eq!(last_of_the_events(&window), all);
    let rows = last_of_the_timeline(&window, &id);
    drop(window);
    // As many rows as the command line prints, where nothing is folded.
    let lines = tree(&place, &id, "--unfolded");
    assert_eq!(lines["rows"].as_array().map(Vec::len), Some(rows as usize));

    // In the middle of the request some rows have ended, one at least runs, and others have not begun.
    let at = all / 2;
    let window = open(&place, &["--request", &id, "--at", &at.to_string()]);
    window.wait(&hook("state-seq"), |texts| {
        let digits: String = texts.first()?.split(", ").next()?.chars().filter(char::is_ascii_digit).collect();
        (digits == at.to_string()).then_some(())
    });
    last_of_the_timeline(&window, &id);
    let blocks = lines["rows"].as_array().expect("rows");
    let known: HashMap<&str, &Value> =
        blocks.iter().filter_map(|block| Some((block["instanceId"].as_str()?, block))).collect();
    let next = blocks.iter().position(|block| block["seqStart"].as_u64() > Some(at)).expect("not all have begun");
    let mut seen = [0; 3];
    for row in [0, next] {
        // The head, and a few rows before the one that is next.
        let script = "const list = document.querySelector('[data-testid=timeline]');
            const share = Math.max(0, Number(arguments[0]) - 8) / (list.ariaRowCount - 1);
            list.scrollTop = share * (list.scrollHeight - 28);";
        window.script(script, &[&row.to_string()]);
        let shown = window.until_script(&format!(
            "const rows = [...document.querySelectorAll('[data-testid=timeline-row]')];
            const at = rows.map((row) => Number(row.ariaRowIndex) - 2);
            const isThere = at[0] <= {row} && at.at(-1) >= {row} && rows.every((row) => !row.ariaBusy);
            return isThere && rows.map((row) => [row.dataset.instance, row.dataset.status])"
        ));
        for row in shown.as_array().expect("rows") {
            // A group is no block.
            let Some(block) = row[0].as_str().and_then(|id| known.get(id)) else { continue };
            let ended = block["seqEnd"].as_u64().filter(|end| *end <= at);
            let (expected, kind) = match (block["seqStart"].as_u64() > Some(at), ended) {
                (true, _) => ("ahead", 0),
                (false, None) => ("running", 1),
                (false, Some(_)) => (block["status"].as_str().unwrap_or_default(), 2),
            };
            assert_eq!(row[1], expected, "{} at {at}: {block}", row[0]);
            seen[kind] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 0), "ahead, running, ended: {seen:?}");
}

#[test]
fn what_another_process_writes_is_counted_to_the_last_event() {
    let place = Place::new();
    make(&place, "100 --seed 9");
    let window = open(&place, &[]);
    window.wait_for(&hook("session-synthetic-mixed-9-0-session"));
    // Long enough to be looked at while other windows are busy, too.
    let line = format!("demo --synthetic {} --rate 2000", events(60_000, 120_000));
    let going = place.start(&line);
    let id = "synthetic-mixed-1-0";
    click(&window, id);
    // Each tab is open for a while.
    for tab in ["items", "events", "timeline"] {
        window.click(&hook(&format!("tab-{tab}")));
        let before = tab_count(&window, "events");
        window.wait(&hook("tab-events"), |_| (tab_count(&window, "events") > before + 500).then_some(()));
    }
    assert_eq!(window.attributes(&hook("request-header"), "data-status"), ["in_progress"], "it was looked at live");
    let all = going.ended().json()["events"].as_u64().expect("a number");
    window.wait_for("[data-testid=request-header][data-status=completed]");
    window.wait(&hook("tab-events"), |_| (tab_count(&window, "events") == all).then_some(()));
    let shown = tree(&place, id, "");
    assert_eq!(Some(tab_count(&window, "timeline")), shown["counts"]["blocks"].as_u64());
    assert_eq!(last_of_the_events(&window), all);
    last_of_the_timeline(&window, id);
}

#[test]
fn every_shape_opens_and_ends_with_its_last_row() {
    let shapes = [
        ("wide", events(20_000, 400_000), 2),
        ("chain", events(20_000, 200_000), 2),
        ("nest", 600, 2),
        ("branches", 10_000, 2),
        // A kilobyte an event.
        ("stream", events(1_000, 10_000), 1_000),
    ];
    let place = Place::new();
    let made: Vec<(String, u64)> =
        shapes.iter().map(|(shape, events, _)| make(&place, &format!("{events} --shape {shape}"))).collect();
    for (id, all) in &made {
        let blocks = tree(&place, id, "")["counts"]["blocks"].clone();
        let path = tree(&place, id, "--unfolded")["rows"]
            .as_array()
            .and_then(|rows| rows.iter().rev().find_map(|row| row["path"].as_str().map(str::to_owned)))
            .expect("the last row is a block");
        let block = place.run(&["block", id, &path, "--json"]);
        assert_eq!(block.json()["block"]["path"], path.as_str(), "{block}");
        place.get(&format!("state --request {id} --at {}", all / 2));
        let last = place.get(&format!("events {id} --from {all}"));
        assert_eq!(last[0]["seq"], *all, "{id} with {blocks} blocks");
    }
    let window = open(&place, &[]);
    window.wait_for("[data-testid^=session-synthetic]");
    std::thread::sleep(Duration::from_secs(1));
    let idle = window.processes().expect("it runs").megabytes();
    for ((id, all), (shape, _, least)) in made.iter().zip(shapes) {
        click(&window, id);
        assert_eq!(tab_count(&window, "events"), *all, "{shape}");
        let rows = last_of_the_timeline(&window, id);
        assert!(rows + 10 >= all / least, "{shape}: {rows} rows of {all} events");
        assert_eq!(last_of_the_events(&window), *all, "{shape}");
        let used = window.processes().expect("it runs").megabytes() - idle;
        println!("{shape}: {all} events, {rows} rows, {used:.0} MB above the idle window");
        // A debug build, and WebKit keeps what it has had for a while.
        assert!(used < 500.0, "{shape}: {used:.0} MB more than the idle window");
    }
    // The one item that grew is there whole.
    window.click(&hook("tab-items"));
    window.wait_for(&hook("item"));
}
