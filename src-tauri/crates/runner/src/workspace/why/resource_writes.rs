//! The writers of resources: of their fields, and of their texts, which are at `$content`. A resource has no history by
//! its name, so its record is looked at.

use engine::event::{RequestStatus, Seq};
use engine::scope::ScopeKey;
use engine::views::place::Place;
use serde_json::Value;

use super::spot::name_in;
use super::walk::Walk;
use super::writes::{first_of, has_left};
use crate::core::fault::Fault;
use crate::views::{WhySpot, WriteRow};
use crate::workspace::Workspace;
use crate::workspace::writers::{MAX_WRITERS, write_row};

/// A place in a resource.
pub(super) struct ResourcePlace<'p> {
    pub(super) resource: &'p ScopeKey,
    /// `session/notes`.
    pub(super) name: &'p str,
    pub(super) pointer: &'p str,
}

impl Walk<'_> {
    /// Explains a value that a request found in a resource: by the write that left it, or by what the resource began
    /// with.
    pub(super) fn found_in_resource(
        &mut self,
        view: WhySpot,
        (request, seq): (&str, Seq),
        at: &ResourcePlace<'_>,
        value: &Value,
        depth: u32,
    ) -> Result<(), Fault> {
        let place = Place::parse(&name_in("", at.pointer)).map_err(Fault::internal)?;
        let write = self.workspace.write_of_resource(request, (at.resource, &place), seq, value)?;
        if let Some((writer, write)) = write {
            let log = self.log(&writer)?;
            return self.written(view, &log, (at.pointer, write, None), depth);
        }
        let mut writers = self.workspace.writers_of(at.resource, request, seq)?;
        if let Some(first) = writers.pop() {
            let log = self.log(&first)?;
            if let Some(first) = first_of(&log, at.name, Seq::MAX, at.pointer, value) {
                return self.explain_first(&first, view, depth);
            }
        }
        self.stored(view, depth)
    }
}

impl Workspace {
    /// The newest write up to an event that left a value at a place of a resource, and its request: this one, the one
    /// that it is a fork of, or an earlier one.
    fn write_of_resource(
        &self,
        request: &str,
        (resource, place): (&ScopeKey, &Place),
        seq: Seq,
        value: &Value,
    ) -> Result<Option<(String, WriteRow)>, Fault> {
        let has_it = |write: &WriteRow| has_left(write, value);
        let own = self.writes_of_resource(request, resource, place)?;
        if let Some(write) = own.into_iter().rfind(|write| write.committed <= seq && has_it(write)) {
            return Ok(Some((request.to_owned(), write)));
        }
        // A fork begins with copies of its origin's resources.
        if let Some(from) = self.origin_of(request)? {
            let resource = self.counterpart(resource, request, &from.request_id)?;
            return self.write_of_resource(&from.request_id, (&resource, place), from.seq.min(seq), value);
        }
        for other in self.writers_of(resource, request, seq)? {
            // Its last write may be later than the instant, because both ran at the same time.
            if let Some(write) = self.writes_of_resource(&other, resource, place)?.into_iter().rfind(has_it) {
                return Ok(Some((other, write)));
            }
        }
        Ok(None)
    }

    /// The other requests that wrote to a resource up to an event, the last one first.
    fn writers_of(&self, resource: &ScopeKey, request: &str, seq: Seq) -> Result<Vec<String>, Fault> {
        self.store.writers_before(resource, request, seq, MAX_WRITERS).map_err(Fault::internal)
    }

    fn writes_of_resource(&self, request: &str, resource: &ScopeKey, place: &Place) -> Result<Vec<WriteRow>, Fault> {
        let live = self.request(request)?.status != RequestStatus::Interrupted;
        let mut writes = self.store.writes(resource, request, place, live).map_err(Fault::internal)?;
        if !writes.is_empty() {
            let again = self.recalled(request)?;
            writes.retain(|write| !again.contains(&write.event.seq));
        }
        Ok(writes.into_iter().filter_map(write_row).collect())
    }
}
