//! An async mutex within one request that is fair: waiters get it in the order in which they asked.
//!
//! All futures of a request run on one thread, so a waiter costs one entry in a list.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use futures_channel::oneshot;

/// A fair async mutex without data. A waiter that is dropped is skipped.
#[derive(Default)]
pub struct FifoMutex {
    held: Cell<bool>,
    waiting: RefCell<VecDeque<oneshot::Sender<()>>>,
}

/// Holds a [`FifoMutex`] until dropped.
pub struct FifoMutexGuard<'a>(&'a FifoMutex);

impl FifoMutex {
    /// Returns whether a caller would have to wait.
    pub(crate) fn is_held(&self) -> bool {
        self.held.get()
    }

    /// Waits for the mutex, after all earlier callers.
    pub async fn lock(&self) -> FifoMutexGuard<'_> {
        if self.held.replace(true) {
            let (sender, receiver) = oneshot::channel();
            self.waiting.borrow_mut().push_back(sender);
            let mut waiting = Waiting { mutex: self, receiver: Some(receiver) };
            if let Some(receiver) = &mut waiting.receiver {
                // The sender is only dropped with the queue itself, and then nobody waits any more.
                let _ = receiver.await;
            }
            waiting.receiver = None;
        }
        FifoMutexGuard(self)
    }
}

/// A waiter that may be dropped: if it was given the mutex before it was dropped, the next waiter gets it.
struct Waiting<'a> {
    mutex: &'a FifoMutex,
    receiver: Option<oneshot::Receiver<()>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(Ok(Some(()))) = self.receiver.as_mut().map(oneshot::Receiver::try_recv) {
            drop(FifoMutexGuard(self.mutex));
        }
    }
}

impl Drop for FifoMutexGuard<'_> {
    fn drop(&mut self) {
        loop {
            let next = self.0.waiting.borrow_mut().pop_front();
            let Some(sender) = next else {
                self.0.held.set(false);
                return;
            };
            if sender.send(()).is_ok() {
                return;
            }
        }
    }
}
