//! A process that resumes requests whose process is dead, and suspended ones whose time is over.
//!
//! Each is claimed by the log itself, which takes the first append of a new owner and refuses every other one, so that
//! several workers may look at the same database. Must not begin requests.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use engine::event::{Event, EventKind, RequestStatus};
use store::{EventQuery, Liveness, RequestQuery, RequestRow, Samples};

use super::expiry::Deadlines;
use super::{Mock, Resolution, Workspace};
use crate::core::fault::Fault;
use crate::run::Ended;
use crate::run::batch::Cancel;

/// How often is looked for work.
const LOOK: Duration = Duration::from_millis(250);

/// How often is looked for requests that have waited too long, whose logs must be read.
const LOOK_FOR_LATE: Duration = Duration::from_secs(1);
/// When a request is tried again that could not go on.
const TRY_AGAIN: Duration = Duration::from_secs(30);

/// How often in a row a request is resumed that ends its process before anything finishes that a resume keeps. One that
/// always does so would end worker after worker.
const MAX_RESUMES: usize = 10;

/// What a worker tells of a request.
#[derive(Debug)]
pub enum WorkerNews {
    /// It goes on here.
    Begun {
        /// The request.
        request: String,
    },
    /// It ended here, or waits again.
    Ended {
        /// The request.
        request: String,
        /// How.
        ended: Result<Ended, Fault>,
    },
    /// The database does not answer; it is asked again.
    Waits {
        /// Why.
        why: Fault,
    },
    /// It cannot be resumed. It is tried again when something is written to it, or after 30 seconds.
    Left {
        /// The request.
        request: String,
        /// Why.
        why: Fault,
    },
}

/// How a worker works.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// How many requests go on at the same time; at least one.
    pub concurrency: usize,
    /// Whether to end when there is nothing left to do.
    pub until_idle: bool,
    /// Ends it: what goes on here is finished first.
    pub stop: Cancel,
}

impl Workspace {
    /// Resumes requests whose process is dead and suspended ones whose time is over, until `options.stop` is cancelled.
    /// Returns how many ended here.
    pub fn work(self: &Arc<Self>, options: &WorkerOptions, mut tell: impl FnMut(WorkerNews)) -> Result<usize, Fault> {
        self.check_writable()?;
        let (sender, ends) = mpsc::channel();
        let mut worker = Worker {
            sender,
            ends,
            running: 0,
            done: 0,
            left: HashMap::new(),
            looked_for_late: None,
            deadlines: Deadlines::default(),
        };
        let mut is_told = false;
        loop {
            let is_stopped = options.stop.is_cancelled();
            let begun = if is_stopped { Ok(0) } else { worker.take_up(self, options, &mut tell) };
            let is_idle = matches!(begun, Ok(0));
            match begun {
                Ok(_) => is_told = false,
                // A worker that stays outlives its server.
                Err(why) if !options.until_idle => {
                    if !std::mem::replace(&mut is_told, true) {
                        tell(WorkerNews::Waits { why });
                    }
                }
                Err(why) if worker.running == 0 => return Err(why),
                Err(_) => {}
            }
            if worker.running == 0 && (is_stopped || options.until_idle && is_idle) {
                return Ok(worker.done);
            }
            worker.wait(&mut tell);
        }
    }

    /// What a worker may go on with, oldest first; with those that have waited too long, if they are looked for.
    fn left_behind(&self, late: Option<&mut Deadlines>) -> Result<Vec<RequestRow>, Fault> {
        let unfinished = RequestQuery {
            status: Some(RequestStatus::Interrupted),
            samples: Samples::Listed,
            ..RequestQuery::default()
        };
        let mut rows = self.store.requests(&unfinished).map_err(Fault::internal)?;
        rows.retain(|row| self.locks.is_ours(&row.owner) && self.locks.liveness(&row.owner) == Liveness::Dead);
        if let Some(known) = late {
            rows.extend(self.late_requests(known)?);
        }
        rows.sort_by_key(|row| row.started_at);
        Ok(rows)
    }

    /// An error if a request was resumed [`MAX_RESUMES`] times, and nothing was added since then that a resume keeps.
    fn check_progress(&self, row: &RequestRow) -> Result<(), Fault> {
        let events = |kind: &str, from, limit| {
            let query = EventQuery { kind: Some(kind.to_owned()), from, limit, ..EventQuery::default() };
            self.store.events(&row.id, &query).map_err(Fault::internal)
        };
        let resumes = events("request_resumed", None, None)?;
        let Some(first) = resumes.len().checked_sub(MAX_RESUMES).and_then(|at| resumes.get(at)) else { return Ok(()) };
        for kind in ["block_finished", "request_status"] {
            if !events(kind, Some(first.seq), Some(1))?.is_empty() {
                return Ok(());
            }
        }
        for kind in ["effect_finished", "callback_returned"] {
            if events(kind, Some(first.seq), None)?.iter().any(is_kept) {
                return Ok(());
            }
        }
        Err(Fault::refused(format!(
            "it was resumed {MAX_RESUMES} times, and its process ended each time before a block, a call of a model or \
             anything else had finished that a resume keeps: find out what ends it, then `flowglass resume {}`",
            row.id
        )))
    }

    /// Whether a request is as a row says: nobody has resumed or ended it since the row was read.
    fn is_as(&self, row: &RequestRow) -> Result<bool, Fault> {
        let now = self.store.request(&row.id).map_err(Fault::internal)?;
        Ok(now.is_some_and(|now| (now.last_seq, now.status, &now.owner) == (row.last_seq, row.status, &row.owner)))
    }
}

/// Whether a resume takes what an event says from the log, and does not make it again: then it is progress, if it was
/// not taken from the log itself.
fn is_kept(event: &Event) -> bool {
    match &event.kind {
        // What takes no time, as the clock, has no begin; it may be in no log when the process dies.
        EventKind::EffectFinished { started: Some(_), error: None, memoized: false, .. } => true,
        EventKind::CallbackReturned { memoized: false, .. } => true,
        _ => false,
    }
}

struct Worker {
    sender: Sender<(String, Result<Ended, Fault>)>,
    ends: Receiver<(String, Result<Ended, Fault>)>,
    running: usize,
    done: usize,
    /// Requests that could not go on, each with its newest event then, and when that was.
    left: HashMap<String, (u64, Instant)>,
    /// When it was looked for late requests.
    looked_for_late: Option<Instant>,
    deadlines: Deadlines,
}

impl Worker {
    /// Begins as many as there is room for; how many.
    fn take_up(
        &mut self,
        workspace: &Arc<Workspace>,
        options: &WorkerOptions,
        tell: &mut impl FnMut(WorkerNews),
    ) -> Result<usize, Fault> {
        let room = options.concurrency.max(1) - self.running.min(options.concurrency.max(1));
        let mut begun = 0;
        if room == 0 {
            return Ok(0);
        }
        // Idle is only who has looked for all of them.
        let with_late =
            options.until_idle || self.looked_for_late.is_none_or(|looked| looked.elapsed() >= LOOK_FOR_LATE);
        let rows = workspace.left_behind(with_late.then_some(&mut self.deadlines))?;
        if with_late {
            self.looked_for_late = Some(Instant::now());
        }
        self.left.retain(|_, (_, since)| since.elapsed() < TRY_AGAIN);
        for row in rows {
            if begun == room || options.stop.is_cancelled() {
                break;
            }
            let is_left = self.left.get(&row.id).is_some_and(|(seq, _)| *seq == row.last_seq);
            if is_left || workspace.runs_here(&row.id) || !workspace.is_as(&row)? {
                continue;
            }
            let resumed = workspace
                .check_progress(&row)
                .and_then(|()| workspace.resume(&row.id, &Mock::Inherit, Resolution::default()));
            match resumed {
                Ok(running) => {
                    tell(WorkerNews::Begun { request: row.id.clone() });
                    let sender = self.sender.clone();
                    std::thread::Builder::new().name("worker".to_owned()).spawn(move || {
                        let request = running.request_id.clone();
                        // Whoever listened has ended.
                        let _ = sender.send((request, running.wait()));
                    })?;
                    begun += 1;
                    self.running += 1;
                }
                Err(why) => {
                    // Another worker was faster, if it is no longer left behind.
                    let now = workspace.store.request(&row.id).map_err(Fault::internal)?;
                    if now.is_some_and(|now| now.last_seq == row.last_seq) {
                        self.left.insert(row.id.clone(), (row.last_seq, Instant::now()));
                        tell(WorkerNews::Left { request: row.id, why });
                    }
                }
            }
        }
        Ok(begun)
    }

    /// Waits for an end, but not longer than until the next look.
    fn wait(&mut self, tell: &mut impl FnMut(WorkerNews)) {
        match self.ends.recv_timeout(LOOK) {
            Ok((request, ended)) => {
                self.running -= 1;
                self.done += 1;
                tell(WorkerNews::Ended { request, ended });
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}
