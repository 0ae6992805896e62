//! Lists of runs: requests of all sessions by a filter and in an order, what they come to by day, and their tags.
//!
//! A list reads the rows that it shows. Costs are computed when they are shown, because prices change.

mod block_sums;
mod filter;
mod tags;

use std::collections::HashMap;

use engine::event::RequestStatus;
use indexmap::IndexSet;
use store::{Liveness, ModelPrice, RunCondition, RunFilter, RunOrder, RunQuery, RunTerm, TRILLIONTHS};

use super::Workspace;
use crate::core::fault::Fault;
use crate::core::prices::added;
use crate::views::{RunDay, RunRow, RunsSummary, SessionRow};

pub use tags::TagChanges;

/// Which runs, and in which order.
#[derive(Clone, Debug, Default)]
pub struct RunsQuery {
    /// In the language of the filter line.
    pub filter: String,
    /// What must hold besides.
    pub terms: Vec<RunTerm>,
    /// By what they are ordered.
    pub order: RunOrder,
    /// Whether the largest or newest come first.
    pub is_descending: bool,
    /// At most this many.
    pub limit: Option<u64>,
    /// How many to skip.
    pub offset: Option<u64>,
}

impl Workspace {
    /// Runs, in the order that is asked for.
    pub fn runs(&self, query: &RunsQuery) -> Result<Vec<RunRow>, Fault> {
        for term in &query.terms {
            if let RunCondition::Session(session) = &term.condition {
                self.session(session)?;
            }
        }
        let query = self.run_query(query)?;
        let rows = self.store.runs(&query).map_err(Fault::internal)?;
        Ok(self.priced(rows, &query.filter.prices))
    }

    /// Runs with what they cost.
    fn priced(&self, rows: Vec<store::RunRow>, prices: &[ModelPrice]) -> Vec<RunRow> {
        let prices: HashMap<i64, ModelPrice> = prices.iter().map(|price| (price.model, *price)).collect();
        rows.into_iter().map(|row| self.run_row(row, &prices)).collect()
    }

    /// Runs as the store has them, as people see them.
    pub(super) fn run_rows(&self, rows: Vec<store::RunRow>) -> Result<Vec<RunRow>, Fault> {
        Ok(self.priced(rows, &self.model_prices()?))
    }

    /// As [`runs`](Self::runs), each with what it came to.
    pub fn runs_with_totals(&self, query: &RunsQuery) -> Result<Vec<RunRow>, Fault> {
        let mut rows = self.runs(query)?;
        for run in &mut rows {
            run.row.totals = Some(self.totals(&run.row)?);
        }
        Ok(rows)
    }

    /// The ids of runs, in the order that is asked for.
    pub fn run_ids(&self, query: &RunsQuery) -> Result<Vec<String>, Fault> {
        self.store.run_ids(&self.run_query(query)?).map_err(Fault::internal)
    }

    /// What runs come to, altogether and by the day on which they began.
    pub fn runs_summary(&self, filter: &str) -> Result<RunsSummary, Fault> {
        let filter = self.run_filter(filter, Vec::new())?;
        let found = self.store.runs_by_day(&filter).map_err(Fault::internal)?;
        let mut summary = RunsSummary { samples: found.samples, ..RunsSummary::default() };
        for day in found.days {
            summary.runs += day.runs;
            summary.failed += day.failed;
            summary.tokens += day.tokens;
            summary.cost_usd = match (summary.cost_usd, day.usd) {
                (None, cost) | (cost, None) => cost,
                (Some(one), Some(other)) => Some(added(one, other)),
            };
            if day.day.is_empty() {
                continue;
            }
            summary.days.push(RunDay {
                day: day.day,
                runs: day.runs,
                failed: day.failed,
                tokens: day.tokens,
                cost_usd: day.usd,
            });
        }
        Ok(summary)
    }

    /// How many samples of experiments fit a query, where its list leaves them out.
    pub fn samples_left_out(&self, query: &RunsQuery) -> Result<u64, Fault> {
        let filter = self.run_filter(&query.filter, query.terms.clone())?;
        self.store.samples_left_out(&filter).map_err(Fault::internal)
    }

    /// How many runs there are.
    pub fn count_runs(&self, filter: &str) -> Result<u64, Fault> {
        self.store.count_runs(&self.run_filter(filter, Vec::new())?).map_err(Fault::internal)
    }

    /// The sessions of requests, each once, in the order of the requests.
    pub fn sessions_of(&self, requests: &[String]) -> Result<Vec<SessionRow>, Fault> {
        let mut sessions: IndexSet<String> = IndexSet::new();
        for request in requests {
            sessions.extend(self.store.request(request).map_err(Fault::internal)?.map(|row| row.session));
        }
        sessions.iter().map(|session| self.session(session)).collect()
    }

    fn run_query(&self, query: &RunsQuery) -> Result<RunQuery, Fault> {
        Ok(RunQuery {
            filter: self.run_filter(&query.filter, query.terms.clone())?,
            order: query.order,
            is_descending: query.is_descending,
            limit: query.limit,
            offset: query.offset,
        })
    }

    fn run_filter(&self, text: &str, mut terms: Vec<RunTerm>) -> Result<RunFilter, Fault> {
        terms.extend(filter::terms(text)?);
        let asks_who_lives = |term: &RunTerm| {
            let RunCondition::Status(status) = term.condition else { return false };
            matches!(status, RequestStatus::Queued | RequestStatus::InProgress | RequestStatus::Interrupted)
        };
        let gone = if terms.iter().any(asks_who_lives) { self.gone_requests()? } else { Vec::new() };
        Ok(RunFilter { terms, gone, prices: self.model_prices()? })
    }

    /// The requests that have not ended and whose job is gone.
    fn gone_requests(&self) -> Result<Vec<String>, Fault> {
        let mut known: HashMap<String, bool> = HashMap::new();
        let unfinished = self.store.unfinished_runs().map_err(Fault::internal)?;
        let gone = unfinished.into_iter().filter_map(|(id, owner)| {
            let is_gone = |owner: &str| self.locks.liveness(owner) == Liveness::Dead;
            let gone = *known.entry(owner).or_insert_with_key(|owner| is_gone(owner));
            gone.then_some(id)
        });
        Ok(gone.collect())
    }

    /// What the models that were called cost, where they have prices.
    fn model_prices(&self) -> Result<Vec<ModelPrice>, Fault> {
        if self.config.prices.is_empty() {
            return Ok(Vec::new());
        }
        let models = self.store.models().map_err(Fault::internal)?;
        let price = |model: store::ModelName| {
            let [input, cached, output] = self.config.token_prices(&model.asked, &model.answered)?;
            Some(ModelPrice { model: model.n, input, cached, output })
        };
        Ok(models.into_iter().filter_map(price).collect())
    }

    fn run_row(&self, run: store::RunRow, prices: &HashMap<i64, ModelPrice>) -> RunRow {
        let costs = run.used.iter().filter(|used| used.counted > 0).filter_map(|used| {
            let price = prices.get(&used.model)?;
            let fresh = used.input.saturating_sub(used.cached) as f64 * price.input;
            Some(fresh + used.cached as f64 * price.cached + used.output as f64 * price.output)
        });
        RunRow {
            row: self.request_row(run.request),
            title: run.annotated.title,
            tags: run.annotated.tags,
            note: run.annotated.note,
            tokens: run.tokens,
            cost_usd: costs
                .fold(None, |sum, cost| Some(sum.unwrap_or(0.0) + cost))
                .map(|trillionths| trillionths / TRILLIONTHS),
            words: run.words,
        }
    }
}
