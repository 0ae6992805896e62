//! One request while it runs, and every answer about it afterwards.
//!
//! Rows and items stand once in a table, however many instants show them; frames and instants name them by number.

use std::collections::HashMap;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use runner::{
    At, Audience, EventQuery, Fault, ItemsQuery, RowsQuery, RunOptions, StepTo, ViewBatch, ViewHead, ViewRow, Workspace,
};
use serde_json::{Map, Value, json};

/// What is asked about a request.
pub(super) struct Asked {
    /// Filters to try.
    pub(super) filters: &'static [&'static str],
    /// Only what shows it as a whole, for a long request.
    pub(super) outline: bool,
}

/// Values that stand once.
#[derive(Default)]
struct Table {
    values: Vec<Value>,
    numbers: HashMap<String, usize>,
}

impl Table {
    fn number(&mut self, value: Value) -> usize {
        *self.numbers.entry(value.to_string()).or_insert_with(|| {
            self.values.push(value);
            self.values.len() - 1
        })
    }
}

/// All rows of a view, unfolded or as they are.
fn rows(workspace: &Workspace, view: u64, at: Option<u64>) -> Vec<ViewRow> {
    let mut rows = Vec::new();
    loop {
        let query = RowsQuery { offset: rows.len() as u64, limit: 2_000, at };
        let answer = workspace.view_rows(view, query).expect("it is open");
        rows.extend(answer.page);
        if rows.len() as u64 >= answer.rows {
            return rows;
        }
    }
}

/// What each audience sees at an instant, by numbers.
fn items(workspace: &Workspace, view: u64, at: Option<u64>, table: &mut Table) -> Value {
    let mut seen = Map::new();
    for audience in [Audience::All, Audience::Client, Audience::History, Audience::Trace] {
        let query = ItemsQuery { audience, offset: 0, limit: 200, at };
        let answer = workspace.view_items(view, query).expect("it is open");
        let page: Vec<usize> = answer.page.into_iter().map(|item| table.number(json!(item))).collect();
        seen.insert(json!(audience).as_str().expect("a name").to_owned(), json!(page));
    }
    seen.into()
}

/// Answers of an instant that stand until the next one that differs: `[[seq, answer], …]`.
fn by_instant(last: u64, mut answer: impl FnMut(u64) -> Value) -> Vec<Value> {
    let mut kept: Vec<(u64, Value)> = Vec::new();
    for seq in 1..=last {
        let value = answer(seq);
        if kept.last().is_none_or(|(_, known)| *known != value) {
            kept.push((seq, value));
        }
    }
    kept.into_iter().map(|(seq, value)| json!([seq, value])).collect()
}

/// Where the slider goes, step by step.
fn walk(workspace: &Workspace, view: u64, to: StepTo) -> Vec<u64> {
    let mut seqs = Vec::new();
    while let Some(next) = workspace.view_step(view, seqs.last().copied().unwrap_or(0), to).expect("it is open") {
        seqs.push(next);
    }
    seqs
}

/// The rows that begin folded, by their places among all rows: found by unfolding one after the other.
fn begin_folded(workspace: &Workspace, request: &str) -> Vec<usize> {
    let view = workspace.open_view(request).expect("it opens").view;
    let mut folded = Vec::new();
    while let Some(place) = rows(workspace, view, None).iter().position(|row| row.is_folded) {
        let node = rows(workspace, view, None)[place].node;
        workspace.view_fold(view, Some(node), false).expect("it is open");
        folded.push(node);
    }
    let all = rows(workspace, view, None);
    workspace.close_view(view).expect("it is open");
    (0..all.len()).filter(|place| folded.contains(&all[*place].node)).collect()
}

fn open(workspace: &Workspace, request: &str) -> ViewHead {
    let began = Instant::now();
    loop {
        match workspace.open_view(request) {
            Ok(head) => return head,
            Err(Fault::NotFound { .. }) if began.elapsed() < Duration::from_secs(20) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            Err(fault) => panic!("{fault:?}"),
        }
    }
}

/// Runs it, keeps what a window is told and shows at each update, and asks about it when it has ended.
pub(super) fn record(
    workspace: &std::sync::Arc<Workspace>,
    batches: &Receiver<ViewBatch>,
    run: RunOptions,
    asked: &Asked,
) -> Value {
    let id = run.request.clone().expect("it has a name");
    let told = json!({
        "flow": run.flow, "action": run.action, "userId": run.user, "sessionId": run.session,
        "projectId": run.project, "input": run.input, "mock": run.flow != "stress",
    });
    let running = workspace.run(run).expect("it runs");
    let view = open(workspace, &id).view;
    workspace.view_watch_items(view, true).expect("it is open");
    let (mut row_table, mut item_table, mut frames) = (Table::default(), Table::default(), Vec::new());
    let mut waiting = Some(running);
    loop {
        let batch = batches.recv_timeout(Duration::from_secs(20)).expect("somebody tells");
        workspace.view_fold(view, None, false).expect("it is open");
        let shown: Vec<usize> =
            rows(workspace, view, None).into_iter().map(|row| row_table.number(json!(row))).collect();
        let items = if asked.outline { json!({}) } else { items(workspace, view, None, &mut item_table) };
        workspace.view_ack(batch.batch);
        let Some(update) = batch.updates.into_iter().find(|update| update.view == view) else { continue };
        let has_ended = !matches!(update.request.status.as_str(), "in_progress" | "queued");
        if !asked.outline || has_ended {
            frames.push(json!({ "update": update, "rows": shown, "items": items }));
        }
        if has_ended {
            waiting.take().expect("it runs once").wait().expect("it ends");
            break;
        }
    }
    // The last frame is the request as it ended: nothing of the run comes after it.
    while let Ok(batch) = batches.recv_timeout(Duration::from_millis(300)) {
        workspace.view_ack(batch.batch);
    }
    let answers = answers(workspace, view, &id, asked, (&mut row_table, &mut item_table));
    workspace.close_view(view).expect("it is open");
    let mut head = open(workspace, &id);
    // They are among all rows, below.
    head.page.clear();
    let calls = workspace.view_calls(head.view, 0).expect("it is open");
    workspace.close_view(head.view).expect("it is open");
    json!({
        "run": told, "head": head, "calls": calls, "folded": begin_folded(workspace, &id),
        "answers": answers, "frames": frames, "rows": row_table.values, "items": item_table.values,
    })
}

fn answers(
    workspace: &Workspace,
    view: u64,
    id: &str,
    asked: &Asked,
    (row_table, item_table): (&mut Table, &mut Table),
) -> Value {
    let last = workspace.request(id).expect("it is there").last_seq;
    let all = rows(workspace, view, None);
    let newest: Vec<usize> = all.iter().map(|row| row_table.number(json!(row))).collect();
    let shown: Vec<&ViewRow> =
        all.iter().filter(|row| !asked.outline || row.depth <= 1 || row.error.is_some()).collect();
    let blocks: Map<String, Value> = shown
        .iter()
        .filter_map(|row| row.instance_id.clone())
        .map(|instance| (instance.clone(), json!(workspace.block(id, &instance).expect("it is there"))))
        .collect();
    let spans: Vec<_> = all
        .iter()
        .filter_map(|row| row.instance_id.as_ref())
        .map(|instance| workspace.block(id, instance).expect("it is there").block)
        .collect();
    let mut filters = Map::new();
    for text in asked.filters {
        let answer = match workspace.view_filter(view, text) {
            Ok(answer) => {
                let left = rows(workspace, view, None);
                let left: Vec<usize> = left.into_iter().map(|row| row_table.number(json!(row))).collect();
                json!({ "filtered": answer, "rows": left })
            }
            Err(fault) => json!({ "fault": fault }),
        };
        filters.insert((*text).to_owned(), answer);
    }
    workspace.view_filter(view, "").expect("all");
    let overview = workspace.view_overview(view, 600, None, None).expect("it is open");
    let places = ["session.words", "session.turns", "sequencer.plan"];
    let history: Map<String, Value> = places
        .iter()
        .filter_map(|place| Some(((*place).to_owned(), json!(workspace.history(id, place).ok()?))))
        .collect();
    let mut answer = json!({
        "events": workspace.events(id, EventQuery::default()).expect("they are there"),
        "newest": newest,
        "blocks": blocks,
        "spans": spans,
        "filters": filters,
        "overview": overview,
        "history": history,
        "checkpoints": workspace.checkpoints(id).expect("they are listed"),
        "replay": workspace.replay(id).expect("it is replayed"),
        "steps": {
            "End": walk(workspace, view, StepTo::NextEnd),
            "Failure": walk(workspace, view, StepTo::NextFailure),
            "Boundary": walk(workspace, view, StepTo::NextBoundary),
        },
    });
    if !asked.outline {
        answer["rowsAt"] = json!(by_instant(last, |seq| {
            let shown = rows(workspace, view, Some(seq));
            json!(shown.into_iter().map(|row| row_table.number(json!(row))).collect::<Vec<_>>())
        }));
        answer["itemsAt"] = json!(by_instant(last, |seq| items(workspace, view, Some(seq), item_table)));
    }
    let state_at = |seq: u64| {
        let mut state = json!(workspace.state_at(id, Some(&At::Seq(seq))).expect("it is there"));
        let fields = state.as_object_mut().expect("an object");
        fields.remove("seq");
        fields.remove("at");
        state
    };
    let states = if asked.outline { vec![json!([1, state_at(last)])] } else { by_instant(last, state_at) };
    // A difference is told by the states at its ends, so one for each pair of them is enough.
    let mut starts: Vec<u64> = states.iter().filter_map(|one| one[0].as_u64()).collect();
    if asked.outline {
        starts = vec![1, last];
    }
    let mut diffs = Map::new();
    for (n, from) in starts.iter().enumerate() {
        for to in &starts[n + 1..] {
            let found = workspace.diff(id, Some(&At::Seq(*from)), Some(&At::Seq(*to)), None).expect("both are there");
            diffs.insert(format!("{from} {to}"), json!(found));
        }
    }
    answer["states"] = json!(states);
    answer["diffs"] = diffs.into();
    answer
}
