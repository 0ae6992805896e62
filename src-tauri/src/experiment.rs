//! The commands about experiments: `try`, `experiments`, `adopt`, `culprit`.

use std::sync::Arc;

use runner::{Cancel, ExperimentView, StoppedBy, TryProgress, Workspace};
use serde_json::json;

use crate::cli::args::{Adopt, Culprit, Experiments, Try};
use crate::cli::{Outcome, Stop, exit};
use crate::print;
use crate::terminal::{ProgressLine, tell};

/// `flowglass try`.
pub(crate) fn try_out(workspace: &Arc<Workspace>, given: &Try) -> Result<Outcome, Stop> {
    let query = given.query()?;
    if given.plan {
        let plan = match &given.go_on {
            Some(experiment) => workspace.plan_going_on(experiment, &query)?,
            None => workspace.plan_try(&query)?,
        };
        return Ok(Outcome::done(json!(plan), print::try_plan(&plan)));
    }
    let cancel = cancelled_by_signals()?;
    let mut line = ProgressLine::new();
    let progress = |progress: TryProgress| line.tell(|| progress_line(&progress, "samples"));
    workspace.check_may_experiment()?;
    // Print the plan after all checks and before the first call.
    let view = match &given.go_on {
        Some(experiment) => {
            let continuation = workspace.continuation(experiment, &query)?;
            tell(print::try_plan(&workspace.plan_continuation(&continuation)?).trim_end());
            workspace.run_continuation(&continuation, &cancel, progress)
        }
        None => {
            let trial = workspace.trial(&query)?;
            tell(print::try_plan(&workspace.plan_trial(&trial)).trim_end());
            workspace.run_trial(&trial, &cancel, progress)
        }
    };
    line.end();
    finish_dispatched(workspace, &cancel, view.as_ref().is_ok_and(|view| view.stopped.is_some()));
    let view = view?;
    Ok(Outcome { code: code_of(&view), ..Outcome::done(json!(view), print::experiment(&view)) })
}

fn progress_line(TryProgress { done, of, failed, .. }: &TryProgress, what: &str) -> String {
    format!("{done} of {of} {what}, {failed} failed")
}

fn code_of(view: &ExperimentView) -> u8 {
    let has_error = view.arms.iter().chain([&view.base]).any(|arm| arm.error.is_some());
    match view.stopped {
        _ if has_error => exit::FAILURE,
        Some(StoppedBy::Cancelled) => exit::INTERRUPTED,
        Some(StoppedBy::Budget) | None => exit::DONE,
    }
}

/// `flowglass experiments`.
pub(crate) fn experiments(workspace: &Workspace, given: &Experiments) -> Result<Outcome, Stop> {
    if let Some(id) = &given.experiment {
        let view = workspace.experiment(id)?;
        return Ok(Outcome::done(json!(view), print::experiment(&view)));
    }
    let rows = workspace.experiments(given.page.limit.unwrap_or(u64::MAX), given.page.offset.unwrap_or(0))?;
    Ok(Outcome::done(json!(rows), print::experiments(&rows, given.page.limit.is_some() || given.page.offset.is_some())))
}

/// `flowglass adopt`.
pub(crate) fn adopt(workspace: &Workspace, given: &Adopt) -> Result<Outcome, Stop> {
    let adopted = workspace.adopt(&given.experiment, &given.arm, given.write)?;
    let text = print::adopted(&adopted);
    Ok(Outcome::done(json!(adopted), text))
}

/// `flowglass culprit`.
pub(crate) fn culprit(workspace: &Arc<Workspace>, given: &Culprit) -> Result<Outcome, Stop> {
    let cancel = cancelled_by_signals()?;
    workspace.check_may_experiment()?;
    let search = workspace.culprit_search(&given.query())?;
    // Print the plan after all checks and before the first call.
    tell(print::culprit_plan(&workspace.plan_search(&search)).trim_end());
    let mut line = ProgressLine::new();
    let view = workspace.run_search(&search, &cancel, |progress| line.tell(|| progress_line(&progress, "forks")));
    line.end();
    // Requests dispatched by the forks of a search are not needed.
    finish_dispatched(workspace, &cancel, true);
    let view = view?;
    let code = if cancel.is_cancelled() { exit::INTERRUPTED } else { exit::DONE };
    Ok(Outcome { code, ..Outcome::done(json!(view), print::culprit(&view)) })
}

/// Waits for requests that samples dispatched; if the samples were stopped, stops these requests, too.
fn finish_dispatched(workspace: &Workspace, cancel: &Cancel, is_stopped: bool) {
    if is_stopped || cancel.is_cancelled() {
        workspace.stop_dispatched();
    }
    for sent in workspace.finish_dispatched() {
        tell(&print::dispatched(&sent));
    }
}

fn cancelled_by_signals() -> Result<Cancel, Stop> {
    let (cancel, signals) = (Cancel::default(), crate::runs::listen()?);
    signals.stop_with("aborting the running forks; repeat to exit at once", {
        let cancel = cancel.clone();
        move || cancel.cancel()
    });
    Ok(cancel)
}
