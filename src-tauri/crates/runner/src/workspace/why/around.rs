//! What there is at a block or an event: its values, and the states at that instant.

use std::sync::Arc;

use engine::event::{Event, EventKind};
use serde_json::Value;

use super::log::RequestLog;
use super::pointer;
use super::question::Found;
use super::record::NO_EXECUTION;
use super::spot::{Spot, StateSpot};
use crate::core::fault::Fault;
use crate::views::WhyPlace;
use crate::workspace::Workspace;
use crate::workspace::writers::Address;

/// What a question is asked at.
pub(super) struct Around<'l> {
    pub(super) log: &'l Arc<RequestLog>,
    pub(super) event: Option<&'l Event>,
    pub(super) execution: u32,
    pub(super) at: &'l str,
}

impl Around<'_> {
    /// What is meant without a word before the pointer: the value of an event, the input of a block.
    pub(super) fn usual(&self) -> Result<usize, Fault> {
        let own = self.event.and_then(|event| {
            let is_of_block = matches!(event.kind, EventKind::BlockStarted { .. });
            self.log.record_of(event.seq).filter(|_| !is_of_block)
        });
        match own {
            Some(record) => Ok(record),
            None => self.named(WhyPlace::Input, None),
        }
    }

    pub(super) fn named(&self, place: WhyPlace, number: Option<usize>) -> Result<usize, Fault> {
        let records = self.records(place);
        let at = self.at;
        match (place, number, records.len()) {
            (WhyPlace::Prompt, _, 0) => Err(Fault::invalid(format!("{at} asked no model, so it has no prompt"))),
            (WhyPlace::Error, _, 0) => Err(Fault::invalid(format!("{at} did not fail, so it has no error"))),
            (_, _, 0) => Err(Fault::invalid(format!("{at} has no {} yet", place.as_str()))),
            (_, Some(number), many) if number > many => {
                Err(Fault::invalid(format!("{at} has the model calls 1 to {many}, not {number}")))
            }
            (_, number, many) => Ok(records[number.unwrap_or(many) - 1]),
        }
    }

    fn records(&self, place: WhyPlace) -> Vec<usize> {
        let found = self.log.records_at(self.execution, place);
        if place == WhyPlace::Input && found.is_empty() && self.execution == NO_EXECUTION {
            return self.log.records_at(NO_EXECUTION, WhyPlace::RequestInput);
        }
        found
    }

    pub(super) fn value(&self, record: usize, wanted: &str) -> Result<Found, Fault> {
        let (at, of) = (self.at, &self.log.records[record]);
        let name = of.place.as_str();
        let Some(whole) = self.log.value(of) else {
            return Err(Fault::invalid(format!("{wanted:?} is not in the {name} of {at}: it is undefined")));
        };
        if let Err(missing) = pointer::find(&whole, wanted) {
            let there = pointer::described(missing.there);
            let known = if missing.known.is_empty() { format!("the {name}") } else { missing.known };
            let text = format!("{wanted:?} is not in the {name} of {at}: {known} is {there}");
            return Err(Fault::invalid(text));
        }
        Ok(Found::Recorded(Spot::new(self.log, record, wanted)))
    }

    /// The event up to which states are meant.
    pub(super) fn instant(&self, is_event: bool) -> u64 {
        let end = self.log.executions.get(self.execution as usize).map(|one| one.end.unwrap_or(self.log.row.last_seq));
        match (self.event, end) {
            (Some(event), _) if is_event => event.seq,
            (_, Some(end)) => end,
            _ => self.log.row.last_seq,
        }
    }

    /// The first value that has a text: in the prompts, the input, the output, the error; and how many others have it.
    pub(super) fn text(&self, text: &str) -> Result<(Spot, usize), Fault> {
        let (mut first, mut many) = (None, 0_usize);
        let mut looked = Vec::new();
        let places = [
            (WhyPlace::Prompt, "prompts"),
            (WhyPlace::Input, "input"),
            (WhyPlace::Output, "output"),
            (WhyPlace::Error, "error"),
        ];
        for (place, name) in places {
            let records = self.records(place);
            if !records.is_empty() {
                looked.push(name);
            }
            for record in records {
                let Some(whole) = self.log.value(&self.log.records[record]) else { continue };
                let mut pointer = String::new();
                texts(&whole, &mut pointer, &mut |pointer, within| {
                    let Some(from) = within.find(text) else { return };
                    many += 1;
                    if first.is_none() {
                        let span = Some((from, from + text.len())).filter(|span| *span != (0, within.len()));
                        first = Some(Spot { span, ..Spot::new(self.log, record, pointer) });
                    }
                });
            }
        }
        let looked = if looked.is_empty() { "it has no recorded value".to_owned() } else { looked.join(", ") };
        let missing = || {
            let shown: String = text.chars().take(60).collect();
            let dots = if shown.len() < text.len() { "…" } else { "" };
            Fault::not_found(format!(
                "the text \"{shown}{dots}\" ({} bytes) is in no text of {} (looked in: {looked}); `search` looks in \
                 all requests",
                text.len(),
                self.at
            ))
        };
        first.map(|spot| (spot, many - 1)).ok_or_else(missing)
    }
}

/// Calls `visit` with each text of a value, and with its pointer.
fn texts(value: &Value, pointer: &mut String, visit: &mut dyn FnMut(&str, &str)) {
    let len = pointer.len();
    match value {
        Value::String(text) => visit(pointer, text),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                pointer::push(pointer, &at.to_string());
                texts(item, pointer, visit);
                pointer.truncate(len);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                pointer::push(pointer, key);
                texts(item, pointer, visit);
                pointer.truncate(len);
            }
        }
        _ => {}
    }
}

impl Workspace {
    pub(super) fn state_spot(
        &self,
        log: &Arc<RequestLog>,
        text: &str,
        named: &str,
        seq: u64,
    ) -> Result<StateSpot, Fault> {
        let request = &log.row.id;
        let address = Address::parse(&self.address_in(request, text)?, "--value ")?;
        let mut there = None;
        for scope in self.scopes_of(request)?.iter().filter(|scope| address.names(scope)) {
            let state = self.record_at(scope, request, seq)?.state;
            if let Some(value) = address.place.find(&state) {
                there = Some(Ok(value));
            } else if there.is_none() {
                there = Some(Err(state.to_json()));
            }
        }
        let pointer = address.place.pointer();
        let value = match there {
            Some(Ok(value)) => value,
            Some(Err(state)) => {
                let known = pointer::find(&state, &pointer).err();
                let known = known.map(|missing| (missing.known.clone(), pointer::described(missing.there)));
                let (known, is) = known.unwrap_or_default();
                let known = if known.is_empty() { "the state".to_owned() } else { known };
                let text = format!("--value {named:?} is not there after event {seq}: {known} is {is}");
                return Err(Fault::invalid(text));
            }
            None => {
                let text = format!("--value {named:?}: request \"{request}\" has no such state after event {seq}");
                return Err(Fault::invalid(text));
            }
        };
        let scope = match &address.block {
            Some(block) => format!("{}[{block}]", address.kind.as_str()),
            None => address.kind.as_str().to_owned(),
        };
        Ok(StateSpot { log: log.clone(), address: text.to_owned(), scope, pointer, seq, value })
    }
}
