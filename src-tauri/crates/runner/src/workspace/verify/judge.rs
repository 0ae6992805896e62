//! The verdict on one recorded run.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::super::{OpenOptions, Workspace};
use super::differing::{FirstPlace, field, first_place};
use super::flows_of_batch::FindFlow;
use super::run_file::{RunFile, Source};
use super::selection::is_running;
use super::temporary_databases::TemporaryDatabases;
use crate::catalogue::LoadedFlow;
use crate::catalogue::trust::Consent;
use crate::core::config::Durability;
use crate::core::fault::Fault;
use crate::run::batch::Cancel;
use crate::run::replay::comparison::{Difference, Expectation, Unacceptable};
use crate::run::replay::{ReplayInput, ReplayedCode, Watch, replay};
use crate::views::{Json, RequestRow, Verdict, VerifiedRun};

/// A verdict, and the expectation to store if it is accepted.
pub(super) struct Judged {
    pub(super) run: VerifiedRun,
    /// The expected behaviour after accepting the differences; `None` if they cannot be accepted.
    pub(super) accepted: Option<Expectation>,
    /// Why the differences cannot be accepted.
    pub(super) unacceptable: Option<Unacceptable>,
    /// The file from which the run was read.
    pub(super) source: Option<Source>,
}

impl Judged {
    /// A verdict that cannot be accepted.
    pub(super) fn settled(run: VerifiedRun) -> Judged {
        Judged { run, accepted: None, unacceptable: None, source: None }
    }
}

impl VerifiedRun {
    /// A verdict on a request, without details.
    pub(super) fn of(row: &RequestRow, verdict: Verdict) -> VerifiedRun {
        VerifiedRun {
            request_id: Some(row.id.clone()),
            flow: Some(row.flow.clone()),
            action: Some(row.action.clone()),
            ..empty(verdict)
        }
    }
}

fn empty(verdict: Verdict) -> VerifiedRun {
    VerifiedRun {
        request_id: None,
        file: None,
        flow: None,
        action: None,
        verdict,
        path: None,
        seq: None,
        field: None,
        place: None,
        recorded: None,
        found: None,
        why: None,
        accepted: false,
    }
}

/// The verdict on a run that could not be replayed.
pub(super) fn failed(fault: &Fault) -> VerifiedRun {
    let verdict = match fault {
        // The flow or its action no longer exists.
        Fault::NotLoaded { .. } | Fault::NotFound { .. } => Verdict::DoesNotLoad,
        _ => Verdict::NotComparable,
    };
    VerifiedRun { why: Some(fault.to_string()), ..empty(verdict) }
}

impl Workspace {
    /// Replays a request of this database with a flow. `None` if the replay was cancelled.
    pub(super) fn judge(&self, request: &str, flow: &Arc<LoadedFlow>, cancel: &Cancel) -> Option<Judged> {
        let judged = self.expectation_of(request).and_then(|expected| self.compared(request, flow, expected, cancel));
        judged.unwrap_or_else(|fault| Some(Judged::settled(failed(&fault))))
    }

    /// The accepted behaviour of a request where it differs from its log.
    pub(super) fn expectation_of(&self, request: &str) -> Result<Expectation, Fault> {
        let stored = self.store.expectation(request).map_err(Fault::internal)?;
        stored.map_or_else(|| Ok(Expectation::default()), |stored| Expectation::read(stored).map_err(Fault::internal))
    }

    fn compared(
        &self,
        request: &str,
        flow: &Arc<LoadedFlow>,
        expectation: Expectation,
        cancel: &Cancel,
    ) -> Result<Option<Judged>, Fault> {
        let (row, events) = self.whole_log_of(request).map_err(|fault| match fault {
            // The request was deleted meanwhile; not an error of its flow.
            Fault::NotFound { message } => Fault::refused(message),
            other => other,
        })?;
        if is_running(&row) {
            return Err(Fault::refused("the request is still running: verify it when it has ended"));
        }
        let input = self.replay_input(&row, events, ReplayedCode::Loaded(flow.clone()))?;
        let watch = Watch { cancel: cancel.clone(), progress: None };
        let compared = match replay(&self.dir, ReplayInput { expectation, watch, ..input }) {
            Ok(replayed) if replayed.is_cancelled => return Ok(None),
            // Cancelling while the code loads causes an error.
            Err(_) if cancel.is_cancelled() => return Ok(None),
            replayed => replayed?.result,
        };
        let run = match (compared.first, compared.nothing) {
            (Some(first), _) => differing(first),
            (None, Some(why)) => VerifiedRun { why: Some(why.to_owned()), ..empty(Verdict::NotComparable) },
            (None, None) => empty(Verdict::Same),
        };
        let (accepted, unacceptable) = (compared.accepted, compared.unacceptable);
        Ok(Some(Judged { run, accepted, unacceptable, source: None }))
    }

    /// Replays the run in a file, in a temporary database. `None` if it was cancelled, also while reading the file.
    pub(super) fn judge_file(
        &self,
        file: &Path,
        databases: &TemporaryDatabases<Workspace>,
        find: impl FindFlow,
        cancel: &Cancel,
    ) -> Option<Judged> {
        let mut judged = match RunFile::read(file, &self.config.limits, cancel) {
            Ok(None) => return None,
            Ok(Some(read)) => {
                let (flow, action) = (Some(read.label.flow.clone()), Some(read.label.action.clone()));
                let request_id = Some(read.label.request.clone());
                let judged = match self.compared_file(read, databases, find, cancel) {
                    Ok(judged) => judged?,
                    Err(fault) => Judged::settled(failed(&fault)),
                };
                Judged { run: VerifiedRun { request_id, flow, action, ..judged.run }, ..judged }
            }
            // An unreadable file is not an error of its flow.
            Err(fault) => Judged::settled(VerifiedRun { verdict: Verdict::NotComparable, ..failed(&fault) }),
        };
        judged.run.file = Some(file.display().to_string());
        Some(judged)
    }

    /// Opens this folder with a temporary database of its own.
    fn open_apart(&self, database: &Path) -> Result<Arc<Workspace>, Fault> {
        Workspace::open(OpenOptions {
            dir: self.dir.clone(),
            data: Some(database.to_owned().into()),
            durability: Some(Durability::Scratch),
            consent: Consent::Given,
            ..OpenOptions::default()
        })
    }

    fn compared_file(
        &self,
        read: RunFile,
        databases: &TemporaryDatabases<Workspace>,
        find: impl FindFlow,
        cancel: &Cancel,
    ) -> Result<Option<Judged>, Fault> {
        let RunFile { label, pieces, expectation, lines, source } = read;
        let flow = match find(&label.flow) {
            // Cancelled before the flow was loaded.
            Err(_) if cancel.is_cancelled() => return Ok(None),
            found => found?,
        };
        let judged = databases.with(
            |path| self.open_apart(path),
            |apart| {
                // Moves the events from memory to the database.
                apart.take_in(pieces, &lines, &source)?;
                drop(lines);
                if cancel.is_cancelled() {
                    return Ok(None);
                }
                apart.compared(&label.request, &flow, expectation, cancel)
            },
        )?;
        Ok(judged.map(|judged| Judged { source: Some(source), ..judged }))
    }
}

fn differing(first: Difference) -> VerifiedRun {
    let Difference { divergence, is_asked } = first;
    let (recorded, found) = (divergence.recorded.0, divergence.found.0);
    let field = field(&recorded, &found, is_asked);
    let limit = limit_that_ended(&found);
    let FirstPlace { place, recorded, found } = first_place(&recorded, &found);
    let verdict = if is_asked { Verdict::AsksNew } else { Verdict::Differs };
    let asks = "it makes a call that was not recorded: only a live run can show the result";
    VerifiedRun {
        path: Some(divergence.path),
        seq: Some(divergence.seq),
        field: Some(field),
        place,
        recorded: Some(Json(recorded)),
        found: Some(Json(found)),
        why: if is_asked { Some(asks.to_owned()) } else { limit },
        ..empty(verdict)
    }
}

/// The message of the limit that ended a block, from its error, which may be one of several fields.
fn limit_that_ended(found: &Value) -> Option<String> {
    let error = found.get("error").unwrap_or(found);
    (error["code"] == "limit_exceeded").then(|| error["message"].as_str().unwrap_or_default().to_owned())
}
