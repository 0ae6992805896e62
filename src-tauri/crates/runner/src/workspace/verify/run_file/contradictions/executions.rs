//! Checks the executions of blocks and hooks: attempts are numbered in order, and the events of an execution are
//! between its start and its end.

use std::collections::HashMap;
use std::sync::Arc;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind};
use engine::path::{is_inside, with_ancestors};

/// The executions of one request.
#[derive(Default)]
pub(super) struct Executions {
    blocks: HashMap<Arc<str>, Attempts>,
}

/// The attempts at one path.
struct Attempts {
    newest: u32,
    /// Attempts that have started and not ended.
    open: Vec<u32>,
}

impl Executions {
    /// The newest attempt at a path; `None` if no earlier line starts one.
    pub(super) fn newest(&self, path: &str) -> Option<u32> {
        self.blocks.get(path).map(|known| known.newest)
    }

    /// Checks an event against the earlier executions, and records it.
    pub(super) fn event(&mut self, event: &Event) -> Result<(), String> {
        let Some(path) = &event.path else { return Ok(()) };
        let attempt = event.attempt;
        match &event.kind {
            EventKind::BlockStarted { parent, .. } => {
                self.check_parent(path, parent.as_deref())?;
                self.begin(path, attempt)
            }
            EventKind::HookStarted { parent, .. } => {
                self.check_parent(path, Some(parent))?;
                self.begin(path, attempt)
            }
            EventKind::BlockResumed { .. } => match self.blocks.get_mut(path) {
                Some(known) if known.newest == attempt => {
                    if !known.open.contains(&attempt) {
                        known.open.push(attempt);
                    }
                    Ok(())
                }
                _ => Err(format!("no earlier line starts attempt {attempt} of block {path}, which this line resumes")),
            },
            // These may be recorded after the block has ended, because its timers may fire later.
            EventKind::EffectStarted { effect: EffectKind::Sleep, .. }
            | EventKind::EffectFinished { effect: EffectKind::Sleep, .. }
            | EventKind::ItemAdded { .. }
            | EventKind::Drift { .. }
            | EventKind::Noted { .. }
            | EventKind::Logged { .. } => Ok(()),
            kind => {
                let is_end = matches!(kind, EventKind::BlockFinished { .. } | EventKind::HookReturned { .. });
                self.inside((path, attempt), is_end)
            }
        }
    }

    fn begin(&mut self, path: &Arc<str>, attempt: u32) -> Result<(), String> {
        let expected = self.newest(path).map_or(0, |newest| newest + 1);
        if attempt != expected {
            return Err(format!("\"attempt\" is {attempt}: this line must start attempt {expected} of block {path}"));
        }
        let known = self.blocks.entry(path.clone()).or_insert(Attempts { newest: 0, open: Vec::new() });
        known.newest = attempt;
        known.open.push(attempt);
        Ok(())
    }

    /// Checks that an execution has started and not ended.
    fn inside(&mut self, (path, attempt): (&Arc<str>, u32), is_end: bool) -> Result<(), String> {
        // Another rule checks that the block has started at all.
        let Some(known) = self.blocks.get_mut(path) else { return Ok(()) };
        let Some(at) = known.open.iter().position(|open| *open == attempt) else {
            let open: Vec<String> = known.open.iter().map(ToString::to_string).collect();
            return Err(match open.as_slice() {
                [] => {
                    format!("block {path} has ended in an earlier line: this event of attempt {attempt} is too late")
                }
                open => format!("\"attempt\" is {attempt}, but block {path} runs attempt {}", open.join(", ")),
            });
        };
        if is_end {
            known.open.swap_remove(at);
        }
        Ok(())
    }

    /// Checks that `parent` is the execution around a block. It may be missing, because the path implies it.
    fn check_parent(&self, path: &str, parent: Option<&str>) -> Result<(), String> {
        let Some((given, around)) = parent.map(|parent| (parent, parent.rsplit_once(':'))) else { return Ok(()) };
        let is_right = around.is_some_and(|(around, attempt)| {
            is_inside(path, around) && self.newest(around).is_some_and(|newest| attempt == newest.to_string())
        });
        if is_right {
            return Ok(());
        }
        let right = with_ancestors(path).skip(1).find_map(|around| Some((around, self.newest(around)?)));
        Err(match right {
            Some((around, attempt)) => {
                format!("\"parent\" is \"{given}\": the execution around it is {around}:{attempt}")
            }
            None => format!("\"parent\" is \"{given}\", and no earlier line starts a block around {path}"),
        })
    }
}
