//! The threads that carry requests out: a few, each with many requests by turns.
//!
//! A request and its runtime never leave their thread. A thread of its own for each would cost two changes
//! of thread a step where many run, and one request after another would push the others out of the
//! processor's caches. A flow that does not yield holds up those it shares a thread with, so the first
//! requests share none, and nothing new is given to a thread that is held up.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::future::{FutureExt, LocalBoxFuture};
use futures_util::select_biased;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::catalogue::STACK;
use crate::catalogue::fatal_signals::OfFlow;
use crate::core::fault::Fault;
use crate::run::{Work, run};

/// How many threads there are before two requests share one.
const MAX_THREADS: usize = 8;
/// How many there may be when all are held up.
const MOST: usize = 64;
/// A thread whose turn takes longer is held up.
const MAX_TURN: Duration = Duration::from_millis(100);
/// How long a thread waits for another request.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the flow of a request that ended lingers before it is taken apart.
const LATER: Duration = Duration::from_millis(100);
/// How many such a thread keeps: each has the memory of a runtime.
const MAX_ENDED_FLOWS: usize = 8;

/// The threads of a workspace.
pub(crate) struct Pool {
    threads: Mutex<Vec<Thread>>,
    /// What the threads tell times from.
    began: Instant,
}

struct Thread {
    work: UnboundedSender<Work>,
    load: Arc<Load>,
}

/// How much a thread has to do.
#[derive(Default)]
struct Load {
    requests: AtomicUsize,
    /// When its turn began, in milliseconds; 0 while it waits.
    turn: AtomicU64,
}

impl Pool {
    pub(crate) fn new() -> Pool {
        Pool { threads: Mutex::default(), began: Instant::now() }
    }

    /// Gives a request to the thread that has least to do.
    pub(crate) fn give(&self, work: Work) -> Result<(), Fault> {
        let mut threads = crate::core::sync::lock(&self.threads);
        let mut work = work;
        loop {
            let at = self.choose(&mut threads)?;
            let Some(thread) = threads.get(at) else { return Err(Fault::internal("no thread")) };
            thread.load.requests.fetch_add(1, Ordering::SeqCst);
            match thread.work.send(work) {
                Ok(()) => return Ok(()),
                // It has waited long enough and is gone.
                Err(unsent) => work = unsent.0,
            }
            threads.remove(at);
        }
    }

    fn choose(&self, threads: &mut Vec<Thread>) -> Result<usize, Fault> {
        let now = self.now();
        let is_free = |thread: &&(usize, &Thread)| {
            let turn = thread.1.load.turn.load(Ordering::SeqCst);
            turn == 0 || now.saturating_sub(turn) < MAX_TURN.as_millis() as u64
        };
        let has = |thread: &(usize, &Thread)| thread.1.load.requests.load(Ordering::SeqCst);
        let all: Vec<(usize, &Thread)> = threads.iter().enumerate().collect();
        let least = all.iter().filter(is_free).min_by_key(|thread| has(thread));
        let may_grow = match least {
            Some(thread) => has(thread) > 0 && threads.len() < MAX_THREADS,
            None => threads.len() < MOST,
        };
        match least.or_else(|| all.iter().min_by_key(|thread| has(thread))) {
            Some((at, _)) if !may_grow => Ok(*at),
            least => match (self.start(), least.map(|(at, _)| *at)) {
                (Ok(thread), _) => {
                    threads.push(thread);
                    Ok(threads.len() - 1)
                }
                // Where there are no more threads to be had, those that are there will do.
                (Err(_), Some(at)) => Ok(at),
                (Err(fault), None) => Err(fault),
            },
        }
    }

    /// Milliseconds, never 0.
    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64 + 1
    }

    fn start(&self) -> Result<Thread, Fault> {
        let (work, wanted) = unbounded_channel();
        let load = Arc::new(Load::default());
        let (shown, began) = (load.clone(), self.began);
        let runtime = runtime()?;
        std::thread::Builder::new().name("requests".to_owned()).stack_size(STACK).spawn(move || {
            let mut working = pin!(attend(wanted, &shown));
            // Requests that share a thread share no allowance of turns.
            runtime.block_on(tokio::task::unconstrained(std::future::poll_fn(|cx| {
                shown.turn.store(began.elapsed().as_millis() as u64 + 1, Ordering::SeqCst);
                let polled = working.poll_unpin(cx);
                shown.turn.store(0, Ordering::SeqCst);
                polled
            })));
        })?;
        Ok(Thread { work, load })
    }
}

/// Carries out what comes, until nothing has come for long.
async fn attend(mut wanted: UnboundedReceiver<Work>, load: &Load) {
    let mut running = FuturesUnordered::new();
    let mut left = FuturesUnordered::new();
    let mut is_open = true;
    loop {
        if running.is_empty() && left.is_empty() {
            let Some(work) = next(&mut wanted).await else { return };
            running.push(carried(work));
        }
        let come = async { if is_open { wanted.recv().await } else { std::future::pending().await } };
        select_biased! {
            work = Box::pin(come.fuse()) => match work {
                Some(work) => running.push(carried(work)),
                None => is_open = false,
            },
            () = left.select_next_some() => {}
            flow = running.select_next_some() => {
                load.requests.fetch_sub(1, Ordering::SeqCst);
                let kept = flow.filter(|flow| flow.is_some() && left.len() < MAX_ENDED_FLOWS);
                left.extend(kept.map(keep_alive));
            }
        }
    }
}

/// The flow of a request that ended, if it was loaded.
type EndedFlow = OfFlow<Option<script::Loaded>>;

/// Keeps the flow of a request that ended a little longer. To take it apart costs its thread as much as many a
/// request, and more where it holds much: that is put off until what began together has ended together.
async fn keep_alive(_flow: EndedFlow) {
    tokio::time::sleep(LATER).await;
}

/// The next request; none where none came for long, and then none can come any more.
async fn next(wanted: &mut UnboundedReceiver<Work>) -> Option<Work> {
    match tokio::time::timeout(IDLE_TIMEOUT, wanted.recv()).await {
        Ok(work) => work,
        Err(_) => {
            wanted.close();
            // One may have been on its way.
            wanted.recv().await
        }
    }
}

/// A request whose panic, which has been reported, is no other's end. Answers with its flow.
fn carried(work: Work) -> LocalBoxFuture<'static, Option<EndedFlow>> {
    let record = work.job.loaded_flow.end_record.clone();
    let run = AssertUnwindSafe(run(work, None)).catch_unwind().map(|flow| flow.ok().flatten());
    OfFlow::new(record, run.boxed_local()).boxed_local()
}

/// What a thread that carries out requests waits by.
pub(crate) fn runtime() -> std::io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
