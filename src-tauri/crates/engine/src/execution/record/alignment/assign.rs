//! Which of today's operations the recorded operations of one group (`map`, or `step:charge`, of one chain) are.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Code;
use crate::model::event::Seq;
use crate::model::flow::{Each, Operation, Step};

/// What the log has of one operation.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedOperation {
    /// The fingerprints of its functions, by their roles.
    pub(super) functions: BTreeMap<String, BTreeSet<Arc<str>>>,
    /// The names and fingerprints of its blocks, by their keys.
    pub(super) blocks: BTreeMap<String, (Arc<str>, Arc<str>)>,
    /// Its first event.
    first: Option<Seq>,
    /// Whether anything of it ran.
    has_run: bool,
    /// Whether a resume took anything of it from the log.
    was_memoized: bool,
    /// Whether a block of it has not ended.
    is_open: bool,
}

impl RecordedOperation {
    /// Adds a block or a callback of the operation: its first event, whether a resume took it from the log, and
    /// whether it has ended.
    pub(super) fn add(&mut self, first: Seq, is_memoized: bool, has_ended: bool) {
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
        self.was_memoized |= is_memoized;
        self.has_run |= !is_memoized;
        self.is_open |= !has_ended;
    }

    /// Returns whether a step of today has every recorded source.
    fn matches(&self, step: &Step) -> bool {
        let functions = step.operation.functions();
        let has = |role: &str, wanted: &Arc<str>| {
            let of_role = functions.iter().filter(|(known, _)| *known == role);
            of_role.into_iter().any(|(_, function)| function.fingerprint().as_ref() == Some(wanted))
        };
        let is_from_factory = is_from_factory(&step.operation);
        let blocks = step.operation.blocks_by_key();
        let same = |key: &str, name: &Arc<str>, wanted: &Arc<str>| {
            // The blocks of a factory do not exist yet.
            is_from_factory
                || blocks.iter().any(|(known, block)| {
                    known == key && block.name == *name && block.fingerprint().as_ref() == Some(wanted)
                })
        };
        self.functions.iter().all(|(role, wanted)| wanted.iter().all(|wanted| has(role, wanted)))
            && self.blocks.iter().all(|(key, (name, wanted))| same(key, name, wanted))
    }

    /// Returns whether two records have the same source in all parts that both have, and at least one such part.
    fn has_same_source(&self, other: &RecordedOperation) -> bool {
        let mut has_common = false;
        for (role, sources) in &self.functions {
            let Some(others) = other.functions.get(role) else { continue };
            if sources.is_disjoint(others) {
                return false;
            }
            has_common = true;
        }
        for (key, block) in &self.blocks {
            let Some(others) = other.blocks.get(key) else { continue };
            if block != others {
                return false;
            }
            has_common = true;
        }
        has_common
    }
}

fn is_from_factory(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::ForEach { each: Each::Factory(_), .. } | Operation::ForEachBackground { each: Each::Factory(_), .. }
    )
}

/// The numbers that recorded operations of a chain have today; `None` for one that was removed.
pub(super) struct ChainNumbers {
    groups: HashSet<String>,
    moved: BTreeMap<String, BTreeMap<u32, Option<u32>>>,
}

impl ChainNumbers {
    /// Returns unchanged numbers, for a chain that has these groups today.
    pub(super) fn of(groups: &HashSet<&str>) -> ChainNumbers {
        ChainNumbers { groups: groups.iter().map(|group| (*group).to_owned()).collect(), moved: BTreeMap::new() }
    }

    pub(super) fn insert(&mut self, group: &str, numbers: BTreeMap<u32, Option<u32>>) {
        self.moved.insert(group.to_owned(), numbers);
    }

    pub(super) fn has_group(&self, group: &str) -> bool {
        self.groups.contains(group)
    }

    /// Returns the number of an operation today, where it differs: `Some(None)` for a removed one.
    pub(super) fn today(&self, group: &str, number: u32) -> Option<Option<u32>> {
        self.moved.get(group)?.get(&number).copied().filter(|now| *now != Some(number))
    }

    /// Returns the first operation whose number differs: its group, its old number, and its new one if it has one.
    pub(super) fn first_moved(&self) -> Option<(String, u32, Option<u32>)> {
        let all =
            self.moved.iter().flat_map(|(group, numbers)| numbers.iter().map(move |(was, is)| (group, *was, *is)));
        let mut moved = all.filter(|(_, was, is)| *is != Some(*was));
        moved.next().map(|(group, was, is)| (group.clone(), was, is))
    }
}

/// The numbers of records, and of today's operations, that are ambiguous: they have the same source.
pub(super) type Ambiguous = (Vec<u32>, Vec<u32>);

/// A recorded operation that has no place in today's code yet.
struct UnplacedRecord {
    /// The number it was recorded with.
    was: u32,
    /// Its number in the newest code that the log tells of.
    number: u32,
    recorded: RecordedOperation,
    /// Today's operations with the same source.
    alike: BTreeSet<u32>,
}

/// Returns today's numbers for the records of each other version of the code. `by_code` is ordered, oldest first.
pub(super) fn assign_group(
    by_code: &[(Code, &BTreeMap<u32, RecordedOperation>)],
    now: &BTreeMap<u32, &Step>,
    today: Option<Code>,
) -> Result<HashMap<Code, BTreeMap<u32, Option<u32>>>, Ambiguous> {
    let mut sought: Vec<(Code, Vec<UnplacedRecord>)> = Vec::new();
    for (at, (code, records)) in by_code.iter().enumerate().filter(|(_, (code, _))| Some(*code) != today) {
        let follow =
            |(number, recorded): (&u32, &RecordedOperation)| follow(by_code, at, *number, recorded, now, today);
        sought.push((*code, records.iter().map(follow).collect()));
    }
    // A place whose source was found gets no other record, and neither does one that today's code ran itself before.
    let known: BTreeSet<u32> =
        sought.iter().flat_map(|(_, all)| all).flat_map(|one| one.alike.iter().copied()).collect();
    let of_today = by_code.iter().find(|(code, _)| Some(*code) == today).map(|(_, records)| *records);
    let is_known = |one: &UnplacedRecord| {
        let own = of_today.and_then(|records| records.get(&one.number)).filter(|own| own.has_run);
        known.contains(&one.number) || own.is_some_and(|own| own.first < one.recorded.first)
    };
    let mut settled = HashMap::new();
    for (code, sought) in sought {
        settled.insert(code, assign(sought, now, is_known)?.into_iter().collect());
    }
    Ok(settled)
}

/// Follows a record through later versions of the code: a version that took it from the log recorded its number and
/// its source in that version.
fn follow(
    by_code: &[(Code, &BTreeMap<u32, RecordedOperation>)],
    at: usize,
    number: u32,
    recorded: &RecordedOperation,
    now: &BTreeMap<u32, &Step>,
    today: Option<Code>,
) -> UnplacedRecord {
    let alike = |recorded: &RecordedOperation| -> BTreeSet<u32> {
        now.iter().filter(|(_, step)| recorded.matches(step)).map(|(number, _)| *number).collect()
    };
    let mut sought = UnplacedRecord { was: number, number, recorded: recorded.clone(), alike: alike(recorded) };
    let mut siblings = by_code[at].1;
    for (code, records) in &by_code[at + 1..] {
        if Some(*code) == today {
            continue;
        }
        let same: Vec<(u32, &RecordedOperation)> = records
            .iter()
            .filter(|(_, other)| sought.recorded.has_same_source(other))
            .map(|(number, other)| (*number, other))
            .collect();
        let same_place = same.iter().find(|(other, _)| *other == sought.number);
        let found = match (same_place, same.as_slice()) {
            (Some(found), _) => Some(*found),
            (None, [only]) => Some(*only),
            (None, []) => {
                // Edited in place, if that version took it from the log there, or continued it there.
                let goes_on = sought.recorded.is_open && sought.alike.is_empty();
                let there = records.get(&sought.number);
                let there = there.filter(|other| (other.was_memoized && !other.has_run) || goes_on);
                let is_new =
                    |other: &&RecordedOperation| !siblings.values().any(|sibling| sibling.has_same_source(other));
                there.filter(is_new).map(|other| (sought.number, other))
            }
            _ => None,
        };
        if let Some((number, other)) = found {
            sought.number = number;
            sought.recorded.functions.extend(other.functions.clone());
            sought.recorded.blocks.extend(other.blocks.clone());
            sought.recorded.is_open |= other.is_open;
            sought.alike = alike(&sought.recorded);
            siblings = records;
        }
    }
    sought
}

/// Assigns each record of one version its number of today. `is_known` returns whether the operation at a record's own
/// number is known to be another one.
fn assign(
    mut sought: Vec<UnplacedRecord>,
    now: &BTreeMap<u32, &Step>,
    is_known: impl Fn(&UnplacedRecord) -> bool,
) -> Result<Vec<(u32, Option<u32>)>, Ambiguous> {
    let mut assigned = Vec::new();
    while let Some(one) = sought.pop() {
        let mut numbers = one.alike.clone();
        if numbers.is_empty() {
            // No operation has its source: it was edited in place, or removed.
            let was_edited = now.contains_key(&one.number) && !is_known(&one);
            assigned.push((one.was, was_edited.then_some(one.number)));
            continue;
        }
        // All records of equal source, and all numbers that have this source today.
        let mut equal = vec![one];
        while let Some(at) = sought.iter().position(|other| !other.alike.is_disjoint(&numbers)) {
            let other = sought.swap_remove(at);
            numbers.extend(&other.alike);
            equal.push(other);
        }
        let are_in_place = equal.iter().all(|one| one.alike.contains(&one.number));
        match (equal.as_slice(), numbers.first()) {
            _ if are_in_place => assigned.extend(equal.iter().map(|one| (one.was, Some(one.number)))),
            ([only], Some(number)) if numbers.len() == 1 => assigned.push((only.was, Some(*number))),
            _ => {
                let mut recorded: Vec<u32> = equal.iter().map(|one| one.number).collect();
                recorded.sort_unstable();
                return Err((recorded, numbers.into_iter().collect()));
            }
        }
    }
    Ok(assigned)
}
