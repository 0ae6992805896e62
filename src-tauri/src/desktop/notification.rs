//! Tells somebody who looks elsewhere that a long run has ended, or waits for an answer.
//!
//! A notification names the flow and the action and nothing that the flow or a model said: servers of notifications
//! read markup in them, and show them where others can see.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use engine::event::RequestStatus;
use runner::{Notice, RequestRow, Workspace};
use tauri::{AppHandle, Manager};

use super::{DesktopEvent, bus, tell};
use crate::window::lock;

/// Whoever runs something shorter waits for it.
const MIN_RUN_TO_TELL: Duration = Duration::from_secs(3);

/// Hears how requests stand.
#[derive(Default)]
pub(crate) struct Notifier {
    app: OnceLock<AppHandle>,
    runs: Mutex<Runs>,
    /// Which request each notification is about.
    shown: Mutex<HashMap<u32, String>>,
}

/// Since when this window knows that requests run.
#[derive(Default)]
struct Runs(HashMap<String, Instant>);

impl Runs {
    /// How long a run took that a person hears of; none while it goes on, and where it was short.
    fn hear(&mut self, request: &str, status: RequestStatus, now: Instant) -> Option<Duration> {
        if matches!(status, RequestStatus::Queued | RequestStatus::InProgress) {
            self.0.entry(request.to_owned()).or_insert(now);
            return None;
        }
        let took = now.saturating_duration_since(self.0.remove(request)?);
        // Whoever aborted it knows.
        (took >= MIN_RUN_TO_TELL && status != RequestStatus::Aborted).then_some(took)
    }
}

impl Notifier {
    /// The program has a window from now on.
    pub(crate) fn attach(self: &Arc<Self>, app: &AppHandle) {
        // It is attached once.
        let _ = self.app.set(app.clone());
        bus::on_click(self.clone(), app.clone());
    }

    /// A request stands otherwise.
    pub(crate) fn hear(self: &Arc<Self>, workspace: &Workspace, notice: &Notice) {
        let Notice::Request { request_id, status, .. } = notice else { return };
        let took = lock(&self.runs).hear(request_id, *status, Instant::now());
        let (Some(took), Some(app)) = (took, self.app.get()) else { return };
        let is_seen = app.webview_windows().values().any(|window| window.is_focused().unwrap_or(false));
        if is_seen {
            return;
        }
        match workspace.request(request_id) {
            Ok(row) => self.show(app, row, took),
            Err(error) => tracing::warn!(?error, "a request that ended cannot be read"),
        }
    }

    /// Shows it from the window's own thread, where the desktop is spoken to.
    fn show(self: &Arc<Self>, app: &AppHandle, row: RequestRow, took: Duration) {
        let notifier = self.clone();
        let asked = app.run_on_main_thread(move || {
            let (title, body) = words(&row, took);
            bus::notify(notifier, row.id, &title, &body);
        });
        if let Err(error) = asked {
            tracing::warn!(%error, "a notification cannot be shown");
        }
    }

    /// The desktop shows a notification about a request.
    pub(super) fn shown(&self, number: u32, request: String) {
        lock(&self.shown).insert(number, request);
    }

    /// Somebody clicked a notification.
    pub(super) fn clicked(&self, app: &AppHandle, number: u32) {
        let Some(request_id) = lock(&self.shown).remove(&number) else { return };
        for window in app.webview_windows().into_values() {
            if let Err(error) = window.set_focus() {
                tracing::warn!(%error, "the window does not come to the front");
            }
        }
        tell(app, DesktopEvent::Request { request_id });
    }
}

/// What is said of a run.
fn words(row: &RequestRow, took: Duration) -> (String, String) {
    let what = match row.status {
        RequestStatus::Suspended => "waits for your answer",
        RequestStatus::Failed => "failed",
        RequestStatus::Interrupted => "was interrupted",
        RequestStatus::Incomplete => "stopped early",
        _ => "is done",
    };
    let seconds = took.as_secs();
    let took = if seconds < 60 { format!("{seconds} s") } else { format!("{} min {} s", seconds / 60, seconds % 60) };
    (format!("{}.{} {what}", row.flow, row.action), format!("It ran for {took}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_a_long_run_is_told() {
        let (mut runs, start) = (Runs::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        assert_eq!(runs.hear("r1", RequestStatus::InProgress, at(0)), None);
        assert_eq!(runs.hear("r1", RequestStatus::InProgress, at(2)), None);
        assert_eq!(runs.hear("r1", RequestStatus::Completed, at(9)), Some(Duration::from_secs(9)));
        assert_eq!(runs.hear("r1", RequestStatus::Completed, at(10)), None, "it is told once");
        assert_eq!(runs.hear("r2", RequestStatus::Failed, at(10)), None, "nobody knew that it ran");
        runs.hear("r3", RequestStatus::InProgress, at(0));
        assert_eq!(runs.hear("r3", RequestStatus::Completed, at(1)), None, "it was short");
        runs.hear("r4", RequestStatus::InProgress, at(0));
        assert_eq!(runs.hear("r4", RequestStatus::Aborted, at(60)), None, "a person ended it");
        runs.hear("r5", RequestStatus::Queued, at(0));
        assert_eq!(runs.hear("r5", RequestStatus::Suspended, at(5)), Some(Duration::from_secs(5)));
    }
}
