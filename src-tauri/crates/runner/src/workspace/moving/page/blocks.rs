//! What a page says of each block: as the inspector of the window shows it, made in one pass over the log.

use engine::event::{Event, EventKind, Seq};
use engine::path::parent;
use engine::scope::ScopeKey;
use engine::views::Events;
use engine::views::attempts::rolled_back;
use engine::views::blocks::{BlockView, blocks};
use engine::views::model_requests::Requests;
use engine::views::prompt_sources::Said;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::track::Track;
use super::values::Values;
use crate::core::fault::Fault;
use crate::views::*;
use crate::workspace::Workspace;
use crate::workspace::answers::{questions, shown};
use crate::workspace::block::{Resumes, effects, span_of};

/// Which execution of a block: its path and its attempt.
type Place<'e> = (&'e str, u32);

/// What the blocks of a request are made from, by block.
pub(super) struct BlockLogs<'e> {
    row: &'e RequestRow,
    first: Option<&'e Event>,
    blocks: HashMap<String, BlockView<'e>>,
    events: HashMap<Place<'e>, Vec<&'e Event>>,
    /// The blocks directly inside a path, by their first events.
    inside: HashMap<&'e str, BTreeMap<Seq, Arc<str>>>,
    items: HashMap<String, Vec<ItemRow>>,
    /// The places of items in the list of all, of those that it has whole.
    places: HashMap<Seq, usize>,
    asked: HashMap<String, Vec<SuspensionRow>>,
    requests: Requests,
    resumes: Resumes,
    rolled_back: HashSet<Seq>,
    scopes: HashMap<ScopeKey, usize>,
    said: Option<Vec<Said>>,
}

impl<'e> BlockLogs<'e> {
    pub(super) fn of(row: &'e RequestRow, log: &'e [Event], tracks: &[Track]) -> BlockLogs<'e> {
        let live = !row.status.is_terminal();
        let mut events: HashMap<Place<'e>, Vec<&'e Event>> = HashMap::new();
        for event in log {
            if let Some(path) = event.path.as_deref() {
                events.entry((path, event.attempt)).or_default().push(event);
            }
        }
        let mut inside: HashMap<&'e str, BTreeMap<Seq, Arc<str>>> = HashMap::new();
        for event in log.iter().filter(|event| matches!(event.kind, EventKind::BlockStarted { .. })) {
            if let Some(path) = &event.path
                && let Some(around) = parent(path)
            {
                inside.entry(around).or_default().insert(event.seq, path.clone());
            }
        }
        let mut asked: HashMap<String, Vec<SuspensionRow>> = HashMap::new();
        for question in questions(row, log) {
            let question = shown(row, question);
            asked.entry(question.path.clone()).or_default().push(question);
        }
        let blocks = blocks(Events::new(log), live).into_iter();
        BlockLogs {
            row,
            first: log.first(),
            blocks: blocks.map(|block| (format!("{}:{}", block.path, block.attempt), block)).collect(),
            events,
            inside,
            items: HashMap::new(),
            places: HashMap::new(),
            asked,
            requests: Requests::of(log),
            resumes: Resumes::of(log),
            rolled_back: rolled_back(log, live),
            scopes: tracks.iter().enumerate().map(|(at, track)| (track.scope.clone(), at)).collect(),
            said: None,
        }
    }

    /// The items that there are now, and where those stand in the list of all that it has whole.
    pub(super) fn put_items(&mut self, items: Vec<ItemRow>, places: HashMap<Seq, usize>) {
        for item in items {
            self.items.entry(item.provenance.block_instance_id.to_string()).or_default().push(item);
        }
        self.places = places;
    }

    /// What the item of a block's output says besides where it comes from: all of it follows from the block.
    pub(super) fn output_item(&self, (path, attempt): (&str, u64)) -> Option<Map<String, Value>> {
        let block = self.blocks.get(&format!("{path}:{attempt}"))?;
        let mut fields = Map::new();
        let mut put = |name: &str, value: Value| drop(fields.insert(name.to_owned(), value));
        put("blockName", json!(block.name));
        put("blockKind", json!(block.kind));
        put("startedAt", json!(block.started_at));
        // A clock may have been put back.
        let finished_at = block.finished_at.filter(|end| *end >= block.started_at)?;
        put("completedAt", json!(finished_at));
        put("duration", json!(finished_at - block.started_at));
        block.input.into_iter().for_each(|input| put("input", input.clone()));
        block.output.into_iter().for_each(|output| put("output", output.clone()));
        Some(fields)
    }

    /// What the inspector shows of a block, as a page reads it: its changes are made from the steps of the states.
    pub(super) fn text(
        &mut self,
        workspace: &Workspace,
        (path, attempt): (&str, u32),
        values: &mut Values,
    ) -> Result<String, Fault> {
        let Some(block) = self.blocks.get(&format!("{path}:{attempt}")) else { return Ok("null".to_owned()) };
        let none = Vec::new();
        let own = self.events.get(&(path, attempt)).unwrap_or(&none);
        let instance = format!("{}:{path}:{attempt}", self.row.id);
        let items = self.items.remove(&instance).unwrap_or_default();
        let (calls, effects) = effects(&self.requests, own);
        let inside = &self.inside;
        let begun = |path: &str, range: RangeInclusive<Seq>| {
            let inside = inside.get(path).into_iter().flat_map(|blocks| blocks.range(range.clone()));
            Ok(inside.map(|(seq, path)| (*seq, path.clone())).collect())
        };
        let model_calls = workspace.model_calls(self.row, calls, own, &items, &mut self.said, begun)?;
        let places = &self.places;
        let item = |item: ItemRow| places.get(&item.seq).map_or_else(|| json!(item), |place| json!(place));
        let logs = own.iter().filter_map(|event| match &event.kind {
            EventKind::Logged { level, text } => Some(json!({ "level": level, "text": text, "at": event.at })),
            _ => None,
        });
        let mut document = json!({
            "error": block.error.map(ErrorInfo::from),
            "span": span_of(self.first, own),
            "keptBy": self.resumes.kept_by(block),
            "items": items.into_iter().map(item).collect::<Vec<Value>>(),
            "writes": self.writes(workspace, block, own)?,
            "logs": logs.collect::<Vec<Value>>(),
            "asked": self.asked.get(path),
            "effects": effects,
            "modelCalls": model_calls,
        });
        if let Some(fields) = document.as_object_mut() {
            // The page knows what is not there.
            fields.retain(|_, value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty()));
            for (name, value) in [("input", block.input), ("output", block.output)] {
                fields.extend(value.map(|value| (name.to_owned(), value.clone())));
            }
        }
        Ok(values.document(document, 0))
    }

    /// The scopes that a block wrote to: which, between which events what it wrote came into force, and its last write.
    fn writes(&self, workspace: &Workspace, block: &BlockView<'_>, own: &[&Event]) -> Result<Vec<Value>, Fault> {
        let mut writes: Vec<(usize, bool, Seq, Seq)> = Vec::new();
        // What a fork keeps names the scopes of its request.
        let mut kept: HashMap<&ScopeKey, Option<usize>> = HashMap::new();
        for event in own.iter().filter(|event| !self.rolled_back.contains(&event.seq)) {
            let EventKind::StateChanged { scope, .. } = &event.kind else { continue };
            let at = match (self.scopes.get(scope), kept.get(scope)) {
                (Some(at), _) => Some(*at),
                (None, Some(at)) => *at,
                (None, None) => {
                    let own = workspace.own_scope(scope, &self.row.id, event.seq)?;
                    let at = own.and_then(|own| self.scopes.get(&own).copied());
                    kept.insert(scope, at);
                    at
                }
            };
            let Some(at) = at else { continue };
            match writes.iter_mut().find(|(known, ..)| *known == at) {
                Some((_, _, _, last)) => *last = event.seq,
                None => writes.push((at, scope.kind.is_durable(), event.seq, event.seq)),
            }
        }
        writes.sort_unstable();
        let write = |(at, is_durable, first, last): (usize, bool, Seq, Seq)| {
            // Durable writes come into force together, with the block's last event.
            let end = block.seq_end.unwrap_or(first);
            let (from, to) =
                if is_durable { (block.seq_end.map_or(first, |end| end - 1), end) } else { (first - 1, last) };
            json!([at, from, to, last])
        };
        Ok(writes.into_iter().map(write).collect())
    }
}
