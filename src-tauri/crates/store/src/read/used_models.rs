//! What requests used of models in calls that they paid for themselves: without those that a fork has in common with
//! its origin, and answers that another sample of an experiment paid for.

use engine::event::{Event, Seq};

use crate::Store;
use crate::read::events;
use crate::row::annotation::{self, Subject};
use crate::row::error::Error;
use crate::row::model_usage::Payer;
use crate::sql::{Connection, OptionalExtension};

/// What a request used of one model, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelUsed {
    /// The number of the model.
    pub model: i64,
    /// How many calls.
    pub calls: u64,
    /// How many of them say what they used.
    pub counted: u64,
    /// What the model was told.
    pub input: u64,
    /// What of it was in the provider's cache.
    pub cached: u64,
    /// What the model said.
    pub output: u64,
}

impl Store {
    /// What a request used of each model.
    pub fn used(&self, id: &str) -> Result<Vec<ModelUsed>, Error> {
        self.read(|connection| {
            let n = annotation::row_of(connection, Subject::Request, id)?;
            n.map_or(Ok(Vec::new()), |n| used(connection, n))
        })
    }

    /// Those of these events of a request that may end model calls which another sample of an experiment paid for: none
    /// if the request has no such call, and else all.
    pub fn maybe_shared(&self, id: &str, seqs: &[Seq]) -> Result<Vec<Event>, Error> {
        let events = self.read(|connection| {
            let shared: Option<i64> = connection
                .prepare_cached(
                    "SELECT u.calls FROM request r JOIN model_usage u ON u.request = r.n
                     WHERE r.id = ?1 AND u.paid_by = ?2 LIMIT 1",
                )?
                .query_row((id, Payer::Sample.number()), |row| row.get(0))
                .optional()?;
            shared.map_or(Ok(Vec::new()), |_| events::with_seqs(connection, id, seqs))
        })?;
        self.on_damaged.report_damaged(id, &events);
        Ok(events)
    }
}

/// The same of the request with this number.
pub(super) fn used(connection: &Connection, n: i64) -> Result<Vec<ModelUsed>, Error> {
    let mut statement = connection.prepare_cached(
        "SELECT model, calls, counted, input, cached, output FROM model_usage WHERE request = ?1 AND paid_by = ?2",
    )?;
    let rows = statement.query_map((n, Payer::Own.number()), |row| {
        Ok(ModelUsed {
            model: row.get(0)?,
            calls: row.get(1)?,
            counted: row.get(2)?,
            input: row.get(3)?,
            cached: row.get(4)?,
            output: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
