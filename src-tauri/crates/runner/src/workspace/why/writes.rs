//! Values of states: which block wrote one, in this request or in an earlier one.

use std::borrow::Cow;
use std::sync::Arc;

use engine::event::{EventKind, ForkedFrom, Seq};
use engine::scope::ScopeKind;
use engine::views::fork_edits::{ForkEdit, holds_from};
use serde_json::Value;

use super::log::RequestLog;
use super::pointer;
use super::record::{Part, Record};
use super::resource_writes::ResourcePlace;
use super::spot::{Spot, StateSpot, address, name_in};
use super::walk::{Walk, edge, small};
use crate::core::fault::Fault;
use crate::views::{WhyEdge, WhyKind, WhyPlace, WhySpot, WriteRow};

impl Walk<'_> {
    /// Explains what a block wrote.
    pub(super) fn explain_write(&mut self, spot: &Spot, depth: u32) -> Result<(), Fault> {
        let record = spot.record();
        let log = spot.log.clone();
        let event = log.event(&record);
        let EventKind::StateChanged { scope, operation, .. } = &event.kind else { return Ok(()) };
        let place = spot.view().pointer.unwrap_or_default();
        let name = log.scope_of(&record).map(|(name, ..)| name).unwrap_or_default();
        let by = event.path.as_deref().map(|path| self.writer(&log.row.id, path, &name, &place));
        let mut written = WhyEdge {
            by,
            operation: Some(operation.name().to_owned()),
            new: small(spot.value().as_deref()),
            ..edge(WhyKind::Written, depth, spot.view())
        };
        // What is at the end of a list had nothing before.
        if scope.kind != ScopeKind::Resource && !place.split('/').any(|segment| segment == "-") {
            let writes = self.workspace.writes_to(&log.row.id, &address(scope, &place), "")?;
            if let Some(write) = writes.into_iter().find(|write| write.seq == record.seq) {
                written.old = small(write.old.as_ref().map(|old| &old.0));
                written.new = small(write.new.as_ref().map(|new| &new.0));
            }
        }
        if self.push(written) { self.explain_content(spot, depth + 1) } else { Ok(()) }
    }

    /// Explains what a request found in a record when it began.
    pub(super) fn explain_stored(&mut self, spot: &Spot, depth: u32) -> Result<(), Fault> {
        let record = spot.record();
        let log = spot.log.clone();
        let value = spot.value();
        let (Some((scope, ..)), Some(value)) = (log.scope_of(&record), value) else {
            return self.stored(spot.view(), depth);
        };
        if let Part::Stored(number) = record.part
            && let Some(resource) = &log.stored[number as usize].resource
        {
            let at = ResourcePlace { resource, name: &scope, pointer: &spot.pointer };
            return self.found_in_resource(spot.view(), (&log.row.id, record.seq), &at, &value, depth);
        }
        let at = Place { address: &name_in(&scope, &spot.pointer), scope: &scope, pointer: &spot.pointer };
        if let Some(write) = self.own_write(&log, &at, record.seq, &value)? {
            return self.written(spot.view(), &log, (&spot.pointer, write, None), depth);
        }
        self.found_there(spot.view(), (&log, record.seq), &at, &value, depth)
    }

    /// Explains the first state of a record in a request: a default of a schema, or of a fork what its request had
    /// there, or an edit.
    pub(super) fn explain_first(&mut self, spot: &Spot, view: WhySpot, depth: u32) -> Result<(), Fault> {
        let (record, log) = (spot.record(), spot.log.clone());
        let event = log.event(&record);
        let from = match event.path {
            None => self.fork_begun_at(&log, record.seq)?,
            Some(_) => None,
        };
        let (Some(from), Some((scope, ..))) = (from, log.scope_of(&record)) else {
            let by = event.path.as_deref().map(|path| self.block(&log.row.id, path));
            let operation = Some("default".to_owned());
            self.push(WhyEdge { by, operation, ..edge(WhyKind::Written, depth, view) });
            return Ok(());
        };
        let Some(value) = spot.value().map(Cow::into_owned) else { return self.stored(view, depth) };
        let had = match self.workspace.states_at(&from.request_id, from.seq) {
            Ok(had) => had.into_iter().find(|stored| stored.scope == scope),
            // The other request may have been deleted.
            Err(Fault::NotFound { .. }) => return self.stored(view, depth),
            Err(fault) => return Err(fault),
        };
        let had = had.as_ref().map(|stored| &stored.value);
        if had.and_then(|had| pointer::find(had, &spot.pointer).ok()) == Some(&value) {
            if let EventKind::StateInitialized { scope: resource, .. } = &event.kind
                && resource.kind == ScopeKind::Resource
            {
                let resource = &self.workspace.counterpart(resource, &log.row.id, &from.request_id)?;
                let at = ResourcePlace { resource, name: &scope, pointer: &spot.pointer };
                return self.found_in_resource(view, (&from.request_id, from.seq), &at, &value, depth);
            }
            let at = Place { address: &name_in(&scope, &spot.pointer), scope: &scope, pointer: &spot.pointer };
            let other = self.log(&from.request_id)?;
            if let Some(write) = self.own_write(&other, &at, from.seq, &value)? {
                return self.written(view, &other, (&spot.pointer, write, None), depth);
            }
            if let Some(first) = first_of(&other, &scope, from.seq, &spot.pointer, &value) {
                return self.explain_first(&first, view, depth);
            }
            return self.found_there(view, (&other, from.seq), &at, &value, depth);
        }
        self.edited(spot, view, (&value, had), depth)
    }

    /// What a fork branched off from that began at an event. The part that a fork shares with its request may have the
    /// beginning of another one.
    fn fork_begun_at(&self, log: &RequestLog, seq: Seq) -> Result<Option<ForkedFrom>, Fault> {
        let mut from = log.row.forked_from.clone();
        while let Some(one) = from {
            if one.seq < seq {
                let own = &log.events[log.events.partition_point(|event| event.seq <= one.seq)..];
                let mut before = own.iter().take_while(|event| event.seq < seq);
                let has_gone_on = before.any(|event| matches!(event.kind, EventKind::RequestResumed { .. }));
                return Ok((!has_gone_on).then_some(one));
            }
            from = match self.workspace.request(&one.request_id) {
                Ok(row) => row.forked_from,
                Err(Fault::NotFound { .. }) => None,
                Err(fault) => return Err(fault),
            };
        }
        Ok(None)
    }

    /// Adds what an edit of a fork made of a value, by its smallest parts.
    fn edited(
        &mut self,
        spot: &Spot,
        view: WhySpot,
        (value, had): (&Value, Option<&Value>),
        depth: u32,
    ) -> Result<(), Fault> {
        let before = had.and_then(|had| pointer::find(had, &spot.pointer).ok());
        let (Value::Object(fields), Some(Value::Object(old))) = (value, before) else {
            let spot = WhySpot { place: WhyPlace::Edit, ..spot.view() };
            self.push(edge(WhyKind::Recorded, depth, spot));
            return Ok(());
        };
        let operation = Some("fork".to_owned());
        if !self.push(WhyEdge { operation, ..edge(WhyKind::Written, depth, view) }) {
            return Ok(());
        }
        for (name, field) in fields.iter().filter(|(name, field)| old.get(*name) != Some(*field)) {
            let mut part = Spot { span: None, ..spot.clone() };
            pointer::push(&mut part.pointer, name);
            self.edited(&part, part.view(), (field, had), depth + 1)?;
        }
        Ok(())
    }

    /// The last write of a request to a place up to an event, if it left this value.
    fn own_write(
        &self,
        log: &Arc<RequestLog>,
        at: &Place<'_>,
        seq: Seq,
        value: &Value,
    ) -> Result<Option<WriteRow>, Fault> {
        let writes = self.workspace.writes_to(&log.row.id, at.address, "--value ")?;
        Ok(writes.into_iter().rfind(|write| write.seq <= seq && has_left(write, value)))
    }

    /// Explains a value that a request found at a place: by the write of an earlier one, or by what that began with.
    fn found_there(
        &mut self,
        view: WhySpot,
        (log, seq): (&Arc<RequestLog>, Seq),
        at: &Place<'_>,
        value: &Value,
        depth: u32,
    ) -> Result<(), Fault> {
        let request = &log.row.id;
        if let Some(earlier) =
            self.workspace.left_before(request, at.address, seq, &|write: &WriteRow| has_left(write, value))?
        {
            let other = self.log(&earlier.request_id)?;
            return self.written(view, &other, (at.pointer, earlier.write, None), depth);
        }
        if let Some(first) = self.workspace.first_writer(request, at.address, seq)? {
            let other = self.log(&first)?;
            if let Some(first) = first_of(&other, at.scope, Seq::MAX, at.pointer, value) {
                return self.explain_first(&first, view, depth);
            }
        }
        self.stored(view, depth)
    }

    /// Adds that a value was there, and no more is known.
    pub(super) fn stored(&mut self, view: WhySpot, depth: u32) -> Result<(), Fault> {
        self.push(WhyEdge { operation: Some("stored".to_owned()), ..edge(WhyKind::Written, depth, view) });
        Ok(())
    }

    /// Explains a place of a state at an instant: by the last write of the request, or else by an earlier one.
    pub(super) fn explain_state(&mut self, spot: &StateSpot, depth: u32) -> Result<(), Fault> {
        let request = &spot.log.row.id;
        let writes = self.workspace.writes_to(request, &spot.address, "--value ")?;
        let before: Vec<WriteRow> = writes.into_iter().filter(|write| write.seq <= spot.seq).collect();
        let last = before.iter().rposition(|write| has_left(write, &spot.value));
        if let Some(at) = last {
            let write = before[at].clone();
            let others = Some(before.len() as u64 - 1);
            return self.written(spot.view(), &spot.log, (&spot.pointer, write, others), depth);
        }
        if let Some(edit) = edit_of(spot) {
            let view = WhySpot { place: WhyPlace::Edit, ..edit.view() };
            self.push(edge(WhyKind::Recorded, depth, view));
            return Ok(());
        }
        let first = first_of(&spot.log, &spot.scope, spot.seq, &spot.pointer, &spot.value);
        let is_of_fork = spot.log.row.forked_from.is_some();
        if let Some(first) = first.as_ref().filter(|_| is_of_fork) {
            return self.explain_first(first, spot.view(), depth);
        }
        let at = Place { address: &spot.address, scope: &spot.scope, pointer: &spot.pointer };
        let is_left = |write: &WriteRow| has_left(write, &spot.value);
        match (self.workspace.left_before(request, &spot.address, spot.seq, &is_left)?, first) {
            (None, Some(first)) => self.explain_first(&first, spot.view(), depth),
            _ => self.found_there(spot.view(), (&spot.log, spot.seq), &at, &spot.value, depth),
        }
    }

    /// Adds a write of a log to a place, and explains what was written.
    pub(super) fn written(
        &mut self,
        view: WhySpot,
        log: &Arc<RequestLog>,
        (place, write, others): (&str, WriteRow, Option<u64>),
        depth: u32,
    ) -> Result<(), Fault> {
        let spot = log.record_of(write.seq).map(|record| in_write(log, record, place));
        let scope = view.scope.clone().unwrap_or_default();
        let by = write.by.as_deref().map(|path| self.writer(&log.row.id, path, &scope, place));
        let edge = WhyEdge {
            of: spot.as_ref().map(Spot::view),
            by,
            operation: Some(write.operation),
            old: small(write.old.as_ref().map(|old| &old.0)),
            new: small(write.new.as_ref().map(|new| &new.0)),
            others: others.filter(|others| *others > 0),
            ..edge(WhyKind::Written, depth, view)
        };
        match spot.filter(|_| self.push(edge)) {
            Some(spot) => self.explain_content(&spot, depth + 1),
            None => Ok(()),
        }
    }
}

/// A place of a state: as `history` takes it, and its parts.
struct Place<'p> {
    address: &'p str,
    scope: &'p str,
    pointer: &'p str,
}

/// Whether a place had this value after a block's write. A fork's edit is explained as one.
pub(super) fn has_left(write: &WriteRow, value: &Value) -> bool {
    !write.is_edit() && write.new.as_ref().is_some_and(|new| new.0 == *value)
}

/// The newest first state of a record up to an event, if a place in it still has the value from there.
pub(super) fn first_of(log: &Arc<RequestLog>, scope: &str, seq: Seq, place: &str, value: &Value) -> Option<Spot> {
    let is_first = |record: &Record| {
        record.seq <= seq
            && matches!(log.event(record).kind, EventKind::StateInitialized { .. })
            && log.scope_of(record).is_some_and(|(name, ..)| name == scope)
    };
    let first = Spot::new(log, log.records.iter().rposition(is_first)?, place);
    let has_it = first.value().is_some_and(|there| *there == *value);
    has_it.then_some(first)
}

/// The edit of a fork that gave a place its value. The states of blocks and of the request have no records.
fn edit_of(spot: &StateSpot) -> Option<Spot> {
    let log = &spot.log;
    let is_edit = |record: &Record| {
        let Some(ForkEdit::State { of, .. }) = ForkEdit::of(log.event(record)) else { return false };
        let block = spot.scope.split_once('[').and_then(|(_, rest)| rest.strip_suffix(']'));
        holds_from(&log.events, record.seq) <= spot.seq
            && of.map_or(spot.scope == "request", |path| block == Some(path))
    };
    let edit = Spot::new(log, log.records.iter().rposition(is_edit)?, spot.pointer.clone());
    let has_it = edit.value().is_some_and(|there| *there == spot.value);
    has_it.then_some(edit)
}

/// The part of a write that is at a place of the state: what was written may be more than that, or less.
pub(super) fn in_write(log: &Arc<RequestLog>, record: usize, place: &str) -> Spot {
    let whole = Spot::new(log, record, "");
    let Some((_, base, _)) = log.scope_of(&whole.record()) else { return whole };
    let mut rest = pointer::segments(place).into_iter();
    for segment in pointer::segments(&base) {
        match rest.next() {
            Some(next) if next == segment || segment == "-" => {}
            _ => return whole,
        }
    }
    let mut inner = whole.clone();
    rest.for_each(|segment| pointer::push(&mut inner.pointer, &segment));
    if inner.value().is_some() { inner } else { whole }
}
