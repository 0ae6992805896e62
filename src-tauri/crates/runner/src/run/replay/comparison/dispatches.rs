//! What blocks send on its way, as something that they do.
//!
//! A resume does not send again what was sent, so a dispatch may be in an attempt that no longer counts: dispatches are
//! compared by their names. What only one side has is an effect that the log does not have, or another output.

use std::collections::HashMap;
use std::sync::Arc;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, Seq};
use engine::views::trace::Did;
use serde_json::{Value, json};

use super::Trace;
use super::questions::begin_of;

/// Adds to what both did the dispatches that both recorded.
pub(super) fn add_dispatches(was: &mut Trace, is: &mut Trace, recorded: &[Event], replayed: &[Event]) {
    let (before, now) = (dispatches(recorded), dispatches(replayed));
    let mut both: Vec<_> = before.iter().filter_map(|(name, sent)| Some((sent, now.get(name)?))).collect();
    // The last is added first, because each stands before those that are there.
    both.sort_by_key(|(before, _)| std::cmp::Reverse(before.seq));
    for (before, now) in both {
        if before.path == now.path && is.contains_key(before.path) {
            add(was, before);
            add(is, now);
        }
    }
}

/// What was sent.
struct Sent<'e> {
    seq: Seq,
    path: &'e Arc<str>,
    dispatch: &'e Value,
}

/// What was sent, by the name of each dispatch in its request.
fn dispatches(events: &[Event]) -> HashMap<&str, Sent<'_>> {
    let mut names: HashMap<Seq, &str> = HashMap::new();
    let mut sent = HashMap::new();
    for event in events {
        match (&event.kind, &event.path) {
            (EventKind::EffectStarted { effect: EffectKind::Once, request: Some(Value::String(name)), .. }, _) => {
                names.insert(event.seq, name);
            }
            (EventKind::EffectFinished { started: Some(started), dispatch: Some(dispatch), .. }, Some(path)) => {
                if let Some(name) = names.get(started) {
                    sent.insert(*name, Sent { seq: event.seq, path, dispatch });
                }
            }
            _ => {}
        }
    }
    sent
}

fn add(trace: &mut Trace, sent: &Sent<'_>) {
    let Some(did) = trace.get_mut(sent.path) else { return };
    let begin = begin_of(did);
    did.insert(begin, Did::added(sent.seq, json!({ "dispatch": sent.dispatch })));
}
