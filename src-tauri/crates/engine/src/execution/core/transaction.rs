//! A block's transaction on durable records.
//!
//! A block is a transaction (ARCHITECTURE §3.1). Its writes to session, user, project and resources are kept here as
//! operations until it ends; until then only the block itself and its children see them. Request, sequencer and
//! block state are not part of it: see [`shared`](super::shared).

use std::cell::RefCell;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::execution::core::fifo::FifoMutex;
use crate::model::event::{ScopeCommit, Seq};
use crate::model::log::Record;
use crate::model::operation::Operation;
use crate::model::resource::due::DueReaction;
use crate::model::resource::record::exists;
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;

mod view;
use view::{Pending, View};

/// A block's writes to durable records, until its end commits them.
#[derive(Default)]
pub struct Transaction {
    /// One mutation at a time.
    pub queue: FifoMutex,
    views: RefCell<Vec<View>>,
    /// The reactions to its writes.
    due: RefCell<Vec<DueReaction>>,
}

/// Whether pending operations could be rebased onto a newer record.
#[derive(Debug, PartialEq, Eq)]
pub enum Rebase {
    /// They could: each still changes something, or still changes nothing, as the author's code was told.
    Done,
    /// They could not: the author's code must run again.
    Impossible,
}

impl Transaction {
    /// Adds or replaces the view of a record, with `missing` defaults filled in and ancestors' writes (`above`) on top.
    pub fn see(&self, key: ScopeKey, record: Record, missing: Map<String, Value>, above: &[Operation], stamp: u64) {
        let mut view = View {
            key,
            base: record,
            missing,
            above: above.to_vec(),
            state: Arc::default(),
            stamp,
            is_read: false,
            pending: Vec::new(),
        };
        view.state = Arc::new(view.replayed().0);
        let mut views = self.views.borrow_mut();
        match views.iter_mut().find(|other| other.key == view.key) {
            Some(slot) => *slot = view,
            None => views.push(view),
        }
    }

    /// Updates the view of a record that a child has committed. If others have written it as well, and this transaction
    /// has pending writes, the view stays as it is: its own commit will find the conflict.
    pub fn refresh(&self, commit: &ScopeCommit, record: &Record, stamp: u64) {
        if let Some(view) = self.views.borrow_mut().iter_mut().find(|view| view.key == commit.scope) {
            let is_only_news = view.base.version == commit.from && record.version == commit.version;
            if view.is_written() && !is_only_news {
                return;
            }
            view.base = record.clone();
            view.missing.retain(|field, _| !record.state.has(field));
            view.state = Arc::new(view.replayed().0);
            view.stamp = stamp;
        }
    }

    /// Returns the state as this block sees it, and its stamp.
    pub fn read(&self, key: &ScopeKey) -> Option<(u64, Arc<State>)> {
        let views = self.views.borrow();
        let view = views.iter().find(|view| view.key == *key)?;
        Some((view.stamp, view.state.clone()))
    }

    /// Returns the records it sees, with their committed versions.
    pub fn versions(&self) -> Vec<(ScopeKey, u64)> {
        self.views.borrow().iter().map(|view| (view.key.clone(), view.base.version)).collect()
    }

    /// Notes that the author's code has read a record: later writes may depend on what it read.
    pub(crate) fn note_read(&self, key: &ScopeKey) {
        if let Some(view) = self.views.borrow_mut().iter_mut().find(|view| view.key == *key) {
            view.is_read = true;
        }
    }

    /// Returns the defaults that the first write to a record must also persist.
    pub fn unwritten_defaults(&self, key: &ScopeKey) -> Option<Map<String, Value>> {
        let views = self.views.borrow();
        let view = views.iter().find(|view| view.key == *key)?;
        (!view.is_written() && !view.missing.is_empty()).then(|| view.missing.clone())
    }

    /// Notes that defaults were recorded.
    pub fn push_defaults(&self, key: &ScopeKey, seq: Seq, fields: Map<String, Value>) {
        if let Some(view) = self.views.borrow_mut().iter_mut().find(|view| view.key == *key) {
            view.pending.push(Pending::Defaults { seq, fields });
        }
    }

    /// Adds a recorded operation and the state it made. `evidence` is the version and the sums in its event.
    pub fn push(
        &self,
        key: &ScopeKey,
        seq: Seq,
        operation: Operation,
        evidence: (u64, Option<Value>),
        state: State,
        stamp: u64,
    ) {
        let mut views = self.views.borrow_mut();
        let Some(view) = views.iter_mut().find(|view| view.key == *key) else { return };
        view.pending.push(Pending::Operation { seq, operation, after_read: view.is_read, evidence });
        view.state = Arc::new(state);
        view.stamp = stamp;
    }

    /// Notes an operation that changed nothing.
    pub(crate) fn push_unchanged(&self, key: &ScopeKey, operation: Operation) {
        if let Some(view) = self.views.borrow_mut().iter_mut().find(|view| view.key == *key) {
            view.pending.push(Pending::Unchanged { operation });
        }
    }

    /// Returns the version that the next operation will make.
    pub fn next_version(&self, key: &ScopeKey) -> u64 {
        let views = self.views.borrow();
        views
            .iter()
            .find(|view| view.key == *key)
            .map_or(1, |view| view.base.version + view.operations().count() as u64 + 1)
    }

    /// Returns the pending operations on one record, for the views of children.
    pub fn pending(&self, key: &ScopeKey) -> Vec<Operation> {
        let views = self.views.borrow();
        views.iter().filter(|view| view.key == *key).flat_map(|view| view.operations().cloned()).collect()
    }

    /// Notes that a block has to run because of a write.
    pub(crate) fn push_due(&self, reaction: DueReaction) {
        self.due.borrow_mut().push(reaction);
    }

    /// Takes the reactions to its writes.
    pub(crate) fn take_due(&self) -> Vec<DueReaction> {
        self.due.take()
    }

    /// Returns whether there are no pending writes.
    pub fn is_empty(&self) -> bool {
        self.views.borrow().iter().all(|view| !view.is_written())
    }

    /// Returns what a commit has to write: one entry for each written record.
    pub fn commits(&self) -> Vec<ScopeCommit> {
        self.views
            .borrow()
            .iter()
            .filter(|view| view.is_written())
            .map(|view| ScopeCommit {
                scope: view.key.clone(),
                from: view.base.version,
                version: view.base.version + view.operations().count() as u64,
                operations: view
                    .pending
                    .iter()
                    .filter_map(|pending| match pending {
                        Pending::Defaults { seq, .. } | Pending::Operation { seq, .. } => Some(*seq),
                        Pending::Unchanged { .. } => None,
                    })
                    .collect(),
                rebased: view.rebased(),
            })
            .collect()
    }

    /// Rebases the pending operations onto a newer record, if each of them still has the effect that the author's code
    /// was told.
    pub fn rebase(&self, key: &ScopeKey, record: &Record, stamp: u64) -> Rebase {
        let mut views = self.views.borrow_mut();
        let Some(view) = views.iter_mut().find(|view| view.key == *key) else { return Rebase::Done };
        // A deleted resource takes no writes, not even those that fit any state.
        if key.kind == ScopeKind::Resource && exists(&view.base.state) && !exists(&record.state) {
            return Rebase::Impossible;
        }
        if view.base.version == record.version {
            return Rebase::Done;
        }
        let is_repeatable = |pending: &Pending| match pending {
            Pending::Defaults { .. } => true,
            Pending::Operation { operation, after_read, .. } => operation.is_repeatable(*after_read),
            Pending::Unchanged { operation } => operation.is_repeatable(false),
        };
        if !view.pending.iter().all(is_repeatable) {
            return Rebase::Impossible;
        }
        view.base = record.clone();
        view.missing.retain(|field, _| !record.state.has(field));
        let (state, has_same_answers) = view.replayed();
        if !has_same_answers {
            return Rebase::Impossible;
        }
        view.state = Arc::new(state);
        view.stamp = stamp;
        Rebase::Done
    }

    /// Returns a copy of the pending writes, for a callback that may have to run again on top of them.
    pub(crate) fn copy(&self) -> Transaction {
        let (views, due) = (self.views.borrow().clone(), self.due.borrow().clone());
        Transaction { queue: FifoMutex::default(), views: RefCell::new(views), due: RefCell::new(due) }
    }

    /// Moves the pending writes of another transaction into this one. The other keeps its views: it may go on reading
    /// and writing.
    pub(crate) fn take_over(&self, other: &Transaction, stamp: u64) {
        self.due.borrow_mut().append(&mut other.due.borrow_mut());
        let mut views = self.views.borrow_mut();
        for mut view in other.views.borrow_mut().iter_mut().filter(|view| view.is_written()).map(View::take) {
            let Some(own) = views.iter_mut().find(|own| own.key == view.key) else {
                views.push(view);
                continue;
            };
            if !own.is_written() {
                *own = view;
                continue;
            }
            // The older version, so that the commit finds every conflict since.
            if view.base.version < own.base.version {
                own.base = view.base.clone();
            }
            own.is_read |= view.is_read;
            own.pending.append(&mut view.pending);
            // Defaults come first in a commit.
            own.pending.sort_by_key(|pending| !matches!(pending, Pending::Defaults { .. }));
            own.state = Arc::new(own.replayed().0);
            own.stamp = stamp;
        }
    }

    /// Removes the views of resources that were only read, so that the next read gets the newest.
    pub fn forget_resources(&self) {
        self.views.borrow_mut().retain(|view| view.key.kind != ScopeKind::Resource || view.is_written());
    }

    /// Removes all views, after a commit or to drop the writes.
    pub fn clear(&self) {
        // A new `Vec`, to free the memory: frames of ended blocks are kept for their siblings.
        *self.views.borrow_mut() = Vec::new();
        *self.due.borrow_mut() = Vec::new();
    }
}
