//! Prints the origin of a value: the answer, the edges, and the next commands.

use std::collections::HashSet;

use runner::{WhyEdge, WhyKind, WhyPlace, WhySpot, WhyView};

use super::{counted, cut_to, short};

/// How many columns of a text an edge shows.
const WIDEST: usize = 60;
/// How many next commands are printed.
const MOST_HANDLES: usize = 4;
/// How many other origins of a value are printed.
const MOST_TIES: usize = 2;

pub(crate) fn why(view: &WhyView) -> String {
    let mut text = format!("{}\n", view.answer);
    if let Some(value) = &view.value {
        text.push_str(&format!("value     {}\n", short(&value.0)));
    }
    text.push('\n');
    for edge in &view.edges {
        let indent = "  ".repeat(edge.depth.min(20) as usize);
        text.push_str(&format!("{indent}{}\n", line(view, edge)));
    }
    if view.truncated {
        text.push_str("… cut; --limit shows more\n");
    }
    for handle in handles(view) {
        text.push_str(&format!("go on: {handle}\n"));
    }
    text
}

fn line(view: &WhyView, edge: &WhyEdge) -> String {
    let here = spot(view, &edge.spot);
    let by = edge.by.as_ref().map(|by| match (&by.file, by.line) {
        (Some(file), Some(line)) => format!(" by {} ({file}:{line})", by.path),
        _ => format!(" by {}", by.path),
    });
    let by = by.unwrap_or_default();
    let operation = edge.operation.as_deref();
    let mut others = edge.others.map(|many| format!(", {many} more like it")).unwrap_or_default();
    for tie in edge.ties.iter().take(MOST_TIES) {
        others.push_str(&format!(", or from {}", spot(view, tie)));
    }
    let words = edge.text.as_ref().map(|text| format!(": {:?}", cut_to(text, WIDEST))).unwrap_or_default();
    match (edge.kind, &edge.of) {
        (WhyKind::Recorded, _) if operation == Some("or_default") => {
            format!("recorded  {here}, or a default of its schema")
        }
        (WhyKind::Recorded, _) => format!("recorded  {here}"),
        (WhyKind::Copied, Some(of)) => {
            let basis = if edge.proven { "" } else { ", same content" };
            let code = if by.is_empty() { String::new() } else { format!(", or text of the code{by}") };
            format!("copied    {here} from {}{basis}{others}{code}{words}", spot(view, of))
        }
        (WhyKind::Written, of) => {
            let event = of.as_ref().map(|of| format!(" from {}", spot(view, of))).unwrap_or_default();
            let others =
                edge.others.map(|many| format!(", after {}", counted(many, "other write"))).unwrap_or_default();
            let side = |value: &Option<runner::Json>| {
                value.as_ref().map_or("(nothing, or too large)".to_owned(), |one| short(&one.0))
            };
            let values = match (&edge.old, &edge.new) {
                (None, None) => String::new(),
                (old, new) => format!(": {} → {}", side(old), side(new)),
            };
            format!("written   {here}{event}{by} ({}{others}){values}", operation.unwrap_or("write"))
        }
        (_, _) if operation == Some("text_of_code") => format!("computed  {here}{by}, text of the code{others}{words}"),
        (_, _) if edge.proven => format!("computed  {here}{by}{words}"),
        (_, _) => format!("made      {here}{by}, computed or copied{words}"),
    }
}

fn spot(view: &WhyView, spot: &WhySpot) -> String {
    let mut text = spot.place.as_str().to_owned();
    if let Some(scope) = &spot.scope {
        text.push_str(&format!(" {scope}"));
    }
    if let Some(pointer) = spot.pointer.as_deref().filter(|pointer| !pointer.is_empty()) {
        text.push_str(&format!(" {pointer}"));
    }
    if let (Some(from), Some(to)) = (spot.from, spot.to) {
        text.push_str(&format!(" [{from}..{to}{}]", if spot.as_json { " of its JSON" } else { "" }));
    }
    if let Some(path) = &spot.path {
        text.push_str(&format!(" of {path}"));
        if let Some(attempt) = spot.attempt.filter(|attempt| *attempt > 0) {
            text.push_str(&format!("#{attempt}"));
        }
    }
    text.push_str(&format!(" (event {}", spot.seq));
    if spot.request_id != view.request_id {
        text.push_str(&format!(" of {}", spot.request_id));
    }
    text.push(')');
    text
}

/// The commands that show the ends of the chains.
fn handles(view: &WhyView) -> Vec<String> {
    let mut seen = HashSet::new();
    let ends = view.edges.iter().rev().filter_map(|edge| {
        let end = edge.of.as_ref().unwrap_or(&edge.spot);
        let command = match (&end.path, end.place) {
            (Some(path), _) => format!("flowglass block {} {}", end.request_id, quoted(path)),
            (None, WhyPlace::RequestInput) => format!("flowglass show {}", end.request_id),
            (None, _) => format!("flowglass events {} --from {} --limit 1", end.request_id, end.seq),
        };
        seen.insert(command.clone()).then_some(command)
    });
    // If the answer was cut, the next query is about its last value.
    let further = view.edges.last().filter(|_| view.truncated).and_then(|edge| edge.of.as_ref());
    let further = further.filter(|of| of.place != WhyPlace::State).map(|of| {
        let pointer = of.pointer.as_deref().unwrap_or_default();
        format!("flowglass why {} --at {} --value {}", of.request_id, of.seq, quoted(pointer))
    });
    further.into_iter().chain(ends.take(MOST_HANDLES)).collect()
}

/// Quotes a path or a pointer for a shell.
fn quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/:_-.".contains(c);
    if !path.is_empty() && path.chars().all(is_plain) {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', "'\\''"))
    }
}
