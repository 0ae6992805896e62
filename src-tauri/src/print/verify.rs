//! Verdicts on recorded runs, for people: what differs for one reason is one line.

use runner::{Verdict, Verified, VerifiedGroup, VerifiedRun};

use super::{counted, cut_to, unset_variables};

/// How much is shown of each side.
const SIDE: usize = 240;

/// The counts, and each group with one of its runs.
pub(crate) fn verified(verified: &Verified) -> String {
    let mut text = String::new();
    for group in &verified.groups {
        text.push_str(&group_text(group, verified.results.get(group.example_index as usize)));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let told: Vec<String> =
        verified.counts().map(|(count, verdict)| format!("{count} {}", words(verdict, count))).collect();
    let runs = counted(verified.results.len() as u64, "run");
    if told.is_empty() && verified.not_run == 0 {
        text.push_str("no recorded run is selected\n");
    } else if !told.is_empty() {
        text.push_str(&format!("{runs}: {}\n", told.join(", ")));
    }
    let accepted = verified.results.iter().filter(|run| run.accepted).count();
    if accepted > 0 {
        text.push_str(&format!(
            "{} accepted: what they do now is expected from now on\n",
            counted(accepted as u64, "run")
        ));
    }
    if verified.not_run > 0 {
        text.push_str(&format!("cancelled: {} not run\n", counted(verified.not_run.into(), "run")));
    }
    text.push_str(&unset_variables(&verified.unset_variables));
    text
}

/// A verdict on so many runs, in words.
fn words(verdict: Verdict, count: u32) -> &'static str {
    match (verdict, count) {
        (Verdict::Same, _) => "same",
        (Verdict::Differs, 1) => "differs",
        (Verdict::Differs, _) => "differ",
        (Verdict::AsksNew, 1) => "asks something new",
        (Verdict::AsksNew, _) => "ask something new",
        (Verdict::Unaffected, _) => "unaffected",
        (Verdict::DoesNotLoad, 1) => "does not load",
        (Verdict::DoesNotLoad, _) => "do not load",
        (Verdict::NotComparable, _) => "not comparable",
    }
}

fn group_text(group: &VerifiedGroup, example: Option<&VerifiedRun>) -> String {
    let VerifiedGroup { verdict, flow, path, field, count, .. } = group;
    let mut head = format!("{count:>5}  {}", words(*verdict, *count));
    for part in [flow.as_deref(), path.as_deref(), field.map(|field| field.as_str())].into_iter().flatten() {
        head.push_str(&format!("  {part}"));
    }
    let Some(example) = example else { return format!("{head}\n") };
    if let Some(place) = &example.place {
        head.push_str(&format!("  at {place}"));
    }
    let sides = both_sides(example);
    let sides: String = sides.lines().map(|line| format!("         {line}\n")).collect();
    let event = example.seq.map(|seq| format!(", event {seq}")).unwrap_or_default();
    format!("{head}\n{sides}         such as {}{event}\n", group.example)
}

/// What a run does otherwise, on one line.
pub(crate) fn verdict_line(run: &VerifiedRun) -> String {
    let mut line = words(run.verdict, 1).to_owned();
    for part in [run.path.as_deref(), run.field.map(|field| field.as_str()), run.place.as_deref()].into_iter().flatten()
    {
        line.push_str(&format!(" {part}"));
    }
    line
}

/// What was recorded and what is found, each on a line; and why there is no better verdict.
pub(crate) fn both_sides(run: &VerifiedRun) -> String {
    let mut text = String::new();
    if let Some(recorded) = &run.recorded {
        text.push_str(&format!("then  {}\n", cut_to(&recorded.0.to_string(), SIDE)));
    }
    if let Some(found) = &run.found {
        text.push_str(&format!("now   {}\n", cut_to(&found.0.to_string(), SIDE)));
    }
    if let Some(why) = &run.why {
        text.push_str(&format!("{why}\n"));
    }
    text
}
