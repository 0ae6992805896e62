//! One append on its way to the disk.
//!
//! Everything that needs no database is done here, on the thread that appends: writing events out,
//! measuring and hashing them. The writing thread is shared by all requests and must not do it.

use std::sync::Arc;

use engine::event::{Event, EventKind, ForkedFrom};
use engine::log::{AppendError, Durability, Lease};
use engine::scope::ScopeKey;
use futures_channel::oneshot;

use crate::row::body::{self, Body};
use crate::row::error::Error;
use crate::row::{filter_block, measure};

/// What the caller of an append waits for.
pub(crate) type Answer = oneshot::Sender<Result<(), AppendError>>;

/// The events of one append: kept together or not at all.
#[derive(Debug)]
pub(crate) struct AppendBatch {
    pub(crate) request: Arc<str>,
    /// Under which it is appended; none of an import, which brings what others did.
    pub(crate) lease: Option<Lease>,
    pub(crate) drafts: Vec<Draft>,
    pub(crate) durability: Durability,
    /// Records that had changed under its commits, which were therefore refused.
    pub(crate) conflict: Option<Vec<ScopeKey>>,
    pub(crate) answer: Option<Answer>,
}

/// An event and its line.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) event: Event,
    pub(crate) body: Body,
    /// What the flow's own values in it weigh.
    pub(crate) value_bytes: usize,
    /// What search may find it by.
    pub(crate) trigrams: Vec<u16>,
}

impl AppendBatch {
    pub(crate) fn new(
        request: &str,
        lease: Option<Lease>,
        events: Vec<Event>,
        durability: Durability,
    ) -> Result<AppendBatch, Error> {
        let drafts = events.into_iter().map(Draft::new).collect::<Result<_, _>>()?;
        Ok(AppendBatch { request: request.into(), lease, drafts, durability, conflict: None, answer: None })
    }

    /// Puts `commit_refused` where a commit would have stood (promise 3 of the log).
    pub(crate) fn refuse_commits(&mut self, scopes: Vec<ScopeKey>) -> Result<(), Error> {
        for draft in self.drafts.iter_mut().filter(|draft| !draft.event.kind.commits().is_empty()) {
            draft.event.kind = EventKind::CommitRefused { scopes: scopes.clone() };
            draft.body = body::of_event(&draft.event.kind)?;
            draft.value_bytes = 0;
            draft.trigrams.clear();
        }
        self.conflict = Some(scopes);
        Ok(())
    }

    /// About how many bytes it adds to the log.
    pub(crate) fn bytes(&self) -> usize {
        let of_draft = |draft: &Draft| {
            draft.body.text.len() + draft.body.payloads.iter().map(|payload| payload.text.len()).sum::<usize>()
        };
        self.drafts.iter().map(of_draft).sum()
    }

    /// The owner that its first event makes the request's own.
    pub(crate) fn taker(&self) -> Option<Lease> {
        self.drafts.first().and_then(|draft| Lease::named(&draft.event.kind))
    }

    /// Whether it begins a request.
    pub(crate) fn starts(&self) -> bool {
        self.drafts.first().is_some_and(|draft| matches!(draft.event.kind, EventKind::RequestStarted { .. }))
    }

    /// The request that it begins a fork of.
    pub(crate) fn forked_from(&self) -> Option<&ForkedFrom> {
        match self.drafts.first().map(|draft| &draft.event.kind) {
            Some(EventKind::RequestStarted { forked_from, .. }) => forked_from.as_ref(),
            _ => None,
        }
    }

    pub(crate) fn answer(&mut self, result: Result<(), AppendError>) {
        if let Some(answer) = self.answer.take() {
            // A caller that does not wait has dropped its end.
            let _ = answer.send(result);
        }
    }
}

impl Draft {
    fn new(event: Event) -> Result<Draft, Error> {
        let body = body::of_event(&event.kind)?;
        let value_bytes = measure::value_bytes(&event.kind);
        let trigrams = filter_block::of_event(&event.kind);
        Ok(Draft { event, body, value_bytes, trigrams })
    }
}
