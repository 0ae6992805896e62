//! What this process writes when a flow's code ends it: a fault in native code is no error that could be caught.
//!
//! A thread that runs a flow says which one. The handler of a fatal signal writes the text that was made for that flow,
//! and then the signal ends the process. The handler must not allocate, lock, or call what is not safe in a handler.

use std::cell::Cell;
use std::ffi::CString;
use std::os::raw::c_int;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::catalogue::ended::EndRecord;

/// The signals of a fault in the process's own code, with their names.
#[cfg(unix)]
pub(crate) const FATAL_SIGNALS: [(c_int, &str); 6] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGTRAP, "SIGTRAP"),
    (libc::SIGABRT, "SIGABRT"),
];
/// There are none.
#[cfg(not(unix))]
pub(crate) const FATAL_SIGNALS: [(c_int, &str); 0] = [];

/// The name of a signal of [`FATAL_SIGNALS`].
pub(crate) fn signal_name(signal: c_int) -> &'static str {
    FATAL_SIGNALS.iter().find(|(known, _)| *known == signal).map_or("unknown", |(_, name)| name)
}

/// What the handler writes, and where: first the whole text into another file, which is then renamed.
#[derive(Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "there is no handler"))]
pub(crate) struct EndTexts {
    pub(crate) file: CString,
    pub(crate) unfinished: CString,
    /// In the order of [`FATAL_SIGNALS`].
    pub(crate) texts: [Vec<u8>; FATAL_SIGNALS.len()],
}

thread_local! {
    /// What is written if the flow that this thread runs ends the process.
    static CURRENT: Cell<*const EndTexts> = const { Cell::new(std::ptr::null()) };
}

/// This thread runs a flow for as long as this value lives.
pub(crate) struct FlowOnThread {
    earlier: *const EndTexts,
    _record: Arc<EndRecord>,
}

impl FlowOnThread {
    /// Says which flow runs on this thread.
    pub(crate) fn on_this_thread(record: &Arc<EndRecord>) -> FlowOnThread {
        let texts = record.texts().map_or(std::ptr::null(), std::ptr::from_ref);
        FlowOnThread { earlier: CURRENT.replace(texts), _record: record.clone() }
    }
}

impl Drop for FlowOnThread {
    fn drop(&mut self) {
        CURRENT.set(self.earlier);
    }
}

/// Something of a flow, whose code runs only while this is polled or dropped: in between, its thread runs others.
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

impl<T> OfFlow<Option<T>> {
    /// Whether there is anything.
    pub(crate) fn is_some(&self) -> bool {
        self.inner.as_ref().is_some_and(Option::is_some)
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

    use super::{CURRENT, EndTexts, FATAL_SIGNALS};

    /// What the signals did before, in the order of [`FATAL_SIGNALS`].
    static EARLIER: [OnceLock<libc::sigaction>; FATAL_SIGNALS.len()] = [const { OnceLock::new() }; FATAL_SIGNALS.len()];

    pub(super) fn install() {
        for ((signal, _), earlier) in FATAL_SIGNALS.iter().zip(&EARLIER) {
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
        let Some(at) = FATAL_SIGNALS.iter().position(|(known, _)| *known == signal) else { return };
        let texts = CURRENT.get();
        // SAFETY: a pointer that is not null is to what a `FlowOnThread` of this very thread keeps alive; `info` is the
        // system's; the functions are among those that may be called in a handler.
        unsafe {
            if let Some(texts) = texts.as_ref() {
                write(texts, at);
            }
            // After a fault, the handler that was installed before is put back. The same instruction faults again when
            // this returns, and that handler is called: the standard library's reports a stack overflow. A signal that
            // another process or thread sent does not come again, so it is raised here, to end the process.
            if (*info).si_code > 0 {
                let earlier = EARLIER[at].get().map_or(std::ptr::null(), std::ptr::from_ref);
                libc::sigaction(signal, earlier, std::ptr::null_mut());
            } else {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
    }

    /// Writes the text of a signal by its place in [`FATAL_SIGNALS`]. Whatever is at the path of the unfinished file, a
    /// pipe for example, is not opened.
    fn write(texts: &EndTexts, at: usize) {
        let mut rest = texts.texts[at].as_slice();
        // SAFETY: paths and text are whole and live through the calls, all of which may be made in a handler.
        unsafe {
            libc::unlink(texts.unfinished.as_ptr());
            let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NONBLOCK | libc::O_CLOEXEC;
            let file = libc::open(texts.unfinished.as_ptr(), flags, 0o600 as libc::c_uint);
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
                libc::rename(texts.unfinished.as_ptr(), texts.file.as_ptr());
            }
        }
    }
}
