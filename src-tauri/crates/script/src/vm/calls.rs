//! Calls into a loaded bundle, and the errors that come out of it.

use std::rc::Rc;

use engine::context::Context as Cx;
use engine::data::from_json;
use engine::error::FlowError;
use futures_channel::oneshot;
use rquickjs::Object;
use serde::Deserialize;
use serde_json::Value;

use crate::vm::{Answer, Call, Vm};

/// Starts something in the bundle with a context of its own, and waits for its answer.
pub(crate) async fn answer(
    vm: &Rc<Vm>,
    cx: Cx,
    start: impl FnOnce(&Object<'_>, u32, u32) -> rquickjs::Result<()>,
) -> Result<Answer, FlowError> {
    let call = vm.next_number();
    let token = vm.next_number();
    let (sender, receiver) = oneshot::channel();
    vm.shared.calls.borrow_mut().insert(call, Call { token, answer: sender });
    vm.shared.contexts.borrow_mut().insert(token, cx);
    let _context = Registered { vm: vm.clone(), token };
    vm.enter(|_, host| start(host, call, token))?;
    let answer = match receiver.await {
        Ok(answer) => answer,
        Err(_) => return Err(vm.cause_of_death().unwrap_or_else(|| FlowError::plain("the script ended"))),
    };
    // State operations that were not awaited still belong to this call.
    let open = vm.shared.open.borrow().get(&token).copied().unwrap_or(0);
    if open > 0 {
        let (sender, receiver) = oneshot::channel();
        vm.shared.settled.borrow_mut().push((token, sender));
        let _ = receiver.await;
    }
    Ok(answer)
}

/// Takes a context out of the runtime's table when its call is over, however it ends.
struct Registered {
    vm: Rc<Vm>,
    token: u32,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.vm.shared.contexts.borrow_mut().remove(&self.token);
        self.vm.shared.open.borrow_mut().remove(&self.token);
    }
}

/// An error of the bundle, with its place in the author's file.
pub(crate) fn thrown(vm: &Vm, json: &str) -> FlowError {
    #[derive(Deserialize)]
    struct Wire {
        handle: Option<u64>,
        stack: Option<String>,
        status: Option<u16>,
    }
    let mut error: FlowError = from_json(json).unwrap_or_else(|_| FlowError::plain("Unknown block execution error"));
    if let Ok(wire) = from_json::<Wire>(json) {
        error.handle = wire.handle;
        error.status = wire.status;
        let (location, stack) =
            vm.shared.trace.map_stack(wire.stack.as_deref().unwrap_or_default(), &error.message, &error.classes);
        error.location = location;
        error.stack = (!stack.is_empty()).then_some(stack);
    }
    if error.name == "InternalError" && error.message.contains("out of memory") {
        error.name = "LimitError".to_owned();
        error.code = Some("limit_exceeded".to_owned());
        error.message = "used more memory than limits.memoryMb allows".to_owned();
    }
    error
}

/// An error on its way back: the bundle finds the very object that was thrown by its handle.
pub(crate) fn wire_error(error: &FlowError) -> Value {
    let mut wire = serde_json::to_value(error).unwrap_or_default();
    wire["handle"] = error.handle.into();
    wire
}

/// The block that `ctx.sequencer`, `ctx.self` or `ctx.parent` stands for.
pub(crate) fn relative(cx: &Cx, name: &str) -> Option<Rc<engine::frame::Frame>> {
    match name {
        "sequencer" => cx.sequencer(),
        "self" => cx.frame.own.is_some().then(|| cx.frame.clone()),
        _ => cx.frame.parent.clone(),
    }
}
