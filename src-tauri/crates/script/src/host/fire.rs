//! Firing an entry: the binding's own functions make a request of an event, before there is one (SEMANTICS §1.7).
//!
//! Must not run a block: the request that comes of it does.

use std::rc::Rc;

use engine::data::from_json;
use engine::error::FlowError;
use engine::flow::Action;
use futures_channel::oneshot;
use rquickjs::{Function, Object};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::describe::function::decode;
use crate::describe::registry::Registry;
use crate::describe::wire::{WireAction, WireBlock};
use crate::vm::{Call, LOAD_TOKEN, Vm};

/// What an entry is fired with.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Given {
    /// The event, or its payload; of a schedule another input than its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Who asks, where somebody said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// The conversation, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The team, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// When, in milliseconds since the epoch.
    pub now: i64,
}

/// What a fired entry asks for.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Fired {
    /// The input of its action.
    #[serde(default, deserialize_with = "engine::json::given")]
    pub input: Option<Value>,
    /// For whom it runs.
    pub user: String,
    /// In which conversation; a new one if absent.
    pub session: Option<String>,
    /// In which team.
    pub project: Option<String>,
    /// Whether the entry lets the event pass: then nothing runs.
    #[serde(default)]
    pub ignored: bool,
}

/// Calls the functions of a binding. They get the event, and must not wait for anything outside.
pub(crate) fn fire(vm: &Rc<Vm>, registry: &Rc<Registry>, address: &str, given: &Given) -> Result<Fired, FlowError> {
    let given = serde_json::to_string(given).map_err(|error| FlowError::plain(error.to_string()))?;
    let fired = ask(vm, registry, |host, call| host.get::<_, Function>("fire")?.call::<_, ()>((call, address, given)))?;
    from_json(&fired.to_string()).map_err(|error| FlowError::plain(error.to_string()))
}

/// Returns the action of a schedule that the flow's own function finds, which must not wait either.
pub(crate) fn resolve(vm: &Rc<Vm>, registry: &Rc<Registry>, address: &str) -> Result<Action, FlowError> {
    #[derive(Deserialize)]
    struct Resolved {
        action: WireAction,
        blocks: Vec<WireBlock>,
    }
    let told = ask(vm, registry, |host, call| host.get::<_, Function>("resolve")?.call::<_, ()>((call, address)))?;
    let told: Resolved =
        from_json(told.as_str().unwrap_or_default()).map_err(|error| FlowError::plain(error.to_string()))?;
    registry.resolved_action(vm, told.action, told.blocks)
}

/// Asks for what an author's functions give at once.
fn ask(
    vm: &Rc<Vm>,
    registry: &Rc<Registry>,
    start: impl FnOnce(&Object<'_>, u32) -> rquickjs::Result<()>,
) -> Result<Value, FlowError> {
    let call = vm.next_number();
    let (sender, mut receiver) = oneshot::channel();
    vm.shared.calls.borrow_mut().insert(call, Call { token: LOAD_TOKEN, answer: sender });
    vm.enter(|_, host| start(host, call))?;
    match receiver.try_recv() {
        Ok(Some(answer)) => Ok(decode(vm, registry, answer)?.into_data()?.to_json()),
        _ => Err(FlowError::plain("the functions of an entry must not wait for anything outside")),
    }
}
