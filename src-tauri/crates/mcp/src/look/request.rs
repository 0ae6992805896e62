//! The overview of a request: input, output, error, open questions and blocks.

use std::collections::HashMap;

use runner::{RequestRow, ShownBlock, ViewRow};
use serde_json::{Value, json};

use crate::address::Address;
use crate::answer::{Answer, Page};
use crate::arguments::Refused;
use crate::door::Door;
use crate::find::block_row;
use crate::shown::{head, name, quoted, shown};

/// Up to this number of blocks, rows show the outputs of blocks.
const MAX_BLOCKS_WITH_OUTPUT: u64 = 60;
/// The number of bytes of a block's output in the block's row.
const OUTPUT: usize = 100;
/// How many bytes of input and output are shown.
const SHOWN: usize = 600;

/// The beginning of each block's output, by instance.
fn outputs(door: &Door, id: &str, page: Page) -> Result<HashMap<String, String>, Refused> {
    let blocks = door.workspace.show(id)?.blocks;
    let of = |block: ShownBlock| {
        let text = block.output?.0.to_string();
        let begin = head(&text, page.bytes_of_value(OUTPUT));
        let mark = if begin.len() < text.len() { "…" } else { "" };
        Some((block.row.instance_id, format!("{begin}{mark}")))
    };
    Ok(blocks.into_iter().filter_map(of).collect())
}

pub(super) fn overview(door: &Door, known: &RequestRow, page: Page) -> Result<Answer, Refused> {
    let id = &known.id;
    let tree = door.workspace.folded_tree(id)?;
    let (input, output) = door.workspace.asked_and_answered(id)?;
    let mut sentence = format!(
        "{} ran {}.{} for {} and is {}: {} blocks, {} failed, {} model calls, {} events.",
        name(id),
        name(&known.flow),
        name(&known.action),
        name(&known.user_id),
        known.status.as_str(),
        tree.counts.blocks,
        tree.counts.failed,
        tree.sums.model_calls,
        known.last_seq,
    );
    if let Some(emitter) = &known.received_from {
        sentence.push_str(&format!(" It was received as a trace ({}), which has no code and no state.", name(emitter)));
    }
    if let Some(kept) = &tree.kept {
        sentence.push_str(&format!(" It reuses the answers of {} model calls from before the fork.", kept.model_calls));
    }
    if known.mock {
        sentence.push_str(" Its models were mocked.");
    }
    let mut answer = Answer::new(sentence);
    if let Some(error) = &known.error {
        let place = match (&error.file, error.line) {
            (Some(file), Some(line)) => format!(" at {}:{line}", name(file)),
            _ => String::new(),
        };
        let by = error.path.as_deref().map(|path| format!(" in {}", name(path))).unwrap_or_default();
        let text =
            format!("error {}: {}{place}{by}", name(&error.name), quoted(&error.message, page.bytes_of_value(SHOWN)));
        answer.row(
            text,
            json!({ "error": { "name": error.name, "message": crate::find::short(&error.message),
            "file": error.file, "line": error.line, "path": error.path } }),
        );
    }
    for (what, value, address) in
        [("input", input, Address::Input(id.clone())), ("output", output, Address::Output(id.clone()))]
    {
        if let Some(value) = value {
            let shown = shown(&value.0, page.bytes_of_value(SHOWN), &address);
            answer.row(format!("{what} {}", shown.text), json!({ what: shown.json }));
        }
    }
    for question in door.workspace.pending(id)? {
        let data = question.data.as_ref().map_or(Value::Null, |data| data.0.clone());
        let address = Address::Event { request: id.clone(), seq: question.seq };
        let data = shown(&data, page.bytes_of_value(SHOWN), &address);
        let message = question.message.as_deref().unwrap_or(&question.reason);
        let text = format!(
            "waits in {} for an answer to {}: {} {}",
            name(&question.path),
            name(&question.id),
            quoted(message, page.bytes_of_value(200)),
            data.text
        );
        answer.row(
            text,
            json!({ "suspension": question.id, "path": question.path, "allow": question.allow,
            "message": crate::find::short(message), "data": data.json }),
        );
    }
    let head = answer.rows.len() as u64;
    let outputs = if tree.counts.blocks <= MAX_BLOCKS_WITH_OUTPUT { outputs(door, id, page)? } else { HashMap::new() };
    answer.rows.extend(tree.rows.iter().map(|row| {
        let mut shown_row = block_row(row);
        if let Some(output) = row.instance_id.as_ref().and_then(|instance| outputs.get(instance)) {
            shown_row.text.push_str(&format!(" -> {output}"));
            shown_row.json["output"] = json!(output);
        }
        shown_row
    }));
    answer.total = Some(head + tree.rows.len() as u64);
    let is_failed = |row: &&ViewRow| row.error.is_some();
    let to = tree.rows.iter().rev().find(is_failed).or(tree.rows.last());
    if let Some(path) = to.and_then(|row| row.path.clone()) {
        answer = answer.then("look", json!({ "request": id, "at": path }));
    }
    Ok(answer)
}
