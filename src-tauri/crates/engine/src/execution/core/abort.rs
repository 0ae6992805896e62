//! Cancellation of a running request, and of what waits inside it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_channel::oneshot;

/// A cancellation token: once set it stays set, and every waiter is woken. After it no block starts, and futures that
/// are selected against [`wait`](Self::wait) are dropped. Clones share one state.
#[derive(Clone, Default)]
pub struct Abort(Rc<AbortState>);

#[derive(Default)]
struct AbortState {
    set: Cell<bool>,
    waiting: RefCell<Vec<oneshot::Sender<()>>>,
}

impl Abort {
    /// Sets the token and wakes all waiters.
    pub fn set(&self) {
        self.0.set.set(true);
        for waiter in self.0.waiting.take() {
            // A waiter that is gone has finished by itself.
            let _ = waiter.send(());
        }
    }

    /// Returns whether the token is set.
    pub fn is_set(&self) -> bool {
        self.0.set.get()
    }

    /// Completes when the token is set.
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
