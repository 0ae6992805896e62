//! Which of today's operations the recorded ones of one group are: `map`, or `step:charge`, in one chain.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::Code;
use crate::model::event::Seq;
use crate::model::flow::{Each, Operation, Step};

/// What the log knows of an operation.
#[derive(Clone, Debug, Default)]
pub(super) struct Recorded {
    /// The fingerprints of its functions, by their roles.
    pub(super) functions: BTreeMap<String, BTreeSet<Arc<str>>>,
    /// The names and fingerprints of its blocks, by their keys.
    pub(super) blocks: BTreeMap<String, (Arc<str>, Arc<str>)>,
    /// The first event that tells of it.
    first: Option<Seq>,
    /// Whether anything of it ran.
    has_run: bool,
    /// Whether anything of it was taken from the log.
    was_taken: bool,
    /// Whether a block of it has not ended.
    is_open: bool,
}

impl Recorded {
    /// Notes that something of it ran, or was taken from the log, and whether that has ended.
    pub(super) fn saw(&mut self, first: Seq, is_taken: bool, has_ended: bool) {
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
        self.was_taken |= is_taken;
        self.has_run |= !is_taken;
        self.is_open |= !has_ended;
    }

    /// Whether a step of today has every source that was recorded.
    fn is(&self, step: &Step) -> bool {
        let functions = step.operation.functions();
        let has = |role: &str, wanted: &Arc<str>| {
            let of_role = functions.iter().filter(|(known, _)| *known == role);
            of_role.into_iter().any(|(_, function)| function.fingerprint().as_ref() == Some(wanted))
        };
        let is_made = is_made(&step.operation);
        let blocks = step.operation.blocks_by_key();
        let same = |key: &str, name: &Arc<str>, wanted: &Arc<str>| {
            // The blocks of a factory are not there to be compared.
            is_made
                || blocks.iter().any(|(known, block)| {
                    known == key && block.name == *name && block.fingerprint().as_ref() == Some(wanted)
                })
        };
        self.functions.iter().all(|(role, wanted)| wanted.iter().all(|wanted| has(role, wanted)))
            && self.blocks.iter().all(|(key, (name, wanted))| same(key, name, wanted))
    }

    /// Whether two records tell of the same source.
    fn is_like(&self, other: &Recorded) -> bool {
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

fn is_made(operation: &Operation) -> bool {
    matches!(
        operation,
        Operation::ForEach { each: Each::Factory(_), .. } | Operation::ForEachBackground { each: Each::Factory(_), .. }
    )
}

/// The numbers that operations of a chain have today, by what they were; nothing for one that was removed.
pub(super) struct Numbers {
    groups: HashSet<String>,
    moved: BTreeMap<String, BTreeMap<u32, Option<u32>>>,
}

impl Numbers {
    /// Of a chain that has these groups today; all numbers are as they were.
    pub(super) fn of(groups: &HashSet<&str>) -> Numbers {
        Numbers { groups: groups.iter().map(|group| (*group).to_owned()).collect(), moved: BTreeMap::new() }
    }

    pub(super) fn insert(&mut self, group: &str, numbers: BTreeMap<u32, Option<u32>>) {
        self.moved.insert(group.to_owned(), numbers);
    }

    pub(super) fn has_group(&self, group: &str) -> bool {
        self.groups.contains(group)
    }

    /// The number of an operation today, where that is another one or none.
    pub(super) fn today(&self, group: &str, number: u32) -> Option<Option<u32>> {
        self.moved.get(group)?.get(&number).copied().filter(|now| *now != Some(number))
    }

    /// An operation that has another number, or none, and which.
    pub(super) fn first_moved(&self) -> Option<(String, u32, Option<u32>)> {
        let all =
            self.moved.iter().flat_map(|(group, numbers)| numbers.iter().map(move |(was, is)| (group, *was, *is)));
        let mut moved = all.filter(|(_, was, is)| *is != Some(*was));
        moved.next().map(|(group, was, is)| (group.clone(), was, is))
    }
}

/// The numbers of records, and of operations, that cannot be told apart.
pub(super) type Unclear = (Vec<u32>, Vec<u32>);

/// A record while its place is looked for.
struct Sought {
    /// The number it was recorded with.
    was: u32,
    /// Its number in the newest code that the log tells of.
    number: u32,
    recorded: Recorded,
    /// The operations of today that have its source.
    alike: BTreeSet<u32>,
}

/// The numbers of today for the records of each version of the code but today's; the newest version comes
/// last.
pub(super) fn settle(
    by_code: &[(Code, &BTreeMap<u32, Recorded>)],
    now: &BTreeMap<u32, &Step>,
    today: Option<Code>,
) -> Result<HashMap<Code, BTreeMap<u32, Option<u32>>>, Unclear> {
    let mut sought: Vec<(Code, Vec<Sought>)> = Vec::new();
    for (at, (code, records)) in by_code.iter().enumerate().filter(|(_, (code, _))| Some(*code) != today) {
        let follow = |(number, recorded): (&u32, &Recorded)| follow(by_code, at, *number, recorded, now, today);
        sought.push((*code, records.iter().map(follow).collect()));
    }
    // Places whose source is known need nobody else's record; nor do those that had their own before.
    let known: BTreeSet<u32> =
        sought.iter().flat_map(|(_, all)| all).flat_map(|one| one.alike.iter().copied()).collect();
    let of_today = by_code.iter().find(|(code, _)| Some(*code) == today).map(|(_, records)| *records);
    let is_known = |one: &Sought| {
        let own = of_today.and_then(|records| records.get(&one.number)).filter(|own| own.has_run);
        known.contains(&one.number) || own.is_some_and(|own| own.first < one.recorded.first)
    };
    let mut settled = HashMap::new();
    for (code, sought) in sought {
        settled.insert(code, assign(sought, now, is_known)?.into_iter().collect());
    }
    Ok(settled)
}

/// Follows a record through the versions of the code that came after its own: each that took it from the
/// log says where it stood then, and what its source was.
fn follow(
    by_code: &[(Code, &BTreeMap<u32, Recorded>)],
    at: usize,
    number: u32,
    recorded: &Recorded,
    now: &BTreeMap<u32, &Step>,
    today: Option<Code>,
) -> Sought {
    let alike = |recorded: &Recorded| -> BTreeSet<u32> {
        now.iter().filter(|(_, step)| recorded.is(step)).map(|(number, _)| *number).collect()
    };
    let mut sought = Sought { was: number, number, recorded: recorded.clone(), alike: alike(recorded) };
    let mut siblings = by_code[at].1;
    for (code, records) in &by_code[at + 1..] {
        if Some(*code) == today {
            continue;
        }
        let same: Vec<(u32, &Recorded)> = records
            .iter()
            .filter(|(_, other)| sought.recorded.is_like(other))
            .map(|(number, other)| (*number, other))
            .collect();
        let same_place = same.iter().find(|(other, _)| *other == sought.number);
        let found = match (same_place, same.as_slice()) {
            (Some(found), _) => Some(*found),
            (None, [only]) => Some(*only),
            (None, []) => {
                // It was edited in place, if it was taken from the log there, or went on there.
                let goes_on = sought.recorded.is_open && sought.alike.is_empty();
                let there = records.get(&sought.number);
                let there = there.filter(|other| (other.was_taken && !other.has_run) || goes_on);
                let is_new = |other: &&Recorded| !siblings.values().any(|sibling| sibling.is_like(other));
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

/// Gives each record of one version of the code its number of today. `is_known` says whether it is known what
/// stands at a record's own place.
fn assign(
    mut sought: Vec<Sought>,
    now: &BTreeMap<u32, &Step>,
    is_known: impl Fn(&Sought) -> bool,
) -> Result<Vec<(u32, Option<u32>)>, Unclear> {
    let mut assigned = Vec::new();
    while let Some(one) = sought.pop() {
        let mut numbers = one.alike.clone();
        if numbers.is_empty() {
            // Its source is nowhere: what stands at its place was edited there, or it was removed.
            let was_edited = now.contains_key(&one.number) && !is_known(&one);
            assigned.push((one.was, was_edited.then_some(one.number)));
            continue;
        }
        // Records of equal source, with all the places that they may stand at.
        let mut equal = vec![one];
        while let Some(at) = sought.iter().position(|other| !other.alike.is_disjoint(&numbers)) {
            let other = sought.swap_remove(at);
            numbers.extend(&other.alike);
            equal.push(other);
        }
        let are_at_home = equal.iter().all(|one| one.alike.contains(&one.number));
        match (equal.as_slice(), numbers.first()) {
            _ if are_at_home => assigned.extend(equal.iter().map(|one| (one.was, Some(one.number)))),
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
