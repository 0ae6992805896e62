//! Starts a request. This may take long if another process keeps the database locked.
//!
//! The call is answered in time anyway. The request starts as soon as it can, and is aborted if its client has
//! cancelled the call.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant as Clock;

use runner::Answered;

use super::{LOOK, WAIT};
use crate::arguments::Refused;
use crate::door::{Door, STACK};

/// Shared by the thread that starts a request and the call that waits for it.
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

/// Starts a request on a separate thread, and waits a limited time for it. `None` if it has not begun by then.
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
                // Ignore the error for a request that has ended.
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
