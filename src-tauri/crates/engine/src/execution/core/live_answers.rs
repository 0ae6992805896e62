//! Answers that are given while the request runs (SEMANTICS §9.3).
//!
//! A block that asks goes on waiting while other blocks of the request run: an answer continues it where it is. When
//! nothing else can run, the caller ends the wait, and the block suspends. Must not decide which answers are allowed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_channel::oneshot;
use serde_json::Value;

use crate::model::suspension::{Resolved, SuspensionRequest, TOOL_APPROVAL};

/// The questions of a request that can be answered while it runs.
#[derive(Default)]
pub(crate) struct LiveQuestions {
    /// Whether the caller brings answers, and ends the wait when nothing else can run.
    pub(crate) are_accepted: Cell<bool>,
    /// By the id of the suspension.
    pub(crate) waiting: RefCell<BTreeMap<String, Waiter>>,
    /// Answered questions of this run, oldest first. A body that reruns after a conflict, or a later try, may ask one
    /// of them again.
    pub(crate) answered: RefCell<HashMap<Place, Vec<(SuspensionRequest, Resolved)>>>,
}

/// The path of the block that asked, the callback, and the ordinal there.
pub(crate) type Place = (Arc<str>, Option<String>, u32);

pub(crate) struct Waiter {
    pub(crate) place: Place,
    pub(crate) asked: SuspensionRequest,
    pub(crate) sender: oneshot::Sender<Resolved>,
}

impl LiveQuestions {
    /// Returns the answer that was given in this run to the same question.
    pub(crate) fn answer_to(&self, path: &Arc<str>, asked: &SuspensionRequest) -> Option<Resolved> {
        let answered = self.answered.borrow();
        let mut newest_first = answered.get(&place(path, asked))?.iter().rev();
        newest_first.find(|(before, _)| before.differences(asked).is_none()).map(|(_, answer)| answer.clone())
    }

    /// Returns the arguments that a person put in place of a model's, when the call of a tool at a path was approved in
    /// this run.
    pub(crate) fn edited_arguments(&self, path: &str) -> Option<Value> {
        let answered = self.answered.borrow();
        let of_path = answered.iter().filter(|((asked, ..), _)| **asked == *path);
        let newest = of_path.filter_map(|((.., ordinal), all)| Some((ordinal, all.last()?)));
        let edited = newest.filter(|(_, (question, answer))| question.reason == TOOL_APPROVAL && answer.is_edit());
        edited.max_by_key(|(ordinal, _)| **ordinal)?.1.1.data.clone()
    }
}

pub(crate) fn place(path: &Arc<str>, asked: &SuspensionRequest) -> Place {
    (path.clone(), asked.callback.clone(), asked.ordinal)
}
