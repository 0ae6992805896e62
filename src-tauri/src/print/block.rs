//! One block as text: its input and output, and everything that it did.

use std::fmt::Write as _;

use engine::event::BlockKind;
use engine::views::blocks::BlockStatus;
use runner::{BlockDetail, EffectRow, KeptBy, local_instant};
use serde_json::{Value, json};

use super::timeline::status;
use super::{cut, duration, items, plain, short, state, suspensions, table};

/// Everything about a block; parts that it does not have are left out.
pub(crate) fn block(block: &BlockDetail) -> String {
    let row = &block.block;
    let mut text = format!(
        "{} · {} \"{}\" · attempt {} · {} · {}\n",
        row.path,
        row.kind.as_str(),
        row.name,
        row.attempt,
        status(row),
        duration(row.duration_ms)
    );
    match block.kept_by {
        Some(KeptBy::Resume(number)) => drop(writeln!(text, "kept by resume {number}")),
        Some(KeptBy::Fork) => text.push_str("ran in the request that this one was forked from\n"),
        None => {}
    }
    if let Some(input) = &block.input {
        let _ = writeln!(text, "input   {}", short(&input.0));
    }
    if let Some(output) = &block.output {
        let _ = writeln!(text, "output  {}", short(&output.0));
    } else if row.kind == BlockKind::Hook && row.status == BlockStatus::Completed {
        text.push_str("output  unchanged\n");
    }
    if let Some(error) = &row.error {
        text.push_str(&super::errors::lines(error));
    }
    let mut part = |title: &str, is_there: bool, body: &dyn Fn() -> String| {
        if is_there {
            let _ = write!(text, "\n{title}\n{}", body());
        }
    };
    let facts = block.span.as_ref().map(|span| span_facts(&span.0)).unwrap_or_default();
    part("Attributes", !facts.is_empty(), &|| table(&["NAME", "VALUE"], &facts));
    part("Asked", !block.asked.is_empty(), &|| suspensions(&block.asked));
    part("Model calls", !block.model_calls.is_empty(), &|| super::models::calls(&block.model_calls));
    part("Effects", !block.effects.is_empty(), &|| effects(&block.effects));
    part("State changes", !block.changes.is_empty(), &|| state::changes(&block.changes));
    part("Items", !block.items.is_empty(), &|| items(&block.items));
    part("Console", !block.logs.is_empty(), &|| {
        let rows: Vec<_> =
            block.logs.iter().map(|line| vec![local_instant(line.at), line.level.clone(), cut(&line.text)]).collect();
        table(&["AT", "LEVEL", "TEXT"], &rows)
    });
    text
}

/// The fields of a span that other blocks do not have: its attributes, then the others.
fn span_facts(span: &Value) -> Vec<Vec<String>> {
    let fields = |name: &str| span[name].as_object().into_iter().flatten();
    let own = fields("attributes").map(|(name, value)| vec![cut(name), plain(value)]);
    let resource = fields("resource").map(|(name, value)| vec![cut(&format!("resource {name}")), plain(value)]);
    let is_said = |value: &Value| !matches!(value, Value::String(text) if text.is_empty()) && *value != json!({});
    let scope = fields("scope").filter(|(_, value)| is_said(value));
    let scope = scope.map(|(name, value)| vec![format!("scope {name}"), plain(value)]);
    let links = span.get("links").map(|links| vec!["links".to_owned(), short(links)]);
    own.chain(resource).chain(scope).chain(links).collect()
}

fn effects(effects: &[EffectRow]) -> String {
    let rows: Vec<_> = effects
        .iter()
        .map(|effect| {
            let came = match (&effect.result, &effect.error) {
                (_, Some(error)) => format!("✗ {}: {}", error.name, cut(&error.told())),
                (Some(result), None) => short(&result.0),
                (None, None) => "▶ not ended".to_owned(),
            };
            vec![
                effect.seq.to_string(),
                format!("{}[{}]{}", effect.effect, effect.ordinal, if effect.memoized { " =" } else { "" }),
                duration(effect.duration_ms),
                effect.request.as_ref().map(|request| short(&request.0)).unwrap_or_default(),
                came,
            ]
        })
        .collect();
    table(&["SEQ", "EFFECT", "TOOK", "ASKED", "ANSWER"], &rows)
}
