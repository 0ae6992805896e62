//! Which suspended or interrupted requests could be resumed with the current code.
//!
//! Each is planned like a real resume, so a resume behaves as reported here. Writes nothing.

use std::collections::HashMap;
use std::sync::Mutex;

use engine::event::RequestStatus;
use store::RequestQuery;

use super::super::{Mock, Workspace, lock};
use crate::core::fault::Fault;
use crate::run::batch::{Bounds, Cancel, batch, cores};
use crate::views::{PlanRow, RequestRow, Resumable};

/// How many requests are judged at once, newest first. Each costs as much as a replay.
const MOST: usize = 200;

/// How many requests a process remembers.
const MOST_REMEMBERED: usize = 10_000;

/// The results in this process, by request, with the code and the last event that they depend on.
#[derive(Default)]
pub(super) struct Resumables(Mutex<HashMap<String, (String, u64, Judged)>>);

/// Whether a request could be resumed, and the reason if not `yes`.
type Judged = (Resumable, Option<String>);

impl Workspace {
    /// The suspended and interrupted requests, newest first, each with whether it could be resumed.
    pub fn waiting_requests(&self) -> Result<Vec<RequestRow>, Fault> {
        let mut rows = Vec::new();
        for status in [RequestStatus::Suspended, RequestStatus::Interrupted] {
            let query = RequestQuery { status: Some(status), ..RequestQuery::default() };
            // A received trace cannot be resumed.
            rows.extend(self.requests(query)?.into_iter().filter(|row| row.received_from.is_none()));
        }
        rows.sort_by(|one, other| (other.started_at, &other.id).cmp(&(one.started_at, &one.id)));
        rows.truncate(MOST);
        self.judge_resumes(&mut rows)?;
        Ok(rows)
    }

    /// Sets `resumable` of the rows that are suspended or interrupted, of at most [`MOST`] of them.
    pub fn judge_resumes(&self, rows: &mut [RequestRow]) -> Result<(), Fault> {
        if !self.is_trusted() {
            return Ok(());
        }
        let is_open = |row: &RequestRow| matches!(row.status, RequestStatus::Suspended | RequestStatus::Interrupted);
        let open: Vec<usize> = (0..rows.len()).filter(|at| is_open(&rows[*at])).take(MOST).collect();
        let mut verdicts: Vec<(usize, Judged)> = Vec::with_capacity(open.len());
        let jobs: Vec<(usize, RequestRow)> = open.into_iter().map(|at| (at, rows[at].clone())).collect();
        batch(
            &jobs,
            &Bounds::workers(cores()),
            &Cancel::default(),
            |(_, row)| self.resumable(row),
            |number, verdict| {
                verdicts.push((jobs[number].0, verdict));
            },
        )?;
        for (at, (resumable, why)) in verdicts {
            rows[at].resumable = Some(resumable);
            rows[at].resumable_why = why;
        }
        Ok(())
    }

    fn resumable(&self, row: &RequestRow) -> Judged {
        let code = match self.with_catalogue(|catalogue| catalogue.find(&row.flow)) {
            Ok(flow) => flow.bundle.hash.clone(),
            Err(fault) => return (Resumable::No, Some(fault.to_string())),
        };
        if let Some((hash, last, verdict)) = lock(&self.verdicts.resumables.0).get(&row.id)
            && (hash, last) == (&code, &row.last_seq)
        {
            return verdict.clone();
        }
        let verdict = match self.plan_resume(&row.id, &Mock::Inherit, None) {
            Ok(plan) => {
                let judged = judged(row, &plan, &self.pending_paths(&row.id));
                match judged {
                    (Resumable::Yes, None) if row.status == RequestStatus::Suspended => {
                        self.question_now(&row.id, judged)
                    }
                    judged => judged,
                }
            }
            Err(fault) => (Resumable::No, Some(fault.to_string())),
        };
        let mut known = lock(&self.verdicts.resumables.0);
        if known.len() >= MOST_REMEMBERED {
            known.clear();
        }
        known.insert(row.id.clone(), (code, row.last_seq, verdict.clone()));
        verdict
    }

    /// Checks the question, because an answer is used only if the question is unchanged.
    fn question_now(&self, request: &str, otherwise: Judged) -> Judged {
        let Ok(replayed) = self.replay(request) else { return otherwise };
        let first = replayed
            .divergence
            .filter(|first| first.recorded.0.get("question").is_some() || first.found.0.get("question").is_some());
        first.map_or(otherwise, |first| {
            let why = format!(
                "what {} asks is another question now: an answer is not used, and it is asked anew",
                first.path
            );
            (Resumable::AsksAgain, Some(why))
        })
    }

    /// The blocks that wait for an answer.
    fn pending_paths(&self, request: &str) -> Vec<String> {
        let pending = self.pending(request).unwrap_or_default();
        pending.into_iter().map(|suspension| suspension.path).collect()
    }
}

fn judged(row: &RequestRow, plan: &PlanRow, waiting: &[String]) -> Judged {
    let no = |why: String| (Resumable::No, Some(why));
    if let Some(error) = &plan.error {
        return no(error.message.clone());
    }
    // No block would get the answer.
    let is_gone =
        |path: &&String| plan.orphaned.iter().any(|gone| path == &gone || path.starts_with(&format!("{gone}/")));
    if row.status == RequestStatus::Suspended
        && let Some(path) = waiting.iter().find(is_gone)
    {
        return no(format!("the block {path}, which waits for an answer, is gone"));
    }
    let mut again = Vec::new();
    if let Some(gone) = plan.orphaned.first() {
        let others = plan.orphaned.len() - 1;
        let more = if others > 0 { format!(" and {others} more") } else { String::new() };
        again.push(format!("{gone}{more} is gone: what it did is not used"));
    }
    if plan.models_asked > 0 {
        let path = plan.again.iter().find(|block| block.models_asked > 0).map_or("", |block| block.path.as_str());
        again.push(format!("{} asked again, in {path}", calls(plan.models_asked)));
    }
    if let Some(open) = plan.may_have_happened.first() {
        again.push(format!("{} of {} may have happened, and is made again", open.kind.as_str(), open.path));
    }
    if again.is_empty() { (Resumable::Yes, None) } else { (Resumable::AsksAgain, Some(again.join("; "))) }
}

fn calls(count: u32) -> String {
    if count == 1 { "1 model call is".to_owned() } else { format!("{count} model calls are") }
}
