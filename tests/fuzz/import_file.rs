//! A file to import: all of it is taken in and the database is sound, or nothing is and the database is as before.
//!
//! An input that begins as an export does is a whole file. Any other is the lines of one, which are packed before it
//! is tried, with the number of lines that they have.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use runner::{Audience, RequestQuery, SessionQuery, Workspace};
use serde_json::{Value, json};
use tests::bench::Place;
use tests::exported::{opened, packed};

use crate::drive::{Target, fuzz, seeds};
use crate::edits::{edit, edited, hostile_text};
use crate::json_text::{any_json, quoted};
use crate::workspaces::{look_at, opened as open, options};

const TARGET: Target = Target {
    name: "import_file",
    test: "import_file::any_file_is_taken_in_whole_or_not_at_all",
    patience: Duration::from_secs(30),
};

/// Leaves one of each: durable state, resources, items, fan-outs, an error, a question, a log line, an effect.
const FLOW: &str = r#"
import { defineResource } from "@flow-state-dev/core";
const any = { inputSchema: z.any() };
const note = defineResource({ name: "note", scope: "session", stateSchema: z.object({ text: z.string().default("") }) });
const say = handler({ name: "say", ...any, resources: { note }, sessionStateSchema: z.object({ n: z.number().default(0) }),
  execute: async (input, ctx) => {
    console.log("said", input);
    await ctx.session.incState({ n: 1 });
    await ctx.user.patchState({ last: "x".repeat(3000) });
    await ctx.session.setMetadata({ title: "a talk" });
    await ctx.resources.note.patchState({ text: "t" });
    await ctx.session.appendJournal({ text: "j", tags: ["t"] });
    ctx.emit.message("hello");
    return { input, at: await ctx.runOnce("once", () => 1) };
  } });
const fails = handler({ name: "fails", ...any, execute: () => { throw new Error("no"); } });
const asks = handler({ name: "asks", ...any, execute: (_, ctx) => ctx.suspend({ reason: "approval", message: "sure?" }) });
const chain = sequencer({ name: "chain", ...any, stateSchema: z.object({ done: z.number().default(0) }) })
  .step(say).parallel({ a: say, b: say }).rescue([{ when: [Error], block: say }]);
export default defineFlow({ kind: "main", resources: { note },
  user: { stateSchema: z.object({ last: z.string().default("") }) },
  actions: { go: { block: chain }, fail: { block: fails }, ask: { block: asks } } });
"#;

const WORDS: [&str; 84] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\n",
    "null",
    "true",
    "0",
    "1",
    "-1",
    "2",
    "18446744073709551615",
    "9223372036854775808",
    "1e999",
    "\"\"",
    "\"r\"",
    "\"s\"",
    "\"record\"",
    "\"code\"",
    "\"event\"",
    "\"request\"",
    "\"item\"",
    "\"scope\"",
    "\"version\"",
    "\"state\"",
    "\"hash\"",
    "\"seq\"",
    "\"at\"",
    "\"path\"",
    "\"attempt\"",
    "\"kind\"",
    "\"session\"",
    "\"user\"",
    "\"project\"",
    "\"resource\"",
    "\"root\"",
    "\"root/step:say\"",
    "\"root/parallel/a\"",
    "\"request_started\"",
    "\"request_finished\"",
    "\"request_resumed\"",
    "\"block_started\"",
    "\"block_finished\"",
    "\"state_changed\"",
    "\"state_initialized\"",
    "\"item_emitted\"",
    "\"effect_started\"",
    "\"effect_finished\"",
    "\"logged\"",
    "\"noted\"",
    "\"suspended\"",
    "\"drift\"",
    "\"unheard_of\"",
    "\"commits\"",
    "\"versions\"",
    "\"ops\"",
    "\"rebased\"",
    "\"forked_from\"",
    "\"forkedFrom\"",
    "\"retry_of\"",
    "\"owner\"",
    "\"epoch\"",
    "\"claim\"",
    "\"input\"",
    "\"output\"",
    "\"error\"",
    "\"$payload\"",
    "\"$parts\"",
    "\"$value\"",
    "\"set\"",
    "\"inc\"",
    "\"push\"",
    "\"delete\"",
    "\"patch\"",
    "\"completed\"",
    "\"failed\"",
    "\"in_progress\"",
    "\"suspended\"",
    "\"interrupted\"",
    "\"a:b\"",
    "\"__proto__\"",
];

/// A real export: its bytes, and its lines.
fn export() -> (Vec<u8>, Vec<String>) {
    let place = Place::with_flow(FLOW);
    for (action, session, code) in [("go", "s", 0), ("fail", "s", 3), ("ask", "s", 4), ("go", "s", 0)] {
        let answer = place.ask(&format!("run main {action} --user ada --session {session} --input 1"));
        assert_eq!(answer.code, Some(code), "{answer}");
    }
    place.get("export --session s --out whole.flowglass");
    let file = place.dir().join("whole.flowglass");
    let text = opened(&file);
    let lines = text.lines().skip(2).map(str::to_owned).collect();
    (std::fs::read(file).expect("it is there"), lines)
}

/// One change of the lines of a file.
#[derive(Clone, Debug)]
enum Change {
    Drop(u16),
    Twice(u16, u16),
    Swap(u16, u16),
    Edit(u16, Vec<crate::edits::Edit>),
    /// Another value for some field, which may be deep inside.
    Field(u16, u16, String),
}

fn change() -> BoxedStrategy<Change> {
    let word = || proptest::sample::select(&WORDS[8..]).prop_map(str::to_owned);
    let value = || {
        prop_oneof![2 => any_json(&["kind", "id", "scope", "version"]), 2 => word(),
        1 => hostile_text().prop_map(|text| quoted(&text))]
    };
    prop_oneof![
        1 => any::<u16>().prop_map(Change::Drop),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(line, to)| Change::Twice(line, to)),
        1 => (any::<u16>(), any::<u16>()).prop_map(|(one, other)| Change::Swap(one, other)),
        2 => (any::<u16>(), proptest::collection::vec(edit(&WORDS), 1..3))
            .prop_map(|(line, edits)| Change::Edit(line, edits)),
        8 => (any::<u16>(), any::<u16>(), value()).prop_map(|(line, field, value)| Change::Field(line, field, value)),
    ]
    .boxed()
}

fn changed(mut lines: Vec<Vec<u8>>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let at = |fraction: u16| usize::from(fraction) * lines.len() / 65_536;
        match change {
            _ if lines.is_empty() => {}
            Change::Drop(line) => drop(lines.remove(at(*line))),
            Change::Twice(line, to) => {
                let (line, to) = (lines[at(*line)].clone(), at(*to));
                lines.insert(to, line);
            }
            Change::Swap(one, other) => {
                let (one, other) = (at(*one), at(*other));
                lines.swap(one, other);
            }
            Change::Edit(line, edits) => {
                let line = at(*line);
                lines[line] = edited(&lines[line], edits);
            }
            Change::Field(line, field, value) => {
                let line = at(*line);
                lines[line] = with_field(&lines[line], *field, value);
            }
        }
    }
    lines.join(&b'\n')
}

/// A line in which one value, found by its number, is another text.
fn with_field(line: &[u8], field: u16, text: &str) -> Vec<u8> {
    const MARK: &str = "\u{1}here\u{1}";
    let Ok(mut document) = serde_json::from_slice::<Value>(line) else { return line.to_vec() };
    let count = count(&document);
    let mut at = usize::from(field) * count / 65_536;
    if let Some(place) = nth(&mut document, &mut at) {
        *place = json!(MARK);
    }
    document.to_string().replace(&quoted(MARK), text).into_bytes()
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(fields) => fields.values().map(count).sum(),
        Value::Array(values) => values.iter().map(count).sum(),
        _ => 0,
    }
}

fn nth<'v>(value: &'v mut Value, at: &mut usize) -> Option<&'v mut Value> {
    if *at == 0 {
        return Some(value);
    }
    *at -= 1;
    match value {
        Value::Object(fields) => fields.values_mut().find_map(|value| nth(value, at)),
        Value::Array(values) => values.iter_mut().find_map(|value| nth(value, at)),
        _ => None,
    }
}

/// The file that an input stands for.
fn file_of(input: &[u8]) -> Vec<u8> {
    if input.starts_with(b"flowglass export") {
        return input.to_vec();
    }
    let text = String::from_utf8_lossy(input);
    let text = text.trim_end_matches('\n');
    let (label, rest) = text.split_once('\n').unwrap_or((text, ""));
    match serde_json::from_str::<Value>(label) {
        Ok(Value::Object(mut fields)) if fields.contains_key("lines") => {
            fields["lines"] = json!(rest.lines().count());
            packed(&format!("{}\n{rest}\n", Value::Object(fields)))
        }
        _ => packed(text),
    }
}

/// Everything that a database shows, without its size.
fn everything(workspace: &Workspace) -> Result<Value, String> {
    let told = |fault: runner::Fault| format!("what there is cannot be read: {fault}");
    let stats = workspace.stats().map_err(told)?;
    let sessions = workspace.sessions(SessionQuery::default()).map_err(told)?;
    let requests = workspace.requests(RequestQuery::default()).map_err(told)?;
    let mut states = Vec::new();
    for session in &sessions {
        states.push(json!(workspace.session_state(&session.id).map_err(told)?));
        states.push(json!(workspace.items(Some(&session.id), None, Audience::All, None).map_err(told)?));
    }
    let row = workspace.row().map_err(told)?;
    Ok(json!([stats.events, stats.items, stats.payload_bytes, sessions, requests, states, row.users, row.projects]))
}

/// A database that has a session already, and what it shows.
struct Home {
    place: Place,
    workspace: Arc<Workspace>,
    before: Value,
    /// How many inputs it has taken.
    taken: u32,
}

fn home() -> Home {
    let place = Place::new();
    let workspace = open(&place);
    let synthetic =
        runner::Synthetic { events: 60, requests: 1, seed: 1, shape: runner::Shape::Mixed, rate: None, at_once: 0 };
    workspace.synthesize(&synthetic).expect("a request can be made up");
    let before = everything(&workspace).expect("it can be read");
    Home { place, workspace, before, taken: 0 }
}

fn attempt(home: &mut Home, input: &[u8]) -> Result<(), String> {
    home.place.write("in.flowglass", file_of(input));
    let check = || {
        let checked = Workspace::check_data(&options(home.place.dir())).map_err(|fault| format!("check: {fault}"))?;
        Ok::<_, String>((checked.ok, json!(checked)))
    };
    match home.workspace.import(&home.place.dir().join("in.flowglass")) {
        Err(fault) => {
            let after = everything(&home.workspace)?;
            if after != home.before {
                return Err(format!("refused ({fault}), and something changed: {after}\nwas: {}", home.before));
            }
        }
        Ok(done) => {
            let (ok, checked) = check()?;
            if !ok {
                return Err(format!("imported, and then check --data says {checked}"));
            }
            for request in &done.requests {
                look_at(&home.workspace, request)?;
            }
            everything(&home.workspace)?;
            for session in &done.sessions {
                home.workspace.delete_session(session).map_err(|fault| format!("delete of {session:?}: {fault}"))?;
            }
            let (ok, checked) = check()?;
            if !ok {
                return Err(format!("deleted, and then check --data says {checked}"));
            }
            home.taken += 50;
        }
    }
    home.taken += 1;
    // Users and projects keep their state, so that a database grows by what was imported.
    if home.taken > 500 {
        *home = self::home();
    } else {
        home.before = everything(&home.workspace)?;
    }
    Ok(())
}

#[test]
fn any_file_is_taken_in_whole_or_not_at_all() {
    let inputs = || {
        let (bytes, lines) = export();
        let lines: Vec<Vec<u8>> = lines.into_iter().map(String::into_bytes).collect();
        let mut sets = vec![lines];
        let found = seeds(&["tests/fuzz/corpus/import_file"], "");
        sets.extend(found.iter().map(|text| text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()));
        let by_line = (proptest::sample::select(sets), proptest::collection::vec(change(), 1..4))
            .prop_map(|(lines, changes)| changed(lines, &changes));
        let by_byte = proptest::collection::vec(edit(&WORDS), 1..4).prop_map(move |edits| edited(&bytes, &edits));
        prop_oneof![8 => by_line, 1 => by_byte].boxed()
    };
    fuzz(&TARGET, inputs, home, attempt);
}
