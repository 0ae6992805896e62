//! What a block asked models: where each message came from, what the answer cost, how it came.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
use engine::item::ItemStatus;
use engine::path::encode;
use engine::views::Events;
use engine::views::history::tool_alias;
use engine::views::items::{Item, items};
use engine::views::prompt_sources::{EarlierCall, PromptSource, Said, foreign_sources, said, sources};
use serde_json::Value;

use super::Workspace;
use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
use crate::views::*;

/// How many earlier requests are looked through for where a message was said.
const MAX_TURNS: usize = 20;
/// Own items are not looked through in a request with more events: that would read all of them.
const MAX_OWN_EVENTS: u64 = 20_000;
/// More pieces than this are joined, so that an answer of a million pieces stays one that can be shown.
const MAX_PIECES: usize = 2_000;

impl Workspace {
    /// The model calls of one execution of a block. `own` are the events of that execution, `emitted` its items.
    /// `history` is what was said in the session, once it was needed: for callers that ask for many blocks. `begun`
    /// gives the blocks directly inside a path that began between two events, by their first ones.
    pub(super) fn model_calls(
        &self,
        row: &RequestRow,
        calls: Vec<EffectRow>,
        own: &[&Event],
        emitted: &[ItemRow],
        history: &mut Option<Vec<Said>>,
        begun: impl Fn(&str, RangeInclusive<Seq>) -> Result<BTreeMap<Seq, Arc<str>>, Fault>,
    ) -> Result<Vec<ModelCallRow>, Fault> {
        let began = own.first().map_or(0, |event| event.seq);
        let mut earlier: Vec<EarlierCall> = Vec::new();
        let mut rows: Vec<ModelCallRow> = Vec::with_capacity(calls.len());
        let mut called: Option<Called> = None;
        let mut outcomes: Option<Outcomes> = None;
        for effect in calls {
            let empty = Value::Null;
            let request = effect.request.as_ref().map_or(&empty, |request| &request.0);
            let reply = effect.result.as_ref().map_or(&empty, |reply| &reply.0);
            let messages = request["messages"].as_array().map_or(&[][..], Vec::as_slice);
            if history.is_none() && is_conversation(messages) {
                *history = Some(self.said_before(row)?);
            }
            let known = history.as_deref().unwrap_or_default();
            // The conversation of a block is put together when it begins.
            let known = &known[..known.partition_point(|said| !said.is_after(&row.id, began))];
            let found = match row.received_from {
                Some(_) => foreign_sources(messages, known),
                None => sources(messages, &earlier, known),
            };
            let found = found.into_iter().map(MessageSource::from).collect();
            let model = request["model"].as_str().unwrap_or_default().to_owned();
            let streamed = pieces(own, &effect);
            let tokens = CallTokens::read(reply);
            let asked = reply["toolCalls"].as_array().map_or(&[][..], Vec::as_slice);
            if called.is_none() && !asked.is_empty() {
                called = Some(Called::by(own, &begun)?);
                outcomes = Some(Outcomes::of(emitted));
            }
            let tools = match (&called, &mut outcomes) {
                (Some(called), Some(outcomes)) => {
                    let items = outcomes.take(asked, effect.seq, called.is_of_agent());
                    let items = items.into_iter().map(|at| at.and_then(|at| emitted.get(at)));
                    tools(asked, request, own, items.collect(), called)
                }
                _ => Vec::new(),
            };
            earlier.push(EarlierCall { seq: effect.seq, tools: tools.iter().map(|tool| tool.id.clone()).collect() });
            let text = |name: &str| reply[name].as_str().map(str::to_owned);
            rows.push(ModelCallRow {
                answered_by: text("model"),
                parameters: parameters(request),
                sources: found,
                tokens: tokens.map(|CallTokens { input, cached, output }| ModelTokens { input, output, cached }),
                cost: if effect.memoized { None } else { self.config.cost(&model, reply) },
                first_token_ms: reply["firstTokenMs"].as_i64().or(streamed.first().map(|piece| piece.ms)),
                finish_reason: text("finishReason"),
                retries: retries(&rows, request),
                model,
                tools,
                streamed,
                effect,
            });
        }
        Ok(rows)
    }

    /// What was said in the session, as models see it: in earlier requests, and in this one.
    fn said_before(&self, row: &RequestRow) -> Result<Vec<Said>, Fault> {
        let earlier = engine::log::Log::session_events(&*self.store, &row.session_id, &row.id, MAX_TURNS);
        let mut all = Vec::new();
        for (request, events) in earlier.map_err(Fault::internal)? {
            if events.first().is_some_and(|event| event.at <= row.started_at) {
                all.extend(said(&request, &items(&request, Events::new(&events), false)));
            }
        }
        if row.last_seq <= MAX_OWN_EVENTS {
            let id: Arc<str> = row.id.as_str().into();
            let (_, events) = self.log_of(&row.id)?;
            let own: Vec<Item> = items(&id, Events::new(&events), !row.status.is_terminal());
            all.extend(said(&id, &own));
        }
        Ok(all)
    }
}

/// The blocks that a block which asks models called.
#[derive(Default)]
struct Called {
    caller: Arc<str>,
    /// By their first events.
    blocks: BTreeMap<Seq, Arc<str>>,
    paths: HashSet<Arc<str>>,
}

impl Called {
    /// The blocks that began inside an execution of a block, whose events are `own`.
    fn by(
        own: &[&Event],
        begun: impl Fn(&str, RangeInclusive<Seq>) -> Result<BTreeMap<Seq, Arc<str>>, Fault>,
    ) -> Result<Called, Fault> {
        let (Some(first), Some(last)) = (own.first(), own.last()) else { return Ok(Called::default()) };
        let has_ended = matches!(last.kind, EventKind::BlockFinished { .. });
        let caller = first.path.clone().unwrap_or_default();
        let end = if has_ended { last.seq } else { Seq::MAX };
        let blocks = begun(&caller, first.seq..=end)?;
        Ok(Called { paths: blocks.values().cloned().collect(), blocks, caller })
    }

    /// Returns whether the caller is a turn or a sub-prompt of an agent: it runs one call after another, and numbers
    /// them as they come.
    fn is_of_agent(&self) -> bool {
        let segment = self.caller.rsplit('/').next().unwrap_or_default();
        segment.starts_with("turn[") || segment.starts_with("prompt:")
    }

    /// Returns the first block that began between two events.
    fn between(&self, from: Seq, to: Seq) -> Option<&str> {
        self.blocks.range(from..).next().filter(|(seq, _)| **seq < to).map(|(_, path)| &**path)
    }

    /// Returns a path if a block began there.
    fn at(&self, path: String) -> Option<String> {
        self.paths.contains(&*path).then_some(path)
    }
}

/// The items that tell what calls of tools came to, by the ids of the calls: their places among all, in order.
#[derive(Default)]
struct Outcomes<'i> {
    by_id: HashMap<&'i str, VecDeque<(Seq, usize)>>,
    /// Those of calls to which an agent gave another id, by the ids that the model gave.
    renamed: HashMap<&'i str, VecDeque<(Seq, usize)>>,
    taken: HashSet<usize>,
}

impl<'i> Outcomes<'i> {
    fn of(emitted: &'i [ItemRow]) -> Self {
        let id = |item: &'i ItemRow| item.payload.get("toolCall").and_then(|call| call["callId"].as_str());
        Outcomes::of_ids(emitted.iter().enumerate().filter_map(|(at, item)| Some((id(item)?, item.seq, at))))
    }

    fn of_ids(items: impl Iterator<Item = (&'i str, Seq, usize)>) -> Self {
        let mut outcomes = Outcomes::default();
        for (id, seq, at) in items {
            outcomes.by_id.entry(id).or_default().push_back((seq, at));
            if let Some(given) = given_id(id) {
                outcomes.renamed.entry(given).or_default().push_back((seq, at));
            }
        }
        outcomes
    }

    /// Returns for each call of an answer its item, if there is one yet. Each item is that of one call. Answers are
    /// asked for in their order; `after` is the event with which the model call began.
    fn take(&mut self, asked: &[Value], after: Seq, is_of_agent: bool) -> Vec<Option<usize>> {
        let id = |call: &Value| call["id"].as_str().unwrap_or_default().to_owned();
        let Outcomes { by_id, renamed, taken } = self;
        let mut next = |from: &mut HashMap<&'i str, VecDeque<(Seq, usize)>>, id: &str| {
            let waiting = from.get_mut(id)?;
            while let Some((seq, at)) = waiting.pop_front() {
                if seq > after && taken.insert(at) {
                    return Some(at);
                }
            }
            None
        };
        let mut found: Vec<Option<usize>> = asked.iter().map(|call| next(by_id, &id(call))).collect();
        if is_of_agent {
            for (found, call) in found.iter_mut().zip(asked).filter(|(found, _)| found.is_none()) {
                *found = next(renamed, &id(call));
            }
        }
        found
    }
}

/// Returns the id that a model gave a call, of one that has another: an agent gives it one if its thread has a call of
/// that id. It is the given one, the hexadecimal number of the message, and a count.
fn given_id(id: &str) -> Option<&str> {
    let (rest, count) = id.rsplit_once('_')?;
    let (given, message) = rest.rsplit_once('_')?;
    let is_message = message.len() == 16 && message.bytes().all(|digit| digit.is_ascii_hexdigit());
    let is_count = !count.is_empty() && count.bytes().all(|digit| digit.is_ascii_digit());
    (is_message && is_count).then_some(given)
}

/// Whether a call says more than its own prompt: then something may come from the session.
fn is_conversation(messages: &[Value]) -> bool {
    messages.iter().any(|message| message["role"] != "system")
}

impl From<PromptSource> for MessageSource {
    fn from(source: PromptSource) -> Self {
        match source {
            PromptSource::Prompt => MessageSource::System,
            PromptSource::Context => MessageSource::Context,
            PromptSource::History { request, seq } => MessageSource::History { request_id: request.to_string(), seq },
            PromptSource::User => MessageSource::User,
            PromptSource::Answer { call } => MessageSource::Answer { seq: call },
            PromptSource::Tool { call, id } => MessageSource::Tool { seq: call, id },
            PromptSource::Unknown => MessageSource::Unknown,
        }
    }
}

/// The failed calls just before one that asks for the same.
fn retries(before: &[ModelCallRow], request: &Value) -> Vec<ModelRetry> {
    let step = |request: &Value| (request["step"].clone(), request["coerces"].clone());
    let is_same = |call: &&ModelCallRow| {
        let asked = call.effect.request.as_ref().map(|request| step(&request.0));
        call.effect.error.is_some() && asked == Some(step(request))
    };
    let mut found: Vec<ModelRetry> = before
        .iter()
        .rev()
        .take_while(is_same)
        .filter_map(|call| {
            let (seq, model) = (call.effect.seq, call.model.clone());
            Some(ModelRetry { seq, model, error: call.effect.error.clone()? })
        })
        .collect();
    found.reverse();
    found
}

/// The pieces in which an answer came: the deltas of the block's items while the call was under way.
fn pieces(own: &[&Event], call: &EffectRow) -> Vec<StreamedPiece> {
    let thoughts: HashMap<Seq, bool> = own
        .iter()
        .filter_map(|event| match &event.kind {
            // Messages that an author emits are done, and may grow all the same.
            EventKind::ItemAdded { item } if item.status == ItemStatus::InProgress => {
                Some((event.seq, item.item_type == "reasoning"))
            }
            _ => None,
        })
        .collect();
    let ends = |event: &&&Event| match &event.kind {
        EventKind::EffectFinished { started, .. } => *started == Some(call.seq),
        _ => false,
    };
    let end = own.iter().find(ends).map_or(Seq::MAX, |event| event.seq);
    let mut pieces: Vec<StreamedPiece> = Vec::new();
    for event in own.iter().filter(|event| event.seq > call.seq && event.seq < end) {
        let EventKind::ItemDelta { of, text } = &event.kind else { continue };
        let Some(reasoning) = thoughts.get(of).copied() else { continue };
        match pieces.last_mut().filter(|last| last.reasoning == reasoning) {
            Some(last) if pieces_are_many(own.len()) => last.text.push_str(text),
            _ => pieces.push(StreamedPiece { ms: event.at - call.started_at, text: text.clone(), reasoning }),
        }
    }
    pieces
}

fn pieces_are_many(events: usize) -> bool {
    events > MAX_PIECES
}

/// The tools that an answer asks for, with what their items say came of them, and the blocks that ran for them.
fn tools(
    asked: &[Value],
    request: &Value,
    own: &[&Event],
    items: Vec<Option<&ItemRow>>,
    called: &Called,
) -> Vec<ModelToolRow> {
    let step = request["step"].as_u64().unwrap_or(0);
    let is_of_agent = called.is_of_agent();
    let ends: HashMap<Seq, Seq> = own
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::ItemDone { of, .. } if is_of_agent => Some((*of, event.seq)),
            _ => None,
        })
        .collect();
    let row = |(n, (call, item)): (usize, (&Value, Option<&ItemRow>))| {
        let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
        let (id, name) = (text("id"), text("name"));
        let field = |name: &str| item.and_then(|item| item.payload.get(name));
        let by_provider = call.get("providerExecuted").is_some_and(|by| by == true);
        let block = field("toolCall").and_then(|call| call["name"].as_str()).map(str::to_owned);
        let block = block.filter(|block| tool_alias(block) == name || *block == name);
        let result = if by_provider { call.get("result") } else { field("output") };
        ModelToolRow {
            args: Json(call["args"].clone()),
            result: result.cloned().map(Json),
            error: field("error").map(|error| error["message"].as_str().unwrap_or_default().to_owned()),
            path: match item {
                _ if by_provider => None,
                Some(item) if is_of_agent => {
                    let end = ends.get(&item.seq).copied().unwrap_or(Seq::MAX);
                    called.between(item.seq, end).map(str::to_owned)
                }
                _ => {
                    block.and_then(|block| called.at(format!("{}/tool:{}[{step}.{n}]", called.caller, encode(&block))))
                }
            },
            id,
            name,
        }
    };
    asked.iter().zip(items).enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_call_has_its_own_item() {
        let asked = |ids: &[&str]| ids.iter().map(|id| json!({ "id": id })).collect::<Vec<Value>>();
        let renamed = "c_00112233445566ff_1";
        let taken = |items: &[&str], ids: &[&str], is_of_agent| {
            let items = items.iter().enumerate().map(|(at, id)| (*id, at as Seq + 10, at));
            Outcomes::of_ids(items).take(&asked(ids), 9, is_of_agent)
        };
        // The id of another call is no other id of this one.
        assert_eq!(taken(&["c_x"], &["c", "c_x"], true), [None, Some(0)]);
        assert_eq!(taken(&[renamed], &["c"], true), [Some(0)]);
        assert_eq!(taken(&[renamed], &["c"], false), [None]);
        assert_eq!(taken(&["c", renamed], &["c", "c"], true), [Some(0), Some(1)]);
        assert_eq!(taken(&["c"], &["c", "c"], true), [Some(0), None]);
        // A later answer uses an id again.
        let mut outcomes = Outcomes::of_ids([("c", 10, 0), ("c", 20, 1)].into_iter());
        assert_eq!(outcomes.take(&asked(&["c"]), 9, false), [Some(0)]);
        assert_eq!(outcomes.take(&asked(&["c"]), 15, false), [Some(1)]);
    }
}
