//! `--plan`: what a resume, a retry or a fork will do, told beforehand, is what then happens.
//!
//! Every resume and fork of the behaviour flows is planned first and compared with its log afterwards (see
//! `flows.rs`); here are the words, the exit codes, and what must not happen while a plan is made.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tests::bench::{Answer, Place};
use tests::server::{Reply, Server};

/// A plan of a command that was made before the command was run.
pub(crate) struct Planned {
    answer: Answer,
    /// The request that the command names.
    request: String,
    /// What it had done until then.
    before: Vec<Value>,
}

impl Planned {
    /// Makes the plan of a command, if it is one that has plans; checks that making it writes nothing.
    pub(crate) fn of(place: &Place, command: &str) -> Option<Planned> {
        let words: Vec<&str> = command.split(' ').collect();
        if !matches!(words.first(), Some(&"resume" | &"retry" | &"fork")) || command.contains("--plan") {
            return None;
        }
        // Flags may stand before it.
        let request = words.iter().find(|word| word.starts_with("req_")).or(words.get(1))?.to_string();
        let before = events(place, &request);
        let sizes = place.ask("stats").stdout;
        let answer = place.ask(&format!("{command} --plan"));
        assert_eq!(place.ask("stats").stdout, sizes, "{command} --plan wrote something\n{answer}");
        Some(Planned { answer, request, before })
    }

    /// Compares it with what the command did.
    pub(crate) fn compare(&self, place: &Place, command: &str, done: &Answer) {
        let planned = self.answer.code;
        // An answer that only a schema within a block's own code refuses: no plan runs that.
        if done.code == Some(2) && done.stdout.contains("\"requestId\"") {
            return;
        }
        let is_refused = matches!(done.code, Some(1 | 2 | 6 | 7));
        if is_refused {
            assert_eq!(planned, done.code, "{command}\nplanned: {}\ndone: {done}", self.answer);
            return;
        }
        assert_eq!(planned, Some(0), "{command}\nplanned: {}\ndone: {done}", self.answer);
        let (plan, result) = (self.answer.json(), done.json());
        let id = result["requestId"].as_str().unwrap_or(&self.request);
        let all = events(place, id);
        let goes_on = if id == self.request {
            all.partition_point(|event| event["seq"].as_u64() <= last(&self.before))
        } else {
            all.iter().rposition(|event| event["kind"] == "request_resumed").unwrap_or(0)
        };
        let happened = Happened::read(&self.before, all.split_at(goes_on));
        let shown = format!("{command}\nplan: {plan:#}\nhappened: {happened:#?}");
        let goes_on = happened.again.intersection(&happened.went_on).count();
        assert_eq!(plan["goesOn"].as_u64().unwrap_or(0), goes_on as u64, "{shown}");
        assert_eq!(plan["runsAgain"], json!(happened.again.len() - goes_on), "{shown}");
        assert_eq!(plan["fromLog"], json!(happened.memoized.len()), "{shown}");
        assert_eq!(plan["modelsAsked"], json!(happened.models), "{shown}");
    }
}

/// What the log shows of a request that went on.
#[derive(Debug, Default)]
struct Happened {
    memoized: BTreeSet<String>,
    again: BTreeSet<String>,
    /// Those that went on as the attempt that they were.
    went_on: BTreeSet<String>,
    models: usize,
}

impl Happened {
    /// `before` is all that the request did; then what the log had of that when it went on, which of a fork is a part
    /// of it and of a retry nothing, and what came after.
    fn read(before: &[Value], (had, after): (&[Value], &[Value])) -> Happened {
        let path = |event: &Value| event["path"].as_str().unwrap_or_default().to_owned();
        let began = |event: &&Value| event["kind"] == "block_started" || event["kind"] == "block_resumed";
        let known: BTreeSet<String> = before.iter().filter(began).map(path).collect();
        let mut happened = Happened::default();
        for event in after {
            if event["kind"] == "block_finished" && event["payload"]["memoized"] == true {
                happened.memoized.insert(path(event));
            }
        }
        let ran = after.iter().filter(began).map(path);
        happened.again = ran.filter(|path| known.contains(path) && !happened.memoized.contains(path)).collect();
        let mut first: BTreeMap<String, bool> = BTreeMap::new();
        for event in after.iter().filter(began) {
            first.entry(path(event)).or_insert(event["kind"] == "block_resumed");
        }
        happened.went_on = first.into_iter().filter_map(|(path, goes_on)| goes_on.then_some(path)).collect();
        // Where operations have moved, all that is taken from the log is recorded again.
        if after.iter().any(|event| event["payload"]["keepsEnded"] == true) {
            // What is kept has no event: it had ended, it did not run, and the block around it did.
            let ran: BTreeSet<String> = after.iter().filter(began).map(path).collect();
            let was_entered = |around: &str| ran.iter().any(|path| is_at_or_inside(path, around));
            let ended = ended(had);
            // The rescue of a block that failed is reached after it.
            let has_failed = |path: &str| ended.get(path).is_some_and(|(_, has_failed)| *has_failed);
            let is_kept = |path: &String, around: Option<&str>| {
                !ran.contains(path) && around.is_none_or(|around| was_entered(around) || has_failed(around))
            };
            let kept = ended.iter().filter(|(path, (around, _))| is_kept(path, around.as_deref()));
            happened.memoized.extend(kept.map(|(path, _)| path.clone()));
        }
        let is_call = |event: &&Value| event["kind"] == "effect_started" && event["payload"]["effect"] == "model";
        happened.models = after.iter().filter(is_call).filter(|event| happened.again.contains(&path(event))).count();
        happened
    }
}

fn is_at_or_inside(path: &str, around: &str) -> bool {
    path.strip_prefix(around).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The blocks that a resume keeps if it reaches them, each with the path of the block around it, and whether it failed.
fn ended(events: &[Value]) -> BTreeMap<String, (Option<String>, bool)> {
    let (mut around, mut ended) = (BTreeMap::new(), BTreeMap::new());
    for event in events {
        let (Some(path), payload) = (event["path"].as_str(), &event["payload"]) else { continue };
        match event["kind"].as_str() {
            Some("block_started") => {
                let parent = payload["parent"].as_str().and_then(|parent| parent.rsplit_once(':'));
                around.insert(path, parent.map(|(parent, _)| parent.to_owned()));
                ended.remove(path);
            }
            Some("block_finished") if payload["outcome"] == "completed" || payload["caught"].is_string() => {
                let around = around.get(path).cloned().flatten();
                ended.insert(path.to_owned(), (around, payload["outcome"] == "failed"));
            }
            Some("block_finished") if payload["error"].is_object() && payload["outcome"] == "abandoned" => {
                ended.retain(|other, _| !is_at_or_inside(other, path));
            }
            Some("block_finished") => drop(ended.remove(path)),
            _ => {}
        }
    }
    ended
}

fn events(place: &Place, request: &str) -> Vec<Value> {
    let answer = place.ask(&format!("events {request}"));
    if answer.code == Some(0) { answer.json().as_array().cloned().unwrap_or_default() } else { Vec::new() }
}

fn last(events: &[Value]) -> Option<u64> {
    events.last().and_then(|event| event["seq"].as_u64())
}

/// Two steps that end, one that fails as long as the user says so, and a generator before it.
const FAILS: &str = r#"
const step = (name) => handler({ name, inputSchema: z.any(), execute: async (input) => input });
const pay = handler({
  name: "pay",
  inputSchema: z.any(),
  execute: async (input, ctx) => { throw new Error("no money"); },
});
export default defineFlow({
  kind: "main",
  actions: {
    go: {
      block: sequencer({ name: "all", inputSchema: z.any() })
        .step(step("first"))
        .step(generator({ name: "plan", model: "tiny", prompt: "Plan.", user: "Go" }))
        .step(step("second"))
        .step(pay)
        .step(step("last")),
    },
  },
});
"#;
const MOCK: &str = r#"{ "generators": { "plan": [{ "text": "one" }, { "text": "two" }] } }"#;

fn failed() -> (Place, String) {
    let place = Place::with_flow(FAILS).file("flows/main.mock.json", MOCK);
    let answer = place.ask("run main go --user ada --input 1 --mock");
    assert_eq!(answer.code, Some(3), "{answer}");
    let request = answer.json()["requestId"].as_str().expect("an id").to_owned();
    (place, request)
}

#[test]
fn a_resume_says_beforehand_what_it_takes_and_what_it_runs() {
    let (place, request) = failed();
    let plan = place.get(&format!("resume {request} --plan"));
    assert_eq!(plan, json!({ "fromLog": 3, "goesOn": 1, "runsAgain": 1, "modelsAsked": 0, "mayHaveHappened": [] }));
    let text = place.run(&["resume", &request, "--plan"]).stdout;
    let runs = "goes on: 1 block\n  root\nruns again: 1 block\n  root/step:pay\n";
    assert!(text.starts_with(&format!("taken from the log: 3 blocks\n{runs}models asked: 0 calls by ")), "{text}");
    assert!(text.ends_with("blocks that have never run are not counted, nor the models they ask\n"), "{text}");
}

/// A chain that is taken as a whole counts once, and what is inside of it is told beside.
#[test]
fn a_plan_says_how_many_blocks_are_inside_of_those_from_the_log() {
    let place = Place::with_flow(
        r#"
const step = (name) => handler({ name, inputSchema: z.any(), execute: async (input) => input });
const chain = (name) => sequencer({ name, inputSchema: z.any() });
const breaks = handler({ name: "breaks", inputSchema: z.any(), execute: async () => { throw new Error("no"); } });
export default defineFlow({ kind: "main", actions: { go: { block: chain("all")
  .step(chain("inner").step(step("one")).step(chain("deep").step(step("two")))).step(step("three")).step(breaks) } } });
"#,
    );
    assert_eq!(place.ask("run main go --user ada --input 1 --request r").code, Some(3));
    let plan = place.get("resume r --plan");
    assert_eq!((&plan["fromLog"], &plan["insideFromLog"]), (&json!(2), &json!(3)), "{plan}");
    let text = place.run(&["resume", "r", "--plan"]).stdout;
    assert!(text.starts_with("taken from the log: 2 blocks, with the 3 inside them\n"), "{text}");
}

/// The step that failed stands before those that had ended: they are taken from the log behind it, by a resume and by a
/// fork.
#[test]
fn a_plan_counts_what_comes_from_the_log_behind_a_step_that_was_moved_to_the_front() {
    const MOVED: &str = r#"
const step = (name) => handler({ name, inputSchema: z.any(), execute: async (input) => input });
const inner = sequencer({ name: "inner", inputSchema: z.any() }).step(step("deep")).step(step("deeper"));
const breaks = handler({ name: "breaks", inputSchema: z.any(), execute: async (input) => { BODY } });
export default defineFlow({ kind: "main", actions: { go: { block: sequencer({ name: "all", inputSchema: z.any() })CHAIN } } });
"#;
    let code = |body: &str, chain: &str| {
        let text = MOVED.replace("BODY", body).replace("CHAIN", chain);
        format!(
            "import {{ defineFlow, handler, sequencer }} from \"@flow-state-dev/core\";\nimport {{ z }} from \"zod\";\n{text}"
        )
    };
    let steps = ".step(step(\"one\")).step(inner).step(step(\"two\"))";
    let failing = code("throw new Error(\"no\");", &format!("{steps}.step(breaks).step(step(\"last\"))"));
    let mended = code("return input;", &format!(".step(breaks){steps}.step(step(\"last\"))"));
    for command in ["resume r", "fork r --at root/step:two"] {
        let place = Place::new().file("flows/main.ts", &failing);
        assert_eq!(place.ask("run main go --user ada --input 1 --request r").code, Some(3));
        place.write("flows/main.ts", &mended);
        let planned = Planned::of(&place, command).expect("it has a plan");
        let plan = planned.answer.json();
        assert_eq!((&plan["fromLog"], &plan["insideFromLog"]), (&json!(3), &json!(2)), "{command}: {plan}");
        let done = place.ask(command);
        assert_eq!(done.code, Some(0), "{command}: {done}");
        planned.compare(&place, command, &done);
    }
    // Steps before it in the chain of today are no others than before.
    let place = Place::new().file("flows/main.ts", &failing);
    assert_eq!(place.ask("run main go --user ada --input 1 --request r").code, Some(3));
    assert_eq!(place.get("resume r --plan")["fromLog"], 3);
}

#[test]
fn a_retry_runs_all_of_it_and_asks_every_model() {
    let (place, request) = failed();
    let command = format!("retry {request} --mock");
    let planned = Planned::of(&place, &command).expect("a retry has a plan");
    let plan = planned.answer.json();
    assert_eq!((&plan["fromLog"], &plan["runsAgain"], &plan["modelsAsked"]), (&json!(0), &json!(5), &json!(1)));
    planned.compare(&place, &command, &place.ask(&command));
    let text = place.run(&["retry", &request, "--plan", "--mock"]).stdout;
    assert!(text.contains("models asked: 1 call by what runs again\n  root/step:plan\n"), "{text}");
}

#[test]
fn a_fork_takes_what_is_before_its_step() {
    let (place, request) = failed();
    for command in [
        format!("fork {request} --at root/step:first"),
        format!("fork {request} --at root/step:plan --output \"three\""),
        format!("fork {request} --at root/step:pay"),
    ] {
        let planned = Planned::of(&place, &command).expect("a fork has a plan");
        planned.compare(&place, &command, &place.ask(&command));
    }
}

#[test]
fn code_that_does_not_fit_is_told_as_the_resume_would() {
    let (place, request) = failed();
    // Another kind of block at a path that ended.
    let other = ".step(sequencer({ name: \"first\", inputSchema: z.any() }).step(step(\"inner\")))";
    place.edit(&FAILS.replace(".step(step(\"first\"))", other));
    let planned = place.ask(&format!("resume {request} --plan"));
    let done = place.ask(&format!("resume {request}"));
    assert_eq!((planned.code, done.code), (Some(7), Some(7)), "{planned}\n{done}");
    assert_eq!(planned.json()["error"]["name"], "ReplayDriftError");
    assert_eq!(planned.json()["error"], done.json()["error"]);
    // A step that is new is no drift, and what ended behind it is still taken.
    place.edit(&FAILS.replace(".step(step(\"second\"))", ".step(step(\"new\")).step(step(\"second\"))"));
    let command = format!("resume {request}");
    let planned = Planned::of(&place, &command).expect("a resume has a plan");
    let text = place.run(&["resume", &request, "--plan"]).stdout;
    assert!(text.contains("\nnew: 1 block\n  root/step:new\n"), "{text}");
    planned.compare(&place, &command, &place.ask(&command));
    // One that is gone is not taken.
    let (place, request) = failed();
    place.edit(&FAILS.replace(".step(step(\"second\"))", ""));
    let command = format!("resume {request}");
    let planned = Planned::of(&place, &command).expect("a resume has a plan");
    planned.compare(&place, &command, &place.ask(&command));
}

/// The step that was gone was counted as taken from the log, and named nowhere.
#[test]
fn a_plan_names_what_is_reused_new_and_gone() {
    let check = |from: &str, to: &str, reused: &[&str], orphaned: &[&str], new: &[&str]| {
        let (place, request) = failed();
        place.edit(&FAILS.replace(from, to));
        let plan = place.get(&format!("resume {request} --plan"));
        let paths = |steps: &[&str]| steps.iter().map(|step| json!(format!("root/step:{step}"))).collect::<Value>();
        let list = |name: &str| plan.get(name).cloned().unwrap_or(json!([]));
        assert_eq!(list("reused"), paths(reused), "{plan}");
        assert_eq!(list("orphaned"), paths(orphaned), "{plan}");
        assert_eq!(list("new"), paths(new), "{plan}");
        assert_eq!(plan["fromLog"], reused.len(), "{plan}");
        let text = place.run(&["resume", &request, "--plan"]).stdout;
        let gone = orphaned.iter().map(|step| format!("  root/step:{step}\n")).collect::<String>();
        assert_eq!(text.contains("gone from the flow, not used"), !orphaned.is_empty(), "{text}");
        assert!(text.contains(&gone), "{text}");
        let command = format!("resume {request}");
        let planned = Planned::of(&place, &command).expect("a resume has a plan");
        planned.compare(&place, &command, &place.ask(&command));
    };
    let second = ".step(step(\"second\"))";
    check(second, ".step(step(\"renamed\"))", &["first", "plan"], &["second"], &["renamed"]);
    check(second, "", &["first", "plan"], &["second"], &[]);
    check(
        second,
        ".step(sequencer({ name: \"in\" }).step(step(\"second\")))",
        &["first", "plan"],
        &["second"],
        &["in", "in/step:second"],
    );
}

#[test]
fn what_is_wrong_with_a_command_is_wrong_with_its_plan() {
    let (place, request) = failed();
    for command in ["resume nobody", "retry nobody", "fork nobody --at 3"] {
        assert_eq!(place.ask(&format!("{command} --plan")).code, Some(6), "{command}");
    }
    assert_eq!(place.ask(&format!("fork {request} --at 99999 --plan")).code, Some(6));
    assert_eq!(place.ask(&format!("resume {request} --approve --plan")).code, Some(7));
}

/// A page that was asked for, and whose answer never came.
#[test]
fn a_plan_names_what_may_have_happened() {
    let server = Server::start([Reply::body("text/plain", "ok").hang()]);
    let source = format!(
        "const pay = handler({{ name: \"pay\", execute: async () => {{ await fetch(\"{}/pay\"); }} }});
const all = sequencer({{ name: \"all\" }}).step(pay);
export default defineFlow({{ kind: \"main\", actions: {{ go: {{ block: all }} }} }});",
        server.address()
    );
    let settings = json!({ "fetch": { "allow": [server.host()] } }).to_string();
    let place = Place::with_flow(&source).file("flowglass.json", &settings);
    place.get("check");
    let going = place.start("run main go --user ada --request r1");
    place.until("the page is asked", |_| (!server.asked().is_empty()).then_some(()));
    going.kill();
    let plan = place.get("resume r1 --plan");
    assert_eq!(plan["mayHaveHappened"], json!([{ "path": "root/step:pay", "kind": "fetch", "ordinal": 0 }]));
    assert_eq!((&plan["goesOn"], &plan["runsAgain"]), (&json!(1), &json!(1)));
    let text = place.run(&["resume", "r1", "--plan"]).stdout;
    assert!(text.contains("\nmay have happened, and will be made again:\n  fetch #0 of root/step:pay\n"), "{text}");
    // Nobody was asked for that.
    assert_eq!(server.asked().len(), 1);
}

/// A loop of an agent may ask its models more often; one without models asks none.
#[test]
fn a_loop_without_models_asks_none() {
    let flow = r#"
const count = handler({ name: "count", inputSchema: z.any(), execute: async (n) => {
  if (n === 2) throw new Error("two");
  return n + 1;
} });
const chain = sequencer({ name: "chain", inputSchema: z.any() }).doUntil((n) => n >= 4, count);
export default defineFlow({ kind: "main", actions: { go: { block: chain } } });
"#;
    let place = Place::with_flow(flow);
    let failed = place.ask("run main go --user ada --input 0");
    let request = failed.json()["requestId"].as_str().expect("an id").to_owned();
    let plan = place.get(&format!("resume {request} --plan"));
    assert_eq!((&plan["modelsAsked"], &plan["mayAskMore"]), (&0.into(), &Value::Null), "{plan}");
    let examples = Place::with_examples();
    let asked = examples.ask(r#"run refund ask --user ada --input {"order":"17"} --mock"#);
    let request = asked.json()["requestId"].as_str().expect("an id").to_owned();
    let plan = examples.get(&format!("resume {request} --approve --plan"));
    assert_eq!(plan["mayAskMore"], true, "{plan}");
}
