//! Beginning a request: it may wait for long, because another process keeps the database locked.
//!
//! A call is answered in time all the same. What was to begin begins as soon as it can, unless its client has cancelled
//! the call: then it is aborted.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant as Clock;

use runner::Answered;

use super::{LOOK, WAIT};
use crate::arguments::Refused;
use crate::door::{Door, STACK};

/// Between the thread that begins a request and the call that waits for it.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    began: Option<Result<Answered, Refused>>,
    has_left: bool,
    is_cancelled: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Begins a request on a thread of its own, and waits for that, but not for long. `None` if it has not begun.
pub(super) fn begin(
    door: &Door,
    since: Clock,
    start: impl FnOnce(&Door) -> Result<Answered, Refused> + Send + 'static,
) -> Result<Option<Answered>, Refused> {
    let (shared, own) = (Arc::new(Shared::default()), door.clone());
    let ours = shared.clone();
    let thread = std::thread::Builder::new().name("begins a request".to_owned()).stack_size(STACK).spawn(move || {
        let began = start(&own);
        let mut state = ours.state();
        match (&began, state.has_left && state.is_cancelled) {
            (Ok(Answered::Resumed(running)), true) => {
                // One that has ended needs no abort.
                let _ = own.workspace.abort(&running.request_id);
            }
            _ => state.began = Some(began),
        }
        ours.changed.notify_all();
    });
    thread.map_err(|error| Refused(format!("no thread can be had: {error}")))?;
    let mut state = shared.state();
    loop {
        if let Some(began) = state.began.take() {
            return began.map(Some);
        }
        state.is_cancelled = (door.is_cancelled)();
        if state.is_cancelled || since.elapsed() >= WAIT {
            state.has_left = true;
            return if state.is_cancelled { Err(Refused("cancelled before it began".to_owned())) } else { Ok(None) };
        }
        state = shared.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner).0;
    }
}
