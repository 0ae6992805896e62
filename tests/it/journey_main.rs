//! The main job, from a folder that is opened to a run that goes on after the program was killed in its middle.

use serde_json::json;
use tests::bench::Place;
use tests::server::{Reply, Server};
use tests::sitting::{end_of, newest, open_at, times_run};
use tests::webdriver::{hook, key};

const FLOW: &str = r#"
const input = z.object({ topic: z.string().min(1).describe("What it is about") });
const paper = z.object({ topic: z.string().default(""), text: z.string().default("") });
const plan = handler({ name: "plan", inputSchema: input, sessionStateSchema: paper, execute: async ({ topic }, ctx) => {
  await ctx.session.patchState({ topic });
  ctx.emitMessage(`planned ${topic}`);
  return { topic };
} });
const write = generator({ name: "write", model: "pen", prompt: "Write.", user: ({ topic }) => topic, agentType: "primary" });
const keep = handler({ name: "keep", sessionStateSchema: paper, execute: async (text, ctx) => {
  await ctx.session.patchState({ text });
  return { length: text.length };
} });
export default defineFlow({
  kind: "paper",
  session: { stateSchema: paper },
  actions: { write: { description: "Writes a paper.", inputSchema: input,
    block: sequencer({ name: "paper", inputSchema: input }).step(plan).step(write).step(keep) } },
});
"#;

#[test]
fn a_run_is_killed_in_its_middle_and_goes_on_without_doing_anything_twice() {
    // The model says the beginning of a word, and then nothing; the program is killed while it waits.
    let server = Server::start([Reply::deltas(&[json!({ "content": "Be" })]).hang(), Reply::text("Bees sleep.")]);
    let models = json!({ "models": { "pen": { "model": "pen", "baseUrl": format!("{}/v1", server.address()), "timeoutMs": 60_000 } } });
    let place = Place::with_flow(FLOW).file("flowglass.json", &models.to_string());
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let window = open_at(home.path(), &place, &[]);

    // Open a folder, pick an action, fill the form, run.
    window.click(&hook("action-paper-write"));
    window.wait_for_text(&hook("run-form"), "Writes a paper.");
    window.press(&hook("field-topic"), "bees");
    window.click(&hook("run-button"));

    // The timeline grows: the first step is there and has ended, the second one runs.
    window.wait_for("[data-testid=timeline-row][data-path='root/step:plan'][data-status=completed]");
    window.wait_for("[data-testid=timeline-row][data-path='root/step:write'][data-status=running]");
    window.until_status("in_progress");
    let request = newest(&place, &[]);
    window.choose_block("root/step:plan");
    window.wait_for_text(&hook("inspector"), "bees");

    // Killed, and opened again: nothing that was shown is lost.
    window.kill();
    let window = open_at(home.path(), &place, &["--request", &request]);
    window.until_status("interrupted");
    window.wait_for("[data-testid=timeline-row][data-path='root/step:plan'][data-status=completed]");
    window.click(&hook("resume"));
    window.click(&hook("do-resume"));
    window.until_status("completed");
    assert_eq!(times_run(&place, &request, "root/step:plan"), 1, "a finished step is not run again");
    assert_eq!(server.asked().len(), 2, "the model is asked again, because it had not answered");
    assert_eq!(place.get(&format!("state --request {request}"))["session"]["text"], "Bees sleep.");

    // The slider shows what was so before.
    window.wait_for_text(&hook("state"), "Bees sleep.");
    window.go_to_event(end_of(&place, &request, "root/step:plan"));
    window.wait(&hook("state"), |texts| {
        let text = texts.first()?;
        (text.contains("bees") && !text.contains("Bees sleep.")).then_some(())
    });
    window.press(&hook("time-slider"), key::END);
    window.wait_for_text(&hook("state"), "Bees sleep.");
}
