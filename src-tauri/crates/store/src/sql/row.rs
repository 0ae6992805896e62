//! Rows of an answer. A column is read as one of SQLite's types, whoever answers.

use rusqlite::types::{FromSql, Type, ValueRef};

use super::postgres::column;
use super::{Error, Result};

/// One row.
#[derive(Clone, Copy)]
pub(crate) enum Row<'a> {
    Sqlite(&'a rusqlite::Row<'a>),
    Postgres(&'a tokio_postgres::Row),
}

/// The number of a column, from 0.
pub(crate) trait ColumnNumber {
    /// As a number.
    fn number(self) -> usize;
}

impl ColumnNumber for usize {
    fn number(self) -> usize {
        self
    }
}

impl<'a> Row<'a> {
    /// A column as a value of a type.
    pub(crate) fn get<I: ColumnNumber, T: FromSql>(&self, at: I) -> Result<T> {
        let at = at.number();
        match self {
            Row::Sqlite(row) => Ok(row.get(at)?),
            Row::Postgres(row) => T::column_result(column(row, at)?).map_err(|error| {
                Error::Sqlite(rusqlite::Error::FromSqlConversionFailure(at, Type::Null, Box::new(error)))
            }),
        }
    }

    /// A column without a copy.
    pub(crate) fn get_ref(&self, at: usize) -> Result<ValueRef<'a>> {
        match self {
            Row::Sqlite(row) => Ok(row.get_ref(at)?),
            Row::Postgres(row) => column(row, at),
        }
    }
}

/// The rows of an answer, one after another. A server's are all there from the beginning.
pub(crate) enum Rows<'s> {
    Sqlite(rusqlite::Rows<'s>),
    Postgres(std::vec::IntoIter<tokio_postgres::Row>, Option<tokio_postgres::Row>),
}

impl Rows<'_> {
    /// The next row.
    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>> {
        match self {
            Rows::Sqlite(rows) => Ok(rows.next()?.map(Row::Sqlite)),
            Rows::Postgres(rows, current) => {
                *current = rows.next();
                Ok(current.as_ref().map(Row::Postgres))
            }
        }
    }
}

/// The rows of an answer, each read by a function.
pub(crate) struct MappedRows<'s, F> {
    rows: Rows<'s>,
    read: F,
}

impl<'s, F> MappedRows<'s, F> {
    pub(super) fn new(rows: Rows<'s>, read: F) -> Self {
        MappedRows { rows, read }
    }
}

impl<T, F: FnMut(Row<'_>) -> Result<T>> Iterator for MappedRows<'_, F> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.rows.next().transpose()?;
        Some(row.and_then(|row| (self.read)(row)))
    }
}
