//! What a frame sees of durable records: the newest committed ones, with its ancestors' pending writes on top.
//!
//! Must not write a record, except in a replay: there it sets records to the versions that the recorded run saw.

use std::rc::Rc;

use serde_json::{Map, Value};

use crate::execution::core::transaction::Transaction;
use crate::execution::record::effect_log::{callback_key, edit_key};
use crate::execution::run::Run;
use crate::execution::run::frame::Frame;
use crate::execution::run::role::BlockRole;
use crate::model::error::FlowError;
use crate::model::event::ScopeCommit;
use crate::model::log::Record;
use crate::model::scope::{ScopeKey, ScopeKind};

impl Run {
    /// Reads the newest committed records into a transaction of a frame, with its ancestors' pending writes on top.
    /// Returns the versions that differ from those this request saw last (ARCHITECTURE §5.8).
    pub fn see_records(&self, frame: &Rc<Frame>, transaction: &Transaction) -> Result<Vec<(ScopeKey, u64)>, FlowError> {
        self.restore_seen_records(frame, |scope| scope.kind != ScopeKind::Resource);
        // Resources are read on first use.
        transaction.forget_resources();
        let kinds = [ScopeKind::Session, ScopeKind::User, ScopeKind::Project];
        let keys: Vec<ScopeKey> = kinds.into_iter().filter_map(|kind| self.durable_key(kind)).collect();
        let records = self.log.records(&keys).map_err(|error| FlowError::storage(error.to_string()))?;
        let mut news = Vec::new();
        for (key, record) in keys.into_iter().zip(records) {
            let missing = self.missing(key.kind, &record.state);
            news.extend(self.see(frame, transaction, key, record, missing));
        }
        Ok(news)
    }

    /// As [`see_records`](Self::see_records), for one record. `missing` returns the defaults that the record lacks.
    pub(crate) fn see_record(
        &self,
        frame: &Rc<Frame>,
        transaction: &Transaction,
        key: ScopeKey,
        missing: impl FnOnce(&Record) -> Map<String, Value>,
    ) -> Result<Option<(ScopeKey, u64)>, FlowError> {
        if key.kind == ScopeKind::Resource {
            self.restore_seen_records(frame, |scope| *scope == key);
        }
        let record = self.log.record(&key).map_err(|error| FlowError::storage(error.to_string()))?;
        let missing = missing(&record);
        Ok(self.see(frame, transaction, key, record, missing))
    }

    /// In a replay: sets records to the versions that the recorded attempt saw.
    fn restore_seen_records(&self, frame: &Frame, is_wanted: impl Fn(&ScopeKey) -> bool) {
        let seen =
            self.effect_log.iter().flat_map(|effect_log| effect_log.seen(&frame.path, frame.attempt, &is_wanted));
        for (scope, record) in seen {
            self.log.set_record(scope, record);
        }
    }

    /// In a replay: sets records to the versions that the recorded callback saw.
    pub(crate) fn restore_seen_by_callback(&self, frame: &Frame, callback: &str) {
        let Some(effect_log) = &self.effect_log else { return };
        for (scope, record) in effect_log.seen(&callback_key(&frame.path, callback), frame.attempt, |_| true) {
            self.log.set_record(scope, record);
        }
    }

    /// In a replay of a fork: sets records to those that the fork began with, after the step that it edited. That step
    /// is taken from the log, and its own commits are not made again.
    pub(crate) fn restore_seen_after_edit(&self, frame: &Rc<Frame>) {
        let Some(effect_log) = &self.effect_log else { return };
        for (scope, record) in effect_log.seen(&edit_key(&frame.path), 0, |_| true) {
            let (from, version) = (record.version, record.version);
            let commit =
                ScopeCommit { scope: scope.clone(), from, version, operations: Vec::new(), rebased: Vec::new() };
            self.log.set_record(scope, record.clone());
            frame.chain().for_each(|around| around.transaction.refresh(&commit, &record, self.next_stamp()));
        }
    }

    fn see(
        &self,
        frame: &Frame,
        transaction: &Transaction,
        key: ScopeKey,
        record: Record,
        missing: Map<String, Value>,
    ) -> Option<(ScopeKey, u64)> {
        let mut above = Vec::new();
        if let Some(parent) = &frame.parent {
            let around: Vec<_> = parent.chain().collect();
            for (at, ancestor) in around.iter().enumerate().rev() {
                above.extend(ancestor.transaction.pending(&key));
                let inner = if at == 0 { frame } else { &*around[at - 1] };
                if let BlockRole::Called(Some(call)) = &*inner.role.borrow() {
                    above.extend(call.transaction.pending(&key));
                }
            }
        }
        if !std::ptr::eq(transaction, &frame.transaction) {
            above.extend(frame.transaction.pending(&key));
        }
        let version = record.version;
        let is_news = self.versions.borrow_mut().insert(key.clone(), version) != Some(version);
        transaction.see(key.clone(), record, missing, &above, self.next_stamp());
        is_news.then_some((key, version))
    }

    /// Updates the transactions of a frame and its ancestors, after records were committed inside it.
    pub(crate) fn refresh(&self, frame: Option<&Rc<Frame>>, commits: &[ScopeCommit]) {
        for commit in commits {
            self.own_versions.borrow_mut().insert(commit.scope.clone(), commit.version);
            let Ok(record) = self.log.record(&commit.scope) else { continue };
            for around in frame.into_iter().flat_map(|frame| frame.chain()) {
                around.transaction.refresh(commit, &record, self.next_stamp());
            }
        }
    }

    /// Returns whether this request committed the given version of a record.
    pub(crate) fn is_own_version(&self, scope: &ScopeKey, version: u64) -> bool {
        self.own_versions.borrow().get(scope) == Some(&version)
    }

    /// Removes versions that nobody has read, so that the next block that starts records them.
    pub(crate) fn forget_versions(&self, versions: &[(ScopeKey, u64)]) {
        let mut known = self.versions.borrow_mut();
        known.retain(|scope, _| !versions.iter().any(|(forgotten, _)| forgotten == scope));
    }
}
