//! Maps events and attempts of a replay to those of the recording. A replay runs only the attempts of a block that
//! count, and numbers them from 0.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
use engine::views::replay_order::ReplayOrder;
use script::Execution;

use crate::core::fault::Fault;

/// A block, and which of its attempts that count, from 0.
type Counted = (Option<Arc<str>>, u32);

/// The recorded events of a request, by blocks.
pub(super) struct RecordedSeq {
    /// The recorded numbers of each attempt's events, with their times.
    recorded: HashMap<Counted, Vec<(Seq, i64)>>,
    /// Of each event of the replay, in order: its number, its attempt, and how many that one had before it.
    replayed: Vec<(Seq, Counted, usize)>,
    /// The recorded events with their times, if the numbers are theirs.
    own: Vec<(Seq, i64)>,
}

/// The attempts of blocks, as recorded and as a replay counts them.
#[derive(Default)]
pub(super) struct RecordedAttempts {
    recorded: HashMap<(Arc<str>, u32), u32>,
    counted: HashMap<(Arc<str>, u32), u32>,
}

impl RecordedAttempts {
    pub(super) fn read(events: &[Event]) -> RecordedAttempts {
        let order = ReplayOrder::read(events);
        let mut attempts = RecordedAttempts::default();
        for event in events {
            if let (Some(path), Some(place)) = (&event.path, order.place_to_end(event)) {
                attempts.recorded.insert((path.clone(), place as u32), event.attempt);
                attempts.counted.entry((path.clone(), event.attempt)).or_insert(place as u32);
            }
        }
        attempts
    }

    /// Gives an execution of a replay the number that the recording has for it.
    pub(super) fn name_recorded(&self, execution: &mut Execution) {
        if let Some(recorded) = self.recorded.get(&(execution.path.clone(), execution.attempt)) {
            execution.attempt = *recorded;
        }
    }

    /// Gives a recorded execution the number that a replay has for it. Fails if it was cut off and another one counts.
    pub(super) fn name_counted(&self, execution: &mut Execution) -> Result<(), Fault> {
        let Execution { path, attempt } = execution;
        let counted = self.counted.get(&(path.clone(), *attempt)).ok_or_else(|| {
            let counting: Vec<String> =
                self.counted.keys().filter(|(known, _)| known == path).map(|(_, other)| other.to_string()).collect();
            Fault::refused(format!(
                "attempt {attempt} of block {path} was cut off, and what it did is not run again; ask attempt {}",
                counting.join(", ")
            ))
        })?;
        *attempt = *counted;
        Ok(())
    }
}

impl RecordedSeq {
    pub(super) fn new(recorded: &[Event], replayed: &[Event]) -> RecordedSeq {
        let order = ReplayOrder::read(recorded);
        let mut known: HashMap<Counted, Vec<(Seq, i64)>> = HashMap::new();
        // Questions were recorded by attempts that waited, and a replay asks them in the attempts that count.
        let is_question =
            |event: &&Event| matches!(event.kind, EventKind::Suspended(_) | EventKind::SuspensionResolved(_));
        for event in recorded.iter().filter(|event| !is_question(event)) {
            let place = order.place_to_end(event).map_or(event.attempt, |place| place as u32);
            if event.path.is_none() || order.place_to_end(event).is_some() {
                known.entry((event.path.clone(), place)).or_default().push((event.seq, event.at));
            }
        }
        let mut counts: HashMap<Counted, usize> = HashMap::new();
        let place = |event: &Event| {
            let attempt = (event.path.clone(), event.attempt);
            let count = counts.entry(attempt.clone()).or_default();
            *count += 1;
            (event.seq, attempt, *count - 1)
        };
        let replayed = replayed.iter().filter(|event| !is_question(event)).map(place).collect();
        RecordedSeq { recorded: known, replayed, own: Vec::new() }
    }

    /// Leaves the numbers of recorded events as they are.
    pub(super) fn as_recorded(recorded: &[Event]) -> RecordedSeq {
        let own = recorded.iter().map(|event| (event.seq, event.at)).collect();
        RecordedSeq { recorded: HashMap::new(), replayed: Vec::new(), own }
    }

    /// Returns the recorded event of an event of the replay, and its time. If the recording lacks the event, returns
    /// that of the newest earlier event that it has.
    pub(super) fn of(&self, seq: Seq) -> (Seq, i64) {
        if let Ok(at) = self.own.binary_search_by_key(&seq, |(own, _)| *own) {
            return self.own[at];
        }
        let end = self.replayed.partition_point(|(known, ..)| *known <= seq);
        let known = |(_, attempt, nth): &(Seq, Counted, usize)| self.recorded.get(attempt)?.get(*nth).copied();
        self.replayed[..end].iter().rev().find_map(known).unwrap_or((1, 0))
    }
}
