//! Places that somebody names: of a record, of a block, of an instant. Each is found or refused in words, and none
//! changes what is there.
//!
//! An input is lines of two or three texts as JSON: the question and its arguments.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use runner::{At, Edits, Mock, Workspace};
use serde_json::{Value, json};
use tests::bench::Place;

use crate::drive::{Target, fuzz};
use crate::edits::{Edit, edit, edited, hostile_text};
use crate::json_text::{any_json, quoted};
use crate::workspaces::{action, finished, opened};

const TARGET: Target = Target {
    name: "scope_paths",
    test: "scope_paths::any_place_is_found_or_refused",
    patience: Duration::from_secs(30),
};

const FLOW: &str = r#"
const any = { inputSchema: z.any() };
const say = handler({ name: "say [a/b]", ...any, sessionStateSchema: z.object({ list: z.array(z.any()).default([]), deep: z.any() }),
  execute: async (input, ctx) => {
    await ctx.session.pushState("list", { "a.b": 1, "[0]": [1, 2] });
    await ctx.user.patchState({ "é \"quoted\"": { x: 1 }, last: input });
    await ctx.sequencer.patchState({ done: true });
    return input;
  } });
const chain = sequencer({ name: "chain", ...any, stateSchema: z.object({ done: z.any() }) }).step(say).parallel({ a: say, b: say }).map((x) => [1, 2]).forEach(say);
export default defineFlow({ kind: "main", actions: { go: { block: chain } } });
"#;

/// Places that are there, from which others are made.
const PLACES: [&str; 20] = [
    "session",
    "session.list",
    "session.list[0]",
    "session.list[0][\"a.b\"]",
    "session.list.0",
    "user[\"é \\\"quoted\\\"\"].x",
    "user.last",
    "request",
    "project.x",
    "sequencer.done",
    "sequencer[root].done",
    "block[root/step:say [a/b]].x",
    "resource.note.text",
    "root",
    "root/step:say [a/b]",
    "root/parallel/a",
    "root/forEach[0]",
    "1",
    "7",
    "r:root:0",
];

const WORDS: [&str; 36] = [
    ".",
    "..",
    "[",
    "]",
    "[0]",
    "[-1]",
    "[1e9]",
    "[18446744073709551616]",
    "[\"",
    "\"]",
    "\"",
    "\\",
    "\\u0000",
    "\\ud800",
    "=",
    "/",
    ":",
    "~",
    "%",
    "%25",
    "session",
    "user",
    "project",
    "org",
    "request",
    "sequencer",
    "block",
    "self",
    "resource",
    "root",
    "step:",
    "list",
    "__proto__",
    "length",
    " ",
    "*",
];

fn place() -> BoxedStrategy<String> {
    prop_oneof![
        6 => (proptest::sample::select(&PLACES[..]), proptest::collection::vec(edit(&WORDS), 0..4))
            .prop_map(|(place, edits): (&str, Vec<Edit>)| {
                String::from_utf8_lossy(&edited(place.as_bytes(), &edits)).into_owned()
            }),
        2 => proptest::collection::vec(proptest::sample::select(&WORDS[..]), 0..8).prop_map(|words| words.concat()),
        1 => hostile_text(),
    ]
    .boxed()
}

fn inputs() -> BoxedStrategy<Vec<u8>> {
    let asked =
        proptest::sample::select(&["history", "state", "diff", "block", "source", "output", "input", "cli"][..]);
    let line = prop_oneof![
        6 => (asked, place(), place())
            .prop_map(|(asked, one, other)| format!("[{asked:?},{},{}]", quoted(&one), quoted(&other))),
        1 => (place(), any_json(&WORDS)).prop_map(|(place, value)| format!("[\"set\",{},{}]", quoted(&place), value)),
    ];
    proptest::collection::vec(line, 1..4).prop_map(|lines| lines.join("\n").into_bytes()).boxed()
}

/// As the command line reads it.
fn at(text: &str) -> At {
    text.parse().map_or_else(|_| At::Path(text.to_owned()), At::Seq)
}

fn fork(workspace: &Arc<Workspace>, place: &At, edits: Edits) -> Result<(), String> {
    let Ok(running) = workspace.fork("r", place, edits, &Mock::Inherit) else { return Ok(()) };
    let (request, session) = (running.request_id.clone(), running.session_id.clone());
    finished(workspace, running)?;
    crate::workspaces::look_at(workspace, &request)?;
    workspace.delete_session(&session).map(drop).map_err(|fault| fault.to_string())
}

/// The program itself, where the text can be an argument at all.
fn command_line(place: &Place, one: &str, other: &str) -> Result<(), String> {
    if one.contains('\0') || other.contains('\0') || one.len() + other.len() > 50_000 {
        return Ok(());
    }
    for words in [
        vec!["history", "r", "--path", one],
        vec!["state", "--request", "r", "--at", one],
        vec!["diff", "r", "--from", one, "--to", other],
        vec!["fork", "r", "--at", "root/step:say [a/b]", "--set", one],
    ] {
        // It panics where the program does.
        let answer = place.run(&words);
        if answer.code.is_none_or(|code| code == 1 && !answer.stderr.contains("flowglass:")) {
            return Err(format!("{words:?}: {answer}"));
        }
    }
    Ok(())
}

fn attempt((place, workspace, calls): &mut (Place, Arc<Workspace>, u32), input: &[u8]) -> Result<(), String> {
    for line in input.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
        let text = |at: usize| line[at].as_str().unwrap_or_default();
        let (one, other) = (text(1), text(2));
        // What is refused is answered too.
        match text(0) {
            "history" => drop(workspace.history("r", one)),
            "state" => drop(workspace.request_state("r", Some(&at(one)))),
            "diff" => drop(workspace.diff("r", Some(&at(one)), Some(&at(other)), Some("r"))),
            "block" => drop(workspace.block("r", one)),
            "source" => drop(workspace.code_of("r", Some(one))),
            "input" => fork(workspace, &at(one), Edits { input: Some(json!(other)), ..Edits::default() })?,
            "output" => fork(workspace, &at(one), Edits { output: Some(json!(other)), ..Edits::default() })?,
            "set" => {
                let set = vec![(one.to_owned(), line[2].clone())];
                fork(workspace, &At::Path("root/step:say [a/b]".to_owned()), Edits { set, ..Edits::default() })?;
            }
            "cli" => {
                *calls += 1;
                // Four processes take as long as a hundred of the others.
                if calls.is_multiple_of(8) {
                    command_line(place, one, other)?;
                }
            }
            _ => {}
        }
    }
    let shown = workspace.show("r").map_err(|fault| fault.to_string())?;
    if shown.request.status.is_terminal() && !shown.blocks.is_empty() {
        Ok(())
    } else {
        Err("the request is another".to_owned())
    }
}

#[test]
fn any_place_is_found_or_refused() {
    let begin = || {
        let place = Place::with_flow(FLOW);
        let workspace = opened(&place);
        let wanted = runner::RunOptions {
            request: Some("r".to_owned()),
            session: Some("s".to_owned()),
            input: Some(json!(1)),
            ..action("main", "go")
        };
        let ended = finished(&workspace, workspace.run(wanted).expect("it runs")).expect("it ends");
        assert!(ended.error.is_none(), "{:?}", ended.error);
        (place, workspace, 0)
    };
    fuzz(&TARGET, inputs, begin, attempt);
}
