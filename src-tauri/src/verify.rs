//! The commands about recorded runs as tests: `verify`, `keep`.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use runner::{Cancel, Fault, Notice, Verdict, Verified, VerifiedRun, VerifyProgress, VerifyQuery, Workspace};
use serde_json::json;

use crate::cli::args::{Keep, Verify};
use crate::cli::{Outcome, Stop, exit, say};
use crate::print;
use crate::terminal::{ProgressLine, harmless, print as write, tell};

/// How often it is looked whether watching was cancelled.
const LOOK: Duration = Duration::from_millis(200);
/// How long no file may have been saved before it is verified again.
const SETTLED: Duration = Duration::from_millis(150);
/// How long a burst of saves is waited for at most.
const MAX_BURST: Duration = Duration::from_secs(2);

/// The suite of the runs without a verdict.
const NOT_RUN: &str = "not run";

/// `flowglass verify`.
pub(crate) fn verify(workspace: &Arc<Workspace>, verify: &Verify, as_json: bool) -> Result<Outcome, Stop> {
    if let Some(file) = &verify.junit {
        workspace.check_report_file(file)?;
    }
    let (query, cancel) = (verify.query(), Cancel::default());
    let signals = crate::runs::listen()?;
    signals.stop_with("stopping; repeat to exit at once", {
        let cancel = cancel.clone();
        move || cancel.cancel()
    });
    if verify.watch {
        return watch(workspace, verify, &query, &cancel, as_json);
    }
    let verified = once(workspace, &query, &cancel)?;
    show(&verified, as_json, "");
    // The verdicts are printed by now: a report that cannot be written loses none of them.
    let code = match write_junit(workspace, verify, &verified) {
        Ok(()) => code_of(&verified),
        Err(fault) => {
            tell(&format!("flowglass: {fault}"));
            Stop::from(fault).code
        }
    };
    Ok(Outcome { code, ..Outcome::done(serde_json::Value::Null, String::new()) })
}

fn code_of(verified: &Verified) -> u8 {
    if verified.is_good() { exit::DONE } else { exit::FAILURE }
}

/// Prints verdicts, and in the text what comes after them.
fn show(verified: &Verified, as_json: bool, after: &str) {
    if as_json {
        say(&json!(verified));
    } else {
        write(&harmless(&format!("{}{after}", print::verified(verified))));
    }
}

fn once(workspace: &Arc<Workspace>, query: &VerifyQuery, cancel: &Cancel) -> Result<Verified, Fault> {
    let mut line = ProgressLine::new();
    let verified = workspace.verify(query, cancel, |VerifyProgress { done, of, bad }| {
        line.tell(|| format!("{done} of {of}, {bad} not as they were"));
    });
    line.end();
    verified
}

/// Verifies, and again whenever a file of the workspace changes, until a signal. A round during which a file is saved
/// is cancelled and not shown, so that what is shown last is of the newest save.
fn watch(
    workspace: &Arc<Workspace>,
    verify: &Verify,
    query: &VerifyQuery,
    cancel: &Cancel,
    as_json: bool,
) -> Result<Outcome, Stop> {
    let (changed, changes) = channel();
    let round: Arc<Mutex<Cancel>> = Arc::default();
    workspace.listen({
        let round = round.clone();
        move |notice| {
            if matches!(notice, Notice::Flows { .. }) {
                lock(&round).cancel();
                // Nobody waits any more if this fails.
                let _ = changed.send(());
            }
        }
    });
    workspace.watch_files()?;
    let mut code = exit::FAILURE;
    while !cancel.is_cancelled() {
        let (begin, of_round) = (Instant::now(), cancel.part());
        *lock(&round) = of_round.clone();
        // This round sees what was saved until now; what is saved from now on cancels it.
        while changes.try_recv().is_ok() {}
        let verified = once(workspace, query, &of_round);
        if of_round.is_cancelled() && !cancel.is_cancelled() {
            settle(&changes, cancel);
            continue;
        }
        let shown = verified.and_then(|verified| {
            let seconds = begin.elapsed().as_secs_f64();
            show(&verified, as_json, &format!("in {seconds:.1} s; waiting for a change\n"));
            write_junit(workspace, verify, &verified).map(|()| verified)
        });
        match shown {
            Ok(verified) => code = code_of(&verified),
            // What is half saved now may be whole at the next change.
            Err(fault) => {
                code = exit::FAILURE;
                tell(&format!("flowglass: {fault}"));
            }
        }
        while !cancel.is_cancelled() && changes.recv_timeout(LOOK).is_err() {}
        settle(&changes, cancel);
    }
    Ok(Outcome { code, ..Outcome::done(serde_json::Value::Null, String::new()) })
}

/// Waits for the end of a burst of saves.
fn settle(changes: &Receiver<()>, cancel: &Cancel) {
    let begun = Instant::now();
    while begun.elapsed() < MAX_BURST && !cancel.is_cancelled() && changes.recv_timeout(SETTLED).is_ok() {}
}

fn lock(round: &Mutex<Cancel>) -> MutexGuard<'_, Cancel> {
    round.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `flowglass keep`.
pub(crate) fn keep(workspace: &Workspace, keep: &Keep) -> Result<Outcome, Stop> {
    let kept = workspace.keep(&keep.request, &keep.file, keep.force)?;
    let text = format!("{}: {} bytes\n", kept.file, kept.bytes);
    Ok(Outcome::done(json!(kept), text))
}

/// Writes the verdicts as JUnit's XML, if that is wanted.
fn write_junit<'v>(workspace: &Workspace, verify: &Verify, verified: &'v Verified) -> Result<(), Fault> {
    let Some(file) = &verify.junit else { return Ok(()) };
    // In the order in which they are named.
    let (mut suites, mut numbers): (Vec<TestSuite>, HashMap<&str, usize>) = (Vec::new(), HashMap::new());
    let mut add = |flow: &'v str, case: TestCase| {
        let at = *numbers.entry(flow).or_insert(suites.len());
        if at == suites.len() {
            suites.push(TestSuite::new(flow));
        }
        suites[at].add_test_case(case);
    };
    for run in &verified.results {
        let flow = run.flow.as_deref().unwrap_or("unknown flow");
        add(flow, test_case(flow, run));
    }
    for missing in &verified.missing {
        let mut skipped = TestCaseStatus::skipped();
        skipped.set_message("not run: the verification was cancelled");
        let mut case = TestCase::new(missing.as_str(), skipped);
        case.set_classname(NOT_RUN);
        add(NOT_RUN, case);
    }
    let mut report = Report::new("flowglass verify");
    report.add_test_suites(suites);
    let text = report.to_string().map_err(|error| Fault::Internal { message: error.to_string() })?;
    // Another process may watch the folder.
    if std::fs::read(file).is_ok_and(|written| written == text.as_bytes()) {
        return Ok(());
    }
    workspace.write_report(file, &text)
}

fn test_case(flow: &str, run: &VerifiedRun) -> TestCase {
    let name = run.file.as_ref().or(run.request_id.as_ref()).map_or("", String::as_str);
    let status = match run.verdict {
        Verdict::Same => TestCaseStatus::success(),
        Verdict::Unaffected => {
            let mut skipped = TestCaseStatus::skipped();
            skipped.set_message("its code is the code that ran");
            skipped
        }
        _ if run.accepted => TestCaseStatus::success(),
        verdict => {
            let kind = match verdict {
                Verdict::DoesNotLoad | Verdict::NotComparable => NonSuccessKind::Error,
                _ => NonSuccessKind::Failure,
            };
            let mut failed = TestCaseStatus::non_success(kind);
            failed.set_type(verdict.as_str());
            failed.set_message(print::verdict_line(run));
            failed.set_description(print::both_sides(run));
            failed
        }
    };
    let mut case = TestCase::new(name, status);
    case.set_classname(flow);
    case
}
