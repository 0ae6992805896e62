//! A statement that is run with values.

use super::postgres::Session;
use super::row::MappedRows;
use super::{Params, Result, Row, Rows};

/// A statement, for as often as it is run.
pub(crate) enum Statement<'c> {
    Once(rusqlite::Statement<'c>),
    Cached(rusqlite::CachedStatement<'c>),
    Postgres(&'c Session, String),
}

impl Statement<'_> {
    /// Runs it; how many rows it changed.
    pub(crate) fn execute(&mut self, params: impl Params) -> Result<usize> {
        params.with(|values| match self {
            Statement::Once(statement) => Ok(statement.execute(values)?),
            Statement::Cached(statement) => Ok(statement.execute(values)?),
            Statement::Postgres(session, sql) => session.execute(sql, values),
        })
    }

    /// Runs it in a transaction that writes, without a wait for the answer of a server: if it fails, the commit does.
    pub(crate) fn run(&mut self, params: impl Params) -> Result<()> {
        params.with(|values| match self {
            Statement::Once(statement) => Ok(statement.execute(values).map(drop)?),
            Statement::Cached(statement) => Ok(statement.execute(values).map(drop)?),
            Statement::Postgres(session, sql) => session.send(sql, values),
        })
    }

    /// Runs it; the rows that it finds.
    pub(crate) fn query(&mut self, params: impl Params) -> Result<Rows<'_>> {
        params.with(|values| match self {
            Statement::Once(statement) => Ok(Rows::Sqlite(statement.query(values)?)),
            Statement::Cached(statement) => Ok(Rows::Sqlite(statement.query(values)?)),
            Statement::Postgres(session, sql) => Ok(Rows::Postgres(session.query(sql, values)?.into_iter(), None)),
        })
    }

    /// Runs it; the rows that it finds, each read by a function.
    pub(crate) fn query_map<T, F: FnMut(Row<'_>) -> Result<T>>(
        &mut self,
        params: impl Params,
        read: F,
    ) -> Result<MappedRows<'_, F>> {
        Ok(MappedRows::new(self.query(params)?, read))
    }

    /// Runs it, and reads the first row.
    pub(crate) fn query_row<T>(&mut self, params: impl Params, read: impl FnOnce(Row<'_>) -> Result<T>) -> Result<T> {
        let mut rows = self.query(params)?;
        let row = rows.next()?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
        read(row)
    }

    /// The names of the columns that it finds.
    pub(crate) fn column_names(&self) -> Result<Vec<String>> {
        match self {
            Statement::Once(statement) => Ok(statement.column_names().map(str::to_owned).collect()),
            Statement::Cached(statement) => Ok(statement.column_names().map(str::to_owned).collect()),
            Statement::Postgres(session, sql) => session.column_names(sql),
        }
    }

    /// Whether it finds a row.
    pub(crate) fn exists(&mut self, params: impl Params) -> Result<bool> {
        Ok(self.query(params)?.next()?.is_some())
    }
}
