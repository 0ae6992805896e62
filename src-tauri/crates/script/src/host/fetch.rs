//! `fetch` of a flow: an asynchronous call that the flow can cancel.
//!
//! Must not decide what may be fetched: `Effects::fetch` does.

use engine::context::Context as Cx;
use engine::data::from_json;
use engine::effects::FetchCall;
use engine::error::FlowError;
use futures_channel::oneshot;
use futures_util::FutureExt;

use crate::vm::Shared;

/// Sends a request through the engine. `stopped` completes when the flow's `AbortSignal` is aborted.
pub(crate) async fn fetch(cx: &Cx, payload: &str, stopped: oneshot::Receiver<()>) -> Result<String, FlowError> {
    let invalid = |error: serde_json::Error| FlowError::validation(format!("fetch: {error}"), None);
    let call: FetchCall = from_json(payload).map_err(invalid)?;
    let stop = stopped.then(|stopped| async move {
        // A dropped sender is no abort.
        if stopped.is_err() {
            std::future::pending::<()>().await;
        }
    });
    let reply = cx.fetch(call, stop).await?;
    serde_json::to_string(&reply).map_err(invalid)
}

/// Cancels an asynchronous call, by its id. Does nothing if it has completed.
pub(crate) fn stop(shared: &Shared, payload: &str) -> Result<Option<String>, String> {
    let id = payload.parse().map_err(|_| "stop needs a question's id")?;
    if let Some(stop) = shared.stops.borrow_mut().remove(&id) {
        // Fails if the call has completed meanwhile.
        let _ = stop.send(());
    }
    Ok(None)
}
