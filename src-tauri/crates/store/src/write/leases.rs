//! The jobs that run requests of a database on a server: each has a lease by the server's clock, which its process
//! renews. A job whose lease is over counts as dead, and so does one whose session has ended while the server ran on,
//! if its process does not come back at once. Others leave it wishes and answers there.
//!
//! A thread renews the leases of this process, and finds what others left for its jobs, so that a job asks nobody while
//! it runs. Leases protect nothing by themselves: an append of a job that lost its request is refused by the epoch.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::file::open::{self, Access};
use crate::file::owners::Liveness;
use crate::lock;
use crate::row::error::Error;
use crate::sql::postgres::Session;
use crate::sql::{Connection, DataPlace, OptionalExtension};

/// For how long a lease is given; another process may take a request over that much after its process has died.
const LEASE: &str = "6 seconds";
/// How often leases are renewed, in looks.
const LOOKS_PER_RENEWAL: u32 = 12;
/// How often the thread looks what others left.
const LOOK: Duration = Duration::from_millis(120);

/// A process whose session was cut off has come back after this time: it looks more often.
const COMES_BACK_WITHIN: Duration = Duration::from_millis(600);
/// The jobs of a database on a server.
#[derive(Clone)]
pub struct Leases(Arc<Jobs>);

struct Jobs {
    place: DataPlace,
    /// The session for questions of this process, once there is one.
    session: Mutex<Option<Connection>>,
    /// Whether the jobs of this process are not known yet to be those of the session.
    is_new_session: AtomicBool,
    /// How often the session was connected when it was asked last.
    connections: AtomicU64,
    /// Jobs that were seen to be dead.
    dead: Mutex<HashSet<String>>,
    held: Mutex<Held>,
    wake: Condvar,
}

#[derive(Default)]
struct Held {
    /// The jobs of this process, with what others left for them.
    jobs: HashMap<String, Left>,
    has_thread: bool,
}

/// What others left for a job.
#[derive(Clone, Debug, Default)]
struct Left {
    is_abort_wanted: bool,
    answered: HashSet<String>,
}

impl Leases {
    /// Of a database on a server; `None` of one in a file.
    pub fn of(place: &DataPlace) -> Option<Leases> {
        let jobs = Jobs {
            place: place.clone(),
            session: Mutex::default(),
            is_new_session: AtomicBool::new(false),
            connections: AtomicU64::default(),
            dead: Mutex::default(),
            held: Mutex::default(),
            wake: Condvar::new(),
        };
        place.file().is_none().then(|| Leases(Arc::new(jobs)))
    }

    /// Takes a lease for a job, which is renewed until it is given back.
    pub fn take(&self, job: &str) -> Result<(), Error> {
        self.0.ask(|session| {
            session.execute("DELETE FROM job WHERE until < clock_timestamp() - interval '1 hour'", ())?;
            let sql = format!(
                "INSERT INTO job (name, until, renewed_at, pid, session_start)
                 SELECT ?1, clock_timestamp() + interval '{LEASE}', clock_timestamp(), pid, backend_start
                 FROM pg_stat_activity WHERE pid = pg_backend_pid()"
            );
            session.execute(&sql, (job,))
        })?;
        let mut held = lock(&self.0.held);
        held.jobs.insert(job.to_owned(), Left::default());
        if !std::mem::replace(&mut held.has_thread, true) {
            let jobs = Arc::downgrade(&self.0);
            let thread = std::thread::Builder::new().name("leases".to_owned());
            thread.spawn(move || {
                while let Some(jobs) = jobs.upgrade() {
                    jobs.renew_for_a_while();
                }
            })?;
        }
        self.0.wake.notify_all();
        Ok(())
    }

    /// Whether a job lives.
    pub fn liveness(&self, job: &str) -> Liveness {
        if lock(&self.0.dead).contains(job) {
            return Liveness::Dead;
        }
        let mut seen = self.0.seen(job);
        if let Ok(Seen::WithoutSession) = seen {
            std::thread::sleep(COMES_BACK_WITHIN);
            seen = self.0.seen(job);
        }
        self.0.remember(job, seen)
    }

    /// As [`liveness`](Self::liveness), without a pause: a job whose session has just ended counts as alive. For
    /// whoever holds others up.
    pub fn liveness_now(&self, job: &str) -> Liveness {
        if lock(&self.0.dead).contains(job) {
            return Liveness::Dead;
        }
        match self.0.seen(job) {
            Ok(Seen::WithoutSession) => Liveness::Alive,
            seen => self.0.remember(job, seen),
        }
    }

    /// Gives a lease back.
    pub fn give_back(&self, job: &str) {
        lock(&self.0.held).jobs.remove(job);
        // If the server does not hear of it, the lease ends by itself.
        let _ = self.0.ask(|session| session.execute("DELETE FROM job WHERE name = ?1", (job,)));
    }

    /// Tells a job that it is to be aborted.
    pub fn ask_to_abort(&self, job: &str) -> Result<(), Error> {
        self.0.ask(|session| session.execute("UPDATE job SET is_abort_wanted = true WHERE name = ?1", (job,)))?;
        Ok(())
    }

    /// Whether somebody wants a job of this process aborted.
    pub fn is_abort_wanted(&self, job: &str) -> bool {
        lock(&self.0.held).jobs.get(job).is_some_and(|left| left.is_abort_wanted)
    }

    /// Leaves an answer for a job. Returns false if there is one to this question already.
    pub fn leave_answer(&self, job: &str, question: &str, body: &str) -> Result<bool, Error> {
        let sql = "INSERT INTO answer (job, question, body) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING";
        Ok(self.0.ask(|session| session.execute(sql, (job, question, body)))? > 0)
    }

    /// Takes the answer to a question of a job of this process, if one was left.
    pub fn take_answer(&self, job: &str, question: &str) -> Option<String> {
        let mut held = lock(&self.0.held);
        let left = held.jobs.get_mut(job)?;
        if !left.answered.remove(question) {
            return None;
        }
        drop(held);
        self.withdraw_answer(job, question)
    }

    /// Takes an answer back, if the job did not take it.
    pub fn withdraw_answer(&self, job: &str, question: &str) -> Option<String> {
        let sql = "DELETE FROM answer WHERE job = ?1 AND question = ?2 RETURNING body";
        self.0.ask(|session| session.query_row(sql, (job, question), |row| row.get(0)).optional()).ok().flatten()
    }
}

/// How a job is seen at an instant.
enum Seen {
    Alive,
    /// Its lease runs on, but its session has ended, and not because the server was started again.
    WithoutSession,
    Dead,
}

impl Jobs {
    /// What is answered of a job that was seen so. A job that was seen dead never comes back.
    fn remember(&self, job: &str, seen: Result<Seen, Error>) -> Liveness {
        match seen {
            Ok(Seen::Alive) => Liveness::Alive,
            Ok(Seen::WithoutSession | Seen::Dead) => {
                lock(&self.dead).insert(job.to_owned());
                Liveness::Dead
            }
            Err(_) => Liveness::Unknown,
        }
    }

    fn seen(&self, job: &str) -> Result<Seen, Error> {
        // What another user's session began is not shown to everybody.
        // Leases run on while the server is away, and for as long again once it is there.
        let sql = format!(
            "SELECT until > clock_timestamp() OR renewed_at < pg_postmaster_start_time()
                 AND clock_timestamp() < pg_postmaster_start_time() + interval '{LEASE}',
             renewed_at > pg_postmaster_start_time() AND NOT EXISTS (
                 SELECT 1 FROM pg_stat_activity a
                 WHERE a.pid = j.pid AND coalesce(a.backend_start = j.session_start, true))
             FROM job j WHERE name = ?1"
        );
        let seen = self.ask(|session| {
            session.query_row(&sql, (job,), |row| Ok((row.get::<_, bool>(0)?, row.get::<_, bool>(1)?))).optional()
        })?;
        Ok(match seen {
            Some((true, false)) => Seen::Alive,
            Some((true, true)) => Seen::WithoutSession,
            Some((false, _)) | None => Seen::Dead,
        })
    }

    /// Asks the server, on a session that all threads share.
    fn ask<T>(&self, ask: impl Fn(&Connection) -> crate::sql::Result<T>) -> Result<T, Error> {
        let mut session = lock(&self.session);
        let open = match session.take() {
            Some(open) if !open.is_cut_off() => open,
            _ => {
                self.is_new_session.store(true, Ordering::Relaxed);
                open::reader(&self.place, Access::ReadWrite)?
            }
        };
        let answer = ask(&open);
        let connections = open.server().map_or(0, Session::connections);
        if self.connections.swap(connections, Ordering::Relaxed) != connections {
            self.is_new_session.store(true, Ordering::Relaxed);
        }
        *session = Some(open);
        Ok(answer?)
    }

    /// Looks what others left, and renews the leases. Waits while this process runs nothing.
    fn renew_for_a_while(&self) {
        for look in 0..LOOKS_PER_RENEWAL {
            let held = lock(&self.held);
            let held = if held.jobs.is_empty() {
                let waited = self.wake.wait_timeout(held, Duration::from_secs(1));
                waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0
            } else {
                held
            };
            let jobs: Vec<String> = held.jobs.keys().cloned().collect();
            drop(held);
            if jobs.is_empty() {
                return;
            }
            // A server that is away is asked again at the next look.
            let is_new = self.is_new_session.swap(false, Ordering::Relaxed);
            let found = self.ask(|session| left(session, &jobs, look == 0 || is_new));
            if is_new && found.is_err() {
                self.is_new_session.store(true, Ordering::Relaxed);
            }
            if let Ok(found) = found {
                let mut held = lock(&self.held);
                for (job, left) in found {
                    if let Some(known) = held.jobs.get_mut(&job) {
                        *known = left;
                    }
                }
            }
            std::thread::sleep(LOOK);
        }
    }
}

/// What others left for jobs; renews their leases if that is due.
fn left(session: &Connection, jobs: &[String], is_due: bool) -> crate::sql::Result<HashMap<String, Left>> {
    let names = serde_json::Value::from(jobs).to_string();
    let of_jobs = "IN (SELECT value FROM json_each(?1))";
    if is_due {
        // A machine that slept for long finds its rows deleted.
        let sql = format!(
            "INSERT INTO job (name, until, renewed_at, pid, session_start)
             SELECT value, clock_timestamp() + interval '{LEASE}', clock_timestamp(), pid, backend_start
             FROM json_each(?1), pg_stat_activity WHERE pid = pg_backend_pid()
             ON CONFLICT (name) DO UPDATE SET until = excluded.until, renewed_at = excluded.renewed_at,
                 pid = excluded.pid, session_start = excluded.session_start"
        );
        session.prepare_cached(&sql)?.execute((&names,))?;
    }
    let sql = format!(
        "SELECT j.name, j.is_abort_wanted, a.question FROM job j LEFT JOIN answer a ON a.job = j.name
         WHERE j.name {of_jobs}"
    );
    let mut statement = session.prepare_cached(&sql)?;
    let mut rows = statement.query((&names,))?;
    let mut found: HashMap<String, Left> = HashMap::new();
    while let Some(row) = rows.next()? {
        let left = found.entry(row.get(0)?).or_default();
        left.is_abort_wanted = row.get(1)?;
        left.answered.extend(row.get::<_, Option<String>>(2)?);
    }
    Ok(found)
}
