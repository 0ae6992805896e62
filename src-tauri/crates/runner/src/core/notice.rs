//! What listeners hear: small notices, after which they read again what they show.

use std::sync::{Arc, Mutex, MutexGuard};

use serde::Serialize;

use engine::event::RequestStatus;

/// Something changed.
#[derive(Clone, Debug, PartialEq, Serialize, specta::Type)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Notice {
    /// A flow file changed, came or went.
    Flows {
        /// The database of the workspace that it is in.
        workspace: Arc<str>,
    },
    /// Sessions came or went.
    Sessions {
        /// The database of the workspace that they are in.
        workspace: Arc<str>,
    },
    /// The database is read as it lay when the workspace was opened, and somebody changed it since: the workspace is to
    /// be opened again. Told until it is.
    Outdated {
        /// The database.
        workspace: Arc<str>,
    },
    /// A file of the database was removed or replaced, so that nothing is written any more; or it was put back.
    Removed {
        /// The database.
        workspace: Arc<str>,
    },
    /// Another process keeps the database locked, and whoever wants to write waits for it.
    Busy {
        /// The database.
        workspace: Arc<str>,
    },
    /// A request of this process stands still, because the database takes no more of it.
    Halted {
        /// The database.
        workspace: Arc<str>,
        /// Which request.
        request_id: String,
        /// What happened, and what was kept.
        message: String,
    },
    /// A request has new events.
    Request {
        /// The database of the workspace that it is in.
        workspace: Arc<str>,
        /// Whose.
        request_id: String,
        /// In which session.
        session_id: String,
        /// The newest committed event.
        seq: u64,
        /// How it stands.
        status: RequestStatus,
    },
}

type Listener = Arc<dyn Fn(&Notice) + Send + Sync>;

/// Everybody who listens.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<(u64, Listener)>>>);

impl Notices {
    pub(crate) fn tell(&self, notice: &Notice) {
        let listeners = self.lock().clone();
        for (_, listener) in listeners {
            listener(notice);
        }
    }

    pub(crate) fn listen(&self, listener: Listener) -> u64 {
        let mut listeners = self.lock();
        let id = listeners.last().map_or(1, |(id, _)| id + 1);
        listeners.push((id, listener));
        id
    }

    pub(crate) fn unlisten(&self, id: u64) {
        self.lock().retain(|(known, _)| *known != id);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u64, Listener)>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
