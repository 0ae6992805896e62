//! The commands that list requests of all sessions, and tag them: `requests`, `tag`.

use runner::{RunRow, Tags, Workspace};
use serde_json::json;

use crate::cli::args::{Requests, Tag};
use crate::cli::{Outcome, Stop};
use crate::print;

/// `flowglass requests`.
pub(crate) fn requests(workspace: &Workspace, asked: Requests, json: bool) -> Result<Outcome, Stop> {
    let mut runs = workspace.runs_with_totals(&asked.query())?;
    // Each costs about a replay, and only the JSON shows it.
    if json {
        let mut rows: Vec<_> = runs.iter().map(|run| run.row.clone()).collect();
        workspace.judge_resumes(&mut rows)?;
        runs.iter_mut().zip(rows).for_each(|(run, row)| run.row = row);
    }
    Ok(Outcome::done(json!(runs), print::requests(&runs)))
}

/// `flowglass tag`.
pub(crate) fn tag(workspace: &Workspace, asked: Tag) -> Result<Outcome, Stop> {
    let request = asked.request.clone();
    let tags = workspace.tag(&request, &asked.changes())?;
    let text = shown(&tags);
    Ok(Outcome::done(json!(tags), text))
}

fn shown(tags: &Tags) -> String {
    let mut text = String::new();
    text.extend(tags.title.as_ref().map(|title| format!("{title}\n")));
    let listed = if tags.tags.is_empty() { "no tags".to_owned() } else { tags.tags.join(" ") };
    text.push_str(&format!("{}: {listed}\n", tags.request_id));
    text.extend(tags.note.as_ref().map(|note| format!("\n{note}\n")));
    text
}

/// What a list shows of a run's subject: its title, or the first words of its input.
pub(crate) fn subject(run: &RunRow) -> &str {
    run.title.as_deref().or(run.words.as_deref()).unwrap_or_default()
}
