//! Which requests of the database a verification runs. Requests whose code has not changed are left out unless all are
//! wanted, and so are those whose verdict this process remembers.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::RequestStatus;
use store::{RanCode, RequestQuery};

use super::{Basis, Job, VerifyQuery, Workspace};
use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::run::batch::Cancel;
use crate::views::{RequestRow, Verdict, VerifiedRun};

impl Workspace {
    /// The jobs of a query for requests, newest first.
    ///
    /// If it is cancelled, flows that are not loaded yet count as flows that do not load, and no job begins.
    pub(super) fn selected_requests(&self, query: &VerifyQuery, cancel: &Cancel) -> Result<Vec<Job>, Fault> {
        let is_cancelled = || cancel.is_cancelled();
        let find = |kind: &str| self.with_catalogue_unless(&is_cancelled, |catalogue| catalogue.find_as_it_is(kind));
        let mut rows = self.rows_to_verify(query, cancel)?;
        if query.requests.is_empty() && query.session.is_some() {
            // Samples ran experimental code. Without a session, no sample was selected.
            let sampled = self.store.sampled().map_err(Fault::internal)?;
            rows.retain(|row| !sampled.contains(&row.id));
        }
        let ran = self.store.ran_code().map_err(Fault::internal)?;
        let expected: HashMap<String, i64> = self.store.expected().map_err(Fault::internal)?.into_iter().collect();
        let settings = self.settings_changed_at();
        let mut flows: HashMap<String, Result<Arc<LoadedFlow>, Fault>> = HashMap::new();
        let mut same: HashMap<(String, String), bool> = HashMap::new();
        let mut jobs = Vec::with_capacity(rows.len());
        for row in rows {
            if let Err(fault) = Self::check_not_foreign(&row) {
                let why = Some(fault.to_string());
                let run = VerifiedRun { why, ..VerifiedRun::of(&row, Verdict::NotComparable) };
                jobs.push(Job::Known(Box::new(run)));
                continue;
            }
            let flow = flows.entry(row.flow.clone()).or_insert_with(|| find(&row.flow)).clone();
            let settled = match &flow {
                Ok(flow) if !query.all && !is_running(&row) => {
                    let mut is_of_flow = |hash: &String| {
                        let known = same.entry((row.flow.clone(), hash.clone()));
                        *known.or_insert_with(|| flow.bundle.is_of(hash, &self.dir))
                    };
                    let is_same = |ran: &RanCode| ran.is_whole && is_of_flow(&ran.hash);
                    let is_as_it_ran = ran.get(&row.id).is_some_and(is_same) && row.started_at > settings;
                    let expected_at = expected.get(&row.id).copied();
                    if is_as_it_ran && expected_at.is_none() {
                        Some(VerifiedRun::of(&row, Verdict::Unaffected))
                    } else {
                        let basis = Basis { code: flow.bundle.hash.clone(), last: row.last_seq, expected_at };
                        // Only verdicts are remembered, and accepting needs the whole comparison.
                        self.verdicts.get(&row.id, &basis).filter(|_| !query.accept)
                    }
                }
                _ => None,
            };
            jobs.push(match settled {
                Some(run) => Job::Known(Box::new(run)),
                None => Job::Request { expected_at: expected.get(&row.id).copied(), id: row.id, flow },
            });
        }
        Ok(jobs)
    }

    fn rows_to_verify(&self, query: &VerifyQuery, cancel: &Cancel) -> Result<Vec<RequestRow>, Fault> {
        if !query.requests.is_empty() {
            let mut seen = HashSet::new();
            let distinct = query.requests.iter().filter(|request| seen.insert(request.as_str()));
            return distinct.map(|request| self.request(request)).collect();
        }
        let selected = RequestQuery {
            session: query.session.clone(),
            flow: query.flow.clone(),
            status: query.status,
            ..RequestQuery::default()
        };
        let mut rows = self.requests(selected)?;
        if let Some(flow) = query.flow.as_ref().filter(|_| rows.is_empty()) {
            // A mistyped name must be an error: an empty result looks like success.
            self.with_catalogue_unless(&|| cancel.is_cancelled(), |catalogue| catalogue.find(flow))?;
        }
        // Running and foreign requests are judged (as not comparable) only if they are named.
        let is_comparable = |row: &RequestRow| !is_running(row) && row.received_from.is_none();
        rows.retain(|row| query.since.is_none_or(|since| row.started_at >= since) && is_comparable(row));
        Ok(rows)
    }
}

pub(super) fn is_running(row: &RequestRow) -> bool {
    matches!(row.status, RequestStatus::Queued | RequestStatus::InProgress)
}
