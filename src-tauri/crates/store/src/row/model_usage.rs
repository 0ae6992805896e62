//! What a request used of each model: tokens and calls, derived from the events that end model calls.
//!
//! A price is not stored, because prices change; the numbers here are what prices are multiplied with.

use std::collections::BTreeMap;

use crate::sql::{Connection, OptionalExtension};
use engine::effects::EffectKind;
use engine::event::{EventKind, Seq};
use serde_json::Value;

use crate::row::body;
use crate::row::error::Error;

/// A model, by the name that the flow asked for and the name that the provider answered with. Either may be empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModelName {
    pub(crate) asked: String,
    pub(crate) answered: String,
}

/// What was used in one or more calls of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) calls: i64,
    /// All tokens that the model was told, those in the provider's cache too.
    pub(crate) input: i64,
    /// The tokens of `input` that were in the provider's cache.
    pub(crate) cached: i64,
    pub(crate) output: i64,
    /// How many of the calls say what they used: others have no price.
    pub(crate) counted: i64,
}

impl Used {
    pub(crate) fn tokens(&self) -> i64 {
        self.input.saturating_add(self.output)
    }

    pub(crate) fn add(&mut self, other: &Used) {
        self.calls += other.calls;
        self.counted += other.counted;
        for (sum, more) in
            [(&mut self.input, other.input), (&mut self.cached, other.cached), (&mut self.output, other.output)]
        {
            *sum = sum.saturating_add(more);
        }
    }
}

/// Who paid for a model call, as stored in `model_usage.paid_by`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payer {
    /// The request itself.
    Own = 0,
    /// The request that this one is a fork of.
    Origin = 1,
    /// Another sample of the same experiment, whose answer this one shares.
    Sample = 2,
}

impl Payer {
    fn of(is_copied: bool, is_shared: bool) -> Payer {
        match (is_copied, is_shared) {
            (true, _) => Payer::Origin,
            (false, true) => Payer::Sample,
            (false, false) => Payer::Own,
        }
    }

    /// As it is stored.
    pub(crate) fn number(self) -> i64 {
        self as i64
    }
}

/// One model call, as the event that ended it says.
pub(crate) struct Call {
    model: ModelName,
    used: Used,
    /// Whether another sample of the same experiment paid for the answer.
    is_shared: bool,
}

/// What one event says that was used, with the event that began the call and what that was asked, if it says so itself.
/// `None` for an event that ends no model call, or repeats one.
fn used_in(kind: &EventKind) -> Option<(Used, &Value, Option<Seq>, Option<&Value>)> {
    let EventKind::EffectFinished { effect: EffectKind::Model, started, request, result, memoized: false, .. } = kind
    else {
        return None;
    };
    // A provider's number may be anything.
    let count = |name: &str| i64::try_from(result["usage"][name].as_u64().unwrap_or(0)).unwrap_or(i64::MAX >> 16);
    let input = count("promptTokens").min(i64::MAX >> 16);
    let used = Used {
        calls: 1,
        input,
        cached: count("cacheReadInputTokens").min(input),
        output: count("completionTokens").min(i64::MAX >> 16),
        counted: i64::from(result.get("usage").is_some_and(Value::is_object)),
    };
    Some((used, result, *started, request.as_ref()))
}

/// Whether an answer is that of another sample's call.
fn is_shared(result: &Value) -> bool {
    result.get("sharedMs").is_some_and(Value::is_u64)
}

fn named(request: Option<&Value>, result: &Value) -> ModelName {
    let name = |value: &Value| value.get("model").and_then(Value::as_str).unwrap_or_default().to_owned();
    ModelName { asked: request.map(name).unwrap_or_default(), answered: name(result) }
}

/// What an event says that was used, of which model. The event that began the call is read from the database.
pub(crate) fn of_event(connection: &Connection, request: i64, kind: &EventKind) -> Result<Option<Call>, Error> {
    let Some((used, result, started, asked)) = used_in(kind) else { return Ok(None) };
    let began = match (asked, started) {
        (None, Some(started)) => began_with(connection, request, started)?,
        _ => None,
    };
    let asked = match &began {
        Some(EventKind::EffectStarted { request, .. }) => request.as_ref(),
        _ => asked,
    };
    Ok(Some(Call { model: named(asked, result), used, is_shared: is_shared(result) }))
}

fn began_with(connection: &Connection, request: i64, seq: Seq) -> Result<Option<EventKind>, Error> {
    let sql = "SELECT body FROM event WHERE request = ?1 AND seq = ?2 AND kind = 'effect_started'";
    let mut statement = connection.prepare_cached(sql)?;
    let text: Option<String> = statement.query_row((request, seq), |row| row.get(0)).optional()?;
    text.map_or(Ok(None), |text| body::event_if_readable(connection, "effect_started", &text))
}

/// Adds to a request's rows. `is_copied` says that the call was made by the request that this one is a fork of.
pub(crate) fn add(
    connection: &Connection,
    request: i64,
    Call { model, used, is_shared }: &Call,
    is_copied: bool,
) -> Result<(), Error> {
    let (model, paid_by) = (number_of(connection, model)?, Payer::of(is_copied, *is_shared).number());
    connection
        .prepare_cached(
            "INSERT INTO model_usage (request, model, paid_by, calls, counted, input, cached, output)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT (request, model, paid_by) DO UPDATE SET calls = model_usage.calls + excluded.calls,
                 counted = model_usage.counted + excluded.counted,
                 input = model_usage.input + excluded.input, cached = model_usage.cached + excluded.cached,
                 output = model_usage.output + excluded.output",
        )?
        .execute((request, model, paid_by, used.calls, used.counted, used.input, used.cached, used.output))?;
    connection
        .prepare_cached("UPDATE request SET tokens = tokens + ?2 WHERE n = ?1 AND ?2 <> 0")?
        .execute((request, used.tokens()))?;
    Ok(())
}

/// The number of a model's row, which is inserted if it is new.
pub(crate) fn number_of(connection: &Connection, model: &ModelName) -> Result<i64, Error> {
    let known = connection
        .prepare_cached("SELECT n FROM model WHERE asked = ?1 AND answered = ?2")?
        .query_row((&model.asked, &model.answered), |row| row.get(0))
        .optional()?;
    if let Some(known) = known {
        return Ok(known);
    }
    Ok(connection
        .prepare_cached("INSERT INTO model (asked, answered) VALUES (?1, ?2) RETURNING n")?
        .query_row((&model.asked, &model.answered), |row| row.get(0))?)
}

/// Adds what a fork has in common with the request that it was forked from: its events up to `last`.
pub(crate) fn add_copied(connection: &Connection, request: i64, last: Seq) -> Result<(), Error> {
    add_ended(connection, request, |seq| seq <= last)
}

/// Derives the rows of all requests, for a migration.
pub(crate) fn add_all(connection: &Connection) -> Result<(), Error> {
    let mut requests = connection.prepare(
        "SELECT r.n, r.forked_at FROM request r WHERE EXISTS
             (SELECT 1 FROM event e WHERE e.request = r.n AND e.kind = 'effect_finished')",
    )?;
    let rows = requests.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, Option<Seq>)> = rows.collect::<Result<_, _>>()?;
    for (request, forked_at) in rows {
        add_ended(connection, request, |seq| forked_at.is_some_and(|last| seq <= last))?;
    }
    Ok(())
}

/// Derives the rows of forks again, for a migration: older versions did not tell who paid for a shared answer. Only
/// samples share answers, and all samples are forks.
pub(crate) fn derive_payers(connection: &Connection) -> Result<(), Error> {
    let mut forks = connection.prepare(
        "SELECT r.n, r.forked_at FROM request r WHERE r.forked_from IS NOT NULL
         AND EXISTS (SELECT 1 FROM model_usage u WHERE u.request = r.n)",
    )?;
    let rows = forks.query_map((), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let rows: Vec<(i64, Option<Seq>)> = rows.collect::<Result<_, _>>()?;
    for (request, forked_at) in rows {
        connection.prepare_cached("DELETE FROM model_usage WHERE request = ?1")?.execute((request,))?;
        connection.prepare_cached("UPDATE request SET tokens = 0 WHERE n = ?1")?.execute((request,))?;
        add_ended(connection, request, |seq| forked_at.is_some_and(|last| seq <= last))?;
    }
    Ok(())
}

fn add_ended(connection: &Connection, request: i64, is_copied: impl Fn(Seq) -> bool) -> Result<(), Error> {
    let mut statement = connection.prepare_cached(
        "SELECT seq, body FROM event WHERE request = ?1 AND kind = 'effect_finished'
         AND instr(body, '\"effect\":\"model\"') > 0 ORDER BY seq",
    )?;
    let mut rows = statement.query((request,))?;
    while let Some(row) = rows.next()? {
        let Some(kind) = body::event_if_readable(connection, "effect_finished", &body::lossy(row, 1)?)? else {
            continue;
        };
        if let Some(used) = of_event(connection, request, &kind)? {
            add(connection, request, &used, is_copied(row.get(0)?))?;
        }
    }
    Ok(())
}

/// What the events of one request derive, to be compared with its rows.
#[derive(Default)]
pub(crate) struct DerivedUsage {
    asked: BTreeMap<Seq, String>,
    /// By the model and the number of the [`Payer`].
    pub(crate) used: BTreeMap<(ModelName, i64), Used>,
}

impl DerivedUsage {
    /// Takes the next event in.
    pub(crate) fn add(&mut self, seq: Seq, kind: &EventKind, is_copied: bool) {
        if let EventKind::EffectStarted { effect: EffectKind::Model, request, .. } = kind {
            let name = request.as_ref().and_then(|request| request["model"].as_str());
            self.asked.insert(seq, name.unwrap_or_default().to_owned());
        }
        let Some((used, result, started, asked)) = used_in(kind) else { return };
        let mut model = named(asked, result);
        if asked.is_none() {
            model.asked = started.and_then(|seq| self.asked.get(&seq)).cloned().unwrap_or_default();
        }
        let payer = Payer::of(is_copied, is_shared(result));
        self.used.entry((model, payer.number())).or_default().add(&used);
    }

    /// All tokens.
    pub(crate) fn tokens(&self) -> i64 {
        self.used.values().fold(0, |sum, used| sum.saturating_add(used.tokens()))
    }

    /// The rows of a request, in the same form.
    pub(crate) fn stored(connection: &Connection, request: i64) -> Result<BTreeMap<(ModelName, i64), Used>, Error> {
        let mut statement = connection.prepare_cached(
            "SELECT m.asked, m.answered, u.paid_by, u.calls, u.input, u.cached, u.output, u.counted
             FROM model_usage u JOIN model m ON m.n = u.model WHERE u.request = ?1",
        )?;
        let rows = statement.query_map((request,), |row| {
            let model = ModelName { asked: row.get(0)?, answered: row.get(1)? };
            let used = Used {
                calls: row.get(3)?,
                input: row.get(4)?,
                cached: row.get(5)?,
                output: row.get(6)?,
                counted: row.get(7)?,
            };
            Ok(((model, row.get(2)?), used))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}
