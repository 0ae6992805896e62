//! Decides when the code of an aborted request has run for too long without yielding.
//!
//! A request whose code yields ends before that, with what listens to `ctx.signal`.

use std::cell::Cell;
use std::time::{Duration, Instant};

use engine::abort::Abort;
use tokio::sync::watch;

/// How long it may go on.
const TIME: Duration = Duration::from_millis(500);

/// Says whether the code of a request is over, and then aborts the request.
pub(super) fn code_is_over(aborted: watch::Receiver<bool>, stop: Abort) -> impl Fn() -> bool {
    let since: Cell<Option<Instant>> = Cell::default();
    move || {
        if !*aborted.borrow() {
            return false;
        }
        let first = since.get().unwrap_or_else(Instant::now);
        since.set(Some(first));
        let is_over = first.elapsed() >= TIME;
        if is_over {
            stop.set();
        }
        is_over
    }
}
