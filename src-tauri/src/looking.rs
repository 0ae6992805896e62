//! The commands that show one or two requests: `show`, `block`, `why`, `events`, `diff`.

use runner::{EventQuery, LocalsQuery, SourceView, Workspace};
use serde_json::{Value, json};

use crate::cli::args::{Diff, Page, Tree, Why};
use crate::cli::{Outcome, Stop};
use crate::print;
use crate::terminal::tell;

/// If a request has more blocks, its text shows them folded.
const MANY_BLOCKS: u64 = 1_000;

/// `flowglass show`.
pub(crate) fn show(workspace: &Workspace, request: &str, source: Option<&str>, is_json: bool) -> Result<Outcome, Stop> {
    if source.is_none() && !is_json {
        let tree = workspace.folded_tree(request)?;
        if tree.counts.blocks > MANY_BLOCKS {
            let (input, output) = workspace.asked_and_answered(request)?;
            return Ok(Outcome::done(Value::Null, print::shown_folded(&tree, input.as_ref(), output.as_ref())));
        }
    }
    let shown = workspace.show(request)?;
    let Some(path) = source else {
        let mut text = print::shown(&shown);
        let waiting = print::waiting(&workspace.pending(request)?);
        if !waiting.is_empty() {
            text.push_str(&format!("\n{waiting}"));
        }
        return Ok(Outcome::done(json!(shown), text));
    };
    let source = workspace.code_of(request, Some(path).filter(|path| !path.is_empty()))?;
    let mut document = json!(shown);
    if let (Value::Object(fields), Value::Object(source)) = (&mut document, json!(source)) {
        fields.extend(source);
    }
    if !is_json {
        tell_of_source(&source, path);
    }
    Ok(Outcome::done(document, print::source(&source)))
}

/// Prints notes about a source: its place in the file, and files that are left out.
fn tell_of_source(source: &SourceView, path: &str) {
    match source.line {
        Some(line) => tell(&format!("{}:{line}", source.file)),
        None if path.is_empty() => tell(&source.file),
        None => tell(&format!(
            "{}: where the block at {path} is defined was not found by its name; this is the whole file",
            source.file
        )),
    }
    for imported in &source.imports {
        tell(&format!("it imports {} ({} bytes; --json has its text)", imported.file, imported.text.len()));
    }
}

/// `flowglass show --tree`.
pub(crate) fn tree(workspace: &Workspace, request: &str, how: &Tree) -> Result<Outcome, Stop> {
    let tree = workspace.tree(request, how.filter.as_deref(), how.unfolded)?;
    Ok(Outcome::done(json!(tree), print::tree(&tree)))
}

/// `flowglass block`.
pub(crate) fn block(workspace: &Workspace, request: &str, path: &str, attempt: Option<u32>) -> Result<Outcome, Stop> {
    let block = workspace.block_at(request, path, attempt)?;
    Ok(Outcome::done(json!(block), print::block(&block)))
}

/// `flowglass why`.
pub(crate) fn why(workspace: &Workspace, asked: Why) -> Result<Outcome, Stop> {
    let (request, query) = asked.query();
    let view = workspace.why(&request, &query)?;
    Ok(Outcome::done(json!(view), print::why(&view)))
}

/// `flowglass events`.
pub(crate) fn events(
    workspace: &Workspace,
    request: &str,
    from: Option<u64>,
    kind: Option<String>,
    path: Option<String>,
    page: &Page,
) -> Result<Outcome, Stop> {
    let query = EventQuery { from, kind, path, limit: page.limit, offset: page.offset, ..EventQuery::default() };
    let events = workspace.events(request, query)?;
    Ok(Outcome::done(json!(events), print::events(&events)))
}

/// `flowglass diff`. The JSON document has only the differences of states. Other differences of two requests are
/// printed as text, and shown by the window.
pub(crate) fn diff(workspace: &Workspace, diff: &Diff, is_json: bool) -> Result<Outcome, Stop> {
    let Diff { request, from, to, with, page, .. } = diff;
    if let Some(at) = &diff.locals {
        let (left, right) = (request.clone(), with.clone());
        let query = LocalsQuery { left, left_at: at.clone(), right, right_at: at.clone() };
        crate::inside::show_progress(workspace);
        let compared = workspace.compare_locals(&query)?;
        return Ok(Outcome::done(json!(compared), print::locals(&compared)));
    }
    let changes = page.cut(workspace.diff(request, from.as_ref(), to.as_ref(), with.as_deref())?);
    // "No differences" would be false of a trace, which has no state.
    let without_state = |request: &str| workspace.check_has_state(request).err();
    let why = without_state(request).or_else(|| without_state(with.as_deref()?));
    let mut text = match why.filter(|_| changes.is_empty()) {
        // With another request, the ends of both are compared too.
        Some(why) if with.is_none() => return Err(why.into()),
        Some(why) => format!("{why}\n"),
        None => print::changes(&changes),
    };
    for write in workspace.pending_writes(with.as_deref().unwrap_or(request), to.as_ref())? {
        tell(&write);
    }
    if let Some(other) = with.as_ref().filter(|_| !is_json) {
        text.push_str(&print::ends(&workspace.compare_ends(request, other)?));
    }
    Ok(Outcome::done(json!(changes), text))
}
