//! Recorded order: results from the log settle in the order of its events (ARCHITECTURE §5.11).
//!
//! A result from the log is available at once. Code that runs several blocks together would see such results in the
//! order of its calls, and a race could have another winner than in the recording. So each result waits for its turn:
//! the result of the earliest event settles first, one at a time, and only when the request can make no other progress.
//! Results of the current run come after all recorded ones. Must not depend on what waits.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;

use crate::execution::record::position::Position;
use crate::model::event::Seq;

/// The position of results without an event in the log.
const AFTER_THE_LOG: Position = (i64::MAX, Seq::MAX);

/// The waiting futures by position; futures of one position complete in the order in which they began to wait.
#[derive(Default)]
pub(crate) struct Turns {
    waiting: RefCell<BTreeMap<(Position, u64), oneshot::Sender<()>>>,
    count: Cell<u64>,
}

impl Turns {
    /// Returns a future that completes when a position has its turn.
    pub(crate) fn wait(&self, position: Position) -> LocalBoxFuture<'static, ()> {
        let (sender, receiver) = oneshot::channel();
        self.count.set(self.count.get() + 1);
        self.waiting.borrow_mut().insert((position, self.count.get()), sender);
        // The sender is dropped only together with the request.
        async move {
            if receiver.await.is_err() {
                std::future::pending::<()>().await;
            }
        }
        .boxed_local()
    }

    /// Returns a future that completes after all futures with a position in the log.
    pub(crate) fn wait_behind_log(&self) -> LocalBoxFuture<'static, ()> {
        self.wait(AFTER_THE_LOG)
    }

    /// Completes the first waiting future. Returns whether there was one. Calls `pass` with its position, and with the
    /// positions of dropped futures before it.
    pub(crate) fn next(&self, pass: impl Fn(Position)) -> bool {
        loop {
            let Some(((position, _), waiter)) = self.waiting.borrow_mut().pop_first() else { return false };
            pass(position);
            // A waiter that was dropped is skipped.
            if waiter.send(()).is_ok() {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::join_all;

    use super::*;

    #[test]
    fn the_lowest_position_settles_first_and_one_at_a_time() {
        let turns = Turns::default();
        let order = &RefCell::new(Vec::new());
        let positions = [(0, 7), (0, 3), AFTER_THE_LOG, (0, 5), (0, 5)];
        let waiting = positions.iter().enumerate().map(|(at, position)| {
            let turn = turns.wait(*position);
            async move {
                turn.await;
                order.borrow_mut().push(at);
            }
        });
        let mut all = Box::pin(join_all(waiting));
        for settled in 0..positions.len() {
            assert!((&mut all).now_or_never().is_none());
            assert_eq!(order.borrow().len(), settled);
            assert!(turns.next(|_| {}));
        }
        assert!((&mut all).now_or_never().is_some());
        assert_eq!(order.take(), [1, 3, 4, 0, 2]);
    }

    #[test]
    fn a_dropped_waiter_is_skipped() {
        let turns = Turns::default();
        drop(turns.wait((0, 1)));
        let second = turns.wait((0, 2));
        assert!(turns.next(|_| {}));
        assert!(second.now_or_never().is_some());
        assert!(!turns.next(|_| {}));
    }
}
