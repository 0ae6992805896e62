//! Checks each request: that `seq` has no gaps, that references between events are valid, and the derived rows.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::sql::{Connection, without_nul};
use engine::event::{EventKind, Recorded, RequestStatus, Seq};
use engine::log::Lease;
use engine::views::attempts::verdict;
use serde_json::Value;

use super::lists::ListsCheck;
use super::pages::PagesCheck;
use super::request_row::{self, RequestRow};
use super::request_scopes::{self, RequestScopes};
use super::scopes::{Commit, UncommittedOperation};
use super::{Checked, Derived, debug_difference, difference};
use crate::row::error::Error;
use crate::row::trigrams::may_hold;
use crate::row::{attempts, body, filter_block, totals};
use crate::write::rows;

/// The check of one request, and what its events so far derive.
struct RequestCheck<'a> {
    connection: &'a Connection,
    n: i64,
    id: &'a str,
    last: Seq,
    last_event: i64,
    row: Option<RequestRow>,
    /// Operations on durable records, by `seq`.
    operations: HashMap<Seq, UncommittedOperation>,
    /// Events that later ones may refer to: those that add an item, and those that have an input or output.
    items: HashSet<Seq>,
    values: HashSet<Seq>,
    request_scopes: RequestScopes,
    filters: Vec<(Seq, Seq, Vec<u8>)>,
    pages: PagesCheck,
    lists: ListsCheck,
}

pub(super) fn check(connection: &Connection, found: &mut Checked, derived_all: &mut Derived) -> Result<(), Error> {
    let mut statement = connection.prepare("SELECT n, id, session FROM request ORDER BY n")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let (n, id, session): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        found.requests += 1;
        let result = check_request(connection, found, derived_all, (n, &id), session);
        found.try_part(Some(&id), "it", result)?;
    }
    Ok(())
}

fn check_request(
    connection: &Connection,
    found: &mut Checked,
    derived_all: &mut Derived,
    (n, id): (i64, &str),
    session: i64,
) -> Result<(), Error> {
    let mut check = RequestCheck {
        connection,
        n,
        id,
        last: 0,
        last_event: 0,
        row: None,
        operations: HashMap::new(),
        items: HashSet::new(),
        values: HashSet::new(),
        request_scopes: RequestScopes::default(),
        filters: filter_block::filters(connection, n)?,
        pages: PagesCheck::new(connection, n)?,
        lists: ListsCheck::default(),
    };
    derived_all.sessions.entry(session).or_default().requests += 1;
    let mut statement = connection.prepare_cached(
        "SELECT e.id, e.seq, e.at, e.kind, p.text, e.attempt, e.body, e.path, e.body_checksum FROM event e
         LEFT JOIN path p ON p.n = e.path WHERE e.request = ?1 ORDER BY e.seq",
    )?;
    let mut rows = statement.query((n,))?;
    while let Some(row) = rows.next()? {
        let (event, seq): (i64, Seq) = (row.get(0)?, row.get(1)?);
        let (name, text) = (body::lossy(row, 3)?, body::lossy(row, 6)?);
        let path: Option<Arc<str>> = row.get(4)?;
        found.events += 1;
        check.check_seq(found, event, seq);
        if path.is_none() && row.get::<_, Option<i64>>(7)?.is_some() {
            found.add(Some(id), Some(seq), "its path is not there");
        }
        let kind = body::checked_event(connection, &name, &text, row.get(8)?);
        derived_all.counted += totals::Sums::of_stored(kind.as_ref().ok(), text.len());
        let (at, attempt) = (row.get(2)?, row.get(5)?);
        check.pages.add(found, (connection, id), (seq, at), (row.get(7)?, attempt), kind.as_ref().ok())?;
        check.lists.add(seq, path.as_deref(), kind.as_ref().ok());
        let kind = match kind {
            Ok(kind) => kind,
            Err(error) => {
                found.add(Some(id), Some(seq), format!("the event cannot be read: {error}"));
                continue;
            }
        };
        if let EventKind::Unknown { name, .. } = &kind {
            *found.unknown.entry(name.clone()).or_default() += 1;
        }
        check.check_references(found, seq, &kind);
        check.check_filter(found, seq, &kind);
        check.derive_session(derived_all, session, event, at, &kind);
        if let EventKind::RequestStarted { user, session: name, .. } = &kind
            && let Some(known) = derived_all.sessions.get(&session).filter(|known| known.user != **user)
        {
            let what = format!("its user is {user:?}; its session \"{name}\" belongs to user {:?}", known.user);
            found.add(Some(id), Some(seq), what);
        }
        // Changes of rows and scopes are not derived from what a fork has in common with its origin.
        if check.lists.is_copied(seq) {
            continue;
        }
        check.derive_row(found, seq, at, &kind);
        check.derive_state(found, derived_all, (event, seq), path.as_ref(), attempt, kind);
    }
    check.compare(found)
}

impl RequestCheck<'_> {
    fn add(&self, found: &mut Checked, seq: impl Into<Option<Seq>>, what: impl Into<String>) {
        found.add(Some(self.id), seq.into(), what);
    }

    fn check_seq(&mut self, found: &mut Checked, event: i64, seq: Seq) {
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

    /// Checks that the earlier events that an event refers to exist.
    fn check_references(&mut self, found: &mut Checked, seq: Seq, kind: &EventKind) {
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

    /// Checks that the filter over the event contains its trigrams.
    fn check_filter(&self, found: &mut Checked, seq: Seq, kind: &EventKind) {
        let filter = self.filters.iter().find(|(first, last, _)| (*first..=*last).contains(&seq));
        if let Some((.., filter)) = filter
            && !may_hold(filter, &filter_block::event_trigrams(kind))
        {
            self.add(found, seq, "search would not find its texts: the filter over it is damaged");
        }
    }

    fn derive_session(&self, derived_all: &mut Derived, n: i64, event: i64, at: i64, kind: &EventKind) {
        let session = derived_all.sessions.entry(n).or_default();
        if let EventKind::RequestStarted { session: id, flow, user, project, ephemeral, forked_from, .. } = kind {
            // Requests are numbered in the order of their first events, so this is the session's first.
            if session.last_request.is_none() {
                session.id = id.to_string();
                session.flow.clone_from(flow);
                session.user = user.to_string();
                session.project = project.as_ref().map(ToString::to_string);
                session.ephemeral = *ephemeral;
                session.is_fork = forked_from.is_some();
                session.created_at = at;
                session.updated_at = at;
            }
            session.last_request = Some(self.n);
        }
        if rows::changes_request(kind) || totals::items(kind) > 0 {
            session.updated_at = session.updated_at.max(at);
        }
        session.items += totals::items(kind);
        if matches!(kind, EventKind::MetadataSet { .. } | EventKind::JournalAppended { .. }) {
            session.notes.insert(event);
        }
        if let EventKind::MetadataSet { metadata } = kind
            && let Some(title) = metadata.get("title").and_then(Value::as_str)
            && event > session.titled
        {
            (session.title, session.titled) = (Some(without_nul(title.to_owned())), event);
        }
    }

    fn derive_row(&mut self, found: &mut Checked, seq: Seq, at: i64, kind: &EventKind) {
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

    fn derive_state(
        &mut self,
        found: &mut Checked,
        derived_all: &mut Derived,
        (event, seq): (i64, Seq),
        path: Option<&Arc<str>>,
        attempt: u32,
        kind: EventKind,
    ) {
        for commit in kind.commits() {
            let mut changed = 0;
            for operation in &commit.operations {
                match self.operations.get(operation) {
                    Some(UncommittedOperation { scope, is_change, .. }) if *scope == commit.scope => {
                        changed += u64::from(*is_change)
                    }
                    _ => self.add(
                        found,
                        seq,
                        format!("it commits event {operation}, which is no write to {}", commit.scope),
                    ),
                }
            }
            // A fork's records begin as copies, at the version of the original.
            let is_copy = commit.from == 0 && changed == 0 && path.is_none();
            if commit.version != commit.from + changed && !is_copy {
                let (from, version) = (commit.from, commit.version);
                let what =
                    format!("it takes {} from version {from} to {version} by {changed} operations", commit.scope);
                self.add(found, seq, what);
            }
            derived_all.commits.entry(commit.scope.clone()).or_default().push(Commit {
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
        self.request_scopes.add_returned_writes(path, attempt, attempts::returned_writes(&kind));
        match kind {
            EventKind::StateInitialized { ref scope, .. } | EventKind::StateChanged { ref scope, .. }
                if scope.kind.is_durable() =>
            {
                let is_change = matches!(kind, EventKind::StateChanged { .. });
                self.operations.insert(seq, UncommittedOperation { scope: scope.clone(), is_change });
            }
            EventKind::StateInitialized { .. } | EventKind::StateChanged { .. } => {
                self.request_scopes.add_write(event, seq, path, attempt, kind);
            }
            _ => {}
        }
        self.request_scopes.apply_verdict(event, path, attempt, verdict);
    }

    fn compare(mut self, found: &mut Checked) -> Result<(), Error> {
        let Some(derived) = self.row.take() else {
            if self.last == 0 {
                self.add(found, None, "the request has no events");
            }
            return Ok(());
        };
        let stored = request_row::read(self.connection, self.n)?;
        let differences = [
            ("flow", debug_difference(&stored.flow, &derived.flow)),
            ("action", debug_difference(&stored.action, &derived.action)),
            ("user", debug_difference(&stored.user, &derived.user)),
            ("project", debug_difference(&stored.project, &derived.project)),
            ("status", difference(&stored.status, &derived.status)),
            ("owner", difference(&stored.owner, &derived.owner)),
            ("epoch", difference(&stored.epoch, &derived.epoch)),
            ("mock script", debug_difference(&stored.mock, &derived.mock)),
            ("origin", debug_difference(&stored.retry_of, &derived.retry_of)),
            ("beginning", difference(&stored.started_at, &derived.started_at)),
            ("end", debug_difference(&stored.finished_at, &derived.finished_at)),
            ("error", debug_difference(&stored.error, &derived.error)),
            ("claim", debug_difference(&stored.claim, &derived.claim)),
        ];
        for (field, difference) in differences {
            if let Some((stored, derived)) = difference {
                self.add(found, None, format!("its {field} is {stored}; its events say {derived}"));
            }
        }
        std::mem::take(&mut self.lists).compare(self.connection, found, (self.n, self.id))?;
        self.check_coverage(found)?;
        self.pages.compare(found, (self.connection, self.id), &self.filters)?;
        request_scopes::check(self.connection, found, (self.n, self.id), &self.request_scopes)
    }

    /// Checks that every event is covered by exactly one filter, or belongs to the unindexed tail.
    fn check_coverage(&self, found: &mut Checked) -> Result<(), Error> {
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
