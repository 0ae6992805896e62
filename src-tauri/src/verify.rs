//! The commands about recorded runs as tests: `verify`, `keep`.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};
use runner::{Cancel, Fault, Notice, Verdict, Verified, VerifiedRun, VerifyProgress, VerifyQuery, Workspace};
use serde_json::json;

use crate::cli::args::{Keep, Verify};
use crate::cli::{Outcome, Stop, exit, say, tell};
use crate::print;

/// How often a terminal is told how far it is.
const TOLD_EVERY: Duration = Duration::from_millis(200);

/// `flowglass verify`.
pub(crate) fn verify(workspace: &Arc<Workspace>, verify: &Verify, as_json: bool) -> Result<Outcome, Stop> {
    let (query, cancel) = (verify.query(), Cancel::default());
    let signals = crate::runs::listen()?;
    signals.stop_with("ending what runs; once more to end at once", {
        let cancel = cancel.clone();
        move || cancel.cancel()
    });
    if verify.watch {
        return watch(workspace, verify, &query, &cancel, as_json);
    }
    let verified = once(workspace, verify, &query, &cancel)?;
    let code = if verified.is_good() { exit::DONE } else { exit::FAILURE };
    Ok(Outcome { code, ..Outcome::done(json!(verified), print::verified(&verified)) })
}

fn once(workspace: &Arc<Workspace>, verify: &Verify, query: &VerifyQuery, cancel: &Cancel) -> Result<Verified, Fault> {
    let shows = std::io::stderr().is_terminal();
    let mut told = Instant::now();
    let mut is_line_begun = false;
    let progress = |VerifyProgress { done, of, bad }: VerifyProgress| {
        if shows && told.elapsed() >= TOLD_EVERY {
            (told, is_line_begun) = (Instant::now(), true);
            eprint!("\r{done} of {of}, {bad} not as they were");
        }
    };
    let verified = workspace.verify(query, cancel, progress);
    if is_line_begun {
        eprint!("\r\x1b[K");
    }
    let verified = verified?;
    if let Some(file) = &verify.junit {
        write_junit(file, &verified)?;
    }
    Ok(verified)
}

/// Verifies, and again whenever a file of the workspace changes, until a signal.
fn watch(
    workspace: &Arc<Workspace>,
    verify: &Verify,
    query: &VerifyQuery,
    cancel: &Cancel,
    as_json: bool,
) -> Result<Outcome, Stop> {
    let (changed, changes) = channel();
    workspace.listen(move |notice| {
        if matches!(notice, Notice::Flows { .. }) {
            // Nobody waits any more if this fails.
            let _ = changed.send(());
        }
    });
    workspace.watch_files()?;
    let mut code;
    loop {
        let begin = Instant::now();
        match once(workspace, verify, query, cancel) {
            Ok(verified) => {
                code = if verified.is_good() { exit::DONE } else { exit::FAILURE };
                if as_json {
                    say(&json!(verified));
                } else {
                    let seconds = begin.elapsed().as_secs_f64();
                    let text = format!("{}in {seconds:.1} s; waiting for a change\n", print::verified(&verified));
                    crate::cli::print(&print::harmless(&text));
                }
            }
            // What is half saved now may be whole at the next change.
            Err(fault) => {
                code = exit::FAILURE;
                tell(&format!("flowglass: {fault}"));
            }
        }
        loop {
            if cancel.is_cancelled() {
                return Ok(Outcome { code, ..Outcome::done(serde_json::Value::Null, String::new()) });
            }
            if changes.recv_timeout(TOLD_EVERY).is_ok() {
                // A burst of changes is one.
                while changes.try_recv().is_ok() {}
                break;
            }
        }
    }
}

/// `flowglass keep`.
pub(crate) fn keep(workspace: &Workspace, keep: &Keep) -> Result<Outcome, Stop> {
    let kept = workspace.keep(&keep.request, &keep.file, keep.force)?;
    let text = format!("{}: {} bytes\n", kept.file, kept.bytes);
    Ok(Outcome::done(json!(kept), text))
}

/// Writes the verdicts as JUnit's XML.
fn write_junit(file: &Path, verified: &Verified) -> Result<(), Fault> {
    let mut report = Report::new("flowglass verify");
    let mut suites: Vec<(String, TestSuite)> = Vec::new();
    for run in &verified.results {
        let flow = run.flow.clone().unwrap_or_else(|| "unknown flow".to_owned());
        let at = suites.iter().position(|(known, _)| *known == flow).unwrap_or_else(|| {
            suites.push((flow.clone(), TestSuite::new(flow.clone())));
            suites.len() - 1
        });
        suites[at].1.add_test_case(test_case(&flow, run));
    }
    report.add_test_suites(suites.into_iter().map(|(_, suite)| suite));
    let unwritable = |error: &dyn std::fmt::Display| Fault::Invalid {
        message: format!("{} cannot be written ({error}): name a file in a folder that is there", file.display()),
        details: Vec::new(),
    };
    let text = report.to_string().map_err(|error| unwritable(&error))?;
    std::fs::write(file, text).map_err(|error| unwritable(&error))
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
