//! A WHERE clause that grows with what is asked. Values are always bound, never written into SQL.

use engine::event::RequestStatus;
use rusqlite::types::Value;

#[derive(Default)]
pub(crate) struct Filter {
    clauses: Vec<String>,
    pub(crate) values: Vec<Value>,
}

impl Filter {
    /// Narrows by `clause`, whose every `?` is the value, if one is asked for.
    pub(crate) fn and(&mut self, clause: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.values.push(value.into());
            self.clauses.push(clause.replace('?', &format!("?{}", self.values.len())));
        }
    }

    /// Narrows by the status of the request that is called `r`.
    pub(crate) fn and_status(&mut self, status: Option<RequestStatus>) {
        match status {
            Some(RequestStatus::Interrupted) => self.clauses.push("r.status IN ('queued', 'in_progress')".to_owned()),
            other => self.and("r.status = ?", other.map(|status| status.as_str().to_owned())),
        }
    }

    /// The whole statement.
    pub(crate) fn select(&self, select: &str, order: &str, limit: Option<u64>, offset: Option<u64>) -> String {
        let filter = if self.clauses.is_empty() { "1" } else { &self.clauses.join(" AND ") };
        let limit = limit.and_then(|limit| i64::try_from(limit).ok()).unwrap_or(-1);
        let offset = offset.map_or(0, |offset| i64::try_from(offset).unwrap_or(i64::MAX));
        format!("{select} WHERE {filter} ORDER BY {order} LIMIT {limit} OFFSET {offset}")
    }
}

/// A number as SQLite has it; none of ours comes near the end of its range.
pub(crate) fn number(value: Option<u64>) -> Option<i64> {
    value.map(|value| i64::try_from(value).unwrap_or(i64::MAX))
}
