//! The native functions that the SDK calls, as one global object.

use std::rc::Rc;

use futures_channel::mpsc;
use rquickjs::context::EvalOptions;
use rquickjs::{Ctx, Function, Object};

use crate::vm::{AsyncCall, CallResult, NATIVE, Shared, SyncOp};

/// JavaScript with a native `await`, which the bundle cannot contain because `async` is lowered there.
const WAITING: &str = include_str!("../../sdk/src/base/waiting.js");

/// What a flow says of an asynchronous call that runs.
pub(crate) enum Control {
    /// Cancels it.
    Cancel,
    /// Of a timeout: whether anything listens to its signal.
    Hold(bool),
}

/// Installs the native functions as the global [`NATIVE`].
pub(crate) fn install(ctx: &Ctx<'_>, shared: &Rc<Shared>, sync: SyncOp) -> rquickjs::Result<()> {
    let native = Object::new(ctx.clone())?;
    let seen = shared.clone();
    native.set(
        "sync",
        Function::new(ctx.clone(), move |ctx: Ctx<'_>, op: String, token: u32, payload: String| {
            let answer = match &seen.probe {
                Some(probe) if op.starts_with("probe") => Ok(probe.sync(&seen, &op, token)),
                Some(probe) => probe.check(&op, token).and_then(|()| sync(&seen, &op, token, &payload)),
                None => sync(&seen, &op, token, &payload),
            };
            answer.map_err(|message| rquickjs::Exception::throw_message(&ctx, &message))
        })?,
    )?;
    let seen = shared.clone();
    native.set(
        "start",
        Function::new(ctx.clone(), move |ctx: Ctx<'_>, id: f64, op: String, token: u32, payload: String| {
            if let Some(Err(message)) = seen.probe.as_ref().map(|probe| probe.check(&op, token)) {
                return Err(rquickjs::Exception::throw_message(&ctx, &message));
            }
            // A call does not end before these have ended, or a timer has begun.
            match op.as_str() {
                "apply" | "run" => *seen.pending_applies.borrow_mut().entry(token).or_insert(0) += 1,
                "sleep" | "timeout" => *seen.pending_timers.borrow_mut().entry(token).or_insert(0) += 1,
                _ => {}
            }
            let (control, controls) = mpsc::unbounded();
            seen.controls.borrow_mut().insert(id as u64, control);
            let late = seen.late.borrow().get(&token).cloned();
            // Sending fails only when the run has ended.
            let _ = seen.async_calls.unbounded_send(AsyncCall { id, op, token, payload, late, controls });
            Ok(())
        })?,
    )?;
    let seen = shared.clone();
    native.set(
        "done",
        Function::new(ctx.clone(), move |call: u32, tag: String, payload: String| {
            // A call that was failed from outside may return all the same.
            let Some(waiting) = seen.calls.borrow_mut().remove(&call) else { return };
            let answer = match tag.as_str() {
                "undefined" => CallResult::Undefined,
                "value" => CallResult::Value(payload),
                "block" => CallResult::Block(payload),
                "blocks" => CallResult::Blocks(payload),
                "model" => CallResult::Model(payload),
                _ => CallResult::Error(payload),
            };
            // A caller that went away was aborted.
            let _ = waiting.answer.send(answer);
        })?,
    )?;
    crate::vm::fields::install(ctx, &native, shared)?;
    crate::vm::probe::install(ctx, &native, shared)?;
    crate::vm::words::install(ctx, &native, shared)?;
    native.set("isProxy", Function::new(ctx.clone(), |value: rquickjs::Value<'_>| value.is_proxy())?)?;
    let mut options = EvalOptions::default();
    options.filename = Some("waiting.js".to_owned());
    native.set("waiting", ctx.eval_with_options::<Function, _>(WAITING, options)?)?;
    ctx.globals().set(NATIVE, native)
}
