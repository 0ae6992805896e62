//! A promise that fails and that nobody waits for leaves a log line of level `error` with its block.
//!
//! It fails nothing: the block did not wait for it. The runtime tells of each rejection as it
//! happens; what is still unhandled when every job has run counts (as in other runtimes).

use std::rc::Rc;

use rquickjs::{Ctx, Function, Object, Runtime, Value};
use serde_json::value::RawValue;

use crate::vm::calls::thrown;
use crate::vm::{Shared, Vm};

/// Hands every rejection to the bundle's own record of them.
pub(crate) fn track(runtime: &Runtime, shared: &Rc<Shared>) {
    let shared = shared.clone();
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, is_handled: bool| {
            let shown = ctx
                .globals()
                .get::<_, Object>("__flowglass_host")
                .and_then(|host| host.get::<_, Function>("rejected"))
                .and_then(|rejected| rejected.call::<_, ()>((promise, reason, is_handled)));
            // While a file loads there is no record yet, and no block.
            shared.rejected.set(shared.rejected.get() || shown.is_ok());
        },
    )));
}

/// Logs what is still unhandled.
pub(crate) fn report(vm: &Vm) {
    if !vm.shared.rejected.take() {
        return;
    }
    let taken = vm.enter(|_, host| host.get::<_, Function>("takeUnhandled")?.call::<_, String>(()));
    // A runtime that is over tells its own reason.
    let Ok(taken) = taken else { return };
    for (token, json) in serde_json::from_str::<Vec<(u32, Box<RawValue>)>>(&taken).unwrap_or_default() {
        let error = thrown(vm, json.get());
        let Some(cx) = vm.shared.contexts.borrow().get(&token).cloned() else { continue };
        let place = error.location.as_ref().map(|at| format!(" ({}:{}:{})", at.file, at.line, at.column));
        cx.unhandled(&format!("{error}{}", place.unwrap_or_default()));
    }
}
