//! The end of an import: restores this database's own records after the imported events, and publishes the import in
//! one last transaction.

use super::BundleCopy;
use super::NewScope;
use super::rows::ensure_not_undone;
use super::rows::insert_keyframe;
use crate::read::states;
use crate::row::body::Body;
use crate::row::error::Error;
use crate::row::{body, measure};
use crate::sql::Connection;
use crate::sql::params_from_iter;
use crate::transfer::bundle;
use crate::transfer::bundle::{ImportError, Unfit};
use engine::scope::ScopeKey;
use engine::scope::ScopeKind;
use std::collections::BTreeSet;
use std::sync::Arc;

impl BundleCopy<'_> {
    /// Writes keyframes with this database's own records at the last boundary event. Records that are not in the bundle
    /// also get an empty keyframe at the first boundary event, because they do not exist in its past.
    pub(super) fn snapshot_local_records(&mut self, brought: &BTreeSet<ScopeKey>) -> Result<(), Error> {
        let mut touched = brought.clone();
        for (_, key, ..) in self.durable()? {
            touched.insert(key);
        }
        let own = self.work.read(|connection| bundle::own_records(connection, &touched))?;
        let (first, last) = self.range;
        for chunk in own.chunks(64) {
            let rows = self.work.read(|connection| {
                let mut rows = Vec::new();
                for key in chunk {
                    let Some(n) = states::find(connection, key)? else { continue };
                    let record = states::at(connection, n, first - 1)?;
                    let state = record.state.to_json();
                    rows.push((
                        n,
                        !brought.contains(key),
                        record.version,
                        measure::json_bytes(&state),
                        body::of_state(state)?,
                    ));
                }
                Ok(rows)
            })?;
            let import = self.import.clone();
            self.copy_rows(rows, move |connection, (n, is_hidden, version, bytes, body)| {
                connection
                    .prepare_cached("INSERT INTO removal (kind, n, import) VALUES ('imported_scope', ?1, ?2)")?
                    .execute((n, &*import))?;
                let kept = insert_keyframe(connection, (n, last), version, bytes, &body)?;
                if is_hidden {
                    let nothing = Body { text: "{}".to_owned(), payloads: Vec::new() };
                    insert_keyframe(connection, (n, first), 0, 2, &nothing)?;
                }
                let sql = "UPDATE scope SET last = max(last, ?2) WHERE n = ?1";
                connection.prepare_cached(sql)?.execute((n, last))?;
                Ok(kept)
            })?;
        }
        Ok(())
    }

    /// The durable records of which the bundle has states or changes: row number in the staging database, key, version,
    /// id of the newest event.
    pub(super) fn durable(&self) -> Result<Vec<(i64, ScopeKey, i64, i64)>, Error> {
        let mut statement = self.staged.connection.prepare(
            "SELECT n, kind, id, version, last FROM scope s WHERE request IS NULL
             AND (EXISTS (SELECT 1 FROM change c WHERE c.scope = s.n AND c.event > ?1)
                 OR EXISTS (SELECT 1 FROM keyframe k WHERE k.scope = s.n AND k.event > ?1)) ORDER BY n",
        )?;
        let mut rows = statement.query((self.staged.origin_end.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (kind, id): (String, String) = (row.get(1)?, row.get(2)?);
            let kind = ScopeKind::parse(&kind).ok_or_else(|| Error::Damaged(format!("\"{kind}\" is not a scope")))?;
            found.push((row.get(0)?, ScopeKey::new(kind, id), row.get(3)?, row.get(4)?));
        }
        Ok(found)
    }

    /// Publishes the import in one transaction. Must do no more per request than insert one row, because other writers
    /// wait meanwhile.
    pub(super) fn publish(&self, names: &[(&'static str, Arc<str>)]) -> Result<(), ImportError> {
        let tables = [
            self.table("session", self.staged.origin_end.session)?,
            self.table("request", self.staged.origin_end.request)?,
        ];
        let forks = self.forks()?;
        // Ids of requests were checked and reserved with their row numbers.
        let names: Vec<_> = names.iter().filter(|(what, _)| *what == "session").cloned().collect();
        let (import, new) = (self.import.clone(), self.maps.new.clone());
        let (last, totals) = (self.range.1, self.staged.totals);
        self.work.write(move |connection, _| {
            ensure_not_undone(connection, &import)?;
            bundle::refuse_known(connection, &names)?;
            for (insert, rows) in tables {
                let mut insert = connection.prepare(&insert)?;
                for row in rows {
                    insert.execute(params_from_iter(&row))?;
                }
            }
            for scope in &new {
                scope.publish(connection, last)?;
            }
            connection.execute(
                "UPDATE total SET indexed_events = indexed_events + ?1, items = items + ?2,
                 payload_bytes = payload_bytes + ?3, unique_payload_bytes = unique_payload_bytes + ?4",
                (totals.events, totals.items, totals.payload_bytes, totals.unique_bytes),
            )?;
            connection.execute("DELETE FROM removal WHERE import = ?1", (&*import,))?;
            let mut is_there = connection.prepare("SELECT 1 FROM request WHERE id = ?1")?;
            for (fork, from) in forks {
                if !is_there.exists((&from,))? {
                    let what = format!("\"{fork}\" is a fork of \"{from}\", which was deleted meanwhile");
                    return Err(ImportError::Unfit(Unfit::new(what)));
                }
            }
            Ok(())
        })
    }

    /// The ids of the bundle's forks, and of the requests that they were forked from.
    pub(super) fn forks(&self) -> Result<Vec<(String, String)>, Error> {
        let sql = "SELECT id, forked_from FROM request WHERE n > ?1 AND forked_from IS NOT NULL";
        let mut statement = self.staged.connection.prepare(sql)?;
        let rows = statement.query_map((self.staged.origin_end.request,), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

impl NewScope {
    fn publish(&self, connection: &Connection, last: i64) -> Result<(), Error> {
        let Some(known) = states::find(connection, &self.key)? else {
            connection
                .prepare_cached("INSERT INTO scope (n, kind, id, version, last) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute((self.n, self.key.kind.as_str(), &*self.key.id, self.version, self.last))?;
            return Ok(());
        };
        // Another request created the scope after the range was reserved; before that it was empty here.
        for table in ["change", "keyframe", "attempt_rollback"] {
            connection.execute(&format!("UPDATE {table} SET scope = ?2 WHERE scope = ?1"), (self.n, known))?;
        }
        let nothing = Body { text: "{}".to_owned(), payloads: Vec::new() };
        insert_keyframe(connection, (known, last), 0, 2, &nothing)?;
        connection.execute("UPDATE scope SET last = max(last, ?2) WHERE n = ?1", (known, last))?;
        Ok(())
    }
}
