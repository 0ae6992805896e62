//! Which of the earlier values with the same content is the nearest cause.
//!
//! Of several, what the block itself got counts first, then what the log hands on, then what is newest. Items come
//! last: they show values, and hand on none but in the history of a session. Must not claim that the value went this
//! way: that is for what the log says.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;

use super::cover::{Piece, Rank, Ranked, cover};
use super::index::{AS_JSON, Use, is_short};
use super::log::RequestLog;
use super::pointer;
use super::record::{NO_EXECUTION, Record, is_from_outside};
use super::spot::{Span, Spot};
use super::structure::maker;
use crate::views::{WhyPlace, WhySpot};

/// So many of the newest uses of a value are compared.
const MAX_RANKED: usize = 64;
/// So many of the newest uses of a value are counted.
const MAX_COUNTED: usize = 10_000;
/// So many other values with the same content are named.
const MAX_TIES: usize = 3;
/// From this class on, a value may be handed on: an item only shows it.
const HANDS_ON: u8 = 3;
/// From this class on, a value is what its block itself got.
const OWN: u8 = 6;

/// What looks for causes: executions that were given up count if the question is about them.
#[derive(Default)]
pub(super) struct Causes {
    /// Executions that count although they were given up, by their request.
    pub(super) asked: HashSet<(String, u32)>,
    /// What comparing texts cost, in bytes.
    pub(super) work: u64,
}

/// An earlier value with the same content.
pub(super) struct Cause {
    pub(super) spot: Spot,
    pub(super) is_json: bool,
    /// How many other values have the same content.
    pub(super) others: u64,
    /// Those of them that may be the cause as well, the likeliest first.
    pub(super) ties: Vec<WhySpot>,
    /// Whether the block itself got it, or the log says that it is the cause.
    pub(super) is_own: bool,
}

impl Cause {
    /// A cause by the log or by the structure of the run.
    pub(super) fn known(spot: Spot) -> Cause {
        Cause { spot, is_json: false, others: 0, ties: Vec::new(), is_own: true }
    }

    /// The nearest cause, where others are as likely by the structure of the run.
    pub(super) fn tied(spot: Spot, others: u64, ties: Vec<WhySpot>) -> Cause {
        Cause { others, ties, ..Cause::known(spot) }
    }

    /// Whether the block itself got it, other than by a state that it sees.
    pub(super) fn is_got(&self) -> bool {
        self.is_own && self.spot.record().place != WhyPlace::State
    }
}

/// A part of a text and the earlier value that has it.
pub(super) struct PartCause {
    /// Where the part is in the text.
    pub(super) span: Span,
    pub(super) cause: Cause,
}

impl Causes {
    fn counts(&self, log: &RequestLog, record: &Record) -> bool {
        record.counts
            || record.execution != NO_EXECUTION && self.asked.contains(&(log.row.id.clone(), record.execution))
    }

    fn rank(of: &Asker, at: u32, record: &Record) -> Rank {
        let is_own = of.record.execution != NO_EXECUTION && of.record.execution == record.execution;
        let class = match record.place {
            _ if of.inputs.iter().any(|(_, source)| *source == at as usize) => OWN,
            WhyPlace::Item | WhyPlace::Journal => 1,
            place if is_own && is_from_outside(place) => 7,
            WhyPlace::Person if of.answers.binary_search(&(at as usize)).is_ok() => of.class_of_answers,
            WhyPlace::Output | WhyPlace::Error if of.record.place == WhyPlace::Input => 5,
            WhyPlace::State if !is_own => 4,
            _ => HANDS_ON,
        };
        (class, record.seq)
    }

    fn best(&self, log: &RequestLog, of: &Asker, uses: impl DoubleEndedIterator<Item = Use>) -> Option<(Use, Rank)> {
        let counting = uses.rev().take(MAX_COUNTED).filter(|one| self.counts(log, &log.records[one.record as usize]));
        let rank = |one: Use| Self::rank(of, one.record, &log.records[one.record as usize]);
        let ranked = counting.take(MAX_RANKED).map(|one| (one, rank(one)));
        // The first of equals is the newest. In one record the outermost value counts, and its JSON last.
        ranked.reduce(|best, one| {
            let is_better = one.1 > best.1 || one.1 == best.1 && one.0.record == best.0.record;
            if is_better { one } else { best }
        })
    }

    /// How many other values have the content of the best one, which is one of `alike` in its record; and where those
    /// are that may be the cause as well.
    fn others(
        &self,
        log: &Arc<RequestLog>,
        of: &Asker,
        uses: impl DoubleEndedIterator<Item = Use>,
        (best, alike): (Use, &[Use]),
    ) -> (u64, Vec<WhySpot>) {
        let counting = uses.rev().take(MAX_COUNTED).filter(|one| self.counts(log, &log.records[one.record as usize]));
        // By record: the outermost value, with the rank.
        let mut records: HashMap<u32, (Rank, Use)> = HashMap::new();
        for one in counting.filter(|one| one.record != best.record) {
            let rank = Self::rank(of, one.record, &log.records[one.record as usize]);
            let known = records.entry(one.record).or_insert((rank, one));
            if one.node < known.1.node {
                known.1 = one;
            }
        }
        let count = records.len() as u64 + (alike.len() as u64).saturating_sub(1);
        let mut others: Vec<(Rank, Use)> = records.into_values().filter(|((class, _), _)| *class >= HANDS_ON).collect();
        others.sort_by_key(|(rank, _)| Reverse(*rank));
        let in_record = alike.iter().filter(|one| **one != best).copied();
        let ties = in_record.chain(others.into_iter().map(|(_, one)| one)).take(MAX_TIES);
        let spot = |one: Use| {
            let mut spot = Spot::of_use(log, one)?;
            spot.record = of.nearest(spot.record);
            Some(WhySpot { as_json: one.node == AS_JSON, ..spot.view() })
        };
        (count, ties.filter_map(spot).collect())
    }

    /// Of the same content at several places of one record, the place with the name that is looked for, or else the
    /// first; and all of them.
    fn named_like(log: &RequestLog, best: Use, uses: impl Iterator<Item = Use>, wanted: &str) -> (Use, Vec<Use>) {
        let in_record = uses.filter(|one| one.record == best.record && one.node != AS_JSON);
        let alike: Vec<Use> = in_record.take(MAX_RANKED).collect();
        if best.node == AS_JSON || alike.len() < 2 {
            return (best, Vec::new());
        }
        let name = wanted.rsplit('/').next().filter(|_| !wanted.is_empty());
        let value = log.value(&log.records[best.record as usize]);
        let is_named = |one: &&Use| {
            let pointer = value.as_ref().and_then(|value| pointer::of_node(value, one.node));
            pointer.is_some_and(|pointer| pointer.rsplit('/').next() == name)
        };
        let named = name.and_then(|_| alike.iter().find(is_named)).copied();
        (named.unwrap_or(best), alike)
    }

    /// The nearest earlier value that equals this one, which is at a spot.
    pub(super) fn of_value(&self, spot: &Spot, value: &Value) -> Option<Cause> {
        if is_short(value) {
            return None;
        }
        let log = &spot.log;
        let of = Asker::new(spot);
        let before = of.before;
        let found: Vec<Use> = match value {
            Value::String(text) => {
                let id = log.index.find_text(text)?;
                log.index.uses(id, before).iter().map(|(_, one)| *one).filter(|one| one.node != AS_JSON).collect()
            }
            value => log.index.find_value(value, before).iter().map(|(_, one)| *one).collect(),
        };
        let (best, (class, _)) = self.best(log, &of, found.iter().copied())?;
        let (best, alike) = Self::named_like(log, best, found.iter().copied(), &spot.pointer);
        let mut cause = Spot::of_use(log, best)?;
        // Values are found by their hashes.
        if cause.value().as_deref() != Some(value) {
            return None;
        }
        cause.record = of.nearest(cause.record);
        let (others, ties) = self.others(log, &of, found.iter().copied(), (best, &alike));
        Some(Cause { spot: cause, is_json: false, others, ties, is_own: class >= OWN })
    }

    /// The parts of a text, or of a span of it, that earlier values contain.
    pub(super) fn of_text(&mut self, spot: &Spot, text: &str) -> Vec<PartCause> {
        let log = spot.log.clone();
        let of = Asker::new(spot);
        let before = of.before;
        let mut work = 0;
        let rank = |id: u32| {
            let uses = log.index.uses(id, before).iter().map(|(_, one)| *one);
            let (best, rank) = self.best(&log, &of, uses)?;
            Some(Ranked { rank, is_json: best.node == AS_JSON })
        };
        let pieces = cover(&log.index, text, before, &mut work, rank);
        self.work += work;
        let (from, to) = spot.span.unwrap_or((0, text.len()));
        let inside = pieces.into_iter().filter_map(|piece| {
            let start = piece.from.max(from);
            let end = piece.to.min(to);
            (start < end).then(|| Piece { from: start, to: end, at: piece.at + (start - piece.from), ..piece })
        });
        inside.filter_map(|piece| self.part(&log, &of, piece, &spot.pointer)).collect()
    }

    fn part(&self, log: &Arc<RequestLog>, of: &Asker, piece: Piece, wanted: &str) -> Option<PartCause> {
        let uses = || log.index.uses(piece.text, of.before).iter().map(|(_, one)| *one);
        let (best, (class, _)) = self.best(log, of, uses())?;
        let (best, alike) = Self::named_like(log, best, uses(), wanted);
        let mut spot = Spot::of_use(log, best)?;
        spot.record = of.nearest(spot.record);
        spot.span = Some((piece.at, piece.at + (piece.to - piece.from)));
        let is_json = best.node == AS_JSON;
        let (others, ties) = self.others(log, of, uses(), (best, &alike));
        let cause = Cause { spot, is_json, others, ties, is_own: class >= OWN };
        Some(PartCause { span: (piece.from, piece.to), cause })
    }
}

/// The first model call of a block, if its prompt has the same at the place of a message: what the model answered to it
/// is no cause of what it was asked.
fn first_asked(spot: &Spot) -> Option<Record> {
    let record = spot.record();
    if record.place != WhyPlace::Prompt || record.execution == NO_EXECUTION {
        return None;
    }
    let mut segments = pointer::segments(&spot.pointer).into_iter();
    let number = (segments.next()? == "messages").then(|| segments.next())??.parse().ok()?;
    let log = &spot.log;
    let first = log.first_at(record.execution, WhyPlace::Prompt).filter(|first| *first < spot.record)?;
    log.has_same_message(first, spot.record, number).then(|| log.records[first])
}

/// The record that a cause is looked for.
struct Asker {
    record: Record,
    /// The first record that is not before its event.
    before: u32,
    /// The inputs of its execution, each with the record that has its value: an input often refers to an output.
    inputs: Vec<(usize, usize)>,
    /// The answers of persons to the block that made it, and their class.
    answers: Vec<usize>,
    class_of_answers: u8,
}

impl Asker {
    fn new(spot: &Spot) -> Asker {
        let (log, record) = (&spot.log, spot.record());
        let before = log.records_of(first_asked(spot).unwrap_or(record).seq).start;
        let inputs = match record.execution {
            NO_EXECUTION => Vec::new(),
            execution => log.records_at(execution, WhyPlace::Input),
        };
        let earlier = inputs.into_iter().filter(|at| *at < before);
        let inputs = earlier.map(|at| (at, log.source_of(at))).collect();
        let maker = maker(log, &record);
        let answers = if maker == NO_EXECUTION { Vec::new() } else { log.answers_to(maker).collect() };
        // What a chain got is as near to the input of its next block as the output of a step.
        let class_of_answers = if maker == record.execution { 7 } else { 5 };
        Asker { record, before: before as u32, inputs, answers, class_of_answers }
    }

    /// The input of the execution itself in place of the value that it refers to.
    fn nearest(&self, record: usize) -> usize {
        self.inputs.iter().rfind(|(_, source)| *source == record).map_or(record, |(input, _)| *input)
    }
}
