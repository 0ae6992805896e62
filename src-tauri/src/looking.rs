//! The commands that show one request: `show`, `block`, `events`.

use runner::{EventQuery, Workspace};
use serde_json::{Value, json};

use crate::cli::args::Page;
use crate::cli::{Outcome, Stop};
use crate::print;

/// `flowglass show`.
pub(crate) fn show(workspace: &Workspace, request: &str, source: Option<&str>) -> Result<Outcome, Stop> {
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
    Ok(Outcome::done(document, print::source(&source)))
}

/// `flowglass block`.
pub(crate) fn block(workspace: &Workspace, request: &str, path: &str, attempt: Option<u32>) -> Result<Outcome, Stop> {
    let block = workspace.block_at(request, path, attempt)?;
    Ok(Outcome::done(json!(block), print::block(&block)))
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
