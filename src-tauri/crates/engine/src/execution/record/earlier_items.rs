//! Items that a recorded request had before the tries that count: questions and answers of tries that waited or were
//! cut off, and the request's own items (it failed, it was continued).
//!
//! A replay makes only one try. It shows these items to that try, because the recorded code saw them. Must not decide
//! which tries count, and must not decide when items are shown.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::path::{is_called, parent};
use crate::views::Events;
use crate::views::attempts::{Verdict, verdict};
use crate::views::items::items_of_request;
use crate::views::replay_order::ReplayOrder;

/// An item that a replay shows, as the event that adds it.
pub(crate) struct EarlierItem {
    /// The block that asked; `None` for answers and the items of the request itself.
    pub(crate) path: Option<Arc<str>>,
    pub(crate) attempt: u32,
    pub(crate) kind: EventKind,
}

/// The events of one question: where it was asked, and its answers.
struct Question {
    asked: Seq,
    answers: Vec<Seq>,
}

/// The items of a recorded request that a replay still has to show.
#[derive(Default)]
pub(crate) struct EarlierItems {
    /// Items that have not been shown yet.
    items: RefCell<BTreeMap<Seq, EarlierItem>>,
    /// By the id of the suspension.
    questions: HashMap<String, Question>,
    /// By attempt: an event such that the items before it existed when the attempt began.
    begins: HashMap<(Arc<str>, u32), Seq>,
    /// The same for callbacks, by attempt and name.
    calls: HashMap<(Arc<str>, u32, String), Seq>,
}

impl EarlierItems {
    /// Reads a log. Events up to `own` are not this request's. One pass, and none if the request was never resumed.
    pub(crate) fn of(events: &[Event], order: &ReplayOrder, own: Seq) -> EarlierItems {
        let mut found = EarlierItems::default();
        let resumes = |event: &Event| matches!(event.kind, EventKind::RequestResumed { .. });
        if !events.iter().any(resumes) {
            return found;
        }
        let mut items: BTreeMap<Seq, EarlierItem> = BTreeMap::new();
        for (event, item) in items_of_request(Events::new(events)).into_iter().filter(|(event, _)| event.seq > own) {
            items.insert(event.seq, EarlierItem { path: None, attempt: 0, kind: EventKind::ItemAdded { item } });
        }
        // By attempt: the event with which its newest run began.
        let mut runs: HashMap<(Arc<str>, u32), Seq> = HashMap::new();
        // By block: the first end of a block that a function of it ran. A later try takes that block from the log, so
        // in a replay, items from after that end also come after it.
        let mut first_called: HashMap<&str, Seq> = HashMap::new();
        let mut asking: Vec<(Arc<str>, u32, String)> = Vec::new();
        for event in events.iter().filter(|event| event.seq > own) {
            let place = || order.place_of_question(event) as u32;
            match (&event.kind, &event.path) {
                (EventKind::BlockStarted { .. }, Some(path)) => {
                    let until = first_called.get(&**path).copied().unwrap_or(event.seq);
                    found.begins.insert((path.clone(), place()), until);
                    runs.insert((path.clone(), place()), event.seq);
                }
                (EventKind::BlockFinished { outcome: Outcome::Completed | Outcome::Failed, .. }, Some(path)) => {
                    if let Some(by) = parent(path).filter(|_| is_called(path)) {
                        first_called.entry(by).or_insert(event.seq);
                    }
                }
                (kind, Some(path)) if verdict(kind) == Some(Verdict::GoesOn) => {
                    runs.insert((path.clone(), place()), event.seq);
                }
                (EventKind::CallbackReturned { callback, memoized: false, .. }, Some(path)) => {
                    if let Some(began) = runs.get(&(path.clone(), place())) {
                        found.calls.insert((path.clone(), place(), callback.clone()), *began);
                    }
                }
                (EventKind::Suspended(asked), Some(path)) if order.is_of_cut_try(event) => {
                    asking.extend(asked.callback.clone().map(|callback| (path.clone(), place(), callback)));
                    found.questions.insert(asked.id.clone(), Question { asked: event.seq, answers: Vec::new() });
                    let kind = EventKind::Suspended(asked.clone());
                    items.insert(event.seq, EarlierItem { path: Some(path.clone()), attempt: place(), kind });
                }
                (EventKind::SuspensionResolved(resolved), _) => {
                    if let Some(question) = found.questions.get_mut(&resolved.id) {
                        question.answers.push(event.seq);
                        let kind = EventKind::SuspensionResolved(resolved.clone());
                        items.insert(event.seq, EarlierItem { path: None, attempt: 0, kind });
                    }
                }
                // A withdrawn answer is not shown.
                (EventKind::SuspensionReopened { id }, _) => {
                    let answers = found.questions.get_mut(id).map(|question| std::mem::take(&mut question.answers));
                    answers.iter().flatten().for_each(|seq| drop(items.remove(seq)));
                }
                _ => {}
            }
        }
        for call in asking {
            if let Some(began) = runs.get(&(call.0.clone(), call.1)) {
                found.calls.entry(call).or_insert(*began);
            }
        }
        found.items = RefCell::new(items);
        found
    }

    /// Takes the items that existed when an attempt began.
    pub(crate) fn before_attempt(&self, path: &Arc<str>, attempt: u32) -> Vec<EarlierItem> {
        if self.are_all_shown() {
            return Vec::new();
        }
        self.begins.get(&(path.clone(), attempt)).map(|began| self.take_before(*began)).unwrap_or_default()
    }

    /// Takes the items that existed when a callback was called.
    pub(crate) fn before_call(&self, path: &Arc<str>, attempt: u32, callback: &str) -> Vec<EarlierItem> {
        if self.are_all_shown() {
            return Vec::new();
        }
        let call = (path.clone(), attempt, callback.to_owned());
        self.calls.get(&call).map(|began| self.take_before(*began)).unwrap_or_default()
    }

    /// Returns whether a question is not shown yet. From then on it counts as shown.
    pub(crate) fn take_question(&self, id: &str) -> bool {
        let known = self.questions.get(id);
        known.is_none_or(|question| self.items.borrow_mut().remove(&question.asked).is_some())
    }

    /// Returns whether the answer to a question is not shown yet. From then on it counts as shown.
    pub(crate) fn take_answer(&self, id: &str) -> bool {
        let Some(question) = self.questions.get(id) else { return true };
        let mut items = self.items.borrow_mut();
        question.answers.iter().filter(|seq| items.remove(seq).is_some()).count() > 0
    }

    fn are_all_shown(&self) -> bool {
        self.items.borrow().is_empty()
    }

    fn take_before(&self, seq: Seq) -> Vec<EarlierItem> {
        let mut items = self.items.borrow_mut();
        let later = items.split_off(&seq);
        std::mem::replace(&mut *items, later).into_values().collect()
    }
}
