//! What a request asked of somebody outside, as a block that runs again finds it.
//!
//! A question is known by its block, by the function of the block that asked, and by its number there:
//! a function that a resume does not call again must not move the numbers of the others. Must not
//! decide which answers are allowed.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::event::Seq;
use crate::model::suspension::{Resolved, SuspensionRequest, SuspensionStatus};

/// A question that an earlier part of the request asked, and what came of it.
#[derive(Clone, Debug)]
pub(crate) struct PendingQuestion {
    /// Where in the log.
    seq: Seq,
    /// What was shown to whoever answered.
    pub(crate) asking: SuspensionRequest,
    /// The answer, if there is one.
    pub(crate) resolved: Option<Resolved>,
}

/// Which function of a block, and which of its questions.
type Number = (Option<String>, u32);

/// All questions of a request, by the paths of their blocks.
#[derive(Default)]
pub(crate) struct Questions(HashMap<Arc<str>, HashMap<Number, PendingQuestion>>);

impl Questions {
    /// Takes a question from the log.
    pub(super) fn ask(&mut self, path: &Arc<str>, seq: Seq, asking: &SuspensionRequest) {
        let number = (asking.callback.clone(), asking.ordinal);
        let asked = PendingQuestion { seq, asking: asking.clone(), resolved: None };
        self.0.entry(path.clone()).or_default().insert(number, asked);
    }

    /// Takes an answer from the log, or takes it back.
    pub(super) fn answer(&mut self, id: &str, answer: Option<&Resolved>) {
        let all = self.0.values_mut().flat_map(HashMap::values_mut);
        all.filter(|asked| asked.asking.id == id).for_each(|asked| asked.resolved = answer.cloned());
    }

    /// The question of this number.
    pub(crate) fn find(&self, path: &str, function: Option<&str>, ordinal: u32) -> Option<&PendingQuestion> {
        self.0.get(path)?.get(&(function.map(str::to_owned), ordinal))
    }

    /// Forgets what nobody answered before the request ended: a block that runs again asks anew.
    pub(super) fn forget_unanswered(&mut self) {
        self.0.values_mut().for_each(|asked| asked.retain(|_, one| one.resolved.is_some()));
    }

    /// Forgets the no, or the silence, that a block which failed heard last: when it runs again it asks
    /// anew. It would only fail once more with the same answer.
    pub(super) fn forget_refusal(&mut self, path: &str) {
        let Some(asked) = self.0.get_mut(path) else { return };
        let newest = asked.iter().max_by_key(|(_, one)| one.seq).filter(|(_, one)| {
            let resolution = one.resolved.as_ref().map(|resolved| resolved.resolution);
            matches!(resolution, Some(SuspensionStatus::Rejected | SuspensionStatus::Expired))
        });
        if let Some(number) = newest.map(|(number, _)| number.clone()) {
            asked.remove(&number);
        }
    }
}
