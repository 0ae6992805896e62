//! Reads what events say of items, without their large values.

use std::collections::BTreeSet;

use crate::sql::{Connection, OptionalExtension};
use engine::event::{Event, EventKind, Seq};
use engine::views::items::follow::{ItemFact, item_fact};
use engine::views::spans::PathNumber;
use serde::Deserialize;

use crate::Store;
use crate::read::{events, spans};
use crate::row::body;
use crate::row::error::Error;

/// The kinds of events that say something of items; see [`item_fact`].
const KINDS: &str = "'request_started', 'request_resumed', 'request_status', 'request_finished', 'block_started', \
     'block_resumed', 'block_input', 'block_finished', 'committed', 'callback_returned', 'suspended', \
     'suspension_resolved', 'suspension_reopened', \
     'state_initialized', 'state_changed', 'item_added', 'item_delta', 'item_updated', 'item_done', 'route_decided', \
     'effect_finished'";

/// What an event of a request says of items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemEvent {
    /// Its number.
    pub seq: Seq,
    /// Its block's path.
    pub path: Option<PathNumber>,
    /// Which execution of that.
    pub attempt: u32,
    /// What it says.
    pub fact: ItemFact,
}

impl Store {
    /// Hands over what the events of a request after `after` say of items. Returns the newest event. Costs what is new.
    pub fn item_facts(&self, request: &str, after: Seq, mut take: impl FnMut(ItemEvent)) -> Result<Seq, Error> {
        self.read(|connection| read(connection, request, after, &mut take))
    }

    /// Events by their numbers, and the earlier ones that they take values from, by `seq`. What a model was asked is
    /// read without the messages that it refers to.
    pub fn events_with_references(&self, request: &str, seqs: &[Seq]) -> Result<Vec<Event>, Error> {
        let wanted: BTreeSet<Seq> = seqs.iter().copied().collect();
        let events = self.read(|connection| {
            let mut events = spans::with_references(connection, request, wanted)?;
            let asked = events.iter().filter_map(|event| match &event.kind {
                EventKind::EffectFinished { started, request: None, .. } => *started,
                _ => None,
            });
            let mut asked: Vec<Seq> = asked.collect();
            asked.retain(|seq| events.binary_search_by_key(seq, |event| event.seq).is_err());
            if !asked.is_empty() {
                events.extend(events::with_seqs(connection, request, &asked)?);
                events.sort_unstable_by_key(|event| event.seq);
            }
            Ok(events)
        })?;
        self.on_damaged.report_damaged(request, &events);
        Ok(events)
    }
}

fn read(connection: &Connection, request: &str, after: Seq, take: &mut impl FnMut(ItemEvent)) -> Result<Seq, Error> {
    let newest: Option<(i64, Option<Seq>)> = connection
        .prepare_cached("SELECT n, (SELECT max(seq) FROM event WHERE request = n) FROM request WHERE id = ?1")?
        .query_row((request,), |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((request, Some(last))) = newest else { return Ok(after) };
    let mut statement = connection.prepare_cached(&format!(
        "SELECT seq, path, attempt, kind, CASE kind WHEN 'block_started' THEN substr(body, length(body) - {before})
             ELSE body END
         FROM event
         WHERE request = ?1 AND seq BETWEEN ?2 AND ?3 AND kind IN ({KINDS}) ORDER BY seq",
        before = REPLACES_FAILED.len() - 1,
    ))?;
    let mut rows = statement.query((request, after + 1, last))?;
    while let Some(row) = rows.next()? {
        let path = row.get::<_, Option<i64>>(1)?.and_then(|path| PathNumber::try_from(path).ok());
        let (kind, text) = (body::lossy(row, 3)?, body::lossy(row, 4)?);
        if let Some(fact) = fact(connection, &kind, &text, path.is_some())? {
            take(ItemEvent { seq: row.get(0)?, path, attempt: row.get(2)?, fact });
        }
    }
    Ok(last.max(after))
}

/// How the body of a `block_started` ends that replaces a failed attempt: it is the last field, so that the input
/// before it is not decoded.
const REPLACES_FAILED: &str = "\"replacesFailed\":true}";

/// The fields of an effect that items need: its answer may be long.
#[derive(Deserialize)]
struct Effect {
    effect: engine::effects::EffectKind,
}

fn fact(connection: &Connection, kind: &str, text: &str, has_path: bool) -> Result<Option<ItemFact>, Error> {
    match kind {
        "block_started" => {
            return Ok(has_path.then_some(ItemFact::Began { replaces_failed: text == REPLACES_FAILED }));
        }
        "block_input" => return Ok(has_path.then_some(ItemFact::Input)),
        "effect_finished" => {
            let effect: Option<Effect> = serde_json::from_str(text).ok();
            let is_model = effect.is_some_and(|effect| effect.effect == engine::effects::EffectKind::Model);
            return Ok((is_model && has_path).then_some(ItemFact::ModelAnswered));
        }
        _ => {}
    }
    // A long output stays where it is. What decides may have been moved out as well: then all is read.
    let unresolved = if kind == "block_finished" { body::event_unresolved(kind, text) } else { None };
    let event: Option<EventKind> = match unresolved {
        Some(event) => Some(event),
        None => body::event_if_readable(connection, kind, text)?,
    };
    Ok(event.and_then(|event| item_fact(&event, has_path)))
}
