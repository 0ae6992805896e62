//! Asynchronous calls that a flow cancels: a `fetch` by its signal, and a timer that is cleared. Also timeouts of
//! signals, for which a request waits only while the signal has listeners.

use std::cell::Cell;

use engine::context::Context as Cx;
use futures_channel::mpsc::UnboundedReceiver;
use futures_util::StreamExt;

use crate::vm::Shared;
use crate::vm::natives::Control;

/// Cancels an asynchronous call, by its id. Does nothing if it has completed.
pub(crate) fn cancel(shared: &Shared, payload: &str) -> Result<Option<String>, String> {
    let id = payload.parse().map_err(|_| "cancel needs the id of a call")?;
    control(shared, id, Control::Cancel);
    Ok(None)
}

/// Notes whether the signal of a timeout has listeners. `payload` is its id, and `true` or `false`. Does nothing if the
/// timeout has passed.
pub(crate) fn hold(shared: &Shared, payload: &str) -> Result<Option<String>, String> {
    let given = payload.split_once(' ').and_then(|(id, listens)| Some((id.parse().ok()?, listens.parse().ok()?)));
    let (id, has_listeners) = given.ok_or("hold needs the id of a call, and whether anything listens")?;
    control(shared, id, Control::Hold(has_listeners));
    Ok(None)
}

fn control(shared: &Shared, id: u64, control: Control) {
    if let Some(controls) = shared.controls.borrow().get(&id) {
        // Fails if the call has completed in the meantime.
        let _ = controls.unbounded_send(control);
    }
}

/// Completes when the flow cancels the call. Until then, the request waits for a timeout only while it has listeners.
pub(crate) async fn cancelled(cx: &Cx, mut controls: UnboundedReceiver<Control>) {
    let hold = Cell::new(None);
    loop {
        match controls.next().await {
            Some(Control::Hold(has_listeners)) => hold.set(has_listeners.then(|| cx.run.effects.hold())),
            Some(Control::Cancel) => return,
            // It can no longer be cancelled.
            None => std::future::pending().await,
        }
    }
}
