//! Verifying recorded runs: each is replayed with the code of today, and what differs is told by its first difference
//! (ARCHITECTURE §8.11).
//!
//! Nothing is written but what is accepted. Must not ask a model or the network: a replay does not.

mod differing;
mod flows_of_batch;
mod groups;
mod judge;
mod keep;
mod resumable;
pub(super) mod run_file;
mod selection;
mod settings_time;
mod temporary_databases;
#[cfg(test)]
mod work_tests;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use engine::event::RequestStatus;

use super::{Workspace, lock};
use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::core::unfinished_files::remove_leftovers_beside;
use crate::run::batch::{Bounds, Cancel, batch, cores};
use crate::run::replay::comparison::Expectation;
use crate::views::{Verdict, Verified, VerifiedRun, VerifyProgress};
use flows_of_batch::{FindFlow, FlowsOfBatch};
use judge::{Judged, failed};
use resumable::Resumables;
use run_file::{RUN_FILE_END, Source};
use temporary_databases::TemporaryDatabases;

/// Which recorded runs to verify, and how.
#[derive(Clone, Debug, Default, serde::Deserialize, specta::Type)]
#[serde(rename_all = "camelCase", default)]
pub struct VerifyQuery {
    /// These `.run` files; with none, requests of the database.
    pub files: Vec<PathBuf>,
    /// These requests; with none, all that the other fields select.
    pub requests: Vec<String>,
    /// Only requests of this session.
    pub session: Option<String>,
    /// Only requests of this flow.
    pub flow: Option<String>,
    /// Only requests with this status.
    #[specta(type = Option<String>)]
    pub status: Option<RequestStatus>,
    /// Only those that began at or after this instant, in milliseconds since the epoch.
    #[specta(type = Option<f64>)]
    pub since: Option<i64>,
    /// Run also those whose code is the code that ran.
    pub all: bool,
    /// Accept the differences as expected from now on.
    pub accept: bool,
    /// How many run at once; one per core if absent.
    pub jobs: Option<u32>,
}

/// A recorded run that is to be judged.
enum Job {
    /// A request of the database. Without a flow it cannot be run.
    Request { id: String, flow: Result<Arc<LoadedFlow>, Fault>, expected_at: Option<i64> },
    /// A file.
    File(PathBuf),
    /// The verdict is known.
    Known(Box<VerifiedRun>),
}

impl Job {
    /// How many bytes are read for it, as far as that is known before.
    fn weight(&self) -> u64 {
        match self {
            Job::File(file) => std::fs::metadata(file).map_or(0, |about| about.len()),
            Job::Request { .. } | Job::Known(_) => 0,
        }
    }

    /// What the run is known by: its file, or its request.
    fn name(&self) -> String {
        match self {
            Job::Request { id, .. } => id.clone(),
            Job::File(file) => file.display().to_string(),
            Job::Known(run) => run.file.clone().or_else(|| run.request_id.clone()).unwrap_or_default(),
        }
    }
}

/// What was found out in this process: by request, with what the verdict depends on.
#[derive(Default)]
pub(crate) struct Verdicts {
    runs: Mutex<HashMap<String, (Basis, VerifiedRun)>>,
    resumables: Resumables,
}

/// What a verdict on a request depends on, besides the files that code reads when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Basis {
    /// The hash of the code of today.
    code: String,
    /// The request's last event.
    last: u64,
    /// When what is expected of it was accepted.
    expected_at: Option<i64>,
}

/// How long the files may be together that are read at once: a replay takes a few times as much memory.
const MOST_BYTES_AT_ONCE: u64 = 64 << 20;
/// How many verdicts a process remembers.
const MAX_REMEMBERED: usize = 50_000;

impl Verdicts {
    fn get(&self, request: &str, basis: &Basis) -> Option<VerifiedRun> {
        let known = lock(&self.runs);
        known.get(request).filter(|(known, _)| known == basis).map(|(_, run)| run.clone())
    }

    fn insert(&self, request: String, basis: Basis, run: VerifiedRun) {
        let mut known = lock(&self.runs);
        if known.len() < MAX_REMEMBERED || known.contains_key(&request) {
            known.insert(request, (basis, run));
        }
    }

    fn forget(&self, request: &str) {
        lock(&self.runs).remove(request);
    }
}

impl Workspace {
    /// Verifies recorded runs against the code of today. `progress` hears of each verdict, on this thread.
    pub fn verify(
        &self,
        query: &VerifyQuery,
        cancel: &Cancel,
        mut progress: impl FnMut(VerifyProgress),
    ) -> Result<Verified, Fault> {
        self.check_trusted()?;
        if query.accept {
            self.check_writable()?;
            remove_leftovers_beside(&query.files, RUN_FILE_END);
        }
        let jobs = if query.files.is_empty() {
            self.selected_requests(query, cancel)?
        } else {
            distinct(&query.files).cloned().map(Job::File).collect()
        };
        let mut runs: Vec<Option<VerifiedRun>> = std::iter::repeat_with(|| None).take(jobs.len()).collect();
        let (mut done, mut bad) = (0, 0);
        let workers = query.jobs.map_or_else(cores, |jobs| jobs as usize);
        let of = jobs.len() as u32;
        let databases = TemporaryDatabases::default();
        // Once a batch: it looks at all files of the folder, and two runs are held against the same code.
        let is_cancelled = || cancel.is_cancelled();
        let flows = FlowsOfBatch::new(|kind: &str| {
            self.with_catalogue_unless(&is_cancelled, |catalogue| catalogue.find_as_it_is(kind))
        });
        batch(
            &jobs,
            &Bounds { weight: &Job::weight, most_weight: MOST_BYTES_AT_ONCE, ..Bounds::workers(workers) },
            cancel,
            |job| self.judge_job(job, &databases, &flows, cancel),
            |number, judged: Option<Judged>| {
                // One that was cancelled before its end has no verdict.
                let Some(Judged { mut run, accepted, unacceptable, source }) = judged else { return };
                if query.accept && run.verdict == Verdict::Differs {
                    match accepted {
                        Some(accepted) => match self.accept(&run, &accepted, source) {
                            Ok(()) => run.accepted = true,
                            // Others may be accepted, and all are judged.
                            Err(fault) => run.why = Some(format!("it was not accepted: {fault}")),
                        },
                        None if run.why.is_none() => run.why = unacceptable.map(|why| why.reason().to_owned()),
                        None => {}
                    }
                }
                (done, bad) = (done + 1, bad + u32::from(!run.verdict.is_good()));
                runs[number] = Some(run);
                progress(VerifyProgress { done, of, bad });
            },
        )?;
        let missing = jobs.iter().zip(&runs).filter(|(_, run)| run.is_none()).map(|(job, _)| job.name()).collect();
        let mut verified = groups::summary(runs.into_iter().flatten().collect(), missing);
        if verified.differs > 0 {
            verified.unset_variables = self.missing_secrets();
        }
        Ok(verified)
    }

    /// Judges one run. What cannot be judged says why. `None` if it was cancelled before its verdict.
    fn judge_job(
        &self,
        job: &Job,
        databases: &TemporaryDatabases<Workspace>,
        flows: &FlowsOfBatch<impl FindFlow>,
        cancel: &Cancel,
    ) -> Option<Judged> {
        Some(match job {
            Job::Known(run) => Judged::settled((**run).clone()),
            Job::File(file) => return self.judge_file(file, databases, |kind: &str| flows.find(kind), cancel),
            Job::Request { id, flow, expected_at } => match flow {
                Ok(flow) => return self.judge_request(id, flow, *expected_at, cancel),
                Err(fault) => {
                    let run = failed(fault);
                    let about = self.request(id).ok();
                    Judged::settled(VerifiedRun {
                        request_id: Some(id.clone()),
                        flow: about.as_ref().map(|row| row.flow.clone()),
                        action: about.map(|row| row.action),
                        ..run
                    })
                }
            },
        })
    }

    fn judge_request(
        &self,
        id: &str,
        flow: &Arc<LoadedFlow>,
        expected_at: Option<i64>,
        cancel: &Cancel,
    ) -> Option<Judged> {
        let row = match self.request(id) {
            Ok(row) => row,
            // Somebody has deleted it meanwhile.
            Err(fault) => {
                let (request_id, verdict) = (Some(id.to_owned()), Verdict::NotComparable);
                return Some(Judged::settled(VerifiedRun { request_id, verdict, ..failed(&fault) }));
            }
        };
        let basis = Basis { code: flow.bundle.hash.clone(), last: row.last_seq, expected_at };
        let judged = self.judge(id, flow, cancel)?;
        let request_id = Some(id.to_owned());
        let run = VerifiedRun { request_id, flow: Some(row.flow), action: Some(row.action), ..judged.run };
        self.verdicts.insert(id.to_owned(), basis, run.clone());
        Some(Judged { run, ..judged })
    }

    /// Stores what a run does now as what is expected of it.
    fn accept(&self, run: &VerifiedRun, accepted: &Expectation, source: Option<Source>) -> Result<(), Fault> {
        if let Some(source) = source {
            return source.accept(accepted, &self.config.limits);
        }
        run.request_id.as_ref().map_or(Ok(()), |request| self.expect(request, accepted))
    }

    /// Stores what a request is expected to do.
    pub(super) fn expect(&self, request: &str, expected: &Expectation) -> Result<(), Fault> {
        self.verdicts.forget(request);
        // An empty expectation means: as the log says.
        let body = (!expected.is_empty()).then(|| serde_json::to_value(expected)).transpose();
        let body = body.map_err(Fault::internal)?;
        let at = crate::effects::outside::now_ms();
        self.store.expect(request, at, body.as_ref()).map(drop).map_err(Fault::internal)
    }
}

/// Files without those that are named twice, also by other paths: each is judged, and accepted, once.
fn distinct(files: &[PathBuf]) -> impl Iterator<Item = &PathBuf> {
    let mut seen = HashSet::new();
    files.iter().filter(move |file| seen.insert(std::fs::canonicalize(file).unwrap_or_else(|_| (*file).clone())))
}
