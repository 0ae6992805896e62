//! The numbers of operations in paths and in the names of callbacks: parsing and replacing them.

use std::collections::HashMap;

use super::assign::ChainNumbers;

/// A chain whose operations have other numbers in the current code.
pub(super) struct Chain {
    pub(super) numbers: ChainNumbers,
}

/// The parts of a segment or a label: `stepAll~2[0]` is `stepAll`, 2, `[0]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Split<'s> {
    pub(super) head: &'s str,
    pub(super) number: u32,
    tail: &'s str,
}

/// Parses a segment or a label.
pub(super) fn split(segment: &str) -> Split<'_> {
    if let Some((head, rest)) = segment.split_once('~') {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        return Split { head, number: rest[..digits].parse().unwrap_or(1), tail: &rest[digits..] };
    }
    let is_arm = segment.starts_with("branch:");
    let end = if is_arm { "branch".len() } else { segment.find('[').unwrap_or(segment.len()) };
    Split { head: &segment[..end], number: 1, tail: &segment[end..] }
}

fn is_pass(segment: &str) -> bool {
    let split = split(segment);
    split.head == "loop" && split.tail.starts_with('[')
}

/// Returns the group of a segment. Blocks of a factory are in the group of the operation alone (`forEach`), because
/// their names are not known before the flow runs.
fn group_of(head: &str, is_group: impl Fn(&str) -> bool) -> &str {
    match head.split_once(':') {
        Some((operation @ ("forEach" | "forEachBackground"), _)) if !is_group(head) && is_group(operation) => operation,
        _ => head,
    }
}

/// Returns the operation that a block belongs to, from its path below the chain: its group, its number, and the key of
/// the block within it.
pub(super) fn place_of(rest: &str, is_group: impl Fn(&str) -> bool) -> Option<(String, u32, String)> {
    let mut rest = rest;
    while let Some((_, inner)) = rest.split_once('/').filter(|(first, _)| is_pass(first)) {
        rest = inner;
    }
    let (segment, below) = rest.split_once('/').map_or((rest, None), |(segment, below)| (segment, Some(below)));
    let split = split(segment);
    let group = group_of(split.head, is_group);
    let key = match (group, below) {
        ("parallel", Some(key)) if !key.contains('/') => format!("/{key}"),
        (_, Some(_)) => return None,
        ("stepAll" | "stepAny" | "race" | "branch", None) => split.tail.to_owned(),
        _ => String::new(),
    };
    Some((group.to_owned(), split.number, key))
}

/// Returns the label and the role in the name of a callback of a chain: of `loop[1]/map~2.#0`, `map~2` and nothing;
/// of `step:a.settled[1]#0`, `step:a` and `settled`.
pub(super) fn label_of(callback: &str) -> Option<(&str, &str)> {
    let last = callback.rsplit_once('/').map_or(callback, |(_, last)| last);
    let (label, role) = last.rsplit_once('#')?.0.rsplit_once('.')?;
    Some((label, role.split_once('[').map_or(role, |(role, _)| role)))
}

impl Chain {
    fn segment(&self, segment: &str) -> String {
        let split = split(segment);
        let group = group_of(split.head, |group| self.numbers.has_group(group));
        let Some(moved) = self.numbers.today(group, split.number) else { return segment.to_owned() };
        let mark = match moved {
            Some(1) => String::new(),
            Some(number) => format!("~{number}"),
            // Number 0 is never used, so nothing finds the records of a removed operation.
            None => format!("~0.{}", split.number),
        };
        format!("{}{mark}{}", split.head, split.tail)
    }

    /// Translates the name of a callback to the current numbers.
    pub(super) fn callback(&self, name: &str) -> String {
        let Some((label, _)) = label_of(name) else { return name.to_owned() };
        let start = name.rfind('/').map_or(0, |at| at + 1);
        let passes: String = name[..start].split_inclusive('/').map(|pass| self.pass(pass)).collect();
        format!("{passes}{}{}", self.segment(label), &name[start + label.len()..])
    }

    fn pass(&self, pass: &str) -> String {
        format!("{}/", self.segment(pass.trim_end_matches('/')))
    }
}

/// Translates a path to the current numbers. `chains` are the chains with other numbers, by their old paths.
pub(super) fn path(chains: &HashMap<String, Chain>, path: &str) -> String {
    let mut now = String::with_capacity(path.len());
    let mut chain = None;
    let mut end = 0;
    for segment in path.split('/') {
        if end > 0 {
            now.push('/');
            end += 1;
        }
        end += segment.len();
        let of_chain: Option<&Chain> = chain;
        match of_chain {
            Some(of_chain) => now.push_str(&of_chain.segment(segment)),
            None => now.push_str(segment),
        }
        // A pass of a loopBack is not a block: the segment after it belongs to the same chain.
        if !(of_chain.is_some() && is_pass(segment)) {
            chain = chains.get(&path[..end]);
        }
    }
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_split_into_parts() {
        let parts = |segment| {
            let Split { head, number, tail } = split(segment);
            (head, number, tail)
        };
        assert_eq!(parts("step:charge"), ("step:charge", 1, ""));
        assert_eq!(parts("step:charge~12"), ("step:charge", 12, ""));
        assert_eq!(parts("stepAll~2[3]"), ("stepAll", 2, "[3]"));
        assert_eq!(parts("branch:no"), ("branch", 1, ":no"));
        assert_eq!(parts("branch~2:no"), ("branch", 2, ":no"));
        assert_eq!(parts("forEach:b[0]"), ("forEach:b", 1, "[0]"));
        assert_eq!(parts("map~2"), ("map", 2, ""));
    }

    #[test]
    fn a_block_is_found_in_its_operation() {
        let place = |rest| place_of(rest, |group| group == "forEach" || group == "forEach:known");
        let is = |group: &str, number, key: &str| Some((group.to_owned(), number, key.to_owned()));
        assert_eq!(place("loop~2[1]/loop[3]/step:a~2"), is("step:a", 2, ""));
        assert_eq!(place("parallel~2/left"), is("parallel", 2, "/left"));
        assert_eq!(place("race[1]"), is("race", 1, "[1]"));
        assert_eq!(place("branch~2:no"), is("branch", 2, ":no"));
        assert_eq!(place("forEach:known~2[7]"), is("forEach:known", 2, ""));
        assert_eq!(place("forEach:made~2[7]"), is("forEach", 2, ""));
        assert_eq!(place("step:a/step:b"), None);
    }
}
