//! The values that the code of a block had when it made a value, newest first: its input, answers of persons and
//! models, other replies, and in a chain the output of the previous step.
//!
//! Must not decide which of several equal values the code used.

use std::collections::HashSet;

use engine::event::BlockKind;
use serde_json::Value;

use super::near::{field_of, given_around, is_given, last_inside, named, output_of};
use super::pointer;
use super::record::NO_EXECUTION;
use super::spot::Spot;
use crate::views::WhyPlace;

/// How many of the newest values of a kind are compared.
const MAX_OF_KIND: usize = 16;
/// How many answers of models are compared.
const MAX_ANSWERS: usize = 4;
/// How many places with a value are counted.
const MAX_COUNTED: u64 = 1_000;
/// How many of these places are returned.
const MAX_PLACES: usize = 4;

/// Earlier values by the numbers of their records, newest first.
#[derive(Default)]
pub(super) struct Had {
    /// The values that the code had directly.
    own: Vec<usize>,
    /// The values that a chain had before its last step, of which only the output is passed on.
    earlier: Vec<usize>,
}

impl Had {
    /// All of them.
    pub(super) fn all(self) -> impl Iterator<Item = usize> {
        self.own.into_iter().chain(self.earlier)
    }

    fn tiers(self) -> [Vec<usize>; 2] {
        [self.own, self.earlier]
    }
}

/// Returns the values that the code of a value's block had.
pub(super) fn had(spot: &Spot) -> Had {
    let (log, record) = (&spot.log, spot.record());
    let Some(own) = log.executions.get(record.execution as usize) else { return Had::default() };
    let is_given = record.place == WhyPlace::Input && is_given(log, &record);
    let is_chain = record.place == WhyPlace::Output && matches!(own.kind, BlockKind::Sequencer | BlockKind::Router);
    // The parent block made an input.
    let (maker, last) = if is_given {
        (own.parent, last_inside(log, own.parent, own.start, Some(record.execution)))
    } else {
        let last = is_chain.then(|| last_inside(log, record.execution, record.seq, None));
        (record.execution, last.flatten())
    };
    let last = last.and_then(|at| output_of(log, at));
    let is_earlier = |at: &usize| log.records[*at].seq < record.seq;
    let of = |place: WhyPlace, most: usize| {
        let newest_first = log.records_at(maker, place).into_iter().rev();
        newest_first.filter(is_earlier).take(most)
    };
    let mut all: Vec<usize> = Vec::new();
    if is_given {
        all.extend(given_around(log, maker).filter(is_earlier));
    } else {
        all.extend(of(WhyPlace::Input, MAX_OF_KIND));
    }
    // An answer counts where the function asks, after its input, even if it was given before a later attempt began.
    let begun = all.iter().max().copied().unwrap_or_default();
    let answers: Vec<usize> = if maker == NO_EXECUTION {
        Vec::new()
    } else {
        log.answers_to(maker).rev().filter(is_earlier).take(MAX_OF_KIND).collect()
    };
    if maker != NO_EXECUTION {
        all.extend(of(WhyPlace::Reply, MAX_OF_KIND));
        if record.place != WhyPlace::Prompt {
            all.extend(of(WhyPlace::ModelAnswer, MAX_ANSWERS));
        }
    }
    all.extend(last.filter(is_earlier));
    let mut all: Vec<(usize, usize)> = all.into_iter().map(|at| (at, at)).collect();
    all.extend(answers.into_iter().map(|at| (at.max(begun + 1), at)));
    all.sort_unstable_by(|one, other| other.cmp(one));
    let (own, earlier): (Vec<_>, Vec<_>) = all.into_iter().partition(|(got, _)| last.is_none_or(|last| *got >= last));
    let records = |all: Vec<(usize, usize)>| all.into_iter().map(|(_, at)| at).collect();
    Had { own: records(own), earlier: records(earlier) }
}

/// Returns up to `most` equal fields among the values that the code of a block had, nearest first. Of each value it
/// returns one field: the one at the same place, or else the one of the same name.
pub(super) fn same_fields(spot: &Spot, most: usize) -> Vec<Spot> {
    let log = &spot.log;
    let Some(value) = spot.value() else { return Vec::new() };
    let name = field_of(spot);
    let of = |at: usize| {
        let whole = log.value(&log.records[at])?;
        let is_there = !spot.pointer.is_empty() && pointer::find(&whole, &spot.pointer).ok() == Some(&*value);
        let pointer = if is_there { spot.pointer.clone() } else { named(&whole, name.as_deref()?, &value)? };
        Some(Spot { record: at, pointer, ..spot.clone() })
    };
    let mut tiers = had(spot).tiers().into_iter();
    tiers
        .find_map(|tier| Some(distinct(tier.into_iter().filter_map(of), most)).filter(|found| !found.is_empty()))
        .unwrap_or_default()
}

/// Drops values that refer to one earlier in the list.
fn distinct(found: impl Iterator<Item = Spot>, most: usize) -> Vec<Spot> {
    let mut seen = HashSet::new();
    found.filter(|of| seen.insert((of.log.source_of(of.record), of.pointer.clone()))).take(most).collect()
}

/// Returns the first places with a value among the values that the code of a block had, and how many there are.
pub(super) fn places(spot: &Spot) -> (Vec<Spot>, u64) {
    let log = &spot.log;
    let Some(value) = spot.value() else { return (Vec::new(), 0) };
    for tier in had(spot).tiers() {
        let (mut found, mut count, mut seen) = (Vec::new(), 0, HashSet::new());
        for at in tier {
            let Some(whole) = log.value(&log.records[at]).filter(|_| seen.insert(log.source_of(at))) else { continue };
            within(&whole, &value, &mut String::new(), &mut |pointer| {
                count += 1;
                if found.len() < MAX_PLACES {
                    found.push(Spot { record: at, pointer: pointer.to_owned(), ..spot.clone() });
                }
                count < MAX_COUNTED
            });
        }
        if count > 0 {
            return (found, count);
        }
    }
    (Vec::new(), 0)
}

/// Calls `found` with the pointer to each part of a value that equals another, until it returns `false`.
fn within(here: &Value, wanted: &Value, pointer: &mut String, found: &mut dyn FnMut(&str) -> bool) -> bool {
    if here == wanted {
        return found(pointer);
    }
    let len = pointer.len();
    let mut inner = |segment: &str, item: &Value| {
        pointer::push(pointer, segment);
        let goes_on = within(item, wanted, pointer, found);
        pointer.truncate(len);
        goes_on
    };
    match here {
        Value::Array(items) => items.iter().enumerate().all(|(at, item)| inner(&at.to_string(), item)),
        Value::Object(fields) => fields.iter().all(|(key, item)| inner(key, item)),
        _ => true,
    }
}

/// Whether a value is so common (`1`, `true`) that an equal value may be a coincidence.
pub(super) fn is_common(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => true,
        Value::Number(number) => number.to_string().len() < 2,
        Value::String(text) => text.len() < 2,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_for_equal_parts_stops_at_the_limit() {
        let whole = serde_json::json!({ "a": "yes", "b": ["no", { "c/d": "yes" }], "e": "yes" });
        let found = |most: usize| {
            let mut all = Vec::new();
            within(&whole, &"yes".into(), &mut String::new(), &mut |pointer| {
                all.push(pointer.to_owned());
                all.len() < most
            });
            all
        };
        assert_eq!(found(9), ["/a", "/b/1/c~1d", "/e"]);
        assert_eq!(found(2), ["/a", "/b/1/c~1d"]);
    }
}
