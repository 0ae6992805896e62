//! The commands about the inside of blocks: `print`, `step`, `coverage`.

use runner::Workspace;
use serde_json::json;

use crate::cli::args::{Print, Step};
use crate::cli::{Outcome, Stop};
use crate::print;

/// `flowglass print`.
pub(crate) fn print(workspace: &Workspace, asked: Print) -> Result<Outcome, Stop> {
    if let Some(handle) = &asked.open {
        let opened = workspace.open_value(handle)?;
        return Ok(Outcome::done(json!(opened), print::inside::opened(&opened)));
    }
    let query = asked.query();
    let found = workspace.print(&query)?;
    Ok(Outcome::done(json!(found), print::inside::printed(&found, &query.expressions)))
}

/// `flowglass step`.
pub(crate) fn step(workspace: &Workspace, asked: Step) -> Result<Outcome, Stop> {
    let (request, query) = asked.query();
    let at = workspace.step(&request, &query)?;
    Ok(Outcome::done(json!(at), print::inside::instant(&at)))
}

/// `flowglass coverage`.
pub(crate) fn coverage(workspace: &Workspace, request: &str, file: Option<&str>) -> Result<Outcome, Stop> {
    let files = workspace.coverage(request, file)?;
    Ok(Outcome::done(json!(files), print::inside::coverage(&files)))
}
