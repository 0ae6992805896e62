//! The background work of a request, as futures that are polled together with its root block (SEMANTICS §3.5).

use std::cell::{Cell, RefCell};

use futures_channel::{mpsc, oneshot};
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{FutureExt, select_biased};

use crate::model::error::FlowError;

/// The background work of one request.
pub(crate) struct BackgroundPool {
    sender: mpsc::UnboundedSender<LocalBoxFuture<'static, ()>>,
    receiver: RefCell<Option<mpsc::UnboundedReceiver<LocalBoxFuture<'static, ()>>>>,
    /// How many tasks that sequencers started have not ended.
    pub(crate) tasks: Cell<u64>,
}

impl Default for BackgroundPool {
    fn default() -> Self {
        let (sender, receiver) = mpsc::unbounded();
        BackgroundPool { sender, receiver: RefCell::new(Some(receiver)), tasks: Cell::new(0) }
    }
}

impl BackgroundPool {
    /// Adds a task to the pool. The request does not end before it.
    pub(crate) fn spawn(&self, work: LocalBoxFuture<'static, ()>) {
        // The pool lives as long as the request.
        let _ = self.sender.unbounded_send(work);
    }

    /// Runs `work` and all tasks it adds to the pool to their end, and returns the output of `work`. After `work` has
    /// ended, calls `on_remaining` with the number of tasks left, whenever it changes (not for 0 from the start).
    pub(crate) async fn run_with<T>(&self, work: impl Future<Output = T>, on_remaining: impl Fn(&T, u64)) -> T {
        // A nested call: the outer one polls the pool.
        let Some(mut arriving) = self.receiver.borrow_mut().take() else { return work.await };
        let mut running = FuturesUnordered::new();
        let mut work = Box::pin(work.fuse());
        let mut answer = None;
        let mut reported = 0;
        loop {
            select_biased! {
                ended = work => answer = Some(ended),
                task = arriving.select_next_some() => running.push(task),
                () = running.select_next_some() => {}
            }
            if let Some(ended) = answer.take() {
                while let Ok(task) = arriving.try_recv() {
                    running.push(task);
                }
                if reported != self.tasks.get() {
                    reported = self.tasks.get();
                    on_remaining(&ended, reported);
                }
                if running.is_empty() {
                    *self.receiver.borrow_mut() = Some(arriving);
                    return ended;
                }
                answer = Some(ended);
            }
        }
    }
}

/// A task that a sequencer may wait for.
pub(crate) type Task = oneshot::Receiver<Result<(), FlowError>>;
