//! Unhandled promise rejections: each is logged with level `error` for its block.
//!
//! They do not fail the block. As in other runtimes, a rejection counts as unhandled if it has no handler when all
//! pending jobs have run.

use std::rc::Rc;

use rquickjs::{Ctx, Function, Runtime, Value};
use serde_json::value::RawValue;

use crate::vm::calls::thrown;
use crate::vm::{Shared, Vm, host};

/// Reports every rejection to the bundle, which keeps a list of unhandled ones.
pub(crate) fn track(runtime: &Runtime, shared: &Rc<Shared>) {
    let shared = shared.clone();
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, is_handled: bool| {
            let recorded = host(&ctx)
                .and_then(|host| host.get::<_, Function>("rejected"))
                .and_then(|rejected| rejected.call::<_, ()>((promise, reason, is_handled)));
            // While the file loads, there is no list and no block yet.
            shared.rejected.set(shared.rejected.get() || recorded.is_ok());
        },
    )));
}

/// Logs the rejections that are still unhandled.
pub(crate) fn report(vm: &Vm) {
    if !vm.shared.rejected.take() {
        return;
    }
    let taken = vm.enter(|_, host| host.get::<_, Function>("takeUnhandled")?.call::<_, String>(()));
    // The error of a failed runtime is reported elsewhere.
    let Ok(taken) = taken else { return };
    for (token, json) in serde_json::from_str::<Vec<(u32, Box<RawValue>)>>(&taken).unwrap_or_default() {
        let error = thrown(vm, json.get());
        let Some(cx) = vm.shared.contexts.borrow().get(&token).cloned() else { continue };
        let place = error.location.as_ref().map(|at| format!(" ({}:{}:{})", at.file, at.line, at.column));
        cx.unhandled(&format!("{error}{}", place.unwrap_or_default()));
    }
}
