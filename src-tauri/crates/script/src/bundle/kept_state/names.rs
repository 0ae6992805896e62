//! The functions that the files of a flow share by name, and which functions are called while the files load.

use std::collections::{HashMap, HashSet};

use super::values::Value;

/// The names that each function calls.
pub(super) type Calls = HashMap<String, HashSet<String>>;

/// The names that files share. Of several functions with one name, the one with the least known result counts.
#[derive(Default)]
pub(super) struct Names {
    pub(super) values: HashMap<String, Value>,
    /// The results of functions.
    pub(super) returned: HashMap<String, Value>,
    /// The calls of each function. Code that runs while the files load has the empty name.
    pub(super) calls: Calls,
    /// The functions that are called while the files load.
    pub(super) at_load: HashSet<String>,
}

impl Names {
    pub(super) fn merge(&mut self, other: Names) {
        let worse = |known: &mut HashMap<String, Value>, more: HashMap<String, Value>| {
            for (name, value) in more {
                known.entry(name).and_modify(|known| *known = (*known).max(value)).or_insert(value);
            }
        };
        worse(&mut self.values, other.values);
        worse(&mut self.returned, other.returned);
        for (name, calls) in other.calls {
            self.calls.entry(name).or_default().extend(calls);
        }
    }

    /// Finds the functions that are called while the files load, directly or indirectly.
    pub(super) fn follow_calls(&mut self) {
        let mut next: Vec<String> = self.calls.get("").into_iter().flatten().cloned().collect();
        while let Some(name) = next.pop() {
            if !self.at_load.contains(&name) {
                next.extend(self.calls.get(&name).into_iter().flatten().cloned());
                self.at_load.insert(name);
            }
        }
    }
}
