//! Where the forks of an experiment begin: just before an execution of a block, with everything before it in the log.

use std::collections::HashMap;
use std::sync::Arc;

use engine::effects::{EffectKind, ModelReply};
use engine::event::{BlockKind, Event, EventKind, Outcome, Seq};
use engine::views::model_requests::Requests;

use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
use crate::models::call_meter::hash_of;

/// A block of a request, and the event that its forks have in common with it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Place {
    /// The block's path.
    pub(crate) path: String,
    /// The event before the block began.
    pub(crate) before: Seq,
    /// When it ended; `None` if it did not.
    pub(crate) ended: Option<Seq>,
}

/// A model call that the request made from its place on.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RecordedCall {
    pub(crate) model: String,
    pub(crate) generator: String,
    pub(crate) tokens: Option<CallTokens>,
}

impl Place {
    /// Finds the execution of a block that is meant by `PATH` or `PATH#N`: the newest, or the one with this number.
    pub(crate) fn find(request: &str, events: &[Event], at: &str) -> Result<Place, Fault> {
        let (path, nth) = match at.rsplit_once('#') {
            Some((path, nth)) => {
                let nth = nth.parse::<u32>().map_err(|_| {
                    Fault::invalid(format!("--at {at}: after # stands the number of an execution, from 0"))
                })?;
                (path, Some(nth))
            }
            None => (at, None),
        };
        let of_path = || events.iter().filter(move |event| event.path.as_deref() == Some(path));
        let memoized = |attempt: u32| {
            of_path().any(|event| {
                event.attempt == attempt && matches!(event.kind, EventKind::BlockFinished { memoized: true, .. })
            })
        };
        let begins = |event: &&Event| {
            let is_meant = nth.is_none_or(|nth| nth == event.attempt);
            is_meant && matches!(event.kind, EventKind::BlockStarted { .. }) && !memoized(event.attempt)
        };
        let Some(begun) = of_path().rev().find(begins) else {
            return Err(Fault::not_found(match nth {
                Some(nth) => format!("request \"{request}\" has no execution {nth} of a block at path \"{path}\""),
                None => {
                    format!("no block began at path \"{path}\" in request \"{request}\"{}", nearest(events, path))
                }
            }));
        };
        let has_ended = |event: &&Event| {
            let outcome = match &event.kind {
                EventKind::BlockFinished { outcome, .. } => *outcome,
                _ => return false,
            };
            event.attempt == begun.attempt && matches!(outcome, Outcome::Completed | Outcome::Failed)
        };
        let ended = of_path().find(has_ended);
        Ok(Place { path: path.to_owned(), before: begun.seq - 1, ended: ended.map(|event| event.seq) })
    }

    /// The name of the one generator at the place or inside it.
    pub(crate) fn generator(&self, events: &[Event]) -> Result<String, Fault> {
        let mut found: Vec<(&Arc<str>, String)> = Vec::new();
        for event in events {
            let (Some(path), EventKind::BlockStarted { name, block: BlockKind::Generator, .. }) =
                (&event.path, &event.kind)
            else {
                continue;
            };
            if self.holds(path) && !found.iter().any(|(_, known)| **known == **name) {
                found.push((path, name.to_string()));
            }
        }
        match found.as_slice() {
            [(_, name)] => Ok(name.clone()),
            [] => match self.asker(events) {
                Some(name) => Ok(name),
                None => Err(Fault::invalid(format!(
                    "--at {}: no model is asked there; --model, --prompt and --parameter need the path of a generator",
                    self.path
                ))),
            },
            several => {
                let paths: Vec<&str> = several.iter().map(|(path, _)| &***path).take(5).collect();
                Err(Fault::invalid(format!(
                    "--at {}: several generators ran inside it; name one of them: {}",
                    self.path,
                    paths.join(", ")
                )))
            }
        }
    }

    /// The name under which another kind of block at the place asks models, such as the side of an agent.
    fn asker(&self, events: &[Event]) -> Option<String> {
        let asked = events.iter().find_map(|event| match (&event.kind, &event.path) {
            (EventKind::EffectStarted { effect: EffectKind::Model, request: Some(request), .. }, Some(path))
                if self.holds(path) =>
            {
                request["generator"].as_str()
            }
            _ => None,
        });
        asked.map(str::to_owned)
    }

    fn holds(&self, path: &str) -> bool {
        path.strip_prefix(&*self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The model calls that the request made from here on.
    pub(crate) fn calls(&self, events: &[Event]) -> Vec<RecordedCall> {
        self.calls_after(events, self.before)
    }

    /// The model calls that the request made after an event that is not before the block.
    pub(crate) fn calls_after(&self, events: &[Event], after: Seq) -> Vec<RecordedCall> {
        let requests = Requests::of(events);
        let calls = events.iter().filter(|event| event.seq > after).filter_map(|event| {
            let EventKind::EffectFinished { effect: EffectKind::Model, result, memoized: false, .. } = &event.kind
            else {
                return None;
            };
            let (started, request) = requests.asked(event)?;
            // What was on its way is not asked again.
            if started <= self.before && !self.is_own(event) {
                return None;
            }
            let asked = request.whole();
            let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
            let (model, generator) = (text("model"), text("generator"));
            Some(RecordedCall { model, generator, tokens: CallTokens::read(result) })
        });
        calls.collect()
    }

    /// Answers to calls of other blocks that were on their way when the block began: nobody is asked again.
    pub(crate) fn on_their_way(&self, events: &[Event]) -> HashMap<blake3::Hash, Vec<ModelReply>> {
        let requests = Requests::of(events);
        let mut answers: HashMap<blake3::Hash, Vec<ModelReply>> = HashMap::new();
        for event in events.iter().filter(|event| event.seq > self.before && !self.is_own(event)) {
            let EventKind::EffectFinished { effect: EffectKind::Model, result, error: None, .. } = &event.kind else {
                continue;
            };
            let Some((started, request)) = requests.asked(event) else { continue };
            if started <= self.before
                && let Ok(reply) = engine::json::from_value(result.clone())
            {
                answers.entry(hash_of(&request.whole())).or_default().push(reply);
            }
        }
        answers
    }

    /// Whether an event is that of the block, or of one inside it.
    pub(super) fn is_own(&self, event: &Event) -> bool {
        event.path.as_deref().is_some_and(|path| self.holds(path))
    }
}

/// What may have been meant by a path that is not there.
fn nearest(events: &[Event], path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or(path);
    let name = last.split_once(':').map_or(last, |(_, name)| name);
    let mut found: Vec<&str> = Vec::new();
    for event in events {
        let (Some(known), EventKind::BlockStarted { .. }) = (&event.path, &event.kind) else { continue };
        let is_like = known.rsplit('/').next().is_some_and(|last| !name.is_empty() && last.contains(name));
        if is_like && !found.contains(&&**known) && found.len() < 3 {
            found.push(known);
        }
    }
    if found.is_empty() { String::new() } else { format!("; there are: {}", found.join(", ")) }
}
