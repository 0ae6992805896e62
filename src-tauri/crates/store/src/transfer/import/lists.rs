//! Copies the data that lists show of the bundle's requests and sessions: model usage, annotations and tags.

use super::BundleCopy;
use crate::row::annotation::Subject;
use crate::row::error::Error;
use crate::row::model_usage::{self, ModelName};

impl BundleCopy<'_> {
    pub(super) fn copy_lists(&self) -> Result<(), Error> {
        let origin = self.staged.origin_end.request;
        let mut statement = self.staged.connection.prepare(
            "SELECT u.request, m.asked, m.answered, u.paid_by, u.calls, u.counted, u.input, u.cached, u.output
             FROM model_usage u JOIN model m ON m.n = u.model WHERE u.request > ?1",
        )?;
        let mut rows = statement.query((origin,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let model = ModelName { asked: row.get(1)?, answered: row.get(2)? };
            let mut numbers = [0_i64; 6];
            for (at, number) in (3..).zip(&mut numbers) {
                *number = row.get(at)?;
            }
            found.push((self.request_row(row.get(0)?)?, model, numbers));
        }
        self.copy_rows(found, |connection, (request, model, [paid_by, calls, counted, input, cached, output])| {
            let model = model_usage::number_of(connection, &model)?;
            connection
                .prepare_cached(
                    "INSERT INTO model_usage (request, model, paid_by, calls, counted, input, cached, output)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                )?
                .execute((request, model, paid_by, calls, counted, input, cached, output))?;
            Ok(0)
        })?;
        self.copy_annotations(Subject::Request, origin)?;
        self.copy_annotations(Subject::Session, self.staged.origin_end.session)
    }

    /// Copies annotations and tags of the requests or sessions whose rows come after `origin`.
    fn copy_annotations(&self, subject: Subject, origin: i64) -> Result<(), Error> {
        let (table, tags, column) = (subject.annotations(), subject.tags(), subject.table());
        let number = |n: i64| match subject {
            Subject::Request => self.request_row(n),
            Subject::Session => Ok(self.maps.sessions.get(&n).copied().unwrap_or_default()),
        };
        let connection = &self.staged.connection;
        let mut statement = connection
            .prepare(&format!("SELECT {column}, at, by, kind, value FROM {table} WHERE {column} > ?1 ORDER BY n"))?;
        let mut rows = statement.query((origin,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (by, kind): (Option<String>, String) = (row.get(2)?, row.get(3)?);
            found.push((number(row.get(0)?)?, row.get::<_, i64>(1)?, by, kind, row.get::<_, String>(4)?));
        }
        let insert = format!("INSERT INTO {table} ({column}, at, by, kind, value) VALUES (?1, ?2, ?3, ?4, ?5)");
        self.copy_rows(found, move |connection, row| {
            connection.prepare_cached(&insert)?.execute(row)?;
            Ok(0)
        })?;
        let mut statement = connection.prepare(&format!("SELECT {column}, name FROM {tags} WHERE {column} > ?1"))?;
        let mut rows = statement.query((origin,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push((number(row.get(0)?)?, row.get::<_, String>(1)?));
        }
        let insert = format!("INSERT INTO {tags} ({column}, name) VALUES (?1, ?2)");
        self.copy_rows(found, move |connection, row| {
            connection.prepare_cached(&insert)?.execute(row)?;
            Ok(0)
        })
    }
}
