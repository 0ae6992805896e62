//! Rows of the store as people see them: what a row says of a job that is gone is corrected here.

use engine::event::RequestStatus;
use store::Liveness;

use super::{Workspace, news};
use crate::views::{ErrorInfo, RequestRow, SessionRow, span};

impl Workspace {
    /// Whether the job of a request that has not ended is gone for certain.
    pub(super) fn is_gone(&self, status: RequestStatus, owner: &str) -> bool {
        news::is_unfinished(status) && self.locks.liveness(owner) == Liveness::Dead
    }

    /// A request whose job is gone is interrupted, whatever its row says (ARCHITECTURE §7.4).
    pub(super) fn request_row(&self, mut row: store::RequestRow) -> RequestRow {
        while self.is_gone(row.status, &row.owner) {
            // Its job may have said how it ended between the look at the row and the look at the lock.
            match self.store.request(&row.id) {
                Ok(Some(newer)) if newer != row => row = newer,
                _ => row.status = RequestStatus::Interrupted,
            }
        }
        RequestRow {
            id: row.id,
            session_id: row.session,
            flow: row.flow,
            action: row.action,
            user_id: row.user,
            project_id: row.project,
            status: row.status,
            started_at: row.started_at,
            finished_at: row.finished_at,
            duration_ms: row.finished_at.map(|end| span(row.started_at, end)),
            retry_of: row.retry_of,
            forked_from: row.forked_from,
            error: row.error.as_ref().map(ErrorInfo::from),
            received_from: row.emitter,
            mock: row.mock.is_some(),
            last_seq: row.last_seq,
            totals: None,
            resumable: None,
            resumable_why: None,
        }
    }

    pub(super) fn session_row(&self, mut row: store::SessionRow) -> SessionRow {
        while self.is_gone(row.last_status, &row.last_owner) {
            match self.store.session(&row.id) {
                Ok(Some(newer)) if newer != row => row = newer,
                _ => row.last_status = RequestStatus::Interrupted,
            }
        }
        SessionRow {
            id: row.id,
            flow: row.flow,
            user_id: row.user,
            project_id: row.project,
            title: row.title,
            tags: row.tags,
            requests: row.requests,
            items: row.items,
            last_status: row.last_status,
            created_at: row.created_at,
            updated_at: row.updated_at,
            forked_from: row.forked_from,
        }
    }
}
