//! Requests one by one: their events without a gap, and the rows that follow from them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::{EventKind, Recorded, RequestStatus, Seq};
use engine::log::Lease;
use engine::views::attempts::verdict;
use rusqlite::Connection;

use super::request_row::{self, RequestRow};
use super::scopes::{self, Applied, Commit, Shared};
use super::{Checked, Sums};
use crate::row::error::Error;
use crate::row::trigrams::may_hold;
use crate::row::{attempts, body, filter_block, totals};

/// A request while its events are read.
struct Walk<'a> {
    connection: &'a Connection,
    n: i64,
    id: &'a str,
    last: Seq,
    last_event: i64,
    /// The last event that a fork has in common with the request it comes from: what those did to rows and
    /// to state stays with that one.
    common: Seq,
    row: Option<RequestRow>,
    /// Operations on durable records.
    operations: HashMap<Seq, Applied>,
    /// Events that others may name: items, and what holds an input or an output.
    items: HashSet<Seq>,
    values: HashSet<Seq>,
    shared: Shared,
    filters: Vec<(Seq, Seq, Vec<u8>)>,
}

pub(super) fn check(connection: &Connection, found: &mut Checked, sums: &mut Sums) -> Result<(), Error> {
    let mut statement = connection.prepare("SELECT n, id, session FROM request ORDER BY n")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let (n, id, session): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        found.requests += 1;
        if let Err(error) = one(connection, found, sums, (n, &id), session) {
            found.add(Some(&id), None, format!("it cannot be read to the end: {error}"));
        }
    }
    Ok(())
}

fn one(
    connection: &Connection,
    found: &mut Checked,
    sums: &mut Sums,
    (n, id): (i64, &str),
    session: i64,
) -> Result<(), Error> {
    let mut walk = Walk {
        connection,
        n,
        id,
        last: 0,
        last_event: 0,
        common: 0,
        row: None,
        operations: HashMap::new(),
        items: HashSet::new(),
        values: HashSet::new(),
        shared: Shared::default(),
        filters: filter_block::filters(connection, n)?,
    };
    sums.sessions.entry(session).or_default().requests += 1;
    let mut statement = connection.prepare_cached(
        "SELECT e.id, e.seq, e.at, e.kind, p.text, e.attempt, e.body, e.path, e.sum FROM event e
         LEFT JOIN path p ON p.n = e.path WHERE e.request = ?1 ORDER BY e.seq",
    )?;
    let mut rows = statement.query((n,))?;
    while let Some(row) = rows.next()? {
        let (event, seq): (i64, Seq) = (row.get(0)?, row.get(1)?);
        let (name, text) = (body::lossy(row, 3)?, body::lossy(row, 6)?);
        let path: Option<Arc<str>> = row.get(4)?;
        found.events += 1;
        walk.number(found, event, seq);
        if path.is_none() && row.get::<_, Option<i64>>(7)?.is_some() {
            found.add(Some(id), Some(seq), "its path is not there");
        }
        let kind = body::whole_event(connection, &name, &text, row.get(8)?);
        sums.counted += totals::Sums::read(kind.as_ref().ok(), text.len());
        let kind = match kind {
            Ok(kind) => kind,
            Err(error) => {
                found.add(Some(id), Some(seq), format!("the event cannot be read: {error}"));
                continue;
            }
        };
        let at = row.get(2)?;
        if let EventKind::Unknown { name, .. } = &kind {
            *found.unknown.entry(name.clone()).or_default() += 1;
        }
        walk.names(found, seq, &kind);
        walk.filters(found, seq, &kind);
        sums.sessions.entry(session).or_default().follow(n, event, at, &kind);
        if let EventKind::RequestStarted { user, session: name, .. } = &kind
            && let Some(known) = sums.sessions.get(&session).filter(|known| known.user != **user)
        {
            let what = format!("its user is {user:?}; its session \"{name}\" belongs to user {:?}", known.user);
            found.add(Some(id), Some(seq), what);
        }
        if let EventKind::RequestStarted { forked_from: Some(from), .. } = &kind {
            walk.common = from.seq;
        }
        if (2..=walk.common).contains(&seq) {
            continue;
        }
        walk.follow(found, seq, at, &kind);
        walk.follow_state(found, sums, (event, seq), path.as_ref(), row.get(5)?, kind);
    }
    walk.end(found)
}

impl Walk<'_> {
    fn add(&self, found: &mut Checked, seq: impl Into<Option<Seq>>, what: impl Into<String>) {
        found.add(Some(self.id), seq.into(), what);
    }

    fn number(&mut self, found: &mut Checked, event: i64, seq: Seq) {
        match self.last + 1 {
            next if next == seq => {}
            next if next + 1 == seq => self.add(found, next, "the event is missing"),
            next => self.add(found, next, format!("the events {next} to {} are missing", seq.saturating_sub(1))),
        }
        if event <= self.last_event {
            self.add(found, seq, "the event was committed before the one that it follows");
        }
        (self.last, self.last_event) = (seq, event);
    }

    /// Whether the earlier events that an event names are there.
    fn names(&mut self, found: &mut Checked, seq: Seq, kind: &EventKind) {
        let (mut named, mut item) = (None, None);
        match kind {
            EventKind::RequestStarted { input, .. }
            | EventKind::InputEdited { input }
            | EventKind::BlockInput { input } => {
                named = Some(input);
                self.values.insert(seq);
            }
            EventKind::BlockStarted { input, .. } => named = Some(input),
            EventKind::BlockFinished { output, .. } => {
                named = output.as_ref();
                if output.is_some() {
                    self.values.insert(seq);
                }
            }
            EventKind::OutputEdited { output } => {
                named = Some(output);
                self.values.insert(seq);
            }
            EventKind::RequestFinished { output, .. } => named = output.as_ref(),
            EventKind::ItemAdded { .. } => drop(self.items.insert(seq)),
            EventKind::ItemDelta { of, .. } | EventKind::ItemUpdated { of, .. } | EventKind::ItemDone { of, .. } => {
                item = Some(*of);
            }
            _ => {}
        }
        if let Some(Recorded::Of(of)) = named
            && (*of >= seq || !self.values.contains(of))
        {
            self.add(found, seq, format!("it has the value of event {of}, which has none"));
        }
        if let Some(of) = item.filter(|of| !self.items.contains(of)) {
            self.add(found, seq, format!("it goes on with the item of event {of}, which added none"));
        }
    }

    /// Whether search can find the event.
    fn filters(&self, found: &mut Checked, seq: Seq, kind: &EventKind) {
        let filter = self.filters.iter().find(|(first, last, _)| (*first..=*last).contains(&seq));
        if let Some((.., filter)) = filter
            && !may_hold(filter, &filter_block::of_event(kind))
        {
            self.add(found, seq, "search would not find its texts: the filter over it is damaged");
        }
    }

    fn follow(&mut self, found: &mut Checked, seq: Seq, at: i64, kind: &EventKind) {
        if let EventKind::RequestStarted { flow, action, user, project, mock, retry_of, owner, claim, .. } = kind {
            if seq != 1 {
                self.add(found, seq, "the request begins again");
            }
            self.row = Some(RequestRow {
                flow: flow.clone(),
                action: action.clone(),
                user: user.to_string(),
                project: project.as_ref().map(ToString::to_string),
                status: RequestStatus::InProgress.as_str().to_owned(),
                owner: owner.clone(),
                epoch: 1,
                mock: mock.clone(),
                retry_of: retry_of.clone(),
                started_at: at,
                finished_at: None,
                error: None,
                claim: claim.as_ref().map(|claim| claim.key.to_string()),
            });
            return;
        }
        if let Some(lease) = Lease::named(kind)
            && let Some(row) = &self.row
            && lease.epoch != row.epoch + 1
        {
            let what = format!("its owner has epoch {} and follows one with epoch {}", lease.epoch, row.epoch);
            self.add(found, seq, what);
        }
        let Some(row) = &mut self.row else {
            if seq == 1 {
                self.add(
                    found,
                    seq,
                    format!("the request does not begin with request_started but with {}", kind.name()),
                );
            }
            return;
        };
        let (status, error) = match kind {
            EventKind::RequestStatus { status } => (*status, None),
            EventKind::RequestFinished { status, error, .. } => (*status, error.as_ref()),
            EventKind::RequestAdopted { owner, epoch } => {
                row.owner.clone_from(owner);
                row.epoch = *epoch;
                return;
            }
            EventKind::RequestResumed { owner, epoch, mock, .. } => {
                row.owner.clone_from(owner);
                row.epoch = *epoch;
                row.mock.clone_from(mock);
                (RequestStatus::InProgress, None)
            }
            _ => return,
        };
        row.status = status.as_str().to_owned();
        row.finished_at = status.is_terminal().then_some(at);
        row.error = error.and_then(|error| serde_json::to_value(error).ok());
    }

    fn follow_state(
        &mut self,
        found: &mut Checked,
        sums: &mut Sums,
        (event, seq): (i64, Seq),
        path: Option<&Arc<str>>,
        attempt: u32,
        kind: EventKind,
    ) {
        for commit in kind.commits() {
            let mut changed = 0;
            for operation in &commit.operations {
                match self.operations.get(operation) {
                    Some(Applied { scope, is_change, .. }) if *scope == commit.scope => {
                        changed += u64::from(*is_change)
                    }
                    _ => self.add(
                        found,
                        seq,
                        format!("it commits event {operation}, which is no write to {}", commit.scope),
                    ),
                }
            }
            // A fork's records begin as copies, at the version of what they are copies of.
            let is_copy = commit.from == 0 && changed == 0 && path.is_none();
            if commit.version != commit.from + changed && !is_copy {
                let (from, version) = (commit.from, commit.version);
                let what =
                    format!("it takes {} from version {from} to {version} by {changed} operations", commit.scope);
                self.add(found, seq, what);
            }
            sums.commits.entry(commit.scope.clone()).or_default().push(Commit {
                event,
                request: self.id.into(),
                n: self.n,
                seq,
                from: commit.from,
                version: commit.version,
                operations: commit.operations.clone(),
                rebased: commit.rebased.clone(),
                is_removed: false,
            });
        }
        let verdict = verdict(&kind);
        self.shared.settle(path, attempt, attempts::settled(&kind));
        match kind {
            EventKind::StateInitialized { ref scope, .. } | EventKind::StateChanged { ref scope, .. }
                if scope.kind.is_durable() =>
            {
                let is_change = matches!(kind, EventKind::StateChanged { .. });
                self.operations.insert(seq, Applied { scope: scope.clone(), is_change });
            }
            EventKind::StateInitialized { .. } | EventKind::StateChanged { .. } => {
                self.shared.step(event, seq, path, attempt, kind);
            }
            _ => {}
        }
        self.shared.follow(event, path, attempt, verdict);
    }

    fn end(mut self, found: &mut Checked) -> Result<(), Error> {
        let Some(derived) = self.row.take() else {
            if self.last == 0 {
                self.add(found, None, "the request has no events");
            }
            return Ok(());
        };
        let stored = request_row::read(self.connection, self.n)?;
        let differences = [
            ("flow", stored.flow != derived.flow, format!("{:?}", stored.flow), format!("{:?}", derived.flow)),
            (
                "action",
                stored.action != derived.action,
                format!("{:?}", stored.action),
                format!("{:?}", derived.action),
            ),
            ("user", stored.user != derived.user, format!("{:?}", stored.user), format!("{:?}", derived.user)),
            (
                "project",
                stored.project != derived.project,
                format!("{:?}", stored.project),
                format!("{:?}", derived.project),
            ),
            ("status", stored.status != derived.status, stored.status.clone(), derived.status.clone()),
            ("owner", stored.owner != derived.owner, stored.owner.clone(), derived.owner.clone()),
            ("epoch", stored.epoch != derived.epoch, stored.epoch.to_string(), derived.epoch.to_string()),
            ("mock script", stored.mock != derived.mock, format!("{:?}", stored.mock), format!("{:?}", derived.mock)),
            (
                "origin",
                stored.retry_of != derived.retry_of,
                format!("{:?}", stored.retry_of),
                format!("{:?}", derived.retry_of),
            ),
            (
                "beginning",
                stored.started_at != derived.started_at,
                stored.started_at.to_string(),
                derived.started_at.to_string(),
            ),
            (
                "end",
                stored.finished_at != derived.finished_at,
                format!("{:?}", stored.finished_at),
                format!("{:?}", derived.finished_at),
            ),
            ("error", stored.error != derived.error, format!("{:?}", stored.error), format!("{:?}", derived.error)),
            ("claim", stored.claim != derived.claim, format!("{:?}", stored.claim), format!("{:?}", derived.claim)),
        ];
        for (field, differs, stored, derived) in differences {
            if differs {
                self.add(found, None, format!("its {field} is {stored}; its events say {derived}"));
            }
        }
        self.coverage(found)?;
        scopes::check_shared(self.connection, found, (self.n, self.id), &self.shared)
    }

    /// Whether every event is covered by one filter, or by the tail.
    fn coverage(&self, found: &mut Checked) -> Result<(), Error> {
        let mut next = 1;
        for (first, last, _) in &self.filters {
            if *first != next || last < first {
                self.add(found, next, format!("search has filters up to event {} and then from {first}", next - 1));
            }
            next = last + 1;
        }
        let tail: Option<Seq> = self
            .connection
            .prepare_cached("SELECT unindexed_from FROM request WHERE n = ?1")?
            .query_row((self.n,), |row| row.get(0))?;
        let is_right = match tail {
            Some(tail) => tail == next,
            None => next == self.last + 1,
        };
        if !is_right {
            self.add(found, next, "search does not look at the events from here on");
        }
        Ok(())
    }
}
