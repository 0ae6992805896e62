//! Prints experiments: one line per arm, with the results of its samples.

use runner::{
    Adopted, ArmView, BesideBase, CulpritView, ExperimentRow, ExperimentView, LeftToDo, StoppedBy, TryPlan,
    WhereDecided,
};
use serde_json::Value;

use super::{counted, cut_to, duration};

/// For how many arms the missing samples are listed.
const MAX_MISSING: usize = 20;
/// How many characters of a value a column shows.
const VALUE: usize = 32;
/// How many samples are listed, all arms together.
const MAX_LISTED: usize = 130;
/// Fewer scores without an interval are not enough samples to tell.
const FEW: u32 = 5;
/// How wide the bar of a rate is.
const BAR: usize = 20;

/// The plan of an experiment.
pub(crate) fn try_plan(plan: &TryPlan) -> String {
    let TryPlan { model_calls, base_model_calls, score_model_calls, tokens, cost_usd, .. } = plan;
    let mut text = match plan.left {
        None => format!("{} × {}: ", counted(plan.arms.into(), "arm"), counted(plan.samples.into(), "sample")),
        Some(left) => match left_to_do(left) {
            None => return format!("nothing is left to do\n{}", not_run(plan)),
            Some(left) => format!("left to do: {left}: "),
        },
    };
    match model_calls {
        0 => text.push_str("no model call"),
        calls => text.push_str(&format!("at most {}", counted((*calls).into(), "model call"))),
    }
    let parts = [(base_model_calls, "with nothing changed"), (score_model_calls, "to score samples")];
    let parts: Vec<String> =
        parts.into_iter().filter(|(calls, _)| **calls > 0).map(|(calls, what)| format!("{calls} {what}")).collect();
    if !parts.is_empty() {
        text.push_str(&format!(" ({})", parts.join(", ")));
    }
    if let Some(tokens) = tokens {
        text.push_str(&format!(", {tokens:.0} tokens"));
    }
    if let Some(cost) = cost_usd.filter(|_| !plan.mock) {
        text.push_str(&format!(", {cost:.4} US dollars"));
    }
    text.push_str(if plan.mock { "; models are mocked, and cost nothing\n" } else { "\n" });
    if let Some(action) = &plan.scored_by {
        text.push_str(&format!("scored by {action}: its model calls are not included\n"));
    }
    text.push_str(&announced(plan));
    text
}

/// How many samples are left to run or score; `None` if none.
fn left_to_do(LeftToDo { to_begin, to_continue, to_score }: LeftToDo) -> Option<String> {
    let parts = [(to_begin, "begin"), (to_continue, "continue"), (to_score, "score")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> =
        parts.map(|(count, what)| format!("{} to {what}", counted(count.into(), "sample"))).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The plan of a search for the deciding step.
pub(crate) fn culprit_plan(plan: &TryPlan) -> String {
    let mut text = format!("at most {}", counted(plan.samples.into(), "fork"));
    match plan.model_calls {
        0 => text.push_str(", without model calls"),
        calls => text.push_str(&format!(" and {}", counted(calls.into(), "model call"))),
    }
    text.push_str(if plan.mock { "; models are mocked, and cost nothing\n" } else { "\n" });
    text.push_str(&announced(plan));
    text
}

/// Why arms cannot be run.
fn not_run(plan: &TryPlan) -> String {
    plan.cannot_run.iter().map(|reason| format!("cannot be run: {reason}\n")).collect()
}

/// The models, hosts and questions of a plan, and its notes.
fn announced(plan: &TryPlan) -> String {
    let mut text = String::new();
    let TryPlan { models, other_models, hosts, asks_again, .. } = plan;
    let lists = [
        ("models asked", models),
        ("models that only other paths through the flow use", other_models),
        ("hosts fetched from", hosts),
        ("asks anew", asks_again),
    ];
    for (what, names) in lists.into_iter().filter(|(_, names)| !names.is_empty()) {
        text.push_str(&format!("{what}: {}\n", names.join(", ")));
    }
    text.push_str(&not_run(plan));
    for note in &plan.notes {
        text.push_str(&format!("note: {note}\n"));
    }
    text
}

/// The table of the arms, and one line per sample if each arm has one.
pub(crate) fn experiment(view: &ExperimentView) -> String {
    let mut text = format!("{} from before {} of {}\n\n", view.id, view.at, view.request_id);
    let has_base = view.base.id == "base";
    let arms: Vec<&ArmView> = has_base.then_some(&view.base).into_iter().chain(&view.arms).collect();
    let names: Vec<String> = view.arms.first().map(|arm| axes(arm).map(|(name, _)| name).collect()).unwrap_or_default();
    let has_score = view.unscored > 0 || arms.iter().any(|arm| arm.summary.rate.or(arm.summary.mean).is_some());
    let mut rows = vec![head(&names, has_score)];
    rows.extend(arms.iter().map(|arm| row(arm, &names, has_score)));
    text.push_str(&table(&rows));
    for arm in &arms {
        if let Some(error) = &arm.error {
            text.push_str(&format!("\narm {}: {error}\n", arm.id));
        }
        for sample in &arm.samples {
            if let Some(error) = &sample.score_error {
                text.push_str(&format!("\narm {}, sample {}: no score: {error}\n", arm.id, sample.number));
                break;
            }
        }
    }
    let samples = arms.iter().map(|arm| arm.samples.len()).sum::<usize>();
    if samples > MAX_LISTED {
        text.push_str(&format!("\n{samples} samples: see the window, or use --json\n"));
    } else if samples > 0 {
        text.push('\n');
        for (arm, sample) in arms.iter().flat_map(|arm| arm.samples.iter().map(move |sample| (arm, sample))) {
            let output = match (&sample.output, &sample.error) {
                (_, Some(error)) => format!("{}: {}", error.name, error.message),
                (Some(output), None) => output.0.to_string(),
                (None, None) => String::new(),
            };
            let (id, status) = (&sample.request_id, sample.status.as_str());
            text.push_str(&format!("{:>4}  {id}  {status}  {}\n", arm.id, cut_to(&output, 160)));
        }
    }
    let why = view.stopped.map(|stopped| match stopped {
        StoppedBy::Budget => "the budget is spent",
        StoppedBy::Cancelled => "the experiment was stopped",
    });
    if let Some(why) = why {
        let parts = [(view.missing, "missing"), (view.unscored, "not scored")];
        let parts = parts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<String> =
            parts.map(|(count, what)| format!("{} {what}", counted(count.into(), "sample"))).collect();
        text.push_str(&format!("\n{why}: {}; go on with flowglass try --go-on {}\n", parts.join(", "), view.id));
        text.push_str(&missing(&arms, view.stopped == Some(StoppedBy::Budget)));
    }
    for note in &view.notes {
        text.push_str(&format!("\nnote: {note}\n"));
    }
    text
}

/// The missing samples of each arm. If the budget is spent, marks those that were not started.
fn missing(arms: &[&ArmView], is_budget_spent: bool) -> String {
    let line = |arm: &&ArmView| {
        let samples = if arm.missing.len() == 1 { "sample" } else { "samples" };
        let why = if !is_budget_spent || arm.error.is_some() || arm.not_started.is_empty() {
            "missing".to_owned()
        } else if arm.not_started == arm.missing {
            "not started: the budget is spent".to_owned()
        } else {
            format!("missing; {} not started: the budget is spent", ranges(&arm.not_started))
        };
        format!("{:>4}  {samples} {}  {why}\n", arm.id, ranges(&arm.missing))
    };
    let missing: Vec<&ArmView> = arms.iter().copied().filter(|arm| !arm.missing.is_empty()).collect();
    let (first, rest) = missing.split_at(missing.len().min(MAX_MISSING));
    let mut text: String = first.iter().map(line).collect();
    match rest.len() {
        0 => {}
        1 => text.push_str("and 1 more arm\n"),
        more => text.push_str(&format!("and {more} more arms\n")),
    }
    text
}

/// Ascending numbers, as `1-3, 7`.
fn ranges(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let shown = |(first, last): &(u32, u32)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    ranges.iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn axes(arm: &ArmView) -> impl Iterator<Item = (String, Value)> {
    arm.axes.0.as_object().cloned().unwrap_or_default().into_iter()
}

fn head(names: &[String], has_score: bool) -> Vec<String> {
    let mut head = vec!["arm".to_owned()];
    head.extend(names.iter().cloned());
    head.push("ended".to_owned());
    if has_score {
        head.push("score (95 % interval)".to_owned());
    }
    head.extend(["differ", "tokens (median)", "time (median)", "cost (all)"].map(str::to_owned));
    head
}

fn row(arm: &ArmView, names: &[String], has_score: bool) -> Vec<String> {
    let summary = &arm.summary;
    let mut cells = vec![arm.id.clone()];
    for name in names {
        let value = arm.axes.0.get(name).map_or_else(|| "as it was".to_owned(), shown);
        cells.push(cut_to(&value, VALUE));
    }
    let parts = [(summary.failed, "failed"), (summary.waiting, "waiting")];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!(", {count} {what}"));
    cells.push(format!("{}{}", summary.n, parts.collect::<String>()));
    if has_score {
        cells.push(score(arm));
    }
    cells.push(summary.differing.to_string());
    cells.push(summary.median_tokens.map_or_else(String::new, |tokens| format!("{tokens:.0}")));
    cells.push(summary.median_ms.map_or_else(String::new, |ms| duration(Some(ms as i64))));
    let shared = summary.shared_usd.map_or_else(String::new, |cost| format!(" + {cost:.4} $ shared"));
    cells.push(summary.cost_usd.map_or_else(String::new, |cost| format!("{cost:.4} ${shared}")));
    cells
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn score(arm: &ArmView) -> String {
    let summary = &arm.summary;
    let told = match (summary.passed, summary.rate, summary.mean) {
        (Some(passed), Some(rate), _) => {
            format!("{passed}/{} {:.0} %", summary.n - summary.unscored, rate * 100.0)
        }
        (_, _, Some(mean)) => number(mean),
        _ => return "none".to_owned(),
    };
    let scored = summary.n - summary.unscored;
    let interval = match (summary.low, summary.high) {
        (Some(low), Some(high)) if summary.rate.is_some() => format!(" ({:.0}–{:.0} %)", low * 100.0, high * 100.0),
        (Some(low), Some(high)) => format!(" ({}–{})", number(low), number(high)),
        // The mean of equal scores has no interval.
        _ if scored > 1 => format!(" (all {scored} equal)"),
        _ => String::new(),
    };
    let beside = match summary.beside_base {
        Some(BesideBase::Better) => ", better",
        Some(BesideBase::Worse) => ", worse",
        Some(BesideBase::NotEnoughSamples) => ", not enough samples to tell",
        Some(BesideBase::Same) => ", same",
        None if summary.low.is_none() && scored < FEW => ", not enough samples to tell",
        None => "",
    };
    let left_out = match summary.unscored {
        0 => String::new(),
        left => format!("; {} of {}, {left} without score", summary.n - left, summary.n),
    };
    format!("{told}{interval}{beside}{left_out}")
}

fn number(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Columns as wide as their widest cell.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

/// The list of experiments.
pub(crate) fn experiments(rows: &[ExperimentRow], is_part: bool) -> String {
    if rows.is_empty() {
        let none = if is_part {
            "no experiment in that part of the list"
        } else {
            "no experiment yet; start one with flowglass try"
        };
        return format!("{none}\n");
    }
    let head = ["experiment", "request", "at", "varies", "samples"].map(str::to_owned).to_vec();
    let line = |row: &ExperimentRow| {
        let axes = if row.axes.is_empty() { "nothing".to_owned() } else { row.axes.join(", ") };
        let samples = format!("{} of {}", row.samples, row.wanted);
        vec![row.id.clone(), row.request_id.clone(), row.at.clone(), axes, samples]
    };
    table(&std::iter::once(head).chain(rows.iter().map(line)).collect::<Vec<_>>())
}

/// The edit of a file.
pub(crate) fn adopted(adopted: &Adopted) -> String {
    let left_out: String =
        adopted.left_out.iter().map(|one| format!("not in the edit: {} ({})\n", one.name, one.why)).collect();
    if adopted.difference.is_empty() {
        return format!("nothing to change: {} already has this edit\n{left_out}", adopted.file);
    }
    let end = if adopted.is_written { "written\n" } else { "not written; add --write to make this edit\n" };
    format!("{}\n{}{left_out}{end}", adopted.file, adopted.difference)
}

/// The step that decided a failure, and the failure rates of forks before each step.
pub(crate) fn culprit(view: &CulpritView) -> String {
    let mut text = match (&view.verdict, &view.culprit) {
        (WhereDecided::Found, Some(step)) => format!("decided at {} (event {})\n", step.path, step.seq),
        (WhereDecided::BeforeTheFirstStep, _) => "decided before the first step\n".to_owned(),
        _ => "not enough samples to tell\n".to_owned(),
    };
    if !view.curve.is_empty() {
        let forks = counted(view.forks.into(), "fork");
        text.push_str(&format!("\nhow often forks from before a step fail ({forks}):\n"));
    }
    let is_twice = |path: &str| view.steps.iter().filter(|step| step.path == path).count() > 1;
    let rows: Vec<Vec<String>> = view
        .curve
        .iter()
        .map(|point| {
            let bar = "█".repeat((point.rate * BAR as f64).round() as usize);
            let rate = format!("{:.0} % ({:.0}–{:.0} %)", point.rate * 100.0, point.low * 100.0, point.high * 100.0);
            vec![
                if is_twice(&point.path) {
                    format!("  {}#{}", point.path, point.attempt)
                } else {
                    format!("  {}", point.path)
                },
                format!("{}/{}", point.failures, point.samples),
                format!("{bar:BAR$}"),
                rate,
            ]
        })
        .collect();
    text.push_str(&table(&rows));
    for note in &view.notes {
        text.push_str(&format!("\nnote: {note}\n"));
    }
    text
}
