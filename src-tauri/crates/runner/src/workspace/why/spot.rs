//! A place that a value was recorded at: a record, a pointer in its value, and a span of the text there.

use std::borrow::Cow;
use std::sync::Arc;

use engine::event::Seq;
use engine::scope::ScopeKey;
use serde_json::{Value, json};

use super::index::{AS_JSON, Use};
use super::log::RequestLog;
use super::pointer;
use super::record::{Part, Record};
use crate::views::{WhyPlace, WhySpot};

/// Bytes of a text, from and to.
pub(super) type Span = (usize, usize);

/// A recorded value, a part of one, or a span of a text in one.
#[derive(Clone)]
pub(super) struct Spot {
    pub(super) log: Arc<RequestLog>,
    /// The number of its record.
    pub(super) record: usize,
    pub(super) pointer: String,
    pub(super) span: Option<Span>,
}

/// A place of a state at an instant.
pub(super) struct StateSpot {
    pub(super) log: Arc<RequestLog>,
    /// As `history` takes it.
    pub(super) address: String,
    pub(super) scope: String,
    pub(super) pointer: String,
    pub(super) seq: Seq,
    pub(super) value: Value,
}

impl Spot {
    pub(super) fn new(log: &Arc<RequestLog>, record: usize, pointer: impl Into<String>) -> Spot {
        Spot { log: log.clone(), record, pointer: pointer.into(), span: None }
    }

    pub(super) fn record(&self) -> Record {
        self.log.records[self.record]
    }

    /// The value, if the pointer leads to one.
    pub(super) fn value(&self) -> Option<Cow<'_, Value>> {
        match self.log.value(&self.log.records[self.record])? {
            Cow::Borrowed(whole) => pointer::find(whole, &self.pointer).ok().map(Cow::Borrowed),
            Cow::Owned(whole) => pointer::find(&whole, &self.pointer).ok().cloned().map(Cow::Owned),
        }
    }

    /// What names it among all spots of an answer.
    pub(super) fn key(&self) -> (String, usize, String, Option<Span>) {
        (self.log.row.id.clone(), self.record, self.pointer.clone(), self.span)
    }

    pub(super) fn view(&self) -> WhySpot {
        let record = self.record();
        let event = self.log.event(&record);
        let scope = self.log.scope_of(&record);
        let (scope, base) = scope.map_or((None, String::new()), |(scope, base, _)| (Some(scope), base));
        // What was found there is of no block, and an answer is of the block that asked.
        let own = event.path.as_ref().map(|path| (path, event.attempt));
        let own = own.filter(|_| !matches!(record.part, Part::Stored(_)));
        let asking = self.log.executions.get(record.execution as usize).map(|one| (&one.path, one.attempt));
        let of = if record.place == WhyPlace::Person { own.or(asking) } else { own };
        WhySpot {
            place: record.place,
            request_id: self.log.row.id.clone(),
            path: of.map(|(path, _)| path.to_string()),
            attempt: of.map(|(_, attempt)| attempt),
            seq: record.seq,
            scope,
            pointer: Some(format!("{base}{}", self.pointer)),
            from: self.span.map(|(from, _)| from as u64),
            to: self.span.map(|(_, to)| to as u64),
            as_json: false,
        }
    }

    /// The value that an index found.
    pub(super) fn of_use(log: &Arc<RequestLog>, found: Use) -> Option<Spot> {
        let record = found.record as usize;
        if found.node == AS_JSON {
            return Some(Spot::new(log, record, ""));
        }
        let pointer = pointer::of_node(&*log.value(&log.records[record])?, found.node)?;
        Some(Spot::new(log, record, pointer))
    }
}

impl StateSpot {
    pub(super) fn view(&self) -> WhySpot {
        WhySpot {
            place: WhyPlace::State,
            request_id: self.log.row.id.clone(),
            path: None,
            attempt: None,
            seq: self.seq,
            scope: Some(self.scope.clone()),
            pointer: Some(self.pointer.clone()),
            from: None,
            to: None,
            as_json: false,
        }
    }
}

/// The address of a place as `history` takes it. The instance of a block's state is named in full.
pub(super) fn address(scope: &ScopeKey, pointer: &str) -> String {
    let kind = scope.kind.as_str();
    let of_block = matches!(scope.kind, engine::scope::ScopeKind::Sequencer | engine::scope::ScopeKind::Block);
    let name = if of_block { format!("{kind}[{}]", scope.id) } else { kind.to_owned() };
    name_in(&name, pointer)
}

/// The address of a place in a scope by its name.
pub(super) fn name_in(scope: &str, pointer: &str) -> String {
    let parts = pointer::segments(pointer).into_iter().map(|segment| format!("[{}]", json!(segment)));
    std::iter::once(scope.to_owned()).chain(parts).collect()
}
