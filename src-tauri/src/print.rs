//! Results as text for people. Plain, aligned, short; nothing a program should parse.

mod agent;
mod block;
mod clearings;
mod clock;
mod comparison;
mod errors;
mod experiment;
mod findings;
pub(crate) mod inside;
mod items;
mod models;
mod plan;
mod replay;
mod soundness;
mod state;
mod suspensions;
mod timeline;
mod tree;
mod verify;
mod why;

pub(crate) use block::block;
pub(crate) use clearings::{compacted, deleted};
pub(crate) use comparison::{ends, locals};
pub(crate) use errors::flow_error;
pub(crate) use experiment::{adopted, culprit, culprit_plan, experiment, experiments, try_plan};
pub(crate) use findings::{hits, writes};
pub(crate) use items::items;
pub(crate) use models::totals;
pub(crate) use plan::plan;
pub(crate) use replay::replay;
pub(crate) use soundness::data_check;
pub(crate) use state::{changes, checkpoints, journal, state};
pub(crate) use suspensions::{suspensions, waiting};
pub(crate) use timeline::shown;
pub(crate) use tree::{shown_folded, tree};
pub(crate) use verify::{both_sides, verdict_line, verified};
pub(crate) use why::why;

use std::collections::HashSet;
use std::fmt::Write as _;

use runner::{DispatchEnd, EventRow, FlowRow, Json, RunRow, SessionRow, SourceView, Stats, local_instant};
use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::terminal::harmless;

/// Longer values are cut where a line shows them.
const WIDEST: usize = 100;

/// Rows in columns as wide as their widest cell on a terminal, where a letter may take two places; the last column is
/// free.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    // A line break would begin a row of its own, and a tab put a column out of line.
    let cell = |cell: &String| harmless(cell).replace(['\n', '\t'], " ");
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let mut widths: Vec<usize> = head.iter().map(|cell| cell.width()).collect();
    for row in &rows {
        for (at, cell) in row.iter().enumerate() {
            widths[at] = widths[at].max(cell.width());
        }
    }
    let mut text = String::new();
    let head = head.iter().map(|cell| (*cell).to_owned()).collect();
    for row in std::iter::once(&head).chain(&rows) {
        let mut line = String::new();
        for (at, cell) in row.iter().enumerate() {
            line.push_str(cell);
            // By hand: a format's width ends at 65,535.
            let room = if at + 1 == row.len() { 0 } else { widths[at].saturating_sub(cell.width()) };
            line.extend(std::iter::repeat_n(' ', room + 2));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Says that variables are not set, on a line; nothing if all are.
fn unset_variables(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => format!("{name} is not set here: a flow that reads it behaves differently than recorded\n"),
        names => {
            format!("{} are not set here: a flow that reads them behaves differently than recorded\n", names.join(", "))
        }
    }
}

/// How many of something there are, in words: `1 request`, `2 requests`.
pub(crate) fn counted(many: u64, one: &str) -> String {
    match many {
        1 => format!("1 {one}"),
        many => format!("{many} {one}s"),
    }
}

fn short(value: &Value) -> String {
    cut(&value.to_string())
}

fn cut(text: &str) -> String {
    cut_to(text, WIDEST)
}

/// A text on one line of so many columns, and how long it is where that is not all of it.
fn cut_to(text: &str, widest: usize) -> String {
    let flat = text.replace("\r\n", " ").replace('\n', " ");
    if flat.width() <= widest {
        return flat;
    }
    let mut room = widest - 1;
    let fits = |c: &char| {
        let width = c.width().unwrap_or(1);
        let is_there_room = width <= room;
        room = room.saturating_sub(width);
        is_there_room
    };
    let head: String = flat.chars().take_while(fits).collect();
    format!("{head}… ({} bytes)", text.len())
}

/// A value as a line shows it: a text as its words, anything else as JSON.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| short(value), cut)
}

/// The code alone, so that it can go on into another program.
pub(crate) fn source(source: &SourceView) -> String {
    let end = if source.text.ends_with('\n') { "" } else { "\n" };
    format!("{}{end}", source.text)
}

fn duration(ms: Option<i64>) -> String {
    match ms {
        None => "…".to_owned(),
        Some(ms) if ms < 1_000 => format!("{ms} ms"),
        Some(ms) => format!("{:.1} s", ms as f64 / 1_000.0),
    }
}

pub(crate) fn flows(flows: &[FlowRow]) -> String {
    if flows.is_empty() {
        return "no flows: put a .ts file with `export default defineFlow({ … })` into this folder\n".to_owned();
    }
    let mut text = String::new();
    for flow in flows {
        let _ = writeln!(text, "{}  ({})", flow.kind, flow.file);
        for action in &flow.actions {
            let about = action.description.as_deref().map(|words| format!("  {words}")).unwrap_or_default();
            let _ = writeln!(text, "  {}{about}", action.name);
        }
        for entry in &flow.entries {
            let about = entry.description.as_deref().map(|words| format!("  {words}")).unwrap_or_default();
            let times = entry.cron.as_deref().map(|cron| format!("  ({cron})")).unwrap_or_default();
            let off = if entry.enabled == Some(false) { "  off" } else { "" };
            let _ = writeln!(text, "  {}{times}{off}{about}", entry.address);
        }
        if let Some(error) = &flow.error {
            let _ = writeln!(text, "  does not load: {}", place(error));
        }
    }
    text
}

/// How a request ended that a dispatcher started.
pub(crate) fn dispatched(sent: &DispatchEnd) -> String {
    let DispatchEnd { request_id, session_id, ended } = sent;
    let how = match ended {
        Ok(ended) => ended.status.as_str().to_owned(),
        Err(fault) => fault.to_string(),
    };
    format!("dispatched: request {request_id} in session {session_id}: {how}")
}

/// What is wrong and where, or only odd.
pub(crate) fn place(error: &runner::LoadErrorRow) -> String {
    match (&error.file, error.line) {
        (Some(file), Some(line)) => format!("{file}:{line}:{}: {}", error.column.unwrap_or(1), error.message),
        (Some(file), None) => format!("{file}: {}", error.message),
        _ => error.message.clone(),
    }
}

/// A failure that several flows share stands once, with the files of all of them.
pub(crate) fn check(flows: &[FlowRow]) -> String {
    let mut text = String::new();
    let mut told = HashSet::new();
    for flow in flows {
        match flow.error.as_ref().map(place) {
            None => drop(writeln!(text, "ok    {}  ({})", flow.kind, flow.file)),
            Some(failure) if told.contains(&failure) => {}
            Some(failure) => {
                let fails = |other: &&FlowRow| other.error.as_ref().map(place).as_ref() == Some(&failure);
                let files: Vec<&str> = flows.iter().filter(fails).map(|other| other.file.as_str()).collect();
                let _ = writeln!(text, "fail  {failure}");
                if files.len() > 1 {
                    let _ = writeln!(text, "      so none of these load: {}", files.join(", "));
                }
                told.insert(failure);
            }
        }
        for warning in &flow.warnings {
            let _ = writeln!(text, "      warning: {}", place(warning));
        }
    }
    let failed = flows.iter().filter(|flow| flow.error.is_some()).count();
    let _ = writeln!(text, "{} of {} flows load", flows.len() - failed, flows.len());
    text
}

pub(crate) fn sessions(sessions: &[SessionRow]) -> String {
    let rows: Vec<_> = sessions
        .iter()
        .map(|s| {
            vec![
                s.id.clone(),
                s.flow.clone(),
                s.user_id.clone(),
                s.last_status.as_str().to_owned(),
                s.requests.to_string(),
                s.items.to_string(),
                local_instant(s.updated_at),
                s.title.clone().unwrap_or_default(),
            ]
        })
        .collect();
    table(&["SESSION", "FLOW", "USER", "STATUS", "REQUESTS", "ITEMS", "UPDATED", "TITLE"], &rows)
}

pub(crate) fn requests(runs: &[RunRow]) -> String {
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            let r = &run.row;
            vec![
                r.id.clone(),
                r.session_id.clone(),
                format!("{}.{}", r.flow, r.action),
                r.status.as_str().to_owned(),
                duration(r.duration_ms),
                local_instant(r.started_at),
                r.totals.as_ref().map(totals).unwrap_or_default(),
                run.tags.join(" "),
                cut(crate::run_list::subject(run)),
                r.error.as_ref().map(|error| cut(&error.message)).unwrap_or_default(),
            ]
        })
        .collect();
    let head =
        ["REQUEST", "SESSION", "ACTION", "STATUS", "TOOK", "STARTED", "TOTALS", "TAGS", "TITLE OR INPUT", "ERROR"];
    table(&head, &rows)
}

pub(crate) fn events(events: &[EventRow]) -> String {
    let rows: Vec<_> = events
        .iter()
        .map(|event| {
            vec![
                event.seq.to_string(),
                event.kind.clone(),
                event.path.clone().unwrap_or_default(),
                short(&event.payload.0),
            ]
        })
        .collect();
    table(&["SEQ", "KIND", "PATH", "PAYLOAD"], &rows)
}

pub(crate) fn stats(stats: &Stats) -> String {
    let row = |name: &str, value: u64| vec![name.to_owned(), value.to_string()];
    table(
        &["", ""],
        &[
            row("bytes", stats.bytes),
            row("events", stats.events),
            row("items", stats.items),
            row("sessions", stats.sessions),
            row("requests", stats.requests),
            row("samples (included in requests)", stats.samples),
            row("payload bytes", stats.payload_bytes),
            row("unique payload bytes", stats.unique_payload_bytes),
        ],
    )
    .trim_start()
    .to_owned()
}

pub(crate) fn result(result: &Json) -> String {
    let result = &result.0;
    let word = |key: &str| result[key].as_str().unwrap_or_default().to_owned();
    let mut text = format!(
        "{}  request {} · session {} · {}\n",
        word("status"),
        word("requestId"),
        word("sessionId"),
        duration(result["durationMs"].as_i64())
    );
    if let Some(output) = result.get("output") {
        let pretty = serde_json::to_string_pretty(output).unwrap_or_default();
        let _ = writeln!(text, "{pretty}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn a_letter_of_two_places_stays_in_its_column() {
        let rows = [["日本語", "a"], ["plain", "b"], ["", "c"]].map(|row| row.map(str::to_owned).to_vec());
        let shown = table(&["name", "of"], &rows);
        assert_eq!(shown, "name    of\n日本語  a\nplain   b\n        c\n");
    }

    /// A format's width ends at 65,535.
    #[test]
    fn a_cell_of_any_length_is_one_line() {
        let rows = [vec!["x".repeat(70_000), "a".to_owned()], vec!["y".to_owned(), "b".to_owned()]];
        let lengths: Vec<usize> = table(&["name", "of"], &rows).lines().map(str::len).collect();
        assert_eq!(lengths, [70_004, 70_003, 70_003]);
    }
}
