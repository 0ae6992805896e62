//! A mutex whose holder panicked is still good here: what it guards is whole between two statements.

use std::sync::{Mutex, MutexGuard};

/// Takes a mutex.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
