//! The one way to stop a request from outside.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;

/// Tells a running request to stop. Nothing starts after it; what waits is given up.
#[derive(Clone, Default)]
pub struct Abort(Rc<AbortState>);

#[derive(Default)]
struct AbortState {
    set: Cell<bool>,
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
}

impl Abort {
    /// Stops the request.
    pub fn set(&self) {
        self.0.set.set(true);
        for waiter in self.0.waiting.take() {
            // A waiter that is gone has finished by itself.
            let _ = waiter.send(());
        }
    }

    /// Whether it was stopped.
    pub fn is_set(&self) -> bool {
        self.0.set.get()
    }

    /// Completes when it is stopped.
    pub async fn wait(&self) {
        if self.is_set() {
            return;
        }
        let (sender, receiver) = oneshot::channel();
        self.0.waiting.borrow_mut().push(sender);
        if receiver.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
