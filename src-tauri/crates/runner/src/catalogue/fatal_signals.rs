//! What this process writes when a flow's code ends it: a fault in native code is no error that could be caught.
//!
//! A thread that runs a flow says which one; the handler of a fatal signal writes the text that lies ready for it and
//! lets the signal do what it does. The handler must not allocate, lock, or call what is not safe in a handler.

use std::cell::Cell;
use std::ffi::CString;
use std::os::raw::c_int;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::catalogue::ended::EndRecord;

/// The signals of a fault in the process's own code.
#[cfg(unix)]
pub(crate) const FATAL_SIGNALS: [c_int; 5] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGABRT];
/// There are none.
#[cfg(not(unix))]
pub(crate) const FATAL_SIGNALS: [c_int; 0] = [];

/// The name of a signal of [`FATAL_SIGNALS`].
pub(crate) fn signal_name(signal: c_int) -> &'static str {
    const NAMES: [&str; 5] = ["SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT"];
    FATAL_SIGNALS.iter().zip(NAMES).find(|(known, _)| **known == signal).map_or("unknown", |(_, name)| name)
}

/// What the handler writes, and where: first the whole text into another file, which is then renamed.
#[derive(Debug)]
pub(crate) struct LastWords {
    pub(crate) file: CString,
    pub(crate) unfinished: CString,
    /// In the order of [`FATAL_SIGNALS`].
    pub(crate) texts: [Vec<u8>; FATAL_SIGNALS.len()],
}

thread_local! {
    /// What the flow that this thread runs leaves behind if it ends the process.
    static CURRENT: Cell<*const LastWords> = const { Cell::new(std::ptr::null()) };
}

/// This thread runs a flow for as long as this value lives.
pub(crate) struct FlowOnThread {
    earlier: *const LastWords,
    _record: Arc<EndRecord>,
}

impl FlowOnThread {
    /// Says which flow runs on this thread.
    pub(crate) fn on_this_thread(record: &Arc<EndRecord>) -> FlowOnThread {
        let words = record.words().map_or(std::ptr::null(), std::ptr::from_ref);
        FlowOnThread { earlier: CURRENT.replace(words), _record: record.clone() }
    }
}

impl Drop for FlowOnThread {
    fn drop(&mut self) {
        CURRENT.set(self.earlier);
    }
}

/// Something of a flow, whose code runs only while this is polled or dropped: between, its thread serves others.
pub(crate) struct OfFlow<T> {
    record: Arc<EndRecord>,
    inner: Option<T>,
}

impl<T> OfFlow<T> {
    /// Of the flow with this record.
    pub(crate) fn new(record: Arc<EndRecord>, inner: T) -> OfFlow<T> {
        OfFlow { record, inner: Some(inner) }
    }
}

impl<F: Future + Unpin> Future for OfFlow<F> {
    type Output = Option<OfFlow<F::Output>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let _flow = FlowOnThread::on_this_thread(&self.record);
        let Some(inner) = &mut self.inner else { return Poll::Ready(None) };
        let polled = Pin::new(inner).poll(cx);
        polled.map(|output| Some(OfFlow::new(self.record.clone(), output)))
    }
}

impl<T> Unpin for OfFlow<T> {}

impl<T> Drop for OfFlow<T> {
    fn drop(&mut self) {
        let _flow = FlowOnThread::on_this_thread(&self.record);
        drop(self.inner.take());
    }
}

/// From here on a flow that ends this process leaves a record. To be called once, when a program begins.
pub fn record_fatal_signals() {
    #[cfg(unix)]
    handler::install();
}

#[cfg(unix)]
mod handler {
    use std::os::raw::{c_int, c_void};
    use std::sync::OnceLock;

    use super::{CURRENT, FATAL_SIGNALS, LastWords};

    /// What the signals did before, in the order of [`FATAL_SIGNALS`].
    static EARLIER: [OnceLock<libc::sigaction>; FATAL_SIGNALS.len()] = [const { OnceLock::new() }; FATAL_SIGNALS.len()];

    pub(super) fn install() {
        for (signal, earlier) in FATAL_SIGNALS.iter().zip(&EARLIER) {
            // SAFETY: both structures live through the call; the handler does only what is safe in one, on the
            // alternate stack that the standard library gives each of its threads.
            unsafe {
                let mut was: libc::sigaction = std::mem::zeroed();
                if libc::sigaction(*signal, std::ptr::null(), &mut was) != 0 || earlier.set(was).is_err() {
                    continue;
                }
                let mut ours: libc::sigaction = std::mem::zeroed();
                ours.sa_sigaction = on_signal as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
                ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                libc::sigaction(*signal, &ours, std::ptr::null_mut());
            }
        }
    }

    extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        let Some(at) = FATAL_SIGNALS.iter().position(|known| *known == signal) else { return };
        let words = CURRENT.get();
        // SAFETY: a pointer that is not null is to what a `FlowOnThread` of this very thread keeps alive; `info` is the
        // system's; the functions are among those that may be called in a handler.
        unsafe {
            if let Some(words) = words.as_ref() {
                write(words, at);
            }
            // A fault happens again when this returns, for whoever handled it before: the standard library tells of a
            // stack that overflowed. What was only sent is sent again, to end the process.
            if (*info).si_code > 0 {
                let earlier = EARLIER[at].get().map_or(std::ptr::null(), std::ptr::from_ref);
                libc::sigaction(signal, earlier, std::ptr::null_mut());
            } else {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }

    /// Writes the text of a signal by its place in [`FATAL_SIGNALS`].
    ///
    /// # Safety
    /// None of its own: the calls are foreign.
    unsafe fn write(words: &LastWords, at: usize) {
        let mut rest = words.texts[at].as_slice();
        // SAFETY: paths and text are whole and live through the calls.
        unsafe {
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC | libc::O_NOFOLLOW;
            let file = libc::open(words.unfinished.as_ptr(), flags, 0o600 as libc::c_uint);
            if file < 0 {
                return;
            }
            while !rest.is_empty() {
                let written = libc::write(file, rest.as_ptr().cast(), rest.len());
                if written <= 0 {
                    break;
                }
                rest = &rest[written as usize..];
            }
            libc::close(file);
            if rest.is_empty() {
                libc::rename(words.unfinished.as_ptr(), words.file.as_ptr());
            }
        }
    }
}
