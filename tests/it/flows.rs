//! Behaviour tests as flow files: `tests/flows/<topic>.ts` is a flow as a user would write it, and
//! `<topic>.cases.json` beside it has the expected results of its actions.
//!
//! A case is a few runs in a session of its own, and what the program shows afterwards:
//!
//! ```json
//! { "name": "…", "about": "given, when, then",
//!   "runs": [{ "action": "chat", "input": 1, "mock": { "generators": {} }, "status": "completed", "output": 2 }],
//!   "then": [{ "command": "items --session {session} --view client", "expect": [] }] }
//! ```
//!
//! `user`, `session` and `project` of a run are names within the case; a session of `null` is an ephemeral one.
//! In a command, `{asked:may I}` is the newest question of the case with that message.
//! A status is the request's, or `refused` where there is none. `output` and `expect` are patterns,
//! `error.message` is a part of the message, `without` a text that must not be shown. Must not know
//! more of a topic than its name: its content is in the two files.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::{Value, json};
use tests::bench::{Answer, Place, repository};
use tests::laid_out;
use tests::pattern::assert_matches;

use crate::plans::Planned;

/// One test for each topic, so that topics run side by side and a failure says which one it is; and
/// one that compares the topics with the files.
macro_rules! topics {
    ($($test:ident: $topic:literal,)*) => {
        const TOPICS: &[&str] = &[$($topic),*];
        $(
            #[test]
            fn $test() {
                check($topic);
            }
        )*
    };
}

topics! {
    agents_absent: "agents-absent",
    agents_hooks: "agents-hooks",
    agents_human: "agents-human",
    agents_steady: "agents-steady",
    agents_two: "agents-two",
    agents_writes: "agents-writes",
    agents_wrong: "agents-wrong",
    acts_approval: "acts-approval",
    acts_errors: "acts-errors",
    acts_protocol: "acts-protocol",
    acts_reach: "acts-reach",
    acts_references: "acts-references",
    acts_roles: "acts-roles",
    acts_secrets: "acts-secrets",
    aliases: "aliases",
    background: "background",
    capabilities: "capabilities",
    chains: "chains",
    conflicts: "conflicts",
    containers: "containers",
    decisions: "decisions",
    definitions: "definitions",
    dispatch: "dispatch",
    entries: "entries",
    errors: "errors",
    evaluators: "evaluators",
    every_export: "every-export",
    external_collections: "external-collections",
    fanout: "fanout",
    gates: "gates",
    generators: "generators",
    guide_items: "guide-items",
    guide_resources: "guide-resources",
    guide_scopes: "guide-scopes",
    guide_sequencer_state: "guide-sequencer-state",
    history: "history",
    history_window: "history-window",
    hook_inputs: "hook-inputs",
    hooks: "hooks",
    instances: "instances",
    isolation: "isolation",
    items: "items",
    languages: "languages",
    lists: "lists",
    loops: "loops",
    middleware: "middleware",
    nested_runs: "nested-runs",
    never: "never",
    node: "node",
    once: "once",
    orgs: "orgs",
    own_models: "own-models",
    own_state: "own-state",
    reactions: "reactions",
    rejections: "rejections",
    relay: "relay",
    rescue: "rescue",
    resource_visibility: "resource-visibility",
    resources: "resources",
    resume: "resume",
    retention: "retention",
    routes: "routes",
    session: "session",
    step_options: "step-options",
    suspension: "suspension",
    suspension_answers: "suspension-answers",
    suspension_places: "suspension-places",
    targets: "targets",
    texts: "texts",
    thrown: "thrown",
    timers: "timers",
    tool_approval: "tool-approval",
    tools: "tools",
    tools_as_steps: "tools-as-steps",
    utilities: "utilities",
    waiting: "waiting",
    writes: "writes",
    zod_four: "zod-four",
}

/// What a case, a run and a look may say; anything else is a typo that would test nothing.
const CASE: [&str; 4] = ["name", "about", "runs", "then"];
const RUN: [&str; 9] = ["action", "input", "user", "session", "project", "mock", "status", "output", "error"];
const LOOK: [&str; 4] = ["command", "exit", "expect", "without"];

/// The user, session and project of a run that names none.
const USER: &str = "ada";
const SESSION: &str = "talk";
const PROJECT: &str = "team";

fn folder() -> PathBuf {
    repository().join("tests/flows")
}

fn read(name: &str) -> String {
    let path = folder().join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a field.
#[track_caller]
fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} is missing in {value}"))
}

/// The elements of a field that may be missing.
fn list<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value[field].as_array().map_or(&[], Vec::as_slice)
}

#[track_caller]
fn knows(value: &Value, fields: &[&str]) {
    let object = value.as_object().unwrap_or_else(|| panic!("{value} is not an object"));
    for field in object.keys() {
        assert!(fields.contains(&field.as_str()), "{field:?} is none of {fields:?} in {value}");
    }
}

/// The names of one case: its users, sessions and projects end in its number, so that no two cases
/// meet, and its requests are known by the order they ran in.
struct Names {
    case: usize,
    requests: Vec<String>,
}

impl Names {
    fn own(&self, name: &str) -> String {
        format!("{name}-{}", self.case)
    }

    /// The value with `{session}`, `{user:bob}`, `{request}` (the last) and `{request:1}` replaced.
    fn fill(&self, value: &Value) -> Value {
        let mut filled = String::new();
        let written = value.to_string();
        let mut rest = written.as_str();
        while let Some(start) = rest.find('{') {
            let end = rest[start..].find('}').map(|length| start + length);
            match end.and_then(|end| Some((end, self.named(&rest[start + 1..end])?))) {
                Some((end, name)) => {
                    filled += &rest[..start];
                    filled += &name;
                    rest = &rest[end + 1..];
                }
                None => {
                    filled += &rest[..=start];
                    rest = &rest[start + 1..];
                }
            }
        }
        filled += rest;
        serde_json::from_str(&filled).expect("names need no escapes")
    }

    /// What a placeholder stands for; `None` for anything that is no placeholder.
    fn named(&self, placeholder: &str) -> Option<String> {
        let (kind, name) = match placeholder.split_once(':') {
            Some((kind, name)) => (kind, Some(name)),
            None => (placeholder, None),
        };
        match kind {
            "user" => Some(self.own(name.unwrap_or(USER))),
            "session" => Some(self.own(name.unwrap_or(SESSION))),
            "project" => Some(self.own(name.unwrap_or(PROJECT))),
            "request" => match name {
                None => self.requests.last().cloned(),
                Some(number) => self.requests.get(number.parse::<usize>().ok()?.checked_sub(1)?).cloned(),
            },
            _ => None,
        }
    }
}

/// Writes a folder of these tests beside the flows of a place, with the folders in it.
fn write_folder(place: &Place, name: &str) {
    for entry in std::fs::read_dir(folder().join(name)).into_iter().flatten().flatten() {
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            write_folder(place, &name);
        } else {
            place.write(&format!("flows/{name}"), read(&name));
        }
    }
}

/// Tries every case of a topic and fails with all that went wrong.
fn check(topic: &str) {
    let place = Place::new().file(&format!("flows/{topic}.ts"), &read(&format!("{topic}.ts")));
    // The files that a topic's flow names lie in a folder of the topic's name.
    write_folder(&place, topic);
    let loaded = place.ask("check");
    assert_eq!(loaded.code, Some(0), "{topic}.ts does not load\n{loaded}");
    let flow = loaded.json()[0].clone();
    let cases: Vec<Value> = serde_json::from_str(&read(&format!("{topic}.cases.json"))).expect("a list of cases");
    let mut wrong = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        knows(case, &CASE);
        let tried = std::panic::catch_unwind(|| one(&place, text(&flow, "kind"), number, case));
        if let Err(reason) = tried {
            let reason = reason.downcast_ref::<String>().and_then(|reason| reason.lines().next()).unwrap_or_default();
            wrong.push(format!("- {}: {}\n  {reason}", text(case, "name"), text(case, "about")));
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases of {topic} fail:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    every_action_is_run(&flow, &cases);
    let data = place.ask("check --data");
    assert_eq!(data.code, Some(0), "the database is not what its events say\n{data}");
    crate::request_views::items_are_those_of_the_log(&place);
    probes_change_nothing(&place, topic);
    blocks_alone_say_the_same(&place, topic);
    kept_runs_are_the_same(&place, topic);
}

/// How many requests of a topic are kept: each is a process. In the database all of them are verified.
const KEPT: usize = 8;

/// What is kept as a file does what it did, without the database that it was recorded in.
fn kept_runs_are_the_same(place: &Place, topic: &str) {
    let verified = place.ask("verify --all");
    assert_eq!(verified.code, Some(0), "{topic}: verified in the database\n{verified}");
    let counts = verified.json();
    for other in ["unaffected", "asksNew", "doesNotLoad", "notComparable"] {
        assert_eq!(counts[other], json!(0), "{topic}: {other}\n{verified}");
    }
    let mut args = vec!["--json".to_owned(), "verify".to_owned()];
    let requests = place.get("requests");
    let requests: Vec<&Value> = requests.as_array().into_iter().flatten().collect();
    // Some of all cases, not those of the last one.
    let step = requests.len().div_ceil(KEPT).max(1);
    for (nth, request) in requests.into_iter().step_by(step).enumerate() {
        let (id, file) = (text(request, "id"), format!("kept/{nth}.run"));
        std::fs::create_dir_all(place.dir().join("kept")).expect("the place is writable");
        place.get(&format!("keep {id} --as {file}"));
        args.push(file);
    }
    let verified = place.run(&args);
    assert_eq!(verified.code, Some(0), "{topic}: verified as files\n{verified}");
}

/// Code with probes does what the log says: nothing differs from the recording, in whatever request.
fn probes_change_nothing(place: &Place, topic: &str) {
    let file = format!("flows/{topic}.ts");
    let requests = place.get("requests --limit 1");
    let covered = place.get(&format!("coverage {}", text(&requests[0], "id")));
    let of_file = covered.as_array().into_iter().flatten().find(|covered| covered["file"] == *file);
    // A flow of ready-made blocks alone has no statement.
    let Some(line) = of_file.and_then(|covered| covered["lines"][0]["line"].as_u64()) else { return };
    let printed = place.get(&format!("print {file}:{line} undefined --limit 1000000"));
    assert_eq!(printed["notAsked"], json!([]), "{topic}: probes change what a request does");
}

/// How many requests of a topic, and lines of each, are asked in both ways: each question is a process.
const ASKED: usize = 2;

/// Some of a list, from its beginning to its end.
fn some<T>(all: Vec<T>) -> impl Iterator<Item = T> {
    let step = all.len().div_ceil(ASKED).max(1);
    all.into_iter().step_by(step)
}

/// A question that runs only the blocks it is about has the answer of one that runs the whole request.
fn blocks_alone_say_the_same(place: &Place, topic: &str) {
    let file = format!("flows/{topic}.ts");
    let requests = place.get("requests");
    for request in some(requests.as_array().cloned().unwrap_or_default()) {
        let id = text(&request, "id");
        let covered = place.ask(&format!("coverage {id} --file {file}"));
        if covered.code != Some(0) {
            continue;
        }
        let covered = covered.json();
        let lines = covered.as_array().into_iter().flatten().flat_map(|covered| list(covered, "lines"));
        let reached = lines.filter(|line| line["hits"].as_u64() > Some(0)).map(|line| line["line"].clone());
        for line in some(reached.collect()) {
            let ask = |how: &str| {
                let mut answer = place.get(&format!("print {file}:{line} undefined --request {id} --limit 5{how}"));
                if let Some(answer) = answer.as_object_mut() {
                    answer.remove("ran");
                    // That of a whole request is not known if the limit ended it.
                    answer.remove("total");
                    answer.remove("totalIsAtLeast");
                }
                answer
            };
            let printed = ask("");
            assert_eq!(printed, ask(" --alone"), "{topic}: print at line {line} of {id}");
            let Some(hit) = list(&printed, "hits").last() else { continue };
            let at = format!("{}#{}+{}", text(hit, "path"), hit["attempt"], hit["tick"]);
            let step = |how: &str| place.get(&format!("step {id} --at {at}{how}"));
            assert_eq!(step(""), step(" --alone"), "{topic}: step at {at} of {id}");
        }
    }
}

fn one(place: &Place, flow: &str, number: usize, case: &Value) {
    let mut names = Names { case: number, requests: Vec::new() };
    for run in list(case, "runs") {
        knows(run, &RUN);
        let what = format!("{} ({})", text(case, "name"), text(run, "action"));
        let answer = start(place, flow, &names, run);
        let found = answer.json();
        names.requests.push(found["requestId"].as_str().unwrap_or_default().to_owned());
        assert_eq!(ended(&answer, &found), text(run, "status"), "{what}\n{answer}");
        if let Some(output) = run.get("output") {
            assert_matches(&what, &found["output"], &names.fill(output));
        }
        if let Some(error) = run.get("error") {
            assert_fails(&what, &found["error"], &names.fill(error));
        }
    }
    for look in list(case, "then") {
        knows(look, &LOOK);
        let look = names.fill(look);
        let command = &name_questions(place, &names, text(&look, "command"));
        let what = format!("{}: flowglass {command}", text(case, "name"));
        let planned = Planned::of(place, command);
        let answer = place.ask(command);
        if let Some(planned) = planned {
            planned.compare(place, command, &answer);
        }
        let exit = look["exit"].as_i64().unwrap_or(0);
        assert_eq!(answer.code.map(i64::from), Some(exit), "{what}\n{answer}");
        if let Some(pattern) = look.get("expect") {
            assert_matches(&what, &answer.json(), pattern);
        }
        if let Some(never) = look["without"].as_str() {
            assert!(!answer.stdout.contains(never), "{what} shows {never:?}\n{answer}");
        }
    }
    // Whatever a request did, it does again when it is replayed; the others are replayed by `verify` in one process.
    if let Some(request) = names.requests.iter().rfind(|request| !request.is_empty()) {
        let answer = place.ask(&format!("replay {request}"));
        assert_eq!(answer.code, Some(0), "{}: the replay of {request}\n{answer}", text(case, "name"));
    }
}

/// A command with the ids of the questions it names by their messages.
fn name_questions(place: &Place, names: &Names, command: &str) -> String {
    let Some((before, rest)) = command.split_once("{asked:") else { return command.to_owned() };
    let (message, after) = rest.split_once('}').expect("a question is named within braces");
    let asked = place.get(&format!("suspensions --session {}", names.own(SESSION)));
    let question = asked.as_array().and_then(|all| all.iter().find(|one| one["message"] == message));
    let id = question.unwrap_or_else(|| panic!("nobody asked {message:?}: {asked:#}"));
    name_questions(place, names, &format!("{before}{}{after}", text(id, "id")))
}

/// Runs an action as a case says; the replies of its models, if any, are its mock script.
fn start(place: &Place, flow: &str, names: &Names, run: &Value) -> Answer {
    let mut words = vec!["run".to_owned(), flow.to_owned(), text(run, "action").to_owned(), "--json".to_owned()];
    let mut say = |flag: &str, value: String| words.extend([flag.to_owned(), value]);
    say("--user", names.own(run["user"].as_str().unwrap_or(USER)));
    // A session that is null is none: the program makes an ephemeral one.
    if let Some(session) = run.get("session").map_or(Some(SESSION), Value::as_str) {
        say("--session", names.own(session));
    }
    if let Some(project) = run["project"].as_str() {
        say("--project", names.own(project));
    }
    if let Some(input) = run.get("input") {
        say("--input", names.fill(input).to_string());
    }
    if let Some(mock) = run.get("mock") {
        place.write("mock.json", mock.to_string());
        words.push("--mock=mock.json".to_owned());
    }
    place.run(&words)
}

/// How a run ended. A request that never came to be is `refused`; of the others, exit code and
/// status must say the same.
#[track_caller]
fn ended(answer: &Answer, found: &Value) -> String {
    let status = found["status"].as_str().unwrap_or("refused");
    let code = match status {
        "completed" => vec![0],
        "failed" => vec![3],
        "suspended" => vec![4],
        "refused" => vec![2, 7],
        _ => vec![5],
    };
    assert!(answer.code.is_some_and(|found| code.contains(&found)), "{status} exits with {code:?}\n{answer}");
    status.to_owned()
}

/// An error as expected: the message holds the expected text, every other field is the same.
#[track_caller]
fn assert_fails(what: &str, found: &Value, expected: &Value) {
    let mut pattern = expected.as_object().cloned().unwrap_or_default();
    if let Some(Value::String(part)) = pattern.remove("message") {
        let message = found["message"].as_str().unwrap_or_default();
        assert!(message.contains(&part), "{what}: the message {message:?} does not contain {part:?}");
    }
    pattern.insert("…".to_owned(), json!(0));
    assert_matches(what, found, &Value::Object(pattern));
}

#[track_caller]
fn every_action_is_run(flow: &Value, cases: &[Value]) {
    let run: BTreeSet<&str> = cases.iter().flat_map(|case| list(case, "runs")).map(|run| text(run, "action")).collect();
    let idle: Vec<&str> =
        list(flow, "actions").iter().map(|action| text(action, "name")).filter(|name| !run.contains(name)).collect();
    assert!(idle.is_empty(), "no case of {} runs {idle:?}", text(flow, "kind"));
}

#[test]
fn every_topic_has_a_flow_and_its_cases() {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(folder()).expect("tests/flows is there").flatten() {
        // Folders hold helper files of a topic, and flows of other tests.
        if entry.path().is_file() {
            files.insert(entry.file_name().to_string_lossy().into_owned());
        }
    }
    let expected: BTreeSet<String> =
        TOPICS.iter().flat_map(|topic| [format!("{topic}.ts"), format!("{topic}.cases.json")]).collect();
    assert_eq!(files, expected, "each topic of this test is a flow and its cases, and nothing else lies there");
}

#[test]
fn every_case_has_a_name_of_its_own() {
    for topic in TOPICS {
        let cases: Vec<Value> = serde_json::from_str(&read(&format!("{topic}.cases.json"))).expect("a list of cases");
        let names: BTreeSet<&str> = cases.iter().map(|case| text(case, "name")).collect();
        assert_eq!(names.len(), cases.len(), "two cases of {topic} have one name");
    }
}

/// `UPDATE=1 cargo test -p tests --test it -- one_fact_a_line` lays the files out anew.
#[test]
fn every_case_file_has_one_fact_a_line() {
    let mut wrong = Vec::new();
    for topic in TOPICS {
        let name = format!("{topic}.cases.json");
        let found = read(&name);
        let cases: Vec<Value> = serde_json::from_str(&found).expect("a list of cases");
        let laid_out = laid_out::list(&cases, &["runs", "then"]);
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(folder().join(&name), &laid_out).expect("our own file");
        } else if found != laid_out {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "run UPDATE=1 cargo test -p tests --test it -- one_fact_a_line: {wrong:?}");
}
