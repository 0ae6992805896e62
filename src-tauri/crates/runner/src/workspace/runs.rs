//! Lists of runs: requests of all sessions by a filter and in an order, what they come to by day, and their tags, notes
//! and titles.
//!
//! A list reads the rows that it shows. Costs are computed when they are shown, because prices change.

mod filter;

use std::collections::HashMap;

use engine::event::RequestStatus;
use indexmap::IndexSet;
use store::{
    Annotating, Annotation, AnnotationKind, Liveness, ModelPrice, RunCondition, RunFilter, RunOrder, RunQuery, RunTerm,
};

use super::Workspace;
use crate::core::fault::{Detail, Fault};
use crate::core::notice::Notice;
use crate::effects::outside::now_ms;
use crate::views::{RunDay, RunRow, RunsSummary, SessionRow, TagCount, Tags};

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

/// What to change of a request's tags, note and title.
#[derive(Clone, Debug, Default)]
pub struct TagChanges {
    /// Tags to add (`true`) or to remove, in this order.
    pub tags: Vec<(bool, String)>,
    /// Another note; an empty one removes it.
    pub note: Option<String>,
    /// Another title; an empty one removes it.
    pub title: Option<String>,
    /// Who changes it.
    pub by: Option<String>,
}

impl TagChanges {
    /// Whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.tags.is_empty() && self.note.is_none() && self.title.is_none()
    }

    /// As annotations, or what is wrong with them.
    fn annotations(&self) -> Result<Vec<Annotation>, Fault> {
        let tags = self.tags.iter().map(|(is_added, tag)| {
            let (kind, sign) =
                if *is_added { (AnnotationKind::TagAdded, "+") } else { (AnnotationKind::TagRemoved, "-") };
            (kind, sign, tag.as_str())
        });
        let note = self.note.iter().map(|note| (AnnotationKind::Note, "--note", note.as_str()));
        let title = self.title.iter().map(|title| (AnnotationKind::Title, "--title", title.trim()));
        let at = now_ms();
        let annotation = |(kind, field, value): (AnnotationKind, &str, &str)| {
            let annotation = Annotation { at, by: self.by.clone(), kind, value: value.to_owned() };
            annotation.check().map_err(|what| Fault::Invalid {
                message: what.clone(),
                details: vec![Detail { path: field.to_owned(), message: what }],
            })?;
            Ok(annotation)
        };
        tags.chain(note).chain(title).map(annotation).collect()
    }
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
        let prices: HashMap<i64, ModelPrice> = query.filter.prices.iter().map(|price| (price.model, *price)).collect();
        let rows = self.store.runs(&query).map_err(Fault::internal)?;
        Ok(rows.into_iter().map(|row| self.run_row(row, &prices)).collect())
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
        let mut summary = RunsSummary::default();
        for day in found.days {
            summary.runs += day.runs;
            summary.failed += day.failed;
            summary.tokens += day.tokens;
            summary.cost_usd = match (summary.cost_usd, day.usd) {
                (None, cost) | (cost, None) => cost,
                (Some(one), Some(other)) => Some(one + other),
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

    /// How many runs there are.
    pub fn count_runs(&self, filter: &str) -> Result<u64, Fault> {
        self.store.count_runs(&self.run_filter(filter, Vec::new())?).map_err(Fault::internal)
    }

    /// All tags, the most used first.
    pub fn tag_counts(&self) -> Result<Vec<TagCount>, Fault> {
        let counts = self.store.tags().map_err(Fault::internal)?;
        Ok(counts.into_iter().map(|(tag, requests)| TagCount { tag, requests }).collect())
    }

    /// The tags, the note and the title of a request.
    pub fn tags(&self, request: &str) -> Result<Tags, Fault> {
        let found = self.store.annotated(request).map_err(Fault::internal)?;
        let found = found.ok_or_else(|| Fault::not_found(format!("unknown request \"{request}\"")))?;
        Ok(Tags::new(request, found))
    }

    /// Changes the tags, the note or the title of a request. Its log stays as it is.
    pub fn tag(&self, request: &str, changes: &TagChanges) -> Result<Tags, Fault> {
        let annotations = changes.annotations()?;
        if annotations.is_empty() {
            return self.tags(request);
        }
        self.check_writable()?;
        match self.store.annotate(request, annotations).map_err(Fault::of_write)? {
            Annotating::Done(now) => {
                self.notices.tell(&Notice::Sessions { workspace: self.name.clone() });
                Ok(Tags::new(request, now))
            }
            Annotating::Unknown => Err(Fault::not_found(format!("unknown request \"{request}\""))),
            Annotating::TooManyTags(most) => Err(Fault::invalid(format!(
                "request \"{request}\" would have more than {most} tags; remove some first"
            ))),
        }
    }

    /// As [`tag`](Self::tag) of several requests; answers how many there were. Those that are gone are left out.
    pub fn tag_all(&self, requests: &[String], changes: &TagChanges) -> Result<u32, Fault> {
        let mut changed = 0;
        for request in requests {
            match self.tag(request, changes) {
                Ok(_) => changed += 1,
                Err(Fault::NotFound { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(changed)
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
            cost_usd: costs.fold(None, |sum, cost| Some(sum.unwrap_or(0.0) + cost)),
            words: run.words,
        }
    }
}
