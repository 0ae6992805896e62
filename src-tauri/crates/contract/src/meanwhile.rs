//! Reads a log repeatedly while another thread writes to it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets its flag when dropped, so that the reader also ends if a write panics.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs `write`, while another thread calls `look` repeatedly, for the last time after `write` has ended.
pub(crate) fn read_meanwhile(look: impl Fn() + Send + Sync, write: impl FnOnce()) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let reader = threads.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                look();
            }
            look();
        });
        let over = Over(&is_over);
        write();
        drop(over);
        reader.join().unwrap();
    });
}
