//! What lists are narrowed by: texts, kinds, statuses, views, limits and offsets. Any of them is answered.
//!
//! An input is one object of JSON.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use runner::{Audience, EventQuery, RequestQuery, Samples, SearchQuery, SessionQuery, Workspace};
use serde_json::{Value, json};
use tests::bench::Place;

use crate::drive::{Target, fuzz};
use crate::edits::hostile_text;
use crate::json_text::quoted;
use crate::workspaces::{action, finished, look_at_view, opened};

const TARGET: Target =
    Target { name: "filter_text", test: "filter_text::any_filter_is_answered", patience: Duration::from_secs(20) };

const FLOW: &str = r#"
const say = handler({ name: "say", inputSchema: z.any(), sessionStateSchema: z.object({ n: z.any() }), execute: async (input, ctx) => {
  console.log("İstanbul ẞ straße %_*", input);
  await ctx.session.patchState({ n: "nÉedle \u{10ffff} \u0000 end" });
  await ctx.session.setMetadata({ title: "100% _sure_ \\ 'quoted'" });
  await ctx.session.appendJournal({ text: "j", tags: ["t"] });
  ctx.emit.message("a needle in a haystack");
  return "y".repeat(5000) + "needle";
} });
const asks = handler({ name: "asks", inputSchema: z.any(), execute: (_, ctx) => ctx.suspend({ reason: "approval" }) });
const fails = handler({ name: "fails", inputSchema: z.any(), execute: () => { throw new Error("needle"); } });
export default defineFlow({ kind: "main", actions: { go: { block: say }, ask: { block: asks }, fail: { block: fails } } });
"#;

const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    3,
    10,
    1_000,
    4_294_967_295,
    4_294_967_296,
    9_007_199_254_740_993,
    i64::MAX as u64,
    i64::MAX as u64 + 1,
    u64::MAX - 1,
    u64::MAX,
    7,
];

const STATUSES: [&str; 12] = [
    "queued",
    "in_progress",
    "suspended",
    "completed",
    "failed",
    "aborted",
    "interrupted",
    "pending",
    "expired",
    "all",
    "client",
    "history",
];

const TEXTS: [&str; 24] = [
    "needle",
    "NEEDLE",
    "nÉe",
    "néE",
    "i",
    "İ",
    "ẞ",
    "ss",
    "ne",
    "n",
    "%",
    "_",
    "\\",
    "'",
    "''",
    "*",
    "needle\"",
    "a needle in a haystack",
    "yyyyyyyyyyyy",
    "state_changed",
    "one",
    "main",
    "ada",
    "\u{0}",
];

fn inputs() -> BoxedStrategy<Vec<u8>> {
    let word = || proptest::sample::select(&TEXTS[..]).prop_map(str::to_owned);
    let text = move || prop_oneof![3 => word(), 2 => hostile_text(), 1 => ".{1,4}"];
    let number = || proptest::option::of(prop_oneof![4 => proptest::sample::select(&NUMBERS[..]), 1 => any::<u64>()]);
    let some = || proptest::option::of(text());
    let chosen = || proptest::option::of(proptest::sample::select(&STATUSES[..]));
    (text(), some(), some(), chosen(), (number(), number(), number(), number()), 0..40_u8)
        .prop_map(|(text, session, kind, status, (limit, offset, from, to), chance)| {
            let told = |text: Option<String>| text.map_or("null".to_owned(), |text| quoted(&text));
            let number = |number: Option<u64>| number.map_or("null".to_owned(), |number| number.to_string());
            format!(
                "{{\"text\":{},\"session\":{},\"kind\":{},\"status\":{},\"limit\":{},\"offset\":{},\"from\":{},\
                 \"to\":{},\"cli\":{}}}",
                quoted(&text),
                told(session),
                told(kind),
                status.map_or("null".to_owned(), quoted),
                number(limit),
                number(offset),
                number(from),
                number(to),
                chance == 0
            )
            .into_bytes()
        })
        .boxed()
}

/// The program itself, where the texts can be arguments at all.
fn command_line(place: &Place, asked: &Value) -> Result<(), String> {
    let arg = |name: &str| match &asked[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let (text, kind, status) = (arg("text"), arg("kind"), arg("status"));
    let (limit, offset, from) = (arg("limit"), arg("offset"), arg("from"));
    if [&text, &kind].iter().any(|text| text.contains('\0') || text.len() > 50_000) {
        return Ok(());
    }
    for words in [
        vec!["search", &text, "--limit", &limit, "--offset", &offset],
        vec!["sessions", "--search", &text, "--status", &status, "--limit", &limit],
        vec!["requests", "--status", &status, "--offset", &offset],
        vec!["items", "--session", "one", "--view", &status, "--type", &kind, "--turns", &limit],
        vec!["items", "--session", "one", "--tokens", &limit],
        vec!["events", "go", "--from", &from, "--type", &kind, "--limit", &limit],
        vec!["suspensions", "--status", &status, "--limit", &limit],
        vec!["journal", "--session", "one", "--tag", &text, "--offset", &offset],
    ] {
        // It panics where the program does.
        let answer = place.run(&words);
        if answer.code.is_none_or(|code| code == 1 && !answer.stderr.contains("flowglass:")) {
            return Err(format!("{words:?}: {answer}"));
        }
    }
    Ok(())
}

fn attempt((place, workspace): &mut (Place, Arc<Workspace>), input: &[u8]) -> Result<(), String> {
    let Ok(asked) = serde_json::from_slice::<Value>(input) else { return Ok(()) };
    let text = |name: &str| asked[name].as_str().map(str::to_owned);
    let number = |name: &str| asked[name].as_u64();
    let (limit, offset) = (number("limit"), number("offset"));
    let wanted = text("text").unwrap_or_default();
    let status = || serde_json::from_value(asked["status"].clone()).ok();
    let is_long = limit.is_none_or(|limit| limit > 10) && offset.is_none_or(|offset| offset == 0);
    let query = SearchQuery { text: wanted.clone(), limit, offset, ..SearchQuery::default() };
    let found = workspace.search(&query);
    if let Ok(found) = &found
        && (wanted == "needle" || wanted == "NEEDLE")
        && is_long
        && found.len() < 3
    {
        return Err(format!("{wanted:?} stands in more than {} places", found.len()));
    }
    let _ = workspace.search(&SearchQuery { session: text("session"), ..query });
    let sessions = |user: Option<String>, flow: Option<String>| {
        workspace.sessions(SessionQuery {
            user,
            flow,
            project: None,
            status: status(),
            search: Some(wanted.clone()),
            limit,
            offset,
            ..SessionQuery::default()
        })
    };
    let told = |fault: runner::Fault| format!("sessions: {fault}");
    sessions(None, None).map_err(told)?;
    sessions(text("session"), text("kind")).map_err(told)?;
    let _ = workspace.requests(RequestQuery {
        session: text("session"),
        status: status(),
        limit,
        offset,
        ..RequestQuery::default()
    });
    workspace
        .requests(RequestQuery { session: None, status: status(), limit, offset, ..RequestQuery::default() })
        .map_err(|fault| format!("requests: {fault}"))?;
    for request in ["go", "ask", "fail"] {
        let query = EventQuery {
            from: number("from"),
            to: number("to"),
            kind: text("kind"),
            path: text("session"),
            limit,
            offset,
        };
        match workspace.events(request, query) {
            // A path that no block has is said to be none.
            Ok(_) | Err(runner::Fault::NotFound { .. }) => {}
            Err(fault) => return Err(format!("events: {fault}")),
        }
        look_at_view(workspace, request, number("from").unwrap_or(0))?;
        workspace.warnings(request, number("from").unwrap_or(0)).map_err(|fault| format!("warnings: {fault}"))?;
    }
    let view: Option<Audience> = serde_json::from_value(asked["status"].clone()).ok();
    workspace
        .items(Some("one"), None, view.unwrap_or(Audience::All), None)
        .map_err(|fault| format!("items: {fault}"))?;
    let _ = workspace.journal("one", text("kind").as_deref());
    let _ = workspace.suspensions(
        text("session").as_deref(),
        serde_json::from_value(asked["status"].clone()).ok(),
        Samples::default(),
    );
    let _ = workspace.source(&wanted).is_ok_and(|text| !text.is_empty());
    if asked["cli"] == true {
        command_line(place, &asked)?;
    }
    Ok(())
}

#[test]
fn any_filter_is_answered() {
    let begin = || {
        let place = Place::with_flow(FLOW);
        let workspace = opened(&place);
        for name in ["go", "ask", "fail"] {
            let wanted = runner::RunOptions {
                request: Some(name.to_owned()),
                session: Some("one".to_owned()),
                input: Some(json!({ "needle": name })),
                ..action("main", name)
            };
            finished(&workspace, workspace.run(wanted).expect("it runs")).expect("it ends");
        }
        (place, workspace)
    };
    fuzz(&TARGET, inputs, begin, attempt);
}
