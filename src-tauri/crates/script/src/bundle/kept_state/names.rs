//! What the files of a flow share by the names of their exports, and which functions are called while they load.

use std::collections::{HashMap, HashSet};

use super::values::Value;

/// What functions call, by their names.
pub(super) type Calls = HashMap<String, HashSet<String>>;

/// What the files share by their names. Of several of a name the one counts of which the least is known.
#[derive(Default)]
pub(super) struct Names {
    pub(super) values: HashMap<String, Value>,
    /// What functions return.
    pub(super) returned: HashMap<String, Value>,
    /// What each function calls; what runs while the files load has no name.
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

    /// Finds the functions that are called while the files load, and by those.
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
