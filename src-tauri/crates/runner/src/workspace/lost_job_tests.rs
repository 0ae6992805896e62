//! Requests whose job has ended although its process still runs: they do not stay in progress (ARCHITECTURE §7.4).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::event::{Event, EventKind, Recorded, RequestStatus};
use engine::log::{AppendMode, Lease, Log};

use super::resume::{LastWritten, Next};
use super::{Mock, OpenOptions, Resolution, RunOptions, Workspace};
use crate::run::not_accepted::NotAccepted;
use crate::run::{PriorEvents, Running};

/// Steps that each store much data. Each user runs one request at a time.
const FLOW: &str = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const noise = () => { let x = Math.floor(Math.random() * 2 ** 31); return Array.from({ length: 6000 }, () => (x = (x * 1103515245 + 12345) % 2 ** 31).toString(36)).join(""); };
const fill = handler({ name: "fill", inputSchema: z.any(), execute: async (n, ctx) => { await ctx.session.patchState({ text: noise() }); return n + 1; } });
export default defineFlow({
  kind: "main",
  request: { concurrency: { policy: "reject", key: "user" } },
  session: { stateSchema: z.object({ text: z.string().default("") }) },
  actions: { fill: { block: sequencer({ name: "chain", inputSchema: z.any() }).doUntil((n) => n >= 20, fill) } },
});
"#;

fn place() -> (tempfile::TempDir, Arc<Workspace>) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("flows")).unwrap();
    std::fs::write(dir.path().join("flows/main.ts"), FLOW).unwrap();
    let workspace = open(&dir);
    (dir, workspace)
}

fn open(dir: &tempfile::TempDir) -> Arc<Workspace> {
    Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap()
}

fn fill(workspace: &Workspace, request: &str) -> Running {
    let wanted = RunOptions {
        flow: "main".to_owned(),
        action: "fill".to_owned(),
        user: "ada".to_owned(),
        session: Some("s".to_owned()),
        request: Some(request.to_owned()),
        input: Some(0.into()),
        ..RunOptions::default()
    };
    workspace.run(wanted).unwrap()
}

/// A request that a full disk stopped, while its process and its workspace live on.
fn stopped(workspace: &Workspace, request: &str) {
    let pages = |more: u64| Some((workspace.store.stats().unwrap().bytes / 4096 + more) as u32);
    workspace.store.limit_pages(pages(60));
    let ended = fill(workspace, request).wait().unwrap();
    assert_eq!(ended.status, RequestStatus::Interrupted);
    assert_eq!(workspace.request(request).unwrap().status, RequestStatus::Interrupted);
}

#[test]
fn a_full_disk_leaves_no_request_in_progress() {
    let (dir, workspace) = place();
    stopped(&workspace, "r");
    workspace.store.limit_pages(None);
    // Its key is free, here and elsewhere.
    let other = open(&dir);
    assert_eq!(fill(&other, "beside").wait().unwrap().status, RequestStatus::Completed);
    let resumed = workspace.resume("r", &Mock::Inherit, Resolution::default()).unwrap().wait().unwrap();
    assert_eq!(resumed.status, RequestStatus::Completed);
    stopped(&workspace, "second");
    workspace.store.limit_pages(None);
    assert_eq!(workspace.abort("second").unwrap(), RequestStatus::Aborted);
    stopped(&workspace, "third");
    workspace.store.limit_pages(None);
    workspace.delete_session("s").unwrap();
    assert!(workspace.store.check().unwrap().problems.is_empty());
}

/// The end that a full disk had refused may be written between the reading of the log and the resume. The resume must
/// not be refused with "was just taken up by another process".
#[test]
fn an_end_written_after_the_log_was_read_does_not_stop_a_resume() {
    let (_dir, workspace) = place();
    stopped(&workspace, "r");
    let next = workspace.resuming("r", &Mock::Inherit, Some(Resolution::default())).unwrap();
    let seen = LastWritten::of(&next.before.events);
    assert!(!workspace.end_was_written_after("r", &seen).unwrap());
    workspace.store.limit_pages(None);
    wait_for_its_end(&workspace, "r");
    workspace.begin_next(next).map(drop).unwrap_err();
    assert!(workspace.end_was_written_after("r", &seen).unwrap());
    let resumed = workspace.resume("r", &Mock::Inherit, Resolution::default()).unwrap().wait().unwrap();
    assert_eq!(resumed.status, RequestStatus::Completed);
    // The job that resumed it is another one.
    assert!(!workspace.end_was_written_after("r", &seen).unwrap());
}

/// An answer is passed to the job that runs the request, if there is one.
#[test]
fn a_resume_reports_whether_another_job_runs_the_request() {
    let (dir, workspace) = place();
    stopped(&workspace, "r");
    workspace.store.limit_pages(None);
    wait_for_its_end(&workspace, "r");
    let next = workspace.resuming("r", &Mock::Inherit, Some(Resolution::default())).unwrap();
    // Another job resumes it after its log was read.
    open(&dir).resume("r", &Mock::Inherit, Resolution::default()).unwrap().wait().unwrap();
    assert!(matches!(workspace.start(next).map(drop), Err(NotAccepted::TakenUp(_))));
    // It has ended, and no job runs it.
    let again = workspace.resume_unless_taken_up("r", &Mock::Inherit, Resolution::default());
    assert!(matches!(again.map(drop), Err(NotAccepted::Other(_))));
}

#[test]
fn the_end_of_a_request_is_written_when_the_disk_has_space_again() {
    let (_dir, workspace) = place();
    stopped(&workspace, "r");
    workspace.store.limit_pages(None);
    wait_for_its_end(&workspace, "r");
    assert!(workspace.store.check().unwrap().problems.is_empty());
}

/// Waits until the log has the end of the request.
fn wait_for_its_end(workspace: &Workspace, request: &str) {
    let began = Instant::now();
    while workspace.store.request(request).unwrap().unwrap().status == RequestStatus::InProgress {
        assert!(began.elapsed() < Duration::from_secs(20), "nobody wrote it");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The first event of a request that runs concurrently with others.
fn begun(asked: &engine::request::StartRequest, flow: &engine::flow::Flow) -> Event {
    let kind = EventKind::RequestStarted {
        flow: flow.kind.to_string(),
        action: asked.action.clone(),
        session: asked.session.clone(),
        user: asked.user.clone(),
        project: None,
        ephemeral: false,
        mock: None,
        code_hash: flow.code_hash.clone(),
        input: Recorded::inline(&asked.input),
        retry_of: None,
        trigger: None,
        dispatched_by: None,
        owner: asked.owner.clone(),
        claim: None,
        forked_from: None,
        kept: Vec::new(),
        retention: None,
        cleanup_checkpoints: false,
        time_zone: None,
        foreign: None,
        isolated: Vec::new(),
        user_by_org: false,
        parses_once: true,
    };
    Event { seq: 1, at: 1, path: None, attempt: 0, kind }
}

#[test]
fn a_panic_in_a_job_ends_its_lock() {
    let (_dir, workspace) = place();
    assert_eq!(fill(&workspace, "first").wait().unwrap().status, RequestStatus::Completed);
    let (row, events) = workspace.log_of("first").unwrap();
    let loaded_flow = workspace.with_catalogue(|catalogue| catalogue.find("main")).unwrap();
    let (asked, _) = workspace.asked_before(&row, &events).unwrap();
    let asked = engine::request::StartRequest { request: "r".into(), claim: None, ..asked };
    let store = workspace.store.clone();
    let opening = move |asked: &engine::request::StartRequest, flow: &engine::flow::Flow| {
        let first = begun(asked, flow);
        let lease = Lease::first(asked.owner.as_str());
        futures_executor::block_on(store.append("r", &lease, vec![first], AppendMode::Committed)).unwrap().unwrap();
        assert_eq!(store.liveness(&asked.owner), store::Liveness::Alive);
        panic!("a job of the test")
    };
    let before = PriorEvents { is_parsed: true, opening: Some(Box::new(opening)), ..PriorEvents::default() };
    workspace.start(Next { loaded_flow, asked, script: None, before, calls: None }).map(drop).unwrap_err();
    assert_eq!(workspace.request("r").unwrap().status, RequestStatus::Interrupted);
    assert_eq!(workspace.abort("r").unwrap(), RequestStatus::Aborted);
}

/// Another process compacts the database after a request has stored its code and before its first event refers to it.
#[test]
fn a_compact_does_not_delete_the_code_of_a_request_that_is_about_to_begin() {
    let (dir, workspace) = place();
    assert_eq!(fill(&workspace, "first").wait().unwrap().status, RequestStatus::Completed);
    let (row, events) = workspace.log_of("first").unwrap();
    let loaded_flow = workspace.with_catalogue(|catalogue| catalogue.find("main")).unwrap();
    let (asked, _) = workspace.asked_before(&row, &events).unwrap();
    let asked = engine::request::StartRequest { request: "r".into(), claim: None, ..asked };
    let other = open(&dir);
    other.delete_session("s").unwrap();
    let store = workspace.store.clone();
    let opening = move |asked: &engine::request::StartRequest, flow: &engine::flow::Flow| {
        assert!(store.has_code(&flow.code_hash).unwrap());
        other.store.compact().unwrap();
        assert!(!store.has_code(&flow.code_hash).unwrap());
        // As at the start of a fork, which is resumed like an interrupted request.
        let left = EventKind::RequestStatus { status: RequestStatus::Interrupted };
        let left = Event { seq: 2, at: 1, path: None, attempt: 0, kind: left };
        Ok(vec![begun(asked, flow), left])
    };
    let before = PriorEvents { is_parsed: true, opening: Some(Box::new(opening)), ..PriorEvents::default() };
    let ended =
        workspace.start(Next { loaded_flow, asked, script: None, before, calls: None }).unwrap().wait().unwrap();
    assert_eq!(ended.status, RequestStatus::Completed, "{:?}", ended.error);
    assert!(workspace.code_of("r", None).unwrap().text.contains("doUntil"));
    workspace.store.compact().unwrap();
    workspace.code_of("r", None).unwrap();
    assert!(workspace.store.check().unwrap().problems.is_empty());
}
