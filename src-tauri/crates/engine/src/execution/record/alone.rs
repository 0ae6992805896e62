//! The log with which one block of a recorded request can run again by itself.
//!
//! A resume takes finished blocks from the log and runs the rest. So if the log lacks the end of one block and
//! everything after its start, a resume runs only that block, with the state that it had. Blocks for which this is not
//! certain are refused, and the caller replays the whole request. Must not run anything.

use std::collections::HashSet;
use std::sync::Arc;

use crate::model::error::FlowError;
use crate::model::event::{BlockKind, Event, EventKind, Outcome, Recorded, RequestStatus, Seq};
use crate::model::identity::{InstanceId, StateOwner};
use crate::model::path::{ROOT, background_task, is_inside, is_of_step_hook, with_ancestors};
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::views::Events;

/// One block of a recorded request that runs again by itself.
#[derive(Clone, Debug)]
pub struct Alone {
    /// Its path, at which it began only once.
    pub path: Arc<str>,
    /// The event by which it began.
    pub began: Seq,
    /// Whether blocks outside it ran at the same time. What it read of them is then uncertain.
    pub overlaps: bool,
    /// The log for the resume, without this block's run.
    pub before: Vec<Event>,
}

/// The recorded run of a block, and the blocks around it.
struct Recording<'e> {
    path: &'e str,
    /// The paths around the block, including paths that are not blocks.
    around: HashSet<&'e str>,
    /// The events of its start and its end.
    span: (Seq, Seq),
    kind: BlockKind,
    /// The children of the blocks around it, except those blocks themselves.
    beside: HashSet<&'e str>,
}

impl Alone {
    /// Returns whether blocks of a request may run by themselves: it ran once, from its start to an end of its own.
    pub fn may_be_of(events: &[Event]) -> bool {
        is_plain(events)
    }

    /// Prepares a block to run by itself. Returns `None` if it might behave differently: the request was resumed,
    /// forked or cut off, or the block ran more than once, is neither a function nor a chain, or is inside anything but
    /// chains.
    pub fn of(events: &[Event], path: &str) -> Option<Alone> {
        if !is_plain(events) || background_task(path).is_some() || is_of_step_hook(path) {
            return None;
        }
        let recording = Recording::of(events, path)?;
        let (began, ended) = recording.span;
        let during = events.iter().filter(|event| event.seq > began && event.seq < ended);
        let mut overlaps = false;
        for event in during {
            let Some(writer) = event.path.as_deref() else { continue };
            let is_own = writer == path || is_inside(writer, path);
            overlaps |= !is_own && !recording.around.contains(writer);
            if recording.is_uncertain(event, writer) {
                return None;
            }
        }
        let view = Events::new(events);
        let kept = events.iter().filter_map(|event| recording.before(event, view, overlaps));
        Some(Alone { path: path.into(), began, overlaps, before: kept.collect() })
    }

    /// Makes the log that of equivalent code with another hash.
    pub fn run_by(&mut self, hash: &str) {
        if let Some(Event { kind: EventKind::RequestStarted { code_hash, .. }, .. }) = self.before.first_mut() {
            hash.clone_into(code_hash);
        }
    }
}

/// Returns whether a request ran once, from its start to an end of its own.
fn is_plain(events: &[Event]) -> bool {
    let has_ended = events.last().is_some_and(|last| match &last.kind {
        EventKind::RequestFinished { status, error, .. } => {
            *status != RequestStatus::Aborted && !error.as_ref().is_some_and(FlowError::is_abort)
        }
        _ => false,
    });
    let is_special = |event: &Event| {
        matches!(
            event.kind,
            EventKind::RequestResumed { .. }
                | EventKind::RequestAdopted { .. }
                | EventKind::RequestStarted { forked_from: Some(_), .. }
                | EventKind::RequestStarted { foreign: Some(_), .. }
                | EventKind::InputEdited { .. }
                | EventKind::OutputEdited { .. }
                | EventKind::StateEdited { .. }
                | EventKind::ModelEdited(_)
                | EventKind::Suspended(_)
                | EventKind::SuspensionResolved(_)
                | EventKind::CommitRefused { .. }
                | EventKind::Drift { .. }
                | EventKind::Unknown { .. }
        )
    };
    has_ended && !events.iter().any(is_special)
}

impl<'e> Recording<'e> {
    fn of(events: &'e [Event], path: &'e str) -> Option<Recording<'e>> {
        let around: HashSet<&str> = with_ancestors(path).skip(1).collect();
        if path != ROOT && !around.contains(ROOT) {
            return None;
        }
        let (mut began, mut ended, mut kind) = (None, None, BlockKind::Handler);
        let (mut begun_around, mut beside) = (HashSet::new(), HashSet::new());
        for event in events {
            let Some(of) = event.path.as_deref() else { continue };
            match &event.kind {
                EventKind::BlockStarted { block, .. } if of == path => {
                    if began.replace(event.seq).is_some() || event.attempt > 0 {
                        return None;
                    }
                    kind = *block;
                }
                EventKind::BlockStarted { block, .. } if around.contains(of) => {
                    let is_plain = *block == BlockKind::Sequencer && event.attempt == 0 && begun_around.insert(of);
                    if !is_plain {
                        return None;
                    }
                }
                EventKind::BlockStarted { parent: Some(parent), .. } => {
                    let parent = InstanceId::parse(parent).map(|parent| parent.path);
                    if parent.is_some_and(|parent| around.contains(parent)) {
                        beside.insert(of);
                    }
                }
                EventKind::BlockFinished { outcome, error, .. } if of == path => {
                    let is_cut = error.as_ref().is_some_and(FlowError::is_uncatchable);
                    if is_cut || !matches!(outcome, Outcome::Completed | Outcome::Failed) {
                        return None;
                    }
                    ended = Some(event.seq);
                }
                _ => {}
            }
        }
        let runs_alone = matches!(kind, BlockKind::Handler | BlockKind::Sequencer);
        let span = (began?, ended?);
        runs_alone.then_some(Recording { path, around, span, kind, beside })
    }

    /// Returns whether an event during the block's run may have changed what the block saw, at an unknown instant.
    fn is_uncertain(&self, event: &Event, writer: &str) -> bool {
        // Commits of other blocks, and versions of other requests that they find, are visible to the block at once.
        if writer != self.path && (!event.kind.commits().is_empty() || tells_versions(&event.kind)) {
            return true;
        }
        let EventKind::StateChanged { scope, .. } = &event.kind else { return false };
        if writer == self.path || scope.kind.is_durable() {
            return false;
        }
        // A chain applies its children's writes as it reaches them; a function would see all of them from the start.
        let is_child = is_inside(writer, self.path);
        let is_own = || owner(scope).is_some_and(|owner| owner == self.path || is_inside(owner, self.path));
        if is_child { self.kind == BlockKind::Handler && !is_own() } else { self.is_seen(scope) }
    }

    /// Returns whether the block can see a shared state.
    fn is_seen(&self, scope: &ScopeKey) -> bool {
        scope.kind == ScopeKind::Request || owner(scope).is_none_or(|owner| self.around.contains(owner))
    }

    /// Returns an event as the resume must find it; `None` if it is left out.
    fn before(&self, event: &Event, view: Events<'_>, overlaps: bool) -> Option<Event> {
        let of = event.path.as_deref().unwrap_or_default();
        let (began, _) = self.span;
        let is_of_ends = matches!(event.kind, EventKind::BlockStarted { .. } | EventKind::BlockFinished { .. });
        let is_wanted = if of == self.path {
            false
        } else if is_inside(of, self.path) || event.seq < began {
            true
        } else {
            overlaps && is_of_ends && self.beside.contains(of)
        };
        if !is_wanted {
            return None;
        }
        let mut event = event.clone();
        match &mut event.kind {
            EventKind::BlockStarted { input, fingerprint, .. } => {
                *fingerprint = None;
                self.hold(input, view);
            }
            EventKind::BlockFinished { output, .. } => {
                output.iter_mut().for_each(|output| self.hold(output, view));
            }
            // The code is the same except for its probes.
            EventKind::CallbackReturned { fingerprint, .. } => *fingerprint = None,
            _ => {}
        }
        Some(event)
    }

    /// Replaces a reference to an event, which may be left out, by the value itself.
    fn hold(&self, recorded: &mut Recorded, view: Events<'_>) {
        if matches!(recorded, Recorded::Of(seq) if *seq >= self.span.0) {
            let value = view.value(recorded).cloned();
            *recorded = value.map_or(Recorded::Undefined, Recorded::Value);
        }
    }
}

/// Returns whether an event reports new versions of records.
fn tells_versions(kind: &EventKind) -> bool {
    match kind {
        EventKind::BlockStarted { versions, .. } | EventKind::RecordsSeen { versions } => !versions.is_empty(),
        _ => false,
    }
}

/// Returns the path of the execution that owns a shared state; `None` for the request's.
fn owner(scope: &ScopeKey) -> Option<&str> {
    StateOwner::parse(&scope.id).map(|owner| owner.instance.path)
}

#[cfg(test)]
mod tests;
