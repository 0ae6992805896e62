//! A parcel's arrival: put together in a database that nobody sees, then copied in pieces.
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

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blake3::Hash;
use engine::event::EventKind;
use engine::scope::{ScopeKey, ScopeKind};
use rusqlite::types::Value as Column;
use rusqlite::{Connection, OptionalExtension, params, params_from_iter};

use self::built::Built;
use crate::read::sessions::LINEAGE;
use crate::read::states;
use crate::row::body::{self, Body};
use crate::row::error::{Error, OpenError};
use crate::row::measure;
use crate::row::payload::{self, Packed};
use crate::row::totals;
use crate::transfer::bundle::{self, ImportError, Piece};
use crate::transfer::pieces::Pieces;
use crate::transfer::removal;
use crate::write::code;
use crate::write::import_marks;
use crate::write::removal_queue;
use crate::write::writer::STACK;
use crate::{Committed, Store, lock};

/// How many rows are read at once to be copied, and about how many bytes.
const ROWS: usize = 2_000;
const MUCH: usize = 2 << 20;

/// Takes a parcel in: all of it, or nothing.
pub(crate) fn import(store: &Store, parcel: Vec<Piece>) -> Result<(), ImportError> {
    let news = std::thread::scope(|scope| {
        // Values may be nested deeper than a usual thread's stack.
        let thread = std::thread::Builder::new().name("store import".to_owned()).stack_size(STACK);
        let arriving = thread
            .spawn_scoped(scope, || arrive(store, parcel))
            .map_err(|error| Error::Open(OpenError::io(&store.path, error)))?;
        arriving.join().unwrap_or(Err(Error::Closed.into()))
    })?;
    let listeners = lock(&store.listeners).all();
    for committed in &news {
        listeners.iter().for_each(|listener| listener(committed));
    }
    Ok(())
}

fn arrive(store: &Store, mut parcel: Vec<Piece>) -> Result<Vec<Committed>, ImportError> {
    let code: Vec<Piece> = parcel.extract_if(.., |piece| matches!(piece, Piece::Code { .. })).collect();
    let pieces = store.pieces()?;
    // An earlier try may have left the same rows behind.
    removal::work(&pieces)?;
    let names = bundle::names(&parcel)?;
    pieces.read(|connection| Ok(bundle::refuse_known(connection, &names)))??;
    let mut brought = BTreeSet::new();
    for piece in &parcel {
        if let Piece::Record { scope, .. } = piece {
            brought.insert(scope.clone());
        }
    }
    let origins = pieces.read(|connection| origins(connection, &parcel))?;
    let seeds = if origins.is_empty() { Vec::new() } else { store.parcel(&origins)? };
    let built = Built::new(seeds, parcel)?;
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

/// Requests that forks in a parcel come from and that are here already, with those that their sessions had before.
fn origins(connection: &Connection, parcel: &[Piece]) -> Result<Vec<String>, Error> {
    let mut brought: HashSet<&str> = HashSet::new();
    let mut waiting: Vec<String> = Vec::new();
    for piece in parcel {
        let Piece::Event { request, event } = piece else { continue };
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

/// The lock that tells that an import is under way.
struct Guard {
    path: PathBuf,
    _locked: File,
}

impl Guard {
    /// Takes a lock, and answers the name of the import.
    fn new(database: &Path, pieces: &Pieces) -> Result<(Arc<str>, Guard), Error> {
        let sql = "SELECT lower(hex(randomblob(8)))";
        let import: String = pieces.read(|connection| Ok(connection.query_row(sql, (), |row| row.get(0))?))?;
        let path = lock_path(database, &import);
        let locked = || -> std::io::Result<File> {
            let file = OpenOptions::new().create_new(true).write(true).open(&path)?;
            file.lock()?;
            Ok(file)
        };
        let locked = locked().map_err(|error| OpenError::io(&path, error))?;
        Ok((import.into(), Guard { path, _locked: locked }))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // One that is left behind is removed with what it stood for.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Beside the real file, by whatever path it was opened.
fn lock_path(database: &Path, import: &str) -> PathBuf {
    let mut name = std::fs::canonicalize(database).unwrap_or_else(|_| database.to_owned()).into_os_string();
    name.push(format!(".import-{import}"));
    name.into()
}

/// Imports in the queue whose process is gone, and their ranges.
pub(crate) fn dead(pieces: &Pieces) -> Result<Vec<(String, i64, i64)>, Error> {
    let mut imports = pieces.read(|connection| {
        let mut statement = connection.prepare_cached("SELECT import, n, last FROM removal WHERE kind = 'range'")?;
        let rows = statement.query_map((), |row| Ok((row.get::<_, String>(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<Result<Vec<_>, _>>()?)
    })?;
    imports.retain(|(import, ..)| {
        // No other name was ever given.
        if !import.bytes().all(|letter| letter.is_ascii_hexdigit()) {
            return true;
        }
        let path = lock_path(pieces.path(), import);
        match File::open(&path).map(|file| file.try_lock_shared()) {
            Ok(Ok(())) => {
                let _ = std::fs::remove_file(&path);
                true
            }
            Ok(Err(TryLockError::WouldBlock | TryLockError::Error(_))) => false,
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    });
    Ok(imports)
}

/// What the numbers of the one database are in the other.
#[derive(Default)]
struct Maps {
    requests: HashMap<i64, i64>,
    sessions: HashMap<i64, i64>,
    scopes: HashMap<i64, i64>,
    /// Scopes that come with the parcel, by the number that is kept for them.
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

/// An event on its way.
struct Line {
    id: i64,
    /// None of a mark.
    request: Option<i64>,
    seq: i64,
    at: i64,
    kind: String,
    path: Option<Arc<str>>,
    attempt: i64,
    body: String,
    payloads: Vec<Packed>,
}

/// A keyframe on its way.
struct Kept {
    scope: i64,
    event: i64,
    version: i64,
    bytes: i64,
    body: String,
    tombstone: bool,
    payloads: Vec<Packed>,
}

impl Copy<'_> {
    fn all(
        &mut self,
        brought: &BTreeSet<ScopeKey>,
        names: &[(&'static str, Arc<str>)],
        code: Vec<Piece>,
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

    /// Takes the numbers that nobody else gets from now on.
    fn reserve(&mut self) -> Result<(), ImportError> {
        let rows = |sql: &str, after: i64| -> Result<Vec<(i64, String)>, Error> {
            let mut statement = self.built.connection.prepare(sql)?;
            let rows = statement.query_map((after,), |row| Ok((row.get(0)?, row.get(1)?)))?;
            Ok(rows.collect::<Result<_, _>>()?)
        };
        let requests = rows("SELECT n, id FROM request WHERE n > ?1 ORDER BY n", self.built.seed.request)?;
        let sessions = rows("SELECT n, id FROM session WHERE n > ?1 ORDER BY n", self.built.seed.session)?;
        let (import, count) = (self.import.clone(), self.built.last - self.built.seed.event);
        self.range = self.pieces.write(move |connection, _| {
            let sql = "SELECT max(id_floor, coalesce((SELECT max(id) FROM event), 0)) + 1 FROM total";
            let first: i64 = connection.query_row(sql, (), |row| row.get(0))?;
            let last = first + count + 1;
            connection.execute("UPDATE total SET id_floor = ?1", (last,))?;
            connection.execute(
                "INSERT INTO removal (kind, n, import, last) VALUES ('range', ?1, ?2, ?3)",
                (first, &*import, last),
            )?;
            import_marks::marks(connection, first, last)?;
            Ok::<_, Error>((first, last))
        })?;
        self.maps.requests = self.keep_numbers("request", requests)?;
        self.maps.sessions = self.keep_numbers("session", sessions)?;
        Ok(())
    }

    /// Keeps a number for each row of a table, a few in every transaction. Answers them by the rows' own.
    fn keep_numbers(&self, table: &'static str, rows: Vec<(i64, String)>) -> Result<HashMap<i64, i64>, ImportError> {
        let (mut left, mut kept) = (rows.into_iter(), HashMap::new());
        while left.len() > 0 {
            let import = self.import.clone();
            let slice = self.pieces.write(move |connection, slice| {
                need(connection, &import)?;
                let mut kept = Vec::new();
                for (n, id) in left.by_ref() {
                    if table == "request" {
                        let sql = "SELECT count(*) FROM removal WHERE kind = 'request' AND name = ?1 AND import <> ''";
                        if connection.query_row(sql, (&id,), |row| row.get::<_, i64>(0))? > 0 {
                            return Err(ImportError::Exists { what: "request", id });
                        }
                        // From here on nobody begins one of that name.
                        bundle::refuse_known(connection, &[("request", id.as_str().into())])?;
                        removal_queue::make_room(connection, &id)?;
                    }
                    kept.push((n, keep_number(connection, table, &import, Some(&id))?));
                    if slice.is_over() {
                        break;
                    }
                }
                Ok((left, kept))
            })?;
            left = slice.0;
            kept.extend(slice.1);
        }
        Ok(kept)
    }

    /// Keeps the code that requests ran. Where the import fails, no event names it, and it goes with the next
    /// compaction.
    fn code(&self, pieces: Vec<Piece>) -> Result<(), Error> {
        let mut rows = Vec::new();
        for piece in pieces {
            if let Piece::Code { hash, code } = piece {
                rows.push((hash, body::of_state(code)?));
            }
        }
        self.slices(rows, |connection, (hash, body)| code::keep(connection, &hash, &body).map(|()| 0))
    }

    /// Puts what this database has of its own in force again after the last event of the parcel, and hides before
    /// its first what is not brought: that is not there in the other one's past.
    fn put_back_others(&mut self, brought: &BTreeSet<ScopeKey>) -> Result<(), Error> {
        let mut touched = brought.clone();
        for (_, key, ..) in self.durable()? {
            touched.insert(key);
        }
        let own = self.pieces.read(|connection| bundle::own_records(connection, &touched))?;
        let (first, last) = self.range;
        for chunk in own.chunks(64) {
            let rows = self.pieces.read(|connection| {
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
            self.slices(rows, move |connection, (n, is_hidden, version, bytes, body)| {
                connection
                    .prepare_cached("INSERT INTO removal (kind, n, import) VALUES ('imported_scope', ?1, ?2)")?
                    .execute((n, &*import))?;
                let kept = keyframe(connection, (n, last), version, bytes, &body)?;
                if is_hidden {
                    let nothing = Body { text: "{}".to_owned(), payloads: Vec::new() };
                    keyframe(connection, (n, first), 0, 2, &nothing)?;
                }
                let sql = "UPDATE scope SET last = max(last, ?2) WHERE n = ?1";
                connection.prepare_cached(sql)?.execute((n, last))?;
                Ok(kept)
            })?;
        }
        Ok(())
    }

    /// The records that outlive requests and that the parcel says anything of: number, key, version, newest event.
    fn durable(&self) -> Result<Vec<(i64, ScopeKey, i64, i64)>, Error> {
        let mut statement = self.built.connection.prepare(
            "SELECT n, kind, id, version, last FROM scope s WHERE request IS NULL
             AND (EXISTS (SELECT 1 FROM change c WHERE c.scope = s.n AND c.event > ?1)
                 OR EXISTS (SELECT 1 FROM keyframe k WHERE k.scope = s.n AND k.event > ?1)) ORDER BY n",
        )?;
        let mut rows = statement.query((self.built.seed.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (kind, id): (String, String) = (row.get(1)?, row.get(2)?);
            let kind = ScopeKind::parse(&kind).ok_or_else(|| Error::Damaged(format!("\"{kind}\" is not a scope")))?;
            found.push((row.get(0)?, ScopeKey::new(kind, id), row.get(3)?, row.get(4)?));
        }
        Ok(found)
    }

    /// Finds the records that are here, and keeps numbers for those that are not.
    fn keep_scopes(&mut self) -> Result<(), Error> {
        let durable = self.durable()?;
        let import = self.import.clone();
        let found = self.pieces.write(move |connection, _| {
            need(connection, &import)?;
            let mut is_brought = connection
                .prepare_cached("SELECT 1 FROM removal WHERE kind = 'imported_scope' AND n = ?1 AND import = ?2")?;
            let mut found = Vec::new();
            for (old, key, version, last) in durable {
                let known = match states::find(connection, &key)? {
                    Some(n) if is_brought.exists((n, &*import))? => Some(n),
                    // Somebody made it meanwhile: the two become one when the parcel comes into force.
                    _ => None,
                };
                let n = match known {
                    Some(n) => n,
                    None => keep_number(connection, "scope", &import, None)?,
                };
                found.push((old, n, known.is_none().then_some((key, version, last))));
            }
            Ok::<_, Error>(found)
        })?;
        for (old, n, new) in found {
            self.maps.scopes.insert(old, n);
            if let Some((key, version, last)) = new {
                self.maps.new.push(NewScope { n, key, version, last: self.event(last) });
            }
        }
        Ok(())
    }

    /// The scopes that live in one request.
    fn own_scopes(&mut self) -> Result<(), Error> {
        let mut statement = self.built.connection.prepare(
            "SELECT n, kind, id, request, version, last FROM scope WHERE request > ?1 AND n > ?2 ORDER BY n LIMIT ?3",
        )?;
        let mut after = 0;
        loop {
            let mut rows = statement.query((self.built.seed.request, after, ROWS))?;
            let mut scopes = Vec::new();
            while let Some(row) = rows.next()? {
                after = row.get(0)?;
                let (kind, id): (String, String) = (row.get(1)?, row.get(2)?);
                let last: i64 = row.get(5)?;
                let last = if last == 0 { 0 } else { self.event(last) };
                scopes.push((after, kind, id, self.request(row.get(3)?)?, row.get::<_, i64>(4)?, last));
            }
            drop(rows);
            if scopes.is_empty() {
                return Ok(());
            }
            let mut left = scopes;
            while !left.is_empty() {
                let import = self.import.clone();
                let (made, rest) = self.pieces.write(move |connection, slice| {
                    need(connection, &import)?;
                    let mut made = Vec::new();
                    let mut scopes = left.into_iter();
                    for (old, kind, id, request, version, last) in scopes.by_ref() {
                        connection
                            .prepare_cached(
                                "INSERT INTO scope (n, kind, id, request, version, last)
                                 VALUES (max(coalesce((SELECT max(n) FROM scope), 0),
                                     coalesce((SELECT max(n) FROM removal WHERE kind = 'scope'), 0)) + 1,
                                     ?1, ?2, ?3, ?4, ?5)",
                            )?
                            .execute((kind, id, request, version, last))?;
                        made.push((old, connection.last_insert_rowid()));
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

    fn request(&self, n: i64) -> Result<i64, Error> {
        self.maps.requests.get(&n).copied().ok_or_else(|| Error::Damaged(format!("there is no request {n}")))
    }

    fn scope(&self, n: i64) -> Result<i64, Error> {
        self.maps.scopes.get(&n).copied().ok_or_else(|| Error::Damaged(format!("there is no scope {n}")))
    }

    fn events(&self) -> Result<(), Error> {
        let connection = &self.built.connection;
        let mut statement = connection.prepare(
            "SELECT e.id, e.request, e.seq, e.at, e.kind, p.text, e.attempt, e.body FROM event e
             LEFT JOIN path p ON p.n = e.path WHERE e.id > ?1 ORDER BY e.id LIMIT ?2",
        )?;
        let (mut after, mut sent) = (self.built.seed.event, HashSet::new());
        loop {
            let mut rows = statement.query((after, ROWS))?;
            let (mut lines, mut bytes) = (Vec::new(), 0);
            while bytes < MUCH
                && let Some(row) = rows.next()?
            {
                after = row.get(0)?;
                let body: String = row.get(7)?;
                let payloads = named(connection, &body, &mut sent)?;
                bytes += body.len() + payloads.iter().map(Packed::len).sum::<usize>();
                let request = match row.get(1)? {
                    0 => None,
                    n => Some(self.request(n)?),
                };
                lines.push(Line {
                    id: self.event(after),
                    request,
                    seq: row.get(2)?,
                    at: row.get(3)?,
                    kind: row.get(4)?,
                    path: row.get(5)?,
                    attempt: row.get(6)?,
                    body,
                    payloads,
                });
            }
            drop(rows);
            if lines.is_empty() {
                return Ok(());
            }
            self.slices(lines, event)?;
        }
    }

    fn keyframes(&self) -> Result<(), Error> {
        let connection = &self.built.connection;
        let mut statement = connection.prepare(
            "SELECT scope, event, version, bytes, body, tombstone FROM keyframe
             WHERE (scope, event) > (?1, ?2) AND event > ?3 ORDER BY scope, event LIMIT ?4",
        )?;
        let (mut after, mut sent) = ((0_i64, 0_i64), HashSet::new());
        loop {
            let mut rows = statement.query((after.0, after.1, self.built.seed.event, ROWS))?;
            let (mut keyframes, mut bytes) = (Vec::new(), 0);
            while bytes < MUCH
                && let Some(row) = rows.next()?
            {
                after = (row.get(0)?, row.get(1)?);
                let body: String = row.get(4)?;
                let payloads = named(connection, &body, &mut sent)?;
                bytes += body.len() + payloads.iter().map(Packed::len).sum::<usize>();
                keyframes.push(Kept {
                    scope: self.scope(after.0)?,
                    event: self.event(after.1),
                    version: row.get(2)?,
                    bytes: row.get(3)?,
                    body,
                    tombstone: row.get(5)?,
                    payloads,
                });
            }
            drop(rows);
            if keyframes.is_empty() {
                return Ok(());
            }
            self.slices(keyframes, |connection, kept| {
                let mut bytes = 0;
                for payload in &kept.payloads {
                    bytes += payload::keep_packed(connection, payload)?;
                }
                connection
                    .prepare_cached(
                        "INSERT INTO keyframe (scope, event, version, bytes, body, tombstone)
                         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                    )?
                    .execute((kept.scope, kept.event, kept.version, kept.bytes, kept.body, kept.tombstone))?;
                Ok(bytes)
            })?;
        }
    }

    /// Steps, attempts that came to nothing, filters and the journal: rows of numbers.
    fn plain_rows(&self) -> Result<(), Error> {
        let (connection, seed) = (&self.built.connection, &self.built.seed);
        let mut statement =
            connection.prepare("SELECT scope, event, version, bytes, operations FROM change WHERE event > ?1")?;
        let mut rows = statement.query((seed.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (scope, event) = (self.scope(row.get(0)?)?, self.event(row.get(1)?));
            found.push((scope, event, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get::<_, Option<String>>(4)?));
        }
        self.slices(found, |connection, row| {
            connection
                .prepare_cached(
                    "INSERT INTO change (scope, event, version, bytes, operations) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute(row)?;
            Ok(0)
        })?;
        let mut statement = connection.prepare(
            "SELECT a.scope, a.event, p.text, a.attempt, a.first FROM attempt_rollback a JOIN path p ON p.n = a.path
             WHERE a.event > ?1",
        )?;
        let mut rows = statement.query((seed.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let (scope, event, path) = (self.scope(row.get(0)?)?, self.event(row.get(1)?), row.get::<_, String>(2)?);
            found.push((scope, event, path, row.get::<_, i64>(3)?, self.event(row.get(4)?)));
        }
        self.slices(found, |connection, (scope, event, path, attempt, first)| {
            let path = number_of(connection, &path)?;
            connection
                .prepare_cached(
                    "INSERT INTO attempt_rollback (scope, event, path, attempt, first) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?
                .execute((scope, event, path, attempt, first))?;
            Ok(0)
        })?;
        let mut statement = connection.prepare("SELECT session, event FROM journal WHERE event > ?1")?;
        let mut rows = statement.query((seed.event,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let session = self.maps.sessions.get(&row.get(0)?).copied().unwrap_or_default();
            found.push((session, self.event(row.get(1)?)));
        }
        self.slices(found, |connection, row| {
            connection.prepare_cached("INSERT INTO journal (session, event) VALUES (?1, ?2)")?.execute(row)?;
            Ok(0)
        })?;
        let mut statement = connection.prepare(
            "SELECT n, request, first, last, trigrams FROM filter_block
             WHERE request > ?1 AND n > ?2 ORDER BY n LIMIT ?3",
        )?;
        let mut after = 0;
        loop {
            let mut rows = statement.query((seed.request, after, ROWS))?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                after = row.get(0)?;
                let request = self.request(row.get(1)?)?;
                found.push((request, row.get::<_, i64>(2)?, row.get::<_, i64>(3)?, row.get::<_, Vec<u8>>(4)?));
            }
            drop(rows);
            if found.is_empty() {
                return Ok(());
            }
            self.slices(found, |connection, row| {
                connection
                    .prepare_cached(
                        "INSERT INTO filter_block (request, first, last, trigrams) VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(row)?;
                Ok(0)
            })?;
        }
    }

    /// The one transaction in which the parcel is here. It has a row for each request to write, and must do nothing
    /// else for each: others wait meanwhile.
    fn bring_into_force(&self, names: &[(&'static str, Arc<str>)]) -> Result<(), ImportError> {
        let tables = [self.table("session", self.built.seed.session)?, self.table("request", self.built.seed.request)?];
        let forks = self.forks()?;
        // Names of requests are kept with their numbers.
        let names: Vec<_> = names.iter().filter(|(what, _)| *what == "session").cloned().collect();
        let (import, new) = (self.import.clone(), self.maps.new.clone());
        let (last, totals) = (self.range.1, self.built.totals);
        self.pieces.write(move |connection, _| {
            need(connection, &import)?;
            bundle::refuse_known(connection, &names)?;
            for (insert, rows) in tables {
                let mut insert = connection.prepare(&insert)?;
                for row in rows {
                    insert.execute(params_from_iter(row))?;
                }
            }
            for scope in &new {
                scope.bring_into_force(connection, last)?;
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
                    return Err(ImportError::Unfit(what));
                }
            }
            Ok(())
        })
    }

    /// The requests of the parcel that are forks, and what they are forks of.
    fn forks(&self) -> Result<Vec<(String, String)>, Error> {
        let sql = "SELECT id, forked_from FROM request WHERE n > ?1 AND forked_from IS NOT NULL";
        let mut statement = self.built.connection.prepare(sql)?;
        let rows = statement.query_map((self.built.seed.request,), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// The rows of a table of requests or sessions, with the numbers of this database, and what inserts one.
    fn table(&self, table: &str, after: i64) -> Result<(String, Vec<Vec<Column>>), Error> {
        let mut statement = self.built.connection.prepare(&format!("SELECT * FROM {table} WHERE n > ?1 ORDER BY n"))?;
        let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
        let places: Vec<String> = (1..=columns.len()).map(|at| format!("?{at}")).collect();
        let insert = format!("INSERT INTO {table} ({}) VALUES ({})", columns.join(", "), places.join(", "));
        let is_session = table == "session";
        let mut rows = statement.query((after,))?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let mut values = Vec::with_capacity(columns.len());
            for (at, column) in columns.iter().enumerate() {
                let value: Column = row.get(at)?;
                let numbers = match column.as_str() {
                    "n" if is_session => &self.maps.sessions,
                    "n" | "last_request" => &self.maps.requests,
                    "session" => &self.maps.sessions,
                    _ => {
                        values.push(value);
                        continue;
                    }
                };
                let value = match value {
                    Column::Integer(n) => numbers.get(&n).map_or(Column::Null, |n| Column::Integer(*n)),
                    other => other,
                };
                values.push(value);
            }
            found.push(values);
        }
        Ok((insert, found))
    }
}

impl NewScope {
    fn bring_into_force(&self, connection: &Connection, last: i64) -> Result<(), Error> {
        let Some(known) = states::find(connection, &self.key)? else {
            connection
                .prepare_cached("INSERT INTO scope (n, kind, id, version, last) VALUES (?1, ?2, ?3, ?4, ?5)")?
                .execute((self.n, self.key.kind.as_str(), &*self.key.id, self.version, self.last))?;
            return Ok(());
        };
        // It was made here since the range was reserved, and began with nothing.
        for table in ["change", "keyframe", "attempt_rollback"] {
            connection.execute(&format!("UPDATE {table} SET scope = ?2 WHERE scope = ?1"), (self.n, known))?;
        }
        let nothing = Body { text: "{}".to_owned(), payloads: Vec::new() };
        keyframe(connection, (known, last), 0, 2, &nothing)?;
        connection.execute("UPDATE scope SET last = max(last, ?2) WHERE n = ?1", (known, last))?;
        Ok(())
    }
}

/// An import whose rows others took for left behind must not go on.
fn need(connection: &Connection, import: &str) -> Result<(), Error> {
    let mut range = connection.prepare_cached("SELECT 1 FROM removal WHERE kind = 'range' AND import = ?1")?;
    if range.exists((import,))? {
        return Ok(());
    }
    Err(Error::Damaged("the import was taken for dead by another process, and undone".to_owned()))
}

/// Keeps the next number of a table for an import.
fn keep_number(connection: &Connection, table: &str, import: &str, name: Option<&str>) -> Result<i64, Error> {
    let sql = format!(
        "INSERT INTO removal (kind, n, import, name) VALUES (?1, max(coalesce((SELECT max(n) FROM {table}), 0),
             coalesce((SELECT max(n) FROM removal WHERE kind = ?1), 0)) + 1, ?2, ?3) RETURNING n"
    );
    Ok(connection.prepare_cached(&sql)?.query_row((table, import, name), |row| row.get(0))?)
}

/// The payloads that a line names, and those that these name, unless they were sent before.
fn named(connection: &Connection, line: &str, sent: &mut HashSet<Hash>) -> Result<Vec<Packed>, Error> {
    let mut found = Vec::new();
    let mut waiting = body::names(line)?;
    while let Some(name) = waiting.pop() {
        let hash = Hash::from_hex(&name).map_err(|_| Error::Damaged(format!("\"{name}\" names no payload")))?;
        if sent.insert(hash) {
            waiting.extend(body::names(&payload::load(connection, &name)?)?);
            found.push(payload::packed(connection, hash)?);
        }
    }
    Ok(found)
}

fn event(connection: &Connection, line: Line) -> Result<usize, Error> {
    let Some(request) = line.request else {
        import_marks::mark(connection, line.id)?;
        return Ok(0);
    };
    let mut bytes = 0;
    for payload in &line.payloads {
        bytes += payload::keep_packed(connection, payload)?;
    }
    let path = line.path.as_deref().map(|path| number_of(connection, path)).transpose()?;
    let sum = body::sum(&line.body);
    connection
        .prepare_cached(
            "INSERT INTO event (id, request, seq, at, kind, path, attempt, body, sum)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![line.id, request, line.seq, line.at, line.kind, path, line.attempt, line.body, sum])?;
    Ok(bytes)
}

fn keyframe(
    connection: &Connection,
    (scope, event): (i64, i64),
    version: u64,
    bytes: usize,
    body: &Body,
) -> Result<usize, Error> {
    let mut kept = 0;
    for payload in &body.payloads {
        kept += payload::keep(connection, payload)?;
    }
    connection
        .prepare_cached("INSERT INTO keyframe (scope, event, version, bytes, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
        .execute((scope, event, version, bytes, &body.text))?;
    Ok(kept)
}

/// The number of a path.
fn number_of(connection: &Connection, path: &str) -> Result<i64, Error> {
    let known: Option<i64> = connection
        .prepare_cached("SELECT n FROM path WHERE text = ?1")?
        .query_row((path,), |row| row.get(0))
        .optional()?;
    match known {
        Some(n) => Ok(n),
        None => {
            connection.prepare_cached("INSERT INTO path (text) VALUES (?1)")?.execute((path,))?;
            Ok(connection.last_insert_rowid())
        }
    }
}
