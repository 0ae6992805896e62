//! Experiments: which forks of a request were made to compare them. The forks themselves are requests like any other.
//!
//! Must not know what an experiment varies or how a score came about: both are JSON of whoever compares.

use std::collections::HashSet;

use crate::sql::{Connection, OptionalExtension};
use serde_json::Value;

use crate::Store;
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
        self.sliced_work()?.write(move |connection, _| {
            let sql = "INSERT INTO experiment (id, request, at, body) VALUES (?1, ?2, ?3, ?4)
                 ON CONFLICT (id) DO UPDATE SET body = excluded.body";
            connection.prepare_cached(sql)?.execute((&id, &request, at, &body))?;
            Ok(())
        })
    }

    /// Stores the fork of a sample that is about to begin: a new sample, or one whose fork `instead_of` is gone.
    /// Returns false if another process was faster.
    pub fn claim_sample(&self, experiment: &str, sample: &SampleRow, instead_of: Option<&str>) -> Result<bool, Error> {
        let (experiment, SampleRow { arm, number, request, .. }) = (experiment.to_owned(), sample.clone());
        let instead_of = instead_of.map(str::to_owned);
        self.sliced_work()?.write(move |connection, _| {
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

    /// The requests that are samples of experiments.
    pub fn sampled(&self) -> Result<HashSet<String>, Error> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT request FROM sample")?;
            let rows = statement.query_map((), |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Stores the fork of a sample, in place of an earlier one. Returns whether there is such an experiment.
    pub fn set_sample(&self, experiment: &str, sample: &SampleRow) -> Result<bool, Error> {
        let (experiment, SampleRow { arm, number, request, score }) = (experiment.to_owned(), sample.clone());
        let score = score.map(|score| serde_json::to_string(&score)).transpose()?;
        self.sliced_work()?.write(move |connection, _| {
            let Some(n) = number_of(connection, &experiment)? else { return Ok(false) };
            let sql = "INSERT INTO sample (experiment, arm, number, request, score) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (experiment, arm, number)
                 DO UPDATE SET request = excluded.request, score = excluded.score";
            connection.prepare_cached(sql)?.execute((n, arm, number, &request, &score))?;
            Ok(true)
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

    /// The forks of an experiment, by arm and number.
    pub fn samples(&self, experiment: &str) -> Result<Vec<SampleRow>, Error> {
        self.read(|connection| {
            let sql = "SELECT s.arm, s.number, s.request, s.score FROM experiment e JOIN sample s ON s.experiment = e.n
                 WHERE e.id = ?1 ORDER BY s.arm, s.number";
            let mut statement = connection.prepare_cached(sql)?;
            let mut rows = statement.query((experiment,))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let score: Option<String> = row.get(3)?;
                let score = score.map(|text| engine::json::parse(&text)).transpose()?;
                found.push(SampleRow { arm: row.get(0)?, number: row.get(1)?, request: row.get(2)?, score });
            }
            Ok(found)
        })
    }
}

fn number_of(connection: &Connection, id: &str) -> Result<Option<i64>, Error> {
    let mut statement = connection.prepare_cached("SELECT n FROM experiment WHERE id = ?1")?;
    Ok(statement.query_row((id,), |row| row.get(0)).optional()?)
}

fn experiment_of(row: crate::sql::Row<'_>) -> Result<ExperimentRow, Error> {
    let body: String = row.get(3)?;
    Ok(ExperimentRow { id: row.get(0)?, request: row.get(1)?, at: row.get(2)?, body: engine::json::parse(&body)? })
}
