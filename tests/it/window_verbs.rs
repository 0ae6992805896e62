//! What the command line can do, done in the real window: going on with requests, answering them, looking further, and
//! carrying sessions in and out.

use serde_json::{Value, json};
use tests::bench::{Place, program};
use tests::webdriver::{Window, hook, key};

/// A plan that asks a person, fails where it is told to, and counts how often each step ran.
const FLOW: &str = r#"
const input = z.object({ topic: z.string(), fails: z.boolean().default(false) });
const plan = handler({ name: "plan", execute: async ({ topic }, ctx) => {
  await ctx.session.patchState({ topic });
  await ctx.session.journal?.append?.({ tags: ["plan"], text: topic });
  return { topic, steps: [topic + " one", topic + " two"] };
} });
const check = handler({ name: "check", execute: async (plan, ctx) => {
  if (plan.topic === "bad" && !plan.approved) throw new Error("Bad topics are not planned.");
  return plan;
} });
const ask = handler({ name: "ask", execute: async (plan, ctx) => {
  const answer = await ctx.suspend({
    reason: "approval", message: "Publish it?", data: { steps: plan.steps },
    allow: ["submit", "reject"], resumeSchema: z.object({ title: z.string().min(3) }),
  });
  await ctx.session.patchState({ title: answer.title ?? answer });
  return answer;
} });
const chain = (name) => sequencer({ name, inputSchema: input });
export default defineFlow({
  kind: "paper",
  session: { stateSchema: z.object({ topic: z.string().default(""), title: z.any() }) },
  actions: {
    plan: { block: chain("plan-only").step(plan).step(check) },
    publish: { block: chain("publish").step(plan).step(ask) },
  },
});
"#;

fn place() -> Place {
    Place::with_flow(FLOW)
}

fn run(place: &Place, request: &str, action: &str, topic: &str) {
    let input = json!({ "topic": topic }).to_string();
    place.run(&[
        "run",
        "paper",
        action,
        "--user",
        "ada",
        "--session",
        "s",
        "--request",
        request,
        "--input",
        &input,
        "--json",
    ]);
}

fn open(place: &Place, more: &[&str]) -> Window {
    let (dir, data) = (place.dir().display().to_string(), place.database().display().to_string());
    Window::open(&program(), &[&["open", &dir, "--data", &data], more].concat())
}

/// Opens a sheet by the palette, as every command can be.
fn palette(window: &Window, title: &str) {
    window.click(&hook("open-palette"));
    window.press("[role=dialog] input", title);
    window.wait_for_text("[role=option][aria-selected=true]", title);
    window.press("[role=dialog] input", "\u{E007}");
}

fn menu(window: &Window, entry: &str) {
    window.click(&hook("request-menu"));
    window.click(&hook(&format!("menu-{entry}")));
}

fn type_into(window: &Window, name: &str, text: &str) {
    window.clear(&hook(name));
    window.press(&hook(name), text);
}

fn status(place: &Place, request: &str) -> Value {
    place.get(&format!("show {request}"))["request"]["status"].clone()
}

/// The id of the newest request, which is not one of those that are known.
fn newest(place: &Place, known: &[&str]) -> String {
    let rows = place.get("requests");
    let ids = rows.as_array().expect("a list").iter().filter_map(|row| row["id"].as_str());
    ids.map(str::to_owned).find(|id| !known.contains(&id.as_str())).expect("there is a new one")
}

/// A question is answered in a form made from its schema: what does not fit is said at the field, and what fits goes on.
#[test]
fn a_question_is_answered() {
    let place = place();
    run(&place, "r1", "publish", "bees");
    let window = open(&place, &[]);
    palette(&window, "Pending approvals");
    assert!(window.wait_for(&hook("waiting")).contains("Publish it?"));
    window.click(&hook("open-waiting"));
    window.click(&hook("resume"));
    assert!(window.wait_for(&hook("question")).contains("Publish it?"));
    window.wait_for_text(&hook("question-data"), "bees one");
    window.press(&hook("field-title"), "No");
    window.click(&hook("answer-submit"));
    window.wait_for(&hook("question-error"));
    assert_eq!(status(&place, "r1"), "suspended", "nothing was sent");
    window.press(&hook("field-title"), "tes on bees");
    window.click(&hook("answer-submit"));
    window.wait_for(&format!("{}[data-status=completed]", hook("request-header")));
    assert_eq!(place.get("state --request r1")["session"]["title"], "Notes on bees");
    window.wait_for_none(&hook("resume"));
}

/// A question is rejected with a reason.
#[test]
fn a_question_is_rejected() {
    let place = place();
    run(&place, "r1", "publish", "bees");
    let window = open(&place, &["--request", "r1"]);
    window.click(&hook("resume"));
    window.press(&hook("question-reason"), "too early");
    window.click(&hook("answer-reject"));
    window.wait_for(&format!("{}[data-status=failed]", hook("request-header")));
    let shown = place.get("show r1");
    assert!(shown["request"]["error"]["details"]["rejectionData"] == "too early", "{shown}");
}

/// What failed is tried again, and forked with another output of the step that failed; the fork has a session of its own.
#[test]
fn a_failed_request_is_resumed_tried_again_and_forked() {
    let place = place();
    run(&place, "r1", "plan", "bad");
    let window = open(&place, &["--request", "r1", "--block", "root/step:check"]);
    window.wait_for(&hook("request-error"));

    window.click(&hook("resume"));
    assert!(window.wait_for(&hook("resume-sheet")).contains("reused"));
    window.click(&hook("do-resume"));
    window.wait_for_none(&hook("resume-sheet"));
    window.wait_for(&format!("{}[data-status=failed]", hook("request-header")));
    let attempts = place.get("show r1")["blocks"].as_array().expect("blocks").clone();
    let of = |path: &str| attempts.iter().filter(|block| block["path"] == path && block["memoized"] == false).count();
    assert_eq!((of("root/step:plan"), of("root/step:check")), (1, 2), "only what had failed ran again");

    menu(&window, "retry");
    window.click(&hook("do-retry"));
    window.wait_for_text(&hook("request-origin"), "Retried from original");
    let retry = newest(&place, &["r1"]);

    window.script("location.hash = 'session=s&request=r1&block=r1%3Aroot%2Fstep%3Acheck%3A1'", &[]);
    window.wait_for_text(&hook("block-path"), "root/step:check");
    menu(&window, "fork");
    window.wait_for_text(&hook("fork-path"), "root/step:check");
    window.click(&hook("fork-output"));
    type_into(&window, "fork-value", "{ oops");
    window.wait_for_text(&hook("plan-fault"), "not JSON");
    window.wait_for(&format!("{}:disabled", hook("do-fork")));
    type_into(&window, "fork-value", r#"{"topic":"bad","approved":true}"#);
    window.click(&hook("fork-state"));
    type_into(&window, "fork-place", "session.topic");
    let values = format!("{}:last-of-type {}", hook("fork-edit"), hook("fork-value"));
    // It begins with what stands there.
    window.until_script(&format!("return document.querySelector('{values}').value === '\"bad\"'"));
    window.script("document.querySelector(arguments[0]).scrollIntoView()", &[&values]);
    window.clear(&values);
    window.press(&values, "\"good\"");
    window.click(&hook("do-fork"));
    window.wait_for_text(&hook("request-origin"), "Forked after #");
    let fork = newest(&place, &["r1", &retry]);
    window.wait_for(&format!("{}[data-status=completed]", hook("request-header")));
    assert_eq!(place.get(&format!("state --request {fork}"))["session"]["topic"], "good");
    assert_eq!(
        place.get("state --request r1")["session"]["topic"],
        "bad",
        "the fork wrote nothing to its request's session"
    );

    menu(&window, "diff");
    window.click("[role=dialog] [data-choice=requests]");
    window.click(&hook("do-diff"));
    assert!(window.wait_for_text(&hook("diff-answer"), "topic").contains("good"));
    window.type_keys('\u{E00C}');
    window.wait_for_none("[role=dialog]");
    window.script("location.hash = arguments[0]", &[&format!("compare=r1&with={fork}")]);
    assert!(window.wait_for(&hook("compare-changes")).contains("topic"));
    let row = format!("{}[data-differs~=status]", hook("compare-row"));
    window.wait_for_text(&row, "Failed → Completed");
    assert_eq!(window.attributes(&row, "data-path")[0], "root");
    window.click(&row);
    window.wait_for(&hook("compare-outputs"));
    // In the smallest window no head and no number is cut, and names keep their room.
    window.resize(960, 600);
    window.until_script(
        "const heads = [...document.querySelectorAll('[data-testid=compare-columns] > span:not(.relative)')];
        const facts = [...document.querySelectorAll('[data-testid=compare-summary] dd:not(.truncate)')];
        const isWhole = (one) => one.offsetWidth === 0 || one.scrollWidth <= one.clientWidth + 1;
        const name = document.querySelector('[data-testid=compare-row] > span');
        return heads.length > 0 && facts.length > 0 && heads.concat(facts).every(isWhole) && name.clientWidth >= 150",
    );
}

/// A replay says that nothing differs; and after an edit, where it first does.
#[test]
fn a_request_is_replayed() {
    let place = place();
    run(&place, "r1", "plan", "bees");
    let window = open(&place, &["--request", "r1"]);
    menu(&window, "replay");
    window.wait_for(&format!("{}[data-identical=true]", hook("replayed")));
    window.type_keys('\u{E00C}');
    window.wait_for_none(&hook("replay-sheet"));
    place.edit(&FLOW.replace(r#"topic + " one""#, r#"topic + " first""#));
    menu(&window, "replay");
    window.wait_for(&format!("{}[data-identical=false]", hook("replayed")));
    assert_eq!(window.wait_for(&hook("divergence-path")), "root/step:plan");
    assert!(window.wait_for(&hook("divergence-found")).contains("bees first"));
}

/// A text is found and opens its event; who wrote a place is listed; checkpoints and the journal are shown.
#[test]
fn what_was_recorded_is_looked_through() {
    let place = place();
    run(&place, "r1", "plan", "bees <img src=x onerror=alert(1)>");
    run(&place, "r2", "plan", "wasps");
    let window = open(&place, &[]);
    palette(&window, "Search all runs");
    window.press(&hook("search-text"), "BEES <img");
    window.click(&hook("do-search"));
    assert!(window.wait_for(&hook("hit")).contains("bees <img"));
    assert!(window.texts(&format!("{} img", hook("search-hits"))).is_empty(), "it is text");
    window.click(&hook("hit"));
    window.wait_for(&hook("request-header"));
    window.until_script("return /request=r1/.test(location.hash) && /seq=/.test(location.hash)");

    menu(&window, "history");
    // Places there are offered, by letters of theirs; Enter takes one, and Enter asks.
    type_into(&window, "history-place", "topi");
    window.wait_for_text("[role=option]", "session.topic");
    window.until_script(
        "const [list] = [...document.querySelectorAll('[role=option]')]; const { left, top } = list.getBoundingClientRect();
        return list.contains(document.elementFromPoint(left + 9, top + 9))",
    );
    window.type_keys(key::DOWN);
    window.type_keys(key::ENTER);
    window.until_script("return document.querySelector('[data-testid=history-place]').value === 'session.topic'");
    window.type_keys(key::ENTER);
    assert!(window.wait_for(&hook("write")).contains("root/step:plan"));
    type_into(&window, "history-place", "nowhere");
    window.click(&hook("do-history"));
    window.wait_for(&hook("sheet-error"));
    window.type_keys('\u{E00C}');
    window.click(&hook("tab-checkpoints"));
    window.wait_for(&hook("checkpoints"));
    window.click(&hook("tab-journal"));
    window.wait_for(&hook("journal"));
    palette(&window, "Errors and warnings of all flows");
    window.wait_for(&hook("check-sheet"));
    window.type_keys('\u{E00C}');
    window.click(&hook("go-runs"));
    window.wait(&hook("run-row"), |rows| (rows.len() == 2).then_some(()));
}

/// A session is exported, deleted and imported again; the database is measured and checked.
#[test]
fn a_session_goes_out_and_comes_back() {
    let place = place();
    run(&place, "r1", "plan", "bees");
    let window = open(&place, &["--request", "r1"]);
    let file = place.dir().join("out.jsonl").display().to_string();
    menu(&window, "export");
    type_into(&window, "export-file", &file);
    window.click(&hook("do-export"));
    window.wait_for_none(&hook("export-sheet"));
    assert!(place.dir().join("out.jsonl").is_file());
    menu(&window, "export");
    type_into(&window, "export-file", &file);
    window.click(&hook("do-export"));
    window.wait_for(&hook("sheet-error"));
    window.type_keys('\u{E00C}');

    menu(&window, "delete");
    window.wait_for_text(&hook("delete-about"), "1 request");
    window.click(&hook("do-delete"));
    window.wait_for_none(&hook("request-header"));
    assert_eq!(place.get("sessions"), json!([]));

    palette(&window, "Import an export");
    window.press(&hook("import-file"), place.dir().join("none.jsonl").display());
    window.click(&hook("do-import"));
    window.wait_for(&hook("sheet-error"));
    type_into(&window, "import-file", &file);
    window.click(&hook("do-import"));
    window.wait_for(&hook("request-header"));
    assert_eq!(status(&place, "r1"), "completed");

    palette(&window, "Database: size");
    assert!(window.wait_for(&hook("stats")).contains("Requests"));
    window.click(&hook("do-check"));
    window.wait_for(&format!("{}[data-ok=true]", hook("checked")));
    window.click(&hook("do-compact"));
    window.wait_for_text(&hook("compacted"), "now");
}
