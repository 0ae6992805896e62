//! Runs many jobs on several threads, hands out each result when it is ready, and can be cancelled at any instant.
//!
//! Must not know what a job does. It keeps no results, so its memory does not grow with the number of jobs.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use crate::catalogue::STACK;
use crate::core::fault::Fault;
use crate::core::sync::lock;

/// Cancels a batch: the jobs that run are finished, and no other one is begun.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Cancels the batch.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the batch was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The number of processor cores: how many jobs run at once by default.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Runs the jobs in their order, `workers` at once. Calls `take` on this thread with the number and the result of
/// each job when it has ended. A job that was not begun when the batch was cancelled has no result. Fails if no thread
/// can be started.
pub(crate) fn batch<J: Sync, R: Send>(
    jobs: &[J],
    workers: usize,
    cancel: &Cancel,
    work: impl Fn(&J) -> R + Sync,
    mut take: impl FnMut(usize, R),
) -> Result<(), Fault> {
    let workers = workers.clamp(1, jobs.len().max(1));
    let next = AtomicUsize::new(0);
    // A worker waits if `take` is slower than the jobs.
    let (sender, results) = sync_channel(workers);
    let sender = Mutex::new(Some(sender));
    std::thread::scope(|scope| {
        let mut begun = 0;
        for _ in 0..workers {
            let Some(sender) = lock(&sender).clone() else { break };
            let (next, work) = (&next, &work);
            let go = move || {
                while !cancel.is_cancelled() {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(number) else { break };
                    // Sending fails if `take` has panicked.
                    if sender.send((number, work(job))).is_err() {
                        break;
                    }
                }
            };
            let spawned = std::thread::Builder::new().name("batch".to_owned()).stack_size(STACK);
            match spawned.spawn_scoped(scope, go) {
                Ok(_) => begun += 1,
                // The threads that were started run all jobs.
                Err(_) if begun > 0 => break,
                Err(error) => return Err(Fault::internal(format!("no thread can be started: {error}"))),
            }
        }
        drop(lock(&sender).take());
        for (number, result) in results {
            take(number, result);
        }
        Ok(())
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn done(count: usize, workers: usize, cancel_after: usize) -> Vec<usize> {
        let (cancel, mut taken) = (Cancel::default(), Vec::new());
        let jobs: Vec<usize> = (0..count).collect();
        batch(
            &jobs,
            workers,
            &cancel,
            |job| job * 2,
            |number, result| {
                assert_eq!(result, number * 2);
                taken.push(number);
                if taken.len() == cancel_after {
                    cancel.cancel();
                }
            },
        )
        .unwrap();
        taken.sort_unstable();
        taken
    }

    #[test]
    fn every_job_is_done_once_whatever_the_number_of_workers() {
        for (count, workers) in [(0, 4), (1, 4), (7, 1), (100, 3), (3, 100), (5, 0)] {
            assert_eq!(done(count, workers, usize::MAX), (0..count).collect::<Vec<_>>(), "{count} by {workers}");
        }
    }

    #[test]
    fn a_cancelled_batch_ends_and_gives_what_it_has() {
        let taken = done(10_000, 2, 10);
        // What ran, and what waited to be taken, is given, too.
        assert!((10..=16).contains(&taken.len()), "{}", taken.len());
    }
}
