//! A lock within one request: who asks first has it first.
//!
//! Everything of a request runs on one thread, so that waiting costs nothing but a place in the list.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use futures_channel::oneshot;

/// Waiters in order of arrival. A waiter that goes away is passed over.
#[derive(Default)]
pub struct Fifo {
    held: Cell<bool>,
    waiting: RefCell<VecDeque<oneshot::Sender<()>>>,
}

/// Holds a [`Fifo`] until dropped.
pub struct Turn<'a>(&'a Fifo);

impl Fifo {
    /// Whether a caller would have to wait.
    pub(crate) fn is_held(&self) -> bool {
        self.held.get()
    }

    /// Waits for this caller's turn.
    pub async fn turn(&self) -> Turn<'_> {
        if self.held.replace(true) {
            let (sender, receiver) = oneshot::channel();
            self.waiting.borrow_mut().push_back(sender);
            let mut waiting = Waiting { fifo: self, receiver: Some(receiver) };
            if let Some(receiver) = &mut waiting.receiver {
                // The sender is only dropped with the queue itself, and then nobody waits any more.
                let _ = receiver.await;
            }
            waiting.receiver = None;
        }
        Turn(self)
    }
}

/// A waiter that may be given up: a turn that reached it too late goes on to the next.
struct Waiting<'a> {
    fifo: &'a Fifo,
    receiver: Option<oneshot::Receiver<()>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(Ok(Some(()))) = self.receiver.as_mut().map(oneshot::Receiver::try_recv) {
            drop(Turn(self.fifo));
        }
    }
}

impl Drop for Turn<'_> {
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
