//! A column of a server's row as one of SQLite's types.

use rusqlite::types::ValueRef;
use tokio_postgres::types::{FromSql, Type};

use crate::sql::Result;

/// A column, without a copy of texts and bytes.
pub(in crate::sql) fn column(row: &tokio_postgres::Row, at: usize) -> Result<ValueRef<'_>> {
    Ok(row.try_get::<_, Column<'_>>(at)?.0)
}

struct Column<'a>(ValueRef<'a>);

type Failure = Box<dyn std::error::Error + Sync + Send>;

impl<'a> FromSql<'a> for Column<'a> {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> std::result::Result<Self, Failure> {
        Ok(Column(match *kind {
            Type::INT8 => ValueRef::Integer(i64::from_sql(kind, raw)?),
            Type::INT4 => ValueRef::Integer(i32::from_sql(kind, raw)?.into()),
            Type::INT2 => ValueRef::Integer(i16::from_sql(kind, raw)?.into()),
            Type::BOOL => ValueRef::Integer(bool::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => ValueRef::Real(f64::from_sql(kind, raw)?),
            Type::BYTEA => ValueRef::Blob(raw),
            Type::NUMERIC => ValueRef::Integer(integer(raw)?),
            Type::TEXT | Type::VARCHAR | Type::NAME | Type::BPCHAR | Type::UNKNOWN => ValueRef::Text(raw),
            _ => return Err(format!("a column of type {kind} was not expected").into()),
        }))
    }

    fn from_sql_null(_kind: &Type) -> std::result::Result<Self, Failure> {
        Ok(Column(ValueRef::Null))
    }

    fn accepts(_kind: &Type) -> bool {
        true
    }
}

/// A whole number in PostgreSQL's format `numeric`, which it gives sums: how many digits to the base of 10,000, the
/// weight of the first, the sign, the scale, and the digits.
fn integer(raw: &[u8]) -> std::result::Result<i64, Failure> {
    let word = |at: usize| -> std::result::Result<i16, Failure> {
        let bytes = raw.get(2 * at..2 * at + 2).ok_or("a number is cut off")?;
        Ok(i16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let (digits, weight, sign) = (word(0)?, word(1)?, word(2)?);
    let mut value: i64 = 0;
    for at in 0..=weight.max(-1) {
        let digit = if at < digits { word(4 + at as usize)?.into() } else { 0 };
        value = value.checked_mul(10_000).and_then(|value| value.checked_add(digit)).ok_or("a sum is too large")?;
    }
    Ok(if sign == 0x4000 { -value } else { value })
}
