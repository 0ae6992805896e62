//! Builds a WHERE clause from optional conditions. Values are always bound, never written into SQL.

use crate::sql::Value;
use engine::event::RequestStatus;

#[derive(Default)]
pub(crate) struct Filter {
    clauses: Vec<String>,
    pub(crate) values: Vec<Value>,
}

impl Filter {
    /// Adds a condition if there is a value; each `?` in `clause` is bound to it.
    pub(crate) fn and(&mut self, clause: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.values.push(value.into());
            self.clauses.push(clause.replace('?', &format!("?{}", self.values.len())));
        }
    }

    /// Adds a condition that has no value.
    pub(crate) fn and_condition(&mut self, condition: Option<String>) {
        self.clauses.extend(condition);
    }

    /// Whether it has no conditions.
    pub(crate) fn is_empty(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Adds a condition on the status of the request with the alias `r`.
    pub(crate) fn and_status(&mut self, status: Option<RequestStatus>) {
        match status {
            Some(RequestStatus::Interrupted) => {
                self.clauses.push("r.status IN ('queued', 'in_progress', 'interrupted')".to_owned());
            }
            other => self.and("r.status = ?", other.map(|status| status.as_str().to_owned())),
        }
    }

    /// The whole statement.
    pub(crate) fn select(&self, select: &str, order: &str, limit: Option<u64>, offset: Option<u64>) -> String {
        let filter = if self.clauses.is_empty() { "TRUE" } else { &self.clauses.join(" AND ") };
        let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(i64::MAX);
        let offset = offset.map_or(0, |offset| i64::try_from(offset).unwrap_or(i64::MAX));
        format!("{select} WHERE {filter} ORDER BY {order} LIMIT {limit} OFFSET {offset}")
    }
}

/// Converts an unsigned number to SQLite's signed integer; too large numbers become the maximum.
pub(crate) fn to_sql_integer(value: Option<u64>) -> Option<i64> {
    value.map(|value| i64::try_from(value).unwrap_or(i64::MAX))
}
