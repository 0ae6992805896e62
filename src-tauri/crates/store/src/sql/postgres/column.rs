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
            Type::NUMERIC => number(raw)?,
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

/// A number in PostgreSQL's format `numeric`, which it gives sums and numbers that a statement says: how many digits to
/// the base of 10,000, the weight of the first, the sign, the number of places behind the point, and the digits.
fn number(raw: &[u8]) -> std::result::Result<ValueRef<'_>, Failure> {
    let word = |at: usize| -> std::result::Result<i16, Failure> {
        let bytes = raw.get(2 * at..2 * at + 2).ok_or("a number is cut off")?;
        Ok(i16::from_be_bytes([bytes[0], bytes[1]]))
    };
    let (digits, weight, sign, places) = (word(0)?, word(1)?, word(2)?, word(3)?);
    let digit = |at: i16| if at < digits { word(4 + at as usize) } else { Ok(0) };
    if places > 0 {
        let mut value = 0.0;
        for at in 0..digits {
            value += f64::from(digit(at)?) * 10_000f64.powi(i32::from(weight - at));
        }
        return Ok(ValueRef::Real(if sign == NEGATIVE { -value } else { value }));
    }
    let mut value: i64 = 0;
    for at in 0..=weight {
        let next = value.checked_mul(10_000).and_then(|value| value.checked_add(digit(at).ok()?.into()));
        value = next.ok_or("a sum is too large")?;
    }
    Ok(ValueRef::Integer(if sign == NEGATIVE { -value } else { value }))
}

/// The sign of a number below zero.
const NEGATIVE: i16 = 0x4000;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_with_and_without_places() {
        let raw = |words: &[i16]| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
        assert_eq!(number(&raw(&[2, 1, 0, 0, 12, 345])).unwrap(), ValueRef::Integer(120_345));
        assert_eq!(number(&raw(&[1, 1, NEGATIVE, 0, 7])).unwrap(), ValueRef::Integer(-70_000));
        assert_eq!(number(&raw(&[0, 0, 0, 0])).unwrap(), ValueRef::Integer(0));
        assert_eq!(number(&raw(&[2, 0, 0, 1, 1218, 5000])).unwrap(), ValueRef::Real(1218.5));
        assert!(number(&raw(&[2, 4, 0])).is_err());
    }
}
