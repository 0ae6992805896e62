//! Everything about one execution of a block.

use std::sync::Arc;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind};
use engine::views::Events;
use engine::views::attempts::rolled_back;
use engine::views::blocks::{BlockView, blocks};
use engine::views::items::items;
use engine::views::model_requests::Requests;

use super::Workspace;
use super::answers::{questions, shown};
use crate::core::fault::Fault;
use crate::views::*;

/// How many paths an error names.
const MAX_NAMED: usize = 8;

impl Workspace {
    /// Everything about one execution of a block, by its instance: `requestId:path:attempt`.
    pub fn block(&self, request: &str, instance: &str) -> Result<BlockDetail, Fault> {
        let (row, events) = self.log_of(request)?;
        let all = blocks(Events::new(&events), !row.status.is_terminal());
        let block = all.iter().find(|block| format!("{request}:{}:{}", block.path, block.attempt) == instance);
        let block =
            block.ok_or_else(|| Fault::not_found(format!("request \"{request}\" has no block \"{instance}\"")))?;
        self.detail(&row, &events, block)
    }

    /// As [`block`](Self::block), by its path and its attempt: the newest where none is named.
    pub fn block_at(&self, request: &str, path: &str, attempt: Option<u32>) -> Result<BlockDetail, Fault> {
        let (row, events) = self.log_of(request)?;
        let all = blocks(Events::new(&events), !row.status.is_terminal());
        let there = || all.iter().filter(|block| &*block.path == path);
        let wanted = there().filter(|block| attempt.is_none_or(|attempt| block.attempt == attempt));
        let block = wanted.max_by_key(|block| block.attempt).ok_or_else(|| {
            let text = match (attempt, there().map(|block| block.attempt).max()) {
                (Some(attempt), Some(newest)) => {
                    format!("block \"{path}\" of request \"{request}\" has attempts 0 to {newest}, not {attempt}")
                }
                _ => format!("request \"{request}\" has no block at \"{path}\"; {}", named(&all)),
            };
            Fault::not_found(text)
        })?;
        self.detail(&row, &events, block)
    }

    fn detail(&self, row: &RequestRow, events: &[Event], block: &BlockView<'_>) -> Result<BlockDetail, Fault> {
        let view = Events::new(events);
        let request = row.id.as_str();
        let instance = format!("{request}:{}:{}", block.path, block.attempt);
        let own = |event: &&Event| event.path.as_deref() == Some(&*block.path) && event.attempt == block.attempt;
        let id: Arc<str> = request.into();
        let items = items(&id, view, !row.status.is_terminal())
            .into_iter()
            .filter(|item| item.provenance.block_instance_id == instance)
            .map(ItemRow::from)
            .collect();
        let logs = events
            .iter()
            .filter(own)
            .filter_map(|event| match &event.kind {
                EventKind::Logged { level, text } => {
                    Some(LogLine { level: level.clone(), text: text.clone(), at: event.at })
                }
                _ => None,
            })
            .collect();
        let gone = rolled_back(events, !row.status.is_terminal());
        let mut changes = Vec::new();
        for scope in self.scopes_of(request)? {
            let writes: Vec<u64> = events
                .iter()
                .filter(|event| own(event) && !gone.contains(&event.seq))
                .filter(
                    |event| matches!(&event.kind, EventKind::StateChanged { scope: written, .. } if *written == scope),
                )
                .map(|event| event.seq)
                .collect();
            let Some(first) = writes.first().copied() else { continue };
            let (from, to) = if scope.kind.is_durable() {
                // Durable writes come into force together, with the block's last event.
                (block.seq_end.map_or(first, |end| end - 1), block.seq_end.unwrap_or(first))
            } else {
                (first - 1, writes.last().copied().unwrap_or(first))
            };
            for mut change in self.scope_diff(&scope, request, from, to)? {
                change.seq = writes.last().copied();
                change.by = Some(block.path.to_string());
                changes.push(change);
            }
        }
        let asked = questions(row, events).into_iter().filter(|one| one.path == block.path);
        let (model_calls, effects) =
            effects(events, own).into_iter().partition(|effect| effect.effect == EffectKind::Model.as_str());
        Ok(BlockDetail {
            asked: asked.map(|one| shown(row, one)).collect(),
            block: BlockRow::new(request, block),
            input: block.input.cloned().map(Json),
            output: block.output.cloned().map(Json),
            items,
            changes,
            logs,
            effects,
            model_calls,
        })
    }
}

/// The paths that there are, as far as an error names them.
fn named(all: &[BlockView<'_>]) -> String {
    let mut paths: Vec<&str> = all.iter().map(|block| &*block.path).collect();
    paths.dedup();
    let more = paths.len().saturating_sub(MAX_NAMED);
    let shown = paths.iter().take(MAX_NAMED).copied().collect::<Vec<_>>().join(", ");
    match (shown.as_str(), more) {
        ("", _) => "it has none yet".to_owned(),
        (_, 0) => format!("its blocks: {shown}"),
        (_, more) => format!("its blocks: {shown} and {more} more"),
    }
}

/// Returns what a block did outside of itself, in the order in which it began.
fn effects(events: &[Event], own: impl Fn(&&Event) -> bool) -> Vec<EffectRow> {
    let requests = Requests::of(events);
    let mut rows: Vec<EffectRow> = Vec::new();
    for event in events.iter().filter(own) {
        let begun = |effect: EffectKind, ordinal: u32| EffectRow {
            seq: event.seq,
            effect: effect.as_str().to_owned(),
            ordinal,
            started_at: event.at,
            duration_ms: None,
            request: requests.asked(event).map(|(_, asked)| Json(asked.whole())),
            result: None,
            error: None,
            memoized: false,
        };
        match &event.kind {
            EventKind::EffectStarted { effect, ordinal, .. } => rows.push(begun(*effect, *ordinal)),
            EventKind::EffectFinished { effect, ordinal, started, result, error, memoized, .. } => {
                let known = started.and_then(|seq| rows.iter().position(|row| row.seq == seq));
                let at = known.unwrap_or_else(|| {
                    // A clock or random values are there at once, and have no event of their beginning.
                    rows.push(begun(*effect, *ordinal));
                    rows.len() - 1
                });
                let row = &mut rows[at];
                row.duration_ms = Some(event.at - row.started_at);
                row.memoized = *memoized;
                row.error = error.as_ref().map(ErrorInfo::from);
                row.result = error.is_none().then(|| Json(result.clone()));
            }
            _ => {}
        }
    }
    rows
}
