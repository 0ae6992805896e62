//! Sending an entry on its way (SEMANTICS §1.8). Must be called within `ctx.runOnce`, which keeps what it came to.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Context;
use crate::model::effects::{Dispatch, DispatchTo, DispatchedBy, EffectKind};
use crate::model::error::FlowError;
use crate::model::json::exact;

/// What a dispatcher computed.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    #[serde(rename = "type")]
    entry_type: String,
    target: String,
    #[serde(default)]
    flow_kind: Option<String>,
    session: DispatchTo,
    #[serde(default, deserialize_with = "exact")]
    payload: Option<Value>,
    place: String,
}

impl Context {
    /// Starts an entry as a request of its own. Returns where it runs, or why nothing was started, as JSON.
    pub async fn dispatch(&self, asked: &str) -> Result<String, FlowError> {
        let asked: Asked = crate::model::data::from_json(asked)
            .map_err(|error| FlowError::validation(format!("dispatch: {error}"), None))?;
        self.note_dispatch(&asked);
        if let Some(recorded) = self.recorded_dispatch().await {
            return recorded;
        }
        let start = &self.run.start;
        let call = Dispatch {
            entry_type: asked.entry_type,
            target: asked.target,
            flow: asked.flow_kind,
            to: asked.session,
            payload: asked.payload,
            place: asked.place,
            own_flow: self.run.flow.kind.to_string(),
            user: start.user.to_string(),
            project: start.project.as_deref().map(str::to_owned),
            mock: start.mock.clone(),
            by: DispatchedBy {
                request: self.run.request.to_string(),
                session: start.session.to_string(),
                path: self.frame.path.to_string(),
            },
            sender: start.dispatched_by.clone(),
        };
        let answer = match self.run.effects.dispatch(call).await {
            Ok(dispatched) => serde_json::to_string(&dispatched),
            Err(refusal) => serde_json::to_string(&refusal),
        };
        answer.map_err(|error| FlowError::plain(error.to_string()))
    }

    /// Keeps what is sent for the end of the `ctx.runOnce` around it, which has begun last.
    fn note_dispatch(&self, asked: &Asked) {
        let session = match &asked.session {
            DispatchTo::Key(key) => json!({ "key": key }),
            DispatchTo::Id(id) => json!({ "id": id }),
            DispatchTo::From(from) => json!({ "from": from }),
        };
        let mut dispatch = json!({ "type": asked.entry_type, "target": asked.target, "session": session });
        if let Some(flow) = &asked.flow_kind {
            dispatch["flowKind"] = flow.as_str().into();
        }
        if let Some(payload) = &asked.payload {
            dispatch["payload"] = payload.clone();
        }
        self.frame.dispatches.borrow_mut().insert(self.once_around(), dispatch);
    }

    /// Returns the number of the `ctx.runOnce` that has begun last.
    fn once_around(&self) -> u32 {
        self.peek(EffectKind::Once.as_str()).saturating_sub(1)
    }

    /// Returns the name of what a function sends next, which is the same in each attempt and after a resume. It counts
    /// by callback: one that a resume takes from the log does not count again.
    pub fn next_send(&self) -> String {
        let place = format!("{}:{}", self.caller().request, self.frame.path);
        match &self.call {
            Some(call) => format!("{place} {} {}", call.name, call.next_send_ordinal()),
            None => format!("{place} {}", self.ordinal("send")),
        }
    }

    /// In a replay: what it came to. The `ctx.runOnce` around it, which has begun last, has that in the log.
    async fn recorded_dispatch(&self) -> Option<Result<String, FlowError>> {
        let effect_log = self.run.effect_log.clone()?;
        let ordinal = self.once_around();
        let recorded = effect_log.effect(&self.frame.path, self.frame.attempt, EffectKind::Once, ordinal)?;
        effect_log.wait_until_due(&recorded).await;
        let answer = recorded.result.get(0).cloned().unwrap_or_default();
        Some(recorded.error.map_or_else(|| Ok(answer.to_string()), Err))
    }
}
