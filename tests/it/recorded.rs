//! The answers that the page's recorded host plays, as the engine gives them for the flows of `ui/recorded`.
//!
//! `UPDATE=1 cargo test -p tests --test it -- recorded` writes `ui/src/host/recorded/*.json` anew. Times and the order
//! of what runs beside each other differ from run to run, so a committed answer is stale when its form is another: its
//! fields, their types, the events and the blocks.

mod playing;
mod shape;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

use playing::{Asked, record};
use runner::{
    At, Audience, ComparedQuery, ComparisonHead, Fault, Mock, OpenOptions, RequestQuery, RunOptions, Samples,
    SessionQuery, ViewBatch, Workspace,
};
use serde_json::{Value, json};
use shape::{shape, write_lines};
use tests::bench::{Place, repository};

/// A file that does not load, at its line. It is no file of the folder, because no formatter could read it.
const TRIAGE: &str = "\
import { defineFlow, handler, sequencer } from '@flow-state-dev/core';
import { z } from 'zod';

const sort = handler({
  name: 'sort',
  inputSchema: z.object({ subject: z.string() }),
  execute: async (mail) => (mail.subject.startsWith('Re:') ? 'reply' : 'new'),
});

export default defineFlow({
  kind: 'triage'
  actions: { sort: { block: sequencer({ name: 'triage' }).step(sort) } },
});
";

/// What the models of the recorded flows cost.
const PRICES: &str = r#"{ "prices": { "gpt-5-mini": { "input": 0.25, "cachedInput": 0.025, "output": 2 } } }"#;

/// Filters whose answers are recorded, of each request.
const FILTERS: &[&str] = &[
    "status:failed",
    "status:fail",
    "status:lost",
    "status:failed name:check",
    "status:abandoned name:fetch-page",
    "kind:generator",
    "kind:generator ",
    "kind:g",
    "name:nothing-is-called-so",
];

fn options(flow: &str, action: &str, request: &str, session: &str, input: Value) -> RunOptions {
    RunOptions {
        flow: flow.to_owned(),
        action: action.to_owned(),
        internal: false,
        user: "ada".to_owned(),
        session: Some(session.to_owned()),
        project: (request == "req-2").then(|| "apollo".to_owned()),
        request: Some(request.to_owned()),
        input: Some(input),
        mock: if flow == "stress" { Mock::Off } else { Mock::Beside },
    }
}

fn opened(place: &Place) -> (Arc<Workspace>, Receiver<ViewBatch>) {
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    workspace.watch_data().expect("it can be watched");
    let (sender, batches) = channel();
    workspace.watch_views(move |batch| sender.send(batch).is_ok()).expect("it can be watched");
    (workspace, batches)
}

/// A comparison with its rows: those that differ, and all.
fn rows_of(workspace: &Workspace, head: Result<ComparisonHead, Fault>) -> Value {
    let head = head.expect("it opens");
    let rows = |all: bool| {
        let query = ComparedQuery { offset: 0, limit: 2_000, all };
        workspace.comparison_rows(head.comparison, query).expect("it is open")
    };
    let (shown, all) = (rows(false), rows(true));
    workspace.close_comparison(head.comparison);
    json!({ "head": head, "shown": shown, "all": all })
}

/// What belongs to no request: the folder, its flows and files, lists, and what is refused.
fn of_the_workspace(place: &Place, workspace: &Arc<Workspace>) -> Value {
    let topic = json!({ "topic": "wild bees", "depth": 2, "tone": "plain", "includeSources": true });
    let mut row = json!(workspace.row().expect("it is told"));
    row["dir"] = json!("/home/ada/flows");
    row["name"] = json!("flows");
    row["dataFile"] = json!(".flowglass/flowglass.db");
    let sources = ["flows/chat.ts", "flows/research.ts", "flows/stress.ts", "flows/triage.ts"];
    let sources: serde_json::Map<String, Value> =
        sources.iter().map(|file| ((*file).to_owned(), json!(workspace.source(file).expect("it is there")))).collect();
    let nothing = options("research", "plan", "req-9", "ses-9", json!({ "topic": "nothing" }));
    let unknown = options("research", "lost", "req-9", "ses-9", topic);
    let refused = |options: RunOptions| match workspace.run(options) {
        Err(fault) => json!(fault),
        Ok(_) => panic!("it is refused"),
    };
    let flows = workspace.flows().expect("they are listed");
    let diff = |from: Option<u64>, to: Option<u64>| {
        let (from, to) = (from.map(At::Seq), to.map(At::Seq));
        workspace.diff("req-2", from.as_ref(), to.as_ref(), Some("req-3")).expect("both are there")
    };
    let answers = json!({
        "workspace": row,
        "flows": flows,
        "sources": sources,
        "sessions": workspace.listed_sessions(SessionQuery::default()).expect("they are listed"),
        "requests": workspace.listed_requests(RequestQuery::default()).expect("they are listed"),
        "suspensions": workspace.suspensions(None, None, Samples::default()).expect("they are listed"),
        "stats": workspace.stats().expect("they are counted"),
        "checkData": workspace.check_own_data().expect("it is checked"),
        "compare": diff(None, None),
        "comparison": rows_of(workspace, workspace.open_comparison("req-2", "req-3")),
        "replayed": rows_of(workspace, workspace.open_replay("req-3")),
        "refused": { "nothing": refused(nothing), "unknown": refused(unknown) },
    });
    let text = answers.to_string().replace(&place.dir().display().to_string(), "/home/ada/flows");
    serde_json::from_str(&text).expect("it is JSON")
}

/// Writes what a page of a request would hold beside its answers: the tests of the page compare the two.
fn write_page(place: &Place, workspace: &Workspace, name: &str, request: &str) {
    let file = place.dir().join(format!("{name}.html"));
    let data = "<!--flowglass-data-->";
    workspace.export_html(request, (&file, true), Audience::All, data).expect("it is written");
    let committed = repository().join(format!("ui/src/host/recorded/{name}.page.txt"));
    if std::env::var_os("UPDATE").is_some() {
        std::fs::copy(&file, &committed).expect("writable");
    }
    assert!(committed.is_file(), "run `UPDATE=1 cargo test -p tests --test it -- recorded`");
}

#[test]
fn the_answers_that_the_page_plays_are_of_the_form_that_the_engine_gives() {
    let place = Place::new();
    for file in ["chat.ts", "chat.mock.json", "research.ts", "research.mock.json", "stress.ts"] {
        let from = repository().join("ui/recorded/flows").join(file);
        place.write(&format!("flows/{file}"), std::fs::read(from).expect("it is there"));
    }
    place.write("flows/triage.ts", TRIAGE);
    place.write("flowglass.json", PRICES);
    let (workspace, batches) = opened(&place);
    let topic = |topic: &str| json!({ "topic": topic, "depth": 2, "tone": "plain", "includeSources": true });
    let all = Asked { filters: FILTERS, outline: false };
    let outline = Asked { filters: FILTERS, outline: true };
    let runs = [
        ("chat", options("chat", "send", "req-1", "ses-1", json!("How do I read a run?")), &all),
        ("research", options("research", "plan", "req-2", "ses-2", topic("wild bees")), &all),
        ("failed", options("research", "plan", "req-3", "ses-2", topic("fail")), &all),
        ("stress", options("stress", "run", "req-4", "ses-large", json!({ "turns": 12 })), &outline),
    ];
    let mut answers: Vec<(&str, Value)> =
        runs.into_iter().map(|(name, run, asked)| (name, record(&workspace, &batches, run, asked))).collect();
    answers.push(("workspace", of_the_workspace(&place, &workspace)));
    for (name, request) in [("chat", "req-1"), ("research", "req-2"), ("failed", "req-3"), ("stress", "req-4")] {
        write_page(&place, &workspace, name, request);
    }
    let mut stale = Vec::new();
    for (name, fresh) in answers {
        let file: PathBuf = repository().join(format!("ui/src/host/recorded/{name}.json"));
        if std::env::var_os("UPDATE").is_some() {
            std::fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
            std::fs::write(&file, write_lines(&fresh)).expect("writable");
        }
        let known = std::fs::read_to_string(&file).unwrap_or_else(|_| "{}".to_owned());
        let known: Value = serde_json::from_str(&known).expect("it is JSON");
        let (fresh, known) = (shape(&fresh), shape(&known));
        stale.extend(fresh.symmetric_difference(&known).take(10).map(|line| format!("{name}: {line}")));
    }
    assert!(
        stale.is_empty(),
        "what the page plays is stale: run `UPDATE=1 cargo test -p tests --test it -- recorded`\n{}",
        stale.join("\n")
    );
}
