//! Experiments: which forks of a request were made to compare them. The forks themselves are requests like any other.
//!
//! Must not know what an experiment varies or how a score came about: both are JSON of whoever compares.

use std::collections::HashSet;

use crate::sql::{Connection, OptionalExtension};
use engine::event::RequestStatus;
use serde_json::Value;

use crate::Store;
use crate::read::requests::{COLUMNS, RequestRow, request};
use crate::read::samples::IS_SAMPLE;
use crate::row::error::Error;

/// An experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentRow {
    /// Its id.
    pub id: String,
    /// The request whose forks are compared.
    pub request: String,
    /// When it was begun, in milliseconds since the epoch.
    pub at: i64,
    /// What it varies.
    pub body: Value,
}

/// One fork of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRow {
    /// The number of the arm.
    pub arm: u32,
    /// The number of the sample of this arm, from 1.
    pub number: u32,
    /// The fork, which somebody may have deleted.
    pub request: String,
    /// Its score, if it was scored.
    pub score: Option<Value>,
}

impl Store {
    /// Stores an experiment, or what another one with its id varies now.
    pub fn put_experiment(&self, experiment: &ExperimentRow) -> Result<(), Error> {
        let ExperimentRow { id, request, at, body } = experiment.clone();
        let body = serde_json::to_string(&body)?;
        self.write(move |connection| {
            let sql = "INSERT INTO experiment (id, request, at, body) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (id) DO UPDATE SET body = excluded.body";
            connection.prepare_cached(sql)?.execute((&id, &request, at, &body))?;
            Ok(())
        })
    }

    /// What is stored of an experiment's spending; `None` before it was stored.
    pub fn spending(&self, experiment: &str) -> Result<Option<Value>, Error> {
        self.read(|connection| match number_of(connection, experiment)? {
            Some(n) => spending_of(connection, n),
            None => Ok(None),
        })
    }

    /// Changes what is stored of an experiment's spending in one transaction, and nothing else of the experiment: it is
    /// changed with each model call, and the body of an experiment grows with its arms. Returns the new spending;
    /// `None` if there is no such experiment.
    pub fn change_spending(
        &self,
        experiment: &str,
        change: impl FnOnce(Option<Value>) -> Value + Send + 'static,
    ) -> Result<Option<Value>, Error> {
        let experiment = experiment.to_owned();
        self.write(move |connection| {
            let Some(n) = number_of(connection, &experiment)? else { return Ok(None) };
            let spending = change(spending_of(connection, n)?);
            let sql = "INSERT INTO sample (experiment, arm, number, request, score) VALUES (0, ?1, 1, '', ?2)
                 ON CONFLICT (experiment, arm, number) DO UPDATE SET score = excluded.score";
            connection.prepare_cached(sql)?.execute((n, &serde_json::to_string(&spending)?))?;
            Ok(Some(spending))
        })
    }

    /// Stores the fork of a sample that is about to begin: a new sample, or one whose fork `instead_of` is gone.
    /// Returns false if another process was faster.
    pub fn claim_sample(&self, experiment: &str, sample: &SampleRow, instead_of: Option<&str>) -> Result<bool, Error> {
        let (experiment, SampleRow { arm, number, request, .. }) = (experiment.to_owned(), sample.clone());
        let instead_of = instead_of.map(str::to_owned);
        self.write(move |connection| {
            let Some(n) = number_of(connection, &experiment)? else { return Ok(false) };
            let changed = match &instead_of {
                None => {
                    let sql = "INSERT INTO sample (experiment, arm, number, request) VALUES (?1, ?2, ?3, ?4)
                         ON CONFLICT DO NOTHING";
                    connection.prepare_cached(sql)?.execute((n, arm, number, &request))?
                }
                Some(old) => {
                    let sql = "UPDATE sample SET request = ?4, score = NULL
                         WHERE experiment = ?1 AND arm = ?2 AND number = ?3 AND request = ?5";
                    connection.prepare_cached(sql)?.execute((n, arm, number, &request, old))?
                }
            };
            Ok(changed == 1)
        })
    }

    /// Stores that a request, which is about to begin, is a part of an experiment or of a search for a culprit without
    /// being a sample of an arm: a fork of the search, a request that scores a sample, or one that a sample sent. Lists
    /// treat it as a sample.
    pub fn claim_part(&self, request: &str) -> Result<(), Error> {
        let request = request.to_owned();
        self.write(move |connection| {
            let sql = "INSERT INTO sample (experiment, arm, number, request)
                 SELECT 0, 0, coalesce(max(number), 0) + 1, ?1 FROM sample WHERE experiment = 0 AND arm = 0";
            connection.prepare_cached(sql)?.execute((&request,))?;
            Ok(())
        })
    }

    /// The requests that are samples of experiments.
    pub fn sampled(&self) -> Result<HashSet<String>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT request FROM sample")?;
            let rows = statement.query_map((), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Whether a request is a sample, or another part of an experiment or a search.
    pub fn is_sample(&self, request: &str) -> Result<bool, Error> {
        self.read(|connection| {
            let sql = format!("SELECT r.n FROM request r WHERE r.id = ?1 AND {IS_SAMPLE}");
            let found =
                connection.prepare_cached(&sql)?.query_row((request,), |row| row.get::<_, i64>(0)).optional()?;
            Ok(found.is_some())
        })
    }

    /// Stores the fork of a sample, in place of an earlier one. Returns whether there is such an experiment.
    pub fn set_sample(&self, experiment: &str, sample: &SampleRow) -> Result<bool, Error> {
        let (experiment, SampleRow { arm, number, request, score }) = (experiment.to_owned(), sample.clone());
        let score = score.map(|score| serde_json::to_string(&score)).transpose()?;
        self.write(move |connection| {
            let Some(n) = number_of(connection, &experiment)? else { return Ok(false) };
            let sql = "INSERT INTO sample (experiment, arm, number, request, score) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (experiment, arm, number)
                 DO UPDATE SET request = excluded.request, score = excluded.score";
            connection.prepare_cached(sql)?.execute((n, arm, number, &request, &score))?;
            Ok(true)
        })
    }

    /// Forgets the scores of an experiment's samples.
    pub fn clear_scores(&self, experiment: &str) -> Result<(), Error> {
        let experiment = experiment.to_owned();
        self.write(move |connection| {
            let sql = "UPDATE sample SET score = NULL WHERE experiment = (SELECT n FROM experiment WHERE id = ?1)";
            connection.prepare_cached(sql)?.execute((&experiment,))?;
            Ok(())
        })
    }

    /// The experiments, newest first.
    pub fn experiments(&self, limit: u64, offset: u64) -> Result<Vec<ExperimentRow>, Error> {
        self.read(|connection| {
            let sql = "SELECT id, request, at, body FROM experiment ORDER BY n DESC LIMIT ?1 OFFSET ?2";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query((limit.min(i64::MAX as u64) as i64, offset.min(i64::MAX as u64) as i64))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                found.push(experiment_of(row)?);
            }
            Ok(found)
        })
    }

    /// One experiment.
    pub fn experiment(&self, id: &str) -> Result<Option<ExperimentRow>, Error> {
        self.read(|connection| {
            let sql = "SELECT id, request, at, body FROM experiment WHERE id = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query((id,))?;
            rows.next()?.map(experiment_of).transpose()
        })
    }

    /// The samples of an experiment by arm and number, each with its request if that is there.
    pub fn samples(&self, experiment: &str) -> Result<Vec<(SampleRow, Option<RequestRow>)>, Error> {
        self.read(|connection| {
            let sql = format!(
                "{COLUMNS}, p.arm, p.number, p.request, p.score FROM experiment x JOIN sample p ON p.experiment = x.n
                 LEFT JOIN request r ON r.id = p.request LEFT JOIN session s ON s.n = r.session
                 WHERE x.id = ?1 ORDER BY p.arm, p.number"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let mut rows = statement.query((experiment,))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let score: Option<String> = row.get(21)?;
                let score = score.map(|text| engine::json::parse(&text)).transpose()?;
                let sample = SampleRow { arm: row.get(18)?, number: row.get(19)?, request: row.get(20)?, score };
                let is_there = row.get::<_, Option<String>>(0)?.is_some();
                let request = if is_there { Some(request(row)?) } else { None };
                found.push((sample, request));
            }
            Ok(found)
        })
    }

    /// How many samples of an experiment have a request, without those with one of these statuses.
    pub fn count_samples(&self, experiment: &str, without: &[RequestStatus]) -> Result<u64, Error> {
        let without: Vec<String> = without.iter().map(|status| format!("'{}'", status.as_str())).collect();
        let sql = format!(
            "SELECT count(*) FROM experiment x JOIN sample p ON p.experiment = x.n JOIN request r ON r.id = p.request
             WHERE x.id = ?1 AND r.status NOT IN ({})",
            without.join(", ")
        );
        self.read(|connection| Ok(connection.prepare_cached(&sql)?.query_row((experiment,), |row| row.get(0))?))
    }
}

impl Store {
    /// Runs `write` in one transaction on the writing connection. A sample that begins or is scored is short work: it
    /// opens no connection of its own, and pauses for nobody.
    fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.writer.handle().run_uncached(move |connection| {
            // Another process may keep the lock for longer than one wait.
            let transaction = loop {
                match connection.transaction().map_err(Error::from) {
                    Err(error) if error.is_busy() => {}
                    begun => break begun?,
                }
            };
            let result = write(&transaction)?;
            transaction.commit()?;
            Ok(result)
        })
    }
}

/// The spending of an experiment is a row under experiment 0, whose arms from 1 on are experiments.
fn spending_of(connection: &Connection, experiment: i64) -> Result<Option<Value>, Error> {
    let sql = "SELECT score FROM sample WHERE experiment = 0 AND arm = ?1 AND number = 1";
    let found = connection.prepare_cached(sql)?.query_row((experiment,), |row| row.get::<_, Option<String>>(0));
    Ok(found.optional()?.flatten().map(|text| engine::json::parse(&text)).transpose()?)
}

fn number_of(connection: &Connection, id: &str) -> Result<Option<i64>, Error> {
    let mut statement = connection.prepare_cached("SELECT n FROM experiment WHERE id = ?1")?;
    Ok(statement.query_row((id,), |row| row.get(0)).optional()?)
}

fn experiment_of(row: crate::sql::Row<'_>) -> Result<ExperimentRow, Error> {
    let body: String = row.get(3)?;
    Ok(ExperimentRow { id: row.get(0)?, request: row.get(1)?, at: row.get(2)?, body: engine::json::parse(&body)? })
}
