//! Imports a bundle: builds its rows in a temporary database, then copies them in slices.
//!
//! In the temporary (staging) database the events are written by the code that writes running requests, so derived
//! rows are the same as where the bundle was made, and an inconsistent bundle is refused before this database is
//! changed. Then a range of event ids is reserved. At its first id a boundary event hides this database's own records,
//! at its last id another one restores them, and the bundle's events are between. The rows are copied while other
//! connections can write. No reader sees them, because the rows of requests, sessions and scopes are inserted in the
//! last transaction, which publishes the import.
//!
//! Until then all of it is in the queue of removals under the import's name. A lock on a file of that name shows that
//! the import's process is alive; if it is not, the copied rows are removed.

mod lists;
mod lock;
mod publish;
mod replace;
mod reserve;
mod rows;
mod spans;
mod staging;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::sql::{Connection, OptionalExtension};
use engine::event::EventKind;
use engine::scope::ScopeKey;

use self::lock::ImportLock;
pub(crate) use self::lock::abandoned_imports;
pub(crate) use self::replace::replace_all;
use self::rows::ensure_not_undone;
pub(crate) use self::rows::is_queued;
use self::staging::StagedBundle;
use crate::read::sessions::LINEAGE;
use crate::row::body::THREAD_STACK_BYTES;
use crate::row::error::{Error, OpenError};
use crate::row::totals;
use crate::transfer::bundle::{self, BundleRecord, ImportError};
use crate::transfer::removal;
use crate::transfer::sliced_work::SlicedWork;
use crate::{Committed, Store, lock};

/// How many rows are read at once from the staging database, and about how many bytes.
const ROWS_AT_ONCE: usize = 2_000;
const BYTES_AT_ONCE: usize = 2 << 20;

/// Imports a bundle: all of it, or nothing. Then calls the listeners.
pub(crate) fn import(store: &Store, bundle: Vec<BundleRecord>) -> Result<(), ImportError> {
    let committed = std::thread::scope(|scope| {
        // The default stack is too small for deeply nested values.
        let builder = std::thread::Builder::new().name("store import".to_owned()).stack_size(THREAD_STACK_BYTES);
        let thread = builder
            .spawn_scoped(scope, || import_bundle(store, bundle))
            .map_err(|error| Error::Open(OpenError::io(store.path(), error)))?;
        thread.join().unwrap_or(Err(Error::Closed.into()))
    })?;
    let listeners = lock(&store.listeners).all();
    for committed in &committed {
        listeners.iter().for_each(|listener| listener(committed));
    }
    Ok(())
}

fn import_bundle(store: &Store, mut bundle: Vec<BundleRecord>) -> Result<Vec<Committed>, ImportError> {
    let code: Vec<BundleRecord> = bundle.extract_if(.., |record| matches!(record, BundleRecord::Code { .. })).collect();
    let work = store.sliced_work()?;
    // An earlier import of the same bundle may have failed and left rows with the same ids.
    removal::run_queue(&work)?;
    let names = bundle::names(&bundle)?;
    // Nothing is prepared for an import that waits for another one.
    work.read(|connection| {
        Ok(bundle::refuse_reserved(connection, &names).and_then(|()| bundle::refuse_known(connection, &names)))
    })??;
    let mut brought = BTreeSet::new();
    for record in &bundle {
        if let BundleRecord::Record { scope, .. } = record {
            brought.insert(scope.clone());
        }
    }
    let origins = work.read(|connection| origins(connection, &bundle))?;
    let origin_records = if origins.is_empty() { Vec::new() } else { store.bundle(&origins)? };
    let staged = StagedBundle::new(origin_records, bundle)?;
    let (import, lock_file) = ImportLock::new(&work)?;
    let mut copy = BundleCopy { work: &work, import, staged: &staged, range: (0, 0), maps: Maps::default() };
    let result = copy.run(&brought, &names, code);
    drop(lock_file);
    if result.is_err() {
        // After an error the rest stays in the queue.
        let _ = removal::run_queue(&work);
    }
    result.map(|()| staged.committed)
}

/// The requests in this database that forks in the bundle were forked from, with the earlier requests of their
/// sessions. The staging database needs them to write the forks.
fn origins(connection: &Connection, bundle: &[BundleRecord]) -> Result<Vec<String>, Error> {
    let mut brought: HashSet<&str> = HashSet::new();
    let mut waiting: Vec<String> = Vec::new();
    for record in bundle {
        let BundleRecord::Event { request, event } = record else { continue };
        brought.insert(request);
        if let EventKind::RequestStarted { forked_from: Some(from), .. } = &event.kind {
            waiting.push(from.request_id.clone());
        }
    }
    let mut found: Vec<String> = Vec::new();
    let mut shown = connection.prepare_cached(&format!(
        "{LINEAGE} SELECT r.id, r.forked_from FROM lineage l JOIN request r ON r.session = l.session AND r.n < l.before"
    ))?;
    while let Some(origin) = waiting.pop() {
        if brought.contains(&*origin) || found.contains(&origin) {
            continue;
        }
        let session: Option<String> = connection
            .prepare_cached("SELECT s.id FROM request r JOIN session s ON s.n = r.session WHERE r.id = ?1")?
            .query_row((&origin,), |row| row.get(0))
            .optional()?;
        // If it does not exist, writing the fork fails and reports it.
        let Some(session) = session else { continue };
        found.push(origin);
        let mut rows = shown.query((session,))?;
        while let Some(row) = rows.next()? {
            let (id, from): (String, Option<String>) = (row.get(0)?, row.get(1)?);
            if !brought.contains(&*id) && !found.contains(&id) {
                found.push(id);
                waiting.extend(from);
            }
        }
    }
    Ok(found)
}

/// Row numbers: those in the staging database to those in this one.
#[derive(Default)]
struct Maps {
    requests: HashMap<i64, i64>,
    sessions: HashMap<i64, i64>,
    scopes: HashMap<i64, i64>,
    /// Durable scopes that this database does not have, with the row numbers reserved for them.
    new: Vec<NewScope>,
}

#[derive(Clone)]
struct NewScope {
    n: i64,
    key: ScopeKey,
    version: i64,
    last: i64,
}

struct BundleCopy<'a> {
    work: &'a SlicedWork,
    import: Arc<str>,
    staged: &'a StagedBundle,
    /// The ids of the two boundary events.
    range: (i64, i64),
    maps: Maps,
}

impl BundleCopy<'_> {
    fn run(
        &mut self,
        brought: &BTreeSet<ScopeKey>,
        names: &[(&'static str, Arc<str>)],
        code: Vec<BundleRecord>,
    ) -> Result<(), ImportError> {
        self.reserve()?;
        self.copy_code(code)?;
        self.snapshot_local_records(brought)?;
        self.map_scopes()?;
        self.copy_request_scopes()?;
        self.copy_events()?;
        self.copy_plain_rows()?;
        // After the changes that lead to them.
        self.copy_keyframes()?;
        self.publish(names)
    }

    /// The id that an event of the staging database gets here.
    fn event_id(&self, id: i64) -> i64 {
        id - self.staged.origin_end.event + self.range.0
    }

    /// Calls `copy` for each row, in as many slices as necessary. It returns how many bytes it added to `payload`.
    fn copy_rows<T: Send + 'static>(
        &self,
        rows: Vec<T>,
        copy: impl Fn(&Connection, T) -> Result<usize, Error> + Clone + Send + 'static,
    ) -> Result<(), Error> {
        let mut left = rows.into_iter();
        while left.len() > 0 {
            let (import, copy) = (self.import.clone(), copy.clone());
            left = self.work.write(move |connection, slice| {
                ensure_not_undone(connection, &import)?;
                let mut new_bytes = 0;
                for row in left.by_ref() {
                    new_bytes += copy(connection, row)?;
                    if slice.is_over() {
                        break;
                    }
                }
                totals::add_payload_bytes(connection, new_bytes as i64)?;
                Ok::<_, Error>(left)
            })?;
        }
        Ok(())
    }

    fn request_row(&self, n: i64) -> Result<i64, Error> {
        self.maps.requests.get(&n).copied().ok_or_else(|| Error::Damaged(format!("there is no request {n}")))
    }

    fn scope_row(&self, n: i64) -> Result<i64, Error> {
        self.maps.scopes.get(&n).copied().ok_or_else(|| Error::Damaged(format!("there is no scope {n}")))
    }
}
