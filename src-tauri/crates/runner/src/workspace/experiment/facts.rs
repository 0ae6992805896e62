//! What is known of samples that have ended: an experiment is read again and again while it runs, and each time only
//! the logs are read that are not known yet.
//!
//! Must not be asked what a sample is scored with, or whether it still runs: that changes without its log.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use engine::event::{EventKind, RequestStatus, Seq};
use serde_json::Value;

use super::report::{End, Read, SpentCall, Used};
use super::sample::Begun;
use super::statistics::{Interval, median, resampled};
use crate::core::fault::Fault;
use crate::core::sync::lock;
use crate::views::{RequestRow, SampleDiffers};
use crate::workspace::Workspace;

/// How many bytes the outputs of known samples take together, before all are forgotten.
const MAX_BYTES: usize = 64 << 20;
/// What a sample takes besides its output, about.
const BYTES: usize = 1_000;
/// What each of its calls takes.
const BYTES_OF_CALL: usize = 100;
/// How many requests of experiments are known.
const MAX_ORIGINALS: usize = 8;
/// How many intervals are known.
const MAX_INTERVALS: usize = 10_000;

/// What the log of a sample says of it.
#[derive(Debug)]
pub(super) struct SampleFacts {
    pub(super) output: Option<Value>,
    pub(super) used: Used,
    pub(super) duration_ms: i64,
    /// What of its end is not as the request's. Nothing if the request is gone.
    pub(super) differs: SampleDiffers,
    /// The versions of the code that it ran itself.
    pub(super) codes: Vec<String>,
    pub(super) calls: Vec<SpentCall>,
}

impl SampleFacts {
    /// How many bytes it takes, about.
    fn bytes(&self) -> usize {
        let output = self.output.as_ref().map_or(0, |output| output.to_string().len());
        output + BYTES + self.calls.len() * BYTES_OF_CALL
    }
}

/// The request whose forks are compared.
#[derive(Clone)]
pub(super) struct OriginalRun {
    pub(super) row: RequestRow,
    pub(super) end: Arc<End>,
    /// The versions of the code that it ran.
    pub(super) codes: Arc<Vec<String>>,
}

/// What the facts of a sample depend on: its last event, and how the request stands that it is compared with.
type Basis = (Seq, Option<(Seq, RequestStatus)>);

/// What this process knows of samples.
#[derive(Default)]
pub(crate) struct KnownSamples {
    kept: Mutex<Kept>,
    readings: AtomicU64,
}

#[derive(Default)]
struct Kept {
    samples: HashMap<String, (Basis, Arc<SampleFacts>)>,
    bytes: usize,
    originals: HashMap<String, OriginalRun>,
    /// The intervals of medians, by the values: each takes thousands of resamples.
    intervals: HashMap<Vec<u64>, Option<Interval>>,
}

impl KnownSamples {
    /// Counts that the log of a run is read.
    pub(super) fn count_reading(&self) {
        self.readings.fetch_add(1, Ordering::Relaxed);
    }

    /// How many logs of runs were read.
    #[cfg(test)]
    pub(super) fn readings(&self) -> u64 {
        self.readings.load(Ordering::Relaxed)
    }

    /// The interval of the median of some values.
    pub(super) fn interval_of(&self, values: &[f64]) -> Option<Interval> {
        let key: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
        if let Some(known) = lock(&self.kept).intervals.get(&key) {
            return *known;
        }
        let interval = resampled(values, median);
        let mut kept = lock(&self.kept);
        if kept.intervals.len() >= MAX_INTERVALS {
            kept.intervals.clear();
        }
        kept.intervals.insert(key, interval);
        interval
    }

    fn insert(&self, sample: String, basis: Basis, facts: Arc<SampleFacts>) {
        let bytes = facts.bytes();
        let mut kept = lock(&self.kept);
        if kept.bytes + bytes > MAX_BYTES {
            (kept.samples, kept.bytes) = (HashMap::new(), 0);
        }
        kept.bytes += bytes;
        if let Some((_, before)) = kept.samples.insert(sample, (basis, facts)) {
            kept.bytes -= before.bytes();
        }
    }
}

impl Workspace {
    /// The request of an experiment. `None` if somebody has deleted it.
    pub(super) fn original_of(&self, request: &str) -> Result<Option<OriginalRun>, Fault> {
        let row = match self.request(request) {
            Ok(row) => row,
            Err(Fault::NotFound { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let is_as_it_was = |known: &&OriginalRun| (known.row.last_seq, known.row.status) == (row.last_seq, row.status);
        if let Some(known) = lock(&self.known_samples.kept).originals.get(request).filter(is_as_it_was) {
            return Ok(Some(known.clone()));
        }
        let read = self.read_run_of(row)?;
        let codes = Arc::new(codes(&read));
        let original = OriginalRun { row: read.row, end: Arc::new(read.end), codes };
        let mut kept = lock(&self.known_samples.kept);
        if kept.originals.len() >= MAX_ORIGINALS {
            kept.originals.clear();
        }
        kept.originals.insert(request.to_owned(), original.clone());
        Ok(Some(original))
    }

    /// What the log of a sample says of it; the log is read only if that is not known.
    pub(super) fn facts(&self, row: RequestRow, original: Option<&OriginalRun>) -> Result<Arc<SampleFacts>, Fault> {
        let basis = basis(&row, original);
        let known = lock(&self.known_samples.kept);
        if let Some((_, facts)) = known.samples.get(&row.id).filter(|(known, _)| *known == basis) {
            return Ok(facts.clone());
        }
        drop(known);
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
            calls: self.calls(&read),
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
