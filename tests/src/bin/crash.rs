//! A process that dies when it is told to: it runs or resumes a request through the workspace, and
//! aborts at the n-th commit it hears. What a crash leaves behind is then real, and the product has
//! no switch for it.
//!
//! `crash DIR DATA run FLOW REQUEST [N]` runs the flow's action `go` (an agent's `message`); `crash DIR DATA resume REQUEST [N]`
//! goes on with a request that was interrupted; `crash DIR DATA look REQUEST` changes nothing. Who
//! lives to tell prints what the log holds then, as one JSON document. It must not look at the
//! database but through the workspace.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use runner::{Audience, DataPlace, EventQuery, Mock, Notice, OpenOptions, Resolution, RunOptions, Workspace};
use serde_json::{Value, json};

const USER: &str = "ada";
const SESSION: &str = "talk";
const PROJECT: &str = "team";

fn main() -> anyhow::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [dir, data, doing @ ..] = words.as_slice() else { bail!("crash DIR DATA run|resume …") };
    let workspace = Workspace::open(OpenOptions {
        dir: dir.into(),
        data: Some(DataPlace::parse(data.as_ref()).map_err(anyhow::Error::msg)?),
        ..OpenOptions::default()
    })?;
    match doing {
        ["run", flow, request, rest @ ..] => {
            let commits = die_at(&workspace, rest)?;
            // An agent is told something in its one action.
            let is_agent = flow.starts_with("agent");
            let (action, input) = if is_agent { ("message", json!({ "content": "begin" })) } else { ("go", json!(1)) };
            let options = RunOptions {
                flow: (*flow).to_owned(),
                action: action.to_owned(),
                internal: false,
                user: USER.to_owned(),
                session: Some(SESSION.to_owned()),
                project: Some(PROJECT.to_owned()),
                request: Some((*request).to_owned()),
                input: Some(input),
                mock: Mock::Beside,
            };
            workspace.run(options)?.wait()?;
            let after = look(&workspace, request)?;
            println!("{}", json!({ "commits": commits.load(Ordering::SeqCst), "after": after }));
        }
        ["resume", request, rest @ ..] => {
            let before = look_at_dead(&workspace, request)?;
            die_at(&workspace, rest)?;
            // The last commit of all leaves nothing to do.
            if before["request"]["status"] == "interrupted" {
                workspace.resume(request, &Mock::Inherit, Resolution::default())?.wait()?;
            }
            println!("{}", json!({ "before": before, "after": look(&workspace, request)? }));
        }
        ["look", request] => println!("{}", json!({ "after": look(&workspace, request)? })),
        _ => bail!("{doing:?} is none of `run FLOW REQUEST [N]`, `resume REQUEST [N]`, `look REQUEST`"),
    }
    Ok(())
}

/// What is left of a request whose process died. A server may notice only after a moment that the process is gone, at
/// the latest when its lease is over; until then the request counts as running, and nobody may resume it.
fn look_at_dead(workspace: &Workspace, request: &str) -> anyhow::Result<Value> {
    let mut seen = look(workspace, request)?;
    for _ in 0..200 {
        if seen["request"]["status"] != "in_progress" {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
        seen = look(workspace, request)?;
    }
    Ok(seen)
}

/// Counts commits from here on, and ends the process at the one that is named.
fn die_at(workspace: &Workspace, number: &[&str]) -> anyhow::Result<Arc<AtomicU64>> {
    let last = number.first().map(|number| number.parse::<u64>()).transpose().context("N is a number")?;
    let commits = Arc::new(AtomicU64::new(0));
    let heard = commits.clone();
    // On the writing thread, right after the commit.
    workspace.listen(move |notice| {
        if let Notice::Request { .. } = notice
            && Some(heard.fetch_add(1, Ordering::SeqCst) + 1) == last
        {
            std::process::abort();
        }
    });
    Ok(commits)
}

/// Everything a person could see of a request.
fn look(workspace: &Workspace, request: &str) -> anyhow::Result<Value> {
    let shown = workspace.show(request)?;
    let events = workspace.events(request, EventQuery::default())?;
    Ok(json!({
        "request": shown.request,
        "output": shown.output,
        "blocks": shown.blocks,
        "seqs": events.iter().map(|event| event.seq).collect::<Vec<_>>(),
        "items": workspace.items(None, Some(request), Audience::Client, None)?,
        "state": workspace.state_at(request, None)?,
        "journal": workspace.journal(SESSION, None)?,
    }))
}
