//! Which of today's operations the recorded operations of one group (`map`, or `step:charge`, of one chain) are.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::Code;
use super::sources::{Class, Source, Sources};
use crate::model::event::Seq;
use crate::model::flow::Step;

/// What the log has of one operation.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedOperation {
    pub(super) source: Source,
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
    /// Its first event.
    first: Option<Seq>,
    /// Today's operations with the same source.
    alike: BTreeSet<Class>,
}

/// The records of one version of the code.
struct Version<'r> {
    code: Code,
    records: &'r BTreeMap<u32, RecordedOperation>,
    sources: Sources,
}

impl<'r> Version<'r> {
    fn of((code, records): (Code, &'r BTreeMap<u32, RecordedOperation>)) -> Version<'r> {
        let sources = Sources::of(records.iter().map(|(number, one)| (*number, one.source.clone())));
        Version { code, records, sources }
    }
}

/// Returns today's numbers for the records of each other version of the code. `by_code` is ordered, oldest first.
/// Costs as much as there are operations and versions, however many operations are alike.
pub(super) fn assign_group(
    by_code: &[(Code, &BTreeMap<u32, RecordedOperation>)],
    now: &BTreeMap<u32, &Step>,
    today: Option<Code>,
) -> Result<HashMap<Code, BTreeMap<u32, Option<u32>>>, Ambiguous> {
    let of_today = by_code.iter().find(|(code, _)| Some(*code) == today).map(|(_, records)| *records);
    let others: Vec<Version<'_>> =
        by_code.iter().filter(|(code, _)| Some(*code) != today).map(|one| Version::of(*one)).collect();
    let now = Sources::of(now.iter().map(|(number, step)| (*number, Source::of(step))));
    let mut sought: Vec<(Code, Vec<UnplacedRecord>)> = Vec::new();
    for (at, version) in others.iter().enumerate() {
        let follow = |(number, recorded): (&u32, &RecordedOperation)| follow(&others[at..], *number, recorded, &now);
        sought.push((version.code, version.records.iter().map(follow).collect()));
    }
    // A place whose source was found gets no other record, and neither does one that today's code ran itself before.
    let known: BTreeSet<Class> =
        sought.iter().flat_map(|(_, all)| all).flat_map(|one| one.alike.iter().copied()).collect();
    let is_known = |one: &UnplacedRecord| {
        let own = of_today.and_then(|records| records.get(&one.number)).filter(|own| own.has_run);
        now.class_of(one.number).is_some_and(|class| known.contains(&class))
            || own.is_some_and(|own| own.first < one.first)
    };
    let mut settled = HashMap::new();
    for (code, sought) in sought {
        settled.insert(code, assign(&sought, &now, is_known)?);
    }
    Ok(settled)
}

/// Follows a record of the first of these versions through the later ones: a version that took it from the log recorded
/// its number and its source in that version.
fn follow(versions: &[Version<'_>], number: u32, recorded: &RecordedOperation, now: &Sources) -> UnplacedRecord {
    let (was, first) = (number, recorded.first);
    let (mut number, mut recorded) = (number, Cow::Borrowed(recorded));
    let mut alike = now.with_all_of(&recorded.source);
    let mut siblings = versions.first();
    for version in versions.iter().skip(1) {
        let there = version.records.get(&number);
        let same_place = there.filter(|other| recorded.source.agrees(&other.source)).map(|_| number);
        let found = same_place.or_else(|| {
            let same = version.sources.agreeing(&recorded.source, 2);
            let mut same = same.into_iter().flat_map(|class| version.sources.numbers(class).iter().copied());
            match (same.next(), same.next()) {
                (Some(only), None) => Some(only),
                (Some(_), Some(_)) => None,
                (None, _) => {
                    // Edited in place, if that version took it from the log there, or continued it there.
                    let goes_on = recorded.is_open && alike.is_empty();
                    let there = there.filter(|other| (other.was_memoized && !other.has_run) || goes_on);
                    let is_new = |other: &&RecordedOperation| {
                        siblings.is_none_or(|siblings| siblings.sources.agreeing(&other.source, 1).is_empty())
                    };
                    there.filter(is_new).map(|_| number)
                }
            }
        });
        if let Some((found, other)) = found.and_then(|found| Some((found, version.records.get(&found)?))) {
            number = found;
            let followed = recorded.to_mut();
            followed.source.extend(&other.source);
            followed.is_open |= other.is_open;
            alike = now.with_all_of(&recorded.source);
            siblings = Some(version);
        }
    }
    UnplacedRecord { was, number, first, alike }
}

/// Assigns each record of one version its number of today. `is_known` returns whether the operation at a record's own
/// number is known to be another one.
fn assign(
    sought: &[UnplacedRecord],
    now: &Sources,
    is_known: impl Fn(&UnplacedRecord) -> bool,
) -> Result<BTreeMap<u32, Option<u32>>, Ambiguous> {
    let mut assigned = BTreeMap::new();
    let mut by_class: HashMap<Class, Vec<usize>> = HashMap::new();
    for (at, one) in sought.iter().enumerate() {
        one.alike.iter().for_each(|class| by_class.entry(*class).or_default().push(at));
    }
    let mut is_done = vec![false; sought.len()];
    for (at, one) in sought.iter().enumerate().rev() {
        if one.alike.is_empty() {
            // No operation has its source: it was edited in place, or removed.
            let was_edited = now.class_of(one.number).is_some() && !is_known(one);
            assigned.insert(one.was, was_edited.then_some(one.number));
            continue;
        }
        if is_done[at] {
            continue;
        }
        // All records of equal source, and all classes that have this source today.
        let (mut equal, mut classes, mut open) = (Vec::new(), BTreeSet::new(), vec![at]);
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut is_done[at], true) {
                continue;
            }
            equal.push(&sought[at]);
            for class in &sought[at].alike {
                if classes.insert(*class) {
                    open.extend(&by_class[class]);
                }
            }
        }
        let is_in_place = |one: &UnplacedRecord| now.class_of(one.number).is_some_and(|own| one.alike.contains(&own));
        let numbers: BTreeSet<u32> = classes.iter().flat_map(|class| now.numbers(*class)).copied().collect();
        match (equal.as_slice(), numbers.first()) {
            _ if equal.iter().all(|one| is_in_place(one)) => {
                assigned.extend(equal.iter().map(|one| (one.was, Some(one.number))));
            }
            ([only], Some(number)) if numbers.len() == 1 => drop(assigned.insert(only.was, Some(*number))),
            _ => {
                let mut recorded: Vec<u32> = equal.iter().map(|one| one.number).collect();
                recorded.sort_unstable();
                return Err((recorded, numbers.into_iter().collect()));
            }
        }
    }
    Ok(assigned)
}

#[cfg(test)]
mod tests {
    use super::super::sources::counted::COMPARED;
    use super::*;

    /// A record of an operation that has these functions.
    fn recorded(functions: &[(String, String)]) -> RecordedOperation {
        let mut operation = RecordedOperation::default();
        functions.iter().for_each(|(role, source)| operation.source.add_function(role, source.as_str().into()));
        operation.add(1, true, true);
        operation
    }

    /// How many classes and shapes are looked at to follow the records of a version through a later one.
    fn compared(first: &BTreeMap<u32, RecordedOperation>, later: &BTreeMap<u32, RecordedOperation>) -> usize {
        COMPARED.set(0);
        assign_group(&[(0, first), (1, later)], &BTreeMap::new(), None).expect("none is ambiguous");
        COMPARED.get()
    }

    /// The functions of an operation with a number, by their roles.
    type Functions = fn(u32) -> Vec<(String, String)>;

    fn part(role: impl ToString, source: impl ToString) -> (String, String) {
        (role.to_string(), source.to_string())
    }

    #[test]
    fn work_grows_with_the_number_of_operations() {
        let of = |count: u32, functions: Functions| -> BTreeMap<u32, RecordedOperation> {
            (1..=count).map(|number| (number, recorded(&functions(number)))).collect()
        };
        let kinds: [Functions; 6] = [
            // All alike, all different, and all different in one of two parts.
            |_| vec![part("", "same")],
            |number| vec![part("", number)],
            |number| vec![part("condition", "same"), part("call", number)],
            // Each has its own part: alone, with a part that all share, and with another part that differs.
            |number| vec![part(number, "same")],
            |number| vec![part("call", "same"), part(number, number)],
            |number| vec![part("call", number), part(number, "same")],
        ];
        for functions in kinds {
            let moved = |count: u32| -> BTreeMap<u32, RecordedOperation> {
                of(count, functions).into_iter().map(|(number, one)| (number + 1, one)).collect()
            };
            let [once, twice] = [200, 400].map(|count| compared(&of(count, functions), &moved(count)));
            assert!(twice <= 2 * once + 4, "{once} at 200 and {twice} at 400");
        }
    }
}
