//! The writers of a value: the history of one path of one scope in a request.

mod edits;

use std::collections::HashSet;

use engine::event::{Event, EventKind, ForkedFrom, RequestStatus, Seq};
use engine::identity::StateOwner;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::place::Place;
use engine::views::repeated_writes::recalled;
use store::EventQuery;

use super::instances::is_of_block;
use super::{At, Workspace};
use crate::core::fault::Fault;
use crate::views::{EarlierWrite, Json, WriteRow};
pub(super) use edits::StateEdit;

/// The names of scopes, for error messages.
const SCOPES: &str = "session, user, project (or org), request, sequencer, sequencer[PATH] or block[PATH]";

/// The address of a value in state: `session.topic`, `sequencer[root/step:plan].steps[0]`.
pub(super) struct Address {
    pub(super) kind: ScopeKind,
    /// The path, or the id, of a sequencer or a block.
    pub(super) block: Option<String>,
    pub(super) place: Place,
}

impl Workspace {
    /// The operations of a request that changed a path, in the order in which they took effect; durable
    /// writes do so when a block's end commits them. For a fork also its edits, and the writes of the blocks that it
    /// shares with its origin. `address` is `SCOPE.PATH`.
    pub fn history(&self, request: &str, address: &str) -> Result<Vec<WriteRow>, Fault> {
        if let Some(rows) = self.writes_of_calls(request, address)? {
            return Ok(rows);
        }
        let mut rows = self.writes_of_all(request, address, "--path ")?;
        let edits = self.edits_to(request, &Address::parse(&self.address_in(request, address)?, "--path ")?)?;
        if !edits.is_empty() {
            rows.extend(edits);
            rows.sort_by_key(|row| row.committed);
        }
        Ok(rows)
    }

    /// [`history`](Self::history) without the edits of forks. Error messages put `named` before the address.
    pub(super) fn writes_of_all(&self, request: &str, address: &str, named: &str) -> Result<Vec<WriteRow>, Fault> {
        let own = self.writes_to(request, address, named)?;
        // The records of a fork are copies, whose changes begin with the fork.
        if !Address::parse(&self.address_in(request, address)?, named)?.kind.is_durable() {
            return Ok(own);
        }
        let mut kept = Vec::new();
        let (mut request, mut until) = (request.to_owned(), Seq::MAX);
        while let Some(from) = self.origin_of(&request)? {
            until = until.min(from.seq);
            let writes = self.writes_to(&from.request_id, address, named)?;
            kept.extend(writes.into_iter().filter(|write| write.committed <= until));
            request = from.request_id;
        }
        kept.sort_by_key(|write| write.committed);
        kept.extend(own);
        Ok(kept)
    }

    /// The origin and fork point of a fork, if the origin still exists.
    pub(super) fn origin_of(&self, request: &str) -> Result<Option<ForkedFrom>, Fault> {
        let Some(from) = self.request(request)?.forked_from else { return Ok(None) };
        Ok(self.store.request(&from.request_id).map_err(Fault::internal)?.map(|_| from))
    }

    /// [`writes_of_all`](Self::writes_of_all), but for durable records only the request's own writes, without those
    /// that a fork shares with its origin.
    pub(super) fn writes_to(&self, request: &str, text: &str, named: &str) -> Result<Vec<WriteRow>, Fault> {
        let address =
            Address::parse(&self.address_in(request, text)?, named).map_err(|fault| self.with_names(request, fault))?;
        let row = self.request(request)?;
        let mut before = Vec::new();
        if let Some(from) = row.forked_from.filter(|_| !address.kind.is_durable())
            && self.keeps(request, from.seq)?
        {
            before = self.writes_to(&from.request_id, text, named)?;
            before.retain(|write| write.seq <= from.seq);
        }
        let live = row.status != RequestStatus::Interrupted;
        let mut writes = Vec::new();
        for scope in self.store.scopes_of(request).map_err(Fault::internal)? {
            if address.names(&scope) {
                writes.extend(self.store.writes(&scope, request, &address.place, live).map_err(Fault::internal)?);
            }
        }
        // A block that ran more than once has a state for each attempt.
        writes.sort_by_key(|write| write.committed);
        if !writes.is_empty() {
            let again = self.recalled(request)?;
            writes.retain(|write| !again.contains(&write.event.seq));
        }
        before.extend(writes.into_iter().filter_map(write_row));
        Ok(before)
    }
}

/// A write as people see it.
pub(super) fn write_row(write: store::Write) -> Option<WriteRow> {
    let EventKind::StateChanged { operation, .. } = &write.event.kind else { return None };
    Some(WriteRow {
        seq: write.event.seq,
        committed: write.committed,
        by: write.event.path.as_ref().map(ToString::to_string),
        instance: None,
        operation: operation.name().to_owned(),
        old: write.old.map(Json),
        new: write.new.map(Json),
        at: write.event.at,
    })
}

/// How many other requests are searched for an earlier write.
pub(super) const MAX_WRITERS: u32 = 200;

impl Workspace {
    /// The newest write of another request to a path, as of an event of this one: the origin of a value that this
    /// request found. `None` if no other request wrote there.
    pub fn written_before(&self, request: &str, address: &str, seq: u64) -> Result<Option<EarlierWrite>, Fault> {
        self.left_before(request, address, seq, &|_: &WriteRow| true)
    }

    /// [`written_before`](Self::written_before), limited to writes that `is_left` accepts.
    pub(super) fn left_before(
        &self,
        request: &str,
        address: &str,
        seq: u64,
        is_left: &dyn Fn(&WriteRow) -> bool,
    ) -> Result<Option<EarlierWrite>, Fault> {
        let parsed = Address::parse(&self.address_in(request, address)?, "--path ")?;
        let row = self.request(request)?;
        // A fork begins with copies of its origin's records, under its own keys.
        if let Some(from) = &row.forked_from {
            let until = from.seq.min(seq);
            let history = self.history(&from.request_id, address)?;
            let last = history.into_iter().rfind(|write| write.committed <= until && is_left(write));
            return match last {
                Some(write) => self.earlier(&from.request_id, write).map(Some),
                None => self.left_before(&from.request_id, address, until, is_left),
            };
        }
        for scope in self.scopes_of(request)?.iter().filter(|scope| scope.kind.is_durable() && parsed.names(scope)) {
            let others = self.store.writers_before(scope, request, seq, MAX_WRITERS).map_err(Fault::internal)?;
            for other in others {
                // Its last write may be later than the instant, because both ran at the same time.
                if let Some(write) = self.history(&other, address)?.into_iter().rfind(|write| is_left(write)) {
                    return self.earlier(&other, write).map(Some);
                }
            }
        }
        Ok(None)
    }

    /// The first of the other requests that wrote to a record up to an event of this one.
    pub(super) fn first_writer(&self, request: &str, address: &str, seq: u64) -> Result<Option<String>, Fault> {
        let parsed = Address::parse(&self.address_in(request, address)?, "--path ")?;
        for scope in self.scopes_of(request)?.iter().filter(|scope| scope.kind.is_durable() && parsed.names(scope)) {
            let mut others = self.store.writers_before(scope, request, seq, MAX_WRITERS).map_err(Fault::internal)?;
            if let Some(first) = others.pop() {
                return Ok(Some(first));
            }
        }
        Ok(None)
    }

    fn earlier(&self, request: &str, write: WriteRow) -> Result<EarlierWrite, Fault> {
        let row = self.request(request)?;
        Ok(EarlierWrite { request_id: row.id, session_id: row.session_id, flow: row.flow, action: row.action, write })
    }

    /// The writes to durable records that were recorded at an instant but not yet in effect, because a block's writes
    /// take effect when it ends.
    pub fn pending_writes(&self, request: &str, at: Option<&At>) -> Result<Vec<String>, Fault> {
        let Some(at) = at else { return Ok(Vec::new()) };
        let at = self.seq_at(request, Some(at))?;
        let live = self.request(request)?.status != RequestStatus::Interrupted;
        let mut pending = Vec::new();
        for scope in self.store.scopes_of(request).map_err(Fault::internal)? {
            if !scope.kind.is_durable() {
                continue;
            }
            let writes = self.store.writes(&scope, request, &Place::default(), live).map_err(Fault::internal)?;
            for write in writes.iter().filter(|write| write.event.seq <= at && at < write.committed) {
                let EventKind::StateChanged { operation, .. } = &write.event.kind else { continue };
                let field = operation.path().map(|field| format!(".{field}")).unwrap_or_default();
                let (seq, committed) = (write.event.seq, write.committed);
                let text = format!(
                    "event {seq} writes {}{field} ({}); that takes effect with event {committed}, so it is not in the \
                     state as of event {at}",
                    scope.kind.as_str(),
                    write.event.path.as_deref().unwrap_or("the request"),
                );
                pending.push((seq, text));
            }
        }
        pending.sort();
        Ok(pending.into_iter().map(|(_, text)| text).collect())
    }
}

impl Workspace {
    /// The resumes in a part of a request's log, and for each whether it reused finished blocks without recording them
    /// again.
    fn resumes(&self, request: &str, part: EventQuery) -> Result<Vec<(Seq, bool)>, Fault> {
        let query = EventQuery { kind: Some("request_resumed".to_owned()), ..part };
        let events = self.store.events(request, &query).map_err(Fault::internal)?;
        let resume = |event: Event| match event.kind {
            EventKind::RequestResumed { keeps_ended, .. } => Some((event.seq, keeps_ended)),
            _ => None,
        };
        Ok(events.into_iter().filter_map(resume).collect())
    }

    /// Whether a fork reuses shared events without recording them again, unlike forks of older versions.
    pub(super) fn keeps(&self, fork: &str, forked_at: Seq) -> Result<bool, Fault> {
        let resumes =
            self.resumes(fork, EventQuery { from: Some(forked_at + 1), limit: Some(1), ..Default::default() })?;
        Ok(resumes.first().is_none_or(|(_, keeps_ended)| *keeps_ended))
    }

    /// The writes of a request that a resume only re-applied.
    pub(super) fn recalled(&self, request: &str) -> Result<HashSet<Seq>, Fault> {
        // Each resume raises the owner's epoch, so a request of the first epoch has none; no need to read events.
        let row = self.store.request(request).map_err(Fault::internal)?;
        if row.is_none_or(|row| row.epoch <= 1) {
            return Ok(HashSet::new());
        }
        if self.resumes(request, EventQuery::default())?.iter().all(|(_, keeps_ended)| *keeps_ended) {
            return Ok(HashSet::new());
        }
        Ok(recalled(&self.store.events(request, &EventQuery::default()).map_err(Fault::internal)?))
    }
}

impl Address {
    pub(super) fn parse(text: &str, named: &str) -> Result<Address, Fault> {
        let wrong = |what: String| Fault::invalid(format!("{named}{text:?}: {what}"));
        let end = text.find(['.', '[']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let is_known = |kind: &ScopeKind| *kind != ScopeKind::Resource;
        let kind = ScopeKind::parse(word)
            .filter(is_known)
            .ok_or_else(|| wrong(format!("\"{word}\" is not a scope; a path is SCOPE.PATH, and SCOPE is {SCOPES}")))?;
        let (block, rest) = match kind {
            ScopeKind::Sequencer | ScopeKind::Block if rest.starts_with('[') && !rest.starts_with("[\"") => {
                let (inner, rest) =
                    bracketed(rest).ok_or_else(|| wrong(format!("the bracket after {word} is not closed")))?;
                (Some(inner.to_owned()), rest)
            }
            ScopeKind::Sequencer => (Some("root".to_owned()), rest),
            ScopeKind::Block => {
                return Err(wrong("add the path of the block: block[root/step:name].field".to_owned()));
            }
            _ => (None, rest),
        };
        let place = Place::parse(rest).map_err(wrong)?;
        Ok(Address { kind, block, place })
    }

    /// The whole state of a scope.
    pub(super) fn of(scope: &ScopeKey) -> Address {
        let owner = StateOwner::parse(&scope.id).filter(|_| is_of_block(scope));
        let block = owner.map(|owner| owner.instance.path.to_owned());
        Address { kind: scope.kind, block, place: Place::default() }
    }

    pub(super) fn names(&self, scope: &ScopeKey) -> bool {
        let Some(block) = &self.block else { return scope.kind == self.kind };
        let is_at = |owner: StateOwner<'_>| block == owner.instance.path;
        scope.kind == self.kind && (StateOwner::parse(&scope.id).is_some_and(is_at) || **block == *scope.id)
    }
}

/// The content of the first bracket of a text, and the text after it. Paths may contain nested brackets.
fn bracketed(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((&text[1..at], &text[at + 1..]));
        }
    }
    None
}
