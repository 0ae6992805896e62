//! View: the latest saved state of every sequencer instance (SEMANTICS §4.8).
//!
//! Nothing is stored for it: a sequencer's state at its last step boundary is its initial state with
//! the recorded operations applied. Values of transient slots are in no event, so they are in no
//! snapshot either.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::Events;
use super::attempts::rolled_back;
use crate::model::event::{Event, EventKind, Outcome, Seq};
use crate::model::identity::{InstanceId, StateOwner};
use crate::model::item::{ItemStatus, NewItem};
use crate::model::path::path_below;
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;

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
    /// The place of the operation that changed it last among those that the log tells of, in the order
    /// they began; -1 before any has. What left no trace (a plain `map`) is not counted.
    pub step_index: i64,
    /// Whether a resume may rely on it.
    pub durable: bool,
    /// Whether the sequencer has ended.
    pub terminal: bool,
    /// Whether its block ran again: another instance has taken its place.
    pub is_behind: bool,
    /// When it changed last, milliseconds since the epoch.
    pub at: i64,
    /// The event with which the instance began.
    pub began: Seq,
}

impl Snapshot {
    pub(super) fn item(&self) -> NewItem {
        let payload = json!({
            "key": &*self.instance,
            "blockInstanceId": &*self.instance,
            "stepName": &*self.step_name,
            "stepIndex": self.step_index,
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

/// Every sequencer instance of a request with state, by the event that gave it its initial state. `live` says whether
/// what running blocks wrote counts.
pub fn snapshots(request: &str, events: Events<'_>, live: bool) -> HashMap<Seq, Snapshot> {
    let gone = rolled_back(events.0, live);
    let mut found: HashMap<Seq, Snapshot> = HashMap::new();
    let mut begun: HashMap<&ScopeKey, Seq> = HashMap::new();
    let mut owners: HashMap<(&str, u32), Seq> = HashMap::new();
    let mut newest: HashMap<&str, Seq> = HashMap::new();
    let mut names: HashMap<(&str, u32), &Arc<str>> = HashMap::new();
    // The operations of each chain that began; the last write to its state, where a function of its own
    // made it.
    let mut ran: HashMap<Seq, Vec<&str>> = HashMap::new();
    let mut by_function: HashMap<Seq, Seq> = HashMap::new();
    for event in events.iter() {
        let place = event.path.as_deref().map(|path| (path, event.attempt));
        match (&event.kind, place) {
            (EventKind::BlockStarted { name, parent, .. }, Some(place @ (path, _))) => {
                names.insert(place, name);
                let around = parent.as_deref().and_then(InstanceId::parse);
                if let (Some(around), Some(seq)) =
                    (around, around.and_then(|around| owners.get(&(around.path, around.attempt))))
                {
                    index_in(ran.entry(*seq).or_default(), operation_of(path, around.path));
                }
            }
            (EventKind::StateInitialized { scope, state, durable }, Some(place))
                if scope.kind == ScopeKind::Sequencer =>
            {
                begun.insert(scope, event.seq);
                let mut snapshot = initial(request, event, state, *durable);
                let goes_on = owners.insert(place, event.seq);
                // One that ran before, at the same place, is over.
                let earlier = newest.insert(place.0, event.seq);
                if let Some(earlier) = earlier.and_then(|seq| found.get_mut(&seq)) {
                    (earlier.terminal, earlier.is_behind) = (true, true);
                    // The same one may go on after an interruption.
                    if let Some(before) = goes_on {
                        let (state, durable) = (std::mem::take(&mut snapshot.state), snapshot.durable);
                        snapshot = Snapshot { state, durable, terminal: false, is_behind: false, ..earlier.clone() };
                        ran.remove(&before).map(|operations| ran.insert(event.seq, operations));
                    }
                }
                found.insert(event.seq, snapshot);
            }
            (EventKind::StateChanged { scope, operation, .. }, Some(place))
                if scope.kind == ScopeKind::Sequencer && !gone.contains(&event.seq) =>
            {
                let Some(seq) = begun.get(scope) else { continue };
                let Some(snapshot) = found.get_mut(seq) else { continue };
                if operation.apply(&mut snapshot.state) {
                    snapshot.version += 1;
                    snapshot.at = event.at;
                    snapshot.step_name = names.get(&place).map_or_else(|| INITIAL.into(), |name| (*name).clone());
                    if let Some(operation) = operation_of(place.0, &snapshot.path) {
                        snapshot.step_index = index_in(ran.entry(*seq).or_default(), Some(operation));
                        by_function.remove(seq);
                    } else {
                        by_function.insert(*seq, event.seq);
                    }
                }
            }
            // A function of the chain itself wrote: which one is told when it has returned.
            (EventKind::CallbackReturned { callback: function, events, .. }, Some(place)) => {
                let Some(seq) = owners.get(&place) else { continue };
                if by_function.get(seq).is_some_and(|written| events.contains(written))
                    && let Some(snapshot) = found.get_mut(seq)
                {
                    let label = function.rsplit_once('.').map_or(function.as_str(), |(label, _)| label);
                    snapshot.step_index = index_in(ran.entry(*seq).or_default(), first_operation(label));
                }
            }
            (EventKind::BlockResumed { .. }, Some(place)) => {
                if let Some(snapshot) = owners.get(&place).and_then(|seq| found.get_mut(seq)) {
                    snapshot.terminal = snapshot.is_behind;
                }
            }
            // One that waits for an answer, or runs again, has not ended (a resume begins with its checkpoint).
            (EventKind::BlockFinished { outcome, .. }, Some(place))
                if !matches!(outcome, Outcome::Suspended | Outcome::Abandoned) =>
            {
                if let Some(snapshot) = owners.get(&place).and_then(|seq| found.get_mut(seq)) {
                    snapshot.terminal = true;
                }
            }
            _ => {}
        }
    }
    found
}

/// The operation of the chain at `around` that something at `path` belongs to.
fn operation_of<'p>(path: &'p str, around: &str) -> Option<&'p str> {
    first_operation(path_below(path, around)?)
}

/// The first operation of a path within a chain: `step:plan`, `forEach:each`; the passes that it stands in
/// come before it.
fn first_operation(path: &str) -> Option<&str> {
    let is_pass = |part: &&str| part.ends_with(']') && (part.starts_with("loop[") || part.starts_with("loop~"));
    let part = path.split('/').find(|part| !is_pass(part))?;
    let part = part.split('[').next().unwrap_or(part);
    // The arms of a branch are one operation.
    Some(if part.starts_with("branch") { part.split(':').next().unwrap_or(part) } else { part })
}

/// The place of an operation among those that began; a new one is the last.
fn index_in<'p>(ran: &mut Vec<&'p str>, operation: Option<&'p str>) -> i64 {
    let Some(operation) = operation else { return -1 };
    let at = ran.iter().position(|known| *known == operation).unwrap_or_else(|| {
        ran.push(operation);
        ran.len() - 1
    });
    at as i64
}

fn initial(request: &str, event: &Event, state: &Value, durable: bool) -> Snapshot {
    let path = event.path.clone().unwrap_or_default();
    // Not the scope's: an instance that a fork shares has the scope of the other request.
    let owner = StateOwner { request, instance: InstanceId { path: &path, attempt: event.attempt } };
    Snapshot {
        instance: owner.to_string().into(),
        path,
        state: State::recorded(state),
        version: 0,
        step_name: INITIAL.into(),
        step_index: -1,
        durable,
        terminal: false,
        is_behind: false,
        at: event.at,
        began: event.seq,
    }
}
