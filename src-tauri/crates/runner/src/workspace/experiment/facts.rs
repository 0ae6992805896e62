//! What is known of samples that have ended: an experiment is read again and again while it runs, and each time only
//! the logs are read that are not known yet.
//!
//! Must not be asked what a sample is scored with, or whether it still runs: that changes without its log.

use std::sync::Arc;

use engine::event::EventKind;

use super::report::Read;
use super::sample::Begun;
use crate::core::fault::Fault;
use crate::views::RequestRow;
use crate::workspace::Workspace;
use crate::workspace::known_samples::{Basis, OriginalRun, SampleFacts};

impl Workspace {
    /// The request that an experiment is about; `None` if it was deleted.
    pub(super) fn original_of(&self, request: &str) -> Result<Option<OriginalRun>, Fault> {
        let row = match self.request(request) {
            Ok(row) => row,
            Err(Fault::NotFound { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        if let Some(known) = self.known_samples.original(&row) {
            return Ok(Some(known));
        }
        let read = self.read_run_of(row)?;
        let codes = Arc::new(codes(&read));
        let original = OriginalRun { row: read.row, end: Arc::new(read.end), codes };
        self.known_samples.insert_original(original.clone());
        Ok(Some(original))
    }

    /// What the log of a sample says of it; the log is read only if that is not known.
    pub(super) fn facts(&self, row: RequestRow, original: Option<&OriginalRun>) -> Result<Arc<SampleFacts>, Fault> {
        let basis = basis(&row, original);
        if let Some(facts) = self.known_samples.facts(&row.id, &basis) {
            return Ok(facts);
        }
        let read = self.read_run_of(row)?;
        Ok(self.facts_of(read, original))
    }

    /// The same of a sample whose log was read. What may still change without an event is not kept.
    pub(super) fn facts_of(&self, read: Read, original: Option<&OriginalRun>) -> Arc<SampleFacts> {
        let facts = Arc::new(SampleFacts {
            used: self.usage(&read),
            duration_ms: self.duration(&read),
            differs: original.map(|original| read.end.differs(&original.end)).unwrap_or_default(),
            codes: codes(&read),
            output: read.end.output,
        });
        if Begun::of(read.row.status) == Begun::Ended {
            let basis = basis(&read.row, original);
            self.known_samples.insert(read.row.id, basis, facts.clone());
        }
        facts
    }
}

fn basis(row: &RequestRow, original: Option<&OriginalRun>) -> Basis {
    (row.last_seq, original.map(|original| (original.row.last_seq, original.row.status)))
}

/// The versions of the code that ran a request itself.
fn codes(read: &Read) -> Vec<String> {
    let codes = read.events.iter().filter_map(|event| match &event.kind {
        EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } => {
            Some(code_hash.clone())
        }
        _ => None,
    });
    codes.collect()
}
