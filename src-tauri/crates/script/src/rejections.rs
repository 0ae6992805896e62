//! What fails with nobody waiting for it: a line of level `error` in the console of its block.
//!
//! A rejection without `await` or `catch` changes nothing else, so without the line it would be lost.

use engine::context::Context as Cx;
use engine::data::from_json;
use rquickjs::{Function, Object, Runtime};
use serde_json::value::RawValue;

use crate::bridge::thrown;
use crate::vm::{Shared, Vm};

/// Lets the SDK hear of every promise that is rejected.
pub(crate) fn watch(runtime: &Runtime, shared: &std::rc::Rc<Shared>) {
    let shared = std::rc::Rc::downgrade(shared);
    runtime.set_host_promise_rejection_tracker(Some(Box::new(move |ctx, promise, reason, handled| {
        let Some(shared) = shared.upgrade() else { return };
        // While a file loads the host object may not be there yet; what fails then fails the load.
        let Ok(host) = ctx.globals().get::<_, Object>("__flowglass_host") else { return };
        let Ok(hear) = host.get::<_, Function>("rejection") else { return };
        if hear.call::<_, ()>((promise, reason, handled)).is_ok() {
            shared.rejected.set(true);
        }
    })));
}

/// Tells what failed unheard in a call that is over, or after it.
pub(crate) fn report(vm: &Vm, token: u32, cx: &Cx) {
    if !vm.shared.rejected.get() || vm.cause_of_death().is_some() {
        return;
    }
    let told = vm.enter(|_, host| host.get::<_, Function>("unhandled")?.call::<_, String>((token,)));
    let Ok(list) = told.and_then(|json| {
        from_json::<Vec<Box<RawValue>>>(&json).map_err(|error| engine::error::FlowError::plain(error.to_string()))
    }) else {
        return;
    };
    for json in list {
        let error = thrown(vm, json.get());
        let place =
            error.location.as_ref().map(|at| format!(" ({}:{}:{})", at.file, at.line, at.column)).unwrap_or_default();
        cx.log("error", format!("Unhandled rejection, an await is missing: {error}{place}"));
    }
}
