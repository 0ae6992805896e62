//! What this process knows of samples that have ended, so that an experiment which is read again and again reads only
//! the logs that are not known yet. Must not know the workspace that reads them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use engine::event::{RequestStatus, Seq};
use serde_json::Value;

use crate::core::sync::lock;
use crate::views::{RequestRow, SampleDiffers, SampleUsage};
use crate::workspace::experiment::statistics::{Interval, median, resampled};

/// How many bytes the outputs of known samples take together, before all are forgotten.
const MAX_BYTES: usize = 64 << 20;
/// What a sample takes besides its output, about.
const BYTES: usize = 1_000;
/// How many requests of experiments are known.
const MAX_ORIGINALS: usize = 8;
/// How many intervals are known.
const MAX_INTERVALS: usize = 10_000;

/// The end of a run, as samples are compared by it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) status: RequestStatus,
    pub(crate) output: Option<Value>,
    pub(crate) error: Option<(String, String)>,
    pub(crate) state: Value,
}

impl End {
    /// What of it is not as another run ended.
    pub(crate) fn differs(&self, other: &End) -> SampleDiffers {
        let outcome = |end: &End| (end.status, end.output.clone(), end.error.clone());
        SampleDiffers { output: outcome(self) != outcome(other), state: self.state != other.state }
    }
}

/// What a run asked of models, and what that cost in US dollars.
#[derive(Clone, Debug)]
pub(crate) struct Used {
    pub(crate) usage: SampleUsage,
    pub(crate) cost: Option<f64>,
    /// Of answers that another sample has paid for.
    pub(crate) shared_cost: Option<f64>,
    /// What the run paid for itself and has a price.
    pub(crate) paid_usd: f64,
}

/// What the log of a sample says of it.
#[derive(Debug)]
pub(crate) struct SampleFacts {
    pub(crate) output: Option<Value>,
    pub(crate) used: Used,
    pub(crate) duration_ms: i64,
    /// What of its end is not as the request's. Nothing if the request is gone.
    pub(crate) differs: SampleDiffers,
    /// The versions of the code that it ran itself.
    pub(crate) codes: Vec<String>,
}

impl SampleFacts {
    /// How many bytes it takes, about.
    fn bytes(&self) -> usize {
        let output = self.output.as_ref().map_or(0, |output| output.to_string().len());
        output + BYTES
    }
}

/// The request whose forks are compared.
#[derive(Clone)]
pub(crate) struct OriginalRun {
    pub(crate) row: RequestRow,
    pub(crate) end: Arc<End>,
    /// The versions of the code that it ran.
    pub(crate) codes: Arc<Vec<String>>,
}

/// What the facts of a sample depend on: its last event, and how the request stands that it is compared with.
pub(crate) type Basis = (Seq, Option<(Seq, RequestStatus)>);

/// What this process knows of samples.
#[derive(Default)]
pub(crate) struct KnownSamples {
    kept: Mutex<Kept>,
    readings: AtomicU64,
    whole_logs: AtomicU64,
    evaluations: AtomicU64,
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
    pub(crate) fn count_reading(&self) {
        self.readings.fetch_add(1, Ordering::Relaxed);
    }

    /// How many logs of runs were read.
    #[cfg(test)]
    pub(crate) fn readings(&self) -> u64 {
        self.readings.load(Ordering::Relaxed)
    }

    /// Counts that the whole log of a request is read.
    pub(crate) fn count_whole_log(&self) {
        self.whole_logs.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts that the code of an arm is evaluated before it runs.
    pub(crate) fn count_evaluation(&self) {
        self.evaluations.fetch_add(1, Ordering::Relaxed);
    }

    /// How many whole logs were read, and how often code was evaluated before it ran.
    #[cfg(test)]
    pub(crate) fn preparations(&self) -> (u64, u64) {
        (self.whole_logs.load(Ordering::Relaxed), self.evaluations.load(Ordering::Relaxed))
    }

    /// The interval of the median of some values.
    pub(crate) fn interval_of(&self, values: &[f64]) -> Option<Interval> {
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

    /// The request with an id, if it is known as its row says that it is now.
    pub(crate) fn original(&self, row: &RequestRow) -> Option<OriginalRun> {
        let kept = lock(&self.kept);
        let known = kept.originals.get(&row.id)?;
        ((known.row.last_seq, known.row.status) == (row.last_seq, row.status)).then(|| known.clone())
    }

    /// Keeps the request of an experiment.
    pub(crate) fn insert_original(&self, original: OriginalRun) {
        let mut kept = lock(&self.kept);
        if kept.originals.len() >= MAX_ORIGINALS {
            kept.originals.clear();
        }
        kept.originals.insert(original.row.id.clone(), original);
    }

    /// What is known of a sample, if that rests on this.
    pub(crate) fn facts(&self, sample: &str, basis: &Basis) -> Option<Arc<SampleFacts>> {
        let kept = lock(&self.kept);
        kept.samples.get(sample).filter(|(known, _)| known == basis).map(|(_, facts)| facts.clone())
    }

    /// Keeps what the log of a sample says.
    pub(crate) fn insert(&self, sample: String, basis: Basis, facts: Arc<SampleFacts>) {
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
