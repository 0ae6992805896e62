//! Asynchronous calls that a flow cancels: a `fetch` by its signal, and a timer that is cleared.

use futures_channel::oneshot;

use crate::vm::Shared;

/// Cancels an asynchronous call, by its id. Does nothing if it has completed.
pub(crate) fn cancel(shared: &Shared, payload: &str) -> Result<Option<String>, String> {
    let id = payload.parse().map_err(|_| "stop needs a question's id")?;
    if let Some(stop) = shared.stops.borrow_mut().remove(&id) {
        // Fails if the call has completed meanwhile.
        let _ = stop.send(());
    }
    Ok(None)
}

/// Completes when the flow cancels the call.
pub(crate) async fn cancelled(stopped: oneshot::Receiver<()>) {
    // A dropped sender cancels nothing.
    if stopped.await.is_err() {
        std::future::pending::<()>().await;
    }
}
