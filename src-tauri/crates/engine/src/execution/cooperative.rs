//! Before a step boundary the rest of the request has its turn.
//!
//! A log may answer a boundary at once. Without a pause there a chain would run to its end before the
//! blocks beside it begin, and nothing else of its thread would be heard of: no timer, no abort. The pause
//! comes before the boundary, so that nothing comes between what is in the log and what follows from it.

use std::task::Poll;

use crate::execution::request::Run;

impl Run {
    /// Lets others go on: the blocks beside this one always, the rest of the thread once a millisecond.
    pub(crate) async fn yield_now(&self) {
        let now = self.recorder.newest_at();
        if self.paused.replace(now) != now || self.has_concurrent_blocks.get() {
            pause().await;
        }
    }
}

/// Lets everything else that can go on do so first.
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
