//! For whom an author's function runs.

use std::sync::Arc;

use super::Context;

/// The request that a function runs for, as it sees it.
pub struct Caller {
    /// Its id.
    pub request: Arc<str>,
    /// The id of its session.
    pub session: Arc<str>,
    /// Whether the session was made for this request alone.
    pub ephemeral: bool,
    /// When it began, in milliseconds since 1970.
    pub began_at: i64,
}

impl Context {
    /// Returns the request that this function runs for. In the replay of a fork, a block that the fork took over from
    /// another request runs for that request.
    pub fn caller(&self) -> Caller {
        let run = &self.run;
        let callback = self.call.as_ref().map(|call| &*call.name);
        let kept = run.effect_log.as_ref();
        match kept.and_then(|log| log.kept_part(&self.frame.path, self.frame.attempt, callback)) {
            Some(part) => Caller {
                request: part.request_id.clone(),
                session: part.session.clone(),
                ephemeral: part.ephemeral,
                began_at: part.began_at,
            },
            None => Caller {
                request: run.request.clone(),
                session: run.start.session.clone(),
                ephemeral: run.start.ephemeral,
                began_at: run.recorder.began(),
            },
        }
    }
}
