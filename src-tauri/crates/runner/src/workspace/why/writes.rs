//! Values of states: which block wrote one, in this request or in an earlier one.

use std::sync::Arc;

use engine::event::{EventKind, Seq};

use super::log::RequestLog;
use super::pointer;
use super::record::Record;
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
        let by = event.path.as_deref().map(|path| self.block(&log.row.id, path));
        let mut written = WhyEdge {
            by,
            operation: Some(operation.name().to_owned()),
            new: small(spot.value().as_deref()),
            ..edge(WhyKind::Written, depth, spot.view())
        };
        let place = spot.view().pointer.unwrap_or_default();
        // What is at the end of a list had nothing before.
        if scope.kind != engine::scope::ScopeKind::Resource && !place.split('/').any(|segment| segment == "-") {
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
        let earlier = match log.scope_of(&record) {
            Some((scope, _, true)) => {
                let place = name_in(&scope, &spot.pointer);
                self.workspace.written_before(&log.row.id, &place, record.seq)?
            }
            _ => None,
        };
        let found = earlier.map(|earlier| (earlier.request_id, earlier.write));
        self.written_earlier(spot.view(), &spot.pointer, found, depth)
    }

    /// Explains a place of a state at an instant: by the last write of the request, or else by an earlier one.
    pub(super) fn explain_state(&mut self, spot: &StateSpot) -> Result<(), Fault> {
        let request = &spot.log.row.id;
        let writes = self.workspace.writes_to(request, &spot.address, "--value ")?;
        let before: Vec<WriteRow> = writes.into_iter().filter(|write| write.seq <= spot.seq).collect();
        let last = before.iter().rposition(|write| write.new.as_ref().map(|new| &new.0) == Some(&spot.value));
        if let Some(at) = last {
            let write = before[at].clone();
            let others = Some(before.len() as u64 - 1);
            return self.written(spot.view(), &spot.log, (&spot.pointer, write, others), 0);
        }
        let earlier = self.workspace.written_before(request, &spot.address, spot.seq)?;
        let Some(earlier) = earlier else {
            let default = default_of(spot).map(|(by, seq)| (by.map(|path| self.block(request, &path)), seq));
            let (by, operation) = default.map_or((None, "stored"), |(by, _)| (by, "default"));
            let operation = Some(operation.to_owned());
            self.push(WhyEdge { by, operation, ..edge(WhyKind::Written, 0, spot.view()) });
            return Ok(());
        };
        self.written_earlier(spot.view(), &spot.pointer, Some((earlier.request_id, earlier.write)), 0)
    }

    fn written_earlier(
        &mut self,
        view: WhySpot,
        place: &str,
        found: Option<(String, WriteRow)>,
        depth: u32,
    ) -> Result<(), Fault> {
        let Some((request, write)) = found else {
            let operation = Some("stored".to_owned());
            self.push(WhyEdge { operation, ..edge(WhyKind::Written, depth, view) });
            return Ok(());
        };
        let log = self.log(&request)?;
        self.written(view, &log, (place, write, None), depth)
    }

    /// Adds a write of a log to a place, and explains what was written.
    fn written(
        &mut self,
        view: WhySpot,
        log: &Arc<RequestLog>,
        (place, write, others): (&str, WriteRow, Option<u64>),
        depth: u32,
    ) -> Result<(), Fault> {
        let spot = log.record_of(write.seq).map(|record| in_write(log, record, place));
        let by = write.by.as_deref().map(|path| self.block(&log.row.id, path));
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

/// The block and the event that gave a place its default, if it still has that.
fn default_of(spot: &StateSpot) -> Option<(Option<String>, Seq)> {
    let log = &spot.log;
    let records = log.records.iter().rev().filter(|record| record.seq <= spot.seq && record.place == WhyPlace::State);
    let mut defaults = records.filter(|record| matches!(log.event(record).kind, EventKind::StateInitialized { .. }));
    let of_scope = |record: &Record| log.scope_of(record).is_some_and(|(scope, ..)| scope == spot.scope);
    let first = defaults.find(|record| of_scope(record))?;
    let value = log.value(first)?;
    let has_it = pointer::find(&value, &spot.pointer).is_ok_and(|value| *value == spot.value);
    has_it.then(|| (log.event(first).path.as_ref().map(ToString::to_string), first.seq))
}

/// The part of a write that is at a place of the state: what was written may be more than that, or less.
fn in_write(log: &Arc<RequestLog>, record: usize, place: &str) -> Spot {
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
