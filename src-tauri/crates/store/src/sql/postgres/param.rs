//! A value that is bound to a statement, in PostgreSQL's format.

use bytes::BytesMut;
use rusqlite::types::{ToSqlOutput, Value};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::sql::{Error, Result, without_nul};

/// A value.
#[derive(Debug)]
pub(super) struct Param(Value);

impl Param {
    pub(super) fn of(value: &dyn rusqlite::ToSql) -> Result<Param> {
        let value = match value.to_sql()? {
            ToSqlOutput::Owned(value) => value,
            ToSqlOutput::Borrowed(value) => {
                Value::try_from(value).map_err(|error| Error::Sqlite(rusqlite::Error::from(error)))?
            }
            _ => Value::Null,
        };
        // The server has no such letter; bodies have it as an escape.
        Ok(Param(match value {
            Value::Text(text) => Value::Text(without_nul(text)),
            value => value,
        }))
    }

    /// The type that the server is told. Of a null it finds out itself.
    pub(super) fn type_of(&self) -> Type {
        match self.0 {
            Value::Null => Type::UNKNOWN,
            Value::Integer(_) => Type::INT8,
            Value::Real(_) => Type::FLOAT8,
            Value::Text(_) => Type::TEXT,
            Value::Blob(_) => Type::BYTEA,
        }
    }
}

impl ToSql for Param {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match &self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Integer(value) => value.to_sql(kind, out),
            Value::Real(value) => value.to_sql(kind, out),
            Value::Text(value) => value.to_sql(kind, out),
            Value::Blob(value) => value.to_sql(kind, out),
        }
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
