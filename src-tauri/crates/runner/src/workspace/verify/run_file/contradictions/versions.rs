//! The versions of records: those that lines name must be those that earlier lines gave them, and each commit makes the
//! versions that its operations name.
//!
//! A block may see a record as it was before another request wrote it, if that was stored only then.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind, Outcome, ScopeCommit, Seq};
use engine::operation::Operation;
use engine::scope::ScopeKey;

use super::super::line_reader::LineFault;
use super::sums::may_undo;

/// The records that outlive requests.
#[derive(Default)]
pub(super) struct Versions {
    known: HashMap<ScopeKey, Given>,
}

/// The versions that earlier lines gave a record.
struct Given {
    first: u64,
    first_line: usize,
    newest: u64,
    newest_line: usize,
    /// The newest that each request made.
    own: HashMap<Arc<str>, u64>,
}

/// The writes of one request.
#[derive(Default)]
pub(super) struct Writes {
    /// Those to records that no line has committed yet.
    pending: HashMap<Seq, Write>,
    /// The same by who wrote them.
    by_writer: HashMap<Writer, Vec<Seq>>,
    /// The versions of states that only this request has, as far as they are known.
    own: HashMap<ScopeKey, u64>,
    /// Whether operations may have been undone, so that an unknown state is at any version.
    is_undone: bool,
    /// The line of the newest event that commits first states.
    committed: Option<usize>,
}

/// The path and the attempt.
type Writer = (Option<Arc<str>>, u32);

struct Write {
    scope: ScopeKey,
    /// `None` of a first state.
    version: Option<u64>,
    writer: Writer,
    line: usize,
}

impl Versions {
    /// Reads a line with a record.
    pub(super) fn record(&mut self, scope: &ScopeKey, version: u64, line: usize) {
        self.give(scope, version, line);
    }

    fn give(&mut self, scope: &ScopeKey, version: u64, line: usize) -> &mut Given {
        let new =
            || Given { first: version, first_line: line, newest: version, newest_line: line, own: HashMap::new() };
        let given = self.known.entry(scope.clone()).or_insert_with(new);
        (given.newest, given.newest_line) = (version, line);
        given
    }

    /// Checks an event of a request that is no fork, and reads it.
    pub(super) fn event(
        &mut self,
        writes: &mut Writes,
        (request, was_resumed): (&Arc<str>, bool),
        event: &Event,
        number: usize,
    ) -> Result<(), LineFault> {
        if let EventKind::BlockStarted { versions, .. }
        | EventKind::BlockResumed { versions, .. }
        | EventKind::RecordsSeen { versions } = &event.kind
        {
            versions.iter().try_for_each(|(scope, version)| self.sees(request, scope, *version))?;
        }
        if matches!(event.kind, EventKind::BlockStarted { .. }) && !was_resumed {
            writes.check_first_states(number)?;
        }
        let writer = (event.path.clone(), event.attempt);
        for commit in event.kind.commits() {
            self.check_begin(commit)?;
            writes.commit(commit, &writer, number)?;
            self.commit(commit, request, number);
        }
        writes.event(event, writer, number, was_resumed)
    }

    /// Reads the commits of an event of a fork, which writes copies of records.
    pub(super) fn event_of_fork(&mut self, request: &Arc<str>, event: &Event, number: usize) {
        event.kind.commits().iter().for_each(|commit| self.commit(commit, request, number));
    }

    fn commit(&mut self, commit: &ScopeCommit, request: &Arc<str>, line: usize) {
        self.give(&commit.scope, commit.version, line).own.insert(request.clone(), commit.version);
    }

    /// Checks that a block of a request can see a version. What others wrote since its own newest commit has no line
    /// for each version.
    fn sees(&self, request: &Arc<str>, scope: &ScopeKey, version: u64) -> Result<(), String> {
        let Some(given) = self.known.get(scope) else {
            if version == 0 {
                return Ok(());
            }
            let other = self.other_of_kind(scope);
            return Err(format!(
                "it sees version {version} of {scope}, and no earlier line has this record: add its line{other}"
            ));
        };
        let lowest = given.own.get(request).copied().unwrap_or(given.first);
        if lowest <= version && version <= given.newest {
            return Ok(());
        }
        let Given { newest, newest_line, .. } = given;
        Err(format!(
            "it sees version {version} of {scope}, and line {newest_line} has version {newest} of it: write the same \
             in both"
        ))
    }

    /// Which line has another record of the same kind, in words.
    fn other_of_kind(&self, scope: &ScopeKey) -> String {
        let of_kind = self.known.iter().filter(|(other, _)| other.kind == scope.kind);
        let first = of_kind.map(|(other, given)| (given.first_line, other)).min();
        first.map(|(line, other)| format!("; line {line} has {other}")).unwrap_or_default()
    }

    /// Checks that a commit goes on from the version that the record has.
    fn check_begin(&self, commit: &ScopeCommit) -> Result<(), String> {
        let ScopeCommit { scope, from, .. } = commit;
        match self.known.get(scope) {
            Some(Given { newest, newest_line, .. }) if newest != from => Err(format!(
                "\"from\" is {from}, and line {newest_line} has version {newest} of {scope}: write the same in both"
            )),
            None if *from != 0 => Err(format!(
                "\"from\" is {from}, and no earlier line has a version of {scope}: add the line of the record"
            )),
            _ => Ok(()),
        }
    }
}

impl Writes {
    /// Checks that the operations of a commit are writes of its block that are not committed yet, and takes them out.
    fn commit(&mut self, commit: &ScopeCommit, writer: &Writer, number: usize) -> Result<(), LineFault> {
        let ScopeCommit { scope, from, operations, rebased, .. } = commit;
        let mut expected = *from;
        let mut last = 0;
        for operation in operations {
            let none = || format!("it commits event {operation}, which is no write to {scope}");
            if *operation <= last {
                return Err(format!("{}: the numbers of \"operations\" rise", none()).into());
            }
            last = *operation;
            let write = self
                .pending
                .get(operation)
                .ok_or_else(|| format!("{} of a line before this one, or is committed already", none()))?;
            if write.scope != *scope {
                return Err(format!("{}: line {} writes to {}", none(), write.line, write.scope).into());
            }
            if write.writer != *writer {
                return Err(format!("{} of this block: line {} is of another", none(), write.line).into());
            }
            expected += u64::from(write.version.is_some());
            // Operations that were applied to another version than they saw are numbered as they saw it.
            if let Some(version) = write.version.filter(|version| rebased.is_empty() && *version != expected) {
                let what = format!("\"version\" is {version}: the commit in line {number} makes it {expected}");
                return Err(LineFault::at(write.line, what));
            }
            self.pending.remove(operation);
        }
        Ok(())
    }

    /// Checks that the first states of records are committed when a block begins.
    fn check_first_states(&self, number: usize) -> Result<(), LineFault> {
        let of_request = self.by_writer.get(&(None, 0)).into_iter().flatten();
        let Some((seq, write)) = of_request.filter_map(|seq| Some((seq, self.pending.get(seq)?))).next() else {
            return Ok(());
        };
        let what = format!(
            "the first state of {} (event {seq} in line {}) is committed in no line before line {number}: add {seq} to \
             \"operations\" of a commit of it",
            write.scope, write.line
        );
        Err(LineFault::at(self.committed.unwrap_or(write.line), what))
    }

    fn event(&mut self, event: &Event, writer: Writer, number: usize, was_resumed: bool) -> Result<(), LineFault> {
        match &event.kind {
            EventKind::StateInitialized { scope, .. } if scope.kind.is_durable() => {
                self.add(event.seq, Write { scope: scope.clone(), version: None, writer, line: number });
            }
            EventKind::StateChanged { scope, version, .. } if scope.kind.is_durable() => {
                self.add(event.seq, Write { scope: scope.clone(), version: Some(*version), writer, line: number });
            }
            EventKind::StateInitialized { scope, .. } => drop(self.own.insert(scope.clone(), 0)),
            EventKind::StateChanged { scope, version, operation, .. } => {
                self.own_state(scope, *version, operation, was_resumed)?;
            }
            EventKind::Committed { .. } => self.committed = Some(number),
            EventKind::CallbackReturned { superseded, .. } => {
                superseded.iter().for_each(|seq| drop(self.pending.remove(seq)));
            }
            EventKind::BlockFinished { outcome: Outcome::Completed, memoized: false, .. } if !was_resumed => {
                self.check_end(&writer)?;
            }
            // What was refused may be committed later, on another version, or the block runs and writes again.
            EventKind::CommitRefused { .. } => drop(self.by_writer.remove(&writer)),
            _ => {}
        }
        if may_undo(&event.kind) {
            self.own.clear();
            self.is_undone = true;
        }
        Ok(())
    }

    fn add(&mut self, seq: Seq, write: Write) {
        self.by_writer.entry(write.writer.clone()).or_default().push(seq);
        self.pending.insert(seq, write);
    }

    /// Checks that a block that ends has committed what it wrote.
    fn check_end(&mut self, writer: &Writer) -> Result<(), String> {
        let written = self.by_writer.remove(writer).unwrap_or_default();
        match written.iter().find_map(|seq| Some((seq, self.pending.get(seq)?))) {
            Some((seq, Write { scope, line, .. })) => Err(format!(
                "\"commits\" lacks event {seq}, which writes to {scope} in line {line}: a block that completes commits \
                 all that it wrote"
            )),
            None => Ok(()),
        }
    }

    /// Each operation makes the next version of a state that only this request has. An atomic one may make several.
    fn own_state(
        &mut self,
        scope: &ScopeKey,
        version: u64,
        operation: &Operation,
        was_resumed: bool,
    ) -> Result<(), String> {
        let known = self.own.insert(scope.clone(), version);
        let Some(before) = known.or((!self.is_undone).then_some(0)).filter(|_| !was_resumed) else { return Ok(()) };
        let is_next = version == before + 1 || version > before && matches!(operation, Operation::Atomic { .. });
        if is_next {
            return Ok(());
        }
        Err(format!("\"version\" is {version}, and {scope} is at version {before} before this line"))
    }
}
