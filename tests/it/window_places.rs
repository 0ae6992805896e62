//! Where the real window opens: what `flowglass open` names, and the link that the window copies.

use std::process::{Command, Stdio};

use tests::bench::{Place, program};
use tests::webdriver::{Window, hook, key};

const COUNT: &str = r#"
const add = handler({ name: "add", execute: (n, ctx) => (ctx.emitMessage(`has ${n}`), n + 1) });
export default defineFlow({
  kind: "count",
  actions: { twice: { block: sequencer({ name: "twice" }).step(add).step(add) } },
});
"#;

fn place() -> Place {
    let place = Place::with_flow(COUNT);
    place.get("run count twice --user ada --session s1 --request r1 --input 1");
    place.get("run count twice --user ada --session s1 --request r2 --input 5");
    place
}

/// The words of a command line, as a shell reads them.
fn words(line: &str) -> Vec<String> {
    let script = format!("for word in {line}; do printf '%s\\n' \"$word\"; done");
    let read = Command::new("sh").args(["-c", &script]).output().expect("there is a shell");
    String::from_utf8(read.stdout).expect("text").lines().map(str::to_owned).collect()
}

/// The link that the palette copies is a command line, and a window opened by it shows the same.
#[test]
fn a_copied_link_opens_the_same_place() {
    let place = place();
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    let shown = place.get("show r1");
    let path = shown["blocks"][1]["path"].as_str().expect("a path").to_owned();
    let from = ["open", &dir, "--data", &data, "--request", "r1", "--at", &path, "--block", &path, "--tab", "items"];
    let window = Window::open(&program(), &from);
    let end = shown["blocks"][1]["seqEnd"].as_u64().expect("it ended");
    let same = |window: &Window| {
        window.wait_for_text(&hook("block-path"), &path);
        window.wait_for_text(&hook("state-seq"), &format!("at #{end},"));
        window.wait_for("[data-testid=request-header][data-request=r1]");
        window.wait(&hook("items-at"), |texts| texts.first()?.starts_with(&format!("at #{end}")).then_some(()));
        assert_eq!(window.attributes("[data-testid=tab-items]", "data-state"), ["active"]);
    };
    same(&window);

    // The clipboard of a display without a person belongs to nobody, so the text is taken where it is handed over.
    window.script("navigator.clipboard.writeText = async (text) => { window.copied = text }", &[]);
    window.click(&hook("open-palette"));
    window.press(&hook("palette-input"), format!("copy a link{}", key::ENTER));
    let link = window.until_script("return window.copied");
    let link = words(link.as_str().expect("text"));
    assert_eq!(link.first().map(String::as_str), Some("flowglass"));
    window.wait_for_text(&hook("said"), "Copied: flowglass open");
    drop(window);
    same(&Window::open(&program(), &link[1..]));
}

/// A session opens at its newest request, an action at its form, and the title bar says the folder.
#[test]
fn a_session_and_an_action_are_opened() {
    let place = place();
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    let window = Window::open(&program(), &["open", &dir, "--data", &data, "--session", "s1"]);
    window.wait_for("[data-testid=request-header][data-request=r2]");
    drop(window);
    let window = Window::open(&program(), &["open", &dir, "--data", &data, "--flow", "count", "--action", "twice"]);
    window.wait_for_text(&hook("run-form"), "count.twice");
}

/// What is not there is said on the terminal, and no window opens.
#[test]
fn what_is_not_there_opens_no_window() {
    let place = place();
    let dir = place.dir().display().to_string();
    let data = place.database().display().to_string();
    let display = Window::open(&program(), &["open", &dir, "--data", &data]);
    for (words, code, says) in [
        (&["--request", "nope"][..], 6, "nope"),
        (&["--session", "nope"], 6, "nope"),
        (&["--request", "r1", "--at", "99999"], 6, "99999"),
        (&["--request", "r1", "--block", "root/step:none"], 6, "root/step:none"),
        (&["--at", "3"], 2, "--request"),
        (&["--request", "r1", "--tab", "nope"], 2, "one of timeline, items, state, events, journal"),
        (&["--request", "r1", "--session", "s1"], 2, "cannot be used with"),
    ] {
        let answer = Command::new(program())
            .args(["open", &dir, "--data", &data])
            .args(words)
            .env("DISPLAY", display.display())
            .env_remove("WAYLAND_DISPLAY")
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let error = String::from_utf8_lossy(&answer.stderr);
        assert_eq!(answer.status.code(), Some(code), "{words:?}: {error}");
        assert!(error.contains(says), "{words:?}: {error}");
    }
}

/// The title bar is the window manager's, so it is asked of the display.
#[test]
fn the_title_bar_follows_the_folder() {
    let first = place();
    let second = Place::with_flow(COUNT);
    let (dir, data) = (first.dir().display().to_string(), first.database().display().to_string());
    let window = Window::open(&program(), &["open", &dir, "--data", &data, "--request", "r1"]);
    let name = |place: &Place| place.dir().file_name().expect("a name").to_string_lossy().into_owned();
    window.until_title(&format!("count.twice · {} · Flowglass", name(&first)));
    window.click(&hook("workspace"));
    window.press(&hook("folder"), format!("{}{}", second.dir().display(), key::ENTER));
    window.until_title(&format!("{} · Flowglass", name(&second)));
}
