//! The state a block can write: shared containers, and its own transaction on durable records.
//!
//! A block is a transaction (architecture §2). Its writes to session, user and project are kept
//! here as operations until it ends, seen at once by itself and its children and by nobody else.
//! Request, sequencer and block state are containers: shared memory of the request, in force at
//! once, one mutation at a time in order of arrival.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use futures_channel::oneshot;
use serde_json::{Map, Value};

use crate::event::{ScopeCommit, Seq};
use crate::log::Record;
use crate::operation::Operation;
use crate::resource::record::exists;
use crate::scope::{ScopeKey, ScopeKind};
use crate::state::State;

/// Waiters in order of arrival. A waiter that goes away is passed over.
#[derive(Default)]
pub struct Fifo {
    held: Cell<bool>,
    waiting: RefCell<VecDeque<oneshot::Sender<()>>>,
}

/// Holds a [`Fifo`] until dropped.
pub struct Turn<'a>(&'a Fifo);

impl Fifo {
    /// Whether a caller would have to wait.
    pub(crate) fn is_held(&self) -> bool {
        self.held.get()
    }

    /// Waits for this caller's turn.
    pub async fn turn(&self) -> Turn<'_> {
        if self.held.replace(true) {
            let (sender, receiver) = oneshot::channel();
            self.waiting.borrow_mut().push_back(sender);
            let mut waiting = Waiting { fifo: self, receiver: Some(receiver) };
            if let Some(receiver) = &mut waiting.receiver {
                // The sender is only dropped with the queue itself, and then nobody waits any more.
                let _ = receiver.await;
            }
            waiting.receiver = None;
        }
        Turn(self)
    }
}

/// A waiter that may be given up: a turn that reached it too late goes on to the next.
struct Waiting<'a> {
    fifo: &'a Fifo,
    receiver: Option<oneshot::Receiver<()>>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(Ok(Some(()))) = self.receiver.as_mut().map(oneshot::Receiver::try_recv) {
            drop(Turn(self.fifo));
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        loop {
            let next = self.0.waiting.borrow_mut().pop_front();
            let Some(sender) = next else {
                self.0.held.set(false);
                return;
            };
            if sender.send(()).is_ok() {
                return;
            }
        }
    }
}

/// A durable record as one block sees it.
struct View {
    key: ScopeKey,
    base: Record,
    /// Declared fields with defaults that the record has not got yet.
    missing: Map<String, Value>,
    /// Waiting writes of the blocks around it.
    above: Vec<Operation>,
    state: Arc<State>,
    stamp: u64,
    pending: Vec<Pending>,
}

enum Pending {
    Defaults { seq: Seq, fields: Map<String, Value> },
    Operation { seq: Seq, operation: Operation },
}

/// A block's writes to durable records, until its end commits them.
#[derive(Default)]
pub struct Transaction {
    /// One mutation at a time.
    pub queue: Fifo,
    views: RefCell<Vec<View>>,
}

/// Whether pending operations could be moved onto newer records.
#[derive(Debug, PartialEq, Eq)]
pub enum Rebase {
    /// They apply again with the same answers.
    Done,
    /// The author's code must decide anew: run the body again.
    Impossible,
}

impl Transaction {
    /// Begins to see `record`, with `missing` defaults filled in and ancestors' writes on top.
    pub fn see(&self, key: ScopeKey, record: Record, missing: Map<String, Value>, above: &[Operation], stamp: u64) {
        let mut view = View {
            key,
            base: record,
            missing,
            above: above.to_vec(),
            state: Arc::default(),
            stamp,
            pending: Vec::new(),
        };
        view.state = Arc::new(view.replayed().0);
        let mut views = self.views.borrow_mut();
        match views.iter_mut().find(|other| other.key == view.key) {
            Some(slot) => *slot = view,
            None => views.push(view),
        }
    }

    /// Sees a newer record under the writes it already has: a child committed.
    pub fn refresh(&self, key: &ScopeKey, record: &Record, stamp: u64) {
        if let Some(view) = self.views.borrow_mut().iter_mut().find(|view| view.key == *key) {
            view.base = record.clone();
            view.missing.retain(|field, _| record.state.get(field).is_none());
            view.state = Arc::new(view.replayed().0);
            view.stamp = stamp;
        }
    }

    /// The state as this block sees it, and its stamp.
    pub fn read(&self, key: &ScopeKey) -> Option<(u64, Arc<State>)> {
        let views = self.views.borrow();
        let view = views.iter().find(|view| view.key == *key)?;
        Some((view.stamp, view.state.clone()))
    }

    /// The records it saw when it began, with their versions.
    pub fn versions(&self) -> Vec<(ScopeKey, u64)> {
        self.views.borrow().iter().map(|view| (view.key.clone(), view.base.version)).collect()
    }

    /// Defaults that a first write has to persist, once.
    pub fn unwritten_defaults(&self, key: &ScopeKey) -> Option<Map<String, Value>> {
        let views = self.views.borrow();
        let view = views.iter().find(|view| view.key == *key)?;
        (view.pending.is_empty() && !view.missing.is_empty()).then(|| view.missing.clone())
    }

    /// Notes that defaults were recorded.
    pub fn push_defaults(&self, key: &ScopeKey, seq: Seq, fields: Map<String, Value>) {
        if let Some(view) = self.views.borrow_mut().iter_mut().find(|view| view.key == *key) {
            view.pending.push(Pending::Defaults { seq, fields });
        }
    }

    /// Takes one recorded operation and the state it made. Returns the version as this block sees it.
    pub fn push(&self, key: &ScopeKey, seq: Seq, operation: Operation, state: State, stamp: u64) -> u64 {
        let mut views = self.views.borrow_mut();
        let Some(view) = views.iter_mut().find(|view| view.key == *key) else { return 0 };
        view.pending.push(Pending::Operation { seq, operation });
        view.state = Arc::new(state);
        view.stamp = stamp;
        view.base.version + view.operations().count() as u64
    }

    /// The version the next operation will make.
    pub fn next_version(&self, key: &ScopeKey) -> u64 {
        let views = self.views.borrow();
        views
            .iter()
            .find(|view| view.key == *key)
            .map_or(1, |view| view.base.version + view.operations().count() as u64 + 1)
    }

    /// Operations waiting on one record, for children to see.
    pub fn pending(&self, key: &ScopeKey) -> Vec<Operation> {
        let views = self.views.borrow();
        views
            .iter()
            .filter(|view| view.key == *key)
            .flat_map(|view| view.operations().map(|(_, operation)| operation.clone()))
            .collect()
    }

    /// Whether anything waits for a commit.
    pub fn is_empty(&self) -> bool {
        self.views.borrow().iter().all(|view| view.pending.is_empty())
    }

    /// What a commit has to write.
    pub fn commits(&self) -> Vec<ScopeCommit> {
        self.views
            .borrow()
            .iter()
            .filter(|view| !view.pending.is_empty())
            .map(|view| ScopeCommit {
                scope: view.key.clone(),
                from: view.base.version,
                version: view.base.version + view.operations().count() as u64,
                operations: view
                    .pending
                    .iter()
                    .map(|pending| match pending {
                        Pending::Defaults { seq, .. } | Pending::Operation { seq, .. } => *seq,
                    })
                    .collect(),
                rebased: Vec::new(),
            })
            .collect()
    }

    /// Moves the waiting operations onto a newer record, if that changes none of their answers.
    pub fn rebase(&self, key: &ScopeKey, record: &Record, stamp: u64) -> Rebase {
        let mut views = self.views.borrow_mut();
        let Some(view) = views.iter_mut().find(|view| view.key == *key) else { return Rebase::Done };
        // A deleted resource takes no writes, not even those that fit any state.
        if key.kind == ScopeKind::Resource && exists(&view.base.state) && !exists(&record.state) {
            return Rebase::Impossible;
        }
        if !view.operations().all(|(_, operation)| operation.is_repeatable()) {
            return Rebase::Impossible;
        }
        view.base = record.clone();
        let (state, all_changed) = view.replayed();
        if !all_changed {
            return Rebase::Impossible;
        }
        view.state = Arc::new(state);
        view.stamp = stamp;
        Rebase::Done
    }

    /// Forgets resources that were only read, so that the next look sees the newest.
    pub fn forget_resources(&self) {
        self.views.borrow_mut().retain(|view| view.key.kind != ScopeKind::Resource || !view.pending.is_empty());
    }

    /// Forgets everything: committed, or dropped.
    pub fn clear(&self) {
        // A block that has ended is kept for its siblings, and needs no room for views.
        *self.views.borrow_mut() = Vec::new();
    }
}

impl View {
    fn operations(&self) -> impl Iterator<Item = (Seq, &Operation)> {
        self.pending.iter().filter_map(|pending| match pending {
            Pending::Operation { seq, operation } => Some((*seq, operation)),
            Pending::Defaults { .. } => None,
        })
    }

    /// The base with all pending writes, and whether each operation still changed something.
    fn replayed(&self) -> (State, bool) {
        let mut state = (*self.base.state).clone();
        fill(&mut state, &self.missing);
        for operation in &self.above {
            operation.apply(&mut state);
        }
        let mut all_changed = true;
        for pending in &self.pending {
            match pending {
                Pending::Defaults { fields, .. } => fill(&mut state, fields),
                Pending::Operation { operation, .. } => all_changed &= operation.apply(&mut state),
            }
        }
        (state, all_changed)
    }
}

/// Puts declared fields that a state has not got.
pub fn fill(state: &mut State, fields: &Map<String, Value>) {
    for (field, value) in fields {
        if state.get(field).is_none() {
            state.set(field, Arc::new(value.clone()));
        }
    }
}
