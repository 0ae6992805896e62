//! What a resume names: who owns the request from there on, and the question that was answered.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::{Event, EventKind};

/// The owners and questions of one request.
#[derive(Default)]
pub(super) struct Resumes {
    /// The epoch of the owner; the first has 1.
    epoch: Option<u64>,
    questions: HashSet<String>,
    /// The line of the newest question.
    newest: Option<usize>,
    /// How many questions a block has asked, or a callback of it.
    counts: HashMap<(Option<Arc<str>>, Option<String>), u32>,
}

impl Resumes {
    /// Checks an event, and reads it.
    pub(super) fn event(&mut self, event: &Event, number: usize) -> Result<(), String> {
        match &event.kind {
            EventKind::RequestResumed { epoch, .. } | EventKind::RequestAdopted { epoch, .. } => {
                let expected = self.epoch.unwrap_or(1) + 1;
                if *epoch != expected {
                    return Err(format!("\"epoch\" is {epoch}: this is owner {expected} of the request"));
                }
                self.epoch = Some(*epoch);
            }
            EventKind::BlockResumed { epoch, .. } if *epoch != self.epoch.unwrap_or(1) => {
                let expected = self.epoch.unwrap_or(1);
                return Err(format!("\"epoch\" is {epoch}, and owner {expected} runs the request"));
            }
            EventKind::Suspended(asked) => {
                let count = self.counts.entry((event.path.clone(), asked.callback.clone())).or_default();
                if asked.ordinal > *count {
                    return Err(format!("\"ordinal\" is {}: the next question here is {count}", asked.ordinal));
                }
                *count = (*count).max(asked.ordinal + 1);
                self.questions.insert(asked.id.clone());
                self.newest = Some(number);
            }
            EventKind::SuspensionResolved(resolved) => return self.is_asked(&resolved.id),
            EventKind::SuspensionReopened { id } => return self.is_asked(id),
            _ => {}
        }
        Ok(())
    }

    fn is_asked(&self, id: &str) -> Result<(), String> {
        if self.questions.contains(id) {
            return Ok(());
        }
        let newest = self.newest.map(|line| format!(", and the question before it is in line {line}"));
        Err(format!("no earlier line asks question \"{id}\"{}", newest.unwrap_or_default()))
    }
}
