//! What blocks send on its way, as something that they do.
//!
//! A dispatch may be in an attempt of which traces do not tell, so dispatches are compared by their names. A replay
//! repeats those of attempts that count: one that is in the recording only was removed, and one that is in the replay
//! only has another name.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, Seq};
use engine::views::fork_edits::edited_input;
use engine::views::replay_order::ReplayOrder;
use engine::views::trace::Did;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::questions::{begin_of, ran_one_code};
use super::{Trace, is_cut_short};

/// Adds dispatches to what blocks did that are in both traces.
pub(super) fn add_dispatches(was: &mut Trace, is: &mut Trace, recorded: &[Event], replayed: &[Event]) {
    let Dispatches { sent: before, once: known } = Dispatches::of(recorded);
    let Dispatches { sent: now, .. } = Dispatches::of(replayed);
    if before.is_empty() && now.is_empty() {
        return;
    }
    let (order, own) = (ReplayOrder::read(recorded), edited_input(recorded).unwrap_or(0));
    // Code that ran earlier may have sent what later code did not.
    let is_one_code = ran_one_code(recorded);
    let is_repeated = |sent: &Sent<'_>| is_one_code && sent.event.seq > own && order.place(sent.event).is_some();
    let is_compared = |path: &Arc<str>| was.contains_key(path) && is.contains_key(path);
    let was_added = before.iter().filter(|(name, sent)| match now.get(*name) {
        Some(other) => sent.path == other.path,
        None => is_repeated(sent),
    });
    let was_added = by_path(was_added.map(|(_, sent)| (sent, sent.event.seq)), is_compared);
    // Those of the replay are in the recorded order; what was not recorded follows what was sent before it.
    let mut last = 0;
    let is_added = now.iter().filter_map(|(name, sent)| match before.get(name) {
        Some(other) => {
            last = other.event.seq;
            (sent.path == other.path).then_some((sent, last))
        }
        // Logs of earlier versions do not tell what was sent.
        None if known.contains(name) => None,
        // A recording that was cut short does not tell what its block would have sent.
        None => was.get(sent.path).is_some_and(|did| !is_cut_short(did)).then_some((sent, last)),
    });
    let is_added = by_path(is_added, is_compared);
    add(was, was_added);
    add(is, is_added);
}

/// What was sent.
struct Sent<'e> {
    /// The end of the effect that sent it.
    event: &'e Event,
    path: &'e Arc<str>,
    dispatch: &'e Value,
}

/// What a request sent.
struct Dispatches<'e> {
    /// By the name of each dispatch in its request, in the order of the log.
    sent: IndexMap<&'e str, Sent<'e>>,
    /// The names of all that ran once, which dispatches are among.
    once: HashSet<&'e str>,
}

impl<'e> Dispatches<'e> {
    fn of(events: &'e [Event]) -> Dispatches<'e> {
        let mut names: HashMap<Seq, &str> = HashMap::new();
        let mut sent = IndexMap::new();
        for event in events {
            match (&event.kind, &event.path) {
                (EventKind::EffectStarted { effect: EffectKind::Once, request: Some(Value::String(name)), .. }, _) => {
                    names.insert(event.seq, name);
                }
                (EventKind::EffectFinished { started: Some(started), dispatch: Some(dispatch), .. }, Some(path)) => {
                    if let Some(name) = names.get(started) {
                        sent.insert(*name, Sent { event, path, dispatch });
                    }
                }
                _ => {}
            }
        }
        Dispatches { sent, once: names.into_values().collect() }
    }
}

/// Dispatches by the block that sent them, ordered by a number.
fn by_path<'s>(
    sent: impl Iterator<Item = (&'s Sent<'s>, Seq)>,
    is_compared: impl Fn(&Arc<str>) -> bool,
) -> HashMap<Arc<str>, Vec<Did>> {
    let mut sent: Vec<_> = sent.filter(|(sent, _)| is_compared(sent.path)).collect();
    // The sort is stable.
    sent.sort_by_key(|(_, seq)| *seq);
    let mut blocks: HashMap<Arc<str>, Vec<Did>> = HashMap::new();
    for (sent, _) in sent {
        let did = Did::added(sent.event.seq, json!({ "dispatch": sent.dispatch }));
        blocks.entry(sent.path.clone()).or_default().push(did);
    }
    blocks
}

/// Adds dispatches behind the beginning of their block.
fn add(trace: &mut Trace, sent: HashMap<Arc<str>, Vec<Did>>) {
    for (path, sent) in sent {
        let Some(did) = trace.get_mut(&path) else { continue };
        let begin = begin_of(did);
        did.splice(begin..begin, sent);
    }
}
