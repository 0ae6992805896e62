//! Export and import of sessions and requests, for another machine.
//!
//! A full export contains a request's events and the records that they depend on; everything else is derived from
//! these. An export for an audience contains only that audience's items, so it cannot be imported.

mod lines;
mod page;

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use engine::event::{Event, EventKind};
use engine::scope::ScopeKey;
use serde_json::json;
use store::{BundleRecord, EventQuery, ImportError, RequestQuery, Subject};

use super::Workspace;
use super::foreign::may_hold_spans;
use super::verify::run_file::RunFile;
use crate::core::fault::Fault;
use crate::core::id;
use crate::run::replay::comparison::Expectation;
use crate::views::{Exported, Imported, RequestRow};
use crate::workspace::export_format::{self, Line};
use engine::views::items::Audience;
use lines::{line_of, piece};

/// How often an import checks whether another process's import has ended, and after how many checks it starts over.
const LOOK_AT_IMPORT: Duration = Duration::from_millis(100);
const LOOKS_AT_IMPORT: u32 = 20;

impl Workspace {
    /// Writes a session or one request to a file. `All` is for another machine, `Client` and
    /// `History` only for that audience. An existing file is replaced only if `replace` is set, and
    /// never if it belongs to the workspace.
    pub fn export(
        &self,
        (session, request): (Option<&str>, Option<&str>),
        (file, replace): (&Path, bool),
        view: Audience,
    ) -> Result<Exported, Fault> {
        let mut requests: Vec<RequestRow> = match (session, request) {
            (_, Some(request)) => vec![self.request(request)?],
            (Some(session), None) => {
                self.session(session)?;
                let query = RequestQuery { session: Some(session.to_owned()), ..RequestQuery::default() };
                let mut rows = self.requests(query)?;
                rows.reverse();
                rows
            }
            (None, None) => return Err(Fault::invalid("name a session or a request")),
        };
        self.check_export_file(file, replace)?;
        let (name, lines) = match view {
            Audience::All => {
                requests = self.with_origins(requests)?;
                ("all", self.everything(&requests)?)
            }
            Audience::Client => ("client", self.shown_to(session, request, &requests, view)?),
            Audience::History => ("history", self.shown_to(session, request, &requests, view)?),
            Audience::Trace => {
                return Err(Fault::invalid("--view trace cannot be exported: one of client, history, all"));
            }
        };
        let count = |wanted: fn(&Line) -> bool| lines.iter().filter(|line| wanted(line)).count() as u64;
        let (events, items) =
            (count(|line| matches!(line, Line::Event { .. })), count(|line| matches!(line, Line::Item { .. })));
        let bytes = export_format::write((file, replace), name, &lines)?;
        Ok(Exported {
            file: file.display().to_string(),
            view: name.to_owned(),
            requests: requests.into_iter().map(|row| row.id).collect(),
            events,
            items,
            bytes,
        })
    }

    /// Adds the requests that forks depend on: their origins, and earlier requests of the origin's session.
    pub(super) fn with_origins(&self, mut requests: Vec<RequestRow>) -> Result<Vec<RequestRow>, Fault> {
        let mut at = 0;
        while let Some(row) = requests.get(at) {
            if let Some(from) = row.forked_from.clone() {
                let mut origins = self.store.requests_of(&row.session_id).map_err(Fault::internal)?;
                origins.extend(self.store.request(&from.request_id).map_err(Fault::internal)?);
                for origin in origins {
                    if requests.iter().all(|known| known.id != origin.id) {
                        requests.push(self.request_row(origin));
                    }
                }
            }
            at += 1;
        }
        requests.sort_by(|a, b| (a.started_at, &a.id).cmp(&(b.started_at, &b.id)));
        Ok(requests)
    }

    fn everything(&self, requests: &[RequestRow]) -> Result<Vec<Line>, Fault> {
        let ids: Vec<String> = requests.iter().map(|row| row.id.clone()).collect();
        let pieces = self.store.bundle(&ids).map_err(Fault::internal)?;
        let mut lines: Vec<Line> = pieces.into_iter().map(line_of).collect();
        for request in ids {
            if let Some(body) = self.store.expectation(&request).map_err(Fault::internal)? {
                lines.push(Line::Expectation { request, body });
            }
        }
        Ok(lines)
    }

    /// The items of an audience, and the public fields of their requests.
    fn shown_to(
        &self,
        session: Option<&str>,
        request: Option<&str>,
        requests: &[RequestRow],
        audience: Audience,
    ) -> Result<Vec<Line>, Fault> {
        let items = self.items(session, request, audience, None)?;
        let known = requests.iter().map(|row| Line::Request {
            request: json!({
                "id": row.id, "sessionId": row.session_id, "flow": row.flow, "action": row.action,
                "status": row.status, "startedAt": row.started_at, "finishedAt": row.finished_at,
            }),
        });
        let mut lines: Vec<Line> = known.collect();
        lines.extend(items.into_iter().map(|item| Line::Item { item: json!(item) }));
        Ok(lines)
    }

    /// Imports a full export or a kept run, completely or not at all. If all requests of the file already exist with
    /// the same content, the import succeeds and changes nothing.
    pub fn import(&self, file: &Path) -> Result<Imported, Fault> {
        self.check_writable()?;
        if may_hold_spans(file) {
            return self.import_spans(file);
        }
        loop {
            if let Some(imported) = self.try_import(file)? {
                return Ok(imported);
            }
        }
    }

    /// [`import`](Self::import), but `None` if another process has imported some of the same requests meanwhile, so
    /// that the file must be compared again.
    fn try_import(&self, file: &Path) -> Result<Option<Imported>, Fault> {
        let Importable { mut pieces, here, result, expected } = self.importable(file)?;
        if !result.imported {
            return Ok(Some(result));
        }
        // A fork's origin may have been imported earlier from another file.
        if !here.is_empty() {
            let needed = scopes_of(&pieces, &here);
            let sessions = annotated_here(&self.store, &pieces)?;
            pieces.retain(|piece| match piece {
                BundleRecord::Event { request, .. } => !here.contains(request),
                BundleRecord::Record { scope, .. } => needed.contains(scope),
                BundleRecord::Code { .. } => true,
                BundleRecord::Annotation { subject: Subject::Request, id, .. } => !here.contains(id),
                // All requests of such a session are in the file, and some exist here, so the session exists, too.
                BundleRecord::Annotation { subject: Subject::Session, id, .. } => !sessions.contains(id),
            });
        }
        match self.store.import(pieces) {
            Ok(()) => {}
            Err(ImportError::Reserved { id }) => {
                self.wait_for_import(&id)?;
                return Ok(None);
            }
            Err(exists @ ImportError::Exists { .. }) => {
                // Another process may have finished the same import since the comparison.
                if self.importable(file)?.here.len() > here.len() {
                    return Ok(None);
                }
                let why = format!("{exists} here with other content, so {} was not imported", file.display());
                return Err(Fault::refused(why));
            }
            Err(ImportError::Store(error)) => return Err(Fault::internal(error)),
            Err(wrong) => {
                return Err(Fault::refused(format!("{} is damaged ({wrong}); nothing was imported", file.display())));
            }
        }
        for (request, expected) in expected {
            // Set expectations only for requests that this import adds.
            if result.requests.contains(&request) && !here.contains(request.as_str()) {
                self.expect(&request, &expected)?;
            }
        }
        Ok(Some(result))
    }

    /// Waits while another process imports a request. Stops waiting if that process may have died; the next import
    /// removes what it has left.
    fn wait_for_import(&self, request: &str) -> Result<(), Fault> {
        for _ in 0..LOOKS_AT_IMPORT {
            std::thread::sleep(LOOK_AT_IMPORT);
            if !self.store.is_being_imported(request).map_err(Fault::internal)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns what [`import`](Self::import) would import. Writes nothing.
    pub fn check_import(&self, file: &Path) -> Result<Imported, Fault> {
        self.check_writable()?;
        if may_hold_spans(file) {
            return self.check_spans(file);
        }
        let Importable { here, result, .. } = self.importable(file)?;
        for request in result.requests.iter().filter(|request| !here.contains(request.as_str())) {
            if self.store.request(request).map_err(Fault::internal)?.is_some() {
                return Err(Fault::refused(format!(
                    "the request \"{request}\" is here with other content, so {} cannot be imported",
                    file.display()
                )));
            }
        }
        Ok(result)
    }

    /// Reads an export, and finds the requests that already exist.
    fn importable(&self, file: &Path) -> Result<Importable, Fault> {
        if RunFile::read_label(file).is_ok() {
            return self.importable_run(file);
        }
        let (label, lines) = export_format::read(file, &self.config.limits)?;
        if label.view != "all" {
            return Err(Fault::refused(format!(
                "{} holds what the audience \"{}\" sees, without the events it was made from; only an export with \
                 --view all can be imported",
                file.display(),
                label.view
            )));
        }
        let (mut pieces, mut expected) = (Vec::new(), Vec::new());
        for line in lines {
            match line {
                Line::Expectation { request, body } => match Expectation::read(body) {
                    Ok(read) => expected.push((request, read)),
                    Err(why) => {
                        return Err(Fault::refused(format!(
                            "{} is damaged (what {request} is expected to do cannot be read: {why}); nothing was \
                             imported",
                            file.display()
                        )));
                    }
                },
                line => pieces.extend(piece(line)),
            }
        }
        Ok(Importable { expected, ..self.importable_pieces(file, pieces)? })
    }

    /// Reads a kept run, which contains no code.
    fn importable_run(&self, file: &Path) -> Result<Importable, Fault> {
        let run = RunFile::read_whole(file, &self.config.limits)?;
        let expected = Some((run.label.request, run.expectation)).filter(|(_, expected)| !expected.is_empty());
        Ok(Importable { expected: expected.into_iter().collect(), ..self.importable_pieces(file, run.pieces)? })
    }

    fn importable_pieces(&self, file: &Path, pieces: Vec<BundleRecord>) -> Result<Importable, Fault> {
        let brought = Brought::of(&pieces);
        if let Some(wrong) = brought.wrong_id() {
            return Err(Fault::refused(format!("{} cannot be imported: {wrong}", file.display())));
        }
        let here = self.known(&brought)?;
        let result = Imported {
            imported: here.len() < brought.requests.len(),
            sessions: brought.sessions.clone(),
            requests: brought.requests.keys().map(ToString::to_string).collect(),
            events: brought.requests.values().map(|events| events.len() as u64).sum(),
            spans: None,
            rejected: None,
            why_rejected: None,
            skipped: None,
        };
        Ok(Importable { pieces, here, result, expected: Vec::new() })
    }

    /// The requests of a file that already exist here with the same events.
    fn known(&self, brought: &Brought<'_>) -> Result<HashSet<Arc<str>>, Fault> {
        let mut here = HashSet::new();
        for (request, events) in &brought.requests {
            let mut known = self.store.events(request, &EventQuery::default()).map_err(Fault::internal)?;
            if let Some(EventKind::RequestStarted { forked_from: Some(from), .. }) =
                events.first().map(|event| &event.kind)
            {
                known.retain(|event| event.seq == 1 || event.seq > from.seq);
            }
            if known.len() == events.len() && known.iter().zip(events).all(|(known, event)| is_same(known, event)) {
                here.insert(request.clone());
            }
        }
        Ok(here)
    }
}

/// Whether two events are equal except for details that imports change: the owner (a migration, and an import of an
/// older export, prefix it with the database's id; a kept file names none), `rebased` values, which may have been
/// added, and the folder of a mock script, which a kept file omits.
fn is_same(one: &Event, other: &Event) -> bool {
    if one == other {
        return true;
    }
    let plain = |event: &Event| {
        let mut event = event.clone();
        if let EventKind::RequestStarted { owner, mock, .. } | EventKind::RequestResumed { owner, mock, .. } =
            &mut event.kind
        {
            owner.clear();
            *mock = mock.as_deref().map(|origin| origin.rsplit(['/', '\\']).next().unwrap_or_default().to_owned());
        }
        event.kind.commits_mut().iter_mut().for_each(|commit| commit.rebased.clear());
        event
    };
    plain(one) == plain(other)
}

/// The sessions that have annotations in a file and exist here.
fn annotated_here(store: &store::Store, pieces: &[BundleRecord]) -> Result<HashSet<Arc<str>>, Fault> {
    let mut here = HashSet::new();
    for piece in pieces {
        if let BundleRecord::Annotation { subject: Subject::Session, id, .. } = piece
            && !here.contains(id)
            && store.session(id).map_err(Fault::internal)?.is_some()
        {
            here.insert(id.clone());
        }
    }
    Ok(here)
}

/// The records that requests other than `without` read or wrote.
pub(super) fn scopes_of(pieces: &[BundleRecord], without: &HashSet<Arc<str>>) -> HashSet<ScopeKey> {
    let mut scopes = HashSet::new();
    for piece in pieces {
        let BundleRecord::Event { request, event } = piece else { continue };
        if without.contains(request) {
            continue;
        }
        scopes.extend(event.kind.commits().iter().map(|commit| commit.scope.clone()));
        if let EventKind::BlockStarted { versions, .. }
        | EventKind::BlockResumed { versions, .. }
        | EventKind::RecordsSeen { versions } = &event.kind
        {
            scopes.extend(versions.iter().map(|(scope, _)| scope.clone()));
        }
    }
    scopes
}

/// A valid export.
struct Importable {
    pieces: Vec<BundleRecord>,
    /// The requests that already exist here with the same content.
    here: HashSet<Arc<str>>,
    result: Imported,
    /// The expectations of requests.
    expected: Vec<(String, Expectation)>,
}

/// The contents of a file.
#[derive(Default)]
struct Brought<'p> {
    sessions: Vec<String>,
    requests: BTreeMap<Arc<str>, Vec<&'p Event>>,
}

impl<'p> Brought<'p> {
    fn of(pieces: &'p [BundleRecord]) -> Brought<'p> {
        let mut brought = Brought::default();
        for piece in pieces {
            let BundleRecord::Event { request, event } = piece else { continue };
            if let EventKind::RequestStarted { session, .. } = &event.kind
                && !brought.sessions.iter().any(|known| **known == **session)
            {
                brought.sessions.push(session.to_string());
            }
            brought.requests.entry(request.clone()).or_default().push(event);
        }
        brought
    }

    /// The error of the first invalid id in the file, if any.
    fn wrong_id(&self) -> Option<String> {
        let difference = |what: &str, id: &str| id::wrong(id).map(|wrong| format!("the id of a {what} {wrong}"));
        self.requests.iter().find_map(|(request, events)| {
            let EventKind::RequestStarted { session, user, project, .. } = &events.first()?.kind else { return None };
            difference("request", request)
                .or_else(|| difference("session", session))
                .or_else(|| difference("user", user))
                .or_else(|| difference("project", project.as_deref()?))
        })
    }
}
