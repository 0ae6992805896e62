//! Finding a text in everything that ran.

use store::{RunFilter, Samples, SearchQuery};

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::{HitRow, SearchPage};

impl Workspace {
    /// Where a text stands in what was given, made, emitted, written, logged and thrown; the newest
    /// request's places first.
    pub fn search(&self, query: &SearchQuery) -> Result<Vec<HitRow>, Fault> {
        if query.text.trim().is_empty() {
            return Err(Fault::invalid("there is nothing to look for: the text is empty"));
        }
        if let Some(session) = &query.session {
            self.session(session)?;
        }
        let hits = self.store.search_hiding(query, &self.config.redaction()).map_err(Fault::internal)?;
        let row = |hit: store::Hit| HitRow {
            request_id: hit.request.to_string(),
            seq: hit.seq,
            path: hit.path.map(|path| path.to_string()),
            place: hit.place,
            snippet: hit.snippet,
        };
        Ok(hits.into_iter().map(row).collect())
    }

    /// How many samples of experiments a search leaves out. What they hold is not counted: that is as much work as to
    /// look through them.
    pub fn samples_not_searched(&self, query: &SearchQuery) -> Result<u64, Fault> {
        if query.samples != Samples::LeftOut || query.session.is_some() || query.request.is_some() {
            return Ok(0);
        }
        self.store.samples_left_out(&RunFilter::default()).map_err(Fault::internal)
    }

    /// The same with the requests that the places are in. One that was deleted meanwhile is left out.
    pub fn search_page(&self, query: &SearchQuery) -> Result<SearchPage, Fault> {
        let hits = self.search(query)?;
        let mut ids: Vec<&str> = hits.iter().map(|hit| hit.request_id.as_str()).collect();
        // Those of one request stand together.
        ids.dedup();
        let requests = self.listed(&ids)?;
        let samples = u32::try_from(self.samples_not_searched(query)?).unwrap_or(u32::MAX);
        Ok(SearchPage { hits, requests, samples })
    }
}
