//! Reads a log again and again while another thread writes to it.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set when dropped, so that the reader ends also if a write fails.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Runs `write`. Meanwhile a thread of its own calls `look` again and again, the last time after the last write.
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
