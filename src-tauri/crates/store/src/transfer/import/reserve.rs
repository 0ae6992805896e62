//! Reserves ids and row numbers for an import before its rows are copied.

use super::BundleCopy;
use super::NewScope;
use super::ROWS_AT_ONCE;
use super::rows::ensure_not_undone;
use crate::read::states;
use crate::row::error::Error;
use crate::sql::Connection;
use crate::transfer::bundle;
use crate::transfer::bundle::ImportError;
use crate::write::{import_boundaries, removal_queue};
use std::collections::HashMap;
use std::sync::Arc;

impl BundleCopy<'_> {
    /// Reserves the range of event ids, and row numbers for requests and sessions.
    pub(super) fn reserve(&mut self) -> Result<(), ImportError> {
        let rows = |sql: &str, after: i64| -> Result<Vec<(i64, String)>, Error> {
            let mut statement = self.staged.connection.prepare(sql)?;
            let rows = statement.query_map((after,), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        let requests = rows("SELECT n, id FROM request WHERE n > ?1 ORDER BY n", self.staged.origin_end.request)?;
        let sessions = rows("SELECT n, id FROM session WHERE n > ?1 ORDER BY n", self.staged.origin_end.session)?;
        let (import, count) = (self.import.clone(), self.staged.last - self.staged.origin_end.event);
        self.range = self.work.write(move |connection, _| {
            let sql = "SELECT max(id_floor, coalesce((SELECT max(id) FROM event), 0)) + 1 FROM total";
            let first: i64 = connection.query_row(sql, (), |row| row.get(0))?;
            let last = first + count + 1;
            connection.execute("UPDATE total SET id_floor = ?1", (last,))?;
            connection.execute(
                "INSERT INTO removal (kind, n, import, last) VALUES ('range', ?1, ?2, ?3)",
                (first, &*import, last),
            )?;
            import_boundaries::insert_pair(connection, first, last)?;
            Ok::<_, Error>((first, last))
        })?;
        self.maps.requests = self.reserve_rows("request", requests)?;
        self.maps.sessions = self.reserve_rows("session", sessions)?;
        Ok(())
    }

    /// Reserves a row number for each row of a table, in slices. Returns them by the numbers in the staging database.
    pub(super) fn reserve_rows(
        &self,
        table: &'static str,
        rows: Vec<(i64, String)>,
    ) -> Result<HashMap<i64, i64>, ImportError> {
        let (mut left, mut kept) = (rows.into_iter(), HashMap::new());
        while left.len() > 0 {
            let import = self.import.clone();
            let slice = self.work.write(move |connection, slice| {
                ensure_not_undone(connection, &import)?;
                let mut kept = Vec::new();
                for (n, id) in left.by_ref() {
                    if table == "request" {
                        // Checked in the transaction that reserves the id: later requests with it are refused.
                        let name: [(&str, Arc<str>); 1] = [("request", id.as_str().into())];
                        bundle::refuse_reserved(connection, &name)?;
                        bundle::refuse_known(connection, &name)?;
                        removal_queue::rename_scopes_of_removed(connection, &id)?;
                    }
                    kept.push((n, reserve_row(connection, table, &import, Some(&id))?));
                    if slice.is_over() {
                        break;
                    }
                }
                Ok::<_, ImportError>((left, kept))
            })?;
            left = slice.0;
            kept.extend(slice.1);
        }
        Ok(kept)
    }

    /// Maps the bundle's durable scopes to this database's rows, and reserves row numbers for those that have none.
    pub(super) fn map_scopes(&mut self) -> Result<(), Error> {
        let durable = self.durable()?;
        let import = self.import.clone();
        let found = self.work.write(move |connection, _| {
            ensure_not_undone(connection, &import)?;
            let mut is_brought = connection
                .prepare_cached("SELECT 1 FROM removal WHERE kind = 'imported_scope' AND n = ?1 AND import = ?2")?;
            let mut found = Vec::new();
            for (old, key, version, last) in durable {
                let known = match states::find(connection, &key)? {
                    Some(n) if is_brought.exists((n, &*import))? => Some(n),
                    // Also if it was created here meanwhile; the two are merged when the import is published.
                    _ => None,
                };
                let n = match known {
                    Some(n) => n,
                    None => reserve_row(connection, "scope", &import, None)?,
                };
                found.push((old, n, known.is_none().then_some((key, version, last))));
            }
            Ok::<_, Error>(found)
        })?;
        for (old, n, new) in found {
            self.maps.scopes.insert(old, n);
            if let Some((key, version, last)) = new {
                self.maps.new.push(NewScope { n, key, version, last: self.event_id(last) });
            }
        }
        Ok(())
    }

    /// Copies the rows of scopes that belong to one request.
    pub(super) fn copy_request_scopes(&mut self) -> Result<(), Error> {
        let mut statement = self.staged.connection.prepare(
            "SELECT n, kind, id, request, version, last FROM scope WHERE request > ?1 AND n > ?2 ORDER BY n LIMIT ?3",
        )?;
        let mut after = 0;
        loop {
            let mut rows = statement.query((self.staged.origin_end.request, after, ROWS_AT_ONCE))?;
            let mut scopes = Vec::new();
            while let Some(row) = rows.next()? {
                after = row.get(0)?;
                let (kind, id): (String, String) = (row.get(1)?, row.get(2)?);
                let last: i64 = row.get(5)?;
                let last = if last == 0 { 0 } else { self.event_id(last) };
                scopes.push((after, kind, id, self.request_row(row.get(3)?)?, row.get::<_, i64>(4)?, last));
            }
            drop(rows);
            if scopes.is_empty() {
                return Ok(());
            }
            let mut left = scopes;
            while !left.is_empty() {
                let import = self.import.clone();
                let (made, rest) = self.work.write(move |connection, slice| {
                    ensure_not_undone(connection, &import)?;
                    let mut made = Vec::new();
                    let mut scopes = left.into_iter();
                    for (old, kind, id, request, version, last) in scopes.by_ref() {
                        let n = connection
                            .prepare_cached(
                                "INSERT INTO scope (n, kind, id, request, version, last)
                                 VALUES (max(coalesce((SELECT max(n) FROM scope), 0),
                                     coalesce((SELECT max(n) FROM removal WHERE kind = 'scope'), 0)) + 1,
                                     ?1, ?2, ?3, ?4, ?5) RETURNING n",
                            )?
                            .query_row((kind, id, request, version, last), |row| row.get(0))?;
                        made.push((old, n));
                        if slice.is_over() {
                            break;
                        }
                    }
                    Ok::<_, Error>((made, scopes.collect::<Vec<_>>()))
                })?;
                self.maps.scopes.extend(made);
                left = rest;
            }
        }
    }
}

/// Reserves the next row number of a table for an import, and returns it.
pub(super) fn reserve_row(
    connection: &Connection,
    table: &str,
    import: &str,
    name: Option<&str>,
) -> Result<i64, Error> {
    let sql = format!(
        "INSERT INTO removal (kind, n, import, name) VALUES (?1, max(coalesce((SELECT max(n) FROM {table}), 0),
             coalesce((SELECT max(n) FROM removal WHERE kind = ?1), 0)) + 1, ?2, ?3) RETURNING n"
    );
    Ok(connection.prepare_cached(&sql)?.query_row((table, import, name), |row| row.get(0))?)
}
