//! Requests that are cut short and taken up again, and what must be the same as if nothing had
//! happened.
//!
//! A bed is one folder with the flows of `tests/flows/crash` and a counter of their side effects;
//! every try has a database and a request of its own in it. Must not know how a process dies.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::bench::{Place, repository};
use crate::counting::{Counter, Counts};
use crate::postgres::Postgres;

/// Longer than any of these processes takes that gets anywhere.
const PROCESS_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a difference is cut off.
const LONGEST: usize = 600;

/// The flows with a counter beside them.
pub struct Bed {
    /// The folder.
    pub place: Place,
    /// The flow's kind.
    pub flow: &'static str,
    counter: Counter,
    crasher: PathBuf,
    order: Order,
    server: Option<Postgres>,
}

/// Whether the flow says what it says in one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One block after another.
    Fixed,
    /// Blocks run side by side, and the sums they see on their way are chance.
    Any,
}

/// A request as it should be: what is left when chance, time and names are taken away.
#[derive(Clone, Debug, PartialEq)]
pub struct Essence {
    /// Field by field, so that a difference can be told in a line.
    fields: BTreeMap<&'static str, Value>,
    counts: Counts,
}

/// What one process said of the request at its end.
pub struct Told(Value);

impl Bed {
    /// `crasher` is the program that dies at a commit; every block takes `pause` milliseconds longer.
    pub fn new(flow: &'static str, order: Order, crasher: &Path, pause: u32) -> Bed {
        let counter = Counter::start();
        let place = Place::new().file("flowglass.json", &json!({ "fetch": { "allow": [counter.host()] } }).to_string());
        let read = |name: &str| std::fs::read_to_string(repository().join("tests/flows/crash").join(name));
        let counting = read("lib/counting.ts").expect("the flows are there");
        let told =
            counting.replace("127.0.0.1:0", &counter.host()).replace("PAUSE_MS = 0", &format!("PAUSE_MS = {pause}"));
        assert!(told.contains(&counter.host()) && told.contains(&format!("PAUSE_MS = {pause};")), "{told}");
        place.write("flows/lib/counting.ts", told);
        place.write(&format!("flows/{flow}.ts"), read(&format!("{flow}.ts")).expect("the flow is there"));
        if let Ok(mock) = read(&format!("{flow}.mock.json")) {
            place.write(&format!("flows/{flow}.mock.json"), mock);
        }
        Bed { place, flow, counter, crasher: crasher.to_owned(), order, server: None }
    }

    /// With the databases of all tries on a server.
    pub fn on_server(self, server: Postgres) -> Bed {
        Bed { server: Some(server), ..self }
    }

    /// What a commit survives from now on: `process` or `power`.
    pub fn set_durability(&self, durability: &str) {
        let settings = json!({ "fetch": { "allow": [self.counter.host()] }, "durability": durability });
        self.place.write("flowglass.json", settings.to_string());
    }

    /// The program that dies, on a try's own database. `None` when it died.
    pub fn process(&self, request: &str, words: &[&str]) -> Option<Told> {
        let said = ["out", "err"].map(|end| self.place.dir().join(format!("{request}.{end}")));
        let [out, err] = said.each_ref().map(|file| std::fs::File::create(file).expect("the place is writable"));
        let mut child = Command::new(&self.crasher)
            .arg(self.place.dir())
            .arg(self.data(request))
            .args(words)
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .spawn()
            .expect("the crashing program starts");
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().expect("it can be asked") {
                break status;
            }
            if start.elapsed() > PROCESS_TIMEOUT {
                child.kill().expect("it is there");
                panic!("{}: crash {words:?} does not end; its database is {}", self.flow, self.data(request).display());
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        let [stdout, stderr] = said.map(|file| std::fs::read_to_string(file).expect("it is text"));
        match status.code() {
            Some(0) => Some(Told(serde_json::from_str(&stdout).expect("it prints JSON"))),
            // By a signal: it aborted.
            None => None,
            Some(code) => panic!("crash {words:?} exits with {code}\n{stdout}\n{stderr}"),
        }
    }

    /// The database of a try.
    pub fn data(&self, request: &str) -> PathBuf {
        match &self.server {
            Some(server) => server.address(&format!("try_{request}")).into(),
            None => self.place.dir().join(format!("{request}.db")),
        }
    }

    /// What blocks told the counter so far, by their paths.
    pub fn counts(&self, request: &str) -> Counts {
        self.counter.of(request)
    }

    /// What a request that ran through came to.
    pub fn essence(&self, request: &str, told: &Told) -> Essence {
        let after = &told.0["after"];
        // That it was taken up is the one thing that a resume adds to what is seen.
        let own = list(&after["items"]).iter().filter(|item| item["type"] != "continuation");
        let mut items: Vec<Value> = own.map(|item| self.plain(request, item)).collect();
        if self.order == Order::Any {
            items.sort_by_key(Value::to_string);
        }
        let journal = list(&after["journal"]).iter().map(|entry| without(entry, &["id", "ts"]));
        let state = &after["state"];
        let fields = [
            ("status", after["request"]["status"].clone()),
            ("error", after["request"]["error"].clone()),
            ("output", after["output"].clone()),
            ("items", Value::Array(items)),
            ("journal", journal.collect()),
            ("request state", state["request"].clone()),
            ("session state", state["session"].clone()),
            ("user state", state["user"].clone()),
            ("project state", state["project"].clone()),
            ("versions", without(&state["versions"], &["request"])),
            ("sequencers", by_path(&state["sequencers"], request)),
        ];
        // Sequencers' own versions count what a resume put in force again.
        let mut fields = BTreeMap::from(fields);
        if let Some(Value::Object(versions)) = fields.get_mut("versions") {
            versions.retain(|scope, _| !scope.contains(':'));
        }
        Essence { fields, counts: self.counts(request) }
    }

    /// An item without what differs from run to run.
    fn plain(&self, request: &str, item: &Value) -> Value {
        let mut plain = without(item, &["id", "ts", "seq", "itemIndex", "requestId", "ownedBy"]);
        plain["provenance"] = without(&plain["provenance"], &["blockInstanceId", "attempt"]);
        // Whose state changed, by what outlives an attempt.
        if let Some(instance) = item["blockInstanceId"].as_str() {
            plain["blockInstanceId"] = path_of(instance, request).0.into();
            plain["scopeId"] = Value::Null;
        } else if item["scope"] == "request" {
            plain["scopeId"] = Value::Null;
        }
        if self.order == Order::Any && plain["type"] == "state_change" {
            plain = without(&plain, &["value", "version"]);
        }
        plain
    }
}

impl Essence {
    /// How many side effects there are in all.
    pub fn effects(&self) -> usize {
        self.counts.values().sum()
    }

    /// Blocks that had ended in the first process with another number of side effects than they have.
    pub fn not_once(&self, finished: &Counts) -> Vec<String> {
        let wrong = finished.iter().filter(|(path, count)| self.counts.get(*path) != Some(count));
        wrong.map(|(path, count)| format!("{path} ended with {count} effects")).collect()
    }
}

impl Told {
    /// How many commits the process heard.
    pub fn commits(&self) -> u64 {
        self.0["commits"].as_u64().expect("a run counts commits")
    }

    /// The paths of blocks that had ended before a resume began (or, of a look, have ended now), with
    /// what the counter has of them.
    pub fn finished(&self, counts: &Counts) -> Counts {
        let log = if self.0["before"].is_null() { &self.0["after"] } else { &self.0["before"] };
        let mut newest: BTreeMap<&str, &str> = BTreeMap::new();
        for block in list(&log["blocks"]) {
            newest.insert(text(block, "path"), text(block, "status"));
        }
        let ended = newest.into_iter().filter(|(_, status)| ["completed", "failed"].contains(status));
        ended.filter_map(|(path, _)| Some((path.to_owned(), *counts.get(path)?))).collect()
    }

    /// The status of the request.
    pub fn status(&self) -> &str {
        text(&self.0["after"]["request"], "status")
    }

    /// What is wrong with the numbers of the events.
    fn gap(&self) -> Option<String> {
        let seqs = list(&self.0["after"]["seqs"]);
        let dense = seqs.iter().zip(1..).all(|(seq, expected)| *seq == json!(expected));
        (!dense).then(|| format!("seqs are not dense: {seqs:?}"))
    }
}

/// Everything that differs between a request that was cut short and one that was not. `finished` are
/// side effects of blocks that had ended before a crash, as the counter had them then.
pub fn differences(plain: &Essence, told: &Told, found: &Essence, finished: &Counts) -> Vec<String> {
    let mut wrong: Vec<String> = told.gap().into_iter().collect();
    for (field, expected) in &plain.fields {
        let found = &found.fields[field];
        if found != expected {
            wrong.push(difference(field, expected, found));
        }
    }
    for (path, before) in finished {
        let after = found.counts[path];
        if after != *before {
            wrong.push(format!("{path} had ended with {before} effects and now has {after}"));
        }
    }
    let lost: Vec<&String> = plain.counts.keys().filter(|path| !found.counts.contains_key(*path)).collect();
    let new: Vec<&String> = found.counts.keys().filter(|path| !plain.counts.contains_key(*path)).collect();
    if !lost.is_empty() || !new.is_empty() {
        wrong.push(format!("effects lost: {lost:?}; effects that nobody expects: {new:?}"));
    }
    wrong
}

/// Tells the elements of lists that are on one side only; other values whole. Not longer than can be read.
fn difference(field: &str, expected: &Value, found: &Value) -> String {
    let told = sides(field, expected, found);
    match told.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &told[..end]),
        None => told,
    }
}

fn sides(field: &str, expected: &Value, found: &Value) -> String {
    let (Value::Array(expected), Value::Array(found)) = (expected, found) else {
        return format!("{field}: {found} instead of {expected}");
    };
    let mut extra = found.clone();
    let mut missing = Vec::new();
    for one in expected {
        match extra.iter().position(|other| other == one) {
            Some(at) => drop(extra.remove(at)),
            None => missing.push(one.clone()),
        }
    }
    match (missing.is_empty(), extra.is_empty()) {
        (true, true) => format!("{field}: in another order: {}", Value::Array(found.clone())),
        _ => format!("{field}: missing {}, too many {}", Value::Array(missing), Value::Array(extra)),
    }
}

/// Sequencers' states by path: of each the one that was made last.
fn by_path(sequencers: &Value, request: &str) -> Value {
    let mut newest: BTreeMap<String, (u64, Value)> = BTreeMap::new();
    for (instance, state) in sequencers.as_object().into_iter().flatten() {
        let (path, attempt) = path_of(instance, request);
        let slot = newest.entry(path.to_owned()).or_insert((attempt, state.clone()));
        if slot.0 < attempt {
            *slot = (attempt, state.clone());
        }
    }
    newest.into_iter().map(|(path, (_, state))| (path, state)).collect::<Map<_, _>>().into()
}

/// The path and the attempt of `request:path:attempt`.
fn path_of<'i>(instance: &'i str, request: &str) -> (&'i str, u64) {
    let inner = instance.strip_prefix(request).and_then(|rest| rest.strip_prefix(':'));
    let (path, attempt) = inner.and_then(|inner| inner.rsplit_once(':')).expect("an instance has three parts");
    (path, attempt.parse().expect("an attempt is a number"))
}

fn without(value: &Value, fields: &[&str]) -> Value {
    let mut object = value.as_object().cloned().unwrap_or_default();
    object.retain(|field, _| !fields.contains(&field.as_str()));
    Value::Object(object)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} is missing in {value}"))
}
