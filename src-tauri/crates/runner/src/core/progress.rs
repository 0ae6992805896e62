//! Whether a request can go on by itself.
//!
//! Everything a request can wait for is either within its own thread, where one part wakes another, or
//! comes from outside: an effect, or the log's answer. A request that was polled, woke nobody and waits
//! for nothing from outside will never move again. This is exact as long as every wait for the outside
//! is counted; a count too many only leaves a request waiting.
//!
//! Recorded results settle one at a time, each when the request makes no progress by itself (ARCHITECTURE §5.11).

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

/// How many answers from outside are awaited.
#[derive(Clone, Default)]
pub(crate) struct Awaited(Rc<Cell<usize>>);

impl Awaited {
    /// The same future, counted from now until it completes or is dropped.
    pub(crate) fn count<T: 'static>(&self, future: impl Future<Output = T> + 'static) -> LocalBoxFuture<'static, T> {
        let counted = Counted::new(self.clone());
        async move {
            let _counted = counted;
            future.await
        }
        .boxed_local()
    }

    fn is_none(&self) -> bool {
        self.0.get() == 0
    }
}

struct Counted(Awaited);

impl Counted {
    fn new(awaited: Awaited) -> Self {
        awaited.0.set(awaited.0.get() + 1);
        Counted(awaited)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.set(self.0.0.get() - 1);
    }
}

/// Polls a request's work until it ends. Whenever it makes no progress by itself, `settle` may let a recorded result
/// settle. If nothing from outside can make it move either, `unblock` is asked to. Both return whether something moved.
pub(crate) async fn run_to_end<T>(
    mut work: Pin<Box<impl Future<Output = T>>>,
    awaited: Awaited,
    is_committing: impl Fn() -> bool,
    settle: impl Fn() -> bool,
    unblock: impl Fn() -> bool,
) -> T {
    std::future::poll_fn(|cx| {
        loop {
            let (waker, woken) = Noted::waker(cx.waker().clone());
            if let Poll::Ready(ended) = work.poll_unpin(&mut Context::from_waker(&waker)) {
                return Poll::Ready(ended);
            }
            if woken.0.load(Ordering::SeqCst) {
                return Poll::Pending;
            }
            let can_move = || !awaited.is_none() || is_committing();
            if !settle() && (can_move() || !unblock()) {
                return Poll::Pending;
            }
        }
    })
    .await
}

/// A waker that remembers whether it was used, and passes it on.
struct Noted(AtomicBool, Waker);

impl Noted {
    fn waker(outer: Waker) -> (Waker, Arc<Noted>) {
        let noted = Arc::new(Noted(AtomicBool::new(false), outer));
        (noted.clone().into(), noted)
    }
}

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
        self.1.wake_by_ref();
    }
}

#[cfg(test)]
mod tests {
    use futures_channel::oneshot;
    use futures_util::future::join;

    use super::*;

    /// What `run_to_end` makes of work that would wait for ever; how often it had to be unblocked.
    fn unblocked(work: impl Future<Output = ()>, awaited: Awaited, rescue: impl Fn()) -> usize {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let times = Cell::new(0);
        runtime.block_on(run_to_end(
            Box::pin(work),
            awaited,
            || false,
            || false,
            || {
                times.set(times.get() + 1);
                rescue();
                true
            },
        ));
        times.get()
    }

    /// Lets others go first.
    async fn pause() {
        let mut is_first = true;
        std::future::poll_fn(|cx| {
            if std::mem::take(&mut is_first) {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }

    #[test]
    fn parts_that_wait_for_each_other_in_turn_can_move() {
        let (sender, receiver) = oneshot::channel::<()>();
        let work = join(async { receiver.await.expect("it is sent") }, async move {
            pause().await;
            sender.send(()).expect("it is awaited");
        });
        assert_eq!(
            unblocked(
                async {
                    work.await;
                },
                Awaited::default(),
                || ()
            ),
            0
        );
    }

    #[test]
    fn an_awaited_answer_can_move() {
        let awaited = Awaited::default();
        let pause = awaited.count(async {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        });
        assert_eq!(unblocked(pause, awaited, || ()), 0);
    }

    #[test]
    fn what_nothing_can_bring_is_unblocked_once() {
        let (sender, receiver) = oneshot::channel::<()>();
        let sender = Cell::new(Some(sender));
        let rescue = || sender.take().map_or((), |sender| sender.send(()).unwrap_or(()));
        assert_eq!(unblocked(async { receiver.await.unwrap_or(()) }, Awaited::default(), rescue), 1);
    }
}
