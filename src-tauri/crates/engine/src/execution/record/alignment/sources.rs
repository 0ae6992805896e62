//! An index of the sources of operations. It finds operations with equal sources without comparing all pairs, because a
//! chain may have thousands.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::model::flow::{Each, Operation, Step};

/// A function or a block of an operation.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// A function, by its role.
    Function(String),
    /// A block, by the part of its path after the operation's segment.
    Block(String),
}

/// The source of a part.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartSource {
    /// The block's name; empty for a function.
    pub(super) name: Arc<str>,
    pub(super) fingerprint: Arc<str>,
}

/// The known sources of an operation's parts. A part may have had several.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(super) struct Source {
    parts: BTreeMap<Part, BTreeSet<PartSource>>,
    /// Whether its blocks are created while the flow runs, so that they are not known before.
    is_from_factory: bool,
}

impl Source {
    /// Returns the source of a current operation.
    pub(super) fn of(step: &Step) -> Source {
        let Step { operation, .. } = step;
        let is_from_factory = matches!(
            operation,
            Operation::ForEach { each: Each::Factory(_), .. }
                | Operation::ForEachBackground { each: Each::Factory(_), .. }
        );
        let mut source = Source { is_from_factory, ..Source::default() };
        for (role, function) in operation.functions() {
            if let Some(fingerprint) = function.fingerprint() {
                source.add_function(role, fingerprint);
            }
        }
        for (key, block) in operation.blocks_by_key() {
            if let Some(fingerprint) = block.fingerprint() {
                let block = PartSource { name: block.name.clone(), fingerprint };
                source.parts.entry(Part::Block(key)).or_default().insert(block);
            }
        }
        source
    }

    pub(super) fn add_function(&mut self, role: &str, fingerprint: Arc<str>) {
        let function = PartSource { name: Arc::default(), fingerprint };
        self.parts.entry(Part::Function(role.to_owned())).or_default().insert(function);
    }

    /// Sets a block to its newest source.
    pub(super) fn set_block(&mut self, key: String, name: Arc<str>, fingerprint: Arc<str>) {
        self.parts.insert(Part::Block(key), BTreeSet::from([PartSource { name, fingerprint }]));
    }

    /// Adds the parts of a later version, replacing older ones.
    pub(super) fn extend(&mut self, later: &Source) {
        self.parts.extend(later.parts.clone());
    }

    /// The parts that a current operation must have to match. Blocks of a factory are exempt: they do not exist yet.
    fn required(&self, is_from_factory: bool) -> impl Iterator<Item = (&Part, &BTreeSet<PartSource>)> {
        self.parts.iter().filter(move |(part, _)| !is_from_factory || matches!(part, Part::Function(_)))
    }

    /// Returns whether a current operation has every source of this recorded one.
    fn is_within(&self, today: &Source) -> bool {
        let has = |(part, wanted): (&Part, &BTreeSet<PartSource>)| {
            today.parts.get(part).is_some_and(|own| wanted.is_subset(own))
        };
        self.required(today.is_from_factory).all(has)
    }

    /// Returns whether two records have the same source in all parts that both have, and at least one such part.
    pub(super) fn agrees(&self, other: &Source) -> bool {
        let mut has_common = false;
        for (part, own) in &self.parts {
            let Some(others) = other.parts.get(part) else { continue };
            if own.is_disjoint(others) {
                return false;
            }
            has_common = true;
        }
        has_common
    }
}

/// The number of a class in its [`Sources`].
pub(super) type Class = usize;

/// The operations of one group, by their numbers. Operations with equal sources form a class.
#[derive(Default)]
pub(super) struct Sources {
    classes: Vec<(Source, BTreeSet<u32>)>,
    by_number: HashMap<u32, Class>,
    all: ByFactory,
    by_source: HashMap<(Part, PartSource), WithSource>,
    shapes: Vec<Shape>,
}

/// The classes whose blocks are known before the flow runs, and the classes whose blocks a factory creates.
type ByFactory = [Vec<Class>; 2];

/// The classes that have a source in a part, and their shapes.
#[derive(Default)]
struct WithSource {
    classes: ByFactory,
    shapes: Vec<usize>,
}

/// The classes that have the same parts.
struct Shape {
    parts: BTreeSet<Part>,
    by_source: HashMap<(Part, PartSource), Vec<Class>>,
}

impl Sources {
    pub(super) fn of(operations: impl Iterator<Item = (u32, Source)>) -> Sources {
        let mut known: HashMap<Source, Class> = HashMap::new();
        let mut shapes: HashMap<BTreeSet<Part>, usize> = HashMap::new();
        let mut sources = Sources::default();
        for (number, source) in operations {
            let class = *known.entry(source).or_insert_with_key(|source| sources.add(source.clone(), &mut shapes));
            sources.classes[class].1.insert(number);
            sources.by_number.insert(number, class);
        }
        sources
    }

    fn add(&mut self, source: Source, shapes: &mut HashMap<BTreeSet<Part>, usize>) -> Class {
        let class = self.classes.len();
        let by_factory = usize::from(source.is_from_factory);
        let shape = *shapes.entry(source.parts.keys().cloned().collect()).or_insert_with_key(|parts| {
            self.shapes.push(Shape { parts: parts.clone(), by_source: HashMap::new() });
            self.shapes.len() - 1
        });
        self.all[by_factory].push(class);
        for key in keys(source.parts.iter()) {
            let with_source = self.by_source.entry(key.clone()).or_default();
            with_source.classes[by_factory].push(class);
            let of_shape = self.shapes[shape].by_source.entry(key).or_default();
            if of_shape.is_empty() {
                with_source.shapes.push(shape);
            }
            of_shape.push(class);
        }
        self.classes.push((source, BTreeSet::new()));
        class
    }

    pub(super) fn class_of(&self, number: u32) -> Option<Class> {
        self.by_number.get(&number).copied()
    }

    /// The numbers of a class.
    pub(super) fn numbers(&self, class: Class) -> &BTreeSet<u32> {
        &self.classes[class].1
    }

    /// Returns the classes of current operations that have every source of a recorded one.
    pub(super) fn with_all_of(&self, recorded: &Source) -> BTreeSet<Class> {
        let mut found = BTreeSet::new();
        for is_from_factory in [false, true] {
            let by_factory = usize::from(is_from_factory);
            let listed = keys(recorded.required(is_from_factory)).map(|key| {
                let with_source = self.by_source.get(&key);
                with_source.map_or(&[][..], |known| known.classes[by_factory].as_slice())
            });
            let fewest = listed.min_by_key(|list| list.len()).unwrap_or(&self.all[by_factory]);
            found.extend(fewest.iter().copied().filter(|class| {
                counted::add();
                recorded.is_within(&self.classes[*class].0)
            }));
        }
        found
    }

    /// Returns up to `limit` classes of records with the same source in all parts that both have.
    pub(super) fn agreeing(&self, source: &Source, limit: usize) -> Vec<Class> {
        let mut found = Vec::new();
        // Every such class has one of these sources. Start with sources of few shapes, which narrow the search most.
        let mut listed: Vec<&WithSource> =
            keys(source.parts.iter()).filter_map(|key| self.by_source.get(&key)).collect();
        listed.sort_by_key(|with_source| with_source.shapes.len());
        let mut visited = HashSet::new();
        for shape in listed.into_iter().flat_map(|with_source| &with_source.shapes) {
            if found.len() >= limit {
                break;
            }
            counted::add();
            if visited.insert(shape) {
                self.find_agreeing(&self.shapes[*shape], source, limit, &mut found);
            }
        }
        found
    }

    /// Adds the classes of one shape that agree with a source, until there are `limit`.
    fn find_agreeing(&self, shape: &Shape, source: &Source, limit: usize, found: &mut Vec<Class>) {
        // A class agrees in every common part, so it is in the lists of each of them; search the shortest.
        let common = source.parts.iter().filter(|(part, _)| shape.parts.contains(part));
        let lists = common.map(|one| -> Vec<&Vec<Class>> {
            keys(std::iter::once(one)).filter_map(|key| shape.by_source.get(&key)).collect()
        });
        let Some(fewest) = lists.min_by_key(|lists| lists.iter().map(|list| list.len()).sum::<usize>()) else { return };
        let mut seen = HashSet::new();
        for class in fewest.into_iter().flatten() {
            if found.len() >= limit {
                return;
            }
            counted::add();
            if seen.insert(class) && source.agrees(&self.classes[*class].0) {
                found.push(*class);
            }
        }
    }
}

/// Returns each source of each of these parts.
fn keys<'s>(
    parts: impl Iterator<Item = (&'s Part, &'s BTreeSet<PartSource>)>,
) -> impl Iterator<Item = (Part, PartSource)> {
    parts.flat_map(|(part, sources)| sources.iter().map(move |one| (part.clone(), one.clone())))
}

/// How many classes and shapes were examined, for tests of costs.
pub(super) mod counted {
    #[cfg(test)]
    thread_local! {
        pub(crate) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    pub(super) fn add() {
        #[cfg(test)]
        COMPARED.set(COMPARED.get() + 1);
    }
}
