//! State for people: at an instant, as checkpoints, as differences; and a session's journal.

use std::fmt::Write as _;

use engine::identity::{InstanceId, StateOwner};
use engine::views::diff::DifferenceKind;
use engine::views::flow_state::is_execution;
use runner::{Change, CheckpointRow, Json, StateView, local_instant};
use serde_json::Value;

use super::agent::agent;
use super::findings::FORK_EDIT;
use super::{counted, cut, short, table};

/// As many differences are listed; the others are counted.
const MOST_CHANGES: usize = 500;

/// A session's journal, one entry a line.
pub(crate) fn journal(entries: &[Json]) -> String {
    let rows: Vec<_> = entries
        .iter()
        .map(|Json(entry)| {
            let word = |key: &str| entry[key].as_str().unwrap_or_default();
            let tags: Vec<&str> = entry["tags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            vec![
                local_instant(entry["ts"].as_i64().unwrap_or_default()),
                word("source").to_owned(),
                tags.join(" "),
                cut(word("text")),
            ]
        })
        .collect();
    table(&["NOTED", "SOURCE", "TAGS", "TEXT"], &rows)
}

pub(crate) fn checkpoints(checkpoints: &[CheckpointRow]) -> String {
    let mut text = String::new();
    for one in checkpoints {
        let stands = if one.terminal { "ended" } else { "goes on" };
        let _ = writeln!(
            text,
            "{} (version {}, by {}, {stands})\n{}",
            instance(&one.block_instance_id),
            one.version,
            one.step_name,
            indented(&one.state.0)
        );
    }
    if text.is_empty() { "no checkpoints: no durable sequencer with a stateSchema began\n".to_owned() } else { text }
}

pub(crate) fn state(state: &StateView) -> String {
    let mut text = String::new();
    if let Some(seq) = state.seq {
        let _ = writeln!(text, "at event {seq}");
    }
    text.push_str(&agent(state));
    let scopes =
        [("request", &state.request), ("session", &state.session), ("user", &state.user), ("project", &state.project)];
    let version = |name: &str| state.versions.get(name).copied().unwrap_or(0);
    for (name, value) in scopes {
        if let Some(value) = value {
            let _ = writeln!(text, "{name} (version {})\n{}", version(name), indented(&value.0));
        }
    }
    // An agent's own state is its FlowState under other names.
    let is_shown = |value: &Json| state.agent.is_some() && value.0.as_object().is_some_and(is_execution);
    for (id, value) in state.sequencers.iter().filter(|(_, value)| !is_shown(value)) {
        let _ = writeln!(text, "{} (version {})\n{}", instance(id), version(id), indented(&value.0));
    }
    if let Some(value) = &state.call_state {
        let _ = writeln!(text, "state (of the calls)\n{}", indented(&value.0));
    }
    for (instance, value) in &state.call_instances {
        let _ = writeln!(text, "state (of the calls, for {instance})\n{}", indented(&value.0));
    }
    for (resource, value) in &state.resources {
        let _ = writeln!(text, "{resource} (version {})\n{}", version(resource), indented(&value.0));
        if let Some(content) = state.contents.get(resource) {
            let _ = writeln!(text, "  content {}", short(&Value::String(content.clone())));
        }
    }
    if let Some(seen) = &state.client_data {
        let _ = writeln!(text, "what a client sees\n{}", indented(&seen.0));
    }
    if let Some(problem) = &state.client_data_error {
        let _ = writeln!(text, "what a client sees cannot be told: {problem}");
    }
    text
}

/// A block's instance by its path, and by its attempt where that was not the first.
fn instance(id: &str) -> String {
    match StateOwner::parse(id).map(|owner| owner.instance) {
        Some(InstanceId { path, attempt: 0 }) => path.to_owned(),
        Some(InstanceId { path, attempt }) => format!("{path}, attempt {attempt}"),
        None => id.to_owned(),
    }
}

/// What changes are of: there is one session and one user; of resources and blocks there may be many.
fn owner(change: &Change) -> String {
    match (change.scope.as_str(), &change.instance_id) {
        ("resource", Some(id)) => id.clone(),
        (scope, Some(id)) => match instance(id).as_str() {
            "root" => scope.to_owned(),
            path => format!("{scope}[{path}]"),
        },
        (scope, None) => scope.to_owned(),
    }
}

pub(super) fn indented(value: &Value) -> String {
    let pretty = serde_json::to_string_pretty(value).unwrap_or_default();
    pretty.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

pub(crate) fn changes(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "no differences in state\n".to_owned();
    }
    let rows: Vec<_> = changes
        .iter()
        .take(MOST_CHANGES)
        .map(|change| {
            let sign = match change.kind {
                DifferenceKind::Added => "+",
                DifferenceKind::Removed => "-",
                DifferenceKind::Changed => "~",
                DifferenceKind::Moved => ">",
            };
            let side = |value: &Option<Json>| value.as_ref().map(|value| short(&value.0));
            let values = match (side(&change.old), side(&change.new)) {
                (Some(old), Some(new)) => format!("{old} → {new}"),
                (old, new) => old.or(new).unwrap_or_default(),
            };
            vec![
                sign.to_owned(),
                format!("{}.{}", owner(change), change.path).trim_end_matches('.').to_owned(),
                if change.is_edit { FORK_EDIT.to_owned() } else { change.by.clone().unwrap_or_default() },
                values,
            ]
        })
        .collect();
    let mut text = table(&["", "PATH", "BY", "VALUE"], &rows);
    if let Some(rest) = changes.get(MOST_CHANGES..).filter(|rest| !rest.is_empty()) {
        let _ = writeln!(text, "\n{}; --json lists all", more_changes(rest));
    }
    text
}

/// Counts the changes that are not listed: by what happened, and by the list or record that they are in.
fn more_changes(rest: &[Change]) -> String {
    let kinds = [
        (DifferenceKind::Added, "added"),
        (DifferenceKind::Removed, "removed"),
        (DifferenceKind::Changed, "changed"),
        (DifferenceKind::Moved, "moved"),
    ];
    let count = |kind| rest.iter().filter(|change| change.kind == kind).count();
    let counts = kinds.iter().map(|(kind, what)| (count(*kind), what)).filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    format!("… and {} more ({})", counted(rest.len() as u64, "difference"), counts.join(", "))
}
