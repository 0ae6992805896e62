//! A worker resumes requests whose process is dead, and suspended requests whose deadline has passed.
//!
//! Several workers may use one database: the log accepts the first append of a new owner and refuses all others. Must
//! not start new requests.

use std::collections::{HashMap, HashSet};
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

/// How often the worker looks for requests to resume.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// How often it looks for expired suspensions, which requires reading the logs of suspended requests.
const EXPIRY_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long it skips a request that it could not resume.
const RETRY_AFTER: Duration = Duration::from_secs(30);

/// How long the worker waits after the storage failed; each further failure doubles the wait.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The longest wait.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How often a request is resumed without progress. A request that always crashes its process would otherwise end
/// worker after worker.
const MAX_RESUMES: usize = 10;

/// A report of a worker.
#[derive(Debug)]
pub enum WorkerEvent {
    /// A request was resumed here.
    Resumed {
        /// The request.
        request: String,
    },
    /// A request ended here, or was suspended again.
    Ended {
        /// The request.
        request: String,
        /// Its end, or why it was lost.
        ended: Result<Ended, Fault>,
    },
    /// The database does not answer. The worker tries again.
    DatabaseDown {
        /// The error.
        why: Fault,
    },
    /// The storage takes no more of a request, because its disk is full or failed. The worker resumes nothing for a
    /// while, and longer after each such failure. Reported once, until a request ends that could be stored.
    StorageFailed {
        /// The request.
        request: String,
        /// The error.
        why: Fault,
    },
    /// A request cannot be resumed. The worker tries again when the request has a new event, or after 30 seconds.
    Skipped {
        /// The request.
        request: String,
        /// The reason.
        why: Fault,
    },
}

/// The options of a worker.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// How many requests run at the same time; at least one.
    pub concurrency: usize,
    /// Whether to return when no request is left to resume, or when the storage failed.
    pub until_idle: bool,
    /// Stops the worker after the requests that run here have ended.
    pub stop: Cancel,
}

impl Workspace {
    /// Resumes requests whose process is dead and suspended ones whose deadline has passed, until `options.stop` is
    /// cancelled. Returns how many ended here.
    pub fn work(
        self: &Arc<Self>,
        options: &WorkerOptions,
        mut report: impl FnMut(WorkerEvent),
    ) -> Result<usize, Fault> {
        self.check_writable()?;
        let (sender, ends) = mpsc::channel();
        let mut worker = Worker {
            sender,
            ends,
            running: 0,
            done: 0,
            skipped: HashMap::new(),
            failed: HashSet::new(),
            last_expiry_poll: None,
            failure: None,
            pause: Pause::default(),
            deadlines: Deadlines::default(),
        };
        let mut is_reported = false;
        loop {
            let is_stopped = options.stop.is_cancelled();
            let resumed = if is_stopped { Ok(0) } else { worker.resume_requests(self, options, &mut report) };
            if worker.running == 0 && (resumed.is_err() || worker.failure.is_some()) {
                // Files that were removed or replaced do not come back for this process.
                self.check_writable()?;
            }
            if options.until_idle
                && worker.running == 0
                && let Some(why) = worker.failure.take()
            {
                return Err(why);
            }
            let is_idle = matches!(resumed, Ok(0)) && !worker.pause.is_on();
            match resumed {
                Ok(_) => is_reported = false,
                // Without `until_idle` the worker survives a restart of the database server.
                Err(why) if !options.until_idle => {
                    if !std::mem::replace(&mut is_reported, true) {
                        report(WorkerEvent::DatabaseDown { why });
                    }
                }
                Err(why) if worker.running == 0 => return Err(why),
                Err(_) => {}
            }
            if worker.running == 0 && (is_stopped || options.until_idle && is_idle) {
                return Ok(worker.done);
            }
            worker.wait(&mut report);
        }
    }

    /// The requests that a worker may resume, oldest first. With `expiry`, also those whose deadline has passed.
    fn resumable_requests(&self, expiry: Option<&mut Deadlines>) -> Result<Vec<RequestRow>, Fault> {
        let unfinished = RequestQuery {
            status: Some(RequestStatus::Interrupted),
            samples: Samples::Listed,
            ..RequestQuery::default()
        };
        let mut rows = self.store.requests(&unfinished).map_err(Fault::internal)?;
        rows.retain(|row| self.locks.is_ours(&row.owner) && self.locks.liveness(&row.owner) == Liveness::Dead);
        if let Some(known) = expiry {
            rows.extend(self.late_requests(known)?);
        }
        rows.sort_by_key(|row| row.started_at);
        Ok(rows)
    }

    /// Returns an error if the last [`MAX_RESUMES`] resumes of a request recorded no result that a resume reuses.
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
            if events(kind, Some(first.seq), None)?.iter().any(is_reusable) {
                return Ok(());
            }
        }
        Err(Fault::refused(format!(
            "it was resumed {MAX_RESUMES} times, and each time its process ended before a block, a model call or \
             another reusable step had finished: find out what ends the process, then run `flowglass resume {}`",
            row.id
        )))
    }

    /// Whether a request still matches its row, so that no other process has resumed or ended it since.
    fn is_unchanged(&self, row: &RequestRow) -> Result<bool, Fault> {
        let now = self.store.request(&row.id).map_err(Fault::internal)?;
        Ok(now.is_some_and(|now| (now.last_seq, now.status, &now.owner) == (row.last_seq, row.status, &row.owner)))
    }
}

/// Whether an event is a new result that a resume reuses, and not one that was itself reused.
fn is_reusable(event: &Event) -> bool {
    match &event.kind {
        // An immediate effect, such as the clock, has no `effect_started`, and a crash may lose its event.
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
    /// Requests that could not be resumed, each with its newest event at that time and that time.
    skipped: HashMap<String, (u64, Instant)>,
    /// Requests that the storage failed, when they were resumed or later; all others go first.
    failed: HashSet<String>,
    last_expiry_poll: Option<Instant>,
    /// The last failure of the storage, until an end was stored.
    failure: Option<Fault>,
    /// After the storage failed.
    pause: Pause,
    deadlines: Deadlines,
}

/// A wait that grows with each failure of the storage. All requests share it, because they share the disk.
#[derive(Default)]
struct Pause {
    length: Duration,
    until: Option<Instant>,
}

impl Pause {
    fn is_on(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// Begins the next wait, unless one goes on: requests that run at the same time fail together. Returns whether the
    /// storage worked before.
    fn begin(&mut self) -> bool {
        if self.is_on() {
            return false;
        }
        let is_first = self.length.is_zero();
        self.length = (self.length * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE);
        self.until = Some(Instant::now() + self.length);
        is_first
    }
}

/// Why the storage took no more of a request that ended here.
fn storage_failure(ended: &Result<Ended, Fault>) -> Option<Fault> {
    match ended {
        Ok(ended) => {
            let error = ended.error.as_ref().filter(|error| error.is_storage())?;
            (ended.status == RequestStatus::Interrupted).then(|| Fault::Storage { message: error.message.clone() })
        }
        Err(why @ Fault::Storage { .. }) => Some(why.clone()),
        Err(_) => None,
    }
}

/// Whether the storage took the end. A request that another worker took over, or whose thread was lost, shows nothing
/// of the storage.
fn is_end_stored(ended: &Result<Ended, Fault>) -> bool {
    matches!(ended, Ok(ended) if ended.status != RequestStatus::Interrupted)
}

impl Worker {
    /// Resumes requests up to the concurrency limit. Returns how many it resumed.
    fn resume_requests(
        &mut self,
        workspace: &Arc<Workspace>,
        options: &WorkerOptions,
        report: &mut impl FnMut(WorkerEvent),
    ) -> Result<usize, Fault> {
        let room = options.concurrency.max(1) - self.running.min(options.concurrency.max(1));
        let mut count = 0;
        if room == 0 || self.pause.is_on() {
            return Ok(0);
        }
        // With `until_idle` every poll must include expired suspensions, because the worker returns if it finds none.
        let with_expired =
            options.until_idle || self.last_expiry_poll.is_none_or(|poll| poll.elapsed() >= EXPIRY_POLL_INTERVAL);
        let mut rows = workspace.resumable_requests(with_expired.then_some(&mut self.deadlines))?;
        if with_expired {
            self.last_expiry_poll = Some(Instant::now());
        }
        self.skipped.retain(|_, (_, since)| since.elapsed() < RETRY_AFTER);
        if !self.failed.is_empty() {
            let listed: HashSet<&str> = rows.iter().map(|row| row.id.as_str()).collect();
            self.failed.retain(|id| listed.contains(id.as_str()));
            rows.sort_by_key(|row| self.failed.contains(&row.id));
        }
        for row in rows {
            if count == room || options.stop.is_cancelled() {
                break;
            }
            let is_skipped = self.skipped.get(&row.id).is_some_and(|(seq, _)| *seq == row.last_seq);
            if is_skipped || workspace.runs_here(&row.id) || !workspace.is_unchanged(&row)? {
                continue;
            }
            let resumed = workspace
                .check_progress(&row)
                .and_then(|()| workspace.resume(&row.id, &Mock::Inherit, Resolution::default()));
            match resumed {
                Ok(running) => {
                    report(WorkerEvent::Resumed { request: row.id.clone() });
                    let sender = self.sender.clone();
                    std::thread::Builder::new().name("worker".to_owned()).spawn(move || {
                        let request = running.request_id.clone();
                        // Receiver dropped; ignore the send error.
                        let _ = sender.send((request, running.wait()));
                    })?;
                    count += 1;
                    self.running += 1;
                }
                // The next request would most likely fail, too. If only this one is damaged, the next try begins with
                // another.
                Err(why @ Fault::Storage { .. }) => {
                    self.pause_after(row.id, why, report);
                    break;
                }
                Err(why) => {
                    // If the request has new events, another worker was faster; that is no failure.
                    let now = workspace.store.request(&row.id).map_err(Fault::internal)?;
                    if now.is_some_and(|now| now.last_seq == row.last_seq) {
                        self.skipped.insert(row.id.clone(), (row.last_seq, Instant::now()));
                        report(WorkerEvent::Skipped { request: row.id, why });
                    }
                }
            }
        }
        Ok(count)
    }

    /// Waits before anything is resumed again.
    fn pause_after(&mut self, request: String, why: Fault, report: &mut impl FnMut(WorkerEvent)) {
        self.failure = Some(why.clone());
        self.failed.insert(request.clone());
        if self.pause.begin() {
            report(WorkerEvent::StorageFailed { request, why });
        }
    }

    /// Waits until a request ends here, at most one poll interval.
    fn wait(&mut self, report: &mut impl FnMut(WorkerEvent)) {
        match self.ends.recv_timeout(POLL_INTERVAL) {
            Ok((request, ended)) => {
                self.running -= 1;
                self.done += 1;
                match storage_failure(&ended) {
                    Some(why) => self.pause_after(request.clone(), why, report),
                    None if is_end_stored(&ended) => {
                        self.pause = Pause::default();
                        self.failure = None;
                    }
                    None => {}
                }
                report(WorkerEvent::Ended { request, ended });
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::error::FlowError;

    use super::*;

    #[test]
    fn a_pause_grows_with_each_failure_that_follows_another_pause() {
        let mut pause = Pause::default();
        assert!(!pause.is_on());
        assert!(pause.begin());
        let mut lengths = Vec::new();
        for _ in 0..9 {
            lengths.push(pause.length.as_millis());
            pause.until = Some(Instant::now() + Duration::from_secs(3_600));
            assert!(pause.is_on() && !pause.begin(), "while it goes on nothing changes");
            assert_eq!(Some(&pause.length.as_millis()), lengths.last());
            pause.until = None;
            assert!(!pause.begin(), "a later failure is not the first");
        }
        assert_eq!(lengths, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    }

    #[test]
    fn only_a_failure_of_the_storage_pauses() {
        let ended = |status, error: Option<FlowError>| Ok(Ended { status, output: Default::default(), error });
        let full = FlowError::storage("the disk is full");
        assert!(storage_failure(&ended(RequestStatus::Interrupted, Some(full))).is_some());
        let taken = FlowError::taken_over("a worker has it");
        let taken = ended(RequestStatus::Interrupted, Some(taken));
        assert_eq!(storage_failure(&taken), None);
        assert!(!is_end_stored(&taken) && !is_end_stored(&Err(Fault::refused("it has ended"))));
        assert!(is_end_stored(&ended(RequestStatus::Completed, None)));
        assert_eq!(storage_failure(&ended(RequestStatus::Completed, None)), None);
        assert_eq!(storage_failure(&Err(Fault::refused("it has ended"))), None);
    }
}
