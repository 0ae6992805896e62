//! View: what differs between two values, as paths a person can read.
//!
//! Arrays are compared by longest common subsequence, and an element that only changed its place
//! is a move, so that one insertion does not make everything after it look changed.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::model::operation::equal;

/// Longer middles of arrays are compared place by place: the table would cost more than it tells.
const LCS_CELLS: usize = 4_000_000;

/// What happened to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum DifferenceKind {
    /// Only in the new value.
    Added,
    /// Only in the old value.
    Removed,
    /// In both, with other content.
    Changed,
    /// The same element at another index: `old` and `new` are the indexes' paths.
    Moved,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Like `plan[2].title`; empty for the value itself.
    pub path: String,
    /// What happened.
    pub kind: DifferenceKind,
    /// Before; absent when added.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// After; absent when removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
}

/// The differences from `old` to `new`, in the new value's order.
pub fn diff(old: Option<&Value>, new: Option<&Value>) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(&Spot::Root, old, new, &mut found);
    found
}

/// Where two values are compared. Its path is made where something differs: most places are as they were.
enum Spot<'a> {
    Root,
    Field(&'a Spot<'a>, &'a str),
    Index(&'a Spot<'a>, usize),
}

impl Spot<'_> {
    fn path(&self) -> String {
        match self {
            Spot::Root => String::new(),
            Spot::Field(around, key) => field(&around.path(), key),
            Spot::Index(around, at) => format!("{}[{at}]", around.path()),
        }
    }
}

fn compare(spot: &Spot<'_>, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    match (old, new) {
        (None, None) => {}
        (Some(Value::Object(old)), Some(Value::Object(new))) => objects(spot, old, new, found),
        (Some(Value::Array(old)), Some(Value::Array(new))) => arrays(spot, old, new, found),
        (Some(old), Some(new)) => {
            if !equal(old, new) {
                push(found, spot, DifferenceKind::Changed, Some(old), Some(new));
            }
        }
        (None, Some(new)) => push(found, spot, DifferenceKind::Added, None, Some(new)),
        (Some(old), None) => push(found, spot, DifferenceKind::Removed, Some(old), None),
    }
}

fn objects(spot: &Spot<'_>, old: &Map<String, Value>, new: &Map<String, Value>, found: &mut Vec<Difference>) {
    let mut in_both = 0;
    // Fields mostly keep their order: what stands beside a field is cheaper to look at than to look up.
    let mut beside = old.iter().peekable();
    for (key, value) in new {
        let before = match beside.next_if(|(name, _)| *name == key) {
            Some((_, before)) => Some(before),
            None => old.get(key),
        };
        in_both += usize::from(before.is_some());
        compare(&Spot::Field(spot, key), before, Some(value), found);
    }
    if in_both == old.len() {
        return;
    }
    for (key, value) in old {
        if !new.contains_key(key) {
            push(found, &Spot::Field(spot, key), DifferenceKind::Removed, Some(value), None);
        }
    }
}

fn arrays(spot: &Spot<'_>, old: &[Value], new: &[Value], found: &mut Vec<Difference>) {
    let start = old.iter().zip(new).take_while(|(a, b)| equal(a, b)).count();
    let end = old[start..].iter().rev().zip(new[start..].iter().rev()).take_while(|(a, b)| equal(a, b)).count();
    let old_middle = &old[start..old.len() - end];
    let new_middle = &new[start..new.len() - end];
    let at = |index: usize| Spot::Index(spot, start + index);
    if old_middle.len() == new_middle.len() && old_middle.len() <= 1
        || old_middle.len().saturating_mul(new_middle.len()) > LCS_CELLS
    {
        for index in 0..old_middle.len().max(new_middle.len()) {
            compare(&at(index), old_middle.get(index), new_middle.get(index), found);
        }
        return;
    }
    let (mut gone, mut come) = unmatched(old_middle, new_middle);
    let mut moves = Vec::new();
    come.retain(|to| {
        let Some(at) = gone.iter().position(|from| equal(&old_middle[*from], &new_middle[*to])) else { return true };
        moves.push((gone.remove(at), *to));
        false
    });
    // What is left and stands at the same place was changed, not replaced.
    for to in &come {
        match gone.iter().position(|from| from == to) {
            Some(place) => {
                gone.remove(place);
                compare(&at(*to), Some(&old_middle[*to]), Some(&new_middle[*to]), found);
            }
            None => push(found, &at(*to), DifferenceKind::Added, None, Some(&new_middle[*to])),
        }
    }
    for (from, to) in moves {
        let (old_place, new_place) = (Value::String(at(from).path()), Value::String(at(to).path()));
        push(found, &at(to), DifferenceKind::Moved, Some(&old_place), Some(&new_place));
    }
    for from in gone {
        push(found, &at(from), DifferenceKind::Removed, Some(&old_middle[from]), None);
    }
}

/// Indexes of both lists outside their longest common subsequence.
fn unmatched(old: &[Value], new: &[Value]) -> (Vec<usize>, Vec<usize>) {
    let width = new.len() + 1;
    let mut lengths = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            lengths[i * width + j] = if equal(&old[i], &new[j]) {
                lengths[(i + 1) * width + j + 1] + 1
            } else {
                lengths[(i + 1) * width + j].max(lengths[i * width + j + 1])
            };
        }
    }
    let (mut gone, mut come) = (Vec::new(), Vec::new());
    let (mut i, mut j) = (0, 0);
    while i < old.len() && j < new.len() {
        if equal(&old[i], &new[j]) {
            i += 1;
            j += 1;
        } else if lengths[(i + 1) * width + j] >= lengths[i * width + j + 1] {
            gone.push(i);
            i += 1;
        } else {
            come.push(j);
            j += 1;
        }
    }
    gone.extend(i..old.len());
    come.extend(j..new.len());
    (gone, come)
}

fn push(found: &mut Vec<Difference>, spot: &Spot<'_>, kind: DifferenceKind, old: Option<&Value>, new: Option<&Value>) {
    found.push(Difference { path: spot.path(), kind, old: old.cloned(), new: new.cloned() });
}

/// A field's path: `a.b`, or `a["b c"]` where the name is no identifier.
pub fn field(path: &str, key: &str) -> String {
    let plain = !key.is_empty()
        && !key.starts_with(|c: char| c.is_ascii_digit())
        && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$' || c == '-');
    match (plain, path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{path}.{key}"),
        (false, _) => format!("{path}[{}]", Value::String(key.to_owned())),
    }
}
