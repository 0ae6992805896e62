//! `fetch` between a flow and the engine: one question, which the flow may stop.
//!
//! It must not decide what may be fetched: that is the outside's.

use engine::context::Context as Cx;
use engine::data::from_json;
use engine::effects::FetchCall;
use engine::error::FlowError;
use futures_channel::oneshot;
use futures_util::FutureExt;

use crate::vm::Shared;

/// Asks the engine; `stopped` completes when the flow's signal is aborted.
pub(crate) async fn fetch(cx: &Cx, payload: &str, stopped: oneshot::Receiver<()>) -> Result<String, FlowError> {
    let invalid = |error: serde_json::Error| FlowError::validation(format!("fetch: {error}"), None);
    let call: FetchCall = from_json(payload).map_err(invalid)?;
    let stop = stopped.then(|stopped| async move {
        // A sender that is gone stops nothing.
        if stopped.is_err() {
            std::future::pending::<()>().await;
        }
    });
    let reply = cx.fetch(call, stop).await?;
    serde_json::to_string(&reply).map_err(invalid)
}

/// Stops a question that is under way, by its id.
pub(crate) fn stop(shared: &Shared, payload: &str) -> Result<Option<String>, String> {
    let id = payload.parse().map_err(|_| "stop needs a question's id")?;
    if let Some(stop) = shared.stops.borrow_mut().remove(&id) {
        // A question that was answered meanwhile needs no stop.
        let _ = stop.send(());
    }
    Ok(None)
}
