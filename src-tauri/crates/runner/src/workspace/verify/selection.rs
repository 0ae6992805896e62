//! Which requests of the database are run to verify them: not those whose code is the code that ran, unless all are
//! wanted, and not again what this process knows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::RequestStatus;
use store::{RanCode, RequestQuery};

use super::{Basis, Job, VerifyQuery, Workspace};
use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::views::{RequestRow, Verdict, VerifiedRun};

impl Workspace {
    /// The jobs of a query for requests, newest first.
    pub(super) fn selected_requests(&self, query: &VerifyQuery) -> Result<Vec<Job>, Fault> {
        let rows = self.rows_to_verify(query)?;
        let ran = self.store.ran_code().map_err(Fault::internal)?;
        let expected: HashSet<String> = self.store.expected().map_err(Fault::internal)?.into_iter().collect();
        let mut flows: HashMap<String, Result<Arc<LoadedFlow>, Fault>> = HashMap::new();
        let mut jobs = Vec::with_capacity(rows.len());
        for row in rows {
            let flow = flows.entry(row.flow.clone());
            let flow =
                flow.or_insert_with(|| self.with_catalogue(|catalogue| catalogue.find_as_it_is(&row.flow))).clone();
            let settled = match &flow {
                Ok(_) if is_running(&row) => Some(VerifiedRun {
                    why: Some("it is still running: verify it when it has ended".to_owned()),
                    ..VerifiedRun::of(&row, Verdict::NotComparable)
                }),
                Ok(flow) if !query.all => {
                    let is_same = |ran: &RanCode| ran.is_whole && ran.hash == flow.bundle.hash;
                    if ran.get(&row.id).is_some_and(is_same) && !expected.contains(&row.id) {
                        Some(VerifiedRun::of(&row, Verdict::Unaffected))
                    } else {
                        let basis = Basis { code: flow.bundle.hash.clone(), last: row.last_seq };
                        // What is accepted is found out anew.
                        self.verdicts.get(&row.id, &basis).filter(|_| !query.accept)
                    }
                }
                _ => None,
            };
            jobs.push(match settled {
                Some(run) => Job::Known(Box::new(run)),
                None => Job::Request { id: row.id, flow },
            });
        }
        Ok(jobs)
    }

    fn rows_to_verify(&self, query: &VerifyQuery) -> Result<Vec<RequestRow>, Fault> {
        if !query.requests.is_empty() {
            return query.requests.iter().map(|request| self.request(request)).collect();
        }
        let selected = RequestQuery {
            session: query.session.clone(),
            flow: query.flow.clone(),
            status: query.status,
            ..RequestQuery::default()
        };
        let mut rows = self.requests(selected)?;
        // Only those that are named are told that they run.
        rows.retain(|row| query.since.is_none_or(|since| row.started_at >= since) && !is_running(row));
        Ok(rows)
    }
}

fn is_running(row: &RequestRow) -> bool {
    matches!(row.status, RequestStatus::Queued | RequestStatus::InProgress)
}
