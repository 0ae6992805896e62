//! Ctrl-C, SIGTERM and SIGHUP while the command line waits for a request or for many; SIGXFSZ always.
//!
//! The first one stops what is waited for: a request is aborted, so that it ends with all it has done. The second ends
//! the program at once, and the request is interrupted.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::cli::exit;
use crate::terminal::tell;

type Stop = Box<dyn Fn() + Send>;

/// What the first signal does, once there is a request; and whether it came before.
#[derive(Default)]
struct State {
    stop: Option<(&'static str, Stop)>,
    is_stopping_told: bool,
}

/// Signals are heard from here on.
#[derive(Clone, Default)]
pub(crate) struct Signals(Arc<Mutex<State>>);

impl Signals {
    /// Begins to listen. A signal before [`Signals::stop_with`] waits for it.
    pub(crate) fn listen() -> std::io::Result<Signals> {
        let signals = Signals::default();
        let (heard, heard_by) = (signals.clone(), std::sync::mpsc::channel());
        let (ready, is_ready) = heard_by;
        std::thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
                Ok(runtime) => runtime,
                // Then signals do what they do without us.
                Err(_) => return,
            };
            runtime.block_on(async {
                let Ok(mut source) = Source::new() else { return };
                // Whoever waits for it is there.
                let _ = ready.send(());
                source.next().await;
                heard.tell();
                source.next().await;
                tell("flowglass: ended at once; what was running has no end");
                runner::remove_scratch();
                std::process::exit(exit::INTERRUPTED.into());
            });
        })?;
        // Where listening fails, the sender is gone.
        let _ = is_ready.recv();
        Ok(signals)
    }

    /// What the first signal does, and how that is told.
    pub(crate) fn stop_with(&self, told: &'static str, stop: impl Fn() + Send + 'static) {
        let mut state = self.lock();
        if state.is_stopping_told {
            stop();
        }
        state.stop = Some((told, Box::new(stop)));
    }

    fn tell(&self) {
        let mut state = self.lock();
        state.is_stopping_told = true;
        if let Some((told, stop)) = &state.stop {
            tell(&format!("flowglass: {told}"));
            stop();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(unix)]
struct Source {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
    /// Of a terminal that is closed; none if whoever started the program ignores it, as `nohup` does.
    hangup: Option<tokio::signal::unix::Signal>,
}

#[cfg(unix)]
impl Source {
    fn new() -> std::io::Result<Source> {
        use tokio::signal::unix::{SignalKind, signal};
        let hangup = if is_ignored(libc::SIGHUP) { None } else { Some(signal(SignalKind::hangup())?) };
        Ok(Source { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())?, hangup })
    }

    async fn next(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

#[cfg(unix)]
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: the function only reads the disposition of the signal into a structure of ours.
    unsafe {
        let mut now: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut now) == 0 && now.sa_sigaction == libc::SIG_IGN
    }
}

/// Lets a write beyond the limit of file sizes (`ulimit -f`) fail, instead of ending the program.
pub(crate) fn fail_large_writes() {
    #[cfg(unix)]
    // SAFETY: nothing else sets the disposition of this signal.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

#[cfg(not(unix))]
struct Source;

#[cfg(not(unix))]
impl Source {
    fn new() -> std::io::Result<Source> {
        Ok(Source)
    }

    async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
