//! A request that asks many questions: a resume runs again only the blocks that got an answer. The others go on waiting
//! as they are, and nothing is written of them (SEMANTICS §10.2).

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const ask = (name: string, more = {}) => handler({ name, ...more, execute: async (input: any, ctx: any) => {
  const answer = await ctx.suspend({ reason: "human_input", message: `${name} ${input}`, resumeSchema: z.any(), allow: ["submit", "reject"] });
  return `${input}: ${answer}`;
} });
const ok = (name: string) => handler({ name, execute: (input: any) => input });
const chain = (name: string, more = {}) => sequencer({ name, inputSchema: z.any(), ...more });
const one = ask("one");
const note = handler({ name: "note", execute: async (input: any, ctx: any) => { await ctx.sequencer.pushState("notes", input); await ctx.request.incState({ n: 1 }); ctx.emit.message(`note ${input}`, { agentType: "primary" } as any); return input; } });
const deep = chain("deep", { stateSchema: z.object({ notes: z.array(z.any()).default([]) }), container: { component: "card", label: "Deep" } }).step(note).step(chain("inner").step(ok("before")).step(one)).step(note);
const two = handler({ name: "two", execute: async (_input: any, ctx: any) => {
  const ask = (message: string) => ctx.suspend({ reason: "human_input", message, resumeSchema: z.any(), allow: ["submit"] });
  return (await Promise.all([ask("two 0"), ask("two 1")])).join();
} });
const caller = handler({ name: "caller", execute: async (_input: any, ctx: any) => (await Promise.all([one.run(0, ctx), one.run(1, ctx)])).join() });
const waits = handler({ name: "waits", execute: async (_input: any, ctx: any) => {
  await ctx.suspend({ reason: "human_input", message: "waits", resumeSchema: z.any(), allow: ["submit"] });
  for (let i = 0; i < 400 && !ctx.request.state.n; i++) await new Promise((done) => setTimeout(done, 25));
  return ctx.request.state.n;
} });
const counts = handler({ name: "counts", execute: async (_input: any, ctx: any) => {
  await ctx.suspend({ reason: "human_input", message: "counts", resumeSchema: z.any(), allow: ["submit"] });
  await ctx.request.incState({ n: 1 });
  return "counted";
} });
export default defineFlow({
  kind: "main",
  request: { stateSchema: z.object({ n: z.number().default(0) }) },
  actions: {
    each: { block: chain("top").forEach(one) },
    narrow: { block: chain("top").forEach(one, { maxConcurrency: 2 }) },
    deep: { block: chain("top").forEach(deep).map((all: any) => all.length) },
    work: { block: chain("top").forEachBackground(one).step(ok("last")).waitForWork() },
    two: { block: chain("top").parallel({ two, one }) },
    caller: { block: chain("top").parallel({ caller, one }) },
    rescued: { block: chain("top").parallel({ failed: handler({ name: "failed", rescue: [{ block: one }], execute: () => { throw new Error("no"); } }), one }) },
    both: { block: chain("top").parallel({ waits, counts, chained: chain("chained").step(one) }) },
    choice: { block: chain("top").race([chain("a").step(one), chain("b").step(ask("other"))]) },
  },
});
"#;

fn begun(action: &str, input: &Value) -> Place {
    let place = Place::with_flow(FLOW);
    let answer = place.ask(&format!("run main {action} --user ada --session s --request r --input {input}"));
    assert_eq!(answer.code, Some(4), "{answer}");
    place
}

fn count(place: &Place) -> usize {
    place.get("events r").as_array().expect("a list").len()
}

/// The id of the open question with a message.
#[track_caller]
fn question(place: &Place, message: &str) -> String {
    let all = place.get("suspensions");
    let is_open = |one: &&Value| one["status"] == "pending" && one["message"] == message;
    let open = all.as_array().expect("a list").iter().find(is_open);
    open.and_then(|one| one["id"].as_str()).unwrap_or_else(|| panic!("{message} is not asked: {all:#}")).to_owned()
}

#[track_caller]
fn answered(place: &Place, message: &str) -> Value {
    place.ask(&format!("resume r --suspension {} --submit 1", question(place, message))).json()
}

#[track_caller]
fn is_sound(place: &Place) {
    let replay = place.ask("replay r").json();
    assert_eq!(replay["identical"], true, "{replay:#}");
    assert_eq!(place.get("check --data")["ok"], true);
    let verified = place.ask("verify");
    assert_eq!(verified.code, Some(0), "{verified}");
}

/// How many events a request has that asks so many questions and gets all answers, one by one.
fn events_of(action: &str, questions: usize) -> usize {
    let input: Value = (0..questions).collect();
    let place = begun(action, &input);
    let mut last = json!(null);
    for n in 0..questions {
        last = answered(&place, &format!("one {n}"));
    }
    assert_eq!(last["status"], "completed", "{last:#}");
    is_sound(&place);
    count(&place)
}

#[test]
fn answering_all_questions_takes_events_in_proportion_to_their_number() {
    for action in ["each", "narrow", "deep", "work"] {
        let (few, many) = (events_of(action, 6), events_of(action, 12));
        assert!(many <= 2 * few, "{action}: {few} events for 6 questions, {many} for 12");
    }
}

#[test]
fn a_block_without_an_answer_stays_as_it_is() {
    let place = begun("deep", &json!([0, 1, 2]));
    let last = answered(&place, "one 1");
    assert_eq!(last["status"], "suspended", "{last:#}");
    let resumed = |path: &str| {
        let all = place.get("events r");
        let of = all.as_array().expect("a list").iter().filter(|event| event["path"] == path);
        of.filter(|event| event["kind"] == "block_started" || event["kind"] == "block_resumed").count()
    };
    assert_eq!((resumed("root/forEach:deep[0]"), resumed("root/forEach:deep[1]")), (1, 2));
    assert_eq!(resumed("root/forEach:deep[0]/step:inner/step:one"), 1);
    assert_eq!(place.get("state --request r")["request"]["n"], json!(4));
    // What it showed before it waited is shown, and its container is open.
    let items = place.get("items --request r --type container");
    let statuses: Vec<&Value> = items.as_array().expect("a list").iter().map(|item| &item["status"]).collect();
    assert_eq!(statuses, ["in_progress", "completed", "in_progress"]);
    let said = place.get("items --request r --type message");
    assert_eq!(said.as_array().map(Vec::len), Some(4), "{said:#}");
    is_sound(&place);
    assert_eq!(answered(&place, "one 0")["status"], "suspended");
    let last = answered(&place, "one 2");
    assert_eq!((&last["status"], &last["output"]), (&json!("completed"), &json!(3)), "{last:#}");
    is_sound(&place);
}

#[test]
fn a_plan_names_only_what_runs_again() {
    let place = begun("deep", &json!([0, 1, 2]));
    let id = question(&place, "one 1");
    let plan = place.get(&format!("resume r --suspension {id} --submit 1 --plan"));
    // The chain of all, the branch and the chain in it go on; the handler runs again.
    assert_eq!((&plan["goesOn"], &plan["runsAgain"]), (&json!(3), &json!(1)), "{plan:#}");
    assert_eq!(plan["fromLog"], json!(2), "{plan:#}");
}

#[test]
fn a_block_with_one_of_several_answers_runs_again() {
    let place = begun("two", &json!(2));
    assert_eq!(answered(&place, "two 1")["status"], "suspended");
    is_sound(&place);
    assert_eq!(answered(&place, "two 0")["status"], "suspended");
    let last = answered(&place, "one 2");
    assert_eq!(last["output"], json!({ "two": "1,1", "one": "2: 1" }), "{last:#}");
    is_sound(&place);
}

#[test]
fn blocks_that_functions_and_rescues_ran_are_answered_one_by_one() {
    let place = begun("caller", &json!(2));
    for message in ["one 1", "one 2"] {
        assert_eq!(answered(&place, message)["status"], "suspended");
        is_sound(&place);
    }
    assert_eq!(answered(&place, "one 0")["output"], json!({ "caller": "0: 1,1: 1", "one": "2: 1" }));
    is_sound(&place);
}

#[test]
fn a_handler_of_a_rescue_goes_on_waiting() {
    let place = begun("rescued", &json!(2));
    assert_eq!(answered(&place, "one 2")["status"], "suspended");
    is_sound(&place);
}

#[test]
fn a_no_and_a_race_that_is_won_leave_nothing_open() {
    let place = begun("choice", &json!(7));
    let no = format!("resume r --suspension {} --reject", question(&place, "one 7"));
    assert_eq!(place.ask(&no).json()["status"], "suspended");
    is_sound(&place);
    let last = answered(&place, "other 7");
    assert_eq!(last["output"], json!("7: 1"), "{last:#}");
    is_sound(&place);
}

#[test]
fn edited_code_runs_again() {
    let place = begun("each", &json!([0, 1]));
    place.edit(&FLOW.replace("message: `${name} ${input}`", "message: `${name} now ${input}`"));
    assert_eq!(answered(&place, "one 0")["status"], "suspended");
    // Each asks what the code of today asks.
    assert_eq!(answered(&place, "one now 1")["status"], "suspended");
    assert_eq!(answered(&place, "one now 0")["status"], "completed");
}

#[test]
fn a_fork_asks_for_itself() {
    let place = begun("deep", &json!([0, 1]));
    assert_eq!(answered(&place, "one 0")["status"], "suspended");
    let fork = place.ask("fork r --at root/forEach:deep[0]/step:note").json();
    assert_eq!(fork["status"], "suspended", "{fork:#}");
    let id = fork["requestId"].as_str().expect("an id").to_owned();
    assert_eq!(place.get(&format!("replay {id}"))["identical"], true);
}

/// The first block goes on only when the second one has counted, which waited while it ran.
#[test]
fn a_block_that_waits_is_answered_while_another_one_runs() {
    let place = begun("both", &json!(1));
    let (waits, counts) = (question(&place, "waits"), question(&place, "counts"));
    let one = question(&place, "one 1");
    let going = place.start(&format!("resume r --suspension {waits} --submit 1"));
    place.until("the first block runs again", |place| {
        let begun = place.ask("events r --kind block_started");
        let is_second = |event: &&Value| event["path"] == "root/parallel/waits";
        let is_read = begun.code == Some(0);
        (is_read && begun.json().as_array()?.iter().filter(is_second).count() == 2).then_some(())
    });
    assert_eq!(place.get(&format!("resume r --suspension {one} --submit 1"))["status"], "in_progress");
    assert_eq!(place.get(&format!("resume r --suspension {counts} --submit 1"))["status"], "in_progress");
    let ended = going.ended().json();
    assert_eq!(ended["output"], json!({ "waits": 1, "counts": "counted", "chained": "1: 1" }), "{ended:#}");
    is_sound(&place);
}

/// One of the processes resumes the request, and the answers of the others are taken by it or by the one after it. They
/// were refused.
#[test]
fn answers_that_are_given_at_the_same_time_are_all_taken() {
    for action in ["each", "narrow", "deep"] {
        let place = begun(action, &json!([0, 1, 2]));
        let asked = [0, 1, 2].map(|n| question(&place, &format!("one {n}")));
        let going = asked.map(|id| place.start(&format!("resume r --suspension {id} --submit 1")));
        for answer in going.map(tests::going::Going::ended) {
            assert!(matches!(answer.code, Some(0 | 4)), "{action}: {answer}");
        }
        let shown = place.get("show r");
        assert_eq!(shown["request"]["status"], "completed", "{action}: {shown:#}");
        let all = place.get("suspensions --session s");
        let statuses: Vec<&Value> = all.as_array().expect("a list").iter().map(|one| &one["status"]).collect();
        assert_eq!(statuses, ["submitted"; 3], "{action}: {all:#}");
        is_sound(&place);
    }
}

#[test]
fn a_call_that_still_waits_is_not_written_anew() {
    let place = Place::with_flow(
        r#"
const pay = handler({ name: "pay", inputSchema: z.object({ n: z.number() }), approval: { required: true }, execute: async (call: any) => call.n });
const model: any = { modelId: "own", generateStep: async ({ stepNumber }: any) => stepNumber === 0
  ? { toolCalls: [0, 1, 2].map((n) => ({ toolCallId: `c${n}`, toolName: "pay", args: { n } })) }
  : { text: "paid" } };
export default defineFlow({ kind: "main", actions: { go: { block: generator({ name: "g", model, prompt: "Pay.", tools: [pay] }) } } });
"#,
    );
    place.ask("run main go --user ada --session s --request r");
    let mut last = json!(null);
    for _ in 0..3 {
        let all = place.get("suspensions");
        let open = all.as_array().expect("a list").iter().find(|one| one["status"] == "pending");
        let id = open.and_then(|one| one["id"].as_str()).unwrap_or_else(|| panic!("a question: {all:#}"));
        last = place.ask(&format!("resume r --suspension {id} --approve")).json();
    }
    assert_eq!((&last["status"], &last["output"]), (&json!("completed"), &json!("paid")), "{last:#}");
    // The item of a call belongs to the newest run, with the fields that it has.
    let updates = place.get("events r --kind item_updated");
    let patches: Vec<&Value> =
        updates.as_array().expect("a list").iter().map(|update| &update["payload"]["patch"]).collect();
    assert!(!patches.is_empty() && patches.iter().all(|patch| **patch == json!({})), "{updates:#}");
    is_sound(&place);
}
