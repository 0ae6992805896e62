//! Sources of operations, indexed: which operations have the source of another one is found without comparing it with
//! each of them, because a chain may have thousands.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::model::flow::{Each, Operation, Step};

/// A function or a block of an operation.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Part {
    /// By its role.
    Function(String),
    /// By what follows the operation's segment in its path.
    Block(String),
}

/// What a part is.
#[derive(Clone, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PartSource {
    /// Of a block; empty for a function.
    pub(super) name: Arc<str>,
    pub(super) fingerprint: Arc<str>,
}

/// The sources of an operation's parts, as far as they are known. A part may have had several.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(super) struct Source {
    parts: BTreeMap<Part, BTreeSet<PartSource>>,
    /// Whether its blocks are made while the flow runs, so that they are not known before.
    is_from_factory: bool,
}

impl Source {
    /// Returns the source of an operation of today.
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

    /// Replaces parts by those of a later version.
    pub(super) fn extend(&mut self, later: &Source) {
        self.parts.extend(later.parts.clone());
    }

    /// The parts of it that an operation of today must have; the blocks of a factory do not exist yet.
    fn required(&self, is_from_factory: bool) -> impl Iterator<Item = (&Part, &BTreeSet<PartSource>)> {
        self.parts.iter().filter(move |(part, _)| !is_from_factory || matches!(part, Part::Function(_)))
    }

    /// Returns whether an operation of today has every source of this recorded one.
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

/// Which parts a source has, and whether a factory makes its blocks.
type Shape = (BTreeSet<Part>, bool);

/// The operations of one group, by their numbers; those with equal sources are a class.
pub(super) struct Sources {
    classes: Vec<(Source, BTreeSet<u32>)>,
    by_number: HashMap<u32, Class>,
    by_shape: HashMap<Shape, OfShape>,
}

/// The classes of one shape.
#[derive(Default)]
struct OfShape {
    all: Vec<Class>,
    by_part: HashMap<(Part, PartSource), Vec<Class>>,
}

impl Sources {
    pub(super) fn of(operations: impl Iterator<Item = (u32, Source)>) -> Sources {
        let mut known: HashMap<Source, Class> = HashMap::new();
        let mut sources = Sources { classes: Vec::new(), by_number: HashMap::new(), by_shape: HashMap::new() };
        for (number, source) in operations {
            let class = *known.entry(source).or_insert_with_key(|source| sources.add(source.clone()));
            sources.classes[class].1.insert(number);
            sources.by_number.insert(number, class);
        }
        sources
    }

    fn add(&mut self, source: Source) -> Class {
        let class = self.classes.len();
        let shape = (source.parts.keys().cloned().collect(), source.is_from_factory);
        let OfShape { all, by_part } = self.by_shape.entry(shape).or_default();
        all.push(class);
        for (part, sources) in &source.parts {
            for one in sources {
                by_part.entry((part.clone(), one.clone())).or_default().push(class);
            }
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

    /// Returns the classes of today's operations that have every source of a recorded one.
    pub(super) fn with_all_of(&self, recorded: &Source) -> BTreeSet<Class> {
        let mut found = BTreeSet::new();
        for ((parts, is_from_factory), OfShape { all, by_part }) in &self.by_shape {
            if recorded.required(*is_from_factory).any(|(part, _)| !parts.contains(part)) {
                continue;
            }
            let listed = recorded.required(*is_from_factory).flat_map(|(part, wanted)| {
                wanted.iter().map(|one| by_part.get(&(part.clone(), one.clone())).map_or(&[][..], Vec::as_slice))
            });
            let fewest = listed.min_by_key(|list| list.len()).unwrap_or(all);
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
        for ((parts, _), OfShape { by_part, .. }) in &self.by_shape {
            // A class agrees in each of them, so that any of them lists it.
            let lists = source.parts.iter().filter(|(part, _)| parts.contains(part)).map(|(part, own)| {
                let lists = own.iter().filter_map(|one| by_part.get(&(part.clone(), one.clone())));
                lists.flatten().copied().collect::<BTreeSet<Class>>()
            });
            let Some(fewest) = lists.min_by_key(BTreeSet::len) else { continue };
            let agrees = fewest.into_iter().filter(|class| {
                counted::add();
                source.agrees(&self.classes[*class].0)
            });
            found.extend(agrees.take(limit - found.len()));
        }
        found
    }
}

/// How many pairs of sources were compared, for tests of costs.
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
