//! Runs many jobs on several threads, hands out each result when it is ready, and can be cancelled at any instant.
//!
//! Three things hold jobs back: how many run at once, how much those weigh together, and a budget that is stated
//! before. Must not know what a job does, nor what the budget is of. It keeps no results, so its memory does not grow
//! with the number of jobs.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::catalogue::STACK;
use crate::core::fault::Fault;
use crate::core::sync::lock;

/// Cancels a batch: the jobs that run are finished, and no other one is begun.
#[derive(Clone, Debug, Default)]
pub struct Cancel {
    own: Arc<AtomicBool>,
    /// What this is a part of.
    whole: Option<Arc<AtomicBool>>,
}

impl Cancel {
    /// Cancels the batch.
    pub fn cancel(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Whether it cancels the same batch as another one.
    pub(crate) fn is(&self, other: &Cancel) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether the batch was cancelled.
    pub fn is_cancelled(&self) -> bool {
        let is_set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        is_set(&self.own) || self.whole.as_deref().is_some_and(is_set)
    }

    /// Cancels one batch of several: it is cancelled with the whole, and the whole is not cancelled with it.
    pub fn part(&self) -> Cancel {
        Cancel { own: Arc::default(), whole: Some(self.own.clone()) }
    }
}

/// The number of processor cores: how many jobs run at once by default.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// How often a worker that waits looks whether the batch was cancelled.
const LOOK: Duration = Duration::from_millis(50);

/// What holds the jobs of a batch back.
pub(crate) struct Bounds<'b, J> {
    /// How many run at once.
    pub(crate) workers: usize,
    /// What a job weighs, such as the bytes that it reads.
    pub(crate) weight: &'b (dyn Fn(&J) -> u64 + Sync),
    /// How much the jobs that run at once may weigh together. A heavier one runs alone.
    pub(crate) most_weight: u64,
    /// Whether the budget has room for a job, which is asked just before it would begin. A job that it has no room for
    /// is not begun, and has no result. What a job spends while it runs is for the job itself to hold to the budget, as
    /// [`crate::models::call_meter`] does for model calls.
    pub(crate) has_room: &'b (dyn Fn(&J) -> bool + Sync),
}

impl<'b, J: 'b> Bounds<'b, J> {
    /// So many jobs at once, which weigh nothing and spend nothing.
    pub(crate) fn workers(workers: usize) -> Self {
        Bounds { workers, weight: &|_| 0, most_weight: 0, has_room: &|_| true }
    }
}

/// The jobs that are left, and what those that run weigh.
struct Queue<'b, J> {
    jobs: &'b [J],
    bounds: &'b Bounds<'b, J>,
    cancel: &'b Cancel,
    /// The next job, and the weight of those that run.
    state: Mutex<(usize, u64)>,
    ended: Condvar,
}

impl<'b, J> Queue<'b, J> {
    /// The number of the next job, the job and its weight, as soon as it may begin.
    fn next(&self) -> Option<(usize, &'b J, u64)> {
        let Bounds { weight, most_weight, has_room, .. } = self.bounds;
        let mut state = lock(&self.state);
        loop {
            let number = state.0;
            let job = self.jobs.get(number).filter(|_| !self.cancel.is_cancelled())?;
            if !has_room(job) {
                state.0 += 1;
                continue;
            }
            let weight = weight(job).min(*most_weight);
            if state.1 + weight <= *most_weight {
                *state = (number + 1, state.1 + weight);
                return Some((number, job, weight));
            }
            let waited = self.ended.wait_timeout(state, LOOK);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    }

    fn end(&self, weight: u64) {
        lock(&self.state).1 -= weight;
        self.ended.notify_all();
    }
}

/// Runs the jobs in their order, as `bounds` lets them. Calls `take` on this thread with the number and the result of
/// each job when it has ended. A job that was not begun when the batch was cancelled has no result. Fails if no thread
/// can be started.
pub(crate) fn batch<J: Sync, R: Send>(
    jobs: &[J],
    bounds: &Bounds<'_, J>,
    cancel: &Cancel,
    work: impl Fn(&J) -> R + Sync,
    mut take: impl FnMut(usize, R),
) -> Result<(), Fault> {
    let workers = bounds.workers.clamp(1, jobs.len().max(1));
    let queue = Queue { jobs, bounds, cancel, state: Mutex::new((0, 0)), ended: Condvar::new() };
    // A worker waits if `take` is slower than the jobs.
    let (sender, results) = sync_channel(workers);
    let sender = Mutex::new(Some(sender));
    std::thread::scope(|scope| {
        let mut begun = 0;
        for _ in 0..workers {
            let Some(sender) = lock(&sender).clone() else { break };
            let (queue, work) = (&queue, &work);
            let go = move || {
                while let Some((number, job, weight)) = queue.next() {
                    let result = work(job);
                    queue.end(weight);
                    // Sending fails if `take` has panicked.
                    if sender.send((number, result)).is_err() {
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
            &Bounds::workers(workers),
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

    #[test]
    fn a_part_is_cancelled_alone_or_with_the_whole() {
        let whole = Cancel::default();
        let (one, other) = (whole.part(), whole.part());
        one.cancel();
        assert_eq!((one.is_cancelled(), other.is_cancelled(), whole.is_cancelled()), (true, false, false));
        whole.cancel();
        assert!(other.is_cancelled() && whole.part().is_cancelled());
    }

    #[test]
    fn jobs_that_run_at_once_weigh_no_more_than_is_allowed() {
        let jobs: Vec<u64> = vec![3, 4, 90, 5, 5, 1, 7, 10, 2, 2, 2, 2];
        let (weighed, heaviest) = (std::sync::atomic::AtomicU64::new(0), std::sync::atomic::AtomicU64::new(0));
        let bounds = Bounds { weight: &|job| *job, most_weight: 10, ..Bounds::workers(4) };
        let mut taken = Vec::new();
        let work = |job: &u64| {
            let now = weighed.fetch_add((*job).min(10), Ordering::SeqCst) + (*job).min(10);
            heaviest.fetch_max(now, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            weighed.fetch_sub((*job).min(10), Ordering::SeqCst);
        };
        batch(&jobs, &bounds, &Cancel::default(), work, |number, ()| taken.push(number)).unwrap();
        taken.sort_unstable();
        assert_eq!(taken, (0..jobs.len()).collect::<Vec<_>>());
        assert!(heaviest.load(Ordering::SeqCst) <= 10);
    }

    #[test]
    fn a_job_without_room_in_the_budget_is_not_begun() {
        let left = std::sync::atomic::AtomicU64::new(3);
        let bounds = Bounds { has_room: &|_| left.load(Ordering::SeqCst) > 0, ..Bounds::workers(1) };
        let mut taken = Vec::new();
        let work = |_: &u64| {
            left.fetch_sub(1, Ordering::SeqCst);
        };
        batch(&[0_u64; 9], &bounds, &Cancel::default(), work, |number, ()| taken.push(number)).unwrap();
        assert_eq!(taken, [0, 1, 2]);
    }
}
