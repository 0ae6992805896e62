//! The commands that list requests of all sessions or of one, and tag them: `requests`, `session`, `tag`.

use runner::{ConversationQuery, Fault, ForkRow, RunRow, Tags, Turn, Workspace};
use serde_json::json;

use crate::cli::args::{Requests, Session, Tag};
use crate::cli::{Outcome, Stop};
use crate::print;

/// `flowglass requests`.
pub(crate) fn requests(workspace: &Workspace, asked: Requests, json: bool) -> Result<Outcome, Stop> {
    let query = asked.query();
    let mut runs = workspace.runs_with_totals(&query)?;
    crate::left_out::tell_requests(workspace, &query)?;
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
    let (subject, id, changes) = asked.asked().map_err(|what| Fault::Invalid { message: what, details: Vec::new() })?;
    let tags = workspace.tag(subject, &id, &changes)?;
    let text = shown(&tags);
    Ok(Outcome::done(json!(tags), text))
}

fn shown(tags: &Tags) -> String {
    let mut text = String::new();
    text.extend(tags.title.as_ref().map(|title| format!("{title}\n")));
    let listed = if tags.tags.is_empty() { "no tags".to_owned() } else { tags.tags.join(" ") };
    let id = tags.request_id.as_ref().or(tags.session_id.as_ref());
    text.push_str(&format!("{}: {listed}\n", id.map(String::as_str).unwrap_or_default()));
    text.extend(tags.note.as_ref().map(|note| format!("\n{note}\n")));
    text
}

/// `flowglass session`.
pub(crate) fn session(workspace: &Workspace, asked: &Session) -> Result<Outcome, Stop> {
    let query = ConversationQuery { audience: asked.view, offset: asked.offset, limit: asked.limit };
    let conversation = workspace.conversation(&asked.session, query)?;
    let forks = workspace.fork_tree(&asked.session)?;
    let mut text = shown(&conversation.tags);
    let (total, first) = (conversation.total, conversation.offset);
    text.push_str(&format!("requests {} to {} of {total}\n", first + 1, first + conversation.turns.len() as u64));
    text.extend(conversation.turns.iter().map(turn));
    if forks.len() > 1 {
        text.push_str("\nforks\n");
        text.extend(forks.iter().map(|fork| line_of_tree(&forks, fork)));
    }
    let mut document = json!(conversation);
    document["forks"] = json!(forks);
    Ok(Outcome::done(document, text))
}

/// A request of a conversation: what it is, and what was said.
fn turn(turn: &Turn) -> String {
    let row = &turn.run.row;
    let title = turn.run.title.as_ref().map(|title| format!("  {title}")).unwrap_or_default();
    let mut text = format!("\n{}  {}.{}  {}{title}\n", row.id, row.flow, row.action, row.status.as_str());
    if turn.is_forgotten {
        text.push_str("the session no longer keeps it in sight\n");
        return text;
    }
    let (first, last) = turn.items.split_at((turn.left_out_at as usize).min(turn.items.len()));
    for (at, part) in [first, last].into_iter().enumerate().filter(|(_, part)| !part.is_empty()) {
        if at == 1 && turn.left_out > 0 {
            text.push_str(&format!("{} items are left out; flowglass items --request {}\n", turn.left_out, row.id));
        }
        let items: Vec<_> = part.iter().map(|shown| shown.item.clone()).collect();
        text.push_str(&print::items(&items));
    }
    text
}

/// A session of a tree of forks, indented by how many forks it is away from the first one.
fn line_of_tree(all: &[ForkRow], fork: &ForkRow) -> String {
    let parent = |of: &ForkRow| {
        let parent = of.parent.as_ref()?;
        all.iter().find(|one| one.session.id == *parent)
    };
    let depth = std::iter::successors(parent(fork), |above| parent(above)).count();
    let from = match (&fork.forked_from_request, fork.forked_at) {
        (Some(request), Some(seq)) if depth > 0 => format!("  from {request}, event {seq}"),
        _ => String::new(),
    };
    format!("{}{}{from}\n", "  ".repeat(depth), fork.session.id)
}

/// What a list shows of a run's subject: its title, or the first words of its input.
pub(crate) fn subject(run: &RunRow) -> &str {
    run.title.as_deref().or(run.words.as_deref()).unwrap_or_default()
}
