//! Keeping a recorded run as a file for the repository of its flow, and reading it again.
//!
//! The file holds what a replay needs and no more: the request, what it saw of records and of earlier requests, and
//! what it is expected to do. Nothing in it is of this machine.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use engine::event::{Event, EventKind, RequestStatus};
use engine::json::from_value;
use engine::redaction::Redaction;
use engine::scope::ScopeKind;
use script::Asked;
use serde_json::Value;
use store::{BundleRecord, ImportError};

use super::super::moving::scopes_of;
use super::super::{Workspace, export_format};
use super::run_file::{Lines, RUN_FILE_END, RunFile, Source};
use crate::core::fault::Fault;
use crate::core::unfinished_files::remove_leftovers_beside;
use crate::run::replay::{ReplayedCode, replay};
use crate::views::{Kept, RequestRow, RunFileRow};

/// Who runs a request that is in a file.
const OWNER: &str = "kept";

impl Workspace {
    /// Writes a request into a `.run` file. A file that is there is replaced only where `replace` says so, and never
    /// where it is of the workspace itself.
    pub fn keep(&self, request: &str, file: &Path, replace: bool) -> Result<Kept, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        if matches!(row.status, RequestStatus::Queued | RequestStatus::InProgress) {
            return Err(Fault::refused(format!("request \"{request}\" is still running: keep it when it has ended")));
        }
        self.check_export_file(file, replace)?;
        let mut expectation = self.expectation_of(request)?;
        expectation.redact(&self.config.redaction());
        let pieces = self.pieces_to_keep(&row, &events)?;
        let text = RunFile::new(&row, pieces, expectation).text()?;
        export_format::make_folder(file);
        remove_leftovers_beside(&[file.to_owned()], RUN_FILE_END);
        export_format::put(file, replace, text.as_bytes())?;
        Ok(Kept { file: file.display().to_string(), bytes: text.len() as u64 })
    }

    /// The `.run` files of the folder, by their paths. Folders of packages and hidden ones are not looked into.
    pub fn run_files(&self) -> Result<Vec<RunFileRow>, Fault> {
        let mut files = Vec::new();
        collect_run_files(&self.dir, &mut files);
        files.sort();
        let row = |file: PathBuf| {
            let shown = file.strip_prefix(&self.dir).unwrap_or(&file).display().to_string();
            match RunFile::read_label(&file) {
                Ok(label) => {
                    RunFileRow { file: shown, flow: Some(label.flow), action: Some(label.action), error: None }
                }
                Err(fault) => RunFileRow { file: shown, flow: None, action: None, error: Some(fault.to_string()) },
            }
        };
        Ok(files.into_iter().map(row).collect())
    }

    /// The request, those that it is made from, and the records that they saw.
    fn pieces_to_keep(&self, row: &RequestRow, events: &[Event]) -> Result<Vec<BundleRecord>, Fault> {
        let mut requests = vec![row.clone()];
        if self.saw_earlier_requests(row, events) {
            let earlier = self.store.requests_of(&row.session_id).map_err(Fault::internal)?;
            let before = earlier.into_iter().take_while(|other| other.id != row.id);
            requests.extend(before.map(|other| self.request_row(other)));
        }
        let requests = self.with_origins(requests)?;
        let ids: Vec<String> = requests.into_iter().map(|row| row.id).collect();
        let pieces = self.store.bundle(&ids).map_err(Fault::internal)?;
        check_as_read(row, &pieces)?;
        let needed = scopes_of(&pieces, &HashSet::new());
        let redaction = self.config.redaction();
        let mut kept = Vec::with_capacity(pieces.len());
        for piece in pieces {
            match piece {
                // It is verified against the code of the day.
                BundleRecord::Code { .. } | BundleRecord::Annotation { .. } => {}
                // Records that the kept requests did not see.
                BundleRecord::Record { scope, state, .. }
                    if !needed.contains(&scope) && (scope.kind == ScopeKind::Resource || state.is_empty()) => {}
                BundleRecord::Record { scope, version, state } => {
                    let mut state = Value::Object(state);
                    redaction.known(&mut state);
                    let state = state.as_object().cloned().unwrap_or_default();
                    kept.push(BundleRecord::Record { scope, version, state });
                }
                BundleRecord::Event { request, event } => {
                    let event = of_no_machine(*event, &redaction)?;
                    kept.push(BundleRecord::Event { request, event: Box::new(event) });
                }
            }
        }
        Ok(kept)
    }

    /// Whether a request looked at earlier ones of its session, by the code that it ran; also if that cannot be found
    /// out.
    fn saw_earlier_requests(&self, row: &RequestRow, events: &[Event]) -> bool {
        let replayed = || {
            let code = self.code_of_request(&row.id)?.map_err(Fault::internal)?;
            let bundle = self.probed_bundle(&code, None)?;
            let (end_record, asked) = (None, Asked::Counts { by_event: false });
            let code = ReplayedCode::Probed { bundle, kind: row.flow.clone(), asked, end_record };
            replay(&self.dir, self.replay_input(row, events.to_vec(), code)?)
        };
        replayed().map_or(true, |replayed| replayed.saw_earlier_requests)
    }

    /// Replaces everything in a temporary database by the pieces of a file.
    pub(super) fn take_in(&self, pieces: Vec<BundleRecord>, lines: &Lines, source: &Source) -> Result<(), Fault> {
        let shown = source.file.display();
        self.store.replace_all(pieces).map_err(|error| match error {
            ImportError::Store(error) => Fault::internal(error),
            ImportError::Unfit(unfit) => {
                let line = lines.of(&unfit).map(|line| format!(", line {line}")).unwrap_or_default();
                Fault::refused(format!("{shown}{line}: it does not fit the other lines: {unfit}"))
            }
            ImportError::Exists { .. } | ImportError::Reserved { .. } => {
                Fault::refused(format!("{shown} is damaged: {error}"))
            }
        })
    }
}

/// Refuses to keep a request that was deleted or went on after its row was read: the file would contradict itself.
fn check_as_read(row: &RequestRow, pieces: &[BundleRecord]) -> Result<(), Fault> {
    let own = pieces.iter().rev().find_map(|piece| match piece {
        BundleRecord::Event { request, event } if **request == *row.id => Some(event.seq),
        _ => None,
    });
    match own {
        Some(last) if last == row.last_seq => Ok(()),
        Some(_) => Err(Fault::refused(format!("request \"{}\" has gone on: keep it when it has ended", row.id))),
        None => Err(Fault::not_found(format!("unknown request \"{}\"", row.id))),
    }
}

/// How many folders are looked into, and how many files are found: a folder may hold anything.
const MOST_FOLDERS: usize = 20_000;
const MOST_FILES: usize = 20_000;

fn collect_run_files(root: &Path, files: &mut Vec<PathBuf>) {
    let mut folders = vec![root.to_owned()];
    let mut looked = 0;
    while let Some(folder) = folders.pop() {
        looked += 1;
        // A folder that cannot be read is skipped.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // A link may lead anywhere.
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !name.starts_with('.') && name != "node_modules" && looked < MOST_FOLDERS {
                folders.push(entry.path());
            } else if kind.is_file() && name.ends_with(RUN_FILE_END) && files.len() < MOST_FILES {
                files.push(entry.path());
            }
        }
    }
}

/// An event without what is of the machine that it happened on, and without secrets that are known by now.
fn of_no_machine(event: Event, redaction: &Redaction) -> Result<Event, Fault> {
    let Event { seq, at, path, attempt, kind } = event;
    if let EventKind::Unknown { name, .. } = &kind {
        return Err(Fault::refused(format!(
            "event {seq} is of a kind that this version does not know ({name}): keep the request with the version that \
             recorded it"
        )));
    }
    let mut fields = export_format::with_kind(&kind, serde_json::value::Serializer).map_err(Fault::internal)?;
    redaction.known(&mut fields);
    let mut kind: EventKind = from_value(fields).map_err(Fault::internal)?;
    match &mut kind {
        EventKind::RequestStarted { owner, mock, .. } | EventKind::RequestResumed { owner, mock, .. } => {
            *owner = OWNER.to_owned();
            // Of a script outside the folder only the name of the file is kept.
            if let Some(origin) = mock.as_mut().filter(|origin| Path::new(&**origin).is_absolute()) {
                *origin = Path::new(&**origin)
                    .file_name()
                    .map(|name| name.to_string_lossy().into_owned())
                    .unwrap_or_default();
            }
        }
        EventKind::RequestAdopted { owner, .. } => *owner = OWNER.to_owned(),
        _ => {}
    }
    Ok(Event { seq, at, path, attempt, kind })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::super::super::{OpenOptions, RunOptions};
    use super::*;

    const FLOW: &str = r#"import { defineFlow, handler } from "@flow-state-dev/core";
export default defineFlow({ kind: "main", actions: { go: { block: handler({ name: "one", execute: () => 1 }) } } });
"#;

    #[test]
    fn a_request_that_changed_meanwhile_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("flows")).unwrap();
        std::fs::write(dir.path().join("flows/main.ts"), FLOW).unwrap();
        let workspace = Workspace::open(OpenOptions { dir: dir.path().to_owned(), ..OpenOptions::default() }).unwrap();
        let wanted = RunOptions {
            flow: "main".to_owned(),
            action: "go".to_owned(),
            user: "ada".to_owned(),
            session: Some("s".to_owned()),
            request: Some("r".to_owned()),
            ..RunOptions::default()
        };
        workspace.run(wanted).unwrap().wait().unwrap();
        let (row, events) = workspace.whole_log_of("r").unwrap();
        workspace.pieces_to_keep(&row, &events).unwrap();
        let older = RequestRow { last_seq: row.last_seq - 1, ..row.clone() };
        let fault = workspace.pieces_to_keep(&older, &events).unwrap_err();
        assert!(matches!(&fault, Fault::Refused { .. }) && fault.to_string().contains("has gone on"), "{fault}");
        workspace.store.delete_session("s").unwrap();
        let fault = workspace.pieces_to_keep(&row, &events).unwrap_err();
        assert!(matches!(fault, Fault::NotFound { .. }), "{fault}");
    }
}
