//! The tool `compare`: the arms of an experiment, or the list of experiments.

use runner::ArmView;
use serde_json::{Value, json};

use crate::answer::{Answer, Page};
use crate::arguments::{Arguments, Refused, on};
use crate::door::Door;
use crate::shown::{cut, head, name, word};

pub(crate) fn compare(door: &Door, mut arguments: Arguments, page: Page) -> Result<Answer, Refused> {
    let experiment = arguments.text("experiment")?;
    arguments.finish()?;
    let Some(id) = experiment else { return list(door, page) };
    let view = door.workspace.experiment(&id).map_err(on("experiment"))?;
    let arms: Vec<&ArmView> =
        std::iter::once(&view.base).chain(view.arms.iter().filter(|arm| arm.id != view.base.id)).collect();
    let mut answer = Answer::new(format!(
        "{} forks {} before {} in {} arms{}.",
        name(&view.id),
        name(&view.request_id),
        name(&view.at),
        arms.len(),
        if view.missing > 0 { format!(", {} samples are missing", view.missing) } else { String::new() },
    ));
    answer.total = Some(arms.len() as u64);
    for arm in arms {
        arm_row(&mut answer, arm);
    }
    for note in &view.notes {
        answer.row(format!("note: {note}"), json!({ "note": note }));
    }
    let sample = view.arms.first().and_then(|arm| arm.samples.first());
    Ok(match sample {
        Some(sample) => answer.then("diff", json!({ "request": view.request_id, "with": sample.request_id })),
        None => answer,
    })
}

fn arm_row(answer: &mut Answer, arm: &ArmView) {
    let summary = &arm.summary;
    let axes = arm.axes.0.to_string();
    let mut text = format!("arm {} {} · {} samples", name(&arm.id), cut(&axes, 300), summary.n);
    let interval = |low: Option<f64>, high: Option<f64>| match (low, high) {
        (Some(low), Some(high)) => format!(" ({low:.2} to {high:.2})"),
        _ => String::new(),
    };
    if let Some(rate) = summary.rate {
        text.push_str(&format!(" · passes {:.0} %{}", rate * 100.0, interval(summary.low, summary.high)));
    } else if let Some(mean) = summary.mean {
        let scored = summary.n - summary.unscored;
        let equal = if summary.low.is_none() && scored > 1 { " (all equal)" } else { "" };
        text.push_str(&format!(" · mean score {mean:.3}{}{equal}", interval(summary.low, summary.high)));
    }
    if let Some(beside) = &summary.beside_base {
        text.push_str(&format!(" · compared with the base: {}", word(beside).replace('_', " ")));
    }
    if summary.failed > 0 {
        text.push_str(&format!(" · {} failed", summary.failed));
    }
    if let Some(tokens) = summary.median_tokens {
        text.push_str(&format!(" · median {tokens:.0} tokens"));
    }
    if let Some(cost) = summary.cost_usd {
        text.push_str(&format!(" · {cost:.4} USD"));
    }
    if let Some(error) = &arm.error {
        text.push_str(&format!(" · {}", crate::shown::quoted(error, 200)));
    }
    let samples: Vec<&str> = arm.samples.iter().take(10).map(|sample| sample.request_id.as_str()).collect();
    let axes = if axes.len() <= 600 { arm.axes.0.clone() } else { Value::String(head(&axes, 600).to_owned()) };
    answer.row(text, json!({ "arm": arm.id, "axes": axes, "summary": summary, "samples": samples }));
}

fn list(door: &Door, page: Page) -> Result<Answer, Refused> {
    let limit = page.rows();
    let rows = door.workspace.experiments(limit, page.offset)?;
    let mut answer = Answer::new(match rows.len() {
        0 => "There are no experiments; start one with `flowglass try REQUEST --at PATH …`.".to_owned(),
        count => format!("{count} experiments, newest first."),
    });
    answer.has_more = rows.len() as u64 >= limit;
    answer.begins_at_offset = true;
    for row in &rows {
        let text = format!(
            "{} · forks of {} before {} · {} · {} arms · {} of {} samples",
            name(&row.id),
            name(&row.request_id),
            name(&row.at),
            row.axes.iter().map(|axis| name(axis)).collect::<Vec<_>>().join(", "),
            row.arms,
            row.samples,
            row.wanted
        );
        answer.row(text, json!(row));
    }
    Ok(match rows.first() {
        Some(row) => answer.then("compare", json!({ "experiment": row.id })),
        None => answer,
    })
}
