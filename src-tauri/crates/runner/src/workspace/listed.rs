//! Lists of sessions and requests, each with the first words of its input.

use store::{RequestQuery, SessionQuery};

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::{ErrorInfo, ListedRequest, ListedSession, RequestRow, span};

impl Workspace {
    /// Sessions in the requested order, with the first words of their newest requests.
    pub fn listed_sessions(&self, query: SessionQuery) -> Result<Vec<ListedSession>, Fault> {
        let rows = self.session_rows(query)?;
        let requests: Vec<&str> = rows.iter().map(|(stored, _)| stored.last_request.as_str()).collect();
        let words = self.store.input_words(&requests).map_err(Fault::internal)?;
        let listed = rows.into_iter().zip(words).map(|((stored, row), words)| ListedSession {
            row,
            last_request: stored.last_request,
            last_action: stored.last_action,
            last_duration_ms: stored.last_finished_at.map(|end| span(stored.last_started_at, end)),
            // Lists do not show stacks, which may be long.
            last_error: stored.last_error.as_ref().map(|error| ErrorInfo { stack: None, ..ErrorInfo::from(error) }),
            words,
        });
        Ok(listed.collect())
    }

    /// Requests in the requested order, with the first words of their inputs.
    pub fn listed_requests(&self, query: RequestQuery) -> Result<Vec<ListedRequest>, Fault> {
        self.with_words(self.requests(query)?)
    }

    /// Requests by their ids, with the first words of their inputs. Unknown ids are left out.
    pub(super) fn listed(&self, ids: &[&str]) -> Result<Vec<ListedRequest>, Fault> {
        let mut rows = Vec::with_capacity(ids.len());
        for id in ids {
            rows.extend(self.store.request(id).map_err(Fault::internal)?.map(|row| self.request_row(row)));
        }
        self.with_words(rows)
    }

    /// The first words of a request's input.
    pub fn input_words(&self, request: &str) -> Result<Option<String>, Fault> {
        let words = self.store.input_words(&[request]).map_err(Fault::internal)?;
        Ok(words.into_iter().next().flatten())
    }

    fn with_words(&self, rows: Vec<RequestRow>) -> Result<Vec<ListedRequest>, Fault> {
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        let words = self.store.input_words(&ids).map_err(Fault::internal)?;
        let times = self.store.changed_at(&ids).map_err(Fault::internal)?;
        let listed = rows.into_iter().zip(words).zip(times);
        Ok(listed.map(|((row, words), changed_at)| ListedRequest { row, words, changed_at }).collect())
    }
}
