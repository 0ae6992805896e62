//! The real window over a real workspace: what a person does first, in one sitting.
//!
//! Found by the `data-testid` hooks of `ui/`; what the window says about a run is compared with
//! what the program says on the command line only where a number must not change.

use std::time::Duration;

use tests::bench::{Place, program};
use tests::webdriver::{Window, hook, key};

/// Three writes to the session, lines on the console, and items for different audiences.
const COUNTER: &str = r#"
const session = z.object({ total: z.number().default(0), last: z.string().optional() });
const input = z.object({ by: z.number().int().min(1).describe("How far to count") });

const add = handler({
  name: "add",
  inputSchema: input,
  sessionStateSchema: session,
  execute: async ({ by }, ctx) => {
    console.log("adding", by);
    await ctx.session.incState({ total: by });
    ctx.emitMessage("for everyone");
    return { added: by };
  },
});
const twice = handler({
  name: "twice",
  sessionStateSchema: session,
  execute: async ({ added }: { added: number }, ctx) => {
    await ctx.session.incState({ total: added });
    await ctx.session.patchState({ last: "twice" });
    ctx.emitMessage("for developers", { agentType: "trace" });
    return { total: ctx.session.state.total };
  },
});
export default defineFlow({
  kind: "counter",
  session: { stateSchema: session },
  actions: {
    add: {
      description: "Counts two times.",
      inputSchema: input,
      block: sequencer({ name: "count", inputSchema: input }).step(add).step(twice),
    },
  },
});
"#;

const GOOD: &str = r#"import { defineFlow, handler } from "@flow-state-dev/core";

const greet = handler({ name: "greet", execute: () => "hello" });
export default defineFlow({ kind: "greeter", actions: { greet: { block: greet } } });
"#;

/// The same with an error in its third line, from the column after the colon on.
const BROKEN: &str = r#"import { defineFlow, handler } from "@flow-state-dev/core";

const greet = handler({ name: , execute: () => "hello" });
export default defineFlow({ kind: "greeter", actions: { greet: { block: greet } } });
"#;

fn open(place: &Place) -> Window {
    let dir = place.dir().display().to_string();
    let data = place.database().display().to_string();
    Window::open(&program(), &["open", &dir, "--data", &data])
}

#[test]
fn a_run_is_started_and_looked_at() {
    let place = Place::with_flow(COUNTER);
    let window = open(&place);

    // The flow is listed; its action opens a form.
    window.click(&hook("action-counter-add"));
    window.wait_for_text(&hook("run-form"), "Counts two times.");

    // An input that breaks the schema is said at its field, and nothing is started.
    window.press(&hook("field-by"), "0");
    window.click(&hook("run-button"));
    window.wait_for_text(&hook("problem-by"), "1");
    window.wait_for_text(&hook("form-error"), "One field needs attention");
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(0));
    assert_eq!(window.texts(&hook("timeline-row")), [""; 0]);

    // Corrected, it runs, and the timeline opens.
    window.clear(&hook("field-by"));
    window.press(&hook("field-by"), "21");
    window.click(&hook("run-button"));
    window.wait_for("[data-testid=request-header][data-status=completed]");
    window.wait(&hook("timeline-row"), |rows| (rows.len() == 3).then_some(()));
    assert_eq!(window.attributes(&hook("timeline-row"), "data-path"), ["root", "root/step:add", "root/step:twice"]);
    assert_eq!(window.attributes(&hook("timeline-row"), "data-status"), ["completed"; 3]);
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1));

    // A block says what it got, what it made, what it wrote and what it logged.
    window.click("[data-path=\"root/step:add\"]");
    window.wait_for_text(&hook("block-path"), "root/step:add");
    window.wait_for_text(&hook("block-output"), "added: 21");
    window.click(&hook("block-tab-input"));
    window.wait_for_text(&hook("block-input"), "by: 21");
    window.click(&hook("block-tab-log"));
    window.wait_for_text(&hook("block-logs"), "adding 21");
    window.click(&hook("block-tab-changes"));
    window.wait_for_text("[data-testid=inspector] [data-testid=change-row]", "total");
    window.click(&hook("block-tab-output"));

    // The slider: the state of the session at the end of the selected block, at the newest event, at the first, and after
    // the first block.
    window.wait_for_text(&hook("scope-session"), "21");
    assert_eq!(window.attributes(&hook("live"), "aria-pressed"), ["false"]);
    let slider = hook("time-slider");
    window.press(&slider, key::END);
    window.wait_for_text(&hook("scope-session"), "42");
    window.press(&slider, key::HOME);
    window.wait_for_text(&hook("state-seq"), "at #1,");
    window.wait(&hook("scope-session"), |found| (!found.join(" ").contains("42")).then_some(()));
    let after_add = end_of(&place, "root/step:add");
    window.press(&slider, key::RIGHT.to_string().repeat(after_add - 1));
    window.wait_for_text(&hook("state-seq"), &format!("at #{after_add},"));
    window.wait_for_text(&hook("scope-session"), "21");
    assert_eq!(window.attributes(&hook("live"), "aria-pressed"), ["false"]);
    window.press(&slider, key::END);
    window.wait_for_text(&hook("scope-session"), "42");
    assert_eq!(window.attributes(&hook("live"), "aria-pressed"), ["true"]);

    // Audiences: what only developers see is hidden from the client, and the other way round.
    window.click(&hook("tab-items"));
    let everyone = "li[data-testid=item]";
    window.wait(everyone, |items| says(items, "for everyone").then_some(()));
    choose_audience(&window, "all");
    let counted = |items: &[String]| window.wait_for("[data-choice=all]") == format!("All{}", items.len());
    let all = window.wait(everyone, |items| counted(items).then_some(items.len()));
    assert!(says(&window.texts(everyone), "for developers"));
    choose_audience(&window, "client");
    window.wait(everyone, |items| (says(items, "for everyone") && !says(items, "for developers")).then_some(()));
    let client = window.texts(everyone).len();
    assert_eq!(window.wait_for("[data-choice=client]"), format!("Client{client}"), "the choice counts what it shows");
    assert!(client < all, "the client sees {client} of {all}");
    choose_audience(&window, "trace");
    window.wait(everyone, |items| (!says(items, "for everyone") && says(items, "for developers")).then_some(()));
}

#[test]
fn a_broken_flow_shows_its_error_and_comes_back_when_it_is_mended() {
    let place = Place::with_flow(COUNTER).file("flows/greeter.ts", BROKEN);
    let window = open(&place);

    // The others are usable; the broken one says where.
    window.wait_for(&hook("action-counter-add"));
    window.wait_for_text(&hook("load-error"), "flows/greeter.ts:3:");
    let column = window.wait_for(&hook("load-error")).rsplit(':').next().and_then(|at| at.parse::<u32>().ok());
    assert!(column.is_some_and(|at| (24..=33).contains(&at)), "column {column:?}");
    assert_eq!(window.texts(&hook("action-greeter-greet")), [""; 0]);

    // Mended on disk, it is there without anybody asking.
    place.write("flows/greeter.ts", GOOD);
    window.wait_for(&hook("action-greeter-greet"));
    window.wait_for_none(&hook("load-error"));

    // Broken again, the version that loaded stays usable beside the error.
    place.write("flows/greeter.ts", BROKEN);
    window.wait_for_text(&hook("load-error"), "flows/greeter.ts:3:");
    window.click(&hook("action-greeter-greet"));
    window.wait_for_text(&hook("run-form"), "The file has an error now");
    window.click(&hook("run-button"));
    window.wait_for("[data-testid=request-header][data-status=completed]");
    window.wait_for_text(&hook("block-output"), "hello");
}

/// A fork says of which request it is one, and leads there; so does a retry. Both may belong to other sessions.
#[test]
fn a_fork_and_a_retry_lead_to_where_they_come_from() {
    let place = Place::with_flow(COUNTER);
    place.get("run counter add --user ada --session s1 --request r1 --input {\"by\":2}");
    let fork = place.get("fork r1 --at root/step:add");
    let (id, session) = (fork["requestId"].as_str().expect("an id"), fork["sessionId"].as_str().expect("a session"));
    let window = open(&place);
    window.wait_for(&hook("action-counter-add"));
    window.script(&format!("location.hash = 'session={session}&request={id}'"), &[]);
    let after = fork["forkedFrom"]["seq"].as_u64().expect("an event");
    window.wait_for_text(&hook("request-origin"), &format!("Forked after #{after}"));
    window.click(&format!("{} button", hook("request-origin")));
    window.wait_for_none(&hook("request-origin"));
    let place = window.script("return location.hash", &[]).to_string();
    assert!(place.contains("request=r1") && !place.contains(id), "{place}");
    window.wait_for_text(&hook("request-header"), "counter.add");
}

/// WebKitGTK answers with the next frame, and a page that stands still had none: the driver's call never came back.
#[test]
fn a_picture_of_a_page_that_stands_still_is_taken() {
    let place = Place::with_flow(COUNTER);
    let window = open(&place);
    window.wait_for(&hook("action-counter-add"));
    // Whatever moved at first has ended.
    std::thread::sleep(Duration::from_secs(1));
    window.picture(&place.dir().join("still.png"));
}

/// What is probably not meant stands on the flow's page, with its line.
#[test]
fn the_warnings_of_a_flow_are_shown() {
    let flow = r#"
import { defineAgent, definePrompt } from "@standardagents/builder";
definePrompt({ name: "ann", prompt: "Talk.", model: "m" });
export default defineAgent({ name: "talk", sideA: { prompt: "ann" }, sideB: { human: true }, hoks: [] });
"#;
    let place = Place::with_flow(COUNTER).file("flows/talk.ts", flow);
    let checked = place.get("check");
    let talk = checked.as_array().and_then(|all| all.iter().find(|row| row["kind"] == "talk")).expect("it loads");
    let warning = talk["warnings"][0].clone();
    let window = open(&place);
    window.wait_for(&hook("action-counter-add"));
    window.script("location.hash = 'flow=talk'", &[]);
    let shown = window.wait_for_text(&hook("flow-warning"), warning["message"].as_str().expect("a warning"));
    assert!(shown.contains(&format!("flows/talk.ts:{}", warning["line"])), "{shown}");
}

/// The number of the event that ended a block of the newest request.
fn end_of(place: &Place, path: &str) -> usize {
    let id = place.get("requests")[0]["id"].as_str().expect("a request has an id").to_owned();
    let shown = place.get(&format!("show {id}"));
    let blocks = shown["blocks"].as_array().expect("a request has blocks");
    let block = blocks.iter().find(|block| block["path"] == path).expect("the block ran");
    usize::try_from(block["seqEnd"].as_u64().expect("it ended")).expect("a small number")
}

fn says(items: &[String], text: &str) -> bool {
    items.iter().any(|item| item.contains(text))
}

fn choose_audience(window: &Window, id: &str) {
    window.click(&format!("[data-choice=\"{id}\"]"));
}
