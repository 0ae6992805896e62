//! Lists of runs: requests by a filter and in an order, a page at a time, and what they come to by day.

use crate::sql::Value;
use crate::sql::{Connection, params_from_iter};

use crate::Store;
use crate::read::requests::{COLUMNS, FROM, RequestRow, request};
use crate::read::run_filter::{Costs, RunFilter, TRILLIONTHS, own_tokens};
use crate::read::run_order::RunOrder;
use crate::read::samples::{self, AMONG_SAMPLES, IS_SAMPLE};
use crate::read::session_order::SessionOrder;
use crate::read::used_models::{ModelUsed, used};
use crate::row::annotation::{self, Annotated, Subject};
use crate::row::error::Error;

/// Selects runs.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    /// Which.
    pub filter: RunFilter,
    /// By what they are ordered.
    pub order: RunOrder,
    /// Whether the largest or newest come first.
    pub is_descending: bool,
    /// At most this many.
    pub limit: Option<u64>,
    /// How many to skip.
    pub offset: Option<u64>,
}

/// A request with what lists show of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRow {
    /// Its row.
    pub request: RequestRow,
    /// The first words of its input.
    pub words: Option<String>,
    /// Its tags, note and title.
    pub annotated: Annotated,
    /// Input and output tokens in calls that it paid for itself.
    pub tokens: u64,
    /// What it used of each model in these calls: without those that a fork has in common with its origin, and answers
    /// that another sample of an experiment paid for.
    pub used: Vec<ModelUsed>,
}

/// A model that was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelName {
    /// Its number.
    pub n: i64,
    /// The name that a flow asked for.
    pub asked: String,
    /// The name that the provider answered with; empty if it gave none.
    pub answered: String,
}

/// What runs come to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunsSummary {
    /// How many samples of experiments the filter would find and leaves out.
    pub samples: u64,
    /// By the day on which they began here, oldest first; days without runs are left out. Samples that the filter
    /// leaves out count nowhere.
    pub days: Vec<RunDay>,
}

/// What the runs of one day come to.
#[derive(Clone, Debug, PartialEq)]
pub struct RunDay {
    /// The day, like `2026-11-20`; empty of a time that no calendar has.
    pub day: String,
    /// How many runs began.
    pub runs: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Tokens that these runs spent: what models were told and said, each call once.
    pub tokens: u64,
    /// What these runs spent, in US dollars, each call once: without what forks have in common with their origins, and
    /// what samples of experiments share. `None` without a price.
    pub usd: Option<f64>,
}

impl Store {
    /// Runs, in the order that is asked for.
    pub fn runs(&self, query: &RunQuery) -> Result<Vec<RunRow>, Error> {
        self.read(|connection| {
            let (sql, values) = statement(query, &Reading::of(connection, query)?);
            let mut statement = connection.prepare_cached(&sql)?;
            let numbers = statement.query_map(params_from_iter(&values), |row| row.get::<_, i64>(0))?;
            let numbers: Vec<i64> = numbers.collect::<Result<_, _>>()?;
            numbers.into_iter().map(|n| run(connection, n)).collect()
        })
    }

    /// The ids of runs, in the order that is asked for.
    pub fn run_ids(&self, query: &RunQuery) -> Result<Vec<String>, Error> {
        self.read(|connection| {
            let (sql, values) = statement(query, &Reading::of(connection, query)?);
            let sql = sql.replacen("SELECT r.n FROM", "SELECT r.id FROM", 1);
            let mut statement = connection.prepare_cached(&sql)?;
            let ids = statement.query_map(params_from_iter(&values), |row| row.get(0))?;
            Ok(ids.collect::<Result<_, _>>()?)
        })
    }

    /// How many runs there are.
    pub fn count_runs(&self, filter: &RunFilter) -> Result<u64, Error> {
        self.read(|connection| {
            let mut values = Vec::new();
            let costs = Costs::of(connection, filter.needs_cost());
            let condition = filter.sql(&mut values, costs);
            let ((with, join), listed) = (filter.joined(costs), listed(hides(connection, filter)?));
            let sql = format!("{with} SELECT count(*) FROM request r {join} WHERE {condition} AND {listed}");
            let mut statement = connection.prepare_cached(&sql)?;
            Ok(statement.query_row(params_from_iter(&values), |row| row.get(0))?)
        })
    }

    /// How many samples of experiments a filter would find, where it leaves them out.
    pub fn samples_left_out(&self, filter: &RunFilter) -> Result<u64, Error> {
        self.read(|connection| left_out(connection, filter))
    }

    /// What the runs that a list shows come to by day. Reads all of them.
    pub fn runs_by_day(&self, filter: &RunFilter) -> Result<RunsSummary, Error> {
        self.read(|connection| {
            let (sql, values) = by_day(filter, hides(connection, filter)?, Costs::of(connection, true));
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(&values), |row| {
                Ok(RunDay {
                    day: row.get::<_, Option<String>>(0)?.unwrap_or_default(),
                    runs: row.get(1)?,
                    failed: row.get(2)?,
                    tokens: row.get(3)?,
                    usd: row.get::<_, Option<f64>>(4)?.map(|trillionths| trillionths / TRILLIONTHS),
                })
            })?;
            let days = rows.collect::<Result<_, _>>()?;
            Ok(RunsSummary { samples: left_out(connection, filter)?, days })
        })
    }

    /// The requests that have not ended, each with its owner.
    pub fn unfinished_runs(&self) -> Result<Vec<(String, String)>, Error> {
        self.read(|connection| {
            let sql = "SELECT id, owner FROM request WHERE status IN ('queued', 'in_progress')";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// The models that were called.
    pub fn models(&self) -> Result<Vec<ModelName>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT n, asked, answered FROM model ORDER BY n")?;
            let rows = statement
                .query_map((), |row| Ok(ModelName { n: row.get(0)?, asked: row.get(1)?, answered: row.get(2)? }))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// All tags, each with how many requests have it; the most used first.
    pub fn tags(&self) -> Result<Vec<(String, u64)>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT t.name, count(*) FROM tag t WHERE EXISTS (SELECT 1 FROM request r WHERE r.n = t.request)
                 GROUP BY t.name ORDER BY 2 DESC, 1",
            )?;
            let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// What people added to a request or a session, if there is one with this id.
    pub fn annotated(&self, subject: Subject, id: &str) -> Result<Option<Annotated>, Error> {
        self.read(|connection| {
            let n = annotation::row_of(connection, subject, id)?;
            n.map(|n| annotation::of_row(connection, subject, n)).transpose()
        })
    }
}

/// Whether samples are left out, and there are any.
fn hides(connection: &Connection, filter: &RunFilter) -> Result<bool, Error> {
    Ok(filter.leaves_samples_out() && samples::are_there(connection)?)
}

/// The condition of what is listed.
fn listed(hides_samples: bool) -> String {
    if hides_samples { format!("NOT {IS_SAMPLE}") } else { "TRUE".to_owned() }
}

/// How many samples of experiments a filter would find, where it leaves them out.
fn left_out(connection: &Connection, filter: &RunFilter) -> Result<u64, Error> {
    if !hides(connection, filter)? {
        return Ok(0);
    }
    let mut values = Vec::new();
    let condition = filter.sql(&mut values, Costs::ByRequest);
    let sql = format!("SELECT count(*) FROM request r WHERE {AMONG_SAMPLES} AND {condition}");
    let mut statement = connection.prepare_cached(&sql)?;
    Ok(statement.query_row(params_from_iter(&values), |row| row.get(0))?)
}

/// The statement that sums the listed runs by day, and what is bound in it.
fn by_day(filter: &RunFilter, hides_samples: bool, costs: Costs) -> (String, Vec<Value>) {
    let mut values = Vec::new();
    let condition = filter.sql(&mut values, costs);
    let (tokens, cost, (with, join)) = (own_tokens(), filter.cost(costs), filter.joined(costs));
    let listed = listed(hides_samples);
    // A quarter of an hour is of one day in every time zone, and there are fewer of them than runs. Division rounds
    // towards 0, so times before 1970 are moved above it first.
    let sql = format!(
        "{with} SELECT strftime('%Y-%m-%d', quarter * 900, 'unixepoch', 'localtime') AS day, sum(runs), sum(failed),
             sum(tokens), sum(trillionths)
         FROM (SELECT quarter, count(*) AS runs, sum(failed) AS failed, sum(tokens) AS tokens,
             sum(trillionths) AS trillionths
             FROM (SELECT (r.started_at + 9000000000000000) / 900000 - 10000000000 AS quarter,
                 CASE WHEN r.status = 'failed' THEN 1 ELSE 0 END AS failed,
                 {tokens} AS tokens, {cost} AS trillionths
                 FROM request r {join} WHERE ({condition}) AND {listed}) AS one
             GROUP BY quarter) AS quarters
         GROUP BY day ORDER BY min(quarter)"
    );
    (sql, values)
}

/// What a query is read by besides what it says itself.
struct Reading {
    /// The order of the session that it asks for.
    of_session: Option<SessionOrder>,
    hides_samples: bool,
    costs: Costs,
}

impl Reading {
    fn of(connection: &Connection, query: &RunQuery) -> Result<Reading, Error> {
        Ok(Reading {
            of_session: query.filter.session().map(|session| SessionOrder::of(connection, session)).transpose()?,
            hides_samples: hides(connection, &query.filter)?,
            costs: Costs::of(connection, query.order == RunOrder::Cost),
        })
    }
}

/// The statement that selects the numbers of rows, and what is bound in it.
fn statement(query: &RunQuery, reading: &Reading) -> (String, Vec<Value>) {
    let RunQuery { filter, order, is_descending, limit, offset } = query;
    let Reading { of_session, hides_samples, costs } = *reading;
    let mut values = Vec::new();
    let condition = filter.sql(&mut values, costs);
    let ((with, join), listed, (tables, joined)) = (filter.joined(costs), listed(hides_samples), order.tables());
    let order = order.sql(*is_descending, of_session, (filter, costs));
    let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(i64::MAX);
    let offset = offset.map_or(0, |offset| i64::try_from(offset).unwrap_or(i64::MAX));
    // Bound, so that a page further down is the same statement.
    values.extend([Value::from(limit), Value::from(offset)]);
    let (last, at) = (values.len(), values.len() - 1);
    let sql = format!(
        "{with} SELECT r.n FROM {tables} {join} WHERE {joined} AND ({condition}) AND {listed} ORDER BY {order}
             LIMIT ?{at} OFFSET ?{last}"
    );
    (sql, values)
}

/// The request with this number.
pub(super) fn run(connection: &Connection, n: i64) -> Result<RunRow, Error> {
    let tokens = own_tokens();
    let mut statement = connection.prepare_cached(&format!("{COLUMNS}, r.words, {tokens} {FROM} WHERE r.n = ?1"))?;
    let mut rows = statement.query((n,))?;
    let row = rows.next()?.ok_or_else(|| Error::Damaged(format!("there is no request {n}")))?;
    Ok(RunRow {
        request: request(row)?,
        words: row.get(18)?,
        tokens: row.get(19)?,
        annotated: annotation::of_row(connection, Subject::Request, n)?,
        used: used(connection, n)?,
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use engine::event::RequestStatus;

    use super::*;
    use crate::read::run_filter::{Comparison, ModelPrice, RunCondition, RunTerm};

    fn plan(query: &RunQuery) -> Vec<String> {
        plan_beside(query, false)
    }

    fn plan_beside(query: &RunQuery, hides_samples: bool) -> Vec<String> {
        let connection = Connection::temporary().unwrap();
        connection.execute_batch(include_str!("../schema.sql")).unwrap();
        crate::read::run_filter::add_function(connection.sqlite().unwrap()).unwrap();
        let of_session = query.filter.session().map(|_| SessionOrder::Inserted);
        let (sql, values) = statement(query, &Reading { of_session, hides_samples, costs: Costs::ByRequest });
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
        let steps = plan.query_map(params_from_iter(&values), |row| row.get::<_, String>(3)).unwrap();
        steps.map(Result::unwrap).collect()
    }

    /// A page of a list reads the rows that it shows and those that it skips, in whichever order.
    #[test]
    fn orders_are_those_of_indexes() {
        for (order, index) in [
            (RunOrder::Begun, "request_by_start"),
            (RunOrder::Started, "request_by_start"),
            (RunOrder::Duration, "request_by_duration"),
            (RunOrder::Status, "request_by_status"),
            (RunOrder::Flow, "request_by_flow"),
            (RunOrder::Title, "request_by_label"),
            (RunOrder::User, "request_by_user"),
            (RunOrder::Session, "request_by_session"),
        ] {
            for is_descending in [false, true] {
                let steps = plan(&RunQuery { order, is_descending, limit: Some(50), ..RunQuery::default() });
                let tables = if order == RunOrder::Session { 2 } else { 1 };
                assert_eq!(steps.len(), tables, "{order:?}: {steps:?}");
                let last = &steps[tables - 1];
                assert!(last.contains(&format!("USING COVERING INDEX {index}")), "{order:?}: {steps:?}");
                assert!(steps.iter().all(|step| step.contains("COVERING INDEX")), "{order:?}: {steps:?}");
            }
        }
    }

    #[test]
    fn what_is_filtered_by_is_found_by_an_index() {
        let (name, status) = ("x".to_owned(), RequestStatus::Failed);
        for (condition, index) in [
            (RunCondition::Status(status), "request_by_status (status=?)"),
            (RunCondition::User(name.clone()), "request_by_user (user=?)"),
            (RunCondition::Tag(name.clone()), "SEARCH t USING PRIMARY KEY (name=?)"),
            (RunCondition::Session(name), "request_by_session (session=?)"),
            (RunCondition::Since(5), "request_by_start (started_at>?)"),
        ] {
            let filter = RunFilter {
                terms: vec![RunTerm { is_negated: false, condition: condition.clone() }],
                ..RunFilter::default()
            };
            let steps = plan(&RunQuery { filter, is_descending: true, limit: Some(50), ..RunQuery::default() });
            assert!(steps.iter().any(|step| step.contains(index)), "{condition:?}: {steps:?}");
        }
    }

    /// The cost of a request is read from its own rows, and a page that an index orders reads no other costs.
    #[test]
    fn costs_are_read_by_request() {
        let price = |model| ModelPrice { model, input: 1.0, cached: 1.0, output: 1.0 };
        let (prices, condition) = (vec![price(1), price(2)], RunCondition::Cost(Comparison::Above, 1.0));
        let terms = vec![RunTerm { is_negated: false, condition }];
        let query = |terms, order| RunQuery {
            filter: RunFilter { terms, prices: prices.clone(), ..RunFilter::default() },
            order,
            is_descending: true,
            limit: Some(50),
            ..RunQuery::default()
        };
        for query in [query(Vec::new(), RunOrder::Cost), query(terms, RunOrder::Begun)] {
            let steps = plan(&query);
            let has = |part: &str| steps.iter().any(|step| step.contains(part));
            assert!(has("SEARCH u USING PRIMARY KEY (request=?)"), "{steps:?}");
            assert!(has("SCAN r USING COVERING INDEX") && !has("AUTOMATIC") && !has("MATERIALIZE"), "{steps:?}");
            assert_eq!(has("TEMP B-TREE"), query.order == RunOrder::Cost, "{steps:?}");
        }
    }

    /// A page beside many samples finds out by an index which requests are samples, and keeps its order.
    #[test]
    fn samples_are_known_by_an_index() {
        let query = RunQuery { is_descending: true, limit: Some(50), ..RunQuery::default() };
        let steps = plan_beside(&query, true);
        let has = |part: &str| steps.iter().any(|step| step.contains(part));
        assert!(has("sample_by_request (request=?)"), "{steps:?}");
        assert!(has("request_by_start") && !has("TEMP B-TREE"), "{steps:?}");
    }
}
