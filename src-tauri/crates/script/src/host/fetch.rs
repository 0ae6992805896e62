//! `fetch` of a flow: an asynchronous call that the flow can cancel.
//!
//! Must not decide what may be fetched: `Effects::fetch` does.

use engine::context::Context as Cx;
use engine::data::from_json;
use engine::effects::FetchCall;
use engine::error::FlowError;
use futures_channel::mpsc::UnboundedReceiver;

use crate::host::cancel::cancelled;
use crate::vm::natives::Control;

/// Sends a request through the engine. The flow's `AbortSignal` cancels it.
pub(crate) async fn fetch(cx: &Cx, payload: &str, controls: UnboundedReceiver<Control>) -> Result<String, FlowError> {
    let invalid = |error: serde_json::Error| FlowError::validation(format!("fetch: {error}"), None);
    let call: FetchCall = from_json(payload).map_err(invalid)?;
    let reply = cx.fetch(call, cancelled(cx, controls)).await?;
    serde_json::to_string(&reply).map_err(invalid)
}
