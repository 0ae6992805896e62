//! The window's list of runs: a page at a time, what they come to by day, and their tags, notes and titles.

use runner::{BlockSums, Fault, RunOrder, RunRow, RunsSummary, SessionRow, Subject, TagChanges, TagCount, Tags};
use serde::Deserialize;
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// How much of a note a list gets, in characters.
const NOTE_CHARS: usize = 200;
/// The most runs that are tagged at once.
const MAX_TAGGED: usize = 10_000;

/// By what runs are ordered.
#[derive(Clone, Copy, Debug, Default, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) enum RunSort {
    /// When they began.
    #[default]
    Started,
    /// How long they took.
    Duration,
    /// Input and output tokens.
    Tokens,
    /// What their model calls cost.
    Cost,
    /// Their status.
    Status,
    /// Flow and action.
    Flow,
    /// The title, or the first words of the input.
    Title,
    /// The user.
    User,
    /// The session.
    Session,
    /// Their first tag.
    Tags,
    /// The request that they are a fork or a retry of.
    From,
}

impl From<RunSort> for RunOrder {
    fn from(sort: RunSort) -> Self {
        match sort {
            RunSort::Started => RunOrder::Started,
            RunSort::Duration => RunOrder::Duration,
            RunSort::Tokens => RunOrder::Tokens,
            RunSort::Cost => RunOrder::Cost,
            RunSort::Status => RunOrder::Status,
            RunSort::Flow => RunOrder::Flow,
            RunSort::Title => RunOrder::Title,
            RunSort::User => RunOrder::User,
            RunSort::Session => RunOrder::Session,
            RunSort::Tags => RunOrder::Tags,
            RunSort::From => RunOrder::Origin,
        }
    }
}

/// Which runs, and in which order.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct RunsQuery {
    /// In the language of the filter line.
    #[serde(default)]
    filter: String,
    #[serde(default)]
    sort: RunSort,
    /// Whether the largest or newest come first.
    #[serde(default)]
    descending: bool,
    limit: u32,
    offset: u32,
}

impl RunsQuery {
    fn query(self) -> runner::RunsQuery {
        runner::RunsQuery {
            filter: self.filter,
            terms: Vec::new(),
            order: self.sort.into(),
            is_descending: self.descending,
            limit: Some(self.limit.into()),
            offset: Some(self.offset.into()),
        }
    }
}

/// Runs, in the order that is asked for. Of a note they have the begin.
#[tauri::command]
#[specta::specta]
pub(super) async fn runs(state: State<'_, WindowState>, query: RunsQuery) -> Result<Vec<RunRow>, Fault> {
    off_the_main_thread(state, move |workspace| {
        let mut rows = workspace.runs(&query.query())?;
        for row in &mut rows {
            if let Some(note) = &mut row.note
                && let Some((at, _)) = note.char_indices().nth(NOTE_CHARS)
            {
                note.truncate(at);
                note.push('…');
            }
            // A list needs no stack, and one may be long.
            row.row.error.iter_mut().for_each(|error| error.stack = None);
        }
        Ok(rows)
    })
    .await
}

/// The ids of runs, in the order that is asked for.
#[tauri::command]
#[specta::specta]
pub(super) async fn run_ids(state: State<'_, WindowState>, query: RunsQuery) -> Result<Vec<String>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.run_ids(&query.query())).await
}

/// How many runs fit a filter.
#[tauri::command]
#[specta::specta]
pub(super) async fn count_runs(state: State<'_, WindowState>, filter: String) -> Result<u64, Fault> {
    off_the_main_thread(state, move |workspace| workspace.count_runs(&filter)).await
}

/// How many samples of experiments fit a filter, where lists leave them out.
#[tauri::command]
#[specta::specta]
pub(super) async fn samples_left_out(state: State<'_, WindowState>, filter: String) -> Result<u64, Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.samples_left_out(&runner::RunsQuery { filter, ..runner::RunsQuery::default() })
    })
    .await
}

/// What the runs that fit a filter come to, altogether and by day.
#[tauri::command]
#[specta::specta]
pub(super) async fn runs_summary(state: State<'_, WindowState>, filter: String) -> Result<RunsSummary, Fault> {
    off_the_main_thread(state, move |workspace| workspace.runs_summary(&filter)).await
}

/// How the blocks of an action did over the newest runs that fit a filter.
#[tauri::command]
#[specta::specta]
pub(super) async fn block_sums(
    state: State<'_, WindowState>,
    flow: String,
    action: String,
    filter: String,
) -> Result<BlockSums, Fault> {
    off_the_main_thread(state, move |workspace| workspace.block_sums(&flow, &action, &filter)).await
}

/// All tags, the most used first.
#[tauri::command]
#[specta::specta]
pub(super) async fn tag_counts(state: State<'_, WindowState>) -> Result<Vec<TagCount>, Fault> {
    off_the_main_thread(state, |workspace| workspace.tag_counts()).await
}

/// The tags, the note and the title of a request.
#[tauri::command]
#[specta::specta]
pub(super) async fn tags(state: State<'_, WindowState>, request_id: String) -> Result<Tags, Fault> {
    off_the_main_thread(state, move |workspace| workspace.tags(Subject::Request, &request_id)).await
}

/// What to change of tags, notes and titles.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct TagEdits {
    #[serde(default)]
    add: Vec<String>,
    #[serde(default)]
    remove: Vec<String>,
    /// Another note; an empty one removes it.
    #[serde(default)]
    note: Option<String>,
    /// Another title; an empty one removes it.
    #[serde(default)]
    title: Option<String>,
}

impl TagEdits {
    pub(super) fn changes(self) -> TagChanges {
        let added = self.add.into_iter().map(|tag| (true, tag));
        let tags = added.chain(self.remove.into_iter().map(|tag| (false, tag))).collect();
        TagChanges { tags, note: self.note, title: self.title, by: None }
    }
}

/// Changes the tags, notes or titles of requests; answers how many were changed. Requests that are gone are left out.
#[tauri::command]
#[specta::specta]
pub(super) async fn tag_runs(
    state: State<'_, WindowState>,
    requests: Vec<String>,
    edits: TagEdits,
) -> Result<u32, Fault> {
    off_the_main_thread(state, move |workspace| {
        if requests.len() > MAX_TAGGED {
            return Err(Fault::Invalid {
                message: format!("{} runs are selected; at most {MAX_TAGGED} can be tagged at once", requests.len()),
                details: Vec::new(),
            });
        }
        workspace.tag_all(&requests, &edits.changes())
    })
    .await
}

/// The sessions of requests, each once: what is deleted if they are.
#[tauri::command]
#[specta::specta]
pub(super) async fn sessions_of(
    state: State<'_, WindowState>,
    requests: Vec<String>,
) -> Result<Vec<SessionRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.sessions_of(&requests)).await
}
