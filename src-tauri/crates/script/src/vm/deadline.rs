//! Deadlines of code, by the clock or by the processor time of the thread, so that the answer to a question does not
//! depend on how busy the machine is.

use std::time::{Duration, Instant};

/// When code must have ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deadline {
    /// At this instant.
    Clock(Instant),
    /// When this thread has used this much processor time.
    Processor(Duration),
}

impl Deadline {
    /// After a time from now.
    pub(crate) fn of_clock(time: Duration) -> Deadline {
        Deadline::Clock(Instant::now() + time)
    }

    /// After this much processor time of this thread; by the clock, if the system does not measure processor time.
    pub(crate) fn of_processor(time: Duration) -> Deadline {
        spent().map_or_else(|| Deadline::of_clock(time), |spent| Deadline::Processor(spent + time))
    }

    /// Whether it is over.
    pub(crate) fn is_past(self) -> bool {
        match self {
            Deadline::Clock(end) => Instant::now() > end,
            Deadline::Processor(end) => spent().is_some_and(|spent| spent > end),
        }
    }
}

/// The processor time of this thread.
#[cfg(unix)]
fn spent() -> Option<Duration> {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Some(Duration::new(spent.tv_sec.try_into().ok()?, spent.tv_nsec.try_into().ok()?))
}

#[cfg(not(unix))]
fn spent() -> Option<Duration> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_uses_up_no_time() {
        let end = Deadline::of_processor(Duration::from_millis(400));
        std::thread::sleep(Duration::from_millis(5));
        assert!(matches!(end, Deadline::Processor(_)) && !end.is_past());
        assert!(Deadline::of_processor(Duration::ZERO).is_past() || spent() == Some(Duration::ZERO));
    }
}
