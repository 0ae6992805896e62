//! A bundle's import: put together in a database that nobody sees, then copied in pieces.
//!
//! In the database of its own the events are written by the same rules as those of a running request, so rows,
//! states and counts come out as where they were made, and what does not fit is refused before anything is
//! written here. Then a range of event numbers is reserved: a mark at its first that hides what others' records
//! say, what is brought, and a mark at its last that puts back what was in force. All of that is copied while
//! others write; nobody finds it, because rows of requests, sessions and scopes come in the last transaction.
//!
//! Until then the queue of removals has it all under the import's name. A lock on a file of that name tells
//! that the import is under way; once it is gone, what was copied is removed.

mod built;
mod force;
mod lock;
mod reserve;
mod rows;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use engine::event::EventKind;
use engine::scope::ScopeKey;
use rusqlite::{Connection, OptionalExtension};

use self::built::Built;
use self::lock::Guard;
pub(crate) use self::lock::dead;
use self::rows::need;
use crate::read::sessions::LINEAGE;
use crate::row::error::{Error, OpenError};
use crate::row::totals;
use crate::transfer::bundle::{self, BundleRecord, ImportError};
use crate::transfer::pieces::Pieces;
use crate::transfer::removal;
use crate::write::writer::THREAD_STACK_BYTES;
use crate::{Committed, Store, lock};

/// How many rows are read at once to be copied, and about how many bytes.
const ROWS_AT_ONCE: usize = 2_000;
const BYTES_AT_ONCE: usize = 2 << 20;

/// Takes a bundle in: all of it, or nothing.
pub(crate) fn import(store: &Store, bundle: Vec<BundleRecord>) -> Result<(), ImportError> {
    let news = std::thread::scope(|scope| {
        // Values may be nested deeper than a usual thread's stack.
        let thread = std::thread::Builder::new().name("store import".to_owned()).stack_size(THREAD_STACK_BYTES);
        let arriving = thread
            .spawn_scoped(scope, || arrive(store, bundle))
            .map_err(|error| Error::Open(OpenError::io(&store.path, error)))?;
        arriving.join().unwrap_or(Err(Error::Closed.into()))
    })?;
    let listeners = lock(&store.listeners).all();
    for committed in &news {
        listeners.iter().for_each(|listener| listener(committed));
    }
    Ok(())
}

fn arrive(store: &Store, mut bundle: Vec<BundleRecord>) -> Result<Vec<Committed>, ImportError> {
    let code: Vec<BundleRecord> = bundle.extract_if(.., |piece| matches!(piece, BundleRecord::Code { .. })).collect();
    let pieces = store.pieces()?;
    // An earlier try may have left the same rows behind.
    removal::work(&pieces)?;
    let names = bundle::names(&bundle)?;
    pieces.read(|connection| Ok(bundle::refuse_known(connection, &names)))??;
    let mut brought = BTreeSet::new();
    for piece in &bundle {
        if let BundleRecord::Record { scope, .. } = piece {
            brought.insert(scope.clone());
        }
    }
    let origins = pieces.read(|connection| origins(connection, &bundle))?;
    let seeds = if origins.is_empty() { Vec::new() } else { store.bundle(&origins)? };
    let built = Built::new(seeds, bundle)?;
    let (import, guard) = Guard::new(&store.path, &pieces)?;
    let mut copy = Copy { pieces: &pieces, import, built: &built, range: (0, 0), maps: Maps::default() };
    let result = copy.all(&brought, &names, code);
    drop(guard);
    if result.is_err() {
        // What cannot be removed now waits for the next who looks.
        let _ = removal::work(&pieces);
    }
    result.map(|()| built.news)
}

/// Requests that forks in a bundle come from and that are here already, with those that their sessions had before.
fn origins(connection: &Connection, bundle: &[BundleRecord]) -> Result<Vec<String>, Error> {
    let mut brought: HashSet<&str> = HashSet::new();
    let mut waiting: Vec<String> = Vec::new();
    for piece in bundle {
        let BundleRecord::Event { request, event } = piece else { continue };
        brought.insert(request);
        if let EventKind::RequestStarted { forked_from: Some(from), .. } = &event.kind {
            waiting.push(from.request_id.clone());
        }
    }
    let mut found: Vec<String> = Vec::new();
    let mut line = connection.prepare_cached(&format!(
        "{LINEAGE} SELECT r.id, r.forked_from FROM line l JOIN request r ON r.session = l.session AND r.n < l.before"
    ))?;
    while let Some(origin) = waiting.pop() {
        if brought.contains(&*origin) || found.contains(&origin) {
            continue;
        }
        let session: Option<String> = connection
            .prepare_cached("SELECT s.id FROM request r JOIN session s ON s.n = r.session WHERE r.id = ?1")?
            .query_row((&origin,), |row| row.get(0))
            .optional()?;
        // One that is nowhere is told where the fork is written.
        let Some(session) = session else { continue };
        found.push(origin);
        let mut rows = line.query((session,))?;
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

/// What the numbers of the one database are in the other.
#[derive(Default)]
struct Maps {
    requests: HashMap<i64, i64>,
    sessions: HashMap<i64, i64>,
    scopes: HashMap<i64, i64>,
    /// Scopes that come with the bundle, by the number that is kept for them.
    new: Vec<NewScope>,
}

#[derive(Clone)]
struct NewScope {
    n: i64,
    key: ScopeKey,
    version: i64,
    last: i64,
}

struct Copy<'a> {
    pieces: &'a Pieces,
    import: Arc<str>,
    built: &'a Built,
    /// The marks around the events.
    range: (i64, i64),
    maps: Maps,
}

impl Copy<'_> {
    fn all(
        &mut self,
        brought: &BTreeSet<ScopeKey>,
        names: &[(&'static str, Arc<str>)],
        code: Vec<BundleRecord>,
    ) -> Result<(), ImportError> {
        self.reserve()?;
        self.code(code)?;
        self.put_back_others(brought)?;
        self.keep_scopes()?;
        self.own_scopes()?;
        self.events()?;
        self.plain_rows()?;
        // After the steps that lead to them.
        self.keyframes()?;
        self.bring_into_force(names)
    }

    /// Where an event comes to lie: after the first mark.
    fn event(&self, id: i64) -> i64 {
        id - self.built.seed.event + self.range.0
    }

    /// Copies rows as time allows, a few in every transaction.
    fn slices<T: Send + 'static>(
        &self,
        rows: Vec<T>,
        copy: impl Fn(&Connection, T) -> Result<usize, Error> + Clone + Send + 'static,
    ) -> Result<(), Error> {
        let mut left = rows.into_iter();
        while left.len() > 0 {
            let (import, copy) = (self.import.clone(), copy.clone());
            left = self.pieces.write(move |connection, slice| {
                need(connection, &import)?;
                let mut kept = 0;
                for row in left.by_ref() {
                    kept += copy(connection, row)?;
                    if slice.is_over() {
                        break;
                    }
                }
                totals::store(connection, kept as i64)?;
                Ok::<_, Error>(left)
            })?;
        }
        Ok(())
    }

    fn request(&self, n: i64) -> Result<i64, Error> {
        self.maps.requests.get(&n).copied().ok_or_else(|| Error::Damaged(format!("there is no request {n}")))
    }

    fn scope(&self, n: i64) -> Result<i64, Error> {
        self.maps.scopes.get(&n).copied().ok_or_else(|| Error::Damaged(format!("there is no scope {n}")))
    }
}
