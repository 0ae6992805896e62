//! What an earlier part of a request already did: a resume takes it from here instead of running it.
//!
//! Keyed by logical path (architecture §4). A finished block gives its recorded output and its
//! recorded changes to shared state; whatever was in flight runs again from its top. It must not
//! decide whether code fits: another name or kind at a path is drift, and that stops the resume.

use std::collections::HashMap;
use std::sync::Arc;

use crate::data::Data;
use crate::error::FlowError;
use crate::event::{BlockKind, Event, EventKind, Outcome, Seq};
use crate::flow::Block;
use crate::operation::Operation;
use crate::scope::ScopeKind;
use crate::views::Events;

/// A finished block.
pub(crate) struct Finished {
    pub(crate) name: Arc<str>,
    pub(crate) kind: BlockKind,
    pub(crate) input: Data,
    pub(crate) output: Data,
    /// The event that holds the output.
    pub(crate) seq: Seq,
    /// Changes of shared state made in it and below it, in order: whose, by path, and what.
    pub(crate) changes: Vec<(Shared, Operation)>,
}

/// Shared state by what outlives an attempt: its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shared {
    Request,
    Of(String),
}

/// One execution of a path.
type Attempt = (Arc<str>, u32);
/// A change of shared state and its place in the log.
type Made = (Seq, Shared, Operation);

/// All finished blocks of an interrupted request.
#[derive(Default)]
pub(crate) struct Memo {
    finished: HashMap<Arc<str>, Finished>,
    /// The next attempt of every path that ever ran.
    pub(crate) attempts: HashMap<Arc<str>, u32>,
}

impl Memo {
    pub(crate) fn read(request: &str, events: &[Event]) -> Memo {
        let view = Events::new(events);
        let mut memo = Memo::default();
        let mut started: HashMap<Attempt, (Arc<str>, BlockKind, Data)> = HashMap::new();
        // Changes of attempts that have not ended, by the attempt that made them.
        let mut open: HashMap<Attempt, Vec<Made>> = HashMap::new();
        let mut settled: Vec<(Arc<str>, Made)> = Vec::new();
        for event in events {
            let Some(path) = &event.path else { continue };
            let key = (path.clone(), event.attempt);
            match &event.kind {
                EventKind::BlockStarted { name, block, input, .. } => {
                    let input = Data::from(view.value(input).cloned());
                    started.insert(key, (name.clone(), *block, input));
                    let next = memo.attempts.entry(path.clone()).or_insert(0);
                    *next = (*next).max(event.attempt + 1);
                }
                EventKind::StateChanged { scope, operation, .. } if !scope.kind.is_durable() => {
                    let shared = match scope.kind {
                        ScopeKind::Request => Shared::Request,
                        _ => Shared::Of(path_of(request, &scope.id)),
                    };
                    open.entry(key).or_default().push((event.seq, shared, operation.clone()));
                }
                EventKind::BlockFinished { outcome, output, .. } => {
                    let made = open.remove(&key).unwrap_or_default();
                    if *outcome != Outcome::Abandoned {
                        settled.extend(made.into_iter().map(|made| (path.clone(), made)));
                    }
                    let Some((name, kind, input)) = started.remove(&key) else { continue };
                    if *outcome != Outcome::Completed {
                        memo.finished.remove(path);
                        continue;
                    }
                    let output = Data::from(output.as_ref().and_then(|output| view.value(output)).cloned());
                    let done = Finished { name, kind, input, output, seq: event.seq, changes: Vec::new() };
                    memo.finished.insert(path.clone(), done);
                }
                _ => {}
            }
        }
        settled.sort_by_key(|(_, (seq, ..))| *seq);
        for (path, (_, shared, operation)) in settled {
            for prefix in prefixes(&path) {
                if let Some(done) = memo.finished.get_mut(prefix) {
                    done.changes.push((shared.clone(), operation.clone()));
                }
            }
        }
        memo
    }

    /// The finished block at a path, if the block that stands there today is the same one.
    pub(crate) fn find(&self, path: &str, block: &Block) -> Result<Option<&Finished>, FlowError> {
        let Some(done) = self.finished.get(path) else { return Ok(None) };
        if done.name == block.name && done.kind == block.kind() {
            return Ok(Some(done));
        }
        let recorded = format!("{} \"{}\"", done.kind.as_str(), done.name);
        let found = format!("{} \"{}\"", block.kind().as_str(), block.name);
        let mut error = FlowError::new(
            "ReplayDriftError",
            format!(
                "at {path} the log has a finished {recorded}, but the flow now has {found}; rename it back, or run anew"
            ),
        );
        error.classes.insert(1, "FlowError".to_owned());
        error.code = Some("replay_drift".to_owned());
        error.details = Some(serde_json::json!({ "path": path, "recorded": recorded, "found": found }));
        Err(error)
    }
}

/// The path inside a state's id `request:path:attempt`.
fn path_of(request: &str, id: &str) -> String {
    let inner = id.strip_prefix(request).and_then(|rest| rest.strip_prefix(':')).unwrap_or(id);
    inner.rsplit_once(':').map_or(inner, |(path, _)| path).to_owned()
}

/// A path and every path around it.
fn prefixes(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rsplit_once('/').map(|(around, _)| around))
}
