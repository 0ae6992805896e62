//! Block ends are reported in the order of their events.
//!
//! A block end that commits shared records is reported after the log's commit, any other as soon as it is in the log's
//! queue. Without an order, a block that ended later could win a race, while a resume or a replay, which follow the
//! log, would choose another winner. Must not know what waits for an end.

use std::cell::RefCell;
use std::collections::BTreeMap;

use futures_channel::oneshot;

use crate::model::event::Seq;

/// The pending commits of block ends, each with its waiters.
#[derive(Default)]
pub(crate) struct PendingEnds(RefCell<BTreeMap<Seq, Vec<oneshot::Sender<()>>>>);

/// A block end whose commit is pending until this is dropped.
pub(crate) struct PendingEnd<'e> {
    all: &'e PendingEnds,
    seq: Seq,
}

impl PendingEnds {
    /// Notes that the log has been asked to commit a block end.
    pub(crate) fn add(&self, seq: Seq) -> PendingEnd<'_> {
        self.0.borrow_mut().insert(seq, Vec::new());
        PendingEnd { all: self, seq }
    }

    /// Waits until no block end before this event is pending. Costs nothing if none is.
    pub(crate) async fn wait_before(&self, seq: Seq) {
        loop {
            let receiver = {
                let mut pending = self.0.borrow_mut();
                let Some((_, waiting)) = pending.range_mut(..seq).next_back() else { return };
                let (sender, receiver) = oneshot::channel();
                waiting.push(sender);
                receiver
            };
            // An error is expected: the sender is dropped when the end is no longer pending.
            let _ = receiver.await;
        }
    }
}

impl Drop for PendingEnd<'_> {
    fn drop(&mut self) {
        self.all.0.borrow_mut().remove(&self.seq);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn an_end_waits_only_for_earlier_ends() {
        let ends = PendingEnds::default();
        let (first, second, third) = (ends.add(3), ends.add(5), ends.add(9));
        let mut waiting = Box::pin(ends.wait_before(7));
        assert!((&mut waiting).now_or_never().is_none());
        drop(second);
        assert!((&mut waiting).now_or_never().is_none());
        drop(first);
        assert!((&mut waiting).now_or_never().is_some());
        assert!(Box::pin(ends.wait_before(3)).now_or_never().is_some());
        drop(third);
    }
}
