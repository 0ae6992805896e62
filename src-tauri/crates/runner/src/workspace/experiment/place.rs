//! Where the forks of an experiment begin: just before an execution of a block, with everything before it in the log.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::effects::EffectKind;
use engine::event::{BlockKind, Event, EventKind, Outcome, Seq};
use engine::path::{ROOT, is_at_or_inside, is_inside, parent, without_indices};
use engine::views::Events;
use engine::views::model_requests::Requests;
use engine::views::under_way::under_way;
use serde_json::Value;

use crate::core::fault::Fault;
use crate::core::prices::CallTokens;

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
    /// The block that made it.
    pub(crate) path: String,
    pub(crate) model: String,
    pub(crate) generator: String,
    /// The names of the options that were sent for the provider.
    pub(crate) options: Vec<String>,
    pub(crate) tokens: Option<CallTokens>,
}

/// A block that is under way where forks begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnderWay {
    attempt: u32,
    /// Whether the place is inside it.
    pub(crate) is_around: bool,
}

/// An effect of a block beside the place, with its answer.
#[derive(Clone, Debug)]
pub(crate) struct AnsweredBeside {
    pub(crate) path: Arc<str>,
    pub(crate) attempt: u32,
    /// What was asked, if that was after the place.
    pub(crate) request: Option<Value>,
    /// Its end.
    pub(crate) ended: EventKind,
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
            if let Some((around, _)) = caller_of_hook(events, path) {
                return Err(Fault::invalid(format!(
                    "--at {at}: that is a call of a hook, which is a part of its block; use the block, --at {around}"
                )));
            }
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

    pub(super) fn holds(&self, path: &str) -> bool {
        path.strip_prefix(&*self.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The model calls that the request made from here on.
    pub(crate) fn calls(&self, events: &[Event]) -> Vec<RecordedCall> {
        self.calls_after(events, self.before)
    }

    /// The model calls that the request made after an event that is not before the block.
    pub(crate) fn calls_after(&self, events: &[Event], after: Seq) -> Vec<RecordedCall> {
        let (requests, beside) = (Requests::of(events), self.beside(events, after));
        let calls = events.iter().filter(|event| event.seq > after).filter_map(|event| {
            let EventKind::EffectFinished { effect: EffectKind::Model, result, memoized: false, .. } = &event.kind
            else {
                return None;
            };
            let path = event.path.as_ref()?;
            let (started, request) = requests.asked(event)?;
            if Self::is_answered(&beside, event, started <= after) {
                return None;
            }
            let asked = request.whole();
            let text = |name: &str| asked[name].as_str().unwrap_or_default().to_owned();
            let (model, generator) = (text("model"), text("generator"));
            let options = asked["providerOptions"].as_object().map(|options| options.keys().cloned().collect());
            let (options, tokens) = (options.unwrap_or_default(), CallTokens::read(result));
            Some(RecordedCall { path: path.to_string(), model, generator, options, tokens })
        });
        calls.collect()
    }

    /// The names of the generators that the request asked models for, before and after the place.
    pub(crate) fn generators_asked(&self, events: &[Event]) -> HashSet<String> {
        let asked = events.iter().filter_map(|event| match &event.kind {
            EventKind::EffectStarted { effect: EffectKind::Model, request: Some(request), .. } => {
                request["generator"].as_str().map(str::to_owned)
            }
            _ => None,
        });
        asked.collect()
    }

    /// Whether a path is that of the place or inside it, in whichever pass of a loop.
    pub(crate) fn is_same_operation(&self, path: &str) -> bool {
        is_at_or_inside(&without_indices(path), &without_indices(&self.path))
    }

    /// The blocks that were under way after an event, by path, but for this one and those inside it.
    pub(super) fn beside<'e>(&self, events: &'e [Event], after: Seq) -> HashMap<&'e Arc<str>, UnderWay> {
        let open = under_way(&events[..events.partition_point(|event| event.seq <= after)]);
        let beside = open.into_iter().filter(|(path, _)| !self.holds(path));
        beside.map(|(path, attempt)| (path, UnderWay { attempt, is_around: is_inside(&self.path, path) })).collect()
    }

    /// Whether the log answers an effect to the forks, given whether it had begun: what is around the block goes on
    /// with what the block gives, and asks anew.
    fn is_answered(beside: &HashMap<&Arc<str>, UnderWay>, event: &Event, had_begun: bool) -> bool {
        let of_path = event.path.as_ref().and_then(|path| beside.get(path));
        of_path.is_some_and(|open| open.attempt == event.attempt && (had_begun || !open.is_around))
    }

    /// What the blocks beside this one that were under way after an event asked of the outside, and were answered: a
    /// fork from there asks nobody again. Each is the begin of an effect, if that is not before the event, and its end.
    pub(crate) fn answers_beside(&self, events: &[Event], after: Seq) -> Vec<AnsweredBeside> {
        let (requests, beside) = (Requests::of(events), self.beside(events, after));
        let answered = events.iter().filter_map(|event| {
            let EventKind::EffectFinished { effect, memoized: false, started: Some(started), .. } = &event.kind else {
                return None;
            };
            let path = event.path.as_ref().filter(|_| Self::is_answered(&beside, event, *started <= after))?;
            // A function that runs again makes its exchanges again, unless it is told what came of them.
            let is_missing = event.seq > after || *effect == EffectKind::Fetch;
            if !is_missing || !matches!(effect, EffectKind::Model | EffectKind::Fetch | EffectKind::Once) {
                return None;
            }
            let request = match (*started > after, effect) {
                (false, _) => None,
                (true, EffectKind::Model) => Some(requests.asked(event)?.1.whole()),
                (true, _) => match &Events::new(events).get(*started)?.kind {
                    EventKind::EffectStarted { request, .. } => request.clone(),
                    _ => None,
                },
            };
            Some(AnsweredBeside { path: path.clone(), attempt: event.attempt, request, ended: event.kind.clone() })
        });
        answered.collect()
    }

    /// Whether an event is that of the block, or of one inside it.
    pub(super) fn is_own(&self, event: &Event) -> bool {
        event.path.as_deref().is_some_and(|path| self.holds(path))
    }
}

/// The block that called a hook, and the event before it began, if a path is that of a call of a hook.
pub(in super::super) fn caller_of_hook<'p>(events: &[Event], path: &'p str) -> Option<(&'p str, Seq)> {
    let is_call =
        |event: &Event| event.path.as_deref() == Some(path) && matches!(event.kind, EventKind::HookStarted { .. });
    let called = events.iter().rposition(is_call)?;
    let around = parent(path).unwrap_or(ROOT);
    let begins =
        |event: &&Event| event.path.as_deref() == Some(around) && matches!(event.kind, EventKind::BlockStarted { .. });
    let begun = events[..called].iter().rev().find(begins);
    Some((around, begun.map_or(0, |event| event.seq - 1)))
}

/// What may have been meant by a path that is not there.
pub(in super::super) fn nearest(events: &[Event], path: &str) -> String {
    let last = path.rsplit('/').next().unwrap_or(path);
    let name = last.split_once(':').map_or(last, |(_, name)| name);
    // Another pass of a loop, or another block of the name, may be meant.
    let name = name.split(['[', '~']).next().unwrap_or(name);
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
