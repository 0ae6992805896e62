//! Foreign requests in a workspace: spans come in from a file or over HTTP, and what cannot be done with them is said.

mod left;
mod logs;
mod pending;
mod portions;
mod receiver;
mod runnable;

use std::io::Read;
use std::path::Path;

use engine::log::Log;
use engine::redaction::Redaction;
use engine::scope::ScopeKey;
use store::{RequestQuery, SessionQuery};

use super::Workspace;
use crate::core::config::FILE;
use crate::core::fault::Fault;
use crate::core::ordinary_files;
use crate::foreign::decode::{Decoded, TraceId, json_lines, trace_hex};
use crate::views::{Imported, RequestRow};
use logs::{Added, ForeignLogs};

pub use receiver::{Receiver, ReceiverRow, USUAL_PORT};

/// How much of a file is read to see what it is.
const HEAD: u64 = 4_096;
/// What compressed files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

impl Workspace {
    /// What a workspace does from its opening on.
    pub(super) fn follow_database(&self) {
        self.note_settings();
        self.forward_commits();
        self.mark_changed_views();
    }

    /// Refuses what needs the code or the state of a request, if it is foreign.
    pub(super) fn check_not_foreign(row: &RequestRow) -> Result<(), Fault> {
        let Some(emitter) = &row.received_from else { return Ok(()) };
        Err(Fault::refused(format!(
            "request \"{0}\" was received as a trace ({emitter}): neither its code nor its state is here, so it can be \
             looked at, searched, compared and exported, but not resumed, retried, forked, replayed or stepped \
             through. \"flowglass runnable {0} --as NAME\" makes a flow of it that can",
            row.id
        )))
    }

    /// Refuses what asks for the state of a request, if it is foreign.
    pub fn check_has_state(&self, request: &str) -> Result<(), Fault> {
        let Some(emitter) = self.request(request)?.received_from else { return Ok(()) };
        Err(Fault::refused(format!(
            "request \"{request}\" was received as a trace ({emitter}), which has no state: what its program logged of \
             it is in the inputs, outputs and attributes of its blocks (\"flowglass block {request} PATH\")"
        )))
    }

    /// Refuses what asks for the state of a session, if its requests are foreign.
    pub fn check_session_has_state(&self, session: &str) -> Result<(), Fault> {
        let of_session = RequestQuery { session: Some(session.to_owned()), limit: Some(1), ..RequestQuery::default() };
        let rows = self.store.requests(&of_session).map_err(Fault::internal)?;
        rows.iter().find(|row| row.emitter.is_some()).map_or(Ok(()), |row| self.check_has_state(&row.id))
    }

    /// Refuses what asks for the state of a user who has none, if the user's newest requests are foreign.
    pub(super) fn check_user_has_state(&self, scope: &ScopeKey) -> Result<(), Fault> {
        let record = Log::record(&*self.store, scope).map_err(Fault::internal)?;
        if record.version > 0 || !self.store.resources_of(scope).map_err(Fault::internal)?.is_empty() {
            return Ok(());
        }
        let newest = SessionQuery { user: Some(scope.id.to_string()), limit: Some(1), ..SessionQuery::default() };
        let sessions = self.store.sessions(&newest).map_err(Fault::internal)?;
        sessions.first().map_or(Ok(()), |session| self.check_session_has_state(&session.id))
    }

    /// Takes in the spans of a file of OTLP JSON lines. What is here already changes nothing.
    pub(super) fn import_spans(&self, file: &Path) -> Result<Imported, Fault> {
        let decoded = self.spans_of_file(file)?;
        let job_lock = self.lock()?;
        let mut logs = ForeignLogs::new(self.store.clone(), job_lock.owner());
        let mut result = imported(&decoded);
        let changed = added(logs.add(decoded.packed()))?;
        for id in logs.in_order(changed) {
            result.imported = true;
            logs.write_settled(id)?;
        }
        logs.remove_replaced();
        self.count(&mut result)?;
        Ok(result)
    }

    /// What [`import_spans`](Self::import_spans) would take in. Writes nothing.
    pub(super) fn check_spans(&self, file: &Path) -> Result<Imported, Fault> {
        let decoded = self.spans_of_file(file)?;
        let mut logs = ForeignLogs::new(self.store.clone(), self.locks.nobody());
        let mut result = imported(&decoded);
        result.imported = !added(logs.add(decoded.packed()))?.is_empty();
        self.count(&mut result)?;
        Ok(result)
    }

    /// What no span may hold when it is stored.
    fn redaction_of_spans(&self) -> Redaction {
        self.config.redaction().without_list()
    }

    /// Completes a result with what is known of its requests.
    fn count(&self, result: &mut Imported) -> Result<(), Fault> {
        for request in &result.requests {
            let Some(row) = self.store.request(request).map_err(Fault::internal)? else { continue };
            result.events += row.last_seq;
            if !result.sessions.contains(&row.session) {
                result.sessions.push(row.session);
            }
        }
        Ok(())
    }

    fn spans_of_file(&self, file: &Path) -> Result<Decoded, Fault> {
        let most = self.config.limits.import_bytes;
        let shown = file.display();
        let too_large = || {
            Fault::refused(format!(
                "{shown} is too large: limits.importBytes in {FILE} allows {most} bytes; nothing was imported"
            ))
        };
        if std::fs::metadata(file).is_ok_and(|of| !of.is_file()) {
            let need = "spans are read from a regular file: write them into one first";
            return Err(Fault::invalid(format!("{shown} is a pipe or a device, and {need}")));
        }
        let bytes = match std::fs::File::open(file).and_then(|file| ordinary_files::read_to(file, most)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => return Err(too_large()),
            Err(error) => return Err(Fault::invalid(format!("{shown} cannot be read: {error}"))),
        };
        let wrong = |why: String| Fault::refused(format!("{shown} cannot be imported: {why}; nothing was imported"));
        let bytes = if bytes.starts_with(&GZIP) {
            let mut plain = Vec::new();
            let read = flate2::read::MultiGzDecoder::new(&*bytes).take(most + 1).read_to_end(&mut plain);
            match read {
                Ok(read) if read as u64 > most => return Err(too_large()),
                Ok(_) => plain,
                Err(error) => return Err(wrong(format!("it is not gzip: {error}"))),
            }
        } else {
            bytes
        };
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
        let mut decoded = json_lines(bytes).map_err(&wrong)?;
        decoded.redact(&self.redaction_of_spans());
        if decoded.spans.is_empty() {
            return Err(wrong(match &decoded.why {
                Some(why) => format!("none of its {} spans can be read ({why})", decoded.rejected),
                None if decoded.skipped > 0 => format!(
                    "it has no spans, only log records and metrics ({} of them), and a request is made of spans",
                    decoded.skipped
                ),
                None => "it has no spans".to_owned(),
            }));
        }
        Ok(decoded)
    }
}

/// Whether a file looks like OTLP JSON, or like a compressed file of it. Kept runs are JSON lines, too, so the list
/// that every call has must be named near the beginning.
pub(super) fn may_hold_spans(file: &Path) -> bool {
    let mut head = Vec::new();
    let read = std::fs::File::open(file).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    let text = head.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&head);
    let is_call = || {
        let text = String::from_utf8_lossy(text);
        let lists = ["\"resourceSpans\"", "\"resourceLogs\"", "\"resourceMetrics\""];
        text.trim_ascii_start().starts_with('{') && lists.iter().any(|list| text.contains(list))
    };
    read.is_ok() && (head.starts_with(&GZIP) || is_call())
}

/// The traces that changed. A file is taken in as a whole: if the log of one of its traces cannot be read, this fails.
fn added(mut added: Added) -> Result<Vec<TraceId>, Fault> {
    if added.faults.is_empty() { Ok(added.changed) } else { Err(added.faults.swap_remove(0)) }
}

fn imported(decoded: &Decoded) -> Imported {
    let mut requests: Vec<String> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for (trace, _) in &decoded.spans {
        if known.insert(*trace) {
            requests.push(trace_hex(*trace));
        }
    }
    Imported {
        imported: false,
        sessions: Vec::new(),
        requests,
        events: 0,
        spans: Some(decoded.spans.len() as u64),
        rejected: Some(decoded.rejected).filter(|rejected| *rejected > 0),
        why_rejected: decoded.why.clone(),
        skipped: Some(decoded.skipped).filter(|skipped| *skipped > 0),
    }
}
