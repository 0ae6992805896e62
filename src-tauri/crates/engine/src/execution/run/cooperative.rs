//! Cooperative scheduling: a block yields to its executor before each step boundary.
//!
//! A log may complete an append at once. Without a yield a chain would run to its end before concurrent blocks start,
//! and timers and aborts of the same thread would not be polled. The yield comes before the boundary, not after it, so
//! that nothing else runs between a commit and what follows from it.

use std::task::Poll;

use crate::execution::run::Run;

impl Run {
    /// Yields once, if blocks of this request run concurrently, else at most once a millisecond.
    pub(crate) async fn yield_now(&self) {
        let now = self.recorder.newest_at();
        if self.paused.replace(now) != now || self.has_concurrent_blocks.get() {
            pause().await;
        }
    }
}

/// Returns `Pending` once, with an immediate wake-up.
async fn pause() {
    let mut has_paused = false;
    std::future::poll_fn(|cx| {
        if has_paused {
            return Poll::Ready(());
        }
        has_paused = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
