//! Lists that leave out samples of experiments, and say on standard error how many there are and how to see them.

use engine::suspension::SuspensionStatus;
use runner::{Fault, HitRow, RunsQuery, Samples, SearchQuery, SessionQuery, SessionRow, SuspensionRow, Workspace};

use crate::terminal::tell;

/// What a list does with samples: it leaves them out, or has them `only`.
pub(crate) fn samples(only: bool) -> Samples {
    if only { Samples::Only } else { Samples::LeftOut }
}

/// Says that a list of requests leaves samples out.
pub(crate) fn tell_requests(workspace: &Workspace, query: &RunsQuery) -> Result<(), Fault> {
    let count = workspace.samples_left_out(query)?;
    hint(count, ["experiment sample", "experiment samples"], "hidden; use --filter is:sample");
    Ok(())
}

/// Sessions.
pub(crate) fn sessions(workspace: &Workspace, query: SessionQuery) -> Result<Vec<SessionRow>, Fault> {
    let count = workspace.sessions_left_out(&query)?;
    let found = workspace.sessions(query)?;
    hint(count, ["sample session", "sample sessions"], "hidden; use --samples");
    Ok(found)
}

/// Questions.
pub(crate) fn suspensions(
    workspace: &Workspace,
    session: Option<&str>,
    status: Option<SuspensionStatus>,
    only_samples: bool,
) -> Result<Vec<SuspensionRow>, Fault> {
    let samples = samples(only_samples);
    let found = workspace.suspensions(session, status, samples)?;
    let count = workspace.suspensions_left_out(session, status, samples)?;
    hint(count, ["sample question", "sample questions"], "hidden; use --samples");
    Ok(found)
}

/// Places of a text.
pub(crate) fn search(workspace: &Workspace, query: &SearchQuery) -> Result<Vec<HitRow>, Fault> {
    let found = workspace.search(query)?;
    let count = workspace.samples_not_searched(query)?;
    hint(count, ["experiment sample", "experiment samples"], "not searched; use --samples to search only those");
    Ok(found)
}

fn hint(count: u64, [one, several]: [&str; 2], rest: &str) {
    if count > 0 {
        tell(&format!("{count} {} {rest}", if count == 1 { one } else { several }));
    }
}
