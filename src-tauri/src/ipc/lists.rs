//! The window's lists: pages of sessions and requests, with the first words of their inputs.

use engine::event::RequestStatus;
use runner::{Fault, ListedRequest, ListedSession, RequestOrder, Samples, SessionOrder};
use serde::Deserialize;
use tauri::State;

use super::off_the_main_thread;
use crate::window::WindowState;

/// The order of sessions.
#[derive(Clone, Copy, Debug, Default, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) enum SessionSort {
    /// The last changed first.
    #[default]
    Changed,
    /// The newest first.
    Created,
    /// Those with the most requests first.
    Requests,
    /// Those with the most items first.
    Items,
}

impl From<SessionSort> for SessionOrder {
    fn from(sort: SessionSort) -> Self {
        match sort {
            SessionSort::Changed => SessionOrder::Changed,
            SessionSort::Created => SessionOrder::Created,
            SessionSort::Requests => SessionOrder::Requests,
            SessionSort::Items => SessionOrder::Items,
        }
    }
}

/// Selects sessions.
#[derive(Debug, Deserialize, specta::Type)]
pub(super) struct SessionQuery {
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    project: Option<String>,
    #[serde(default)]
    flow: Option<String>,
    #[serde(default)]
    status: Option<RequestStatus>,
    #[serde(default)]
    search: Option<String>,
    /// Only those with this tag.
    #[serde(default)]
    tag: Option<String>,
    /// Only those that changed at this time or later, in milliseconds since the epoch.
    #[serde(default)]
    since: Option<i64>,
    /// Whether sessions of experiments' samples are included.
    #[serde(default)]
    samples: bool,
    #[serde(default)]
    sort: SessionSort,
    limit: u32,
    offset: u32,
}

/// Sessions in the requested order.
#[tauri::command]
#[specta::specta]
pub(super) async fn sessions(state: State<'_, WindowState>, query: SessionQuery) -> Result<Vec<ListedSession>, Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.listed_sessions(runner::SessionQuery {
            user: query.user,
            flow: query.flow,
            project: query.project,
            status: query.status,
            search: query.search,
            tag: query.tag,
            since: query.since,
            samples: if query.samples { Samples::Listed } else { Samples::LeftOut },
            order: query.sort.into(),
            limit: Some(query.limit.into()),
            offset: Some(query.offset.into()),
        })
    })
    .await
}

/// Selects requests.
#[derive(Debug, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequestQuery {
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    status: Option<RequestStatus>,
    #[serde(default)]
    flow: Option<String>,
    #[serde(default)]
    action: Option<String>,
    /// Whether requests with the newest events come first, instead of the newest requests.
    #[serde(default)]
    by_change: bool,
    limit: u32,
    offset: u32,
}

/// Requests, newest first, or those that changed last first.
#[tauri::command]
#[specta::specta]
pub(super) async fn requests(state: State<'_, WindowState>, query: RequestQuery) -> Result<Vec<ListedRequest>, Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.listed_requests(runner::RequestQuery {
            session: query.session,
            status: query.status,
            flow: query.flow,
            action: query.action,
            samples: Samples::LeftOut,
            order: if query.by_change { RequestOrder::Changed } else { RequestOrder::Started },
            limit: Some(query.limit.into()),
            offset: Some(query.offset.into()),
        })
    })
    .await
}
