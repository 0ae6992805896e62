//! Which recorded event one of a replay stands for: the same event of the same attempt of the same block.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, Seq};

type Attempt = (Option<Arc<str>>, u32);

/// The recorded events of a request, by blocks.
pub(super) struct RecordedSeq {
    /// The recorded numbers of each attempt's events, with their times.
    recorded: HashMap<Attempt, Vec<(Seq, i64)>>,
    /// The newest attempt of each path.
    newest: HashMap<Arc<str>, u32>,
    /// Of each event of the replay, in order: its number, its attempt, and how many that one had before it.
    replayed: Vec<(Seq, Attempt, usize)>,
}

impl RecordedSeq {
    pub(super) fn new(recorded: &[Event], replayed: &[Event]) -> RecordedSeq {
        let mut known: HashMap<Attempt, Vec<(Seq, i64)>> = HashMap::new();
        let mut newest = HashMap::new();
        for event in recorded {
            known.entry((event.path.clone(), event.attempt)).or_default().push((event.seq, event.at));
            if let Some(path) = &event.path {
                newest.insert(path.clone(), event.attempt);
            }
        }
        let mut counts: HashMap<Attempt, usize> = HashMap::new();
        let place = |event: &Event| {
            let attempt = (event.path.clone(), event.attempt);
            let count = counts.entry(attempt.clone()).or_default();
            *count += 1;
            (event.seq, attempt, *count - 1)
        };
        let replayed = replayed.iter().map(place).collect();
        RecordedSeq { recorded: known, newest, replayed }
    }

    /// Returns the recorded event that stands for the newest one of a replay, and its time. An event that the recording
    /// does not have stands for the one before it.
    pub(super) fn of(&self, seq: Seq) -> (Seq, i64) {
        let end = self.replayed.partition_point(|(known, ..)| *known <= seq);
        let known = |(_, attempt, nth): &(Seq, Attempt, usize)| {
            let of_attempt = self.recorded.get(attempt).or_else(|| {
                let path = attempt.0.as_ref()?;
                self.recorded.get(&(attempt.0.clone(), *self.newest.get(path)?))
            });
            of_attempt?.get(*nth).copied()
        };
        self.replayed[..end].iter().rev().find_map(known).unwrap_or((1, 0))
    }

    /// Returns the number that the recording has for an attempt of a replay.
    pub(super) fn attempt(&self, path: &Arc<str>, attempt: u32) -> u32 {
        if self.recorded.contains_key(&(Some(path.clone()), attempt)) {
            return attempt;
        }
        self.newest.get(path).copied().unwrap_or(attempt)
    }
}
