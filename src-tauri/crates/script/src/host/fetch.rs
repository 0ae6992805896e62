//! `fetch` of a flow: an asynchronous call that the flow can cancel.
//!
//! Must not decide what may be fetched: `Effects::fetch` does.

use engine::context::Context as Cx;
use engine::data::from_json;
use engine::effects::FetchCall;
use engine::error::FlowError;
use futures_channel::oneshot;

use crate::host::cancel::cancelled;

/// Sends a request through the engine. `stopped` completes when the flow's `AbortSignal` is aborted.
pub(crate) async fn fetch(cx: &Cx, payload: &str, stopped: oneshot::Receiver<()>) -> Result<String, FlowError> {
    let invalid = |error: serde_json::Error| FlowError::validation(format!("fetch: {error}"), None);
    let call: FetchCall = from_json(payload).map_err(invalid)?;
    let reply = cx.fetch(call, cancelled(stopped)).await?;
    serde_json::to_string(&reply).map_err(invalid)
}
