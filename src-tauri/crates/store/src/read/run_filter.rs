//! Which requests a list of runs shows: terms that must all hold, as a condition of SQL.
//!
//! Values are always bound, never written into SQL; prices are, because they are numbers.

use crate::read::samples::IS_SAMPLE;
use crate::row::model_usage::Payer;
use crate::sql::Value;
use engine::event::RequestStatus;
use engine::views::search::Needle;
use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

/// How a number is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// Less than.
    Below,
    /// Not more than.
    AtMost,
    /// The same.
    Equal,
    /// Not less than.
    AtLeast,
    /// More than.
    Above,
}

impl Comparison {
    fn sql(self) -> &'static str {
        match self {
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
            Comparison::Equal => "=",
            Comparison::AtLeast => ">=",
            Comparison::Above => ">",
        }
    }
}

/// What a term asks for. In names `*` stands for anything.
#[derive(Clone, Debug, PartialEq)]
pub enum RunCondition {
    /// The session's id.
    Session(String),
    /// The user.
    User(String),
    /// The project.
    Project(String),
    /// The flow's kind.
    Flow(String),
    /// The action.
    Action(String),
    /// How the request stands. What has not ended and is not in [`RunFilter::gone`] is running or queued.
    Status(RequestStatus),
    /// A tag.
    Tag(String),
    /// How long it took, in milliseconds. What has not ended took no time yet and is never found.
    Duration(Comparison, f64),
    /// Input and output tokens in calls that it paid for itself.
    Tokens(Comparison, f64),
    /// What the model calls cost that it paid for itself, in US dollars. A request without a price is never found.
    Cost(Comparison, f64),
    /// It began at this time or later, in milliseconds since 1970.
    Since(i64),
    /// It began before this time, in milliseconds since 1970.
    Until(i64),
    /// A text, whatever its case, in what a list shows of it: title, first words of the input, note, tags, id, session,
    /// user, project, flow and action, and error.
    Text(String),
    /// It is a fork.
    IsFork,
    /// It is a retry.
    IsRetry,
    /// Its models are mocked.
    IsMock,
    /// It was received as a trace of another program.
    IsTrace,
    /// It is a sample of an experiment.
    IsSample,
}

/// A term of a filter.
#[derive(Clone, Debug, PartialEq)]
pub struct RunTerm {
    /// Whether it must not hold.
    pub is_negated: bool,
    /// What it asks for.
    pub condition: RunCondition,
}

/// Costs are counted in trillionths of a US dollar: a token costs a whole number of them if the price of a million has
/// six digits after the point at most, and sums of whole numbers are the same in whichever order.
pub const TRILLIONTHS: f64 = 1e12;

/// What a token of a model costs, in [trillionths](TRILLIONTHS) of a US dollar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelPrice {
    /// The number of the model, see [`Store::models`](crate::Store::models).
    pub model: i64,
    /// A token that the model was told.
    pub input: f64,
    /// The same, if it was in the provider's cache.
    pub cached: f64,
    /// A token that the model said.
    pub output: f64,
}

/// Which requests; all terms must hold. Samples of experiments are left out, unless a term asks for them or names a
/// session.
#[derive(Clone, Debug, Default)]
pub struct RunFilter {
    /// The terms.
    pub terms: Vec<RunTerm>,
    /// The ids of the requests that have not ended and whose process is gone: they are interrupted.
    pub gone: Vec<String>,
    /// What models cost. Models that are missing have no price.
    pub prices: Vec<ModelPrice>,
}

/// How costs are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Costs {
    /// Each by a subquery: a page in another order computes those of its own requests only. Quickest in SQLite also for
    /// all of them.
    ByRequest,
    /// All of them in the table `c`, which is joined. A server is quicker with that than with many subqueries.
    Joined,
}

impl Costs {
    /// The best way for a statement that needs the costs of all requests, or only of some of them.
    pub(super) fn of(connection: &crate::sql::Connection, needs_all: bool) -> Costs {
        if needs_all && connection.server().is_some() { Costs::Joined } else { Costs::ByRequest }
    }
}

/// The columns in which [`RunCondition::Text`] looks.
const TEXTS: [&str; 8] = [
    "r.title",
    "r.words",
    "r.id",
    "r.user",
    "r.project",
    "r.flow || '.' || r.action",
    "r.error",
    "(SELECT s.id FROM session s WHERE s.n = r.session)",
];

impl RunFilter {
    /// The session that one of the terms asks for.
    pub(super) fn session(&self) -> Option<&str> {
        self.terms.iter().filter(|term| !term.is_negated).find_map(|term| match &term.condition {
            RunCondition::Session(id) => Some(&**id),
            _ => None,
        })
    }

    /// Whether samples of experiments are left out.
    pub(super) fn leaves_samples_out(&self) -> bool {
        let asks = |term: &RunTerm| match term.condition {
            RunCondition::IsSample => true,
            RunCondition::Session(_) => !term.is_negated,
            _ => false,
        };
        !self.terms.iter().any(asks)
    }

    /// Whether costs are needed to find the requests.
    pub(super) fn needs_cost(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.condition, RunCondition::Cost(..)))
    }

    /// The condition, for a request with the alias `r`. Adds what is bound to `values`.
    pub(super) fn sql(&self, values: &mut Vec<Value>, costs: Costs) -> String {
        if self.terms.is_empty() {
            return "TRUE".to_owned();
        }
        let clauses = self.terms.iter().map(|term| {
            let clause = self.clause(&term.condition, values, costs);
            if term.is_negated { format!("({clause}) IS NOT TRUE") } else { format!("({clause})") }
        });
        clauses.collect::<Vec<_>>().join(" AND ")
    }

    fn clause(&self, condition: &RunCondition, values: &mut Vec<Value>, costs: Costs) -> String {
        let mut bind = |value: Value| {
            values.push(value);
            format!("?{}", values.len())
        };
        match condition {
            RunCondition::Session(id) => {
                let id = is_named("s.id", id, &mut bind);
                format!("r.session IN (SELECT s.n FROM session s WHERE {id})")
            }
            RunCondition::User(name) => is_named("r.user", name, &mut bind),
            RunCondition::Project(name) => is_named("r.project", name, &mut bind),
            RunCondition::Flow(name) => is_named("r.flow", name, &mut bind),
            RunCondition::Action(name) => is_named("r.action", name, &mut bind),
            RunCondition::Tag(name) => {
                let name = is_named("t.name", name, &mut bind);
                format!("r.n IN (SELECT t.request FROM tag t WHERE {name})")
            }
            RunCondition::Status(status) => {
                let gone = serde_json::to_string(&self.gone).unwrap_or_default();
                match status {
                    RequestStatus::Interrupted => {
                        let gone = bind(gone.into());
                        format!("(r.status = 'interrupted' OR r.id IN (SELECT value FROM json_each({gone})))")
                    }
                    RequestStatus::Queued | RequestStatus::InProgress => {
                        let status = bind(status.as_str().to_owned().into());
                        let gone = bind(gone.into());
                        format!("r.status = {status} AND r.id NOT IN (SELECT value FROM json_each({gone}))")
                    }
                    status => format!("r.status = {}", bind(status.as_str().to_owned().into())),
                }
            }
            RunCondition::Duration(compare, ms) => {
                format!("max(r.finished_at - r.started_at, 0) {} {}", compare.sql(), bind((*ms).into()))
            }
            RunCondition::Tokens(compare, tokens) => {
                format!("{} {} {}", own_tokens(), compare.sql(), bind((*tokens).into()))
            }
            RunCondition::Cost(compare, usd) => {
                format!("{} {} {}", self.cost(costs), compare.sql(), bind((usd * TRILLIONTHS).round().into()))
            }
            RunCondition::Since(at) => format!("r.started_at >= {}", bind((*at).into())),
            RunCondition::Until(at) => format!("r.started_at < {}", bind((*at).into())),
            RunCondition::Text(text) => {
                let text = Needle::new(text).as_str().to_owned();
                let has_sigma = text.contains('σ');
                let text = bind(text.into());
                let has_text = |value: &str| {
                    if has_sigma {
                        // A server makes a final sigma of some capital ones.
                        format!("has_text({text}, replace(replace({value}, 'Σ', 'σ'), 'ς', 'σ'))")
                    } else {
                        format!("has_text({text}, {value})")
                    }
                };
                let mut clauses: Vec<String> = TEXTS.iter().map(|column| has_text(column)).collect();
                let tag = has_text("t.name");
                clauses.push(format!("EXISTS (SELECT 1 FROM tag t WHERE t.request = r.n AND {tag})"));
                clauses.push(has_text(
                    "(SELECT a.value FROM annotation a WHERE a.request = r.n AND a.kind = 'note'
                      ORDER BY a.n DESC LIMIT 1)",
                ));
                clauses.join(" OR ")
            }
            RunCondition::IsFork => "r.forked_from IS NOT NULL".to_owned(),
            RunCondition::IsRetry => "r.retry_of IS NOT NULL".to_owned(),
            RunCondition::IsMock => "r.mock IS NOT NULL".to_owned(),
            RunCondition::IsTrace => "r.emitter IS NOT NULL".to_owned(),
            RunCondition::IsSample => IS_SAMPLE.to_owned(),
        }
    }

    /// What the model calls cost that the request `r` paid for itself, in [trillionths](TRILLIONTHS) of a US dollar, as
    /// SQL: NULL without a price.
    pub(super) fn cost(&self, costs: Costs) -> String {
        if self.prices.is_empty() {
            return "CAST(NULL AS double precision)".to_owned();
        }
        match costs {
            Costs::Joined => "c.trillionths".to_owned(),
            Costs::ByRequest => {
                let (cost, own) = self.own_calls();
                format!("(SELECT sum({cost}) FROM model_usage u WHERE u.request = r.n AND {own})")
            }
        }
    }

    /// What stands before a statement and after its table `request r`, if costs are joined.
    pub(super) fn joined(&self, costs: Costs) -> (String, &'static str) {
        if costs == Costs::ByRequest || self.prices.is_empty() {
            return (String::new(), "");
        }
        let (cost, own) = self.own_calls();
        let with = format!(
            "WITH c (request, trillionths) AS MATERIALIZED
                 (SELECT u.request, sum({cost}) FROM model_usage u WHERE {own} GROUP BY u.request)"
        );
        (with, "LEFT JOIN c ON c.request = r.n")
    }

    /// What calls cost, and which rows `u` of `model_usage` are calls that a request paid for itself.
    fn own_calls(&self) -> (String, String) {
        let mut prices: Vec<&ModelPrice> = self.prices.iter().collect();
        prices.sort_by_key(|price| price.model);
        (cost_of_calls(&prices), format!("u.counted > 0 AND u.paid_by = {}", Payer::Own.number()))
    }
}

/// The tokens of the model calls that the request `r` paid for itself, as SQL. Only forks have answers that others paid
/// for, so only their rows of `model_usage` are read.
pub(super) fn own_tokens() -> String {
    let own = Payer::Own.number();
    format!(
        "(CASE WHEN r.forked_from IS NULL THEN r.tokens ELSE r.tokens - coalesce((SELECT sum(u.input + u.output)
             FROM model_usage u WHERE u.request = r.n AND u.paid_by <> {own}), 0) END)"
    )
}

/// What the calls in the row `u` of `model_usage` cost, by prices in the order of their models; NULL if their model has
/// no price. The prices are searched by halves, because there may be many.
fn cost_of_calls(prices: &[&ModelPrice]) -> String {
    match prices {
        [] => "NULL".to_owned(),
        [price] => {
            // Settings refuse what is not finite; here it would be no SQL.
            let number = |value: f64| if value.is_finite() { format!("{value:e}") } else { "0".to_owned() };
            let (input, cached, output) = (number(price.input), number(price.cached), number(price.output));
            format!(
                "CASE u.model WHEN {} THEN (u.input - u.cached) * {input} + u.cached * {cached} + u.output * {output}
                 END",
                price.model
            )
        }
        prices => {
            let (below, above) = prices.split_at(prices.len() / 2);
            let (first, below, rest) = (above[0].model, cost_of_calls(below), cost_of_calls(above));
            format!("CASE WHEN u.model < {first} THEN {below} ELSE {rest} END")
        }
    }
}

/// A column has this name, in which `*` stands for anything.
fn is_named(column: &str, name: &str, bind: &mut impl FnMut(Value) -> String) -> String {
    if !name.contains('*') {
        return format!("{column} = {}", bind(name.to_owned().into()));
    }
    let pattern = name.replace('[', "[[]").replace('?', "[?]");
    format!("glob({}, {column})", bind(pattern.into()))
}

/// Adds `has_text(text, value)` to a reading connection: whether a text is in a value, whatever its case.
pub(crate) fn add_function(connection: &Connection) -> rusqlite::Result<()> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    connection.create_scalar_function("has_text", 2, flags, |context| {
        let needle = context.get_or_create_aux(0, |text| text.as_str().map(Needle::new))?;
        Ok(context.get_raw(1).as_str_or_null()?.is_some_and(|value| needle.is_in(value)))
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::sql::Connection;

    /// The cost of a request that was told ten tokens and said one in a call of each of these models, in trillionths.
    fn cost_of(models: &[i64], priced: &[i64]) -> Option<f64> {
        let connection = Connection::temporary().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE request (n INTEGER); INSERT INTO request VALUES (1);
                 CREATE TABLE model_usage (request, model, paid_by, counted, input, cached, output)",
            )
            .unwrap();
        for model in models {
            connection
                .execute("INSERT INTO model_usage VALUES (1, ?1, 0, 1, 10, 0, 1), (1, ?1, 1, 1, 999, 0, 0)", (*model,))
                .unwrap();
        }
        // A token of the model n costs n, and one that it says a thousand times as much.
        let price = |model: &i64| ModelPrice {
            model: *model,
            input: *model as f64,
            cached: 0.0,
            output: *model as f64 * 1_000.0,
        };
        let filter = RunFilter { prices: priced.iter().map(price).collect(), ..RunFilter::default() };
        let [found, joined] = [Costs::ByRequest, Costs::Joined].map(|costs| -> Option<f64> {
            let (cost, (with, join)) = (filter.cost(costs), filter.joined(costs));
            let sql = format!("{with} SELECT {cost} FROM request r {join}");
            connection.query_row(&sql, (), |row| row.get(0)).unwrap()
        });
        assert_eq!(found, joined);
        found
    }

    #[test]
    fn each_model_has_its_own_price() {
        assert_eq!(cost_of(&[3], &[1, 2, 3, 4, 5]), Some(3_030.0));
        assert_eq!(cost_of(&[1, 2, 3, 4, 5], &[5, 3, 1, 2, 4]), Some(15.0 * 1_010.0), "in whichever order");
        assert_eq!(cost_of(&[1, 9], &[1, 2]), Some(1_010.0), "a model without a price");
        assert_eq!(cost_of(&[9], &[1, 2]), None);
        assert_eq!(cost_of(&[], &[1, 2]), None);
        assert_eq!(cost_of(&[1], &[]), None);
    }
}
