//! Where the messages of a prompt come from, as far as the log says so: the session's history, and earlier answers.

use std::sync::Arc;

use engine::event::{EventKind, Seq};
use serde_json::Value;

use super::causes::Cause;
use super::log::RequestLog;
use super::pointer;
use super::record::Record;
use super::spot::Spot;
use super::walk::Walk;
use crate::core::fault::Fault;
use crate::views::MessageSource;

/// Where the messages of model calls come from, by the events that began the calls.
pub(super) type Sources = Vec<(Seq, Vec<MessageSource>)>;

impl Walk<'_> {
    /// Where a message of a prompt comes from, as far as the log says so.
    pub(super) fn message(&mut self, spot: &Spot, value: &Value) -> Result<Option<(Cause, &'static str)>, Fault> {
        let mut segments = pointer::segments(&spot.pointer).into_iter();
        let number = (segments.next().as_deref() == Some("messages")).then(|| segments.next()).flatten();
        let Some(number) = number.and_then(|number| number.parse::<usize>().ok()) else { return Ok(None) };
        let (record, log) = (spot.record(), spot.log.clone());
        let sources = self.sources_of(&log, record.execution)?;
        let call = sources.iter().find(|(seq, _)| *seq == record.seq);
        let found = match call.and_then(|(_, sources)| sources.get(number)) {
            Some(MessageSource::History { request_id, seq }) => {
                let item = self.log(request_id)?;
                let mut records = item.records_of(*seq);
                let done = || {
                    let is_end = |record: &Record| match &item.event(record).kind {
                        EventKind::ItemDone { of, .. } | EventKind::ItemUpdated { of, .. } => of == seq,
                        _ => false,
                    };
                    item.records.iter().rposition(is_end)
                };
                let with = |at: usize| holding(&item, at, value);
                let spot = records.find_map(with).or_else(|| done().and_then(with));
                spot.or_else(|| item.record_of(*seq).map(|at| Spot::new(&item, at, ""))).map(|spot| (spot, "history"))
            }
            Some(MessageSource::Answer { seq }) => {
                let is_end = |record: &Record| match &log.event(record).kind {
                    EventKind::EffectFinished { started, .. } => *started == Some(*seq),
                    _ => false,
                };
                let at = log.records.iter().position(is_end);
                at.map(|at| (holding(&log, at, value).unwrap_or_else(|| Spot::new(&log, at, "")), "answer"))
            }
            _ => None,
        };
        Ok(found.map(|(of, operation)| {
            let has_same = of.value().as_deref() == Some(value);
            let of = Spot { span: spot.span.filter(|_| has_same), ..of };
            (Cause::known(of), operation)
        }))
    }

    /// Where the messages of an execution's model calls come from, by the events that began the calls.
    fn sources_of(&mut self, log: &Arc<RequestLog>, execution: u32) -> Result<Arc<Sources>, Fault> {
        let key = (log.row.id.clone(), execution);
        if let Some(known) = self.sources.get(&key) {
            return Ok(known.clone());
        }
        let calls = match log.executions.get(execution as usize) {
            Some(one) => self.workspace.block_at(&log.row.id, &one.path, Some(one.attempt))?.model_calls,
            None => Vec::new(),
        };
        let sources: Arc<Sources> = Arc::new(calls.into_iter().map(|call| (call.effect.seq, call.sources)).collect());
        self.sources.insert(key, sources.clone());
        Ok(sources)
    }
}

/// The value in a record that equals this one.
pub(super) fn holding(log: &Arc<RequestLog>, record: usize, value: &Value) -> Option<Spot> {
    fn within(here: &Value, wanted: &Value, pointer: &mut String) -> bool {
        if here == wanted {
            return true;
        }
        let len = pointer.len();
        let mut inner = |segment: &str, item: &Value| {
            pointer::push(pointer, segment);
            let found = within(item, wanted, pointer);
            if !found {
                pointer.truncate(len);
            }
            found
        };
        match here {
            Value::Array(items) => items.iter().enumerate().any(|(at, item)| inner(&at.to_string(), item)),
            Value::Object(fields) => fields.iter().any(|(key, item)| inner(key, item)),
            _ => false,
        }
    }
    let mut pointer = String::new();
    let whole = log.value(&log.records[record])?;
    within(&whole, value, &mut pointer).then(|| Spot::new(log, record, pointer))
}
