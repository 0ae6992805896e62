//! The first pass over a request, which may take long: who follows it, and how it is cancelled.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::core::sync::lock;
use crate::run::batch::Cancel;
use crate::run::replay::Watch;

/// How far the first pass over a request has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassProgress {
    /// How many events of the request have been run again.
    pub done: u64,
    /// How many it has.
    pub events: u64,
}

/// Gets the progress of a pass, and nothing when it has ended.
pub(super) type Follower = Arc<dyn Fn(Option<PassProgress>) + Send + Sync>;

/// Who follows the first pass over a request, and what cancels it.
#[derive(Default)]
pub(crate) struct Following {
    follower: Mutex<Option<Follower>>,
    /// Those that run now.
    running: Mutex<Vec<Cancel>>,
    /// Whether a question runs only the blocks that it is about.
    is_alone: AtomicBool,
}

impl Following {
    /// Whether a question runs only the blocks that it is about, and not its whole request.
    pub(super) fn is_alone(&self) -> bool {
        self.is_alone.load(Ordering::Relaxed)
    }

    /// Runs a pass over a request of so many events.
    pub(super) fn run<T>(&self, events: u64, pass: impl FnOnce(Watch) -> T) -> (T, Cancel) {
        let cancel = Cancel::default();
        lock(&self.running).push(cancel.clone());
        let follower = lock(&self.follower).clone();
        let progress = follower.clone().map(|follower| -> Arc<dyn Fn(u64) + Send + Sync> {
            Arc::new(move |done| follower(Some(PassProgress { done: done.min(events), events })))
        });
        let found = pass(Watch { cancel: cancel.clone(), progress });
        if let Some(follower) = follower {
            follower(None);
        }
        lock(&self.running).retain(|other| !other.is(&cancel));
        (found, cancel)
    }

    /// Passes the progress of each pass that begins from now on.
    pub(super) fn follow(&self, follower: Follower) {
        *lock(&self.follower) = Some(follower);
    }

    /// Cancels the passes that run now.
    pub(super) fn cancel(&self) {
        lock(&self.running).iter().for_each(Cancel::cancel);
    }

    /// Lets a question run only the blocks that it is about.
    pub(super) fn be_alone(&self) {
        self.is_alone.store(true, Ordering::Relaxed);
    }
}
