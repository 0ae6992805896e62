//! View: the latest saved state of every sequencer instance (seed 001's checkpoints).
//!
//! Nothing is stored for it: a sequencer's state at its last step boundary is its initial state with
//! the recorded operations applied. Values of transient slots are in no event, so they are in no
//! snapshot either.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Events;
use crate::event::{Event, EventKind, Outcome, Seq};
use crate::item::{ItemStatus, NewItem};
use crate::scope::{ScopeKey, ScopeKind};
use crate::state::State;

/// The step name of a snapshot before anything ran.
pub const INITIAL: &str = "__initial__";

/// One sequencer instance's state as a resume finds it.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// `requestId:path:attempt`.
    pub instance: Arc<str>,
    /// The sequencer's path.
    pub path: Arc<str>,
    /// The state, without transient slots.
    pub state: State,
    /// How often it changed.
    pub version: u64,
    /// The block that changed it last, or [`INITIAL`].
    pub step_name: Arc<str>,
    /// Whether a resume may rely on it.
    pub durable: bool,
    /// Whether the sequencer has ended.
    pub terminal: bool,
    /// When it changed last, milliseconds since the epoch.
    pub at: i64,
}

impl Snapshot {
    pub(super) fn item(&self) -> NewItem {
        let payload = json!({
            "key": &*self.instance,
            "blockInstanceId": &*self.instance,
            "stepName": &*self.step_name,
            "state": self.state.to_json(),
            "version": self.version,
            "durable": self.durable,
            "terminal": self.terminal,
        });
        let payload = match payload {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        NewItem { transient: true, ..NewItem::plain("state_snapshot", ItemStatus::Completed, payload) }
    }
}

/// Every sequencer instance with state, by the event that gave it its initial state.
pub fn snapshots(events: Events<'_>) -> HashMap<Seq, Snapshot> {
    let mut found: HashMap<Seq, Snapshot> = HashMap::new();
    let mut begun: HashMap<&ScopeKey, Seq> = HashMap::new();
    let mut owners: HashMap<(&str, u32), Seq> = HashMap::new();
    let mut names: HashMap<(&str, u32), &Arc<str>> = HashMap::new();
    for event in events.iter() {
        let place = event.path.as_deref().map(|path| (path, event.attempt));
        match (&event.kind, place) {
            (EventKind::BlockStarted { name, .. }, Some(place @ (path, attempt))) => {
                names.insert(place, name);
                // One that was cut off, or that waited, is over when it runs again.
                let earlier = attempt.checked_sub(1).and_then(|before| owners.get(&(path, before)));
                if let Some(snapshot) = earlier.and_then(|seq| found.get_mut(seq)) {
                    snapshot.terminal = true;
                }
            }
            (EventKind::StateInitialized { scope, state, durable }, Some(place))
                if scope.kind == ScopeKind::Sequencer =>
            {
                begun.insert(scope, event.seq);
                owners.insert(place, event.seq);
                found.insert(event.seq, initial(event, scope, state, *durable));
            }
            (EventKind::StateChanged { scope, operation, .. }, Some(place)) if scope.kind == ScopeKind::Sequencer => {
                let Some(snapshot) = begun.get(scope).and_then(|seq| found.get_mut(seq)) else { continue };
                if operation.apply(&mut snapshot.state) {
                    snapshot.version += 1;
                    snapshot.at = event.at;
                    snapshot.step_name = names.get(&place).map_or_else(|| INITIAL.into(), |name| (*name).clone());
                }
            }
            // One that waits for an answer has not ended (a resume begins with its checkpoint).
            (EventKind::BlockFinished { outcome, .. }, Some(place)) if *outcome != Outcome::Suspended => {
                if let Some(snapshot) = owners.get(&place).and_then(|seq| found.get_mut(seq)) {
                    snapshot.terminal = true;
                }
            }
            _ => {}
        }
    }
    found
}

fn initial(event: &Event, scope: &ScopeKey, state: &Value, durable: bool) -> Snapshot {
    let state = match state {
        Value::Object(fields) => State::from(fields.clone()),
        _ => State::default(),
    };
    Snapshot {
        instance: scope.id.clone(),
        path: event.path.clone().unwrap_or_default(),
        state,
        version: 0,
        step_name: INITIAL.into(),
        durable,
        terminal: false,
        at: event.at,
    }
}
