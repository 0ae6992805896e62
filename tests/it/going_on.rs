//! What goes on after an interruption is shown as what was never interrupted (SEMANTICS §10.2).

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const asks = (name, then = (input, _ctx) => input) => handler({ name, execute: async (input, ctx) => {
  await ctx.suspend({ reason: "approval", message: name });
  return await then(input, ctx);
} });
const once = async (_input, ctx) => {
  if (ctx.session.state.tried) return;
  await ctx.session.patchState({ tried: true });
  throw new Error("not yet");
};
const chain = (name) => sequencer({ name, inputSchema: z.any(), stateSchema: z.object({ noted: z.number().default(0) }) });
const note = handler({ name: "note", execute: async (input, ctx) => { await ctx.sequencer.incState({ noted: 1 }); return input; } });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ tried: z.boolean().default(false) }) },
  user: { stateSchema: z.object({ seen: z.number().default(0) }) },
  actions: {
    fails: { block: chain("failing").work(asks("late", () => { throw new Error("too late"); })).step(note) },
    sees: { block: chain("seeing").work(asks("looks", (_input, ctx) => ctx.user.state.seen)).step(note) },
    bump: { block: handler({ name: "bump", execute: async (_input, ctx) => { await ctx.user.incState({ seen: 5 }); } }) },
    asks: { block: chain("asking").step(note).step(chain("inner").step(note).step(asks("question"))) },
    two: { block: chain("two").step(note).step(chain("inner").step(note)).step(note) },
    tries: { block: chain("trying").step(chain("inner").step(note).tap(once)) },
  },
});
"#;

fn place() -> Place {
    Place::with_flow(FLOW)
}

#[track_caller]
fn ask(place: &Place, line: &str, code: i32) {
    let answer = place.ask(line);
    assert_eq!(answer.code, Some(code), "{line}\n{answer}");
}

/// Runs an action until it waits, and answers.
#[track_caller]
fn answered(place: &Place, action: &str) {
    ask(place, &format!("run main {action} --user ada --session s --request r --input 1"), 4);
    ask(place, "resume r --approve", 0);
}

fn items(place: &Place, item_type: &str) -> Vec<Value> {
    place.get(&format!("items --request r --type {item_type}")).as_array().cloned().unwrap_or_default()
}

/// The chain had ended, so what was recorded of it was dropped, the failure of its work, too.
#[test]
fn work_that_fails_after_its_chain_had_ended_is_told() {
    let place = place();
    answered(&place, "fails");
    let told = items(&place, "step_error");
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(told[0]["path"], "root/work:late", "{told:#?}");
}

/// What an ended chain saw of records was dropped with it, and the work inside did not tell it again.
#[test]
fn work_sees_in_a_replay_what_others_had_written_before_it_went_on() {
    let place = place();
    ask(&place, "run main sees --user ada --session s --request r --input 1", 4);
    ask(&place, "run main bump --user ada --session t --input 1", 0);
    ask(&place, "resume r --approve", 0);
    let replay = place.get("replay r");
    assert_eq!(replay["identical"], true, "{replay:#}");
    assert_eq!(place.get("block r root/work:looks")["output"], 5);
    assert_eq!(place.get("check --data")["ok"], true);
}

/// The item of a chain's state was that of a run that did not count.
#[test]
fn a_chain_that_waited_has_the_item_of_its_state() {
    let place = place();
    answered(&place, "asks");
    let found = items(&place, "state_snapshot");
    let states: Vec<&Value> = found.iter().map(|item| &item["state"]).collect();
    assert_eq!(states, [&json!({ "noted": 1 }); 2], "{found:#?}");
}

/// The head counted a failure that no row shows.
#[test]
fn a_chain_that_failed_and_went_on_has_not_failed() {
    let place = place();
    ask(&place, "run main tries --user ada --session s --request r --input 1", 3);
    assert!(place.run(&["show", "r"]).stdout.contains("1 failed"));
    ask(&place, "resume r", 0);
    let text = place.run(&["show", "r"]).stdout;
    assert!(!text.contains("failed"), "{text}");
    assert_eq!(place.get("show r --tree --filter status:failed")["matches"], 0);
}

/// Of what ended before a resume, and of nothing else, the details say which one kept it.
#[test]
fn a_block_says_which_resume_kept_it() {
    let place = place();
    answered(&place, "asks");
    let kept = |path: &str| place.get(&format!("block r {path}"))["keptBy"].clone();
    let first = json!({ "resume": 1 });
    assert_eq!((kept("root/step:note"), kept("root/step:inner/step:note")), (first.clone(), first));
    assert_eq!((kept("root"), kept("root/step:inner/step:question")), (Value::Null, Value::Null));
    let text = place.run(&["block", "r", "root/step:note"]).stdout;
    assert!(text.contains("\nkept by resume 1\n"), "{text}");
    let fork = place.ask("fork r --at root/step:note").json()["requestId"].as_str().expect("an id").to_owned();
    assert_eq!(place.get(&format!("block {fork} root/step:note"))["keptBy"], "fork");
}

/// What had been written before the fork was told of nobody, and the state of a chain that had ended was left out.
#[test]
fn a_fork_tells_who_wrote_what_it_shares() {
    let place = place();
    ask(&place, "run main two --user ada --session s --request r --input 1", 0);
    let fork = place.ask("fork r --at root/step:inner").json()["requestId"].as_str().expect("an id").to_owned();
    let writers = |path: &str| -> Vec<String> {
        let rows = place.get(&format!("history {fork} --path {path}"));
        let rows = rows.as_array().expect("a list").iter();
        rows.map(|row| format!("{} {}", row["by"].as_str().unwrap_or_default(), row["new"])).collect()
    };
    assert_eq!(writers("sequencer[root].noted"), ["root/step:note 1", "root/step:note~2 2"]);
    assert_eq!(writers("sequencer[root/step:inner].noted"), ["root/step:inner/step:note 1"]);
    let changes = place.get(&format!("diff {fork}"));
    let mut changes: Vec<_> = changes
        .as_array()
        .expect("a list")
        .iter()
        .map(|change| (change["by"].as_str().unwrap_or_default(), change["path"].as_str().unwrap_or_default()))
        .collect();
    changes.sort_unstable();
    assert_eq!(changes, [("root/step:inner/step:note", "noted"), ("root/step:note~2", "noted")]);
    assert_eq!(place.get(&format!("diff r --with {fork}")), json!([]));
    // Its executions have its own ids, also those that it shares.
    let noted = |at: &str, instance: &str| {
        place.get(&format!("state --request {fork}{at}"))["sequencers"][format!("{fork}:{instance}:0")]["noted"].clone()
    };
    assert_eq!((noted("", "root"), noted("", "root/step:inner")), (json!(2), json!(1)));
    let inner = " --at root/step:inner";
    assert_eq!((noted(inner, "root"), noted(inner, "root/step:inner")), (json!(1), json!(1)));
    assert_eq!(place.get("check --data")["ok"], true);
}

/// A chain went on under the name that it had before, so a replay of the code that ended it diverged.
#[test]
fn a_chain_that_was_renamed_begins_anew() {
    let place = place();
    ask(&place, "run main asks --user ada --session s --request r --input 1", 4);
    place.edit(&FLOW.replace("chain(\"asking\")", "chain(\"renamed\")"));
    ask(&place, "resume r --approve", 0);
    let replay = place.get("replay r");
    assert_eq!(replay["identical"], true, "{replay:#}");
    assert_eq!(place.get("check --data")["ok"], true);
}

/// The writer of the other request was named for what the fork's edit had put there.
#[test]
fn a_fork_names_its_edit_as_the_writer() {
    let place = place();
    ask(&place, "run main two --user ada --session s --request r --input 1", 0);
    let id = |line: &str| place.ask(line).json()["requestId"].as_str().expect("an id").to_owned();
    let writers = |request: &str, path: &str| -> Vec<String> {
        let rows = place.get(&format!("history {request} --path {path}"));
        let by = |row: &Value| row["by"].as_str().or(row["operation"].as_str()).unwrap_or_default().to_owned();
        rows.as_array().expect("a list").iter().map(|row| format!("{} {}", by(row), row["new"])).collect()
    };
    let fork = id("fork r --at root/step:inner --set sequencer[root].noted=7 --set user.seen=3");
    let all = ["root/step:note 1", "edit 7", "root/step:note~2 8"];
    assert_eq!(writers(&fork, "sequencer[root].noted"), all);
    assert_eq!(writers(&fork, "user.seen"), ["edit 3"]);
    let again = id(&format!("fork {fork} --at root/step:note~2"));
    assert_eq!(writers(&again, "sequencer[root].noted"), all);
    assert_eq!(writers("r", "sequencer[root].noted"), ["root/step:note 1", "root/step:note~2 2"]);
    let text = place.run(&["history", &fork, "--path", "sequencer[root].noted"]).stdout;
    assert!(text.contains("(the fork's edit)"), "{text}");
}
