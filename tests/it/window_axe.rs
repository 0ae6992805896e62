//! Every screen for everybody: axe finds nothing wrong with any, in light and in dark, and the timeline reads as a tree to
//! whoever cannot see it.

use tests::bench::{Place, repository};
use tests::sitting::open_with;
use tests::webdriver::{Settings, Window, hook, key};

const FLOW: &str = r#"
const input = z.object({ topic: z.string(), deep: z.boolean().default(false) });
const plan = handler({ name: "plan", sessionStateSchema: z.object({ topic: z.string().default("") }), execute: async (input, ctx) => {
  await ctx.session.patchState({ topic: input.topic });
  ctx.emitMessage(`planned ${input.topic}`);
  console.log("planning");
  return input;
} });
const check = handler({ name: "check", execute: (input) => { if (input.topic === "bad") throw new Error("No."); return input; } });
const ask = handler({ name: "ask", execute: async (input, ctx) => ctx.suspend({ reason: "approval", message: "Publish?", allow: ["submit", "reject"],
  resumeSchema: z.object({ title: z.string() }) }) });
const chain = (name) => sequencer({ name, inputSchema: input });
export default defineFlow({ kind: "paper", session: { stateSchema: z.object({ topic: z.string().default("") }) }, actions: {
  plan: { description: "Plans a paper.", inputSchema: input, block: chain("planning").step(plan).step(check) },
  publish: { inputSchema: input, block: chain("publishing").step(plan).step(ask) },
} });
"#;

fn place() -> Place {
    let place = Place::with_flow(FLOW).file("flows/broken.ts", "export default defineFlow({");
    for (request, action, topic) in [("good", "plan", "bees"), ("bad", "plan", "bad"), ("waits", "publish", "ants")] {
        place.ask(&format!(
            "run paper {action} --user ada --session s --request {request} --input {{\"topic\":\"{topic}\"}}"
        ));
    }
    place
}

/// Each screen: its name, its address, and what is there when it is whole.
const SCREENS: [(&str, &str, &str); 26] = [
    ("home", "", "action-paper-plan"),
    ("flow", "flow=paper", "flow-page"),
    ("broken flow", "flow=broken", "load-error"),
    ("run", "flow=paper&action=plan", "run-form"),
    ("timeline", "session=s&request=good", "timeline-row"),
    ("failed", "session=s&request=bad&block=bad%3Aroot%2Fstep%3Acheck%3A0", "request-error"),
    ("suspended", "session=s&request=waits", "timeline-row"),
    ("past", "session=s&request=good&seq=4", "state-seq"),
    ("items", "session=s&request=good&tab=items", "item"),
    ("state", "session=s&request=good&tab=state", "state-page"),
    ("events", "session=s&request=good&tab=events", "event-row"),
    ("compare", "compare=good&with=bad", "compare-row"),
    ("replay", "compare=good&replay=1", "compare"),
    ("runs", "runs=", "run-row"),
    ("journal", "session=s&request=good&tab=journal", "request-header"),
    ("checkpoints", "session=s&request=good&tab=checkpoints", "request-header"),
    ("session", "session=s&conversation=", "turn"),
    ("waiting", "waiting=", "waiting"),
    ("verify", "verify=", "verify-page"),
    ("experiments", "experiments=", "experiments-page"),
    ("settings", "settings=look", "own-zoom"),
    ("settings of models", "settings=models", "settings-page"),
    ("settings of the network", "settings=network", "settings-page"),
    ("settings of limits", "settings=folder", "settings-page"),
    ("settings of the data", "settings=data", "settings-page"),
    ("unknown request", "session=s&request=none", "request-page"),
];

/// Sheets, by the title of the command that opens each.
const SHEETS: [&str; 16] = [
    "Coding agents (MCP)",
    "Keyboard shortcuts",
    "Open another folder",
    "Retry this request",
    "Fork this request",
    "Replay this request",
    "Tag this run",
    "Search all runs",
    "State history",
    "Compare two instants",
    "Errors and warnings of all flows",
    "Database: size",
    "Export this session",
    "Flame graph of this request",
    "Keep this request as a test",
    "Import an export",
];

/// Nothing on the page is still being read.
const WHOLE: &str = "return !/Reading…|Finding out/.test(document.body.textContent)";

/// What axe says of all screens and sheets, each line with the name of its screen; pictures where a folder is named.
fn look_at_all(is_dark: bool, pictures: Option<&std::path::Path>) -> Vec<String> {
    let place = place();
    let theme = if is_dark { "Adwaita:dark" } else { "Adwaita" };
    let settings = Settings { variables: vec![("GTK_THEME", theme.to_owned())], ..Settings::default() };
    let window = open_with(settings, &place, &[]);
    window.wait_for(&hook("action-paper-plan"));
    assert_eq!(window.script("return matchMedia('(prefers-color-scheme: dark)').matches", &[]), is_dark);
    let mut wrong = Vec::new();
    let look = |window: &Window, name: &str, wrong: &mut Vec<String>| match pictures {
        Some(folder) => {
            let shade = if is_dark { "dark" } else { "light" };
            let name = name.to_lowercase().replace([' ', ':'], "-");
            for (wide, high) in [(1280, 800), (1920, 1080)] {
                window.resize(wide, high);
                window.picture(&folder.join(format!("{name}-{shade}-{wide}.png")));
            }
        }
        None => wrong.extend(window.violations().into_iter().map(|one| format!("{name}: {one}"))),
    };
    for (name, address, there) in SCREENS {
        window.script("location.hash = arguments[0]", &[address]);
        window.wait_for(&hook(there));
        window.until_script(WHOLE);
        look(&window, name, &mut wrong);
    }
    window.script("location.hash = 'session=s&request=good'", &[]);
    window.until_status("completed");
    for title in SHEETS {
        window.palette(title);
        window.wait_for("[role=dialog]");
        window.until_script(WHOLE);
        look(&window, title, &mut wrong);
        window.type_keys(key::ESCAPE);
        window.wait_for_none("[role=dialog]");
    }
    window.control('k');
    window.wait_for("[role=dialog] [role=option]");
    look(&window, "palette", &mut wrong);
    wrong
}

#[test]
fn axe_finds_nothing_wrong_in_light() {
    let wrong = look_at_all(false, None);
    assert!(wrong.is_empty(), "{} findings\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn axe_finds_nothing_wrong_in_dark() {
    let wrong = look_at_all(true, None);
    assert!(wrong.is_empty(), "{} findings\n{}", wrong.len(), wrong.join("\n"));
}

/// The tree of the timeline as a screen reader walks it.
#[test]
fn the_timeline_reads_as_a_tree() {
    let place = place();
    let window = open_with(Settings::default(), &place, &["--request", "bad"]);
    window.until_rows(&["root", "root/step:plan", "root/step:check"]);
    let read = window.script(
        "const grid = document.querySelector('[role=treegrid]');
        return JSON.stringify([grid.getAttribute('aria-label') !== null, ...[...grid.querySelectorAll('[role=row][aria-level]')].map((row) =>
          [row.ariaLevel, row.ariaExpanded, row.querySelectorAll('[role=gridcell], [role=rowheader]').length > 0,
           row.textContent.replace(/\\s+/g, ' ').trim()].join('|'))])",
        &[],
    );
    let lines: Vec<serde_json::Value> = serde_json::from_str(read.as_str().expect("text")).expect("JSON");
    assert_eq!(lines[0], true, "the tree has a name");
    let lines: Vec<&str> = lines[1..].iter().filter_map(|line| line.as_str()).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (line, (level, expanded, words)) in lines.iter().zip([
        ("1", "true", ["planning", "Failed"]),
        ("2", "", ["plan", "Completed"]),
        ("2", "", ["check", "Failed"]),
    ]) {
        let parts: Vec<&str> = line.splitn(4, '|').collect();
        assert_eq!((parts[0], parts[2]), (level, "true"), "{line}");
        assert!(expanded.is_empty() || parts[1] == expanded, "{line}");
        assert!(words.iter().all(|word| parts[3].contains(word)), "{line}");
    }
}

/// Pictures of every screen, for whoever changes how they look; `make screenshots` takes them.
#[test]
#[ignore = "it takes pictures, and finds nothing"]
fn pictures_of_every_screen() {
    let folder = repository().join("target/screenshots");
    for is_dark in [false, true] {
        look_at_all(is_dark, Some(&folder));
    }
}
