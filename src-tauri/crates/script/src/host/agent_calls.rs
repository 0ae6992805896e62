//! The host functions of agents, which read, write and use the `FlowState`.
//!
//! All are synchronous except `injectMessage`, which calls hooks. Must not enforce rules: the engine does.

use dialects::agent::author::{self, InjectedMessage, Which};
use engine::context::{Context as Cx, EmitOptions};
use engine::data::parse;
use engine::error::FlowError;
use futures_util::FutureExt;
use serde_json::Value;

/// Serves a synchronous call. `op` is its name without `flow.`.
pub(crate) fn sync(cx: &Cx, op: &str, payload: &str) -> Result<Option<String>, String> {
    answer(cx, op, payload).map_err(|error| error.message)
}

fn answer(cx: &Cx, op: &str, payload: &str) -> Result<Option<String>, FlowError> {
    let asked = parse(payload).map_err(refused)?;
    let text = |at: usize| asked[at].as_str().unwrap_or_default();
    let count = |at: usize| asked[at].as_u64().map_or(0, |count| usize::try_from(count).unwrap_or(usize::MAX));
    Ok(match op {
        "read" => author::flow_field(cx, which(&asked)?, text(1))?.map(|value| value.to_string()),
        "write" => {
            let fields = asked[1].as_object().cloned().unwrap_or_default();
            at_once(author::write_flow_fields(cx, which(&asked)?, fields))?;
            None
        }
        "queueTool" => Some(at_once(author::queue_tool(cx, which(&asked)?, text(1), &asked[2]))?.to_string()),
        "queueMessage" => Some(at_once(author::queue_message(cx, text(0), text(1), asked[2] == true))?),
        "messages" => {
            Some(Value::Array(author::thread_messages(cx, count(0), count(1), asked[2] == true)?).to_string())
        }
        "reloadHistory" => {
            at_once(author::reload_history(cx, which(&asked)?))?;
            None
        }
        "event" => {
            cx.emit_component(text(0), asked[1].clone(), EmitOptions::default());
            None
        }
        "forceTurn" => {
            at_once(author::force_turn(cx, text(0)))?;
            None
        }
        other => return Err(FlowError::plain(format!("unknown operation \"flow.{other}\""))),
    })
}

/// `injectMessage`: the hooks of messages may take time.
pub(crate) async fn inject_message(cx: &Cx, payload: &str) -> Result<String, FlowError> {
    let asked = parse(payload).map_err(refused)?;
    let message = engine::json::from_value::<InjectedMessage>(asked[1].clone())
        .map_err(|error| FlowError::validation(format!("injectMessage: {error}"), None))?;
    Ok(author::inject_message(cx, which(&asked)?, message).await?.to_string())
}

fn which(asked: &Value) -> Result<Which, FlowError> {
    Which::parse(asked[0].as_str().unwrap_or_default()).ok_or_else(|| FlowError::plain("unknown FlowState"))
}

fn refused(error: impl std::fmt::Display) -> FlowError {
    FlowError::validation(error.to_string(), None)
}

/// Runs a state operation of an agent, which never waits, because a turn has no concurrent operations.
fn at_once<T>(work: impl Future<Output = Result<T, FlowError>>) -> Result<T, FlowError> {
    work.now_or_never().unwrap_or_else(|| Err(FlowError::plain("the FlowState is being written; await what you began")))
}
