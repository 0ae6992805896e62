//! Calls into a loaded bundle, and the errors that come out of it.

use std::rc::{Rc, Weak};

use engine::callable::RaceSignals;
use engine::context::Context as Cx;
use engine::data::from_json;
use engine::error::FlowError;
use futures_channel::oneshot;
use rquickjs::{Function, Object};
use serde::Deserialize;

use crate::vm::{Call, CallResult, Vm};

/// Starts a call in the bundle with a context, and waits for its result and for its pending state operations.
pub(crate) async fn call_and_wait(
    vm: &Rc<Vm>,
    cx: Cx,
    start: impl FnOnce(&Object<'_>, u32, u32) -> rquickjs::Result<()>,
) -> Result<CallResult, FlowError> {
    let call = vm.next_number();
    let token = vm.next_number();
    let (sender, receiver) = oneshot::channel();
    vm.shared.calls.borrow_mut().insert(call, Call { token, answer: sender });
    vm.shared.contexts.borrow_mut().insert(token, cx);
    let _context = Registered { vm: vm.clone(), token };
    vm.enter(|_, host| start(host, call, token))?;
    let answer = match receiver.await {
        Ok(answer) => answer,
        Err(_) => return Err(vm.failure().unwrap_or_else(|| FlowError::plain("the script ended"))),
    };
    // State operations that were not awaited still belong to this call, and its timers must begin as part of it.
    if vm.shared.has_pending(token) {
        let (sender, receiver) = oneshot::channel();
        vm.shared.call_waiters.borrow_mut().push((token, sender));
        let _ = receiver.await;
    }
    Ok(answer)
}

/// Fires the signals of the branches of races, as `ctx.signal` of their blocks. Weak, because the runtime's calls hold
/// the request that holds this.
pub(crate) struct ScriptRaceSignals(pub(crate) Weak<Vm>);

impl RaceSignals for ScriptRaceSignals {
    fn begin(&self, branches: &[String]) {
        self.call_host("beginRace", branches);
    }

    fn stop(&self, branches: &[String]) {
        self.call_host("stopLosers", branches);
    }
}

impl ScriptRaceSignals {
    fn call_host(&self, function: &str, branches: &[String]) {
        let Some(vm) = self.0.upgrade() else { return };
        // Fails if the runtime has failed: then no listener is left.
        let _ = vm.enter(|_, host| host.get::<_, Function>(function)?.call::<_, ()>((branches.to_vec(),)));
    }
}

/// Removes a call's context from the table when it is dropped.
struct Registered {
    vm: Rc<Vm>,
    token: u32,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.vm.shared.contexts.borrow_mut().remove(&self.token);
        self.vm.shared.pending_applies.borrow_mut().remove(&self.token);
        self.vm.shared.pending_timers.borrow_mut().remove(&self.token);
    }
}

/// Returns an error thrown in the bundle, with its place in the author's file.
pub(crate) fn thrown(vm: &Vm, json: &str) -> FlowError {
    #[derive(Deserialize)]
    struct Wire {
        handle: Option<u64>,
        stack: Option<String>,
        status: Option<u16>,
        /// The message of the runtime, if the error has Node's words now.
        said: Option<String>,
    }
    let mut error: FlowError = from_json(json).unwrap_or_else(|_| FlowError::plain("Unknown block execution error"));
    if let Ok(wire) = from_json::<Wire>(json) {
        error.handle = wire.handle;
        error.status = wire.status;
        let said = wire.said.as_deref().unwrap_or(&error.message);
        let mapped = vm.shared.trace.map_stack(wire.stack.as_deref().unwrap_or_default(), said, &error.classes);
        error.location = mapped.location;
        error.stack = (!mapped.stack.is_empty()).then_some(mapped.stack);
    }
    error
}

/// Returns the block of `ctx.sequencer`, `ctx.self` or `ctx.parent`.
pub(crate) fn enclosing_block(cx: &Cx, name: &str) -> Option<Rc<engine::frame::Frame>> {
    match name {
        "sequencer" => cx.sequencer(),
        "self" => cx.frame.own.is_some().then(|| cx.frame.clone()),
        _ => cx.frame.parent.clone(),
    }
}
