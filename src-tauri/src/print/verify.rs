//! Prints verdicts on recorded runs; differences with the same cause are one line.

use runner::{CutValue, Verdict, Verified, VerifiedGroup, VerifiedRun};
use serde_json::Value;

use super::{counted, unset_variables};

/// How many characters of each side are shown, and how many of them before the first difference.
const SIDE: usize = 240;
const BEFORE: usize = 80;
/// How many flows of a group, and runs without a verdict, are listed.
const NAMED: usize = 10;

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
        let runs = counted(verified.not_run.into(), "run");
        text.push_str(&format!("cancelled: {runs} not run: {}\n", some_of(&verified.missing)));
    }
    text.push_str(&unset_variables(&verified.unset_variables));
    text
}

/// The words for a verdict on `count` runs.
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
    let VerifiedGroup { verdict, flows, path, field, count, .. } = group;
    let mut head = format!("{count:>5}  {}", words(*verdict, *count));
    let flows = (!flows.is_empty()).then(|| some_of(flows));
    for part in [flows.as_deref(), path.as_deref(), field.map(|field| field.as_str())].into_iter().flatten() {
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

/// The difference of a run, on one line.
pub(crate) fn verdict_line(run: &VerifiedRun) -> String {
    let mut line = words(run.verdict, 1).to_owned();
    for part in [run.path.as_deref(), run.field.map(|field| field.as_str()), run.place.as_deref()].into_iter().flatten()
    {
        line.push_str(&format!(" {part}"));
    }
    line
}

/// The first names of a list, and the number of the others.
fn some_of(names: &[String]) -> String {
    let mut text = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED {
        text.push_str(&format!(" and {} more", names.len() - NAMED));
    }
    text
}

/// The recorded and the current value, each on a line, and the reason for the verdict.
pub(crate) fn both_sides(run: &VerifiedRun) -> String {
    let mut text = String::new();
    let [recorded, found] = [&run.recorded, &run.found].map(|side| side.as_ref().map(|side| Side::of(&side.0)));
    // Cut long sides around their first difference, because their beginnings are equal.
    let same = match (&recorded, &found) {
        (Some(recorded), Some(found)) => {
            let both = recorded.text.chars().zip(found.text.chars());
            both.take_while(|(recorded, found)| recorded == found).count()
        }
        _ => 0,
    };
    let from = same.saturating_sub(BEFORE);
    for (word, side) in [("then  ", recorded), ("now   ", found)] {
        if let Some(side) = side {
            text.push_str(&format!("{word}{}\n", side.cut_from(from)));
        }
    }
    if let Some(why) = &run.why {
        text.push_str(&format!("{why}\n"));
    }
    text
}

/// One side of a difference, on one line.
struct Side {
    text: String,
    /// The length of the whole side.
    bytes: usize,
    /// Whether the text was cut before its beginning, and after its end.
    is_begun: bool,
    goes_on: bool,
}

impl Side {
    fn of(value: &Value) -> Side {
        if let Some(CutValue { part, bytes, from }) = CutValue::of(value) {
            let goes_on = from.saturating_add(part.len()) < bytes;
            return Side { text: part.replace(['\r', '\n'], " "), bytes, is_begun: from > 0, goes_on };
        }
        let text = value.to_string();
        Side { bytes: text.len(), text, is_begun: false, goes_on: false }
    }

    /// The whole side or, if it is too long for a line, the part from a character on.
    fn cut_from(self, from: usize) -> String {
        let Side { text, bytes, is_begun, goes_on } = self;
        let length = text.chars().count();
        // A side that ends before the first difference shows its end.
        let from = from.min(length.saturating_sub(SIDE));
        let shown: String = text.chars().skip(from).take(SIDE).collect();
        let before = if is_begun || from > 0 { "…" } else { "" };
        let after = if goes_on || from + SIDE < length { "…" } else { "" };
        let size = if before.is_empty() && after.is_empty() { String::new() } else { format!(" ({bytes} bytes)") };
        format!("{before}{shown}{after}{size}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_long_side_is_cut_around_the_first_difference() {
        let side = |total: u32| Side::of(&json!({ "long": "x".repeat(400), "total": total }));
        let shown = side(4).cut_from(330);
        assert!(shown.starts_with("…xxx") && shown.ends_with("x\",\"total\":4} (421 bytes)"), "{shown}");
        assert_eq!(Side::of(&json!({ "total": 4 })).cut_from(330), "{\"total\":4}");
        let cut = |from: usize, bytes: usize| Side::of(&json!({ "$cut": "a\nb", "from": from, "bytes": bytes }));
        assert_eq!(cut(0, 3).cut_from(0), "a b");
        assert_eq!(cut(7, 20).cut_from(0), "…a b… (20 bytes)");
    }
}
