//! A request's log with its index: every recorded value, and which of them count.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::{BlockKind, Event, EventKind, ScopeCommit, Seq};
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::Events;
use engine::views::attempts::Ends;
use engine::views::blocks::{BlockStatus, BlockView, blocks};
use engine::views::model_requests::Requests;
use serde_json::Value;

use super::index::Index;
use super::record::{
    NO_EXECUTION, Part, Record, Stored, base_of, own_value, places, refers_to, scope_name, whole_value,
};
use crate::core::fault::Fault;
use crate::views::{RequestRow, WhyPlace};
use crate::workspace::Workspace;
use crate::workspace::records::shown;

/// The log of a request with more events is read again for each question: it would take much memory.
const MAX_KEPT_EVENTS: u64 = 50_000;
/// No more states are indexed that a request found: each is indexed as a whole.
const MAX_STATES: usize = 200;

/// One execution of a block.
#[derive(Debug)]
pub(super) struct Execution {
    pub(super) path: Arc<str>,
    pub(super) attempt: u32,
    pub(super) kind: BlockKind,
    pub(super) parent: u32,
    pub(super) start: Seq,
    pub(super) end: Option<Seq>,
    /// Retried, replaced by a later attempt, or cut off.
    pub(super) is_given_up: bool,
}

/// A request's log, ready for questions.
pub(crate) struct RequestLog {
    pub(super) row: RequestRow,
    pub(super) events: Vec<Event>,
    pub(super) executions: Vec<Execution>,
    by_instance: HashMap<(Arc<str>, u32), u32>,
    /// The records of persons' answers, by the paths of the blocks that asked.
    answers: HashMap<Arc<str>, Vec<usize>>,
    /// In the order of their events.
    pub(super) records: Vec<Record>,
    pub(super) stored: Vec<Stored>,
    pub(super) index: Index,
    requests: Requests,
}

impl Workspace {
    /// A request's log with its index; that of a request that was asked about before, if it has not changed.
    pub(super) fn why_log(&self, request: &str) -> Result<Arc<RequestLog>, Fault> {
        let version = self.version_of(request)?;
        if let Some(known) = self.payloads.logs().get(&version, &()) {
            return Ok(known);
        }
        let log = Arc::new(self.read_why_log(request)?);
        // What was recorded meanwhile makes it another version.
        if log.row.last_seq <= MAX_KEPT_EVENTS && self.version_of(request)? == version {
            self.payloads.logs().put(version, (), log.clone());
        }
        Ok(log)
    }

    fn read_why_log(&self, request: &str) -> Result<RequestLog, Fault> {
        let (row, events) = self.log_of(request)?;
        let stored = self.states_found(request, &events)?;
        Ok(RequestLog::new(row, events, stored))
    }

    /// The states that a request found: when it began, and where others had written before its blocks saw them.
    fn states_found(&self, request: &str, events: &[Event]) -> Result<Vec<Stored>, Fault> {
        let Some(first) = events.first() else { return Ok(Vec::new()) };
        let mut found = self.states_at(request, first.seq)?;
        let mut known: HashMap<&ScopeKey, u64> = HashMap::new();
        for (at, event) in (0_u32..).zip(events) {
            let seen: &[(ScopeKey, u64)] = match &event.kind {
                EventKind::BlockStarted { versions, .. }
                | EventKind::BlockResumed { versions, .. }
                | EventKind::RecordsSeen { versions } => versions,
                _ => &[],
            };
            let is_news = |(scope, version): &(&ScopeKey, u64)| known.get(scope) != Some(version);
            let seen = seen.iter().map(|(scope, version)| (scope, *version)).filter(is_news);
            // A commit may apply its writes to a newer record than its block saw.
            let is_rebased = |commit: &&ScopeCommit| known.get(&&commit.scope).is_some_and(|was| *was != commit.from);
            let rebased = event.kind.commits().iter().filter(is_rebased).map(|commit| (&commit.scope, commit.version));
            let news: Vec<(&ScopeKey, u64)> = seen.chain(rebased).collect();
            known.extend(event.kind.commits().iter().map(|commit| (&commit.scope, commit.version)));
            for (scope, version) in news {
                known.insert(scope, version);
                let record = self.record_at(scope, request, event.seq)?;
                // Another request may have written once more before the event was recorded.
                if !scope.kind.is_durable() || record.version != version {
                    continue;
                }
                let Some(stored) = stored(at, scope, record) else { continue };
                if found.iter().rfind(|one| one.scope == stored.scope).is_none_or(|one| one.value != stored.value) {
                    found.push(stored);
                }
                if found.len() >= MAX_STATES {
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }

    /// The durable records as of an event.
    pub(super) fn states_at(&self, request: &str, seq: Seq) -> Result<Vec<Stored>, Fault> {
        let mut found = Vec::new();
        for scope in self.scopes_of(request)?.iter().filter(|scope| scope.kind.is_durable()) {
            found.extend(stored(0, scope, self.record_at(scope, request, seq)?));
        }
        Ok(found)
    }
}

/// What a request found in a record; `None` if that is nothing.
fn stored(event: u32, scope: &ScopeKey, record: engine::log::Record) -> Option<Stored> {
    let is_empty = record.state.is_empty();
    let value = shown(scope, record).filter(|_| !is_empty)?;
    let resource = (scope.kind == ScopeKind::Resource).then(|| scope.clone());
    Some(Stored { event, scope: scope_name(scope), resource, value })
}

impl RequestLog {
    fn new(row: RequestRow, events: Vec<Event>, stored: Vec<Stored>) -> RequestLog {
        let live = !row.status.is_terminal();
        let requests = Requests::of(&events);
        let (executions, by_instance) = executions(&blocks(Events::new(&events), live));
        let mut log = RequestLog {
            row,
            events,
            executions,
            by_instance,
            answers: HashMap::new(),
            records: Vec::new(),
            stored,
            index: Index::default(),
            requests,
        };
        log.records = log.read_records(live);
        for (at, record) in log.records.iter().enumerate().filter(|(_, record)| record.place == WhyPlace::Person) {
            if let Some(asking) = log.executions.get(record.execution as usize) {
                log.answers.entry(asking.path.clone()).or_default().push(at);
            }
        }
        let mut index = Index::default();
        for (number, record) in (0_u32..).zip(&log.records) {
            // What is asked is no cause, and what a function of a chain returned is what its block hands on.
            if matches!(record.place, WhyPlace::Prompt | WhyPlace::Asked | WhyPlace::Returned) {
                continue;
            }
            if let Some(value) = log.own_value(record) {
                index.add(number, &value, !matches!(record.place, WhyPlace::Item | WhyPlace::Error));
            }
        }
        index.finish();
        log.index = index;
        log
    }

    fn read_records(&self, live: bool) -> Vec<Record> {
        let ends = Ends::read(&self.events);
        let commits = self.events.iter().flat_map(|event| event.kind.commits());
        let committed: HashSet<Seq> = commits.flat_map(|commit| commit.operations.iter().copied()).collect();
        let mut records = Vec::new();
        let mut stored = (0_u32..).zip(&self.stored).peekable();
        let mut asking: HashMap<&str, u32> = HashMap::new();
        for (at, event) in (0_u32..).zip(&self.events) {
            // An answer is recorded outside of all blocks: it belongs to the one that asked.
            let is_answer = matches!(event.kind, EventKind::SuspensionResolved(_));
            let execution = match &event.kind {
                EventKind::SuspensionResolved(resolved) => asking.get(&*resolved.id).copied(),
                _ => self.execution_of(event),
            };
            let execution = execution.unwrap_or(NO_EXECUTION);
            if let EventKind::Suspended(asked) = &event.kind {
                asking.insert(&asked.id, execution);
            }
            // A later attempt that asks the same takes the answer, too.
            let is_given_up = !is_answer && self.executions.get(execution as usize).is_some_and(|one| one.is_given_up);
            let mut counts = (!is_given_up || ends.is_kept(event)) && !ends.is_superseded(event);
            counts &= match &event.kind {
                EventKind::StateChanged { scope, .. } if scope.kind.is_durable() => committed.contains(&event.seq),
                EventKind::StateChanged { .. } => !ends.is_rolled_back(event, live),
                EventKind::EffectFinished { memoized, .. } => !memoized,
                EventKind::EffectStarted { .. } => false,
                _ => true,
            };
            while let Some((number, _)) = stored.next_if(|(_, stored)| stored.event == at) {
                records.push(Record {
                    seq: event.seq,
                    event: at,
                    part: Part::Stored(number),
                    place: WhyPlace::State,
                    execution: NO_EXECUTION,
                    counts: true,
                });
            }
            let of_event = places(&event.kind).iter();
            records.extend(of_event.map(|(part, place)| Record {
                seq: event.seq,
                event: at,
                part: *part,
                place: *place,
                execution,
                counts,
            }));
        }
        records
    }

    /// The execution of an event.
    pub(super) fn execution_of(&self, event: &Event) -> Option<u32> {
        self.by_instance.get(&(event.path.clone()?, event.attempt)).copied()
    }

    /// An execution by its path and its attempt.
    pub(super) fn execution(&self, path: &str, attempt: u32) -> Option<u32> {
        self.by_instance.get(&(Arc::from(path), attempt)).copied()
    }

    /// The answers of persons that an execution got, or an earlier attempt of its block, by their records.
    pub(super) fn answers_to(&self, execution: u32) -> impl DoubleEndedIterator<Item = usize> + '_ {
        let own = self.executions.get(execution as usize);
        let all = own.and_then(|own| self.answers.get(&own.path)).map_or(&[][..], Vec::as_slice);
        let attempt = own.map_or(0, |own| own.attempt);
        let is_got = move |at: &usize| {
            let asking = self.executions.get(self.records[*at].execution as usize);
            asking.is_some_and(|asking| asking.attempt <= attempt)
        };
        all.iter().copied().filter(is_got)
    }

    /// The event of a record.
    pub(super) fn event(&self, record: &Record) -> &Event {
        &self.events[record.event as usize]
    }

    fn own_value(&self, record: &Record) -> Option<Cow<'_, Value>> {
        match record.part {
            Part::Stored(number) => Some(Cow::Borrowed(&self.stored[number as usize].value)),
            part => own_value(self.event(record), part, &self.requests),
        }
    }

    /// The value of a record.
    pub(super) fn value(&self, record: &Record) -> Option<Cow<'_, Value>> {
        match record.part {
            Part::Stored(_) => self.own_value(record),
            part => whole_value(Events::new(&self.events), self.event(record), part, &self.requests),
        }
    }

    /// The records of an event, by their numbers.
    pub(super) fn records_of(&self, seq: Seq) -> std::ops::Range<usize> {
        let from = self.records.partition_point(|record| record.seq < seq);
        from..from + self.records[from..].partition_point(|record| record.seq == seq)
    }

    /// The record of an event, by its number.
    pub(super) fn record_of(&self, seq: Seq) -> Option<usize> {
        self.records_of(seq).rev().find(|at| !matches!(self.records[*at].part, Part::Stored(_)))
    }

    /// The record whose value is written out for this one: itself, or the one that it refers to.
    pub(super) fn source_of(&self, record: usize) -> usize {
        let mut at = record;
        while let Some(next) = refers_to(&self.event(&self.records[at]).kind, self.records[at].part)
            .and_then(|seq| self.record_of(seq))
            .filter(|next| *next < at)
        {
            at = next;
        }
        at
    }

    /// The records of an execution at a place, by their numbers, in their order.
    pub(super) fn records_at(&self, execution: u32, place: WhyPlace) -> Vec<usize> {
        let (from, to) = match self.executions.get(execution as usize) {
            Some(one) => (one.start, one.end.unwrap_or(Seq::MAX)),
            None => (0, Seq::MAX),
        };
        let first = self.records.partition_point(|record| record.seq < from);
        let range = self.records[first..].iter().take_while(|record| record.seq <= to);
        let is_it = |record: &Record| record.execution == execution && record.place == place;
        (first..).zip(range).filter(|(_, record)| is_it(record)).map(|(at, _)| at).collect()
    }

    /// The first record of an execution at a place, by its number.
    pub(super) fn first_at(&self, execution: u32, place: WhyPlace) -> Option<usize> {
        let start = self.executions.get(execution as usize)?.start;
        let first = self.records.partition_point(|record| record.seq < start);
        let is_it = |record: &Record| record.execution == execution && record.place == place;
        self.records[first..].iter().position(is_it).map(|at| first + at)
    }

    /// Whether two model calls were asked with the same message at a number.
    pub(super) fn has_same_message(&self, one: usize, other: usize, number: usize) -> bool {
        let message = |at: usize| self.requests.asked(self.event(&self.records[at]))?.1.message(number);
        // Calls of a block share what they have in common.
        message(one).zip(message(other)).is_some_and(|(one, other)| std::ptr::eq(one, other) || one == other)
    }

    /// The name of the scope of a record of a state, the pointer to its value there, and whether it has a history by
    /// that name.
    pub(super) fn scope_of(&self, record: &Record) -> Option<(String, String, bool)> {
        if let Part::Stored(number) = record.part {
            let stored = &self.stored[number as usize];
            return Some((stored.scope.clone(), String::new(), stored.resource.is_none()));
        }
        let kind = &self.event(record).kind;
        let (EventKind::StateChanged { scope, .. } | EventKind::StateInitialized { scope, .. }) = kind else {
            return None;
        };
        let has_history = scope.kind != ScopeKind::Resource;
        Some((scope_name(scope), base_of(kind), has_history))
    }
}

type Executions = (Vec<Execution>, HashMap<(Arc<str>, u32), u32>);

fn executions(blocks: &[BlockView<'_>]) -> Executions {
    let numbered = || (0_u32..).zip(blocks);
    let by_instance: HashMap<(Arc<str>, u32), u32> =
        numbered().map(|(at, block)| ((block.path.clone(), block.attempt), at)).collect();
    let mut newest: HashMap<&str, u32> = HashMap::new();
    for block in blocks {
        let attempt = newest.entry(&block.path).or_default();
        *attempt = (*attempt).max(block.attempt);
    }
    let mut executions: Vec<Execution> = Vec::with_capacity(blocks.len());
    for block in blocks {
        let around = block.parent.as_deref().and_then(engine::identity::InstanceId::parse);
        let parent = around.and_then(|around| by_instance.get(&(Arc::from(around.path), around.attempt)).copied());
        let parent = parent.unwrap_or(NO_EXECUTION);
        // A block begins after the one around it. What ended inside of an attempt that was given up counts for the
        // next one, unless it ran again.
        let is_around_given_up = executions.get(parent as usize).is_some_and(|around: &Execution| around.is_given_up);
        let has_run_again = newest.get(&*block.path).is_some_and(|newest| *newest > block.attempt);
        let is_given_up = block.status == BlockStatus::Abandoned || is_around_given_up && has_run_again;
        executions.push(Execution {
            path: block.path.clone(),
            attempt: block.attempt,
            kind: block.kind,
            parent,
            start: block.seq_start,
            end: block.seq_end,
            is_given_up,
        });
    }
    (executions, by_instance)
}
