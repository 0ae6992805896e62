//! How the window behaves on a desktop: where it stands, its menu, and what it tells somebody who looks elsewhere.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tests::bench::Place;
use tests::focus::take_focus_away;
use tests::sitting::{open, open_at, open_with};
use tests::webdriver::{Settings, hook, key};

const FLOW: &str = r#"
const wait = handler({ name: "wait", execute: async (ms, ctx) => (await new Promise((done) => setTimeout(done, ms)), "<b>rested</b>") });
export default defineFlow({ kind: "rest", actions: { rest: { inputSchema: z.number(),
  block: sequencer({ name: "resting", inputSchema: z.number() }).step(wait) } } });
"#;

/// What is remembered of the window, as it lies in a home; nothing before it was written.
fn remembered(home: &std::path::Path) -> Option<Value> {
    let text = std::fs::read_to_string(home.join("XDG_CONFIG_HOME/dev.flowglass.app/.window-state.json")).ok()?;
    serde_json::from_str::<Value>(&text).ok().map(|all| all["main"].clone())
}

/// The window has the size that it was left with, though it was killed; and one that was left where no screen is comes
/// back onto one.
#[test]
fn the_window_opens_as_it_was_left_and_on_a_screen() {
    let place = Place::with_flow(FLOW);
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let window = open_at(home.path(), &place, &[]);
    window.wait_for(&hook("action-rest-rest"));
    window.resize(1100, 700);
    window.until("the size to be remembered", || {
        let known = remembered(home.path()).unwrap_or_default();
        if known["width"] == 1100 { Ok(()) } else { Err(format!("{known}")) }
    });
    window.kill();
    let window = open_at(home.path(), &place, &[]);
    window.until_script("return innerWidth === 1100");
    window.kill();

    // The screen that it was on is gone.
    let file = home.path().join("XDG_CONFIG_HOME/dev.flowglass.app/.window-state.json");
    let mut known: Value = serde_json::from_str(&std::fs::read_to_string(&file).expect("it is there")).expect("JSON");
    (known["main"]["x"], known["main"]["y"]) = (1_300.into(), 850.into());
    std::fs::write(&file, known.to_string()).expect("the folder is writable");
    let window = open_at(home.path(), &place, &[]);
    window.wait_for(&hook("action-rest-rest"));
    window.until("the window to be on the screen", || {
        let known = remembered(home.path()).unwrap_or_default();
        let end =
            |at: &str, length: &str| known[at].as_i64().unwrap_or(9_999) + known[length].as_i64().unwrap_or(9_999);
        let is_whole = end("x", "width") <= 1440 && end("y", "height") <= 900;
        if is_whole { Ok(()) } else { Err(format!("{known}")) }
    });
}

/// What windows are kept of a home, and whether a process holds each.
fn kept(home: &std::path::Path) -> Vec<(Value, bool)> {
    let Ok(folder) = std::fs::read_dir(home.join("XDG_DATA_HOME/flowglass/windows")) else { return Vec::new() };
    let files = folder
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut found: Vec<(Value, bool)> = files
        .filter_map(|path| {
            let file = std::fs::File::open(&path).ok()?;
            let record = serde_json::from_str(&std::fs::read_to_string(&path).ok()?).ok()?;
            Some((record, file.try_lock_shared().is_err()))
        })
        .collect();
    found.sort_by_key(|(record, _)| record["isFirst"] != true);
    found
}

/// A second window was lost when the program was killed. One that a person closes stays closed.
#[test]
fn windows_are_opened_again_after_a_crash() {
    let place = Place::with_flow(FLOW);
    place.get("run rest rest --user ada --session s --request r1 --input 1");
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let until_two_are_held = |window: &tests::webdriver::Window| {
        window.until("a second window", || {
            let found = kept(home.path());
            let shows = |record: &Value| record["address"].as_str().is_some_and(|text| text.contains("request=r1"));
            let are_two = found.len() == 2 && found.iter().all(|(_, is_held)| *is_held) && shows(&found[1].0);
            if are_two { Ok(()) } else { Err(format!("{found:?}")) }
        });
    };
    let window = open_at(home.path(), &place, &["--request", "r1"]);
    window.wait_for(&hook("request-header"));
    window.palette("Open this request in another window");
    until_two_are_held(&window);
    window.kill();
    let window = open_at(home.path(), &place, &[]);
    window.wait_for("[data-testid=open-palette], [data-testid=home]");
    until_two_are_held(&window);
    // The first one is this one, and is there once.
    assert_eq!(kept(home.path()).iter().filter(|(record, _)| record["isFirst"] == true).count(), 1);
}

/// The keys of the menu do what the table says: GTK hears them first, and hands on those of entries that cannot be done.
#[test]
fn the_menu_is_made_from_the_commands() {
    let place = Place::with_flow(FLOW);
    let window = open(&place, &[]);
    window.wait_for(&hook("action-rest-rest"));
    // The menu takes a strip of the window from the page.
    window.until_script("return outerHeight - innerHeight > 10");
    window.control('k');
    window.wait_for("[role=dialog] input");
    window.type_keys(key::ESCAPE);
    window.wait_for_none("[role=dialog]");
    window.control('o');
    window.wait_for(&hook("folder"));
}

/// A bus of its own, and what is said on it.
struct Bus {
    daemon: Child,
    monitor: Child,
    address: String,
    heard: std::sync::mpsc::Receiver<String>,
}

impl Bus {
    fn start() -> Bus {
        let mut daemon = Command::new("dbus-daemon")
            .args(["--session", "--nofork", "--print-address=1"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-daemon is there: `make setup` installs it (Debian's package dbus-daemon)");
        let mut address = String::new();
        let out = daemon.stdout.take().expect("it is piped");
        BufReader::new(out).read_line(&mut address).expect("it says its address");
        let address = address.trim().to_owned();
        let mut monitor = Command::new("dbus-monitor")
            .args(["--address", &address, "member='Notify'"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("dbus-monitor is there: `make setup` installs it (Debian's package dbus-bin)");
        let (sender, heard) = std::sync::mpsc::channel();
        let out = monitor.stdout.take().expect("it is piped");
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                // The test may have ended.
                let _ = sender.send(line);
            }
        });
        Bus { daemon, monitor, address, heard }
    }
}

impl Drop for Bus {
    fn drop(&mut self) {
        for process in [&mut self.monitor, &mut self.daemon] {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// A run of some seconds ends while nobody looks: the desktop is asked to say so, once, without what the flow said. A
/// short one is not told.
#[test]
fn the_end_of_a_long_run_is_told() {
    let bus = Bus::start();
    let place = Place::with_flow(FLOW);
    let variables = vec![("DBUS_SESSION_BUS_ADDRESS", bus.address.clone())];
    let window = open_with(Settings { variables, ..Settings::default() }, &place, &[]);
    window.wait_for(&hook("action-rest-rest"));
    take_focus_away(window.display()).expect("the display is there");
    place.get("run rest rest --user ada --session s --request short --input 10");
    place.get("run rest rest --user ada --session s --request long --input 3600");
    let mut told = String::new();
    window.until("a notification", || {
        told.extend(bus.heard.try_iter().map(|line| line + "\n"));
        if told.contains("It ran for") { Ok(()) } else { Err(format!("heard: {told}")) }
    });
    // What another process runs is looked at twice a second.
    let took = ["It ran for 3 s.", "It ran for 4 s."].iter().any(|took| told.contains(took));
    assert!(told.contains("rest.rest is done") && took, "{told}");
    assert_eq!(told.matches("It ran for").count(), 1, "{told}");
    assert!(!told.contains("rested"), "{told}");
}
