//! The summary of many verdicts: what differs for one reason is one group.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use crate::views::{DifferingField, Verdict, Verified, VerifiedGroup, VerifiedRun};

/// What the runs of a group have in common.
#[derive(PartialEq, Eq, Hash)]
struct Key {
    verdict: Verdict,
    /// `None` where one change of a shared module makes runs of several flows and actions differ in the same place.
    owner: Option<(Option<String>, Option<String>)>,
    path: Option<String>,
    field: Option<DifferingField>,
    /// Where in the field. Values are left out: those of one reason differ by the input of each run.
    place: Option<String>,
    /// Without ids and, if the run is not comparable, without the numbers of lines and events.
    why: Option<String>,
}

/// Counts verdicts, and groups those that are not good by their first difference. `missing` have none.
pub(super) fn summary(results: Vec<VerifiedRun>, missing: Vec<String>) -> Verified {
    let mut verified = Verified { not_run: missing.len() as u32, missing, ..Verified::default() };
    let mut groups: IndexMap<Key, (VerifiedGroup, BTreeSet<&String>)> = IndexMap::new();
    for (index, run) in results.iter().enumerate() {
        *count_of(&mut verified, run.verdict) += 1;
        if run.verdict.is_good() {
            continue;
        }
        let path = run.path.as_deref().map(without_numbers);
        // A flow that does not load has one reason, and so has what was stopped by a limit.
        let why = run.why.as_deref().map(|why| without_ids(why, run));
        let reason =
            if run.verdict == Verdict::NotComparable { why.as_deref().map(without_places) } else { why.clone() };
        // A flow that does not load has one reason for all its actions.
        let owner = || (run.flow.clone(), run.action.clone().filter(|_| run.path.is_some()));
        let key = Key {
            verdict: run.verdict,
            owner: (run.verdict != Verdict::Differs).then(owner),
            path: path.clone(),
            field: run.field,
            place: run.place.as_deref().map(without_numbers),
            why: reason.clone(),
        };
        let (group, flows) = groups.entry(key).or_insert_with(|| {
            let example = run.request_id.clone().filter(|_| run.file.is_none()).or_else(|| run.file.clone());
            let group = VerifiedGroup {
                verdict: run.verdict,
                flow: None,
                flows: Vec::new(),
                path,
                field: run.field,
                count: 0,
                example: example.unwrap_or_default(),
                example_index: index as u32,
                why: why.clone(),
            };
            (group, BTreeSet::new())
        });
        group.count += 1;
        if group.why != why {
            group.why = reason;
        }
        flows.extend(&run.flow);
    }
    let with_flows = |(mut group, flows): (VerifiedGroup, BTreeSet<&String>)| {
        group.flow = flows.first().filter(|_| flows.len() == 1).map(|flow| (*flow).clone());
        group.flows = flows.into_iter().cloned().collect();
        group
    };
    verified.groups = groups.into_values().map(with_flows).collect();
    // The order of the first ones is kept among equals.
    verified.groups.sort_by_key(|group| std::cmp::Reverse(group.count));
    verified.results = results;
    verified
}

fn count_of(verified: &mut Verified, verdict: Verdict) -> &mut u32 {
    match verdict {
        Verdict::Same => &mut verified.same,
        Verdict::Differs => &mut verified.differs,
        Verdict::AsksNew => &mut verified.asks_new,
        Verdict::Unaffected => &mut verified.unaffected,
        Verdict::DoesNotLoad => &mut verified.does_not_load,
        Verdict::NotComparable => &mut verified.not_comparable,
    }
}

/// A path with `*` for the numbers of turns, branches and calls.
fn without_numbers(path: &str) -> String {
    let mut general = String::with_capacity(path.len());
    let mut rest = path;
    while let Some(open) = rest.find('[') {
        let (before, inside) = rest.split_at(open + 1);
        general.push_str(before);
        let Some(close) = inside.find(']') else {
            rest = inside;
            continue;
        };
        general.push('*');
        rest = &inside[close..];
    }
    general.push_str(rest);
    general
}

/// A text with `…` in place of the numbers of lines and events. Other numbers are a part of the reason, like those of
/// models and formats.
fn without_places(text: &str) -> String {
    let mut general = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(at);
        let end = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        general.push_str(before);
        general.push_str(if names_place(before) { "…" } else { &number[..end] });
        rest = &number[end..];
    }
    general.push_str(rest);
    general
}

/// Whether a text ends with the word that a number of a line or an event follows.
fn names_place(before: &str) -> bool {
    let word = before.strip_suffix("line ").or_else(|| before.strip_suffix("event "));
    word.is_some_and(|left| !left.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

/// A reason without what names one run.
fn without_ids(why: &str, run: &VerifiedRun) -> String {
    run.request_id.iter().chain(&run.file).fold(why.to_owned(), |why, id| without(&why, id))
}

/// A text with `…` in place of a word.
fn without(text: &str, word: &str) -> String {
    let is_inside_word = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut rest = 0;
    let mut general = String::with_capacity(text.len());
    for (at, _) in text.match_indices(word).filter(|_| !word.is_empty()) {
        let end = at + word.len();
        let is_word = !text[..at].ends_with(is_inside_word) && !text[end..].starts_with(is_inside_word);
        if is_word {
            general.push_str(&text[rest..at]);
            general.push('…');
            rest = end;
        }
    }
    general.push_str(&text[rest..]);
    general
}

#[cfg(test)]
mod tests {
    use super::{summary, without, without_numbers, without_places};
    use crate::views::{DifferingField, Verdict, VerifiedRun};

    fn run(nth: usize, verdict: Verdict) -> VerifiedRun {
        let text = |text: String| Some(text);
        let is_odd = verdict == Verdict::Differs;
        VerifiedRun {
            request_id: text(format!("req_{nth}")),
            file: text(format!("tests/{nth}.run")),
            flow: text(format!("flow {}", nth % 7)),
            action: text("go".to_owned()),
            verdict,
            path: is_odd.then(|| format!("root/forEach:all[{nth}]/step:sum")),
            seq: is_odd.then_some(nth as u64),
            field: is_odd.then_some(DifferingField::Output),
            place: is_odd.then(|| format!("lines[{nth}].sum")),
            recorded: None,
            found: None,
            why: (verdict == Verdict::NotComparable)
                .then(|| format!("tests/{nth}.run, line {nth}: event {nth} of request \"req_{nth}\" is expected here")),
            accepted: false,
        }
    }

    /// What differs for one reason is one line, however many runs there are, and wherever in each it is.
    #[test]
    fn of_many_runs_those_that_differ_for_one_reason_are_one_group() {
        for of in [200, 400, 10_000] {
            let verdict = |nth| match nth % (of / 40) {
                0 => Verdict::Differs,
                1 => Verdict::NotComparable,
                _ => Verdict::Same,
            };
            let found = summary((0..of).map(|nth| run(nth, verdict(nth))).collect(), Vec::new());
            let groups: Vec<_> = found.groups.iter().map(|group| (group.verdict, group.count)).collect();
            let differs: Vec<_> = groups.iter().filter(|(verdict, _)| *verdict == Verdict::Differs).collect();
            assert_eq!(differs, [&(Verdict::Differs, 40)], "{groups:?}");
            let other: u32 = groups.iter().filter(|(verdict, _)| *verdict != Verdict::Differs).map(|(_, n)| n).sum();
            assert_eq!((other, found.results.len()), (40, of));
        }
    }

    #[test]
    fn numbers_of_lines_are_no_reason() {
        let of_no_flow = |nth| VerifiedRun { flow: None, ..run(nth, Verdict::NotComparable) };
        let found = summary([3, 44].map(of_no_flow).into(), Vec::new());
        assert_eq!((found.groups.len(), found.groups[0].count), (1, 2));
        let why = found.groups[0].why.as_deref();
        assert_eq!(why, Some("…, line …: event … of request \"…\" is expected here"));
        assert_eq!(without_places("line 12, event 3: 4 blocks"), "line …, event …: 4 blocks");
        assert_eq!(without_places("asks gpt-5 at event 12, not gpt-4"), "asks gpt-5 at event …, not gpt-4");
        assert_eq!(without_places("outline 7, event no. 7, line "), "outline 7, event no. 7, line ");
    }

    #[test]
    fn turns_of_a_loop_are_one_place() {
        for (path, general) in [
            ("root/step:a", "root/step:a"),
            ("root/forEach:a[12]/step:b", "root/forEach:a[*]/step:b"),
            ("root/loop[1]/tool:find[0.2]", "root/loop[*]/tool:find[*]"),
        ] {
            assert_eq!(without_numbers(path), general);
        }
    }

    #[test]
    fn an_id_is_left_out_only_where_it_is_a_word() {
        assert_eq!(without("something of th", "th"), "something of …");
        assert_eq!(without("t.run, line 3: t.run", "t.run"), "…, line 3: …");
    }
}
