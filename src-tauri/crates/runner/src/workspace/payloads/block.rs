//! The detail of a block as the window gets it.

use serde_json::Value;

use super::cut::{cut, cut_value};
use super::measured::Room;
use crate::core::fault::Fault;
use crate::views::*;
use crate::workspace::Workspace;

/// Items, changes, lines and effects that are sent with a block.
const MAX_ROWS: usize = 100;
/// Items show more of themselves.
const MAX_ITEMS: usize = 50;
/// Lines of a console that are not cut to their beginnings, all together.
const MAX_LOG_CHARACTERS: usize = 20_000;
const MAX_LINE: usize = 2_000;
const MIN_LINE: usize = 100;

impl Workspace {
    /// Everything about one execution of a block, with parts instead of large values.
    pub fn block_parts(&self, request: &str, instance: &str) -> Result<BlockParts, Fault> {
        let detail = self.block(request, instance)?;
        let address = |part: BlockPart, n: u64| PayloadAddress::Block {
            request: request.to_owned(),
            instance: instance.to_owned(),
            part,
            n,
        };
        let mut room = Room::new();
        let mut pack = |value: Option<Json>, part: BlockPart, n: u64| {
            value.map(|Json(value)| self.pack(value, &mut room, || address(part, n))).transpose()
        };
        let BlockDetail { mut block, kept_by, input, output, span, items, changes, logs, asked, effects, model_calls } =
            detail;
        let input = pack(input, BlockPart::Input, 0)?;
        let output = pack(output, BlockPart::Output, 0)?;
        let details = pack(block.error.as_mut().and_then(|error| error.details.take()), BlockPart::Details, 0)?;
        let span = pack(span, BlockPart::Span, 0)?;
        let mut effect_parts = |rows: Vec<EffectRow>| {
            let rows = rows.into_iter().take(MAX_ROWS).map(|row| {
                Ok(EffectParts {
                    request: pack(row.request, BlockPart::Asked, row.seq)?,
                    result: pack(row.result, BlockPart::Answered, row.seq)?,
                    seq: row.seq,
                    effect: row.effect,
                    ordinal: row.ordinal,
                    started_at: row.started_at,
                    duration_ms: row.duration_ms,
                    error: row.error.map(|error| error.message),
                    memoized: row.memoized,
                })
            });
            rows.collect::<Result<Vec<_>, Fault>>()
        };
        let calls = model_calls.into_iter().map(|call| call.effect).collect();
        let (model_calls, effects) = (effect_parts(calls)?, effect_parts(effects)?);
        let (item_count, change_count, log_count) = (items.len() as u64, changes.len() as u64, logs.len() as u64);
        let mut parts = Vec::new();
        for (n, change) in (0..).zip(changes.into_iter().take(MAX_ROWS)) {
            parts.push(self.change_parts(change, |value, old| {
                let part = if old { BlockPart::Old } else { BlockPart::New };
                self.pack(value, &mut room, || address(part, n))
            })?);
        }
        Ok(BlockParts {
            block,
            kept_by,
            input,
            output,
            details,
            span,
            items: items.into_iter().take(MAX_ITEMS).map(cut_item).collect(),
            item_count,
            changes: parts,
            change_count,
            logs: cut_logs(logs),
            log_count,
            asked,
            effects,
            model_calls,
        })
    }

    /// A value of a block that a reference names.
    pub(super) fn value_of_block(
        &self,
        request: &str,
        instance: &str,
        part: BlockPart,
        n: u64,
    ) -> Result<Value, Fault> {
        let detail = self.block(request, instance)?;
        let effect = |rows: Vec<EffectRow>| rows.into_iter().find(|row| row.seq == n);
        let change = |rows: Vec<Change>| usize::try_from(n).ok().and_then(|n| rows.into_iter().nth(n));
        let found = match part {
            BlockPart::Input => detail.input,
            BlockPart::Output => detail.output,
            BlockPart::Details => detail.block.error.and_then(|error| error.details),
            BlockPart::Span => detail.span,
            BlockPart::Asked => effect(all_effects(detail)).and_then(|row| row.request),
            BlockPart::Answered => effect(all_effects(detail)).and_then(|row| row.result),
            BlockPart::Old => change(detail.changes).and_then(|change| change.old),
            BlockPart::New => change(detail.changes).and_then(|change| change.new),
        };
        let missing = || Fault::not_found(format!("block \"{instance}\" has no such value"));
        found.map(|Json(value)| value).ok_or_else(missing)
    }
}

fn all_effects(detail: BlockDetail) -> Vec<EffectRow> {
    detail.effects.into_iter().chain(detail.model_calls.into_iter().map(|call| call.effect)).collect()
}

fn cut_item(mut item: ItemRow) -> ItemRow {
    item.payload.values_mut().for_each(|value| cut_value(value, 0));
    item
}

fn cut_logs(logs: Vec<LogLine>) -> Vec<LogLine> {
    let mut left = MAX_LOG_CHARACTERS;
    let lines = logs.into_iter().take(MAX_ROWS).map(|mut line| {
        cut(&mut line.text, MAX_LINE.min(left).max(MIN_LINE));
        left = left.saturating_sub(line.text.chars().count());
        line
    });
    lines.collect()
}
