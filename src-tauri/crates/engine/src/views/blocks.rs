//! View: every execution of every block, in start order. The timeline and `show` are this.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::Events;
use super::asked_again::AskedAgain;
use super::attempts::{Ends, Stands, Verdict, end};
use super::spans::{Fact, fact};
use crate::model::error::FlowError;
use crate::model::event::{BlockKind, Event, EventKind, Outcome, Seq};

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum BlockStatus {
    /// Not ended yet.
    Running,
    /// Ended with an output.
    Completed,
    /// Ended with an error.
    Failed,
    /// Of a tool of an agent: ended with an output that says that its call failed.
    ReturnedError,
    /// Of a tool call: ended after its timeout, so its result went nowhere.
    TimedOut,
    /// Waits for an answer from outside.
    Suspended,
    /// Ended without effect: retried, superseded by another writer, or cut off by a crash.
    Abandoned,
}

/// What a person is shown of how an execution stands.
fn status(stands: Stands, live: bool) -> BlockStatus {
    match stands {
        Stands::Running if live => BlockStatus::Running,
        Stands::Running | Stands::CutOff => BlockStatus::Abandoned,
        Stands::Waiting | Stands::Waited => BlockStatus::Suspended,
        Stands::Ended { outcome: Outcome::Completed, .. } => BlockStatus::Completed,
        Stands::Ended { outcome: Outcome::Failed, .. } => BlockStatus::Failed,
        Stands::Ended { outcome: Outcome::Suspended | Outcome::Abandoned, .. } => BlockStatus::Abandoned,
    }
}

impl BlockStatus {
    /// Returns whether it did not do what it was to do: with an error, or with an output that says so.
    pub fn is_failure(self) -> bool {
        matches!(self, BlockStatus::Failed | BlockStatus::ReturnedError | BlockStatus::TimedOut)
    }
}

/// One execution of one block.
#[derive(Clone, Debug)]
pub struct BlockView<'a> {
    /// Its logical path.
    pub path: Arc<str>,
    /// Which execution of the path.
    pub attempt: u32,
    /// The instance (`path:attempt`) around it.
    pub parent: Option<Arc<str>>,
    /// The block's name.
    pub name: Arc<str>,
    /// Its kind.
    pub kind: BlockKind,
    /// How it stands.
    pub status: BlockStatus,
    /// When it began.
    pub started_at: i64,
    /// When it ended.
    pub finished_at: Option<i64>,
    /// Until when it ran, as far as the log tells, if it was cut off.
    pub cut_at: Option<i64>,
    /// When it did not run between its start and its end, from and to: it went on after an interruption.
    pub gaps: Vec<(i64, i64)>,
    /// What it got.
    pub input: Option<&'a Value>,
    /// What it made.
    pub output: Option<&'a Value>,
    /// What failed it.
    pub error: Option<&'a FlowError>,
    /// Taken from an earlier execution by a resume.
    pub memoized: bool,
    /// Its first event.
    pub seq_start: Seq,
    /// Its last event.
    pub seq_end: Option<Seq>,
    /// How many state operations it made itself, without those on shared memory that were rolled back.
    pub changes: u32,
    /// How many items it emitted itself.
    pub items: u32,
}

/// An execution that has just begun.
fn begun<'a>(
    event: &Event,
    path: &Arc<str>,
    parent: Option<Arc<str>>,
    name: Arc<str>,
    kind: BlockKind,
) -> BlockView<'a> {
    BlockView {
        path: path.clone(),
        attempt: event.attempt,
        parent,
        name,
        kind,
        status: BlockStatus::Running,
        started_at: event.at,
        finished_at: None,
        cut_at: None,
        gaps: Vec::new(),
        input: None,
        output: None,
        error: None,
        memoized: false,
        seq_start: event.seq,
        seq_end: None,
        changes: 0,
        items: 0,
    }
}

/// All executions, in start order. `live` says whether the request's process still runs it: an
/// execution without an end is then running, else abandoned.
pub fn blocks<'a>(events: Events<'a>, live: bool) -> Vec<BlockView<'a>> {
    let ends = Ends::read(events.0);
    let mut blocks: Vec<BlockView<'a>> = Vec::new();
    let mut open: HashMap<(Arc<str>, u32), usize> = HashMap::new();
    // Those that ended, and may go on after an interruption.
    let mut ended: HashMap<(Arc<str>, u32), usize> = HashMap::new();
    let is_cut =
        |event: &Event| matches!(event.kind, EventKind::RequestResumed { .. } | EventKind::RequestFinished { .. });
    let cut = events.iter().filter(|event| is_cut(event)).map(|event| event.seq).max().unwrap_or(0);
    let mut newest_at = 0;
    let stands = |path: &Arc<str>, attempt| {
        ends.attempt(path, attempt).map_or(BlockStatus::Running, |attempt| status(attempt.stands, live))
    };
    for event in events.iter() {
        let known_to_run = newest_at;
        let shows_life = match fact(&event.kind, |_| 0, |_| None) {
            Some(Fact::Lived) => event.path.is_some(),
            fact => fact.is_some(),
        };
        newest_at = if shows_life { event.at } else { newest_at };
        let Some(path) = &event.path else {
            // If the process died, what ran had stopped before this event.
            for at in open.values().filter(|_| is_cut(event)) {
                let block = &mut blocks[*at];
                block.cut_at.get_or_insert(known_to_run.max(block.started_at));
            }
            continue;
        };
        let key = (path.clone(), event.attempt);
        if let EventKind::BlockStarted { name, block, parent, input, .. } = &event.kind {
            open.insert(key, blocks.len());
            let status = stands(path, event.attempt);
            let begun = begun(event, path, parent.clone(), name.clone(), *block);
            blocks.push(BlockView { status, input: events.value(input), ..begun });
            continue;
        }
        if let EventKind::HookStarted { hook, parent } = &event.kind {
            open.insert(key, blocks.len());
            let is_running = live && event.seq > cut;
            let status = if is_running { BlockStatus::Running } else { BlockStatus::Abandoned };
            let name = hook.as_str().into();
            blocks.push(BlockView { status, ..begun(event, path, Some(parent.clone()), name, BlockKind::Hook) });
            continue;
        }
        if matches!(event.kind, EventKind::BlockResumed { .. })
            && let Some(at) = ended.remove(&key).or_else(|| open.get(&key).copied())
        {
            let block = &mut blocks[at];
            let until = block.finished_at.take().or(block.cut_at.take()).unwrap_or(block.started_at);
            block.status = stands(path, event.attempt);
            // A clock that was set back makes no gap.
            block.gaps.push((until, event.at.max(until)));
            (block.output, block.error, block.cut_at, block.seq_end) = (None, None, None, None);
            open.insert(key, at);
            continue;
        }
        let Some(at) = open.get(&key).copied() else { continue };
        let block = &mut blocks[at];
        match &event.kind {
            EventKind::BlockInput { input } => block.input = events.value(input),
            EventKind::HookReturned { before, after, error } => {
                block.input = before.as_ref().and_then(|value| events.value(value));
                block.output = after.as_ref().and_then(|value| events.value(value));
                block.error = error.as_ref();
                block.status = if error.is_some() { BlockStatus::Failed } else { BlockStatus::Completed };
                (block.finished_at, block.cut_at) = (Some(event.at), None);
                block.seq_end = Some(event.seq);
                open.remove(&key);
            }
            EventKind::StateChanged { .. } => {
                block.changes += u32::from(!ends.is_rolled_back(event, live) && !ends.is_in_vain(event));
            }
            EventKind::ItemAdded { .. } => block.items += u32::from(!ends.is_in_vain(event)),
            EventKind::BlockFinished { outcome, output, error, memoized, returned_error, timed_out_ms, .. } => {
                let is_stopped = end(*outcome, error.as_ref()) == Verdict::RolledBack;
                block.status = match block.status {
                    BlockStatus::Completed | BlockStatus::Failed if timed_out_ms.is_some() && !is_stopped => {
                        BlockStatus::TimedOut
                    }
                    BlockStatus::Completed if *returned_error => BlockStatus::ReturnedError,
                    status => status,
                };
                block.output = output.as_ref().and_then(|output| events.value(output));
                block.error = error.as_ref();
                block.memoized = *memoized;
                if *memoized {
                    // What is put in force again is no change of its own.
                    block.changes = 0;
                }
                (block.finished_at, block.cut_at) = (Some(event.at), None);
                block.seq_end = Some(event.seq);
                open.remove(&key);
                if *outcome != Outcome::Completed {
                    ended.insert(key, at);
                }
            }
            _ => {}
        }
    }
    wait_again(&mut blocks, events);
    blocks
}

fn wait_again(blocks: &mut [BlockView<'_>], events: Events<'_>) {
    let Some(asked_again) = AskedAgain::read(events) else { return };
    let mut newest: HashMap<Arc<str>, u32> = HashMap::new();
    for block in blocks.iter() {
        let attempt = newest.entry(block.path.clone()).or_default();
        *attempt = block.attempt.max(*attempt);
    }
    for block in blocks.iter_mut() {
        let is_newest = newest.get(&block.path) == Some(&block.attempt);
        if block.seq_end.is_some_and(|end| asked_again.waits((block.status, end), is_newest)) {
            block.status = BlockStatus::Suspended;
        }
    }
}
