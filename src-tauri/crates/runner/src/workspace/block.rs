//! Everything about one execution of a block.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind};
use engine::identity::{InstanceId, StateOwner};
use engine::path::parent;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::Events;
use engine::views::attempts::rolled_back;
use engine::views::blocks::{BlockStatus, BlockView, blocks};
use engine::views::items::items;
use engine::views::model_requests::Requests;
use engine::views::spans::{PathNumber, Spans};
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::Workspace;
use super::answers::{questions, shown};
use crate::core::fault::Fault;
use crate::views::*;

/// How many paths an error names.
const MAX_NAMED: usize = 8;

/// The events that the detail of a block is made from.
pub(super) struct BlockLog {
    pub(super) row: RequestRow,
    pub(super) events: Vec<Event>,
    /// Whether they are a part of the log, in which items have other numbers.
    pub(super) is_part: bool,
}

impl Workspace {
    /// Everything about one execution of a block, by its instance: `requestId:path:attempt`.
    pub fn block(&self, request: &str, instance: &str) -> Result<BlockDetail, Fault> {
        let unknown = || Fault::not_found(format!("request \"{request}\" has no block \"{instance}\""));
        let wanted = StateOwner::parse(instance).filter(|owner| owner.request == request);
        let InstanceId { path, attempt } = wanted.ok_or_else(unknown)?.instance;
        let log = self.log_of_block(request, path)?;
        let all = blocks(Events::new(&log.events), !log.row.status.is_terminal());
        let block = all.iter().find(|block| &*block.path == path && block.attempt == attempt).ok_or_else(unknown)?;
        self.detail(&log, block)
    }

    /// As [`block`](Self::block), by its path and its attempt: the newest where none is named.
    pub fn block_at(&self, request: &str, path: &str, attempt: Option<u32>) -> Result<BlockDetail, Fault> {
        let log = self.log_of_block(request, path)?;
        let all = blocks(Events::new(&log.events), !log.row.status.is_terminal());
        let there = || all.iter().filter(|block| &*block.path == path);
        let wanted = there().filter(|block| attempt.is_none_or(|attempt| block.attempt == attempt));
        match (wanted.max_by_key(|block| block.attempt), there().map(|block| block.attempt).max(), attempt) {
            (Some(block), ..) => self.detail(&log, block),
            (None, Some(newest), Some(attempt)) => Err(Fault::not_found(format!(
                "block \"{path}\" of request \"{request}\" has attempts 0 to {newest}, not {attempt}"
            ))),
            _ => {
                let there = self.named_paths(request)?;
                Err(Fault::not_found(format!("request \"{request}\" has no block at \"{path}\"; {there}")))
            }
        }
    }

    /// What a block's detail needs of its request's log. The whole log where a part would not do: for what depends on
    /// what other blocks did.
    pub(super) fn log_of_block(&self, request: &str, path: &str) -> Result<BlockLog, Fault> {
        let row = self.request(request)?;
        let events = self.store.events_of_block(request, path).map_err(Fault::internal)?;
        let mut own = events.iter().filter(|event| event.path.as_deref() == Some(path));
        let last = own.clone().map(|event| event.seq).max().unwrap_or(0);
        let needs_others = own.any(|event| match &event.kind {
            // The state of a chain is written by its steps.
            EventKind::StateInitialized { scope, .. } => scope.kind == ScopeKind::Sequencer,
            // Whether a question still waits depends on the blocks around.
            EventKind::Suspended(_) => true,
            // Another block may have replaced the item.
            EventKind::ItemAdded { item } => item.key.is_some(),
            _ => false,
        });
        let is_numbered = || self.store.items_before(request, last + 1).map_err(Fault::internal);
        if !needs_others && is_numbered()?.is_some() {
            return Ok(BlockLog { row, events, is_part: true });
        }
        let (row, events) = self.log_of(request)?;
        Ok(BlockLog { row, events, is_part: false })
    }

    /// The paths that there are in a request, as far as an error names them.
    fn named_paths(&self, request: &str) -> Result<String, Fault> {
        let mut spans = Spans::default();
        self.store.extend_spans(request, &mut spans).map_err(Fault::internal)?;
        let mut seen = HashSet::new();
        let numbers: Vec<PathNumber> = spans.iter().map(|span| span.path).filter(|path| seen.insert(*path)).collect();
        let shown = &numbers[..numbers.len().min(MAX_NAMED)];
        let shown = self.store.path_texts(shown).map_err(Fault::internal)?.join(", ");
        Ok(match (shown.as_str(), numbers.len().saturating_sub(MAX_NAMED)) {
            ("", _) => "it has none yet".to_owned(),
            (_, 0) => format!("its blocks: {shown}"),
            (_, more) => format!("its blocks: {shown} and {more} more"),
        })
    }

    pub(super) fn detail(&self, log: &BlockLog, block: &BlockView<'_>) -> Result<BlockDetail, Fault> {
        let (row, events) = (&log.row, &log.events[..]);
        let view = Events::new(events);
        let request = row.id.as_str();
        let instance = format!("{request}:{}:{}", block.path, block.attempt);
        let own = |event: &&Event| event.path.as_deref() == Some(&*block.path) && event.attempt == block.attempt;
        let id: Arc<str> = request.into();
        let mut items: Vec<ItemRow> = items(&id, view, !row.status.is_terminal())
            .into_iter()
            .filter(|item| item.provenance.block_instance_id == instance)
            .map(ItemRow::from)
            .collect();
        for item in items.iter_mut().filter(|_| log.is_part) {
            let before = self.store.items_before(request, item.seq).map_err(Fault::internal)?;
            item.item_index = before.and_then(|before| before.try_into().ok()).unwrap_or(item.item_index);
        }
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
        for (scope, writes) in
            self.written(request, events.iter().filter(|event| own(event) && !gone.contains(&event.seq)))?
        {
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
        let of_block: Vec<&Event> = events.iter().filter(own).collect();
        let (calls, effects) = effects(&Requests::of(events), &of_block);
        let model_calls = self.model_calls(row, calls, &of_block, &items, &mut None, |path, range| {
            let begun = self.store.blocks_begun(request, range).map_err(Fault::internal)?;
            Ok(begun.into_iter().filter(|(_, begun)| parent(begun) == Some(path)).collect())
        })?;
        Ok(BlockDetail {
            asked: asked.map(|one| shown(row, one)).collect(),
            block: BlockRow::new(request, block),
            kept_by: Resumes::of(events).kept_by(block),
            input: block.input.cloned().map(Json),
            output: block.output.cloned().map(Json),
            span: span_of(events.first(), &of_block),
            items,
            changes,
            logs,
            effects,
            model_calls,
        })
    }

    /// The scopes of a request that events of its log write to, each with these events, in the order in which the
    /// request has the scopes.
    fn written<'e>(
        &self,
        request: &str,
        events: impl Iterator<Item = &'e Event>,
    ) -> Result<Vec<(ScopeKey, Vec<u64>)>, Fault> {
        let mut writes: IndexMap<&ScopeKey, Vec<u64>> = IndexMap::new();
        for event in events {
            if let EventKind::StateChanged { scope, .. } = &event.kind {
                writes.entry(scope).or_default().push(event.seq);
            }
        }
        let known = if writes.is_empty() { Vec::new() } else { self.scopes_of(request)? };
        let order: HashMap<&ScopeKey, usize> = known.iter().enumerate().map(|(at, scope)| (scope, at)).collect();
        let mut written: IndexMap<ScopeKey, Vec<u64>> = IndexMap::new();
        for (scope, writes) in writes {
            let Some(first) = writes.first() else { continue };
            if let Some(scope) = self.own_scope(scope, request, *first)? {
                written.entry(scope).or_default().extend(writes);
            }
        }
        let mut written: Vec<(ScopeKey, Vec<u64>)> = written.into_iter().collect();
        written.sort_by_key(|(scope, _)| (scope.kind, order.get(scope).copied().unwrap_or(usize::MAX)));
        Ok(written)
    }
}

/// The span that a block of a foreign request is, with the attributes first and with its resource and scope, which the
/// request's first event holds.
pub(super) fn span_of(first: Option<&Event>, own: &[&Event]) -> Option<Json> {
    let EventKind::RequestStarted { foreign: Some(foreign), .. } = &first?.kind else { return None };
    let span = own.iter().find_map(|event| match &event.kind {
        EventKind::SpanReceived { span } => span.as_object(),
        _ => None,
    })?;
    let shared = |all: &[Value], name: &str| {
        let place = span.get(name).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        place.and_then(|at| all.get(at)).cloned().unwrap_or(Value::Null)
    };
    let attributes = span.get("attributes").cloned().unwrap_or_else(|| json!({}));
    let mut shown = Map::from_iter([("attributes".to_owned(), attributes)]);
    shown.insert("resource".to_owned(), shared(&foreign.resources, "resource"));
    shown.insert("scope".to_owned(), shared(&foreign.scopes, "scope"));
    let rest = span.iter().filter(|(name, _)| !shown.contains_key(*name)).map(|(name, it)| (name.clone(), it.clone()));
    let rest: Vec<_> = rest.collect();
    shown.extend(rest);
    Some(Json(shown.into()))
}

/// The resumes of a request: what keeps what a block had come to.
pub(super) struct Resumes {
    forked: Option<u64>,
    /// Of each resume its event, and whether it keeps what had ended.
    resumes: Vec<(u64, bool)>,
}

impl Resumes {
    pub(super) fn of(events: &[Event]) -> Resumes {
        let forked = match events.first().map(|event| &event.kind) {
            Some(EventKind::RequestStarted { forked_from: Some(from), .. }) => Some(from.seq),
            _ => None,
        };
        let own = events.iter().filter(|event| event.seq > forked.unwrap_or(0));
        let resumes = own.filter_map(|event| match event.kind {
            EventKind::RequestResumed { keeps_ended, .. } => Some((event.seq, keeps_ended)),
            _ => None,
        });
        Resumes { forked, resumes: resumes.collect() }
    }

    /// Returns what kept last what a block had come to.
    pub(super) fn kept_by(&self, block: &BlockView<'_>) -> Option<KeptBy> {
        let has_come_to_something = matches!(block.status, BlockStatus::Completed | BlockStatus::ReturnedError);
        let end = block.seq_end.filter(|_| has_come_to_something)?;
        // The first one of a fork is the fork itself.
        let first = u32::from(self.forked.is_none());
        let keeps = self.resumes.iter().map(|(seq, keeps_ended)| *keeps_ended && *seq > end);
        let number = (first..).zip(keeps).filter(|(_, keeps)| *keeps).map(|(number, _)| number).last()?;
        Some(if number == 0 { KeptBy::Fork } else { KeptBy::Resume(number) })
    }
}

/// Returns what a block did outside of itself, in the order in which it began: its calls of models, and the rest.
/// `requests` are those of the whole log, `own` the events of the block's execution.
pub(super) fn effects(requests: &Requests, own: &[&Event]) -> (Vec<EffectRow>, Vec<EffectRow>) {
    let mut rows: Vec<EffectRow> = Vec::new();
    for event in own {
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
                // A resume has taken it from the log: it was asked and answered before.
                if *memoized && row.duration_ms.is_some() {
                    continue;
                }
                row.duration_ms = Some(event.at - row.started_at);
                row.memoized = *memoized;
                row.error = error.as_ref().map(ErrorInfo::from);
                row.result = error.is_none().then(|| Json(result.clone()));
            }
            _ => {}
        }
    }
    rows.into_iter().partition(|effect| effect.effect == EffectKind::Model.as_str())
}
