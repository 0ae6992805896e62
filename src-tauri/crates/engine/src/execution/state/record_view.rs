//! What a frame sees of durable records: the newest committed ones, under its ancestors' waiting writes.
//!
//! It must not change a record; in a replay it puts them where the recorded run saw them.

use std::rc::Rc;

use serde_json::{Map, Value};

use crate::execution::frame::Frame;
use crate::execution::replay::effect_log::of_callback;
use crate::execution::request::Run;
use crate::execution::state::transaction::Transaction;
use crate::model::error::FlowError;
use crate::model::event::ScopeCommit;
use crate::model::log::Record;
use crate::model::scope::{ScopeKey, ScopeKind};

impl Run {
    /// Lets a frame see the newest committed records under its ancestors' waiting writes.
    /// Returns the versions that differ from those recorded last (ARCHITECTURE §5.8).
    pub fn see_records(&self, frame: &Rc<Frame>, transaction: &Transaction) -> Result<Vec<(ScopeKey, u64)>, FlowError> {
        self.play(frame, |scope| scope.kind != ScopeKind::Resource);
        // Resources are seen when they are looked at.
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

    /// Lets a frame see one record; `missing` are the defaults it lacks. Returns its version where
    /// that differs from the one recorded last.
    pub(crate) fn see_record(
        &self,
        frame: &Rc<Frame>,
        transaction: &Transaction,
        key: ScopeKey,
        missing: impl FnOnce(&Record) -> Map<String, Value>,
    ) -> Result<Option<(ScopeKey, u64)>, FlowError> {
        if key.kind == ScopeKind::Resource {
            self.play(frame, |scope| *scope == key);
        }
        let record = self.log.record(&key).map_err(|error| FlowError::storage(error.to_string()))?;
        let missing = missing(&record);
        Ok(self.see(frame, transaction, key, record, missing))
    }

    /// In a replay: puts the records of these scopes where the frame saw them.
    fn play(&self, frame: &Frame, is_wanted: impl Fn(&ScopeKey) -> bool) {
        let seen =
            self.effect_log.iter().flat_map(|effect_log| effect_log.seen(&frame.path, frame.attempt, &is_wanted));
        for (scope, record) in seen {
            self.log.put(scope, record);
        }
    }

    /// In a replay: puts the records where a callback of a frame saw them.
    pub(crate) fn play_callback(&self, frame: &Frame, callback: &str) {
        let Some(effect_log) = &self.effect_log else { return };
        for (scope, record) in effect_log.seen(&of_callback(&frame.path, callback), frame.attempt, |_| true) {
            self.log.put(scope, record);
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
            for ancestor in around.iter().rev() {
                above.extend(ancestor.transaction.pending(&key));
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

    /// Lets a frame and the blocks around it see what was just committed inside it.
    pub(crate) fn refresh(&self, frame: Option<&Rc<Frame>>, commits: &[ScopeCommit]) {
        for commit in commits {
            self.own_versions.borrow_mut().insert(commit.scope.clone(), commit.version);
            let Ok(record) = self.log.record(&commit.scope) else { continue };
            for around in frame.into_iter().flat_map(|frame| frame.chain()) {
                around.transaction.refresh(commit, &record, self.next_stamp());
            }
        }
    }

    /// Whether this request made a version of a record.
    pub(crate) fn is_own_version(&self, scope: &ScopeKey, version: u64) -> bool {
        self.own_versions.borrow().get(scope) == Some(&version)
    }

    /// Lets the next block that begins tell of these versions, because nobody looked at them.
    pub(crate) fn forget_versions(&self, versions: &[(ScopeKey, u64)]) {
        let mut known = self.versions.borrow_mut();
        known.retain(|scope, _| !versions.iter().any(|(forgotten, _)| forgotten == scope));
    }
}
